//! Reading and writing the text that everybody means by a UUID.

use ::uuid::Uuid;

use super::{UuidText, hyphenated};
use crate::text::{TextError, hex};

/// The text of RFC 9562 section 4, lower case, on the stack.
///
/// ```
/// assert_eq!(&mintage::uuid_text(&mintage::Uuid::max()), b"ffffffff-ffff-ffff-ffff-ffffffffffff");
/// ```
#[inline]
pub fn uuid_text(id: &Uuid) -> [u8; 36] {
    hex::write_hyphenated(id.as_bytes())
}

/// Reads a UUID as RFC 9562 section 4 writes it and nothing else: 8-4-4-4-12 hexadecimal digits of either
/// case. The strict mode; any version and variant are read, for ids are opaque data.
///
/// # Errors
/// What is wrong, and where.
///
/// ```
/// use mintage::{TextError, parse_uuid};
/// let id = parse_uuid("017F22E2-79b0-7cc3-98c4-dc0c0c07398f")?;
/// assert_eq!(id.get_version_num(), 7);
/// assert_eq!(
///     parse_uuid("017f22e2-79b0-7cc3-98c4_dc0c0c07398f"),
///     Err(TextError::Character { position: 23 })
/// );
/// # Ok::<(), TextError>(())
/// ```
#[inline]
pub fn parse_uuid(text: impl AsRef<[u8]>) -> Result<Uuid, TextError> {
    let text = text.as_ref();
    match text.len() {
        36 => hyphenated(text, 0),
        found => Err(TextError::Length { found, expected: 36 }),
    }
}

/// Reads the 32 hexadecimal digits of a UUID in whatever punctuation: what
/// [`UuidText::read_lenient`] forgives of the hexadecimal forms. The lenient mode.
///
/// Other alphabets are never guessed: the same characters can be different ids in two of them.
///
/// # Errors
/// What is wrong, and where.
///
/// ```
/// use mintage::{parse_uuid, parse_uuid_lenient};
/// let id = parse_uuid("017f22e2-79b0-7cc3-98c4-dc0c0c07398f");
/// for text in [" {017F22E2-79B0-7CC3-98C4-DC0C0C07398F}\n", "urn:uuid:017f22e279b07cc398c4dc0c0c07398f"] {
///     assert_eq!(parse_uuid_lenient(text), id);
/// }
/// assert!(parse_uuid_lenient("{017f22e2-79b0-7cc3-98c4-dc0c0c07398f").is_err());
/// ```
pub fn parse_uuid_lenient(text: impl AsRef<[u8]>) -> Result<Uuid, TextError> {
    UuidText::Hyphenated.read_lenient(text.as_ref())
}
