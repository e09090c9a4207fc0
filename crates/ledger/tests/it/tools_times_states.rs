//! Every tool on every state that another tool, or time, may have left a store in: done, or refused in words and with
//! advice, and then nothing is changed.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::time::Duration;

use mintage_ledger::tools::{
    Accept, Advance, Backup, Restore, add_to_set, back_up, check, check_store, make_set, migrate,
    raise_in_place, restore, restore_into, seal, unseal,
};
use mintage_ledger::*;

use crate::tools_cut_off::Cut;

/// What a tool answers in a state: nothing if it is done, else what its refusal says.
type Row = (State, [&'static str; 9]);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Fresh,
    Served,
    Sealed,
    MovedAway,
    HalfMovedInto,
    HalfRestored,
    /// The new store of a set.
    HalfAdded,
    /// A store of the set that gets another.
    GettingAnother,
    /// It holds a record that this version does not know.
    Newer,
    /// A server has found that it was set back.
    SetBack,
}

const TOOLS: [&str; 9] = [
    "check",
    "backup",
    "restore onto",
    "restore in place",
    "migrate from",
    "migrate to",
    "stripes add",
    "unseal",
    "start",
];

const MOVED: &str = "moved to the memory store of cluster";
const MOVING: &str = "a move into it is not finished";
const RESTORING: &str = "a restore was begun and is not finished";
const ANOTHER: &str = "another restore is not finished";
const FILLING: &str = "it is being added to a set";
const ADDING: &str = "a store is being added to its set";
const USED: &str = "is not empty";
const LOST: &str = "the store has lost what it acknowledged";
const NEWER: &str = "cannot be understood";

#[rustfmt::skip]
const TABLE: [Row; 10] = [
    //                         check      backup     restore    in place   from       to         add        unseal     start
    (State::Fresh,           [""       , ""       , ""       , ""       , ""       , ""       , ""       , ""       , ""       ]),
    (State::Served,          [""       , ""       , USED     , ""       , ""       , USED     , USED     , ""       , ""       ]),
    (State::Sealed,          ["by hand", "by hand", "by hand", "by hand", "by hand", "by hand", "by hand", ""       , "by hand"]),
    (State::MovedAway,       [MOVED    , MOVED    , MOVED    , MOVED    , MOVED    , MOVED    , MOVED    , ""       , MOVED    ]),
    (State::HalfMovedInto,   [MOVING   , MOVING   , MOVING   , MOVING   , MOVING   , ""       , MOVING   , MOVING   , MOVING   ]),
    (State::HalfRestored,    [RESTORING, RESTORING, ""       , ANOTHER  , RESTORING, RESTORING, RESTORING, RESTORING, RESTORING]),
    (State::HalfAdded,       [FILLING  , FILLING  , FILLING  , FILLING  , FILLING  , FILLING  , ""       , FILLING  , FILLING  ]),
    (State::GettingAnother,  [ADDING   , ADDING   , ADDING   , ADDING   , ADDING   , ADDING   , "number 1 of 2", ""       , ADDING   ]),
    (State::Newer,           [NEWER    , ""       , USED     , ""       , ""       , USED     , USED     , ""       , NEWER    ]),
    (State::SetBack,         [LOST     , LOST     , USED     , ""       , LOST     , USED     , USED     , ""       , LOST     ]),
];

/// Where the store lies.
enum Place {
    Folder(PathBuf),
    Shared(Arc<MemoryStore>),
}

/// A store, and what the tools that were cut off had to do with it.
struct Subject {
    place: Place,
    runtime: Arc<dyn Runtime>,
    backup: Backup,
    source: Arc<MemoryStore>,
    set: Vec<Arc<MemoryStore>>,
}

/// A refusal, and whether it advises anything.
type Refusal = (String, bool);

fn of_store(error: StoreError) -> Refusal {
    (error.message, error.hint.is_some())
}

async fn serve(store: Arc<dyn Store>, runtime: &Arc<dyn Runtime>) -> Result<(), Refusal> {
    let told = |error: LedgerError| match error {
        LedgerError::Stopped(error) | LedgerError::Store(error) => of_store(error),
        other => (other.to_string(), false),
    };
    let ledger = Ledger::open(store, LedgerSettings::default(), Arc::clone(runtime))
        .await
        .map_err(told)?;
    let taken = async {
        let orders = ledger
            .sequence_or_create(&Name::new("orders").unwrap())
            .await
            .map_err(told)?;
        orders.take(10).await.map_err(told).map(drop)
    };
    let taken = taken.await;
    let _ = ledger.close().await;
    taken
}

impl Subject {
    async fn new(place: Place, runtime: &Arc<dyn Runtime>) -> Subject {
        let source = MemoryStore::with_cluster_id(90);
        serve(source.clone(), runtime).await.unwrap();
        let mut file = Vec::new();
        back_up(&*source, &mut file, &**runtime).await.unwrap();
        Subject {
            place,
            runtime: Arc::clone(runtime),
            backup: Backup::read(&file[..]).unwrap(),
            source,
            set: [91, 92].map(MemoryStore::with_cluster_id).into(),
        }
    }

    /// Opens the store for some work, and lets go of it.
    async fn with<T>(&self, work: impl AsyncFnOnce(Arc<dyn Store>) -> T) -> T {
        match &self.place {
            Place::Shared(store) => work(store.clone()).await,
            Place::Folder(folder) => {
                let runtime = Arc::clone(&self.runtime);
                let store = EmbeddedStore::open(folder, &StoreSettings::default(), runtime)
                    .await
                    .unwrap();
                let done = work(store.clone()).await;
                // A ledger has closed it already.
                let _ = store.close().await;
                done
            }
        }
    }

    /// Everything in it.
    async fn content(&self) -> Vec<(Key, Versioned)> {
        self.with(async |store| {
            let mut all = Vec::new();
            for prefix in ["cluster/", "move/", "pool/", "seq/", "window/"] {
                all.extend(store.scan(&Key::new(prefix).unwrap(), None, 1000).await.unwrap());
            }
            all
        })
        .await
    }

    async fn bring_into(&self, state: State) {
        let runtime = &*self.runtime;
        if matches!(
            state,
            State::Served | State::Sealed | State::MovedAway | State::Newer | State::SetBack
        ) {
            self.with(async |store| serve(store, &self.runtime).await.unwrap())
                .await;
        }
        self.with(async |store| {
            let cut =
                |store: Arc<dyn Store>, writes: i64| Cut::after(store, &Arc::new(AtomicI64::new(writes)));
            let members = [&*self.set[0] as &dyn Store, &*self.set[1]];
            match state {
                State::Fresh | State::Served => {}
                State::Sealed => seal(&*store, "by hand", runtime).await.unwrap(),
                State::MovedAway => {
                    let to = MemoryStore::with_cluster_id(93);
                    migrate(&*store, &*to, runtime).await.unwrap();
                }
                State::HalfMovedInto => {
                    let to = cut(store.clone(), 3);
                    migrate(&*self.source, &to, runtime).await.unwrap_err();
                }
                State::HalfRestored => {
                    restore_into(
                        &cut(store.clone(), 3),
                        &self.backup,
                        ADVANCE,
                        WINDOW,
                        ACCEPT,
                        runtime,
                    )
                    .await
                    .unwrap_err();
                }
                State::HalfAdded => {
                    make_set(&members, runtime).await.unwrap();
                    let new = cut(store.clone(), 1);
                    let seq = Value {
                        mark: 1,
                        token: 1,
                        body: TOMBSTONE_BODY.into(),
                    };
                    let key = Key::new("seq/orders").unwrap();
                    members[0]
                        .compare_and_set(&key, None, seq, Marks::NeverLower)
                        .await
                        .unwrap();
                    add_to_set(&members, &new, runtime).await.unwrap_err();
                }
                State::GettingAnother => {
                    make_set(&[members[0], &*store], runtime).await.unwrap();
                    let third = MemoryStore::with_cluster_id(94);
                    let third = cut(third, 1);
                    add_to_set(&[members[0], &*store], &third, runtime)
                        .await
                        .unwrap_err();
                }
                State::SetBack => {
                    let key = Key::new("cluster/progress").unwrap();
                    let found = store.get(&key).await.unwrap();
                    let value = Value {
                        mark: found.as_ref().map_or(1, |found| found.value.mark),
                        token: 1,
                        body: r#"{"restores":0,"set_back":"it was set back"}"#.into(),
                    };
                    let version = found.map(|found| found.version);
                    let written = store
                        .compare_and_set(&key, version, value, Marks::NeverLower)
                        .await;
                    assert!(matches!(written, Ok(Cas::Done(_))));
                }
                State::Newer => {
                    let key = Key::new("seq/orders").unwrap();
                    let found = store.get(&key).await.unwrap().unwrap();
                    let body = found.value.body.replacen('{', r#"{"of_tomorrow":1,"#, 1);
                    let value = Value { body, ..found.value };
                    let written = store
                        .compare_and_set(&key, Some(found.version), value, Marks::NeverLower)
                        .await;
                    assert!(matches!(written, Ok(Cas::Done(_))));
                }
            }
        })
        .await;
    }

    async fn apply(&self, tool: &str, state: State) -> Result<(), Refusal> {
        let runtime = &*self.runtime;
        if let (Place::Folder(folder), "check" | "restore onto" | "restore in place") = (&self.place, tool) {
            let url = format!("file:{}", folder.display());
            return self.apply_to_url(tool, &url).await;
        }
        self.with(async |store| match tool {
            "check" => {
                let report = check_store(&*store, runtime).await.unwrap();
                found_nothing(&report.findings)
            }
            "backup" => {
                let made = back_up(&*store, &mut Vec::new(), runtime).await;
                made.map(drop).map_err(|error| match error {
                    tools::BackupError::Store(error) => of_store(error),
                    other => (other.to_string(), false),
                })
            }
            "restore onto" => restore_into(&*store, &self.backup, ADVANCE, WINDOW, ACCEPT, runtime)
                .await
                .map(drop)
                .map_err(of_store),
            "restore in place" => raise_in_place(&*store, ADVANCE, WINDOW, runtime)
                .await
                .map(drop)
                .map_err(of_store),
            "migrate from" => migrate(&*store, &*MemoryStore::with_cluster_id(95), runtime)
                .await
                .map(drop)
                .map_err(of_store),
            "migrate to" => migrate(&*self.source, &*store, runtime)
                .await
                .map(drop)
                .map_err(of_store),
            "stripes add" => {
                let members = [&*self.set[0] as &dyn Store, &*self.set[1]];
                if !matches!(state, State::HalfAdded | State::GettingAnother) {
                    make_set(&members, runtime).await.unwrap();
                }
                let members = match state {
                    // To its own set, as if it were not there yet.
                    State::GettingAnother => [members[0], &*store],
                    _ => members,
                };
                add_to_set(&members, &*store, runtime)
                    .await
                    .map(drop)
                    .map_err(of_store)
            }
            "unseal" => unseal(&*store, runtime).await.map(drop).map_err(of_store),
            "start" => serve(store, &self.runtime).await,
            _ => unreachable!("{tool}"),
        })
        .await
    }

    async fn apply_to_url(&self, tool: &str, url: &str) -> Result<(), Refusal> {
        let (settings, runtime) = (StoreSettings::default(), Arc::clone(&self.runtime));
        if tool == "check" {
            let report = check(url, &settings, None, runtime).await.unwrap();
            // What a folder's records mean is told as notes: its start is not refused for one of them.
            let meant = report.notes.iter().filter(|note| note.contains(NEWER)).cloned();
            let all: Vec<String> = report.findings.iter().cloned().chain(meant).collect();
            return found_nothing(&all);
        }
        let ask = Restore {
            url,
            settings: &settings,
            state: None,
            backup: (tool == "restore onto").then_some(&self.backup),
            advance: ADVANCE,
            window: WINDOW,
            accept: ACCEPT,
        };
        restore(&ask, runtime).await.map(drop).map_err(of_store)
    }
}

const ADVANCE: Advance = Advance::By(1000);
const WINDOW: Duration = Duration::from_secs(600);
const ACCEPT: Accept = Accept {
    foreign: true,
    used: false,
};

/// Findings advise nothing: the start that is refused does.
fn found_nothing(findings: &[String]) -> Result<(), Refusal> {
    match findings {
        [] => Ok(()),
        findings => Err((findings.join("; "), true)),
    }
}

#[track_caller]
fn check_cell(cell: &str, answer: Result<(), Refusal>, says: &str) {
    match answer {
        Ok(()) => assert!(says.is_empty(), "{cell}: done, not {says:?}"),
        Err((message, is_advised)) => {
            let as_told = !says.is_empty() && message.contains(says);
            assert!(as_told, "{cell}: {message:?}, not {says:?}");
            assert!(is_advised, "{cell}: {message:?} advises nothing");
        }
    }
}

async fn check_table(of: &str, make: impl Fn(usize) -> Place, runtime: Arc<dyn Runtime>) {
    // A folder notices that by its own files.
    let rows = TABLE
        .iter()
        .filter(|(state, _)| of == "shared" || *state != State::SetBack);
    let cells = rows.flat_map(|(state, row)| {
        TOOLS
            .iter()
            .zip(row)
            .map(move |(tool, says)| (*state, *tool, *says))
    });
    for (number, (state, tool, says)) in cells.enumerate() {
        let subject = Subject::new(make(number), &runtime).await;
        subject.bring_into(state).await;
        let before = subject.content().await;
        let cell = format!("{tool}, {of} {state:?}");
        check_cell(&cell, subject.apply(tool, state).await, says);
        if !says.is_empty() {
            assert_eq!(subject.content().await, before, "{cell}: refused, and changed");
        }
    }
}

fn on_system<F: Future<Output = ()>>(work: impl FnOnce(Arc<dyn Runtime>) -> F) {
    let tokio = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    tokio.block_on(async {
        let runtime: Arc<dyn Runtime> = SystemRuntime::new(tokio::runtime::Handle::current());
        work(runtime).await;
    });
}

// claim: P50, P51
#[test]
fn every_tool_knows_every_state_of_a_shared_store() {
    on_system(|runtime| async move {
        let make = |number| Place::Shared(MemoryStore::shared(number as u128 + 1));
        check_table("shared", make, runtime).await;
    });
}

// claim: P50, P51
#[test]
fn every_tool_knows_every_state_of_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    on_system(|runtime| async {
        let make = |number: usize| Place::Folder(folder.path().join(number.to_string()));
        check_table("folder", make, runtime).await;
    });
}
