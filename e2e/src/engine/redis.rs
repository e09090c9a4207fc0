//! A private Redis for the store suite, and its replicas.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};

use tempfile::TempDir;

use super::place;
use super::process::{Daemon, pause, signal_all, until_ready};
use super::surroundings::Surroundings;
use crate::guard::ends_with_us;
use crate::need;
use crate::redis::{answers, cli};
use crate::store_suite::{Engine, OWNER_PASSWORD};

/// SHA-256 of [`READER_PASSWORD`](crate::store_suite::READER_PASSWORD): a file of accounts knows no blanks.
const READER_SHA256: &str = "f5a44a6164c8d2a21e9770a2a496288419120ab95ab566704bc7994c264431e1";

/// A server in a folder of its own, which syncs every write unless told otherwise. Accounts `mint`, which may do
/// everything, `reader`, and the administrator without a password.
#[derive(Debug)]
pub struct Redis {
    process: Daemon,
    address: SocketAddr,
    folder: TempDir,
    settings: Vec<String>,
    surroundings: Surroundings,
}

impl Redis {
    /// Starts one; `None`, said in words, where Redis is absent.
    ///
    /// # Panics
    /// When the program is there but does not work.
    pub fn run() -> Option<Redis> {
        Redis::with_settings(&[])
    }

    /// The same with further settings, such as `--appendfsync everysec`, in single words.
    ///
    /// # Panics
    /// When the program is there but does not work.
    pub fn with_settings(settings: &[&str]) -> Option<Redis> {
        Redis::within(settings, Surroundings::default())
    }

    /// The same in other surroundings.
    ///
    /// # Panics
    /// When the program is there but does not work.
    pub fn within(settings: &[&str], surroundings: Surroundings) -> Option<Redis> {
        if !need::redis() {
            return None;
        }
        let mut server = Redis {
            process: Daemon::default(),
            address: surroundings.free(),
            folder: place::folder(),
            settings: settings.iter().map(|setting| setting.to_string()).collect(),
            surroundings,
        };
        server.start();
        Some(server)
    }

    /// Takes no writes from ten seconds on after its replica fell silent.
    pub fn bounded_by_replicas(&self) {
        self.admin(&["CONFIG", "SET", "min-replicas-max-lag", "10"]);
        self.admin(&["CONFIG", "SET", "min-replicas-to-write", "1"]);
    }

    /// A replica that follows this server through `stream`, and has its first copy.
    ///
    /// # Panics
    /// When it cannot be made.
    pub fn replica(&self, stream: SocketAddr) -> Redis {
        self.replica_within(stream, Surroundings::default())
    }

    /// The same in other surroundings.
    ///
    /// # Panics
    /// When it cannot be made.
    pub fn replica_within(&self, stream: SocketAddr, surroundings: Surroundings) -> Redis {
        let (host, port) = (stream.ip().to_string(), stream.port().to_string());
        let mut settings: Vec<&str> = self.settings.iter().map(String::as_str).collect();
        settings.extend(["--replicaof", &host, &port]);
        let replica = Redis::within(&settings, surroundings).expect("this one is there");
        while !replica.info("master_link_status").contains("up") {
            pause();
        }
        replica
    }

    /// From now on every sync of this server takes a minute, as on a disk that is about to fail; nothing else is
    /// slower. Until the answer is dropped. Needs strace.
    ///
    /// # Panics
    /// When strace cannot be started.
    pub fn slow_syncs(&self) -> SlowSyncs {
        let server = self.process.pid().expect("it runs");
        let mut child = Command::new("strace")
            .args(["-f", "-p", &server.to_string(), "-e", "trace=fdatasync"])
            .args(["-e", "inject=fdatasync:delay_enter=60000000", "-o"])
            .arg(self.folder.path().join("strace"))
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("strace can be started");
        ends_with_us(&child, "KILL");
        let mut said = BufReader::new(child.stderr.take().expect("was piped"));
        let mut line = String::new();
        while !line.contains("attached") {
            line.clear();
            let read = said.read_line(&mut line).expect("a pipe can be read");
            assert!(read > 0, "strace could not attach");
        }
        SlowSyncs { child, _said: said }
    }

