//! idgo's clients, unmodified: redis-py, ioredis, node-redis, php-redis, redis-benchmark.
#![allow(clippy::unwrap_used)]

use std::process::Command;

use mintage_e2e::engine::port;
use mintage_e2e::need;
use mintage_e2e::outside::Pair;
use mintage_e2e::server::Start;
use mintage_testing::invariant;

#[test]
fn redis_py_has_every_number_once() {
    let Some(python) = need::redis_py() else { return };
    let Some(mut pair) = Pair::run("idgo") else {
        return;
    };
    let mut client = pair.client(python, "idgo_client.py");
    let ids = pair.no_repeats(&mut client);
    let least = ids.iter().min();
    invariant!(least > Some(&100), "{least:?} after it was set to 100");
}

#[test]
#[ignore = "minutes: more clients"]
fn ioredis_and_node_redis_have_every_number_once() {
    let Some(modules) = need::node() else { return };
    let Some(mut pair) = Pair::run("idgo") else {
        return;
    };
    let mut command = pair.client("node", "idgo_client.js");
    pair.no_repeats(command.env("NODE_PATH", modules));
}

#[test]
#[ignore = "minutes: more clients"]
fn php_redis_has_every_number_once() {
    if !need::php_redis() {
        return;
    }
    let Some(mut pair) = Pair::run("idgo") else {
        return;
    };
    let mut client = pair.client("php", "idgo_client.php");
    pair.no_repeats(&mut client);
}

/// `redis-benchmark -t get` asks for a key that it never made.
#[test]
fn redis_benchmark_takes_numbers_by_get() {
    if !need::redis() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let at = port::free();
    let server = Start::in_folder(folder.path())
        .args(["--face", &format!("idgo={at}")])
        .ready();
    let cli = |words: &[&str]| {
        let mut command = Command::new("redis-cli");
        let out = command
            .args(["-p", &at.port().to_string()])
            .args(words)
            .output()
            .unwrap();
        String::from_utf8_lossy(&out.stdout).trim().to_string()
    };
    assert_eq!(cli(&["SET", "key:__rand_int__", "0"]), "OK");
    let bench = Command::new("redis-benchmark")
        .args([
            "-p",
            &at.port().to_string(),
            "-t",
            "get",
            "-n",
            "10000",
            "-P",
            "16",
            "-q",
        ])
        .output()
        .unwrap();
    assert!(bench.status.success(), "{bench:?}");
    assert_eq!(cli(&["GET", "key:__rand_int__"]), "10001");
    assert_eq!(cli(&["--raw", "DEL", "key:__rand_int__"]), "1");
    assert_eq!(cli(&["GET", "key:__rand_int__"]), "");
    assert_eq!(cli(&["SET", "key:__rand_int__", "5"]), "OK");
    assert_eq!(
        cli(&["GET", "key:__rand_int__"]),
        "10002",
        "above its old numbers"
    );
    assert_eq!(server.stop(), 0);
}
