//! Pools that begin beside living workers of other systems: real ZooKeeper, MariaDB and Redis with what the originals write
//! there, byte for byte; none of their numbers is ever lent.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use mintage_e2e::engine::mariadb::Mariadb;
use mintage_e2e::engine::redis::Redis;
use mintage_e2e::engine::zookeeper::ZooKeeper;
use mintage_e2e::run::{self, Said};
use mintage_e2e::server::{Server, Start};
use mintage_e2e::store_suite::Engine;
use mintage_ledger::zookeeper_client::{Acl, Code, Error, create, delete};
use mintage_testing::invariant;
use tempfile::TempDir;

/// A server, and a person who makes pools on it.
struct Lab {
    folder: TempDir,
    server: Server,
}

impl Lab {
    fn new() -> Lab {
        let folder = tempfile::tempdir().unwrap();
        let server = Start::in_folder(folder.path()).ready();
        Lab { folder, server }
    }

    /// What a person types after `mint pool`.
    fn pool(&self, words: &[&str]) -> Said {
        let server = self.server.url();
        run::mint(
            self.folder.path(),
            [&["pool"], words, &["--server", &server]].concat(),
        )
    }

    /// The URL in a file, as one with a password is given.
    fn file(&self, url: &str) -> String {
        let file = self.folder.path().join("workers.url");
        std::fs::write(&file, url).unwrap();
        format!("@{}", file.display())
    }

    /// A pool of so many bits beside the workers of this URL.
    fn create(&self, name: &str, bits: u32, url: &str) -> Said {
        let layout = format!(
            "time=41,worker={bits},sequence={},tick=1ms,epoch=2024-01-01",
            22 - bits
        );
        self.pool(&[
            "create",
            name,
            "--layout",
            &layout,
            "--avoid-from",
            &self.file(url),
        ])
    }

    /// Every worker that the pool has to lend, or a few hundred.
    fn all(&self, name: &str) -> BTreeSet<u64> {
        let mut workers = BTreeSet::new();
        loop {
            let answer = self.server.http("POST", &format!("/v1/pools/{name}/windows"), "");
            if answer.status != 201 {
                assert!(
                    answer.text().contains("exhausted") || answer.status == 503,
                    "{}",
                    answer.text()
                );
                return workers;
            }
            let window: serde_json::Value = serde_json::from_str(&answer.text()).unwrap();
            // A window lasts for seconds, and then its worker is lent again.
            if !workers.insert(window["worker"].as_u64().unwrap()) || workers.len() == 200 {
                return workers;
            }
        }
    }
}

/// None of `theirs` is ever lent, and everything else but what newcomers are expected to take.
fn never_lent(lab: &Lab, name: &str, bits: u32, url: &str, theirs: &[u64], spare: u64) {
    lab.create(name, bits, url).ok();
    let lent = lab.all(name);
    let taken: Vec<&u64> = theirs.iter().filter(|number| lent.contains(number)).collect();
    invariant!(taken.is_empty(), "{name}: {taken:?} are somebody's");
    let size = 1_u64 << bits;
    let least = size - theirs.len() as u64 - spare;
    assert!(
        lent.len() as u64 >= least && lent.len() < size as usize,
        "{name}: {} lent",
        lent.len()
    );
}

