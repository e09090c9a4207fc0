//! `mint store backup`, `restore`, `check`, `migrate` and `unseal` on every store: what was given out before, after
//! and between is never given out again.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use mintage_e2e::cluster::eventually;
use mintage_e2e::engine::{
    etcd::Etcd, mariadb::Mariadb, postgres::Postgres, redis::Redis, zookeeper::ZooKeeper,
};
use mintage_e2e::run::{self, Said};
use mintage_e2e::server::{Server, Start};
use mintage_e2e::store_suite::Engine;
use mintage_testing::{Distinct, invariant};

macro_rules! on_every_store {
    ($($store:ident: $old:expr, $new:expr;)*) => {
        $(#[test]
        fn $store() {
            if let (Some(old), Some(new)) = ($old, $new) {
                backed_up_restored_and_moved(old, new);
            }
        })*
    };
}

on_every_store! {
    backup_restore_and_move_on_postgres: Postgres::borrow(), Postgres::borrow();
    backup_restore_and_move_on_redis: Redis::run(), Redis::run();
    backup_restore_and_move_on_etcd: Etcd::borrow(), Etcd::borrow();
    backup_restore_and_move_on_mariadb: Mariadb::borrow(), Mariadb::borrow();
    backup_restore_and_move_on_zookeeper: ZooKeeper::borrow(), ZooKeeper::run();
}

#[derive(Default)]
struct Seen(Distinct<(String, i64)>);

impl Seen {
    /// Takes numbers of a sequence and ids of the default pool.
    #[track_caller]
    fn take(&mut self, server: &Server, sequence: &str, numbers: i64) {
        let mut client = server.redis();
        for _ in 0..numbers {
            let number = client.ask(&["INCR", sequence]).unwrap();
            let number = number.int().unwrap_or_else(|| panic!("{number:?}"));
            self.0.add((sequence.to_string(), number));
            let id = client.ask(&["MINT.SNOWFLAKE", "default"]).unwrap();
            let id = id.int().unwrap_or_else(|| panic!("{id:?}"));
            self.0.add((String::new(), id));
        }
    }

    fn last(&self, sequence: &str) -> i64 {
        let of = self.0.iter().filter(|(name, _)| name == sequence);
        of.map(|(_, number)| *number).max().unwrap()
    }
}

fn server(folder: &Path, name: &str, url: &str) -> Server {
    let folder = folder.join(name);
    std::fs::create_dir(&folder).unwrap();
    Start::in_folder(&folder).patient().args(["--store", url]).ready()
}

fn backed_up_restored_and_moved(old: impl Engine, new: impl Engine) {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let mint = |args: &[&str]| -> Said { run::patient_mint(at, args) };
    let (old, new) = (old.url(old.address()), new.url(new.address()));
    let mut seen = Seen::default();

    mint(&["init", "--store", &old]).ok();
    let first = server(at, "first", &old);
    seen.take(&first, "orders", 200);
    let said = mint(&["store", "backup", "ids.jsonl", "--store", &old]).ok();
    assert!(
        said.contains("to ids.jsonl: ") && !said.contains("0wner"),
        "{said}"
    );
    // A second time it would replace the first.
    assert_eq!(mint(&["store", "backup", "ids.jsonl", "--store", &old]).code, 3);
    // Given out after the backup, by a name that it does not know, too.
    seen.take(&first, "orders", 300);
    seen.take(&first, "made-later", 100);
    first.kill();

    // The store is lost. Another cluster's is refused, and so is a backup that says nothing of its age.
    let text = std::fs::read_to_string(at.join("ids.jsonl")).unwrap();
    let head: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    let cluster = head["cluster_id"].as_str().unwrap();
    mint(&["init", "--store", &new, "--cluster-id", cluster]).ok();
    let unsaid = mint(&["store", "restore", "ids.jsonl", "--store", &new]);
    assert_eq!(unsaid.code, 2, "{unsaid:?}");
    let said = mint(&[
        "store",
        "restore",
        "ids.jsonl",
        "--store",
        &new,
        "--max-rate",
        "1000",
    ])
    .ok();
    assert!(said.contains("every sequence skips "), "{said}");
    let used = mint(&["store", "restore", "ids.jsonl", "--store", &new, "--advance", "1"]);
    assert!(used.code == 3 && used.err.contains("not empty"), "{used:?}");
    let said = mint(&["store", "check", "--store", &new]).ok();
    assert!(said.contains("sound"), "{said}");

    let second = server(at, "second", &new);
    // Windows begin after the longest that anybody can hold: numbers only, until then.
    let mut client = second.redis();
    for name in ["orders", "made-later"] {
        let number = client.ask(&["INCR", name]).unwrap().int().unwrap();
        invariant!(number > seen.last(name) + 1000, "{name}: {number}");
        seen.0.add((name.to_string(), number));
    }

    // Moved to a folder, under a server that runs.
    let folder_url = format!("file:{}", at.join("moved").display());
    let said = mint(&["store", "migrate", "--store", &new, "--to", &folder_url]).ok();
    assert!(said.contains("start the servers with --store file:"), "{said}");
    eventually("the server on the old store stops", || {
        let answer = client.ask(&["INCR", "orders"]);
        answer.is_ok_and(|answer| match answer.int() {
            Some(number) => {
                seen.0.add(("orders".to_string(), number));
                false
            }
            None => answer.text().is_some_and(|text| text.contains("sealed")),
        })
    });
    let sealed = at.join("sealed");
    std::fs::create_dir(&sealed).unwrap();
    let refused = Start::in_folder(&sealed).args(["--store", &new]).refused();
    assert!(refused.err.contains("sealed"), "{refused:?}");
    let third = server(at, "third", &folder_url);
    for name in ["orders", "made-later"] {
        let number = third.redis().ask(&["INCR", name]).unwrap().int().unwrap();
        invariant!(number > seen.last(name), "{name}: {number}");
    }
    let said = mint(&["store", "unseal", "--store", &new]).ok();
    assert!(said.contains("the seal is off"), "{said}");
}
