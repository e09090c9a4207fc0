# Stock MariaDB Connector/ODBC by isql: PORT USER PASSWORD; ODBC_DRIVERS is the folder of the drivers. It goes on after an
# error, which leaves no line. Prints each number as `NAME NUMBER`, and `ok`.
set -eu
where="Driver=$ODBC_DRIVERS/libmaodbc.so;Server=127.0.0.1;Port=$1;Uid=$2;Pwd=$3;Database=ids"
isql -b -d' ' -k "$where" 2>/dev/null <<'STATEMENTS' | sed 's/^/orders /'
SELECT NEXTVAL(orders)
SELECT NEXTVAL(nosuch)
SELECT NEXT VALUE FOR orders
BEGIN
SELECT NEXTVAL(orders)
ROLLBACK
SELECT NEXTVAL(orders) FROM seq_1_to_5
STATEMENTS
isql -b -d' ' -k "$where" 2>/dev/null <<'STATEMENTS' | sed 's/^/tickets /'
REPLACE INTO tickets (stub) VALUES ('a')
SELECT LAST_INSERT_ID()
REPLACE INTO nosuch (stub) VALUES ('a')
REPLACE INTO tickets (stub) VALUES ('a')
SELECT LAST_INSERT_ID()
STATEMENTS
echo ok