fn make(zookeeper: &ZooKeeper, nodes: &[(&str, &str)]) {
    zookeeper.admin(async |client| {
        for (path, data) in nodes {
            let mut at = String::new();
            for part in path.trim_start_matches('/').split('/') {
                at = format!("{at}/{part}");
                let data = if at == *path { data.as_bytes() } else { b"" };
                match client.ask(create(&at, data, &[Acl::anyone()])).await {
                    Ok(_) | Err(Error::Answered(Code::NODE_EXISTS)) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    });
}

// claim: P14
#[test]
fn numbers_in_zookeeper_are_never_lent() {
    let Some(zookeeper) = ZooKeeper::borrow() else {
        return;
    };
    make(
        &zookeeper,
        &[
            (
                "/snowflake/shop/forever/10.0.0.7:8080-0000000003",
                r#"{"ip":"10.0.0.7","port":"8080","timestamp":1577203200000}"#,
            ),
            (
                "/snowflake/shop/forever/10.0.0.8:8080-0000000017",
                r#"{"ip":"10.0.0.8","port":"8080","timestamp":1577203200000}"#,
            ),
            ("/snowflake-servers/5", "10.0.0.9:7609"),
            ("/cosid/shop/__itc_idx/10.0.0.7:8080", "2|1577203200000"),
            ("/cosid/shop/__revert/4", "4|1577203200000"),
            ("/cosid/shop/__counter", "\0\0\0\u{6}"),
            ("/empty", ""),
        ],
    );
    let (lab, at) = (Lab::new(), zookeeper.address());
    let theirs = [3, 17];
    never_lent(
        &lab,
        "leaf",
        7,
        &format!("leaf+zookeeper://{at}/snowflake/shop"),
        &theirs,
        64 + 2,
    );
    let theirs: Vec<u64> = (0..32).map(|centre| centre * 32 + 5).collect();
    never_lent(
        &lab,
        "twitter",
        10,
        &format!("twitter+zookeeper://{at}/snowflake-servers"),
        &theirs,
        900,
    );
    let theirs: Vec<u64> = (0..=6).collect();
    never_lent(
        &lab,
        "cosid",
        7,
        &format!("cosid+zookeeper://{at}/cosid/shop"),
        &theirs,
        64 + 2,
    );
    // What is not there, and what is no node of theirs.
    for url in [
        format!("leaf+zookeeper://{at}/snowflake/nix"),
        format!("cosid+zookeeper://{at}/empty"),
    ] {
        let said = lab.create("none", 10, &url);
        assert!(said.code == 3 && said.err.contains("no node"), "{said:?}");
    }
    make(&zookeeper, &[("/snowflake/shop/forever/strange", "x")]);
    let said = lab.create("none", 10, &format!("leaf+zookeeper://{at}/snowflake/shop"));
    assert!(said.code == 3 && said.err.contains("strange"), "{said:?}");
    lab.pool(&["show", "none"]).fails(3, "no pool none", "");
    // A server that still shows itself keeps its number; one that went long ago may be given to the pool.
    let said = lab.pool(&["avoid", "twitter", "--remove", "5"]);
    assert!(
        said.code != 0 && said.err.contains("is held at twitter+zookeeper"),
        "{said:?}"
    );
    zookeeper.admin(async |client| client.ask(delete("/snowflake-servers/5", None)).await);
    // Its node goes with it, and does not say when that was: a person does.
    let said = lab.pool(&["avoid", "twitter", "--remove", "5"]);
    assert!(
        said.code == 3 && said.err.contains("since when it is off"),
        "{said:?}"
    );
    lab.pool(&["avoid", "twitter", "--remove", "5", "--off-since", "2026-01-01"])
        .ok();
}

// claim: P14
#[test]
fn numbers_in_tables_and_keys_are_never_lent() {
    let (Some(mariadb), Some(redis)) = (Mariadb::borrow(), Redis::run()) else {
        return;
    };
    mariadb.admin(
        "ids",
        "CREATE TABLE cosid_machine (name varchar(100) NOT NULL PRIMARY KEY, namespace varchar(100) NOT NULL, machine_id int \
         NOT NULL DEFAULT 0, last_timestamp bigint NOT NULL DEFAULT 0, instance_id varchar(100) NOT NULL DEFAULT '', distribute_time \
         bigint NOT NULL DEFAULT 0, revert_time bigint NOT NULL DEFAULT 0);
         INSERT INTO cosid_machine VALUES ('shop.00000001', 'shop', 1, 1577203200000, '10.0.0.7:8080', 0, 0), \
                                          ('shop.00000009', 'shop', 9, 0, '', 0, 0), ('mail.00000000', 'mail', 0, 0, 'x', 0, 0);
         CREATE TABLE WORKER_NODE (ID bigint NOT NULL AUTO_INCREMENT PRIMARY KEY, HOST_NAME varchar(64) NOT NULL, PORT \
         varchar(64) NOT NULL, TYPE int NOT NULL, LAUNCH_DATE date NOT NULL, MODIFIED timestamp, CREATED timestamp);
         INSERT INTO WORKER_NODE VALUES (700, '10.0.0.7', '1', 2, '2024-01-01', now(), now())",
    );
    for command in [
        &["HSET", "cosid:{shop}:itc_idx", "10.0.0.7:8080", "3|1577203200000"][..],
        &["HSET", "cosid:{shop}:revert", "5", "1577203200000"],
        &["SET", "cosid:{shop}:adder", "7"],
        &["SET", "IdGen:WorkerId:Value:11", "10.0.0.7"],
        &["SET", "IdGen:WorkerId:Index", "11"],
    ] {
        redis.admin(command);
    }
    let lab = Lab::new();
    let (tables, keys) = (mariadb.url(mariadb.address()), redis.url(redis.address()));
    let upto = |last: u64| (0..=last).collect::<Vec<u64>>();
    never_lent(
        &lab,
        "tables",
        7,
        &format!("cosid+{tables}?namespace=shop"),
        &upto(9),
        64 + 2,
    );
    never_lent(
        &lab,
        "keys",
        7,
        &format!("cosid+{keys}?namespace=shop"),
        &upto(7),
        64 + 2,
    );
    never_lent(&lab, "yitter", 6, &format!("yitter+{keys}"), &[11], 16 + 2);
    let said = lab.pool(&[
        "create",
        "uids",
        "--layout",
        "time=41,worker=10,sequence=12,tick=1ms,epoch=2024-01-01",
        "--avoid-from",
        &lab.file(&format!("uid-generator+{tables}")),
        "--spare",
        "100",
    ]);
    assert!(said.ok().contains("0-800"));
    let lent = lab.all("uids");
    invariant!(lent.iter().all(|worker| *worker > 800), "{lent:?}");
    // A namespace that is mistyped would avoid nobody.
    for url in [
        format!("cosid+{tables}?namespace=sohp"),
        format!("cosid+{keys}?namespace=sohp"),
    ] {
        let said = lab.create("none", 10, &url);
        assert!(said.code == 3 && said.err.contains("sohp"), "{said:?}");
    }
    // Everything avoided is told at once.
    let said = lab.pool(&[
        "create",
        "none",
        "--layout",
        "time=41,worker=2,sequence=20",
        "--avoid",
        "0-3",
    ]);
    assert!(said.code == 2 && said.err.contains("worker"), "{said:?}");
    mariadb.admin(
        "ids",
        "UPDATE cosid_machine SET machine_id = -1 WHERE machine_id = 9",
    );
    let said = lab.create("none", 10, &format!("cosid+{tables}?namespace=shop"));
    assert!(said.code == 3 && said.err.contains("machine_id"), "{said:?}");
}
