//! CosId's generators at full speed over a Redis, as their distributor counts there, and over `mint serve`: `cargo
//! xtask bench cosid`.
//!
//! A private Redis that keeps nothing but its memory, as most have it for counters, one `mint serve` on its own
//! folder, and for each load one client (`e2e/clients/java/CosIdBench.java`), which asks each for a moment in turn, so
//! that a busy machine is as busy for all of them.

#[path = "../../../bench/src/machine.rs"]
mod machine;

use std::net::SocketAddr;
use std::process::Command;

use mintage_e2e::engine::port;
use mintage_e2e::engine::redis::Redis;
use mintage_e2e::server::Start;
use mintage_e2e::store_suite::Engine;
use mintage_e2e::{binary, need};

/// Rounds, unless told otherwise.
const ROUNDS: usize = 20;

/// What of the client's rate over its own Redis is wanted of the generator that prefetches. The other one waits for each
/// request, which HTTP makes longer than Redis whoever answers.
const WANTED: f64 = 0.9;

/// A generator, its step, and how many threads ask it.
const LOADS: &[(&str, u64, u32)] = &[
    ("SegmentChainId", 100, 1),
    ("SegmentChainId", 100, 2),
    ("SegmentChainId", 1000, 1),
    ("SegmentChainId", 1000, 2),
    ("DefaultSegmentId", 100, 1),
    ("DefaultSegmentId", 1000, 1),
    // More than a sequence may lose at once: each request is a reservation of its own.
    ("DefaultSegmentId", 1_000_000, 1),
];

/// How a client reaches a server, and where.
type Side = (&'static str, SocketAddr);

fn main() {
    let Some(class_path) = need::java_clients("cosid") else {
        return;
    };
    let Some(redis) = Redis::with_settings(&["--appendonly", "no"]) else {
        return;
    };
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let face = port::free();
    let mint = Start::in_folder(folder.path())
        .args(["--face", &format!("cosid={face}")])
        .ready();
    let sides: [Side; 3] = [("redis", redis.address()), ("redis", mint.resp), ("proxy", face)];
    let rounds = rounds();
    println!("{}; {rounds} rounds.\n", machine::line());
    println!(
        "| generator, step | threads | its Redis, ns an id | Redis port | ratio (quartiles) | proxy | ratio \
         (quartiles) |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    );
    for load in LOADS {
        row(load, &measure(&class_path, load, &sides, rounds));
    }
    assert_eq!(mint.stop(), 0);
}

/// `--rounds N`; cargo adds `--bench`.
fn rounds() -> usize {
    let args: Vec<String> = std::env::args().collect();
    let at = args.iter().position(|arg| arg == "--rounds");
    at.and_then(|at| args.get(at + 1)?.parse().ok()).unwrap_or(ROUNDS)
}

/// Nanoseconds for each id, of each side in each round.
fn measure(
    class_path: &str,
    &(generator, step, threads): &(&str, u64, u32),
    sides: &[Side; 3],
    rounds: usize,
) -> [Vec<f64>; 3] {
    let mut client = Command::new("java");
    client
        .args(["-cp", class_path])
        .arg(binary::root().join("e2e/clients/java/CosIdBench.java"))
        .arg(generator)
        .args([step.to_string(), threads.to_string(), rounds.to_string()])
        .args(sides.map(|(way, at)| format!("{way}:{}", at.port())));
    let out = client.output().expect("java can be started");
    let said = String::from_utf8_lossy(&out.stdout);
    let mut nanos: [Vec<f64>; 3] = Default::default();
    for (at, line) in said.lines().enumerate() {
        let numbers: Vec<f64> = line.split(' ').filter_map(|number| number.parse().ok()).collect();
        let [ids, took] = numbers[..] else {
            panic!("{client:?}: {line}");
        };
        nanos[at % 3].push(took / ids.max(1.0));
    }
    let errors = String::from_utf8_lossy(&out.stderr);
    assert_eq!(said.lines().count(), 3 * rounds, "{client:?}: {errors}");
    nanos
}

/// A row of the table, and on standard error whether what is wanted was reached.
fn row((generator, step, threads): &(&str, u64, u32), [theirs, ours @ ..]: &[Vec<f64>; 3]) {
    let mut cells = format!(
        "| {generator}, {step} | {threads} | {} |",
        figure(middle(theirs.clone()))
    );
    for (way, side) in ["Redis port", "proxy"].iter().zip(ours) {
        let mut ratios: Vec<f64> = theirs
            .iter()
            .zip(side)
            .map(|(theirs, ours)| theirs / ours)
            .collect();
        ratios.sort_by(f64::total_cmp);
        let ratio = ratios[ratios.len() / 2];
        let ends = (ratios[ratios.len() / 4], ratios[ratios.len() * 3 / 4]);
        let side = figure(middle(side.clone()));
        cells += &format!(" {side} | {ratio:.2}x ({:.2}, {:.2}) |", ends.0, ends.1);
        if *generator == "SegmentChainId" {
            let verdict = if ratio >= WANTED { "reached" } else { "missed" };
            eprintln!("goal {verdict}: step {step}, {threads} threads, {way}: {ratio:.2}x, {WANTED}x wanted");
        }
    }
    println!("{cells}");
}

fn figure(nanos: f64) -> String {
    match nanos < 100.0 {
        true => format!("{nanos:.1}"),
        false => format!("{nanos:.0}"),
    }
}

fn middle(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}