    /// Ends it with SIGKILL during a slow sync, which that would otherwise wait for.
    pub fn kill_during(&mut self, slow: SlowSyncs) {
        self.process.signal("KILL");
        drop(slow);
        self.process.wait();
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Runs one command as the administrator and answers what redis-cli prints.
    ///
    /// # Panics
    /// When it fails.
    #[track_caller]
    pub fn admin(&self, words: &[&str]) -> String {
        let words: Vec<&str> = ["-e"].iter().chain(words).copied().collect();
        cli(self.address, &words, b"").ok()
    }

    /// One line of `INFO`.
    pub fn info(&self, name: &str) -> String {
        let all = cli(self.address, &["INFO"], b"").out;
        let line = all.lines().find(|line| line.starts_with(&format!("{name}:")));
        line.unwrap_or_default().to_string()
    }

    /// Removes all its data while it is down.
    ///
    /// # Panics
    /// When it runs.
    pub fn wipe(&mut self) {
        assert!(self.process.pid().is_none(), "only while it is down");
        for entry in fs::read_dir(self.folder.path()).expect("the folder is ours") {
            let path: PathBuf = entry.expect("the folder is ours").path();
            match path.is_dir() {
                true => fs::remove_dir_all(path),
                false => fs::remove_file(path),
            }
            .expect("the folder is ours");
        }
    }
}

/// Ends the slowness when it is dropped.
#[derive(Debug)]
pub struct SlowSyncs {
    child: Child,
    _said: BufReader<ChildStderr>,
}

impl Drop for SlowSyncs {
    fn drop(&mut self) {
        // Asked to end, it would first wait for the delay of whom it traces.
        signal_all(&[self.child.id()], "KILL");
        self.child.wait().ok();
    }
}

impl Engine for Redis {
    fn scheme(&self) -> &'static str {
        "redis"
    }

    fn address(&self) -> SocketAddr {
        self.address
    }

    fn database(&self) -> &'static str {
        "/0"
    }

    fn process(&mut self) -> &mut Daemon {
        &mut self.process
    }

    fn start(&mut self) {
        let accounts = self.folder.path().join("users.acl");
        let lines = format!(
            "user default on nopass ~* &* +@all\n\
             user mint on >{OWNER_PASSWORD} ~* &* +@all\n\
             user reader on #{READER_SHA256} ~* +@read +eval +evalsha +info +config|get\n"
        );
        fs::write(&accounts, lines).expect("the folder is ours");
        let log = self.folder.path().join("log");
        // Another process may have the port for a moment after a kill: then try again.
        for _ in 0..200 {
            need::boots("redis");
            let (host, port) = (self.address.ip().to_string(), self.address.port().to_string());
            let mut server = Command::new("redis-server");
            server
                .args(["--port", &port, "--bind", &host, "--protected-mode", "no"])
                .args(["--save", "", "--appendonly", "yes", "--appendfsync", "always"])
                .args([
                    "--repl-diskless-sync-delay",
                    "0",
                    "--daemonize",
                    "no",
                    "--aclfile",
                ])
                .arg(&accounts)
                .args(&self.settings)
                .arg("--dir")
                .arg(self.folder.path())
                .arg("--logfile")
                .arg(&log);
            let mut child = self
                .surroundings
                .around(server)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .expect("redis-server can be started");
            if until_ready(&mut child, || answers(self.address)) {
                self.process.started(child);
                return;
            }
            let said = fs::read_to_string(&log).unwrap_or_default();
            assert!(
                said.contains("Address already in use"),
                "redis-server did not start:\n{said}"
            );
        }
        panic!("the port of redis-server stays in use");
    }

    fn empty(&mut self) {
        self.admin(&["FLUSHALL"]);
    }

    fn data_folder(&self) -> PathBuf {
        self.folder.path().to_path_buf()
    }

    fn set_schema_version(&mut self, version: u32) {
        self.admin(&["HSET", "mint_meta", "schema_version", &version.to_string()]);
    }

    fn set_cluster_id(&mut self, id: u128) {
        self.admin(&["HSET", "mint_meta", "cluster_id", &format!("{id:032x}")]);
    }
}
