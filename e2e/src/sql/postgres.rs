//! A private PostgreSQL, driven by the stock psql.

use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use super::pack::{self, open_folder};
use super::template::{copy, template};
use crate::binary;
use crate::engine::lent::{self, Folder, Loan};
use crate::engine::process::{signal_all, until_ready};
use crate::engine::{as_new, place, port};
use crate::guard::ends_with_us;
use crate::need;
use crate::run::{self, Said};

/// A running server in a folder of its own, ended and removed with the test.
#[derive(Debug)]
pub struct Postgres {
    /// None of one that was lent to this test.
    child: Option<Child>,
    bin: PathBuf,
    /// Where it listens.
    pub address: SocketAddr,
    folder: Folder,
}

/// The database that the pack's databases are copies of, beside the data of a server with the pack.
const PACK: &str = "pack";

impl Postgres {
    /// One with the pack installed in database `postgres`, borrowed where that can be; `None`, said in words, where
    /// PostgreSQL is absent.
    ///
    /// # Panics
    /// When the programs are there but do not work, or when the pack cannot be installed.
    pub fn with_pack() -> Option<Postgres> {
        let bin = found()?;
        let start = || Postgres::launch(bin.clone(), bin.join("postgres"), &with_pack(&bin), &[]);
        let borrowed = Postgres::borrow(&bin, "postgres with the pack", PACK, &with_pack);
        Some(borrowed.unwrap_or_else(start))
    }

    /// An empty one, borrowed where that can be.
    ///
    /// # Panics
    /// When the programs are there but do not work.
    pub fn empty() -> Option<Postgres> {
        let bin = found()?;
        let borrowed = Postgres::borrow(&bin, "postgres that is empty", "template0", &empty);
        borrowed.or_else(|| Postgres::with_settings(&[]))
    }

    /// One whose database `postgres` is a copy of another, on the data of `template`.
    fn borrow(bin: &Path, kind: &str, copied: &str, template: &dyn Fn(&Path) -> PathBuf) -> Option<Postgres> {
        let lent = |address, folder| Postgres {
            child: None,
            bin: bin.into(),
            address,
            folder,
        };
        let is_as_new = |server: &Postgres| {
            let make = format!("CREATE DATABASE postgres TEMPLATE {copied};");
            let said = server.psql("template1", &format!("{}{make}", as_new::POSTGRES));
            said.code == 0 && said.out.is_empty()
        };
        let start = |loan: &Loan| {
            need::boots("postgres");
            let (folder, address) = (place::lasting_folder(), port::free());
            let data = folder.path().join("data");
            copy(&template(bin), &data);
            let server = command(&bin.join("postgres"), &data, address, &[]);
            loan.keep(&server, "INT", folder, address, || is_ready(bin, address))
        };
        lent::borrow(kind, u32::MAX, lent, is_as_new, start)
    }

    /// Starts an empty one with settings of the server, `name=value` each.
    ///
    /// # Panics
    /// When the programs are there but do not work.
    pub fn with_settings(settings: &[&str]) -> Option<Postgres> {
        let bin = found()?;
        let (program, data) = (bin.join("postgres"), empty(&bin));
        Some(Postgres::launch(bin, program, &data, settings))
    }

    /// Starts one that knows the extension, by a copy of the server in a tree whose share folder has it: nothing is
    /// written to the system's own folders.
    ///
    /// # Panics
    /// When the programs are there but do not work.
    pub fn with_extension() -> Option<(Postgres, TempDir)> {
        let bin = need::program("make").then(found).flatten()?;
        let tree = open_folder();
        let place = |real: &Path| tree.path().join(real.strip_prefix("/").expect("is absolute"));
        let share = config(&bin, "--sharedir");
        let extensions = share.join("extension");
        fs::create_dir_all(place(&bin)).expect("the folder is ours");
        fs::create_dir_all(place(&extensions)).expect("the folder is ours");
        mirror(&share, &place(&share), "extension");
        mirror(&extensions, &place(&extensions), "");
        let library = config(&bin, "--pkglibdir");
        symlink(&library, place(&library)).expect("the folder is ours");
        let mut install = Command::new("make");
        install
            .args(["-s", "-C"])
            .arg(pack::folder("postgres"))
            .arg("install")
            .arg(format!("DESTDIR={}", tree.path().display()))
            .arg(format!("PG_CONFIG={}", bin.join("pg_config").display()));
        run::with_input(install, b"").ok();
        let program = place(&bin).join("postgres");
        binary::copy(&bin.join("postgres"), &program);
        // Folders made above may be closed to the account that runs the server.
        let opened = Command::new("chmod")
            .args(["-R", "a+rX"])
            .arg(tree.path().join("usr"))
            .status();
        assert!(opened.is_ok_and(|status| status.success()) || !tree.path().join("usr").exists());
        let data = empty(&bin);
        Some((Postgres::launch(bin, program, &data, &[]), tree))
    }

