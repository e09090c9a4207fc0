//! What somebody who runs a server meets: its log, its signals, its limits.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use mintage_e2e::cluster::eventually;
use mintage_e2e::engine::redis::Redis;
use mintage_e2e::guard::ends_with_us;
use mintage_e2e::http;
use mintage_e2e::need;
use mintage_e2e::resp::Resp;
use mintage_e2e::run;
use mintage_e2e::server::{NoPanic, Server, Start, whole_lines};
use mintage_e2e::signal::signal;
use mintage_e2e::store_suite::Engine;
use mintage_testing::no_secret_in;
use serde_json::Value;

/// A row of the table in docs/watching.md: the line, its level, and its fields.
fn table() -> BTreeMap<String, (String, Vec<String>)> {
    let page = fs::read_to_string(root().join("docs/watching.md")).unwrap();
    let rows = page
        .split("| line | level | fields |")
        .nth(1)
        .expect("the table is there");
    let mut table = BTreeMap::new();
    for row in rows.lines().skip(2).take_while(|row| row.starts_with("| ")) {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let fields = cells
            .get(2)
            .unwrap_or(&"")
            .split('`')
            .skip(1)
            .step_by(2)
            .map(String::from);
        let known = (cells[1].trim_end_matches(" |").to_uppercase(), fields.collect());
        assert!(
            table.insert(cells[0].to_string(), known).is_none(),
            "{row} stands twice"
        );
    }
    assert!(table.len() > 40);
    table
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Every line of the log at level info and above that the sources write, and its level.
fn lines_in_the_sources() -> BTreeMap<String, String> {
    let mut files = Vec::new();
    for member in fs::read_dir(root().join("crates")).unwrap().flatten() {
        sources(&member.path().join("src"), &mut files);
    }
    let mut lines = BTreeMap::new();
    for file in files {
        let source = fs::read_to_string(&file).unwrap();
        for level in ["error", "warn", "info"] {
            for call in source.split(&format!("tracing::{level}!(")).skip(1) {
                let message = message(call);
                let text = message.unwrap_or_else(|| panic!("{}: a line without a text", file.display()));
                assert!(
                    !text.contains('{'),
                    "{}: {text:?} changes from time to time",
                    file.display()
                );
                lines.insert(text, level.to_uppercase());
            }
        }
    }
    lines
}

fn sources(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        match entry.path() {
            path if path.is_dir() => sources(&path, into),
            path if path.extension().is_some_and(|ending| ending == "rs") => into.push(path),
            _ => {}
        }
    }
}

/// The last string literal of a macro call, which begins behind its opening parenthesis.
fn message(call: &str) -> Option<String> {
    let (mut depth, mut found, mut literal) = (1, None, None::<String>);
    let mut chars = call.chars();
    while depth > 0 {
        match (chars.next()?, &mut literal) {
            ('\\', Some(text)) => text.push(chars.next()?),
            ('"', Some(_)) => found = literal.take(),
            (c, Some(text)) => text.push(c),
            ('"', None) => literal = Some(String::new()),
            ('(', None) => depth += 1,
            (')', None) => depth -= 1,
            _ => {}
        }
    }
    found
}

#[test]
fn the_table_of_log_lines_is_what_the_program_can_write() {
    let written: BTreeMap<_, _> = table()
        .into_iter()
        .map(|(line, (level, _))| (line, level))
        .collect();
    assert_eq!(written, lines_in_the_sources());
}

/// A server started as people start it, whose streams go to files.
struct Plain {
    child: Child,
    _no_panic: NoPanic,
    folder: PathBuf,
}

impl Plain {
    fn start(folder: &Path, args: &[&str]) -> Plain {
        need::boots("mint serve");
        let mut command = run::command([
            "serve",
            "--http",
            "127.0.0.1:0",
            "--resp",
            "127.0.0.1:0",
            "--log",
            "json",
        ]);
        let out = |name: &str| File::create(folder.join(name)).unwrap();
        let child = run::at_home(&mut command, folder)
            .args(args)
            .stdout(Stdio::from(out("out")))
            .stderr(Stdio::from(out("err")))
            .spawn()
            .unwrap();
        ends_with_us(&child, "KILL");
        Plain {
            child,
            _no_panic: NoPanic::after_now_in(&folder.join("err")),
            folder: folder.to_path_buf(),
        }
    }

