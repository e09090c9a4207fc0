"""Stock asyncpg: all binary, prepared statements by name, cursors by portals, its pool, which resets by four statements."""

import asyncio

import asyncpg

from told import DATABASE, HOST, PASSWORD, PORT, USER, got, last, ok, same

WHERE = dict(host=HOST, port=PORT, user=USER, password=PASSWORD, database=DATABASE)


async def refused(kind, call):
    try:
        answer = await call
    except kind as error:
        return error
    raise AssertionError(f"expected {kind.__name__}, got {answer!r}")


async def alone():
    connection = await asyncpg.connect(**WHERE)
    got(await connection.fetchval("SELECT nextval('orders')"))
    for _ in range(7):
        got(await connection.fetchval("SELECT nextval('orders')"))
        got(await connection.fetchval("SELECT nextval($1::text)", "orders"))
    statement = await connection.prepare("SELECT nextval('orders') FROM generate_series(1, $1)")
    for count in (1, 3, 5):
        rows = await statement.fetch(count)
        same(len(rows), count)
        for row in rows:
            got(row["nextval"])
    same(await connection.fetchval("SELECT currval('orders')"), last["orders"])

    error = await refused(asyncpg.UndefinedTableError, connection.fetchval("SELECT nextval('nosuch')"))
    same((error.sqlstate, error.message), ("42P01", 'relation "nosuch" does not exist'))
    got(await connection.fetchval("SELECT nextval('orders')"))

    async with connection.transaction():
        got(await connection.fetchval("SELECT nextval('orders')"))
        async with connection.transaction():
            got(await connection.fetchval("SELECT nextval('orders')"))
        async for row in connection.cursor("SELECT nextval('orders') FROM generate_series(1, 7)", prefetch=3):
            got(row[0])
    read_only = connection.transaction(readonly=True)
    await read_only.start()
    await refused(
        asyncpg.ReadOnlySQLTransactionError, connection.fetchval("SELECT nextval('orders')")
    )
    await read_only.rollback()
    await connection.execute("SELECT nextval('orders')")
    same(await connection.fetchval("SELECT lastval()"), last["orders"] + 1)
    got(await connection.fetchval("SELECT currval('orders')"))
    await connection.reset()
    await connection.close()


async def pooled():
    async with asyncpg.create_pool(**WHERE, min_size=1, max_size=3) as pool:
        for _ in range(5):
            async with pool.acquire() as connection:
                got(await connection.fetchval("SELECT nextval('orders')"))


asyncio.run(alone())
asyncio.run(pooled())
ok()
