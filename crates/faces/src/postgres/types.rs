//! Types and values: how parameters are read and results are written, as text and in binary.

use std::rc::Rc;

use mintage::Uuid;

use super::errors::{Result, SqlError, shown};

/// The types that are known here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Type {
    Bool,
    Name,
    Int8,
    Int2,
    Int4,
    Regclass,
    Text,
    Oid,
    Varchar,
    Uuid,
    Void,
    Unknown,
    /// A single letter, as catalogues have it.
    Char,
}

impl Type {
    const ALL: [Type; 13] = [
        Type::Bool,
        Type::Name,
        Type::Int8,
        Type::Int2,
        Type::Int4,
        Type::Regclass,
        Type::Text,
        Type::Oid,
        Type::Varchar,
        Type::Uuid,
        Type::Void,
        Type::Unknown,
        Type::Char,
    ];

    pub(super) fn oid(self) -> u32 {
        match self {
            Type::Bool => 16,
            Type::Char => 18,
            Type::Name => 19,
            Type::Int8 => 20,
            Type::Int2 => 21,
            Type::Int4 => 23,
            Type::Text => 25,
            Type::Oid => 26,
            Type::Unknown => 705,
            Type::Varchar => 1043,
            Type::Regclass => 2205,
            Type::Void => 2278,
            Type::Uuid => 2950,
        }
    }

    /// Its size in bytes; negative: it has none.
    pub(super) fn size(self) -> i16 {
        match self {
            Type::Bool | Type::Char => 1,
            Type::Int2 => 2,
            Type::Int4 | Type::Oid | Type::Regclass | Type::Void => 4,
            Type::Int8 => 8,
            Type::Uuid => 16,
            Type::Name => 64,
            Type::Text | Type::Varchar => -1,
            Type::Unknown => -2,
        }
    }

    /// What a column is called that is a literal cast to it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Type::Bool => "bool",
            Type::Char => "char",
            Type::Name => "name",
            Type::Int8 => "int8",
            Type::Int2 => "int2",
            Type::Int4 => "int4",
            Type::Text => "text",
            Type::Oid => "oid",
            Type::Unknown => "unknown",
            Type::Varchar => "varchar",
            Type::Regclass => "regclass",
            Type::Void => "void",
            Type::Uuid => "uuid",
        }
    }

    /// What messages call it.
    pub(super) fn title(self) -> &'static str {
        match self {
            Type::Bool => "boolean",
            Type::Int8 => "bigint",
            Type::Int2 => "smallint",
            Type::Int4 => "integer",
            Type::Varchar => "character varying",
            Type::Char => "\"char\"",
            other => other.name(),
        }
    }

    pub(super) fn of_oid(oid: u32) -> Option<Type> {
        Type::ALL.into_iter().find(|known| known.oid() == oid)
    }

    /// The type of this name, in lower case and without its schema.
    pub(super) fn of_name(name: &str) -> Option<Type> {
        Some(match name {
            "bigint" | "int8" => Type::Int8,
            "int" | "integer" | "int4" => Type::Int4,
            "smallint" | "int2" => Type::Int2,
            "text" => Type::Text,
            "varchar" | "character varying" | "bpchar" | "character" => Type::Varchar,
            "bool" | "boolean" => Type::Bool,
            "uuid" => Type::Uuid,
            "name" => Type::Name,
            "oid" => Type::Oid,
            "regclass" => Type::Regclass,
            "unknown" => Type::Unknown,
            "char" => Type::Char,
            "void" => Type::Void,
            _ => return None,
        })
    }

    fn bounds(self) -> Option<(i64, i64)> {
        Some(match self {
            Type::Int8 => (i64::MIN, i64::MAX),
            Type::Int4 => (i64::from(i32::MIN), i64::from(i32::MAX)),
            Type::Int2 => (i64::from(i16::MIN), i64::from(i16::MAX)),
            Type::Oid => (0, i64::from(u32::MAX)),
            _ => return None,
        })
    }
}

