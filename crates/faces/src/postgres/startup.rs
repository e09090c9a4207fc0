//! What comes before the first statement: requests for encryption, to cancel, and to start.

use super::errors::{Result, SqlError, shown};
use super::frontend::Fields;
use super::variables::Variables;

/// The longest packet before a login, in bytes, as PostgreSQL has it.
pub(super) const PACKET_BYTES_MAX: usize = 10_000;

const CANCEL: u32 = 80_877_102;
const ENCRYPT_TLS: u32 = 80_877_103;
const ENCRYPT_GSS: u32 = 80_877_104;

/// The first packet of a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Packet<'p> {
    Incomplete,
    /// It is no packet of this protocol.
    Foreign,
    Tls {
        len: usize,
    },
    Gss {
        len: usize,
    },
    Cancel {
        process: i32,
        secret: i32,
    },
    /// A protocol and what is behind it.
    Start {
        version: u32,
        body: &'p [u8],
        len: usize,
    },
}

/// The packet that a buffer begins with.
pub(super) fn read(input: &[u8]) -> Packet<'_> {
    let Some((length, rest)) = input.split_first_chunk::<4>() else {
        return Packet::Incomplete;
    };
    let length = u32::from_be_bytes(*length) as usize;
    if !(8..=PACKET_BYTES_MAX).contains(&length) {
        return Packet::Foreign;
    }
    let Some((code, body)) = rest
        .get(..length - 4)
        .and_then(|packet| packet.split_first_chunk::<4>())
    else {
        return Packet::Incomplete;
    };
    match (u32::from_be_bytes(*code), body.len()) {
        (ENCRYPT_TLS, 0) => Packet::Tls { len: length },
        (ENCRYPT_GSS, 0) => Packet::Gss { len: length },
        (CANCEL, 8) => {
            let (numbers, _) = body.as_chunks::<4>();
            let [process, secret] = [numbers[0], numbers[1]].map(i32::from_be_bytes);
            Packet::Cancel { process, secret }
        }
        (CANCEL | ENCRYPT_TLS | ENCRYPT_GSS, _) => Packet::Foreign,
        (version, _) => Packet::Start {
            version,
            body,
            len: length,
        },
    }
}

/// What a client starts with.
#[derive(Debug)]
pub(super) struct Start {
    pub(super) user: String,
    pub(super) database: String,
    pub(super) variables: Variables,
    /// It wants a newer minor version, or options that are not known: it is told so.
    pub(super) negotiates: bool,
    pub(super) unknown: Vec<String>,
}

/// Reads a start-up packet.
///
/// # Errors
/// The version is another one, or a parameter cannot be.
pub(super) fn start(version: u32, body: &[u8]) -> Result<Start> {
    let (major, minor) = (version >> 16, version & 0xffff);
    if major != 3 {
        let message = format!("unsupported frontend protocol {major}.{minor}: server supports 3.0 to 3.0");
        return Err(SqlError::fatal("0A000", message));
    }
    let mut start = Start {
        user: String::new(),
        database: String::new(),
        variables: Variables::default(),
        negotiates: minor > 0,
        unknown: Vec::new(),
    };
    let mut fields = Fields(body);
    let fatal = |error: SqlError| SqlError {
        severity: super::errors::Severity::Fatal,
        ..error
    };
    loop {
        let name = fields.text().map_err(|_| no_end())?;
        if name.is_empty() {
            break;
        }
        let value = fields.text().map_err(|_| no_end())?;
        start.parameter(name, value).map_err(fatal)?;
    }
    fields.end().map_err(|_| no_end())?;
    if start.user.is_empty() {
        return Err(SqlError::fatal(
            "28000",
            "no PostgreSQL user name specified in startup packet",
        ));
    }
    if start.database.is_empty() {
        start.database.clone_from(&start.user);
    }
    Ok(start)
}

fn no_end() -> SqlError {
    SqlError::fatal(
        "08P01",
        "invalid startup packet layout: expected terminator as last byte",
    )
}

