//! An id of any format: its bytes, and its text where bytes do not say all.

use alloc::boxed::Box;
#[cfg(feature = "std")]
use alloc::vec::Vec;

use ::uuid::Uuid;

use crate::text::TextError;

/// An id of some format: up to 32 big-endian bytes, in place.
///
/// Formats that are text alone (NanoID, CUID, tokens) have no bytes and keep their text. A TypeID has the
/// bytes of its UUID and its prefix as text. Which format an id is of, it does not know: a
/// [`Format`](crate::Format) makes, reads and writes it. Ids of one format sort as their bytes do.
///
/// ```
/// use mintage::{Id, Uuid};
/// let id = Id::from(Uuid::max());
/// assert_eq!((id.bytes().len(), id.number()), (16, Some(u128::MAX)));
/// assert_eq!(Id::from_text("V1StGXR8_Z5jdHi6B-myT").text(), Some("V1StGXR8_Z5jdHi6B-myT"));
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Id {
    /// `[len..]` is zero.
    bytes: [u8; Id::MAX_BYTES],
    len: u8,
    text: Option<Box<str>>,
}

impl Id {
    /// The most bytes an id has.
    pub const MAX_BYTES: usize = 32;

    /// The id of these bytes; `None` if there are more than [`Id::MAX_BYTES`].
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut id = Id {
            len: u8::try_from(bytes.len()).ok()?,
            ..Id::default()
        };
        id.bytes.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(id)
    }

    /// The id that is this text.
    pub fn from_text(text: &str) -> Self {
        Id {
            text: Some(text.into()),
            ..Id::default()
        }
    }

    /// The id that is this text, if it is of small letters and digits alone.
    pub(super) fn of_base36(text: &[u8]) -> Result<Self, TextError> {
        let others = |letter: &u8| !matches!(letter, b'0'..=b'9' | b'a'..=b'z');
        match text.iter().position(others) {
            Some(position) => Err(TextError::Character { position }),
            None => Ok(Id::from_text(str::from_utf8(text).expect("ASCII was checked"))),
        }
    }

    /// Makes every id of `out` the text that `write` writes into an empty buffer.
    #[cfg(feature = "std")]
    pub(super) fn fill_texts(out: &mut [Id], mut write: impl FnMut(&mut Vec<u8>)) {
        let mut text = Vec::new();
        for id in out {
            text.clear();
            write(&mut text);
            *id = Id::from_text(str::from_utf8(&text).expect("characters were written"));
        }
    }

    /// The id of these bytes.
    pub(crate) fn of<const N: usize>(bytes: [u8; N]) -> Self {
        const { assert!(N <= Id::MAX_BYTES) };
        let mut id = Id {
            len: N as u8,
            ..Id::default()
        };
        id.bytes[..N].copy_from_slice(&bytes);
        id
    }

    /// This id, with text that its bytes do not hold.
    pub(crate) fn with_text(mut self, text: &str) -> Self {
        self.text = Some(text.into());
        self
    }

    /// The bytes, big-endian; none if the id is text alone.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    /// The text that is not in the bytes: a TypeID's prefix (which may be empty), or the whole id.
    pub fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }

    /// The bytes as a number, if there are at most 16.
    pub fn number(&self) -> Option<u128> {
        let bytes = self.bytes();
        (bytes.len() <= 16).then(|| {
            bytes
                .iter()
                .fold(0, |number, byte| number << 8 | u128::from(*byte))
        })
    }

    /// The bytes as a UUID, if there are 16.
    pub fn uuid(&self) -> Option<Uuid> {
        Uuid::from_slice(self.bytes()).ok()
    }

    /// The bytes, if there are `N`.
    pub(crate) fn array<const N: usize>(&self) -> Option<[u8; N]> {
        self.bytes().try_into().ok()
    }
}

impl From<Uuid> for Id {
    fn from(id: Uuid) -> Self {
        Id::of(id.into_bytes())
    }
}

impl From<u64> for Id {
    fn from(id: u64) -> Self {
        Id::of(id.to_be_bytes())
    }
}
