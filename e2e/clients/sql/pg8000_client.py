"""Stock pg8000, natively and by DB-API: every step of the extended protocol ends with a Flush and a Sync of its own."""

import pg8000.dbapi
import pg8000.native

from told import DATABASE, HOST, PASSWORD, PORT, USER, got, last, ok, refused, same

WHERE = dict(host=HOST, port=PORT, user=USER, password=PASSWORD, database=DATABASE)

connection = pg8000.native.Connection(**WHERE)
got(connection.run("SELECT nextval('orders')")[0][0])
for _ in range(3):
    got(connection.run("SELECT nextval(:name)", name="orders")[0][0])
same([column["name"] for column in connection.columns], ["nextval"])
statement = connection.prepare("SELECT nextval(:name)")
for _ in range(7):
    got(statement.run(name="orders")[0][0])
statement.close()
same(connection.run("SELECT currval('orders')"), [[last["orders"]]])
error = refused(pg8000.native.DatabaseError, lambda: connection.run("SELECT nextval('nosuch')"))
same((error.args[0]["C"], error.args[0]["M"]), ("42P01", 'relation "nosuch" does not exist'))
connection.run("START TRANSACTION")
got(connection.run("SELECT nextval('orders')")[0][0])
connection.run("ROLLBACK")
for (number,) in connection.run("SELECT nextval('orders') FROM generate_series(1, 4)"):
    got(number)
connection.close()

connection = pg8000.dbapi.connect(**WHERE)
cursor = connection.cursor()
for _ in range(3):
    cursor.execute("SELECT nextval(%s)", ("orders",))
    got(cursor.fetchone()[0])
connection.commit()
refused(pg8000.dbapi.DatabaseError, lambda: cursor.execute("SELECT nextval('nosuch')"))
refused(pg8000.dbapi.DatabaseError, lambda: cursor.execute("SELECT 1"))
connection.rollback()
cursor.execute("SELECT nextval('orders')")
got(cursor.fetchone()[0])
connection.commit()
connection.close()
ok()
