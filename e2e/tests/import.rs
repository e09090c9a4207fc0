//! `mint import` under load: counters of real databases come here, stand beside their originals and go back, while eight
//! clients take numbers wherever they get them; the command is killed at every request, and the database in the middle.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::net::SocketAddr;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::time::Duration;

use mintage_e2e::cluster::eventually;
use mintage_e2e::engine::mariadb::Mariadb;
use mintage_e2e::engine::postgres::Postgres;
use mintage_e2e::engine::redis::Redis;
use mintage_e2e::need::say;
use mintage_e2e::proxy::Proxy;
use mintage_e2e::resp::{Reply, Resp};
use mintage_e2e::run::{self, Said};
use mintage_e2e::server::{Server, Start};
use mintage_e2e::store_suite::{Engine, OWNER_PASSWORD, READER_PASSWORD_ENCODED};
use mintage_e2e::writers::{Client, Session, Writers};
use mintage_testing::Distinct;
use tempfile::TempDir;

/// A counter in a database.
trait Original {
    /// Where `mint` finds it.
    fn url_at(&self, at: SocketAddr) -> String;

    fn place(&self) -> SocketAddr;

    /// Makes a counter that stands at 1000, and answers its key.
    fn make(&self) -> &'static str;

    /// A client of its own kind.
    fn writer(&self) -> Client;

    /// Ends it at once and starts it again.
    fn crash(&mut self);
}

impl Original for Redis {
    fn url_at(&self, at: SocketAddr) -> String {
        Engine::url(self, at)
    }

    fn place(&self) -> SocketAddr {
        Engine::address(self)
    }

    fn make(&self) -> &'static str {
        self.admin(&["SET", "orders", "1000"]);
        "orders"
    }

    fn writer(&self) -> Client {
        let address = Engine::address(self);
        let mut link = None;
        Box::new(move || {
            let connected = link.take().or_else(|| {
                let mut redis = Resp::connect(address).ok()?;
                redis.ask(&["AUTH", "mint", OWNER_PASSWORD]).ok()?;
                Some(redis)
            });
            let mut redis = connected?;
            match redis.ask(&["INCR", "orders"]) {
                Ok(Reply::Int(number)) => {
                    link = Some(redis);
                    Some(number)
                }
                Ok(_) => {
                    link = Some(redis);
                    None
                }
                Err(_) => None,
            }
        })
    }

    fn crash(&mut self) {
        self.kill();
        self.start();
    }
}

impl Original for Postgres {
    fn url_at(&self, at: SocketAddr) -> String {
        Engine::url(self, at)
    }

    fn place(&self) -> SocketAddr {
        Engine::address(self)
    }

    fn make(&self) -> &'static str {
        self.admin(
            "ids",
            "SET ROLE mint; CREATE SEQUENCE orders; SELECT setval('orders', 1000)",
        );
        "public.orders"
    }

    fn writer(&self) -> Client {
        client_of(self.client("ids"), "SELECT nextval('orders')")
    }

    fn crash(&mut self) {
        self.kill();
        self.start();
    }
}

/// Counters of MariaDB, each kind with the statements of its own clients.
struct OnMariadb {
    engine: Mariadb,
    kind: &'static Kind,
}

struct Kind {
    name: &'static str,
    make: &'static str,
    key: &'static str,
    take: &'static str,
}

/// What a client was given by the last statement; nothing, if that was refused.
macro_rules! given {
    ($statement:literal) => {
        concat!(
            $statement,
            "; SELECT IF(ROW_COUNT() > 0, LAST_INSERT_ID(), 'refused')"
        )
    };
}
pub(crate) use given;

const GENERATED: Kind = Kind {
    name: "auto_increment",
    make: "CREATE TABLE orders (id bigint NOT NULL AUTO_INCREMENT PRIMARY KEY, n int); INSERT INTO orders VALUES (1000, 1)",
    key: "ids.orders.id",
    take: "INSERT INTO orders (n) VALUES (1) RETURNING id",
};

