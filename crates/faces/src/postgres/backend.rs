//! Messages to the client, written straight into the output.

use std::borrow::Cow;

use super::errors::{Severity, SqlError};
use super::types::{Formats, Type, Value};

/// A column of a result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Column {
    pub(super) name: Cow<'static, str>,
    pub(super) kind: Type,
}

impl Column {
    pub(super) fn new(name: impl Into<Cow<'static, str>>, kind: Type) -> Column {
        Column {
            name: name.into(),
            kind,
        }
    }
}

pub(super) const PARSE_COMPLETE: &[u8] = b"1\0\0\0\x04";
pub(super) const BIND_COMPLETE: &[u8] = b"2\0\0\0\x04";
pub(super) const CLOSE_COMPLETE: &[u8] = b"3\0\0\0\x04";
pub(super) const NO_DATA: &[u8] = b"n\0\0\0\x04";
pub(super) const PORTAL_SUSPENDED: &[u8] = b"s\0\0\0\x04";
pub(super) const EMPTY_QUERY: &[u8] = b"I\0\0\0\x04";
pub(super) const AUTHENTICATION_OK: &[u8] = b"R\0\0\0\x08\0\0\0\0";
pub(super) const ASK_PASSWORD: &[u8] = b"R\0\0\0\x08\0\0\0\x03";
/// The tag of one row, the most frequent by far.
pub(super) const SELECT_1: &[u8] = b"C\0\0\0\x0dSELECT 1\0";

/// Writes a message: its kind, then what `body` writes, with the length in between.
pub(super) fn message(out: &mut Vec<u8>, kind: u8, body: impl FnOnce(&mut Vec<u8>)) {
    out.push(kind);
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    body(out);
    let length = u32::try_from(out.len() - at).unwrap_or(u32::MAX);
    out[at..at + 4].copy_from_slice(&length.to_be_bytes());
}

/// A text with its end. A zero in it would end it: it is left out.
pub(super) fn text(out: &mut Vec<u8>, text: &str) {
    out.extend(text.bytes().filter(|byte| *byte != 0));
    out.push(0);
}

pub(super) fn ready(out: &mut Vec<u8>, status: u8) {
    out.extend_from_slice(&[b'Z', 0, 0, 0, 5, status]);
}

pub(super) fn complete(out: &mut Vec<u8>, tag: &str) {
    message(out, b'C', |out| text(out, tag));
}

/// The tag of a statement with rows.
pub(super) fn complete_rows(out: &mut Vec<u8>, verb: &str, rows: u64) {
    message(out, b'C', |out| {
        out.extend_from_slice(verb.as_bytes());
        out.push(b' ');
        out.extend_from_slice(itoa::Buffer::new().format(rows).as_bytes());
        out.push(0);
    });
}

pub(super) fn parameter_status(out: &mut Vec<u8>, name: &str, value: &str) {
    message(out, b'S', |out| {
        text(out, name);
        text(out, value);
    });
}

pub(super) fn key_data(out: &mut Vec<u8>, process: i32, secret: i32) {
    message(out, b'K', |out| {
        out.extend_from_slice(&process.to_be_bytes());
        out.extend_from_slice(&secret.to_be_bytes());
    });
}

/// The newest minor version, and the options that are not known.
pub(super) fn negotiate(out: &mut Vec<u8>, unknown: &[&str]) {
    message(out, b'v', |out| {
        out.extend_from_slice(&0x0003_0000u32.to_be_bytes());
        out.extend_from_slice(&(unknown.len() as u32).to_be_bytes());
        unknown.iter().for_each(|name| text(out, name));
    });
}

/// What an authentication needs next: the mechanisms of SASL, or a step of one.
pub(super) fn authentication(out: &mut Vec<u8>, kind: u32, body: &[u8]) {
    message(out, b'R', |out| {
        out.extend_from_slice(&kind.to_be_bytes());
        out.extend_from_slice(body);
    });
}

/// A refusal or a notice; `source`: the text that its place is in.
pub(super) fn error(out: &mut Vec<u8>, error: &SqlError, source: &str) {
    let kind = match error.severity {
        Severity::Notice | Severity::Warning => b'N',
        Severity::Error | Severity::Fatal => b'E',
    };
    message(out, kind, |out| {
        let mut field = |letter: u8, value: &str| {
            out.push(letter);
            text(out, value);
        };
        field(b'S', error.severity.as_str());
        field(b'V', error.severity.as_str());
        field(b'C', error.state);
        field(b'M', &error.message);
        if let Some(detail) = &error.detail {
            field(b'D', detail);
        }
        if let Some(hint) = &error.hint {
            field(b'H', hint);
        }
        if let Some(at) = error.at {
            // In characters, from 1.
            let before = source.get(..at.min(source.len())).unwrap_or(source);
            field(b'P', itoa::Buffer::new().format(before.chars().count() + 1));
        }
        out.push(0);
    });
}