/// A value of any type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Value {
    Null,
    Int(i64),
    Bool(bool),
    Text(Rc<str>),
    Uuid(Uuid),
}

impl Value {
    pub(super) fn text(text: impl Into<Rc<str>>) -> Value {
        Value::Text(text.into())
    }

    /// As it is written in the text format; `None` for NULL.
    pub(super) fn shown(&self) -> Option<String> {
        Some(match self {
            Value::Null => return None,
            Value::Int(number) => number.to_string(),
            Value::Bool(true) => "t".into(),
            Value::Bool(false) => "f".into(),
            Value::Text(text) => text.to_string(),
            Value::Uuid(id) => id.hyphenated().to_string(),
        })
    }

    /// The same value as another type.
    ///
    /// # Errors
    /// It is none of that type, or out of its range.
    pub(super) fn cast(self, to: Type) -> Result<Value> {
        Ok(match (to, self) {
            (_, Value::Null) => Value::Null,
            (Type::Int8 | Type::Int4 | Type::Int2 | Type::Oid, value) => Value::Int(value.integer(to)?),
            (Type::Bool, Value::Int(number)) => Value::Bool(number != 0),
            (Type::Bool, Value::Text(text)) => Value::Bool(bool_of(&text)?),
            (Type::Uuid, Value::Text(text)) => match mintage::parse_uuid_lenient(&*text) {
                Ok(id) => Value::Uuid(id),
                Err(_) => return Err(malformed(Type::Uuid, &text)),
            },
            (
                Type::Text | Type::Varchar | Type::Name | Type::Regclass | Type::Char | Type::Unknown,
                value,
            ) => match value {
                Value::Bool(yes) => Value::text(if yes { "true" } else { "false" }),
                Value::Text(text) => Value::Text(text),
                other => Value::text(other.shown().unwrap_or_default()),
            },
            (Type::Void, _) => Value::text(""),
            (_, value) => value,
        })
    }

    /// As a whole number within the bounds of a type.
    ///
    /// # Errors
    /// It is none, or out of range. NULL is 22004.
    pub(super) fn integer(&self, of: Type) -> Result<i64> {
        let (low, high) = of.bounds().unwrap_or((i64::MIN, i64::MAX));
        let number = match self {
            Value::Int(number) => *number,
            Value::Text(text) => integer_of(text, of)?,
            Value::Bool(yes) => i64::from(*yes),
            Value::Uuid(id) => return Err(malformed(of, &id.to_string())),
            Value::Null => return Err(SqlError::new("22004", "null value not allowed")),
        };
        match (low..=high).contains(&number) {
            true => Ok(number),
            false => Err(match self {
                Value::Text(text) => out_of_range(of, text),
                _ => SqlError::new("22003", format!("{} out of range", of.title())),
            }),
        }
    }
}

/// A whole number in a text, with blanks around it.
fn integer_of(text: &str, of: Type) -> Result<i64> {
    let trimmed = text.trim_matches([' ', '\t', '\n', '\r', '\u{b}', '\u{c}']);
    trimmed.parse().map_err(|error: std::num::ParseIntError| {
        use std::num::IntErrorKind::{NegOverflow, PosOverflow};
        match error.kind() {
            PosOverflow | NegOverflow => out_of_range(of, text),
            _ => malformed(of, text),
        }
    })
}

fn bool_of(text: &str) -> Result<bool> {
    let lower = text.trim().to_ascii_lowercase();
    match lower.as_str() {
        "t" | "tr" | "tru" | "true" | "y" | "ye" | "yes" | "on" | "1" => Ok(true),
        "f" | "fa" | "fal" | "fals" | "false" | "n" | "no" | "of" | "off" | "0" => Ok(false),
        _ => Err(malformed(Type::Bool, text)),
    }
}

