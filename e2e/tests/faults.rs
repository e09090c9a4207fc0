//! What must not work, fails in one clear line with a hint, and loses nothing.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use mintage_e2e::binary;
use mintage_e2e::cluster::eventually;
use mintage_e2e::need;
use mintage_e2e::resp::Reply;
use mintage_e2e::run;
use mintage_e2e::server::{Server, Start};
use mintage_testing::{invariant, rising};

fn incr(server: &Server) -> i64 {
    server.redis().ask(&["INCR", "orders"]).unwrap().int().unwrap()
}

/// A folder whose store has been used and left cleanly at 3.
fn used() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let server = Start::in_folder(folder.path()).ready();
    for n in 1..=3 {
        assert_eq!(incr(&server), n);
    }
    assert_eq!(server.stop(), 0);
    folder
}

/// Another folder with a copy of its store.
fn copy_of(folder: &tempfile::TempDir) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    let copied = Command::new("cp")
        .arg("-a")
        .arg(folder.path().join("mint"))
        .arg(copy.path())
        .status();
    assert!(copied.unwrap().success());
    copy
}

// claim: P35
#[test]
fn a_second_server_on_the_folder_is_refused_and_the_first_goes_on() {
    let folder = used();
    let first = Start::in_folder(folder.path()).ready();
    let second = Start::in_folder(folder.path()).refused();
    assert_eq!(second.out, "");
    second.fails(3, "/mint", "");
    assert_eq!(incr(&first), 4);
}

// claim: P38
#[test]
fn a_copied_folder_is_refused_with_the_two_commands_to_choose_from() {
    let folder = used();
    let copy = copy_of(&folder);
    let refused = Start::in_folder(copy.path()).refused();
    assert_eq!((refused.code, refused.out.as_str()), (3, ""), "{refused:?}");
    for command in ["mint store adopt", "mint store restore"] {
        assert!(refused.err.contains(command), "{refused:?}");
    }
    // Adopted, it goes on where the copy was made; the original is untouched.
    run::mint(copy.path(), ["store", "adopt"]).ok();
    assert_eq!(incr(&Start::in_folder(copy.path()).ready()), 4);
    assert_eq!(incr(&Start::in_folder(folder.path()).ready()), 4);
}

#[test]
fn a_restored_folder_skips_ahead_by_what_is_asked() {
    let folder = used();
    let copy = copy_of(&folder);
    run::mint(copy.path(), ["store", "restore", "--advance", "1000"]).ok();
    let next = incr(&Start::in_folder(copy.path()).ready());
    invariant!(next > 1000, "{next}");
}

#[test]
fn a_moved_folder_is_accepted() {
    let folder = used();
    fs::rename(folder.path().join("mint"), folder.path().join("elsewhere")).unwrap();
    let start = Start::in_folder(folder.path()).args(["--store", "file:./elsewhere"]);
    assert_eq!(incr(&start.ready()), 4);
}

/// Every file of the store with one byte changed in the middle: refused in words, or nothing is repeated.
#[test]
fn a_damaged_folder_never_repeats_a_number() {
    let names = |folder: &Path| -> Vec<String> {
        let entries = fs::read_dir(folder.join("mint")).unwrap();
        entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            // It is empty: its name is what it says, and differs from run to run.
            .filter(|name| !name.starts_with("reached-"))
            .collect()
    };
    let mut refused = 0;
    for name in names(used().path()) {
        let folder = used();
        let file = folder.path().join("mint").join(&name);
        let mut bytes = fs::read(&file).unwrap();
        // Behind what has been written a file may hold zeros that nobody reads.
        let Some(last) = bytes.iter().rposition(|b| *b != 0) else {
            continue;
        };
        bytes[last / 2] ^= 0xff;
        fs::write(&file, &bytes).unwrap();
        match Start::in_folder(folder.path()).spawn().ready() {
            Ok(server) => rising(&name, [3, incr(&server)]),
            Err(said) => {
                said.fails(3, "", "");
                refused += 1;
            }
        }
    }
    assert!(refused > 0, "no damage was noticed");
}

#[test]
fn a_folder_without_its_files_is_refused_and_not_begun_anew() {
    let folder = used();
    let store = folder.path().join("mint");
    let database = fs::read_dir(&store)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .max_by_key(|path| fs::metadata(path).map_or(0, |m| m.len()))
        .unwrap();
    fs::remove_file(&database).unwrap();
    let refused = Start::in_folder(folder.path()).refused();
    assert_eq!(
        (refused.code, refused.out.as_str()),
        (3, ""),
        "{}: {refused:?}",
        database.display()
    );
}

#[test]
fn an_address_in_use_names_the_port_and_the_flag() {
    let folder = tempfile::tempdir().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for flag in ["--http", "--resp"] {
        let refused = Start::in_folder(folder.path())
            .args([flag, address.as_str()])
            .refused();
        refused.fails(3, &address, flag);
    }
}

