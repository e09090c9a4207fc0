//! Real Sentinels that watch a Redis, and promote a replica of it when most of them cannot reach it.

use std::fs;
use std::net::SocketAddr;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use super::place;
use super::port::free;
use super::process::{Daemon, pause, until_ready};
use crate::need;
use crate::redis::{answers, cli};

/// How many there are; most of them must agree.
const COUNT: usize = 3;

/// Three of them, ended with the test.
#[derive(Debug)]
pub struct Sentinels {
    all: Vec<(Daemon, SocketAddr)>,
    _folder: TempDir,
}

impl Sentinels {
    /// Watches a primary, which is down once it has not answered for a second, and has met all its replicas.
    ///
    /// # Panics
    /// When they cannot be started.
    pub fn watch(primary: SocketAddr, replicas: usize) -> Sentinels {
        let folder = place::folder();
        let start = |at| Sentinels::start(&folder, at, primary);
        let all = (0..COUNT).map(start).collect();
        let sentinels = Sentinels { all, _folder: folder };
        for (_, address) in &sentinels.all {
            let (replicas, others) = (replicas.to_string(), (COUNT - 1).to_string());
            let known = |what: &str| Sentinels::field(*address, what);
            while known("num-slaves") != replicas || known("num-other-sentinels") != others {
                pause();
            }
        }
        sentinels
    }

    fn start(folder: &TempDir, at: usize, primary: SocketAddr) -> (Daemon, SocketAddr) {
        // Like any server's port, another process may have it for a moment: then with another one.
        loop {
            let address = free();
            let settings = format!(
                "port {}\nbind 127.0.0.1\nprotected-mode no\nsentinel announce-ip 127.0.0.1\ndir {}\nsentinel monitor ids {} {} 2\n\
                 sentinel down-after-milliseconds ids 1000\nsentinel failover-timeout ids 20000\n",
                address.port(),
                folder.path().display(),
                primary.ip(),
                primary.port()
            );
            // A Sentinel keeps what it learns in its own file.
            let file = folder.path().join(format!("sentinel-{at}.conf"));
            fs::write(&file, settings).expect("the folder is ours");
            need::boots("redis");
            let mut child = Command::new("redis-server")
                .arg(&file)
                .arg("--sentinel")
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .expect("redis-server can be started");
            if until_ready(&mut child, || answers(address)) {
                let mut process = Daemon::default();
                process.started(child);
                return (process, address);
            }
        }
    }

    /// Who is the primary, as most of them say.
    pub fn primary(&self) -> Option<SocketAddr> {
        let said: Vec<SocketAddr> = self
            .all
            .iter()
            .filter_map(|(_, at)| Sentinels::told(*at))
            .collect();
        let votes = |one: &SocketAddr| said.iter().filter(|other| *other == one).count();
        said.iter().copied().find(|one| votes(one) > COUNT / 2)
    }

    fn told(sentinel: SocketAddr) -> Option<SocketAddr> {
        let asked = ["SENTINEL", "get-master-addr-by-name", "ids"];
        let answer = cli(sentinel, &asked, b"").out;
        let mut lines = answer.lines();
        let (host, port) = (lines.next()?, lines.next()?);
        format!("{host}:{port}").parse().ok()
    }

    /// One field of what a Sentinel says of the primary.
    fn field(sentinel: SocketAddr, name: &str) -> String {
        let answer = cli(sentinel, &["SENTINEL", "master", "ids"], b"").out;
        let mut lines = answer.lines().skip_while(|line| *line != name);
        lines.nth(1).unwrap_or_default().to_string()
    }
}
