//! What a connection took, over a kill of its server and beside another one on the same store.

use mintage_e2e::engine::redis::Redis;
use mintage_e2e::resp::{Reply, Resp};
use mintage_e2e::run;
use mintage_e2e::server::{Start, two_servers};
use mintage_e2e::store_suite::Engine;
use mintage_testing::{Distinct, invariant};

#[track_caller]
fn number(connection: &mut Resp, words: &[&str]) -> i64 {
    let reply = connection.ask(words).unwrap();
    reply.int().unwrap_or_else(|| panic!("{words:?}: {reply:?}"))
}

#[track_caller]
fn refused(connection: &mut Resp, words: &[&str]) {
    let reply = connection.ask(words).unwrap();
    let Reply::Error(text) = &reply else {
        panic!("{words:?}: {reply:?}");
    };
    assert!(text.contains("is not yet defined in this session"), "{text}");
}

#[test]
fn a_session_ends_with_its_server_and_the_next_one_begins_anew() {
    let folder = tempfile::tempdir().unwrap();
    let start = Start::in_folder(folder.path());
    let mut highest = 0;
    for _ in 0..3 {
        let server = start.ready();
        let mut connection = server.redis();
        refused(&mut connection, &["MINT.CURRVAL", "orders"]);
        refused(&mut connection, &["MINT.LASTVAL"]);
        let order = number(&mut connection, &["INCR", "orders"]);
        invariant!(order > highest, "{order} after {highest}");
        // The lines of an order name it by what this connection took, whatever others take meanwhile.
        let mut other = server.redis();
        let line = number(&mut connection, &["INCRBY", "lines", "3"]);
        let others = number(&mut other, &["INCR", "orders"]);
        assert_eq!(number(&mut connection, &["MINT.CURRVAL", "orders"]), order);
        assert_eq!(number(&mut connection, &["MINT.LASTVAL"]), line);
        assert_eq!(number(&mut other, &["MINT.LASTVAL"]), others);
        highest = order.max(others);
        server.kill();
    }
}

#[test]
fn sessions_of_two_servers_know_their_own_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let Some(engine) = Redis::run() else {
        return;
    };
    let url = engine.url(engine.address());
    run::patient_mint(folder.path(), ["init", "--store", &url]).ok();
    let servers = two_servers(folder.path(), &url);
    let mut sessions: Vec<Resp> = servers.iter().map(|server| server.redis()).collect();
    let mut seen = Distinct::of("numbers");
    for _ in 0..50 {
        let took: Vec<i64> = sessions
            .iter_mut()
            .map(|session| number(session, &["INCR", "orders"]))
            .collect();
        for (session, took) in sessions.iter_mut().zip(took) {
            assert_eq!(number(session, &["MINT.CURRVAL", "orders"]), took);
            seen.add(took);
        }
    }
}
