//! The embedded store through its public doors.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use mintage_ledger::conformance::check_all;
use mintage_ledger::embedded::{adopt, check};
use mintage_ledger::{
    Cas, EmbeddedStore, Key, Marks, Outcome, Runtime, Store, StoreError, StoreErrorKind, StoreSettings,
    SystemRuntime, Value, Version, open_store, tools,
};

fn runtime() -> Arc<dyn Runtime> {
    SystemRuntime::new(tokio::runtime::Handle::current())
}

async fn open(path: &Path) -> Arc<EmbeddedStore> {
    EmbeddedStore::open(path, &StoreSettings::default(), runtime())
        .await
        .unwrap_or_else(|e| panic!("{e}"))
}

#[tokio::test]
async fn embedded_keeps_the_contract() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("data");
    check_all(&move || {
        let path = path.clone();
        Box::pin(async move { open(&path).await as Arc<dyn Store> })
    })
    .await;
}

#[track_caller]
fn check_refused(result: Result<Arc<EmbeddedStore>, StoreError>, kind: StoreErrorKind, says: &[&str]) {
    let error = result.expect_err("it opens");
    let all = format!("{error} / {:?}", error.hint);
    assert_eq!((error.kind, error.outcome), (kind, Outcome::NotDone), "{all}");
    for says in says {
        assert!(all.contains(says), "{says:?} is not in: {all}");
    }
}

async fn try_open(path: &Path) -> Result<Arc<EmbeddedStore>, StoreError> {
    EmbeddedStore::open(path, &StoreSettings::default(), runtime()).await
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).expect("a new folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        fs::copy(entry.path(), to.join(entry.file_name())).expect("a copy");
    }
}

async fn put(store: &dyn Store, name: &str, version: u64, mark: u64) -> Result<Cas, StoreError> {
    let key = Key::new(name).expect("a valid key");
    let expected = (version > 0).then_some(Version::of(version));
    let new = Value {
        mark,
        token: 1,
        body: "{}".into(),
    };
    store
        .compare_and_set(&key, expected, new, Marks::NeverLower)
        .await
}

async fn mark(store: &dyn Store, name: &str) -> u64 {
    let key = Key::new(name).expect("a valid key");
    store
        .get(&key)
        .await
        .expect("a read")
        .expect("it is there")
        .value
        .mark
}

// claim: P35
#[tokio::test]
async fn a_second_opener_is_refused_and_told_who_has_it() {
    let dir = tempfile::tempdir().unwrap();
    let first = open(dir.path()).await;
    let pid = format!("in use by process {}", std::process::id());
    check_refused(
        try_open(dir.path()).await,
        StoreErrorKind::InUse,
        &[&pid, "UseAnother"],
    );
    first.close().await.unwrap();
    open(dir.path()).await.close().await.unwrap();
}

#[tokio::test]
async fn a_one_shot_command_waits_for_the_lock() {
    let dir = tempfile::tempdir().unwrap();
    let first = open(dir.path()).await;
    let waiting = StoreSettings {
        lock_wait: Duration::from_secs(60),
        ..StoreSettings::default()
    };
    let path = dir.path().to_path_buf();
    let mut second = tokio::task::JoinSet::new();
    second.spawn(async move { EmbeddedStore::open(path, &waiting, runtime()).await });
    put(&*first, "k", 0, 7).await.unwrap();
    first.close().await.unwrap();
    let second = second.join_next().await.unwrap().unwrap().unwrap();
    assert_eq!(mark(&*second, "k").await, 7);
    let short = StoreSettings {
        lock_wait: Duration::from_millis(20),
        ..StoreSettings::default()
    };
    let refused = EmbeddedStore::open(dir.path(), &short, runtime()).await;
    check_refused(refused, StoreErrorKind::InUse, &["in use by process"]);
}