    fn launch(bin: PathBuf, program: PathBuf, template: &Path, settings: &[&str]) -> Postgres {
        let folder = place::folder();
        let data = folder.path().join("data");
        copy(template, &data);
        // The port may be taken by somebody else before the server has it: then try again.
        for _ in 0..20 {
            let address = port::free();
            need::boots("postgres");
            let mut child = command(&program, &data, address, settings)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(fs::File::create(folder.path().join("log")).expect("the folder is ours"))
                .spawn()
                .expect("setpriv can be started");
            ends_with_us(&child, "INT");
            if until_ready(&mut child, || is_ready(&bin, address)) {
                return Postgres {
                    child: Some(child),
                    bin,
                    address,
                    folder: Folder::Own(folder),
                };
            }
        }
        let log = fs::read_to_string(folder.path().join("log")).unwrap_or_default();
        panic!("postgres did not start:\n{log}");
    }

    /// A folder that outlives nothing but this server.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// One of the client programs that came with the server, told where the server is.
    pub fn client(&self, program: &str) -> Command {
        let mut command = Command::new(self.bin.join(program));
        command
            .args([
                "-h",
                "127.0.0.1",
                "-U",
                "postgres",
                "-p",
                &self.address.port().to_string(),
            ])
            .env_remove("PGOPTIONS")
            .env("PGTZ", "UTC")
            .current_dir("/");
        command
    }

    /// Runs SQL in psql: unaligned rows, fields parted by tabs, an end at the first error, whose SQLSTATE is shown.
    pub fn psql(&self, database: &str, sql: &str) -> Said {
        let mut command = self.client("psql");
        command.args([
            "-X",
            "-q",
            "-A",
            "-t",
            "-F",
            "\t",
            "-v",
            "ON_ERROR_STOP=1",
            "-v",
            "VERBOSITY=verbose",
        ]);
        command.args(["-d", database]);
        run::with_input(command, sql.as_bytes())
    }

    /// The lines that SQL in database `postgres`, with the pack's schema in the search path, answers.
    ///
    /// # Panics
    /// When it fails.
    #[track_caller]
    pub fn lines(&self, sql: &str) -> Vec<String> {
        let said = self.psql("postgres", &format!("SET search_path = public, mintage;\n{sql}"));
        said.ok().lines().map(String::from).collect()
    }

    /// Checks that one statement is refused with this SQLSTATE and a message that holds `message`.
    ///
    /// # Panics
    /// When it is not.
    #[track_caller]
    pub fn refuses(&self, statement: &str, sqlstate: &str, message: &str) {
        let said = self.psql(
            "postgres",
            &format!("SET search_path = public, mintage;\n{statement}"),
        );
        let expected = format!("ERROR:  {sqlstate}: ");
        assert!(
            said.code != 0 && said.err.contains(&expected) && said.err.contains(message),
            "{statement}\nwanted {sqlstate} {message}\n{said:?}"
        );
    }

    /// Runs a script as `psql -f` does.
    pub fn file(&self, database: &str, script: &Path) -> Said {
        let mut command = self.client("psql");
        command
            .args(["-X", "-q", "-d", database, "-v", "ON_ERROR_STOP=1", "-f"])
            .arg(script);
        run::with_input(command, b"")
    }
}

impl Postgres {
    /// Ends it: its data, until the value goes.
    fn stopped(&mut self) -> PathBuf {
        if let Some(mut child) = self.child.take() {
            // A fast shutdown frees its shared memory; a killed one would leave it behind.
            signal_all(&[child.id()], "INT");
            child.wait().ok();
        }
        self.folder.path().join("data")
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.stopped();
    }
}

