//! The Redis protocol over a raw socket, so that tests see exactly what was sent.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// One reply.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reply {
    /// `+…`
    Simple(String),
    /// `-…`
    Error(String),
    /// `:…`
    Int(i64),
    /// `$…`
    Bulk(Vec<u8>),
    /// `$-1`, `*-1` or `_`
    Null,
    /// `*…`, `~…`, `>…` or `%…` (a map's keys and values in turn)
    Array(Vec<Reply>),
    /// Any other RESP3 line, with its type byte.
    Other(String),
}

impl Reply {
    /// The number it is or spells.
    pub fn int(&self) -> Option<i64> {
        match self {
            Reply::Int(n) => Some(*n),
            Reply::Bulk(text) => std::str::from_utf8(text).ok()?.parse().ok(),
            _ => None,
        }
    }

    /// The text it carries.
    pub fn text(&self) -> Option<String> {
        match self {
            Reply::Simple(text) | Reply::Error(text) | Reply::Other(text) => Some(text.clone()),
            Reply::Bulk(text) => String::from_utf8(text.clone()).ok(),
            Reply::Int(n) => Some(n.to_string()),
            Reply::Null | Reply::Array(_) => None,
        }
    }
}

/// A connection.
#[derive(Debug)]
pub struct Resp {
    stream: BufReader<TcpStream>,
}

/// A server that says nothing for this long has a defect; no test depends on its length.
const SILENCE_MAX: Duration = Duration::from_secs(30);

impl Resp {
    /// Connects.
    ///
    /// # Errors
    /// The system's.
    pub fn connect(to: SocketAddr) -> io::Result<Resp> {
        let stream = TcpStream::connect_timeout(&to, SILENCE_MAX)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(SILENCE_MAX))?;
        Ok(Resp {
            stream: BufReader::with_capacity(64 * 1024, stream),
        })
    }

    /// Sends bytes as they are.
    ///
    /// # Errors
    /// The system's.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.get_mut().write_all(bytes)
    }

    /// Sends a command and reads its reply.
    ///
    /// # Errors
    /// The system's, and a reply that is none.
    pub fn ask(&mut self, words: &[&str]) -> io::Result<Reply> {
        self.send(&encode(words))?;
        self.reply()
    }

    /// Reads one reply.
    ///
    /// # Errors
    /// The system's, an end of the connection, and bytes that are no reply.
    pub fn reply(&mut self) -> io::Result<Reply> {
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        let Some(text) = line.strip_suffix("\r\n") else {
            return Err(io::ErrorKind::UnexpectedEof.into());
        };
        let (kind, rest) = text.split_at_checked(1).ok_or(io::ErrorKind::InvalidData)?;
        let number = || {
            rest.parse::<i64>()
                .map_err(|_| io::Error::other(format!("not a length: {text:?}")))
        };
        Ok(match kind {
            "+" => Reply::Simple(rest.into()),
            "-" => Reply::Error(rest.into()),
            ":" => Reply::Int(number()?),
            "_" => Reply::Null,
            "$" | "=" | "*" | "~" | ">" | "%" if number()? < 0 => Reply::Null,
            "$" | "=" => {
                let mut bytes = vec![0; number()? as usize + 2];
                self.stream.read_exact(&mut bytes)?;
                bytes.truncate(bytes.len() - 2);
                Reply::Bulk(bytes)
            }
            "*" | "~" | ">" => self.array(number()?)?,
            "%" => self.array(number()? * 2)?,
            _ => Reply::Other(text.into()),
        })
    }

    fn array(&mut self, len: i64) -> io::Result<Reply> {
        (0..len)
            .map(|_| self.reply())
            .collect::<io::Result<Vec<_>>>()
            .map(Reply::Array)
    }
}

/// A command as a client sends it.
pub fn encode(words: &[&str]) -> Vec<u8> {
    let mut out = format!("*{}\r\n", words.len());
    for word in words {
        out += &format!("${}\r\n{word}\r\n", word.len());
    }
    out.into_bytes()
}
