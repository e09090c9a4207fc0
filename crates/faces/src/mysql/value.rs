//! Values, as they stand in rows: as text, and as bytes in answers to prepared statements.

use super::packet::put_text;

/// A value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Value {
    /// SQL's NULL.
    Null,
    /// A number.
    Integer(i64),
    /// A number without a sign.
    Unsigned(u64),
    /// A number with a fraction, as it was written.
    Decimal(Box<[u8]>),
    /// A text.
    Text(Box<[u8]>),
}

/// What the values of a column are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Nothing but NULL.
    Null,
    /// Numbers.
    Integer,
    /// Numbers without a sign.
    Unsigned,
    /// Numbers with a fraction.
    Decimal,
    /// Texts.
    Text,
}

/// Digits of a number of 64 bits.
#[derive(Clone, Copy, Debug)]
pub struct Digits {
    bytes: [u8; 20],
    from: usize,
}

impl Digits {
    /// Those of a number with a sign.
    #[inline]
    pub fn of(number: i64) -> Digits {
        let mut digits = Digits::of_unsigned(number.unsigned_abs());
        if number < 0 {
            digits.from -= 1;
            digits.bytes[digits.from] = b'-';
        }
        digits
    }

    /// Those of a number without one.
    #[inline]
    pub fn of_unsigned(mut number: u64) -> Digits {
        let mut digits = Digits {
            bytes: [0; 20],
            from: 20,
        };
        loop {
            digits.from -= 1;
            digits.bytes[digits.from] = b'0' + (number % 10) as u8;
            number /= 10;
            if number == 0 {
                return digits;
            }
        }
    }

    /// As text.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[self.from..]
    }
}

impl Value {
    /// A text.
    pub fn text(text: impl AsRef<[u8]>) -> Value {
        Value::Text(text.as_ref().into())
    }

    /// What it is.
    pub fn kind(&self) -> Kind {
        match self {
            Value::Null => Kind::Null,
            Value::Integer(_) => Kind::Integer,
            Value::Unsigned(_) => Kind::Unsigned,
            Value::Decimal(_) => Kind::Decimal,
            Value::Text(_) => Kind::Text,
        }
    }

    /// The number that it is, or that a text of it reads.
    pub fn as_integer(&self) -> Option<i128> {
        match self {
            Value::Null => None,
            Value::Integer(number) => Some((*number).into()),
            Value::Unsigned(number) => Some((*number).into()),
            Value::Decimal(text) | Value::Text(text) => {
                let text = std::str::from_utf8(text).ok()?.trim_ascii();
                // 1.000 is a number, 1.5 is none.
                let whole = match text.split_once('.') {
                    Some((whole, fraction)) if fraction.bytes().all(|digit| digit == b'0') => whole,
                    _ => text,
                };
                whole.parse().ok()
            }
        }
    }

    /// As text; `None` for NULL.
    pub fn to_text(&self) -> Option<Vec<u8>> {
        Some(match self {
            Value::Null => return None,
            Value::Integer(number) => Digits::of(*number).as_bytes().to_vec(),
            Value::Unsigned(number) => Digits::of_unsigned(*number).as_bytes().to_vec(),
            Value::Decimal(text) | Value::Text(text) => text.to_vec(),
        })
    }

    /// Whether it counts as true.
    pub fn is_true(&self) -> bool {
        self.as_integer().is_some_and(|number| number != 0)
    }

    /// Appends it to a row of texts.
    #[inline]
    pub fn put_text(&self, out: &mut Vec<u8>) {
        match self {
            Value::Null => out.push(0xfb),
            Value::Integer(number) => put_text(out, Digits::of(*number).as_bytes()),
            Value::Unsigned(number) => put_text(out, Digits::of_unsigned(*number).as_bytes()),
            Value::Decimal(text) | Value::Text(text) => put_text(out, text),
        }
    }

    /// Appends it to a row of bytes, in a column of this kind.
    #[inline]
    fn put_binary(&self, kind: Kind, out: &mut Vec<u8>) {
        match (self, kind) {
            (Value::Null, _) => {}
            (Value::Integer(number), Kind::Integer | Kind::Unsigned) => {
                out.extend_from_slice(&number.to_le_bytes());
            }
            (Value::Unsigned(number), Kind::Integer | Kind::Unsigned) => {
                out.extend_from_slice(&number.to_le_bytes());
            }
            // A column of numbers has nothing else: what is read as none is 0, as the original has it.
            (value, Kind::Integer | Kind::Unsigned) => {
                let number = value.as_integer().and_then(|number| i64::try_from(number).ok());
                out.extend_from_slice(&number.unwrap_or(0).to_le_bytes());
            }
            (value, _) => value.put_text(out),
        }
    }
}

/// Appends a row of texts.
pub fn put_row(out: &mut Vec<u8>, values: &[Value]) {
    values.iter().for_each(|value| value.put_text(out));
}

/// Appends a row of bytes: which of them are NULL, then the others.
pub fn put_binary_row(out: &mut Vec<u8>, values: &[Value], kinds: &[Kind]) {
    out.push(0);
    let nulls = out.len();
    // Two bits are kept free.
    out.resize(nulls + (values.len() + 2).div_ceil(8), 0);
    for (at, (value, kind)) in values.iter().zip(kinds).enumerate() {
        // A column of nothing but NULL has no other value.
        if *value == Value::Null || *kind == Kind::Null {
            out[nulls + (at + 2) / 8] |= 1 << ((at + 2) % 8);
        } else {
            value.put_binary(*kind, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_those_of_the_number() {
        for number in [0, 7, -7, i64::MAX, i64::MIN] {
            assert_eq!(Digits::of(number).as_bytes(), number.to_string().as_bytes());
        }
        assert_eq!(
            Digits::of_unsigned(u64::MAX).as_bytes(),
            u64::MAX.to_string().as_bytes()
        );
    }

    #[test]
    fn texts_read_as_numbers_where_they_are_whole() {
        for (text, number) in [
            ("5", Some(5)),
            (" -7 ", Some(-7)),
            ("1.000", Some(1)),
            ("1.5", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(Value::text(text).as_integer(), number, "{text}");
        }
        assert!(Value::Integer(1).is_true() && !Value::Null.is_true() && !Value::text("a").is_true());
    }

    #[test]
    fn rows_have_their_nulls_and_their_bytes() {
        let values = [Value::Integer(-1), Value::Null, Value::text("ab")];
        let mut out = Vec::new();
        put_row(&mut out, &values);
        assert_eq!(out, b"\x02-1\xfb\x02ab");
        out.clear();
        put_binary_row(&mut out, &values, &[Kind::Integer, Kind::Integer, Kind::Text]);
        assert_eq!(out, b"\0\x08\xff\xff\xff\xff\xff\xff\xff\xff\x02ab");
        out.clear();
        let nine: Vec<Value> = (0..9).map(|_| Value::Null).collect();
        put_binary_row(&mut out, &nine, &[Kind::Null; 9]);
        assert_eq!(out, b"\0\xfc\x07");
    }
}
