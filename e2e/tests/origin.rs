//! Two servers beside an original that its own clients go on using: real databases, `kill -9`, no number twice.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::sleep;
use std::time::Duration;

use mintage_e2e::cluster::{eventually, within_a_minute};
use mintage_e2e::engine::postgres::{LOG_IS_LEFT, Postgres};
use mintage_e2e::engine::redis::Redis;
use mintage_e2e::resp::{Reply, Resp};
use mintage_e2e::run;
use mintage_e2e::server::{Server, Start};
use mintage_e2e::store_suite::{Engine, OWNER_PASSWORD};
use mintage_testing::{Distinct, distinct, no_secret_in};
use serde_json::{Value, json};
use tempfile::TempDir;

/// An original, and its own clients.
struct Original {
    /// Where servers find it.
    url: String,
    /// What the sequence's record says of it.
    origin: Value,
    /// Clients that take numbers from it meanwhile, and answer which.
    clients: Vec<Client>,
}

type Client = Box<dyn FnOnce() -> Vec<i64> + Send>;

/// Two servers on one store, whose sequence `orders` takes its numbers out of an original.
struct Lab {
    // Before the folder, where their logs are.
    servers: Vec<Option<Server>>,
    engine: Arc<Postgres>,
    folder: TempDir,
    url: String,
    source: String,
    ours: Vec<i64>,
}

/// How long everything goes on between two kills at least, and how many numbers are taken in that time.
const ROUND: Duration = Duration::from_millis(1200);
const ROUND_TAKES: u64 = 500;
/// How many numbers each client takes, and how long it waits after each.
const CLIENT_TAKES: i64 = 1200;
const CLIENT_WAITS: Duration = Duration::from_millis(3);

impl Lab {
    fn new(engine: Arc<Postgres>, original: &Original) -> Lab {
        let folder = tempfile::tempdir().unwrap();
        let url = engine.url(engine.address());
        run::patient_mint(folder.path(), ["init", "--store", &url]).ok();
        let mut lab = Lab {
            engine,
            folder,
            url,
            source: original.url.clone(),
            servers: vec![None, None],
            ours: Vec::new(),
        };
        lab.put_beside(&original.origin);
        for at in 0..2 {
            lab.start(at);
        }
        lab
    }

    /// Writes what a move writes, while nobody serves.
    fn put_beside(&self, origin: &Value) {
        let folder = tempfile::tempdir().unwrap();
        let maker = Start::in_folder(folder.path()).args(["--store", &self.url]);
        let maker = maker.ready();
        maker.http("PUT", "/v1/sequences/orders", "{}");
        maker.stop();
        let passage = json!({"id": "0123456789abcdef0123456789abcdef", "step": 1, "is": {"beside": origin}});
        let body = json!({"generation": 2, "passage": passage}).to_string();
        let sql = format!(
            "UPDATE mint_register SET version = version + 1, body = (body::jsonb || '{body}'::jsonb)::text \
             WHERE key = 'seq/orders' RETURNING 'done'"
        );
        assert!(self.engine.admin("ids", &sql).contains("done"));
    }

    fn start(&mut self, at: usize) {
        let own = self.folder.path().join(at.to_string());
        if !own.exists() {
            fs::create_dir(&own).unwrap();
            fs::write(own.join("shop.url"), &self.source).unwrap();
            let file = own.join("shop.url");
            let config = format!("[sources.shop]\nurl_file = {:?}\n", file.display().to_string());
            fs::write(own.join("mint.toml"), config).unwrap();
        }
        let server = Start::in_folder(&own)
            .patient()
            .args(["--store", &self.url])
            .ready();
        self.servers[at] = Some(server);
    }

    fn server(&self, at: usize) -> &Server {
        self.servers[at].as_ref().expect("it runs")
    }

