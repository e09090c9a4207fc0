//! A private PostgreSQL for the store suite, and its replicas.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::lent::{self, Folder, Loan};
use super::port::free;
use super::process::{Daemon, freeze_tree, pause, signal_all, signal_tree, until_ready};
use super::surroundings::Surroundings;
use super::{as_new, place};
use crate::certificates::Certificates;
use crate::need;
use crate::run::{self, Said};
use crate::sql::postgres::{as_owner, found, initdb, is_ready, is_root, make_data_folder};
use crate::sql::template::{copy, template};
use crate::store_suite::{Engine, OWNER_PASSWORD, READER_PASSWORD};

/// Accounts with passwords, and the administrator without one; from here, and from the machines of a test.
const HBA: &str = "host all postgres 127.0.0.1/32 trust
host replication postgres 127.0.0.1/32 trust
host all all 127.0.0.1/32 scram-sha-256
host all postgres 198.18.0.0/15 trust
host replication postgres 198.18.0.0/15 trust
host all all 198.18.0.0/15 scram-sha-256
";

/// Keeps the log since the beginning, which `pg_rewind` wants of a server that it is to change.
pub const KEPT: &str = "wal_keep_size=256MB";

/// Settings with which nothing writes the log out but who has to.
pub const LOG_IS_LEFT: [&str; 4] = [
    "wal_level=minimal",
    "max_wal_senders=0",
    "wal_writer_delay=10s",
    "autovacuum=off",
];

/// The accounts, and the database.
fn accounts() -> String {
    format!(
        "CREATE ROLE mint LOGIN PASSWORD '{OWNER_PASSWORD}';
         CREATE ROLE reader LOGIN PASSWORD '{READER_PASSWORD}';
         CREATE DATABASE ids OWNER mint;\n"
    )
}

/// What they may do in the database.
const RIGHTS: &str = "GRANT ALL ON SCHEMA public TO mint;
    ALTER DEFAULT PRIVILEGES FOR ROLE mint GRANT SELECT ON TABLES TO reader;\n";

