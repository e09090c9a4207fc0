//! The times in a column: RFC 3339 and its kin, numbers since 1970, and forms of your own; with or without a zone.

mod fast;
pub(crate) mod unit;

use jiff::civil;
use jiff::fmt::strtime::BrokenDownTime;
use jiff::fmt::{rfc2822, strtime, temporal};
use jiff::tz::{AmbiguousOffset, Offset, TimeZone};
use mintage::Timestamp;
use serde::{Deserialize, Serialize};

use crate::error::{Error, nearest, shown};
use crate::hint::Hint;
pub use unit::UnixUnit;

/// How the times of a column are written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TimeFormat {
    /// RFC 3339, ISO 8601 and what is near them: `2024-05-01T12:00:00Z`, `2024-05-01 12:00:00,123 +0200`,
    /// `20240501T120000Z`. Numbers are not guessed at.
    Auto,
    /// A number since 1970-01-01T00:00:00Z, with or without a fraction.
    Unix(UnixUnit),
    /// `Wed, 01 May 2024 12:00:00 +0200`.
    Rfc2822,
    /// As `strptime` has it: `%d/%b/%Y:%H:%M:%S %z`.
    Strptime(String),
}

impl TimeFormat {
    /// Every form that has a name.
    pub const NAMED: &[(&str, TimeFormat)] = &[
        ("auto", TimeFormat::Auto),
        ("unix", TimeFormat::Unix(UnixUnit::Seconds)),
        ("unix-ms", TimeFormat::Unix(UnixUnit::Millis)),
        ("unix-us", TimeFormat::Unix(UnixUnit::Micros)),
        ("unix-ns", TimeFormat::Unix(UnixUnit::Nanos)),
        ("rfc2822", TimeFormat::Rfc2822),
    ];

    /// A form by its name, or by `strptime`'s signs.
    ///
    /// # Errors
    /// It is neither, in words.
    ///
    /// ```
    /// use mintage_bulk::{TimeFormat, UnixUnit};
    /// assert_eq!("unix-ms".parse(), Ok(TimeFormat::Unix(UnixUnit::Millis)));
    /// assert!("unix-hours".parse::<TimeFormat>().is_err());
    /// ```
    pub fn from_name(text: &str) -> Result<TimeFormat, String> {
        if let Some((_, format)) = Self::NAMED.iter().find(|(name, _)| *name == text) {
            return Ok(format.clone());
        }
        if !text.contains('%') {
            let names: Vec<&str> = Self::NAMED.iter().map(|(name, _)| *name).collect();
            return Err(format!(
                "{text:?} is not a time format: write {}, or as strptime does, %Y-%m-%d %H:%M:%S",
                names.join(", ")
            ));
        }
        // Writing a time in this form tells whether every sign is known.
        match strtime::format(
            text,
            &jiff::Zoned::new(jiff::Timestamp::UNIX_EPOCH, TimeZone::UTC),
        ) {
            Ok(_) => Ok(TimeFormat::Strptime(text.to_string())),
            Err(error) => Err(format!("{text:?}: {error}")),
        }
    }
}

impl std::str::FromStr for TimeFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<TimeFormat, String> {
        TimeFormat::from_name(text)
    }
}

/// Which of the two instants is meant by a local time that a clock shows twice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fold {
    /// The first.
    Earlier,
    /// The second.
    Later,
}

/// How to read the times of a column.
#[derive(Clone, Debug)]
pub struct TimeRules {
    /// How they are written.
    pub format: TimeFormat,
    /// Where those without a zone were written.
    pub zone: Option<Zone>,
    /// What to do with a local time that happened twice; without, it is refused.
    pub fold: Option<Fold>,
}

/// A time zone.
#[derive(Clone, Debug)]
pub struct Zone(TimeZone);

impl Zone {
    /// A zone by its name in the time zone database (`Europe/Berlin`), `UTC`, or an offset (`+02:00`).
    ///
    /// # Errors
    /// It is none of them, in words.
    ///
    /// ```
    /// use mintage_bulk::Zone;
    /// assert!(Zone::from_name("Europe/Berlin").is_ok() && Zone::from_name("+05:30").is_ok());
    /// assert!(Zone::from_name("Europe/Berlim").unwrap_err().contains("Europe/Berlin"));
    /// ```
    pub fn from_name(text: &str) -> Result<Zone, String> {
        if matches!(text, "UTC" | "utc" | "Z" | "z") {
            return Ok(Zone(TimeZone::UTC));
        }
        if let Some(seconds) = fast::offset(text.as_bytes()) {
            let offset = Offset::from_seconds(seconds).map_err(|e| format!("{text:?}: {e}"))?;
            return Ok(Zone(TimeZone::fixed(offset)));
        }
        TimeZone::get(text).map(Zone).map_err(|_| {
            let database = jiff::tz::db();
            let names: Vec<String> = database.available().map(|name| name.to_string()).collect();
            match nearest(text, names.iter().map(String::as_str)) {
                Some(near) => format!("there is no time zone {text:?}; did you mean {near}?"),
                None => format!("there is no time zone {text:?}: write Europe/Berlin, UTC or +02:00"),
            }
        })
    }
}

