# Statements around sequences that PostgreSQL and the face answer alike: one message a line. A line with `=` begins a section,
# which has a connection of its own; one with `$` is sent by the extended protocol, with its parameters behind bars.
# What differs, and why, is listed in e2e/tests/postgres_parity.rs.

= numbers
CREATE SEQUENCE plain
SELECT nextval('plain')
SELECT nextval('plain'), nextval('plain')
SELECT currval('plain'), nextval('plain'), currval('plain')
SELECT lastval()
SELECT NEXTVAL('plain')
select Nextval ( 'plain' ) ;
SELECT pg_catalog.nextval('plain')
SELECT nextval('public.plain')
SELECT nextval('PLAIN')
SELECT nextval('"plain"')
SELECT nextval(' plain ')
SELECT nextval('plain'::regclass)
SELECT nextval('plain'::text)
SELECT nextval(CAST('plain' AS regclass))
SELECT nextval(('plain'))
SELECT nextval('plain') AS n
SELECT nextval('plain') n
SELECT nextval('plain') AS "Order No"
SELECT nextval('plain') AS "order", currval('plain') AS again
SELECT nextval(NULL)
SELECT currval(NULL)
SELECT nextval('plain') FROM generate_series(1, 3)
SELECT nextval('plain') FROM generate_series(1, 10, 4)
SELECT nextval('plain') FROM generate_series(3, 1)
SELECT nextval('plain') FROM generate_series(3, 1, -1)
SELECT nextval('plain'), nextval('plain') FROM generate_series(1, 2)
SELECT * FROM generate_series(1, 3)
SELECT generate_series FROM generate_series(2, 4)
SELECT nextval('plain') FROM generate_series(1, 3) AS g
SELECT nextval('plain') FROM generate_series(1, 2) g
SELECT nextval('plain') FROM generate_series(1, 2) LIMIT 1
SELECT nextval('plain'); SELECT nextval('plain')
SELECT nextval('plain'); SELECT nextval('nosuch'); SELECT nextval('plain')
SELECT nextval('plain') /* why */ -- not
SELECT /* a /* nested */ comment */ nextval('plain')
-- only a comment
;
;;
SELECT nextval(E'plain')
SELECT nextval($$plain$$)
SELECT nextval($tag$plain$tag$)
SELECT last_value FROM plain
SELECT last_value, is_called FROM plain
SELECT is_called, last_value FROM public.plain
SELECT "last_value" FROM "plain"

= values
SELECT 1
SELECT 1 AS one, 2
SELECT 'a'
SELECT 'a''b'
SELECT NULL
SELECT true, false
SELECT -1
SELECT 500::int8
SELECT 5::int4, 6::smallint, 7::bigint, 8::integer
SELECT '7'::int8
SELECT CAST('9' AS bigint)
SELECT 'x'::text
SELECT 'x'::varchar
SELECT 'abc'::int8
SELECT '9223372036854775808'::int8
SELECT 2147483648
SELECT 9223372036854775807
SELECT (1)
SELECT 1 WHERE false
SELECT
SELECT current_schema()
SELECT current_database()
SELECT current_user
SELECT pg_is_in_recovery()
SELECT pg_advisory_unlock_all()