const OTHERS: [Kind; 7] = [
    Kind {
        name: "mariadb",
        make: "CREATE SEQUENCE orders START WITH 1000",
        key: "ids.orders",
        take: "SELECT NEXTVAL(orders)",
    },
    Kind {
        name: "tickets",
        make: "CREATE TABLE orders (id bigint unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY, stub char(1) NOT NULL UNIQUE); \
               INSERT INTO orders VALUES (1000, 'a')",
        key: "ids.orders",
        take: given!("REPLACE INTO orders (stub) VALUES ('a')"),
    },
    Kind {
        name: "leaf",
        make: "CREATE TABLE leaf_alloc (biz_tag varchar(128) PRIMARY KEY, max_id bigint NOT NULL, step int NOT NULL, \
               description varchar(256), update_time timestamp); INSERT INTO leaf_alloc VALUES ('orders', 1000, 10, 'x', now())",
        key: "orders",
        take: given!("UPDATE leaf_alloc SET max_id = LAST_INSERT_ID(max_id) + 1 WHERE biz_tag = 'orders'"),
    },
    Kind {
        name: "tinyid",
        make: "CREATE TABLE tiny_id_info (id bigint AUTO_INCREMENT PRIMARY KEY, biz_type varchar(63) UNIQUE, begin_id bigint \
               DEFAULT 0, max_id bigint, step int DEFAULT 10, delta int DEFAULT 1, remainder int DEFAULT 0, create_time \
               timestamp DEFAULT now(), update_time timestamp DEFAULT now(), version bigint DEFAULT 0); \
               INSERT INTO tiny_id_info (biz_type, max_id) VALUES ('orders', 1000)",
        key: "orders",
        take: given!(
            "UPDATE tiny_id_info SET max_id = LAST_INSERT_ID(max_id + 1), version = version + 1 WHERE biz_type = 'orders'"
        ),
    },
    Kind {
        name: "cosid",
        make: "CREATE TABLE cosid (name varchar(100) PRIMARY KEY, last_max_id bigint unsigned NOT NULL, last_fetch_time bigint \
               unsigned NOT NULL); INSERT INTO cosid VALUES ('shop.orders', 1000, 0)",
        key: "shop.orders",
        take: given!(
            "UPDATE cosid SET last_max_id = LAST_INSERT_ID(last_max_id + 1) WHERE name = 'shop.orders'"
        ),
    },
    Kind {
        name: "vitess",
        make: "CREATE TABLE orders (id int PRIMARY KEY, next_id bigint, cache bigint) COMMENT 'vitess_sequence'; \
               INSERT INTO orders VALUES (0, 1000, 10)",
        key: "orders",
        take: given!("UPDATE orders SET next_id = LAST_INSERT_ID(next_id) + 1 WHERE id = 0 AND cache > 0"),
    },
    Kind {
        name: "idgo",
        make: "CREATE TABLE __idgo__ (k varchar(255) PRIMARY KEY); INSERT INTO __idgo__ VALUES ('orders'); \
               CREATE TABLE orders (id bigint unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY); INSERT INTO orders VALUES (1000)",
        key: "orders",
        take: given!("UPDATE orders SET id = LAST_INSERT_ID(id + 1)"),
    },
];

impl OnMariadb {
    fn of(engine: Option<Mariadb>, kind: &'static Kind) -> Option<OnMariadb> {
        engine.map(|engine| OnMariadb { engine, kind })
    }
}

impl Original for OnMariadb {
    fn url_at(&self, at: SocketAddr) -> String {
        format!("{}+{}", self.kind.name, self.engine.url(at))
    }

    fn place(&self) -> SocketAddr {
        self.engine.address()
    }

    fn make(&self) -> &'static str {
        self.engine.admin("ids", self.kind.make);
        self.kind.key
    }

    fn writer(&self) -> Client {
        let mut command = self.engine.client("mariadb");
        command.args(["-N", "-B", "-n", "--force", "-D", "ids"]);
        client_of(command, self.kind.take)
    }

    fn crash(&mut self) {
        self.engine.kill();
        self.engine.start();
    }
}

pub(crate) fn client_of(command: std::process::Command, sql: &'static str) -> Client {
    let mut session = Session::start(command);
    Box::new(move || session.ask(sql).first().and_then(|line| line.parse().ok()))
}