fn malformed(of: Type, text: &str) -> SqlError {
    let message = format!(
        "invalid input syntax for type {}: \"{}\"",
        of.title(),
        shown(text)
    );
    SqlError::new("22P02", message)
}

pub(super) fn out_of_range(of: Type, text: &str) -> SqlError {
    let message = format!(
        "value \"{}\" is out of range for type {}",
        shown(text),
        of.title()
    );
    SqlError::new("22003", message)
}

/// How values are written, or how parameters come.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) enum Formats {
    #[default]
    Text,
    Binary,
    /// One for each, `true` for binary.
    Each(Box<[bool]>),
}

impl Formats {
    /// How much memory they take.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Formats::Text | Formats::Binary => 0,
            Formats::Each(each) => mintage_server::chassis::kept::allocated(each.len()),
        }
    }

    /// Out of the codes of a message: none, one for all, or one for each of `count`.
    ///
    /// # Errors
    /// Another number of codes, or another code.
    pub(super) fn of_codes(codes: &[u8], count: usize, what: &str) -> Result<Formats> {
        let (pairs, _) = codes.as_chunks::<2>();
        let one = |pair: &[u8; 2]| match u16::from_be_bytes(*pair) {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(SqlError::new(
                "22023",
                format!("unsupported format code: {other}"),
            )),
        };
        match pairs {
            [] => Ok(Formats::Text),
            [all] => Ok(match one(all)? {
                true => Formats::Binary,
                false => Formats::Text,
            }),
            each if each.len() == count => {
                let each = each.iter().map(one).collect::<Result<Vec<bool>>>()?;
                Ok(Formats::Each(each.into()))
            }
            each => {
                let message = format!(
                    "bind message has {} {what} formats but {what} count is {count}",
                    each.len()
                );
                Err(SqlError::new("08P01", message))
            }
        }
    }

    #[inline]
    pub(super) fn is_binary(&self, at: usize) -> bool {
        match self {
            Formats::Text => false,
            Formats::Binary => true,
            Formats::Each(each) => each.get(at).copied().unwrap_or_default(),
        }
    }
}

/// Reads a parameter of a type that the client has named, or that was found for it.
///
/// # Errors
/// The bytes are no value of the type.
pub(super) fn read_parameter(bytes: Option<&[u8]>, oid: u32, binary: bool) -> Result<Value> {
    let Some(bytes) = bytes else {
        return Ok(Value::Null);
    };
    let known = Type::of_oid(oid);
    if binary {
        return read_binary(bytes, oid, known);
    }
    let text = utf8(bytes)?;
    match known {
        Some(kind @ (Type::Int8 | Type::Int4 | Type::Int2 | Type::Oid | Type::Bool | Type::Uuid)) => {
            Value::text(text).cast(kind)
        }
        _ => Ok(Value::text(text)),
    }
}

fn read_binary(bytes: &[u8], oid: u32, known: Option<Type>) -> Result<Value> {
    let incorrect = || SqlError::new("08P01", "incorrect binary data format in bind parameter");
    let number = |width: usize| match bytes.len() == width {
        true => Ok(bytes.iter().fold(0u64, |sum, byte| sum << 8 | u64::from(*byte))),
        // As PostgreSQL: bytes that are left, or missing.
        false if bytes.len() > width => Err(SqlError::new("22P03", incorrect().message)),
        false => Err(SqlError::new("08P01", "insufficient data left in message")),
    };
    Ok(match known {
        Some(Type::Int8) => Value::Int(number(8)?.cast_signed()),
        Some(Type::Int4) => Value::Int(i64::from((number(4)? as u32).cast_signed())),
        Some(Type::Int2) => Value::Int(i64::from((number(2)? as u16).cast_signed())),
        Some(Type::Oid) => Value::Int(number(4)?.cast_signed()),
        Some(Type::Bool) => Value::Bool(number(1)? != 0),
        Some(Type::Uuid) => match bytes.try_into() {
            Ok(octets) => Value::Uuid(Uuid::from_bytes(octets)),
            Err(_) => return Err(incorrect()),
        },
        Some(Type::Text | Type::Varchar | Type::Name | Type::Unknown | Type::Char) => {
            Value::text(utf8(bytes)?)
        }
        None if matches!(oid, 0 | 1042) => Value::text(utf8(bytes)?),
        Some(Type::Regclass | Type::Void) | None => {
            let message = format!("the binary format of type {oid} is not supported");
            return Err(SqlError::new("0A000", message).with_hint("send it as text"));
        }
    })
}

