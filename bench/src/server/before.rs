//! Two builds of `mint serve` in one run: what a change costs or brings, by face.

use std::path::Path;

use super::load::{Sample, redis_benchmark, wrk};
use super::peers::{Mint, Target, binary, post_script};
use super::{Steal, interleaved, median_of, middle, ratios, shown};
use crate::machine;

/// What both builds are asked: by the Redis protocol with this pipeline and so many commands, or by HTTP.
#[derive(Clone, Copy)]
enum Ask {
    Count {
        key: &'static str,
        clients: u32,
        pipeline: u32,
        requests: u64,
    },
    Post(&'static str),
}

const fn count(key: &'static str, clients: u32, pipeline: u32, requests: u64) -> Ask {
    Ask::Count {
        key,
        clients,
        pipeline,
        requests,
    }
}

const ASKS: [(&str, Ask); 11] = [
    ("INCR, 1 connection", count("counter", 1, 1, 30_000)),
    ("INCR, 50 connections", count("counter", 50, 1, 150_000)),
    (
        "INCR, 50 connections, 16 at once",
        count("counter", 50, 16, 1_500_000),
    ),
    (
        "INCR, 50 connections, 128 at once",
        count("counter", 50, 128, 6_000_000),
    ),
    ("gap-free INCR, 1 connection", count("gapfree", 1, 1, 6_000)),
    ("gap-free INCR, 50 connections", count("gapfree", 50, 1, 50_000)),
    (
        "gap-free INCR, 50 connections, 16 at once",
        count("gapfree", 50, 16, 500_000),
    ),
    (
        "gap-free INCR, 50 connections, 128 at once",
        count("gapfree", 50, 128, 2_000_000),
    ),
    (
        "POST /v1/sequences/orders/next",
        Ask::Post("/v1/sequences/orders/next"),
    ),
    ("POST /v1/ids/uuid7", Ask::Post("/v1/ids/uuid7")),
    ("POST /v1/snowflakes/default", Ask::Post("/v1/snowflakes/default")),
];

/// Prints one Markdown table.
pub(super) fn run(folder: &Path, older: &Path, rounds: usize, divisor: u64) {
    let script = post_script(folder);
    let mints = [
        Mint::start(&folder.join("now"), &binary(), &[]),
        Mint::start(&folder.join("before"), older, &[]),
    ];
    println!(
        "{}; {rounds} rounds; two builds of mint, each asked in turn.\n",
        machine::line()
    );
    println!(
        "| asked | before, k/s | now, k/s | now / before (worst, best) | CPU before, µs | CPU now, µs | now / before |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: |");
    let steal = Steal::now();
    for (name, ask) in ASKS {
        let samples = interleaved(rounds, mints.len(), |at| asked(&mints[at], ask, &script, divisor));
        let (now, before) = (&samples[0], &samples[1]);
        println!(
            "| {name} | {:.1} | {:.1} | {} | {:.3} | {:.3} | {:.2}x |",
            median_of(before, |s| s.per_second) / 1000.0,
            median_of(now, |s| s.per_second) / 1000.0,
            shown(&ratios(now, before, |now, before| now.per_second / before.per_second)),
            median_of(before, |s| s.cpu_us),
            median_of(now, |s| s.cpu_us),
            middle(&ratios(now, before, |now, before| now.cpu_us / before.cpu_us)),
        );
    }
    println!(
        "\nTaken by the hypervisor meanwhile: {:.1} % of the processors' time.",
        steal.percent()
    );
}

fn asked(mint: &Mint, ask: Ask, script: &Path, divisor: u64) -> Sample {
    match ask {
        Ask::Count {
            key,
            clients,
            pipeline,
            requests,
        } => {
            let target: Target = mint.counts("mint", key);
            redis_benchmark(&target, clients, pipeline, requests / divisor)
        }
        Ask::Post(path) => wrk(&mint.posts("mint", path, script), (4 / divisor).max(1)),
    }
}
