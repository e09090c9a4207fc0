//! A client of MySQL's protocol over a raw socket: what is sent is whatever a test wants, and every answer is shown as lines
//! of text.
#![expect(clippy::little_endian_bytes, reason = "MySQL's packets are little-endian")]

use std::io::{self, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use super::place::Place;

/// A connection that has logged in without a password.
#[derive(Debug)]
pub struct MysqlWire {
    stream: BufReader<TcpStream>,
}

/// How values stand in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Text,
    Binary,
}

/// PROTOCOL_41, LONG_PASSWORD, LONG_FLAG, CONNECT_WITH_DB, TRANSACTIONS, SECURE_CONNECTION, MULTI_STATEMENTS,
/// MULTI_RESULTS, PS_MULTI_RESULTS, PLUGIN_AUTH. With these a result has its EOF packets, on both sides.
const CAPABILITIES: u32 = 0x0200
    | 0x0001
    | 0x0004
    | 0x0008
    | 0x2000
    | 0x8000
    | 0x0001_0000
    | 0x0002_0000
    | 0x0004_0000
    | 0x0008_0000;

impl MysqlWire {
    /// Connects and logs in.
    ///
    /// # Errors
    /// When the server refuses.
    pub fn connect(place: &Place) -> io::Result<MysqlWire> {
        let stream = TcpStream::connect(place.at)?;
        stream.set_nodelay(true)?;
        // So that a test fails, rather than waits for ever.
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        let mut wire = MysqlWire {
            stream: BufReader::new(stream),
        };
        wire.packet()?;
        let mut login = CAPABILITIES.to_le_bytes().to_vec();
        login.extend((1u32 << 24).to_le_bytes());
        login.push(45);
        login.extend([0; 23]);
        login.extend(place.user.as_bytes());
        // No user's end, no password, the database, how passwords would be sent.
        login.extend(b"\0\0ids\0mysql_native_password\0");
        wire.send(1, &login)?;
        let answer = wire.packet()?;
        match answer.first() {
            Some(0) => Ok(wire),
            _ => Err(io::Error::other(refusal(&answer))),
        }
    }

    /// Statements as text, and all that they are answered.
    ///
    /// # Errors
    /// When the connection ends.
    pub fn query(&mut self, statements: &str) -> io::Result<Vec<String>> {
        self.send(0, &[b"\x03", statements.as_bytes()].concat())?;
        let mut said = Vec::new();
        while self.result(Form::Text, &mut said)? {}
        Ok(said)
    }

    /// One statement, prepared, executed twice and closed.
    ///
    /// # Errors
    /// When the connection ends.
    pub fn prepared(&mut self, statement: &str) -> io::Result<Vec<String>> {
        self.send(0, &[b"\x16", statement.as_bytes()].concat())?;
        let head = self.packet()?;
        let mut said = Vec::new();
        if head.first() == Some(&0xff) {
            said.push(refusal(&head));
            return Ok(said);
        }
        let mut head = Rest(&head[1..]);
        let id = head.take(4).to_vec();
        let (columns, parameters) = (head.u16(), head.u16());
        for count in [parameters, columns] {
            if count > 0 {
                for _ in 0..=count {
                    self.packet()?;
                }
            }
        }
        said.push(format!("prepared, {parameters} parameters, {columns} columns"));
        for turn in 0..2 {
            // No cursor, once, and no parameters.
            self.send(0, &[b"\x17", id.as_slice(), &[0, 1, 0, 0, 0]].concat())?;
            while self.result(Form::Binary, &mut said)? {}
            // A name that there is not may be refused when it is prepared, or when it is used: a driver tells both alike.
            if turn == 0 && said.last().is_some_and(|last| last.starts_with("error")) {
                said.drain(..said.len() - 1);
                break;
            }
        }
        self.send(0, &[b"\x19", id.as_slice()].concat())?;
        Ok(said)
    }

    /// The one number that a query gives; `None`: it was refused.
    ///
    /// # Errors
    /// When the connection ends.
    pub fn number(&mut self, query: &str) -> io::Result<Option<i64>> {
        let said = self.query(query)?;
        let row = said.iter().find_map(|line| line.strip_prefix("row "));
        Ok(row.and_then(|row| row.parse().ok()))
    }

    /// The insert id of a statement; `None`: it was refused.
    ///
    /// # Errors
    /// When the connection ends.
    pub fn insert_id(&mut self, statement: &str) -> io::Result<Option<i64>> {
        let said = self.query(statement)?;
        let words = said.first().map(String::as_str).unwrap_or_default();
        let id = words
            .split_once("insert id ")
            .map(|(_, rest)| rest.split(',').next());
        Ok(id.flatten().and_then(|id| id.parse().ok()))
    }

    fn send(&mut self, sequence: u8, payload: &[u8]) -> io::Result<()> {
        let length = (payload.len() as u32).to_le_bytes();
        let packet = [&length[..3], &[sequence], payload].concat();
        self.stream.get_mut().write_all(&packet)
    }

    fn packet(&mut self) -> io::Result<Vec<u8>> {
        let mut head = [0; 4];
        self.stream.read_exact(&mut head)?;
        let length = u32::from_le_bytes([head[0], head[1], head[2], 0]);
        let mut payload = vec![0; length as usize];
        self.stream.read_exact(&mut payload)?;
        Ok(payload)
    }

