//! Clients of every face that take numbers, byte by byte, with as many requests under way as one likes. What they are
//! answered is told as text, of the forms in [`crate::ways`]; what is refused begins with `-`.

// As MySQL's protocol has them.
#![allow(clippy::little_endian_bytes)]

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::h2;

/// How long a server may take for an answer: one that hangs fails the test instead of hanging it.
const PATIENCE: Duration = Duration::from_secs(60);

/// One connection to a face.
#[derive(Debug)]
pub struct Wire {
    speaks: Speaks,
    token: String,
    stream: TcpStream,
    read: Vec<u8>,
    /// How much of what was read is told already.
    told: usize,
    /// The next stream of HTTP/2.
    next: u32,
    /// Whether an answer of HTTP/1 with success could be kept by a cache.
    pub is_cacheable: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Speaks {
    Http,
    Grpc,
    Redis,
    Postgres,
    Mysql,
}

impl Wire {
    /// Connects to the face of this name, and logs in where that is usual.
    ///
    /// # Errors
    /// The server does not accept, or says something else than its protocol.
    pub fn connect(face: &str, at: SocketAddr) -> io::Result<Wire> {
        Wire::connect_as(face, at, "")
    }

    /// The same for the holder of a token.
    ///
    /// # Errors
    /// The same.
    pub fn connect_as(face: &str, at: SocketAddr, token: &str) -> io::Result<Wire> {
        let speaks = match face {
            "grpc" => Speaks::Grpc,
            "resp" | "idgo" => Speaks::Redis,
            "postgres" => Speaks::Postgres,
            "mysql" => Speaks::Mysql,
            _ => Speaks::Http,
        };
        let stream = TcpStream::connect(at)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let mut wire = Wire {
            speaks,
            token: token.to_string(),
            stream,
            read: Vec::new(),
            told: 0,
            next: 1,
            is_cacheable: false,
        };
        wire.greet()?;
        Ok(wire)
    }

    /// Sends all of these, then reads their answers.
    ///
    /// # Errors
    /// The connection has ended.
    pub fn ask(&mut self, requests: &[impl AsRef<str>]) -> io::Result<Vec<String>> {
        let mut sent = Vec::new();
        let first = self.next;
        for request in requests {
            self.put(request.as_ref(), &mut sent);
        }
        self.stream.write_all(&sent)?;
        if self.speaks == Speaks::Grpc {
            return self.grpc_answers(first, requests.len());
        }
        requests.iter().map(|_| self.answer()).collect()
    }

    fn greet(&mut self) -> io::Result<()> {
        match self.speaks {
            Speaks::Http => Ok(()),
            Speaks::Redis if self.token.is_empty() => Ok(()),
            Speaks::Redis => match &*self.ask(&[format!("AUTH {}", self.token)])?[0] {
                "+OK" => Ok(()),
                other => Err(io::Error::other(format!("login: {other}"))),
            },
            Speaks::Grpc => {
                let settings = h2::frame(h2::SETTINGS, 0, 0, b"");
                let room = h2::frame(h2::WINDOW_UPDATE, 0, 0, &0x3fff_0000u32.to_be_bytes());
                self.stream.write_all(&[h2::PREFACE, &settings, &room].concat())
            }
            Speaks::Postgres => {
                let body = b"\0\x03\0\0user\0web\0database\0shop\0\0";
                let length = (body.len() as u32 + 4).to_be_bytes();
                self.stream.write_all(&[&length[..], body].concat())?;
                if !self.token.is_empty() {
                    let length = (self.token.len() as u32 + 5).to_be_bytes();
                    let password = [b"p", &length[..], self.token.as_bytes(), b"\0"].concat();
                    self.stream.write_all(&password)?;
                }
                match self.postgres_answer()? {
                    refused if refused.starts_with('-') => Err(io::Error::other(refused)),
                    _ => Ok(()),
                }
            }
            Speaks::Mysql => self.greet_mysql(),
        }
    }

