//! Where a command is Redis's, so is the reply: byte for byte, compared with a stock Redis in the same test.
//!
//! Covers: crates/server/src/faces/resp
#![allow(clippy::unwrap_used)]

use mintage_e2e::need;
use mintage_e2e::redis::{self, Redis};
use mintage_e2e::resp::{Reply, encode};
use mintage_e2e::server::Start;

/// Commands with the same answer on both, in this order.
const SAME: &[&[&str]] = &[
    &["PING"],
    &["PING", "hello"],
    &["ping"],
    &["ECHO", "hello world"],
    &["ECHO"],
    &["INCR", "k"],
    &["INCR", "k"],
    &["INCRBY", "k", "5"],
    &["GET", "k"],
    &["SET", "k", "100"],
    &["GET", "k"],
    &["INCR", "k"],
    &["SET", "k", "200", "NX"],
    &["SET", "k", "200", "XX"],
    &["SET", "k", "300", "GET"],
    &["SET", "k", "300", "NX", "XX"],
    &["SET", "k", "300", "SOMETIMES"],
    &["SET", "k"],
    &["SET", "fresh", "5", "XX"],
    &["SET", "fresh", "5", "NX"],
    &["INCR", "fresh"],
    &["GET", "nothing"],
    &["MGET", "k", "nothing", "fresh"],
    &["EXISTS", "k", "nothing", "k"],
    &["TYPE", "k"],
    &["TYPE", "nothing"],
    &["DEL", "fresh", "nothing"],
    &["EXISTS", "fresh"],
    &["GET", "fresh"],
    &["DBSIZE"],
    &["KEYS", "*"],
    &["KEYS", "z*"],
    &["SCAN", "0"],
    &["SCAN", "0", "MATCH", "k*", "COUNT", "100"],
    &["INCRBY", "k", "abc"],
    &["INCRBY", "k", "1.5"],
    &["INCRBY", "k", " 1"],
    &["INCRBY", "k", "9223372036854775808"],
    &["INCRBY", "k", ""],
    &["INCRBY", "k"],
    &["INCR"],
    &["INCR", "a", "b"],
    &["GET"],
    &["DEL"],
    &["NOSUCH"],
    &["NOSUCH", "one", "two"],
    &["nosuch", "it's"],
    &["SELECT", "0"],
    &["SELECT", "99"],
    &["SELECT", "abc"],
    &["CLIENT", "SETNAME", "test"],
    &["CLIENT", "GETNAME"],
    &["CLIENT", "SETNAME", "a b"],
    &["CLIENT", "NOSUCH"],
    &["HELLO", "4"],
    &["HELLO", "abc"],
    &["AUTH", "secret"],
    &["AUTH"],
    &["SET", "top", "9223372036854775807"],
    &["GET", "top"],
    &["INCR", "top"],
    &["INCRBY", "top", "10"],
    &["SET", "zero", "0"],
    &["GET", "zero"],
    &["INCR", "zero"],
    &["SET", "once", "0", "NX"],
    &["SET", "once", "0", "NX"],
    &["GET", "once"],
    &["INCRBY", "once", "0"],
    &["INCRBY", "once", "3"],
    &["INCRBY", "once", "0"],
    &["DECRBY", "once", "0"],
    &["SETNX", "n", "0"],
    &["SETNX", "n", "5"],
    &["GET", "n"],
    &["GETSET", "g", "0"],
    &["GETSET", "g", "5"],
    &["INCR", "g"],
    &["SET", "below", "-5"],
    &["GET", "below"],
    &["INCR", "below"],
    &["INCRBY", "below", "10"],
    &["SET", "lowest", "-9223372036854775808"],
    &["GET", "lowest"],
    &["INCR", "lowest"],
    &["SETNX", "n"],
    &["GETSET", "n"],
    &["INCRBY", "nobody", "0"],
    &["DECR"],
    &["DECRBY", "n", "x"],
    &["DECRBY", "n"],
    &["TTL", "zero"],
    &["TTL", "nothing"],
    &["PTTL", "zero"],
    &["PTTL", "nothing"],
    &["EXPIRETIME", "zero"],
    &["PEXPIRETIME", "nothing"],
    &["PERSIST", "zero"],
    &["PERSIST", "nothing"],
    &["EXPIRE", "zero"],
    &["EXPIRE", "zero", "abc"],
    &["EXPIRE", "zero", "10", "SOON"],
    &["EXPIRE", "zero", "10", "NX", "XX"],
    &["EXPIRE", "zero", "10", "GT", "LT"],
    &["AUTH", "default", "secret"],
    &["AUTH", "somebody", "secret"],
    &["HELLO", "2", "AUTH", "somebody", "secret"],
    &["RESET"],
    &["PING"],
    &["QUIT"],
];