// claim: P37
#[test]
fn two_servers_on_one_port_are_refused_although_each_core_has_its_listener() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let first = Start::in_folder(folders[0].path()).ready();
    let refused = Start::in_folder(folders[1].path())
        .args(["--resp", &first.resp.to_string()])
        .refused();
    refused.fails(3, &first.resp.to_string(), "--resp");
    assert_eq!(incr(&first), 1);
}

#[test]
fn an_unknown_setting_is_refused_with_the_nearest_known_one() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(
        folder.path().join("mint.toml"),
        "[server.http]\nlissten = \"127.0.0.1:1\"\n",
    )
    .unwrap();
    for args in [
        &["serve"][..],
        &["serve", "--check"],
        &["config", "check"],
        &["config", "show"],
    ] {
        run::mint(folder.path(), args).fails(2, "server.http.lissten", "server.http.listen");
    }
}

#[test]
fn an_open_address_needs_tokens_or_a_clear_word() {
    let folder = tempfile::tempdir().unwrap();
    let refused = run::mint(folder.path(), ["serve", "--http", "0.0.0.0:0"]);
    refused.fails(2, "0.0.0.0:0", "--insecure");
}

#[test]
fn serve_check_says_whether_it_would_start_and_touches_nothing() {
    let folder = tempfile::tempdir().unwrap();
    run::mint(folder.path(), ["serve", "--check"]).ok();
    assert!(!folder.path().join("mint").exists());
}

#[test]
fn a_folder_that_may_not_be_written_is_refused() {
    if !need::root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    // Another user must be able to start it, wherever the build is.
    let program = folder.path().join("program");
    binary::copy(binary::mint(), &program);
    let mut command = Command::new("setpriv");
    run::isolate(&mut command);
    run::at_home(&mut command, folder.path())
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(&program)
        .args(["serve", "--http", "127.0.0.1:0", "--resp", "127.0.0.1:0"]);
    let said: run::Said = command.output().unwrap().into();
    said.fails(3, "/mint", "");
}

/// A small file system of its own, gone with the value.
struct Mounted<'a>(&'a Path);

impl<'a> Mounted<'a> {
    fn new(at: &'a Path, options: &str) -> Self {
        let done = Command::new("mount")
            .args(["-t", "tmpfs", "-o", options, "tmpfs"])
            .arg(at)
            .status();
        assert!(done.unwrap().success());
        Mounted(at)
    }

    fn remount(&self, options: &str) {
        let done = Command::new("mount")
            .args(["-o", &format!("remount,{options}")])
            .arg(self.0)
            .status();
        assert!(done.unwrap().success());
    }
}

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        Command::new("umount").arg("-l").arg(self.0).status().ok();
    }
}

fn may_mount() -> bool {
    let folder = tempfile::tempdir().unwrap();
    let tried = Command::new("mount")
        .args(["-t", "tmpfs", "tmpfs"])
        .arg(folder.path())
        .output();
    let may = tried.is_ok_and(|out| out.status.success());
    if may {
        Command::new("umount").arg(folder.path()).status().unwrap();
    } else {
        need::say("skipped: mount");
    }
    may
}

#[test]
fn a_read_only_disk_is_refused() {
    if !need::root() || !may_mount() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let disk = folder.path().join("disk");
    fs::create_dir(&disk).unwrap();
    let _mounted = Mounted::new(&disk, "size=8m,ro");
    let refused = Start::in_folder(folder.path())
        .args(["--store", "file:./disk/ids"])
        .refused();
    refused.fails(3, "disk/ids", "");
}

// claim: P3
#[test]
fn a_full_disk_stops_allocation_in_words_and_repeats_nothing() {
    if !need::root() || !may_mount() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let disk = folder.path().join("disk");
    fs::create_dir(&disk).unwrap();
    let mounted = Mounted::new(&disk, "size=8m");
    let start = Start::in_folder(folder.path()).args(["--store", "file:./disk/ids"]);
    let server = start.ready();
    let mut client = server.redis();
    let mut last = client.ask(&["INCR", "orders"]).unwrap().int().unwrap();
    // Fill what is left, then go on until it refuses.
    let filler = fs::File::create(disk.join("filler")).unwrap();
    let block = vec![0; 4096];
    while std::io::Write::write_all(&mut &filler, &block).is_ok() {}
    let mut refusal = None;
    for name in 0..20_000 {
        match client.ask(&["INCR", &format!("other{name}")]).unwrap() {
            Reply::Int(_) => {}
            other => {
                refusal = other.text();
                break;
            }
        }
    }
    let refusal = refusal.expect("a full disk cannot take new names for ever");
    assert!(!refusal.is_empty());
    // What it still gives out of what it reserved is new.
    while let Reply::Int(n) = client.ask(&["INCR", "orders"]).unwrap() {
        invariant!(n > last, "{n} after {last}");
        last = n;
        if n > 200_000 {
            break;
        }
    }
    server.kill();
    fs::remove_file(disk.join("filler")).unwrap();
    mounted.remount("size=16m");
    rising("numbers", [last, incr(&start.ready())]);
}

