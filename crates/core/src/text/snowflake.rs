//! The text forms of a 64-bit id.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write as _;

use super::{TextError, decimal, radix};

/// A way to write a 64-bit id; but for the forms called `…Padded`, without leading zeros.
///
/// `Base2`, `Base32`, `Base36`, `Base58` and `Base64` are exactly what bwmarrin/snowflake (Go) writes, its
/// own alphabets included.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum SnowflakeText {
    /// Decimal.
    Dec,
    /// Hexadecimal, lower case.
    Hex,
    /// Binary.
    Base2,
    /// Digits `ybndrfg8ejkmcpqxot1uwisza345h769`: z-base-32's letters as a plain positional number.
    Base32,
    /// Digits `0-9a-z`.
    Base36,
    /// Digits `1-9a-zA-Z` without `l`, `I`, `O`: lower case first, as Flickr, not Bitcoin.
    Base58,
    /// Digits `0-9A-Za-z`.
    Base62,
    /// Padded standard base64 *of the decimal text*.
    Base64,
    /// [`Self::Dec`] in 20 digits: sorts as the ids do, as do `Hex`, `Base2`, `Base36` and `Base62` padded.
    DecPadded,
    /// [`Self::Hex`] in 16 digits.
    HexPadded,
    /// [`Self::Base2`] in 64 digits.
    Base2Padded,
    /// [`Self::Base32`] in 13 digits.
    Base32Padded,
    /// [`Self::Base36`] in 13 digits, as CosId's `Radix36IdConverter` pads.
    Base36Padded,
    /// [`Self::Base58`] in 11 digits.
    Base58Padded,
    /// [`Self::Base62`] in 11 digits, as CosId's `Radix62IdConverter` pads.
    Base62Padded,
}

impl SnowflakeText {
    /// Every form with its name.
    pub const ALL: &[(&str, SnowflakeText)] = &[
        ("dec", SnowflakeText::Dec),
        ("hex", SnowflakeText::Hex),
        ("base2", SnowflakeText::Base2),
        ("base32", SnowflakeText::Base32),
        ("base36", SnowflakeText::Base36),
        ("base58", SnowflakeText::Base58),
        ("base62", SnowflakeText::Base62),
        ("base64", SnowflakeText::Base64),
        ("dec-padded", SnowflakeText::DecPadded),
        ("hex-padded", SnowflakeText::HexPadded),
        ("base2-padded", SnowflakeText::Base2Padded),
        ("base32-padded", SnowflakeText::Base32Padded),
        ("base36-padded", SnowflakeText::Base36Padded),
        ("base58-padded", SnowflakeText::Base58Padded),
        ("base62-padded", SnowflakeText::Base62Padded),
    ];

