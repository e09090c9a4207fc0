//! Independent servers as one set of stores: any one of them is killed and nobody notices, and a store is added to a
//! set only as told.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use mintage_e2e::cluster::{Cluster, eventually, layout};
use mintage_e2e::engine::{mariadb::Mariadb, redis::Redis};
use mintage_e2e::proxy::Proxy;
use mintage_e2e::resp::Reply;
use mintage_e2e::run;
use mintage_e2e::server::{Start, two_servers};
use mintage_e2e::store_suite::{Engine, make_set};
use mintage_testing::{Distinct, no_secret_in};

// claim: P53
#[test]
fn one_of_two_databases_is_enough_and_nothing_repeats() {
    let (Some(first), Some(mut second)) = (Mariadb::run(), Mariadb::run()) else {
        return;
    };
    let urls = [first.url(first.address()), second.url(second.address())];
    // In whatever order: nothing follows from it.
    let set = format!("{} {}", urls[1], urls[0]);
    let mut cluster = Cluster::bare(first, "small", &[]).with_url(&set);
    for url in &urls {
        cluster.mint(&["init", "--store", url]);
    }
    let made = cluster.mint(&["store", "stripes", "make", &urls[0], &urls[1]]);
    assert!(
        made.contains("store 0 of 2") && made.contains("store 1 of 2"),
        "{made}"
    );
    no_secret_in("the output", &made, "0wner");
    let small = layout(3);
    cluster.mint(&[
        "pool", "create", "small", "--layout", &small, "--window", "2s", "--store", &set,
    ]);
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

/// A name whose first use only one store has met: it dies, and the other learns of the name from the servers. Then the
/// store that was away is the only one; drops and moves made while both were there stay.
#[test]
fn a_name_outlives_the_store_that_its_first_use_was_made_in() {
    for away_at_first_use in [false, true] {
        let (Some(mut first), Some(mut second)) = (Redis::run(), Redis::run()) else {
            return;
        };
        let folder = tempfile::tempdir().unwrap();
        let set = make_set(folder.path(), &[&first, &second]);
        let servers = two_servers(folder.path(), &set);
        let mut all = Distinct::default();
        let mut take = |what: &str, name: &'static str| {
            for server in &servers {
                eventually(what, || {
                    let said = server.redis().ask(&["MINT.NEXT", name, "COUNT", "2000"]).unwrap();
                    let said_no = said.text().unwrap_or_default();
                    assert!(!said_no.contains("vanished"), "{what}: {said_no}");
                    let Reply::Array(numbers) = said else { return false };
                    for number in numbers {
                        let number = number.int().unwrap();
                        all.add((name, number));
                    }
                    true
                });
                // One call of several goes to a store that is dead: not ready for a moment, at most.
                eventually("ready", || server.http("GET", "/readyz", "").status == 200);
            }
        };
        if away_at_first_use {
            second.kill();
        }
        for name in ["orders", "dropped"] {
            take("a first use", name);
        }
        if away_at_first_use {
            second.start();
        }
        eventually("both stores answer, and a name can be dropped", || {
            servers[0].redis().ask(&["DEL", "dropped"]).unwrap().int() == Some(1)
        });
        first.kill();
        for _ in 0..5 {
            take("the store of the first use is dead", "orders");
        }
        let gone = servers[1].redis().ask(&["EXISTS", "dropped"]).unwrap();
        assert_eq!(gone.int(), Some(0), "a dropped name came back");
        first.start();
        second.kill();
        for _ in 0..5 {
            take("the other is dead", "orders");
        }
        take("made again", "dropped");
    }
}

/// A configuration file for servers on a set of stores.
/// One of three stores is stopped in its tracks: its connections stay, and nothing answers on them. Once that is known no
/// request waits for it, and only the task that awaits its return asks it.
#[test]
fn requests_do_not_wait_for_a_store_that_hangs() {
    let stores: Option<Vec<Redis>> = (0..3).map(|_| Redis::run()).collect();
    let Some(mut stores) = stores else { return };
    // Each behind a proxy, which counts what is asked.
    let proxies: Vec<Proxy> = stores.iter().map(|store| Proxy::to(store.address())).collect();
    let folder = tempfile::tempdir().unwrap();
    let urls: Vec<String> = (stores.iter().zip(&proxies))
        .map(|(store, proxy)| store.url(proxy.address()))
        .collect();
    for url in &urls {
        run::patient_mint(folder.path(), ["init", "--store", url]).ok();
    }
    let make: Vec<&str> = ["store", "stripes", "make"]
        .into_iter()
        .chain(urls.iter().map(String::as_str))
        .collect();
    run::mint(folder.path(), make).ok();
    let server = Start::in_folder(folder.path())
        .args(["--store", &urls.join(" ")])
        .ready();
    let mut redis = server.redis();
    let mut all = Distinct::default();
    let mut try_take = |name: &str| {
        let Reply::Array(numbers) = redis.ask(&["MINT.NEXT", name, "COUNT", "50"]).unwrap() else {
            return false;
        };
        for number in numbers {
            let number = number.int().unwrap();
            all.add((name.to_string(), number));
        }
        true
    };
    for name in 0..20 {
        eventually("it takes", || try_take(&format!("known-{name}")));
    }
    for (hung, proxy) in proxies.iter().enumerate() {
        eventually("all three answer", || {
            let answer = server.http("PUT", &format!("/v1/sequences/all-there-{hung}"), "{}");
            matches!(answer.status, 200 | 201 | 409)
        });
        stores[hung].freeze();
        // Some of these meet it first.
        eventually("it is known that one hangs", || {
            let met = (0..10)
                .filter(|name| try_take(&format!("met-{hung}-{name}")))
                .count();
            let log = server.log();
            met == 10 && log.matches("one store of the set does not answer").count() > hung
        });
        let asked = proxy.requests();
        for name in 0..300 {
            eventually("a first use", || try_take(&format!("new-{hung}-{name}")));
            eventually("a name in use", || try_take(&format!("known-{}", name % 20)));
        }
        let asked = proxy.requests() - asked;
        // A probe and the greeting of a connection, some times.
        assert!(
            asked <= 40,
            "store {hung} hangs and was asked {asked} times for 600 requests"
        );
        stores[hung].thaw();
    }
}

