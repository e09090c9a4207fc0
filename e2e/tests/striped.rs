//! Two independent MariaDB servers as one set of stores: one is killed, then the other, and nobody notices.
#![allow(clippy::unwrap_used)]

use mintage_e2e::cluster::{Cluster, layout};
use mintage_e2e::engine::mariadb::Mariadb;
use mintage_e2e::store_suite::Engine;

#[test]
fn one_of_two_databases_is_enough_and_nothing_repeats() {
    let (Some(first), Some(mut second)) = (Mariadb::run(), Mariadb::run()) else { return };
    let urls = [first.url(first.address()), second.url(second.address())];
    // In whatever order: nothing follows from it.
    let set = format!("{} {}", urls[1], urls[0]);
    let mut cluster = Cluster::bare(first, "small", &[]).with_url(&set);
    for url in &urls {
        cluster.mint(&["init", "--store", url]);
    }
    let made = cluster.mint(&["store", "stripes", "make", &urls[0], &urls[1]]);
    assert!(made.contains("store 0 of 2") && made.contains("store 1 of 2"), "{made}");
    assert!(!made.contains("0wner"), "a password was printed: {made}");
    let small = layout(3);
    cluster.mint(&["pool", "create", "small", "--layout", &small, "--window", "2s", "--store", &set]);
    for _ in 0..3 {
        cluster.add();
    }
    cluster.all_serve(&[0, 1, 2], 100);
    second.kill();
    cluster.all_serve(&[0, 1, 2], 200);
    // A server that starts meanwhile, and a name that nobody has used.
    let late = cluster.add();
    cluster.all_serve(&[0, 1, 2, late], 100);
    second.start();
    cluster.all_serve(&[0, 1, 2, late], 100);
    cluster.engine.kill();
    cluster.all_serve(&[0, 1, 2, late], 200);
    cluster.engine.start();
    cluster.all_serve(&[0, 1, 2, late], 100);
    cluster.checked("one of two killed (set)");
}