/// Why a text is not read as a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TimeProblem {
    Empty,
    NotATime,
    /// It says no zone, and none was given.
    NoZone,
    /// A clock showed it twice.
    Twice,
    /// No clock ever showed it.
    Never,
}

impl TimeProblem {
    /// What kind of fault it is, whatever the text.
    pub(crate) fn kind(self) -> &'static str {
        match self {
            TimeProblem::Empty => "the time is empty",
            TimeProblem::NotATime => "the text is not a time",
            TimeProblem::NoZone => "the time does not name its time zone",
            TimeProblem::Twice => "the time happened twice, when the clocks were set back",
            TimeProblem::Never => "the time never happened: the clocks were set forward over it",
        }
    }

    /// In words, without the line.
    pub(crate) fn words(self, text: &[u8], format: &TimeFormat) -> String {
        let text = shown(text);
        match self {
            TimeProblem::Empty => "the time is empty".into(),
            TimeProblem::NotATime => match format {
                TimeFormat::Auto => format!("{text} is not a time"),
                TimeFormat::Unix(_) => format!("{text} is not a number since 1970"),
                TimeFormat::Rfc2822 => format!("{text} is not a time as mail has it"),
                TimeFormat::Strptime(form) => format!("{text} is not a time of the form {form:?}"),
            },
            TimeProblem::NoZone => format!("{text} does not name its time zone"),
            TimeProblem::Twice => format!("{text} happened twice, when the clocks were set back"),
            TimeProblem::Never => format!("{text} never happened: the clocks were set forward over it"),
        }
    }

    pub(crate) fn hint(self, text: &[u8], format: &TimeFormat) -> Option<Hint> {
        match self {
            TimeProblem::NoZone => Some(Hint::Zone),
            TimeProblem::Twice => Some(Hint::Fold),
            TimeProblem::NotATime if *format == TimeFormat::Auto => {
                let digits = text.split(|b| *b == b'.').next().unwrap_or_default();
                if !digits.iter().all(u8::is_ascii_digit) {
                    return Some(Hint::TimeFormat);
                }
                // What would lie between 1973 and 2286.
                let unit = match digits.len() {
                    9 | 10 => UnixUnit::Seconds,
                    12 | 13 => UnixUnit::Millis,
                    15 | 16 => UnixUnit::Micros,
                    18 | 19 => UnixUnit::Nanos,
                    _ => return Some(Hint::TimeFormat),
                };
                Some(Hint::Unix(unit))
            }
            _ => None,
        }
    }
}

/// What was seen of zones.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Deserialize, Debug)]
pub struct ZonesSeen {
    /// How many times said their offset, by offset in seconds east; beyond 64 different ones all are counted as the
    /// last.
    pub offsets: Vec<(i32, u64)>,
    /// How many times said no zone and were read in the given one.
    pub without: u64,
    /// The first line with an offset, and the first without.
    pub first_with: Option<u64>,
    /// See `first_with`.
    pub first_without: Option<u64>,
}

impl ZonesSeen {
    #[inline]
    fn with(&mut self, seconds: i32, line: u64) {
        self.first_with.get_or_insert(line);
        // The offset of the last time is the likeliest.
        if let Some((last, count)) = self.offsets.last_mut()
            && *last == seconds
        {
            *count += 1;
            return;
        }
        match self.offsets.iter().position(|(known, _)| *known == seconds) {
            Some(at) => {
                self.offsets[at].1 += 1;
                let last = self.offsets.len() - 1;
                self.offsets.swap(at, last);
            }
            None if self.offsets.len() < 64 => self.offsets.push((seconds, 1)),
            None => self.offsets[63].1 += 1,
        }
    }

    /// Whether some times said a zone and others did not.
    pub fn mixed(&self) -> bool {
        self.first_with.is_some() && self.first_without.is_some()
    }
}

/// Reads the times of one column.
pub(crate) struct TimeReader {
    rules: TimeRules,
    pub(crate) seen: ZonesSeen,
    days: fast::DayMemo,
    minute: Option<(i64, Offset)>,
}

