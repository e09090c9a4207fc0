//! Unix sockets: both faces, asked by stock clients.
#![allow(clippy::unwrap_used)]

use std::fs::{self, File};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use mintage_e2e::cluster::eventually;
use mintage_e2e::guard::ends_with_us;
use mintage_e2e::need;
use mintage_e2e::run;
use mintage_e2e::server::NoPanic;

/// A server that listens on `http.sock` and `resp.sock` of a folder.
struct Unix {
    child: Child,
    _no_panic: NoPanic,
}

impl Unix {
    fn start(folder: &Path) -> Unix {
        need::boots("mint serve");
        let log = folder.join("mint.log");
        let stderr = File::options().create(true).append(true).open(&log).unwrap();
        let no_panic = NoPanic::after_now_in(&log);
        let child = command(folder).stderr(stderr).spawn().unwrap();
        ends_with_us(&child, "KILL");
        eventually("both sockets", || {
            stands(folder, "http.sock") && stands(folder, "resp.sock")
        });
        Unix {
            child,
            _no_panic: no_panic,
        }
    }

    fn signal(&self, name: &str) {
        mintage_e2e::signal::signal(self.child.id(), name);
    }
}

impl Drop for Unix {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn command(folder: &Path) -> Command {
    let address = |name: &str| format!("unix:{}", folder.join(name).display());
    let mut command = run::command(["serve", "--store", "memory:", "--threads", "2", "--json"]);
    run::at_home(&mut command, folder)
        .args(["--http", &address("http.sock"), "--resp", &address("resp.sock")])
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    command
}

fn stands(folder: &Path, name: &str) -> bool {
    fs::symlink_metadata(folder.join(name)).is_ok_and(|found| found.file_type().is_socket())
}

#[track_caller]
fn said(command: &mut Command) -> String {
    let out = command.output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap().trim().to_string()
}

fn curl(folder: &Path, args: &[&str]) -> String {
    let mut curl = Command::new("curl");
    curl.args(["-q", "-sS", "--max-time", "30", "--unix-socket"]);
    said(curl.arg(folder.join("http.sock")).args(args))
}

fn redis(folder: &Path, args: &[&str]) -> String {
    let mut redis = Command::new("redis-cli");
    said(redis.arg("-s").arg(folder.join("resp.sock")).args(args))
}

#[test]
fn both_faces_answer_over_unix_sockets() {
    if !(need::curl() && need::redis()) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut server = Unix::start(folder);
    let next = ["-X", "POST", "http://localhost/v1/sequences/orders/next"];
    assert_eq!(curl(folder, &next), r#"{"ids":["1"]}"#);
    // hyper serves what has a body.
    let batch = ["-H", "content-type: application/json", "-d", r#"{"count": 2}"#];
    assert_eq!(
        curl(folder, &[&next[..], &batch].concat()),
        r#"{"ids":["2","3"]}"#
    );
    assert_eq!(redis(folder, &["INCR", "orders"]), "4");
    let socket = folder.join("resp.sock").display().to_string();
    let client = redis(folder, &["CLIENT", "INFO"]);
    assert!(
        client.contains(&format!("addr={socket}:0 laddr={socket}:0")),
        "{client}"
    );
    // No page reaches a unix socket, so that nobody is asked for a name.
    assert!(
        !curl(
            folder,
            &["-H", "accept-language: en", "http://evil.example/livez"]
        )
        .contains("wrong_host")
    );
    let metrics = curl(folder, &["http://localhost/metrics"]);
    assert!(
        metrics.contains("mint_requests_total{face=\"http\"} "),
        "{metrics}"
    );
    assert!(
        metrics.contains("mint_requests_total{face=\"resp\"} "),
        "{metrics}"
    );

    // Another one must not take the sockets of one that lives.
    let refused = command(folder).output().unwrap();
    assert_eq!(refused.status.code(), Some(3));
    let why = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(why.contains("another program listens on this socket"), "{why}");
    assert_eq!(redis(folder, &["INCR", "orders"]), "5");

    // One that was killed leaves its sockets behind, and the next one replaces them.
    server.signal("KILL");
    server.child.wait().unwrap();
    assert!(stands(folder, "http.sock"));
    let mut server = Unix::start(folder);
    eventually("the new one answers", || {
        let mut ping = Command::new("redis-cli");
        let ping = ping.arg("-s").arg(folder.join("resp.sock")).arg("PING").output();
        ping.unwrap().stdout == b"PONG\n"
    });
    server.signal("TERM");
    assert_eq!(server.child.wait().unwrap().code(), Some(0));
    assert!(!stands(folder, "http.sock") && !stands(folder, "resp.sock"));
}

#[test]
fn a_path_that_is_too_long_is_refused_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let long = format!("unix:/{}", "x".repeat(107));
    let refused = run::command(["serve", "--store", "memory:", "--http", &long])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert_eq!(refused.status.code(), Some(2));
    let why = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        why.contains("--http") && why.contains("the path has 108 bytes"),
        "{why}"
    );
}
