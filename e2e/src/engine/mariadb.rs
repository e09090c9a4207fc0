//! A private MariaDB for the store suite.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::lent::{self, Folder, Loan};
use super::port::free;
use super::process::{Daemon, until_ready};
use super::surroundings::Surroundings;
use super::{as_new, place};
use crate::certificates::Certificates;
use crate::need;
use crate::run::{self, Said};
use crate::sql::mariadb::{found, install, is_ready, program, user};
use crate::sql::template::{copy, template};
use crate::store_suite::{Engine, OWNER_PASSWORD, READER_PASSWORD};

/// The database, and the accounts.
fn accounts() -> String {
    format!(
        "CREATE DATABASE ids;
         CREATE USER mint@'%' IDENTIFIED BY '{OWNER_PASSWORD}';
         CREATE USER reader@'%' IDENTIFIED BY '{READER_PASSWORD}';
         GRANT ALL ON ids.* TO mint@'%';
         GRANT SELECT ON ids.* TO reader@'%';\n"
    )
}

/// A server in a folder of its own, durable as a careful administrator would have it.
#[derive(Debug)]
pub struct Mariadb {
    process: Daemon,
    address: SocketAddr,
    folder: Folder,
    settings: Vec<String>,
    surroundings: Surroundings,
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
        let mut server = Mariadb::prepare(settings);
        copy(&Mariadb::template(), &server.data());
        server.start();
        Some(server)
    }

    /// One with its data on a disk, in these surroundings.
    ///
    /// # Panics
    /// When the programs are there but do not work.
    pub fn on_disk(surroundings: Surroundings) -> Option<Mariadb> {
        if !found() {
            return None;
        }
        let mut server = Mariadb::prepare(&[]);
        server.folder = Folder::Own(place::folder_on_disk());
        server.surroundings = surroundings;
        copy(&Mariadb::template(), &server.data());
        server.start();
        Some(server)
    }

    /// The same as of [`Mariadb::run`], borrowed where that can be: for a test that neither ends nor freezes the server, nor
    /// leaves its settings changed.
    ///
    /// # Panics
    /// When the programs are there but do not work.
    pub fn borrow() -> Option<Mariadb> {
        if !found() {
            return None;
        }
        let lent = |address, folder| Mariadb {
            process: Daemon::default(),
            address,
            folder,
            settings: Vec::new(),
            surroundings: Surroundings::default(),
        };
        let start = |loan: &Loan| {
            need::boots("mariadb");
            let (folder, address) = (place::lasting_folder(), free());
            copy(&Mariadb::template(), &folder.path().join("data"));
            let server = command(folder.path(), address, &[]);
            let socket = folder.path().join("s");
            let kept = loan.keep(&server, "KILL", folder, address, || is_ready(&socket));
            as_new::note_state(&socket);
            kept
        };
        lent::borrow("mariadb", u32::MAX, lent, Mariadb::is_as_new, start).or_else(Mariadb::run)
    }

    /// Makes it as new: whether nothing is left of what a test did there.
    fn is_as_new(&self) -> bool {
        let socket = self.folder.path().join("s");
        let said = self.sql("", &(as_new::mariadb(&[]) + &accounts()));
        said.code == 0 && as_new::has_state_of_first(&socket)
    }

    /// The data of a new one.
    fn template() -> PathBuf {
        let key = format!("{OWNER_PASSWORD}{READER_PASSWORD}");
        template("mariadb-store", &key, |data| {
            let mut server = Mariadb::prepare(&[]);
            install(&user(), &server.data());
            server.start();
            server.admin("", &accounts());
            server.stop();
            copy(&server.data(), data);
        })
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
            folder: Folder::own(),
            settings: settings.iter().map(|setting| setting.to_string()).collect(),
            surroundings: Surroundings::default(),
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
        self.folder.must_be_own();
        &mut self.process
    }

    fn start(&mut self) {
        self.folder.must_be_own();
        need::boots("mariadb");
        let server = command(self.folder.path(), self.address, &self.settings);
        let child = self
            .surroundings
            .around(server)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let mut child = child.expect("mariadbd can be started");
        if until_ready(&mut child, || is_ready(&self.folder.path().join("s"))) {
            self.process.started(child);
            return;
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

/// The server with its settings.
fn command(folder: &Path, address: SocketAddr, settings: &[String]) -> Command {
    let file = |name: &str| folder.join(name).display().to_string();
    let mut command = program("mariadbd", folder);
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
        .args(settings)
        .arg(format!("--port={}", address.port()))
        .arg(format!("--datadir={}", file("data")))
        .arg(format!("--socket={}", file("s")))
        .arg(format!("--pid-file={}", file("pid")))
        .arg(format!("--log-error={}", file("log.err")));
    command
}

impl Drop for Mariadb {
    /// What it has to say to a test that failed.
    fn drop(&mut self) {
        if std::thread::panicking() && self.process.has_ended() {
            eprintln!("MariaDB ended by itself:\n{}", self.log());
        }
    }
}