impl TimeReader {
    pub(crate) fn new(rules: TimeRules) -> TimeReader {
        TimeReader {
            rules,
            seen: ZonesSeen::default(),
            days: fast::DayMemo::default(),
            minute: None,
        }
    }

    pub(crate) fn format(&self) -> &TimeFormat {
        &self.rules.format
    }

    /// Reads one time.
    #[inline]
    pub(crate) fn read(&mut self, text: &[u8], line: u64) -> Result<Timestamp, TimeProblem> {
        let text = text.trim_ascii();
        if text.is_empty() {
            return Err(TimeProblem::Empty);
        }
        match &self.rules.format {
            TimeFormat::Auto => match fast::read(text, &mut self.days) {
                Some(read) => match read.east {
                    Some(east) => {
                        self.seen.with(east, line);
                        Ok(nanos(read.seconds - i64::from(east), read.nanos))
                    }
                    None => self.local(read.seconds, read.nanos, line),
                },
                None => self.slow(text, line),
            },
            TimeFormat::Unix(unit) => {
                let unit = *unit;
                unix(text, unit).ok_or(TimeProblem::NotATime)
            }
            TimeFormat::Rfc2822 => {
                let read = rfc2822::DateTimeParser::new().parse_zoned(text);
                let zoned = read.map_err(|_| TimeProblem::NotATime)?;
                self.seen.with(zoned.offset().seconds(), line);
                Ok(Timestamp::from_unix_nanos(zoned.timestamp().as_nanosecond()))
            }
            TimeFormat::Strptime(form) => {
                let read = BrokenDownTime::parse(form, text).map_err(|_| TimeProblem::NotATime)?;
                if let Some(timestamp) = read.timestamp() {
                    return Ok(Timestamp::from_unix_nanos(timestamp.as_nanosecond()));
                }
                match (read.offset(), read.iana_time_zone()) {
                    (Some(offset), _) => {
                        let at = read.to_timestamp().map_err(|_| TimeProblem::NotATime)?;
                        self.seen.with(offset.seconds(), line);
                        Ok(Timestamp::from_unix_nanos(at.as_nanosecond()))
                    }
                    (None, Some(_)) => {
                        let zoned = read.to_zoned().map_err(|_| TimeProblem::NotATime)?;
                        self.seen.with(zoned.offset().seconds(), line);
                        Ok(Timestamp::from_unix_nanos(zoned.timestamp().as_nanosecond()))
                    }
                    (None, None) => {
                        let at = read.to_datetime().map_err(|_| TimeProblem::NotATime)?;
                        let (seconds, nanos) = civil_parts(at);
                        self.local(seconds, nanos, line)
                    }
                }
            }
        }
    }

    /// The forms of ISO 8601 that the fast way does not know.
    #[cold]
    fn slow(&mut self, text: &[u8], line: u64) -> Result<Timestamp, TimeProblem> {
        let parser = temporal::DateTimeParser::new();
        // A comma is a decimal point for ISO 8601, and jiff takes it.
        if let Ok(at) = parser.parse_timestamp(text) {
            let east = fast::trailing_offset(text);
            self.seen.with(east.unwrap_or(0), line);
            return Ok(Timestamp::from_unix_nanos(at.as_nanosecond()));
        }
        // A number alone is a date to ISO 8601 (20240501), and anything else to most people.
        if text.iter().all(u8::is_ascii_digit) {
            return Err(TimeProblem::NotATime);
        }
        let at = parser.parse_datetime(text).map_err(|_| TimeProblem::NotATime)?;
        let (seconds, nanos) = civil_parts(at);
        self.local(seconds, nanos, line)
    }

    /// An instant from what a clock on the wall showed.
    fn local(&mut self, seconds: i64, subsecond: u32, line: u64) -> Result<Timestamp, TimeProblem> {
        self.seen.first_without.get_or_insert(line);
        let zone = self.rules.zone.as_ref().ok_or(TimeProblem::NoZone)?;
        let minute = seconds.div_euclid(60);
        let offset = match self.minute {
            Some((known, offset)) if known == minute => offset,
            _ => {
                let shown = civil_at(seconds).ok_or(TimeProblem::NotATime)?;
                match zone.0.to_ambiguous_timestamp(shown).offset() {
                    AmbiguousOffset::Unambiguous { offset } => {
                        // All of the minute has this offset, but where a transition falls into it.
                        let same = |seconds| {
                            let at =
                                civil_at(seconds).map(|shown| zone.0.to_ambiguous_timestamp(shown).offset());
                            at == Some(AmbiguousOffset::Unambiguous { offset })
                        };
                        if same(minute * 60) && same(minute * 60 + 59) {
                            self.minute = Some((minute, offset));
                        }
                        offset
                    }
                    AmbiguousOffset::Gap { .. } => return Err(TimeProblem::Never),
                    AmbiguousOffset::Fold { before, after } => match self.rules.fold {
                        Some(Fold::Earlier) => before,
                        Some(Fold::Later) => after,
                        None => return Err(TimeProblem::Twice),
                    },
                }
            }
        };
        self.seen.without += 1;
        Ok(nanos(seconds - i64::from(offset.seconds()), subsecond))
    }

