//! The command in bulk, against the uuid crate behind a `BufWriter`: whole processes, from start to end, into
//! `/dev/null` and through a pipe to `wc -l`.

use std::io::{self, BufWriter, Write};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::machine;

/// What the peer is, as a process of its own: `bench peer v4|v7 N`.
pub fn peer(arguments: &[String]) {
    let (Some(kind), Some(Ok(count))) = (arguments.first(), arguments.get(1).map(|n| n.parse::<u64>()))
    else {
        eprintln!("error: bench peer v4|v7 N");
        std::process::exit(2);
    };
    let make: fn() -> uuid::Uuid = match kind.as_str() {
        "v7" => uuid::Uuid::now_v7,
        _ => uuid::Uuid::new_v4,
    };
    let mut out = BufWriter::with_capacity(64 * 1024, io::stdout().lock());
    let mut text = [b'\n'; 37];
    let written = (0..count).try_for_each(|_| {
        make().hyphenated().encode_lower(&mut text[..36]);
        out.write_all(&text)
    });
    written.and_then(|()| out.flush()).expect("the output takes it");
}

struct Row {
    what: &'static str,
    words: &'static [&'static str],
    peer: &'static str,
    goal: f64,
    piped: bool,
}

const SNOWFLAKE: &[&str] = &[
    "snowflake",
    "--unguarded",
    "--worker",
    "1",
    "--layout",
    "time=41,worker=1,sequence=21",
];

const ROWS: &[Row] = &[
    Row {
        what: "v4",
        words: &["uuid", "v4"],
        peer: "v4",
        goal: 5.0,
        piped: false,
    },
    Row {
        what: "v7",
        words: &["uuid", "v7"],
        peer: "v7",
        goal: 5.0,
        piped: false,
    },
    Row {
        what: "ULID",
        words: &["gen", "ulid"],
        peer: "v4",
        goal: 5.0,
        piped: false,
    },
    Row {
        what: "Snowflake (21 bits of sequence)",
        words: SNOWFLAKE,
        peer: "v4",
        goal: 5.0,
        piped: false,
    },
    Row {
        what: "v4, into wc -l",
        words: &["uuid", "v4"],
        peer: "v4",
        goal: 2.0,
        piped: true,
    },
    Row {
        what: "v7, into wc -l",
        words: &["uuid", "v7"],
        peer: "v7",
        goal: 2.0,
        piped: true,
    },
];

/// `bench command [--ids N] [--rounds N]`
pub fn run(arguments: &[String]) {
    let number = |name: &str, default: u64| {
        let at = arguments.iter().position(|word| word == name);
        at.and_then(|at| arguments.get(at + 1)?.parse().ok())
            .unwrap_or(default)
    };
    let (ids, rounds) = (number("--ids", 100_000_000), number("--rounds", 5).max(1));
    let mint = std::env::var_os("MINT_BIN").unwrap_or_else(|| "target/release/mint".into());
    let ours = std::env::current_exe().expect("the benchmark knows its own path");
    println!(
        "Measured on {}; {ids} ids a run, median of {rounds} rounds.\n",
        machine::line()
    );
    println!("| ids as lines | mint, ns/id | uuid crate and BufWriter, ns/id | ratio (least, most) |");
    println!("| --- | ---: | ---: | ---: |");
    for row in ROWS {
        let (mut mine, mut theirs, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..rounds {
            let own = || {
                let mut command = Command::new(&mint);
                command.args(row.words).args(["-n", &ids.to_string()]);
                nanos(command, row.piped) / ids as f64
            };
            let other = || {
                let mut command = Command::new(&ours);
                command.args(["peer", row.peer, &ids.to_string()]);
                nanos(command, row.piped) / ids as f64
            };
            let (a, b) = if round % 2 == 0 {
                (own(), other())
            } else {
                let b = other();
                (own(), b)
            };
            mine.push(a);
            theirs.push(b);
            ratios.push(b / a);
        }
        let ratio = median(&mut ratios);
        println!(
            "| {} | {:.2} | {:.2} | {ratio:.1}x ({:.1}, {:.1}) |",
            row.what,
            median(&mut mine),
            median(&mut theirs),
            ratios[0],
            ratios[ratios.len() - 1]
        );
        machine::beside_goal(row.what, ratio, row.goal);
    }
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// How long the process runs, its reader included.
fn nanos(mut command: Command, piped: bool) -> f64 {
    let start = Instant::now();
    if piped {
        let mut child = command.stdout(Stdio::piped()).spawn().expect("it can be started");
        let output = child.stdout.take().expect("was piped");
        let counted = Command::new("wc")
            .arg("-l")
            .stdin(output)
            .stdout(Stdio::null())
            .status();
        assert!(
            counted.is_ok_and(|status| status.success()) && child.wait().is_ok_and(|status| status.success())
        );
    } else {
        let status = command.stdout(Stdio::null()).status().expect("it can be started");
        assert!(status.success());
    }
    start.elapsed().as_nanos() as f64
}