/// The same, with transactions: what is queued, refused and answered together.
const TRANSACTIONS: &[&[&str]] = &[
    &["MULTI"],
    &["INCR", "t"],
    &["INCRBY", "t", "10"],
    &["GET", "t"],
    &["GET", "nothing"],
    &["MGET", "t", "nothing"],
    &["SCAN", "0"],
    &["SET", "t", "20"],
    &["PING"],
    &["ECHO", "hello"],
    &["TYPE", "t"],
    &["EXISTS", "t"],
    &["EXEC"],
    // One that fails leaves the others as they are.
    &["MULTI"],
    &["INCRBY", "t", "abc"],
    &["SELECT", "99"],
    &["INCR", "t"],
    &["EXEC"],
    &["GET", "t"],
    // Nested; the transaction goes on.
    &["MULTI"],
    &["MULTI"],
    &["INCR", "t"],
    &["EXEC"],
    // Without a beginning.
    &["EXEC"],
    &["DISCARD"],
    &["EXEC", "now"],
    &["MULTI", "now"],
    // Nothing at all.
    &["MULTI"],
    &["EXEC"],
    // Forgotten.
    &["MULTI"],
    &["INCR", "t"],
    &["DISCARD"],
    &["EXEC"],
    &["GET", "t"],
    // What cannot be run is refused at once, and then nothing is.
    &["MULTI"],
    &["INCR", "t"],
    &["NOSUCH", "t"],
    &["INCR", "t"],
    &["EXEC"],
    &["MULTI"],
    &["INCR"],
    &["EXEC"],
    &["MULTI"],
    &["INCR", "t"],
    &["EXEC", "now"],
    &["EXEC"],
    &["MULTI"],
    &["DISCARD", "now"],
    &["DISCARD"],
    &["MULTI"],
    &["CLIENT", "NOSUCH"],
    &["EXEC"],
    &["MULTI"],
    &["CLIENT", "GETNAME", "t"],
    &["EXEC"],
    &["MULTI"],
    &["CLIENT", "SETNAME", "worker"],
    &["CLIENT", "GETNAME"],
    &["EXEC"],
    &["GET", "t"],
    // Others are run at once.
    &["MULTI"],
    &["WATCH", "t"],
    &["WATCH"],
    &["EXEC"],
    &["MULTI"],
    &["WATCH", "t"],
    &["INCR", "t"],
    &["EXEC"],
    &["UNWATCH"],
    &["MULTI"],
    &["UNWATCH"],
    &["AUTH", "secret"],
    &["AUTH"],
    &["EXEC"],
    &["MULTI"],
    &["AUTH", "secret"],
    &["EXEC"],
    &["WATCH"],
    &["MULTI"],
    &["INCR", "t"],
    &["RESET"],
    &["EXEC"],
    &["MULTI"],
    &["INCR", "t"],
    &["QUIT"],
];

/// The same where expiry is ignored.
const EXPIRING: &[&[&str]] = &[
    &["SET", "k", "5", "EX", "100"],
    &["EXPIRE", "k", "100"],
    &["PEXPIRE", "k", "100000"],
    &["EXPIREAT", "k", "9999999999"],
    &["PEXPIREAT", "k", "9999999999999"],
    &["EXPIRE", "nothing", "100"],
    &["SET", "k", "6", "KEEPTTL"],
    &["SET", "k", "7", "PX", "100000", "GET"],
    &["SETEX", "k", "100", "8"],
    &["PSETEX", "k", "100000", "9"],
    &["GET", "k"],
    &["INCR", "k"],
    &["SET", "k", "20", "EX", "0"],
    &["SET", "k", "20", "EX", "-1"],
    &["SET", "k", "20", "EX", "soon"],
    &["SET", "k", "20", "EX"],
    &["SET", "k", "20", "EX", "10", "PX", "10"],
    &["SET", "k", "20", "EX", "10", "KEEPTTL"],
    &["SETEX", "k", "0", "20"],
    &["PSETEX", "k", "0", "20"],
    &["SETEX", "k", "soon", "20"],
    &["SETEX", "k", "20"],
    &["SET", "lasting", "1"],
    &["EXPIRE", "lasting", "10", "XX"],
    &["EXPIRE", "lasting", "10", "GT"],
    &["EXPIRE", "lasting", "10", "NX"],
];