impl Start {
    fn parameter(&mut self, name: &str, value: &str) -> Result<()> {
        match name {
            "user" => self.user = value.into(),
            "database" => self.database = value.into(),
            "options" => self.options(value)?,
            "replication" => {
                if !matches!(value.to_ascii_lowercase().as_str(), "false" | "off" | "no" | "0") {
                    return Err(SqlError::unsupported("replication"));
                }
            }
            _ if name.starts_with("_pq_.") => {
                self.negotiates = true;
                self.unknown.push(name.into());
            }
            _ => self.variables.start_with(name, value)?,
        }
        Ok(())
    }

    /// `-c name=value`, `--name=value`, with backslashes before blanks.
    fn options(&mut self, text: &str) -> Result<()> {
        let words = words(text);
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let pair = match word.as_str() {
                "-c" => words.next().map(String::as_str),
                word => word.strip_prefix("-c").or_else(|| word.strip_prefix("--")),
            };
            let Some((name, value)) = pair.and_then(|pair| pair.split_once('=')) else {
                let message = format!(
                    "invalid command-line argument for server process: {}",
                    shown(word)
                );
                return Err(SqlError::new("42601", message));
            };
            self.variables.start_with(&name.replace('-', "_"), value)?;
        }
        Ok(())
    }
}

/// A text cut at its blanks.
fn words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut begun) = (Vec::new(), String::new(), false);
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                word.extend(chars.next());
                begun = true;
            }
            c if c.is_ascii_whitespace() => {
                if std::mem::take(&mut begun) {
                    words.push(std::mem::take(&mut word));
                }
            }
            c => {
                word.push(c);
                begun = true;
            }
        }
    }
    if begun {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_told_apart() {
        let tls = [&8u32.to_be_bytes()[..], &ENCRYPT_TLS.to_be_bytes()].concat();
        assert_eq!(read(&tls), Packet::Tls { len: 8 });
        assert_eq!(read(&tls[..7]), Packet::Incomplete);
        for foreign in [
            &b"GET / HTTP/1.1"[..],
            b"*1\r\n$4\r\nPING\r\n",
            b"\0\0\0\x07\0\x03\0\0",
            b"\0\0\x27\x11\0\x03\0\0",
        ] {
            assert_eq!(read(foreign), Packet::Foreign, "{foreign:?}");
        }
        let cancel = [
            &16u32.to_be_bytes()[..],
            &CANCEL.to_be_bytes(),
            &[0, 0, 0, 7, 255, 255, 255, 255],
        ]
        .concat();
        assert_eq!(
            read(&cancel),
            Packet::Cancel {
                process: 7,
                secret: -1
            }
        );
        assert_eq!(read(b"\0\0\0\x0c\x04\xd2\x16\x2e\0\0\0\0"), Packet::Foreign);
    }

    #[test]
    fn parameters_are_read() {
        let body = b"user\0web\0options\0-c statement_timeout=5s --application-name=a\\ b\0_pq_.x\0y\0\0";
        let read = start(0x0003_0002, body).unwrap();
        assert_eq!((read.user.as_str(), read.database.as_str()), ("web", "web"));
        assert_eq!(
            (read.negotiates, read.unknown),
            (true, vec!["_pq_.x".to_string()])
        );
        let facts = super::super::variables::Facts::default();
        assert_eq!(
            read.variables.get("application_name", &facts).as_deref(),
            Some("a b")
        );
        assert_eq!(read.variables.ms("statement_timeout"), 5000);
        for (version, body, state) in [
            (0x0002_0000, &b"user\0x\0\0"[..], "0A000"),
            (0x0004_0000, b"user\0x\0\0", "0A000"),
            (0x0003_0000, b"\0", "28000"),
            (0x0003_0000, b"user\0x\0", "08P01"),
            (0x0003_0000, b"user\0x", "08P01"),
            (0x0003_0000, b"user\0x\0\0\0", "08P01"),
            (0x0003_0000, b"user\0x\0replication\0true\0\0", "0A000"),
            (0x0003_0000, b"user\0x\0nosuch\0x\0\0", "42704"),
            (0x0003_0000, b"user\0x\0options\0--x\0\0", "42601"),
        ] {
            let refused = start(version, body).unwrap_err();
            assert_eq!(
                (refused.state, refused.severity.as_str()),
                (state, "FATAL"),
                "{body:?}"
            );
        }
    }
}
