//! `mint serve` against stock servers, under stock clients.
//!
//! Redis protocol: redis-benchmark against a Redis without persistence and one with `appendfsync always`. HTTP:
//! wrk against nginx answering a constant. All servers run at once and idle while another is measured; a round
//! measures each in turn, in rotating order, and gives one ratio per pair. The table shows the median ratio, the
//! worst and the best, and the servers' own CPU time per operation, which does not depend on how fast the client
//! is.

mod before;
pub(crate) mod grpc;
mod light;
mod live;
mod load;
mod peers;

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use crate::{goals, machine};
use load::{Sample, wrk};
use peers::{Peers, Target};

const ROUNDS_DEFAULT: usize = 5;

/// How many requests take a second or two, by pipeline depth.
const PIPELINES: [(u32, u64); 3] = [(1, 150_000), (16, 1_500_000), (128, 4_000_000)];
/// With one connection.
const SINGLE: u64 = 30_000;

/// One pair to compare: name, ours, peer, goal of the wall ratio by pipeline depth, most CPU by pipeline depth.
struct Pair {
    name: &'static str,
    ours: usize,
    peer: usize,
    wall: [f64; 3],
    cpu: Option<[f64; 3]>,
}

/// How deep the pipelines of idgo's clients are, and how many requests a run has.
const FACE_PIPELINES: [(u32, u64); 2] = [(1, 100_000), (16, 500_000)];

/// The goals of HTTP beside nginx: of the wall ratio, of the CPU ratio, and of the wall ratio of so many requests at
/// once beside nginx with one at a time.
const HTTP_GOAL: f64 = 0.9;
const HTTP_CPU_GOAL: f64 = 1.0;
const HTTP_PIPELINE: usize = 16;
const HTTP_PIPELINED_GOAL: f64 = 8.0;
/// The goal of TLS beside clear text, with connections that are kept.
const TLS_GOAL: f64 = 0.85;
/// The goals of gRPC: calls beside a bare server of tonic, numbers a second in a stream of blocks on one connection.
const GRPC_GOAL: f64 = 0.9;
const STREAM_GOAL: f64 = 50_000_000.0;
/// The goal of a face's route beside our own, of the wall ratio.
const FACE_GOAL: f64 = 0.9;
/// How many watch, and what is left of the rate then.
const LIVE_READERS: usize = 100;
const LIVE_GOAL: f64 = 0.97;
/// The most that the median latency of one connection may be, beside Redis without persistence.
const SINGLE_GOAL: f64 = 1.0;

/// How many ids a second Thrift gives a light client at least.
const THRIFT_GOAL: f64 = 100_000.0;
/// How many calls the light client sends at a time.
const LIGHT_PIPELINES: [usize; 2] = [1, 16];

/// Indices into the targets of the Redis protocol.
const VOLATILE: usize = 0;
const ALWAYS: usize = 1;
const DURABLE: usize = 2;
const GAP_FREE: usize = 3;

const PAIRS: [Pair; 3] = [
    Pair {
        name: "durable INCR / Redis without persistence",
        ours: DURABLE,
        peer: VOLATILE,
        wall: [0.9, 1.5, 2.5],
        cpu: Some([1.1, 0.6, 0.25]),
    },
    Pair {
        name: "durable INCR / Redis appendfsync always",
        ours: DURABLE,
        peer: ALWAYS,
        wall: [1.5, 3.0, 6.0],
        cpu: None,
    },
    Pair {
        name: "gap-free INCR / Redis appendfsync always",
        ours: GAP_FREE,
        peer: ALWAYS,
        wall: [1.1, 2.5, 6.0],
        cpu: None,
    },
];

/// What can be run alone.
const PARTS: [&str; 8] = [
    "redis", "single", "http", "tls", "grpc", "faces", "thrift", "live",
];

