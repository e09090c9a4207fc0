//! The server's answers, as a cache in front of it sees them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A server of its own, gone at the end.
pub struct Running {
    child: Child,
    /// Its HTTP address.
    pub http: String,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts `mint serve` on a fresh folder and free ports.
///
/// # Errors
/// It does not start.
pub fn serve(mint: &Path, folder: &Path) -> Result<Running, String> {
    let mut child = Command::new(mint)
        .args([
            "--json",
            "serve",
            "--http",
            "127.0.0.1:0",
            "--resp",
            "127.0.0.1:0",
        ])
        .env("HOME", folder)
        .env("XDG_DATA_HOME", folder)
        .env_remove("XDG_STATE_HOME")
        .env_remove("STATE_DIRECTORY")
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|e| format!("cannot start {}: {e}", mint.display()))?;
    let output = child.stdout.take().expect("it is piped");
    let mut line = String::new();
    let read = BufReader::new(output).read_line(&mut line);
    let ready: serde_json::Value = read
        .ok()
        .and_then(|_| serde_json::from_str(&line).ok())
        .unwrap_or_default();
    match ready["http"].as_str() {
        Some(http) => Ok(Running {
            http: http.to_string(),
            child,
        }),
        None => {
            let _ = child.kill();
            let _ = child.wait();
            Err(format!("the server did not say where it listens: {line:?}"))
        }
    }
}

/// Asks for ids in every native way and looks at what the answers say about keeping them; how many were asked for.
///
/// # Errors
/// One may be kept.
pub fn run(mint: &Path) -> Result<u64, String> {
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let server = serve(mint, folder.path())?;
    let requests = [
        "POST /v1/sequences/orders/next HTTP/1.1",
        "POST /v1/ids/uuid7 HTTP/1.1",
        "POST /v1/ids/snowflake HTTP/1.1",
        "GET /healthz HTTP/1.1",
        "GET /no-such-route HTTP/1.1",
    ];
    for request in requests {
        let mut stream = TcpStream::connect(&server.http).map_err(|e| e.to_string())?;
        let text = format!(
            "{request}\r\nHost: {}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            server.http
        );
        stream.write_all(text.as_bytes()).map_err(|e| e.to_string())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).map_err(|e| e.to_string())?;
        let head = answer.split("\r\n\r\n").next().unwrap_or_default().to_lowercase();
        if !head.contains("cache-control: no-store") {
            return Err(format!("the answer to {request:?} may be kept: {head}"));
        }
    }
    Ok(requests.len() as u64)
}
