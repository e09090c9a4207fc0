//! TypeID: a prefix that says what kind of thing, and a UUID of version 7 in 26 characters.
//!
//! ```text
//!  user_2x4y6z8a0b1c2d3e4f5g6h7j8k
//! |---| |------------------------|
//! prefix   uuid suffix (base32)
//! ```
//!
//! The prefix is empty or `[a-z]([a-z_]{0,61}[a-z])?`; the last underscore separates it, and an empty one has
//! none. The suffix is the 128 bits of the UUID as one number in Crockford's base32, lower case; its first
//! character is at most 7 (TypeID specification 0.3.0). Nothing is forgiven when reading: no upper case, no
//! look-alikes, no hyphens. New ids are of version 7; others are read and written too.
//!
//! Rare events: those of [`uuid7`](crate::uuid7).

use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

use ::uuid::Uuid;

use super::base32::{Letters, decode_128, encode_128};
use super::{BLANK, Format, FormatError, GenOption, GenOptions, Id, uuid};
use crate::text::TextError;

pub(super) const TYPEID: Format = Format {
    name: "typeid",
    title: "TypeID",
    summary: "uuid7 with a prefix that says what it names",
    unique: "the uuid7",
    tells: "when, and of what kind",
    example: &[(GenOption::Prefix, "user")],
    likely: |id, details, _| {
        // A prefix is much of a structure; a bare one is a ULID in lower case, the more so without a time.
        match (id.text().is_some_and(|prefix| !prefix.is_empty()), details.time) {
            (true, Some(_)) => 0.97,
            (true, None) => 0.9,
            (false, Some(_)) => 0.85,
            (false, None) => 0.3,
        }
    },
    source: "jetify-com/typeid, specification 0.3.0",
    diagram: "| prefix, 0 to 63 characters | _ | UUID version 7, 128 |",
    bits: 128,
    text_len: (26, 90),
    time: uuid::V7.time,
    bytes_sort: true,
    text_sorts: true,
    options: &[GenOption::Prefix],
    entropy: |_| 74.0,
    parse: |text, _| TypeId::parse(text).map(Id::from),
    write: |id, out| {
        let prefix = TypePrefix::new(id.text().unwrap_or("")).expect("TypeIDs carry a checked prefix");
        prefix
            .with(id.uuid().expect("Format::write checked the size"))
            .write(out);
    },
    read: |id, options| {
        let id_of_uuid = Id::from(id.uuid().expect("Format::read checked the size"));
        let mut details = (uuid::UUID.read)(&id_of_uuid, options);
        let prefix = crate::FieldValue::Text(id.text().unwrap_or("").into());
        details.fields.insert(0, ("prefix".into(), prefix));
        let uuid = id.uuid().expect("Format::read checked the size");
        details.text("uuid", alloc::format!("{}", uuid.hyphenated()))
    },
    #[cfg(feature = "std")]
    make_many: Some(|from, options, out| {
        let prefix = prefix_of(options)?;
        (uuid::V7.make_many.expect("uuid7 is made"))(from, options, out)?;
        for id in out {
            *id = core::mem::take(id).with_text(prefix.as_str());
        }
        Ok(())
    }),
    #[cfg(feature = "std")]
    write_lines: Some(|options, count, out| {
        let prefix = prefix_of(options)?;
        let mut ids = [Uuid::nil(); super::LINES_AT_ONCE];
        let mut left = count;
        while left > 0 {
            let ids = &mut ids[..left.min(super::LINES_AT_ONCE)];
            crate::uuid7_many(ids);
            for id in &*ids {
                prefix.with(*id).write(out);
                out.push(b'\n');
            }
            left -= ids.len();
        }
        Ok(())
    }),
    make_at: Some(|time, options, entropy| {
        let make_at = uuid::V7.make_at.expect("uuid7 is made at a time");
        prefixed(options, make_at(time, options, entropy)?)
    }),
    min_at: Some(|time, options| {
        let min_at = uuid::V7.min_at.expect("uuid7 bounds times");
        prefixed(options, min_at(time, options)?)
    }),
    max_at: Some(|time, options| {
        let max_at = uuid::V7.max_at.expect("uuid7 bounds times");
        prefixed(options, max_at(time, options)?)
    }),
    generator: Some(|options, clock, entropy| {
        let prefix = prefix_of(options)?;
        let mut generator = crate::V7Generator::new(clock, entropy);
        Ok(alloc::boxed::Box::new(move || {
            Ok(prefix.with(generator.next_id()?).into())
        }))
    }),
    ..BLANK
};

