//! One run, and what the runs of a load come to.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use mintage_e2e::engine::process::tree;

use super::load::Load;

/// A server.
pub(super) struct Side {
    pub(super) at: SocketAddr,
    pub(super) pid: u32,
}

/// What one run gave.
#[derive(Clone, Copy)]
pub(super) struct Rate {
    numbers_per_second: f64,
    /// Processor time of the server, all its processes, for each number.
    cpu_us: f64,
}

/// What a load should come to beside its peer.
pub(super) enum Goal {
    CpuAtMost(f64),
    WallAtLeast(f64),
}

/// Runs a load against a server.
pub(super) fn run(load: &Load, side: &Side, folder: &Path) -> Rate {
    let mut command = (load.command)(side.at, folder);
    let before = processor_us(side.pid);
    let out = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = String::from_utf8_lossy(&out.stdout);
    let told = || format!("{command:?}: {said}{}", String::from_utf8_lossy(&out.stderr));
    assert!(out.status.success(), "{}", told());
    let (transactions, seconds) = (load.ran)(&said).unwrap_or_else(|| panic!("{}", told()));
    let numbers = transactions * load.numbers;
    Rate {
        numbers_per_second: numbers / seconds,
        cpu_us: (processor_us(side.pid) - before) / numbers,
    }
}

/// Processor time of a process and its descendants so far, those that have ended among them.
fn processor_us(root: u32) -> f64 {
    let of = |pid: &u32| -> f64 {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let after = stat.rsplit_once(") ").map_or("", |(_, after)| after);
        // utime, stime, cutime, cstime (proc_pid_stat(5)), in ticks of 10 ms.
        let ticks = after
            .split(' ')
            .skip(11)
            .take(4)
            .filter_map(|n| n.parse::<f64>().ok());
        ticks.sum::<f64>() * 10_000.0
    };
    tree(root).iter().map(of).sum()
}

/// A row of the table; ours first.
pub(super) fn row(name: &str, samples: &[Vec<Rate>; 2]) {
    let middle_of = |side: usize, of: fn(&Rate) -> f64| middle(samples[side].iter().map(of).collect());
    let wall = ratios(samples, |rate| rate.numbers_per_second);
    println!(
        "| {name} | {:.0} | {:.0} | {:.2}x ({:.2}, {:.2}) | {:.2} | {:.2} | {:.2}x |",
        middle_of(0, |rate| rate.numbers_per_second) / 1000.0,
        middle_of(1, |rate| rate.numbers_per_second) / 1000.0,
        wall[wall.len() / 2],
        wall[0],
        wall[wall.len() - 1],
        middle_of(0, |rate| rate.cpu_us),
        middle_of(1, |rate| rate.cpu_us),
        middle(ratios(samples, |rate| rate.cpu_us)),
    );
}

impl Goal {
    /// Says on standard error whether it was reached: the table is for users.
    pub(super) fn judge(&self, name: &str, samples: &[Vec<Rate>; 2]) {
        let (what, ratio, wanted, reached) = match *self {
            Goal::CpuAtMost(most) => {
                let ratio = middle(ratios(samples, |rate| rate.cpu_us));
                ("CPU", ratio, format!("at most {most}x"), ratio <= most)
            }
            Goal::WallAtLeast(least) => {
                let ratio = middle(ratios(samples, |rate| rate.numbers_per_second));
                ("rate", ratio, format!("at least {least}x"), ratio >= least)
            }
        };
        let verdict = if reached { "reached" } else { "missed" };
        eprintln!("goal {verdict}: {name}: {what} {ratio:.2}x, {wanted} wanted");
    }
}

/// Ours by theirs, one for each round, in rising order.
fn ratios(samples: &[Vec<Rate>; 2], of: fn(&Rate) -> f64) -> Vec<f64> {
    let both = samples[0].iter().zip(&samples[1]);
    let mut all: Vec<f64> = both.map(|(ours, peer)| of(ours) / of(peer)).collect();
    all.sort_by(f64::total_cmp);
    all
}

fn middle(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}
