//! The Redis protocol, byte by byte: what goes in, what comes out.
//!
//! Replies and error texts of Redis's own commands were recorded from Redis 7.0.15.

use mintage_server::Stop;
use mintage_server::auth::Right;
use mintage_server::config::{Bytes, Off};
use mintage_testing::{Distinct, distinct, rising};
use std::time::{Duration, Instant};

use crate::common::{Client, Server, check, token};

#[test]
fn counters_count_as_in_redis() {
    let server = Server::start();
    check(
        &mut server.resp(),
        &[
            ("INCR k", ":1\r\n"),
            ("incr k", ":2\r\n"),
            ("INCRBY k 10", ":12\r\n"),
            ("INCRBY k 1", ":13\r\n"),
            ("GET k", "$2\r\n13\r\n"),
            ("GET nothing", "$-1\r\n"),
            ("GET \"no\\tname\"", "$-1\r\n"),
            ("MGET k nothing k", "*3\r\n$2\r\n13\r\n$-1\r\n$2\r\n13\r\n"),
            ("EXISTS k k nothing", ":2\r\n"),
            ("TYPE k", "+string\r\n"),
            ("TYPE nothing", "+none\r\n"),
            ("DBSIZE", ":1\r\n"),
            ("*2\r\n$4\r\nINCR\r\n$1\r\nk", ":14\r\n"),
        ],
    );
}

// claim: P7
#[test]
fn set_creates_or_moves_forward() {
    let server = Server::start();
    check(
        &mut server.resp(),
        &[
            ("SET k 10", "+OK\r\n"),
            ("GET k", "$2\r\n10\r\n"),
            ("INCR k", ":11\r\n"),
            ("INCR k", ":12\r\n"),
            ("INCR k", ":13\r\n"),
            ("SET k 12", "-ERR mint: k is at 13, SET only moves forward\r\n"),
            ("SET k 20", "+OK\r\n"),
            ("INCR k", ":21\r\n"),
            ("SET k 30 GET", "$2\r\n21\r\n"),
            ("SET k 40 NX", "$-1\r\n"),
            ("SET k 40 XX", "+OK\r\n"),
            ("SET k 50 xx get", "$2\r\n40\r\n"),
            ("SET new 5 XX", "$-1\r\n"),
            ("SET new 5 NX", "+OK\r\n"),
            ("SET fresh 5 GET", "$-1\r\n"),
            ("INCR new", ":6\r\n"),
            ("SET k x", "-ERR value is not an integer or out of range\r\n"),
            (
                "SET k 9223372036854775808",
                "-ERR value is not an integer or out of range\r\n",
            ),
            ("SET k 60 NX XX", "-ERR syntax error\r\n"),
            ("SET k 60 FOO", "-ERR syntax error\r\n"),
            (
                "SET k 60 EX 10",
                "-ERR mint: SET takes NX, XX and GET; a number never expires (server.resp.expire = \"ignore\" has expiry answered and ignored)\r\n",
            ),
            ("GET k", "$2\r\n50\r\n"),
        ],
    );
}

// claim: P7
#[test]
fn a_dropped_name_goes_on_above_its_mark() {
    let server = Server::start();
    check(
        &mut server.resp(),
        &[
            ("SET k 100", "+OK\r\n"),
            ("DEL k nothing \"no\\tname\"", ":1\r\n"),
            ("EXISTS k", ":0\r\n"),
            ("GET k", "$-1\r\n"),
            ("DBSIZE", ":0\r\n"),
            ("DEL k", ":0\r\n"),
            ("INCR k", ":101\r\n"),
            // As many clients send it.
            ("UNLINK k nothing", ":1\r\n"),
            ("INCR k", ":102\r\n"),
            (
                "GETDEL k",
                "-ERR mint: a number that is given out meanwhile would be missing in the answer (use GET, and DEL once nobody takes numbers any more)\r\n",
            ),
            ("GET k", "$3\r\n102\r\n"),
        ],
    );
}

