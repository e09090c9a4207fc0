"""Stock MySQL Connector/Python: text and prepared statements, its pool, which resets connections."""

import mysql.connector
from mysql.connector import errors

from told import CA, DATABASE, HOST, PASSWORD, PORT, USER, got, last, ok, refused, same


def use(connection):
    def one(statement, values=None, **kind):
        with connection.cursor(**kind) as cursor:
            cursor.execute(statement, values)
            return cursor.fetchone()[0]

    for kind in ({}, {"prepared": True}):
        for _ in range(3):
            with connection.cursor(**kind) as cursor:
                cursor.execute("REPLACE INTO tickets (stub) VALUES (%s)", ("a",))
                got(cursor.lastrowid, "tickets")
            same(one("SELECT LAST_INSERT_ID()", **kind), last["tickets"])
        connection.commit()
        got(one("SELECT NEXTVAL(orders)", **kind))
        same(one("SELECT LASTVAL(orders)", **kind), last["orders"])
        error = refused(errors.Error, lambda: one("SELECT NEXTVAL(nosuch)", **kind))
        same(error.errno, 4091)
        got(one("SELECT NEXTVAL(orders)", **kind))
        connection.rollback()
    with connection.cursor(prepared=True) as cursor:
        for _ in range(5):
            cursor.execute("SELECT NEXTVAL(orders)")
            got(cursor.fetchone()[0])
    connection.ping()
    connection.cmd_reset_connection()
    same(one("SELECT LASTVAL(orders)"), None)
    connection.cmd_change_user(USER, PASSWORD, DATABASE)
    got(one("SELECT NEXTVAL(orders)"))


where = dict(
    host=HOST, port=PORT, user=USER, password=PASSWORD, database=DATABASE, use_pure=True,
    # Its own default is a collation that only MySQL 8 has.
    collation="utf8mb4_general_ci",
)
if CA:
    where.update(ssl_ca=CA, ssl_verify_cert=True, ssl_verify_identity=True)
connection = mysql.connector.connect(**where)
use(connection)
connection.close()
for _ in range(3):
    pooled = mysql.connector.connect(pool_name="numbers", pool_size=2, **where)
    cursor = pooled.cursor()
    cursor.execute("SELECT NEXTVAL(orders)")
    got(cursor.fetchone()[0])
    cursor.close()
    pooled.close()
ok()
