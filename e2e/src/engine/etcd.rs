//! A private etcd for the store suite: one member, or several.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use super::port::free;
use super::process::Daemon;
use crate::http;
use crate::need;
use crate::run::{self, Said};
use crate::store_suite::{Engine, OWNER_PASSWORD, READER_PASSWORD};

/// The administrator's password.
const ROOT_PASSWORD: &str = "root";

/// One member in a folder of its own. Accounts `mint`, which may write what the store writes, and `reader`.
#[derive(Debug)]
pub struct Etcd {
    process: Daemon,
    name: String,
    address: SocketAddr,
    peer: SocketAddr,
    /// Every member's name and peer address.
    cluster: String,
    folder: TempDir,
    settings: Vec<String>,
    https: bool,
}

impl Etcd {
    /// Starts a cluster of one, with accounts; `None`, said in words, where etcd is absent.
    ///
    /// # Panics
    /// When the program is there but does not work.
    pub fn run() -> Option<Etcd> {
        let server = Etcd::cluster(1)?.remove(0);
        server.make_accounts();
        Some(server)
    }

    /// Starts a cluster without accounts; `None`, said in words, where etcd is absent.
    ///
    /// # Panics
    /// When the program is there but does not work.
    pub fn cluster(members: usize) -> Option<Vec<Etcd>> {
        let there = |program: &str, arg: &str| {
            let mut probe = Command::new(program);
            probe.arg(arg).stdout(Stdio::null()).stderr(Stdio::null());
            probe.status().is_ok_and(|status| status.success())
        };
        if !need::needed("etcd", there("etcd", "--version") && there("etcdctl", "version")) {
            return None;
        }
        let mut servers: Vec<Etcd> = (0..members)
            .map(|n| Etcd {
                process: Daemon::default(),
                name: format!("m{n}"),
                address: free(),
                peer: free(),
                cluster: String::new(),
                folder: tempfile::tempdir().expect("a temporary folder can be made"),
                settings: Vec::new(),
                https: false,
            })
            .collect();
        let all: Vec<String> = servers
            .iter()
            .map(|server| format!("{}=http://{}", server.name, server.peer))
            .collect();
        for server in &mut servers {
            server.cluster = all.join(",");
            server.launch();
        }
        for server in &mut servers {
            server.wait();
        }
        Some(servers)
    }

    /// Starts a cluster of one that speaks TLS only, with these files in PEM: certificate, key, and the authority
    /// that clients must come from.
    ///
    /// # Panics
    /// When the program is there but does not work.
    pub fn with_tls(cert: &str, key: &str, client_ca: &str) -> Option<Etcd> {
        let mut server = Etcd::cluster(1)?.remove(0);
        server.kill();
        server.https = true;
        server.settings = ["--cert-file", cert, "--key-file", key, "--client-cert-auth"]
            .iter()
            .chain(&["--trusted-ca-file", client_ca])
            .map(|setting| setting.to_string())
            .collect();
        server.launch();
        // Its health is behind TLS, too; the one who opens a store will wait for it.
        Some(server)
    }

    /// Runs etcdctl as the administrator.
    pub fn ctl(&self, args: &[&str]) -> Said {
        let mut command = Command::new("etcdctl");
        command
            .env("ETCDCTL_API", "3")
            .args(["--endpoints", &format!("http://{}", self.address)])
            .args(["--dial-timeout=60s", "--command-timeout=60s"])
            .args(args);
        run::with_input(command, b"")
    }

    /// The same with the administrator's account.
    ///
    /// # Panics
    /// When it fails.
    #[track_caller]
    pub fn admin(&self, args: &[&str]) -> String {
        let root = format!("root:{ROOT_PASSWORD}");
        let args: Vec<&str> = ["--user", &root].iter().chain(args).copied().collect();
        self.ctl(&args).ok()
    }

