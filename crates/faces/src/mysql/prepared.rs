//! Prepared statements of a connection, and the values that come with each execution.

use std::collections::HashMap;
use std::rc::Rc;

use super::packet::Reader;
use super::plan::Parsed;
use super::refusal::Refusal;
use super::value::{Digits, Value};
use mintage_server::chassis::kept::{Full, Keeping, KeptBytes, allocated};

/// How many statements a connection may have prepared.
pub(crate) const STATEMENTS_MAX: usize = 256;
/// The id that stands for the statement that was prepared last.
const LAST: u32 = u32::MAX;

/// A connection's prepared statements.
#[derive(Debug)]
pub(crate) struct Prepared {
    statements: HashMap<u32, One>,
    next: u32,
    /// The one that was prepared last, if that went well.
    last: Option<u32>,
    keeping: Keeping,
}

/// A prepared statement.
#[derive(Debug)]
struct One {
    parsed: Rc<Parsed>,
    /// The types of its values, from the first execution on.
    types: Vec<Type>,
    ahead: Ahead,
    _kept: KeptBytes,
}

/// Values that were sent ahead, by their places.
#[derive(Debug)]
struct Ahead {
    values: HashMap<u16, Vec<u8>>,
    /// How long they are together.
    bytes: usize,
    kept: KeptBytes,
    /// Why there is one that was not kept, which is told when the statement is executed.
    refused: Option<Full>,
}

impl Ahead {
    fn new(keeping: &Keeping) -> Ahead {
        Ahead {
            values: HashMap::new(),
            bytes: 0,
            kept: keeping.nothing(),
            refused: None,
        }
    }

    /// Takes a part of a value, of which one byte more than fits is kept: that says that it did not.
    fn add(&mut self, place: u16, part: &[u8], bytes_max: usize) {
        let room = (bytes_max + 1).saturating_sub(self.bytes);
        let part = &part[..part.len().min(room)];
        let is_new = !self.values.contains_key(&place);
        // A value grows by doubling, and its place is in a map that may be half empty.
        let place_bytes = if is_new {
            2 * size_of::<(u16, Vec<u8>)>() + allocated(1)
        } else {
            0
        };
        match self.kept.grow(2 * part.len() + place_bytes) {
            Ok(()) => {
                self.bytes += part.len();
                self.values.entry(place).or_default().extend_from_slice(part);
            }
            Err(full) => self.refused = Some(full),
        }
    }
}

impl Prepared {
    /// None of them.
    pub(crate) fn new(keeping: &Keeping) -> Prepared {
        Prepared {
            statements: HashMap::new(),
            next: 0,
            last: None,
            keeping: keeping.clone(),
        }
    }

    /// Keeps a statement; its id.
    ///
    /// # Errors
    /// There are too many, or they take too much.
    pub(crate) fn add(&mut self, parsed: Rc<Parsed>) -> Result<u32, Refusal> {
        self.last = None;
        if self.statements.len() >= STATEMENTS_MAX {
            return Err(Refusal::too_many_statements(STATEMENTS_MAX));
        }
        // With the types that executions bring, and its place in a map that may be half empty.
        let types = allocated(parsed.parameters * size_of::<Type>());
        let kept = self
            .keeping
            .keep(parsed.bytes + types + 2 * size_of::<(u32, One)>())?;
        loop {
            self.next = self.next.wrapping_add(1);
            let free = !self.statements.contains_key(&self.next);
            if free && self.next != LAST && self.next != 0 {
                break;
            }
        }
        let one = One {
            parsed,
            types: Vec::new(),
            ahead: Ahead::new(&self.keeping),
            _kept: kept,
        };
        self.statements.insert(self.next, one);
        self.last = Some(self.next);
        Ok(self.next)
    }

    /// A statement could not be prepared.
    pub(crate) fn failed(&mut self) {
        self.last = None;
    }

    /// Forgets a statement.
    pub(crate) fn close(&mut self, id: u32) {
        self.statements.remove(&self.id(id));
    }

    /// Forgets what was sent ahead for a statement; `false`: there is none.
    pub(crate) fn reset(&mut self, id: u32) -> bool {
        let one = self.statements.get_mut(&self.id(id));
        one.map(|one| one.ahead = Ahead::new(&self.keeping)).is_some()
    }

    fn id(&self, id: u32) -> u32 {
        match id {
            LAST => self.last.unwrap_or(LAST),
            id => id,
        }
    }

    /// Takes a part of a value that is sent ahead. Nothing is answered: what does not fit is told when it is executed.
    pub(crate) fn send_ahead(&mut self, id: u32, place: u16, part: &[u8], bytes_max: usize) {
        let id = self.id(id);
        let Some(one) = self.statements.get_mut(&id) else {
            return;
        };
        if usize::from(place) < one.parsed.parameters {
            one.ahead.add(place, part, bytes_max);
        }
    }

