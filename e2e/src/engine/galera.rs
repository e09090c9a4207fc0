//! Three nodes of MariaDB with Galera, all on this machine.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use super::place;
use super::port::free;
use super::process::{Daemon, pause, signal_all, tree, until_ready};
use crate::need;
use crate::run::{self, Said};
use crate::sql::mariadb::{found, install, program, user};
use crate::sql::postgres::is_root;
use crate::sql::template::{copy, template};
use crate::store_suite::{OWNER_PASSWORD, OWNER_PASSWORD_ENCODED};

const PROVIDER: &str = "/usr/lib/galera/libgalera_smm.so";

/// How many nodes there are.
pub const NODES: usize = 3;

/// A cluster with the database `ids`, which account `mint` may do everything with.
#[derive(Debug)]
pub struct Galera {
    nodes: Vec<Node>,
    folder: TempDir,
}

#[derive(Debug)]
struct Node {
    process: Daemon,
    /// For clients, the group, incremental and full transfers.
    client: SocketAddr,
    group: SocketAddr,
    increments: SocketAddr,
    transfers: SocketAddr,
}

impl Galera {
    /// Starts the cluster; `None`, said in words, where Galera is absent.
    ///
    /// # Panics
    /// When the programs are there but do not work.
    pub fn run() -> Option<Galera> {
        let there = found() && fs::exists(PROVIDER).unwrap_or(false) && rsync_is_there();
        if !need::needed("galera", there) {
            return None;
        }
        let template = template("galera", OWNER_PASSWORD, |data| {
            let folder = place::folder();
            give_away(folder.path());
            install(&account(), &folder.path().join("data"));
            copy(&folder.path().join("data"), data);
        });
        let node = |_| Node {
            process: Daemon::default(),
            client: free(),
            group: free(),
            increments: free(),
            transfers: free(),
        };
        let mut cluster = Galera {
            nodes: (0..NODES).map(node).collect(),
            folder: place::folder(),
        };
        for node in 0..NODES {
            fs::create_dir(cluster.place(node, "")).expect("the folder is ours");
            copy(&template, &cluster.place(node, "data"));
        }
        cluster.give_away();
        cluster.bootstrap(0);
        cluster.admin(
            0,
            &format!(
                "CREATE DATABASE ids;
                 CREATE USER mint@'%' IDENTIFIED BY '{OWNER_PASSWORD}';
                 GRANT ALL ON ids.* TO mint@'%';
                 GRANT SELECT ON mysql.wsrep_cluster TO mint@'%';
                 GRANT SELECT ON mysql.wsrep_cluster_members TO mint@'%';"
            ),
        );
        for node in 1..NODES {
            cluster.start(node);
        }
        Some(cluster)
    }

    /// Where a node listens to clients.
    pub fn address(&self, node: usize) -> SocketAddr {
        self.nodes[node].client
    }

    /// The store's URL for a client that connects to `at`.
    pub fn url(&self, at: SocketAddr) -> String {
        format!("mysql://mint:{OWNER_PASSWORD_ENCODED}@{at}/ids")
    }

    /// Runs SQL on a node as the administrator.
    ///
    /// # Panics
    /// When it fails.
    #[track_caller]
    pub fn admin(&self, node: usize, sql: &str) -> String {
        self.sql(node, sql).ok()
    }

    /// What a node says of itself: a status variable, empty while it does not answer.
    pub fn status(&self, node: usize, name: &str) -> String {
        let said = self.sql(node, &format!("SHOW GLOBAL STATUS LIKE '{name}'"));
        let value = said
            .out
            .trim()
            .split_once('\t')
            .map(|(_, value)| value.to_string());
        value.unwrap_or_default()
    }

    /// Ends a node with SIGKILL.
    pub fn kill(&mut self, node: usize) {
        if let Some(pid) = self.nodes[node].process.pid() {
            signal_all(&tree(pid), "KILL");
        }
        self.nodes[node].process.wait();
    }

    /// Ends a node cleanly.
    pub fn stop(&mut self, node: usize) {
        self.nodes[node].process.stop();
    }

    /// Starts a node that joins the others, and waits until it takes part.
    ///
    /// # Panics
    /// When it does not start.
    pub fn start(&mut self, node: usize) {
        self.launch(node, &[]);
    }

    /// Starts a node that takes everything from the others, whatever it knew itself: one that knows more than they do
    /// will not join them otherwise.
    ///
    /// # Panics
    /// When it does not start.
    pub fn start_afresh(&mut self, node: usize) {
        for name in ["grastate.dat", "gvwstate.dat", "galera.cache"] {
            fs::remove_file(self.place(node, "data").join(name)).ok();
        }
        self.start(node);
    }