/// The same counter here, over the Redis protocol.
pub(crate) fn client_here(at: SocketAddr, name: &str) -> Client {
    let name = name.to_string();
    let mut link: Option<Resp> = None;
    Box::new(move || {
        let mut redis = link.take().or_else(|| Resp::connect(at).ok())?;
        let reply = redis.ask(&["INCR", &name]).ok()?;
        link = Some(redis);
        match reply {
            Reply::Int(number) => Some(number),
            Reply::Error(_) => None,
            other => panic!("{other:?}"),
        }
    })
}

/// An original, a server, and people who type commands.
struct Lab<O: Original> {
    original: O,
    key: &'static str,
    folder: TempDir,
    server: Server,
}

impl<O: Original> Lab<O> {
    fn new(original: O) -> Lab<O> {
        let key = original.make();
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("shop.url"), original.url_at(original.place())).unwrap();
        let file = folder.path().join("shop.url").display().to_string();
        // A name that nobody has moved is not made by asking for it.
        let config = format!("[sequences]\nauto_create = false\n[sources.shop]\nurl_file = {file:?}\n");
        fs::write(folder.path().join("mint.toml"), config).unwrap();
        let server = Start::in_folder(folder.path()).ready();
        Lab {
            original,
            key,
            folder,
            server,
        }
    }

    /// What a person types after `mint import shop`.
    fn import(&self, words: &[&str]) -> Said {
        let server = self.server.url();
        let all = ["import", "shop", "--name"].iter().copied();
        let name = format!("{}=orders", self.key);
        let all = all
            .chain([name.as_str(), "--server", &server])
            .chain(PATIENT)
            .chain(words.iter().copied());
        run::mint(self.folder.path(), all)
    }

    fn writers(&self, count: usize) -> Writers {
        let clients = (0..count).map(|_| [self.original.writer(), client_here(self.server.resp, "orders")]);
        Writers::start(clients.collect())
    }
}

/// A database that many tests share answers late, and is waited for.
pub(crate) const PATIENT: [&str; 2] = ["--timeout", "60s"];

/// Ways of one name, each a command after the other, under the load of clients of both sides: no number comes twice, and
/// after each way both sides are sound.
pub(crate) fn moved_under_load(
    what: &str,
    writers: Writers,
    ways: &[&[&str]],
    import: impl Fn(&[&str]) -> Said,
) {
    writers.more(200);
    for way in ways {
        let said = import(&[way, &["--apply"][..]].concat());
        assert_eq!(said.code, 0, "{what} {way:?}: {said:?}");
        writers.more(400);
        let sound = import(&["--verify"]);
        assert_eq!(sound.code, 0, "{what} {way:?}: {sound:?}");
    }
    let taken = writers.stop();
    say(&format!(
        "{what}: {} numbers over {} moves, none twice; refused for {} ms at the longest",
        taken.numbers.len(),
        ways.len(),
        taken.longest.as_millis()
    ));
}

/// The same of one counter and eight clients.
fn under_load<O: Original>(what: &str, original: O, ways: &[&[&str]]) {
    let lab = Lab::new(original);
    moved_under_load(what, lab.writers(8), ways, |words| lab.import(words));
}

const CUT: &[&str] = &[];
const BACK: &[&str] = &["--back"];
const BESIDE: &[&str] = &["--beside"];
const END: &[&str] = &["--cut"];

// claim: P57
#[test]
fn a_key_of_redis_comes_goes_back_and_comes_again_under_load() {
    if let Some(redis) = Redis::run() {
        under_load("redis", redis, &[CUT, BACK, CUT, BACK, BESIDE, END, BACK]);
    }
}

/// More than clients take while a ceiling is put up, however long that takes.
const AHEAD: &str = "+1000000";

// claim: P57
#[test]
fn a_sequence_of_postgresql_comes_by_every_way_under_load() {
    if let Some(postgres) = Postgres::borrow() {
        let ceiling = &["--ceiling", AHEAD];
        under_load(
            "postgres",
            postgres,
            &[CUT, BACK, ceiling, END, BACK, BESIDE, END, BACK],
        );
    }
}