/// A volume that is not mounted is an empty folder, or none.
// claim: P41
#[tokio::test]
async fn a_store_that_is_gone_from_its_place_is_not_begun_anew() {
    let dir = tempfile::tempdir().unwrap();
    let (place, elsewhere) = (dir.path().join("volume/ids"), dir.path().join("elsewhere"));
    let settings = StoreSettings {
        state_folder: Some(dir.path().join("state")),
        ..StoreSettings::default()
    };
    let open =
        async |path: &Path, settings: &StoreSettings| EmbeddedStore::open(path, settings, runtime()).await;
    let store = open(&place, &settings).await.unwrap();
    put(&*store, "k", 0, 7).await.unwrap();
    store.close().await.unwrap();
    fs::rename(&place, &elsewhere).unwrap();
    let says = [
        "there is no store in",
        "mounted at",
        "this machine remembers one of",
    ];
    check_refused(open(&place, &settings).await, StoreErrorKind::Foreign, &says);
    assert!(!place.exists(), "a refusal leaves nothing");
    fs::create_dir(&place).unwrap();
    check_refused(open(&place, &settings).await, StoreErrorKind::Foreign, &says);
    fs::remove_dir(&place).unwrap();
    // Back in its place it goes on; moved away and served there, its old place is free.
    fs::rename(&elsewhere, &place).unwrap();
    let store = open(&place, &settings).await.unwrap();
    assert_eq!(mark(&*store, "k").await, 7);
    store.close().await.unwrap();
    fs::rename(&place, &elsewhere).unwrap();
    open(&elsewhere, &settings).await.unwrap().close().await.unwrap();
    open(&place, &settings).await.unwrap().close().await.unwrap();
    // Begun anew by somebody who says so, and then remembered as what it is now.
    fs::remove_dir_all(&place).unwrap();
    let anew = StoreSettings {
        anew: true,
        ..settings.clone()
    };
    assert!(open(&place, &settings).await.is_err());
    let store = open(&place, &anew).await.unwrap();
    assert!(store.report().created);
    store.close().await.unwrap();
    open(&place, &settings).await.unwrap().close().await.unwrap();
    // Where no store may be made by a start, `mint init` makes it.
    let never = StoreSettings {
        create: false,
        ..settings.clone()
    };
    let fresh = dir.path().join("fresh");
    check_refused(
        open(&fresh, &never).await,
        StoreErrorKind::Invalid,
        &["there is no store in"],
    );
    let url = format!("file:{}", fresh.display());
    let made = mintage_ledger::init_store(&url, &never, runtime()).await.unwrap();
    assert!(made.created);
    assert!(
        !mintage_ledger::init_store(&url, &never, runtime())
            .await
            .unwrap()
            .created
    );
    open(&fresh, &never).await.unwrap().close().await.unwrap();
}

// claim: P38
#[tokio::test]
async fn a_copied_folder_is_refused_until_it_is_adopted() {
    let dir = tempfile::tempdir().unwrap();
    let (original, copied) = (dir.path().join("original"), dir.path().join("copied"));
    let store = open(&original).await;
    put(&*store, "k", 0, 7).await.unwrap();
    store.close().await.unwrap();
    copy(&original, &copied);
    for _ in 0..2 {
        check_refused(
            try_open(&copied).await,
            StoreErrorKind::Foreign,
            &["it is a copy", "AdoptOrRaise"],
        );
    }
    let report = adopt(&copied, &StoreSettings::default(), runtime())
        .await
        .unwrap();
    assert_eq!(report.registers, 1);
    let store = open(&copied).await;
    assert_eq!(mark(&*store, "k").await, 7);
    store.close().await.unwrap();
    open(&original).await.close().await.unwrap();
}

#[tokio::test]
async fn a_moved_folder_is_accepted() {
    let dir = tempfile::tempdir().unwrap();
    let (here, there) = (dir.path().join("here"), dir.path().join("there"));
    let store = open(&here).await;
    put(&*store, "k", 0, 7).await.unwrap();
    store.close().await.unwrap();
    fs::rename(&here, &there).unwrap();
    let store = open(&there).await;
    assert_eq!(mark(&*store, "k").await, 7);
}