    /// Takes from both servers for a while, and then kills one of them in the middle.
    fn round(&mut self, victim: usize) {
        let (is_over, taken) = (AtomicBool::new(false), AtomicU64::new(0));
        let redis: Vec<Resp> = (0..2).map(|at| self.server(at).redis()).collect();
        let doomed = self.servers[victim].take().expect("it runs");
        let numbers = std::thread::scope(|scope| {
            let (is_over, taken) = (&is_over, &taken);
            let takers: Vec<_> = redis
                .into_iter()
                .map(|redis| scope.spawn(move || take_until(redis, is_over, taken)))
                .collect();
            sleep(ROUND);
            let is_served = within_a_minute(|| taken.load(Ordering::Relaxed) > ROUND_TAKES);
            doomed.kill();
            sleep(ROUND / 3);
            is_over.store(true, Ordering::Relaxed);
            let taken = takers.into_iter().map(|taker| taker.join().unwrap());
            let taken = taken.collect::<Vec<_>>().concat();
            assert!(is_served, "{}", taken.len());
            taken
        });
        self.ours.extend(numbers);
        self.start(victim);
    }

    /// No number twice, here or there; nothing was claimed from the record.
    fn check(&self, theirs: &[i64]) {
        assert!(theirs.len() > 500, "{}", theirs.len());
        distinct("numbers", self.ours.iter().chain(theirs));
        let mark = "SELECT mark FROM mint_register WHERE key = 'seq/orders'";
        assert!(
            self.engine
                .admin("ids", mark)
                .lines()
                .any(|line| line.trim() == "0")
        );
    }
}

/// Single numbers and whole runs by turns, until somebody says so or the server is gone.
fn take_until(mut redis: Resp, is_over: &AtomicBool, taken: &AtomicU64) -> Vec<i64> {
    let mut numbers = Vec::new();
    for turn in 0.. {
        if is_over.load(Ordering::Relaxed) {
            break;
        }
        let n: i64 = if turn % 10 == 9 { 40 } else { 1 };
        match redis.ask(&["INCRBY", "orders", &n.to_string()]) {
            Ok(Reply::Error(error)) => assert!(error.starts_with("TRYAGAIN"), "{error}"),
            Ok(reply) => {
                let last = reply.int().expect("a number");
                numbers.extend(last - n + 1..=last);
                taken.fetch_add(n.unsigned_abs(), Ordering::Relaxed);
            }
            Err(_) => break,
        }
        sleep(Duration::from_micros(300));
    }
    numbers
}

fn walk(engine: Arc<Postgres>, original: Original) {
    let mut lab = Lab::new(engine, &original);
    let clients = original.clients.into_iter();
    let clients: Vec<_> = clients.map(std::thread::spawn).collect();
    for victim in [0, 1, 0, 1] {
        lab.round(victim);
    }
    let theirs = clients.into_iter().flat_map(|client| client.join().unwrap());
    lab.check(&theirs.collect::<Vec<i64>>());
    // The first has served for a round since its last start.
    let metrics = lab.server(0).http("GET", "/metrics", "").text();
    for sample in [
        "mint_origin_up{source=\"shop\"} 1\n",
        "mint_origin_take_seconds_bucket{source=\"shop\",le=\"+Inf\"}",
        "mint_origin_failed_total{source=\"shop\"} 0\n",
        "mint_origin_numbers_total{source=\"shop\"}",
        "mint_origin_spent_total{source=\"shop\"} 0\n",
    ] {
        assert!(metrics.contains(sample), "{metrics} lacks {sample}");
    }
}