/// A text of the client's.
///
/// # Errors
/// It is not UTF-8, or has a zero in it.
pub(super) fn utf8(bytes: &[u8]) -> Result<&str> {
    let wrong = |at: usize| {
        let shown: Vec<String> = bytes[at..]
            .iter()
            .take(2)
            .map(|byte| format!("0x{byte:02x}"))
            .collect();
        let message = format!("invalid byte sequence for encoding \"UTF8\": {}", shown.join(" "));
        SqlError::new("22021", message)
    };
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => Ok(text),
        Ok(text) => Err(wrong(text.find('\0').unwrap_or_default())),
        Err(error) => Err(wrong(error.valid_up_to())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_read_in_both_formats() {
        let read = |bytes: &[u8], oid, binary| read_parameter(Some(bytes), oid, binary);
        for (bytes, oid, binary, value) in [
            (&b"-7"[..], 20, false, Value::Int(-7)),
            (b" 7 ", 21, false, Value::Int(7)),
            (&[255; 8], 20, true, Value::Int(-1)),
            (&[0x80, 0, 0, 0], 23, true, Value::Int(i64::from(i32::MIN))),
            (&[0xff, 0xfe], 21, true, Value::Int(-2)),
            (b"orders", 25, true, Value::text("orders")),
            (b"orders", 0, true, Value::text("orders")),
            (b"orders", 2205, false, Value::text("orders")),
            (b"on", 16, false, Value::Bool(true)),
            (&[0], 16, true, Value::Bool(false)),
            (b"1.5", 1700, false, Value::text("1.5")),
        ] {
            assert_eq!(read(bytes, oid, binary), Ok(value), "{bytes:?} {oid}");
        }
        assert_eq!(read_parameter(None, 20, true), Ok(Value::Null));
        for (bytes, oid, binary, state) in [
            (&b"abc"[..], 20, false, "22P02"),
            (b"9223372036854775808", 20, false, "22003"),
            (b"40000", 21, false, "22003"),
            (&[0; 4], 20, true, "08P01"),
            (&[0; 9], 20, true, "22P03"),
            (&[0xff, 0xfe], 25, false, "22021"),
            (b"a\0b", 25, true, "22021"),
            (&[0; 4], 2205, true, "0A000"),
            (&[0; 8], 701, true, "0A000"),
        ] {
            assert_eq!(
                read(bytes, oid, binary).unwrap_err().state,
                state,
                "{bytes:?} {oid}"
            );
        }
    }

    #[test]
    fn format_codes_are_none_one_or_one_for_each() {
        let codes = |codes: &[u8], count| Formats::of_codes(codes, count, "parameter");
        assert_eq!(codes(&[], 3), Ok(Formats::Text));
        assert_eq!(codes(&[0, 1], 3), Ok(Formats::Binary));
        assert_eq!(codes(&[0, 1], 0), Ok(Formats::Binary));
        let each = codes(&[0, 1, 0, 0], 2).unwrap();
        assert!(each.is_binary(0) && !each.is_binary(1) && !each.is_binary(2));
        assert_eq!(codes(&[0, 1, 0, 0], 3).unwrap_err().state, "08P01");
        assert_eq!(codes(&[0, 7], 1).unwrap_err().state, "22023");
    }
}