    /// Starts a node as the first of a new cluster, on the data that it has: what an administrator does after all nodes
    /// have ended, and should do on the one that is furthest.
    ///
    /// # Panics
    /// When it does not start.
    pub fn bootstrap(&mut self, node: usize) {
        let state = self.place(node, "data/grastate.dat");
        let known = fs::read_to_string(&state).unwrap_or_default();
        if known.is_empty() {
            return self.launch(node, &["--wsrep-new-cluster".into()]);
        }
        let safe = known.replace("safe_to_bootstrap: 0", "safe_to_bootstrap: 1");
        fs::write(&state, safe).expect("the folder is ours");
        // As Debian's galera_recovery does: where the node's own data end.
        let mut recover = self.command(node);
        let log = self.place(node, "recovery.err");
        fs::remove_file(&log).ok();
        recover
            .arg("--wsrep-recover")
            .arg(format!("--log-error={}", log.display()));
        run::with_input(recover, b"").ok();
        let said = fs::read_to_string(&log).expect("it has written where it is");
        let position = said
            .rsplit_once("Recovered position: ")
            .expect("it says where it is")
            .1;
        let position = position.lines().next().unwrap_or_default();
        let position = format!("--wsrep-start-position={position}");
        self.launch(node, &["--wsrep-new-cluster".into(), position]);
    }

    /// Cuts a node off from the others, or joins it again. Its clients reach it as before.
    pub fn isolate(&self, node: usize, cut: bool) {
        let cut = u8::from(cut);
        self.admin(
            node,
            &format!("SET GLOBAL wsrep_provider_options = 'gmcast.isolate={cut}'"),
        );
    }

    /// Waits until a status variable of a node has this value.
    pub fn wait_for(&self, node: usize, name: &str, value: &str) {
        while self.status(node, name) != value {
            pause();
        }
    }

    fn launch(&mut self, node: usize, further: &[String]) {
        let mut command = self.command(node);
        command
            .args(further)
            .arg(format!("--log-error={}", self.place(node, "log.err").display()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        need::boots("galera");
        let mut child = command.spawn().expect("mariadbd can be started");
        if until_ready(&mut child, || self.status(node, "wsrep_ready") == "ON") {
            self.nodes[node].process.started(child);
            return;
        }
        panic!("node {node} did not start:\n{}", self.logs());
    }

    /// Makes the folder the servers' own.
    fn give_away(&self) {
        give_away(self.folder.path());
    }

    /// The ends of what all nodes have written: one often fails for another's reason.
    fn logs(&self) -> String {
        let mut text = String::new();
        for node in 0..NODES {
            let log = fs::read(self.place(node, "log.err")).unwrap_or_default();
            let log = String::from_utf8_lossy(&log).into_owned();
            let lines: Vec<&str> = log.lines().collect();
            let last = &lines[lines.len().saturating_sub(140)..];
            text.push_str(&format!("node {node}:\n{}\n", last.join("\n")));
        }
        text
    }

    /// The server with all its settings.
    fn command(&self, node: usize) -> Command {
        let place = |name: &str| self.place(node, name).display().to_string();
        let Node {
            client,
            group,
            increments,
            transfers,
            ..
        } = &self.nodes[node];
        let others: Vec<String> = self.nodes.iter().map(|node| node.group.to_string()).collect();
        let mut command = program("mariadbd", &self.place(node, ""));
        command.args([
            "--no-defaults",
            &account(),
            "--bind-address=127.0.0.1",
            "--skip-name-resolve",
            "--innodb-buffer-pool-size=32M",
            "--innodb-log-file-size=64M",
            "--default-time-zone=+00:00",
            "--binlog-format=ROW",
            "--innodb-autoinc-lock-mode=2",
            "--wsrep-on=ON",
            "--wsrep-cluster-name=mint",
            "--wsrep-sst-method=rsync",
        ]);
        command
            .arg(format!("--port={}", client.port()))
            .arg(format!("--server-id={}", node + 1))
            .arg(format!("--datadir={}", place("data")))
            .arg(format!("--socket={}", place("s")))
            .arg(format!("--pid-file={}", place("pid")))
            .arg(format!("--wsrep-provider={PROVIDER}"))
            .arg(format!("--wsrep-cluster-address=gcomm://{}", others.join(",")))
            .arg(format!("--wsrep-node-address={group}"))
            .arg(format!("--wsrep-sst-receive-address={transfers}"))
            .arg(format!(
                "--wsrep-provider-options=gmcast.listen_addr=tcp://{group};ist.recv_addr={increments};\
                 gcache.size=16M;evs.keepalive_period=PT0.3S;evs.suspect_timeout=PT2S;evs.inactive_timeout=PT4S"
            ));
        command
    }

    fn place(&self, node: usize, name: &str) -> PathBuf {
        self.folder.path().join(format!("n{node}")).join(name)
    }

    fn sql(&self, node: usize, sql: &str) -> Said {
        let mut command = Command::new("mariadb");
        command
            .args([
                "--no-defaults",
                "--connect-timeout=60",
                "-u",
                "root",
                "-N",
                "-B",
                "-S",
            ])
            .arg(self.place(node, "s"));
        run::with_input(command, sql.as_bytes())
    }
}

/// Not the administrator: rsync, which carries a node's data to another, gives his rights up.
/// Makes a folder, and all in it, the account's that the nodes run as.
fn give_away(folder: &Path) {
    if is_root() {
        let mut chown = Command::new("chown");
        chown.args(["-R", "mysql"]).arg(folder);
        run::with_input(chown, b"").ok();
    }
}

fn account() -> String {
    match is_root() {
        true => "--user=mysql".to_string(),
        false => user(),
    }
}

fn rsync_is_there() -> bool {
    need::ends_well("rsync", Command::new("rsync").arg("--version"))
}

impl Drop for Galera {
    fn drop(&mut self) {
        for node in 0..NODES {
            self.kill(node);
        }
    }
}