pub(super) fn parameter_description(out: &mut Vec<u8>, types: &[u32]) {
    message(out, b't', |out| {
        out.extend_from_slice(&(types.len() as u16).to_be_bytes());
        types
            .iter()
            .for_each(|oid| out.extend_from_slice(&oid.to_be_bytes()));
    });
}

pub(super) fn row_description(out: &mut Vec<u8>, columns: &[Column], formats: &Formats) {
    message(out, b'T', |out| {
        out.extend_from_slice(&(columns.len() as u16).to_be_bytes());
        for (at, column) in columns.iter().enumerate() {
            text(out, &column.name);
            // Of no table.
            out.extend_from_slice(&[0; 6]);
            out.extend_from_slice(&column.kind.oid().to_be_bytes());
            out.extend_from_slice(&column.kind.size().to_be_bytes());
            out.extend_from_slice(&(-1i32).to_be_bytes());
            out.extend_from_slice(&u16::from(formats.is_binary(at)).to_be_bytes());
        }
    });
}

/// A row of one number.
#[inline]
pub(super) fn number_row(out: &mut Vec<u8>, number: i64, binary: bool) {
    if binary {
        out.extend_from_slice(b"D\0\0\0\x12\0\x01\0\0\0\x08");
        out.extend_from_slice(&number.to_be_bytes());
        return;
    }
    let mut buffer = itoa::Buffer::new();
    let digits = buffer.format(number).as_bytes();
    // At most 20 of them.
    out.extend_from_slice(&[
        b'D',
        0,
        0,
        0,
        10 + digits.len() as u8,
        0,
        1,
        0,
        0,
        0,
        digits.len() as u8,
    ]);
    out.extend_from_slice(digits);
}

/// A row of values of these columns.
pub(super) fn row(out: &mut Vec<u8>, values: &[Value], columns: &[Column], formats: &Formats) {
    message(out, b'D', |out| {
        out.extend_from_slice(&(values.len() as u16).to_be_bytes());
        for (at, (value, column)) in values.iter().zip(columns).enumerate() {
            if *value == Value::Null {
                out.extend_from_slice(&(-1i32).to_be_bytes());
                continue;
            }
            let begin = out.len();
            out.extend_from_slice(&[0; 4]);
            match formats.is_binary(at) {
                true => binary_value(out, value, column.kind),
                false => text_value(out, value),
            }
            let length = (out.len() - begin - 4) as u32;
            out[begin..begin + 4].copy_from_slice(&length.to_be_bytes());
        }
    });
}

fn text_value(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Null => {}
        Value::Int(number) => out.extend_from_slice(itoa::Buffer::new().format(*number).as_bytes()),
        Value::Bool(yes) => out.push(if *yes { b't' } else { b'f' }),
        Value::Text(text) => out.extend_from_slice(text.as_bytes()),
        Value::Uuid(id) => {
            let mut buffer = mintage::Uuid::encode_buffer();
            out.extend_from_slice(id.hyphenated().encode_lower(&mut buffer).as_bytes());
        }
    }
}

fn binary_value(out: &mut Vec<u8>, value: &Value, kind: Type) {
    // Numbers were brought into the range of their column before.
    let number = |value: &Value| value.integer(Type::Int8).unwrap_or_default();
    match kind {
        Type::Int8 => out.extend_from_slice(&number(value).to_be_bytes()),
        Type::Int4 | Type::Oid | Type::Regclass => {
            out.extend_from_slice(&(number(value) as i32).to_be_bytes())
        }
        Type::Int2 => out.extend_from_slice(&(number(value) as i16).to_be_bytes()),
        Type::Bool => out.push(u8::from(matches!(value, Value::Bool(true)))),
        Type::Uuid => match value {
            Value::Uuid(id) => out.extend_from_slice(id.as_bytes()),
            other => text_value(out, other),
        },
        Type::Void => {}
        Type::Text | Type::Varchar | Type::Name | Type::Unknown | Type::Char => text_value(out, value),
    }
}
