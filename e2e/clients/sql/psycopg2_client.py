"""Stock psycopg2, which sends only simple queries and puts parameters in itself; its pool, reset and cursors."""

import psycopg2
from psycopg2 import errors
from psycopg2.pool import ThreadedConnectionPool

from told import DATABASE, HOST, PASSWORD, PORT, USER, got, last, ok, refused, same

WHERE = dict(host=HOST, port=PORT, user=USER, password=PASSWORD, dbname=DATABASE)


def one(connection, statement, values=None):
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return cursor.fetchone()[0]


connection = psycopg2.connect(**WHERE, application_name="psycopg2")
got(one(connection, "SELECT nextval('orders')"))
for _ in range(7):
    got(one(connection, "SELECT nextval(%s)", ("orders",)))
same(one(connection, "SELECT currval('orders')"), last["orders"])
same(one(connection, "SELECT lastval()"), last["orders"])
connection.commit()

# An error ends the transaction; after a rollback it goes on.
error = refused(errors.UndefinedTable, lambda: one(connection, "SELECT nextval('nosuch')"))
same((error.pgcode, error.diag.message_primary), ("42P01", 'relation "nosuch" does not exist'))
refused(errors.InFailedSqlTransaction, lambda: one(connection, "SELECT nextval('orders')"))
connection.rollback()
got(one(connection, "SELECT nextval('orders')"))

# Many in one answer; a number that was taken before a rollback does not come again.
with connection.cursor() as cursor:
    cursor.execute("SELECT nextval('orders') FROM generate_series(1, 5)")
    same(cursor.rowcount, 5)
    for (number,) in cursor:
        got(number)
connection.rollback()
got(one(connection, "SELECT nextval('orders')"))
connection.commit()

# A cursor of the server's.
with connection.cursor(name="some") as cursor:
    cursor.itersize = 2
    cursor.execute("SELECT nextval('orders') FROM generate_series(1, 5)")
    for (number,) in cursor:
        got(number)
connection.commit()

connection.set_session(readonly=True)
refused(errors.ReadOnlySqlTransaction, lambda: one(connection, "SELECT nextval('orders')"))
connection.rollback()
connection.set_session(readonly=False, isolation_level="SERIALIZABLE")
got(one(connection, "SELECT nextval('orders')"))
connection.commit()

# What a pool does between two uses.
connection.set_session(autocommit=True)
connection.reset()
refused(
    errors.ObjectNotInPrerequisiteState,
    lambda: one(connection, "SELECT currval('orders')"),
)
connection.close()

pool = ThreadedConnectionPool(2, 4, **WHERE)
for _ in range(3):
    taken = pool.getconn()
    same(one(taken, "SELECT 1"), 1)
    got(one(taken, "SELECT nextval('orders')"))
    pool.putconn(taken)
pool.closeall()
ok()