// claim: P58
#[test]
#[ignore = "minutes: many kills"]
fn two_servers_beside_a_row_that_others_count_in_repeat_nothing_though_they_are_killed() {
    let Some(engine) = Postgres::borrow().map(Arc::new) else {
        return;
    };
    engine.admin("postgres", "CREATE DATABASE shop OWNER mint");
    let make = format!(
        "CREATE TABLE counters (name text PRIMARY KEY, next bigint NOT NULL);
         INSERT INTO counters VALUES ('o', 1000);
         CREATE TABLE given (n bigint);
         CREATE PROCEDURE clients() LANGUAGE plpgsql AS $$
         DECLARE v bigint;
         BEGIN
             FOR i IN 1..{CLIENT_TAKES} LOOP
                 UPDATE counters SET next = next + 1 WHERE name = 'o' RETURNING next - 1 INTO v;
                 INSERT INTO given VALUES (v);
                 COMMIT;
                 PERFORM pg_sleep({});
             END LOOP;
         END $$;
         GRANT ALL ON ALL TABLES IN SCHEMA public TO mint",
        CLIENT_WAITS.as_secs_f64()
    );
    engine.admin("shop", &make);
    let (one, other) = (Arc::clone(&engine), Arc::clone(&engine));
    let clients: Vec<Client> = vec![
        Box::new(move || {
            one.admin("shop", "CALL clients()");
            Vec::new()
        }),
        Box::new(move || {
            other.admin("shop", "CALL clients()");
            sleep(Duration::from_secs(1));
            let given = other.admin("shop", "SELECT n FROM given");
            given
                .lines()
                .filter_map(|line| line.trim().parse().ok())
                .collect()
        }),
    ];
    let table = json!({
        "table": "counters", "key_column": "name", "value_column": "next", "is_next": true, "condition": null,
    });
    let original = Original {
        url: format!("own+{}", engine.url(engine.address()).replace("/ids", "/shop")),
        origin: json!({"source": "shop", "kind": "own", "key": "o", "table": table}),
        clients,
    };
    walk(engine, original);
}

// claim: P58
#[test]
#[ignore = "minutes: many kills"]
fn two_servers_beside_a_key_of_redis_repeat_nothing_though_they_are_killed() {
    let (Some(engine), Some(redis)) = (Postgres::borrow().map(Arc::new), Redis::run()) else {
        return;
    };
    let address = redis.address();
    let client = move || {
        let mut redis = Resp::connect(address).unwrap();
        redis.ask(&["AUTH", "mint", OWNER_PASSWORD]).unwrap();
        let take = |_| {
            sleep(CLIENT_WAITS);
            let reply = redis.ask(&["INCR", "orders"]).unwrap();
            reply.int().unwrap_or_else(|| panic!("{reply:?}"))
        };
        (0..CLIENT_TAKES).map(take).collect()
    };
    let original = Original {
        url: redis.url(address),
        origin: json!({"source": "shop", "kind": "redis", "key": "orders"}),
        clients: vec![Box::new(client), Box::new(client)],
    };
    redis.admin(&["SET", "orders", "1000"]);
    walk(engine, original);
}

/// The server of the original is killed after every few numbers, while a transaction that drew before is still open:
/// nobody waits for what it wrote into the log, so that a take has to.
// claim: P58
#[test]
fn numbers_of_a_sequence_do_not_come_again_though_its_server_is_killed() {
    let (Some(engine), Some(mut shop)) = (
        Postgres::borrow().map(Arc::new),
        Postgres::with_settings(&LOG_IS_LEFT),
    ) else {
        return;
    };
    shop.admin("ids", "SET ROLE mint; CREATE SEQUENCE s");
    let original = Original {
        url: shop.url(shop.address()),
        origin: json!({"source": "shop", "kind": "postgres", "key": "public.s", "take": 3}),
        clients: Vec::new(),
    };
    let lab = Lab::new(engine, &original);
    let mut seen = Distinct::of("numbers");
    // By turns: what one server had before, it leaves out by itself (protocol S10).
    for at in [0, 1, 0] {
        let mut redis = lab.server(at).redis();
        let held = "BEGIN; SELECT nextval('s'); SELECT pg_sleep(3600)";
        let mut taken = Vec::new();
        let killed = std::thread::scope(|scope| {
            let other = scope.spawn(|| shop.psql("ids", held));
            let sleeps = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
            eventually("the other one has drawn", || {
                shop.admin("ids", sleeps).trim() == "1"
            });
            eventually("numbers come", || {
                let reply = redis.ask(&["INCR", "orders"]).unwrap();
                taken.extend(reply.int());
                taken.len() == 10
            });
            shop.abort();
            other.join().unwrap()
        });
        assert!(killed.code != 0, "{killed:?}");
        seen.extend(taken);
        shop.kill();
        shop.start();
    }
}