    /// The form called `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, form)| *form)
    }

    /// Appends `id` in this form to `out`.
    ///
    /// ```
    /// use mintage::SnowflakeText;
    /// let mut out = Vec::new();
    /// SnowflakeText::Base58.write(i64::MAX as u64, &mut out);
    /// assert_eq!(out, b"npL6MjP8Qfc");
    /// ```
    pub fn write(self, id: u64, out: &mut Vec<u8>) {
        if let Some((plain, width)) = self.padded()
            && let Some(alphabet) = plain.alphabet()
        {
            return radix::write_fixed(id.into(), alphabet, width, out);
        }
        match self.alphabet() {
            Some(alphabet) => radix::write(id, alphabet, out),
            None => {
                let mut text = String::new();
                write!(text, "{id}").expect("a string takes every write");
                radix::write_base64(text.as_bytes(), radix::BASE64, true, out);
            }
        }
    }

    /// Appends every id of `ids` in this form, each followed by a line feed; in decimal several times faster per
    /// id than [`SnowflakeText::write`] where neighbours differ little, as those of one generator do.
    ///
    /// ```
    /// use mintage::SnowflakeText;
    /// let mut out = Vec::new();
    /// SnowflakeText::Dec.write_lines(&[7, 1_541_815_603_606_036_480], &mut out);
    /// assert_eq!(out, b"7\n1541815603606036480\n");
    /// ```
    pub fn write_lines(self, ids: &[u64], out: &mut Vec<u8>) {
        if self == Self::Dec {
            return decimal::write_lines(ids, out);
        }
        for id in ids {
            self.write(*id, out);
            out.push(b'\n');
        }
    }

    /// Appends an id of up to 128 bits in this form to `out`. Padded forms have as many digits as the largest number
    /// of `bits` bits, which the id must fit: up to 64 of them those of [`SnowflakeText::write`].
    ///
    /// ```
    /// use mintage::SnowflakeText;
    /// let mut out = Vec::new();
    /// SnowflakeText::HexPadded.write_wide(255, 80, &mut out);
    /// assert_eq!(out, b"000000000000000000ff");
    /// ```
    pub fn write_wide(self, id: u128, bits: u32, out: &mut Vec<u8>) {
        if let Ok(narrow) = u64::try_from(id)
            && (bits <= u64::BITS || self.padded().is_none())
        {
            return self.write(narrow, out);
        }
        match (self.plain().alphabet(), self.width_of(bits)) {
            (Some(alphabet), Some(width)) => radix::write_fixed(id, alphabet, width, out),
            (Some(alphabet), None) => radix::write_number(id, alphabet, out),
            (None, _) => {
                let mut decimal = Vec::new();
                radix::write_number(id, b"0123456789", &mut decimal);
                radix::write_base64(&decimal, radix::BASE64, true, out);
            }
        }
    }

    /// Reads an id of up to 128 bits in this form, with any number of zeros in front, or as many left out.
    ///
    /// # Errors
    /// As [`Self::read_lenient`], of a number above 2^128 - 1.
    ///
    /// ```
    /// use mintage::{SnowflakeText, TextError};
    /// assert_eq!(SnowflakeText::Dec.read_wide(b"18446744073709551616"), Ok(1 << 64));
    /// assert_eq!(SnowflakeText::Hex.read_wide(b"100000000000000000000000000000000"), Err(TextError::TooLarge));
    /// ```
    pub fn read_wide(self, text: &[u8]) -> Result<u128, TextError> {
        match self.plain().alphabet() {
            Some(_) => self.plain().wide_number(text),
            None => SnowflakeText::Dec
                .wide_number(&base64_of_decimal(text)?)
                .map_err(in_base64),
        }
    }

    /// To how many characters this form pads ids of `bits` bits, if it pads.
    fn width_of(self, bits: u32) -> Option<usize> {
        let (plain, width) = self.padded()?;
        match plain.alphabet() {
            Some(alphabet) if bits > u64::BITS => {
                Some(radix::digits_for(bits.min(u128::BITS), alphabet.len()))
            }
            _ => Some(width),
        }
    }

    /// Reads an id in exactly this form; `Hex` and `Base36` take letters of either case.
    ///
    /// # Errors
    /// The text is empty, has a foreign character or a leading zero, or names a number above 2^64 - 1.
    ///
    /// ```
    /// use mintage::{SnowflakeText, TextError};
    /// assert_eq!(SnowflakeText::Base32.read(b"8999999999999"), Ok(i64::MAX as u64));
    /// assert_eq!(SnowflakeText::Dec.read(b"12a"), Err(TextError::Character { position: 2 }));
    /// ```
    pub fn read(self, text: &[u8]) -> Result<u64, TextError> {
        if let Some((plain, expected)) = self.padded() {
            if text.len() != expected {
                return Err(TextError::Length {
                    found: text.len(),
                    expected,
                });
            }
            return plain.number(text);
        }
        let Some(alphabet) = self.alphabet() else {
            return read_base64_of_decimal(text);
        };
        let value = self.number(text)?;
        if text.len() > 1 && text[0] == alphabet[0] {
            return Err(TextError::NotCanonical { position: 0 });
        }
        Ok(value)
    }

    /// Reads an id in this form with any number of zeros in front, or as many left out: what other programs pad to
    /// widths of their own.
    ///
    /// # Errors
    /// As [`Self::read`], but for leading zeros.
    ///
    /// ```
    /// use mintage::SnowflakeText;
    /// assert_eq!(SnowflakeText::Hex.read_lenient(b"00ff"), Ok(255));
    /// assert_eq!(SnowflakeText::HexPadded.read_lenient(b"ff"), Ok(255));
    /// assert!(SnowflakeText::Hex.read(b"00ff").is_err());
    /// ```
    pub fn read_lenient(self, text: &[u8]) -> Result<u64, TextError> {
        match self.plain() {
            Self::Base64 => self.read(text),
            plain => plain.number(text),
        }
    }

    /// The form without padding, and to how many characters this one pads; `None` if it does not.
    ///
    /// ```
    /// use mintage::SnowflakeText;
    /// assert_eq!(SnowflakeText::Base62Padded.padded(), Some((SnowflakeText::Base62, 11)));
    /// assert_eq!(SnowflakeText::Base62.padded(), None);
    /// ```
    pub const fn padded(self) -> Option<(Self, usize)> {
        Some(match self {
            Self::DecPadded => (Self::Dec, 20),
            Self::HexPadded => (Self::Hex, 16),
            Self::Base2Padded => (Self::Base2, 64),
            Self::Base32Padded => (Self::Base32, 13),
            Self::Base36Padded => (Self::Base36, 13),
            Self::Base58Padded => (Self::Base58, 11),
            Self::Base62Padded => (Self::Base62, 11),
            _ => return None,
        })
    }

    /// The form without padding.
    pub(crate) const fn plain(self) -> Self {
        match self.padded() {
            Some((plain, _)) => plain,
            None => self,
        }
    }

    /// The number, whatever zeros are in front.
    fn number(self, text: &[u8]) -> Result<u64, TextError> {
        u64::try_from(self.wide_number(text)?).map_err(|_| TextError::TooLarge)
    }

    fn wide_number(self, text: &[u8]) -> Result<u128, TextError> {
        let alphabet = self.alphabet().unwrap_or_default();
        let fold = matches!(self, Self::Hex | Self::Base36);
        radix::read(text, alphabet, fold)
    }

    fn alphabet(self) -> Option<&'static [u8]> {
        Some(match self {
            Self::Dec => b"0123456789",
            Self::Hex => b"0123456789abcdef",
            Self::Base2 => b"01",
            Self::Base32 => b"ybndrfg8ejkmcpqxot1uwisza345h769",
            Self::Base36 => radix::BASE36,
            Self::Base58 => b"123456789abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ",
            Self::Base62 => radix::BASE62,
            _ => return None,
        })
    }
}

