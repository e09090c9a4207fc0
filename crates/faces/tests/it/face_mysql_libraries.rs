//! Libraries that count in tables of MySQL, statement by statement: CosId's segments and Leaf's tags.
#![allow(clippy::little_endian_bytes)]

use mintage_server::config::{Config, Listen, Setting};

use crate::common::{Client, Server};
use crate::mysql_client::My;

fn on(config: &mut Config) {
    config
        .faces
        .get_mut::<mintage_faces::mysql::Settings>()
        .access
        .listen = Listen::parse("127.0.0.1:0").unwrap();
    config
        .faces
        .get_mut::<mintage_faces::cosid::Settings>()
        .access
        .listen = Listen::parse("127.0.0.1:0").unwrap();
    config
        .faces
        .get_mut::<mintage_faces::leaf::Settings>()
        .access
        .listen = Listen::parse("127.0.0.1:0").unwrap();
}

/// Each text with its answers.
#[track_caller]
fn check(my: &mut My, rows: &[(&str, &str)]) {
    for (text, expected) in rows {
        let mut answer = my.ask(text);
        // The status of rows is that of the transaction, which is looked at where there are none.
        if answer.starts_with('[') && answer.ends_with(')') {
            answer.truncate(answer.rfind(" (").unwrap_or(answer.len()));
        }
        // Where the words of a refusal are our own, its number and state are looked at.
        if expected.starts_with("ERR ") && expected.matches(' ').count() == 2 {
            answer.truncate(expected.len());
        }
        assert_eq!(answer, *expected, "{text}");
    }
}

const COSID_TABLE: &str = "create table if not exists cosid\n(\n    name            varchar(100) not null comment \
                           '{namespace}.{name}',\n    last_max_id     bigint unsigned not null default 0,\n    \
                           last_fetch_time bigint unsigned not null default 0,\n    constraint cosid_pk\n        primary \
                           key (name)\n) engine = InnoDB;";
const COSID_ADD: &str = "update cosid set last_max_id=(last_max_id + 100),last_fetch_time=unix_timestamp() where name = 'shop.orders';";
const COSID_LOOK: &str = "select last_max_id from cosid where name = 'shop.orders';";

#[test]
fn cosids_segments_are_one_sequence_over_jdbc_and_its_proxy() {
    let server = Server::with(on);
    let mut my = My::open(&server, "ids");
    check(
        &mut my,
        &[
            (COSID_TABLE, "OK 0 0 2"),
            // A name that is not there: the library says so in its own words, of no row.
            (COSID_ADD, "OK 0 0 2"),
            (COSID_LOOK, "[last_max_id u]"),
            (
                "insert into cosid (name, last_max_id,last_fetch_time) value ('shop.orders', 5000,unix_timestamp());",
                "OK 1 0 2",
            ),
            (
                "insert into cosid (name, last_max_id,last_fetch_time) value ('shop.orders', 0,unix_timestamp());",
                "ERR 1062 23000 Duplicate entry 'shop.orders' for key 'PRIMARY'",
            ),
            (COSID_LOOK, "[last_max_id u] 5000"),
            ("set autocommit=0", "OK 0 0 0"),
            (COSID_ADD, "OK 1 0 1"),
            (COSID_LOOK, "[last_max_id u] 5100"),
            ("COMMIT", "OK 0 0 0"),
            ("set autocommit=1", "OK 0 0 2"),
        ],
    );
    let mut proxy = Client::connect(server.address("cosid"));
    let taken = proxy.ask("PATCH", "/segments/shop/orders?step=7");
    assert_eq!((taken.status, taken.text().as_str()), (200, "5107"));
    // Looking takes nothing.
    check(
        &mut my,
        &[
            (
                "SELECT name, last_max_id FROM cosid",
                "[name t,last_max_id u] shop.orders|5107",
            ),
            ("SELECT COUNT(*) AS n FROM cosid", "[n i] 1"),
        ],
    );
    assert_eq!(proxy.ask("PATCH", "/segments/shop/orders?step=1").text(), "5108");
    server
        .resp()
        .send("GET cosid:shop.orders\r\n")
        .expect("$4\r\n5108\r\n");
}

/// A prepared statement's values: a number of eight bytes, then a text.
fn count_and_key(count: i64, key: &str) -> Vec<u8> {
    let mut values = b"\0\x01\x08\0\xfd\0".to_vec();
    values.extend(count.to_le_bytes());
    values.push(key.len() as u8);
    values.extend(key.as_bytes());
    values
}

fn key(key: &str) -> Vec<u8> {
    [b"\0\x01\xfd\0", &[key.len() as u8][..], key.as_bytes()].concat()
}