/// Somebody moves a counter of a Redis that may forget, reads why it is refused, mends that, stops the Redis while all
/// goes on, and names the source wrongly on the next server.
#[test]
#[ignore = "minutes: servers that go and come"]
fn what_stands_against_an_original_is_said_with_what_to_do() {
    let (Some(engine), Some(mut redis)) = (
        Postgres::borrow().map(Arc::new),
        Redis::with_settings(&["--appendfsync", "everysec"]),
    ) else {
        return;
    };
    redis.admin(&["SET", "orders", "1000"]);
    let original = Original {
        url: redis.url(redis.address()),
        origin: json!({"source": "shop", "kind": "redis", "key": "orders"}),
        clients: Vec::new(),
    };
    let mut lab = Lab::new(engine, &original);
    let next = |lab: &Lab, name: &str| {
        let path = format!("/v1/sequences/{name}/next");
        lab.server(0).http("POST", &path, "")
    };
    let refused = next(&lab, "orders");
    assert_eq!(refused.status, 503, "{}", refused.text());
    assert!(refused.text().contains("class L"), "{}", refused.text());
    assert!(refused.text().contains("appendfsync"), "{}", refused.text());
    assert_eq!(
        redis.admin(&["GET", "orders"]).trim(),
        "1000",
        "nothing was taken"
    );
    assert_eq!(next(&lab, "other").status, 200);
    redis.admin(&["CONFIG", "SET", "appendfsync", "always"]);
    eventually("it is probed again", || next(&lab, "orders").status == 200);
    redis.kill();
    let mut taken = Distinct::of("answers");
    eventually("the stock ends", || {
        let answer = next(&lab, "orders");
        taken.extend((answer.status == 200).then(|| answer.text()));
        answer.status == 503
    });
    let ready = lab.server(0).http("GET", "/readyz", "");
    assert!(
        ready.status == 200 && ready.text().contains("source shop down for"),
        "{}",
        ready.text()
    );
    assert_eq!(lab.server(0).http("GET", "/readyz?for=orders", "").status, 503);
    assert_eq!(next(&lab, "other").status, 200);
    eventually("the log tells", || {
        lab.server(0).log().contains("the source does not answer")
    });
    redis.start();
    // It came back with the settings of before, and is looked at before anything is taken.
    eventually("it is probed after it was away", || {
        next(&lab, "orders").text().contains("class L")
    });
    redis.admin(&["CONFIG", "SET", "appendfsync", "always"]);
    eventually("it is back", || {
        let answer = next(&lab, "orders");
        taken.extend((answer.status == 200).then(|| answer.text()));
        answer.status == 200
    });
    let log = lab.server(0).log();
    assert!(log.contains("the source answers again"), "{log}");
    assert!(
        log.contains("the counter of a sequence elsewhere refuses"),
        "{log}"
    );
    no_secret_in("the log", &log, OWNER_PASSWORD);
    // A server that was not told of it serves everything else.
    let config = lab.folder.path().join("1/mint.toml");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, text.replace("[sources.shop]", "[sources.mail]")).unwrap();
    drop(lab.servers[1].take());
    lab.start(1);
    let refused = lab.server(1).http("POST", "/v1/sequences/orders/next", "");
    assert_eq!(refused.status, 503);
    assert!(refused.text().contains("[sources.shop]"), "{}", refused.text());
    assert_eq!(
        lab.server(1).http("POST", "/v1/sequences/other/next", "").status,
        200
    );
    let shown = run::mint(&lab.folder.path().join("1"), ["config", "show"]).ok();
    assert!(shown.contains("sources = { mail = { url_file = "), "{shown}");
}