    /// As most clients log in to MySQL: a token is the password of the user `sql`, and what is shown is a digest of it.
    fn greet_mysql(&mut self) -> io::Result<()> {
        let greeting = self.packet()?;
        let version = greeting.iter().position(|byte| *byte == 0);
        let after = greeting.get(version.unwrap_or(greeting.len()) + 1..);
        let nonce = after.and_then(|after| Some([after.get(4..12)?, after.get(31..43)?].concat()));
        let nonce = nonce.ok_or_else(|| io::Error::other(format!("{}", greeting.escape_ascii())))?;
        let shown = self.mysql_digest(&nonce);
        let mut login = 0x3f_a20fu32.to_le_bytes().to_vec();
        login.extend([0, 0, 0, 1, 45]);
        login.extend([0; 23]);
        login.extend(b"sql\0");
        login.push(shown.len() as u8);
        login.extend(shown);
        login.extend(b"other\0caching_sha2_password\0\0");
        self.stream.write_all(&packet(1, &login))?;
        loop {
            match self.packet()?[..] {
                [0, ..] => return Ok(()),
                // The digest was enough.
                [1, 3] => {}
                // Once more, of another nonce.
                [0xfe, ref said @ ..] => {
                    let nonce = said.splitn(2, |byte| *byte == 0).nth(1).unwrap_or_default();
                    let mut shown = self.mysql_digest(nonce.strip_suffix(b"\0").unwrap_or(nonce));
                    if shown.is_empty() {
                        shown.push(0);
                    }
                    self.stream.write_all(&packet(3, &shown))?;
                }
                ref other => return Err(io::Error::other(format!("login: {}", other.escape_ascii()))),
            }
        }
    }

    /// What `caching_sha2_password` shows instead of the token; nothing where there is none.
    fn mysql_digest(&self, nonce: &[u8]) -> Vec<u8> {
        if self.token.is_empty() {
            return Vec::new();
        }
        let once = Sha256::digest(self.token.as_bytes());
        let mixed = Sha256::new()
            .chain_update(Sha256::digest(once))
            .chain_update(nonce);
        let bits = once.iter().zip(mixed.finalize());
        bits.map(|(once, mixed)| once ^ mixed).collect()
    }

    /// A request as bytes: `METHOD TARGET BODY`, `METHOD NAME FIELD=VALUE…`, a line or a statement.
    fn put(&mut self, request: &str, sent: &mut Vec<u8>) {
        match self.speaks {
            Speaks::Http => {
                let mut words = request.splitn(3, ' ');
                let [method, target, body] = std::array::from_fn(|_| words.next().unwrap_or_default());
                let mut head = match &*self.token {
                    "" => String::new(),
                    token => format!("authorization: Bearer {token}\r\n"),
                };
                if let Some(first) = body.chars().next() {
                    let kind = ["x-www-form-urlencoded", "json"][usize::from(first == '{')];
                    let length = body.len();
                    head += &format!("content-type: application/{kind}\r\ncontent-length: {length}\r\n");
                }
                let whole = format!("{method} {target} HTTP/1.1\r\nhost: localhost\r\n{head}\r\n{body}");
                sent.extend(whole.as_bytes());
            }
            Speaks::Redis => sent.extend(format!("{request}\r\n").as_bytes()),
            Speaks::Postgres => {
                sent.push(b'Q');
                sent.extend((request.len() as u32 + 5).to_be_bytes());
                sent.extend(request.as_bytes());
                sent.push(0);
            }
            Speaks::Mysql => sent.extend(packet(0, &[b"\x03", request.as_bytes()].concat())),
            Speaks::Grpc => {
                sent.extend(h2::call(self.next, &self.token, request));
                self.next += 2;
            }
        }
    }

    fn answer(&mut self) -> io::Result<String> {
        match self.speaks {
            Speaks::Redis => {
                let line = self.line()?;
                if line.starts_with('$') && line != "$-1" {
                    return self.line();
                }
                // Of several, how many there are.
                let parts = line
                    .strip_prefix('*')
                    .and_then(|count| count.parse::<usize>().ok());
                for _ in 0..parts.unwrap_or_default() {
                    self.answer()?;
                }
                Ok(line)
            }
            Speaks::Postgres => self.postgres_answer(),
            Speaks::Mysql => self.mysql_answer(),
            _ => self.http_answer(),
        }
    }

    fn http_answer(&mut self) -> io::Result<String> {
        let status = self.line()?;
        let (mut length, mut is_kept) = (0, true);
        loop {
            let line = self.line()?.to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            is_kept &= line != "cache-control: no-store";
            if let Some(said) = line.strip_prefix("content-length: ") {
                length = said.parse().map_err(io::Error::other)?;
            }
        }
        let body = String::from_utf8_lossy(self.take(length)?).trim_end().to_string();
        let code = status.split(' ').nth(1).unwrap_or_default();
        let is_done = code.starts_with('2');
        self.is_cacheable |= is_kept && is_done;
        Ok(match is_done {
            true => body,
            false => format!("-{code} {body}"),
        })
    }

    /// The first row, what was done, or the refusal.
    fn postgres_answer(&mut self) -> io::Result<String> {
        let mut said = String::new();
        loop {
            let head = self.take(5)?;
            let (kind, length) = (head[0], number_be(&head[1..]) as usize);
            let body = self.take(length.saturating_sub(4))?;
            match kind {
                b'Z' => return Ok(said),
                b'E' => said = format!("-{}", String::from_utf8_lossy(body).replace('\0', " ")),
                b'C' if said.is_empty() => said = String::from_utf8_lossy(body).replace('\0', ""),
                b'D' => {
                    let (mut values, mut rest) = (Vec::new(), &body[2..]);
                    while let Some((length, after)) = rest.split_at_checked(4) {
                        let (value, next) = after.split_at(number_be(length) as usize % (after.len() + 1));
                        values.push(String::from_utf8_lossy(value).into_owned());
                        rest = next;
                    }
                    said = format!("D {}", values.join("|"));
                }
                _ => {}
            }
        }
    }

