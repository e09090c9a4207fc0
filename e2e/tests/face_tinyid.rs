//! tinyid's clients: what its Java client sends, from Python and from the JDK.
#![allow(clippy::unwrap_used)]

use mintage_e2e::cluster::eventually;
use mintage_e2e::engine::redis::Redis;
use mintage_e2e::need;
use mintage_e2e::outside::Pair;
use mintage_e2e::server::Start;
use mintage_e2e::store_suite::{Engine, make_set};
use mintage_testing::Distinct;

/// Segments of 100 numbers, made when they are first asked for.
fn pair() -> Option<Pair> {
    Pair::with_file("tinyid", "[faces.tinyid]\ncreate = true\nstep = 100\n")
}

#[test]
fn segments_never_overlap() {
    if !need::program("python3") {
        return;
    }
    let Some(mut pair) = pair() else { return };
    let mut client = pair.client("python3", "tinyid_client.py");
    pair.no_repeats(&mut client);
}

#[test]
#[ignore = "minutes: more clients"]
fn segments_never_overlap_through_the_jdk() {
    if !need::program("javac") {
        return;
    }
    let Some(mut pair) = pair() else { return };
    let mut client = pair.client("java", "TinyIdClient.java");
    pair.no_repeats(&mut client);
}

/// Two servers on two stores, of which either is killed: what the Java client would issue of their segments is never twice
/// the same.
// claim: P1, P53
#[test]
fn segments_of_a_set_of_stores_never_overlap() {
    let (Some(mut first), Some(mut second)) = (Redis::run(), Redis::run()) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let set = make_set(folder.path(), &[&first, &second]);
    let servers = ["a", "b"].map(|node| {
        let own = folder.path().join(node);
        std::fs::create_dir(&own).unwrap();
        let more = ["--store", &set, "--face", "tinyid=main"];
        Start::in_folder(&own).patient().args(more).ready()
    });
    let made = servers[0].http("PUT", "/v1/sequences/tinyid:order", "{}");
    assert_eq!(made.status, 201, "{}", made.text());
    let mut all = Distinct::of("ids");
    let mut issue = |count: usize| {
        for at in 0..count {
            let server = &servers[at % 2];
            eventually("a segment", || {
                let path = "/tinyid/id/nextSegmentIdSimple?bizType=order&token=t";
                let text = server.http("POST", path, "").text();
                let numbers: Vec<i64> = text.split(',').filter_map(|number| number.parse().ok()).collect();
                let [current, _, max, delta, remainder] = numbers[..] else {
                    return false;
                };
                // Half the numbers of a step each.
                assert_eq!((delta, (max - current) / delta), (2, 50_000), "{text}");
                assert!(current.rem_euclid(delta) == remainder, "{text}");
                all.extend((current + delta..=max).step_by(2));
                true
            });
            let single = server
                .http("GET", "/tinyid/id/nextIdSimple?bizType=order&token=t", "")
                .text();
            all.extend(single.parse());
        }
    };
    issue(6);
    first.kill();
    issue(6);
    first.start();
    eventually("the store is there again", || {
        servers[0].http("GET", "/readyz", "").status == 200
    });
    second.kill();
    issue(6);
    second.start();
}