    fn out(&self) -> String {
        fs::read_to_string(self.folder.join("out")).unwrap()
    }

    /// Its log: every line is JSON, and as the table has it.
    fn lines(&self) -> Vec<Value> {
        whole_lines(&self.folder.join("err"))
            .lines()
            .map(parsed)
            .collect()
    }

    fn find(&self, line: &str) -> Option<Value> {
        self.lines().into_iter().find(|found| found["message"] == line)
    }

    fn wait_for(&self, line: &str) -> Value {
        eventually(line, || self.find(line).is_some());
        self.find(line).unwrap()
    }

    fn signal(&self, name: &str) {
        signal(self.child.id(), name);
    }
}

impl Drop for Plain {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// A line of the log as JSON, compared with the table.
#[track_caller]
fn parsed(line: &str) -> Value {
    let line: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {line}"));
    let message = line["message"].as_str().unwrap_or_else(|| panic!("{line}"));
    let ours = line["target"].as_str().unwrap().starts_with("mint");
    if ours && matches!(line["level"].as_str(), Some("INFO" | "WARN" | "ERROR")) {
        let table = table();
        let (level, fields) = table
            .get(message)
            .unwrap_or_else(|| panic!("not in the table: {line}"));
        assert_eq!(line["level"], **level, "{line}");
        let mut given: Vec<&str> = line.as_object().unwrap().keys().map(String::as_str).collect();
        given.retain(|key| !matches!(*key, "timestamp" | "level" | "message" | "target"));
        given.sort_unstable();
        let mut known: Vec<&str> = fields.iter().map(String::as_str).collect();
        known.sort_unstable();
        assert_eq!(given, known, "{line}");
    }
    line
}

#[test]
fn with_json_nothing_but_json_goes_out_from_the_start_to_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Plain::start(folder.path(), &[]);
    let started = server.wait_for("started");
    assert_eq!(
        started["store"],
        format!("file:{}", folder.path().join(run::STORE).display())
    );
    assert_eq!(started["class"], "D");
    assert_eq!(started["version"], env!("CARGO_PKG_VERSION"));
    let resp: SocketAddr = started["resp"].as_str().unwrap().parse().unwrap();
    let mut redis = Resp::connect(resp).unwrap();
    assert_eq!(redis.ask(&["INCR", "orders"]).unwrap().int(), Some(1));
    drop(redis);
    server.signal("TERM");
    assert_eq!(server.child.wait().unwrap().code(), Some(0));
    assert_eq!(server.wait_for("stopping")["how"], "gently");
    assert_eq!(server.wait_for("stopped")["requests"], 1);
    assert_eq!(server.out(), "");
}

#[test]
fn with_json_a_start_that_fails_says_so_in_json() {
    let folder = tempfile::tempdir().unwrap();
    for (args, code) in [
        (["--store", "mongodb://secret@host/ids"], 3),
        (["--threads", "none"], 2),
        (["--store", "redis://u:secret@127.0.0.1:1/0"], 3),
    ] {
        let mut server = Plain::start(folder.path(), &args);
        assert_eq!(
            server.child.wait().unwrap().code(),
            Some(code),
            "{:?}",
            server.lines()
        );
        assert!(!server.wait_for("ended")["error"].as_str().unwrap().is_empty());
        assert_eq!(server.out(), "");
        let log = fs::read_to_string(folder.path().join("err")).unwrap();
        no_secret_in("the log", &log, "secret");
    }
}

/// A new token, and its line of the configuration.
fn token(name: &str) -> (String, String) {
    let made = run::mint(Path::new("."), ["--json", "token", "new", name]).ok();
    let made: Value = serde_json::from_str(&made).unwrap();
    let digest = made["sha256"].as_str().unwrap();
    let row = format!("{{ name = \"{name}\", sha256 = \"{digest}\", may = [\"allocate\", \"admin\"] }}");
    (made["token"].as_str().unwrap().to_string(), row)
}

fn configure(folder: &Path, rows: &[&str], more: &str) {
    let rows = rows.join(", ");
    fs::write(
        folder.join("mint.toml"),
        format!("[auth]\ntokens = [{rows}]\n{more}"),
    )
    .unwrap();
}

