//! Stock ioredis and node-redis: transactions, counters that begin at 0, and names of every kind.
#![allow(clippy::unwrap_used)]

use std::process::Command;

use mintage_e2e::{binary, need, run, server::Start};

#[test]
fn stock_ioredis_and_node_redis_work_as_with_redis() {
    let Some(modules) = need::node() else { return };
    let folder = tempfile::tempdir().unwrap();
    let server = Start::in_folder(folder.path()).ready();
    let mut command = Command::new("node");
    command
        .env("NODE_PATH", modules)
        .arg(binary::root().join("e2e/clients/node_clients.cjs"))
        .arg(server.resp.port().to_string());
    let said: run::Said = command.output().unwrap().into();
    let out = said.ok();
    assert!(out.contains(" ok"), "{out}");
    need::say(out.trim_end());
}