fn read_base64_of_decimal(text: &[u8]) -> Result<u64, TextError> {
    SnowflakeText::Dec
        .read(&base64_of_decimal(text)?)
        .map_err(in_base64)
}

/// Where an error of the decimal text lies in the base64 of it.
fn in_base64(error: TextError) -> TextError {
    match error {
        // Three decimal digits stand in four characters.
        TextError::Character { position } => TextError::Character {
            position: position * 4 / 3,
        },
        other => other,
    }
}

/// The decimal text.
fn base64_of_decimal(text: &[u8]) -> Result<Vec<u8>, TextError> {
    if !text.len().is_multiple_of(4) {
        let expected = text.len().next_multiple_of(4);
        return Err(TextError::Length {
            found: text.len(),
            expected,
        });
    }
    let padding = text.iter().rev().take_while(|byte| **byte == b'=').count();
    if padding > 2 {
        return Err(TextError::Character {
            position: text.len() - padding,
        });
    }
    radix::read_base64(&text[..text.len() - padding], radix::BASE64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_texts_are_bwmarrins() {
        // bwmarrin/snowflake, snowflake_test.go: TestPrintAll's sample and the largest ids of each form.
        let largest = i64::MAX as u64;
        for (form, id, expected) in [
            (SnowflakeText::Dec, largest, "9223372036854775807"),
            (SnowflakeText::Base2, 5, "101"),
            (SnowflakeText::Base32, 0, "y"),
            (SnowflakeText::Base32, largest, "8999999999999"),
            (SnowflakeText::Base36, largest, "1y2p0ij32e8e7"),
            (SnowflakeText::Base58, 0, "1"),
            (SnowflakeText::Base58, largest, "npL6MjP8Qfc"),
            (SnowflakeText::Base64, 13, "MTM="),
            (SnowflakeText::HexPadded, 255, "00000000000000ff"),
            (SnowflakeText::Base32Padded, 0, "yyyyyyyyyyyyy"),
            (SnowflakeText::Base58Padded, largest, "npL6MjP8Qfc"),
            // Ahoo-Wang/CosId, Radix62IdConverterTest and Radix36IdConverterTest: the largest, and one padded.
            (SnowflakeText::Base62Padded, largest, "AzL8n0Y58m7"),
            (SnowflakeText::Base36Padded, 35, "000000000000z"),
        ] {
            let mut out = Vec::new();
            form.write(id, &mut out);
            assert_eq!(out, expected.as_bytes());
            assert_eq!(form.read(&out), Ok(id));
        }
    }

    proptest! {
        #[test]
        fn every_form_reads_back_what_it_wrote(id in any::<u64>(), shift in 0u32..64) {
            let id = id >> shift;
            for (name, form) in SnowflakeText::ALL {
                let mut out = Vec::new();
                form.write(id, &mut out);
                prop_assert_eq!(form.read(&out), Ok(id), "{}", name);
            }
        }

        #[test]
        fn every_form_takes_wide_numbers_and_pads_them_alike(
            ids: (u128, u128), bits in 1u32..=128, shift in 0u32..128,
        ) {
            let [one, other] = [ids.0, ids.1].map(|id| (id >> (128 - bits)) >> (shift % bits));
            for (name, form) in SnowflakeText::ALL {
                let [text, second] = [one, other].map(|id| {
                    let mut out = Vec::new();
                    form.write_wide(id, bits, &mut out);
                    out
                });
                prop_assert_eq!(form.read_wide(&text), Ok(one), "{}", name);
                if let Ok(id) = u64::try_from(one) && bits <= 64 {
                    let mut narrow = Vec::new();
                    form.write(id, &mut narrow);
                    prop_assert_eq!(&text, &narrow);
                }
                let sorts = form.padded().is_some() && !name.starts_with("base32") && !name.starts_with("base58");
                prop_assert!(!sorts || text.cmp(&second) == one.cmp(&other), "{}", name);
            }
        }

        #[test]
        fn lines_are_the_texts_one_by_one(
            ids in prop::collection::vec(any::<u64>(), 0..20), first: u64, step in 0u64..5000, shift in 0u32..64,
        ) {
            // Far apart, and near one another across the places where digits carry.
            let near = (0..20).map(|i| (first >> shift).wrapping_add(i * step));
            for ids in [ids.iter().map(|id| id >> shift).collect::<Vec<_>>(), near.collect()] {
                for (name, form) in SnowflakeText::ALL {
                    let (mut lines, mut one_by_one) = (Vec::new(), Vec::new());
                    form.write_lines(&ids, &mut lines);
                    for id in &ids {
                        form.write(*id, &mut one_by_one);
                        one_by_one.push(b'\n');
                    }
                    prop_assert_eq!(&lines, &one_by_one, "{}", name);
                }
            }
        }

        #[test]
        fn what_is_read_is_what_would_be_written(text in "[0-9a-z=]{0,22}") {
            for (name, form) in SnowflakeText::ALL {
                if let Ok(id) = form.read(text.as_bytes()) {
                    let mut out = Vec::new();
                    form.write(id, &mut out);
                    prop_assert_eq!(out, text.as_bytes(), "{}", name);
                }
            }
        }
    }

    #[test]
    fn refusals_say_what_is_wrong_and_where() {
        let check = |form: SnowflakeText, text: &str, expected| {
            assert_eq!(form.read(text.as_bytes()), Err(expected), "{text}");
        };
        check(SnowflakeText::Dec, "", TextError::Empty);
        check(SnowflakeText::Dec, "18446744073709551616", TextError::TooLarge);
        check(SnowflakeText::Dec, "01", TextError::NotCanonical { position: 0 });
        check(SnowflakeText::Base58, "0", TextError::Character { position: 0 });
        check(
            SnowflakeText::Base58,
            "11",
            TextError::NotCanonical { position: 0 },
        );
        check(
            SnowflakeText::Base64,
            "MTM",
            TextError::Length {
                found: 3,
                expected: 4,
            },
        );
        check(
            SnowflakeText::Base64,
            "M===",
            TextError::Character { position: 1 },
        );
        check(
            SnowflakeText::Base64,
            "MTMt",
            TextError::Character { position: 2 },
        );
    }
}
