//! Three servers on one store for as long as asked, and every few seconds something goes wrong: nothing repeats,
//! everybody is served again, and the server that is never killed keeps neither memory nor descriptors.
//!
//! `MINT_TEST_SOAK` is how many seconds it lasts (default 10; 28,800 is a night), `MINT_TEST_SOAK_FAULT` how many lie
//! between two faults (default 2).
#![allow(clippy::unwrap_used)]

use std::time::{Duration, Instant};

use mintage_e2e::cluster::{Cluster, eventually};
use mintage_e2e::engine::redis::Redis;
use mintage_e2e::need::say;
use mintage_e2e::proxy::{Fault, Proxy};
use mintage_e2e::random::Random;
use mintage_e2e::store_suite::Engine;
use mintage_testing::invariant;

/// What somebody may have more at the end than when everything was warm: caches fill, the allocator rounds.
const MEMORY_MAX: u64 = 32 << 20;
const DESCRIPTORS_MAX: u64 = 16;
/// The one that is never killed.
const OLDEST: usize = 0;

#[test]
#[ignore = "as long as asked"]
fn whatever_goes_wrong_again_and_again_nothing_repeats_or_piles_up() {
    let [length, gap] = [("MINT_TEST_SOAK", 10), ("MINT_TEST_SOAK_FAULT", 2)]
        .map(|(name, usual)| std::env::var(name).map_or(usual, |n| n.parse().unwrap()))
        .map(Duration::from_secs);
    let Some(engine) = Redis::run() else {
        return;
    };
    let mut random = Random::announced("soak");
    let mut cluster = Cluster::new(engine, "small", 4);
    let proxies: Vec<Proxy> = (0..3).map(|_| cluster.add_behind_proxy().1).collect();
    cluster.all_serve(&[0, 1, 2], 200);
    let pid = cluster.nodes[OLDEST].server().pid();
    let warm = Usage::of(pid);
    let (begun, mut faults) = (Instant::now(), 0u32);
    while begun.elapsed() < length {
        disturb(&mut cluster, &proxies, &mut random);
        faults += 1;
        cluster.all_serve(&[0, 1, 2], 50);
        std::thread::sleep((gap * faults).saturating_sub(begun.elapsed()));
    }
    let end = Usage::of(pid);
    let row = cluster.checked("random faults, one after another");
    say(&format!(
        "soak: {} s, {faults} faults | {row} | memory {} -> {} KiB, descriptors {} -> {}",
        begun.elapsed().as_secs(),
        warm.memory >> 10,
        end.memory >> 10,
        warm.descriptors,
        end.descriptors
    ));
    invariant!(end.memory < warm.memory + MEMORY_MAX, "memory piles up");
    invariant!(
        end.descriptors < warm.descriptors + DESCRIPTORS_MAX,
        "descriptors pile up"
    );
}

/// One thing goes wrong and is well again.
fn disturb(cluster: &mut Cluster<Redis>, proxies: &[Proxy], random: &mut Random) {
    let at = random.below(3) as usize;
    let others: Vec<usize> = (0..3).filter(|other| *other != at).collect();
    // Whoever has just come out of the fault before has nothing yet to serve from in the next one.
    eventually("windows are there again", || {
        cluster.nodes.iter().all(|node| node.has_window())
    });
    match random.below(5) {
        0 if at != OLDEST => {
            cluster.nodes[at].kill();
            cluster.all_serve(&others, 20);
            cluster.nodes[at].restart();
        }
        1 => {
            cluster.nodes[at].signal("STOP");
            cluster.all_serve(&others, 100);
            cluster.nodes[at].signal("CONT");
        }
        2 => {
            cluster.engine.freeze();
            cluster.all_serve(&[0, 1, 2], 20);
            cluster.engine.thaw();
        }
        3 => {
            cluster.engine.kill();
            cluster.all_serve(&[0, 1, 2], 20);
            cluster.engine.start();
        }
        _ => {
            proxies[at].set(match random.below(3) {
                0 => Fault::Freeze,
                1 => Fault::Refuse,
                _ => Fault::HoldAnswers,
            });
            eventually("the window of the one that is cut off ends", || {
                !cluster.nodes[at].has_window()
            });
            cluster.all_serve(&others, 20);
            proxies[at].set(Fault::Pass);
        }
    }
}

/// What a process holds.
struct Usage {
    memory: u64,
    descriptors: u64,
}

impl Usage {
    fn of(pid: u32) -> Usage {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))
            .unwrap();
        let kib: u64 = line.trim().trim_end_matches(" kB").parse().unwrap();
        Usage {
            memory: kib << 10,
            descriptors: std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count() as u64,
        }
    }
}
