//! The stock clients as programs of their own, in `e2e/clients/sql`, and whether what runs them is on this machine.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::face::Faces;
use super::numbers::Numbers;
use super::place::Place;
use crate::binary;
use crate::need::{self, ends_well, needed};
use crate::run::Said;

/// A program that takes numbers and checks what it can see.
#[derive(Clone, Debug)]
pub struct Client {
    program: OsString,
    before: Vec<OsString>,
    script: &'static str,
    after: Vec<&'static str>,
    environment: Vec<(&'static str, OsString)>,
}

impl Client {
    fn of(program: impl Into<OsString>, script: &'static str) -> Client {
        Client {
            program: program.into(),
            before: Vec::new(),
            script,
            after: Vec::new(),
            environment: Vec::new(),
        }
    }

    /// The same with this in its environment.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: &str) -> Client {
        self.environment.push((name, value.into()));
        self
    }

    /// The command that runs it.
    #[must_use]
    pub fn command(&self, place: &Place) -> Command {
        // One that waits for an answer that never comes would do so for ever.
        let mut command = Command::new("timeout");
        command
            .arg("300")
            .arg(&self.program)
            .args(&self.before)
            .arg(binary::root().join("e2e/clients/sql").join(self.script))
            .args(place.words())
            .args(&self.after)
            .envs(self.environment.iter().cloned())
            .stdin(Stdio::null());
        command
    }

    /// Runs it to its end.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn run(&self, place: &Place) -> Said {
        Said::of_client(self.command(place).output().expect("timeout can be started"))
    }

    /// Runs it to its end, and takes what it was given.
    fn adds_to(&self, numbers: &mut Numbers, place: &Place, of: &str) -> Result<(), String> {
        let said = self.run(place);
        let name = self.script;
        match said.code {
            0 => numbers
                .add(&said.out)
                .map_err(|why| format!("{name} {:?} of {of}: {why}", self.after)),
            code => Err(format!(
                "{name} {:?} of {of} ended with {code} after {} lines:\n{}",
                self.after,
                said.out.lines().count(),
                said.err
            )),
        }
    }
}

/// Runs each against the original, which shows that the program itself is right, and then against the face, which is
/// killed and started again after each. Nobody is given a number twice.
///
/// # Panics
/// When a client fails, after all have run, or when a number comes twice.
#[track_caller]
pub fn as_from_the_original(original: &Place, face: &str, sequences: &[&str], clients: &[Client]) {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let mut faces = Faces::with_sequences(folder.path(), face, sequences);
    let (mut theirs, mut ours) = (Numbers::default(), Numbers::default());
    let mut failures = Vec::new();
    for client in clients {
        failures.extend(client.adds_to(&mut theirs, original, "the original").err());
        failures.extend(client.adds_to(&mut ours, &faces.place(face), "the face").err());
        faces.kill_and_start();
    }
    let failed = failures.len();
    assert!(failures.is_empty(), "{failed} failed:\n{}", failures.join("\n\n"));
    assert_eq!(ours.count(), theirs.count(), "the face gave as many numbers");
}

/// Programs in Python, where it has all the drivers; `cargo xtask test` makes one and names it in
/// `MINT_TEST_SQL_PYTHON`.
pub fn python(scripts: &[&'static str]) -> Option<Vec<Client>> {
    let named = std::env::var_os("MINT_TEST_SQL_PYTHON").map(PathBuf::from);
    let python = named.unwrap_or_else(|| Path::new("python3").to_path_buf());
    let imports = "import psycopg2, psycopg, psycopg_pool, asyncpg, pg8000, sqlalchemy, django, pymysql, MySQLdb, \
                   mysql.connector, aiomysql, asyncmy, mariadb";
    let there = ends_well(
        "python for sql-python",
        Command::new(&python).args(["-c", imports]),
    );
    needed("sql-python", there).then(|| {
        let client = |script: &&'static str| {
            let (script, word) = script.split_once(' ').unwrap_or((script, ""));
            let mut client = Client::of(python.clone(), script);
            client.environment.push(("PYTHONDONTWRITEBYTECODE", "1".into()));
            client.after.extend(Some(word).filter(|word| !word.is_empty()));
            client
        };
        scripts.iter().map(client).collect()
    })
}

/// Programs in JavaScript, each with a word for it, where Node has all the drivers.
pub fn node(scripts: &[(&'static str, &'static str)]) -> Option<Vec<Client>> {
    let modules = need::sql_node()?;
    let client = |(script, word): &(&'static str, &'static str)| {
        let mut client = Client::of("node", script);
        client.environment.push(("NODE_PATH", modules.clone().into()));
        client.after.push(word);
        client
    };
    Some(scripts.iter().map(client).collect())
}

