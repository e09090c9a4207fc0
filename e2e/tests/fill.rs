//! Tables that go on filling a column by themselves once its counter was moved here: the SQL of `mint import --fill` is run
//! as it is printed, and inserts that name no id are served by our faces, through `postgres_fdw` and FEDERATED.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::fs;
use std::net::SocketAddr;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use mintage_e2e::engine::mariadb::Mariadb;
use mintage_e2e::engine::port::free;
use mintage_e2e::engine::postgres::Postgres;
use mintage_e2e::need::say;
use mintage_e2e::run::{self, Said};
use mintage_e2e::server::{Server, Start};
use mintage_e2e::store_suite::Engine;
use mintage_e2e::writers::Session;
use mintage_testing::invariant;
use tempfile::TempDir;

use crate::import::PATIENT;

/// The largest id before the move.
const BEFORE: i64 = 1000;

/// What tables are made of, and how they are asked.
trait Shop: Engine + Sync {
    /// The face that fills them.
    const FACE: &'static str;
    /// The counter of `orders`.
    const KEY: &'static str;
    /// The database they are in.
    const PLACE: &'static str;
    /// A table `orders` with [`BEFORE`] as its largest id.
    const MAKE: &'static str;
    const INSERT: &'static str = "INSERT INTO orders (item) VALUES ('x') RETURNING id";

    /// What an administrator's client says of a script.
    fn run(&self, script: &str) -> Said;

    /// A client that writes each row at once.
    fn client_program(&self) -> Program;
}

/// A client program with its arguments, to be started as often as is wanted.
struct Program(Command);

impl Program {
    fn start(&self) -> Session {
        let mut command = Command::new(self.0.get_program());
        command.args(self.0.get_args()).current_dir("/");
        Session::start(command)
    }
}

impl Shop for Postgres {
    const FACE: &'static str = "postgres";
    const KEY: &'static str = "public.orders_id_seq";
    const PLACE: &'static str = "ids";
    const MAKE: &'static str = "SET ROLE mint; CREATE TABLE orders (id bigserial PRIMARY KEY, item text); \
         INSERT INTO orders (item) SELECT 'x' FROM generate_series(1, 1000);";

    fn run(&self, script: &str) -> Said {
        self.psql(Self::PLACE, script)
    }

    fn client_program(&self) -> Program {
        Program(self.client(Self::PLACE))
    }
}

impl Shop for Mariadb {
    const FACE: &'static str = "mysql";
    const KEY: &'static str = "ids.orders.id";
    const PLACE: &'static str = "ids";
    const MAKE: &'static str = "CREATE TABLE orders (id bigint AUTO_INCREMENT PRIMARY KEY, item varchar(9)); \
         INSERT INTO orders VALUES (1000, 'x');";

    fn run(&self, script: &str) -> Said {
        self.sql(Self::PLACE, script)
    }

    fn client_program(&self) -> Program {
        // It ends at the first refusal, so that nobody waits for what a lost connection never says.
        Program(self.batch(Self::PLACE))
    }
}

/// A shop, our server beside it, and people who type commands.
struct Lab {
    folder: TempDir,
    face: SocketAddr,
}

impl Lab {
    fn of<S: Shop>(shop: &S) -> Lab {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("shop.url"), shop.url(shop.address())).unwrap();
        let file = folder.path().join("shop.url").display().to_string();
        let config = format!("[sequences]\nauto_create = false\n[sources.shop]\nurl_file = {file:?}\n");
        fs::write(folder.path().join("mint.toml"), config).unwrap();
        Lab { folder, face: free() }
    }

    /// The face puts this before the names that it is asked for.
    fn with_prefix<S: Shop>(self, _: &S, prefix: &str) -> Lab {
        let file = self.folder.path().join("mint.toml");
        let config = fs::read_to_string(&file).unwrap();
        fs::write(
            file,
            format!("{config}[faces.{}]\nprefix = {prefix:?}\n", S::FACE),
        )
        .unwrap();
        self
    }

    /// The server; always at the same address for the face.
    fn serve<S: Shop>(&self, _: &S) -> Server {
        let face = format!("{}={}", S::FACE, self.face);
        Start::in_folder(self.folder.path())
            .args(["--face", &face])
            .ready()
    }

    /// What a person types after `mint import shop`.
    fn import(&self, server: &Server, words: &[&str]) -> Said {
        let url = server.url();
        let all = ["import", "shop", "--server", &url].into_iter().chain(PATIENT);
        run::mint(self.folder.path(), all.chain(words.iter().copied()))
    }

    /// The script that lets tables fill themselves, or takes that back.
    fn script(&self, server: &Server, words: &[&str]) -> String {
        let fill = format!("--fill={}", self.face);
        self.import(server, &[&[fill.as_str()], words].concat()).ok()
    }
}

