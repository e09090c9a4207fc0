//! A private MariaDB for the store suite.

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use super::port::free;
use super::process::Daemon;
use crate::certificates::Certificates;
use crate::run::{self, Said};
use crate::sql::mariadb::{found, install, program, user};
use crate::sql::template::{copy, template};
use crate::store_suite::{Engine, OWNER_PASSWORD, READER_PASSWORD};

/// A server in a folder of its own, durable as a careful administrator would have it.
#[derive(Debug)]
pub struct Mariadb {
    process: Daemon,
    address: SocketAddr,
    folder: TempDir,
    settings: Vec<String>,
}

impl Mariadb {
    /// Starts one with the database `ids`, which account `mint` may do everything with; `None`, said in words,
    /// where MariaDB is absent.
    ///
    /// # Panics
    /// When the programs are there but do not work.
    pub fn run() -> Option<Mariadb> {
        Mariadb::with_settings(&[])
    }

    /// The same with further settings, such as `--sync-binlog=0`.
    ///
    /// # Panics
    /// When the programs are there but do not work.
    pub fn with_settings(settings: &[&str]) -> Option<Mariadb> {
        if !found() {
            return None;
        }
        let key = format!("{OWNER_PASSWORD}{READER_PASSWORD}");
        let template = template("mariadb-store", &key, |data| {
            let mut server = Mariadb::prepare(&[]);
            install(&user(), &server.data());
            server.start();
            server.admin(
                "",
                &format!(
                    "CREATE DATABASE ids;
                     CREATE USER mint@'%' IDENTIFIED BY '{OWNER_PASSWORD}';
                     CREATE USER reader@'%' IDENTIFIED BY '{READER_PASSWORD}';
                     GRANT ALL ON ids.* TO mint@'%';
                     GRANT SELECT ON ids.* TO reader@'%';"
                ),
            );
            server.stop();
            copy(&server.data(), data);
        });
        let mut server = Mariadb::prepare(settings);
        copy(&template, &server.data());
        server.start();
        Some(server)
    }

    /// One that speaks TLS to who wants it.
    ///
    /// # Panics
    /// When the programs are there but do not work.
    pub fn with_certificates(certificates: &Certificates) -> Option<Mariadb> {
        let cert = format!("--ssl-cert={}", certificates.server().display());
        let key = format!("--ssl-key={}", certificates.key().display());
        Mariadb::with_settings(&[&cert, &key])
    }

    /// What it has written about itself.
    fn log(&self) -> String {
        let log = fs::read(self.folder.path().join("log.err")).unwrap_or_default();
        String::from_utf8_lossy(&log).into_owned()
    }

    /// Where its data is.
    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Runs SQL as the administrator and answers its rows.
    ///
    /// # Panics
    /// When it fails.
    #[track_caller]
    pub fn admin(&self, database: &str, sql: &str) -> String {
        self.sql(database, sql).ok()
    }

    /// Runs SQL as the administrator, as a batch: rows without headings, fields parted by tabs.
    pub fn sql(&self, database: &str, sql: &str) -> Said {
        run::with_input(self.batch(database), sql.as_bytes())
    }

    /// The client program that reads a batch of the administrator's, and writes every row at once.
    pub fn batch(&self, database: &str) -> Command {
        let mut command = self.client("mariadb");
        command.args([
            "-N",
            "-B",
            "-n",
            "--default-character-set=utf8mb4",
            "-D",
            database,
        ]);
        command
    }

    /// The whole database as SQL that puts it back in the place of what is there then.
    ///
    /// # Panics
    /// When it cannot be had.
    pub fn dump(&self) -> String {
        let mut command = Command::new("mariadb-dump");
        command
            .args(["--no-defaults", "-u", "root", "-S"])
            .arg(self.folder.path().join("s"))
            .arg("ids");
        run::with_input(command, b"").ok()
    }

    /// One of its client programs, as the administrator.
    pub fn client(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .args(["--no-defaults", "--connect-timeout=60", "-u", "root", "-S"])
            .arg(self.folder.path().join("s"));
        command
    }

    fn prepare(settings: &[&str]) -> Mariadb {
        Mariadb {
            process: Daemon::default(),
            address: free(),
            folder: tempfile::tempdir().expect("a temporary folder can be made"),
            settings: settings.iter().map(|setting| setting.to_string()).collect(),
        }
    }
}

impl Engine for Mariadb {
    fn scheme(&self) -> &'static str {
        "mysql"
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

    fn start(&mut self) {
        let file = |name: &str| self.folder.path().join(name).display().to_string();
        let mut command = program("mariadbd", self.folder.path());
        command
            .args([
                "--no-defaults",
                &user(),
                "--bind-address=127.0.0.1",
                "--skip-name-resolve",
            ])
            .args([
                "--innodb-buffer-pool-size=64M",
                "--innodb-log-file-size=64M",
                "--default-time-zone=+00:00",
            ])
            .args(&self.settings)
            .arg(format!("--port={}", self.address.port()))
            .arg(format!("--datadir={}", file("data")))
            .arg(format!("--socket={}", file("s")))
            .arg(format!("--pid-file={}", file("pid")))
            .arg(format!("--log-error={}", file("log.err")));
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let mut child = child.expect("mariadbd can be started");
        while child.try_wait().expect("was started").is_none() {
            let mut ping = self.client("mariadb-admin");
            ping.args(["--connect-timeout=2", "ping"]);
            if run::with_input(ping, b"").code == 0 {
                self.process.started(child);
                return;
            }
        }
        panic!("mariadbd did not start:\n{}", self.log());
    }

    fn empty(&mut self) {
        self.admin("ids", "TRUNCATE mint_register; TRUNCATE mint_meta");
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

impl Drop for Mariadb {
    /// What it has to say to a test that failed.
    fn drop(&mut self) {
        if std::thread::panicking() && self.process.has_ended() {
            eprintln!("MariaDB ended by itself:\n{}", self.log());
        }
    }
}
