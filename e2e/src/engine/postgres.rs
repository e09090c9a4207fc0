//! A private PostgreSQL for the store suite, and its replicas.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use super::port::free;
use super::process::{Daemon, freeze_tree, signal_all, signal_tree};
use crate::certificates::Certificates;
use crate::run::{self, Said};
use crate::sql::pack::open_folder;
use crate::sql::postgres::{answers, as_owner, found, initdb, is_root, make_data_folder};
use crate::sql::template::{copy, template};
use crate::store_suite::{Engine, OWNER_PASSWORD, READER_PASSWORD};

/// Accounts with passwords, and the administrator without one.
const HBA: &str = "host all postgres 127.0.0.1/32 trust
host replication postgres 127.0.0.1/32 trust
host all all 127.0.0.1/32 scram-sha-256
";

/// Settings with which nothing writes the log out but who has to.
pub const LOG_IS_LEFT: [&str; 4] = [
    "wal_level=minimal",
    "max_wal_senders=0",
    "wal_writer_delay=10s",
    "autovacuum=off",
];

/// A server in a folder of its own, durable as a careful administrator would have it.
#[derive(Debug)]
pub struct Postgres {
    process: Daemon,
    bin: PathBuf,
    address: SocketAddr,
    folder: TempDir,
    settings: Vec<String>,
}

impl Postgres {
    /// Starts one with the database `ids`, whose owner is `mint`; `None`, said in words, where PostgreSQL is absent.
    ///
    /// # Panics
    /// When the programs are there but do not work.
    pub fn run() -> Option<Postgres> {
        Postgres::with_settings(&[])
    }

    /// The same with further settings, such as `synchronous_commit=off`.
    ///
    /// # Panics
    /// When the programs are there but do not work.
    pub fn with_settings(settings: &[&str]) -> Option<Postgres> {
        Postgres::prepared(settings, |_| ())
    }

    /// One that speaks TLS to who wants it.
    ///
    /// # Panics
    /// When the programs are there but do not work.
    pub fn with_certificates(certificates: &Certificates) -> Option<Postgres> {
        let settings = ["ssl=on", "ssl_cert_file=server.pem", "ssl_key_file=server.key"];
        Postgres::prepared(&settings, |data| {
            certificates.install(data, is_root().then_some("postgres"));
        })
    }

    fn prepared(settings: &[&str], furnish: impl Fn(&Path)) -> Option<Postgres> {
        let bin = found()?;
        let key = format!("{}\n{HBA}{OWNER_PASSWORD}{READER_PASSWORD}", bin.display());
        let template = template("postgres-store", &key, |data| {
            let mut server = Postgres::prepare(bin.clone(), &[]);
            initdb(&server.bin, &server.data());
            server.start();
            server.admin(
                "postgres",
                &format!(
                    "CREATE ROLE mint LOGIN PASSWORD '{OWNER_PASSWORD}';
                     CREATE ROLE reader LOGIN PASSWORD '{READER_PASSWORD}';
                     CREATE DATABASE ids OWNER mint;"
                ),
            );
            server.admin(
                "ids",
                "GRANT ALL ON SCHEMA public TO mint;
                 ALTER DEFAULT PRIVILEGES FOR ROLE mint GRANT SELECT ON TABLES TO reader;",
            );
            server.stop();
            fs::write(server.data().join("pg_hba.conf"), HBA).expect("the folder is ours");
            copy(&server.data(), data);
        });
        let mut server = Postgres::prepare(bin, settings);
        copy(&template, &server.data());
        furnish(&server.data());
        server.start();
        Some(server)
    }

    /// A standby that streams from this server, asynchronously unless this server's settings name it.
    ///
    /// # Panics
    /// When it cannot be made.
    pub fn replica(&self, name: &str) -> Postgres {
        let mut server = Postgres::prepare(self.bin.clone(), &[&format!("cluster_name={name}")]);
        let mut backup = as_owner(&self.bin.join("pg_basebackup"));
        // The folder must belong to the account that runs the server.
        let data = server.data();
        make_data_folder(&data);
        backup
            .arg("-D")
            .arg(&data)
            .args([
                "-h",
                "127.0.0.1",
                "-U",
                "postgres",
                "-c",
                "fast",
                "-X",
                "stream",
                "-R",
                "--no-sync",
            ])
            .args(["-p", &self.address.port().to_string()]);
        run::with_input(backup, b"").ok();
        server.start();
        server
    }

    /// Makes a standby the primary, and waits until it takes writes.
    ///
    /// # Panics
    /// When it does not.
    pub fn promote(&self) {
        assert_eq!(self.admin("postgres", "SELECT pg_promote(true, 60)").trim(), "t");
    }

    /// Where its data is.
    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// What its log says so far.
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// The whole database as SQL that puts it back in the place of what is there then.
    ///
    /// # Panics
    /// When it cannot be had.
    pub fn dump(&self) -> String {
        let mut command = Command::new(self.bin.join("pg_dump"));
        command
            .args(["--clean", "-h", "127.0.0.1", "-U", "postgres", "-d", "ids"])
            .args(["-p", &self.address.port().to_string()])
            .current_dir("/");
        run::with_input(command, b"").ok()
    }