#[test]
fn statements_prepared_by_the_server_reserve_and_tell_the_same() {
    let server = Server::with(on);
    server.make("cosid:a.b", "{}");
    server.make("leaf:orders", "{}");
    let mut my = My::open(&server, "");
    let add =
        "update cosid set last_max_id=(last_max_id + ?),last_fetch_time=unix_timestamp() where name = ?;";
    let (add, parameters, columns) = my.prepare(add).unwrap();
    assert_eq!((parameters, columns), (2, 0));
    let (look, parameters, columns) = my
        .prepare("select last_max_id from cosid where name = ?;")
        .unwrap();
    assert_eq!((parameters, columns), (1, 1));
    assert_eq!(my.execute(add, &count_and_key(100, "a.b")), "OK 1 0 2");
    assert_eq!(my.execute(look, &key("a.b")), "[last_max_id u] 100");
    for wrong in [0, -5] {
        assert!(
            my.execute(add, &count_and_key(wrong, "a.b"))
                .starts_with("ERR 1210 HY000")
        );
    }
    assert_eq!(my.execute(add, &count_and_key(1, "none")), "OK 0 0 2");
    let add = "UPDATE leaf_alloc SET max_id = max_id + ? WHERE biz_tag = ?";
    let (add, ..) = my.prepare(add).unwrap();
    let (look, _, columns) = my
        .prepare("SELECT biz_tag, max_id, step FROM leaf_alloc WHERE biz_tag = ?")
        .unwrap();
    assert_eq!(columns, 3);
    assert_eq!(my.execute(add, &count_and_key(4000, "orders")), "OK 1 0 2");
    assert_eq!(
        my.execute(look, &key("orders")),
        "[biz_tag t,max_id i,step i] orders|4001|1000"
    );
}

const LEAF_ADD: &str = "UPDATE leaf_alloc SET max_id = max_id + step WHERE biz_tag = 'orders'";
const LEAF_LOOK: &str = "SELECT biz_tag, max_id, step FROM leaf_alloc WHERE biz_tag = 'orders'";

#[test]
fn leafs_tags_are_one_sequence_over_jdbc_and_http() {
    let server = Server::with(on);
    let mut my = My::open(&server, "leaf");
    let of = "[biz_tag t,max_id i,step i] ";
    check(
        &mut my,
        &[
            ("SELECT biz_tag FROM leaf_alloc", "[biz_tag t]"),
            (
                "INSERT INTO leaf_alloc(biz_tag, max_id, step, description) VALUES('orders', 1, 2000, 'Test'), ('zero', 0, 1, \
                 NULL)",
                "OK 2 0 2",
            ),
            (
                "INSERT IGNORE INTO leaf_alloc(biz_tag, max_id, step) VALUES('orders', 1, 2000)",
                "OK 0 0 2",
            ),
            ("SELECT biz_tag FROM leaf_alloc", "[biz_tag t] orders / zero"),
            (LEAF_LOOK, &format!("{of}orders|1|1000")),
            // The numbers are 1 to 1000: max_id - step to max_id - 1.
            (LEAF_ADD, "OK 1 0 2"),
            (LEAF_LOOK, &format!("{of}orders|1001|1000")),
            (
                "UPDATE leaf_alloc SET max_id = max_id + 4000 WHERE biz_tag = 'orders'",
                "OK 1 0 2",
            ),
            (LEAF_LOOK, &format!("{of}orders|5001|1000")),
            (
                "SELECT biz_tag, max_id, step, update_time FROM leaf_alloc",
                "[biz_tag t,max_id i,step i,update_time t] orders|5001|1000|NULL / zero|0|1000|NULL",
            ),
            (
                "SELECT biz_tag FROM leaf_alloc WHERE max_id > 5",
                "ERR 1235 42000",
            ),
            (
                "INSERT INTO leaf_alloc(biz_tag, max_id, step) VALUES('bad', -1, 1)",
                "ERR 1690 22003",
            ),
            (
                "INSERT INTO leaf_alloc(biz_tag, max_id, step) VALUES('', 1, 1)",
                "ERR 1210 HY000",
            ),
        ],
    );
    let mut leaf = Client::connect(server.address("leaf"));
    assert_eq!(leaf.ask("GET", "/api/segment/get/orders").text(), "5001");
    assert_eq!(leaf.ask("GET", "/api/segment/get/zero").text(), "0");
}

