"""Stock SQLAlchemy over each of its drivers of MariaDB: Sequence as object, tickets, its pool with pings, an error."""

import asyncio

from sqlalchemy import Sequence, create_engine, exc, inspect, text
from sqlalchemy.ext.asyncio import create_async_engine

from told import DATABASE, HOST, PASSWORD, PORT, USER, got, last, ok, refused, same

ORDERS = Sequence("orders")


def url(driver):
    return f"mariadb+{driver}://{USER}:{PASSWORD}@{HOST}:{PORT}/{DATABASE}"


def use(connection):
    got(connection.scalar(ORDERS))
    got(connection.scalar(ORDERS.next_value()))
    connection.rollback()
    with connection.begin():
        for _ in range(3):
            result = connection.execute(text("REPLACE INTO tickets (stub) VALUES (:stub)"), {"stub": "a"})
            # One of its dialects keeps it for its own INSERT only.
            number = result.lastrowid or connection.scalar(text("SELECT LAST_INSERT_ID()"))
            got(number, "tickets")
        same(connection.scalar(text("SELECT LAST_INSERT_ID()")), last["tickets"])
    error = refused(exc.DBAPIError, lambda: connection.scalar(text("SELECT NEXTVAL(nosuch)")))
    assert "Unknown SEQUENCE" in str(error), error
    connection.rollback()
    got(connection.scalar(ORDERS))


for driver in ("pymysql", "mysqldb", "mariadbconnector"):
    engine = create_engine(url(driver), pool_pre_ping=True, pool_size=2)
    for _ in range(3):
        with engine.connect() as connection:
            use(connection)
    same(inspect(engine).has_sequence("orders"), True)
    same(inspect(engine).has_sequence("nosuch"), False)
    assert "orders" in inspect(engine).get_sequence_names()
    engine.dispose()


async def asynchronously():
    for driver in ("aiomysql", "asyncmy"):
        engine = create_async_engine(url(driver), pool_pre_ping=True)
        for _ in range(2):
            async with engine.connect() as connection:
                await connection.run_sync(use)
        await engine.dispose()


asyncio.run(asynchronously())
ok()
