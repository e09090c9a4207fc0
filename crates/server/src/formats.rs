//! The formats of ids that a server makes: core's table, and where each comes from here.

use mintage::{Clock, Family, Format, FormatError, GenOption, GenOptions, Generators, Id, MintError};
use mintage_ledger::{AnchoredClock, ClockRefusal};
use mintage_wire::is_made;

use crate::config::edits;
use crate::error::{Code, ServiceError};
use crate::metrics::IdKind;

/// How the ids of a format are made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Make {
    /// UUID version 1 of the pool `uuid1`, whose node and clock sequences are leased.
    Uuid1,
    /// The same with its time in sorting order: version 6.
    Uuid6,
    /// UUID version 4: 122 random bits.
    Uuid4,
    /// UUID version 7: the time in milliseconds, then random bits; strictly increasing within the process.
    Uuid7,
    /// The pool `default`, whose layout is Twitter's.
    Snowflake,
    /// By core alone, from the ledger's clock and the process's random source.
    Core,
}

impl Make {
    /// What its ids are counted by.
    pub fn kind(self) -> IdKind {
        match self {
            Make::Uuid1 => IdKind::Uuid1,
            Make::Uuid6 => IdKind::Uuid6,
            Make::Uuid4 => IdKind::Uuid4,
            Make::Uuid7 => IdKind::Uuid7,
            Make::Snowflake => IdKind::Snowflake,
            Make::Core => IdKind::Other,
        }
    }
}

/// A format that ids can be asked for in.
#[derive(Clone, Copy, Debug)]
pub struct FormatRow {
    /// What it is: the row of core's table.
    pub format: &'static Format,
    /// How its ids are made.
    pub make: Make,
}

/// How a server makes the ids of `format`; `None`: it does not.
fn make_of(format: &Format) -> Option<Make> {
    Some(match format.family {
        Family::Uuid(None | Some(7)) => Make::Uuid7,
        Family::Uuid(Some(1)) => Make::Uuid1,
        Family::Uuid(Some(4)) => Make::Uuid4,
        Family::Uuid(Some(6)) => Make::Uuid6,
        Family::Snowflake => Make::Snowflake,
        _ if format.can_make() => Make::Core,
        _ => return None,
    })
}

/// The format called `name`, by its name or an alias.
///
/// # Errors
/// Names the formats there are, or says that the format is read and not made.
///
/// ```
/// use mintage_server::formats::{Make, format};
/// assert_eq!(format(b"uuid7").map(|f| f.make), Ok(Make::Uuid7));
/// assert_eq!(format(b"ulid").map(|f| f.make), Ok(Make::Core));
/// assert_eq!(format(b"uuid9").unwrap_err().to_string(), "there is no format \"uuid9\"");
/// ```
pub fn format(name: &[u8]) -> Result<FormatRow, ServiceError> {
    let shown = String::from_utf8_lossy(&name[..name.len().min(40)]).into_owned();
    let known = || mintage::FORMATS.iter().filter(|row| is_made(row));
    let list = || known().map(|row| row.name).collect::<Vec<_>>().join(", ");
    if let Some(format) = std::str::from_utf8(name).ok().and_then(mintage::format) {
        return match make_of(format) {
            Some(make) => Ok(FormatRow { format, make }),
            None => Err(ServiceError::new(
                Code::UnknownFormat,
                format!("format {shown} is read, not made here"),
            )
            .with_hint(format!("made are {}", list()))),
        };
    }
    let near = known().find(|row| edits(row.name, &shown.to_lowercase(), 1) == Some(1));
    let hint = match near {
        Some(near) => format!("did you mean {}? known are {}", near.name, list()),
        None => format!("known are {}", list()),
    };
    Err(ServiceError::new(Code::UnknownFormat, format!("there is no format {shown:?}")).with_hint(hint))
}

