//! What pgbench and mariadb-slap are told.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use super::measure::Goal;

/// A load: a program, what it runs, and how its output tells what became of it.
pub(super) struct Load {
    pub(super) name: &'static str,
    /// The command against an address; the folder is its own.
    pub(super) command: fn(SocketAddr, &Path) -> Command,
    /// How many transactions or queries there were in how many seconds, out of what the program printed.
    pub(super) ran: fn(&str) -> Option<(f64, f64)>,
    /// Numbers in each of them.
    pub(super) numbers: f64,
    pub(super) goals: &'static [Goal],
}

/// What the peer of MySQL's loads holds: Flickr's table as Flickr had it, and a sequence with the cache that MariaDB gives.
pub(super) const TABLES: &str = "\
    CREATE TABLE Tickets64 (id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT, stub CHAR(1) NOT NULL DEFAULT '', \
    PRIMARY KEY (id), UNIQUE KEY stub (stub)) ENGINE=MyISAM;
    CREATE SEQUENCE orders;
    CREATE USER bench@'127.0.0.1';
    GRANT ALL ON *.* TO bench@'127.0.0.1';";

const SECONDS: &str = "4";
/// How many queries mariadb-slap sends in all.
const QUERIES: &str = "120000";
const PIPELINE: usize = 16;

pub(super) const PGBENCH: &[Load] = &[
    Load {
        name: "pgbench -M prepared, nextval",
        command: |at, folder| pgbench(at, folder, "prepared", 1),
        ran: processed,
        numbers: 1.0,
        goals: &[Goal::CpuAtMost(0.55), Goal::WallAtLeast(1.35)],
    },
    Load {
        name: "pgbench -M simple, nextval",
        command: |at, folder| pgbench(at, folder, "simple", 1),
        ran: processed,
        numbers: 1.0,
        goals: &[],
    },
    Load {
        name: "pgbench -M prepared, 16 in a pipeline",
        command: |at, folder| pgbench(at, folder, "prepared", PIPELINE),
        ran: processed,
        numbers: PIPELINE as f64,
        goals: &[Goal::CpuAtMost(0.22), Goal::WallAtLeast(2.5)],
    },
];

pub(super) const SLAP: &[Load] = &[
    Load {
        name: "mariadb-slap, REPLACE of a ticket",
        command: |at, _| slap(at, "REPLACE INTO Tickets64 (stub) VALUES ('a')"),
        ran: slapped,
        numbers: 1.0,
        goals: &[Goal::CpuAtMost(0.32), Goal::WallAtLeast(2.0)],
    },
    Load {
        name: "mariadb-slap, SELECT NEXTVAL",
        command: |at, _| slap(at, "SELECT NEXTVAL(orders)"),
        ran: slapped,
        numbers: 1.0,
        goals: &[],
    },
];

fn pgbench(at: SocketAddr, folder: &Path, mode: &str, at_once: usize) -> Command {
    let one = "SELECT nextval('orders');\n";
    let script = match at_once {
        1 => one.to_string(),
        // pgbench gathers results at its end.
        _ => format!("\\startpipeline\n{}\\endpipeline\n", one.repeat(at_once)),
    };
    let file = folder.join(format!("nextval-{at_once}.sql"));
    std::fs::write(&file, script).expect("the folder is ours");
    let mut command = Command::new("pgbench");
    command
        .args(["-n", "-M", mode, "-c", "8", "-j", "2", "-T", SECONDS, "-f"])
        .arg(file)
        .args([
            "-h",
            "127.0.0.1",
            "-p",
            &at.port().to_string(),
            "-U",
            "postgres",
            "ids",
        ]);
    command
}

/// `number of transactions actually processed: 364000`, `tps = 91000.123456 (without initial connection time)`
fn processed(said: &str) -> Option<(f64, f64)> {
    let after = |label: &str| -> Option<f64> {
        let line = said.lines().find_map(|line| line.strip_prefix(label))?;
        line.split([' ', '/']).next()?.parse().ok()
    };
    let transactions = after("number of transactions actually processed: ")?;
    Some((transactions, transactions / after("tps = ")?))
}

fn slap(at: SocketAddr, query: &str) -> Command {
    let mut command = Command::new("mariadb-slap");
    command
        .args([
            "--no-defaults",
            "-h",
            "127.0.0.1",
            "-P",
            &at.port().to_string(),
            "-u",
            "bench",
        ])
        .args([
            "--protocol=tcp",
            "--create-schema=ids",
            "--no-drop",
            "--concurrency=8",
        ])
        .arg(format!("--number-of-queries={QUERIES}"))
        .arg(format!("--query={query}"));
    command
}

/// `Average number of seconds to run all queries: 3.141 seconds`
fn slapped(said: &str) -> Option<(f64, f64)> {
    let (_, rest) = said.split_once("Average number of seconds to run all queries:")?;
    Some((
        QUERIES.parse().ok()?,
        rest.split_whitespace().next()?.parse().ok()?,
    ))
}