    /// The error for a time that cannot be read.
    pub(crate) fn refuse(&self, file: &str, line: u64, text: &[u8], problem: TimeProblem) -> Error {
        let mut words = problem.words(text, self.format());
        if problem == TimeProblem::NoZone
            && let Some(first) = self.seen.first_with
        {
            words.push_str(&format!(", while line {first} does: the column mixes zones"));
        }
        let error = Error::at(file, line, words);
        match problem.hint(text, self.format()) {
            Some(hint) => error.with_hint(hint),
            None => error.with_hint(Hint::DryRun),
        }
    }
}

/// A number since 1970 with an optional sign and fraction.
fn unix(text: &[u8], unit: UnixUnit) -> Option<Timestamp> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    let point = digits.iter().position(|b| *b == b'.');
    let (whole, fraction) = match point {
        Some(at) => (&digits[..at], &digits[at + 1..]),
        None => (digits, &[][..]),
    };
    // 24 digits of seconds stay within i128 nanoseconds.
    if whole.is_empty() || whole.len() > 24 || (point.is_some() && fraction.is_empty()) {
        return None;
    }
    let mut value = 0i128;
    for digit in whole {
        value = value * 10 + i128::from(digit.is_ascii_digit().then(|| digit - b'0')?);
    }
    value *= unit.nanos();
    let mut place = unit.nanos();
    for digit in fraction {
        place /= 10;
        value += place * i128::from(digit.is_ascii_digit().then(|| digit - b'0')?);
    }
    Some(Timestamp::from_unix_nanos(if negative { -value } else { value }))
}

#[inline]
fn nanos(seconds: i64, subsecond: u32) -> Timestamp {
    Timestamp::from_unix_nanos(i128::from(seconds) * SECOND + i128::from(subsecond))
}

/// Seconds from 1970-01-01T00:00:00 on the same wall, and nanoseconds.
fn civil_parts(at: civil::DateTime) -> (i64, u32) {
    let shown = Offset::UTC.to_timestamp(at);
    let total = shown.map_or(0, |at| at.as_nanosecond());
    (total.div_euclid(SECOND) as i64, total.rem_euclid(SECOND) as u32)
}

fn civil_at(seconds: i64) -> Option<civil::DateTime> {
    let at = jiff::Timestamp::from_second(seconds).ok()?;
    Some(Offset::UTC.to_datetime(at))
}

