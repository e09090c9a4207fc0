//! Patterns of dates as Java's `DateTimeFormatter` has them, as far as they are numbers: `yyMMdd`, `yyyy'Y'MM`.

use serde::Deserialize;

/// A pattern; empty: no date.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(try_from = "String")]
pub struct DatePattern {
    text: String,
    pieces: Vec<Piece>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Piece {
    /// As it stands.
    Text(String),
    /// A part of the time, by its letter, with at least so many digits.
    Part(char, usize),
}

/// The longest pattern, in bytes.
const BYTES_MAX: usize = 64;
/// What may stand in a pattern.
const LETTERS: &str = "yuMdDHmsS";

impl TryFrom<String> for DatePattern {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        if text.len() > BYTES_MAX {
            return Err(format!(
                "{text:?} has {} bytes, the most is {BYTES_MAX}",
                text.len()
            ));
        }
        let pieces = pieces(&text)?;
        Ok(DatePattern { text, pieces })
    }
}

fn pieces(text: &str) -> Result<Vec<Piece>, String> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if first == '\'' {
            let (quoted, after) = quoted(&rest[1..]).ok_or_else(|| format!("{text:?} has an open quote"))?;
            pieces.push(Piece::Text(quoted));
            rest = after;
            continue;
        }
        let after = rest.trim_start_matches(first);
        let run = &rest[..rest.len() - after.len()];
        pieces.push(match first {
            letter if LETTERS.contains(letter) => Piece::Part(letter, run.len()),
            letter if letter.is_ascii_alphabetic() || "[]{}#".contains(letter) => {
                return Err(format!(
                    "{text:?} has {letter:?}: letters of a pattern are {LETTERS}"
                ));
            }
            _ => Piece::Text(run.to_string()),
        });
        rest = after;
    }
    Ok(pieces)
}

/// What stands before the closing quote, and what behind it; two quotes are one that is meant.
fn quoted(text: &str) -> Option<(String, &str)> {
    let (mut inside, mut rest) = (String::new(), text);
    loop {
        let (before, after) = rest.split_once('\'')?;
        inside.push_str(before);
        match after.strip_prefix('\'') {
            Some(more) => {
                inside.push('\'');
                rest = more;
            }
            None if inside.is_empty() => return Some(("'".to_string(), after)),
            None => return Some((inside, after)),
        }
    }
}

impl DatePattern {
    /// As it was written.
    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    /// Writes a time.
    pub(super) fn write(&self, time: &jiff::Zoned) -> String {
        let mut out = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Part(letter, digits) => out.push_str(&part(time, *letter, *digits)),
            }
        }
        out
    }
}

fn part(time: &jiff::Zoned, letter: char, digits: usize) -> String {
    let number = match letter {
        'y' | 'u' if digits == 2 => i32::from(time.year()).rem_euclid(100),
        'y' | 'u' => i32::from(time.year()),
        'M' => i32::from(time.month()),
        'd' => i32::from(time.day()),
        'D' => i32::from(time.day_of_year()),
        'H' => i32::from(time.hour()),
        'm' => i32::from(time.minute()),
        's' => i32::from(time.second()),
        // A fraction of a second: its first digits.
        _ => {
            let nanos = format!("{:09}", time.subsec_nanosecond());
            return format!("{nanos:0<digits$}")[..digits].to_string();
        }
    };
    format!("{number:0digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_java_writes_them() {
        let time: jiff::Zoned = "2024-03-05T07:08:09.0123[UTC]".parse().unwrap();
        for (pattern, written) in [
            ("", ""),
            ("yyMMdd", "240305"),
            ("yyyyMMddHHmmssSSS", "20240305070809012"),
            ("uuuu-M-d H:m:s", "2024-3-5 7:8:9"),
            ("yyyy'Y'DDD", "2024Y065"),
            ("dd''MM'o''clock'", "05'03o'clock"),
            ("SSSSSSSSSS", "0123000000"),
        ] {
            let read = DatePattern::try_from(pattern.to_string()).unwrap();
            assert_eq!(read.write(&time), written, "{pattern}");
            assert_eq!(read.as_str(), pattern);
        }
        for wrong in ["yyyyQ", "'yy", "[yy]", &"y".repeat(65), "EEE"] {
            assert!(DatePattern::try_from(wrong.to_string()).is_err(), "{wrong}");
        }
    }
}