#[tokio::test]
async fn a_restored_copy_continues_above_what_was_asked() {
    let dir = tempfile::tempdir().unwrap();
    let (original, backup) = (dir.path().join("original"), dir.path().join("backup"));
    let store = open(&original).await;
    put(&*store, "seq/a", 0, 7).await.unwrap();
    // Nothing was reserved of this one when the backup was made, and much may have been since.
    put(&*store, "seq/fresh", 0, 0).await.unwrap();
    put(&*store, "pool/p", 0, 0).await.unwrap();
    put(&*store, "window/p/1", 0, 1000).await.unwrap();
    store.close().await.unwrap();
    copy(&original, &backup);
    let report = restore_in_place(&backup, 500).await.unwrap();
    assert_eq!((report.registers, report.skipped), (4, 500));
    let store = open(&backup).await;
    assert_eq!(mark(&*store, "seq/a").await, 507);
    assert_eq!(
        mark(&*store, "window/p/1").await,
        i64::MAX as u64,
        "nobody knows its layout"
    );
    assert_eq!(mark(&*store, "seq/fresh").await, 500);
    assert_eq!(mark(&*store, "pool/p").await, 0);
    store.close().await.unwrap();
    let found = check(&backup, &StoreSettings::default(), runtime())
        .await
        .unwrap();
    // Besides the four: the seal that is off, and the note for names that are not there.
    assert_eq!((found.registers, found.findings), (6, vec![]));
}

async fn restore_in_place(folder: &Path, numbers: u64) -> Result<tools::RestoreReport, StoreError> {
    let url = format!("file:{}", folder.display());
    let ask = tools::Restore {
        url: &url,
        settings: &StoreSettings::default(),
        state: None,
        backup: None,
        advance: tools::Advance::By(numbers),
        window: Duration::from_secs(600),
        accept: tools::Accept::default(),
    };
    tools::restore(&ask, runtime()).await
}

// claim: P42
#[tokio::test]
async fn tools_refuse_a_place_without_a_store() {
    let dir = tempfile::tempdir().unwrap();
    let settings = StoreSettings::default();
    for path in [dir.path().to_path_buf(), dir.path().join("nothing")] {
        adopt(&path, &settings, runtime()).await.unwrap_err();
        check(&path, &settings, runtime()).await.unwrap_err();
        restore_in_place(&path, 5).await.unwrap_err();
        assert!(!path.join("mint.db").exists());
    }
}

// claim: P27
#[tokio::test]
async fn a_folder_with_parts_missing_is_never_a_fresh_start() {
    for missing in ["mint.db", "witness", "folder.json"] {
        let dir = tempfile::tempdir().unwrap();
        let store = open(dir.path()).await;
        put(&*store, "k", 0, 7).await.unwrap();
        store.close().await.unwrap();
        fs::remove_file(dir.path().join(missing)).unwrap();
        let says = format!("{missing} is missing while other parts of the store are there");
        check_refused(try_open(dir.path()).await, StoreErrorKind::Corrupt, &[&says]);
    }
}

#[tokio::test]
async fn a_first_start_that_was_cut_off_is_made_again() {
    let dir = tempfile::tempdir().unwrap();
    let made = dir.path().join("made");
    open(&made).await.close().await.unwrap();
    let names: Vec<_> = ["mint.db", "mint.db-wal", "witness", "folder.json", "heartbeat"].into();
    // Whatever subset of files a crash left, whole or cut short, while CREATING is there.
    for present in 0..1u32 << names.len() {
        for cut in [false, true] {
            let half = dir.path().join(format!("half{present}{cut}"));
            fs::create_dir(&half).unwrap();
            fs::write(half.join("CREATING"), "").unwrap();
            for (n, name) in names.iter().enumerate().filter(|(n, _)| present >> n & 1 == 1) {
                let mut bytes = fs::read(made.join(name)).unwrap();
                bytes.truncate(if cut { bytes.len() * n / 7 } else { bytes.len() });
                fs::write(half.join(name), bytes).unwrap();
            }
            let store = open(&half).await;
            assert!(store.report().created);
            assert!(!half.join("CREATING").exists());
        }
    }
    // With a record in its witness it is no first start, whatever the marker says.
    let store = open(&made).await;
    put(&*store, "k", 0, 7).await.unwrap();
    store.close().await.unwrap();
    fs::write(made.join("CREATING"), "").unwrap();
    check_refused(
        try_open(&made).await,
        StoreErrorKind::Corrupt,
        &["its witness holds records"],
    );
}

