//! `MINT.CURRVAL` and `MINT.LASTVAL`: what a connection of the Redis protocol took, byte by byte.

use mintage_server::auth::Right;

use crate::common::{Server, check, token};

/// What is not defined yet.
fn undefined(what: &str) -> String {
    format!(
        "-ERR mint: {what} is not yet defined in this session (take a number on this connection first, with INCR, INCRBY \
         or MINT.NEXT)\r\n"
    )
}

#[test]
fn each_connection_knows_the_last_number_it_took_itself() {
    let server = Server::start();
    let (mut one, mut other) = (server.resp(), server.resp());
    let (no_a, no_b) = (
        undefined("currval of sequence \"a\""),
        undefined("currval of sequence \"b\""),
    );
    check(
        &mut one,
        &[
            ("MINT.CURRVAL a", &no_a),
            ("MINT.LASTVAL", &undefined("lastval")),
            ("INCR a", ":1\r\n"),
            ("MINT.CURRVAL a", ":1\r\n"),
            ("MINT.LASTVAL", ":1\r\n"),
            ("INCRBY a 10", ":11\r\n"),
            ("mint.currval a", ":11\r\n"),
            ("INCRBY b 5", ":5\r\n"),
            ("MINT.NEXT a", ":12\r\n"),
            ("MINT.CURRVAL a", ":12\r\n"),
            ("MINT.CURRVAL b", ":5\r\n"),
            ("MINT.NEXT b COUNT 3", "*3\r\n:6\r\n:7\r\n:8\r\n"),
            ("MINT.CURRVAL b", ":8\r\n"),
            ("MINT.LASTVAL", ":8\r\n"),
        ],
    );
    check(
        &mut other,
        &[
            ("MINT.CURRVAL a", &no_a),
            ("INCR a", ":13\r\n"),
            ("MINT.CURRVAL a", ":13\r\n"),
            ("MINT.CURRVAL b", &no_b),
        ],
    );
    check(
        &mut one,
        &[("MINT.CURRVAL a", ":12\r\n"), ("GET a", "$2\r\n13\r\n")],
    );
}

#[test]
fn what_takes_no_number_changes_nothing() {
    let server = Server::start();
    let down = r#"{"increment": -2, "max": 9, "min": 5}"#;
    server.http().ask_with("PUT", "/v1/sequences/down", &[], down);
    check(
        &mut server.resp(),
        &[
            ("INCR down", ":9\r\n"),
            ("INCR down", ":7\r\n"),
            ("INCR down", ":5\r\n"),
            ("INCR down", "-ERR increment or decrement would overflow\r\n"),
            ("MINT.CURRVAL down", ":5\r\n"),
            ("INCR k", ":1\r\n"),
            ("SET k 100", "+OK\r\n"),
            ("INCRBY k 0", ":100\r\n"),
            ("GET k", "$3\r\n100\r\n"),
            ("MINT.CURRVAL k", ":1\r\n"),
            ("DEL k", ":1\r\n"),
            ("MINT.CURRVAL k", ":1\r\n"),
            ("SET other 5", "+OK\r\n"),
            ("MINT.CURRVAL other", &undefined("currval of sequence \"other\"")),
            ("MINT.LASTVAL", ":1\r\n"),
        ],
    );
}

#[test]
fn transactions_keep_it_and_reset_forgets_it() {
    let server = Server::start();
    check(
        &mut server.resp(),
        &[
            ("MULTI", "+OK\r\n"),
            ("INCR a", "+QUEUED\r\n"),
            ("MINT.CURRVAL a", "+QUEUED\r\n"),
            ("MINT.NEXT a COUNT 2", "+QUEUED\r\n"),
            ("MINT.LASTVAL", "+QUEUED\r\n"),
            ("EXEC", "*4\r\n:1\r\n:1\r\n*2\r\n:2\r\n:3\r\n:3\r\n"),
            ("MULTI", "+OK\r\n"),
            ("INCR a", "+QUEUED\r\n"),
            ("DISCARD", "+OK\r\n"),
            ("MINT.CURRVAL a", ":3\r\n"),
            ("RESET", "+RESET\r\n"),
            ("MINT.CURRVAL a", &undefined("currval of sequence \"a\"")),
            ("MINT.LASTVAL", &undefined("lastval")),
        ],
    );
}

#[test]
fn a_pipeline_of_many_is_known_by_its_last() {
    let server = Server::start();
    let mut client = server.resp();
    client.send("INCR a\r\n".repeat(20_000) + "MINT.CURRVAL a\r\n");
    for n in 1..=20_000 {
        client.expect(&format!(":{n}\r\n"));
    }
    client.expect(":20000\r\n");
}

#[test]
fn a_connection_remembers_as_many_sequences_as_are_configured() {
    let server = Server::with(|config| config.resp_max_currval = 2);
    let forgot = "-ERR mint: currval of sequence \"b\" is not yet defined in this session (this connection took numbers \
                  of more than 2 sequences and remembers those it used last: server.resp.max_currval)\r\n";
    check(
        &mut server.resp(),
        &[
            ("INCR a", ":1\r\n"),
            ("INCR b", ":1\r\n"),
            ("INCR a", ":2\r\n"),
            ("INCR c", ":1\r\n"),
            ("MINT.CURRVAL a", ":2\r\n"),
            ("MINT.CURRVAL b", forgot),
            ("MINT.CURRVAL c", ":1\r\n"),
        ],
    );
    let server = Server::with(|config| config.resp_max_currval = 0);
    let off = "-ERR mint: lastval is not yet defined in this session (server.resp.max_currval is 0: no connection \
               remembers what it took)\r\n";
    check(&mut server.resp(), &[("INCR a", ":1\r\n"), ("MINT.LASTVAL", off)]);
}

#[test]
fn it_needs_a_name_and_the_right_to_read() {
    let server = Server::with(|config| {
        config.tokens = vec![
            token("look", "see", &[Right::Read]),
            token("take", "get", &[Right::Allocate]),
            token("make", "put", &[Right::Admin]),
        ];
    });
    check(
        &mut server.resp(),
        &[
            ("MINT.LASTVAL", "-NOAUTH Authentication required.\r\n"),
            ("AUTH see", "+OK\r\n"),
            ("MINT.CURRVAL a", &undefined("currval of sequence \"a\"")),
            ("AUTH get", "+OK\r\n"),
            ("INCR a", ":1\r\n"),
            ("MINT.CURRVAL a", ":1\r\n"),
            (
                "MINT.CURRVAL",
                "-ERR wrong number of arguments for 'mint.currval' command\r\n",
            ),
            (
                "MINT.LASTVAL a",
                "-ERR wrong number of arguments for 'mint.lastval' command\r\n",
            ),
            ("AUTH put", "+OK\r\n"),
            (
                "MINT.LASTVAL",
                "-NOPERM this user has no permissions to run the 'mint.lastval' command\r\n",
            ),
        ],
    );
    let mut client = server.resp();
    client
        .send("AUTH see\r\nMINT.CURRVAL \"\"\r\n")
        .expect("+OK\r\n-ERR mint: ");
}