/// What the rows of an answer are, in one line.
#[track_caller]
fn rows<S: Shop>(shop: &S, sql: &str) -> String {
    shop.run(sql).ok().trim().replace('\n', " ")
}

/// Every way to insert without an id, by the SQL that was printed; and back.
fn a_table_fills_itself<S: Shop>(shop: &S) {
    shop.run(S::MAKE).ok();
    let lab = Lab::of(shop);
    let server = lab.serve(shop);
    let named = format!("{}=orders", S::KEY);
    let words: &[&str] = &["--match", "*orders*", "--name", &named];
    let plan = lab.import(&server, words).ok();
    assert!(plan.contains("the table fills the column by itself"), "{plan}");
    // Before the move there is nothing to run: numbers of both sides would be in one column.
    let early = lab.import(&server, &[words, &["--fill"]].concat());
    assert!(
        early.code == 1 && early.out.contains("nothing to run yet"),
        "{early:?}"
    );
    assert!(early.out.lines().all(|line| line.starts_with("--")), "{early:?}");
    lab.import(&server, &[words, &["--apply"]].concat()).ok();
    let fenced = shop.run(S::INSERT);
    assert_ne!(fenced.code, 0, "{fenced:?}");
    let script = lab.script(&server, words);
    // Whoever runs it again changes nothing.
    shop.run(&script).ok();
    shop.run(&script).ok();
    assert_eq!(rows(shop, S::INSERT), "1001");
    assert_eq!(
        rows(shop, "INSERT INTO orders (item) VALUES ('a'), ('b') RETURNING id"),
        "1002 1003"
    );
    assert_eq!(
        rows(
            shop,
            "INSERT INTO orders (id, item) VALUES (7000, 'own') RETURNING id"
        ),
        "7000"
    );
    assert_eq!(
        rows(
            shop,
            "INSERT INTO orders (id, item) VALUES (DEFAULT, 'a') RETURNING id"
        ),
        "1004"
    );
    // What was taken before a rollback does not come again.
    rows(shop, &format!("BEGIN; {}; ROLLBACK", S::INSERT));
    rows(
        shop,
        "INSERT INTO orders (item) SELECT item FROM orders WHERE id <= 1001 LIMIT 2",
    );
    assert_eq!(
        rows(
            shop,
            "SELECT id FROM orders WHERE id BETWEEN 1005 AND 6999 ORDER BY id"
        ),
        "1006 1007"
    );
    rows(shop, "DELETE FROM orders WHERE id = 7000");
    lab.import(&server, &["--verify"]).ok();
    lab.import(&server, &["--back", "--apply"]).ok();
    let closed = shop.run(S::INSERT);
    assert_ne!(closed.code, 0, "{closed:?}");
    // The script of then is refused, now that the counter is there again.
    let late = shop.run(&script);
    assert_ne!(late.code, 0, "{late:?}");
    let undo = lab.script(&server, &["--back"]);
    shop.run(&undo).ok();
    shop.run(&undo).ok();
    // Above all that was given out here; a row's own id moved the counter of MariaDB further.
    let next: i64 = rows(shop, S::INSERT).parse().unwrap();
    assert!(next > 1007, "{next}");
}

#[test]
fn a_serial_column_fills_itself_from_here() {
    if let Some(postgres) = Postgres::borrow() {
        a_table_fills_itself(&postgres);
    }
}

#[test]
fn an_auto_increment_column_fills_itself_from_here() {
    // Its plugin stays after the test.
    if let Some(mariadb) = Mariadb::run() {
        a_table_fills_itself(&mariadb);
    }
}

/// A face that puts something before names is asked for the rest, and not for a name of its own making.
fn a_face_with_a_prefix_fills_it<S: Shop>(shop: &S) {
    shop.run(S::MAKE).ok();
    let lab = Lab::of(shop).with_prefix(shop, "web:");
    let server = lab.serve(shop);
    let named = format!("{}=web:orders", S::KEY);
    let words: &[&str] = &["--match", "*orders*", "--name", &named];
    lab.import(&server, &[words, &["--apply"]].concat()).ok();
    let wrong = shop.run(&lab.script(&server, words));
    assert_ne!(wrong.code, 0, "{wrong:?}");
    let fill = format!("--fill={}", lab.face);
    let other = lab.import(
        &server,
        &[words, &[fill.as_str(), "--fill-prefix", "shop:"]].concat(),
    );
    assert!(
        other.code == 1 && other.out.contains("does not begin so"),
        "{other:?}"
    );
    shop.run(&lab.script(&server, &[words, &["--fill-prefix", "web:"]].concat()))
        .ok();
    assert_eq!(rows(shop, S::INSERT), "1001");
}

