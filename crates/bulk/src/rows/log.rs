//! Plain logs, taken apart by a regular expression with named groups.

use regex::bytes::{CaptureLocations, Regex, RegexBuilder};

use super::{FieldPlace, Found, Problem};
use crate::error::{Error, column_hint};

/// Patterns that can be asked for by name, each with the form of its times where [`TimeFormat::Auto`] does not know it.
///
/// [`TimeFormat::Auto`]: crate::TimeFormat::Auto
pub const PATTERNS: &[(&str, &str, Option<&str>)] = &[
    // A line that begins with a time in a form of ISO 8601.
    (
        "iso",
        r"^\[?(?<time>\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?: ?(?:Z|[+-]\d\d:?\d\d))?)\]?(?:\s+(?<level>[A-Z]+)\b)?",
        None,
    ),
    // The Common Log Format of web servers, also the beginning of the Combined one.
    (
        "clf",
        r"^(?<host>\S+) \S+ (?<user>\S+) \[(?<time>[^\]]+)\]",
        Some("%d/%b/%Y:%H:%M:%S %z"),
    ),
    // RFC 5424.
    (
        "syslog",
        r"^<\d{1,3}>1 (?<time>\S+) (?<host>\S+) (?<app>\S+) (?<pid>\S+) (?<msgid>\S+)",
        None,
    ),
];

/// A pattern and which of its groups are wanted.
pub(super) struct Matcher {
    pattern: Regex,
    places: CaptureLocations,
    /// Of each wanted column, the number of its group.
    groups: Vec<usize>,
}

impl Matcher {
    pub(super) fn new(pattern: &str, wanted: &[String]) -> Result<Matcher, Error> {
        let regex = RegexBuilder::new(pattern)
            .size_limit(PATTERN_BYTES_MAX)
            .build()
            .map_err(|error| {
                let text = error.to_string();
                let last = text
                    .lines()
                    .last()
                    .unwrap_or_default()
                    .trim_start_matches("error: ");
                Error::usage(format_args!("{pattern:?} is not a regular expression: {last}"))
                    .with_hint("a group gets its name as in (?<time>\\S+)")
            })?;
        let names: Vec<String> = regex.capture_names().flatten().map(str::to_string).collect();
        let groups = wanted
            .iter()
            .map(|column| {
                regex
                    .capture_names()
                    .position(|name| name == Some(column))
                    .ok_or_else(|| {
                        Error::usage(format_args!("the pattern has no group {column:?}")).with_hint(
                            match names.is_empty() {
                                true => "a group gets its name as in (?<time>\\S+)".to_string(),
                                false => column_hint(column, &names),
                            },
                        )
                    })
            })
            .collect::<Result<_, _>>()?;
        Ok(Matcher {
            places: regex.capture_locations(),
            pattern: regex,
            groups,
        })
    }

    pub(super) fn read(&mut self, line: &[u8], found: &mut Found) -> Result<(), Problem> {
        self.pattern
            .captures_read(&mut self.places, line)
            .ok_or(Problem::NoMatch)?;
        for (wanted, group) in self.groups.iter().enumerate() {
            if let Some((from, to)) = self.places.get(*group) {
                found.places[wanted] = FieldPlace::Raw(from, to);
            }
        }
        Ok(())
    }
}

/// How large a compiled pattern may be.
const PATTERN_BYTES_MAX: usize = 4 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_named_patterns_match_what_they_are_for() {
        for (name, line, time) in [
            (
                "iso",
                "2024-05-01 12:00:00,123 INFO started",
                "2024-05-01 12:00:00,123",
            ),
            (
                "iso",
                "[2024-05-01T12:00:00+02:00] x",
                "2024-05-01T12:00:00+02:00",
            ),
            (
                "clf",
                "127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] \"GET / HTTP/1.0\" 200 1",
                "10/Oct/2000:13:55:36 -0700",
            ),
            (
                "syslog",
                "<34>1 2003-10-11T22:14:15.003Z mymachine su - ID47 - failed",
                "2003-10-11T22:14:15.003Z",
            ),
        ] {
            let (_, pattern, _) = PATTERNS.iter().find(|(n, ..)| *n == name).unwrap();
            let mut matcher = Matcher::new(pattern, &["time".into()]).unwrap();
            let mut found = Found {
                places: vec![FieldPlace::Absent],
                scratch: Vec::new(),
            };
            matcher.read(line.as_bytes(), &mut found).unwrap();
            let FieldPlace::Raw(from, to) = found.places[0] else {
                panic!("{name}: {line}")
            };
            assert_eq!(&line[from..to], time);
        }
    }
}
