//! A private etcd for the store suite: one member, or several.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::lent::{self, Folder, Loan};
use super::place;
use super::process::{Daemon, pause};
use super::surroundings::Surroundings;
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
    folder: Folder,
    settings: Vec<String>,
    https: bool,
    surroundings: Surroundings,
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

    /// The same, borrowed where that can be: for a test that neither ends nor freezes the server, nor changes its accounts.
    ///
    /// # Panics
    /// When the program is there but does not work.
    pub fn borrow() -> Option<Etcd> {
        if !found() {
            return None;
        }
        let lent = |address, folder| Etcd {
            address,
            folder,
            ..Etcd::prepare(0)
        };
        let start = |loan: &Loan| {
            need::boots("etcd");
            let mut member = Etcd::prepare(0);
            member.cluster = member.in_cluster();
            let folder = place::lasting_folder();
            let server = member.command(folder.path());
            let kept = loan.keep(&server, "KILL", folder, member.address, || member.is_healthy());
            member.make_accounts();
            kept
        };
        lent::borrow("etcd", u32::MAX, lent, Etcd::is_as_new, start).or_else(Etcd::run)
    }

    /// Makes it as new: whether nothing is left of what a test did there.
    fn is_as_new(&self) -> bool {
        let all = [
            "--user",
            &format!("root:{ROOT_PASSWORD}"),
            "del",
            "--from-key",
            "",
        ];
        self.is_healthy() && self.ctl(&all).code == 0
    }

    /// Starts a cluster without accounts; `None`, said in words, where etcd is absent.
    ///
    /// # Panics
    /// When the program is there but does not work.
    pub fn cluster(members: usize) -> Option<Vec<Etcd>> {
        Etcd::cluster_within(vec![Surroundings::default(); members])
    }

    /// The same with a member in each of these surroundings.
    ///
    /// # Panics
    /// When the program is there but does not work.
    pub fn cluster_within(all: Vec<Surroundings>) -> Option<Vec<Etcd>> {
        if !found() {
            return None;
        }
        let member = |(number, surroundings)| Etcd::prepare_within(number, surroundings);
        let mut servers: Vec<Etcd> = all.into_iter().enumerate().map(member).collect();
        let all: Vec<String> = servers.iter().map(Etcd::in_cluster).collect();
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
        self.folder.must_be_own();
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

    /// A member that is not started yet.
    fn prepare(number: usize) -> Etcd {
        Etcd::prepare_within(number, Surroundings::default())
    }

    fn prepare_within(number: usize, surroundings: Surroundings) -> Etcd {
        Etcd {
            process: Daemon::default(),
            name: format!("m{number}"),
            address: surroundings.free(),
            peer: surroundings.free(),
            cluster: String::new(),
            folder: Folder::own(),
            settings: Vec::new(),
            https: false,
            surroundings,
        }
    }

    /// How the others know it.
    fn in_cluster(&self) -> String {
        format!("{}=http://{}", self.name, self.peer)
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
        self.folder.must_be_own();
        need::boots("etcd");
        let log = fs::File::create(self.folder.path().join("log")).expect("the folder is ours");
        let child = self
            .command(self.folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn();
        self.process.started(child.expect("etcd can be started"));
    }

    /// The server with its data in this folder.
    fn command(&self, folder: &Path) -> Command {
        let mut command = Command::new("etcd");
        let scheme = if self.https { "https" } else { "http" };
        let (client, peer) = (
            format!("{scheme}://{}", self.address),
            format!("http://{}", self.peer),
        );
        command
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
            .arg(folder.join("data"))
            .args(&self.settings);
        self.surroundings.around(command)
    }

    fn is_healthy(&self) -> bool {
        let health = http::exchange(self.address, "GET", "/health", "");
        health.is_ok_and(|answer| answer.text().contains("true"))
    }

    fn wait(&mut self) {
        while !self.process.has_ended() {
            if self.is_healthy() {
                return;
            }
            pause();
        }
        let log = fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
        panic!("etcd did not start:\n{log}");
    }
}

/// Whether the programs are there, or the word that they are absent.
fn found() -> bool {
    let there = |program: &str, arg: &str| need::ends_well(program, Command::new(program).arg(arg));
    need::needed("etcd", there("etcd", "--version") && there("etcdctl", "version"))
}

impl Engine for Etcd {
    fn scheme(&self) -> &'static str {
        "etcd"
    }

    fn address(&self) -> SocketAddr {
        self.address
    }

    fn process(&mut self) -> &mut Daemon {
        self.folder.must_be_own();
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