#[tokio::test]
async fn foreign_and_newer_folders_are_refused_in_words() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (dir.path().join("a"), dir.path().join("b"));
    for path in [&a, &b] {
        open(path).await.close().await.unwrap();
    }
    let identity = fs::read_to_string(a.join("folder.json")).unwrap();
    let with = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut json: serde_json::Value = serde_json::from_str(&identity).unwrap();
        change(&mut json);
        fs::write(a.join("folder.json"), json.to_string()).unwrap();
    };
    with(&|json| json["cluster_id"] = "00000000000000000000000000000001".into());
    check_refused(
        try_open(&a).await,
        StoreErrorKind::Foreign,
        &[
            "belongs to cluster",
            "folder.json to 00000000000000000000000000000001",
            "different stores",
        ],
    );
    with(&|json| json["schema"] = 2.into());
    check_refused(
        try_open(&a).await,
        StoreErrorKind::Foreign,
        &["folder.json has schema 2", "up to 1", "NewerProgram"],
    );
    fs::write(a.join("folder.json"), "{").unwrap();
    check_refused(
        try_open(&a).await,
        StoreErrorKind::Corrupt,
        &["folder.json is damaged"],
    );
    fs::write(a.join("folder.json"), &identity).unwrap();
    let witness = fs::read(a.join("witness")).unwrap();
    fs::copy(b.join("witness"), a.join("witness")).unwrap();
    check_refused(
        try_open(&a).await,
        StoreErrorKind::Corrupt,
        &["the witness belongs to cluster"],
    );
    fs::write(a.join("witness"), witness).unwrap();
    let database = rusqlite::Connection::open(a.join("mint.db")).unwrap();
    database.execute_batch("UPDATE meta SET schema = 7").unwrap();
    drop(database);
    check_refused(
        try_open(&a).await,
        StoreErrorKind::Foreign,
        &["mint.db has schema 7", "NewerProgram { on_this_machine: false }"],
    );
}

#[tokio::test]
async fn places_that_cannot_be_a_folder_are_refused_in_words() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "x").unwrap();
    check_refused(
        try_open(&file).await,
        StoreErrorKind::Invalid,
        &["it is a file, not a folder"],
    );
    check_refused(
        try_open(&file.join("below")).await,
        StoreErrorKind::Invalid,
        &["cannot be created"],
    );
    let error = try_open(Path::new("/proc/mint-data")).await.unwrap_err();
    assert!(
        error.message.contains("/proc/mint-data: cannot be created"),
        "{error}"
    );
}

#[tokio::test]
async fn urls_name_the_folder() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a").join("b");
    for url in [
        format!("file:{}", path.display()),
        format!("file://{}", path.display()),
    ] {
        let store = open_store(&url, &StoreSettings::default(), runtime())
            .await
            .unwrap();
        assert_eq!((store.scheme(), store.exclusive()), ("file", true));
        store.close().await.unwrap();
    }
    assert!(path.join("mint.db").exists());
    // The library has no place of its own: the command's default is the command's.
    for url in ["file:", "file://"] {
        let error = open_store(url, &StoreSettings::default(), runtime())
            .await
            .err()
            .unwrap();
        assert_eq!(error.message, "store file: names no folder; write file:PATH");
    }
}
