//! Databases whose disk hangs, fails or tears at the calls that write and sync their log, and what they show meanwhile.
#![allow(clippy::unwrap_used)]

use mintage_e2e::cluster::{Cluster, eventually};
use mintage_e2e::engine::disk::{Disk, Trouble};
use mintage_e2e::engine::{mariadb::Mariadb, postgres::Postgres, redis::Redis};
use mintage_e2e::store_suite::Engine;

macro_rules! on_every_store {
    ($($store:ident $log:literal $run:expr;)*) => {
        $(mod $store {
            use super::*;

            fn played(trouble: Trouble, event: &str) {
                let Some(disk) = Disk::of($log) else { return };
                if let Some(engine) = $run(disk.surroundings()) {
                    super::played(engine, &disk, trouble, event);
                }
            }

            // claim: P26
            #[test]
            #[ignore = "minutes: a database on a bad disk"]
            fn a_disk_that_hangs_before_the_kill_repeats_nothing() {
                played(Trouble::Hangs, "its disk hangs, then it is killed");
            }

            // claim: P26
            #[test]
            #[ignore = "minutes: a database on a bad disk"]
            fn a_disk_that_fails_repeats_nothing() {
                played(Trouble::Fails, "its disk fails at a write");
            }

            // claim: P26
            #[test]
            #[ignore = "minutes: a database on a bad disk"]
            fn a_disk_that_tears_before_the_kill_repeats_nothing() {
                played(Trouble::Tears, "its disk tears a write, then it is killed");
            }
        })*
    };
}

on_every_store! {
    mariadb "ib_logfile0" Mariadb::on_disk;
    postgres "pg_wal/" |surroundings| Postgres::within(&[], surroundings);
    redis "appendonlydir" |surroundings| Redis::within(&[], surroundings);
}

/// Claims often, and gives up on each soon.
const HASTY: [&str; 3] = [
    "MINT_STORE__REQUEST_TIMEOUT=1s",
    "MINT_STORE__CONNECT_TIMEOUT=1s",
    "MINT_SEQUENCES__OUTAGE_BUDGET=0s",
];

/// Trouble comes while claims are under way, which are seen and not kept, or neither; the database and a server die in
/// it.
fn played<E: Engine>(engine: E, disk: &Disk, trouble: Trouble, event: &str) {
    let mut cluster = Cluster::with_options(engine, "small", 3, &HASTY);
    cluster.add();
    cluster.add();
    cluster.all_serve(&[0, 1], 200);
    for _ in 0..2 {
        let (met, refused) = (disk.met(), cluster.seen.refusals());
        disk.set(trouble);
        disk.wait(met);
        // Claims time out, and servers look what has become of them, until nothing is left of what they own.
        eventually("nothing is left to give out", || {
            cluster.seen.refusals() > refused + 100
        });
        // What was seen and not kept is gone with it.
        cluster.nodes[0].kill();
        cluster.engine.kill();
        disk.set(Trouble::None);
        cluster.engine.start();
        // One that knows nothing from before, and both of before.
        let fresh = cluster.add();
        cluster.all_serve(&[1, fresh], 200);
        cluster.nodes[0].restart();
        cluster.all_serve(&[0, 1, fresh], 200);
        cluster.nodes[fresh].kill();
    }
    cluster.checked(event);
}
