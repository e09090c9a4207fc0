//! A private MariaDB, driven by the stock mariadb client.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use super::pack;
use super::template::{copy, template};
use crate::need;
use crate::run::{self, Said};

/// A running server in a folder of its own, ended and removed with the test.
#[derive(Debug)]
pub struct Mariadb {
    child: Child,
    folder: TempDir,
}

impl Mariadb {
    /// Starts one with the pack in database `ids`; `None`, said in words, where MariaDB is absent.
    ///
    /// # Panics
    /// When the programs are there but do not work, or when the pack cannot be installed.
    pub fn with_pack() -> Option<Mariadb> {
        if !found() {
            return None;
        }
        let script = pack::Script::of("mariadb");
        let pack = fs::read_to_string(script.path()).expect("the script is ours");
        let template = template("mariadb", &pack, |data| {
            let mut server = Mariadb::launch(None);
            server.sql("", "CREATE DATABASE ids").ok();
            server.file("ids", &script.path()).ok();
            let mut stop = server.client("mariadb-admin");
            stop.arg("shutdown");
            run::with_input(stop, b"").ok();
            server.child.wait().expect("was started");
            copy(&server.folder.path().join("data"), data);
        });
        Some(Mariadb::launch(Some(&template)))
    }

    fn launch(template: Option<&Path>) -> Mariadb {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let data = folder.path().join("data");
        let user = user();
        match template {
            Some(template) => copy(template, &data),
            None => install(&user, &data),
        }
        let child = program("mariadbd", folder.path())
            .args([
                "--no-defaults",
                &user,
                "--skip-networking",
                "--innodb-flush-log-at-trx-commit=0",
                "--innodb-log-file-size=64M",
            ])
            .args([
                "--innodb-buffer-pool-size=256M",
                "--default-time-zone=+00:00",
                "--log-bin-trust-function-creators=0",
            ])
            .arg(format!("--datadir={}", data.display()))
            .arg(format!("--socket={}", folder.path().join("s").display()))
            .arg(format!("--pid-file={}", folder.path().join("pid").display()))
            .arg(format!("--log-error={}", folder.path().join("log").display()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let mut server = Mariadb {
            child: child.expect("mariadbd can be started"),
            folder,
        };
        while server.child.try_wait().expect("was started").is_none() {
            let mut ping = Command::new("mariadb-admin");
            ping.args(["--no-defaults", "--connect-timeout=1"])
                .arg("-S")
                .arg(server.folder.path().join("s"))
                .arg("ping");
            if run::with_input(ping, b"").code == 0 {
                return server;
            }
        }
        let log = fs::read_to_string(server.folder.path().join("log")).unwrap_or_default();
        panic!("mariadbd did not start:\n{log}");
    }

    /// One of the client programs, told where the server is.
    pub fn client(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .arg("--no-defaults")
            .arg("-S")
            .arg(self.folder.path().join("s"))
            .args(["-u", "root"]);
        command
    }

    /// Runs SQL in the stock client, as a batch: rows without headings, fields parted by tabs, an end at the first
    /// error.
    pub fn sql(&self, database: &str, sql: &str) -> Said {
        let mut command = self.client("mariadb");
        command.args(["-N", "-B", "--default-character-set=utf8mb4", "-D", database]);
        run::with_input(command, sql.as_bytes())
    }

    /// The lines that SQL in database `ids` answers.
    ///
    /// # Panics
    /// When it fails.
    #[track_caller]
    pub fn lines(&self, sql: &str) -> Vec<String> {
        self.sql("ids", sql).ok().lines().map(String::from).collect()
    }

    /// Checks that one statement is refused with this SQLSTATE and a message that holds `message`.
    ///
    /// # Panics
    /// When it is not.
    #[track_caller]
    pub fn refuses(&self, statement: &str, sqlstate: &str, message: &str) {
        let said = self.sql("ids", statement);
        let expected = format!("({sqlstate})");
        assert!(
            said.code != 0 && said.err.contains(&expected) && said.err.contains(message),
            "{statement}\nwanted {sqlstate} {message}\n{said:?}"
        );
    }

    /// Runs a script as `mariadb DATABASE < FILE` does.
    ///
    /// # Panics
    /// When the script cannot be read.
    pub fn file(&self, database: &str, script: &Path) -> Said {
        self.sql(
            database,
            &fs::read_to_string(script).expect("the script can be read"),
        )
    }
}

impl Drop for Mariadb {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Whether the programs are there, or the word that they are absent.
pub(crate) fn found() -> bool {
    let there = ["mariadb", "mariadbd", "mariadb-install-db", "mariadb-admin"];
    let there = there.iter().all(|program| {
        let probe = Command::new(program)
            .arg("--help")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        probe.is_ok()
    });
    need::needed("mariadb", there)
}

/// The server runs as whoever runs the test.
pub(crate) fn user() -> String {
    let user = Command::new("id")
        .arg("-un")
        .output()
        .expect("id is everywhere")
        .stdout;
    format!("--user={}", String::from_utf8_lossy(&user).trim())
}

/// One of the server's programs with the instance's own folder for temporary files: a MariaDB that starts removes every
/// `#sql*` of that folder, also the temporary tables of another instance, which then fails or dies of signal 11.
pub(crate) fn program(name: &str, folder: &Path) -> Command {
    let mut program = Command::new(name);
    program.env("TMPDIR", folder);
    program
}

pub(crate) fn install(user: &str, data: &Path) {
    let folder = data.parent().expect("the data lie in the instance's folder");
    let mut install = program("mariadb-install-db", folder);
    install.args([
        "--no-defaults",
        user,
        "--auth-root-authentication-method=normal",
        "--skip-test-db",
    ]);
    install
        .arg(format!("--datadir={}", data.display()))
        .arg("--innodb-log-file-size=64M");
    run::with_input(install, b"").ok();
}