/// Runs everything and prints Markdown tables. Arguments: `--rounds N`, `--short` (a tenth of the requests),
/// the words of [`PARTS`] to run only some, and `--before BINARY` to compare two builds of `mint` instead.
pub fn run(arguments: &[String]) {
    let value = |flag: &str| {
        let at = arguments.iter().position(|a| a == flag)?;
        arguments.get(at + 1)?.parse::<usize>().ok()
    };
    let rounds = value("--rounds").unwrap_or(ROUNDS_DEFAULT);
    let divisor = if arguments.iter().any(|a| a == "--short") {
        10
    } else {
        1
    };
    let words: Vec<&str> = PARTS
        .into_iter()
        .filter(|word| arguments.iter().any(|a| a == word))
        .collect();
    let wanted = |word: &str| words.is_empty() || words.contains(&word);

    let folder = Folder::new();
    if let Some(at) = arguments.iter().position(|a| a == "--before") {
        let Some(binary) = arguments.get(at + 1) else {
            eprintln!("error: --before needs the path of an older mint");
            std::process::exit(2);
        };
        return before::run(&folder.0, std::path::Path::new(binary), rounds, divisor);
    }
    let peers = Peers::start(&folder.0);
    println!("{}; {rounds} rounds; {}.\n", machine::line(), peers.versions());
    println!(
        "Idle: mint serve holds {} KiB of memory.\n",
        peers.mint_memory_kib()
    );
    let steal = Steal::now();
    if wanted("redis") {
        pipelined(&peers, rounds, divisor);
    }
    if wanted("single") {
        single(&peers, rounds, divisor);
    }
    if wanted("http") {
        http(&peers, rounds, divisor);
    }
    if wanted("tls") {
        tls(&peers, rounds, divisor);
    }
    if wanted("grpc") {
        grpc(&peers, rounds, divisor);
    }
    if wanted("faces") {
        faces(&peers, rounds, divisor);
    }
    if wanted("thrift") {
        thrift(&peers, rounds, divisor);
    }
    if wanted("live") {
        watched(&peers, rounds, divisor);
    }
    println!(
        "Taken by the hypervisor meanwhile: {:.1} % of the processors' time.",
        steal.percent()
    );
}