#[test]
fn a_face_with_a_prefix_fills_a_serial_column() {
    if let Some(postgres) = Postgres::borrow() {
        a_face_with_a_prefix_fills_it(&postgres);
    }
}

#[test]
fn a_face_with_a_prefix_fills_an_auto_increment_column() {
    if let Some(mariadb) = Mariadb::run() {
        a_face_with_a_prefix_fills_it(&mariadb);
    }
}

/// Each partition and each child keeps a default of its own, and what others have made is not trusted.
#[test]
fn what_stands_in_the_way_in_postgresql_is_kept_or_refused_in_words() {
    let Some(postgres) = Postgres::borrow() else {
        return;
    };
    postgres
        .run(
            "SET ROLE mint; CREATE SEQUENCE orders_id_seq; \
         CREATE TABLE orders (id bigint DEFAULT nextval('orders_id_seq'), item text) PARTITION BY LIST (item); \
         CREATE TABLE orders_a PARTITION OF orders FOR VALUES IN ('a'); \
         CREATE TABLE orders_b PARTITION OF orders FOR VALUES IN ('b'); \
         ALTER TABLE orders_b ALTER id SET DEFAULT -5; \
         CREATE TABLE plain (id bigint DEFAULT nextval('orders_id_seq'), item text); \
         CREATE TABLE child () INHERITS (plain); ALTER TABLE child ALTER id SET DEFAULT -6; \
         RESET ROLE; CREATE ROLE somebody; CREATE SCHEMA mint AUTHORIZATION somebody",
        )
        .ok();
    let lab = Lab::of(&postgres);
    let server = lab.serve(&postgres);
    let words: &[&str] = &["--match", "*orders_id_seq", "--name", "orders_id_seq=it$mint$s"];
    lab.import(&server, &[words, &["--apply"]].concat()).ok();
    let script = lab.script(&server, words);
    let refused = postgres.run(&script);
    assert!(
        refused.code != 0 && refused.err.contains("is that of somebody"),
        "{refused:?}"
    );
    postgres.run("DROP SCHEMA mint").ok();
    // Somebody's server of that name leads elsewhere.
    let server_name = format!("\"mint {}\"", lab.face);
    postgres
        .run(&format!(
            "CREATE EXTENSION IF NOT EXISTS postgres_fdw; \
             CREATE SERVER {server_name} FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host 'elsewhere')"
        ))
        .ok();
    let refused = postgres.run(&script);
    assert!(
        refused.code != 0 && refused.err.contains("is another one"),
        "{refused:?}"
    );
    postgres.run(&format!("DROP SERVER {server_name}")).ok();
    postgres.run(&script).ok();
    let insert = |table: &str, item: &str| {
        rows(
            &postgres,
            &format!("INSERT INTO {table} (item) VALUES ('{item}') RETURNING id"),
        )
    };
    assert_eq!(insert("orders", "a"), "1");
    assert_eq!(insert("orders_a", "a"), "2");
    assert_eq!(insert("plain", "x"), "3");
    assert_eq!(
        (insert("orders_b", "b"), insert("child", "x")),
        ("-5".into(), "-6".into())
    );
}

/// Defaults and names as people have them, an identity column, and an account that may only insert.
#[test]
fn each_column_of_postgresql_fills_itself_or_the_plan_says_that_it_does_not() {
    let Some(postgres) = Postgres::borrow() else {
        return;
    };
    postgres
        .run(
            "CREATE ROLE app LOGIN; SET ROLE mint; CREATE SCHEMA \"My shop\"; \
         CREATE TABLE \"My shop\".\"It's\" (\"Id No\" bigserial, item text); \
         CREATE SEQUENCE inv; CREATE TABLE invoices (no text DEFAULT 'INV-' || nextval('inv'), item text); \
         CREATE TABLE named (id int GENERATED ALWAYS AS IDENTITY (CACHE 5), item text); \
         INSERT INTO named (item) VALUES ('a'), ('b'); \
         GRANT INSERT, SELECT ON named, invoices TO app",
        )
        .ok();
    let lab = Lab::of(&postgres);
    let server = lab.serve(&postgres);
    let plan = lab.import(&server, &[]).ok();
    assert_eq!(
        plan.matches("the table fills the column by itself").count(),
        2,
        "{plan}"
    );
    assert!(
        plan.contains("inserts must name the id: public.named.id is an identity column"),
        "{plan}"
    );
    // The plan has the SQL that makes it a serial column, at the same number.
    let before = lab.import(&server, &["--match", "*named*", "--fill"]);
    assert_eq!(before.code, 1, "{before:?}");
    postgres.run(&before.out).ok();
    let as_app = |sql: &str| rows(&postgres, &format!("SET ROLE app; {sql}"));
    assert_eq!(as_app("INSERT INTO named (item) VALUES ('c') RETURNING id"), "6");
    lab.import(&server, &["--apply"]).ok();
    // A way that does not lead to us changes nothing.
    let nowhere = lab.import(&server, &["--fill=127.0.0.1:1"]).ok();
    assert_ne!(postgres.run(&nowhere).code, 0);
    postgres.run(&lab.script(&server, &[])).ok();
    // Other sessions of the sequence had five numbers each.
    assert_eq!(as_app("INSERT INTO named (item) VALUES ('d') RETURNING id"), "11");
    assert_eq!(
        as_app("INSERT INTO invoices (item) VALUES ('a') RETURNING no"),
        "INV-1"
    );
    let odd = "INSERT INTO \"My shop\".\"It's\" (item) VALUES ('a') RETURNING \"Id No\"";
    assert_eq!(rows(&postgres, odd), "1");
}

