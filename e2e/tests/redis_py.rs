//! Stock redis-py with hiredis, in RESP2 and RESP3, with pipelines and threads.
//!
//! Covers: crates/server/src/faces/resp
#![allow(clippy::unwrap_used)]

use std::process::Command;

use mintage_e2e::{binary, need, run, server::Start};

#[test]
fn stock_redis_py_with_hiredis_works_as_with_redis() {
    let Some(python) = need::redis_py() else { return };
    let folder = tempfile::tempdir().unwrap();
    let server = Start::in_folder(folder.path()).ready();
    let mut command = Command::new(python);
    command
        .arg(binary::root().join("e2e/clients/redis_client.py"))
        .arg(server.resp.port().to_string());
    let said: run::Said = command.output().unwrap().into();
    let out = said.ok();
    assert!(out.contains(" ok"), "{out}");
    need::say(out.trim_end());
}
