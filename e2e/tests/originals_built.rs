//! Originals that somebody has built, and the faces beside them: both are asked every request of the table that a server can
//! be asked (`cargo xtask originals FOLDER`).
#![allow(clippy::unwrap_used)]

use std::net::{SocketAddr, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use mintage_e2e::engine::port;
use mintage_e2e::guard::ends_with_us;
use mintage_e2e::resp::{Reply, Resp};
use mintage_e2e::server::{Server, Start};
use mintage_e2e::{http, need};
use mintage_testing::originals::{HttpAnswer, Row, fits, rows};

/// Originals that are servers; the others of the table are libraries over a database of their own.
const SERVERS: [&str; 4] = ["leaf", "tinyid", "cosid", "idgo"];
/// How long one may take until it accepts connections.
const START_MAX: Duration = Duration::from_secs(180);

/// An original that runs, with what it started.
struct Original(Child);

impl Original {
    /// Starts the program, which serves on the port that it is told.
    fn start(program: &Path, at: SocketAddr) -> Original {
        let mut command = Command::new(program);
        command.env("PORT", at.port().to_string()).stdin(Stdio::null());
        let child = command.process_group(0).spawn().unwrap();
        ends_with_us(&child, "KILL");
        let mut original = Original(child);
        let began = Instant::now();
        while TcpStream::connect(at).is_err() {
            let ended = original.0.try_wait().unwrap();
            assert!(ended.is_none(), "{} ended: {ended:?}", program.display());
            assert!(
                began.elapsed() < START_MAX,
                "{} does not listen on {at}",
                program.display()
            );
            std::thread::sleep(Duration::from_millis(200));
        }
        original
    }
}

impl Drop for Original {
    fn drop(&mut self) {
        let group = format!("-{}", self.0.id());
        Command::new("kill").args(["-KILL", "--", &group]).status().ok();
        self.0.wait().ok();
    }
}

/// The faces, with the keys that the originals are asked for.
fn faces(folder: &Path) -> Server {
    let digest = "[faces.tinyid]\nsteps = { even = 100, neg = 10 }\n\
                  tokens = [{sha256 = \"1a7674eb4ee78df7e1ac439a93c3fa8e3c945784d4dec9fd8e3011738b2f1d62\", biz = [\"*\"]}]\n\
                  [faces.leaf]\nprefix = \"tinyid:\"\n";
    std::fs::write(folder.join("mint.toml"), digest).unwrap();
    let flags = SERVERS.map(|face| format!("--face={face}=127.0.0.1:0"));
    let server = Start::in_folder(folder).args(flags).ready();
    for (name, definition) in [
        ("orders", "{}"),
        ("even", r#"{"start":"2","increment":"2"}"#),
        ("neg", r#"{"start":"-39","min":"-100"}"#),
    ] {
        let made = server.http("PUT", &format!("/v1/sequences/tinyid:{name}"), definition);
        assert_eq!(made.status, 201, "{}", made.text());
    }
    server
}

/// Asks over HTTP: whether the answer is the expected one, and the answer.
fn over_http(at: SocketAddr, row: &Row<'_>, expected: &str) -> Result<(), String> {
    let header = row
        .header
        .map(|header| format!("{header}\r\n"))
        .unwrap_or_default();
    let host = if header.starts_with("host:") {
        ""
    } else {
        "host: localhost\r\n"
    };
    let request = format!(
        "{} HTTP/1.1\r\n{host}{header}connection: close\r\ncontent-length: 0\r\n\r\n",
        row.request
    );
    let answer = http::raw(at, request.as_bytes()).map_err(|why| why.to_string())?;
    let wanted = HttpAnswer::of(expected);
    let content = wanted.content.is_none_or(|(media, body)| {
        answer.header("content-type") == Some(media) && fits(&answer.text(), body)
    });
    let media = answer.header("content-type").unwrap_or_default();
    match answer.status == wanted.status && content {
        true => Ok(()),
        false => Err(format!("{} {media} {}", answer.status, answer.text())),
    }
}

/// Asks over the Redis protocol.
fn over_redis(at: SocketAddr, row: &Row<'_>, expected: &str) -> Result<(), String> {
    let request = row.request.replace("\\r\\n", "\r\n");
    let mut connection = Resp::connect(at).map_err(|why| why.to_string())?;
    let said = connection
        .send(format!("{request}\r\n").as_bytes())
        .and_then(|()| connection.reply())
        .map_or("closed".to_string(), |reply| shown(&reply));
    // The first of several is enough to tell what the original does.
    let first = expected.split("\" \"").next().unwrap_or(expected);
    match fits(&said, expected) || first.starts_with(&said) {
        true => Ok(()),
        false => Err(said),
    }
}

fn shown(reply: &Reply) -> String {
    match reply {
        Reply::Simple(text) => format!("+{text}"),
        Reply::Error(text) => format!("-{text}"),
        Reply::Int(number) => format!(":{number}"),
        Reply::Bulk(text) => format!("{:?}", String::from_utf8_lossy(text)),
        Reply::Null => "nil".into(),
        Reply::Array(parts) => format!("[{}]", parts.iter().map(shown).collect::<Vec<_>>().join(", ")),
        Reply::Other(text) => text.clone(),
    }
}

#[test]
#[ignore = "originals that somebody has built"]
fn originals_answer_as_the_table_says_and_so_do_the_faces() {
    let Some(built) = std::env::var_os("MINT_ORIGINALS").map(PathBuf::from) else {
        need::say("skipped: originals");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let faces = faces(folder.path());
    let mut others = Vec::new();
    for name in SERVERS {
        let program = built.join(name);
        if !program.exists() {
            need::say(&format!("skipped: {}", program.display()));
            continue;
        }
        let at = port::free();
        let _original = Original::start(&program, at);
        let face = faces.ready["faces"][name][0].as_str().unwrap().parse().unwrap();
        let mut asked = 0;
        for line in rows().filter(|line| Row::of(line).original == name) {
            // Each has numbers of its own.
            let line = line.replace("{N*16}", "…").replace("{N}", "…");
            let line = line
                .replace("{200}", &"n".repeat(200))
                .replace("{9000}", &"k".repeat(9000));
            let row = Row::of(&line);
            let ask = if name == "idgo" { over_redis } else { over_http };
            for (who, at, expected) in [
                ("the original", at, row.theirs),
                ("the face", face, row.expected()),
            ] {
                if let Err(said) = ask(at, &row, expected) {
                    others.push(format!(
                        "{name} {}: {who} says {said}\n  and not {expected}",
                        row.request
                    ));
                }
            }
            asked += 1;
        }
        need::say(&format!("{name}: {asked} requests"));
    }
    assert!(
        others.is_empty(),
        "{} answers are others:\n{}",
        others.len(),
        others.join("\n")
    );
}