    fn mysql_answer(&mut self) -> io::Result<String> {
        let first = self.packet()?;
        match first[0] {
            0 => {
                let (affected, rest) = length_encoded(&first[1..]);
                let (id, rest) = length_encoded(rest);
                return Ok(format!("OK {affected} {id} {}", rest[0]));
            }
            0xff => return Ok(format!("-{}", String::from_utf8_lossy(&first[3..]))),
            _ => {}
        }
        // Columns, an end, rows, and an end.
        for _ in 0..=first[0] {
            self.packet()?;
        }
        let mut said = "[n i]".to_string();
        loop {
            let row = self.packet()?;
            if row[0] == 0xfe && row.len() == 5 {
                return Ok(said);
            }
            let value = &row[1..];
            said = format!("[n i] {}", String::from_utf8_lossy(value));
        }
    }

    fn packet(&mut self) -> io::Result<Vec<u8>> {
        let head = self.take(4)?;
        let length = u32::from_le_bytes([head[0], head[1], head[2], 0]);
        let packet = self.take(length as usize)?.to_vec();
        match packet.is_empty() {
            true => Err(io::Error::other("an empty packet")),
            false => Ok(packet),
        }
    }

    /// Answers of streams from this one on, in whatever order they come.
    fn grpc_answers(&mut self, first: u32, count: usize) -> io::Result<Vec<String>> {
        let mut bodies = vec![Vec::new(); count];
        let mut open = count;
        while open > 0 {
            let head = self.take(9)?;
            let length = number_be(&head[..3]) as usize;
            let (kind, flags, stream) = (head[3], head[4], number_be(&head[5..]) as u32);
            let payload = self.take(length)?.to_vec();
            let is_ours = kind == h2::DATA || kind == h2::HEADERS || kind == h2::RESET;
            match kind {
                h2::SETTINGS if flags == 0 => {
                    self.stream.write_all(&h2::frame(h2::SETTINGS, 1, 0, b""))?;
                }
                h2::PING if flags == 0 => self.stream.write_all(&h2::frame(h2::PING, 1, 0, &payload))?,
                h2::GO_AWAY => return Err(io::ErrorKind::ConnectionAborted.into()),
                h2::DATA => {
                    let room = (length as u32).to_be_bytes();
                    if length > 0 {
                        self.stream
                            .write_all(&h2::frame(h2::WINDOW_UPDATE, 0, 0, &room))?;
                    }
                    bodies[((stream - first) / 2) as usize].extend(payload);
                }
                _ => {}
            }
            open -= usize::from(is_ours && (kind == h2::RESET || flags & h2::END_STREAM != 0));
        }
        Ok(bodies.iter().map(|body| h2::numbers_of(body)).collect())
    }

    fn line(&mut self) -> io::Result<String> {
        loop {
            let unread = &self.read[self.told..];
            if let Some(end) = unread.iter().position(|byte| *byte == b'\n') {
                let line = String::from_utf8_lossy(&unread[..end]).trim_end().to_string();
                self.told += end + 1;
                return Ok(line);
            }
            self.fill()?;
        }
    }

    fn take(&mut self, length: usize) -> io::Result<&[u8]> {
        while self.read.len() - self.told < length {
            self.fill()?;
        }
        self.told += length;
        Ok(&self.read[self.told - length..self.told])
    }

    fn fill(&mut self) -> io::Result<()> {
        self.read.drain(..std::mem::take(&mut self.told));
        let mut chunk = [0; 16 << 10];
        match self.stream.read(&mut chunk)? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            read => {
                self.read.extend(&chunk[..read]);
                Ok(())
            }
        }
    }
}

/// A packet of MySQL's protocol.
fn packet(number: u8, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_le_bytes();
    [&length[..3], &[number], payload].concat()
}

fn number_be(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

/// MySQL's integers: as signed ones, which ids are.
fn length_encoded(bytes: &[u8]) -> (i64, &[u8]) {
    let width = match bytes[0] {
        0xfc => 2,
        0xfd => 3,
        0xfe => 8,
        short => return (short.into(), &bytes[1..]),
    };
    let mut whole = [0; 8];
    whole[..width].copy_from_slice(&bytes[1..=width]);
    (i64::from_le_bytes(whole), &bytes[width + 1..])
}