    /// Saves a snapshot of a cluster without accounts.
    ///
    /// # Panics
    /// When it cannot be saved.
    pub fn save_snapshot(&self) -> PathBuf {
        let file = self.folder.path().join("snapshot");
        self.ctl(&["snapshot", "save", &file.display().to_string()]).ok();
        file
    }

    /// Puts a snapshot in the place of a single member's data while it is down.
    ///
    /// # Panics
    /// When it runs, or the snapshot is none.
    pub fn restore_snapshot(&self, file: &Path) {
        assert!(self.process.pid().is_none(), "only while it is down");
        let data = self.folder.path().join("data");
        fs::remove_dir_all(&data).expect("the folder is ours");
        let data = data.display().to_string();
        let args = [
            "snapshot",
            "restore",
            &file.display().to_string(),
            "--data-dir",
            &data,
        ];
        let peer = format!("http://{}", self.peer);
        let member = ["--name", &self.name, "--initial-cluster", &self.cluster];
        let advertised = ["--initial-advertise-peer-urls", &peer];
        self.ctl(&[&args[..], &member, &advertised].concat()).ok();
    }

    fn make_accounts(&self) {
        let ctl = |args: &[&str]| self.ctl(args).ok();
        for (user, password) in [
            ("root", ROOT_PASSWORD),
            ("mint", OWNER_PASSWORD),
            ("reader", READER_PASSWORD),
        ] {
            ctl(&["user", "add", user, &format!("--new-user-password={password}")]);
            ctl(&["role", "add", user]);
            ctl(&["user", "grant-role", user, user]);
        }
        for (role, right) in [("mint", "readwrite"), ("reader", "read")] {
            ctl(&["role", "grant-permission", role, "--prefix=true", right, "mint_"]);
        }
        ctl(&["auth", "enable"]);
    }

    /// Its folder, data and all.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn launch(&mut self) {
        let mut command = Command::new("etcd");
        let scheme = if self.https { "https" } else { "http" };
        let (client, peer) = (
            format!("{scheme}://{}", self.address),
            format!("http://{}", self.peer),
        );
        let log = fs::File::create(self.folder.path().join("log")).expect("the folder is ours");
        let child = command
            .args(["--name", &self.name, "--bcrypt-cost", "4", "--logger", "zap"])
            .args([
                "--listen-client-urls",
                &client,
                "--advertise-client-urls",
                &client,
            ])
            .args([
                "--listen-peer-urls",
                &peer,
                "--initial-advertise-peer-urls",
                &peer,
            ])
            .args(["--initial-cluster", &self.cluster, "--data-dir"])
            .arg(self.folder.path().join("data"))
            .args(&self.settings)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn();
        self.process.started(child.expect("etcd can be started"));
    }

    fn wait(&mut self) {
        while !self.process.has_ended() {
            let health = http::exchange(self.address, "GET", "/health", "");
            if health.is_ok_and(|answer| answer.text().contains("true")) {
                return;
            }
            std::thread::yield_now();
        }
        let log = fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
        panic!("etcd did not start:\n{log}");
    }
}

impl Engine for Etcd {
    fn scheme(&self) -> &'static str {
        "etcd"
    }

    fn address(&self) -> SocketAddr {
        self.address
    }

    fn process(&mut self) -> &mut Daemon {
        &mut self.process
    }

    fn start(&mut self) {
        self.launch();
        self.wait();
    }

    fn empty(&mut self) {
        self.admin(&["del", "--prefix", "mint_"]);
    }

    fn data_folder(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn set_schema_version(&mut self, version: u32) {
        let meta = self.admin(&["get", "--print-value-only", "mint_meta"]);
        let (_, id) = meta.split_once(',').expect("a version and an id");
        let meta = format!("{{\"schema_version\":{version},{}", id.trim());
        self.admin(&["put", "mint_meta", &meta]);
    }

    fn set_cluster_id(&mut self, id: u128) {
        let meta = format!("{{\"schema_version\":1,\"cluster_id\":\"{id:032x}\"}}");
        self.admin(&["put", "mint_meta", &meta]);
    }
}
