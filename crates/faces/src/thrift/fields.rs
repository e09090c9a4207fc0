//! The fields of a struct, walked byte by byte: field 1 is found, everything else is skipped.
//!
//! A walk can stop where the bytes end and go on when more have come: a client that sends one byte at a time does not
//! make us read the beginning again and again.

use std::fmt;
use std::ops::Range;

/// What stands in field 1.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Found {
    /// Nothing.
    Nothing,
    /// A string, there.
    Text(Range<usize>),
    /// A value of another type.
    Other(u8),
}

/// Why bytes are not the fields of a struct.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Fault {
    /// A type that the protocol does not have.
    Type(u8),
    /// A length or a count below zero.
    Negative(i32),
    /// Values within values within values.
    TooDeep,
    /// The message does not fit into what we read at most.
    TooLong,
    /// A frame that ends before its message does.
    Short,
    /// A frame with so many bytes behind its message.
    Behind(usize),
    /// A message of another type than a call.
    Kind(u8),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Type(number) => write!(f, "{number} is not a type of the binary protocol"),
            Fault::Negative(number) => write!(f, "a length of {number} is below 0"),
            Fault::TooDeep => write!(f, "a value is nested in more than {DEPTH_MAX} others"),
            Fault::TooLong => write!(f, "a message has at most {MESSAGE_BYTES_MAX} bytes"),
            Fault::Short => f.write_str("the frame ends before its message does"),
            Fault::Behind(bytes) => write!(f, "{bytes} bytes follow the message in its frame"),
            Fault::Kind(number) => write!(f, "message type {number} is neither 1, a call, nor 4, oneway"),
        }
    }
}

/// Why a walk has not come to its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stop {
    /// The bytes end.
    Incomplete,
    Fault(Fault),
}

/// What is walked through at the moment.
#[derive(Clone, Copy, Debug)]
enum Level {
    Struct,
    /// So many values, of these types in turn; the first one is next where an even number is left.
    Values {
        left: usize,
        types: [u8; 2],
    },
}

/// A walk through the fields of a struct.
#[derive(Debug)]
pub(super) struct Walk {
    at: usize,
    /// The struct itself, and the values in values that are open.
    levels: Vec<Level>,
    found: Found,
}

impl Walk {
    /// Begins at the first field.
    pub(super) fn new(at: usize) -> Walk {
        Walk {
            at,
            levels: vec![Level::Struct],
            found: Found::Nothing,
        }
    }

    /// Goes on as far as `input` reaches, which begins with the same bytes as at the last call. Answers what was found
    /// and where the struct ends.
    pub(super) fn go_on(&mut self, input: &[u8]) -> Result<(Found, usize), Stop> {
        loop {
            let is_outermost = self.levels.len() == 1;
            let Some(level) = self.levels.last_mut() else {
                return Ok((self.found.clone(), self.at));
            };
            let (kind, is_wanted, begins) = match level {
                Level::Struct if *bytes(input, self.at)? == [STOP] => {
                    self.at += 1;
                    self.levels.pop();
                    continue;
                }
                Level::Struct => {
                    let [kind, id @ ..] = *bytes::<3>(input, self.at)?;
                    (kind, is_outermost && id == [0, 1], self.at + 3)
                }
                Level::Values { left: 0, .. } => {
                    self.levels.pop();
                    continue;
                }
                Level::Values { left, types } => (types[*left % 2], false, self.at),
            };
            let (at, holds) = value(kind, input, begins)?;
            if let Level::Values { left, .. } = level {
                *left -= 1;
            }
            self.at = at;
            // As stock servers do: of two fields with one number the last one counts.
            match kind {
                STRING if is_wanted => self.found = Found::Text(begins + 4..at),
                other if is_wanted => self.found = Found::Other(other),
                _ => {}
            }
            // The struct of the arguments itself is not nested.
            if holds.is_some() && self.levels.len() > DEPTH_MAX {
                return Err(Stop::Fault(Fault::TooDeep));
            }
            self.levels.extend(holds);
        }
    }
}

/// Where a value ends; or where those begin that it holds.
fn value(kind: u8, input: &[u8], at: usize) -> Result<(usize, Option<Level>), Stop> {
    if let Some(width) = width(kind) {
        return ends(input, at, width);
    }
    match kind {
        STRING => ends(input, at + 4, length(input, at)?),
        STRUCT => Ok((at, Some(Level::Struct))),
        LIST | SET => {
            let [of] = *bytes(input, at)?;
            values([of, of], length(input, at + 1)?, input, at + 5)
        }
        MAP => {
            let types = *bytes(input, at)?;
            // An even number is left before each key.
            values(types, length(input, at + 2)?.saturating_mul(2), input, at + 6)
        }
        other => Err(Stop::Fault(Fault::Type(other))),
    }
}

/// Many small values of one width are passed at once; of others, each has a byte at least.
fn values(types: [u8; 2], left: usize, input: &[u8], at: usize) -> Result<(usize, Option<Level>), Stop> {
    match width(types[0]).filter(|_| types[0] == types[1]) {
        Some(width) => ends(input, at, left.saturating_mul(width)),
        None => check_length(at, left).map(|()| (at, Some(Level::Values { left, types }))),
    }
}

fn ends(input: &[u8], at: usize, bytes: usize) -> Result<(usize, Option<Level>), Stop> {
    check_length(at, bytes)?;
    match input.len() >= at + bytes {
        true => Ok((at + bytes, None)),
        false => Err(Stop::Incomplete),
    }
}

/// What cannot end within a message is not waited for.
fn check_length(at: usize, bytes: usize) -> Result<(), Stop> {
    match bytes <= MESSAGE_BYTES_MAX.saturating_sub(at) {
        true => Ok(()),
        false => Err(Stop::Fault(Fault::TooLong)),
    }
}

