//! Calls, read in place, and their answers, in the form of the call.
//!
//! ```text
//!   strict header   80 01 00 TYPE | length, name | sequence number
//!   old header      length, name | TYPE | sequence number
//!   call            [frame length] header, arguments: a struct that ends with 00
//!   reply           the same header with type 2, then 0a 0000 VALUE 00
//!   exception       the same header with type 3, then 0b 0001 TEXT, 08 0002 KIND, 00
//! ```
//!
//! Lengths and numbers are 32 bits, big-endian, but the value, which has 64.

use super::fields::{self, Found, I32, I64, STRING, Stop, Walk};
use super::form::{self, Told};

pub use super::fields::{DEPTH_MAX, Fault, MESSAGE_BYTES_MAX};
pub use super::form::Form;

/// A call whose bytes are all there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Call<'a> {
    /// How it was written, and its answer will be.
    pub form: Form,
    /// The method.
    pub name: &'a [u8],
    /// What tells the caller which answer is whose.
    pub sequence_number: i32,
    /// Nobody waits for an answer.
    pub oneway: bool,
    /// Field 1 of its arguments.
    pub argument: Argument<'a>,
}

/// Field 1 of a call's arguments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Argument<'a> {
    /// There is none.
    Missing,
    /// A string.
    Text(&'a [u8]),
    /// A value of another type, by its number.
    Other(u8),
}

/// What bytes begin with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step<'a> {
    /// More are needed.
    Incomplete,
    /// A call that takes this many.
    Call {
        /// The call.
        call: Call<'a>,
        /// Its bytes, with the length of its frame.
        len: usize,
    },
    /// A call that can be answered, though not done.
    Broken {
        /// What of it could be read; no argument.
        call: Call<'a>,
        /// What is wrong with it.
        fault: Fault,
        /// Its bytes, where a frame tells how many; otherwise nobody knows where the next call begins.
        len: Option<usize>,
    },
    /// Something that is not a call of this protocol, so that nobody could read an answer.
    Foreign,
}

/// Reads calls. Remembers how far it has come in one whose bytes are not all there.
#[derive(Debug, Default)]
pub struct Reader {
    walk: Option<Walk>,
}

/// A call as far as its header tells.
#[derive(Clone, Copy)]
struct Header<'a> {
    call: Call<'a>,
    kind: u8,
    ends: usize,
}

impl Reader {
    /// Reads what `input` begins with. After [`Step::Incomplete`] the next input must begin with the same bytes.
    ///
    /// ```
    /// use mintage_faces::thrift::codec::{Argument, Reader, Step};
    /// let call = b"\x80\x01\x00\x01\x00\x00\x00\x06get_id\x00\x00\x00\x07\x0b\x00\x01\x00\x00\x00\x03web\x00";
    /// let mut reader = Reader::default();
    /// assert_eq!(reader.read(&call[..20]), Step::Incomplete);
    /// let Step::Call { call, len } = reader.read(call) else { panic!() };
    /// assert_eq!((call.name, call.sequence_number, len), (&b"get_id"[..], 7, 29));
    /// assert_eq!(call.argument, Argument::Text(b"web"));
    /// assert_eq!(reader.read(b"GET / HTTP/1.1"), Step::Foreign);
    /// ```
    pub fn read<'a>(&mut self, input: &'a [u8]) -> Step<'a> {
        let step = match form::tell(input) {
            Told::Nothing => return Step::Incomplete,
            Told::Foreign => Step::Foreign,
            Told::Form(form, Some(length)) => framed(form, length, input),
            Told::Form(form, None) => match self.unframed(form, input) {
                Step::Incomplete => return Step::Incomplete,
                step => step,
            },
        };
        self.walk = None;
        step
    }

    fn unframed<'a>(&mut self, form: Form, input: &'a [u8]) -> Step<'a> {
        let input = &input[..input.len().min(MESSAGE_BYTES_MAX)];
        let header = match header(form, input) {
            Ok(header) => header,
            Err(Stop::Incomplete) => return Step::Incomplete,
            Err(Stop::Fault(_)) => return Step::Foreign,
        };
        let walk = self.walk.get_or_insert_with(|| Walk::new(header.ends));
        match walk.go_on(input) {
            Ok((found, len)) => header.step(input, found, len),
            Err(Stop::Incomplete) if input.len() < MESSAGE_BYTES_MAX => Step::Incomplete,
            Err(Stop::Incomplete) => header.broken(Fault::TooLong, None),
            Err(Stop::Fault(fault)) => header.broken(fault, None),
        }
    }
}