#[track_caller]
fn ask(at: &Value, token: &str, method: &str, path: &str, body: &str) -> u16 {
    let at: SocketAddr = at.as_str().unwrap().parse().unwrap();
    let kind = if body.is_empty() {
        ""
    } else {
        "content-type: application/json\r\n"
    };
    let length = body.len();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: {at}\r\nconnection: close\r\nauthorization: Bearer {token}\r\n{kind}\
         content-length: {length}\r\n\r\n{body}"
    );
    http::raw(at, request.as_bytes()).unwrap().status
}

#[test]
fn who_changes_something_or_shows_a_wrong_token_stands_in_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let (one, row) = token("deploy");
    configure(folder.path(), &[&row], "[log]\nlevel = \"debug\"\n");
    let server = Plain::start(folder.path(), &[]);
    let started = server.wait_for("started");
    let http = &started["http"];
    for (method, path, body, status) in [
        ("PUT", "/v1/sequences/orders", "{}", 201),
        // The same again changes nothing.
        ("PUT", "/v1/sequences/orders", "{}", 200),
        ("PATCH", "/v1/sequences/orders", r#"{"max_gap": 5}"#, 200),
        ("POST", "/v1/sequences/orders/restart", r#"{"value": "500"}"#, 200),
        ("PUT", "/v1/pools/eu", r#"{"preset": "twitter"}"#, 201),
        ("DELETE", "/v1/sequences/orders", "", 204),
    ] {
        assert_eq!(ask(http, &one, method, path, body), status, "{method} {path}");
    }
    let mut redis = Resp::connect(started["resp"].as_str().unwrap().parse().unwrap()).unwrap();
    redis.ask(&["AUTH", &one]).unwrap();
    redis.ask(&["SET", "invoices", "7"]).unwrap();
    redis.ask(&["DEL", "invoices"]).unwrap();
    // Neither of these changes anything.
    redis.ask(&["DEL", "invoices"]).unwrap();
    redis.ask(&["SET", "invoices", "wrong"]).unwrap();
    let changes = || {
        let lines = server.lines();
        let changed = lines.iter().filter(|line| line["message"] == "changed");
        changed.cloned().collect::<Vec<_>>()
    };
    eventually("all changes are told", || changes().len() >= 7);
    let what: Vec<_> = changes()
        .iter()
        .map(|line| line["what"].as_str().unwrap().to_string())
        .collect();
    assert_eq!(
        what,
        ["create", "alter", "restart", "create pool", "drop", "set", "del"]
    );
    for line in changes() {
        assert_eq!(line["token"], "deploy");
        assert!(line["peer"].as_str().unwrap().starts_with("127.0.0.1:"), "{line}");
    }
    assert_eq!(ask(http, "guess", "GET", "/v1/sequences", ""), 401);
    let shown = server.wait_for("a wrong token was shown");
    assert!(
        shown["peer"].as_str().unwrap().starts_with("127.0.0.1:"),
        "{shown}"
    );
    let mut stranger = TcpStream::connect(started["resp"].as_str().unwrap()).unwrap();
    stranger.write_all(b"AUTH guess\r\n").unwrap();
    let port = stranger.local_addr().unwrap().port();
    let mut answer = [0; 10];
    stranger.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"-WRONGPASS");
    let by_redis = || {
        let lines = server.lines();
        let wrong = lines
            .iter()
            .filter(|line| line["message"] == "a wrong token was shown");
        wrong
            .filter(|line| line["peer"] == format!("127.0.0.1:{port}"))
            .count()
    };
    eventually("the other face tells too", || by_redis() == 1);
    // With debug, every request; no secret anywhere.
    let requests = server.lines();
    let request = |key: &str, value: &str| {
        requests
            .iter()
            .any(|line| line["message"] == "request" && line[key] == value)
    };
    assert!(request("path", "/v1/pools/eu") && request("command", "set") && request("command", "auth"));
    let log = fs::read_to_string(folder.path().join("err")).unwrap();
    assert!(
        !log.contains("guess") && !log.contains("Bearer") && !log.contains("Gently"),
        "{log}"
    );
}

/// SIGHUP, SIGUSR1 and SIGUSR2 killed the server like SIGKILL.
// claim: P71
#[test]
fn sighup_reads_the_configuration_again_and_other_signals_do_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let ((old, old_row), (new, new_row)) = (token("web"), token("web"));
    configure(folder.path(), &[&old_row], "");
    let mut server = Plain::start(folder.path(), &[]);
    let started = server.wait_for("started");
    let http = started["http"].clone();
    let may = |token: &str| ask(&http, token, "GET", "/v1/sequences", "") == 200;
    let mut open = Resp::connect(started["resp"].as_str().unwrap().parse().unwrap()).unwrap();
    open.ask(&["AUTH", &old]).unwrap();
    assert_eq!(open.ask(&["INCR", "orders"]).unwrap().int(), Some(1));
    let reloads = |server: &Plain| {
        let lines = server.lines();
        let read = lines
            .iter()
            .filter(|line| line["message"] == "the configuration was read again");
        read.cloned().collect::<Vec<_>>()
    };
    for name in ["USR1", "USR2"] {
        server.signal(name);
    }
    // Both tokens are good while one takes over from the other.
    configure(
        folder.path(),
        &[&old_row, &new_row],
        "[server]\nmax_count = 7\nthreads = 3\n",
    );
    server.signal("HUP");
    eventually("it was read again", || reloads(&server).len() == 1);
    let told = &reloads(&server)[0];
    assert_eq!(
        told["changed"], "server.max_count 10000 -> 7; auth.tokens added web",
        "{told}"
    );
    assert_eq!(told["at_next_start"], "server.threads");
    assert!(may(&old) && may(&new));
    eventually("every thread follows", || {
        ask(&http, &new, "POST", "/v1/ids/uuid4?count=8", "") == 400
    });
    // The old one goes, for open connections too.
    configure(folder.path(), &[&new_row], "[log]\nlevel = \"debug\"\n");
    server.signal("HUP");
    eventually("it was read again", || reloads(&server).len() == 2);
    assert!(!may(&old) && may(&new));
    let refused = open.ask(&["INCR", "orders"]).unwrap().text().unwrap();
    assert!(refused.starts_with("NOAUTH"), "{refused}");
    eventually("the level holds", || {
        may(&new) && server.find("request").is_some()
    });
    // A bad one changes nothing.
    fs::write(folder.path().join("mint.toml"), "[server]\nmax_cuont = 5\n").unwrap();
    server.signal("HUP");
    let kept = server.wait_for("the configuration cannot be used: nothing is changed");
    assert!(kept["error"].as_str().unwrap().contains("max_cuont"), "{kept}");
    assert!(may(&new) && !may(&old));
    server.signal("TERM");
    assert_eq!(server.child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_store_that_goes_and_comes_back_is_two_lines() {
    let Some(mut engine) = Redis::run() else { return };
    let folder = tempfile::tempdir().unwrap();
    let url = engine.url(engine.address());
    run::patient_mint(folder.path(), ["init", "--store", &url]).ok();
    let server = Plain::start(folder.path(), &["--store", &url]);
    let started = server.wait_for("started");
    let resp: SocketAddr = started["resp"].as_str().unwrap().parse().unwrap();
    let mut redis = Resp::connect(resp).unwrap();
    // A pool in use wrote a warning a second.
    redis.ask(&["MINT.SNOWFLAKE", "default"]).unwrap();
    engine.freeze();
    let away = server.wait_for("the store does not answer");
    assert!(away["for_ms"].as_u64().unwrap() >= 1000, "{away}");
    for _ in 0..50 {
        redis.ask(&["INCR", "orders"]).unwrap();
    }
    engine.thaw();
    let back = server.wait_for("the store answers again");
    assert!(back["failed"].as_u64().unwrap() >= 1, "{back}");
    let lines = server.lines();
    let count = |line: &str| lines.iter().filter(|found| found["message"] == line).count();
    assert_eq!(count("the store does not answer"), 1);
    assert!(count("could not renew the window") <= 1, "{lines:?}");
}

#[test]
fn a_step_of_the_clock_is_told() {
    let Some(faketime) = need::faketime() else { return };
    let folder = tempfile::tempdir().unwrap();
    let clock = folder.path().join("clock");
    fs::write(&clock, "+0\n").unwrap();
    let server = Start::in_folder(folder.path())
        .under(["env", "MINT_LOG__FORMAT=json"])
        .under(faketime.environment(&clock))
        .ready();
    fs::write(clock.with_extension("new"), "+3h\n").unwrap();
    fs::rename(clock.with_extension("new"), &clock).unwrap();
    let stepped = |server: &Server| {
        let log = server.log();
        log.lines()
            .map(parsed)
            .find(|line| line["message"] == "the wall clock was stepped")
    };
    eventually("the step is told", || stepped(&server).is_some());
    let stepped_ms = stepped(&server).unwrap()["stepped_ms"].as_i64().unwrap();
    assert!((stepped_ms - 3 * 3_600_000).abs() < 60_000, "{stepped_ms}");
}

/// Started where dumps are wanted.
#[test]
fn a_crash_leaves_no_memory_behind_unless_it_is_asked_for() {
    for (text, limit) in [("", "1"), ("[server]\ncore_dumps = true\n", "65536")] {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("mint.toml"), text).unwrap();
        let start = Start::in_folder(folder.path()).under(["prlimit", "--core=65536:65536"]);
        let mut server = start.ready();
        let limits = fs::read_to_string(format!("/proc/{}/limits", server.pid())).unwrap();
        let of_dumps = limits.lines().find(|line| line.starts_with("Max core file size"));
        let shown: Vec<&str> = of_dumps.unwrap().split_whitespace().skip(4).collect();
        assert_eq!(shown, [limit, "65536", "bytes"], "{text}");
        signal(server.pid(), "ABRT");
        server.wait();
        // Where the system would write them is its own affair: here, if nothing was set.
        let names = fs::read_dir(folder.path()).unwrap();
        let dumps = names.filter(|entry| {
            entry
                .as_ref()
                .unwrap()
                .file_name()
                .to_string_lossy()
                .starts_with("core")
        });
        let pattern = fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap();
        let expected = usize::from(!text.is_empty() && pattern.trim() == "core");
        assert_eq!(dumps.count(), expected, "{text}");
    }
}

/// Twenty lines a second, and no word at the start.
#[test]
fn a_limit_of_open_files_that_is_too_low_is_told_and_what_it_stops_is_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let server = Start::in_folder(folder.path())
        .under(["env", "MINT_LOG__FORMAT=json", "prlimit", "--nofile=60:60"])
        .ready();
    let lines = || server.log().lines().map(parsed).collect::<Vec<_>>();
    let low = |line: &Value| {
        line["message"]
            .as_str()
            .unwrap()
            .starts_with("the limit of open files")
    };
    let told = lines().into_iter().find(low).expect("it is told at the start");
    assert_eq!(
        (&told["files"], &told["max_connections"]),
        (&60.into(), &10_000.into())
    );
    let open: Vec<_> = (0..80)
        .map(|_| TcpStream::connect(server.resp).unwrap())
        .collect();
    let refused = || {
        lines()
            .iter()
            .filter(|line| line["message"] == "connections cannot be accepted")
            .count()
    };
    eventually("it is told", || refused() == 1);
    drop(open);
    eventually("who comes later is served", || {
        Resp::connect(server.resp).is_ok_and(|mut redis| redis.ask(&["PING"]).is_ok())
    });
    let counted = |server: Server| {
        server.terminate();
        let mut server = server;
        server.wait();
        server.log()
    };
    let log = counted(server);
    // The rest of them come with a count, at the end here.
    let all: Vec<Value> = log.lines().map(parsed).collect();
    let counts: Vec<u64> = all
        .iter()
        .filter(|line| line["message"] == "connections cannot be accepted")
        .map(|line| line["count"].as_u64().unwrap())
        .collect();
    assert!(counts.len() <= 2 && counts[0] == 1, "{counts:?}");
}

