# Stock psqlODBC by isql: PORT USER PASSWORD; ODBC_DRIVERS is the folder of the drivers. It goes on after an error, which
# leaves no line. Prints each number as `orders NUMBER`, and `ok`.
set -eu
where="Driver=$ODBC_DRIVERS/psqlodbcw.so;Server=127.0.0.1;Port=$1;Uid=$2;Pwd=$3;Database=ids"
isql -b -d' ' -k "$where" 2>/dev/null <<'STATEMENTS' | sed 's/^/orders /'
SELECT nextval('orders')
SELECT nextval('orders')
SELECT nextval('nosuch')
SELECT nextval('orders')
BEGIN
SELECT nextval('orders')
ROLLBACK
SELECT nextval('orders') FROM generate_series(1, 5)
STATEMENTS
echo ok