/// Reads a call whose length comes first, once it is there as a whole.
fn framed(form: Form, length: usize, input: &[u8]) -> Step<'_> {
    let is_too_long = length > MESSAGE_BYTES_MAX;
    let len = FRAME_LENGTH_BYTES + length;
    let there = input.len() >= len;
    if !there && !is_too_long {
        return Step::Incomplete;
    }
    let body = &input[FRAME_LENGTH_BYTES..input.len().min(len)];
    let header = match header(form, body) {
        Ok(header) => header,
        Err(Stop::Incomplete) if !there => return Step::Incomplete,
        Err(_) => return Step::Foreign,
    };
    if is_too_long {
        return header.broken(Fault::TooLong, None);
    }
    match Walk::new(header.ends).go_on(body) {
        Ok((found, ends)) if ends == body.len() => header.step(body, found, len),
        Ok((_, ends)) => header.broken(Fault::Behind(body.len() - ends), Some(len)),
        Err(Stop::Incomplete) => header.broken(Fault::Short, Some(len)),
        Err(Stop::Fault(fault)) => header.broken(fault, Some(len)),
    }
}

/// Reads a header; of a name that cannot be one, nothing is waited for.
fn header(form: Form, input: &[u8]) -> Result<Header<'_>, Stop> {
    let name_at = if form.strict { 4 } else { 0 };
    let name_bytes = fields::length(input, name_at)?;
    if name_bytes > NAME_BYTES_MAX {
        return Err(Stop::Fault(Fault::TooLong));
    }
    let behind = name_at + 4 + name_bytes;
    let name = input.get(name_at + 4..behind).ok_or(Stop::Incomplete)?;
    let (kind_at, number_at) = if form.strict {
        (3, behind)
    } else {
        (behind, behind + 1)
    };
    let [kind] = *fields::bytes(input, kind_at)?;
    let call = Call {
        form,
        name,
        sequence_number: i32::from_be_bytes(*fields::bytes(input, number_at)?),
        oneway: kind == ONEWAY,
        argument: Argument::Missing,
    };
    let ends = number_at + 4;
    Ok(Header { call, kind, ends })
}

impl<'a> Header<'a> {
    /// The call with what was found among its arguments in `body`.
    fn step(self, body: &'a [u8], found: Found, len: usize) -> Step<'a> {
        let argument = match found {
            Found::Nothing => Argument::Missing,
            Found::Text(text) => Argument::Text(&body[text]),
            Found::Other(kind) => Argument::Other(kind),
        };
        let call = Call {
            argument,
            ..self.call
        };
        match self.kind {
            CALL | ONEWAY => Step::Call { call, len },
            other => self.broken(Fault::Kind(other), Some(len)),
        }
    }

    fn broken(self, fault: Fault, len: Option<usize>) -> Step<'a> {
        let call = self.call;
        Step::Broken { call, fault, len }
    }
}

/// What an exception says has happened: the numbers of Thrift's `TApplicationException`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i32)]
pub enum Exception {
    /// There is no such method.
    UnknownMethod = 1,
    /// The message is not a call.
    InvalidMessageType = 2,
    /// The call is right, and there is no answer.
    InternalError = 6,
    /// The call does not fit the method or the protocol.
    ProtocolError = 7,
}

/// Writes the answer to a call: a number.
pub fn reply(out: &mut Vec<u8>, call: &Call<'_>, value: i64) {
    message(out, call, REPLY, |out| {
        out.extend([I64, 0, 0]);
        out.extend(value.to_be_bytes());
    });
}

/// Writes the answer to a call: a refusal.
pub fn refuse(out: &mut Vec<u8>, call: &Call<'_>, exception: Exception, text: &str) {
    message(out, call, EXCEPTION, |out| {
        out.extend([STRING, 0, 1]);
        put_text(out, text.as_bytes());
        out.extend([I32, 0, 2]);
        out.extend((exception as i32).to_be_bytes());
    });
}

#[inline]
fn message(out: &mut Vec<u8>, call: &Call<'_>, kind: u8, fields: impl FnOnce(&mut Vec<u8>)) {
    let begins = out.len();
    if call.form.framed {
        out.extend([0; FRAME_LENGTH_BYTES]);
    }
    if call.form.strict {
        out.extend([0x80, 0x01, 0, kind]);
    }
    put_text(out, call.name);
    if !call.form.strict {
        out.push(kind);
    }
    out.extend(call.sequence_number.to_be_bytes());
    fields(out);
    out.push(0);
    if call.form.framed {
        let length = (out.len() - begins - FRAME_LENGTH_BYTES) as u32;
        out[begins..begins + FRAME_LENGTH_BYTES].copy_from_slice(&length.to_be_bytes());
    }
}

fn put_text(out: &mut Vec<u8>, text: &[u8]) {
    out.extend((text.len() as u32).to_be_bytes());
    out.extend(text);
}

/// The types of messages.
const CALL: u8 = 1;
const REPLY: u8 = 2;
const EXCEPTION: u8 = 3;
const ONEWAY: u8 = 4;

const FRAME_LENGTH_BYTES: usize = 4;
/// The longest name of a method; what claims a longer one is not a call.
const NAME_BYTES_MAX: usize = 256;
/// The longest call, with the length of its frame.
pub const CALL_BYTES_MAX: usize = FRAME_LENGTH_BYTES + MESSAGE_BYTES_MAX;

#[cfg(test)]
mod tests;
