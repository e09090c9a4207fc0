//! The text forms of a UUID.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write as _;

use ::uuid::Uuid;

use super::{TextError, radix};

/// A way to write a UUID.
///
/// All but `Base64Url` sort as the ids do (bytes, and text of one form among itself), because they have a
/// fixed width and alphabets in ASCII order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum UuidText {
    /// `017f22e2-79b0-7cc3-98c4-dc0c0c07398f`, RFC 9562 section 4.
    Hyphenated,
    /// 32 hexadecimal digits.
    Simple,
    /// `urn:uuid:` and the hyphenated form.
    Urn,
    /// The hyphenated form in braces, as Microsoft tools write it.
    Braced,
    /// The hyphenated form in upper case.
    Upper,
    /// 26 digits of Crockford's base32, of the id as one number: the text of a ULID with the same bits.
    Base32,
    /// 25 digits, `0-9a-z`.
    Base36,
    /// 22 digits of Bitcoin's base58 alphabet.
    Base58,
    /// 22 digits, `0-9A-Za-z`.
    Base62,
    /// 22 characters of RFC 4648 base64url without padding. Does not sort as the ids do.
    Base64Url,
    /// The id as a decimal number without leading zeros.
    Int,
    /// The 16 bytes themselves, no text.
    Raw,
}