/// What tools of Redis ask besides counting, where both have one answer.
const TOOLS: &[&[&str]] = &[
    &["SET", "k", "123456"],
    &["SET", "below", "-5"],
    &["STRLEN", "k"],
    &["STRLEN", "below"],
    &["STRLEN", "nothing"],
    &["STRLEN"],
    &["TOUCH", "k", "nothing", "k"],
    &["OBJECT", "ENCODING", "k"],
    &["OBJECT", "ENCODING", "nothing"],
    &["OBJECT", "ENCODING"],
    &["OBJECT", "REFCOUNT", "k"],
    &["OBJECT", "REFCOUNT", "nothing"],
    &["OBJECT", "IDLETIME", "nothing"],
    &["OBJECT", "FREQ", "k"],
    &["OBJECT", "FREQ", "nothing"],
    &["OBJECT", "NOSUCH", "k"],
    &["OBJECT"],
    &["MEMORY", "USAGE", "nothing"],
    &["MEMORY", "USAGE", "k", "SAMPLES"],
    &["MEMORY", "USAGE", "k", "SAMPLES", "x"],
    &["MEMORY", "USAGE", "k", "SAMPLES", "-1"],
    &["MEMORY", "USAGE"],
    &["MEMORY", "PURGE"],
    &["DEBUG", "OBJECT", "k"],
    &["LATENCY", "LATEST"],
    &["LATENCY", "HISTORY", "command"],
    &["LATENCY", "RESET"],
    &["LATENCY", "NOSUCH"],
    &["SLOWLOG", "GET"],
    &["SLOWLOG", "GET", "10"],
    &["SLOWLOG", "GET", "-2"],
    &["SLOWLOG", "GET", "x"],
    &["SLOWLOG", "LEN"],
    &["SLOWLOG", "RESET"],
    &["MODULE", "LIST"],
    &["ACL", "WHOAMI"],
    &["CLUSTER", "INFO"],
    &["READONLY"],
    &["READWRITE"],
    &["WAIT", "0", "0"],
    &["WAIT", "0", "-1"],
    &["WAIT", "0", "x"],
    &["WAIT", "x", "0"],
    &["ROLE"],
    &["CLIENT", "GETREDIR"],
    &["CLIENT", "TRACKING", "OFF"],
    &["CLIENT", "NO-EVICT", "ON"],
    &["SCAN", "0", "TYPE", "string"],
    &["SCAN", "0", "TYPE", "hash"],
    &["UNLINK", "below", "nothing"],
    &["EXISTS", "below"],
    &["RANDOMKEY"],
    &["UNLINK", "k"],
    &["RANDOMKEY"],
    &["GETDEL", "nothing"],
    &["GETDEL"],
    &["MULTI"],
    &["OBJECT", "NOSUCH", "k"],
    &["EXEC"],
    &["MULTI"],
    &["SLOWLOG", "LEN"],
    &["EXEC"],
];

#[test]
fn tools_are_answered_as_by_redis() {
    if !need::redis() {
        return;
    }
    for protocol in ["2", "3"] {
        same(TOOLS, protocol, &[]);
    }
}