/// A limit that the process may raise is raised: nothing is told, and more is open than it was.
#[test]
fn a_limit_of_open_files_is_raised_where_it_may_be() {
    let folder = tempfile::tempdir().unwrap();
    let server = Start::in_folder(folder.path())
        .under(["prlimit", "--nofile=60:20000"])
        .ready();
    assert!(
        !server.log().contains("the limit of open files"),
        "{}",
        server.log()
    );
    let metrics = server.http("GET", "/metrics", "").text();
    assert!(metrics.contains("\nprocess_max_fds 20000\n"), "{metrics}");
}

/// `--check` said that a server could start whose store's URL cannot be read.
#[test]
fn a_check_reads_the_url_of_the_store_as_opening_it_does() {
    let folder = tempfile::tempdir().unwrap();
    for (url, why) in [
        ("mongodb://host/ids", "no store has the scheme"),
        ("memory:5", "takes nothing after the colon"),
        ("etcd://u:secret@host/path", "its URL has no path"),
        ("redis://host/0?no=1", "store redis"),
        ("postgres://host/ids?no_such=1", "store postgres"),
        ("mysql://host/ids?no_such=1", "store mysql"),
        ("zookeeper://host/a//b", "store zookeeper"),
    ] {
        let said = run::mint(folder.path(), ["serve", "--check", "--store", url]);
        assert_eq!((said.code, said.out.as_str()), (2, ""), "{url}: {said:?}");
        assert!(said.err.contains(why), "{url}: {said:?}");
        no_secret_in(url, &said.err, "secret");
        fs::write(
            folder.path().join("own.toml"),
            format!("[store]\nurl = {url:?}\n"),
        )
        .unwrap();
        let said = run::mint(folder.path(), ["config", "check", "--config", "own.toml"]);
        assert_eq!(said.code, 2, "{url}: {said:?}");
    }
    for url in [
        "file:./new",
        "memory:",
        "etcd://host1,host2",
        "postgres://host/ids",
        "redis://host/0",
    ] {
        run::mint(folder.path(), ["serve", "--check", "--store", url]).ok();
    }
    assert!(!folder.path().join("new").exists());
}

