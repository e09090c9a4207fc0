//! One HTTP exchange over a raw socket.

use std::io::{self, BufRead, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// What came back.
#[derive(Debug)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// The header lines, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Answer {
    /// A header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(n, _)| n == name)
            .map(|(_, v)| v.as_str())
    }

    /// The body as JSON.
    ///
    /// # Panics
    /// When it is none.
    #[track_caller]
    pub fn json(&self) -> Value {
        match serde_json::from_slice(&self.body) {
            Ok(value) => value,
            Err(e) => panic!("not JSON ({e}): {self:?}"),
        }
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// Sends a request on a connection of its own and reads the answer to its end.
///
/// # Errors
/// The system's, and an answer that is none.
pub fn exchange(to: SocketAddr, method: &str, path: &str, body: &str) -> io::Result<Answer> {
    let kind = if body.is_empty() {
        ""
    } else {
        "content-type: application/json\r\n"
    };
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: {to}\r\nconnection: close\r\n{kind}content-length: {}\r\n\r\n{body}",
        body.len()
    );
    raw(to, request.as_bytes())
}

/// Sends bytes as they are and reads until the server closes.
///
/// # Errors
/// The system's, and an answer that is none.
pub fn raw(to: SocketAddr, request: &[u8]) -> io::Result<Answer> {
    let mut stream = TcpStream::connect(to)?;
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    stream.write_all(request)?;
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes)?;
    parse(&bytes).ok_or_else(|| io::Error::other(format!("no answer: {:?}", String::from_utf8_lossy(&bytes))))
}

/// Reads one answer of a connection that may be kept: as long as it says, else to the end.
///
/// # Errors
/// The system's, an end of the connection, and an answer that is none.
pub fn read(from: &mut impl BufRead) -> io::Result<Answer> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if from.read_until(b'\n', &mut head)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    let mut answer =
        parse(&head).ok_or_else(|| io::Error::other(String::from_utf8_lossy(&head).into_owned()))?;
    match answer.header("content-length").map(str::parse) {
        Some(length) => {
            answer.body.resize(length.map_err(io::Error::other)?, 0);
            from.read_exact(&mut answer.body)?;
        }
        None => _ = from.read_to_end(&mut answer.body)?,
    }
    Ok(answer)
}

/// Takes an answer apart; `None` when the bytes are none.
pub fn parse(bytes: &[u8]) -> Option<Answer> {
    let end = bytes.windows(4).position(|w| w == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&bytes[..end]).ok()?;
    let mut lines = head.split("\r\n");
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_string()))
        .collect();
    let rest = &bytes[end + 4..];
    let chunked = headers
        .iter()
        .any(|(n, v)| n == "transfer-encoding" && v == "chunked");
    let body = if chunked { unchunk(rest)? } else { rest.to_vec() };
    Some(Answer {
        status,
        headers,
        body,
    })
}

fn unchunk(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let end = rest.windows(2).position(|w| w == b"\r\n")?;
        let len = usize::from_str_radix(std::str::from_utf8(&rest[..end]).ok()?.trim(), 16).ok()?;
        if len == 0 {
            return Some(body);
        }
        body.extend_from_slice(rest.get(end + 2..end + 2 + len)?);
        rest = rest.get(end + 2 + len + 2..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufReader;
    use std::net::TcpListener;
    use std::process::Command;

    /// A child that ends while the thread that started it starts another one has its signal go to any thread.
    #[test]
    fn an_answer_is_read_whole_while_children_come_and_go() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port can be had");
        let mut stream = TcpStream::connect(listener.local_addr().expect("bound")).expect("listens");
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .expect("a limit");
        let (mut server, _) = listener.accept().expect("connected");
        let reading = std::thread::spawn(move || read(&mut BufReader::new(&mut stream)));
        let mut children = Vec::new();
        for byte in b"HTTP/1.1 200 OK\r\ncontent-length: 64\r\n\r\n"
            .iter()
            .chain(&[b'x'; 64])
        {
            children.extend((0..8).map(|_| Command::new("true").spawn().expect("a child")));
            server.write_all(&[*byte]).expect("it is read");
        }
        for mut child in children {
            child.wait().expect("started");
        }
        let answer = reading.join().expect("no panic").expect("an answer");
        assert_eq!((answer.status, answer.text()), (200, "x".repeat(64)));
    }
}