/// What redis-cli looks at in its own modes: numbers where it expects them, and no refusal.
#[test]
fn the_modes_of_redis_cli_find_what_they_look_for() {
    if !need::redis() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let server = Start::in_folder(folder.path()).ready();
    let cli = |args: &[&str]| redis::cli(server.resp, args, b"").ok();
    cli(&["INCRBY", "orders", "100"]);
    cli(&["INCR", "bills"]);
    for mode in ["--bigkeys", "--memkeys"] {
        let said = cli(&[mode]);
        let found = said.contains("Sampled 2 keys") && said.contains("2 strings with");
        assert!(found && !said.contains("ailed"), "{mode}: {said}");
    }
    let mut names: Vec<String> = cli(&["--scan"]).lines().map(String::from).collect();
    names.sort();
    assert_eq!(names, ["bills", "orders"]);
    // `--stat` shows these for ever.
    let info = cli(&["INFO"]);
    for field in [
        "used_memory",
        "connected_clients",
        "blocked_clients",
        "total_commands_processed",
    ] {
        let value = info
            .lines()
            .find_map(|line| line.strip_prefix(&format!("{field}:")));
        let number = value.and_then(|value| value.trim().parse::<u64>().ok());
        assert!(number.is_some(), "{field}: {value:?} in {info}");
    }
    for (section, field) in [
        ("memory", "used_memory_human:"),
        ("cpu", "used_cpu_user:"),
        ("replication", "role:master"),
        ("persistence", "loading:0"),
    ] {
        let said = cli(&["INFO", section]);
        assert!(said.contains(field), "{section}: {said}");
    }
    assert!(cli(&["MEMORY", "USAGE", "orders"]).trim().parse::<u64>().unwrap() > 0);
    assert_eq!(cli(&["OBJECT", "IDLETIME", "orders"]), "0\n");
    assert!(cli(&["CLIENT", "LIST"]).starts_with("id="));
}

#[test]
fn replies_and_errors_are_redis_own() {
    if !need::redis() {
        return;
    }
    same(SAME, "2", &[]);
}

#[test]
fn transactions_are_queued_refused_and_answered_as_in_redis() {
    if !need::redis() {
        return;
    }
    for protocol in ["2", "3"] {
        same(TRANSACTIONS, protocol, &[]);
    }
}

#[test]
fn expiry_that_is_ignored_is_answered_as_in_redis() {
    if !need::redis() {
        return;
    }
    same(EXPIRING, "2", &["MINT_SERVER__RESP__EXPIRE=ignore"]);
}

/// The names that `SCAN` and `KEYS` list, in one order: each start of Redis hashes otherwise.
fn sorted(command: &[&str], mut answer: Reply) -> Reply {
    if let ("SCAN" | "KEYS", Reply::Array(items)) = (command[0], &mut answer) {
        let names = match items.as_mut_slice() {
            [_, Reply::Array(names)] => names,
            _ => items,
        };
        names.sort_by_key(|name| format!("{name:?}"));
    }
    answer
}

