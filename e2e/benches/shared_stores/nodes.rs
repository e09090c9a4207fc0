//! How many ids one, two and three servers on one store give out together, beside one server on a folder of its own
//! that is measured right before them.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use mintage_e2e::resp::{Reply, Resp, encode};
use mintage_e2e::run;
use mintage_e2e::server::{Server, Start};
use mintage_e2e::store_suite::Engine;

/// The head of the table.
pub(crate) const HEAD: &str = "\
| store | servers | ids/s, together | beside one on a folder | CPU of the servers per id, ns | beside it |
| --- | ---: | ---: | ---: | ---: | ---: |";

const NODES_MAX: usize = 3;
/// Connections in all, whatever the number of servers, so that the clients' share of the machine stays the same.
const CONNECTIONS: usize = 6;
/// `INCR` of one sequence in one go.
const PIPELINE: usize = 128;
/// Until rates are steady, and what is owned for an outage is there.
const WARM_UP: Duration = Duration::from_secs(12);
const MEASURED: Duration = Duration::from_secs(8);

/// What a number of servers came to.
struct Rate {
    per_second: f64,
    /// Processor time of all servers.
    ns_per_id: f64,
}

/// A row for one server on a folder, and for one, two and three on the store.
pub(crate) fn rows(engine: &dyn Engine) {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let url = engine.url(engine.address());
    run::mint(folder.path(), ["init", "--store", &url]).ok();
    let alone = rate(folder.path(), "alone", 1, "file:./mint");
    let row = |store: &str, nodes: usize, found: &Rate| {
        println!(
            "| {store} | {nodes} | {:.0} | {:.2}x | {:.0} | {:.2}x |",
            found.per_second,
            found.per_second / alone.per_second,
            found.ns_per_id,
            found.ns_per_id / alone.ns_per_id,
        );
    };
    row("file", 1, &alone);
    for nodes in 1..=NODES_MAX {
        let shared = rate(folder.path(), &format!("shared{nodes}"), nodes, &url);
        row(engine.scheme(), nodes, &shared);
    }
}

fn rate(folder: &Path, name: &str, nodes: usize, url: &str) -> Rate {
    let servers: Vec<Server> = (0..nodes)
        .map(|n| {
            let folder = folder.join(format!("{name}-{n}"));
            fs::create_dir(&folder).expect("the folder is ours");
            Start::in_folder(&folder).args(["--store", url]).ready()
        })
        .collect();
    let stop = Arc::new(AtomicBool::new(false));
    let served = Arc::new(AtomicU64::new(0));
    let clients: Vec<JoinHandle<()>> = (0..CONNECTIONS)
        .map(|n| {
            let connection = servers[n % nodes].redis();
            let (stop, served) = (stop.clone(), served.clone());
            thread::spawn(move || ask(connection, &stop, &served))
        })
        .collect();
    thread::sleep(WARM_UP);
    let before = (
        served.load(Ordering::SeqCst),
        processor_s(&servers),
        Instant::now(),
    );
    thread::sleep(MEASURED);
    let ids = (served.load(Ordering::SeqCst) - before.0) as f64;
    let (processor, seconds) = (processor_s(&servers) - before.1, before.2.elapsed().as_secs_f64());
    stop.store(true, Ordering::SeqCst);
    for client in clients {
        client.join().expect("no panic");
    }
    for server in servers {
        assert_eq!(server.stop(), 0, "a clean stop");
    }
    Rate {
        per_second: ids / seconds,
        ns_per_id: processor / ids * 1e9,
    }
}

fn ask(mut connection: Resp, stop: &AtomicBool, served: &AtomicU64) {
    let pipeline = encode(&["INCR", "orders"]).repeat(PIPELINE);
    while !stop.load(Ordering::SeqCst) {
        connection.send(&pipeline).expect("the server reads");
        for _ in 0..PIPELINE {
            match connection.reply().expect("the server answers") {
                Reply::Int(_) => {}
                other => panic!("a refusal: {other:?}"),
            }
        }
        served.fetch_add(PIPELINE as u64, Ordering::SeqCst);
    }
}

/// Processor time of all these servers so far, in seconds.
fn processor_s(servers: &[Server]) -> f64 {
    let of = |server: &Server| {
        let stat = fs::read_to_string(format!("/proc/{}/stat", server.pid())).unwrap_or_default();
        // Behind the name in parentheses, which may hold blanks: user and system time are fields 12 and 13.
        let behind = stat.rsplit(')').next().unwrap_or_default().to_string();
        let fields = behind.split_whitespace().skip(11).take(2);
        fields.filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
    };
    servers.iter().map(of).sum()
}
