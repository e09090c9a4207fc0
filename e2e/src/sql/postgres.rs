//! A private PostgreSQL, driven by the stock psql.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use super::pack::{self, open_folder};
use super::template::{copy, template};
use crate::binary;
use crate::engine::port;
use crate::need;
use crate::run::{self, Said};

/// A running server in a folder of its own, ended and removed with the test.
#[derive(Debug)]
pub struct Postgres {
    child: Child,
    bin: PathBuf,
    /// Where it listens.
    pub address: SocketAddr,
    folder: TempDir,
}

impl Postgres {
    /// Starts one with the pack installed in database `postgres`; `None`, said in words, where PostgreSQL is absent.
    ///
    /// # Panics
    /// When the programs are there but do not work, or when the pack cannot be installed.
    pub fn with_pack() -> Option<Postgres> {
        let bin = found()?;
        let template = with_pack(&bin);
        Some(Postgres::launch(
            bin.clone(),
            bin.join("postgres"),
            Some(&template),
            &[],
        ))
    }

    /// Starts an empty one.
    ///
    /// # Panics
    /// When the programs are there but do not work.
    pub fn start() -> Option<Postgres> {
        Postgres::with_settings(&[])
    }

    /// The same with settings of the server, `name=value` each.
    ///
    /// # Panics
    /// When the programs are there but do not work.
    pub fn with_settings(settings: &[&str]) -> Option<Postgres> {
        let bin = found()?;
        Some(Postgres::launch(
            bin.clone(),
            bin.join("postgres"),
            None,
            settings,
        ))
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
        Some((Postgres::launch(bin, program, None, &[]), tree))
    }

    fn launch(bin: PathBuf, program: PathBuf, template: Option<&Path>, settings: &[&str]) -> Postgres {
        let folder = open_folder();
        let data = folder.path().join("data");
        match template {
            Some(template) => copy(template, &data),
            None => initdb(&bin, &data),
        }
        // The port may be taken by somebody else before the server has it: then try again.
        for _ in 0..20 {
            let address = port::free();
            let mut child = as_owner(&program)
                .arg("-D")
                .arg(&data)
                .args(["-p", &address.port().to_string()])
                .args([
                    "-c",
                    "listen_addresses=127.0.0.1",
                    "-c",
                    "unix_socket_directories=",
                ])
                .args([
                    "-c",
                    "fsync=off",
                    "-c",
                    "max_connections=40",
                    "-c",
                    "shared_buffers=64MB",
                ])
                .args(["-c", "timezone=UTC", "-c", "max_wal_size=4GB"])
                .args(settings.iter().flat_map(|setting| ["-c", setting]))
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(fs::File::create(folder.path().join("log")).expect("the folder is ours"))
                .spawn()
                .expect("setpriv can be started");
            while child.try_wait().expect("was started").is_none() {
                let mut ready = Command::new(bin.join("pg_isready"));
                ready.args(["-q", "-h", "127.0.0.1", "-p", &address.port().to_string()]);
                if answers(&mut ready) {
                    return Postgres {
                        child,
                        bin,
                        address,
                        folder,
                    };
                }
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
    /// Ends the server and leaves its folder.
    fn stop(mut self) -> TempDir {
        self.end();
        let kept = std::mem::replace(&mut self.folder, open_folder());
        drop(self);
        kept
    }

    fn end(&mut self) {
        // A fast shutdown frees its shared memory; a killed one would leave it behind.
        let mut stop = Command::new("kill");
        stop.args(["-INT", &self.child.id().to_string()]);
        if self.child.try_wait().is_ok_and(|ended| ended.is_none()) {
            stop.status().ok();
            self.child.wait().ok();
        }
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.end();
    }
}

/// A data folder with the pack in database `postgres`.
fn with_pack(bin: &Path) -> PathBuf {
    let script = pack::Script::of("postgres");
    let pack = fs::read_to_string(script.path()).expect("the script is ours");
    template("postgres", &format!("{}\n{pack}", bin.display()), |data| {
        let server = Postgres::launch(bin.into(), bin.join("postgres"), None, &[]);
        server.file("postgres", &script.path()).ok();
        copy(&server.stop().path().join("data"), data);
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

/// A server program, not as root: neither initdb nor the server runs as root. It ends with the test.
pub(crate) fn as_owner(program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    if is_root() {
        command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]);
    }
    command
        .args(["--pdeathsig=INT", "--"])
        .arg(program)
        .current_dir("/");
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

pub(crate) fn answers(command: &mut Command) -> bool {
    command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}