// claim: P57
#[test]
fn an_auto_increment_comes_and_goes_back_under_load() {
    if let Some(mariadb) = OnMariadb::of(Mariadb::borrow(), &GENERATED) {
        under_load("auto_increment", mariadb, &[CUT, BACK, BESIDE, END, BACK]);
    }
}

// claim: P57
#[test]
#[ignore = "minutes: seven kinds of counters"]
fn counters_of_every_other_kind_come_stand_beside_and_go_back_under_load() {
    for kind in &OTHERS {
        let Some(original) = OnMariadb::of(Mariadb::borrow(), kind) else {
            return;
        };
        let ceiling: &[&str] = &["--ceiling", AHEAD];
        match kind.name {
            "mariadb" => under_load(
                kind.name,
                original,
                &[CUT, BACK, ceiling, END, BACK, BESIDE, END, BACK],
            ),
            _ => under_load(kind.name, original, &[CUT, BACK, BESIDE, END, BACK, CUT]),
        }
    }
}

/// Waits until more than `seen` requests have gone through the proxy, or the command has ended.
pub(crate) fn until_request(proxy: &Proxy, seen: u64, command: &mut Child) {
    while !proxy.has_request(seen, Duration::from_millis(10)) && command.try_wait().unwrap().is_none() {}
}

/// The command is killed once so many requests have gone to the server or to the original; the same command ends it.
fn killed_at_every_request<O: Original>(what: &str, original: O, way: &[&str]) {
    let lab = Lab::new(original);
    let to_server = Proxy::to(lab.server.http);
    let to_original = Proxy::to(lab.original.place());
    let slow = lab.folder.path().join("slow.url");
    fs::write(&slow, lab.original.url_at(to_original.address())).unwrap();
    let writers = lab.writers(2);
    let (mut kills, mut phases) = (0, std::collections::BTreeSet::new());
    for proxy in [&to_server, &to_original] {
        for at in 0.. {
            let seen = proxy.requests();
            let mut command = run::command([
                "import",
                "--url-file",
                &slow.display().to_string(),
                "--name",
                &format!("{}=orders", lab.key),
                "--server",
                &format!("http://{}", to_server.address()),
                "--apply",
            ]);
            let child = command.args(way).stdout(Stdio::null()).stderr(Stdio::null());
            let mut child = child.stdin(Stdio::null()).spawn().unwrap();
            until_request(proxy, seen + at, &mut child);
            let is_over = child.try_wait().unwrap().is_some();
            child.kill().unwrap();
            child.wait().unwrap();
            let status = run::mint(
                lab.folder.path(),
                ["import", "--status", "--server", &lab.server.url()],
            );
            let phase = status.ok().split(' ').next().unwrap_or_default().to_string();
            phases.insert(phase);
            kills += 1;
            // The same command, over the same addresses.
            let again = |words: &[&str]| {
                let said = run::mint(
                    lab.folder.path(),
                    [
                        &[
                            "import",
                            "--url-file",
                            &slow.display().to_string(),
                            "--name",
                            &format!("{}=orders", lab.key),
                            "--server",
                            &lab.server.url(),
                            "--apply",
                        ][..],
                        words,
                    ]
                    .concat(),
                );
                assert_eq!(said.code, 0, "{what}, request {at}: {said:?}");
            };
            again(way);
            writers.more(20);
            again(&["--back"]);
            writers.more(20);
            if is_over {
                break;
            }
        }
    }
    let taken = writers.stop();
    say(&format!(
        "{what}: killed {kills} times, at {}; {} numbers, none twice",
        phases.into_iter().collect::<Vec<_>>().join(" "),
        taken.numbers.len()
    ));
    assert!(kills > 10, "{kills}");
}

// claim: P57
#[test]
#[ignore = "minutes: some dozens of kills"]
fn a_cut_of_redis_that_is_killed_anywhere_is_ended_by_the_same_command() {
    if let Some(redis) = Redis::run() {
        killed_at_every_request("redis", redis, &[]);
    }
}

// claim: P57
#[test]
#[ignore = "minutes: some dozens of kills"]
fn a_cut_of_postgresql_that_is_killed_anywhere_is_ended_by_the_same_command() {
    if let Some(postgres) = Postgres::borrow() {
        killed_at_every_request("postgres", postgres, &[]);
    }
}

