use proptest::prelude::*;

use super::*;
use crate::mysql::plan::{Change, NewRow};
use crate::mysql::plan::{Expression, From, Item, Select};
use crate::mysql::tables::Library;

fn one(text: &str) -> Result<Statement, Refusal> {
    let mut parsed = parse(text);
    assert_eq!(parsed.statements.len(), 1, "{text}: {parsed:?}");
    parsed.statements.remove(0)
}

#[track_caller]
fn ticket(text: &str) -> (u64, Vec<Expression>, bool) {
    match one(text) {
        Ok(Statement::Ticket(ticket)) => (ticket.rows, ticket.ids, ticket.replaces),
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn tickets_are_rows_with_ids_or_without() {
    for (text, rows, replaces) in [
        ("REPLACE INTO Tickets64 (stub) VALUES ('a')", 1, true),
        ("replace Tickets64 (stub) values ('a');", 1, true),
        ("INSERT INTO t () VALUES ()", 1, false),
        ("INSERT INTO t VALUES ()", 1, false),
        (
            "INSERT IGNORE INTO db.t (a, b) VALUES (1, NOW()), (2, f(3, (4)))",
            2,
            false,
        ),
        ("INSERT INTO t SET stub = 'a', b = (1 + 2)", 1, false),
        (
            "INSERT INTO t (id, stub) VALUES (NULL, 'a'), (0, 'b'), (DEFAULT, 'c')",
            3,
            false,
        ),
        ("INSERT INTO t VALUES (NULL, 'a')", 1, false),
        ("INSERT INTO t VALUES ('a')", 1, false),
    ] {
        assert_eq!(ticket(text), (rows, vec![], replaces), "{text}");
    }
    let (rows, ids, _) = ticket("INSERT INTO t (stub, id) VALUES ('a', 5), ('b', ?)");
    assert_eq!(
        (rows, ids),
        (2, vec![Expression::Integer(5), Expression::Parameter(0)])
    );
    let (_, ids, _) = ticket("INSERT INTO `t` VALUES (12345,'a')");
    assert_eq!(ids, [Expression::Integer(12_345)]);
    assert_eq!(one("INSERT INTO t (a) VALUES (1, 2)").unwrap_err().errno, 1136);
    assert_eq!(one("INSERT INTO seq_1_to_3 VALUES (1)").unwrap_err().errno, 1031);
}

#[test]
fn what_is_returned_of_rows_is_known() {
    let Ok(Statement::Ticket(ticket)) =
        one("INSERT INTO `t` (`a`) VALUES ('x'), ('y') RETURNING `t`.`id`, a AS b")
    else {
        panic!("no ticket")
    };
    let names: Vec<String> = ticket.returning.iter().map(|item| format!("{item:?}")).collect();
    assert!(
        names[0].contains("name: \"id\"") && names[1].contains("name: \"b\""),
        "{names:?}"
    );
    assert_eq!(ticket.rows, 2);
}

#[test]
fn arithmetic_with_the_last_id_advances() {
    for (text, affected) in [
        ("UPDATE t SET id = LAST_INSERT_ID(id + 5)", 1),
        (
            "update `db`.`t` set id=last_insert_id(5+id), at = now() where stub = 'a' limit 1",
            1,
        ),
        (
            "INSERT INTO t (stub) VALUES ('a') ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(id + 5)",
            2,
        ),
    ] {
        let Ok(Statement::Advance(advance)) = one(text) else {
            panic!("{text}: {:?}", one(text))
        };
        assert_eq!(
            (advance.by, advance.affected),
            (Expression::Integer(5), affected),
            "{text}"
        );
    }
    for text in [
        "UPDATE t SET id = id + 1",
        "UPDATE t SET id = LAST_INSERT_ID(other + 1)",
        "INSERT INTO t (a) VALUES (1) ON DUPLICATE KEY UPDATE a = 2",
        "INSERT INTO t SELECT 1",
    ] {
        assert_eq!(one(text).unwrap_err().errno, 1235, "{text}");
    }
}

fn select(text: &str) -> Select {
    match one(text) {
        Ok(Statement::Select(mut all)) => all.remove(0),
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn items_are_called_as_they_are_written() {
    let all = select(
        "SELECT NEXTVAL(s), next value  for `s` AS n, 'a', \"b\" c, @@version , -1, a.b, 1+ 1 x FROM t",
    );
    let names: Vec<&str> = all
        .items
        .iter()
        .map(|item| match item {
            Item::One { name, .. } => &**name,
            Item::All => "*",
        })
        .collect();
    assert_eq!(names, ["NEXTVAL(s)", "n", "a", "c", "@@version", "-1", "b", "x"]);
    assert!(matches!(all.from, From::Table(_)));
    assert_eq!(select("SELECT 1 FROM dual").from, From::Nothing);
}

#[test]
fn a_column_that_nothing_has_is_found_wherever_it_is() {
    for text in [
        "x",
        "1, -x",
        "CONCAT('a', x)",
        "IFNULL(NULL, (x))",
        "LAST_INSERT_ID(x)",
        "SETVAL(s, 1, x)",
        "1 < x",
        "x IS NULL",
        "CAST(x AS CHAR)",
        "CONVERT(x, SIGNED)",
        "mint_id(x)",
        "mint_snowflake(x)",
        "seq * x FROM seq_1_to_3",
    ] {
        assert_eq!(one(&format!("SELECT {text}")).unwrap_err().errno, 1054, "{text}");
    }
    assert!(one("SELECT SEQ + 1 FROM seq_1_to_3").is_ok());
    assert!(one("SELECT x FROM t").is_ok());
}

#[test]
fn numbers_have_their_sign_and_size() {
    let first = |text: &str| match select(text).items.remove(0) {
        Item::One { expression, .. } => expression,
        Item::All => panic!("{text}"),
    };
    for (text, expected) in [
        ("SELECT -9223372036854775808", Expression::Integer(i64::MIN)),
        ("SELECT 18446744073709551615", Expression::Unsigned(u64::MAX)),
        ("SELECT 0x10", Expression::Unsigned(16)),
        ("SELECT 1.5", Expression::Decimal("1.5".into())),
        ("SELECT - - 5", Expression::Integer(5)),
        ("SELECT TRUE", Expression::Integer(1)),
        ("SELECT CONVERT_TZ('a', 'b', 'c')", Expression::Null),
    ] {
        assert_eq!(first(text), expected, "{text}");
    }
}

#[test]
fn series_are_known_by_their_names() {
    for (text, first, count) in [
        ("SELECT seq FROM seq_1_to_15_step_3", 1, 5),
        ("SELECT * FROM db.seq_15_to_1_step_3", 13, 5),
    ] {
        let From::Series(series) = select(text).from else {
            panic!("{text}")
        };
        assert_eq!((series.first(), series.count()), (first, count));
    }
    assert!(matches!(select("SELECT id FROM seq_1").from, From::Table(_)));
    assert_eq!(one("SELECT seq FROM seq_1_to_2_step_0").unwrap_err().errno, 1030);
}

#[test]
fn several_statements_are_read_up_to_the_first_that_is_wrong() {
    let parsed = parse("SELECT 1; SELECT 2;");
    assert_eq!(parsed.statements.len(), 2);
    let parsed = parse("SELECT 1; SELEC 2; SELECT 3");
    assert_eq!(parsed.statements.len(), 2);
    let refusal = parsed.statements[1].as_ref().unwrap_err();
    assert!(
        refusal.text.ends_with("near 'SELEC 2; SELECT 3' at line 1"),
        "{refusal:?}"
    );
    assert_eq!(parse("SELECT ?, ?; SELECT ?").parameters, 3);
    for empty in ["", " ", "-- nothing", "/* nothing */", "# nothing"] {
        assert_eq!(one(empty).unwrap_err().errno, 1065, "{empty:?}");
    }
    assert_eq!(one("/*!40101 SET NAMES utf8 */").map(|_| ()), Ok(()));
    assert!(matches!(one("/*M!100000 SELECT 1 */"), Ok(Statement::Select(_))));
    assert_eq!(one("/*!999999 SELECT 1 */").unwrap_err().errno, 1065);
}

#[test]
fn what_is_known_and_not_here_is_told_from_what_is_not_known() {
    for (text, errno) in [
        ("DELETE FROM t", 1235),
        ("DELETE FROM seq_1_to_3", 1031),
        ("DELETE", 1064),
        ("TRUNCATE TABLE t", 1235),
        ("SHOW INDEX FROM t", 1235),
        ("SHOW CREATE VIEW v", 1235),
        ("SHOW FOO", 1064),
        ("SHOW", 1064),
        ("SELECT MAX(id) FROM t", 1235),
        ("SELECT a FROM t JOIN u", 1235),
        ("SELECT (SELECT 1)", 1235),
        ("CREATE VIEW v AS SELECT 1", 1235),
        ("CREATE TABLE t (a INT)", 1235),
        ("GRANT ALL ON *.* TO x", 1235),
        ("FOO", 1064),
        ("SELECT", 1064),
        ("SELECT 1 2", 1064),
        ("SELECT NEXT VALUE s", 1064),
        ("SELECT FROM t", 1064),
        ("SELECT 'open", 1064),
        ("CREATE SEQUENCE", 1064),
        ("CREATE SEQUENCE s FOO", 1064),
        ("CREATE SEQUENCE s START WITH x", 1064),
        ("ALTER SEQUENCE s", 1064),
        ("SELECT f(1)", 1305),
        ("SELECT NOW(1, 2)", 1305),
        ("CREATE SEQUENCE s CACHE 1 CACHE 2", 1225),
    ] {
        assert_eq!(one(text).unwrap_err().errno, errno, "{text}");
    }
}

#[test]
fn nothing_is_deeper_than_it_may_be() {
    for text in [
        "(".repeat(60_000),
        format!("SELECT {}", "(".repeat(60_000)),
        format!("SELECT {}1", "-".repeat(60_000)),
        format!("SELECT {}1", "- ".repeat(30_000)),
        format!("SELECT 1{}", "+1".repeat(30_000)),
        format!("SELECT {}1{}", "(".repeat(40), "+1+1)".repeat(40)),
        format!("SELECT 1{}", " IS NULL".repeat(8_000)),
        format!("SELECT {}", "CONCAT(".repeat(8_000)),
        format!("INSERT INTO t VALUES ({}", "(".repeat(60_000)),
        format!("SELECT id FROM t WHERE {}", "(".repeat(60_000)),
        format!("CREATE TABLE t {}", "(".repeat(60_000)),
        "/*".repeat(30_000),
    ] {
        assert!(
            matches!(one(&text).unwrap_err().errno, 1436 | 1064),
            "{}",
            &text[..20]
        );
    }
    let fits = format!("SELECT {}1{}", "(".repeat(60), ")".repeat(60));
    assert!(one(&fits).is_ok());
    assert_eq!(
        one(&format!("SELECT ?{}", ", ?".repeat(128))).unwrap_err().errno,
        1390
    );
}

#[test]
fn what_clients_send_at_their_start_is_read() {
    for text in [
        "SET NAMES utf8mb4 COLLATE utf8mb4_unicode_ci",
        "SET sql_mode=(SELECT CONCAT(@@sql_mode, ',PIPES_AS_CONCAT,NO_ENGINE_SUBSTITUTION')),time_zone='+00:00',NAMES utf8mb4",
        "set autocommit=1, sql_mode = concat(@@sql_mode,',STRICT_TRANS_TABLES')",
        "SET @@session.autocommit = OFF",
        "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
        "SET SQL_AUTO_IS_NULL = 0",
        "SET character_set_results = NULL",
        "/*!40101 SET @OLD_SQL_MODE=@@SQL_MODE, SQL_MODE='NO_AUTO_VALUE_ON_ZERO' */",
        "/*!40014 SET @OLD_UNIQUE_CHECKS=@@UNIQUE_CHECKS, UNIQUE_CHECKS=0 */",
        "SELECT @@max_allowed_packet,@@system_time_zone,@@time_zone,@@auto_increment_increment",
        "SELECT VERSION(), @@sql_mode, @@default_storage_engine, @@sql_auto_is_null, @@lower_case_table_names, CONVERT_TZ('2001-01-01 01:00:00', 'UTC', 'UTC') IS NOT NULL",
        "select @@version_comment limit 1",
        "SHOW VARIABLES LIKE 'sql_mode'",
        "SHOW VARIABLES WHERE Variable_name = 'a' OR Variable_name IN ('b', 'c')",
        "SELECT CAST('test plain returns' AS CHAR(60)) AS anon_1",
        "SELECT CAST('x' AS CHAR CHARACTER SET utf8) COLLATE utf8_bin AS anon_1",
        "SET STATEMENT max_statement_time=1 FOR SELECT NEXTVAL(s)",
        "select table_name from information_schema.TABLES where table_schema=database() and table_type='SEQUENCE'",
        "SELECT 'a' as sequence_name, minimum_value, maximum_value, start_value, increment, cache_size FROM a UNION ALL SELECT 'b' as sequence_name, minimum_value, maximum_value, start_value, increment, cache_size FROM b",
        "CREATE TABLE `Tickets64` (`id` bigint(20) unsigned NOT NULL auto_increment, `stub` char(1) NOT NULL default '', PRIMARY KEY (`id`), UNIQUE KEY `stub` (`stub`)) ENGINE=InnoDB AUTO_INCREMENT=12346 DEFAULT CHARSET=utf8mb4",
        "CREATE SEQUENCE `s` start with 1 minvalue 1 maxvalue 9223372036854775806 increment by 1 cache 1000 nocycle ENGINE=InnoDB",
        "/*!40000 ALTER TABLE `Tickets64` DISABLE KEYS */",
        "LOCK TABLES `Tickets64` WRITE",
        "SELECT SETVAL(`s`, 1001, 0)",
        "ALTER TABLE t AUTO_INCREMENT = 100",
        "DO SETVAL(s, 5)",
        "KILL QUERY 5",
        "START TRANSACTION READ ONLY",
    ] {
        assert!(one(text).is_ok(), "{text}: {:?}", one(text));
    }
}

/// What an UPDATE or INSERT on a library's table is read as; `None`: as anything else.
fn of_library(text: &str) -> Option<(Library, Change)> {
    match one(text) {
        Ok(Statement::Library(asked)) => Some((asked.table, asked.change)),
        _ => None,
    }
}

#[test]
fn libraries_add_to_a_row() {
    use Expression::{Integer, Parameter, Text};
    let text = |text: &str| Text(text.into());
    for (statement, table, key, count) in [
        (
            "update cosid set last_max_id=(last_max_id + ?),last_fetch_time=unix_timestamp() where name = ?;",
            Library::Cosid,
            Parameter(1),
            Some(Parameter(0)),
        ),
        (
            "UPDATE `shop`.`COSID` SET `last_fetch_time` = UNIX_TIMESTAMP(), `last_max_id` = 100 + `last_max_id`\n\tWHERE `name` = 'shop.orders'",
            Library::Cosid,
            text("shop.orders"),
            Some(Integer(100)),
        ),
        (
            "UPDATE leaf_alloc SET max_id = max_id + step WHERE biz_tag = ?",
            Library::Leaf,
            Parameter(0),
            None,
        ),
        (
            "update leaf_alloc set max_id = max_id + 2000 /* custom */ where biz_tag = 'orders'",
            Library::Leaf,
            text("orders"),
            Some(Integer(2000)),
        ),
        (
            "UPDATE leaf_alloc SET max_id = max_id + ?, update_time = now() WHERE biz_tag = ?",
            Library::Leaf,
            Parameter(1),
            Some(Parameter(0)),
        ),
    ] {
        let expected = Change::Take { key, count };
        assert_eq!(of_library(statement), Some((table, expected)), "{statement}");
    }
}

#[test]
fn what_libraries_do_not_do_with_their_rows_is_refused() {
    for (statement, errno) in [
        // It would not be one row.
        ("UPDATE leaf_alloc SET max_id = max_id + step", 1235),
        (
            "UPDATE leaf_alloc SET max_id = max_id + 5 WHERE biz_tag IN ('a', 'b')",
            1235,
        ),
        (
            "UPDATE leaf_alloc SET max_id = max_id + 5 WHERE biz_tag = 'a' OR 1",
            1235,
        ),
        (
            "UPDATE leaf_alloc SET max_id = max_id + 5 WHERE biz_tag = 'a' AND step = 5",
            1235,
        ),
        (
            "UPDATE cosid SET last_max_id = last_max_id + 5 WHERE name = 'a' LIMIT 1",
            1235,
        ),
        // It would not be a run.
        ("UPDATE leaf_alloc SET max_id = 5 WHERE biz_tag = 'a'", 1235),
        (
            "UPDATE leaf_alloc SET max_id = max_id - 5 WHERE biz_tag = 'a'",
            1235,
        ),
        (
            "UPDATE leaf_alloc SET max_id = max_id + max_id WHERE biz_tag = 'a'",
            1235,
        ),
        (
            "UPDATE cosid SET last_max_id = last_max_id + step WHERE name = 'a'",
            1235,
        ),
        (
            "UPDATE cosid SET last_max_id = last_max_id + 1, name = 'b' WHERE name = 'a'",
            1235,
        ),
        ("UPDATE leaf_alloc SET step = 5 WHERE biz_tag = 'a'", 1210),
        (
            "UPDATE leaf_alloc SET max_id = max_id + 5, step = 5 WHERE biz_tag = 'a'",
            1210,
        ),
        ("DELETE FROM leaf_alloc WHERE biz_tag = 'a'", 1235),
        // Who locks a row reckons with nobody taking its numbers.
        (
            "SELECT max_id FROM leaf_alloc WHERE biz_tag = 'a' FOR UPDATE",
            1235,
        ),
        (
            "SELECT last_max_id FROM cosid WHERE name = 'a' LOCK IN SHARE MODE",
            1235,
        ),
        ("REPLACE INTO leaf_alloc (biz_tag, max_id) VALUES ('a', 1)", 1235),
        (
            "INSERT INTO leaf_alloc (biz_tag, max_id) VALUES ('a', 1) ON DUPLICATE KEY UPDATE max_id = 1",
            1235,
        ),
        ("INSERT INTO leaf_alloc (biz_tag, max_id) VALUES ('a')", 1136),
        ("CREATE OR REPLACE TABLE leaf_alloc (biz_tag varchar(128))", 1235),
    ] {
        assert_eq!(one(statement).unwrap_err().errno, errno, "{statement}");
    }
}

#[test]
fn libraries_make_rows_and_tables() {
    for (statement, rows, first) in [
        (
            "insert into cosid (name, last_max_id,last_fetch_time) value (?, ?,unix_timestamp());",
            1,
            (Expression::Parameter(0), Some(Expression::Parameter(1))),
        ),
        (
            "INSERT INTO leaf_alloc(max_id, step, description, biz_tag) VALUES (1, 2000, 'a (test)', 'x'), (DEFAULT, 1, NULL, 'y')",
            2,
            (Expression::Text("x".into()), Some(Expression::Integer(1))),
        ),
        (
            "insert ignore into `leaf_alloc` values ('x', 5, 2000, 'd', CURRENT_TIMESTAMP)",
            1,
            (Expression::Text("x".into()), Some(Expression::Integer(5))),
        ),
    ] {
        let Some((_, Change::Insert { rows: made, ignores })) = of_library(statement) else {
            panic!("{statement}: {:?}", one(statement))
        };
        assert_eq!(made.len(), rows, "{statement}");
        assert_eq!(ignores, statement.contains("ignore"));
        let NewRow { key, at } = made[0].clone();
        assert_eq!((key, at), first, "{statement}");
    }
    for table in [
        "create table if not exists cosid\n(\n    name varchar(100) not null comment '{namespace}.{name}',\n    last_max_id bigint unsigned not null default 0,\n    last_fetch_time bigint unsigned not null default 0,\n    constraint cosid_pk\n        primary key (name)\n) engine = InnoDB;",
        "CREATE TABLE `leaf_alloc` (`biz_tag` varchar(128) NOT NULL DEFAULT '', `max_id` bigint(20) NOT NULL DEFAULT '1', `step` int(11) NOT NULL, PRIMARY KEY (`biz_tag`)) ENGINE=InnoDB DEFAULT CHARSET=utf8",
    ] {
        assert_eq!(one(table), Ok(Statement::Nothing), "{table}");
    }
    // A table of that name with other columns is a ticket's.
    assert_eq!(
        ticket("INSERT INTO cosid (stub) VALUES ('a')"),
        (1, vec![], false)
    );
    let Ok(Statement::Create(_)) = one("CREATE TABLE cosid (id BIGINT AUTO_INCREMENT PRIMARY KEY)") else {
        panic!("no table of tickets")
    };
}

#[test]
fn libraries_look_at_their_rows() {
    let from = |text: &str| match one(text) {
        Ok(Statement::Select(selects)) => selects[0].from.clone(),
        other => panic!("{text}: {other:?}"),
    };
    for (text, table) in [
        ("select last_max_id from cosid where name = ?;", Library::Cosid),
        (
            "SELECT biz_tag, max_id, step FROM leaf_alloc WHERE biz_tag = ?",
            Library::Leaf,
        ),
        (
            "SELECT biz_tag, max_id, step, update_time FROM leaf_alloc",
            Library::Leaf,
        ),
        ("SELECT `biz_tag` FROM `shop`.`Leaf_Alloc`", Library::Leaf),
        ("SELECT COUNT(*) FROM leaf_alloc", Library::Leaf),
        ("SELECT * FROM cosid", Library::Cosid),
    ] {
        assert_eq!(from(text), From::Library(table), "{text}");
    }
    assert!(matches!(from("SELECT id FROM cosid"), From::Table(_)));
}

proptest! {
    #[test]
    fn any_text_is_read_without_panic(text in any::<String>()) {
        let _ = parse(&text);
    }

    #[test]
    fn any_words_are_read_without_panic(words in proptest::collection::vec(
        prop_oneof!["SELECT", "FROM", "\\(", "\\)", ",", "NEXTVAL", "seq_1_to_3", "INSERT", "INTO", "VALUES", "SET", "=", "'a'",
            "1", "\\?", "@x", "@@y", "ON", "DUPLICATE", "KEY", "UPDATE", "CREATE", "SEQUENCE", "TABLE", ";", "LIKE", "WHERE", "AND"],
        0..24,
    )) {
        let _ = parse(&words.join(" "));
    }
}
