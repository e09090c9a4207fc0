//! The embedded store's folder and the command's state files, as operators and others treat them: put back in place,
//! copied by what keeps inodes, mistyped, planted with links, reached through FUSE.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use mintage_e2e::cluster::eventually;
use mintage_e2e::need;
use mintage_e2e::run::{self, Said};
use mintage_e2e::server::Start;
use mintage_e2e::volume::{self, Mounted, said};
use mintage_testing::{distinct, invariant};

const BOTH: [&str; 2] = ["mint store adopt", "mint store restore --advance N"];

/// Numbers of a sequence from the store `data` in a folder, taken by the command, which stops cleanly.
fn take(folder: &Path, store: &str, count: u32) -> Said {
    let (store, count) = (format!("file:{store}"), count.to_string());
    let args = ["seq", "next", "orders", "--store", &store, "--count", &count];
    run::mint(folder, args)
}

#[track_caller]
fn taken(said: Said) -> BTreeSet<u64> {
    said.ok().lines().map(|line| line.parse().unwrap()).collect()
}

/// A refusal that names both commands, as they are typed.
#[track_caller]
fn check_refused(said: &Said, why: &str, store: &str) {
    assert_eq!((said.code, said.out.as_str()), (3, ""), "{said:?}");
    assert!(said.err.contains(why), "{why:?} is not in {said:?}");
    for command in BOTH {
        let whole = format!("`{command} --store file:{store}`");
        assert!(said.err.contains(&whole), "{whole} is not in {said:?}");
    }
}

fn copy(from: &Path, to: &Path) {
    said("cp", &[Path::new("-a"), from, to]);
}

/// A copy of a folder that changes meanwhile: a file may be renamed between its listing and its copying.
fn copy_live(from: &Path, to: &Path) {
    let cp = std::process::Command::new("cp")
        .arg("-a")
        .args([from, to])
        .output();
    let said = String::from_utf8_lossy(&cp.expect("cp is everywhere").stderr).into_owned();
    assert!(said.lines().all(|line| line.contains("reached-")), "{said}");
}

type PutBack = fn(&Path);

/// A folder that holds `data` and `backup`, and what puts the second in the place of the first, keeping its inodes.
const PUT_BACK: [(&str, PutBack); 4] = [
    ("cp -a", |at| shell(at, "cp -a backup/. data/")),
    ("tar", |at| {
        shell(at, "tar -C backup -cf - . | tar -C data --overwrite -xf -")
    }),
    ("rsync", |at| shell(at, "rsync -aI --inplace backup/ data/")),
    ("rsync --delete", |at| {
        shell(at, "rsync -aI --inplace --delete backup/ data/")
    }),
];

#[track_caller]
fn shell(at: &Path, script: &str) {
    said("sh", &["-ec", &format!("cd {}; {script}", at.display())]);
}

/// The story: stop, copy, go on, stop, put the copy back over it: every number since was given out twice.
// claim: P39
#[test]
fn a_backup_put_back_in_place_is_refused_after_a_clean_stop() {
    for (tool, put_back) in PUT_BACK {
        if tool.starts_with("rsync") && !need::program("rsync") {
            continue;
        }
        // With and without the note in the state folder, which another user or machine does not have.
        for state_kept in [true, false] {
            let folder = tempfile::tempdir().unwrap();
            let at = folder.path();
            let mut seen = taken(take(at, "data", 10));
            copy(&at.join("data"), &at.join("backup"));
            seen.extend(taken(take(at, "data", 400)));
            put_back(at);
            if !state_kept {
                fs::remove_dir_all(at.join(".local")).unwrap();
            }
            for _ in 0..2 {
                let again = take(at, "data", 400);
                check_refused(&again, "set back", "data");
            }
            let checked = run::mint(at, ["store", "check", "--store", "file:data"]);
            assert_eq!(checked.code, 1, "{tool}: {checked:?}");
            run::mint(
                at,
                ["store", "restore", "--advance", "1000", "--store", "file:data"],
            )
            .ok();
            let fresh = taken(take(at, "data", 400));
            distinct(tool, seen.iter().chain(&fresh));
        }
    }
}