/// A program in Java, where there are the drivers, HikariCP and what they need.
pub fn java(script: &'static str) -> Option<Vec<Client>> {
    let jars = [
        "postgresql",
        "scram-client",
        "scram-common",
        "stringprep",
        "mariadb-java-client",
        "HikariCP",
        "slf4j-api",
        "slf4j-nop",
    ];
    let jars = jars.map(|jar| format!("/usr/share/java/{jar}.jar"));
    let there = ends_well("javac", Command::new("javac").arg("-version"))
        && jars.iter().all(|jar| Path::new(jar).exists());
    needed("sql-java", there).then(|| {
        let mut client = Client::of("java", script);
        client.before = vec!["-cp".into(), jars.join(":").into()];
        vec![client]
    })
}

/// A program in Go, where Debian's packages of the drivers are.
pub fn go(script: &'static str) -> Option<Vec<Client>> {
    let packages = Path::new("/usr/share/gocode");
    let drivers = ["lib/pq", "jackc/pgx", "go-sql-driver/mysql"];
    let all = drivers
        .iter()
        .all(|driver| packages.join("src/github.com").join(driver).exists());
    needed(
        "sql-go",
        all && ends_well("go", Command::new("go").arg("version")),
    )
    .then(|| {
        let mut client = Client::of("go", script);
        client.before = vec!["run".into()];
        client.environment = vec![
            ("GO111MODULE", "off".into()),
            ("GOPATH", packages.into()),
            ("GOFLAGS", "".into()),
            ("CGO_ENABLED", "0".into()),
        ];
        vec![client]
    })
}

/// Clients of Rust in a workspace of their own, where they can be built.
pub fn rust(client: &'static str) -> Option<Vec<Client>> {
    const WORKSPACE: &str = "rust/Cargo.toml";
    let target = binary::root().join("target/sql-clients");
    let mut build = Command::new("cargo");
    build
        .args(["build", "--quiet", "--locked", "--manifest-path"])
        .arg(binary::root().join("e2e/clients/sql").join(WORKSPACE))
        .env("CARGO_TARGET_DIR", &target);
    needed("sql-rust", ends_well("clients of Rust", &mut build)).then(|| {
        let mut program = Client::of("cargo", WORKSPACE);
        program.before = ["run", "--quiet", "--locked", "--manifest-path"]
            .map(OsString::from)
            .into();
        program.after = vec![client];
        program.environment = vec![("CARGO_TARGET_DIR", target.into())];
        vec![program]
    })
}

/// A program in PHP, where it has PDO, pgsql and mysqli.
pub fn php(script: &'static str) -> Option<Vec<Client>> {
    let probe = "foreach (['pdo_pgsql', 'pgsql', 'pdo_mysql', 'mysqli'] as $name) extension_loaded($name) || exit(1);";
    let there = ends_well("php for sql-php", Command::new("php").args(["-r", probe]));
    needed("sql-php", there).then(|| vec![Client::of("php", script)])
}

/// Programs in Ruby, where it has pg, mysql2 and ActiveRecord.
pub fn ruby(scripts: &[&'static str]) -> Option<Vec<Client>> {
    let probe = "require 'pg'; require 'mysql2'; require 'active_record'";
    let there = ends_well("ruby for sql-ruby", Command::new("ruby").args(["-e", probe]));
    needed("sql-ruby", there).then(|| scripts.iter().map(|script| Client::of("ruby", script)).collect())
}

/// A program in Perl, where it has DBD::Pg and DBD::MariaDB.
pub fn perl(script: &'static str) -> Option<Vec<Client>> {
    let mut probe = Command::new("perl");
    probe.args(["-MDBD::Pg", "-MDBD::MariaDB", "-e", "1"]);
    let there = ends_well("perl for sql-perl", &mut probe);
    needed("sql-perl", there).then(|| vec![Client::of("perl", script)])
}

/// A script over isql, where there are the ODBC drivers of both.
pub fn odbc(script: &'static str) -> Option<Vec<Client>> {
    let folders = ["x86_64-linux-gnu", "aarch64-linux-gnu"];
    let folders = folders.map(|folder| PathBuf::from(format!("/usr/lib/{folder}/odbc")));
    let drivers = ["psqlodbcw.so", "libmaodbc.so"];
    let has_all = |folder: &&PathBuf| drivers.iter().all(|driver| folder.join(driver).exists());
    let folder = folders.iter().find(has_all);
    let there = folder.is_some() && ends_well("isql", Command::new("isql").arg("--version"));
    let folder = folder.filter(|_| needed("sql-odbc", there))?;
    let mut client = Client::of("sh", script);
    client.environment.push(("ODBC_DRIVERS", folder.into()));
    Some(vec![client])
}