const SECOND: i128 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn reader(format: TimeFormat, zone: Option<&str>, fold: Option<Fold>) -> TimeReader {
        TimeReader::new(TimeRules {
            format,
            zone: zone.map(|zone| Zone::from_name(zone).unwrap()),
            fold,
        })
    }

    #[track_caller]
    fn check(reader: &mut TimeReader, text: &str, expected: Result<&str, TimeProblem>) {
        let read = reader.read(text.as_bytes(), 7);
        assert_eq!(
            read.map(|at| at.to_string()),
            expected.map(str::to_string),
            "{text}"
        );
    }

    #[test]
    fn times_with_a_zone_are_read_in_every_common_form() {
        let mut auto = reader(TimeFormat::Auto, None, None);
        for (text, is) in [
            ("2022-02-22T19:22:22Z", "2022-02-22T19:22:22Z"),
            (" 2022-02-22 14:22:22-05:00 ", "2022-02-22T19:22:22Z"),
            ("2022-02-22T19:22:22,123456Z", "2022-02-22T19:22:22.123456Z"),
            ("2022-02-22 20:22:22.1 +0100", "2022-02-22T19:22:22.1Z"),
            (
                "2022-02-22T19:22:22.1234567899+00",
                "2022-02-22T19:22:22.123456789Z",
            ),
            ("20220222T192222Z", "2022-02-22T19:22:22Z"),
            ("2022-02-22T19:22Z", "2022-02-22T19:22:00Z"),
            ("2022-02-22T20:22:22+01:00[Europe/Berlin]", "2022-02-22T19:22:22Z"),
            ("1969-12-31T23:59:59.5Z", "1969-12-31T23:59:59.5Z"),
        ] {
            check(&mut auto, text, Ok(is));
        }
        assert_eq!(auto.seen.without, 0);
        assert!(auto.seen.offsets.contains(&(3600, 2)), "{:?}", auto.seen);
    }

    #[test]
    fn other_forms_are_read_when_asked_for() {
        for (format, text, is) in [
            ("unix", "1645557742.25", Ok("2022-02-22T19:22:22.25Z")),
            ("unix", "-0.5", Ok("1969-12-31T23:59:59.5Z")),
            ("unix-ms", "1645557742123", Ok("2022-02-22T19:22:22.123Z")),
            ("unix-us", "1645557742123456", Ok("2022-02-22T19:22:22.123456Z")),
            (
                "unix-ns",
                "1645557742123456789",
                Ok("2022-02-22T19:22:22.123456789Z"),
            ),
            ("unix", "1.", Err(TimeProblem::NotATime)),
            ("unix", "", Err(TimeProblem::Empty)),
            (
                "unix-ms",
                "99999999999999999999999999",
                Err(TimeProblem::NotATime),
            ),
            ("unix", "2022-02-22", Err(TimeProblem::NotATime)),
            (
                "%d/%b/%Y:%H:%M:%S %z",
                "10/Oct/2000:13:55:36 -0700",
                Ok("2000-10-10T20:55:36Z"),
            ),
            ("%s", "1645557742", Ok("2022-02-22T19:22:22Z")),
            ("%d.%m.%Y %H:%M", "22.02.2022 19:22", Err(TimeProblem::NoZone)),
            (
                "rfc2822",
                "Tue, 22 Feb 2022 20:22:22 +0100",
                Ok("2022-02-22T19:22:22Z"),
            ),
        ] {
            check(&mut reader(format.parse().unwrap(), None, None), text, is);
        }
        assert!(TimeFormat::from_name("%Q%K").is_err());
    }

    #[test]
    fn local_times_need_a_zone_and_a_word_on_the_hour_that_comes_twice() {
        check(
            &mut reader(TimeFormat::Auto, None, None),
            "2022-02-22 19:22:22",
            Err(TimeProblem::NoZone),
        );
        let berlin = |fold| reader(TimeFormat::Auto, Some("Europe/Berlin"), fold);
        let mut plain = berlin(None);
        check(&mut plain, "2022-02-22 20:22:22", Ok("2022-02-22T19:22:22Z"));
        check(&mut plain, "2022-02-22 20:22:59.9", Ok("2022-02-22T19:22:59.9Z"));
        check(&mut plain, "2022-08-22T20:22:22", Ok("2022-08-22T18:22:22Z"));
        check(&mut plain, "2022-03-27 02:30:00", Err(TimeProblem::Never));
        check(&mut plain, "2022-10-30 02:30:00", Err(TimeProblem::Twice));
        check(
            &mut berlin(Some(Fold::Earlier)),
            "2022-10-30 02:30:00",
            Ok("2022-10-30T00:30:00Z"),
        );
        check(
            &mut berlin(Some(Fold::Later)),
            "2022-10-30 02:30:00",
            Ok("2022-10-30T01:30:00Z"),
        );
        // A time that says its zone keeps it.
        check(&mut plain, "2022-02-22T19:22:22Z", Ok("2022-02-22T19:22:22Z"));
        assert!(plain.seen.mixed());
    }

    #[test]
    fn what_is_no_time_is_said_with_what_it_may_be() {
        let mut auto = reader(TimeFormat::Auto, None, None);
        for (text, hint) in [
            ("yesterday", Hint::TimeFormat),
            ("1645557742", Hint::Unix(UnixUnit::Seconds)),
            ("1645557742123", Hint::Unix(UnixUnit::Millis)),
            ("20240501", Hint::TimeFormat),
            ("2022-02-30T00:00:00Z", Hint::TimeFormat),
            ("2022-02-22T25:00:00Z", Hint::TimeFormat),
        ] {
            let problem = auto.read(text.as_bytes(), 3).unwrap_err();
            assert_eq!(problem, TimeProblem::NotATime, "{text}");
            let error = auto.refuse("a.csv", 3, text.as_bytes(), problem);
            assert!(error.message.starts_with("a.csv:3: "), "{error}");
            assert_eq!(error.hint, Some(hint), "{text}");
        }
        auto.read(b"2022-02-22T19:22:22Z", 4).unwrap();
        let error = auto.refuse("a.csv", 9, b"2022-02-22 19:22:22", TimeProblem::NoZone);
        assert!(
            error
                .message
                .contains("while line 4 does: the column mixes zones"),
            "{error}"
        );
    }
}