= errors
CREATE SEQUENCE known
SELECT nextval('nosuch')
SELECT nextval('public.nosuch')
SELECT currval('nosuch')
SELECT setval('nosuch', 1)
SELECT currval('known')
SELECT lastval()
SELECT nextval('')
SELECT nextval(' ')
SELECT nextval('a.b.c.d')
SELECT nextval('"known')
SELECT nextval('kno wn')
SELECT nextval()
SELECT nextval('known', 1)
SELECT nextval(1, 2, 3)
SELECT nosuch('known')
SELECT nextval('known'
SELECT nextval('known'))
SELECT nextval(known)
SELECT nextval "known"
SELECT nextval('known
SELECT "unterminated
SELECT /* unterminated
SELECT nosuch
SELEC 1
SELECT 1 1
SELECT FROM FROM
INSERT INTO known VALUES (1)
INSERT INTO known (last_value) VALUES (1)
UPDATE known SET last_value = 5
DELETE FROM known
SELECT nosuch FROM known
SELECT last_value FROM nosuch
SELECT * FROM nosuch
SHOW nosuch
SET nosuch = 1
SELECT nextval('known')
SELECT nextval($1)
EXECUTE nosuch
DEALLOCATE nosuch
CLOSE nosuch
FETCH 1 FROM nosuch

= definitions
CREATE SEQUENCE d1
CREATE SEQUENCE d1
CREATE SEQUENCE IF NOT EXISTS d1
CREATE SEQUENCE IF NOT EXISTS d2
CREATE SEQUENCE d3 START 5
CREATE SEQUENCE d4 START WITH 10 INCREMENT BY 5
CREATE SEQUENCE d5 INCREMENT -1
CREATE SEQUENCE d6 INCREMENT 2 MINVALUE 10 MAXVALUE 14
CREATE SEQUENCE d7 AS smallint
CREATE SEQUENCE d8 AS integer NO MINVALUE NO MAXVALUE NO CYCLE
CREATE SEQUENCE d9 MINVALUE 3 MAXVALUE 4 CYCLE
CREATE SEQUENCE d10 CACHE 20
CREATE SEQUENCE d11 OWNED BY NONE
CREATE SEQUENCE public.d12
CREATE SEQUENCE "D13 Quoted"
CREATE SEQUENCE D14
create sequence d15 increment by -3 start -5
SELECT nextval('d1'), nextval('d2'), nextval('d3'), nextval('d4'), nextval('d5')
SELECT nextval('d4'), nextval('d5'), nextval('d6'), nextval('d7'), nextval('d8'), nextval('d9')
SELECT nextval('d6'), nextval('d6')
SELECT nextval('d6')
SELECT nextval('d9'), nextval('d9'), nextval('d9')
SELECT nextval('d10'), nextval('d11'), nextval('d12'), nextval('"D13 Quoted"'), nextval('d14'), nextval('d15')
SELECT nextval('d15'), nextval('d5')
CREATE SEQUENCE e1 INCREMENT 0
CREATE SEQUENCE e2 MINVALUE 5 MAXVALUE 5
CREATE SEQUENCE e3 MINVALUE 6 MAXVALUE 5
CREATE SEQUENCE e4 START 0
CREATE SEQUENCE e5 START 10 MAXVALUE 9
CREATE SEQUENCE e6 INCREMENT -1 START 1
CREATE SEQUENCE e7 MINVALUE 20 INCREMENT -1
CREATE SEQUENCE e8 CACHE 0
CREATE SEQUENCE e9 AS text
CREATE SEQUENCE e10 AS nosuch
CREATE SEQUENCE e11 AS smallint MAXVALUE 40000
CREATE SEQUENCE e12 AS smallint MINVALUE -40000
CREATE SEQUENCE e13 INCREMENT 1 INCREMENT 2
CREATE SEQUENCE e14 START 1 START 2
CREATE SEQUENCE e15 MAXVALUE 9223372036854775808
CREATE SEQUENCE e16 START 1.5
CREATE SEQUENCE e17 CYCLE NO CYCLE
CREATE SEQUENCE e18 NOSUCH
CREATE SEQUENCE e19 OWNED BY nosuch.id
CREATE SEQUENCE e20 START
CREATE SEQUENCE
CREATE SEQUENCE 5
DROP SEQUENCE d1
DROP SEQUENCE d1
DROP SEQUENCE IF EXISTS d1
DROP SEQUENCE d2, d3
DROP SEQUENCE IF EXISTS d4, nosuch
DROP SEQUENCE d5 CASCADE
DROP SEQUENCE d6 RESTRICT
DROP SEQUENCE "D13 Quoted"
DROP SEQUENCE d7, nosuch
SELECT nextval('d7')
SELECT nextval('d2')
DROP SEQUENCE

= changes
CREATE SEQUENCE a1 MAXVALUE 3
SELECT nextval('a1') FROM generate_series(1, 3)
SELECT nextval('a1')
ALTER SEQUENCE a1 MAXVALUE 10
SELECT nextval('a1')
ALTER SEQUENCE a1 INCREMENT 2
SELECT nextval('a1')
ALTER SEQUENCE a1 INCREMENT BY 3 NO MAXVALUE
SELECT nextval('a1')
ALTER SEQUENCE a1 RESTART 100
SELECT nextval('a1')
ALTER SEQUENCE a1 RESTART WITH 200
SELECT last_value, is_called FROM a1
SELECT nextval('a1')
ALTER SEQUENCE a1 START 300
SELECT nextval('a1')
ALTER SEQUENCE a1 MINVALUE 0
ALTER SEQUENCE a1 MINVALUE 1000
ALTER SEQUENCE a1 MAXVALUE 5
ALTER SEQUENCE a1 RESTART -1
ALTER SEQUENCE a1 INCREMENT 0
ALTER SEQUENCE a1 CACHE 5
ALTER SEQUENCE a1 CACHE 0
ALTER SEQUENCE a1 OWNED BY NONE
ALTER SEQUENCE a1 CYCLE
ALTER SEQUENCE a1 NO CYCLE
ALTER SEQUENCE a1
ALTER SEQUENCE a1 NOSUCH 5
ALTER SEQUENCE nosuch INCREMENT 2
ALTER SEQUENCE IF EXISTS nosuch INCREMENT 2
ALTER SEQUENCE IF EXISTS a1 INCREMENT 1
SELECT nextval('a1')
SELECT setval('a1', 5000)
SELECT nextval('a1'), currval('a1'), lastval()
SELECT setval('a1', 6000, true)
SELECT currval('a1')
SELECT setval('a1', 7000, false)
SELECT currval('a1')
SELECT last_value, is_called FROM a1
SELECT nextval('a1')
SELECT setval('a1', -5)
SELECT setval('a1', NULL)
SELECT setval('a1', 8000::int8), currval('a1')
SELECT setval('a1')
SELECT setval('a1', 'abc')
SELECT setval('a1', '9000')
SELECT setval('a1', 9223372036854775807)
SELECT nextval('a1')
CREATE SEQUENCE a2
SELECT setval('a2', 10), lastval()
SELECT nextval('a2'), lastval()
CREATE SEQUENCE a3 INCREMENT -2 START -10
SELECT setval('a3', -100)
SELECT nextval('a3')
SELECT setval('a3', 5)

= moves back, where that is allowed
SET mint.allow_repeat = on
CREATE SEQUENCE b1
SELECT setval('b1', 100)
SELECT setval('b1', 5)
SELECT nextval('b1')
ALTER SEQUENCE b1 RESTART
SELECT nextval('b1')
ALTER SEQUENCE b1 RESTART 3
SELECT nextval('b1')
ALTER SEQUENCE b1 INCREMENT -1
SELECT nextval('b1')
DROP SEQUENCE b1
CREATE SEQUENCE b1
SELECT nextval('b1')
SELECT setval('b1', 1, false)
SELECT nextval('b1')

= transactions
CREATE SEQUENCE t1
BEGIN
SELECT nextval('t1')
BEGIN
COMMIT
COMMIT
ROLLBACK
BEGIN WORK
SELECT nextval('t1')
ROLLBACK
SELECT nextval('t1')
START TRANSACTION
SELECT nextval('nosuch')
SELECT nextval('t1')
SAVEPOINT a
COMMIT
BEGIN TRANSACTION ISOLATION LEVEL SERIALIZABLE
SHOW transaction_isolation
SHOW TRANSACTION ISOLATION LEVEL
END
SHOW TRANSACTION ISOLATION LEVEL
BEGIN READ ONLY
SELECT nextval('t1')
ROLLBACK
BEGIN READ ONLY
SELECT last_value FROM t1
SELECT setval('t1', 100)
ABORT
BEGIN ISOLATION LEVEL REPEATABLE READ, READ WRITE
SAVEPOINT a
SELECT nextval('t1')
SAVEPOINT b
SELECT nextval('nosuch')
ROLLBACK TO b
SELECT nextval('t1')
RELEASE a
RELEASE a
ROLLBACK TO SAVEPOINT nosuch
ROLLBACK
SAVEPOINT a
RELEASE a
ROLLBACK TO a
BEGIN; SELECT nextval('t1'); COMMIT
BEGIN; SELECT nextval('nosuch'); COMMIT
SELECT nextval('t1')
ROLLBACK
SELECT nextval('t1'); ROLLBACK
END TRANSACTION
BEGIN
DISCARD ALL
ROLLBACK
BEGIN ISOLATION LEVEL NOSUCH
BEGIN NOSUCH
SET TRANSACTION READ ONLY
BEGIN
SET TRANSACTION READ ONLY
SELECT nextval('t1')
ROLLBACK
SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY
SELECT nextval('t1')
SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE
SET default_transaction_read_only = on
SELECT nextval('t1')
RESET default_transaction_read_only
SELECT nextval('t1')
COMMIT AND CHAIN

= cursors
CREATE SEQUENCE c1
BEGIN
DECLARE c CURSOR FOR SELECT nextval('c1') FROM generate_series(1, 7)
FETCH 2 FROM c
FETCH c
FETCH NEXT FROM c
FETCH FORWARD 1 IN c
FETCH ALL FROM c
FETCH ALL FROM c
CLOSE c
FETCH c
ROLLBACK
DECLARE c CURSOR FOR SELECT 1
BEGIN
DECLARE c CURSOR FOR SELECT nextval('c1') FROM generate_series(1, 3)
DECLARE c CURSOR FOR SELECT 1
ROLLBACK
DECLARE h CURSOR WITH HOLD FOR SELECT 1
FETCH h
CLOSE ALL
BEGIN
DECLARE n NO SCROLL CURSOR FOR SELECT nextval('c1')
FETCH 5 FROM n
FETCH BACKWARD 1 FROM n
COMMIT

= settings
SHOW server_encoding
SHOW standard_conforming_strings
SHOW integer_datetimes
SET application_name = 'parity'
SHOW application_name
SET application_name TO DEFAULT
SHOW application_name
SET SESSION application_name = 'b'
RESET application_name
SET extra_float_digits = 3
SHOW extra_float_digits
SET DateStyle = ISO
SHOW DateStyle
SET client_min_messages TO warning
SET client_encoding = 'UTF8'
SET client_encoding TO 'LATIN1'
SHOW client_encoding
RESET client_encoding
SET NAMES 'UTF8'
SET statement_timeout = 0
SET statement_timeout = '5s'
SHOW statement_timeout
SET lock_timeout = 0
SET idle_in_transaction_session_timeout = 0
SET search_path = public
SHOW search_path
SET TIME ZONE 'UTC'
SHOW TIME ZONE
SHOW TimeZone
SET row_security = off
SET check_function_bodies = false
SET xmloption = content
SET default_table_access_method = heap
SET synchronous_commit = off
SELECT set_config('search_path', '', false)
SELECT current_setting('search_path')
SELECT set_config('TimeZone', 'UTC', false)
SELECT current_setting('nosuch')
SELECT current_setting('nosuch.nosuch', true)
SET my.own = 'x'
SHOW my.own
SELECT current_setting('my.own')
BEGIN
SET LOCAL application_name = 'inner'
SHOW application_name
ROLLBACK
SHOW application_name
BEGIN
SET application_name = 'undone'
ROLLBACK
SHOW application_name
SET extra_float_digits = 'abc'
SET statement_timeout = -1
SET server_version = '1'
SET transaction_isolation = 'serializable'
RESET ALL
DISCARD ALL
DISCARD SEQUENCES
DISCARD PLANS
DISCARD TEMP
DISCARD NOSUCH
DEALLOCATE ALL
DEALLOCATE PREPARE ALL
UNLISTEN *
CLOSE ALL
SELECT pg_advisory_unlock_all(); CLOSE ALL; UNLISTEN *; RESET ALL

= what DISCARD forgets
CREATE SEQUENCE f1
SELECT nextval('f1')
DISCARD SEQUENCES
SELECT currval('f1')
SELECT lastval()
SELECT nextval('f1')
DISCARD ALL
SELECT currval('f1')
SELECT nextval('f1')
DROP SEQUENCE f1
SELECT lastval()

= catalogues
CREATE SEQUENCE k1 START 7 INCREMENT 3 MAXVALUE 100 CYCLE
CREATE SEQUENCE k2
SELECT nextval('k2')
SELECT schemaname, sequencename, data_type, start_value, min_value, max_value, increment_by, cycle, cache_size, last_value FROM pg_sequences WHERE sequencename = 'k1'
SELECT last_value FROM pg_sequences WHERE sequencename = 'k2'
SELECT start_value, minimum_value, maximum_value, increment, cycle_option FROM information_schema.sequences WHERE sequence_name = 'k1'
SELECT sequence_name FROM information_schema.sequences WHERE sequence_name = 'nosuch'
SELECT relname FROM pg_class WHERE relkind = 'S' AND relname = 'k1'
SELECT typname FROM pg_type WHERE oid = 20
SELECT oid, typname FROM pg_type WHERE typname IN ('int8', 'text')
SELECT nspname FROM pg_namespace WHERE nspname = 'public'
SELECT * FROM pg_sequence_parameters('k1'::regclass)
SELECT pg_sequence_last_value('k2'::regclass)

= parameters
CREATE SEQUENCE p1
$ SELECT nextval($1) | p1
$ SELECT nextval($1) | nosuch
$ SELECT $2, nextval($1) | known | hello
$ SELECT nextval('p1')
$ SELECT nextval('nosuch')
$ SELECT currval($1) | p1
$ SELECT setval($1, $2) | p1 | 50
$ SELECT setval($1, $2, $3) | p1 | 60 | f
$ SELECT setval($1, $2) | p1 | abc
$ SELECT setval($1, $2) | p1 | 9223372036854775808
$ SELECT nextval('p1') FROM generate_series(1, $1) | 3
$ SELECT nextval('known') FROM generate_series($1, $2) | 1 | 2
$ SELECT nextval('p1') FROM generate_series(1, $1) | abc
$ SELECT $1 | x
$ SELECT $1::int8 | 5
$ SELECT $1::int8 | x
$ SELECT $1::text | x
$ SELECT $2 | x | y
$ SELECT nextval($1) | p1 | p1
$ SELECT nextval($1)
$ SELECT nextval('p1'); SELECT 1
$ SELEC 1
$ 
$ BEGIN
$ SELECT nextval('p1')
$ SELECT nextval('nosuch')
$ SELECT nextval('p1')
$ ROLLBACK
$ CREATE SEQUENCE p2
$ CREATE SEQUENCE p2
$ DROP SEQUENCE p2
$ SHOW application_name
$ SET application_name = 'x'
$ DISCARD ALL

= other statements that PostgreSQL has
LISTEN a
CREATE SEQUENCE o1
COMMENT ON SEQUENCE o1 IS 'x'
GRANT SELECT ON SEQUENCE o1 TO PUBLIC
PREPARE x AS SELECT nextval('o1')
EXECUTE x
DEALLOCATE x
LOCK TABLE o1
VACUUM
