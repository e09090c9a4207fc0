//! A client of MySQL's protocol that shows what it is answered.
#![allow(unreachable_pub, clippy::little_endian_bytes)]

use crate::common::{Client, Server};

/// What most clients can do.
pub const CAPABILITIES: u32 = 1 | 2 | 4 | 8 | 0x200 | 0x2000 | 0x8000 | 0x3f_0000;

/// A packet of a command.
pub fn command(code: u8, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let len = (body.len() as u32 + 1).to_le_bytes();
    [&len[..3], &[0, code], body].concat()
}

/// Sends a packet of this number.
pub fn send(client: &mut Client, number: u8, payload: &[u8]) {
    let len = (payload.len() as u32).to_le_bytes();
    client.send([&len[..3], &[number], payload].concat());
}

/// Reads a packet: its number and its payload.
#[track_caller]
pub fn packet(client: &mut Client) -> (u8, Vec<u8>) {
    let head = client.read(4);
    assert_eq!(head.len(), 4, "closed: {head:?}");
    let len = u32::from_le_bytes([head[0], head[1], head[2], 0]);
    (head[3], client.read(len as usize))
}

/// A login.
pub fn login(capabilities: u32, user: &str, reply: &[u8], database: &str, plugin: &str) -> Vec<u8> {
    let mut all = capabilities.to_le_bytes().to_vec();
    all.extend_from_slice(&[0, 0, 0, 1, 45]);
    all.extend_from_slice(&[0; 23]);
    all.extend_from_slice(user.as_bytes());
    all.push(0);
    all.push(reply.len() as u8);
    all.extend_from_slice(reply);
    for text in [database, plugin] {
        all.extend_from_slice(text.as_bytes());
        all.push(0);
    }
    // What it tells of itself.
    all.push(0);
    all
}

/// The same bytes.
#[track_caller]
pub fn is(got: &[u8], expected: &[u8]) {
    assert_eq!(
        got.escape_ascii().to_string(),
        expected.escape_ascii().to_string()
    );
}

/// A client that has been greeted, and logs in.
pub struct My {
    pub client: Client,
    pub nonce: Vec<u8>,
}

impl My {
    /// One that has logged in, where no token is asked for.
    pub fn open(server: &Server, database: &str) -> My {
        let mut my = My::greeted(server);
        send(
            &mut my.client,
            1,
            &login(CAPABILITIES, "root", b"", database, "mysql_native_password"),
        );
        assert_eq!(my.answer(), "OK 0 0 2");
        my
    }

    /// One that has read the greeting.
    pub fn greeted(server: &Server) -> My {
        let mut client = Client::connect(server.address("mysql"));
        let (_, greeting) = packet(&mut client);
        let after = greeting.iter().position(|byte| *byte == 0).unwrap() + 1;
        let nonce = [
            &greeting[after + 4..after + 12],
            &greeting[after + 31..after + 43],
        ]
        .concat();
        My { client, nonce }
    }

    /// Asks, and shows all answers.
    pub fn ask(&mut self, text: &str) -> String {
        self.client.send(command(3, text));
        let mut all = Vec::new();
        loop {
            let (answer, more) = self.one_answer(false);
            all.push(answer);
            if !more {
                return all.join("; ");
            }
        }
    }

    /// Reads one answer.
    pub fn answer(&mut self) -> String {
        self.one_answer(false).0
    }

    /// Reads one answer whose rows are bytes.
    pub fn binary_answer(&mut self) -> String {
        self.one_answer(true).0
    }

    /// What a login is answered.
    pub fn answer_of_login(&mut self) -> String {
        let (_, payload) = packet(&mut self.client);
        match payload[..] {
            [1, 3] => format!("fast; {}", self.answer()),
            [0xfe, ref rest @ ..] => {
                let end = rest.iter().position(|byte| *byte == 0).unwrap();
                self.nonce = rest[end + 1..end + 21].to_vec();
                format!("switch {}", String::from_utf8_lossy(&rest[..end]))
            }
            _ => shown(&payload).expect("OK or ERR").0,
        }
    }

    /// Prepares a statement: its id, and how many parameters and columns it has.
    pub fn prepare(&mut self, text: &str) -> Result<(u32, u16, u16), String> {
        self.client.send(command(22, text));
        self.prepared()
    }

    /// Reads what is told of a statement that was prepared.
    pub fn prepared(&mut self) -> Result<(u32, u16, u16), String> {
        let (_, payload) = packet(&mut self.client);
        if payload[0] == 0xff {
            return Err(shown(&payload).unwrap().0);
        }
        assert_eq!(payload.len(), 12);
        let id = u32::from_le_bytes(payload[1..5].try_into().unwrap());
        let columns = u16::from_le_bytes(payload[5..7].try_into().unwrap());
        let parameters = u16::from_le_bytes(payload[7..9].try_into().unwrap());
        for count in [parameters, columns].into_iter().filter(|count| *count > 0) {
            for _ in 0..=count {
                packet(&mut self.client);
            }
        }
        Ok((id, parameters, columns))
    }

