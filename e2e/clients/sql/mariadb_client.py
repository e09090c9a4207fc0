"""Stock MariaDB Connector/Python: prepared and executed in one packet, text, its pool, reset and reconnect."""

import mariadb

from told import CA, DATABASE, HOST, PASSWORD, PORT, USER, got, last, ok, refused, same

WHERE = dict(host=HOST, port=PORT, user=USER, password=PASSWORD, database=DATABASE)
if CA:
    WHERE.update(ssl_ca=CA, ssl_verify_cert=True)


def use(connection):
    def one(statement, values=None, **kind):
        cursor = connection.cursor(**kind)
        cursor.execute(statement, values)
        (number,) = cursor.fetchone()
        cursor.close()
        return number

    for kind in ({}, {"prepared": True}, {"binary": True}):
        for _ in range(3):
            cursor = connection.cursor(**kind)
            cursor.execute("REPLACE INTO tickets (stub) VALUES (?)", ("a",))
            got(cursor.lastrowid, "tickets")
            cursor.close()
            same(one("SELECT LAST_INSERT_ID()", **kind), last["tickets"])
        connection.commit()
        got(one("SELECT NEXTVAL(orders)", **kind))
        same(one("SELECT LASTVAL(orders)", **kind), last["orders"])
        error = refused(mariadb.Error, lambda: one("SELECT NEXTVAL(nosuch)", **kind))
        same((error.errno, error.sqlstate), (4091, "42S02"))
        got(one("SELECT NEXTVAL(orders)", **kind))
        connection.rollback()
    cursor = connection.cursor(prepared=True)
    for _ in range(5):
        cursor.execute("SELECT NEXTVAL(orders)")
        got(cursor.fetchone()[0])
    cursor.close()
    connection.ping()
    connection.reset()
    same(one("SELECT LASTVAL(orders)"), None)
    got(one("SELECT NEXTVAL(orders)"))


connection = mariadb.connect(**WHERE)
use(connection)
connection.reconnect()
use(connection)
connection.close()
pool = mariadb.ConnectionPool(pool_name="numbers", pool_size=2, **WHERE)
for _ in range(5):
    connection = pool.get_connection()
    cursor = connection.cursor()
    cursor.execute("SELECT NEXTVAL(orders)")
    got(cursor.fetchone()[0])
    cursor.close()
    connection.close()
ok()