/// Says the same to both and compares the answers; ours is started with these variables.
#[track_caller]
fn same(commands: &[&[&str]], protocol: &str, environment: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let real = Redis::start(folder.path());
    let wrapper = ["env"].iter().chain(environment);
    let ours = Start::in_folder(folder.path()).under(wrapper).ready();
    let mut theirs = mintage_e2e::resp::Resp::connect(real.address).unwrap();
    let mut client = ours.redis();
    for client in [&mut theirs, &mut client] {
        // Its answer tells the two apart, as it should.
        client.ask(&["HELLO", protocol]).unwrap();
    }
    let mut differ = Vec::new();
    for command in commands {
        let ask = |to: &mut mintage_e2e::resp::Resp| sorted(command, to.ask(command).unwrap());
        let (want, got) = (ask(&mut theirs), ask(&mut client));
        if want != got {
            differ.push(format!("{command:?}\n  redis {want:?}\n  mint  {got:?}"));
        }
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

#[test]
fn broken_frames_are_refused_in_redis_own_words() {
    if !need::redis() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let real = Redis::start(folder.path());
    let ours = Start::in_folder(folder.path()).ready();
    for bytes in [
        &b"*1\r\n$4\r\nPING\r\n"[..],
        b"PING\r\n",
        b"PING\n",
        b"  INCR   spaced  \r\n",
        b"\r\nPING\r\n",
        b"*0\r\nPING\r\n",
        b"*-1\r\nPING\r\n",
        b"*1\r\n:4\r\nPING\r\n",
        b"*abc\r\n",
        b"*1\r\n$abc\r\n",
        b"*1\r\n$-1\r\n",
        b"*9999999999\r\n",
        b"\"unbalanced\r\n",
        b"SET \"a\" 'b\r\n",
    ] {
        let answer = |to| {
            let mut client = mintage_e2e::resp::Resp::connect(to).unwrap();
            client.send(bytes).unwrap();
            client.reply().unwrap()
        };
        let shown = String::from_utf8_lossy(bytes).into_owned();
        assert_eq!(answer(ours.resp), answer(real.address), "{shown:?}");
    }
}

#[test]
fn half_a_frame_waits_for_the_other_half() {
    let folder = tempfile::tempdir().unwrap();
    let server = Start::in_folder(folder.path()).ready();
    let mut client = server.redis();
    let frame = encode(&["INCR", "orders"]).repeat(3);
    for (sent, byte) in frame.iter().enumerate() {
        client.send(&[*byte]).unwrap();
        let whole = (sent + 1) * 3 % frame.len() == 0;
        if whole {
            let nth = (sent + 1) * 3 / frame.len();
            assert_eq!(client.reply().unwrap(), Reply::Int(nth as i64));
        }
    }
}

#[test]
fn stock_redis_cli_works_as_with_redis() {
    if !need::redis() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let server = Start::in_folder(folder.path()).ready();
    let cli = |args: &[&str], input: &[u8]| redis::cli(server.resp, args, input).ok();
    assert_eq!(cli(&["INCR", "orders"], b""), "1\n");
    assert_eq!(
        cli(&[], b"INCR orders\nINCRBY orders 10\nGET orders\nNOSUCH\n")
            .lines()
            .take(3)
            .collect::<Vec<_>>(),
        ["2", "12", "12"]
    );
    let piped = cli(&["--pipe"], &encode(&["INCR", "piped"]).repeat(10_000));
    assert!(piped.contains("errors: 0, replies: 10000"), "{piped}");
    assert_eq!(cli(&["GET", "piped"], b""), "10000\n");
    let hello = cli(&["-3", "HELLO", "3"], b"");
    assert!(hello.contains("proto") && hello.contains('3'), "{hello}");
    assert_eq!(cli(&["-3", "INCR", "orders"], b""), "13\n");
    let refused = redis::cli(server.resp, &["-e", "INCRBY", "orders", "x"], b"");
    assert_eq!(
        (refused.code, refused.err.trim()),
        (1, "ERR value is not an integer or out of range")
    );
    assert_eq!(cli(&["MINT.NEXT", "orders", "COUNT", "3"], b""), "14\n15\n16\n");
}

#[test]
fn a_set_below_the_mark_is_refused_and_one_above_moves_forward() {
    let folder = tempfile::tempdir().unwrap();
    let server = Start::in_folder(folder.path()).ready();
    let mut client = server.redis();
    assert_eq!(client.ask(&["INCRBY", "k", "13"]).unwrap(), Reply::Int(13));
    let refused = client.ask(&["SET", "k", "5"]).unwrap();
    assert_eq!(
        refused,
        Reply::Error("ERR mint: k is at 13, SET only moves forward".into())
    );
    assert_eq!(
        client.ask(&["SET", "k", "20"]).unwrap(),
        Reply::Simple("OK".into())
    );
    assert_eq!(client.ask(&["INCR", "k"]).unwrap(), Reply::Int(21));
    assert_eq!(client.ask(&["DEL", "k"]).unwrap(), Reply::Int(1));
    // The name continues above its mark.
    assert!(client.ask(&["INCR", "k"]).unwrap().int() > Some(21));
}

// claim: P20
#[test]
fn a_contiguous_run_is_never_shared() {
    let folder = tempfile::tempdir().unwrap();
    let server = Start::in_folder(folder.path()).ready();
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let mut client = server.redis();
            std::thread::spawn(move || {
                (0..100)
                    .map(|_| {
                        let last = client.ask(&["INCRBY", "runs", "7"]).unwrap().int().unwrap();
                        last - 6..=last
                    })
                    .collect::<Vec<_>>()
            })
        })
        .collect();
    let mut all: Vec<i64> = threads
        .into_iter()
        .flat_map(|t| t.join().unwrap())
        .flatten()
        .collect();
    all.sort_unstable();
    let len = all.len();
    all.dedup();
    assert_eq!((all.len(), len), (2800, 2800));
}
