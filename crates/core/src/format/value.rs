//! The one shape of the id types: bytes in order, one text; and what they share in making many.

#[cfg(feature = "std")]
pub(crate) use many::{in_order, lines, places, through};

/// Declares an id type of fixed bytes and a text of fixed length.
///
/// The module that invokes it has `fn encode(&[u8; BYTES], &mut [u8; CHARS])` and
/// `fn decode(&[u8]) -> Result<[u8; BYTES], TextError>`.
macro_rules! id_type {
    ($(#[$doc:meta])* $name:ident, $bytes:literal, $chars:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name([u8; $bytes]);

        impl $name {
            /// How many characters its text has.
            pub const CHARS: usize = $chars;

            /// Its bytes, big-endian: they sort as the ids do.
            pub const fn to_bytes(self) -> [u8; $bytes] {
                self.0
            }

            /// Reads its text, exactly as the specification has it.
            ///
            /// # Errors
            /// Why it is none, and where.
            pub fn parse(text: &[u8]) -> Result<Self, $crate::TextError> {
                decode(text).map($name)
            }

            /// Its text, as bytes of ASCII.
            #[inline]
            pub fn text(self) -> [u8; $chars] {
                let mut text = [0; $chars];
                encode(&self.0, &mut text);
                text
            }

            /// Writes its text into `out` and returns it: the fastest way to it.
            #[inline]
            pub fn encode(self, out: &mut [u8; $chars]) -> &str {
                encode(&self.0, out);
                $crate::text::ascii::str_of(out)
            }

            /// The id in an [`Id`](crate::Id) that a [`Format`](crate::Format) made or checked.
            fn of(id: &$crate::Id) -> Self {
                $name(id.array().expect("Format checked the size"))
            }
        }

        #[cfg(feature = "std")]
        impl $crate::format::value::Value for $name {
            const ZERO: Self = $name([0; $bytes]);
            const CHARS: usize = $chars;

            #[inline]
            fn write_text(&self, out: &mut [u8]) {
                encode(&self.0, out.try_into().expect("room for one text"));
            }
        }

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.pad(self.encode(&mut [0; $chars]))
            }
        }

        impl core::fmt::Debug for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self)
            }
        }

        impl core::str::FromStr for $name {
            type Err = $crate::TextError;

            fn from_str(text: &str) -> Result<Self, $crate::TextError> {
                $name::parse(text.as_bytes())
            }
        }

        impl From<$name> for $crate::Id {
            fn from(id: $name) -> Self {
                $crate::Id::of(id.0)
            }
        }

        #[cfg(feature = "serde")]
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        #[cfg(feature = "serde")]
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <alloc::string::String as serde::Deserialize>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

pub(super) use id_type;

/// What an [`id_type!`] is to those who make many of it.
#[cfg(feature = "std")]
pub(crate) trait Value: Copy + Into<crate::Id> {
    /// A value to fill buffers with.
    const ZERO: Self;
    /// The length of its text.
    const CHARS: usize;

    /// Writes the text to `out`, which is exactly as long.
    fn write_text(&self, out: &mut [u8]);
}

#[cfg(feature = "std")]
mod many {
    use alloc::vec::Vec;

    use super::Value;
    use crate::format::generators::Source;
    use crate::format::{FormatError, Id, LINES_AT_ONCE};

    /// Fills ids of any format through a buffer of their own type.
    pub(crate) fn through<T: Value>(
        out: &mut [Id],
        fill: impl FnMut(&mut [T]) -> Result<(), FormatError>,
    ) -> Result<(), FormatError> {
        // One id must not pay for clearing room for hundreds.
        if out.len() <= FEW {
            return through_pieces::<T, FEW>(out, fill);
        }
        through_pieces::<T, LINES_AT_ONCE>(out, fill)
    }

    const FEW: usize = 4;

    fn through_pieces<T: Value, const N: usize>(
        out: &mut [Id],
        mut fill: impl FnMut(&mut [T]) -> Result<(), FormatError>,
    ) -> Result<(), FormatError> {
        let mut ids = [T::ZERO; N];
        for piece in out.chunks_mut(N) {
            let ids = &mut ids[..piece.len()];
            fill(ids)?;
            for (out, id) in piece.iter_mut().zip(ids) {
                *out = (*id).into();
            }
        }
        Ok(())
    }

    /// Appends the texts of `count` ids, each with a newline.
    pub(crate) fn lines<T: Value>(
        count: usize,
        out: &mut Vec<u8>,
        mut fill: impl FnMut(&mut [T]) -> Result<(), FormatError>,
    ) -> Result<(), FormatError> {
        let mut ids = [T::ZERO; LINES_AT_ONCE];
        let mut left = count;
        while left > 0 {
            let ids = &mut ids[..left.min(LINES_AT_ONCE)];
            fill(ids)?;
            let start = out.len();
            out.resize(start + ids.len() * (T::CHARS + 1), b'\n');
            for (line, id) in out[start..].chunks_exact_mut(T::CHARS + 1).zip(&*ids) {
                id.write_text(&mut line[..T::CHARS]);
            }
            left -= ids.len();
        }
        Ok(())
    }

    /// Fills `out` with what `make` makes of places in the order of version 7 ([`crate::uuid7`]'s, `unix_ms << 20 |
    /// counter`) and fresh random bytes.
    #[inline]
    pub(crate) fn in_order<T>(from: Source<'_>, out: &mut [T], make: impl Fn(u64, [u8; 8]) -> T) {
        places(from, out.len(), |at, places| {
            for (out, (place, random)) in out[at..].iter_mut().zip(places) {
                *out = make(place, random);
            }
        });
    }

    /// Claims `count` places in that order and hands them out with fresh random bytes, in pieces with the
    /// number of their first.
    #[inline]
    pub(crate) fn places(from: Source<'_>, count: usize, mut take: impl FnMut(usize, Places<'_>)) {
        if count == 0 {
            return;
        }
        let first = crate::uuid::v7::claim_by(from, count as u64);
        let mut piece = |at, random: &[[u8; 8]]| take(at, (first + at as u64..).zip(random.iter().copied()));
        if count < BATCH_PAYS_FROM {
            for at in 0..count {
                piece(at, &[crate::entropy::random_array()]);
            }
            return;
        }
        let mut batch = crate::entropy::Batch::new();
        let mut random = [0; 256 * 8];
        for at in (0..count).step_by(256) {
            let bytes = (count - at).min(256) * 8;
            // Whole steps of the keystream, no more than needed.
            batch.fill(&mut random[..bytes.next_multiple_of(256)]);
            piece(at, random[..bytes].as_chunks().0);
        }
    }

    /// Places, each with random bytes.
    pub(crate) type Places<'a> =
        core::iter::Zip<core::ops::RangeFrom<u64>, core::iter::Copied<core::slice::Iter<'a, [u8; 8]>>>;

    /// From this many ids on, a key of its own costs less than going through the thread's buffer.
    const BATCH_PAYS_FROM: usize = 64;
}