// claim: P57
#[test]
#[ignore = "minutes: some dozens of kills"]
fn a_ceiling_that_is_killed_anywhere_is_ended_by_the_same_command() {
    if let Some(postgres) = Postgres::borrow() {
        // So far that the clients do not come there between a command's look and its fence.
        killed_at_every_request("postgres, ceiling", postgres, &["--ceiling", "+20000"]);
    }
}

// claim: P57
#[test]
#[ignore = "minutes: some dozens of kills"]
fn a_cut_of_auto_increment_that_is_killed_anywhere_is_ended_by_the_same_command() {
    if let Some(mariadb) = OnMariadb::of(Mariadb::borrow(), &GENERATED) {
        killed_at_every_request("auto_increment", mariadb, &[]);
    }
}

/// The original is killed while it is fenced, and while the fence is lifted; the same command ends it.
fn crashed_in_the_middle<O: Original>(what: &str, original: O) {
    let mut lab = Lab::new(original);
    let proxy = Proxy::to(lab.original.place());
    let slow = lab.folder.path().join("slow.url");
    fs::write(&slow, lab.original.url_at(proxy.address())).unwrap();
    let mut seen = Distinct::of(what);
    let mut take = |client: &mut Client| {
        let number = client();
        seen.extend(number);
        number
    };
    for at in 0..12 {
        for way in [&[][..], &["--back"]] {
            let server = lab.server.url();
            let command = || {
                let mut command = run::command([
                    "import",
                    "--url-file",
                    &slow.display().to_string(),
                    "--name",
                    &format!("{}=orders", lab.key),
                    "--server",
                    &server,
                    "--apply",
                ]);
                command.args(way).stdin(Stdio::null());
                command
            };
            let before = proxy.requests();
            let child = command().stdout(Stdio::null()).stderr(Stdio::null()).spawn();
            let mut child = child.unwrap();
            until_request(&proxy, before + at, &mut child);
            lab.original.crash();
            child.wait().unwrap();
            eventually("the same command ends it", || {
                command().output().unwrap().status.success()
            });
            let (mut there, mut here) = (lab.original.writer(), client_here(lab.server.resp, "orders"));
            let numbers = [take(&mut there), take(&mut here)];
            let is_back = !way.is_empty();
            assert_eq!(
                numbers.map(|number| number.is_some()),
                [is_back, !is_back],
                "{what} {at} {way:?}"
            );
        }
    }
}

// claim: P57
#[test]
#[ignore = "minutes: a database is killed two dozen times"]
fn a_redis_that_is_killed_while_it_is_fenced_repeats_nothing() {
    if let Some(redis) = Redis::run() {
        crashed_in_the_middle("redis", redis);
    }
}

// claim: P57
#[test]
#[ignore = "minutes: a database is killed two dozen times"]
fn a_postgresql_that_is_killed_while_it_is_fenced_repeats_nothing() {
    if let Some(postgres) = Postgres::run() {
        crashed_in_the_middle("postgres", postgres);
    }
}

// claim: P57
#[test]
#[ignore = "minutes: a database is killed two dozen times"]
fn a_mariadb_that_is_killed_while_it_is_fenced_repeats_nothing() {
    if let Some(mariadb) = OnMariadb::of(Mariadb::run(), &GENERATED) {
        crashed_in_the_middle("auto_increment", mariadb);
    }
}

/// A ceiling that the source has passed before anything stopped it there: the same command chooses another.
#[test]
fn a_ceiling_that_was_passed_meanwhile_is_chosen_again() {
    let Some(postgres) = Postgres::borrow() else {
        return;
    };
    let lab = Lab::new(postgres);
    // Somebody's open transaction keeps the fence out.
    let mut other = Session::start(lab.original.client("ids"));
    other.ask("BEGIN");
    other.ask("ALTER SEQUENCE orders NO CYCLE");
    let ceiling = ["--ceiling", "+100", "--apply", "--timeout", "3s"];
    let said = lab.import(&ceiling);
    assert_eq!(said.code, 3, "{said:?}");
    let status = run::mint(
        lab.folder.path(),
        ["import", "--status", "--server", &lab.server.url()],
    );
    assert!(status.ok().starts_with("fencing"), "it stands where it was");
    other.ask("ROLLBACK");
    other.ask("SELECT setval('orders', 5000)");
    let done = lab.import(&["--ceiling", "+100", "--apply"]).ok();
    assert!(done.contains("numbers from 5101 on come from here"), "{done}");
    let (mut there, mut here) = (lab.original.writer(), client_here(lab.server.resp, "orders"));
    assert_eq!([there(), here()], [Some(5001), Some(5101)]);
}

