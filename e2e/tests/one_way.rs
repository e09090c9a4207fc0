//! Stores of three members, each on a machine of its own, one of which hears nothing of the others and is heard, or the
//! other way round.
#![allow(clippy::unwrap_used)]

use mintage_e2e::cluster::Cluster;
use mintage_e2e::engine::surroundings::Surroundings;
use mintage_e2e::engine::{etcd::Etcd, zookeeper::ZooKeeper};
use mintage_e2e::namespace::Lan;
use mintage_e2e::need;
use mintage_e2e::store_suite::{Engine, OWNER_PASSWORD_ENCODED};

const MEMBERS: u8 = 3;

mod etcd {
    use super::*;

    // claim: P6, P29
    #[test]
    #[ignore = "minutes: a cluster of three machines"]
    fn one_way_cuts_between_members_repeat_nothing() {
        played(Etcd::cluster_within, "etcd://");
    }
}

mod zookeeper {
    use super::*;

    // claim: P6, P29
    #[test]
    #[ignore = "minutes: a cluster of three machines"]
    fn one_way_cuts_between_members_repeat_nothing() {
        played(
            ZooKeeper::ensemble_within,
            &format!("zookeeper://mint:{OWNER_PASSWORD_ENCODED}@"),
        );
    }
}

fn played<E: Engine>(start: impl FnOnce(Vec<Surroundings>) -> Option<Vec<E>>, scheme: &str) {
    if !need::root() || !need::partitions() {
        return;
    }
    let lan = Lan::of(MEMBERS);
    let Some(mut members) = start((0..MEMBERS).map(|at| lan.machine(at)).collect()) else {
        return;
    };
    let all: Vec<String> = members
        .iter()
        .map(|member| member.address().to_string())
        .collect();
    let url = |first: usize| {
        let mut all = all.clone();
        all.rotate_left(first);
        format!("{scheme}{}", all.join(","))
    };
    let mut cluster = Cluster::bare(members.remove(0), "small", &[]).with_url(&url(0));
    cluster.mint(&["init", "--store", &url(0)]);
    cluster.mint(&[
        "pool",
        "create",
        "small",
        "--layout",
        "time=42,worker=3,sequence=9",
        "--window",
        "2s",
        "--store",
        &url(0),
    ]);
    // Each asks another member first.
    for at in 0..3 {
        let (name, start) = cluster.next_start(&url(at));
        cluster.add_started(name, start);
    }
    cluster.all_serve(&[0, 1, 2], 40);
    for at in 0..MEMBERS {
        let others: Vec<u8> = (0..MEMBERS).filter(|other| *other != at).collect();
        // It hears none of the others.
        let addresses: Vec<_> = others.iter().map(|other| lan.address(*other)).collect();
        lan.deafen(at, &addresses);
        cluster.all_serve(&[0, 1, 2], 300);
        lan.mend(at);
        cluster.all_serve(&[0, 1, 2], 40);
        // None of the others hears it.
        others
            .iter()
            .for_each(|other| lan.deafen(*other, &[lan.address(at)]));
        cluster.all_serve(&[0, 1, 2], 300);
        others.iter().for_each(|other| lan.mend(*other));
        cluster.all_serve(&[0, 1, 2], 40);
    }
    cluster.checked("one-way cuts between members");
}
