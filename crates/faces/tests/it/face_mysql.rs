//! MySQL's protocol, packet by packet: what is greeted, answered and refused.
#![allow(clippy::little_endian_bytes)]

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mintage_server::Stop;
use mintage_server::auth::{Proof, Right, SqlVerifiers, Token, TokenDigest};
use mintage_server::config::{Config, FaceAuth, Listen, LocalPath, Off, Setting};
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::common::{Client, FEW, Server, token};
use crate::mysql_client::{self, CAPABILITIES, My, command, is};
use crate::rights::told;

fn on(config: &mut Config) {
    config
        .faces
        .get_mut::<mintage_faces::mysql::Settings>()
        .access
        .listen = Listen::parse("127.0.0.1:0").unwrap();
}

fn server() -> Server {
    let server = Server::with(on);
    for (name, definition) in [
        ("orders", "{}"),
        ("Tickets64", "{}"),
        ("odd", r#"{"start":"1","increment":"2"}"#),
        ("end", r#"{"max":"3"}"#),
        ("shop.orders", r#"{"start":"500"}"#),
    ] {
        server.make(name, definition);
    }
    server
}

/// Each text with its answers.
#[track_caller]
fn check(my: &mut My, rows: &[(&str, &str)]) {
    for (text, expected) in rows {
        let mut answer = my.ask(text);
        // Where the words of a refusal are our own, its number and state are looked at.
        if expected.matches(' ').count() == 2 && expected.starts_with("ERR ")
            || expected.ends_with("ERR 1064 42000")
        {
            answer.truncate(expected.len());
        }
        assert_eq!(answer, *expected, "{text}");
    }
}

#[test]
fn the_server_greets_and_a_login_is_answered() {
    let server = server();
    let mut client = Client::connect(server.address("mysql"));
    let (number, greeting) = mysql_client::packet(&mut client);
    assert_eq!((number, greeting[0]), (0, 10));
    let version = &greeting[1..];
    assert!(version.starts_with(b"5.5.5-10.11.0-MariaDB-Mintage-"));
    let after = 1 + version.iter().position(|byte| *byte == 0).unwrap() + 1;
    let rest = &greeting[after..];
    // The number, 8 bytes, a NUL, the lower capabilities without bit 0, utf8mb4, autocommit, the upper ones, 21.
    assert_eq!(rest[12], 0);
    assert_eq!(&rest[13..21], b"\x0e\xa3\x2d\x02\0\x3f\0\x15");
    assert_eq!(&rest[21..31], [0; 10]);
    assert_eq!(&rest[43..], b"\0mysql_native_password\0");
    mysql_client::send(
        &mut client,
        1,
        &mysql_client::login(CAPABILITIES, "root", b"", "shop", "mysql_native_password"),
    );
    is(&client.read(11), b"\x07\0\0\x02\0\0\0\x02\0\0\0");
    // COM_PING.
    client.send(b"\x01\0\0\0\x0e");
    is(&client.read(11), b"\x07\0\0\x01\0\0\0\x02\0\0\0");
}

#[test]
fn a_ticket_and_a_number_have_these_bytes() {
    let server = server();
    let mut my = My::open(&server, "shop");
    my.client
        .send(command(3, "REPLACE INTO Tickets64 (stub) VALUES ('a')"));
    is(&my.client.read(11), b"\x07\0\0\x01\0\x02\x01\x02\0\0\0");
    my.client.send(command(3, "SELECT NEXTVAL(orders) AS n"));
    let expected = [
        &b"\x01\0\0\x01\x01"[..],
        b"\x17\0\0\x02\x03def\0\0\0\x01n\0\x0c\x3f\0\x14\0\0\0\x08\x80\0\0\0\0",
        b"\x05\0\0\x03\xfe\0\0\x02\0",
        b"\x02\0\0\x04\x011",
        b"\x05\0\0\x05\xfe\0\0\x02\0",
    ];
    let expected = expected.concat();
    is(&my.client.read(expected.len()), &expected);
    my.client.send(command(3, "SELECT NEXTVAL(nothing)"));
    let expected = b"\x27\0\0\x01\xff\xfb\x0f#42S02Unknown SEQUENCE: 'nothing'";
    is(&my.client.read(expected.len()), &{
        let mut expected = expected.to_vec();
        expected[0] = (expected.len() - 4) as u8;
        expected
    });
}

// claim: P20
#[test]
fn tickets_are_taken_in_order_and_told() {
    let server = server();
    let mut my = My::open(&server, "shop");
    check(
        &mut my,
        &[
            ("SELECT LAST_INSERT_ID()", "[LAST_INSERT_ID() u] 0"),
            ("REPLACE INTO Tickets64 (stub) VALUES ('a')", "OK 2 1 2"),
            ("SELECT LAST_INSERT_ID()", "[LAST_INSERT_ID() u] 1"),
            (
                "SELECT @@identity, @@last_insert_id",
                "[@@identity u,@@last_insert_id u] 1|1",
            ),
            ("INSERT INTO Tickets64 () VALUES ()", "OK 1 2 2"),
            ("INSERT INTO shop.Tickets64 VALUES (), (), ()", "OK 3 3 2"),
            ("REPLACE INTO Tickets64 (stub) VALUES ('a'), ('b')", "OK 4 6 2"),
            ("SELECT id FROM Tickets64", "[id i] 7"),
            (
                "SELECT id, stub FROM Tickets64 WHERE stub = 'b'",
                "[id i,stub t] 7|b",
            ),
            ("SELECT id FROM Tickets64 WHERE other = 'b'", "[id i]"),
            ("SELECT other FROM Tickets64", "[other t]"),
            ("UPDATE Tickets64 SET id = LAST_INSERT_ID(id + 10)", "OK 1 17 2"),
            ("SELECT LAST_INSERT_ID()", "[LAST_INSERT_ID() u] 17"),
            (
                "INSERT INTO Tickets64 (stub) VALUES ('a') ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(id + 1)",
                "OK 2 18 2",
            ),
            // One's own id: kept, and the sequence goes on behind it.
            ("INSERT INTO Tickets64 (id, stub) VALUES (100, 'a')", "OK 1 100 2"),
            ("REPLACE INTO Tickets64 (stub) VALUES ('a')", "OK 2 101 2"),
            ("INSERT INTO Tickets64 (id) VALUES (50)", "OK 1 50 2"),
            ("REPLACE INTO Tickets64 (stub) VALUES ('a')", "OK 2 102 2"),
            ("INSERT INTO Tickets64 (id) VALUES (50), (NULL)", "ERR 1235 42000"),
            ("INSERT INTO Tickets64 (id) VALUES ('x')", "ERR 1366 22007"),
            (
                "INSERT INTO `Tickets64` (`stub`) VALUES ('a'), ('b') RETURNING `Tickets64`.`id`",
                "[id i] 103 / 104",
            ),
            (
                "INSERT INTO Tickets64 (id) VALUES (120) RETURNING id AS n, stub",
                "[n i,stub t] 120|NULL",
            ),
            ("SELECT LAST_INSERT_ID()", "[LAST_INSERT_ID() u] 103"),
            (
                "INSERT INTO nothing () VALUES ()",
                "ERR 1146 42S02 Table 'shop.nothing' doesn't exist",
            ),
            (
                "SELECT id FROM nothing",
                "ERR 1146 42S02 Table 'shop.nothing' doesn't exist",
            ),
            ("INSERT INTO odd () VALUES ()", "OK 1 1 2"),
            ("INSERT INTO odd () VALUES (), ()", "ERR 1235 42000"),
            ("INSERT INTO odd () VALUES ()", "OK 1 3 2"),
            ("INSERT INTO end () VALUES (), (), ()", "OK 3 1 2"),
            (
                "INSERT INTO end () VALUES ()",
                "ERR 1264 22003 Out of range value for column 'id' at row 1",
            ),
            (
                "UPDATE Tickets64 SET id = LAST_INSERT_ID(id + 0)",
                "ERR 1210 HY000",
            ),
        ],
    );
    // Nobody else's number is known here, and the sequence is the same.
    let mut other = My::open(&server, "shop");
    check(
        &mut other,
        &[
            ("SELECT LAST_INSERT_ID()", "[LAST_INSERT_ID() u] 0"),
            ("REPLACE INTO Tickets64 (stub) VALUES ('a')", "OK 2 121 2"),
        ],
    );
    server.resp().send("INCR Tickets64\r\n").expect(":122\r\n");
}

#[test]
fn many_rows_are_refused_before_any_number_is_taken() {
    let server = Server::with(|config| {
        on(config);
        config.max_count = 3;
    });
    server.make("t", "{}");
    let mut my = My::open(&server, "");
    check(
        &mut my,
        &[
            ("INSERT INTO t () VALUES (),(),(),()", "ERR 1104 42000"),
            ("SELECT seq FROM seq_1_to_4", "ERR 1104 42000"),
            ("SELECT NEXTVAL(t) FROM seq_1_to_4", "ERR 1104 42000"),
            ("INSERT INTO t () VALUES (),(),()", "OK 3 1 2"),
        ],
    );
}

#[test]
fn sequences_are_asked_as_in_mariadb() {
    let server = server();
    let mut my = My::open(&server, "shop");
    check(
        &mut my,
        &[
            ("SELECT LASTVAL(orders)", "[LASTVAL(orders) i] NULL"),
            ("SELECT NEXTVAL(orders)", "[NEXTVAL(orders) i] 1"),
            (
                "SELECT NEXT VALUE FOR orders, nextval(`orders`)",
                "[NEXT VALUE FOR orders i,nextval(`orders`) i] 2|3",
            ),
            ("SELECT PREVIOUS VALUE FOR orders x", "[x i] 3"),
            (
                "SELECT NEXTVAL(odd), LASTVAL(orders), LASTVAL(odd)",
                "[NEXTVAL(odd) i,LASTVAL(orders) i,LASTVAL(odd) i] 1|3|1",
            ),
            // The connection's own database is no part of a name, another one is.
            ("SELECT NEXTVAL(shop.orders)", "[NEXTVAL(shop.orders) i] 4"),
            ("USE other", "OK 0 0 2"),
            ("SELECT NEXTVAL(shop.orders)", "[NEXTVAL(shop.orders) i] 500"),
            ("USE shop", "OK 0 0 2"),
            (
                "SELECT NEXTVAL(orders) FROM seq_1_to_3",
                "[NEXTVAL(orders) i] 5 / 6 / 7",
            ),
            ("SELECT SETVAL(orders, 100)", "[SETVAL(orders, 100) i] 100"),
            ("SELECT NEXTVAL(orders)", "[NEXTVAL(orders) i] 101"),
            ("SELECT SETVAL(orders, 50)", "[SETVAL(orders, 50) i] NULL"),
            ("SELECT SETVAL(orders, -5) s", "[s i] NULL"),
            ("SELECT SETVAL(odd, 0, 0) s", "[s i] NULL"),
            ("SELECT SETVAL(orders, 200, 0)", "[SETVAL(orders, 200, 0) i] 200"),
            ("DO SETVAL(orders, 300)", "OK 0 0 2"),
            ("SELECT NEXTVAL(orders)", "[NEXTVAL(orders) i] 301"),
            (
                "SELECT NEXTVAL(end) FROM seq_1_to_3",
                "[NEXTVAL(end) i] 1 / 2 / 3",
            ),
            (
                "SELECT NEXTVAL(end)",
                "ERR 4084 HY000 Sequence 'shop.end' has run out",
            ),
            ("SELECT LASTVAL(end)", "[LASTVAL(end) i] NULL"),
            // What lies behind the bounds is no number of it, and beyond them it has run out: as there.
            ("SELECT SETVAL(end, 0) s", "[s i] NULL"),
            ("SELECT SETVAL(end, 9)", "[SETVAL(end, 9) i] 9"),
            ("CREATE SEQUENCE brief MINVALUE 10 MAXVALUE 20", "OK 0 0 2"),
            ("SELECT SETVAL(brief, 5) s", "[s i] NULL"),
            ("SELECT SETVAL(brief, 25) s", "[s i] 25"),
            (
                "SELECT NEXTVAL(brief)",
                "ERR 4084 HY000 Sequence 'shop.brief' has run out",
            ),
            ("CREATE SEQUENCE ring MINVALUE 10 MAXVALUE 20 CYCLE", "OK 0 0 2"),
            ("SELECT SETVAL(ring, 21, 0) s", "[s i] 21"),
            ("SELECT NEXTVAL(ring) n", "[n i] 10"),
            (
                "CREATE SEQUENCE down INCREMENT -1 MINVALUE -20 MAXVALUE -10",
                "OK 0 0 2",
            ),
            ("SELECT SETVAL(down, -5) s", "[s i] NULL"),
            ("SELECT SETVAL(down, -30) s", "[s i] -30"),
            (
                "SELECT NEXTVAL(down)",
                "ERR 4084 HY000 Sequence 'shop.down' has run out",
            ),
            (
                "SELECT SETVAL(nothing, 5)",
                "ERR 4091 42S02 Unknown SEQUENCE: 'nothing'",
            ),
            (
                "SELECT NEXTVAL(nothing)",
                "ERR 4091 42S02 Unknown SEQUENCE: 'nothing'",
            ),
        ],
    );
}

// claim: P7
/// What a FEDERATED table of a MariaDB asks, so that a trigger there can take numbers here.
#[test]
fn a_table_of_the_database_next_has_a_new_number_in_its_row() {
    let server = server();
    let mut my = My::open(&server, "next");
    let status = my.ask("SHOW TABLE STATUS LIKE 'orders'");
    assert!(
        status.ends_with("] orders|SEQUENCE|10|Fixed|1|8|8|0|0|0|NULL|NULL|NULL|NULL|NULL|NULL||"),
        "{status}"
    );
    check(
        &mut my,
        &[
            ("SELECT * FROM `orders` WHERE 1=0", "[id i]"),
            ("SELECT `id` FROM `orders` LIMIT 0", "[id i]"),
            ("SELECT `id` FROM `orders`", "[id i] 1"),
            ("SELECT id, stub FROM orders", "[id i,stub n] 2|NULL"),
            ("SELECT id FROM other.orders", "ERR 1146 42S02"),
            ("SELECT id FROM nosuch", "ERR 4091 42S02"),
        ],
    );
    assert!(my.ask("SHOW TABLE STATUS FROM next LIKE 'nosuch'").ends_with(']'));
    assert!(my.ask("SHOW TABLE").starts_with("ERR 1235 42000"));
    let mut elsewhere = My::open(&server, "shop");
    check(
        &mut elsewhere,
        &[
            ("SELECT id FROM next.orders", "[id i] 3"),
            ("SELECT id FROM orders", "[id i] 3"),
        ],
    );
}

#[test]
fn definitions_are_made_changed_and_dropped() {
    let server = server();
    let mut my = My::open(&server, "shop");
    let columns = "[next_not_cached_value i,minimum_value i,maximum_value i,start_value i,increment i,cache_size i,\
                   cycle_option i,cycle_count i]";
    let row = |values: &str| format!("{columns} {values}");
    check(
        &mut my,
        &[
            (
                "CREATE SEQUENCE s START WITH 5 INCREMENT BY 5 MAXVALUE = 100 NOCACHE NOCYCLE ENGINE=InnoDB",
                "OK 0 0 2",
            ),
            ("SELECT * FROM s", &row("5|1|100|5|5|0|0|0")),
            ("CREATE SEQUENCE s", "ERR 1050 42S01 Table 's' already exists"),
            (
                "CREATE SEQUENCE s START WITH 5 INCREMENT BY 5 MAXVALUE = 100",
                "ERR 1050 42S01 Table 's' already exists",
            ),
            ("CREATE SEQUENCE IF NOT EXISTS s", "OK 0 0 2"),
            ("CREATE OR REPLACE SEQUENCE s START WITH 7", "OK 0 0 2"),
            ("SELECT NEXTVAL(s), NEXTVAL(s)", "[NEXTVAL(s) i,NEXTVAL(s) i] 7|8"),
            (
                "CREATE OR REPLACE SEQUENCE s",
                "ERR 1050 42S01 Table 's' already exists",
            ),
            (
                "SELECT next_not_cached_value, increment FROM s",
                "[next_not_cached_value i,increment i] 9|1",
            ),
            (
                "SHOW CREATE SEQUENCE s",
                "[Table t,Create Table t] s|CREATE SEQUENCE `s` start with 7 minvalue 1 maxvalue 9223372036854775806 \
                 increment by 1 nocache nocycle ENGINE=InnoDB",
            ),
            ("ALTER SEQUENCE s INCREMENT 10 RESTART 20", "OK 0 0 2"),
            (
                "SELECT next_not_cached_value FROM s",
                "[next_not_cached_value i] 20",
            ),
            (
                "SELECT NEXTVAL(s), NEXTVAL(s)",
                "[NEXTVAL(s) i,NEXTVAL(s) i] 20|30",
            ),
            (
                "ALTER SEQUENCE s RESTART",
                "ERR 4085 HY000 Sequence 'shop.s' has out of range value for options",
            ),
            (
                "ALTER SEQUENCE s MAXVALUE 10",
                "ERR 4085 HY000 Sequence 'shop.s' has out of range value for options",
            ),
            (
                "ALTER SEQUENCE nothing CYCLE",
                "ERR 4091 42S02 Unknown SEQUENCE: 'nothing'",
            ),
            ("ALTER SEQUENCE IF EXISTS nothing CYCLE", "OK 0 0 2"),
            (
                "CREATE SEQUENCE z CACHE -1",
                "ERR 4085 HY000 Sequence 'shop.z' has out of range value for options",
            ),
            (
                "CREATE SEQUENCE z INCREMENT 0",
                "ERR 4085 HY000 Sequence 'shop.z' has out of range value for options",
            ),
            (
                "CREATE SEQUENCE z START 9223372036854775808",
                "ERR 4085 HY000 Sequence 'shop.z' has out of range value for options",
            ),
            (
                "DROP SEQUENCE s, nothing",
                "ERR 4091 42S02 Unknown SEQUENCE: 'shop.nothing'",
            ),
            ("DROP SEQUENCE s", "ERR 4091 42S02 Unknown SEQUENCE: 'shop.s'"),
            ("DROP SEQUENCE IF EXISTS s", "OK 0 0 2"),
            // Made again, it goes on above its numbers.
            ("CREATE SEQUENCE s", "OK 0 0 2"),
            ("SELECT NEXTVAL(s)", "[NEXTVAL(s) i] 31"),
            (
                "CREATE TABLE T (id bigint unsigned NOT NULL auto_increment, stub char(1), PRIMARY KEY (id)) ENGINE=InnoDB AUTO_INCREMENT=50",
                "OK 0 0 2",
            ),
            ("INSERT INTO T () VALUES ()", "OK 1 50 2"),
            ("ALTER TABLE T AUTO_INCREMENT = 80", "OK 0 0 2"),
            ("INSERT INTO T () VALUES ()", "OK 1 80 2"),
            ("ALTER TABLE T AUTO_INCREMENT = 10", "OK 0 0 2"),
            ("INSERT INTO T () VALUES ()", "OK 1 81 2"),
            ("/*!40000 ALTER TABLE T DISABLE KEYS */", "OK 0 0 2"),
            ("DROP TABLE T", "OK 0 0 2"),
            ("DROP TABLE T", "ERR 1051 42S02 Unknown table 'shop.T'"),
            ("DROP TABLE IF EXISTS T", "OK 0 0 2"),
        ],
    );
}

#[test]
fn series_are_those_of_mariadb() {
    let server = server();
    let mut my = My::open(&server, "");
    check(
        &mut my,
        &[
            (
                "SELECT seq FROM seq_1_to_15_step_3",
                "[seq u] 1 / 4 / 7 / 10 / 13",
            ),
            ("SELECT * FROM seq_15_to_1_step_3", "[seq u] 13 / 10 / 7 / 4 / 1"),
            (
                "SELECT seq FROM seq_15_to_1_step_3 ORDER BY seq",
                "[seq u] 1 / 4 / 7 / 10 / 13",
            ),
            (
                "SELECT seq FROM seq_1_to_5 ORDER BY seq DESC LIMIT 2",
                "[seq u] 5 / 4",
            ),
            ("SELECT seq FROM seq_1_to_5 LIMIT 1, 2", "[seq u] 2 / 3"),
            ("SELECT seq * 10 + 1 AS x FROM seq_1_to_2", "[x i] 11 / 21"),
            (
                "SELECT COUNT(*) FROM seq_1_to_1000000000",
                "[COUNT(*) i] 1000000000",
            ),
            (
                "SELECT seq FROM seq_18446744073709551615_to_18446744073709551615",
                "[seq u] 18446744073709551615",
            ),
            (
                "SELECT seq FROM seq_1_to_9 WHERE seq IN (3, 20, 5)",
                "[seq u] 3 / 5",
            ),
            ("SELECT seq FROM seq_1_to_99999", "ERR 1104 42000"),
            ("SELECT seq FROM seq_1_to_2_step_0", "ERR 1030 HY000"),
            ("SELECT other FROM seq_1_to_2", "ERR 1054 42S22"),
            (
                "INSERT INTO seq_1_to_3 VALUES (1)",
                "ERR 1031 HY000 Storage engine SEQUENCE of the table `seq_1_to_3` doesn't have this option",
            ),
            (
                "CREATE TABLE seq_1_to_3 (id int auto_increment)",
                "ERR 1050 42S01",
            ),
            ("DROP TABLE seq_1_to_3", "OK 0 0 2"),
            ("SELECT seq FROM seq_1", "ERR 1146 42S02"),
        ],
    );
}

#[test]
fn variables_and_words_are_what_clients_expect() {
    let server = server();
    let mut my = My::open(&server, "shop");
    check(
        &mut my,
        &[
            ("SELECT 1", "[1 i] 1"),
            (
                "SELECT 'a', NULL, 1.5, -2, TRUE",
                "[a t,NULL n,1.5 d,-2 i,TRUE i] a|NULL|1.5|-2|1",
            ),
            ("SELECT DATABASE()", "[DATABASE() t] shop"),
            (
                "SELECT @@version_comment LIMIT 1",
                "[@@version_comment t] Mintage",
            ),
            (
                "SELECT USER(), @@autocommit",
                "[USER() t,@@autocommit i] root@127.0.0.1|1",
            ),
            ("SET NAMES utf8mb4", "OK 0 0 2"),
            ("SET autocommit = 0", "OK 0 0 0"),
            ("SELECT 1", "[1 i] 1"),
            ("SELECT NEXTVAL(orders)", "[NEXTVAL(orders) i] 1 (1)"),
            ("COMMIT", "OK 0 0 0"),
            ("SET autocommit = 1", "OK 0 0 2"),
            ("BEGIN", "OK 0 0 3"),
            ("REPLACE INTO Tickets64 (stub) VALUES ('a')", "OK 2 1 3"),
            ("ROLLBACK", "OK 0 0 2"),
            // What was taken stays taken.
            ("REPLACE INTO Tickets64 (stub) VALUES ('a')", "OK 2 2 2"),
            ("START TRANSACTION READ ONLY", "OK 0 0 8195"),
            ("REPLACE INTO Tickets64 (stub) VALUES ('a')", "ERR 1792 25006"),
            ("SAVEPOINT a", "OK 0 0 8195"),
            ("ROLLBACK TO SAVEPOINT a", "OK 0 0 8195"),
            ("COMMIT", "OK 0 0 2"),
            ("SET sql_mode = 'ANSI'", "OK 0 0 2"),
            (
                "SHOW VARIABLES LIKE 'sql_mode'",
                "[Variable_name t,Value t] sql_mode|ANSI",
            ),
            (
                "SET nothing = 1",
                "ERR 1193 HY000 Unknown system variable 'nothing'",
            ),
            (
                "SELECT @@nothing",
                "ERR 1193 HY000 Unknown system variable 'nothing'",
            ),
            (
                "SET version = 'x'",
                "ERR 1238 HY000 Variable 'version' is a read only variable",
            ),
            ("SET GLOBAL sql_mode = ''", "ERR 1227 42000"),
            ("SET auto_increment_increment = 2", "ERR 1231 42000"),
            ("SET @x = 5, @y = 'b'", "OK 0 0 2"),
            ("SELECT @x, @y, @z", "[@x i,@y t,@z t] 5|b|NULL"),
            (
                "SELECT CONVERT_TZ('2001-01-01 01:00:00', 'UTC', 'UTC') IS NOT NULL AS tz",
                "[tz i] 0",
            ),
            (
                "SELECT CONCAT('a', 1), IFNULL(NULL, 2)",
                "[CONCAT('a', 1) t,IFNULL(NULL, 2) i] a1|2",
            ),
            ("SHOW WARNINGS", "[Level t,Code t,Message t]"),
            ("SHOW DATABASES", "[Database t] information_schema / shop"),
            ("SHOW TABLES LIKE 'o%'", "[Tables_in_shop (o%) t] odd / orders"),
            (
                "SELECT LASTVAL(nothing)",
                "ERR 4091 42S02 Unknown SEQUENCE: 'nothing'",
            ),
            (
                "SELECT 1 < 2, 'a' = 'A', 2 >= 3, 1 <> NULL",
                "[1 < 2 i,'a' = 'A' i,2 >= 3 i,1 <> NULL i] 1|1|0|NULL",
            ),
            ("LOCK TABLES Tickets64 WRITE", "OK 0 0 2"),
            ("UNLOCK TABLES", "OK 0 0 2"),
            (
                "SET STATEMENT max_statement_time = 1 FOR SELECT NEXTVAL(orders)",
                "[NEXTVAL(orders) i] 2",
            ),
            ("DELETE FROM Tickets64", "ERR 1235 42000"),
            ("nonsense", "ERR 1064 42000"),
            ("", "ERR 1065 42000 Query was empty"),
            ("KILL 4000000", "ERR 1094 HY000 Unknown thread id: 4000000"),
            (
                "select table_name from information_schema.TABLES where table_schema = database() and table_type = 'SEQUENCE' and table_name like 'o%'",
                "[table_name t] odd / orders",
            ),
            (
                "SELECT 'orders' as sequence_name, minimum_value, increment FROM orders UNION ALL SELECT 'odd', minimum_value, increment FROM odd",
                "[sequence_name t,minimum_value i,increment i] orders|1|1 / odd|1|2",
            ),
            ("SELECT x FROM information_schema.COLUMNS WHERE y = 1", "[x t]"),
            (
                "SELECT table_name, table_type, table_comment FROM information_schema.tables WHERE table_name = 'odd'",
                "[table_name t,table_type t,table_comment t] odd|SEQUENCE|NULL",
            ),
        ],
    );
    let uuid = my.ask("SELECT mint_uuid7() AS u");
    assert_eq!(uuid.len(), "[u t] ".len() + 36, "{uuid}");
    let ulid = my.ask("SELECT mint_id('ulid') AS u");
    assert_eq!(ulid.len(), "[u t] ".len() + 26, "{ulid}");
    let snowflake = my.ask("SELECT mint_snowflake() AS s");
    assert!(
        snowflake.starts_with("[s i] ") && snowflake.len() > 20,
        "{snowflake}"
    );
    assert!(
        my.ask("SELECT mint_snowflake('nothing')")
            .starts_with("ERR 1305 42000")
    );
    assert!(my.ask("SELECT mint_id('nothing')").starts_with("ERR 1305 42000"));
}

#[test]
fn what_is_not_there_is_refused_in_the_words_of_mariadb() {
    let server = server();
    let mut my = My::open(&server, "shop");
    let series = |name: &str| {
        format!("ERR 1031 HY000 Storage engine SEQUENCE of the table {name} doesn't have this option")
    };
    let column = |name: &str, clause: &str| format!("ERR 1054 42S22 Unknown column '{name}' in '{clause}'");
    let syntax = |near: &str| {
        format!(
            "ERR 1064 42000 You have an error in your SQL syntax; check the manual that corresponds to your MariaDB \
             server version for the right syntax to use near '{near}' at line 1"
        )
    };
    for (text, answer) in [
        ("DELETE FROM seq_1_to_5", series("`shop`.`seq_1_to_5`")),
        (
            "delete low_priority from other.seq_1_to_5 where seq = 1",
            series("`other`.`seq_1_to_5`"),
        ),
        (
            "INSERT INTO seq_1_to_5 (seq) VALUES (1)",
            series("`shop`.`seq_1_to_5`"),
        ),
        (
            "REPLACE INTO seq_1_to_5 VALUES (1)",
            series("`shop`.`seq_1_to_5`"),
        ),
        ("UPDATE seq_1_to_5 SET seq = 1", series("`shop`.`seq_1_to_5`")),
        ("TRUNCATE TABLE seq_1_to_5", series("`shop`.`seq_1_to_5`")),
        ("SELECT nosuch", column("nosuch", "SELECT")),
        ("SELECT NEXTVAL", column("NEXTVAL", "SELECT")),
        ("SELECT NEXTVAL(orders), 1 + nosuch", column("nosuch", "SELECT")),
        ("SELECT nosuch FROM seq_1_to_5", column("nosuch", "SELECT")),
        (
            "SELECT seq FROM seq_1_to_5 WHERE nosuch = 1",
            column("nosuch", "WHERE"),
        ),
        (
            "SELECT nosuch(1)",
            "ERR 1305 42000 FUNCTION shop.nosuch does not exist".into(),
        ),
        (
            "SELECT a.b(1)",
            "ERR 1305 42000 FUNCTION a.b does not exist".into(),
        ),
        ("SHOW NOSUCH", syntax("NOSUCH")),
        ("SHOW GLOBAL nosuch LIKE 'x'", syntax("nosuch LIKE 'x'")),
        ("SHOW CREATE nosuch x", syntax("nosuch x")),
    ] {
        assert_eq!(my.ask(text), answer, "{text}");
        let is_prepared = text.starts_with("SELECT") && !text.contains("WHERE");
        if is_prepared {
            assert_eq!(my.prepare(text), Err(answer), "{text}");
        }
    }
    check(
        &mut my,
        &[
            // Nothing was taken for what was refused.
            ("SELECT NEXTVAL(orders) n", "[n i] 1"),
            ("SHOW GRANTS", "ERR 1235 42000"),
            ("SHOW CREATE TABLE orders", "ERR 1235 42000"),
            ("TRUNCATE Tickets64", "ERR 1235 42000"),
        ],
    );
    let mut nowhere = My::open(&server, "");
    assert_eq!(nowhere.ask("DELETE FROM seq_1_to_5"), series("`seq_1_to_5`"));
    assert_eq!(
        nowhere.ask("SELECT nosuch(1)"),
        "ERR 1305 42000 FUNCTION nosuch does not exist"
    );
}

#[test]
fn several_statements_are_answered_in_turn_where_that_was_agreed() {
    let server = server();
    let mut my = My::open(&server, "");
    check(
        &mut my,
        &[
            (
                "REPLACE INTO Tickets64 (stub) VALUES ('a'); SELECT LAST_INSERT_ID() AS id",
                "OK 2 1 10; [id u] 1",
            ),
            ("SELECT 1; nonsense; SELECT 2", "[1 i] 1 (10); ERR 1064 42000"),
        ],
    );
    // COM_SET_OPTION takes it away, and gives it.
    my.client.send(b"\x03\0\0\0\x1b\x01\0");
    is(&my.client.read(9), b"\x05\0\0\x01\xfe\0\0\x02\0");
    check(
        &mut my,
        &[("SELECT 1; SELECT 2", "ERR 1064 42000"), ("SELECT 1;", "[1 i] 1")],
    );
    my.client.send(b"\x03\0\0\0\x1b\0\0");
    is(&my.client.read(9), b"\x05\0\0\x01\xfe\0\0\x02\0");
    check(&mut my, &[("SELECT 1; SELECT 2", "[1 i] 1 (10); [2 i] 2")]);
}

#[test]
fn a_pipeline_is_answered_in_order() {
    let server = server();
    let mut my = My::open(&server, "");
    let one = command(3, "REPLACE INTO Tickets64 (stub) VALUES ('a')");
    let other = command(3, "SELECT LAST_INSERT_ID() AS id");
    let all = [one.repeat(300), other, command(3, "nonsense"), command(14, "")].concat();
    // In any cut of packets.
    for part in all.chunks(777) {
        my.client.send(part);
    }
    for id in 1..=300 {
        assert_eq!(my.answer(), format!("OK 2 {id} 2"));
    }
    assert_eq!(my.answer(), "[id u] 300");
    assert!(my.answer().starts_with("ERR 1064"));
    assert_eq!(my.answer(), "OK 0 0 2");
}

#[test]
fn prepared_statements_have_values_and_binary_rows() {
    let server = server();
    let mut my = My::open(&server, "");
    let (id, parameters, columns) = my.prepare("SELECT NEXTVAL(orders) AS n, ? AS p").unwrap();
    assert_eq!((parameters, columns), (1, 2));
    // One value: 7 of eight bytes.
    let seven = b"\0\x01\x08\0\x07\0\0\0\0\0\0\0";
    assert_eq!(my.execute(id, seven), "[n i,p i] 1|7");
    assert_eq!(my.execute(id, b"\0\0\x08\0\0\0\0\0\0\0"), "[n i,p i] 2|8");
    assert_eq!(my.execute(id, b"\x01\x01\x06\0"), "[n i,p n] 3|NULL");
    // The one prepared last, by another id.
    assert_eq!(my.execute(u32::MAX, b"\0\x01\xfd\0\x02ab"), "[n i,p t] 4|ab");
    // A part at a time.
    my.client
        .send(command(24, [&id.to_le_bytes()[..], b"\0\0long"].concat()));
    my.client
        .send(command(24, [&id.to_le_bytes()[..], b"\0\0er"].concat()));
    assert_eq!(my.execute(id, b"\0\x01\xfd\0"), "[n i,p t] 5|longer");
    assert!(my.execute(id, b"\0\x01\x08\0\x07").starts_with("ERR 1835 HY000"));
    assert!(my.execute(id, b"").starts_with("ERR 1835 HY000"));
    assert!(my.execute(99, seven).starts_with("ERR 1243 HY000"));
    // COM_STMT_RESET answers, COM_STMT_CLOSE does not.
    my.client.send(command(26, id.to_le_bytes()));
    assert_eq!(my.answer(), "OK 0 0 2");
    my.client.send(command(25, id.to_le_bytes()));
    assert!(my.execute(id, seven).starts_with("ERR 1243 HY000"));
    let (ticket, ..) = my
        .prepare("INSERT INTO Tickets64 (stub, id) VALUES (?, ?)")
        .unwrap();
    assert_eq!(my.execute(ticket, b"\x02\x01\xfd\0\x06\0\x01a"), "OK 1 1 2");
    let (next, ..) = my.prepare("SELECT NEXTVAL(orders)").unwrap();
    let packet = command(23, [&next.to_le_bytes()[..], b"\0\x01\0\0\0"].concat());
    my.client.send(packet.repeat(3));
    for number in 6..9 {
        assert_eq!(my.binary_answer(), format!("[NEXTVAL(orders) i] {number}"));
    }
    assert!(
        my.prepare("SELECT 1; SELECT 2")
            .unwrap_err()
            .starts_with("ERR 1064")
    );
    assert!(my.execute(u32::MAX, b"").starts_with("ERR 1243"));
    for _ in 0..256 {
        let _ = my.prepare("SELECT 1");
    }
    assert!(my.prepare("SELECT 1").unwrap_err().starts_with("ERR 1461"));
    // PREPARE and EXECUTE in one packet of the network.
    my.client.send(command(31, ""));
    assert_eq!(my.answer(), "OK 0 0 2");
    let both = [
        command(22, "SELECT 5 AS v"),
        command(23, b"\xff\xff\xff\xff\0\x01\0\0\0"),
    ]
    .concat();
    my.client.send(both);
    assert!(my.prepared().is_ok());
    assert_eq!(my.binary_answer(), "[v i] 5");
}

#[test]
fn a_connection_is_made_as_new_and_changes_its_user() {
    let server = server();
    let mut my = My::open(&server, "shop");
    let forgets = [(
        "SELECT LAST_INSERT_ID() AS id, @x, LASTVAL(orders) AS l",
        "[id u,@x t,l i] 0|NULL|NULL",
    )];
    let fills = "SET @x = 1; REPLACE INTO Tickets64 (stub) VALUES ('a'); SELECT NEXTVAL(orders)";
    my.ask(fills);
    my.client.send(command(31, ""));
    assert_eq!(my.answer(), "OK 0 0 2");
    check(&mut my, &forgets);
    check(&mut my, &[("SELECT DATABASE() d", "[d t] shop")]);
    my.ask(fills);
    my.client
        .send(command(17, b"other\0\0db2\0\x2d\0mysql_native_password\0"));
    let (number, switch) = mysql_client::packet(&mut my.client);
    assert_eq!((number, switch[0]), (1, 0xfe));
    assert!(switch[1..].starts_with(b"mysql_native_password\0") && switch.len() == 1 + 22 + 21);
    mysql_client::send(&mut my.client, 2, b"");
    let (number, ok) = mysql_client::packet(&mut my.client);
    assert_eq!((number, ok[0]), (3, 0));
    check(&mut my, &forgets);
    check(
        &mut my,
        &[("SELECT DATABASE() d, USER() u", "[d t,u t] db2|other@127.0.0.1")],
    );
}

#[test]
fn other_commands_are_answered() {
    let server = server();
    let mut my = My::open(&server, "");
    my.client.send(command(2, "shop"));
    assert_eq!(my.answer(), "OK 0 0 2");
    check(&mut my, &[("SELECT DATABASE() d", "[d t] shop")]);
    my.client.send(command(9, ""));
    let (_, text) = mysql_client::packet(&mut my.client);
    assert!(text.starts_with(b"Uptime: "));
    my.client.send(command(4, "t\0"));
    is(&my.client.read(9), b"\x05\0\0\x01\xfe\0\0\x02\0");
    for unknown in [5, 10, 28, 200] {
        my.client.send(command(unknown, ""));
        assert_eq!(my.answer(), "ERR 1047 08S01 Unknown command");
    }
    my.client.send(command(3, [0xff, 0xfe]));
    assert_eq!(my.answer(), "ERR 1300 HY000 Invalid utf8mb4 character string");
    my.client.send(command(1, ""));
    my.client.expect_end("");
}

#[test]
fn a_connection_is_ended_by_another() {
    let server = server();
    let mut my = My::open(&server, "");
    let mut other = My::open(&server, "");
    let id = my.ask("SELECT CONNECTION_ID() AS id").replace("[id i] ", "");
    // What waits for nothing goes on.
    assert_eq!(other.ask(&format!("KILL QUERY {id}")), "OK 0 0 2");
    assert_eq!(my.ask("SELECT 1"), "[1 i] 1");
    assert_eq!(other.ask(&format!("KILL {id}")), "OK 0 0 2");
    my.client.expect_end("");
    assert!(other.ask(&format!("KILL {id}")).starts_with("ERR 1094"));
}

#[test]
fn who_ends_connections_of_others_is_in_the_trail() {
    let folder = tempfile::tempdir().unwrap();
    let trail = folder.path().join("trail.jsonl");
    let server = with_tokens(|config| config.audit_file = Off(Some(LocalPath(trail.clone()))));
    let sha2 = "caching_sha2_password";
    let (mut web, _) = enter(&server, "web", sha2, |nonce| caching_sha2("w", nonce));
    let (mut other, _) = enter(&server, "web", sha2, |nonce| caching_sha2("w", nonce));
    let (mut boss, _) = enter(&server, "ops", sha2, |nonce| caching_sha2("o", nonce));
    let id = |my: &mut My| my.ask("SELECT CONNECTION_ID() AS id").replace("[id i] ", "");
    let (of_web, of_other, of_boss) = (id(&mut web), id(&mut other), id(&mut boss));
    told(&trail);
    // One's own need no right.
    assert_eq!(web.ask(&format!("KILL QUERY {of_other}")), "OK 0 0 2");
    assert_eq!(told(&trail), [0; 0]);
    let refused = format!("ERR 1095 HY000 You are not owner of thread {of_boss}");
    assert_eq!(web.ask(&format!("KILL {of_boss}")), refused);
    let killed: u32 = of_boss.parse().unwrap();
    web.client.send(command(12, killed.to_le_bytes()));
    assert_eq!(web.answer(), refused);
    let with = format!("connection {of_boss} of ops");
    let line = json!(["kill", [], "web", "forbidden", with]);
    assert_eq!(told(&trail), [line.clone(), line]);
    assert_eq!(boss.ask(&format!("KILL {of_other}")), "OK 0 0 2");
    let killed: u32 = of_web.parse().unwrap();
    boss.client.send(command(12, killed.to_le_bytes()));
    assert_eq!(boss.answer(), "OK 0 0 2");
    let line = |id: &str| json!(["kill", [], "ops", "done", format!("connection {id} of web")]);
    assert_eq!(told(&trail), [line(&of_other), line(&of_web)]);
    for text in [
        "CREATE SEQUENCE t",
        "ALTER SEQUENCE orders CYCLE",
        "SELECT SETVAL(orders, 900)",
        "DROP SEQUENCE orders",
    ] {
        let (mut web, _) = enter(&server, "web", sha2, |nonce| caching_sha2("w", nonce));
        for (my, who) in [(&mut web, "web"), (&mut boss, "ops")] {
            my.ask(text);
            let lines = told(&trail);
            assert_eq!((lines.len(), &lines[0][2]), (1, &json!(who)), "{text}: {lines:?}");
            assert_eq!(lines[0][3] == "forbidden", who == "web", "{text}: {lines:?}");
        }
    }
}

#[test]
fn a_statement_that_waits_for_the_store_is_ended_by_another_connection() {
    let (server, store) = Server::faulty_with(on);
    let (mut my, mut other) = (My::open(&server, ""), My::open(&server, ""));
    let id = my.ask("SELECT CONNECTION_ID() AS id").replace("[id i] ", "");
    store.freeze(true);
    my.client.send(command(3, "SELECT NEXTVAL(never)"));
    let told = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let told = &told;
        scope.spawn(move || {
            // As often as it takes, since it is of no use before the statement has begun.
            while !told.load(Ordering::Acquire) {
                assert_eq!(other.ask(&format!("KILL QUERY {id}")), "OK 0 0 2");
            }
        });
        let answer = my.answer();
        told.store(true, Ordering::Release);
        assert_eq!(answer, "ERR 1317 70100 Query execution was interrupted");
    });
    store.freeze(false);
    assert_eq!(my.ask("SELECT 1"), "[1 i] 1");
}

#[test]
fn bad_input_ends_the_connection_and_no_other() {
    let server = server();
    let mut other = My::open(&server, "");
    // Other protocols, and packets that are no login.
    for bytes in [
        &b"GET / HTTP/1.1\r\n\r\n"[..],
        b"*1\r\n$4\r\nPING\r\n",
        b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03",
        b"\xff\xff\xff\x01xxxx",
        b"\x11\x27\0\x01",
    ] {
        let mut client = Client::connect(server.address("mysql"));
        mysql_client::packet(&mut client);
        client.send(bytes);
        client.expect_end("");
    }
    for payload in [
        &b""[..],
        b"\x01",
        b"\0\0\0\0",
        b"\x00\x02\0\0",
        &[0xff; 20],
        &[0xff; 40],
    ] {
        let mut client = Client::connect(server.address("mysql"));
        mysql_client::packet(&mut client);
        mysql_client::send(&mut client, 1, payload);
        let (number, error) = mysql_client::packet(&mut client);
        assert_eq!((number, error[0]), (2, 0xff), "{payload:?}");
        client.expect_end("");
    }
    // A number that is not 0, a packet that is too long, one that goes on, one without a command.
    for (bytes, errno) in [
        (
            &b"\x01\0\0\x01\x0e"[..],
            Some("ERR 1156 08S01 Got packets out of order"),
        ),
        (
            b"\x01\0\x02\0",
            Some("ERR 1153 08S01 Got a packet bigger than 'max_allowed_packet' bytes"),
        ),
        (
            b"\xff\xff\xff\0",
            Some("ERR 1153 08S01 Got a packet bigger than 'max_allowed_packet' bytes"),
        ),
        (b"\0\0\0\0", Some("ERR 1835 HY000 Malformed communication packet")),
    ] {
        let mut my = My::open(&server, "");
        my.client.send(bytes);
        assert_eq!(Some(my.answer().as_str()), errno);
    }
    let mut my = My::open(&server, "");
    my.client.send(b"\x10\0\0\0\x03SELE").finish_sending();
    my.client.expect_end("");
    let mut my = My::open(&server, "");
    for text in [
        "(".repeat(65_000),
        format!("SELECT {}", "(".repeat(65_000)),
        "/*".repeat(32_000),
    ] {
        assert!(my.ask(&text).starts_with("ERR 1"), "{}", &text[..10]);
    }
    assert_eq!(other.ask("SELECT 1"), "[1 i] 1");
}

#[test]
fn a_login_that_never_ends_is_ended() {
    let server = Server::with(|config| {
        on(config);
        // As long as a login takes on a busy machine, and longer.
        config.authentication_timeout = Off(Some(Duration::from_secs(3)));
    });
    let mut client = Client::connect(server.address("mysql"));
    mysql_client::packet(&mut client);
    client.expect_end("");
    let mut my = My::open(&server, "");
    assert!(!my.client.is_closed_after(Duration::from_secs(4)));
}

#[test]
fn connections_beyond_the_limit_are_told_so_instead_of_greeted() {
    let server = Server::with(|config| {
        on(config);
        config.max_connections_per_face = mintage_server::config::Auto(Some(1));
    });
    let _first = My::open(&server, "");
    let mut client = Client::connect(server.address("mysql"));
    client.expect_end("\x1d\0\0\0\u{fffd}\x10\x04#08004Too many connections");
}

#[test]
fn a_client_that_waits_is_told_that_the_server_stops() {
    let server = server();
    let mut my = My::open(&server, "");
    server.stop(Stop::Gently);
    let (number, error) = mysql_client::packet(&mut my.client);
    assert_eq!(number, 0);
    is(&error, b"\xff\x1d\x04#08S01Server shutdown in progress");
    my.client.expect_end("");
}

fn sql_token(name: &str, secret: &str, may: &[Right]) -> Token {
    Token {
        sql: SqlVerifiers::of(secret.as_bytes(), [7; 16], true),
        ..token(name, secret, may)
    }
}

/// A server with tokens: `web` may take numbers, `ops` may do everything, `old` has no digest for these logins.
fn with_tokens(change: impl FnOnce(&mut Config)) -> Server {
    let server = Server::with(|config| {
        on(config);
        config.wrong_token_delay = Duration::ZERO;
        config.tokens = vec![
            sql_token("web", "w", &[Right::Allocate]),
            sql_token("ops", "o", &[Right::Allocate, Right::Admin, Right::Read]),
            Token {
                shows: Proof::Digest(TokenDigest::of(b"x")),
                ..token("old", "x", &[Right::Admin])
            },
        ];
        change(config);
    });
    let made = server.http().ask_with(
        "PUT",
        "/v1/sequences/orders",
        &[("authorization", "Bearer o")],
        "{}",
    );
    assert_eq!(made.status, 201);
    server
}

fn caching_sha2(secret: &str, nonce: &[u8]) -> Vec<u8> {
    let once = Sha256::digest(secret.as_bytes());
    let twice = Sha256::digest(once);
    let mixed = Sha256::new().chain_update(twice).chain_update(nonce).finalize();
    once.iter().zip(mixed).map(|(a, b)| a ^ b).collect()
}

fn native(secret: &str, nonce: &[u8]) -> Vec<u8> {
    use sha1::Sha1;
    let once = Sha1::digest(secret.as_bytes());
    let twice = Sha1::digest(once);
    let mixed = Sha1::new().chain_update(nonce).chain_update(twice).finalize();
    once.iter().zip(mixed).map(|(a, b)| a ^ b).collect()
}

/// Logs in; what is answered.
fn enter(server: &Server, user: &str, plugin: &str, reply: impl FnOnce(&[u8]) -> Vec<u8>) -> (My, String) {
    let mut my = My::greeted(server);
    let reply = reply(&my.nonce);
    mysql_client::send(
        &mut my.client,
        1,
        &mysql_client::login(CAPABILITIES, user, &reply, "", plugin),
    );
    let answer = my.answer_of_login();
    (my, answer)
}

// claim: P70
#[test]
fn tokens_are_passwords_and_decide_what_is_allowed() {
    let server = with_tokens(|_| {});
    let denied = |user: &str, using: &str| {
        format!("ERR 1045 28000 Access denied for user '{user}'@'127.0.0.1' (using password: {using})")
    };
    let sha2 = "caching_sha2_password";
    let (mut web, answer) = enter(&server, "web", sha2, |nonce| caching_sha2("w", nonce));
    assert_eq!(answer, "fast; OK 0 0 2");
    check(
        &mut web,
        &[
            ("SELECT NEXTVAL(orders)", "[NEXTVAL(orders) i] 1"),
            ("SELECT CURRENT_USER() u", "[u t] web@127.0.0.1"),
            ("REPLACE INTO orders (stub) VALUES ('a')", "OK 2 2 2"),
            (
                "DROP SEQUENCE orders",
                "ERR 1142 42000 DROP command denied to user 'web'@'127.0.0.1' for table 'orders'",
            ),
            (
                "INSERT INTO orders (id) VALUES (500)",
                "ERR 1142 42000 INSERT command denied to user 'web'@'127.0.0.1' for table 'orders'",
            ),
            (
                "SELECT SETVAL(orders, 500)",
                "ERR 1142 42000 INSERT command denied to user 'web'@'127.0.0.1' for table 'orders'",
            ),
            ("CREATE SEQUENCE more", "ERR 1142 42000"),
            ("ALTER SEQUENCE orders RESTART 900", "ERR 1142 42000"),
        ],
    );
    let (mut ops, answer) = enter(&server, "ops", "mysql_native_password", |nonce| {
        native("o", nonce)
    });
    assert_eq!(answer, "OK 0 0 2");
    check(
        &mut ops,
        &[
            ("SELECT SETVAL(orders, 500) s", "[s i] 500"),
            ("DROP SEQUENCE orders", "OK 0 0 2"),
        ],
    );
    // One's own connections alone, unless one may do everything.
    let id = ops.ask("SELECT CONNECTION_ID() AS id").replace("[id i] ", "");
    assert!(
        web.ask(&format!("KILL {id}"))
            .starts_with("ERR 1095 HY000 You are not owner")
    );
    for (user, plugin, reply, using) in [
        ("web", sha2, caching_sha2("w", b"another nonce of 20b"), "YES"),
        ("web", sha2, b"".to_vec(), "NO"),
        ("nobody", sha2, vec![7; 32], "YES"),
        ("old", sha2, vec![7; 32], "YES"),
        ("web", "mysql_native_password", vec![7; 20], "YES"),
        ("web", "", vec![7; 3], "YES"),
    ] {
        let (mut my, answer) = enter(&server, user, plugin, |_| reply);
        assert_eq!(answer, denied(user, using));
        my.client.expect_end("");
    }
    // A token of another name, with the right nonce.
    assert_eq!(
        enter(&server, "ops", sha2, |nonce| caching_sha2("w", nonce)).1,
        denied("ops", "YES")
    );
    // A way that is not known: asked for another one.
    let (mut my, answer) = enter(&server, "web", "client_ed25519", |_| vec![1; 64]);
    assert_eq!(answer, "switch caching_sha2_password");
    let reply = caching_sha2("w", &my.nonce);
    mysql_client::send(&mut my.client, 3, &reply);
    assert_eq!(my.answer_of_login(), "fast; OK 0 0 2");
    // Who was somebody becomes somebody else, with fresh bytes.
    my.client
        .send(command(17, b"ops\0\0\0\x2d\0caching_sha2_password\0"));
    assert_eq!(my.answer_of_login(), "switch caching_sha2_password");
    let reply = caching_sha2("o", &my.nonce);
    mysql_client::send(&mut my.client, 2, &reply);
    assert_eq!(my.answer_of_login(), "fast; OK 0 0 2");
    check(&mut my, &[("SELECT CURRENT_USER() u", "[u t] ops@127.0.0.1")]);
}

#[test]
fn a_client_that_names_the_way_its_token_does_not_know_is_asked_for_the_other() {
    let (sha2, old) = ("caching_sha2_password", "mysql_native_password");
    let server = with_tokens(|config| {
        let with = |name: &str, secret: &str, change: fn(&mut SqlVerifiers)| {
            let mut token = sql_token(name, secret, &[Right::Allocate]);
            change(&mut token.sql);
            token
        };
        config.tokens.extend([
            with("new", "n", |sql| sql.mysql_native = None),
            with("native", "v", |sql| sql.mysql = None),
        ]);
    });
    let prove = |plugin: &str, secret: &str, nonce: &[u8]| match plugin == sha2 {
        true => caching_sha2(secret, nonce),
        false => native(secret, nonce),
    };
    let well = |plugin: &str| {
        if plugin == sha2 {
            "fast; OK 0 0 2"
        } else {
            "OK 0 0 2"
        }
    };
    let denied = |user: &str| {
        format!("ERR 1045 28000 Access denied for user '{user}'@'127.0.0.1' (using password: YES)")
    };
    // Nobody is asked as one who has the usual digest is.
    for (user, secret, named, asked, is_known) in [
        ("new", "n", old, sha2, true),
        ("new", "n", "client_ed25519", sha2, true),
        ("native", "v", sha2, old, true),
        ("native", "v", "client_ed25519", old, true),
        ("new", "wrong", old, sha2, false),
        ("nobody", "n", old, sha2, false),
        ("old", "x", old, sha2, false),
    ] {
        let expected = |plugin: &str| match is_known {
            true => well(plugin).to_string(),
            false => denied(user),
        };
        let mut first = Vec::new();
        let (mut my, answer) = enter(&server, user, named, |nonce| {
            first = nonce.to_vec();
            prove(named, secret, nonce)
        });
        assert_eq!(answer, format!("switch {asked}"), "{user} {named}");
        assert_ne!(my.nonce, first);
        let reply = prove(asked, secret, &my.nonce);
        mysql_client::send(&mut my.client, 3, &reply);
        assert_eq!(my.answer_of_login(), expected(asked), "{user} {named}");
        // The same where somebody who is in becomes another one.
        let (mut my, answer) = enter(&server, "web", sha2, |nonce| caching_sha2("w", nonce));
        assert_eq!(answer, well(sha2));
        let body = [user.as_bytes(), b"\0\0\0\x2d\0", named.as_bytes(), b"\0"].concat();
        my.client.send(command(17, body));
        assert_eq!(my.answer_of_login(), format!("switch {asked}"), "{user} {named}");
        let reply = prove(asked, secret, &my.nonce);
        mysql_client::send(&mut my.client, 2, &reply);
        assert_eq!(my.answer_of_login(), expected(asked), "{user} {named}");
    }
    // Who has the digest that it names is not asked again.
    for (user, secret, named) in [("new", "n", sha2), ("native", "v", old), ("web", "w", old)] {
        let (_, answer) = enter(&server, user, named, |nonce| prove(named, secret, nonce));
        assert_eq!(answer, well(named), "{user}");
    }
}

#[test]
fn an_open_face_lets_everybody_take_and_nobody_change() {
    let server = with_tokens(|config| {
        config
            .faces
            .get_mut::<mintage_faces::mysql::Settings>()
            .access
            .auth = FaceAuth::Open
    });
    let (mut my, answer) = enter(&server, "x", "caching_sha2_password", |_| Vec::new());
    // Whoever sends no password waits for OK and for nothing before it.
    assert_eq!(answer, "OK 0 0 2");
    let (_, answer) = enter(&server, "x", "caching_sha2_password", |_| vec![7; 32]);
    assert_eq!(answer, "fast; OK 0 0 2");
    check(
        &mut my,
        &[
            ("SELECT NEXTVAL(orders)", "[NEXTVAL(orders) i] 1"),
            ("DROP SEQUENCE orders", "ERR 1142 42000"),
        ],
    );
}

#[test]
fn clear_text_is_refused_where_tls_is_asked_for() {
    let server = Server::with(|config| {
        on(config);
        config
            .faces
            .get_mut::<mintage_faces::mysql::Settings>()
            .require_tls = true;
    });
    let (_, answer) = enter(&server, "x", "mysql_native_password", |_| Vec::new());
    assert!(answer.starts_with("ERR 3159 08004"), "{answer}");
}

/// "Ask for one of them by its name", was said to those who did.
#[test]
fn one_sequence_is_found_among_any_number_of_others() {
    let server = Server::with(|config| {
        on(config);
        config.max_count = FEW;
    });
    server.make("orders", "{}");
    server.make("Bills", "{}");
    server.crowd();
    let mut my = My::open(&server, "shop");
    let named = |condition: &str| {
        format!(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = 'shop' AND {condition}"
        )
    };
    for (text, answer) in [
        (named("table_name = 'orders'"), "[table_name t] orders"),
        (named("table_name = 'bills'"), "[table_name t] Bills"),
        (named("table_name = 'nothing'"), "[table_name t]"),
        (
            named("table_name IN ('orders', 'Bills', 'orders')"),
            "[table_name t] Bills / orders",
        ),
        (named("table_name LIKE 'order\\\\_s'"), "[table_name t]"),
        (named("table_name LIKE 'ord%'"), "[table_name t] orders"),
        (
            "SHOW TABLES LIKE 'orders'".into(),
            "[Tables_in_shop (orders) t] orders",
        ),
        (
            "SHOW TABLES LIKE 'bil_s'".into(),
            "[Tables_in_shop (bil_s) t] Bills",
        ),
    ] {
        assert_eq!(my.ask(&text), answer, "{text}");
    }
    assert!(my.ask("SHOW CREATE SEQUENCE orders").contains("CREATE SEQUENCE"));
    let refused = my.ask("SHOW TABLES");
    assert!(
        refused.contains("more than 1000 names match") && refused.contains("LIKE"),
        "{refused}"
    );
}

#[test]
fn first_uses_make_sequences_where_the_face_says_so() {
    let server = Server::with(|config| {
        on(config);
        config
            .faces
            .get_mut::<mintage_faces::mysql::Settings>()
            .keys
            .create = true;
        config
            .faces
            .get_mut::<mintage_faces::mysql::Settings>()
            .keys
            .prefix = Setting::parse("my:").unwrap();
        config
            .faces
            .get_mut::<mintage_faces::mysql::Settings>()
            .keys
            .names = Setting::parse("{ \"WORKER_NODE\" = \"uid:WORKER_NODE\" }").unwrap();
    });
    let mut my = My::open(&server, "");
    check(
        &mut my,
        &[
            ("SELECT NEXTVAL(new)", "[NEXTVAL(new) i] 1"),
            (
                "INSERT INTO WORKER_NODE (HOST_NAME, PORT) VALUES ('h', '1')",
                "OK 1 1 2",
            ),
            ("SHOW TABLES", "[Tables_in_ t] new"),
        ],
    );
    server
        .resp()
        .send("GET my:new\r\nGET uid:WORKER_NODE\r\n")
        .expect("$1\r\n1\r\n$1\r\n1\r\n");
}

#[test]
fn what_the_store_refuses_is_worth_trying_again() {
    let (server, store) = Server::faulty_with(on);
    server.make("t", "{}");
    let mut my = My::open(&server, "");
    assert_eq!(my.ask("INSERT INTO t () VALUES ()"), "OK 1 1 2");
    store.fail_all(true);
    for text in [
        "SELECT NEXTVAL(other)",
        "INSERT INTO other () VALUES ()",
        "CREATE SEQUENCE other",
        "SELECT id FROM other",
        "SHOW CREATE SEQUENCE other",
    ] {
        let answer = my.ask(text);
        assert!(answer.starts_with("ERR 1205 HY000 "), "{text}: {answer}");
    }
    assert_eq!(my.ask("SELECT 1"), "[1 i] 1");
    store.fail_all(false);
    assert!(my.ask("INSERT INTO t () VALUES ()").starts_with("OK 1 "));
}