fn pipelined(peers: &Peers, rounds: usize, divisor: u64) {
    println!("50 connections, `redis-benchmark -c 50 -P P INCR`; CPU is the server's, per command.\n");
    println!(
        "| pair | P | ours, k/s | peer, k/s | ratio (worst, best) | CPU ours, µs | CPU peer, µs | CPU ratio |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    let targets = peers.redis_targets();
    let mut all = Vec::new();
    for (pipeline, requests) in PIPELINES {
        let samples = interleaved(rounds, targets.len(), |at| {
            // A peer that waits for the disk gets fewer requests, so that it takes as long.
            let slow = if at == ALWAYS || at == GAP_FREE { 3 } else { 1 };
            load::redis_benchmark(&targets[at], 50, pipeline, requests / slow / divisor)
        });
        all.push(samples);
    }
    for pair in &PAIRS {
        for (at, (pipeline, _)) in PIPELINES.iter().enumerate() {
            let (ours, peer) = (&all[at][pair.ours], &all[at][pair.peer]);
            let wall = ratios(ours, peer, |ours, peer| ours.per_second / peer.per_second);
            let cpu = ratios(ours, peer, |ours, peer| ours.cpu_us / peer.cpu_us);
            println!(
                "| {} | {pipeline} | {:.0} | {:.0} | {} | {:.3} | {:.3} | {:.2}x |",
                pair.name,
                median_of(ours, |s| s.per_second) / 1000.0,
                median_of(peer, |s| s.per_second) / 1000.0,
                shown(&wall),
                median_of(ours, |s| s.cpu_us),
                median_of(peer, |s| s.cpu_us),
                middle(&cpu),
            );
            let what = format!("{} at {pipeline}", pair.name);
            goals::beside_goal(&what, middle(&wall), pair.wall[at]);
            if let Some(most) = pair.cpu {
                goals::beside_limit(&format!("CPU of {what}"), middle(&cpu), most[at]);
            }
        }
    }
    println!();
}

fn single(peers: &Peers, rounds: usize, divisor: u64) {
    println!("One connection, no pipeline: latency, and its ratio to Redis without persistence.\n");
    println!("| server | p50, ms | ratio (best, worst) | p99, ms | ratio (best, worst) | k/s |");
    println!("| --- | ---: | ---: | ---: | ---: | ---: |");
    let targets = peers.redis_targets();
    let samples = interleaved(rounds, targets.len(), |at| {
        let slow = if at == ALWAYS || at == GAP_FREE { 5 } else { 1 };
        load::redis_benchmark(&targets[at], 1, 1, SINGLE / slow / divisor)
    });
    for (at, target) in targets.iter().enumerate() {
        let (ours, peer) = (&samples[at], &samples[VOLATILE]);
        println!(
            "| {} | {:.3} | {} | {:.3} | {} | {:.1} |",
            target.name,
            median_of(ours, |s| s.p50_ms),
            shown(&ratios(ours, peer, |ours, peer| ours.p50_ms / peer.p50_ms)),
            median_of(ours, |s| s.p99_ms),
            shown(&ratios(ours, peer, |ours, peer| ours.p99_ms / peer.p99_ms)),
            median_of(ours, |s| s.per_second) / 1000.0,
        );
    }
    let latency = ratios(&samples[DURABLE], &samples[VOLATILE], |ours, peer| {
        ours.p50_ms / peer.p50_ms
    });
    goals::beside_limit("latency of one connection", middle(&latency), SINGLE_GOAL);
    println!();
}

fn http(peers: &Peers, rounds: usize, divisor: u64) {
    println!(
        "`wrk -t1 -c64`, keep-alive, POST: `/v1/sequences/orders/next` against nginx answering a constant.\n"
    );
    let samples = beside_first("server", &peers.http_targets(), rounds, |target| {
        wrk(target, (4 / divisor).max(1))
    });
    let ratio = |at: usize, of: fn(&Sample) -> f64| {
        middle(&ratios(&samples[at], &samples[0], |ours, nginx| {
            of(ours) / of(nginx)
        }))
    };
    goals::beside_goal("HTTP beside nginx", ratio(1, |s| s.per_second), HTTP_GOAL);
    goals::beside_limit("CPU of HTTP beside nginx", ratio(1, |s| s.cpu_us), HTTP_CPU_GOAL);
    let what = format!("HTTP, {HTTP_PIPELINE} at once, beside nginx one at a time");
    goals::beside_goal(&what, ratio(3, |s| s.per_second), HTTP_PIPELINED_GOAL);
}

fn tls(peers: &Peers, rounds: usize, divisor: u64) {
    let wall = |samples: &[Vec<Sample>]| {
        middle(&ratios(&samples[1], &samples[0], |tls, clear| {
            tls.per_second / clear.per_second
        }))
    };
    println!(
        "`wrk -t1 -c64`, keep-alive, the same POST, over TLS 1.3 and in clear; wrk's own TLS shares the cores.\n"
    );
    let seconds = (4 / divisor).max(1);
    let [nginx, ours] = peers.tls_targets();
    beside_first("server", &nginx, rounds, |target| wrk(target, seconds));
    beside_first("server", &ours, rounds, |target| wrk(target, seconds));
    println!(
        "The same on the {} connections of a light client, one thread: every connection gets a call, then all answers are \
         read. The servers are the limit then.\n",
        light::NEXT.connections
    );
    let lasts = Duration::from_secs(seconds);
    let light = |target: &Target| light::run(target, &light::NEXT, 1, lasts);
    let samples = beside_first("server", &ours, rounds, light);
    goals::beside_goal("TLS beside clear text", wall(&samples), TLS_GOAL);
}

fn grpc(peers: &Peers, rounds: usize, divisor: u64) {
    println!(
        "`h2load -c8 -m16`, one call of gRPC each: `Next` beside a bare server of tonic that answers a constant.\n"
    );
    let samples = beside_first("server", &peers.grpc_targets(), rounds, |target| {
        load::h2load(target, 300_000 / divisor)
    });
    let wall = ratios(&samples[1], &samples[0], |ours, tonic| {
        ours.per_second / tonic.per_second
    });
    goals::beside_goal("gRPC beside tonic", middle(&wall), GRPC_GOAL);
    let target = peers.stream_target();
    let lasts = Duration::from_millis(2000 / divisor);
    println!(
        "One stream on one connection, read by a light client, blocks of {}:\n",
        grpc::BLOCK
    );
    println!("| stream | million ids a second | CPU of each, ns |");
    println!("| --- | ---: | ---: |");
    for (name, streamed) in [
        ("`NextStream`, numbers as blocks", grpc::Streamed::Numbers),
        ("`IdStream`, uuid7, 16 bytes each", grpc::Streamed::Uuids),
    ] {
        let runs: Vec<_> = (0..rounds)
            .map(|_| grpc::stream(&target, streamed, lasts))
            .collect();
        let per_second = median_of(&runs, |s| s.per_second);
        println!(
            "| {name} | {:.0} | {:.3} |",
            per_second / 1e6,
            median_of(&runs, |s| s.cpu_us) * 1000.0
        );
        goals::at_least(&format!("gRPC, {name}"), per_second, STREAM_GOAL);
    }
    println!();
}

/// Measures every target and prints each beside the first.
fn beside_first(
    heading: &str,
    targets: &[Target],
    rounds: usize,
    measure: impl Fn(&Target) -> Sample,
) -> Vec<Vec<Sample>> {
    println!("| {heading} | k/s | ratio (worst, best) | CPU, µs | CPU ratio | p50, ms | p99, ms |");
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: |");
    let samples = interleaved(rounds, targets.len(), |at| measure(&targets[at]));
    for (target, ours) in targets.iter().zip(&samples) {
        println!(
            "| {} | {:.1} | {} | {:.2} | {:.2}x | {:.2} | {:.2} |",
            target.name,
            median_of(ours, |s| s.per_second) / 1000.0,
            shown(&ratios(ours, &samples[0], |ours, first| ours.per_second
                / first.per_second)),
            median_of(ours, |s| s.cpu_us),
            middle(&ratios(ours, &samples[0], |ours, first| ours.cpu_us / first.cpu_us)),
            median_of(ours, |s| s.p50_ms),
            median_of(ours, |s| s.p99_ms),
        );
    }
    println!();
    samples
}

fn thrift(peers: &Peers, rounds: usize, divisor: u64) {
    println!(
        "{} connections of a light client, one thread: every connection gets P calls, then all answers are read. `PING` is \
         what the sockets cost alone.\n",
        light::CONNECTIONS
    );
    println!("| server | P | k/s | ratio to PING (worst, best) | CPU, µs | p50, ms | p99, ms |");
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: |");
    let targets = peers.light_targets();
    let exchanges = [light::PING, light::SNOWFLAKE, light::THRIFT];
    // The pool is there since the server has started, and its window from the first id on.
    light::run(&targets[2], &exchanges[2], 1, Duration::from_millis(100));
    let lasts = Duration::from_millis(2000 / divisor);
    for pipeline in LIGHT_PIPELINES {
        let samples = interleaved(rounds, targets.len(), |at| {
            light::run(&targets[at], &exchanges[at], pipeline, lasts)
        });
        for (target, ours) in targets.iter().zip(&samples) {
            println!(
                "| {} | {pipeline} | {:.0} | {} | {:.3} | {:.3} | {:.3} |",
                target.name,
                median_of(ours, |s| s.per_second) / 1000.0,
                shown(&ratios(ours, &samples[0], |ours, peer| ours.per_second / peer.per_second)),
                median_of(ours, |s| s.cpu_us),
                median_of(ours, |s| s.p50_ms),
                median_of(ours, |s| s.p99_ms),
            );
        }
        let what = format!("Thrift get_id, {pipeline} at a time");
        goals::at_least(&what, median_of(&samples[2], |s| s.per_second), THRIFT_GOAL);
    }
}

fn faces(peers: &Peers, rounds: usize, divisor: u64) {
    println!(
        "Routes of other systems beside our own that answers the same, `wrk -t1 -c64`, keep-alive; idgo's GET beside our INCR, \
         `redis-benchmark -c 50 -P P`.\n"
    );
    println!("| route | k/s | beside our own (worst, best) | CPU, µs | CPU ratio |");
    println!("| --- | ---: | ---: | ---: | ---: |");
    let routes = peers.face_targets();
    let seconds = (4 / divisor).max(1);
    let samples = interleaved(rounds, routes.len(), |at| wrk(&routes[at], seconds));
    for (pair, of_pair) in routes.chunks(2).zip(samples.chunks(2)) {
        beside_own([pair[0].name, pair[1].name], of_pair);
    }
    let counters = peers.counter_targets();
    for (pipeline, requests) in FACE_PIPELINES {
        let samples = interleaved(rounds, counters.len(), |at| {
            let ask = ["INCR", "GET"][at];
            load::redis_benchmark_of(ask, &counters[at], 50, pipeline, requests / divisor)
        });
        let names = counters
            .each_ref()
            .map(|target| format!("{}, {pipeline} at once", target.name));
        beside_own(names.each_ref().map(String::as_str), &samples);
    }
    println!();
}

/// Our own route or command, then that of another system which answers the same.
fn beside_own(names: [&str; 2], samples: &[Vec<Sample>]) {
    let own = &samples[0];
    for (name, route) in names.iter().zip(samples) {
        println!(
            "| {name} | {:.1} | {} | {:.2} | {:.2}x |",
            median_of(route, |s| s.per_second) / 1000.0,
            shown(&ratios(route, own, |route, own| route.per_second / own.per_second)),
            median_of(route, |s| s.cpu_us),
            middle(&ratios(route, own, |route, own| route.cpu_us / own.cpu_us)),
        );
    }
    let wall = ratios(&samples[1], own, |route, own| route.per_second / own.per_second);
    goals::beside_goal(&format!("{} beside our own", names[1]), middle(&wall), FACE_GOAL);
}

/// Samples by target, then by round; each round begins with another target.
fn interleaved(rounds: usize, targets: usize, measure: impl Fn(usize) -> Sample) -> Vec<Vec<Sample>> {
    let mut samples = vec![Vec::new(); targets];
    for round in 0..rounds {
        for turn in 0..targets {
            let at = (round + turn) % targets;
            samples[at].push(measure(at));
        }
    }
    samples
}

fn watched(peers: &Peers, rounds: usize, divisor: u64) {
    println!(
        "50 connections, `redis-benchmark -c 50 -P P INCR`: alone, and while {LIVE_READERS} connections read `/v1/live` on the same machine.\n"
    );
    println!("| P | watched, k/s | alone, k/s | ratio (worst, best) |");
    println!("| ---: | ---: | ---: | ---: |");
    let [_, _, target, _] = peers.redis_targets();
    for (pipeline, requests) in PIPELINES {
        let samples = interleaved(rounds, 2, |at| {
            let _readers = (at == 0).then(|| live::Readers::open(peers.http_port(), LIVE_READERS));
            // Long enough for several events.
            load::redis_benchmark(&target, 50, pipeline, requests * 3 / divisor)
        });
        let wall = ratios(&samples[0], &samples[1], |watched, alone| {
            watched.per_second / alone.per_second
        });
        println!(
            "| {pipeline} | {:.0} | {:.0} | {} |",
            median_of(&samples[0], |s| s.per_second) / 1000.0,
            median_of(&samples[1], |s| s.per_second) / 1000.0,
            shown(&wall),
        );
        let what = format!("INCR at {pipeline} with {LIVE_READERS} who watch");
        goals::beside_goal(&what, middle(&wall), LIVE_GOAL);
    }
    println!();
}

/// One ratio per round, in rising order.
fn ratios(ours: &[Sample], peer: &[Sample], ratio: impl Fn(&Sample, &Sample) -> f64) -> Vec<f64> {
    let mut all: Vec<f64> = ours
        .iter()
        .zip(peer)
        .map(|(ours, peer)| ratio(ours, peer))
        .collect();
    all.sort_by(f64::total_cmp);
    all
}

fn median_of(samples: &[Sample], value: impl Fn(&Sample) -> f64) -> f64 {
    let mut all: Vec<f64> = samples.iter().map(value).collect();
    all.sort_by(f64::total_cmp);
    middle(&all)
}

fn middle(sorted: &[f64]) -> f64 {
    sorted[sorted.len() / 2]
}

fn shown(sorted: &[f64]) -> String {
    format!(
        "{:.2}x ({:.2}, {:.2})",
        middle(sorted),
        sorted[0],
        sorted[sorted.len() - 1]
    )
}

/// A folder of this run, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        let path = std::env::temp_dir().join(format!("mintage-bench-{}", std::process::id()));
        fs::create_dir_all(&path).expect("a temporary folder can be made");
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).ok();
    }
}

