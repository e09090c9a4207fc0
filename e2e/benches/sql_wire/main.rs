//! Numbers through SQL, beside the databases that clients of SQL take them from: `cargo xtask bench sqlwire`.
//!
//! A private PostgreSQL and a private MariaDB with their own defaults of caching, one `mint serve`, and the load programs that
//! come with both databases. All servers run at once and idle while another is measured; a round measures each in turn.
//! Such programs are their own limit on two cores, so that the processor time of the servers says more than the rate.

mod load;
#[path = "../../../bench/src/machine.rs"]
mod machine;
mod measure;

use std::net::SocketAddr;

use mintage_e2e::engine::mariadb::Mariadb;
use mintage_e2e::engine::port;
use mintage_e2e::engine::postgres::Postgres;
use mintage_e2e::server::Start;
use mintage_e2e::store_suite::Engine;

use load::{Load, PGBENCH, SLAP};
use measure::{Goal, Rate, Side};

/// Rounds, unless told otherwise.
const ROUNDS: usize = 3;

fn main() {
    let rounds = rounds();
    println!("{}; {rounds} rounds.\n", machine::line());
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let (postgres, mysql): (SocketAddr, SocketAddr) = (port::free(), port::free());
    let mint = Start::in_folder(folder.path())
        .args([
            "--face",
            &format!("postgres={postgres}"),
            "--face",
            &format!("mysql={mysql}"),
        ])
        .ready();
    for name in ["orders", "Tickets64"] {
        let made = mint.http("PUT", &format!("/v1/sequences/{name}"), "{}");
        assert!(made.status < 300, "{}", made.text());
    }
    println!(
        "| load | ours, k/s | peer, k/s | ratio (worst, best) | CPU ours, µs | CPU peer, µs | CPU ratio |\n\
         | --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    );
    let ours = |at| Side { at, pid: mint.pid() };
    if let Some(mut peer) = Postgres::run() {
        peer.admin("ids", "CREATE SEQUENCE orders");
        let theirs = Side {
            at: peer.address(),
            pid: peer.process().pid().expect("it runs"),
        };
        rows(PGBENCH, &[ours(postgres), theirs], folder.path(), rounds);
    }
    if let Some(mut peer) = Mariadb::run() {
        peer.admin("ids", load::TABLES);
        let theirs = Side {
            at: peer.address(),
            pid: peer.process().pid().expect("it runs"),
        };
        rows(SLAP, &[ours(mysql), theirs], folder.path(), rounds);
    }
    assert_eq!(mint.stop(), 0);
}

/// `--rounds N`; cargo adds `--bench`.
fn rounds() -> usize {
    let args: Vec<String> = std::env::args().collect();
    let at = args.iter().position(|arg| arg == "--rounds");
    at.and_then(|at| args.get(at + 1)?.parse().ok()).unwrap_or(ROUNDS)
}

/// A row for each load; the first side is ours.
fn rows(loads: &[Load], sides: &[Side; 2], folder: &std::path::Path, rounds: usize) {
    for load in loads {
        let mut samples: [Vec<Rate>; 2] = [Vec::new(), Vec::new()];
        for round in 0..rounds {
            for turn in 0..2 {
                let at = (round + turn) % 2;
                samples[at].push(measure::run(load, &sides[at], folder));
            }
        }
        measure::row(load.name, &samples);
        load.goals
            .iter()
            .for_each(|goal: &Goal| goal.judge(load.name, &samples));
    }
}