#[test]
fn each_session_is_told_its_own_run() {
    let server = Server::with(on);
    server.make("leaf:orders", "{}");
    let (mut one, mut other) = (My::open(&server, ""), My::open(&server, ""));
    let of = |max: u64| format!("[biz_tag t,max_id i,step i] orders|{max}|1000");
    one.ask("START TRANSACTION");
    other.ask("set autocommit=0");
    check(&mut one, &[(LEAF_ADD, "OK 1 0 3")]);
    check(&mut other, &[(LEAF_ADD, "OK 1 0 1")]);
    check(&mut one, &[(LEAF_LOOK, &of(1001)), (LEAF_LOOK, &of(1001))]);
    check(&mut other, &[(LEAF_LOOK, &of(2001)), ("ROLLBACK", "OK 0 0 0")]);
    // What was rolled back is a gap.
    check(&mut one, &[("COMMIT", "OK 0 0 2"), (LEAF_LOOK, &of(2001))]);
    // Two runs in one transaction are not one: they need not follow each other.
    check(&mut one, &[("BEGIN", "OK 0 0 3"), (LEAF_ADD, "OK 1 0 3")]);
    check(&mut other, &[(LEAF_ADD, "OK 1 0 1"), (LEAF_LOOK, &of(4001))]);
    let refused = one.ask(LEAF_ADD);
    assert!(refused.contains("the two runs need not follow"), "{refused}");
    check(&mut one, &[(LEAF_LOOK, &of(3001)), (LEAF_ADD, "OK 1 0 3")]);
    check(&mut one, &[(LEAF_LOOK, &of(5001)), ("COMMIT", "OK 0 0 2")]);
    // Without a transaction, too.
    check(&mut one, &[(LEAF_ADD, "OK 1 0 2")]);
    check(&mut other, &[("COMMIT", "OK 0 0 0"), (LEAF_ADD, "OK 1 0 1")]);
    check(&mut one, &[(LEAF_LOOK, &of(6001))]);
    // Nothing is reserved where nothing may be written.
    check(
        &mut one,
        &[
            ("START TRANSACTION READ ONLY", "OK 0 0 8195"),
            (LEAF_ADD, "ERR 1792 25006"),
        ],
    );
}

#[test]
fn nobody_makes_a_row_where_nothing_is_made_by_use() {
    let server = Server::with(|config| {
        on(config);
        config.auto_create = false;
        config.faces.get_mut::<mintage_faces::leaf::Settings>().keys.names =
            Setting::parse("{ \"orders\" = \"shop_orders\" }").unwrap();
        config.faces.get_mut::<mintage_faces::mysql::Settings>().leaf_step = 50;
        config.max_count = 1;
    });
    server.make("shop_orders", "{}");
    let mut my = My::open(&server, "");
    let refused =
        my.ask("insert into cosid (name, last_max_id,last_fetch_time) value ('a.b', 0,unix_timestamp())");
    assert!(
        refused.starts_with("ERR 1305 42000") && refused.contains("auto_create"),
        "{refused}"
    );
    let refused = my.ask("INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('a', 1, 1), ('b', 1, 1)");
    assert!(refused.contains("server.max_count"), "{refused}");
    let refused = my.ask("UPDATE leaf_alloc SET step = 100 WHERE biz_tag = 'orders'");
    assert!(refused.contains("faces.mysql.leaf_step"), "{refused}");
    // What stands under a name of its own is found by its tag, and its step is the setting.
    check(
        &mut my,
        &[
            (LEAF_ADD, "OK 1 0 2"),
            (LEAF_LOOK, "[biz_tag t,max_id i,step i] orders|51|50"),
            ("SELECT biz_tag FROM leaf_alloc", "[biz_tag t] orders"),
        ],
    );
}

/// What CosId's library sends to get a number: `guard_at` of the first statement, then what follows from its answer.
fn distribute(my: &mut My, instance: &str, guard_at: i64) -> String {
    my.ask(&format!(
        "select machine_id, last_timestamp from cosid_machine where namespace='dev' and instance_id='{instance}' and \
         last_timestamp>{guard_at}"
    ))
}

fn guard(my: &mut My, instance: &str, machine: u32) -> String {
    my.ask(&format!(
        "update cosid_machine set last_timestamp=1700000000000 where namespace='dev' and instance_id='{instance}' and \
         machine_id={machine}"
    ))
}

/// The number of a row of `distribute`.
#[track_caller]
fn machine(answer: &str) -> u32 {
    let row = answer.strip_prefix("[machine_id i,last_timestamp i] ").unwrap();
    row.split_once('|')
        .unwrap_or_else(|| panic!("{answer}"))
        .0
        .parse()
        .unwrap()
}