/// What somebody met who came from PostgreSQL and had our pages alone.
#[test]
fn a_newcomers_mistakes_are_said_before_anything_is_sealed() {
    let Some(postgres) = Postgres::borrow() else {
        return;
    };
    postgres.admin(
        "ids",
        "SET ROLE mint; CREATE SEQUENCE mine; GRANT SELECT, USAGE ON ALL SEQUENCES IN SCHEMA public TO reader",
    );
    let reader = postgres.url_with("reader", READER_PASSWORD_ENCODED, postgres.place());
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let config = format!("[sequences]\nauto_create = false\n[sources.old]\nurl = {reader:?}\n");
    fs::write(at.join("mint.toml"), config).unwrap();
    let server = Start::in_folder(at).ready();
    let mint = |words: &str| {
        let words = format!("import old {words} --server {}", server.url());
        run::mint(at, words.split(' '))
    };
    let mut here = client_here(server.resp, "mine");
    mint("--match *mine --name mine=mine --beside --apply").ok();
    assert!(here().is_some());
    // Rights for the cut are asked for while ours still serves.
    mint("--match *mine --cut --apply").fails(1, "mine stands as it did", "GRANT mint TO reader");
    assert!(here().is_some(), "nothing was sealed");
    // The same counter under another name, and a name for no counter.
    let said = mint("--match *mine --name mine=other --beside --apply");
    assert!(
        said.code == 1 && said.out.contains("it is moved as mine already"),
        "{said:?}"
    );
    mint("--match *mine --name mein=mine --beside").fails(
        2,
        "no counter that is meant is called mein",
        "mint doctor",
    );
    // Given back, it comes again by a plain cut.
    postgres.admin("ids", "GRANT mint TO reader");
    mint("--match *mine --cut --apply").ok();
    mint("--match *mine --back --apply").ok();
    mint("--match *mine --name mine=mine --apply").ok();
    assert!(here().is_some());
    // A server that was started before its configuration named the source.
    let config = fs::read_to_string(at.join("mint.toml")).unwrap();
    fs::write(at.join("mint.toml"), config.replace("sources.old", "sources.new")).unwrap();
    postgres.admin("ids", "SET ROLE mint; CREATE SEQUENCE next");
    let words = format!(
        "import new --match *.next --beside --apply --server {}",
        server.url()
    );
    run::mint(at, words.split(' ')).fails(3, "this server knows no source \"new\"", "start them again");
}