/// A server in a folder of its own, durable as a careful administrator would have it.
#[derive(Debug)]
pub struct Postgres {
    process: Daemon,
    bin: PathBuf,
    address: SocketAddr,
    folder: Folder,
    settings: Vec<String>,
    surroundings: Surroundings,
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
        Postgres::prepared(settings, |_| (), Surroundings::default())
    }

    /// The same in other surroundings.
    ///
    /// # Panics
    /// When the programs are there but do not work.
    pub fn within(settings: &[&str], surroundings: Surroundings) -> Option<Postgres> {
        Postgres::prepared(settings, |_| (), surroundings)
    }

    /// One that speaks TLS to who wants it.
    ///
    /// # Panics
    /// When the programs are there but do not work.
    pub fn with_certificates(certificates: &Certificates) -> Option<Postgres> {
        let settings = ["ssl=on", "ssl_cert_file=server.pem", "ssl_key_file=server.key"];
        let install = |data: &Path| certificates.install(data, is_root().then_some("postgres"));
        Postgres::prepared(&settings, install, Surroundings::default())
    }

    /// The same as of [`Postgres::run`], borrowed where that can be: for a test that neither ends nor freezes the
    /// server, nor changes its settings.
    ///
    /// # Panics
    /// When the programs are there but do not work.
    pub fn borrow() -> Option<Postgres> {
        let bin = found()?;
        let lent = |address, folder| Postgres {
            process: Daemon::default(),
            bin: bin.clone(),
            address,
            folder,
            settings: Vec::new(),
            surroundings: Surroundings::default(),
        };
        let start = |loan: &Loan| {
            need::boots("postgres");
            let (folder, address) = (place::lasting_folder(), free());
            let data = folder.path().join("data");
            copy(&Postgres::template(&bin), &data);
            let server = command(&bin, &data, address, &[]);
            loan.keep(&server, "INT", folder, address, || is_ready(&bin, address))
        };
        lent::borrow("postgres", u32::MAX, lent, Postgres::is_as_new, start).or_else(Postgres::run)
    }

    /// Makes it as new: whether nothing is left of what a test did there.
    fn is_as_new(&self) -> bool {
        let sql = [as_new::POSTGRES, &accounts(), "\\connect ids\n", RIGHTS];
        let said = self.psql("postgres", &sql.concat());
        said.code == 0 && said.out.is_empty()
    }

    fn prepared(settings: &[&str], furnish: impl Fn(&Path), surroundings: Surroundings) -> Option<Postgres> {
        let bin = found()?;
        let template = Postgres::template(&bin);
        let mut server = Postgres::prepare(bin, settings, surroundings);
        copy(&template, &server.data());
        furnish(&server.data());
        server.start();
        Some(server)
    }

    /// The data of a new one.
    fn template(bin: &Path) -> PathBuf {
        let key = format!("{}\n{HBA}{OWNER_PASSWORD}{READER_PASSWORD}", bin.display());
        template("postgres-store", &key, |data| {
            let mut server = Postgres::prepare(bin.into(), &[], Surroundings::default());
            initdb(&server.bin, &server.data());
            server.start();
            server.admin("postgres", &accounts());
            server.admin("ids", RIGHTS);
            server.stop();
            fs::write(server.data().join("pg_hba.conf"), HBA).expect("the folder is ours");
            copy(&server.data(), data);
        })
    }

    /// A standby that streams from this server, asynchronously unless this server's settings name it.
    ///
    /// # Panics
    /// When it cannot be made.
    pub fn replica(&self, name: &str) -> Postgres {
        self.replica_within(name, Surroundings::default())
    }

    /// The same in other surroundings.
    ///
    /// # Panics
    /// When it cannot be made.
    pub fn replica_within(&self, name: &str, surroundings: Surroundings) -> Postgres {
        let settings = [&format!("cluster_name={name}"), "wal_log_hints=on", KEPT];
        let mut server = Postgres::prepare(self.bin.clone(), &settings, surroundings);
        let mut backup = as_owner(&self.bin.join("pg_basebackup"));
        // The folder must belong to the account that runs the server.
        let data = server.data();
        make_data_folder(&data);
        backup
            .arg("-D")
            .arg(&data)
            .args(["-h", &self.address.ip().to_string()])
            .args(["-U", "postgres", "-c", "fast", "-X", "stream", "-R", "--no-sync"])
            .args(["-p", &self.address.port().to_string()]);
        run::with_input(backup, b"").ok();
        server.start();
        server
    }

    /// Lets a server that was the primary follow another one that was promoted since: what it has and the other has not
    /// is undone. It is to be down, cleanly.
    ///
    /// # Panics
    /// When it runs, or cannot be done.
    pub fn rewind(&mut self, to: &Postgres) {
        self.folder.must_be_own();
        assert!(self.process.pid().is_none(), "only while it is down");
        let source = format!(
            "--source-server=host={} port={} user=postgres dbname=postgres",
            to.address.ip(),
            to.address.port()
        );
        // It takes over the settings of the other one, and tells how far that has written only since its last
        // checkpoint.
        to.admin("postgres", "CHECKPOINT");
        let mut command = as_owner(&self.bin.join("pg_rewind"));
        command
            .args(["--no-sync", "-R", &source, "--target-pgdata"])
            .arg(self.data());
        run::with_input(command, b"").ok();
        self.start();
    }

    /// Demands the confirmation of these standbys, or of none, and waits until all that are attached give it.
    ///
    /// # Panics
    /// When it refuses.
    pub fn confirm_by(&self, names: &str) {
        let set = format!("ALTER SYSTEM SET synchronous_standby_names = '{names}'");
        self.admin("postgres", &set);
        self.admin("postgres", "SELECT pg_reload_conf()");
        let sync = "SELECT bool_and(sync_state = 'sync') FROM pg_stat_replication";
        while !names.is_empty() && self.admin("postgres", sync).trim() != "t" {
            pause();
        }
    }

    /// Forgets that it is a standby, while it is down: it starts as a primary of the timeline that it followed.
    ///
    /// # Panics
    /// When it is none.
    pub fn stand_alone(&self) {
        self.folder.must_be_own();
        fs::remove_file(self.data().join("standby.signal")).expect("it is a standby");
    }

    /// Makes a standby the primary, and waits until it takes writes.
    ///
    /// # Panics
    /// When it does not.
    pub fn promote(&self) {
        assert_eq!(self.admin("postgres", "SELECT pg_promote(true, 60)").trim(), "t");
    }

    /// Starts it with one more setting, as somebody would who edits its configuration.
    ///
    /// # Panics
    /// When the file cannot be written, or it does not start.
    pub fn start_with(&mut self, setting: &str) {
        self.folder.must_be_own();
        let path = self.data().join("postgresql.auto.conf");
        let before = fs::read_to_string(&path).unwrap_or_default();
        fs::write(&path, format!("{before}\n{setting}\n")).expect("its configuration can be written");
        self.start();
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
        self.folder.must_be_own();
        assert!(self.process.pid().is_none(), "only while it is down");
        let mut command = as_owner(&self.bin.join("pg_resetwal"));
        command.args(["-f", "-D"]).arg(self.data());
        run::with_input(command, b"").ok();
    }

    /// Ends it with SIGQUIT, as `pg_ctl stop -m immediate` does: nothing is written any more, and nobody is awaited.
    pub fn abort(&self) {
        self.folder.must_be_own();
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
            .args([
                "-h",
                &self.address.ip().to_string(),
                "-U",
                "postgres",
                "-d",
                database,
            ])
            .args(["-p", &self.address.port().to_string()])
            .current_dir("/");
        command
    }

    /// Everything but data and process.
    fn prepare(bin: PathBuf, settings: &[&str], surroundings: Surroundings) -> Postgres {
        Postgres {
            process: Daemon::default(),
            bin,
            address: surroundings.free(),
            folder: Folder::own(),
            settings: settings.iter().map(|setting| setting.to_string()).collect(),
            surroundings,
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
        self.folder.must_be_own();
        &mut self.process
    }

    fn stop(&mut self) {
        // A fast shutdown: sessions are ended, everything is written.
        self.process().signal("INT");
        self.process.wait();
    }

    fn kill(&mut self) {
        self.folder.must_be_own();
        if let Some(pid) = self.process.pid() {
            let all = freeze_tree(pid);
            signal_all(&all, "KILL");
            self.process.wait();
            // Its children hold the shared memory that a new server wants; they are not ours to wait for.
            while all.iter().any(|pid| Path::new(&format!("/proc/{pid}")).exists()) {
                pause();
            }
            // It names a process, and by the next start another program's may have that number.
            let _ = fs::remove_file(self.data().join("postmaster.pid"));
        }
    }

    fn start(&mut self) {
        self.folder.must_be_own();
        need::boots("postgres");
        let log = fs::File::options()
            .create(true)
            .append(true)
            .open(self.folder.path().join("log"));
        let server = command(&self.bin, &self.data(), self.address, &self.settings);
        let mut child = self
            .surroundings
            .around(server)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log.expect("the folder is ours"))
            .spawn()
            .expect("setpriv can be started");
        if until_ready(&mut child, || is_ready(&self.bin, self.address)) {
            self.process.started_to_end_by("INT", child);
            return;
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
        if self.process.pid().is_some() {
            self.thaw();
            self.stop();
        }
    }
}

/// The server with its settings.
fn command(bin: &Path, data: &Path, address: SocketAddr, settings: &[String]) -> Command {
    let mut command = as_owner(&bin.join("postgres"));
    command.arg("-D").arg(data);
    command.args(["-p", &address.port().to_string()]);
    command.args(["-c", &format!("listen_addresses={}", address.ip())]);
    for setting in [
        "unix_socket_directories=",
        "max_connections=40",
        "shared_buffers=32MB",
        "timezone=UTC",
    ] {
        command.args(["-c", setting]);
    }
    for setting in settings {
        command.args(["-c", setting]);
    }
    command
}