/// A data folder with the pack in database `postgres`, and once more in one to make others of.
fn with_pack(bin: &Path) -> PathBuf {
    let script = pack::Script::of("postgres");
    let pack = fs::read_to_string(script.path()).expect("the script is ours");
    let key = format!("{}\n{PACK}\n{pack}", bin.display());
    template("postgres", &key, |data| {
        let mut server = Postgres::launch(bin.into(), bin.join("postgres"), &empty(bin), &[]);
        server.file("postgres", &script.path()).ok();
        let once_more = format!("CREATE DATABASE {PACK} TEMPLATE postgres IS_TEMPLATE true;");
        server.psql("template1", &once_more).ok();
        copy(&server.stopped(), data);
    })
}

/// A data folder as it is made.
fn empty(bin: &Path) -> PathBuf {
    template("postgres-empty", &bin.display().to_string(), |data| {
        let folder = place::folder();
        initdb(bin, &folder.path().join("data"));
        copy(&folder.path().join("data"), data);
    })
}

/// An empty folder for data, with the owner and mode that the server wants.
pub(crate) fn make_data_folder(data: &Path) {
    let mut install = Command::new("install");
    install.args(["-d", "-m", "700"]);
    if is_root() {
        install.args(["-o", "postgres"]);
    }
    install.arg(data);
    run::with_input(install, b"").ok();
}

pub(crate) fn initdb(bin: &Path, data: &Path) {
    make_data_folder(data);
    let mut initdb = as_owner(&bin.join("initdb"));
    initdb.arg("-D").arg(data).args([
        "-U",
        "postgres",
        "-A",
        "trust",
        "--no-sync",
        "-E",
        "UTF8",
        "--locale=C",
    ]);
    run::with_input(initdb, b"").ok();
}

/// A server program, not as root: neither initdb nor the server runs as root.
pub(crate) fn as_owner(program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    if is_root() {
        command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]);
    }
    command.arg("--").arg(program).current_dir("/");
    command
}

/// The server with what these tests need, which is not durability.
fn command(program: &Path, data: &Path, address: SocketAddr, settings: &[&str]) -> Command {
    let mut command = as_owner(program);
    command.arg("-D").arg(data);
    command.args(["-p", &address.port().to_string()]);
    for setting in [
        "listen_addresses=127.0.0.1",
        "unix_socket_directories=",
        "fsync=off",
        "max_connections=40",
        "shared_buffers=64MB",
        "timezone=UTC",
        "max_wal_size=4GB",
    ] {
        command.args(["-c", setting]);
    }
    command.args(settings.iter().flat_map(|setting| ["-c", setting]));
    command
}

pub(crate) fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|of| of.uid() == 0)
}

/// Where the programs are, or the word that they are absent.
pub(crate) fn found() -> Option<PathBuf> {
    let bin = installed().filter(|bin| bin.join("initdb").exists());
    need::needed("postgres", bin.is_some()).then_some(bin).flatten()
}

/// Where the server's programs are: the newest version under Debian's folder, or what pg_config says.
fn installed() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").ok();
    let mut versions: Vec<u32> = versions
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|version| Path::new(&format!("/usr/lib/postgresql/{version}/bin/initdb")).exists())
        .collect();
    versions.sort_unstable();
    if let Some(version) = versions.last() {
        return Some(format!("/usr/lib/postgresql/{version}/bin").into());
    }
    let out = Command::new("pg_config").arg("--bindir").output().ok()?;
    Some(String::from_utf8_lossy(&out.stdout).trim().into())
}

fn config(bin: &Path, what: &str) -> PathBuf {
    let out = Command::new(bin.join("pg_config")).arg(what).output();
    let out = out.expect("pg_config comes with the server");
    String::from_utf8_lossy(&out.stdout).trim().into()
}

/// Links every entry of a folder into another, but one.
fn mirror(from: &Path, to: &Path, but: &str) {
    for entry in fs::read_dir(from).expect("the server's folder can be read") {
        let entry = entry.expect("the server's folder can be read");
        if entry.file_name() != but {
            symlink(entry.path(), to.join(entry.file_name())).expect("the folder is ours");
        }
    }
}

/// Whether a server takes clients there.
pub(crate) fn is_ready(bin: &Path, address: SocketAddr) -> bool {
    let mut asked = Command::new(bin.join("pg_isready"));
    let (host, port) = (address.ip().to_string(), address.port().to_string());
    asked.args(["-q", "-h", &host, "-p", &port]);
    // Before it listens there is nothing to start a program for.
    TcpStream::connect(address).is_ok() && asked.status().is_ok_and(|status| status.success())
}