impl UuidText {
    /// Every form with its name on the command line.
    pub const ALL: &[(&str, UuidText)] = &[
        ("hyphenated", UuidText::Hyphenated),
        ("simple", UuidText::Simple),
        ("urn", UuidText::Urn),
        ("braced", UuidText::Braced),
        ("upper", UuidText::Upper),
        ("base32", UuidText::Base32),
        ("base36", UuidText::Base36),
        ("base58", UuidText::Base58),
        ("base62", UuidText::Base62),
        ("base64url", UuidText::Base64Url),
        ("int", UuidText::Int),
        ("raw", UuidText::Raw),
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
    /// use mintage::{Uuid, UuidText};
    /// let id = Uuid::try_parse("017f22e2-79b0-7cc3-98c4-dc0c0c07398f").expect("a uuid");
    /// let mut out = Vec::new();
    /// UuidText::Base32.write(&id, &mut out);
    /// assert_eq!(out, b"01FWHE4YDGFK1SHH6W1G60EECF");
    /// ```
    pub fn write(self, id: &Uuid, out: &mut Vec<u8>) {
        let mut buffer = [0; 45];
        let value = id.as_u128();
        match self {
            Self::Hyphenated => out.extend_from_slice(id.hyphenated().encode_lower(&mut buffer).as_bytes()),
            Self::Simple => out.extend_from_slice(id.simple().encode_lower(&mut buffer).as_bytes()),
            Self::Urn => out.extend_from_slice(id.urn().encode_lower(&mut buffer).as_bytes()),
            Self::Braced => out.extend_from_slice(id.braced().encode_lower(&mut buffer).as_bytes()),
            Self::Upper => out.extend_from_slice(id.hyphenated().encode_upper(&mut buffer).as_bytes()),
            Self::Base32 => radix::write_fixed(value, radix::CROCKFORD, 26, out),
            Self::Base36 => radix::write_fixed(value, radix::BASE36, 25, out),
            Self::Base58 => radix::write_fixed(value, radix::BASE58_BITCOIN, 22, out),
            Self::Base62 => radix::write_fixed(value, radix::BASE62, 22, out),
            Self::Base64Url => radix::write_base64(id.as_bytes(), radix::BASE64_URL, false, out),
            Self::Int => {
                let mut text = String::new();
                write!(text, "{value}").expect("a string takes every write");
                out.extend_from_slice(text.as_bytes());
            }
            Self::Raw => out.extend_from_slice(id.as_bytes()),
        }
    }

    /// Reads a UUID in exactly this form; letters may be of either case in the hexadecimal forms.
    ///
    /// # Errors
    /// The text is not one this form writes: wrong length, a foreign character, a number above 2^128 - 1.
    ///
    /// ```
    /// use mintage::{TextError, Uuid, UuidText};
    /// assert_eq!(UuidText::Base62.read(b"0000000000000000000000"), Ok(Uuid::nil()));
    /// assert_eq!(UuidText::Base62.read(b"0"), Err(TextError::Length { found: 1, expected: 22 }));
    /// ```
    pub fn read(self, text: &[u8]) -> Result<Uuid, TextError> {
        let fixed = |expected| {
            if text.len() == expected {
                Ok(())
            } else {
                Err(TextError::Length {
                    found: text.len(),
                    expected,
                })
            }
        };
        let number = |alphabet, width| {
            fixed(width)?;
            radix::read(text, alphabet, false).map(Uuid::from_u128)
        };
        match self {
            Self::Hyphenated | Self::Upper => {
                fixed(36)?;
                read_hyphenated(text, 0)
            }
            Self::Simple => {
                fixed(32)?;
                radix::read(text, b"0123456789abcdef", true).map(Uuid::from_u128)
            }
            Self::Urn => {
                fixed(45)?;
                let prefix = b"urn:uuid:";
                match text
                    .iter()
                    .zip(prefix)
                    .position(|(a, b)| !a.eq_ignore_ascii_case(b))
                {
                    Some(position) => Err(TextError::Character { position }),
                    None => read_hyphenated(&text[9..], 9),
                }
            }
            Self::Braced => {
                fixed(38)?;
                if text[0] != b'{' {
                    return Err(TextError::Character { position: 0 });
                }
                if text[37] != b'}' {
                    return Err(TextError::Character { position: 37 });
                }
                read_hyphenated(&text[1..37], 1)
            }
            Self::Base32 => number(radix::CROCKFORD, 26),
            Self::Base36 => number(radix::BASE36, 25),
            Self::Base58 => number(radix::BASE58_BITCOIN, 22),
            Self::Base62 => number(radix::BASE62, 22),
            Self::Base64Url => {
                fixed(22)?;
                let bytes = radix::read_base64(text, radix::BASE64_URL)?;
                Ok(Uuid::from_slice(&bytes).expect("22 base64 characters hold 16 bytes"))
            }
            Self::Int => {
                let value = radix::read(text, b"0123456789", false)?;
                if text.len() > 1 && text[0] == b'0' {
                    return Err(TextError::NotCanonical { position: 0 });
                }
                Ok(Uuid::from_u128(value))
            }
            Self::Raw => {
                fixed(16)?;
                Ok(Uuid::from_slice(text).expect("16 bytes were checked"))
            }
        }
    }
}

/// Reads 8-4-4-4-12 hexadecimal digits; positions in errors count from `offset`.
fn read_hyphenated(text: &[u8], offset: usize) -> Result<Uuid, TextError> {
    let mut value = 0u128;
    for (i, byte) in text.iter().enumerate() {
        let position = i + offset;
        if matches!(i, 8 | 13 | 18 | 23) {
            if *byte != b'-' {
                return Err(TextError::Character { position });
            }
            continue;
        }
        let digit = char::from(*byte)
            .to_digit(16)
            .ok_or(TextError::Character { position })?;
        value = value << 4 | u128::from(digit);
    }
    Ok(Uuid::from_u128(value))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(form: UuidText, id: Uuid) -> Vec<u8> {
        let mut out = Vec::new();
        form.write(&id, &mut out);
        out
    }

    proptest! {
        #[test]
        fn every_form_reads_back_what_it_wrote(value in any::<u128>(), shift in 0u32..128) {
            let id = Uuid::from_u128(value >> shift);
            for (name, form) in UuidText::ALL {
                prop_assert_eq!(form.read(&text(*form, id)), Ok(id), "{}", name);
            }
        }

        #[test]
        fn fixed_width_texts_sort_as_the_ids_do(a in any::<u128>(), b in any::<u128>(), shift in 0u32..128) {
            let (a, b) = (Uuid::from_u128(a >> shift), Uuid::from_u128(b >> shift));
            for (name, form) in UuidText::ALL {
                if !matches!(form, UuidText::Base64Url | UuidText::Int) {
                    prop_assert_eq!(text(*form, a).cmp(&text(*form, b)), a.cmp(&b), "{}", name);
                }
            }
        }

        #[test]
        fn no_text_makes_a_reader_panic(text in prop::collection::vec(any::<u8>(), 0..50)) {
            for (_, form) in UuidText::ALL {
                let _ = form.read(&text);
            }
        }

        #[test]
        fn hyphenated_agrees_with_the_uuid_crate(text in "[0-9a-fA-F-]{36}") {
            let ours = UuidText::Hyphenated.read(text.as_bytes()).ok();
            prop_assert_eq!(ours, Uuid::try_parse(&text).ok());
        }
    }

    #[test]
    fn the_largest_id_has_the_same_width_as_every_other() {
        for (form, expected) in [
            (UuidText::Base32, "7ZZZZZZZZZZZZZZZZZZZZZZZZZ"),
            (UuidText::Base36, "f5lxx1zz5pnorynqglhzmsp33"),
            (UuidText::Base58, "YcVfxkQb6JRzqk5kF2tNLv"),
            (UuidText::Base62, "7n42DGM5Tflk9n8mt7Fhc7"),
            (UuidText::Base64Url, "_____________________w"),
            (UuidText::Int, "340282366920938463463374607431768211455"),
        ] {
            assert_eq!(text(form, Uuid::max()), expected.as_bytes());
        }
    }

    #[track_caller]
    fn check_refused(form: UuidText, text: &str, expected: TextError) {
        assert_eq!(form.read(text.as_bytes()), Err(expected), "{text}");
    }

    #[test]
    fn refusals_say_what_is_wrong_and_where() {
        check_refused(
            UuidText::Base32,
            "8ZZZZZZZZZZZZZZZZZZZZZZZZZ",
            TextError::TooLarge,
        );
        check_refused(
            UuidText::Base32,
            "7zZZZZZZZZZZZZZZZZZZZZZZZZ",
            TextError::Character { position: 1 },
        );
        check_refused(
            UuidText::Int,
            "340282366920938463463374607431768211456",
            TextError::TooLarge,
        );
        check_refused(UuidText::Int, "007", TextError::NotCanonical { position: 0 });
        check_refused(UuidText::Int, "", TextError::Empty);
        check_refused(
            UuidText::Base64Url,
            "_____________________x",
            TextError::NotCanonical { position: 21 },
        );
        check_refused(
            UuidText::Simple,
            "017f22e2",
            TextError::Length {
                found: 8,
                expected: 32,
            },
        );
        check_refused(
            UuidText::Braced,
            "(017f22e2-79b0-7cc3-98c4-dc0c0c07398f}",
            TextError::Character { position: 0 },
        );
        check_refused(
            UuidText::Urn,
            "urn:uuid:017f22e2-79b0-7cc3-98c4-dc0c0c07398g",
            TextError::Character { position: 44 },
        );
    }
}