    /// A statement with the values of one execution, out of what stands behind its id.
    ///
    /// # Errors
    /// There is none, or the values are not read.
    pub(crate) fn execute(
        &mut self,
        id: u32,
        body: &[u8],
        bytes_max: usize,
    ) -> Result<(Rc<Parsed>, Vec<Value>), Refusal> {
        let at = self.id(id);
        let Some(one) = self.statements.get_mut(&at) else {
            return Err(Refusal::no_statement(id, "mysqld_stmt_execute"));
        };
        let parsed = Rc::clone(&one.parsed);
        if one.ahead.values.is_empty() && one.ahead.refused.is_none() {
            let values = values(body, parsed.parameters, &mut one.types, HashMap::new())?;
            return Ok((parsed, values));
        }
        let ahead = std::mem::replace(&mut one.ahead, Ahead::new(&self.keeping));
        if let Some(full) = ahead.refused {
            return Err(full.into());
        }
        if ahead.bytes > bytes_max {
            return Err(Refusal {
                ends_connection: false,
                ..Refusal::too_long()
            });
        }
        let values = values(body, parsed.parameters, &mut one.types, ahead.values)?;
        Ok((parsed, values))
    }
}

/// The type of a value: what it is, and whether it has no sign.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Type(u8, bool);

/// Reads the values of one execution: `body` begins at the flags. Types are kept, for executions that bring none.
///
/// # Errors
/// They are cut short, or of a type that is not read.
pub(crate) fn values(
    body: &[u8],
    parameters: usize,
    types: &mut Vec<Type>,
    mut long: HashMap<u16, Vec<u8>>,
) -> Result<Vec<Value>, Refusal> {
    let mut reader = Reader::new(body);
    // Flags that ask for a cursor, and how often: once.
    reader.bytes(1 + 4).ok_or_else(Refusal::malformed)?;
    if parameters == 0 {
        return Ok(Vec::new());
    }
    let nulls = reader
        .bytes(parameters.div_ceil(8))
        .ok_or_else(Refusal::malformed)?;
    if reader.byte().ok_or_else(Refusal::malformed)? == 1 {
        let mut read = || {
            reader
                .array::<2>()
                .map(|[kind, flags]| Type(kind, flags & 0x80 != 0))
        };
        let new: Option<Vec<Type>> = (0..parameters).map(|_| read()).collect();
        *types = new.ok_or_else(Refusal::malformed)?;
    }
    if types.len() != parameters {
        return Err(Refusal::malformed());
    }
    let mut all = Vec::with_capacity(parameters);
    for (place, kind) in types.iter().enumerate() {
        let ahead = u16::try_from(place).ok().and_then(|place| long.remove(&place));
        all.push(match ahead {
            Some(text) => Value::Text(text.into()),
            None if nulls[place / 8] & (1 << (place % 8)) != 0 => Value::Null,
            None => value(&mut reader, *kind).ok_or_else(Refusal::malformed)?,
        });
    }
    Ok(all)
}

fn value(reader: &mut Reader<'_>, Type(kind, unsigned): Type) -> Option<Value> {
    let signed = |number: i64| Some(Value::Integer(number));
    let whole = |number: u64| {
        Some(match i64::try_from(number) {
            Ok(number) => Value::Integer(number),
            Err(_) => Value::Unsigned(number),
        })
    };
    match (kind, unsigned) {
        (1, false) => signed(i8::from_le_bytes(reader.array()?).into()),
        (1, true) => whole(reader.byte()?.into()),
        (2 | 13, false) => signed(i16::from_le_bytes(reader.array()?).into()),
        (2 | 13, true) => whole(reader.u16()?.into()),
        (3 | 9, false) => signed(i32::from_le_bytes(reader.array()?).into()),
        (3 | 9, true) => whole(reader.u32()?.into()),
        (8, false) => signed(i64::from_le_bytes(reader.array()?)),
        (8, true) => whole(u64::from_le_bytes(reader.array()?)),
        (4, _) => Some(of_float(f32::from_le_bytes(reader.array()?).into())),
        (5, _) => Some(of_float(f64::from_le_bytes(reader.array()?))),
        (6, _) => Some(Value::Null),
        (7 | 10 | 12, _) => moment(reader),
        (11, _) => time(reader),
        (0 | 246, _) => reader.text().map(|text| Value::Decimal(text.into())),
        (15 | 16 | 245 | 247..=254, _) => reader.text().map(Value::text),
        _ => None,
    }
}

/// JavaScript's clients send every number so.
fn of_float(number: f64) -> Value {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match number.fract() == 0.0 && number.abs() <= EXACT {
        true => Value::Integer(number as i64),
        false => Value::Decimal(number.to_string().into_bytes().into()),
    }
}

/// A date, with its time where it has one.
fn moment(reader: &mut Reader<'_>) -> Option<Value> {
    let len = reader.byte()?;
    let mut parts = Reader::new(reader.bytes(len.into())?);
    if len == 0 {
        return Some(Value::text("0000-00-00 00:00:00"));
    }
    let (year, month, day) = (parts.u16()?, parts.byte()?, parts.byte()?);
    let mut text = format!("{year:04}-{month:02}-{day:02}");
    if len >= 7 {
        let (hour, minute, second) = (parts.byte()?, parts.byte()?, parts.byte()?);
        text.push_str(&format!(" {hour:02}:{minute:02}:{second:02}"));
    }
    Some(Value::text(text))
}