impl FormatRow {
    /// Sets the option called `name` from text.
    ///
    /// # Errors
    /// [`Code::InvalidArgument`]: the format takes no such option, or not this value.
    pub fn set(&self, options: &mut GenOptions, name: &[u8], value: &[u8]) -> Result<(), ServiceError> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(&bytes[..bytes.len().min(40)]).into_owned();
        let option = std::str::from_utf8(name).ok().and_then(GenOption::from_name);
        let Some(option) = option.filter(|option| self.format.options.contains(option)) else {
            let takes: Vec<&str> = self.format.options.iter().map(|option| option.name()).collect();
            let takes = if takes.is_empty() {
                "none".into()
            } else {
                takes.join(", ")
            };
            let message = format!("format {} has no option {:?}", self.format.name, text(name));
            return Err(
                ServiceError::new(Code::InvalidArgument, message).with_hint(format!("it takes {takes}"))
            );
        };
        let value = std::str::from_utf8(value).map_err(|_| {
            let message = format!("option {} is not text: {:?}", option.name(), text(value));
            ServiceError::new(Code::InvalidArgument, message)
        })?;
        options.set(option, value).map_err(refused)
    }

    /// Makes `count` ids with core alone, of the time that `clock` tells.
    ///
    /// # Errors
    /// [`Code::InvalidArgument`] for options that cannot be or an answer that would be too long,
    /// [`Code::Unavailable`] where the clock does not allow it, or no id gets the time of `clock` and these carry it.
    pub fn make(
        &self,
        clock: &AnchoredClock,
        options: &GenOptions,
        count: usize,
    ) -> Result<Vec<Id>, ServiceError> {
        self.check_answer(options, count)?;
        let mut ids = vec![Id::default(); count];
        let make = |generators: &Generators, clock: &dyn Clock| {
            self.format.make_many_by(generators, clock, options, &mut ids)
        };
        let made = match self.format.time {
            Some(_) => clock
                .make(make)
                .map_err(|refusal| no_time(self.format.name, &refusal))?,
            None => clock.make_timeless(make),
        };
        made.map_err(refused)?;
        Ok(ids)
    }

    /// Refuses an answer that would be too long.
    ///
    /// # Errors
    /// [`Code::InvalidArgument`], with the bound.
    pub fn check_answer(&self, options: &GenOptions, count: usize) -> Result<(), ServiceError> {
        let longest = options.length.unwrap_or(0).max(self.format.text_len.0);
        if longest.saturating_mul(count) > CHARACTERS_MAX {
            let message = format!("{count} ids of {longest} characters, an answer holds {CHARACTERS_MAX}");
            return Err(
                ServiceError::new(Code::InvalidArgument, message).with_hint("ask for fewer at a time")
            );
        }
        Ok(())
    }
}

/// The most characters of ids in one answer.
const CHARACTERS_MAX: usize = 1 << 20;

/// That ids of a format are refused since the clocks disagree.
pub fn no_time(format: &str, refusal: &ClockRefusal) -> ServiceError {
    ServiceError::new(Code::Unavailable, format!("{format}: {refusal}"))
        .with_retry_after_s(ClockRefusal::RETRY_AFTER_S)
}

/// What core refuses, as the service says it.
fn refused(error: FormatError) -> ServiceError {
    let message = error.to_string();
    match error {
        FormatError::Mint(MintError::TimeFieldFull) => ServiceError::new(Code::Exhausted, message),
        FormatError::Mint(_) | FormatError::Full => {
            ServiceError::new(Code::Unavailable, message).with_retry_after_s(1)
        }
        _ => ServiceError::new(Code::InvalidArgument, message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock() -> AnchoredClock {
        let tokio = tokio::runtime::Builder::new_current_thread()
            .build()
            .expect("a runtime");
        let runtime = mintage_ledger::SystemRuntime::new(tokio.handle().clone());
        AnchoredClock::new(runtime, None, std::time::Duration::ZERO)
    }

    #[test]
    fn every_format_is_made_or_refused_with_the_reason() {
        let clock = clock();
        for row in mintage::FORMATS {
            assert_eq!(make_of(row).is_some(), is_made(row), "{}", row.name);
            match format(row.name.as_bytes()) {
                Ok(found) => {
                    assert_eq!(found.format.name, row.name);
                    // What comes from core alone needs no more than its options.
                    if found.make == Make::Core {
                        let made = found.make(&clock, &row.example_options(), 3);
                        assert_eq!(made.expect("made").len(), 3);
                    }
                }
                Err(error) => assert!(error.to_string().contains("read, not made"), "{}", row.name),
            }
        }
    }

    #[test]
    fn options_come_from_text_and_answers_have_a_bound() {
        let nanoid = format(b"nanoid").expect("a format");
        let mut options = GenOptions::default();
        nanoid.set(&mut options, b"length", b"4096").expect("a length");
        assert_eq!(
            nanoid
                .make(&clock(), &options, 256)
                .expect("within the bound")
                .len(),
            256
        );
        let refused = nanoid.make(&clock(), &options, 257).expect_err("past the bound");
        assert_eq!(refused.code, Code::InvalidArgument);
        for (name, value) in [
            (&b"prefix"[..], &b"a"[..]),
            (b"nosuch", b""),
            (b"length", b"x"),
            (b"length", b"\xff"),
        ] {
            assert!(nanoid.set(&mut options, name, value).is_err());
        }
    }
}
