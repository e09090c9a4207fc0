//! What an id holds: its time, and its fields by name.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use super::FormatError;
use crate::layout::{Field, Layout, Role};
use crate::time::Timestamp;

/// The time that ids of a format hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimeShape {
    /// The steps it moves in.
    pub tick: Duration,
    /// The first time that fits.
    pub first: Timestamp,
    /// The last time that fits: the end of the last tick, less a nanosecond.
    pub last: Timestamp,
    /// How many digits after the second are real.
    pub digits: u8,
}

impl TimeShape {
    /// `ticks` ticks from `first_ms` milliseconds after 1970 on.
    pub(crate) const fn new(tick: Duration, first_ms: i64, ticks: u128, digits: u8) -> Self {
        let first = Timestamp::from_unix_millis(first_ms);
        let span = tick.as_nanos() * ticks;
        TimeShape {
            tick,
            first,
            last: Timestamp::from_unix_nanos(first.unix_nanos() + span as i128 - 1),
            digits,
        }
    }

    /// How many ticks there are.
    pub(crate) const fn ticks(&self) -> u128 {
        let span = self.last.unix_nanos() - self.first.unix_nanos() + 1;
        span as u128 / self.tick.as_nanos()
    }

    /// The tick of `time`, rounded down, counted from `first`.
    pub(crate) fn tick_of(&self, time: Timestamp) -> Result<u64, FormatError> {
        let since = time.unix_nanos().saturating_sub(self.first.unix_nanos());
        if since < 0 || time > self.last {
            return Err(FormatError::Time {
                time,
                first: self.first,
                last: self.last,
            });
        }
        Ok((since / self.tick.as_nanos() as i128) as u64)
    }

    /// When tick `tick` begins, and how much of that is real.
    pub(crate) fn time_of(&self, tick: u64) -> IdTime {
        IdTime {
            at: Timestamp::from_unix_nanos(
                self.first.unix_nanos() + i128::from(tick) * self.tick.as_nanos() as i128,
            ),
            digits: self.digits,
        }
    }
}

/// What an id holds.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Details {
    /// When it says it was made: the beginning of its tick, and how many digits of that are real.
    pub time: Option<IdTime>,
    /// Its fields by name, from the highest bit (or first character) to the lowest.
    pub fields: Vec<(Cow<'static, str>, FieldValue)>,
}

impl Details {
    /// What a Snowflake of `layout` holds; `None` if the number is none.
    pub(crate) fn of_layout(id: u128, layout: &Layout) -> Option<Self> {
        let parts = layout.unpack_wide(id).ok()?;
        let fields = layout.fields().iter();
        let fields = fields.filter(|field| !matches!(field.role, Role::Constant(_)));
        let value = |field: &Field| {
            (
                field.name.clone(),
                FieldValue::of_bits(field.of_wide(id), field.bits),
            )
        };
        Some(Details {
            time: Some(IdTime {
                at: layout.time_of(parts.tick),
                digits: digits_of(layout.tick()),
            }),
            fields: fields.map(value).collect(),
        })
    }

    pub(crate) fn new(time: Option<IdTime>) -> Self {
        Details {
            time,
            fields: Vec::new(),
        }
    }

    /// Adds a number of a field `bits` wide.
    pub(crate) fn number(mut self, name: &'static str, value: u64, bits: u32) -> Self {
        self.fields.push((name.into(), FieldValue::of_bits(value, bits)));
        self
    }

    /// Adds text.
    pub(crate) fn text(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.fields.push((name.into(), FieldValue::Text(value.into())));
        self
    }

    /// Adds bytes, as hexadecimal text.
    pub(super) fn hex(self, name: &'static str, bytes: &[u8]) -> Self {
        let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
        let digits = digits.map(|digit| char::from(b"0123456789abcdef"[usize::from(digit)]));
        let value: String = digits.collect();
        self.text(name, value)
    }
}

/// A time in an id, and how much of it is real.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IdTime {
    /// The time.
    pub at: Timestamp,
    /// How many digits after the second the id really has: 7 for UUID versions 1 and 6, 3 for milliseconds.
    pub digits: u8,
}

/// The value of a field.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FieldValue {
    /// A number below 2^53, which every JSON reader takes.
    Number(u64),
    /// A number of a field that may reach 2^53: a string in JSON.
    Big(u64),
    /// Text.
    Text(String),
}

impl FieldValue {
    fn of_bits(value: u64, bits: u32) -> Self {
        match bits {
            ..53 => FieldValue::Number(value),
            _ => FieldValue::Big(value),
        }
    }
}

/// RFC 3339 in UTC, with as many digits after the second as the id really has.
///
/// ```
/// use mintage::{IdTime, Timestamp};
/// let at = Timestamp::from_unix_nanos(-1);
/// assert_eq!(IdTime { at, digits: 7 }.to_string(), "1969-12-31T23:59:59.9999999Z");
/// ```
impl fmt::Display for IdTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.*}", usize::from(self.digits), self.at)
    }
}

/// How many decimal digits of a second write every multiple of a tick: 3 for 1 ms, 2 for 10 ms, 3 for 256 ms, 0 for
/// 1 s.
fn digits_of(tick: Duration) -> u8 {
    let mut digits = 0;
    let mut unit = 1_000_000_000u128;
    while digits < 9 && !tick.as_nanos().is_multiple_of(unit) {
        digits += 1;
        unit /= 10;
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_follow_the_tick() {
        for (tick, digits) in [
            (1_000_000, 3),
            (10_000_000, 2),
            (1_000_000_000, 0),
            (100, 7),
            (1, 9),
            (4_000_000, 3),
            // Was cut to one digit.
            (256_000_000, 3),
        ] {
            assert_eq!(digits_of(Duration::from_nanos(tick)), digits);
        }
    }
}