/// What was moved there ended with the command, and the store that it came from was sealed.
#[test]
fn a_store_is_not_moved_to_where_nothing_lasts() {
    let folder = tempfile::tempdir().unwrap();
    run::mint(folder.path(), ["seq", "next", "orders", "--store", "file:ids"]).ok();
    let said = run::mint(
        folder.path(),
        ["store", "migrate", "--to", "memory:", "--store", "file:ids"],
    );
    said.fails(2, "memory: ends with this command", "file:PATH");
    let next = run::mint(folder.path(), ["seq", "next", "orders", "--store", "file:ids"]).ok();
    assert_eq!(next.trim(), "2", "it is not sealed");
}

/// Nobody could find out who had made a name by mistyping another one.
#[test]
fn a_sequence_made_by_its_first_use_is_in_the_log_and_many_are_few_lines() {
    let folder = tempfile::tempdir().unwrap();
    let server = Plain::start(folder.path(), &[]);
    let started = server.wait_for("started");
    let mut redis = Resp::connect(started["resp"].as_str().unwrap().parse().unwrap()).unwrap();
    let made = || -> Vec<Value> {
        let lines = server.lines().into_iter();
        lines
            .filter(|line| line["message"] == "made by its first use")
            .collect()
    };
    assert_eq!(redis.ask(&["INCR", "ordres"]).unwrap().int(), Some(1));
    let first = server.wait_for("made by its first use");
    assert_eq!(
        (&first["name"], &first["token"]),
        (&"ordres".into(), &"default".into())
    );
    assert_eq!(first["count"], 1);
    assert!(
        first["peer"].as_str().unwrap().starts_with("127.0.0.1:"),
        "{first}"
    );
    // Used again, and what is made explicitly, is no first use.
    assert_eq!(redis.ask(&["INCR", "ordres"]).unwrap().int(), Some(2));
    redis.ask(&["SET", "explicit", "5"]).unwrap();
    redis.ask(&["INCR", "explicit"]).unwrap();
    let count = 400;
    for name in 0..count {
        let words = match name % 3 {
            0 => vec!["INCR".to_string(), format!("many-{name}")],
            1 => vec!["INCRBY".to_string(), format!("many-{name}"), "5".to_string()],
            _ => ["MINT.NEXT", &format!("many-{name}"), "COUNT", "2"]
                .map(String::from)
                .to_vec(),
        };
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        redis.send(&mintage_e2e::resp::encode(&words)).unwrap();
    }
    for _ in 0..count {
        redis.reply().unwrap();
    }
    let counted = || {
        made()
            .iter()
            .map(|line| line["count"].as_u64().unwrap())
            .sum::<u64>()
    };
    eventually("all are counted", || counted() == 1 + count);
    let lines = made().len();
    assert!(lines < 100, "{lines} lines for {count} first uses");
    // A name that was dropped is made again.
    redis.ask(&["DEL", "ordres"]).unwrap();
    redis.ask(&["INCR", "ordres"]).unwrap();
    eventually("made again", || counted() == 2 + count);
    assert_eq!(made().last().unwrap()["name"], "ordres");
}
