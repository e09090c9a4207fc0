-- What psql is given, over fresh sequences `orders` and `later`; psql.out is what it prints, here as with PostgreSQL.
\echo -- plain, aligned, several in one message
SELECT nextval('orders');
SELECT nextval('orders') AS "order", currval('orders'), lastval();
SELECT nextval('orders')\; SELECT nextval('orders');
SELECT nextval('orders') FROM generate_series(1, 3);
SELECT nextval('orders') \gset
\echo :nextval
\echo -- errors, and on
SELECT nextval('nosuch');
\echo :SQLSTATE
SELECT currval('later');
SELEC 1;
SELECT nextval('orders');
\echo -- prepared by name and with parameters
SELECT nextval('orders'::regclass), 500::int8, 'x'::text, NULL;
\echo -- in a transaction
BEGIN;
SELECT nextval('orders');
SAVEPOINT a;
SELECT nextval('nosuch');
SELECT nextval('orders');
ROLLBACK TO a;
SELECT nextval('orders');
ROLLBACK;
SELECT nextval('orders');
BEGIN READ ONLY;
SELECT nextval('orders');
COMMIT;
\echo -- in portions, by a cursor
\set FETCH_COUNT 2
SELECT nextval('orders') FROM generate_series(1, 5);
\unset FETCH_COUNT
\echo -- definitions
CREATE SEQUENCE invoices START 100 INCREMENT 5 MAXVALUE 110;
CREATE SEQUENCE invoices;
CREATE SEQUENCE IF NOT EXISTS invoices;
SELECT nextval('invoices'), nextval('invoices'), nextval('invoices');
SELECT nextval('invoices');
ALTER SEQUENCE invoices MAXVALUE 1000;
SELECT nextval('invoices');
SELECT setval('invoices', 500);
SELECT nextval('invoices');
SELECT last_value, is_called FROM invoices;
SELECT setval('invoices', 5000);
DROP SEQUENCE invoices;
DROP SEQUENCE invoices;
DROP SEQUENCE IF EXISTS invoices;
\echo -- what a pool asks
DISCARD ALL;
SELECT currval('orders');
SHOW transaction_isolation;
SELECT 1;
;
\echo -- what there is
\ds
\ds orders
\d
\d orders
\d nosuch
\dt
\df
\dv
\encoding
SELECT sequencename, last_value FROM pg_sequences WHERE sequencename = 'later';