#[test]
fn sequences_of_every_definition_count_through_incr() {
    let server = Server::start();
    for (name, definition) in [
        ("gapless", r#"{"gap": "none"}"#),
        ("down", r#"{"increment": -3, "max": 1000}"#),
        ("cycle", r#"{"max": 3, "cycle": true}"#),
    ] {
        let made = server
            .http()
            .ask_with("PUT", &format!("/v1/sequences/{name}"), &[], definition);
        assert_eq!(made.status, 201, "{}", made.text());
    }
    let run = |name: &str, expected: &dyn Fn(i64) -> i64| {
        let mut client = server.resp();
        client
            .send(format!("INCR {name}\r\n").repeat(300))
            .finish_sending();
        let wire: String = (0..300).map(|i| format!(":{}\r\n", expected(i))).collect();
        client.expect_end(&wire);
    };
    run("gapless", &|i| i + 1);
    run("down", &|i| 1000 - 3 * i);
    run("cycle", &|i| i % 3 + 1);
    check(
        &mut server.resp(),
        &[
            ("INCRBY gapless 10", ":310\r\n"),
            ("GET gapless", "$3\r\n310\r\n"),
        ],
    );
}

/// A run costs no more for being long: each is one reservation at most.
#[test]
fn a_run_is_as_long_as_it_is_asked_for_and_costs_one_reservation() {
    let server = Server::start();
    let reservations = || -> u64 {
        let metrics = server.http().ask("GET", "/metrics").text();
        let count = metrics
            .lines()
            .find_map(|line| line.strip_prefix("mint_reserve_seconds_count "));
        count.expect("it is shown").parse().unwrap()
    };
    let mut client = server.resp();
    let mut last = 0_u64;
    for n in [100, 1_000_000_000, 1 << 40, (1 << 40) + 1, 1 << 52] {
        let before = reservations();
        for _ in 0..50 {
            last += n;
            client
                .send(format!("INCRBY k {n}\r\n"))
                .expect(&format!(":{last}\r\n"));
        }
        let spent = reservations() - before;
        // What is reserved ahead in the background comes on top.
        assert!(spent <= 100, "{spent} for 50 runs of {n}");
    }
    let script = "return redis.call('incrby', KEYS[1], ARGV[1])";
    last += 1 << 60;
    client
        .send(format!("EVAL \"{script}\" 1 k {}\r\n", 1_u64 << 60))
        .expect(&format!(":{last}\r\n"));
    let left = i64::MAX as u64 - last;
    client
        .send(format!("INCRBY k {}\r\n", left + 1))
        .expect("-ERR increment or decrement would overflow\r\n")
        .send(format!("INCRBY k {left}\r\n"))
        .expect(":9223372036854775807\r\n");
}

#[test]
fn a_setting_limits_runs_and_its_refusal_says_so() {
    let server = Server::with(|config| config.resp_max_increment = 1000);
    server
        .resp()
        .send("INCRBY k 1000\r\n")
        .expect(":1000\r\n")
        .send("INCRBY k 1001\r\n")
        .expect("-ERR mint: a run of 1001 numbers: server.resp.max_increment allows 1000\r\n")
        .send("INCRBY k 1\r\n")
        .expect(":1001\r\n");
}

/// A client of Redis is told the last number of a run and takes those before it, in steps of 1.
// claim: P20
#[test]
fn a_run_is_given_in_steps_of_one_only() {
    let server = Server::start();
    let odd = server
        .http()
        .ask_with("PUT", "/v1/sequences/odd", &[], r#"{"increment": 2}"#);
    assert_eq!(odd.status, 201, "{}", odd.text());
    let refused = "-ERR mint: odd counts by 2, and a run of 3 is answered by one number, from which the others are reckoned \
                   in steps of 1 (take its numbers one by one, or a run by HTTP (as=range), which says the step)\r\n";
    let script =
        |count: &str| format!("EVAL \"return redis.call('incrby', KEYS[1], ARGV[1])\" 1 odd {count}");
    check(
        &mut server.resp(),
        &[
            // With nothing in stock, and then with a stock.
            ("INCRBY odd 3", refused),
            ("INCRBY odd 1", ":1\r\n"),
            ("INCRBY odd 3", refused),
            (&script("3"), refused),
            (&script("1"), ":3\r\n"),
            ("INCR odd", ":5\r\n"),
            ("INCRBY even 3", ":3\r\n"),
        ],
    );
}

#[test]
fn at_the_bound_redis_words_are_used_and_nothing_moves() {
    let server = Server::start();
    check(
        &mut server.resp(),
        &[
            ("SET k 9223372036854775806", "+OK\r\n"),
            ("INCRBY k 2", "-ERR increment or decrement would overflow\r\n"),
            ("GET k", "$19\r\n9223372036854775806\r\n"),
            ("INCR k", ":9223372036854775807\r\n"),
            ("INCR k", "-ERR increment or decrement would overflow\r\n"),
            ("INCRBY k 5", "-ERR increment or decrement would overflow\r\n"),
            ("GET k", "$19\r\n9223372036854775807\r\n"),
        ],
    );
}

#[test]
fn requests_that_make_no_sense_are_refused_in_redis_words() {
    let server = Server::start();
    check(
        &mut server.resp(),
        &[
            ("INCR", "-ERR wrong number of arguments for 'incr' command\r\n"),
            (
                "INCR a b",
                "-ERR wrong number of arguments for 'incr' command\r\n",
            ),
            (
                "NOSUCH x y",
                "-ERR unknown command 'NOSUCH', with args beginning with: 'x' 'y' \r\n",
            ),
            (
                "nosuch",
                "-ERR unknown command 'nosuch', with args beginning with: \r\n",
            ),
            ("INCRBY a x", "-ERR value is not an integer or out of range\r\n"),
            (
                "INCRBY a 9223372036854775808",
                "-ERR value is not an integer or out of range\r\n",
            ),
            ("INCRBY a +1", "-ERR value is not an integer or out of range\r\n"),
            ("SELECT 0", "+OK\r\n"),
            ("SELECT 1", "-ERR DB index is out of range\r\n"),
            ("SELECT x", "-ERR value is not an integer or out of range\r\n"),
            (
                "PING a b",
                "-ERR wrong number of arguments for 'ping' command\r\n",
            ),
            (
                "AUTH x",
                "-ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?\r\n",
            ),
            ("AUTH a b c", "-ERR syntax error\r\n"),
            ("HELLO 4", "-NOPROTO unsupported protocol version\r\n"),
            (
                "HELLO x",
                "-ERR Protocol version is not an integer or out of range\r\n",
            ),
            ("HELLO 3 FOO", "-ERR Syntax error in HELLO option 'FOO'\r\n"),
            (
                "HELLO 3 AUTH default",
                "-ERR Syntax error in HELLO option 'AUTH'\r\n",
            ),
            (
                "CLIENT",
                "-ERR wrong number of arguments for 'client' command\r\n",
            ),
            (
                "CLIENT FOO",
                "-ERR unknown subcommand 'FOO'. Try CLIENT HELP.\r\n",
            ),
            (
                "CLIENT GETNAME x",
                "-ERR wrong number of arguments for 'client|getname' command\r\n",
            ),
            (
                "CLIENT SETNAME 'a b'",
                "-ERR Client names cannot contain spaces, newlines or special characters.\r\n",
            ),
            ("CLIENT NO-EVICT x", "-ERR syntax error\r\n"),
            (
                "COMMAND FOO",
                "-ERR unknown subcommand 'FOO'. Try COMMAND HELP.\r\n",
            ),
            (
                "CONFIG",
                "-ERR wrong number of arguments for 'config' command\r\n",
            ),
            (
                "CONFIG GET",
                "-ERR wrong number of arguments for 'config|get' command\r\n",
            ),
            ("TIME x", "-ERR wrong number of arguments for 'time' command\r\n"),
            ("SCAN x", "-ERR invalid cursor\r\n"),
            ("SCAN 12345", "-ERR invalid cursor\r\n"),
            ("SCAN 0 COUNT 0", "-ERR syntax error\r\n"),
            (
                "SCAN 0 COUNT x",
                "-ERR value is not an integer or out of range\r\n",
            ),
            ("SCAN 0 FOO", "-ERR syntax error\r\n"),
            ("SCAN 0 MATCH", "-ERR syntax error\r\n"),
            (
                "MINT.NEXT",
                "-ERR wrong number of arguments for 'mint.next' command\r\n",
            ),
            ("MINT.NEXT s COUNT", "-ERR syntax error\r\n"),
            (
                "MINT.NEXT s COUNT 0",
                "-ERR mint: count must be a whole number from 1 to 10000\r\n",
            ),
            (
                "MINT.NEXT s COUNT 9223372036854775808",
                "-ERR mint: count must be a whole number from 1 to 10000\r\n",
            ),
            (
                "MINT.ID uuid7 COUNT 10001",
                "-ERR mint: count must be a whole number from 1 to 10000\r\n",
            ),
            (
                "MINT.ID uuid9",
                "-ERR mint: there is no format \"uuid9\" (did you mean uuid? known are uuid, uuid1, uuid2, uuid3, uuid4, uuid5, uuid6, uuid7, uuid8, ulid, ksuid, ksuidms, typeid, xid, objectid, tsid, tid, scru128, pushid, timeflake, flake, nanoid, cuid2, token, sqids, hashids, snowflake)\r\n",
            ),
            ("MINT.SHOW nothing", "-ERR mint: no sequence nothing\r\n"),
            ("MINT.SNOWFLAKE nothing", "-ERR mint: no pool nothing\r\n"),
            ("DBSIZE", ":0\r\n"),
        ],
    );
}

#[test]
fn names_outside_the_grammar_are_refused_in_words() {
    let server = Server::start();
    let mut client = server.resp();
    let long = "x".repeat(256);
    for name in [
        "\"\"",
        "\"a\\tb\"",
        "\"\\x7f\"",
        "\"\\xc2\\x85\"",
        "\"\\xff\"",
        "\"a\\r\\nb\"",
        &long,
    ] {
        for command in ["INCR", "INCRBY", "SET", "MINT.NEXT", "MINT.SHOW"] {
            let arguments = if matches!(command, "INCRBY" | "SET") {
                " 5"
            } else {
                ""
            };
            client.send(format!("{command} {name}{arguments}\r\n"));
            let line = client.line();
            assert!(line.starts_with("-ERR mint: name "), "{command} {name}: {line}");
        }
    }
    client.send("DBSIZE\r\n").expect(":0\r\n");
}

#[test]
fn names_of_any_text_count_and_are_listed_in_their_order() {
    let server = Server::start();
    let mut client = server.resp();
    let longest = "🦀".repeat(63) + "abc";
    let mut names = vec![
        "{acct}:seq",
        "shop/orders",
        "svc@prod:id",
        "ids#order",
        "Seq Invoice",
        "inc:заказ",
        ".",
        "..",
        "%41",
        &longest,
        "A",
        "seq/seq/a",
        "a",
        "a ",
        "a-b",
        "a/b",
        "a.b",
        "~",
        "-x",
    ];
    let ask = |command: &str, name: &str| {
        format!(
            "*2\r\n${}\r\n{command}\r\n${}\r\n{name}\r\n",
            command.len(),
            name.len()
        )
    };
    for name in &names {
        for n in 1..=3 {
            client.send(ask("INCR", name)).expect(&format!(":{n}\r\n"));
        }
        client.send(ask("GET", name)).expect("$1\r\n3\r\n");
    }
    names.sort_unstable();
    let listed: String = names
        .iter()
        .map(|name| format!("${}\r\n{name}\r\n", name.len()))
        .collect();
    client
        .send("KEYS *\r\n")
        .expect(&format!("*{}\r\n{listed}", names.len()));
}

#[test]
fn a_first_set_takes_every_value_and_later_ones_only_go_on() {
    let server = Server::start();
    let only = |name: &str, at: &str| format!("-ERR mint: {name} is at {at}, SET only moves forward\r\n");
    let mut client = server.resp();
    check(
        &mut client,
        &[
            ("SET k 0", "+OK\r\n"),
            ("GET k", "$1\r\n0\r\n"),
            ("INCRBY k 0", ":0\r\n"),
            ("INCR k", ":1\r\n"),
            ("SET k 0", &only("k", "1")),
            ("SETNX k 0", ":0\r\n"),
            ("SET k 0 NX", "$-1\r\n"),
            ("GETSET k 0", &only("k", "1")),
            ("DEL k", ":1\r\n"),
            // The name goes on above its numbers, whoever makes it anew.
            ("SET k 0", &only("k", "1")),
            ("SETNX k -7", &only("k", "1")),
            ("SET k 1", "+OK\r\n"),
            ("INCR k", ":2\r\n"),
            ("SET low -3", "+OK\r\n"),
            ("INCR low", ":-2\r\n"),
            ("INCRBY low 3", ":1\r\n"),
            ("DEL low", ":1\r\n"),
            ("SET low -9", &only("low", "1")),
            ("INCR low", ":2\r\n"),
            // As the lowest are dropped, too: none of them comes again.
            ("SET deep -100", "+OK\r\n"),
            ("INCR deep", ":-99\r\n"),
            ("DEL deep", ":1\r\n"),
            ("SET deep -100", &only("deep", "-99")),
            ("SET deep -50", "+OK\r\n"),
            ("INCR deep", ":-49\r\n"),
            // Reading makes nothing.
            ("INCRBY nothing 0", ":0\r\n"),
            ("EXISTS nothing", ":0\r\n"),
        ],
    );
}

#[test]
fn what_would_count_down_is_told_what_to_create() {
    let server = Server::start();
    let down = r#"{"increment": -3, "max": 100}"#;
    server.http().ask_with("PUT", "/v1/sequences/down", &[], down);
    let create = "(for numbers that fall create a sequence with increment -1 and INCR it: mint seq create NAME --increment=-1)";
    let up = format!("-ERR mint: k is a sequence that counts up by 1 and never goes back {create}\r\n");
    let absent =
        format!("-ERR mint: x does not exist, and what INCR and SET make counts up alone {create}\r\n");
    let falls = "-ERR mint: down is a sequence that counts by -3: INCR takes its next number\r\n";
    check(
        &mut server.resp(),
        &[
            ("INCR k", ":1\r\n"),
            ("DECR k", &up),
            ("DECRBY k 5", &up),
            ("INCRBY k -5", &up),
            ("DECR x", &absent),
            ("DECR down", falls),
            ("INCR down", ":100\r\n"),
            ("DECRBY k x", "-ERR value is not an integer or out of range\r\n"),
            ("INCR k", ":2\r\n"),
        ],
    );
}

#[test]
fn a_transaction_has_limits_and_one_beyond_them_runs_nothing() {
    let server = Server::with(|config| {
        (config.resp_max_queued, config.resp_max_queued_bytes) = (3, Bytes(4096));
    });
    let many = "-ERR mint: MULTI queues at most 3 commands, and nothing of this transaction is run (send fewer at a time, or raise server.resp.max_queued)\r\n";
    let much = "-ERR mint: MULTI queues at most commands of 4096 bytes, and nothing of this transaction is run (send fewer at a time, or raise server.resp.max_queued_bytes)\r\n";
    let abort = "-EXECABORT Transaction discarded because of previous errors.\r\n";
    let long = format!("ECHO {}", "x".repeat(2100));
    check(
        &mut server.resp(),
        &[
            ("MULTI", "+OK\r\n"),
            ("INCR k", "+QUEUED\r\n"),
            ("INCR k", "+QUEUED\r\n"),
            ("INCR k", "+QUEUED\r\n"),
            ("INCR k", many),
            ("INCR k", "+QUEUED\r\n"),
            ("EXEC", abort),
            ("MULTI", "+OK\r\n"),
            (&long, "+QUEUED\r\n"),
            (&long, much),
            ("EXEC", abort),
            ("INCR k", ":1\r\n"),
        ],
    );
}

/// Each connection had a limit, and ten thousand of them ten thousand times that.
#[test]
fn all_connections_together_queue_no_more_than_is_configured() {
    let server = Server::with(|config| {
        config.max_kept = Bytes(32 * 9 * 1024);
        config.resp_max_argument = Bytes(8192);
        config.resp_max_line = Bytes(8192);
    });
    // Of 100, each more than every connection may keep in any case, 32 fit.
    let request = format!("ECHO {}\r\n", "x".repeat(4200));
    let much = "-TRYAGAIN mint: at most 294912 bytes are kept for all connections together: nothing of this transaction is run (try again when others keep less, or raise server.max_kept)\r\n";
    let mut connections = Vec::new();
    for at in 0..100 {
        let mut one = server.resp();
        one.send("MULTI\r\n").expect("+OK\r\n");
        one.send(&request)
            .expect(if at < 32 { "+QUEUED\r\n" } else { much });
        connections.push(one);
    }
    // Whoever queued before goes on; whoever was refused runs nothing, and holds nothing.
    for (at, one) in connections.iter_mut().enumerate() {
        match at {
            0..31 => one
                .send("EXEC\r\n")
                .expect("*1\r\n$4200\r\n")
                .expect(&format!("{}\r\n", "x".repeat(4200))),
            31 => continue,
            _ => one
                .send("EXEC\r\n")
                .expect("-EXECABORT Transaction discarded because of previous errors.\r\n"),
        };
    }
    // What is done, discarded or hung up on is given back, so that as many fit again.
    connections.truncate(1);
    for _ in 0..31 {
        let mut one = server.resp();
        one.send("MULTI\r\n").expect("+OK\r\n");
        one.send(&request).expect("+QUEUED\r\n");
        one.send("DISCARD\r\n").expect("+OK\r\n");
        one.send("MULTI\r\n").expect("+OK\r\n");
        one.send(&request).expect("+QUEUED\r\n");
        one.send("RESET\r\n").expect("+RESET\r\n");
        connections.push(one);
    }
}

#[test]
fn a_transaction_of_much_is_answered_whole_and_others_come_in_between() {
    let server = Server::with(|config| config.resp_max_output = Bytes(4096));
    let (mut greedy, mut other) = (server.resp(), server.resp());
    let queued = "INCR k\r\n".repeat(10_000);
    greedy.send(format!("MULTI\r\n{queued}MINT.ID uuid7 COUNT 10000\r\nEXEC\r\n"));
    other.send("INCR other\r\n").expect(":1\r\n");
    greedy.expect(&format!("+OK\r\n{}*10001\r\n", "+QUEUED\r\n".repeat(10_001)));
    let numbers: String = (1..=10_000).map(|n| format!(":{n}\r\n")).collect();
    greedy.expect(&numbers);
    greedy.expect("*10000\r\n");
    let ids = greedy.read(10_000 * "$36\r\n01a1fdb5-0e20-721d-95e2-b5bb7abeec53\r\n".len());
    assert_eq!(ids.iter().filter(|byte| **byte == b'$').count(), 10_000);
    greedy.send("PING\r\n").expect("+PONG\r\n");
}

#[test]
fn a_transaction_ends_with_what_ends_it() {
    let server = Server::start();
    // Left open: nothing of it is run.
    let mut left = server.resp();
    left.send("MULTI\r\nINCR k\r\n").expect("+OK\r\n+QUEUED\r\n");
    drop(left);
    let watch = "-ERR mint: sequences cannot be watched (INCR takes a number that nobody else gets, SET NX makes a sequence once, and SET never goes back: none of them needs WATCH)\r\n";
    check(
        &mut server.resp(),
        &[
            ("WATCH k", watch),
            ("MULTI", "+OK\r\n"),
            ("INCR k", "+QUEUED\r\n"),
            ("RESET", "+RESET\r\n"),
            ("EXEC", "-ERR EXEC without MULTI\r\n"),
            ("MULTI", "+OK\r\n"),
            ("HELLO 3", "+QUEUED\r\n"),
            ("GET k", "+QUEUED\r\n"),
            ("DISCARD", "+OK\r\n"),
            ("GET k", "$-1\r\n"),
        ],
    );
}

#[test]
fn rights_are_asked_for_when_a_command_is_queued() {
    let server = Server::with(|config| config.tokens = vec![token("web", "secret", &[Right::Allocate])]);
    check(
        &mut server.resp(),
        &[
            ("MULTI", "-NOAUTH Authentication required.\r\n"),
            ("AUTH secret", "+OK\r\n"),
            ("MULTI", "+OK\r\n"),
            ("INCR k", "+QUEUED\r\n"),
            (
                "SET k 5",
                "-NOPERM this user has no permissions to run the 'set' command\r\n",
            ),
            (
                "EXEC",
                "-EXECABORT Transaction discarded because of previous errors.\r\n",
            ),
            ("GET k", "$-1\r\n"),
        ],
    );
}

#[test]
fn bytes_that_are_no_request_are_answered_and_the_connection_closed() {
    let server = Server::start();
    let long = "1".repeat(5000);
    for (bytes, text) in [
        ("*x\r\n", "invalid multibulk length"),
        ("*1025\r\n", "invalid multibulk length"),
        ("*9223372036854775807\r\n", "invalid multibulk length"),
        ("*1\r\n$x\r\n", "invalid bulk length"),
        ("*1\r\n$-1\r\n", "invalid bulk length"),
        ("*1\r\n$4097\r\n", "invalid bulk length"),
        ("*1\r\n$999999999999\r\n", "invalid bulk length"),
        ("*1\r\n:1\r\n", "expected '$', got ':'"),
        ("*1\r\n$4\r\nPINGxx", "bulk string does not end in CR LF"),
        ("PING \"a\r\n", "unbalanced quotes in request"),
        (&format!("*{long}"), "too big mbulk count string"),
        (&format!("*1\r\n${long}"), "too big bulk count string"),
        (&format!("PING {long}"), "too big inline request"),
    ] {
        // What was complete before is answered first.
        let mut client = server.resp();
        client.send(format!("PING\r\n{bytes}"));
        client.expect_end(&format!("+PONG\r\n-ERR Protocol error: {text}\r\n"));
    }
}

#[test]
fn a_request_that_does_not_fit_the_buffer_is_refused() {
    let server = Server::with(|config| config.resp_max_request = Bytes(4096));
    let mut client = server.resp();
    let argument = "x".repeat(1000);
    let mut request = "*6\r\n$4\r\nMGET\r\n".to_string();
    for _ in 0..5 {
        request.push_str(&format!("$1000\r\n{argument}\r\n"));
    }
    client.send(request);
    assert_eq!(client.read_to_end(), "-ERR Protocol error: too big request\r\n");
}

#[test]
fn where_a_pipeline_is_cut_makes_no_difference() {
    let server = Server::start();
    // A key of five characters keeps every cut at the same place for each of them.
    let pipeline = |key: &str| {
        [
            (format!("*2\r\n$4\r\nINCR\r\n$5\r\n{key}\r\n"), ":1\r\n"),
            (format!("*2\r\n$4\r\nINCR\r\n$5\r\n{key}\r\n"), ":2\r\n"),
            ("PING\r\n".into(), "+PONG\r\n"),
            ("\r\n*0\r\nECHO \"a b\"\r\n".into(), "$3\r\na b\r\n"),
            (
                format!("*3\r\n$6\r\nINCRBY\r\n$5\r\n{key}\r\n$2\r\n10\r\n"),
                ":12\r\n",
            ),
            (format!("GET {key}\r\n"), "$2\r\n12\r\n"),
            (
                "NOPE\r\n".into(),
                "-ERR unknown command 'NOPE', with args beginning with: \r\n",
            ),
        ]
    };
    let joined = |key: &str| pipeline(key).map(|(request, _)| request).concat();
    let answers = pipeline("").map(|(_, answer)| answer).concat();
    for cut in 0..joined("k0000").len() {
        let key = format!("k{cut:04}");
        let request = joined(&key);
        let (mut whole, mut answered) = (0, String::new());
        for (request, answer) in pipeline(&key) {
            whole += request.len();
            if whole <= cut {
                answered.push_str(answer);
            }
        }
        let mut client = server.resp();
        // The server has taken in the first part once it has answered what is complete in it.
        client.send(&request[..cut]).expect(&answered);
        client.send(&request[cut..]).expect(&answers[answered.len()..]);
    }
    let mut client = server.resp();
    for byte in joined("bytes").as_bytes() {
        client.send([*byte]);
    }
    client.expect(&answers);
}

#[test]
fn half_a_request_is_waited_for_and_forgotten_when_the_client_leaves() {
    let server = Server::start();
    let mut client = server.resp();
    client
        .send("INCR a\r\n*2\r\n$4\r\nINCR\r\n$1\r\na")
        .expect(":1\r\n")
        .finish_sending();
    client.expect_end("");
    server.resp().send("GET a\r\n").expect("$1\r\n1\r\n");
}

#[test]
fn a_client_that_has_finished_sending_gets_its_answers() {
    let server = Server::start();
    let mut client = server.resp();
    client.send("INCR a\r\n".repeat(1000)).finish_sending();
    let expected: String = (1..=1000).map(|n| format!(":{n}\r\n")).collect();
    client.expect_end(&expected);
}

#[test]
fn pipelines_of_one_key_and_of_many_get_their_numbers_in_order() {
    let server = Server::start();
    let mut client = server.resp();
    let mut request = String::new();
    let mut expected = String::new();
    let mut counts = [0; 3];
    for i in 0..3000usize {
        let key = i % 7 % 3;
        counts[key] += 1;
        request.push_str(&format!("INCR key{key}\r\n"));
        expected.push_str(&format!(":{}\r\n", counts[key]));
    }
    client.send(request).expect(&expected);
}

#[test]
fn numbers_are_unique_over_connections_and_threads() {
    let server = Server::start();
    let address = server.address("resp");
    let threads: Vec<_> = (0..8)
        .map(|_| {
            std::thread::spawn(move || {
                let mut client = Client::connect(address);
                let mut numbers = Vec::new();
                for _ in 0..20 {
                    client.send("INCR shared\r\n".repeat(100));
                    numbers.extend((0..100).map(|_| client.line()[1..].parse::<i64>().unwrap()));
                }
                rising("numbers of a connection", &numbers);
                numbers
            })
        })
        .collect();
    let mut all = Distinct::of("numbers");
    all.extend(threads.into_iter().flat_map(|thread| thread.join().unwrap()));
    assert_eq!(all.len(), 8 * 20 * 100);
}

#[test]
fn mint_commands_give_ids_of_every_kind() {
    let server = Server::start();
    let mut client = server.resp();
    check(
        &mut client,
        &[
            ("MINT.NEXT s", ":1\r\n"),
            ("MINT.NEXT s COUNT 3", "*3\r\n:2\r\n:3\r\n:4\r\n"),
            ("MINT.NEXT s\r\nMINT.NEXT s", ":5\r\n:6\r\n"),
        ],
    );
    let bulk = |client: &mut Client| {
        let head = client.line();
        assert!(head.starts_with('$'), "{head}");
        client.line()
    };
    for (request, version) in [
        ("MINT.ID uuid\r\n", '7'),
        ("MINT.ID uuid7\r\n", '7'),
        ("MINT.ID uuid4\r\n", '4'),
    ] {
        client.send(request.repeat(100));
        let ids: Vec<String> = (0..100).map(|_| bulk(&mut client)).collect();
        distinct(request, &ids);
        assert!(
            ids.iter()
                .all(|id| id.len() == 36 && id.as_bytes()[14] as char == version),
            "{ids:?}"
        );
    }
    for row in mintage::FORMATS
        .iter()
        .filter(|row| row.can_make() && row.text_sorts)
    {
        client.send(format!(
            "MINT.ID {} COUNT 100\r\nMINT.ID {}\r\n",
            row.name, row.name
        ));
        client.expect("*100\r\n");
        let ids: Vec<String> = (0..101).map(|_| bulk(&mut client)).collect();
        rising(row.name, &ids);
        for id in &ids {
            row.parse(id.as_bytes(), &mintage::GenOptions::default())
                .unwrap_or_else(|e| panic!("{id}: {e}"));
        }
    }
    check(
        &mut client,
        &[
            ("MINT.ID sqids NUMBERS 1,2,3", "$6\r\n86Rf07\r\n"),
            (
                "MINT.ID sqids numbers 1,2,3 COUNT 2",
                "*2\r\n$6\r\n86Rf07\r\n$6\r\n86Rf07\r\n",
            ),
            (
                "MINT.ID uuid5 namespace dns name www.example.com",
                "$36\r\n2ed6657d-e927-568b-95e1-2665a8aea6a2\r\n",
            ),
            ("MINT.ID nanoid length 0", "$0\r\n\r\n"),
            ("MINT.ID nanoid length", "-ERR syntax error\r\n"),
            (
                "MINT.ID ulid prefix user",
                "-ERR mint: format ulid has no option \"prefix\" (it takes none)\r\n",
            ),
            (
                "MINT.ID nanoid length x",
                "-ERR mint: length: \"x\" is no number\r\n",
            ),
        ],
    );
    for request in ["MINT.SNOWFLAKE default", "MINT.ID snowflake"] {
        client.send(format!("{request} COUNT 100\r\n")).expect("*100\r\n");
        client.send(format!("{request}\r\n").repeat(100));
        let ids: Vec<u64> = (0..200).map(|_| bulk(&mut client).parse().unwrap()).collect();
        rising(request, ids);
    }
    client.send("MINT.ID uuid7 COUNT 10000\r\n").expect("*10000\r\n");
    rising("uuid7", (0..10_000).map(|_| bulk(&mut client)));
}

#[test]
fn mint_show_and_inspect_are_maps() {
    let server = Server::start();
    let mut client = server.resp();
    client
        .send("INCR s\r\n")
        .expect(":1\r\n")
        .send("MINT.SHOW s\r\n")
        .expect("*20\r\n$4\r\nname\r\n$1\r\ns\r\n");
    let mut client = server.resp();
    client.send("HELLO 3\r\nMINT.INSPECT 017f22e2-79b0-7cc3-98c4-dc0c0c07398f\r\nPING end\r\n");
    let mut text = String::new();
    while !text.ends_with("end") {
        text.push(' ');
        text.push_str(&client.line());
    }
    assert!(text.contains("2022-02-22T19:22:22.000Z"), "{text}");
}

#[test]
fn version_three_has_its_own_forms() {
    let server = Server::start();
    let mut client = server.resp();
    client.send("HELLO 3 SETNAME me\r\n");
    client.expect("%7\r\n$6\r\nserver\r\n$4\r\nmint\r\n$7\r\nversion\r\n$6\r\n7.0.15\r\n$5\r\nproto\r\n:3\r\n$2\r\nid\r\n:");
    client.line();
    client.expect("$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n$7\r\nmodules\r\n*0\r\n");
    check(
        &mut client,
        &[
            ("GET nothing", "_\r\n"),
            ("CONFIG GET save", "%1\r\n$4\r\nsave\r\n$0\r\n\r\n"),
            ("CLIENT GETNAME", "$2\r\nme\r\n"),
            ("INFO keyspace", "=16\r\ntxt:# Keyspace\r\n\r\n"),
            ("INCR k", ":1\r\n"),
            (
                "INFO keyspace",
                "=48\r\ntxt:# Keyspace\r\ndb0:keys=1,expires=0,avg_ttl=0\r\n\r\n",
            ),
            ("RESET", "+RESET\r\n"),
            ("GET nothing", "$-1\r\n"),
            ("CLIENT GETNAME", "$-1\r\n"),
        ],
    );
}

#[test]
fn what_stock_clients_ask_at_the_start_is_answered() {
    let server = Server::start();
    let mut client = server.resp();
    check(
        &mut client,
        &[
            ("CLIENT SETINFO LIB-NAME redis-py", "+OK\r\n"),
            ("CLIENT SETINFO LIB-VER 5.0.0", "+OK\r\n"),
            ("CLIENT SETNAME worker-1", "+OK\r\n"),
            ("CLIENT GETNAME", "$8\r\nworker-1\r\n"),
            ("CLIENT NO-EVICT on", "+OK\r\n"),
            ("CONFIG GET save", "*2\r\n$4\r\nsave\r\n$0\r\n\r\n"),
            // Over the memory store nothing is durable, and it does not say so.
            ("CONFIG GET appendonly", "*2\r\n$10\r\nappendonly\r\n$2\r\nno\r\n"),
            (
                "CONFIG GET maxmemory-policy nothing",
                "*2\r\n$16\r\nmaxmemory-policy\r\n$10\r\nnoeviction\r\n",
            ),
            ("COMMAND COUNT", ":75\r\n"),
            ("COMMAND INFO nothing", "*1\r\n*-1\r\n"),
            (
                "COMMAND INFO get",
                "*1\r\n*10\r\n$3\r\nget\r\n:2\r\n*2\r\n+readonly\r\n+fast\r\n:1\r\n:1\r\n:1\r\n*1\r\n+@string\r\n*0\r\n*0\r\n*0\r\n",
            ),
            (
                "COMMAND DOCS dbsize",
                "*2\r\n$6\r\ndbsize\r\n*4\r\n$7\r\nsummary\r\n$28\r\nHow many sequences there are\r\n$5\r\ngroup\r\n$6\r\nserver\r\n",
            ),
            ("ECHO hi", "$2\r\nhi\r\n"),
        ],
    );
    client.send("CLIENT INFO\r\n");
    client.line();
    let info = client.line();
    for field in [
        "name=worker-1",
        "lib-name=redis-py",
        "lib-ver=5.0.0",
        "resp=2",
        "user=default",
    ] {
        assert!(info.contains(field), "{info} lacks {field}");
    }
    let mut client = server.resp();
    client.send("QUIT\r\nPING\r\n");
    client.expect_end("+OK\r\n");
}

#[test]
fn info_has_redis_sections_and_ours() {
    let server = Server::start();
    let mut client = server.resp();
    client.send("INCR k\r\n").expect(":1\r\n").send("INFO\r\n");
    let length: usize = client.line()[1..].parse().unwrap();
    let text = String::from_utf8(client.read(length + 2)).unwrap();
    for line in [
        "# Server",
        "redis_version:7.0.15",
        "# Clients",
        "connected_clients:1",
        "# Stats",
        "# Keyspace",
        "db0:keys=1,expires=0,avg_ttl=0",
        "# Mint",
        "store:memory",
        "numbers_issued:1",
        "ready:1",
    ] {
        assert!(text.contains(&format!("{line}\r\n")), "{text} lacks {line}");
    }
}

#[test]
fn keys_and_scan_find_every_name() {
    let server = Server::start();
    let mut client = server.resp();
    for i in 0..25 {
        client.send(format!("INCR n{i:02}\r\n")).expect(":1\r\n");
    }
    client.send("INCR other\r\n").expect(":1\r\n");
    client
        .send("KEYS n2?\r\n")
        .expect("*5\r\n$3\r\nn20\r\n$3\r\nn21\r\n$3\r\nn22\r\n$3\r\nn23\r\n$3\r\nn24\r\n");
    client.send("KEYS nope*\r\n").expect("*0\r\n");
    let scan = |client: &mut Client, options: &str| {
        let (mut cursor, mut names) = ("0".to_string(), Vec::new());
        loop {
            client
                .send(format!("SCAN {cursor} {options}\r\n"))
                .expect("*2\r\n");
            client.line();
            cursor = client.line();
            let count: usize = client.line()[1..].parse().unwrap();
            for _ in 0..count {
                client.line();
                names.push(client.line());
            }
            if cursor == "0" {
                return names;
            }
        }
    };
    assert_eq!(scan(&mut client, "").len(), 26);
    assert_eq!(scan(&mut client, "COUNT 1000").len(), 26);
    assert_eq!(scan(&mut client, "COUNT 7 MATCH n1*").len(), 10);
    assert_eq!(scan(&mut client, "TYPE string COUNT 13").len(), 26);
    assert_eq!(scan(&mut client, "TYPE hash").len(), 0);
}

#[test]
fn keys_beyond_the_limit_are_refused_with_the_way_out() {
    let server = Server::with(|config| config.resp_max_keys = 2);
    let mut client = server.resp();
    client
        .send("INCR a\r\nINCR b\r\nINCR c\r\n")
        .expect(":1\r\n:1\r\n:1\r\n");
    client
        .send("KEYS *\r\n")
        .expect("-ERR mint: more than 2 names match (read them page by page (SCAN))\r\n");
    client.send("KEYS a\r\n").expect("*1\r\n$1\r\na\r\n");
}

#[test]
fn tokens_are_needed_where_they_are_configured() {
    let server = Server::with(|config| {
        config.tokens = vec![
            token("web", "allocate-secret", &[Right::Allocate]),
            token("ops", "admin-secret", &[Right::Allocate, Right::Admin]),
        ];
    });
    let no_auth = "-NOAUTH Authentication required.\r\n";
    let wrong = "-WRONGPASS invalid username-password pair or user is disabled.\r\n";
    let mut client = server.resp();
    for request in ["PING", "INCR k", "GET k", "COMMAND COUNT", "CLIENT ID", "INFO"] {
        client.send(format!("{request}\r\n")).expect(no_auth);
    }
    // A run of identical requests gets an answer for each.
    client
        .send("INCR k\r\nINCR k\r\nINCR k\r\n")
        .expect(&no_auth.repeat(3));
    client
        .send("HELLO 3\r\n")
        .expect("-NOAUTH HELLO must be called with the client already authenticated");
    client.line();
    client.send("AUTH nonsense\r\n").expect(wrong);
    client.send("HELLO 3 AUTH u nonsense\r\n").expect(wrong);
    client.send("AUTH allocate-secret\r\n").expect("+OK\r\n");
    client.send("INCR k\r\n").expect(":1\r\n");
    client
        .send("SET k 10\r\n")
        .expect("-NOPERM this user has no permissions to run the 'set' command\r\n");
    client
        .send("DEL k\r\n")
        .expect("-NOPERM this user has no permissions to run the 'del' command\r\n");
    client
        .send("AUTH anybody admin-secret\r\nSET k 10\r\n")
        .expect("+OK\r\n+OK\r\n");
    client
        .send("RESET\r\nINCR k\r\n")
        .expect("+RESET\r\n")
        .expect(no_auth);
    let mut client = server.resp();
    client
        .send("HELLO 3 AUTH default admin-secret\r\n")
        .expect("%7\r\n");
}

/// A page of any web site could take, move and drop numbers: the body of its POST was run line by line.
// claim: P72
#[test]
fn a_web_page_ends_its_connection_before_anything_is_run() {
    let server = Server::start();
    let mut client = server.resp();
    client.send("SET orders 41\r\n").expect("+OK\r\n");
    let address = server.address("resp");
    let headers = format!(
        "Host: {address}\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0\r\n\
         Accept: */*\r\nContent-Type: text/plain;charset=UTF-8\r\nContent-Length: 60\r\nConnection: keep-alive\r\n\r\n"
    );
    let body = "INCR orders\r\nSET orders 9000000000000000000\r\nDEL orders\r\n";
    let first_lines = [
        "POST / HTTP/1.1\r\n",
        "post /\r\n",
        "GET / HTTP/1.1\r\n",
        "PUT /x HTTP/1.1\r\n",
        "OPTIONS * HTTP/1.1\r\n",
        "DELETE /x\r\n",
        "get http://127.0.0.1/ HTTP/1.1\r\n",
        "PATCH /\r\n",
        // Whatever came before: a page cannot leave `Host` out.
        "BREW pot\r\n",
        "*1\r\n$5\r\nHost:\r\n",
        "*2\r\n$4\r\nPoSt\r\n$1\r\n/\r\n",
    ];
    for first in first_lines {
        let mut page = server.resp();
        page.try_send(format!("{first}{headers}{body}"));
        let said = page.read_to_end();
        // At most that the first line is no command.
        assert!(
            said.lines().all(|line| line.starts_with("-ERR")),
            "{first:?}: {said:?}"
        );
        assert!(said.lines().count() <= 1, "{first:?}: {said:?}");
    }
    // The name and the ticket in the beginning of TLS may be a page's choice: an alert, and nothing is run.
    let mut page = server.resp();
    page.try_send(format!("\x16\x03\x01\r\n{headers}{body}"));
    assert!(!page.read_to_end().contains('-'));
    assert_eq!(refused(&server, "protocol_error"), 1);
    client.send("GET orders\r\n").expect("$2\r\n41\r\n");
    assert_eq!(refused(&server, "cross_origin"), first_lines.len() as u64);
    // Clients of Redis send arrays, whatever their keys look like.
    client
        .send("*2\r\n$3\r\nGET\r\n$6\r\n/order\r\n")
        .expect("$-1\r\n");
}

#[test]
fn before_authentication_limits_are_tighter() {
    let server = Server::with(|config| config.tokens = vec![token("web", "s", &[Right::Allocate])]);
    for (request, answer) in [
        (
            "*9\r\n",
            "-ERR Protocol error: unauthenticated multibulk length\r\n",
        ),
        (
            "*1\r\n$513\r\n",
            "-ERR Protocol error: unauthenticated bulk length\r\n",
        ),
    ] {
        // The same bytes are the beginning of a request afterwards.
        let mut client = server.resp();
        client.send(request);
        client.expect_end(answer);
        let mut client = server.resp();
        client
            .send("AUTH s\r\n")
            .expect("+OK\r\n")
            .send(request)
            .finish_sending();
        client.expect_end("");
    }
}

#[test]
fn connections_beyond_the_limit_are_told_so() {
    let server = Server::with(|config| config.max_connections = 2);
    let (mut first, mut second) = (server.resp(), server.resp());
    first.send("PING\r\n").expect("+PONG\r\n");
    second.send("PING\r\n").expect("+PONG\r\n");
    server.resp().expect_end("-ERR max number of clients reached\r\n");
    drop(second);
    // The place is free once the server has seen the end of the second.
    loop {
        let mut third = server.resp();
        if third.try_send("PING\r\n") && third.read(5) == b"+PONG" {
            break;
        }
    }
}

#[test]
fn connections_that_wait_too_long_are_closed() {
    // Not so short that a busy machine takes as long for a request.
    let short = Duration::from_secs(3);
    let server = Server::with(|config| {
        config.resp_first_byte_timeout = Off(Some(short));
        config.resp_request_timeout = short;
        config.resp_idle_timeout = Off(Some(short));
    });
    let mut silent = server.resp();
    let mut half = server.resp();
    half.send("PING\r\n*2\r\n$4\r\nINCR");
    let mut idle = server.resp();
    idle.send("PING\r\n");
    silent.expect_end("");
    half.expect_end("+PONG\r\n");
    idle.expect_end("+PONG\r\n");
    // A byte now and then does not keep half a request alive.
    let mut dribble = server.resp();
    dribble.send("*2\r\n$4\r\nINCR\r\n$3000\r\n");
    while !dribble.is_closed_after(Duration::from_millis(20)) {
        dribble.try_send("x");
    }
    assert!(refused(&server, "idle_timeout") >= 2);
    assert!(refused(&server, "request_timeout") >= 2);
}

/// A counter of refusals, as /metrics tells it.
fn refused(server: &Server, code: &str) -> u64 {
    let text = server.http().ask("GET", "/metrics").text();
    let sample = format!("mint_refused_total{{code=\"{code}\"}} ");
    text.lines()
        .find_map(|line| line.strip_prefix(&sample))
        .unwrap()
        .parse()
        .unwrap()
}

#[test]
fn a_client_that_does_not_read_is_cut_off_and_costs_bounded_memory() {
    let server = Server::with(|config| {
        config.write_timeout = Duration::from_millis(250);
        config.resp_max_output = Bytes(64 * 1024);
    });
    let mut client = server.resp();
    // Far more answers than socket buffers hold; the server stops reading long before, and then gives up.
    let request = "MINT.ID uuid7 COUNT 10000\r\n".repeat(1000);
    assert!(
        (0..10_000).any(|_| !client.try_send(&request)),
        "the server read everything"
    );
    assert_eq!(refused(&server, "slow_reader"), 1);
}

/// 1.2 MiB were held for each client that did not read, however many there were.
#[test]
fn answers_that_nobody_reads_have_a_limit_in_all() {
    let max = 1 << 20;
    let server = Server::with(|config| {
        config.max_unread = Bytes(max);
        config.write_timeout = Duration::from_secs(600);
    });
    let mut clients = [(); 24].map(|()| Client::with_small_buffer(server.address("resp")));
    for (at, client) in clients.iter_mut().enumerate() {
        let count = 10_000 - 300 * at;
        client.send(format!("MINT.ID uuid7 COUNT {count}\r\n").repeat(100));
    }
    // Of each a part of an answer is held, which has 130,000 to 430,000 bytes: another part of each.
    while refused(&server, "slow_reader") == 0 {}
    let unread = |server: &Server| {
        let text = server.http().ask("GET", "/metrics").text();
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix("mint_unread_bytes "));
        line.unwrap().parse::<usize>().unwrap()
    };
    while unread(&server) > max {}
    assert!(unread(&server) > 0);
}

#[test]
fn refusals_are_counted_by_code() {
    let server = Server::start();
    let mut client = server.resp();
    client.send("NOPE\r\nINCR\r\nINCR \"\\t\"\r\n");
    (0..3).for_each(|_| drop(client.line()));
    for code in ["unknown_command", "invalid_argument", "invalid_name"] {
        assert_eq!(refused(&server, code), 1, "{code}");
    }
}

#[test]
fn a_gentle_stop_answers_what_was_read_and_closes() {
    let server = Server::start();
    let (mut busy, mut idle) = (server.resp(), server.resp());
    idle.send("PING\r\n").expect("+PONG\r\n");
    busy.send("INCR k\r\n".repeat(5000)).expect(":1\r\n");
    server.stop(Stop::Gently);
    idle.expect_end("");
    let rest = busy.read_to_end();
    let numbers: Vec<i64> = rest.lines().map(|line| line[1..].parse().unwrap()).collect();
    assert!(numbers.iter().copied().eq(2..2 + numbers.len() as i64));
    let address = server.address("resp");
    assert_eq!(server.end(), Ok(()));
    assert!(std::net::TcpStream::connect(address).is_err());
}

#[test]
fn a_stop_does_not_wait_for_ever_and_a_second_one_not_at_all() {
    for second in [false, true] {
        let server = Server::with(|config| {
            config.shutdown_timeout = if second {
                Duration::from_secs(600)
            } else {
                Duration::from_millis(50)
            };
            config.write_timeout = Duration::from_secs(600);
        });
        let mut stuck = server.resp();
        let request = "MINT.ID uuid7 COUNT 10000\r\n".repeat(100);
        stuck.send(&request).expect("*10000\r\n");
        server.stop(Stop::Gently);
        if second {
            server.stop(Stop::Now);
        }
        // Ends although the client never reads.
        let _ = server.end();
    }
}

/// As over HTTP: bytes that are unread when a connection is closed would take undelivered replies with them.
#[test]
fn replies_before_the_end_arrive_whole_whatever_the_client_still_sends() {
    let server = Server::start();
    let ids = 10_000;
    // Each is `$36`, the id and two ends of a line.
    let bytes = ids * 43;
    for (last, reply) in [
        ("QUIT\r\n", "+OK\r\n"),
        // No request, after which nothing can be trusted to begin one.
        ("*1\r\nx\r\n", "-ERR Protocol error: "),
    ] {
        let mut in_time = 0;
        while in_time < 20 {
            let mut client = Client::with_small_buffer(server.address("resp"));
            let began = Instant::now();
            client.send(format!("MINT.ID uuid7 COUNT {ids}\r\n{last}"));
            client.expect(&format!("*{ids}\r\n"));
            client.send("PING\r\n");
            // It waits for a second; whoever was kept from running for as long is no witness.
            if began.elapsed() > Duration::from_millis(900) {
                continue;
            }
            in_time += 1;
            assert_eq!(client.read(bytes).len(), bytes);
            client.expect(reply);
        }
    }
}