fn configure(folder: &Path, urls: &[String]) {
    let settings = format!("[store]\nurls = {urls:?}\nstate_folder = \"state\"\n");
    std::fs::write(folder.join("mint.toml"), settings).unwrap();
}

// claim: P56
#[test]
#[ignore = "minutes: three stores"]
fn a_third_store_joins_a_set_only_as_told_and_nothing_repeats() {
    let (Some(first), Some(mut second), Some(mut third)) = (Redis::run(), Redis::run(), Redis::run()) else {
        return;
    };
    let [a, b, c] = [&first, &second, &third].map(|store| store.url(store.address()));
    let mut cluster = Cluster::bare(first, "small", &[]);
    for url in [&a, &b, &c] {
        cluster.mint(&["init", "--store", url]);
    }
    cluster.mint(&["store", "stripes", "make", &a, &b]);
    let (two, three) = ([a.clone(), b.clone()], [c.clone(), b.clone(), a.clone()]);
    let (small, set) = (layout(3), two.join(" "));
    cluster.mint(&[
        "pool", "create", "small", "--layout", &small, "--window", "2s", "--store", &set,
    ]);
    let folders: Vec<_> = (0..3).map(|_| tempfile::tempdir().unwrap()).collect();
    for (n, folder) in folders.iter().enumerate() {
        configure(folder.path(), &two);
        let start = Start::in_folder(folder.path()).args(["--config", "mint.toml"]);
        cluster.add_started(format!("node-{n}"), start);
    }
    cluster.all_serve(&[0, 1, 2], 100);

    // Whatever is not the guarded operation is refused, changes nothing and disturbs nobody.
    let elsewhere = tempfile::tempdir().unwrap();
    let refused_start = |urls: &[String]| {
        configure(elsewhere.path(), urls);
        Start::in_folder(elsewhere.path())
            .args(["--config", "mint.toml"])
            .refused()
    };
    refused_start(&three).fails(3, "not a member of a set", "mint store stripes make");
    let not_whole = "not a whole set";
    for (args, code, why) in [
        (vec!["make", &a, &b, &c], 3, "in set "),
        // As if it were store 1 of a set of two that is being made.
        (vec!["add", &c, "--to", &a], 2, not_whole),
        (vec!["add", &c, "--to", &b], 2, not_whole),
        (vec!["add", &a, "--to", &a, &b], 3, "number 0 of 2 in set "),
        (vec!["add", &c, "--to", &a, &b], 3, "it holds seq/theirs"),
    ] {
        if why == "it holds seq/theirs" {
            cluster.mint(&["seq", "create", "theirs", "--store", &c]);
        }
        let said = run::mint(elsewhere.path(), [&["store", "stripes"], &args[..]].concat());
        assert_eq!(said.code, code, "{args:?}: {said:?}");
        assert!(said.err.contains(why), "{args:?}: {said:?}");
        let places = cluster.mint(&["store", "stripes", "show", &a, &b]);
        assert!(
            places.contains("store 0 of 2") && places.contains("store 1 of 2"),
            "{args:?}: {places}"
        );
    }
    cluster.all_serve(&[0, 1, 2], 100);
    assert_eq!(cluster.seen.refusals(), 0, "{}", cluster.seen.last_refusal());

    // Under servers that give ids out all the time.
    third.empty();
    cluster.mint(&["init", "--store", &c]);
    let added = cluster.mint(&["store", "stripes", "add", &c, "--to", &a, &b]);
    assert!(added.contains("store 2 of 3"), "{added}");
    for node in &cluster.nodes {
        eventually("a server that knows of two stores stops for good", || {
            let said = node.server().redis().ask(&["INCR", "orders"]);
            said.is_ok_and(|said| said.text().is_some_and(|said| said.contains("sealed")))
        });
    }
    refused_start(&two).fails(3, "the set has 3 stores, 2 are listed", "every store of the set");
    for (at, folder) in folders.iter().enumerate() {
        configure(folder.path(), &three);
        cluster.nodes[at].kill();
        cluster.nodes[at].restart();
    }
    cluster.all_serve(&[0, 1, 2], 100);
    // The new one alone is enough, and so is each of the old ones.
    cluster.engine.kill();
    second.kill();
    cluster.all_serve(&[0, 1, 2], 100);
    second.start();
    third.kill();
    cluster.all_serve(&[0, 1, 2], 100);
    cluster.engine.start();
    third.start();
    cluster.all_serve(&[0, 1, 2], 100);
    cluster.checked("a store added to a set");
}