/// What is killed in the middle of the load, over and over.
const KILLS: [(bool, bool); 6] = [
    (true, false),
    (false, true),
    (true, true),
    (false, true),
    (true, false),
    (true, true),
];

/// Eight clients insert while our server and theirs are killed, one after the other and both at once: no id twice, none
/// below the fence, and every id that a client was told is in the table.
fn under_kills<S: Shop>(mut shop: S) {
    shop.run(S::MAKE).ok();
    let lab = Lab::of(&shop);
    let serving = lab.serve(&shop);
    let named = format!("{}=orders", S::KEY);
    let words: &[&str] = &["--match", "*orders*", "--name", &named];
    lab.import(&serving, &[words, &["--apply"]].concat()).ok();
    shop.run(&lab.script(&serving, words)).ok();
    let mut server = Some(serving);
    let begun = Instant::now();
    let (stop, had) = (AtomicBool::new(false), AtomicU64::new(0));
    let client = shop.client_program();
    let told: Vec<i64> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| insert(&client, S::INSERT, &stop, &had)))
            .collect();
        // Clients end whatever comes, so that a failure is seen.
        let end = Ends(&stop);
        for (ours, theirs) in KILLS {
            until(&had, 400);
            if let Some(server) = server.take_if(|_| ours) {
                server.kill();
            }
            if theirs {
                shop.kill();
                shop.start();
            }
            if ours {
                server = Some(lab.serve(&shop));
            }
        }
        until(&had, 400);
        drop(end);
        clients
            .into_iter()
            .flat_map(|client| client.join().unwrap())
            .collect()
    });
    let mut ids = BTreeSet::new();
    for id in told {
        invariant!(ids.insert(id), "{id} twice");
    }
    let rows = rows(&shop, "SELECT id FROM orders WHERE id > 1000");
    let kept: BTreeSet<i64> = rows.split(' ').map(|id| id.parse().unwrap()).collect();
    invariant!(
        ids.is_subset(&kept),
        "a client was told of an id that is in no row"
    );
    invariant!(
        ids.first() > Some(&BEFORE),
        "{:?} lies below the fence",
        ids.first()
    );
    say(&format!(
        "{}: {} ids over {} kills in {:.0} s, none twice",
        S::FACE,
        ids.len(),
        KILLS.len(),
        begun.elapsed().as_secs_f64()
    ));
}

/// Says stop when it goes.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The ids that one client is told until it is to stop; it connects again after every refusal.
fn insert(client: &Program, sql: &str, stop: &AtomicBool, had: &AtomicU64) -> Vec<i64> {
    let (mut session, mut ids) = (client.start(), Vec::new());
    while !stop.load(Ordering::Relaxed) {
        match session.ask(sql).first().and_then(|id| id.parse().ok()) {
            Some(id) => {
                ids.push(id);
                had.fetch_add(1, Ordering::Relaxed);
            }
            None => {
                std::thread::sleep(Duration::from_millis(20));
                session = client.start();
            }
        }
    }
    ids
}

/// Waits until clients had so many ids more.
fn until(had: &AtomicU64, more: u64) {
    let goal = had.load(Ordering::Relaxed) + more;
    let begun = Instant::now();
    while had.load(Ordering::Relaxed) < goal {
        assert!(begun.elapsed() < Duration::from_secs(120), "nobody is served");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
#[ignore = "minutes: six kills under load"]
fn a_serial_column_fills_itself_over_kills_of_both_servers() {
    if let Some(postgres) = Postgres::run() {
        under_kills(postgres);
    }
}

#[test]
#[ignore = "minutes: six kills under load"]
fn an_auto_increment_column_fills_itself_over_kills_of_both_servers() {
    if let Some(mariadb) = Mariadb::run() {
        under_kills(mariadb);
    }
}
