"""Stock SQLAlchemy over each of four drivers: Sequence as object, its pool with pings, a catalogue lookup, an error."""

import asyncio

from sqlalchemy import Sequence, create_engine, exc, inspect, select, text
from sqlalchemy.ext.asyncio import create_async_engine

from told import DATABASE, HOST, PASSWORD, PORT, USER, got, last, ok, refused, same

ORDERS = Sequence("orders")


def url(driver):
    return f"postgresql+{driver}://{USER}:{PASSWORD}@{HOST}:{PORT}/{DATABASE}"


def use(connection):
    got(connection.scalar(ORDERS))
    for _ in range(6):
        got(connection.scalar(select(ORDERS.next_value())))
    same(connection.scalar(text("SELECT currval('orders')")), last["orders"])
    connection.rollback()
    with connection.begin():
        got(connection.scalar(ORDERS))
        for number in connection.scalars(text("SELECT nextval('orders') FROM generate_series(1, 3)")):
            got(number)
    # Drivers tell the kind of an error differently; the text is the server's.
    error = refused(exc.DBAPIError, lambda: connection.scalar(text("SELECT nextval('nosuch')")))
    assert 'relation "nosuch" does not exist' in str(error), error
    connection.rollback()
    got(connection.scalar(ORDERS))


for driver in ("psycopg2", "psycopg", "pg8000"):
    engine = create_engine(url(driver), pool_pre_ping=True, pool_size=2)
    for _ in range(3):
        with engine.connect() as connection:
            use(connection)
    same(inspect(engine).has_sequence("orders"), True)
    same(inspect(engine).has_sequence("nosuch"), False)
    assert "orders" in inspect(engine).get_sequence_names()
    ORDERS.create(engine, checkfirst=True)
    engine.dispose()


async def asynchronously():
    engine = create_async_engine(url("asyncpg"), pool_pre_ping=True)
    for _ in range(3):
        async with engine.connect() as connection:
            await connection.run_sync(use)
    await engine.dispose()


asyncio.run(asynchronously())
ok()