/// Time that the hypervisor gave to others, from /proc/stat.
struct Steal {
    stolen: u64,
    total: u64,
}

impl Steal {
    fn now() -> Steal {
        let text = fs::read_to_string("/proc/stat").unwrap_or_default();
        let first = text.lines().next().unwrap_or_default();
        let ticks: Vec<u64> = first
            .split_whitespace()
            .skip(1)
            .filter_map(|n| n.parse().ok())
            .collect();
        // user nice system idle iowait irq softirq steal
        Steal {
            stolen: ticks.get(7).copied().unwrap_or(0),
            total: ticks.iter().take(8).sum(),
        }
    }

    fn percent(&self) -> f64 {
        let now = Steal::now();
        100.0 * (now.stolen - self.stolen) as f64 / (now.total - self.total).max(1) as f64
    }
}

/// Something to measure.
impl Target {
    /// CPU time of all its threads so far, in microseconds.
    fn cpu_us(&self) -> f64 {
        let of = |pid: &u32| -> f64 {
            let tasks = fs::read_dir(format!("/proc/{pid}/task"))
                .into_iter()
                .flatten()
                .flatten();
            let spent = tasks.filter_map(|task| {
                let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
                text.split_whitespace().next()?.parse::<f64>().ok()
            });
            spent.sum()
        };
        self.pids.iter().map(of).sum::<f64>() / 1000.0
    }
}
