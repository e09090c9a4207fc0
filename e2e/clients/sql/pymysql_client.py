"""Stock PyMySQL: Flickr's tickets, the driver's own last insert id, sequences, an error, pings."""

import pymysql

from told import CA, DATABASE, HOST, PASSWORD, PORT, USER, got, last, ok, refused, same

connection = pymysql.connect(
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
got(one("SELECT NEXT VALUE FOR orders"))
same(one("SELECT LASTVAL(orders)"), last["orders"])
same(one("SELECT PREVIOUS VALUE FOR orders"), last["orders"])

error = refused(pymysql.err.Error, lambda: one("SELECT NEXTVAL(nosuch)"))
same(error.args[0], 4091)
error = refused(pymysql.err.ProgrammingError, lambda: one("REPLACE INTO nosuch (stub) VALUES ('a')"))
same(error.args[0], 1146)
got(one("SELECT NEXTVAL(orders)"))

# A number that was taken before a rollback does not come again.
connection.begin()
got(one("SELECT NEXTVAL(orders)"))
connection.rollback()
connection.autocommit(True)
got(one("SELECT NEXTVAL(orders)"))

connection.ping()
with connection.cursor() as cursor:
    cursor.execute("SELECT NEXTVAL(orders) FROM seq_1_to_5")
    for (number,) in cursor:
        got(number)
connection.select_db(DATABASE)
same(one("SELECT DATABASE()"), DATABASE)
connection.close()
ok()
