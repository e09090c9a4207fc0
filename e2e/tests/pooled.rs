//! PgBouncer before a PostgreSQL: it is led to another copy of the data while statements are under way, and cuts them
//! off.
#![allow(clippy::unwrap_used)]

use mintage_e2e::cluster::{Cluster, at_length, eventually};
use mintage_e2e::engine::pgbouncer::Pgbouncer;
use mintage_e2e::engine::postgres::Postgres;
use mintage_e2e::store_suite::Engine;

const BOTH: [usize; 2] = [0, 1];

/// Two servers behind a pooler in session mode.
fn two(postgres: Postgres) -> Option<(Cluster<Postgres>, Pgbouncer)> {
    let pooler = Pgbouncer::before(postgres.address(), "session")?;
    // Servers give a claim up later than the pooler cuts it off.
    let options = [
        "MINT_STORE__REQUEST_TIMEOUT=20s",
        "MINT_SEQUENCES__OUTAGE_BUDGET=0s",
    ];
    let mut cluster = Cluster::with_options(postgres, "small", 3, &options);
    let url = cluster.engine.url(pooler.address());
    for _ in BOTH {
        let (name, start) = cluster.next_start(&url);
        cluster.add_started(name, start);
    }
    cluster.all_serve(&BOTH, 200);
    Some((cluster, pooler))
}

// claim: P29
#[test]
#[ignore = "minutes: clusters of two"]
fn a_pooler_that_leads_to_the_promoted_standby_mid_statement_repeats_nothing() {
    let Some(postgres) = Postgres::run() else { return };
    let mut r1 = postgres.replica("r1");
    postgres.confirm_by("r1");
    let Some((mut cluster, pooler)) = two(postgres) else {
        return;
    };
    r1.stop();
    at_length("claims wait for the standby", || {
        let waits = "SELECT count(*) > 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
        cluster.engine.admin("postgres", waits).trim() == "t"
    });
    cluster.engine.freeze();
    r1.start();
    r1.promote();
    pooler.lead_to(r1.address());
    // It lives on, and makes what it was asked for.
    cluster.engine.thaw();
    cluster.all_serve(&BOTH, 200);
    let url = r1.url(pooler.address());
    let (name, start) = cluster.next_start(&url);
    let fresh = cluster.add_started(name, start);
    cluster.all_serve(&[0, 1, fresh], 200);
    cluster.checked("class S, PgBouncer leads to the promoted standby in the middle of a statement");
}

// claim: P30
#[test]
#[ignore = "minutes: clusters of two"]
fn a_pooler_that_leads_to_a_promoted_replica_mid_statement_is_refused() {
    let Some(postgres) = Postgres::run() else { return };
    let mut r1 = postgres.replica("r1");
    let Some((mut cluster, pooler)) = two(postgres) else {
        return;
    };
    r1.stop();
    // It lacks what is given out now.
    cluster.all_serve(&BOTH, 2_000);
    cluster.engine.freeze();
    r1.start();
    r1.promote();
    pooler.lead_to(r1.address());
    cluster.engine.thaw();
    eventually("both stop in words", || {
        BOTH.iter().all(|at| {
            let ready = cluster.nodes[*at].server().http("GET", "/readyz", "").text();
            ready.contains("stopped for good")
        })
    });
    for at in BOTH {
        cluster.nodes[at].kill();
    }
    let url = r1.url(r1.address());
    cluster.mint(&["store", "restore", "--advance", "200000", "--store", &url]);
    for at in BOTH {
        cluster.nodes[at].restart();
    }
    cluster.all_serve(&BOTH, 200);
    cluster.checked("class D, PgBouncer leads to a promoted replica in the middle of a statement");
}
