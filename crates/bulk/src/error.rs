//! How work on a file fails: what was asked, what was found, what to do.

use std::fmt;
use std::io;
use std::path::Path;

use crate::hint::Hint;

/// Who can mend it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// What was asked for does not fit the input: another option helps.
    Usage,
    /// The input holds something that cannot be used: the message names the line.
    Data,
    /// The machine could not do it: a full disk, a file that cannot be read.
    Io,
}

/// Why work on a file ended.
#[derive(Debug)]
pub struct Error {
    /// Who can mend it.
    pub kind: Kind,
    /// What was asked and what was found; one line.
    pub message: String,
    /// What to do, if that can be said.
    pub hint: Option<Hint>,
}

impl Error {
    /// What was asked for does not fit.
    pub fn usage(message: impl fmt::Display) -> Error {
        Error::new(Kind::Usage, message)
    }

    /// The input cannot be used, for a reason that has no line.
    pub fn data(message: impl fmt::Display) -> Error {
        Error::new(Kind::Data, message)
    }

    /// A line of the input cannot be used.
    pub fn at(file: &str, line: u64, message: impl fmt::Display) -> Error {
        Error::new(Kind::Data, format_args!("{file}:{line}: {message}"))
    }

    /// Reading or writing failed.
    pub fn io(doing: impl fmt::Display, error: &io::Error) -> Error {
        let failed = Error::new(Kind::Io, format_args!("{doing}: {}", plain(error)));
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::FileTooLarge | io::ErrorKind::QuotaExceeded => {
                failed.with_hint("make room, then run the same command again")
            }
            _ => failed,
        }
    }

    /// A file could not be read or written.
    pub fn file(doing: &str, path: &Path, error: &io::Error) -> Error {
        Error::io(format_args!("cannot {doing} {}", path.display()), error)
    }

    /// The same error with what to do about it.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<Hint>) -> Error {
        self.hint = Some(hint.into());
        self
    }

    fn new(kind: Kind, message: impl fmt::Display) -> Error {
        Error {
            kind,
            message: message.to_string(),
            hint: None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// The system's words without its error numbers.
fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error") {
        Some(end) => lower(&text[..end]),
        None => text,
    }
}

/// Messages begin in lower case.
fn lower(text: &str) -> String {
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => first.to_lowercase().chain(letters).collect(),
        None => String::new(),
    }
}

/// What of a field is shown: no control characters, and not more than a line's worth.
pub(crate) fn shown(field: &[u8]) -> String {
    let text = String::from_utf8_lossy(field);
    let mut shown: String = text
        .chars()
        .take(SHOWN_MAX)
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect();
    if text.chars().nth(SHOWN_MAX).is_some() {
        shown.push('…');
    }
    format!("{shown:?}")
}

const SHOWN_MAX: usize = 60;

/// The nearest of `known` to `wanted`, if it is near enough to be meant: at most a third of its letters differ.
pub(crate) fn nearest<'a>(wanted: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let fold = |text: &str| -> String {
        let letters = text.chars().filter(|c| c.is_alphanumeric());
        letters.flat_map(char::to_lowercase).collect()
    };
    let from = fold(wanted);
    let length = from.chars().count();
    known
        .map(|name| (strsim::levenshtein(&from, &fold(name)), name))
        .filter(|(edits, name)| edits * 3 <= length.max(name.chars().count()))
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, name)| name)
}

/// The columns there are, and the one that was probably meant.
pub(crate) fn column_hint(wanted: &str, known: &[String]) -> String {
    const LISTED: usize = 20;
    let near = nearest(wanted, known.iter().map(String::as_str));
    let more = match known.len().saturating_sub(LISTED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let listed: Vec<&str> = known.iter().take(LISTED).map(String::as_str).collect();
    let there = format!("there are: {}{more}", listed.join(", "));
    match near {
        Some(near) => format!("did you mean {near:?}? {there}"),
        None => there,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_column_is_named_and_a_foreign_one_is_not() {
        let known = ["created_at".to_string(), "user".into(), "level".into()];
        for (wanted, says) in [
            (
                "createdat",
                "did you mean \"created_at\"? there are: created_at, user, level",
            ),
            ("Created_At", "did you mean \"created_at\"?"),
            ("lvel", "did you mean \"level\"?"),
            ("zzz", "there are: created_at, user, level"),
        ] {
            assert!(
                column_hint(wanted, &known).starts_with(says),
                "{}",
                column_hint(wanted, &known)
            );
        }
    }

    #[test]
    fn what_is_shown_of_a_field_is_short_and_harmless() {
        assert_eq!(shown(b"a\x1b[31m\n"), "\"a\u{fffd}[31m\u{fffd}\"");
        assert_eq!(shown(&[b'x'; 1000]).chars().count(), SHOWN_MAX + 3);
    }

    #[test]
    fn a_full_disk_says_what_to_do() {
        let full = io::Error::from_raw_os_error(28);
        let error = Error::io("cannot write out.csv", &full);
        assert_eq!(error.to_string(), "cannot write out.csv: no space left on device");
        assert_eq!(
            error.hint,
            Some("make room, then run the same command again".into())
        );
    }
}