/// The disk refuses a sync: from then on nothing is given out that would need another, for good, and the next
/// start continues above everything. What was reserved before is given out to its end.
// claim: P3, P28
#[test]
fn a_failed_sync_stops_allocation_for_good() {
    if !need::strace() {
        return;
    }
    let (mut stopped_while_serving, mut still_given_out) = (0, 0);
    for nth in 12..40 {
        let folder = tempfile::tempdir().unwrap();
        // -D: strace is the child, so that signals and the exit code are the server's.
        let inject = format!("inject=fdatasync,fsync:error=EIO:when={nth}");
        let strace = [
            "strace",
            "-D",
            "-f",
            "-qq",
            "-o",
            "/dev/null",
            "-e",
            "trace=fdatasync,fsync",
            "-e",
            &inject,
        ];
        let start = Start::in_folder(folder.path()).under(strace);
        let Ok(server) = start.spawn().ready() else {
            // Opening needed that sync: it refused, which is right too.
            continue;
        };
        stopped_while_serving += 1;
        let mut client = server.redis();
        let mut last = BTreeMap::new();
        let stopped = (0..5000).find_map(|round| {
            let name = format!("name{}", round % 50);
            match client.ask(&["INCR", &name]).unwrap() {
                Reply::Int(n) => {
                    let before = last.insert(name, n);
                    invariant!(before.is_none_or(|before| n > before), "{n} after {before:?}");
                    None
                }
                other => other.text(),
            }
        });
        let stopped = stopped.unwrap_or_else(|| panic!("sync {nth} failed and nothing stopped"));
        assert!(stopped.starts_with("MISCONF "), "{stopped}");
        // The disk is well again, and yet: a name that needs the store gets nothing.
        for fresh in 0..3 {
            let reply = client.ask(&["INCR", &format!("fresh{fresh}")]).unwrap();
            assert!(matches!(reply, Reply::Error(_)), "{reply:?}");
        }
        assert_eq!(server.http("GET", "/readyz", "").status, 503);
        for (name, before) in &mut last {
            if let Reply::Int(n) = client.ask(&["INCR", name]).unwrap() {
                invariant!(n > *before, "{name}: {n} after {before}");
                *before = n;
                still_given_out += 1;
            }
        }
        server.kill();
        let again = Start::in_folder(folder.path()).ready();
        let mut client = again.redis();
        for (name, before) in last {
            let next = client.ask(&["INCR", &name]).unwrap().int().unwrap();
            invariant!(next > before, "{name}: {next} after {before}");
        }
    }
    need::say(&format!(
        "failed syncs: {stopped_while_serving} places while serving"
    ));
    assert!(stopped_while_serving > 5);
    assert!(
        still_given_out > 0,
        "nothing that was reserved before a failed sync was given out"
    );
}

/// The signal of a write past the limit on the size of files ended the process.
#[test]
fn a_limit_on_the_size_of_files_refuses_and_ends_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let server = Start::in_folder(folder.path())
        .under(["prlimit", "--fsize=1100000"])
        .ready();
    let mut client = server.redis();
    let mut first_use = |name: u32| client.ask(&["INCR", &format!("name{name}")]).unwrap();
    let refused = (0..20_000)
        .map(&mut first_use)
        .find(|reply| reply.int() != Some(1));
    let refused = refused.and_then(|reply| reply.text()).unwrap();
    assert!(refused.starts_with("TRYAGAIN mint: "), "{refused}");
    assert_eq!(
        first_use(0).int(),
        Some(2),
        "what was reserved before is given out"
    );
    assert_eq!(server.http("GET", "/livez", "").status, 200);
    // A smaller write beside it may still fit, which makes everything ready until the next refusal: so it is asked right
    // after one. What is left in stock is given out all the same; that nothing can be added to it is told either way.
    let is_told = (20_000..40_000).any(|name| {
        let is_refused = first_use(name).int() != Some(1);
        let unready = server.http("GET", "/readyz?for=sequences", "");
        let all = server.http("GET", "/readyz", "");
        let both = [unready.text(), all.text()];
        is_refused
            && unready.status == 503
            && both.iter().all(|text| text.contains("nothing can be reserved"))
    });
    assert!(is_told, "{}", server.log());
    eventually("the log says so, once for each time", || {
        let log = server.log();
        let count = |line| log.matches(line).count();
        let times = count("nothing can be reserved");
        times > 0 && times <= count("reservations succeed again") + 1
    });
}