fn prefix_of(options: &GenOptions) -> Result<TypePrefix, FormatError> {
    TypePrefix::new(options.prefix.as_deref().unwrap_or(""))
        .map_err(|error| FormatError::option("prefix", alloc::format!("{error}")))
}

fn prefixed(options: &GenOptions, id: Id) -> Result<Id, FormatError> {
    Ok(id.with_text(prefix_of(options)?.as_str()))
}

/// The checked prefix of TypeIDs: empty, or up to 63 of `a-z` and `_`, beginning and ending with a letter.
///
/// ```
/// use mintage::TypePrefix;
/// assert_eq!(TypePrefix::new("user_account")?.as_str(), "user_account");
/// assert_eq!(TypePrefix::new("User").unwrap_err().position(), Some(0));
/// assert_eq!(TypePrefix::new("user_").unwrap_err().position(), Some(4));
/// # Ok::<(), mintage::TextError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypePrefix {
    /// `[len..]` is zero.
    letters: [u8; TypePrefix::CHARS_MAX],
    len: u8,
}

impl TypePrefix {
    /// The most characters a prefix has.
    pub const CHARS_MAX: usize = 63;

    /// The prefix of no characters.
    pub const EMPTY: TypePrefix = TypePrefix {
        letters: [0; TypePrefix::CHARS_MAX],
        len: 0,
    };

    /// Checks `prefix`.
    ///
    /// # Errors
    /// Why it cannot be one, and where.
    pub fn new(prefix: &str) -> Result<Self, TextError> {
        Self::of(prefix.as_bytes())
    }

    fn of(prefix: &[u8]) -> Result<Self, TextError> {
        let rule = |position, rule| Err(TextError::Rule { position, rule });
        if prefix.len() > Self::CHARS_MAX {
            return rule(Self::CHARS_MAX, "the prefix is longer than 63 characters");
        }
        let foreign = prefix
            .iter()
            .position(|letter| !matches!(letter, b'a'..=b'z' | b'_'));
        if let Some(position) = foreign {
            return rule(position, "a prefix has only a to z and _");
        }
        if prefix.first() == Some(&b'_') {
            return rule(0, "a prefix begins with a letter");
        }
        if prefix.last() == Some(&b'_') {
            return rule(prefix.len() - 1, "a prefix ends with a letter");
        }
        let mut checked = Self::EMPTY;
        checked.letters[..prefix.len()].copy_from_slice(prefix);
        checked.len = prefix.len() as u8;
        Ok(checked)
    }

    /// Its characters.
    pub fn as_str(&self) -> &str {
        core::str::from_utf8(self.bytes()).expect("a to z and _ alone")
    }

    fn bytes(&self) -> &[u8] {
        &self.letters[..usize::from(self.len)]
    }

    /// The TypeID of this prefix and a UUID.
    #[inline]
    pub const fn with(self, uuid: Uuid) -> TypeId {
        TypeId { prefix: self, uuid }
    }

    /// A new TypeID: the prefix and [`uuid7`](crate::uuid7), with its order and its guarantees.
    ///
    /// # Panics
    /// As [`fill_random`](crate::fill_random).
    ///
    /// ```
    /// let users = mintage::TypePrefix::new("user")?;
    /// let (a, b) = (users.mint(), users.mint());
    /// assert!(a.to_string() < b.to_string() && a.to_string().starts_with("user_0"));
    /// # Ok::<(), mintage::TextError>(())
    /// ```
    #[cfg(feature = "std")]
    #[inline]
    pub fn mint(self) -> TypeId {
        self.with(crate::uuid7())
    }
}

