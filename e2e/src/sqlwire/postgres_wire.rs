//! A client of PostgreSQL's protocol over a raw socket: what is sent is whatever a test wants, and every answer is shown as
//! a line of text.

use std::io::{self, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use super::place::Place;

/// A connection that has logged in without a password.
#[derive(Debug)]
pub struct PostgresWire {
    stream: BufReader<TcpStream>,
}

/// In which form results are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As text.
    Text,
    /// As binary values.
    Binary,
}

impl PostgresWire {
    /// Connects and waits until the server is ready.
    ///
    /// # Errors
    /// When it is not.
    pub fn connect(place: &Place) -> io::Result<PostgresWire> {
        let stream = TcpStream::connect(place.at)?;
        stream.set_nodelay(true)?;
        // So that a test fails, rather than waits for ever.
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        let mut wire = PostgresWire {
            stream: BufReader::new(stream),
        };
        let mut startup = 196_608u32.to_be_bytes().to_vec();
        for word in ["user", &place.user, "database", "ids", ""] {
            startup.extend(word.as_bytes());
            startup.push(0);
        }
        wire.send(&framed(None, &startup))?;
        let said = wire.answers()?;
        match said.iter().any(|line| line.starts_with("ready")) {
            true => Ok(wire),
            false => Err(io::Error::other(format!("{said:?}"))),
        }
    }

    /// One simple query, and all that it is answered.
    ///
    /// # Errors
    /// When the connection ends.
    pub fn query(&mut self, statements: &str) -> io::Result<Vec<String>> {
        let mut body = statements.as_bytes().to_vec();
        body.push(0);
        self.send(&framed(Some(b'Q'), &body))?;
        self.answers()
    }

    /// One statement by the extended protocol, described twice, with these parameters as text.
    ///
    /// # Errors
    /// When the connection ends.
    pub fn extended(&mut self, statement: &str, parameters: &[&str], form: Form) -> io::Result<Vec<String>> {
        let parse = [b"\0".as_slice(), statement.as_bytes(), b"\0\0\0"].concat();
        let mut bind = b"\0\0\0\0".to_vec();
        bind.extend((parameters.len() as u16).to_be_bytes());
        for parameter in parameters {
            bind.extend((parameter.len() as u32).to_be_bytes());
            bind.extend(parameter.as_bytes());
        }
        bind.extend([0, 1, 0, u8::from(form == Form::Binary)]);
        let all = [
            framed(Some(b'P'), &parse),
            framed(Some(b'D'), b"S\0"),
            framed(Some(b'B'), &bind),
            framed(Some(b'D'), b"P\0"),
            framed(Some(b'E'), b"\0\0\0\0\0"),
            framed(Some(b'S'), b""),
        ];
        self.send(&all.concat())?;
        self.answers()
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

    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.get_mut().write_all(bytes)
    }

    /// Everything up to the next message that says that the server is ready, or to the end of the connection.
    fn answers(&mut self) -> io::Result<Vec<String>> {
        let mut said = Vec::new();
        loop {
            let (mut head, mut form) = ([0; 5], Form::Text);
            self.stream.read_exact(&mut head)?;
            let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]);
            let mut body = vec![0; (length as usize).saturating_sub(4)];
            self.stream.read_exact(&mut body)?;
            if said.iter().rev().any(|line: &String| line.ends_with("in binary")) {
                form = Form::Binary;
            }
            said.extend(shown(head[0], &body, form));
            if head[0] == b'Z' || (head[0] == b'E' && field(&body, b'V') == "FATAL") {
                // A changed setting is told before the tag or behind it.
                said.sort_by_key(|line| line.starts_with("parameter "));
                return Ok(said);
            }
        }
    }
}

/// A message with its length, behind its type.
fn framed(kind: Option<u8>, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32 + 4).to_be_bytes();
    [kind.as_slice(), &length, body].concat()
}

/// A message in words. What every connection is told differently is left out.
fn shown(kind: u8, body: &[u8], form: Form) -> Option<String> {
    let mut body = Body(body);
    let text = match kind {
        b'1' => "parsed".into(),
        b'2' => "bound".into(),
        b'3' => "closed".into(),
        b'n' => "no data".into(),
        b's' => "suspended".into(),
        b'I' => "empty query".into(),
        b'C' => format!("done {}", body.text()),
        b'Z' => format!("ready {}", char::from(body.0[0])),
        b'E' | b'N' => report(kind, body.0),
        b't' => {
            let types: Vec<String> = (0..body.u16()).map(|_| body.u32().to_string()).collect();
            format!("parameters {}", types.join(" "))
        }
        b'T' => {
            let columns: Vec<String> = (0..body.u16()).map(|_| body.column()).collect();
            format!("columns {}", columns.join(", "))
        }
        b'D' => {
            let values: Vec<String> = (0..body.u16()).map(|_| body.value(form)).collect();
            format!("row {}", values.join(" | "))
        }
        b'S' => format!("parameter {} = {}", body.text(), body.text()),
        b'R' | b'K' => return None,
        other => format!("message {}", char::from(other)),
    };
    Some(text)
}

/// The fields of an error or a notice that mean something to whoever reads it.
fn report(kind: u8, body: &[u8]) -> String {
    let what = if kind == b'E' { "error" } else { "notice" };
    let mut text = format!(
        "{what} {} {} {}",
        field(body, b'V'),
        field(body, b'C'),
        field(body, b'M')
    );
    for (name, field_type) in [("detail", b'D'), ("hint", b'H'), ("at", b'P')] {
        let value = field(body, field_type);
        if !value.is_empty() {
            text += &format!("; {name} {value}");
        }
    }
    text
}

fn field(body: &[u8], wanted: u8) -> String {
    let mut fields = body.split(|byte| *byte == 0).filter(|field| !field.is_empty());
    let found = fields.find(|field| field[0] == wanted);
    found.map_or(String::new(), |field| {
        String::from_utf8_lossy(&field[1..]).into_owned()
    })
}

/// What is left of a message.
struct Body<'a>(&'a [u8]);

impl Body<'_> {
    fn take(&mut self, count: usize) -> &[u8] {
        let (taken, rest) = self.0.split_at(count);
        self.0 = rest;
        taken
    }

    fn u16(&mut self) -> u16 {
        u16::from_be_bytes(self.take(2).try_into().expect("two were taken"))
    }

    fn u32(&mut self) -> u32 {
        u32::from_be_bytes(self.take(4).try_into().expect("four were taken"))
    }

    fn text(&mut self) -> String {
        let end = self.0.iter().position(|byte| *byte == 0).unwrap_or(self.0.len());
        let text = String::from_utf8_lossy(self.take(end)).into_owned();
        self.take(1.min(self.0.len()));
        text
    }

    /// Name, type, size, modifier, form. Of which table it is, only a table knows.
    fn column(&mut self) -> String {
        let name = self.text();
        self.take(6);
        let (of_type, size, modifier) = (self.u32(), self.u16() as i16, self.u32() as i32);
        let form = if self.u16() == 0 { "text" } else { "binary" };
        format!("{name} {of_type} {size} {modifier} in {form}")
    }

    fn value(&mut self, form: Form) -> String {
        let length = self.u32() as i32;
        if length < 0 {
            return "NULL".into();
        }
        let bytes = self.take(length as usize);
        match form {
            Form::Text => String::from_utf8_lossy(bytes).into_owned(),
            Form::Binary => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        }
    }
}