    /// One result; whether another follows.
    fn result(&mut self, form: Form, said: &mut Vec<String>) -> io::Result<bool> {
        let head = self.packet()?;
        match head.first() {
            Some(0) => {
                let mut rest = Rest(&head[1..]);
                let (affected, id) = (rest.number(), rest.number());
                let status = rest.u16();
                said.push(format!("ok {affected} rows, insert id {id}, {}", state(status)));
                return Ok(status & MORE != 0);
            }
            Some(0xff) => {
                said.push(refusal(&head));
                return Ok(false);
            }
            _ => (),
        }
        let count = Rest(&head).number();
        let mut columns = Vec::new();
        for _ in 0..count {
            columns.push(Column::read(&self.packet()?));
        }
        self.packet()?;
        let before = said.len();
        said.extend(columns.iter().map(Column::shown));
        let rows = said.len();
        loop {
            let packet = self.packet()?;
            match packet.first() {
                Some(0xfe) if packet.len() < 9 => {
                    let status = u16::from_le_bytes([packet[3], packet[4]]);
                    said.push(format!("end, {}", state(status)));
                    return Ok(status & MORE != 0);
                }
                Some(0xff) => {
                    // Whether the first row failed before or after the columns were told is one to every client.
                    if said.len() == rows {
                        said.truncate(before);
                    }
                    said.push(refusal(&packet));
                    return Ok(false);
                }
                _ => said.push(format!("row {}", row(&packet, &columns, form))),
            }
        }
    }
}

const MORE: u16 = 8;

/// What the status says that clients act on.
fn state(status: u16) -> String {
    let words = [(1, "in transaction"), (2, "autocommit"), (MORE, "more")];
    let set: Vec<&str> = words
        .iter()
        .filter(|(bit, _)| status & bit != 0)
        .map(|(_, word)| *word)
        .collect();
    set.join(", ")
}

fn refusal(packet: &[u8]) -> String {
    let mut rest = Rest(&packet[1..]);
    let code = rest.u16();
    let text = String::from_utf8_lossy(rest.0);
    let (state, message) = match text.strip_prefix('#') {
        Some(text) => text.split_at(5.min(text.len())),
        None => ("", &*text),
    };
    format!("error {code} {state} {message}")
}

/// What a column says of itself that a client acts on.
struct Column {
    name: String,
    of_type: u8,
    unsigned: bool,
    charset: u16,
}

impl Column {
    fn read(packet: &[u8]) -> Column {
        let mut rest = Rest(packet);
        for _ in 0..4 {
            rest.text();
        }
        let name = rest.text();
        rest.text();
        rest.take(1);
        let charset = rest.u16();
        // How wide a person would see it.
        rest.take(4);
        let of_type = rest.take(1)[0];
        // Of the flags this one says how the number is read.
        let unsigned = rest.u16() & 0x20 != 0;
        Column {
            name,
            of_type,
            unsigned,
            charset,
        }
    }

    fn shown(&self) -> String {
        let sign = if self.unsigned { " unsigned" } else { "" };
        // Any client reads an integer of any width.
        let of_type = match self.of_type {
            1 | 2 | 3 | 8 | 9 => "integer".to_string(),
            other => format!("type {other}"),
        };
        let (name, charset) = (&self.name, self.charset);
        format!("column {name}, {of_type}{sign}, charset {charset}")
    }
}

/// The values of a row.
fn row(packet: &[u8], columns: &[Column], form: Form) -> String {
    let mut rest = Rest(packet);
    let values: Vec<String> = match form {
        Form::Text => columns
            .iter()
            .map(|_| match rest.0.first() {
                Some(0xfb) => {
                    rest.take(1);
                    "NULL".to_string()
                }
                _ => rest.text(),
            })
            .collect(),
        Form::Binary => {
            rest.take(1);
            let nulls = rest.take((columns.len() + 9) / 8).to_vec();
            let is_null = |at: usize| nulls[(at + 2) / 8] & (1 << ((at + 2) % 8)) != 0;
            let value = |(at, column): (usize, &Column)| match is_null(at) {
                true => "NULL".to_string(),
                false => rest.value(column),
            };
            columns.iter().enumerate().map(value).collect()
        }
    };
    values.join(" | ")
}

/// What is left of a packet.
struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    fn take(&mut self, count: usize) -> &[u8] {
        let (taken, rest) = self.0.split_at(count);
        self.0 = rest;
        taken
    }

    fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.take(2).try_into().expect("two were taken"))
    }

    /// A number that says its own length.
    fn number(&mut self) -> u64 {
        let first = self.take(1)[0];
        let octets = match first {
            0xfc => 2,
            0xfd => 3,
            0xfe => 8,
            _ => return first.into(),
        };
        let mut number = [0; 8];
        number[..octets].copy_from_slice(self.take(octets));
        u64::from_le_bytes(number)
    }

    fn text(&mut self) -> String {
        let length = self.number() as usize;
        String::from_utf8_lossy(self.take(length)).into_owned()
    }

    fn value(&mut self, column: &Column) -> String {
        let octets = match column.of_type {
            1 => 1,
            2 | 13 => 2,
            3 | 9 => 4,
            8 => 8,
            _ => return self.text(),
        };
        let mut number = [0; 8];
        number[..octets].copy_from_slice(self.take(octets));
        let unused = 64 - 8 * octets as u32;
        let number = u64::from_le_bytes(number);
        match column.unsigned {
            true => number.to_string(),
            false => (((number << unused) as i64) >> unused).to_string(),
        }
    }
}
