//! tinyid's clients: what its Java client sends, from Python and from the JDK.
#![allow(clippy::unwrap_used)]

use mintage_e2e::need;
use mintage_e2e::outside::Pair;

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