/// A time of day, or longer.
fn time(reader: &mut Reader<'_>) -> Option<Value> {
    let len = reader.byte()?;
    let mut parts = Reader::new(reader.bytes(len.into())?);
    if len == 0 {
        return Some(Value::text("00:00:00"));
    }
    let (sign, days) = (parts.byte()?, parts.u32()?);
    let (hour, minute, second) = (parts.byte()?, parts.byte()?, parts.byte()?);
    let hours = u64::from(days) * 24 + u64::from(hour);
    let sign = if sign == 0 { "" } else { "-" };
    let hours = String::from_utf8_lossy(Digits::of_unsigned(hours).as_bytes()).into_owned();
    Some(Value::text(format!("{sign}{hours:0>2}:{minute:02}:{second:02}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mysql::grammar::parse;

    fn read(parameters: usize, rest: &[u8]) -> Result<Vec<Value>, u16> {
        let body = [&[0, 1, 0, 0, 0][..], rest].concat();
        values(&body, parameters, &mut Vec::new(), HashMap::new()).map_err(|refusal| refusal.errno)
    }

    #[test]
    fn values_are_read_by_their_types() {
        let all = read(
            4,
            b"\x02\x01\x08\0\x06\0\x03\x80\xfd\0\xff\xff\xff\xff\xff\xff\xff\xff\x05\0\0\0\x02ab",
        );
        assert_eq!(
            all,
            Ok(vec![
                Value::Integer(-1),
                Value::Null,
                Value::Integer(5),
                Value::text("ab")
            ])
        );
        for (bytes, expected) in [
            (
                &b"\0\x01\x08\x80\xff\xff\xff\xff\xff\xff\xff\xff"[..],
                Value::Unsigned(u64::MAX),
            ),
            (b"\0\x01\x01\0\xff", Value::Integer(-1)),
            (b"\0\x01\x02\x80\xff\xff", Value::Integer(65_535)),
            (b"\0\x01\x05\0\0\0\0\0\0\0\x14\x40", Value::Integer(5)),
            (
                b"\0\x01\x0c\0\x07\xe8\x07\x01\x02\x03\x04\x05",
                Value::text("2024-01-02 03:04:05"),
            ),
            (
                b"\0\x01\x0b\0\x08\x01\x01\0\0\0\x02\x03\x04",
                Value::text("-26:03:04"),
            ),
            (b"\0\x01\0\0\x031.5", Value::Decimal((*b"1.5").into())),
        ] {
            assert_eq!(read(1, bytes), Ok(vec![expected]));
        }
    }

    #[test]
    fn values_that_are_cut_short_are_refused() {
        let whole = b"\0\x01\x08\0\xfd\0\x05\0\0\0\0\0\0\0\x02ab";
        assert!(read(2, whole).is_ok());
        for cut in 0..whole.len() {
            assert_eq!(read(2, &whole[..cut]), Err(1835), "{cut}");
        }
        // No types yet, and one that is not read.
        assert_eq!(read(1, b"\0\0\x05"), Err(1835));
        assert_eq!(read(1, b"\0\x01\xff\0\x05"), Err(1835));
    }

    #[test]
    fn statements_have_ids_and_the_last_has_another() {
        let mut prepared = Prepared::new(&Keeping::default());
        let parsed = || Rc::new(parse("SELECT ?"));
        let id = prepared.add(parsed()).unwrap();
        let values = b"\0\x01\0\0\0\0\x01\x01\0\x07";
        assert_eq!(
            prepared.execute(LAST, values, 100).unwrap().1,
            [Value::Integer(7)]
        );
        // Types are known from here on.
        let again = b"\0\x01\0\0\0\0\0\x08";
        assert_eq!(prepared.execute(id, again, 100).unwrap().1, [Value::Integer(8)]);
        prepared.send_ahead(id, 0, b"ab", 100);
        prepared.send_ahead(id, 0, b"cd", 100);
        prepared.send_ahead(id, 1, b"beyond", 100);
        prepared.send_ahead(9, 0, b"unknown", 100);
        let ahead = b"\0\x01\0\0\0\0\x01\xfd\0";
        assert_eq!(prepared.execute(id, ahead, 100).unwrap().1, [Value::text("abcd")]);
        prepared.send_ahead(id, 0, &[b'x'; 200], 100);
        assert_eq!(prepared.execute(id, ahead, 100).unwrap_err().errno, 1153);
        prepared.close(id);
        assert_eq!(prepared.execute(id, values, 100).unwrap_err().errno, 1243);
        for _ in 0..STATEMENTS_MAX {
            prepared.add(parsed()).unwrap();
        }
        assert_eq!(prepared.add(parsed()).unwrap_err().errno, 1461);
        assert_eq!(prepared.execute(LAST, values, 100).unwrap_err().errno, 1243);
    }
}