/// What is asked wrongly, or meets what it should not, is refused in words, and nothing is lost.
#[test]
fn what_cannot_be_done_is_said_with_what_to_do() {
    let Some(postgres) = Postgres::run() else {
        return;
    };
    postgres.admin(
        "ids",
        "SET ROLE mint; CREATE TABLE small (id serial PRIMARY KEY); CREATE SEQUENCE \"a b\"; CREATE SEQUENCE mine;
         CREATE SEQUENCE wide; CREATE TABLE narrow (id int PRIMARY KEY DEFAULT nextval('wide'))",
    );
    let lab = Lab::new(postgres);
    let folder = lab.folder.path();
    let server = lab.server.url();
    let at = lab.original.place();
    let mint = |words: &[&str]| run::mint(folder, [&["import"], words, &["--server", &server]].concat());
    // Rights, with the statement that grants them.
    let reader = lab.original.url_with("reader", READER_PASSWORD_ENCODED, at);
    lab.original
        .admin("ids", "GRANT SELECT ON ALL SEQUENCES IN SCHEMA public TO reader");
    let said = mint(&[&reader, "--match", "*.mine", "--apply"]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.out.contains("GRANT mint TO reader"), "{said:?}");
    // Names are taken without schema and quotes, where that is enough.
    let said = mint(&["shop", "--match", "*a b*"]);
    assert!(
        said.code == 0 && said.out.starts_with("public.\"a b\" -> a b\n"),
        "{said:?}"
    );
    // A column that ends before our bounds: said, since the way back ends there.
    let said = mint(&["shop", "--match", "*wide*"]);
    let words = "public.narrow.id is int4: it ends at 2147483647, and a way back ends there too";
    assert!(said.code == 0 && said.out.contains(words), "{said:?}");
    // Beside needs a name that servers know.
    mint(&["postgres://db/shop", "--beside"]).fails(2, "--beside needs a name", "[sources.NAME]");
    mint(&["nix"]).fails(2, "\"nix\" is no URL", "shop");
    mint(&["shop", "--match", "nothing*"]).fails(1, "no counter that is meant", "mint doctor");
    mint(&["shop", "--back", "--apply"]).fails(1, "no counter that is meant was moved", "--status");
    // Without the right to fence: what moves meanwhile is found.
    let url = lab.original.url_at(at);
    let watched = ["--fence", "none", "--watch", "300ms", "--apply"];
    let mine = |words: &[&str]| {
        mint(
            &[
                &[url.as_str(), "--match", "*.mine", "--name", "mine=here/mine"],
                words,
            ]
            .concat(),
        )
    };
    let said = std::thread::scope(|scope| {
        let draws = "DO $$ BEGIN LOOP PERFORM nextval('mine'), pg_sleep(0.01); END LOOP; END $$";
        let drawer = scope.spawn(|| lab.original.psql("ids", draws));
        eventually("somebody takes numbers", || {
            let last = lab.original.admin("ids", "SELECT last_value FROM mine");
            last.trim().parse::<i64>().unwrap() > 10
        });
        let said = mine(&watched);
        let ended =
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'DO $$ BEGIN LOOP%'";
        lab.original.admin("ids", ended);
        assert_ne!(drawer.join().unwrap().code, 0);
        said
    });
    assert!(
        said.code == 1 && said.err.contains("somebody still takes numbers"),
        "{said:?}"
    );
    // It stands at a phase that the same command ends, once nobody does.
    let said = mine(&watched);
    assert_eq!(said.code, 0, "{said:?}");
    // Somebody else's fence: another store's move of the same counter.
    lab.import(&["--match", lab.key, "--apply"]).ok();
    let said = run::mint(
        folder,
        [
            "import",
            "shop",
            "--match",
            lab.key,
            "--store",
            "file:./other",
            "--apply",
        ],
    );
    assert!(
        said.code == 1 && said.out.contains("only where that was begun"),
        "{said:?}"
    );
    // Numbers here that the original cannot follow.
    mint(&[
        "shop",
        "--match",
        "*small*",
        "--name",
        "small_id_seq=small",
        "--apply",
    ])
    .ok();
    let changed = lab
        .server
        .http("PATCH", "/v1/sequences/small", r#"{"max": "9000000000"}"#);
    assert_eq!(changed.status, 200, "{}", changed.text());
    lab.server.redis().ask(&["SET", "small", "3000000000"]).unwrap();
    let back = &["shop", "--match", "*small*", "--back", "--apply"];
    mint(back).fails(
        1,
        "its source holds numbers from 1 to 2147483647",
        "it goes on here",
    );
    let next = lab.server.redis().ask(&["INCR", "small"]).unwrap();
    assert_eq!(next.int(), Some(3_000_000_001), "it goes on here");
    // A source that vanishes half-way: the move stands, and goes on when it is back.
    let mut lab = lab;
    lab.original.kill();
    let gone = lab.import(&["--match", lab.key, "--back", "--apply"]);
    gone.fails(3, "public.orders", "");
    lab.original.start();
    lab.import(&["--match", lab.key, "--back", "--apply"]).ok();
    assert_eq!(
        lab.original.admin("ids", "SELECT nextval('orders')").trim(),
        "1001"
    );
    // Once more changes nothing, and says so.
    let again = lab.import(&["--match", lab.key, "--back", "--apply"]).ok();
    assert!(
        again.contains("orders was already taken back: the source goes on"),
        "{again}"
    );
}

/// A key that is no name here needs one, and nothing is done for it before it has one.
#[test]
fn names_outside_the_grammar_need_one_that_is_inside() {
    let Some(redis) = Redis::run() else {
        return;
    };
    let long = "k".repeat(300);
    redis.admin(&["SET", &long, "7"]);
    let lab = Lab::new(redis);
    let mint = |words: &[&str]| {
        run::mint(
            lab.folder.path(),
            [&["import", "shop"], words, &["--store", "file:./ids2"]].concat(),
        )
    };
    let said = mint(&["--match", "kkk*", "--apply"]);
    assert!(
        said.code == 1 && said.out.contains("is no name here") && said.out.contains("--name '"),
        "{said:?}"
    );
    assert_eq!(lab.original.admin(&["GET", &long]).trim(), "7");
    let said = mint(&["--match", "kkk*", "--name", &format!("{long}=short"), "--apply"]);
    assert!(
        said.code == 0 && said.out.contains("short is cut: numbers from 8 on"),
        "{said:?}"
    );
}

/// A counter of the same key in another database is another one, also while the first is on its way; and two counters cannot
/// have one name.
#[test]
fn a_key_of_another_database_is_another_counter() {
    let Some(redis) = Redis::run() else {
        return;
    };
    let lab = Lab::new(redis);
    let url = lab.original.url_at(lab.original.place());
    let other = format!("{}/1", url.trim_end_matches("/0"));
    let one = url;
    lab.original.admin(&["SET", "bills", "7"]);
    lab.original.admin(&["-n", "1", "SET", "orders", "5000"]);
    let mint = |words: &[&str]| {
        run::mint(
            lab.folder.path(),
            [&["import"], words, &["--store", "file:./ids2"]].concat(),
        )
    };
    // To look makes no store.
    let said = mint(&[&one]);
    assert!(
        said.code == 2 && said.err.contains("no store in ./ids2"),
        "{said:?}"
    );
    run::mint(lab.folder.path(), ["init", "--store", "file:./ids2"]).ok();
    let said = mint(&[&one, "--name", "bills=orders"]);
    assert!(
        said.code == 1 && said.out.contains("another counter of this import"),
        "{said:?}"
    );
    mint(&[&one, "--match", "orders", "--apply"]).ok();
    for way in [&[][..], &["--apply"]] {
        let said = mint(&[&[other.as_str(), "--match", "orders"], way].concat());
        assert!(
            said.code == 1 && said.out.contains("is the name of redis orders at"),
            "{said:?}"
        );
    }
    let said = mint(&[&other, "--back", "--apply"]);
    assert!(
        said.code == 1 && said.err.contains("no counter that is meant was moved"),
        "{said:?}"
    );
    assert_eq!(lab.original.admin(&["-n", "1", "INCR", "orders"]).trim(), "5001");
    mint(&[&other, "--match", "orders", "--name", "orders=others", "--apply"]).ok();
}

/// Two imports of the same counter at once: one moves it, the other one says who did, and the counter is moved once.
#[test]
fn of_two_imports_at_once_one_goes_on() {
    let Some(redis) = Redis::run() else {
        return;
    };
    let lab = Arc::new(Lab::new(redis));
    let writers = lab.writers(2);
    for round in 0..64 {
        let way: &[&str] = if round % 2 == 0 { &[] } else { BACK };
        // The second one begins while the first one is at each of its steps in turn.
        let begun = [0, round / 2].map(Duration::from_millis);
        let said: Vec<Said> = std::thread::scope(|scope| {
            let both = begun.map(|after| {
                let lab = Arc::clone(&lab);
                scope.spawn(move || {
                    std::thread::sleep(after);
                    lab.import(&[way, &["--apply"][..]].concat())
                })
            });
            both.into_iter().map(|one| one.join().unwrap()).collect()
        });
        assert!(said.iter().any(|said| said.code == 0), "round {round}: {said:?}");
        for said in &said {
            let is_told = said.err.contains("another import") || said.err.contains("another move");
            assert!(said.code == 0 || is_told, "round {round}: {said:?}");
        }
        lab.import(&[way, &["--apply"][..]].concat()).ok();
        writers.more(50);
    }
    writers.stop();
}