    /// Executes a statement with what stands behind its head.
    pub fn execute(&mut self, id: u32, values: &[u8]) -> String {
        let body = [&id.to_le_bytes()[..], b"\0\x01\0\0\0", values].concat();
        self.client.send(command(23, body));
        self.binary_answer()
    }

    /// Reads one answer, and whether another one follows.
    fn one_answer(&mut self, binary: bool) -> (String, bool) {
        let (first, payload) = packet(&mut self.client);
        if let Some(shown) = shown(&payload) {
            return shown;
        }
        let count = payload[0];
        let mut expected = first;
        let mut next = |client: &mut Client| {
            let (number, payload) = packet(client);
            expected = expected.wrapping_add(1);
            assert_eq!(number, expected, "packets are numbered through");
            payload
        };
        let columns: Vec<(String, u8)> = (0..count).map(|_| column(&next(&mut self.client))).collect();
        assert_eq!(next(&mut self.client)[0], 0xfe);
        let mut rows = Vec::new();
        let status = loop {
            let row = next(&mut self.client);
            if row[0] == 0xfe && row.len() == 5 {
                break u16::from_le_bytes([row[3], row[4]]);
            }
            rows.push(if binary {
                binary_row(&row, &columns)
            } else {
                text_row(&row)
            });
        };
        let names: Vec<String> = columns
            .iter()
            .map(|(name, kind)| format!("{name} {}", char::from(*kind)))
            .collect();
        let mut shown = format!("[{}]", names.join(","));
        if !rows.is_empty() {
            shown.push_str(&format!(" {}", rows.join(" / ")));
        }
        if status != 2 && status != 0 {
            shown.push_str(&format!(" ({status})"));
        }
        (shown, status & 8 != 0)
    }
}

/// OK or ERR, and whether another answer follows.
fn shown(payload: &[u8]) -> Option<(String, bool)> {
    match payload[0] {
        0 => {
            let (affected, rest) = number(&payload[1..]);
            let (id, rest) = number(rest);
            let status = u16::from_le_bytes([rest[0], rest[1]]);
            assert_eq!(&rest[2..], [0, 0], "no text");
            Some((format!("OK {affected} {id} {status}"), status & 8 != 0))
        }
        0xff => {
            let errno = u16::from_le_bytes([payload[1], payload[2]]);
            let state = String::from_utf8_lossy(&payload[4..9]).into_owned();
            let text = String::from_utf8_lossy(&payload[9..]).into_owned();
            Some((format!("ERR {errno} {state} {text}"), false))
        }
        _ => None,
    }
}

fn number(bytes: &[u8]) -> (u64, &[u8]) {
    let width = match bytes[0] {
        0xfc => 2,
        0xfd => 3,
        0xfe => 8,
        short => return (short.into(), &bytes[1..]),
    };
    let mut whole = [0; 8];
    whole[..width].copy_from_slice(&bytes[1..=width]);
    (u64::from_le_bytes(whole), &bytes[width + 1..])
}

fn text(bytes: &[u8]) -> (Option<String>, &[u8]) {
    if bytes[0] == 0xfb {
        return (None, &bytes[1..]);
    }
    let (len, rest) = number(bytes);
    let (text, rest) = rest.split_at(len as usize);
    (Some(String::from_utf8_lossy(text).into_owned()), rest)
}

/// A column's name, and a letter for what it has.
fn column(payload: &[u8]) -> (String, u8) {
    let mut rest = payload;
    let mut parts = Vec::new();
    for _ in 0..6 {
        let (part, after) = text(rest);
        parts.push(part.unwrap());
        rest = after;
    }
    let (kind, flags) = (rest[7], u16::from_le_bytes([rest[8], rest[9]]));
    let letter = match (kind, flags & 0x20) {
        (8, 0) => b'i',
        (8, _) => b'u',
        (253, _) => b't',
        (246, _) => b'd',
        (6, _) => b'n',
        other => panic!("{other:?}"),
    };
    (parts[4].clone(), letter)
}

fn text_row(row: &[u8]) -> String {
    let (mut rest, mut all) = (row, Vec::new());
    while !rest.is_empty() {
        let (value, after) = text(rest);
        all.push(value.unwrap_or_else(|| "NULL".into()));
        rest = after;
    }
    all.join("|")
}

fn binary_row(row: &[u8], columns: &[(String, u8)]) -> String {
    let nulls = &row[1..1 + (columns.len() + 2).div_ceil(8)];
    let (mut rest, mut all) = (&row[1 + nulls.len()..], Vec::new());
    for (at, (_, kind)) in columns.iter().enumerate() {
        if nulls[(at + 2) / 8] & (1 << ((at + 2) % 8)) != 0 {
            all.push("NULL".into());
        } else if matches!(kind, b'i' | b'u') {
            let (number, after) = rest.split_first_chunk::<8>().unwrap();
            all.push(i64::from_le_bytes(*number).to_string());
            rest = after;
        } else {
            let (value, after) = text(rest);
            all.push(value.unwrap());
            rest = after;
        }
    }
    assert!(rest.is_empty(), "{rest:?}");
    all.join("|")
}
