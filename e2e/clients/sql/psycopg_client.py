"""Stock psycopg 3: the extended protocol, prepared and binary from the sixth use on, pipelines, server cursors, its pool."""

import asyncio

import psycopg
from psycopg import errors
from psycopg_pool import ConnectionPool

from told import DATABASE, HOST, PASSWORD, PORT, USER, got, last, ok, refused, same

WHERE = dict(host=HOST, port=PORT, user=USER, password=PASSWORD, dbname=DATABASE)


def one(connection, statement, values=None, **more):
    return connection.execute(statement, values, **more).fetchone()[0]


with psycopg.connect(**WHERE) as connection:
    got(one(connection, "SELECT nextval('orders')"))
    for _ in range(8):
        got(one(connection, "SELECT nextval(%s)", ("orders",)))
    for _ in range(8):
        got(one(connection, "SELECT nextval(%s)", ("orders",), binary=True))
    got(one(connection, "SELECT nextval('orders')", prepare=True))
    same(one(connection, "SELECT currval(%s)", ("orders",)), last["orders"])
    connection.commit()
    same(connection.info.transaction_status, psycopg.pq.TransactionStatus.IDLE)

    # An error inside a savepoint leaves the transaction as it is.
    with connection.transaction():
        got(one(connection, "SELECT nextval('orders')"))

        def inner():
            with connection.transaction():
                return one(connection, "SELECT nextval('nosuch')")

        error = refused(errors.UndefinedTable, inner)
        same(error.diag.message_primary, 'relation "nosuch" does not exist')
        got(one(connection, "SELECT nextval('orders')"))
    error = refused(errors.UndefinedTable, lambda: one(connection, "SELECT nextval(%s)", ("nosuch",)))
    same(error.sqlstate, "42P01")
    refused(errors.InFailedSqlTransaction, lambda: one(connection, "SELECT 1"))
    connection.rollback()

    numbers = connection.execute("SELECT nextval('orders') FROM generate_series(1, %s)", (5,)).fetchall()
    same(len(numbers), 5)
    for (number,) in numbers:
        got(number)
    connection.commit()

    # A pipeline: statements without waiting, an error in one, and the next.
    with connection.pipeline():
        cursors = [connection.execute("SELECT nextval(%s)", ("orders",)) for _ in range(20)]
        for cursor in cursors:
            got(cursor.fetchone()[0])
    connection.commit()

    # Cursors of the server's: by DECLARE, in portions.
    for binary in (False, True):
        with connection.cursor("some", binary=binary) as cursor:
            cursor.itersize = 3
            cursor.execute("SELECT nextval('orders') FROM generate_series(1, 7)")
            for (number,) in cursor:
                got(number)
        connection.commit()
    for row in connection.cursor().stream("SELECT nextval('orders') FROM generate_series(1, 4)"):
        got(row[0])
    connection.commit()

    connection.read_only = True
    refused(errors.ReadOnlySqlTransaction, lambda: one(connection, "SELECT nextval('orders')"))
    connection.rollback()
    connection.read_only = False
    connection.autocommit = True
    connection.execute("DISCARD ALL")
    refused(
        errors.ObjectNotInPrerequisiteState,
        lambda: one(connection, "SELECT currval('orders')"),
    )
    # By a second connection, to which nothing is answered.
    connection.cancel_safe()
    got(one(connection, "SELECT nextval('orders')"))


def reset(connection):
    connection.execute("DISCARD ALL")
    connection.commit()


with ConnectionPool(
    kwargs=WHERE, min_size=2, max_size=3, check=ConnectionPool.check_connection, reset=reset
) as pool:
    pool.wait()
    for _ in range(8):
        with pool.connection() as connection:
            got(one(connection, "SELECT nextval('orders')"))


async def asynchronously():
    async with await psycopg.AsyncConnection.connect(**WHERE) as connection:
        for _ in range(7):
            cursor = await connection.execute("SELECT nextval(%s)", ("orders",))
            got((await cursor.fetchone())[0])


asyncio.run(asynchronously())
ok()