/// As above, of a copy made while the server ran, which was killed later.
// claim: P39
#[test]
fn a_live_copy_put_back_in_place_is_refused_after_a_kill() {
    for (tool, put_back) in PUT_BACK {
        if tool.starts_with("rsync") && !need::program("rsync") {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        let start = Start::in_folder(at).args(["--store", "file:data"]);
        let server = start.ready();
        let mut client = server.redis();
        let mut last = 0;
        for turn in 0..400 {
            last = client.ask(&["INCR", "orders"]).unwrap().int().unwrap();
            client.ask(&["INCRBY", "runs", "5000"]).unwrap();
            if turn == 10 {
                copy_live(&at.join("data"), &at.join("backup"));
            }
        }
        server.kill();
        fs::remove_dir_all(at.join(".local")).unwrap();
        put_back(at);
        check_refused(&start.refused(), "set back", "data");
        // The copy's files may be of different moments, which a repair mends; it is no newer for that.
        let repaired = run::mint(at, ["store", "repair", "--store", "file:data"]);
        assert_eq!(repaired.code, 0, "{tool}: {repaired:?}");
        check_refused(&start.refused(), "set back", "data");
        run::mint(
            at,
            ["store", "restore", "--advance", "1000", "--store", "file:data"],
        )
        .ok();
        let next = start.ready().redis().ask(&["INCR", "orders"]).unwrap();
        invariant!(next.int() > Some(last), "{tool}: {next:?} after {last}");
    }
}

/// What administrators do to folders is no reason to refuse them.
#[test]
fn changed_owners_modes_times_and_links_refuse_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let mut seen = taken(take(at, "data", 10));
    let owner = fs::metadata(at).unwrap().uid();
    for script in [
        format!("chown -R {owner} data"),
        "chmod -R u+rwX,g+rX data".to_string(),
        "find data -type f -exec touch {} +".to_string(),
        "cp -al data linked".to_string(),
        "mv data moved && mv moved data".to_string(),
    ] {
        shell(at, &script);
        let more = taken(take(at, "data", 10));
        distinct(script, seen.iter().chain(&more));
        seen.extend(more);
    }
}

