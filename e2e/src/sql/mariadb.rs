//! A private MariaDB, driven by the stock mariadb client.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::pack;
use super::template::{copy, template};
use crate::engine::lent::{self, Folder, Loan};
use crate::engine::process::until_ready;
use crate::engine::{as_new, place};
use crate::guard::ends_with_us;
use crate::need;
use crate::run::{self, Said};

/// A running server, ended and removed with the test or the run.
#[derive(Debug)]
pub struct Mariadb {
    /// None of one that was lent to this test.
    child: Option<Child>,
    folder: Folder,
}

/// Removes from database `ids` what is not the pack's, and what that has written.
const ONLY_THE_PACK: &str = "
DELIMITER //
BEGIN NOT ATOMIC
    FOR one IN (SELECT table_name AS name, REPLACE(table_type, 'BASE ', '') AS kind FROM information_schema.tables
                WHERE table_schema = 'ids' AND table_name NOT LIKE 'mintage\\_%') DO
        EXECUTE IMMEDIATE CONCAT('DROP ', one.kind, ' ids.`', REPLACE(one.name, '`', '``'), '`');
    END FOR;
END//
DELIMITER ;
TRUNCATE ids.mintage_snowflake_state;
";

impl Mariadb {
    /// One with the pack in database `ids`, borrowed where that can be; `None`, said in words, where MariaDB is absent.
    ///
    /// # Panics
    /// When the programs are there but do not work, or when the pack cannot be installed.
    pub fn with_pack() -> Option<Mariadb> {
        if !found() {
            return None;
        }
        let lent = |_, folder| Mariadb { child: None, folder };
        let is_as_new = |server: &Mariadb| {
            let said = server.sql("ids", &(as_new::mariadb(&["ids"]) + ONLY_THE_PACK));
            said.code == 0 && as_new::has_state_of_first(&server.socket())
        };
        let start = |loan: &Loan| {
            need::boots("mariadb");
            let folder = place::lasting_folder();
            copy(&with_pack(), &folder.path().join("data"));
            let (socket, server) = (folder.path().join("s"), command(folder.path()));
            let nowhere = SocketAddr::from(([0, 0, 0, 0], 0));
            let kept = loan.keep(&server, "KILL", folder, nowhere, || is_ready(&socket));
            as_new::note_state(&socket);
            kept
        };
        let borrowed = lent::borrow("mariadb with the pack", u32::MAX, lent, is_as_new, start);
        Some(borrowed.unwrap_or_else(|| Mariadb::launch(Some(&with_pack()))))
    }

    fn launch(template: Option<&Path>) -> Mariadb {
        let folder = place::folder();
        let data = folder.path().join("data");
        match template {
            Some(template) => copy(template, &data),
            None => install(&user(), &data),
        }
        need::boots("mariadb");
        let child = command(folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let mut child = child.expect("mariadbd can be started");
        ends_with_us(&child, "KILL");
        let socket = folder.path().join("s");
        if until_ready(&mut child, || is_ready(&socket)) {
            return Mariadb {
                child: Some(child),
                folder: Folder::Own(folder),
            };
        }
        let log = fs::read_to_string(folder.path().join("log")).unwrap_or_default();
        panic!("mariadbd did not start:\n{log}");
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("s")
    }

    /// One of the client programs, told where the server is.
    pub fn client(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .arg("--no-defaults")
            .arg("-S")
            .arg(self.socket())
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
        if let Some(child) = &mut self.child {
            child.kill().ok();
            child.wait().ok();
        }
    }
}

/// A data folder with the pack in database `ids`.
fn with_pack() -> PathBuf {
    let script = pack::Script::of("mariadb");
    let pack = fs::read_to_string(script.path()).expect("the script is ours");
    template("mariadb", &pack, |data| {
        let mut server = Mariadb::launch(None);
        server.sql("", "CREATE DATABASE ids").ok();
        server.file("ids", &script.path()).ok();
        let mut stop = server.client("mariadb-admin");
        stop.arg("shutdown");
        run::with_input(stop, b"").ok();
        let ended = server.child.as_mut().map(Child::wait);
        ended.expect("it is this test's own").expect("was started");
        copy(&server.folder.path().join("data"), data);
    })
}

/// The server with what these tests need, which is not durability.
fn command(folder: &Path) -> Command {
    let file = |name: &str| folder.join(name).display().to_string();
    let mut command = program("mariadbd", folder);
    command
        .args([
            "--no-defaults",
            &user(),
            "--skip-networking",
            "--innodb-flush-log-at-trx-commit=0",
            "--innodb-log-file-size=64M",
        ])
        .args([
            "--innodb-buffer-pool-size=256M",
            "--default-time-zone=+00:00",
            "--log-bin-trust-function-creators=0",
        ])
        .arg(format!("--datadir={}", file("data")))
        .arg(format!("--socket={}", file("s")))
        .arg(format!("--pid-file={}", file("pid")))
        .arg(format!("--log-error={}", file("log")));
    command
}

/// Whether the programs are there, or the word that they are absent.
pub(crate) fn found() -> bool {
    // The one that installs has no option that ends well.
    let probe = "mariadb --help && mariadbd --help && mariadb-admin --help && command -v mariadb-install-db";
    let there = need::ends_well("mariadb", Command::new("sh").args(["-c", probe]));
    need::needed("mariadb", there)
}

/// Whether a server answers at its socket.
pub(crate) fn is_ready(socket: &Path) -> bool {
    let mut ping = Command::new("mariadb-admin");
    ping.args(["--no-defaults", "--connect-timeout=2", "-S"])
        .arg(socket)
        .arg("ping");
    // Before it listens there is nothing to start a program for.
    UnixStream::connect(socket).is_ok() && run::with_input(ping, b"").code == 0
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
