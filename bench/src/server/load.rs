//! The stock load generators, and reading what they print.

use std::process::Command;

use super::peers::Target;

/// What one run gave.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub(super) per_second: f64,
    /// The server's CPU time per operation.
    pub(super) cpu_us: f64,
    pub(super) p50_ms: f64,
    pub(super) p99_ms: f64,
}

/// One run of redis-benchmark with INCR.
pub(super) fn redis_benchmark(target: &Target, clients: u32, pipeline: u32, requests: u64) -> Sample {
    redis_benchmark_of("INCR", target, clients, pipeline, requests)
}

/// The same with another command that takes a key.
pub(super) fn redis_benchmark_of(
    ask: &str,
    target: &Target,
    clients: u32,
    pipeline: u32,
    requests: u64,
) -> Sample {
    let before = target.cpu_us();
    let mut command = Command::new("redis-benchmark");
    command.args(["-h", "127.0.0.1", "-p", &target.port.to_string()]);
    command.args([
        "-c",
        &clients.to_string(),
        "-P",
        &pipeline.to_string(),
        "-n",
        &requests.to_string(),
    ]);
    command.args(["--csv", "--precision", "3", ask, target.key]);
    let text = said(command);
    let cpu_us = (target.cpu_us() - before) / requests as f64;
    // "test","rps","avg_latency_ms","min_latency_ms","p50_latency_ms","p95…","p99…","max…"
    let row = text
        .lines()
        .rfind(|line| line.starts_with(&format!("\"{ask}")))
        .unwrap_or_default();
    let cells: Vec<f64> = row
        .split(',')
        .skip(1)
        .filter_map(|cell| cell.trim_matches('"').parse().ok())
        .collect();
    assert_eq!(cells.len(), 7, "redis-benchmark against {}: {text}", target.name);
    Sample {
        per_second: cells[0],
        cpu_us,
        p50_ms: cells[3],
        p99_ms: cells[5],
    }
}

/// One run of wrk.
pub(super) fn wrk(target: &Target, seconds: u64) -> Sample {
    let before = target.cpu_us();
    let mut command = Command::new("wrk");
    command.args(["-t1", "-c64", "--latency", &format!("-d{seconds}s"), "-s"]);
    command.arg(&target.script).arg(format!(
        "http{}://127.0.0.1:{}{}",
        if target.authority.is_some() { "s" } else { "" },
        target.port,
        target.key
    ));
    let text = said(command);
    let cpu = target.cpu_us() - before;
    let after = |label: &str| {
        let line = text.lines().find(|line| line.trim_start().starts_with(label));
        line.and_then(|line| line.split_whitespace().last())
            .unwrap_or_default()
            .to_string()
    };
    let failed = text
        .lines()
        .find(|l| l.contains("Non-2xx") || l.contains("Socket errors"));
    assert!(failed.is_none(), "wrk against {}: {text}", target.name);
    let per_second: f64 = after("Requests/sec:")
        .parse()
        .unwrap_or_else(|_| panic!("wrk: {text}"));
    let requests: f64 = text
        .lines()
        .find(|line| line.contains(" requests in "))
        .and_then(|line| line.split_whitespace().next()?.parse().ok())
        .unwrap_or_else(|| panic!("wrk: {text}"));
    Sample {
        per_second,
        cpu_us: cpu / requests,
        p50_ms: milliseconds(&after("50%")),
        p99_ms: milliseconds(&after("99%")),
    }
}

/// One run of h2load: calls of gRPC, 16 open at a time on each of 8 connections.
pub(super) fn h2load(target: &Target, requests: u64) -> Sample {
    let before = target.cpu_us();
    let log = target.script.with_extension("log");
    let mut command = Command::new("h2load");
    command.args(["-c8", "-m16", "-t1", "-n", &requests.to_string(), "-d"]);
    command.arg(&target.script);
    command.args(["-H", "content-type: application/grpc", "-H", "te: trailers"]);
    command.arg(format!("--log-file={}", log.display()));
    command.arg(format!("http://127.0.0.1:{}{}", target.port, target.key));
    let text = said(command);
    let cpu_us = (target.cpu_us() - before) / requests as f64;
    let done = format!("{requests} succeeded, 0 failed");
    assert!(text.contains(&done), "h2load against {}: {text}", target.name);
    let per_second = text
        .lines()
        .find_map(|line| {
            line.strip_prefix("finished in ")?
                .split(", ")
                .nth(1)?
                .strip_suffix(" req/s")
        })
        .and_then(|rate| rate.parse().ok())
        .unwrap_or_else(|| panic!("h2load: {text}"));
    // A line for each: when it began, its status, its microseconds.
    let times = std::fs::read_to_string(&log).expect("h2load writes it");
    std::fs::remove_file(&log).expect("the folder is ours");
    let mut times: Vec<f64> = times
        .lines()
        .filter_map(|line| line.rsplit('\t').next()?.parse().ok())
        .collect();
    times.sort_by(f64::total_cmp);
    let at = |share: usize| times[(times.len() * share / 100).min(times.len() - 1)] / 1000.0;
    Sample {
        per_second,
        cpu_us,
        p50_ms: at(50),
        p99_ms: at(99),
    }
}

/// `512.00us`, `1.25ms`, `1.00s` as milliseconds.
fn milliseconds(text: &str) -> f64 {
    let digits = text.trim_end_matches(char::is_alphabetic);
    let unit = match &text[digits.len()..] {
        "us" => 0.001,
        "ms" => 1.0,
        "s" => 1000.0,
        _ => f64::NAN,
    };
    digits.parse().map_or(f64::NAN, |number: f64| number * unit)
}

fn said(mut command: Command) -> String {
    let out = command
        .output()
        .unwrap_or_else(|e| panic!("{:?}: {e}", command.get_program()));
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    assert!(
        out.status.success(),
        "{command:?}: {text}{}",
        String::from_utf8_lossy(&out.stderr)
    );
    text
}