/// What only the note outside the folder can tell: everything inside is as it was.
// claim: P40
#[test]
fn an_older_image_of_the_volume_is_refused_on_the_machine_that_ran_on() {
    if !need::root() || !volume::possible(&["mkfs.ext4"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let image = at.join("image");
    volume::image(&image, 32, &["mkfs.ext4", "-q"]);
    let mount = || Mounted::new(&["-o", "loop"], &image, &at.join("disk"));
    let mut seen = {
        let _disk = mount();
        taken(take(at, "disk/data", 10))
    };
    copy(&image, &at.join("older"));
    {
        let _disk = mount();
        seen.extend(taken(take(at, "disk/data", 400)));
    }
    shell(at, "cp older image");
    let _disk = mount();
    check_refused(&take(at, "disk/data", 400), "set back", "disk/data");
    let advance = [
        "store",
        "restore",
        "--advance",
        "1000",
        "--store",
        "file:disk/data",
    ];
    run::mint(at, advance).ok();
    distinct("ids", seen.into_iter().chain(taken(take(at, "disk/data", 400))));
}

// claim: P38
#[test]
fn a_btrfs_snapshot_is_a_copy_and_a_volume_that_moved_is_not() {
    if !need::root() || !volume::possible(&["mkfs.btrfs", "btrfs"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let image = at.join("image");
    volume::image(&image, 120, &["mkfs.btrfs", "-q"]);
    let disk = Mounted::new(&["-o", "loop"], &image, &at.join("disk"));
    shell(at, "btrfs subvolume create disk/one");
    let mut seen = taken(take(at, "disk/one/data", 10));
    shell(at, "btrfs subvolume snapshot disk/one disk/two");
    check_refused(&take(at, "disk/two/data", 100), "it is a copy", "disk/two/data");
    seen.extend(taken(take(at, "disk/one/data", 100)));
    drop(disk);
    let _moved = Mounted::new(&["-o", "loop"], &image, &at.join("elsewhere"));
    distinct(
        "ids",
        seen.into_iter().chain(taken(take(at, "elsewhere/one/data", 100))),
    );
}

/// Two containers of one image: each has the folder of the image below and writes above it.
// claim: P38
#[test]
fn a_folder_in_a_lower_layer_of_an_overlay_is_a_copy() {
    if !need::root() || !volume::possible(&[]) {
        return;
    }
    for inode_bytes in ["256", "128"] {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        volume::image(&at.join("image"), 32, &["mkfs.ext4", "-q", "-I", inode_bytes]);
        let _disk = Mounted::new(&["-o", "loop"], &at.join("image"), &at.join("disk"));
        taken(take(at, "disk/lower/data", 10));
        // Images are older than their containers; without finer times, than the second that they were made in.
        let made = fs::metadata(at.join("disk/lower/data/mint.db")).unwrap().ctime();
        let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        eventually("another second", || now() > made as u64 + 1);
        for container in ["a", "b"] {
            shell(
                at,
                &format!("mkdir -p disk/{container}/upper disk/{container}/work"),
            );
            let disk = at.join("disk");
            let options = format!(
                "lowerdir={0}/lower,upperdir={0}/{container}/upper,workdir={0}/{container}/work",
                disk.display()
            );
            let merged = at.join(container);
            let _overlay = Mounted::new(&["-t", "overlay", "-o", &options], Path::new("overlay"), &merged);
            let store = format!("{container}/data");
            check_refused(&take(at, &store, 10), "it is a copy", &store);
            check_refused(&take(at, &store, 10), "it is a copy", &store);
            run::mint(at, ["store", "adopt", "--store", &format!("file:{store}")]).ok();
            // One's own upper layer is as good as a disk.
            let seen = taken(take(at, &store, 10));
            distinct("ids", seen.into_iter().chain(taken(take(at, &store, 10))));
        }
    }
}

/// Without birth times a copy may have all that was compared.
// claim: P38
#[test]
fn a_copy_on_a_file_system_without_birth_times_is_refused() {
    if !need::root() || !volume::possible(&["mkfs.ext4"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let disk = |name: &str| {
        let image = at.join(format!("{name}.image"));
        volume::image(&image, 32, &["mkfs.ext4", "-q", "-I", "128"]);
        Mounted::new(&["-o", "loop"], &image, &at.join(name))
    };
    let (one, _two) = (disk("one"), disk("two"));
    let mut seen = taken(take(at, "one/data", 10));
    copy(&at.join("one/data"), &at.join("backup"));
    // Made in the same order, so that each file gets the same inode.
    taken(take(at, "two/data", 1));
    let names = |of: &str| fs::metadata(at.join(of).join("data/mint.db")).unwrap().ino();
    assert_eq!(names("one"), names("two"), "the test needs equal inodes");
    shell(at, "cp -a one/data/. two/data/");
    check_refused(&take(at, "two/data", 200), "is refused", "two/data");
    // In the same place anew: the inodes that were just given back.
    shell(at, "rm -r one/data && cp -a backup one/data");
    check_refused(&take(at, "one/data", 200), "it is a copy", "one/data");
    run::mint(at, ["store", "adopt", "--store", "file:one/data"]).ok();
    seen.extend(taken(take(at, "one/data", 200)));
    drop(one);
    let _moved = Mounted::new(&["-o", "loop"], &at.join("one.image"), &at.join("moved"));
    distinct("ids", seen.into_iter().chain(taken(take(at, "moved/data", 10))));
}

// claim: P36
#[test]
fn a_folder_or_state_file_on_fuse_is_refused_unless_it_is_allowed() {
    if !need::root() || !volume::possible(&["bindfs"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::create_dir(at.join("real")).unwrap();
    let _fuse = Mounted::through_fuse(&at.join("real"), &at.join("fuse"));
    let state = at.join("fuse/state");
    let home = at.join("fuse/home");
    let all: [&[&str]; 4] = [
        &["seq", "next", "orders", "--store", "file:fuse/data"],
        &["snowflake", "--state", state.to_str().unwrap()],
        &["uuid", "v1", "--state", state.to_str().unwrap()],
        &["snowflake"],
    ];
    for (n, args) in all.into_iter().enumerate() {
        let mut command = run::command(args);
        command.current_dir(at).env("HOME", at);
        if n == 3 {
            command.env("HOME", &home).env_remove("XDG_STATE_HOME");
            fs::create_dir_all(&home).unwrap();
        }
        let refused: Said = command.output().unwrap().into();
        refused.fails(3, "fuse", "store.allow_file_systems");
        assert!((n > 0 || !at.join("real/data").exists()) && !at.join("real/state").exists());
        command.env("MINT_STORE__ALLOW_FILE_SYSTEMS", "fuse");
        Said::from(command.output().unwrap()).ok();
        fs::remove_file(&state).ok();
    }
    // A file that other machines may reach has this one's name.
    let mut names = fs::read_dir(at.join("real/home/.local/state/mintage")).unwrap();
    assert!(names.all(|entry| entry.unwrap().file_name().to_string_lossy().contains('@')));
}

/// A file of an older program in a home that several machines share: taken over, with what it has reserved.
#[test]
fn a_state_file_of_an_older_program_is_gone_on_with() {
    if !need::root() || !volume::possible(&["bindfs"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let snowflakes = |home: &Path| -> BTreeSet<String> {
        let mut command = run::command(["snowflake", "--count", "9000"]);
        command
            .current_dir(at)
            .env("HOME", home)
            .env_remove("XDG_STATE_HOME")
            .env("MINT_STORE__ALLOW_FILE_SYSTEMS", "fuse");
        let said: Said = command.output().unwrap().into();
        said.ok().lines().map(String::from).collect()
    };
    // On a plain disk the name is that of every program before.
    fs::create_dir(at.join("real")).unwrap();
    let before = snowflakes(&at.join("real"));
    let _fuse = Mounted::through_fuse(&at.join("real"), &at.join("fuse"));
    let after = snowflakes(&at.join("fuse"));
    invariant!(before.last() < after.first(), "{after:?} after {before:?}");
    let names = fs::read_dir(at.join("real/.local/state/mintage")).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let (own, older): (Vec<_>, Vec<_>) = names.partition(|name| name.contains('@'));
    assert!(
        older.is_empty(),
        "nothing of the older program is left: {older:?}"
    );
    assert_eq!(
        own.iter().filter(|name| !name.ends_with(".last")).count(),
        2,
        "{own:?}"
    );
}

// claim: P42
#[test]
fn a_mistyped_folder_is_refused_and_not_made() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::create_dir(at.join("empty")).unwrap();
    for typo in ["typo", "empty"] {
        for (words, [absent, ..]) in COMMANDS.iter().filter(|row| row.1[0] == ABSENT) {
            let words = words.replace("DATA", typo);
            let refused = run::mint(at, words.split(' '));
            refused.fails(2, &format!("{absent} {typo}"), "mint serve");
            for made in ["typo", "target", "backup.jsonl"] {
                assert!(!at.join(made).exists(), "{words} made {made}");
            }
            assert_eq!(fs::read_dir(at.join("empty")).unwrap().count(), 0, "{words}");
        }
    }
    taken(take(at, "typo", 1));
}

const ABSENT: &str = "no store in";
const GONE: &str = "where this machine remembers one";
const MOVED: &str = "the store is sealed: moved to";
// Which of the two it seems depends on whether the file system has used an inode again.
const COPIED: &str = "store data is refused: it ";
const BACK: &str = "it was set back";
/// It is done, or no more than looked at.
const DONE: &str = "";
/// It says what is wrong: that is what it is for.
const FOUND: &str = "found";

/// What a command answers on a folder that was never there, is gone, was moved to another store, is a copy, or was set back.
type Row = (&'static str, [&'static str; 5]);

const USES: [&str; 5] = [ABSENT, ABSENT, MOVED, COPIED, BACK];
const MAKES: [&str; 5] = [DONE, GONE, MOVED, COPIED, BACK];

/// Every command that takes a store, but [`ELSEWHERE`].
const COMMANDS: &[Row] = &[
    ("uuid v6 --store file:DATA", MAKES),
    ("snowflake --store file:DATA", MAKES),
    ("seq create new --store file:DATA", MAKES),
    ("seq next orders --store file:DATA", MAKES),
    ("seq list --store file:DATA", USES),
    ("seq show orders --store file:DATA", USES),
    ("seq drop orders --store file:DATA", USES),
    ("seq set orders 500 --store file:DATA", USES),
    ("seq restart orders --with 600 --store file:DATA", USES),
    ("seq alter orders --max-gap 7 --store file:DATA", USES),
    ("pool create mine --store file:DATA", MAKES),
    ("pool list --store file:DATA", USES),
    ("pool show default --store file:DATA", USES),
    ("pool avoid default --add 3 --store file:DATA", USES),
    ("pool drop default --store file:DATA", USES),
    ("pool release default 1 --store file:DATA", USES),
    ("pool retire default 1 --store file:DATA", USES),
    ("import --status --store file:DATA", USES),
    ("init --store file:DATA", [DONE, GONE, DONE, COPIED, BACK]),
    (
        "store adopt --store file:DATA",
        [ABSENT, ABSENT, DONE, DONE, DONE],
    ),
    ("store backup backup.jsonl --store file:DATA", USES),
    (
        "store restore --advance 5 --store file:DATA",
        [ABSENT, ABSENT, MOVED, DONE, DONE],
    ),
    ("store migrate --to file:target --store file:DATA", USES),
    (
        "store unseal --store file:DATA",
        [ABSENT, ABSENT, DONE, COPIED, BACK],
    ),
    (
        "store check --store file:DATA",
        [ABSENT, ABSENT, FOUND, FOUND, FOUND],
    ),
    (
        "store repair --store file:DATA",
        [ABSENT, ABSENT, DONE, DONE, DONE],
    ),
    (
        "store stripes show file:DATA",
        [ABSENT, ABSENT, DONE, COPIED, BACK],
    ),
];

/// Commands that take a store and have no row: whose start is in the other tests of this file, who asks servers alone, and
/// who needs a set.
const ELSEWHERE: &[&str] = &["serve", "doctor", "store stripes make", "store stripes add"];

/// The commands below these words that take a store.
fn with_store(at: &Path, words: &[String], found: &mut Vec<String>) {
    let help = run::mint(at, words.iter().map(String::as_str).chain(["--help"])).ok();
    let below = help.split_once("Commands:\n").map_or("", |(_, rest)| rest);
    let names = below
        .lines()
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .filter(|name| !name.is_empty() && *name != "help");
    let mut is_leaf = true;
    for name in names {
        is_leaf = false;
        with_store(at, &[words, &[name.to_string()]].concat(), found);
    }
    if is_leaf && (help.contains("--store ") || words[0] == "store") {
        found.push(words.join(" "));
    }
}

#[test]
fn every_command_that_takes_a_store_has_its_row() {
    let folder = tempfile::tempdir().unwrap();
    let mut found = Vec::new();
    with_store(folder.path(), &[], &mut found);
    assert!(found.len() > COMMANDS.len(), "{found:?}");
    let rows = COMMANDS.iter().map(|row| row.0).chain(ELSEWHERE.iter().copied());
    let rows: Vec<&str> = rows.collect();
    for command in &found {
        let is_its = |row: &&&str| **row == command || row.starts_with(&format!("{command} "));
        assert!(
            rows.iter().any(|row| is_its(&row)),
            "mint {command} takes a store: what does it answer in each state?"
        );
    }
}

/// Brings the folder `data` into a state of [`COMMANDS`].
fn bring_into(at: &Path, state: usize) {
    let data = at.join("data");
    if state == 0 {
        return;
    }
    taken(take(at, "data", 3));
    match state {
        1 => fs::remove_dir_all(&data).unwrap(),
        2 => drop(
            run::mint(
                at,
                ["store", "migrate", "--to", "file:new", "--store", "file:data"],
            )
            .ok(),
        ),
        3 => {
            copy(&data, &at.join("copy"));
            fs::remove_dir_all(&data).unwrap();
            fs::rename(at.join("copy"), &data).unwrap();
        }
        _ => {
            copy(&data, &at.join("old"));
            taken(take(at, "data", 30));
            copy(&at.join("old/."), &data);
        }
    }
}

/// Where a command refuses it says what it has found and what to do; where it is done, no number
/// comes again.
// claim: P38, P39, P41, P42
#[test]
fn every_command_knows_every_state_of_a_folder() {
    for (state, (words, answers)) in (1..5).flat_map(|state| COMMANDS.iter().map(move |row| (state, row))) {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        bring_into(at, state);
        let said = run::mint(at, words.replace("DATA", "data").split(' '));
        match answers[state] {
            DONE => {
                said.ok();
                let taken = take(at, "data", 1);
                // Whoever adopts what was set back says that nothing was issued since.
                let next = taken.out.trim().parse::<u64>().ok().filter(|_| state != 4);
                invariant!(next.is_none_or(|next| next > 3), "{words}: {taken:?}");
            }
            FOUND => assert_eq!(said.code, 1, "{words}: {said:?}"),
            why => {
                assert!(said.code > 1 && said.out.is_empty(), "{words}: {said:?}");
                let is_told = said.err.contains(why) && said.err.contains("\nhint: ");
                assert!(is_told, "{words} in state {state}: {said:?}");
            }
        }
    }
}

/// With the witness and the database's log both gone, nothing knows what was given out.
// claim: P43
#[test]
fn a_repair_without_either_record_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let start = Start::in_folder(at).args(["--store", "file:data"]);
    let server = start.ready();
    let mut client = server.redis();
    for _ in 0..70 {
        client.ask(&["INCR", "orders"]).unwrap();
    }
    server.kill();
    for name in ["witness", "mint.db-wal"] {
        fs::remove_file(at.join("data").join(name)).unwrap();
    }
    assert_eq!(start.refused().code, 3);
    let repair = ["store", "repair", "--store", "file:data"];
    for _ in 0..2 {
        run::mint(at, repair).fails(3, "both its witness and mint.db-wal", "restore a backup");
    }
    assert_eq!(start.refused().code, 3);
}

/// The files that a start opens or makes.
const NAMES: [&str; 9] = [
    "LOCK",
    "CREATING",
    "folder.json",
    "folder.json.new",
    "heartbeat",
    "mint.db",
    "mint.db-wal",
    "witness",
    "witness.new",
];

#[test]
fn planted_links_are_refused_and_their_targets_stay() {
    for (name, used) in NAMES.into_iter().flat_map(|name| [(name, false), (name, true)]) {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        let victim = at.join("victim");
        fs::write(&victim, "precious").unwrap();
        fs::create_dir(at.join("data")).unwrap();
        if used {
            taken(take(at, "data", 1));
        }
        fs::remove_file(at.join("data").join(name)).ok();
        symlink(&victim, at.join("data").join(name)).unwrap();
        let refused = take(at, "data", 1);
        refused.fails(3, "is a link", "remove it");
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious", "{name}");
    }
    // A state file alike.
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("victim"), "").unwrap();
    symlink(at.join("victim"), at.join("state")).unwrap();
    run::mint(at, ["snowflake", "--state", "state"]).fails(3, "cannot open state file", "it is a link");
    assert_eq!(fs::read(at.join("victim")).unwrap(), b"");
}

#[test]
fn the_folder_is_its_owners_alone() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    taken(take(at, "data", 1));
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let check = || {
        for entry in fs::read_dir(at.join("data")).unwrap() {
            let path = entry.unwrap().path();
            assert_eq!(mode(&path), 0o600, "{}", path.display());
        }
    };
    assert_eq!(mode(&at.join("data")), 0o700);
    check();
    // As an older program made them.
    shell(at, "chmod 755 data && chmod 644 data/*");
    let server = Start::in_folder(at).args(["--store", "file:data"]).ready();
    assert!(server.log().contains("chmod 700"), "{}", server.log());
    check();
    assert_eq!(server.stop(), 0);
    run::mint(at, ["store", "backup", "ids.jsonl", "--store", "file:data"]).ok();
    assert_eq!(mode(&at.join("ids.jsonl")), 0o600);
}

#[test]
fn a_folder_or_a_file_in_it_of_another_user_is_refused() {
    if !need::root() {
        return;
    }
    for name in ["", "LOCK", "mint.db", "folder.json"] {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        taken(take(at, "data", 1));
        chown(at.join("data").join(name), Some(65534), None).unwrap();
        take(at, "data", 1).fails(3, "belongs to user 65534", "run this as user 65534");
    }
}
