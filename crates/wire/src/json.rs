//! Documents as JSON, in which nothing but plain text stands as it is: a terminal or a log may be where it ends up.

use std::io;

use mintage::is_plain;
use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};

/// Writes a document on one line. Characters that are not [plain](mintage::is_plain) are written `\u009b`.
///
/// # Errors
/// The writer's, or the document is not one of JSON.
pub fn to_writer(writer: impl io::Write, document: &(impl Serialize + ?Sized)) -> serde_json::Result<()> {
    document.serialize(&mut Serializer::with_formatter(writer, PlainText))
}

/// The same, in memory.
///
/// # Errors
/// The document is not one of JSON.
///
/// ```
/// let text = mintage_wire::json::to_vec("a\u{9b}b\u{7f}\u{202e}é")?;
/// assert_eq!(text, r#""a\u009bb\u007f\u202eé""#.as_bytes());
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn to_vec(document: &(impl Serialize + ?Sized)) -> serde_json::Result<Vec<u8>> {
    let mut text = Vec::with_capacity(128);
    to_writer(&mut text, document)?;
    Ok(text)
}

struct PlainText;

impl Formatter for PlainText {
    /// Called for what JSON lets stand as it is.
    #[inline]
    fn write_string_fragment<W: io::Write + ?Sized>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        match fragment.bytes().all(|byte| byte < 0x7f) {
            true => writer.write_all(fragment.as_bytes()),
            false => write_escaped(writer, fragment),
        }
    }
}

fn write_escaped<W: io::Write + ?Sized>(writer: &mut W, text: &str) -> io::Result<()> {
    let mut rest = text;
    while let Some((at, c)) = rest.char_indices().find(|(_, c)| !is_plain(*c)) {
        writer.write_all(&rest.as_bytes()[..at])?;
        for unit in c.encode_utf16(&mut [0; 2]) {
            write!(writer, "\\u{unit:04x}")?;
        }
        rest = &rest[at + c.len_utf8()..];
    }
    writer.write_all(rest.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every character there is, on its own and between others.
    #[test]
    fn json_is_plain_and_reads_as_what_was_written() {
        for c in '\0'..=char::MAX {
            let text = format!("{c}\"{c}é{c}");
            let written = String::from_utf8(to_vec(&text).unwrap()).unwrap();
            assert!(written.chars().all(is_plain), "{written}");
            assert_eq!(serde_json::from_str::<String>(&written).unwrap(), text);
        }
    }
}
