"""Stock aiomysql and asyncmy, each alone and by its pool."""

import asyncio

import aiomysql
import asyncmy
import asyncmy.errors
import pymysql

from told import DATABASE, HOST, PASSWORD, PORT, USER, got, last, ok, same

WHERE = dict(host=HOST, port=PORT, user=USER, password=PASSWORD, db=DATABASE)


async def use(connection, error_kind):
    async def one(statement, values=None):
        async with connection.cursor() as cursor:
            await cursor.execute(statement, values)
            return (await cursor.fetchone())[0]

    for _ in range(3):
        async with connection.cursor() as cursor:
            await cursor.execute("REPLACE INTO tickets (stub) VALUES (%s)", ("a",))
            got(cursor.lastrowid, "tickets")
        same(await one("SELECT LAST_INSERT_ID()"), last["tickets"])
    await connection.commit()
    got(await one("SELECT NEXTVAL(orders)"))
    same(await one("SELECT LASTVAL(orders)"), last["orders"])
    try:
        await one("SELECT NEXTVAL(nosuch)")
        raise AssertionError("not refused")
    except error_kind as error:
        same(error.args[0], 4091)
    got(await one("SELECT NEXTVAL(orders)"))
    await connection.rollback()
    await connection.ping()
    async with connection.cursor() as cursor:
        await cursor.execute("SELECT NEXTVAL(orders) FROM seq_1_to_5")
        for (number,) in await cursor.fetchall():
            got(number)


async def main():
    for driver, error_kind in ((aiomysql, pymysql.err.Error), (asyncmy, asyncmy.errors.Error)):
        connection = await driver.connect(**WHERE)
        await use(connection, error_kind)
        await connection.ensure_closed()
        pool = await driver.create_pool(minsize=1, maxsize=2, **WHERE)
        for _ in range(3):
            async with pool.acquire() as connection:
                await use(connection, error_kind)
        pool.close()
        await pool.wait_closed()


asyncio.run(main())
ok()
