//! Servers that outlive a test and are lent to the next one: to make one as new takes less than to start another.
//!
//! A test that ends no server, stops none and changes none of its settings borrows one, and has it to itself: accounts,
//! databases and all that a server shows of itself are that test's alone. Who borrows it next makes it as new. Servers end
//! with the run; where tests run without one (`in_run`) there is nothing to borrow, and each starts its own.

use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use tempfile::TempDir;

use super::place;
use super::process::until_ready;
use crate::guard::began;
use crate::in_run;

/// Where the data of a server is.
#[derive(Debug)]
pub enum Folder {
    /// Of a test's own, which goes with it.
    Own(TempDir),
    /// Of one that was lent to it.
    Lent(PathBuf, Arc<Loan>),
}

impl Folder {
    /// One for a server of a test's own.
    pub fn own() -> Folder {
        Folder::Own(place::folder())
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        match self {
            Folder::Own(folder) => folder.path(),
            Folder::Lent(folder, _) => folder,
        }
    }

    /// Checks that the server may be ended, started and stopped.
    ///
    /// # Panics
    /// When it is a lent one.
    #[track_caller]
    pub fn must_be_own(&self) {
        assert!(
            matches!(self, Folder::Own(_)),
            "a borrowed server stays as it is: this test needs one of its own"
        );
    }
}

/// A server that is kept between tests.
#[derive(Debug)]
pub struct Kept {
    /// Where its data is.
    pub folder: PathBuf,
    /// Where it listens, if it does at an address.
    pub address: SocketAddr,
}

/// Borrows a server of this kind: one that is kept and `is_as_new`, or else one that `start` starts. `None` outside of a
/// run. Where so many are lent it waits: of a kind that is limited a test borrows one at most.
///
/// # Panics
/// When the run's folder cannot be written.
pub fn borrow<S>(
    kind: &str,
    most: u32,
    lent: impl Fn(SocketAddr, Folder) -> S,
    is_as_new: impl FnOnce(&S) -> bool,
    start: impl FnOnce(&Loan) -> Kept,
) -> Option<S> {
    let loan = Arc::new(Loan::of(kind, most)?);
    let with = |kept: Kept| lent(kept.address, Folder::Lent(kept.folder, Arc::clone(&loan)));
    if let Some(kept) = loan.kept() {
        let given_up = kept.folder.join(STAYS);
        let server = with(kept);
        if is_as_new(&server) {
            return Some(server);
        }
        fs::remove_file(given_up).ok();
    }
    Some(with(start(&loan)))
}

/// A place for a server of one kind, this test's until the value goes.
#[derive(Debug)]
pub struct Loan {
    /// Says where the server is.
    kept: PathBuf,
    _lock: File,
}

/// A file in the folder of a server, which ends when it goes.
const STAYS: &str = "stays";

/// Runs a server, and ends it when it is given up, or the run has ended: its folder is gone, or who runs it.
const KEEPER: &str = r#"
run=$1 runner=$2 began=$3 folder=$4 signal=$5
shift 5
"$@" 2>"$folder/log" &
server=$!
is_run() {
    [ -d "$run" ] || return
    [ "$began" ] || return 0
    read -r stat <"/proc/$runner/stat" || return
    set -- ${stat##*) }
    [ "${20}" = "$began" ]
}
while [ -e "$folder/stays" ] && kill -s 0 "$server" && is_run; do sleep 1; done
kill -s "$signal" "$server"
wait "$server"
rm -rf "$folder"
"#;

impl Loan {
    fn of(kind: &str, most: u32) -> Option<Loan> {
        let run = in_run::folder()?;
        let place = |number: u32| run.join(format!("lent {kind} {number}"));
        let locked = |number: u32| place(number).with_extension("lock");
        let free = (0..most).find_map(|number| Some((number, in_run::try_lock(&locked(number))?)));
        let (number, lock) = free.unwrap_or_else(|| {
            let number = std::process::id() % most;
            (number, in_run::lock(&locked(number)))
        });
        Some(Loan {
            kept: place(number),
            _lock: lock,
        })
    }

    fn kept(&self) -> Option<Kept> {
        let known = fs::read_to_string(&self.kept).ok()?;
        let (address, folder) = known.split_once('\n')?;
        Some(Kept {
            folder: folder.into(),
            address: address.parse().ok()?,
        })
    }

    /// Starts a server that is kept from now on, and waits until it is ready. `signal` ends it at the end of the run. What it
    /// writes to standard error is in the file `log` of its folder.
    ///
    /// # Panics
    /// When it does not start.
    pub fn keep(
        &self,
        server: &Command,
        signal: &str,
        folder: TempDir,
        address: SocketAddr,
        is_ready: impl FnMut() -> bool,
    ) -> Kept {
        let folder = folder.keep();
        fs::write(folder.join(STAYS), "").expect("the folder is ours");
        let started = keeper(server, signal, &folder).spawn();
        let mut keeper = started.expect("setsid can be started");
        if !until_ready(&mut keeper, is_ready) {
            let log = fs::read_to_string(folder.join("log")).unwrap_or_default();
            panic!("{server:?} did not start:\n{log}");
        }
        let known = format!("{address}\n{}", folder.display());
        fs::write(&self.kept, known).expect("the run's folder is ours");
        Kept { folder, address }
    }
}

fn keeper(server: &Command, signal: &str, folder: &Path) -> Command {
    let run = in_run::folder().expect("only a run lends servers");
    let runner = std::env::var("MINT_TEST_RUN_PID").unwrap_or_default();
    let began = runner.parse().ok().and_then(began).unwrap_or_default();
    // A session of its own: what ends the test and all that it has started leaves it.
    let mut keeper = Command::new("setsid");
    keeper.args(["sh", "-c", KEEPER, "sh"]).arg(run);
    keeper.args([&runner, &began]).arg(folder).arg(signal);
    keeper.arg(server.get_program()).args(server.get_args());
    for (name, value) in server.get_envs() {
        match value {
            Some(value) => keeper.env(name, value),
            None => keeper.env_remove(name),
        };
    }
    keeper.current_dir("/").stdin(Stdio::null());
    keeper.stdout(Stdio::null()).stderr(Stdio::null());
    keeper
}