/// A length or a count.
pub(super) fn length(input: &[u8], at: usize) -> Result<usize, Stop> {
    let number = i32::from_be_bytes(*bytes(input, at)?);
    usize::try_from(number).map_err(|_| Stop::Fault(Fault::Negative(number)))
}

/// The bytes there.
pub(super) fn bytes<const N: usize>(input: &[u8], at: usize) -> Result<&[u8; N], Stop> {
    let rest = input.get(at..).and_then(<[u8]>::first_chunk);
    rest.ok_or(Stop::Incomplete)
}

/// How many bytes a value of this type has, where they are always as many.
fn width(kind: u8) -> Option<usize> {
    match kind {
        BOOL | BYTE => Some(1),
        I16 => Some(2),
        I32 => Some(4),
        DOUBLE | I64 => Some(8),
        UUID => Some(16),
        _ => None,
    }
}

/// The types of the binary protocol.
const STOP: u8 = 0;
const BOOL: u8 = 2;
const BYTE: u8 = 3;
const DOUBLE: u8 = 4;
const I16: u8 = 6;
pub(super) const I32: u8 = 8;
pub(super) const I64: u8 = 10;
pub(super) const STRING: u8 = 11;
const STRUCT: u8 = 12;
const MAP: u8 = 13;
const SET: u8 = 14;
const LIST: u8 = 15;
/// Since Thrift 0.20.
const UUID: u8 = 16;

/// How deep a value may be nested in others, so that a walk remembers little.
pub const DEPTH_MAX: usize = 16;
/// The longest message that is read, without the length in front of a framed one.
pub const MESSAGE_BYTES_MAX: usize = 64 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    /// The whole of `input` is the fields of a struct, and byte by byte it is the same.
    #[track_caller]
    fn check(input: &[u8], expected: Result<Found, Fault>) {
        let whole = Walk::new(0).go_on(input);
        match expected {
            Ok(found) => assert_eq!(whole, Ok((found, input.len()))),
            Err(fault) => assert_eq!(whole, Err(Stop::Fault(fault))),
        }
        let mut slow = Walk::new(0);
        let ended = (0..=input.len())
            .map(|cut| slow.go_on(&input[..cut]))
            .find(|step| *step != Err(Stop::Incomplete));
        assert_eq!(ended, Some(whole));
    }

    #[test]
    fn field_1_is_found_among_fields_of_every_type() {
        check(b"\0", Ok(Found::Nothing));
        check(b"\x0b\0\x01\0\0\0\x02hi\0", Ok(Found::Text(7..9)));
        check(b"\x08\0\x01\0\0\0\x02\0", Ok(Found::Other(I32)));
        // The last one counts.
        check(
            b"\x08\0\x01\0\0\0\x02\x0b\0\x01\0\0\0\0\0",
            Ok(Found::Text(14..14)),
        );
        let unknown: &[&[u8]] = &[
            b"\x02\0\x02\x01",
            b"\x03\0\x02\x01",
            b"\x04\0\x0212345678",
            b"\x06\0\x0212",
            b"\x08\0\x021234",
            b"\x0a\0\x0212345678",
            b"\x0b\0\x02\0\0\0\x01x",
            b"\x0c\0\x02\x0b\0\x01\0\0\0\x01x\0",
            // Maps of nothing, of numbers, of texts to lists of structs.
            b"\x0d\0\x02\0\0\0\0\0\0",
            b"\x0d\0\x02\x06\x03\0\0\0\x02aabccd",
            b"\x0d\0\x02\x0b\x0f\0\0\0\x01\0\0\0\x01x\x0c\0\0\0\x02\0\0",
            b"\x0e\0\x02\x06\0\0\0\x02aabb",
            b"\x0f\0\x02\x0b\0\0\0\x02\0\0\0\x01x\0\0\0\0",
            b"\x10\0\x021234567890123456",
        ];
        for before in unknown {
            let all = [*before, b"\x0b\0\x01\0\0\0\x02hi", *before, b"\0"].concat();
            let begins = before.len() + 7;
            check(&all, Ok(Found::Text(begins..begins + 2)));
        }
    }

    #[test]
    fn what_is_nested_deeper_than_16_is_refused() {
        let nested = |depth: usize| {
            let mut all = b"\x0c\0\x02".repeat(depth);
            all.extend(vec![0; depth + 1]);
            all
        };
        check(&nested(DEPTH_MAX), Ok(Found::Nothing));
        check(&nested(DEPTH_MAX + 1), Err(Fault::TooDeep));
        let mut lists = b"\x0f\0\x02".to_vec();
        lists.extend(b"\x0f\0\0\0\x01".repeat(DEPTH_MAX + 1));
        check(&lists, Err(Fault::TooDeep));
    }

    #[test]
    fn lengths_that_cannot_be_are_refused_at_once() {
        check(b"\x01\0\x02", Err(Fault::Type(1)));
        check(b"\x11\0\x02", Err(Fault::Type(17)));
        check(b"\x0f\0\x02\x07\0\0\0\x01", Err(Fault::Type(7)));
        check(b"\x0b\0\x01\xff\xff\xff\xff", Err(Fault::Negative(-1)));
        check(b"\x0d\0\x02\x0b\x0b\x80\0\0\0", Err(Fault::Negative(i32::MIN)));
        check(b"\x0b\0\x01\x7f\xff\xff\xff", Err(Fault::TooLong));
        check(b"\x0b\0\x01\0\x01\0\0", Err(Fault::TooLong));
        check(b"\x0f\0\x02\x0c\x7f\xff\xff\xff", Err(Fault::TooLong));
        check(b"\x0d\0\x02\x0a\x0a\x7f\xff\xff\xff", Err(Fault::TooLong));
    }
}