    /// Forgets the log of what was written last, as after the loss of `pg_wal`, while it is down: what only stood
    /// there is gone.
    ///
    /// # Panics
    /// When it runs, or cannot be done.
    pub fn reset_wal(&self) {
        assert!(self.process.pid().is_none(), "only while it is down");
        let mut command = as_owner(&self.bin.join("pg_resetwal"));
        command.args(["-f", "-D"]).arg(self.data());
        run::with_input(command, b"").ok();
    }

    /// Ends it with SIGQUIT, as `pg_ctl stop -m immediate` does: nothing is written any more, and nobody is awaited.
    pub fn abort(&self) {
        self.process.signal("QUIT");
    }

    /// Runs SQL as the administrator and answers what psql says.
    ///
    /// # Panics
    /// When it fails.
    #[track_caller]
    pub fn admin(&self, database: &str, sql: &str) -> String {
        self.psql(database, sql).ok()
    }

    /// Runs SQL as the administrator: unaligned rows, fields parted by tabs, an end at the first error.
    pub fn psql(&self, database: &str, sql: &str) -> Said {
        let mut command = self.client(database);
        command.args(["-v", "ON_ERROR_STOP=1"]);
        run::with_input(command, sql.as_bytes())
    }

    /// psql as the administrator, which writes unaligned rows and goes on after errors.
    pub fn client(&self, database: &str) -> Command {
        let mut command = Command::new(self.bin.join("psql"));
        command
            .args(["-X", "-q", "-A", "-t", "-F", "\t"])
            .args(["-h", "127.0.0.1", "-U", "postgres", "-d", database])
            .args(["-p", &self.address.port().to_string()])
            .current_dir("/");
        command
    }

    /// Everything but data and process.
    fn prepare(bin: PathBuf, settings: &[&str]) -> Postgres {
        Postgres {
            process: Daemon::default(),
            bin,
            address: free(),
            folder: open_folder(),
            settings: settings.iter().map(|setting| setting.to_string()).collect(),
        }
    }
}

impl Engine for Postgres {
    fn scheme(&self) -> &'static str {
        "postgres"
    }

    fn address(&self) -> SocketAddr {
        self.address
    }

    fn database(&self) -> &'static str {
        "/ids"
    }

    fn process(&mut self) -> &mut Daemon {
        &mut self.process
    }

    fn stop(&mut self) {
        // A fast shutdown: sessions are ended, everything is written.
        self.process.signal("INT");
        self.process.wait();
    }

    fn kill(&mut self) {
        if let Some(pid) = self.process.pid() {
            let all = freeze_tree(pid);
            signal_all(&all, "KILL");
            self.process.wait();
            // Its children hold the shared memory that a new server wants; they are not ours to wait for.
            while all.iter().any(|pid| Path::new(&format!("/proc/{pid}")).exists()) {
                std::thread::yield_now();
            }
            // It names a process, and by the next start another program's may have that number.
            let _ = fs::remove_file(self.data().join("postmaster.pid"));
        }
    }

    fn start(&mut self) {
        let port = self.address.port().to_string();
        let log = fs::File::options()
            .create(true)
            .append(true)
            .open(self.folder.path().join("log"));
        let mut command = as_owner(&self.bin.join("postgres"));
        command.arg("-D").arg(self.data()).args(["-p", &port]);
        for setting in [
            "listen_addresses=127.0.0.1",
            "unix_socket_directories=",
            "max_connections=40",
            "shared_buffers=32MB",
            "timezone=UTC",
        ] {
            command.args(["-c", setting]);
        }
        for setting in &self.settings {
            command.args(["-c", setting]);
        }
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log.expect("the folder is ours"))
            .spawn()
            .expect("setpriv can be started");
        while child.try_wait().expect("was started").is_none() {
            let mut ready = Command::new(self.bin.join("pg_isready"));
            ready.args(["-q", "-h", "127.0.0.1", "-p", &port]);
            if answers(&mut ready) {
                self.process.started(child);
                return;
            }
        }
        panic!("postgres did not start:\n{}", self.log());
    }

    fn thaw(&mut self) {
        if let Some(pid) = self.process.pid() {
            signal_tree(pid, "CONT");
        }
    }

    fn empty(&mut self) {
        self.admin("ids", "TRUNCATE mint_register, mint_meta");
    }

    fn data_folder(&self) -> PathBuf {
        self.data()
    }

    fn set_schema_version(&mut self, version: u32) {
        self.admin("ids", &format!("UPDATE mint_meta SET schema_version = {version}"));
    }

    fn set_cluster_id(&mut self, id: u128) {
        self.admin("ids", &format!("UPDATE mint_meta SET cluster_id = '{id:032x}'"));
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.thaw();
        self.stop();
    }
}