impl fmt::Debug for TypePrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TypePrefix({:?})", self.as_str())
    }
}

/// A TypeID: a prefix and a UUID.
///
/// ```
/// use mintage::TypeId;
/// let id: TypeId = "prefix_01h455vb4pex5vsknk084sn02q".parse()?; // the specification's
/// assert_eq!(id.prefix().as_str(), "prefix");
/// assert_eq!(id.uuid().to_string(), "01890a5d-ac96-774b-bcce-b302099a8057");
/// assert_eq!(id.to_string(), "prefix_01h455vb4pex5vsknk084sn02q");
/// # Ok::<(), mintage::TextError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeId {
    prefix: TypePrefix,
    uuid: Uuid,
}

impl TypeId {
    /// The most characters a TypeID has.
    pub const CHARS_MAX: usize = 90;

    /// Its prefix.
    pub const fn prefix(&self) -> &TypePrefix {
        &self.prefix
    }

    /// Its UUID.
    pub const fn uuid(&self) -> Uuid {
        self.uuid
    }

    /// Reads a TypeID, exactly as the specification has it.
    ///
    /// # Errors
    /// Why it is none, and where.
    pub fn parse(text: &[u8]) -> Result<Self, TextError> {
        let separator = text.iter().rposition(|letter| *letter == b'_');
        let (prefix, start) = match separator {
            Some(0) => {
                return Err(TextError::Rule {
                    position: 0,
                    rule: "a TypeID without a prefix has no separator",
                });
            }
            Some(at) => (TypePrefix::of(&text[..at])?, at + 1),
            None => (TypePrefix::EMPTY, 0),
        };
        let suffix = &text[start..];
        let number = decode_128(suffix, Letters::CrockfordLower).map_err(|error| match error {
            TextError::Length { found, .. } => TextError::Rule {
                position: start + found.min(26),
                rule: "the suffix has 26 characters",
            },
            other => other.moved(start),
        })?;
        Ok(prefix.with(Uuid::from_u128(number)))
    }

    /// Appends its text to `out`; the fastest way to it.
    ///
    /// ```
    /// let mut out = Vec::new();
    /// mintage::TypePrefix::new("user")?.with(mintage::Uuid::nil()).write(&mut out);
    /// assert_eq!(out, b"user_00000000000000000000000000");
    /// # Ok::<(), mintage::TextError>(())
    /// ```
    #[inline]
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut suffix = [0; 26];
        encode_128(self.uuid.as_u128(), Letters::CrockfordLower, &mut suffix);
        if self.prefix.len > 0 {
            out.extend_from_slice(self.prefix.bytes());
            out.push(b'_');
        }
        out.extend_from_slice(&suffix);
    }

    /// Writes its text into `out` and returns it.
    #[inline]
    pub fn encode<'a>(&self, out: &'a mut [u8; TypeId::CHARS_MAX]) -> &'a str {
        let mut start = usize::from(self.prefix.len);
        if start > 0 {
            out[..start].copy_from_slice(self.prefix.bytes());
            out[start] = b'_';
            start += 1;
        }
        let suffix = out[start..]
            .first_chunk_mut()
            .expect("63 + 1 + 26 characters fit");
        encode_128(self.uuid.as_u128(), Letters::CrockfordLower, suffix);
        core::str::from_utf8(&out[..start + 26]).expect("every alphabet is ASCII")
    }
}

impl fmt::Display for TypeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.encode(&mut [0; TypeId::CHARS_MAX]))
    }
}

impl fmt::Debug for TypeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TypeId({self})")
    }
}

impl FromStr for TypeId {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        TypeId::parse(text.as_bytes())
    }
}

impl From<TypeId> for Id {
    fn from(id: TypeId) -> Self {
        Id::from(id.uuid).with_text(id.prefix.as_str())
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for TypeId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for TypeId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <alloc::string::String as serde::Deserialize>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}
