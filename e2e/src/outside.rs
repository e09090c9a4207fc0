//! Clients of other systems, as programs of their own: each takes ids from two servers over one store, of which one is
//! killed and started again meanwhile, and prints every id that it was given.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Command, Stdio};

use mintage_testing::Distinct;

use crate::engine::port;
use crate::engine::postgres::Postgres;
use crate::guard::ends_with_us;
use crate::server::{Server, Start};
use crate::store_suite::Engine;
use crate::{binary, run};

/// Two servers that serve one face over one store.
#[derive(Debug)]
pub struct Pair {
    starts: [Start; 2],
    servers: [Option<Server>; 2],
    /// Where the face is, on each.
    pub at: [SocketAddr; 2],
    _folder: tempfile::TempDir,
    _store: Postgres,
}

impl Pair {
    /// Starts them over a private PostgreSQL. `None`: there is none on this machine.
    ///
    /// # Panics
    /// When one does not start.
    pub fn run(face: &str) -> Option<Pair> {
        Pair::with_file(face, "")
    }

    /// The same with this configuration file.
    ///
    /// # Panics
    /// When one does not start.
    pub fn with_file(face: &str, settings: &str) -> Option<Pair> {
        let store = Postgres::borrow()?;
        let folder = tempfile::tempdir().expect("a folder can be made");
        let url = store.url(store.address());
        run::mint(folder.path(), ["init", "--store", &url]).ok();
        let at = [port::free(), port::free()];
        let start = |node: usize| {
            let own = folder.path().join(node.to_string());
            std::fs::create_dir(&own).expect("the folder is ours");
            std::fs::write(own.join("mint.toml"), settings).expect("the folder is ours");
            let flag = format!("{face}={}", at[node]);
            Start::in_folder(&own).args(["--store", &url, "--face", &flag])
        };
        let starts = [start(0), start(1)];
        let servers = [Some(starts[0].ready()), Some(starts[1].ready())];
        Some(Pair {
            starts,
            servers,
            at,
            _folder: folder,
            _store: store,
        })
    }

    /// A client program of `e2e/clients`, which is told the ports.
    pub fn client(&self, program: impl AsRef<OsStr>, script: &str) -> Command {
        let mut command = Command::new(program);
        command
            .arg(binary::root().join("e2e/clients").join(script))
            .args(self.at.map(|at| at.port().to_string()));
        command
    }

    /// One of the servers.
    ///
    /// # Panics
    /// While it is killed.
    pub fn server(&self, node: usize) -> &Server {
        self.servers[node].as_ref().expect("it runs")
    }

    /// Kills one, and starts it again where it was.
    ///
    /// # Panics
    /// When it does not start.
    pub fn kill_and_start(&mut self, node: usize) {
        if let Some(server) = self.servers[node].take() {
            server.kill();
        }
        self.servers[node] = Some(self.starts[node].ready());
    }

    /// Runs a client to its end while the first server is killed and started again, three times, each time after it has
    /// printed another thousand ids. The client prints an id a line and asks again where it was refused or cut off.
    ///
    /// # Panics
    /// When the client fails, an id is no number, or one comes twice.
    #[track_caller]
    pub fn no_repeats(&mut self, client: &mut Command) -> Distinct<u64> {
        no_repeats(client, || self.kill_and_start(0))
    }
}

/// Runs a client to its end, and kills its server three times by `kill_and_start`, each time after it has printed another
/// thousand ids. The client prints an id a line and asks again where it was refused or cut off.
///
/// # Panics
/// When the client fails, an id is no number, or one comes twice.
#[track_caller]
pub fn no_repeats(client: &mut Command, mut kill_and_start: impl FnMut()) -> Distinct<u64> {
    let mut child = client
        .stdout(Stdio::piped())
        .spawn()
        .expect("the client can be started");
    ends_with_us(&child, "KILL");
    let lines = BufReader::new(child.stdout.take().expect("was piped")).lines();
    let (mut ids, mut kills) = (Distinct::of("ids"), 0);
    for line in lines {
        let line = line.expect("a pipe can be read");
        let id: u64 = line
            .trim()
            .parse()
            .unwrap_or_else(|_| panic!("{line:?} is no id"));
        ids.add(id);
        if ids.len() >= 1000 * (kills + 1) && kills < KILLS {
            kills += 1;
            kill_and_start();
        }
    }
    let ended = child.wait().expect("was started");
    assert!(ended.success(), "the client ended with {ended}");
    assert_eq!(kills, KILLS, "the client took {} ids only", ids.len());
    ids
}

const KILLS: usize = 3;