#[test]
fn cosids_machines_are_one_pool_over_jdbc_and_its_proxy() {
    let server = Server::with(on);
    let mut my = My::open(&server, "");
    // Two bits: four machines.
    let made = server.http().ask_with(
        "PUT",
        "/v1/pools/cosid:dev",
        &[],
        r#"{"layout":"time=41,worker=2,sequence=20,tick=1ms,epoch=2019-12-24T16:00:00Z"}"#,
    );
    assert_eq!(made.status, 201, "{}", made.text());
    check(
        &mut my,
        &[
            (
                "create table if not exists cosid_machine\n(\n    name varchar(100) not null comment \
                 '{namespace}.{machine_id}',\n    primary key (name)\n) engine = InnoDB;",
                "OK 0 0 2",
            ),
            (
                "create index if not exists idx_namespace on cosid_machine (namespace);",
                "OK 0 0 2",
            ),
        ],
    );
    // Its clock need not be ours: five minutes are the least that a lease lasts.
    let soon = i64::MAX;
    assert_eq!(machine(&distribute(&mut my, "a:1", soon)), 0);
    assert_eq!(guard(&mut my, "a:1", 0), "OK 1 0 2");
    assert_eq!(machine(&distribute(&mut my, "a:1", soon)), 0);
    assert_eq!(machine(&distribute(&mut my, "b:1", soon)), 1);
    // Not its own number, not its own namespace.
    assert_eq!(guard(&mut my, "a:1", 1), "OK 0 0 2");
    assert_eq!(guard(&mut my, "c:1", 1), "OK 0 0 2");
    let mut proxy = Client::connect(server.address("cosid"));
    let leased = proxy.ask(
        "POST",
        "/machines/dev?machineBit=2&instanceId=p:1&stable=false&safeGuardDuration=PT5M",
    );
    assert!(leased.text().contains(r#""machineId":2"#), "{}", leased.text());
    // A stable one, which is leased without an end and stays so.
    assert_eq!(machine(&distribute(&mut my, "s-0", 0)), 3);
    let revert = |my: &mut My, instance: &str, left: &str| {
        my.ask(&format!(
            "update cosid_machine set instance_id='{left}',last_timestamp=1700000000000,revert_time=1700000000000 where \
             namespace='dev' and instance_id='{instance}'"
        ))
    };
    assert_eq!(revert(&mut my, "s-0", "s-0"), "OK 1 0 2");
    assert_eq!(guard(&mut my, "s-0", 3), "OK 1 0 2");
    // All are held: no row, none to take over, and a next number beyond any.
    assert_eq!(
        distribute(&mut my, "e:1", soon),
        "[machine_id i,last_timestamp i]"
    );
    check(
        &mut my,
        &[
            (
                "select machine_id, last_timestamp from cosid_machine where namespace='dev' and (instance_id='' or \
                 last_timestamp<=1700000000000)",
                "[machine_id i,last_timestamp i]",
            ),
            (
                "select max(machine_id)+1 as next_machine_id from cosid_machine where namespace='dev'",
                "[next_machine_id i] 2147483647",
            ),
            (
                "insert into cosid_machine (name, namespace, machine_id, last_timestamp, instance_id, distribute_time, \
                 revert_time) values ('dev.00000004','dev',4,1700000000000,'e:1',1700000000000,0);",
                "ERR 1235 42000",
            ),
            (
                "update cosid_machine set instance_id='e:1',last_timestamp=1700000000000,distribute_time=1700000000000 where \
                 name='dev.00000003' and (instance_id='' or last_timestamp<=1700000000000)",
                "ERR 1235 42000",
            ),
            ("SELECT * FROM cosid_machine", "ERR 1235 42000"),
            ("SELECT MAX(id) FROM t", "ERR 1235 42000"),
            ("SELECT MAX(machine_id) FROM t", "ERR 1235 42000"),
        ],
    );
    // What was given back is that instance's at once.
    assert_eq!(revert(&mut my, "b:1", ""), "OK 1 0 2");
    assert_eq!(guard(&mut my, "b:1", 1), "OK 0 0 2");
    assert_eq!(machine(&distribute(&mut my, "b:1", soon)), 1);
}

#[test]
fn a_namespace_is_made_by_its_first_machine_unless_nothing_is_made_by_use() {
    let server = Server::with(on);
    let mut my = My::open(&server, "");
    assert_eq!(machine(&distribute(&mut my, "a:1", 0)), 0);
    let shown = server.http().ask("GET", "/v1/pools/cosid:dev");
    assert!(
        shown.text().contains("\"workers\":1024") || shown.text().contains("\"workers\":\"1024\""),
        "{}",
        shown.text()
    );
    let strict = Server::with(|config| {
        on(config);
        config.auto_create = false;
    });
    let refused = distribute(&mut My::open(&strict, ""), "a:1", 0);
    assert!(
        refused.starts_with("ERR 1305 42000") && refused.contains("auto_create"),
        "{refused}"
    );
}
