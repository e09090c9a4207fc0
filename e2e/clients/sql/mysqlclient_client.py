"""Stock mysqlclient, which is MariaDB's C library: tickets, numbers, several statements at once, a changed user, pings."""

import MySQLdb
import MySQLdb.cursors

from told import CA, DATABASE, HOST, PASSWORD, PORT, USER, got, last, ok, refused, same

connection = MySQLdb.connect(
    host=HOST, port=PORT, user=USER, password=PASSWORD, database=DATABASE, ssl={"ca": CA} if CA else None
)


def one(statement, values=None):
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return cursor.fetchone()[0]


for _ in range(4):
    with connection.cursor() as cursor:
        cursor.execute("REPLACE INTO tickets (stub) VALUES (%s)", ("a",))
        got(cursor.lastrowid, "tickets")
    same(connection.insert_id(), last["tickets"])
    same(one("SELECT LAST_INSERT_ID()"), last["tickets"])
connection.commit()
got(one("SELECT NEXTVAL(orders)"))
same(one("SELECT LASTVAL(orders)"), last["orders"])
error = refused(MySQLdb.OperationalError, lambda: one("SELECT NEXTVAL(nosuch)"))
same(error.args[0], 4091)
got(one("SELECT NEXTVAL(orders)"))
connection.ping()
connection.autocommit(True)
with connection.cursor() as cursor:
    cursor.execute("SELECT NEXTVAL(orders); SELECT NEXTVAL(orders)")
    got(cursor.fetchone()[0])
    same(cursor.nextset(), 1)
    got(cursor.fetchone()[0])
with connection.cursor(MySQLdb.cursors.SSCursor) as cursor:
    cursor.execute("SELECT NEXTVAL(orders) FROM seq_1_to_5")
    for (number,) in cursor:
        got(number)
connection.change_user(USER, PASSWORD, DATABASE)
same(one("SELECT LAST_INSERT_ID()"), 0)
same(one("SELECT LASTVAL(orders)"), None)
got(one("SELECT NEXTVAL(orders)"))
connection.close()
ok()
