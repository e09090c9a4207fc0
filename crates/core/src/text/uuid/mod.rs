//! The text forms of a UUID.

mod lenient;
mod parse;

use alloc::vec::Vec;

use ::uuid::Uuid;

pub use self::parse::{parse_uuid, parse_uuid_lenient, uuid_text};
use super::ncname::{self, Between};
use super::{TextError, bits, hex, radix};
use lenient::Clean;

/// A way to write a UUID.
///
/// Most have a fixed width and digits in ASCII order, so that text sorts as the ids do
/// ([`UuidText::sorts`]); where the draft on alternate encodings drops leading zeros, they stay here.
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
    /// 128 digits `0` and `1`.
    Base2,
    /// 26 digits of Crockford's base32 of the id as one number, right-aligned: the text of a ULID or, in lower
    /// case, of a TypeID with the same bits.
    Base32,
    /// 26 digits of Crockford's base32 of the id as a stream of bits, left-aligned: another text than
    /// [`UuidText::Base32`]. The draft calls it base32 for humans.
    Base32Human,
    /// 26 digits `0-9A-V`, left-aligned: RFC 4648 section 7 without padding.
    Base32Hex,
    /// 26 digits `A-Z2-7`, left-aligned: RFC 4648 section 6 without padding. Does not sort as the ids do.
    Base32Std,
    /// 25 digits, `0-9a-z`; the same as Uuid25.
    Base36,
    /// 23 digits, `A-Za-z`.
    Base52,
    /// 22 digits of Bitcoin's base58 alphabet.
    Base58,
    /// 22 digits, `0-9A-Za-z`.
    Base62,
    /// 22 digits, `0-9A-Za-z`, of the id with the bits `10` in front: always begins with a letter.
    Base62Id,
    /// 22 digits, `A-Za-z0-9`, as the IEEE orders them. Does not sort as the ids do.
    Base62Ieee,
    /// 24 characters of RFC 4648 base64 with its padding. Does not sort as the ids do.
    Base64,
    /// 22 characters of RFC 4648 base64url without padding. Does not sort as the ids do.
    Base64Url,
    /// 22 digits, `-0-9A-Z_a-z`, left-aligned.
    Base64Sort,
    /// 22 digits, `$0-9A-Z_a-z`, of the id with the bits `0100` in front: always begins with a letter.
    Base64Uuid,
    /// 20 characters of Z85, ZeroMQ RFC 32. Does not sort as the ids do.
    Z85,
    /// UUID-NCName in base32, 26 characters. Sorts within one version and variant.
    NcName32,
    /// UUID-NCName in base58, 23 characters. Does not sort as the ids do.
    NcName58,
    /// UUID-NCName in base64url, 22 characters. Does not sort as the ids do.
    NcName64,
    /// 22 digits of the alphabet of Python's shortuuid, `2-9A-HJ-NP-Za-km-z`.
    ShortUuid,
    /// The id as a decimal number without leading zeros. Does not sort as text.
    Int,
    /// The 16 bytes themselves, no text.
    Raw,
}

impl UuidText {
    /// Every form with its name.
    pub const ALL: &[(&str, UuidText)] = &[
        ("hyphenated", UuidText::Hyphenated),
        ("simple", UuidText::Simple),
        ("urn", UuidText::Urn),
        ("braced", UuidText::Braced),
        ("upper", UuidText::Upper),
        ("base2", UuidText::Base2),
        ("base32", UuidText::Base32),
        ("base32human", UuidText::Base32Human),
        ("base32hex", UuidText::Base32Hex),
        ("base32std", UuidText::Base32Std),
        ("base36", UuidText::Base36),
        ("base52", UuidText::Base52),
        ("base58", UuidText::Base58),
        ("base62", UuidText::Base62),
        ("base62id", UuidText::Base62Id),
        ("base62ieee", UuidText::Base62Ieee),
        ("base64", UuidText::Base64),
        ("base64url", UuidText::Base64Url),
        ("base64sort", UuidText::Base64Sort),
        ("base64uuid", UuidText::Base64Uuid),
        ("z85", UuidText::Z85),
        ("ncname32", UuidText::NcName32),
        ("ncname58", UuidText::NcName58),
        ("ncname64", UuidText::NcName64),
        ("shortuuid", UuidText::ShortUuid),
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

    /// Its name.
    pub fn name(self) -> &'static str {
        let row = Self::ALL.iter().find(|(_, form)| *form == self);
        row.expect("a test finds every form in the table").0
    }

    /// How many bytes its text has; `None` if that depends on the id.
    ///
    /// ```
    /// use mintage::UuidText;
    /// assert_eq!((UuidText::Base58.width(), UuidText::Int.width()), (Some(22), None));
    /// ```
    pub const fn width(self) -> Option<usize> {
        Some(match self {
            Self::Hyphenated | Self::Upper => 36,
            Self::Simple => 32,
            Self::Urn => 45,
            Self::Braced => 38,
            Self::Base2 => 128,
            Self::Base32 | Self::Base32Human | Self::Base32Hex | Self::Base32Std => 26,
            Self::NcName32 => Between::Base32.width(),
            Self::Base36 => 25,
            Self::Base64 => 24,
            Self::Base52 => 23,
            Self::NcName58 => Between::Base58.width(),
            Self::NcName64 => Between::Base64.width(),
            Self::Base58
            | Self::Base62
            | Self::Base62Id
            | Self::Base62Ieee
            | Self::Base64Url
            | Self::Base64Sort
            | Self::Base64Uuid
            | Self::ShortUuid => 22,
            Self::Z85 => 20,
            Self::Raw => 16,
            Self::Int => return None,
        })
    }

    /// Whether texts of this form sort as the ids do (byte by byte).
    ///
    /// ```
    /// use mintage::UuidText;
    /// assert!(UuidText::Base62.sorts() && !UuidText::Base64Url.sorts());
    /// ```
    pub const fn sorts(self) -> bool {
        !matches!(
            self,
            Self::Base32Std
                | Self::Base62Ieee
                | Self::Base64
                | Self::Base64Url
                | Self::Z85
                | Self::NcName32
                | Self::NcName58
                | Self::NcName64
                | Self::Int
        )
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
        let value = id.as_u128();
        match self {
            Self::Hyphenated => out.extend_from_slice(&hex::write_hyphenated(id.as_bytes())),
            Self::Simple => out.extend_from_slice(&hex::write_simple(id.as_bytes())),
            Self::Urn => {
                out.extend_from_slice(URN);
                out.extend_from_slice(&hex::write_hyphenated(id.as_bytes()));
            }
            Self::Braced => {
                out.push(b'{');
                out.extend_from_slice(&hex::write_hyphenated(id.as_bytes()));
                out.push(b'}');
            }
            Self::Upper => {
                let mut text = hex::write_hyphenated(id.as_bytes());
                text.make_ascii_uppercase();
                out.extend_from_slice(&text);
            }
            Self::Base2 => radix::write_fixed(value, b"01", 128, out),
            Self::Base32 => radix::write_fixed(value, radix::CROCKFORD, 26, out),
            Self::Base32Human => bits::write(value, 5, radix::CROCKFORD, out),
            Self::Base32Hex => bits::write(value, 5, bits::BASE32_HEX, out),
            Self::Base32Std => bits::write(value, 5, bits::BASE32_STD, out),
            Self::Base36 => radix::write_fixed(value, radix::BASE36, 25, out),
            Self::Base52 => radix::write_fixed(value, BASE52, 23, out),
            Self::Base58 => radix::write_fixed(value, radix::BASE58_BITCOIN, 22, out),
            Self::Base62 => radix::write_fixed(value, radix::BASE62, 22, out),
            Self::Base62Id => {
                // 2^129 is more than 128 bits hold: its first digit and the rest, then the id's own digits.
                let start = out.len();
                radix::write_fixed(value, radix::BASE62, 22, out);
                add_digits(&mut out[start..], BASE62ID_OFFSET, radix::BASE62);
            }
            Self::Base62Ieee => radix::write_fixed(value, BASE62_IEEE, 22, out),
            Self::Base64 => {
                bits::write(value, 6, radix::BASE64, out);
                out.extend_from_slice(b"==");
            }
            Self::Base64Url => bits::write(value, 6, radix::BASE64_URL, out),
            Self::Base64Sort => bits::write(value, 6, bits::BASE64_SORT, out),
            Self::Base64Uuid => {
                let start = out.len();
                radix::write_fixed(value, BASE64_UUID, 22, out);
                // The highest digit has two bits of the id; the four in front of them are 0100.
                let two = (value >> 126) as usize;
                out[start] = BASE64_UUID[0b01_0000 | two];
            }
            Self::Z85 => bits::write_z85(value, out),
            Self::NcName32 => ncname::write(value, Between::Base32, out),
            Self::NcName58 => ncname::write(value, Between::Base58, out),
            Self::NcName64 => ncname::write(value, Between::Base64, out),
            Self::ShortUuid => radix::write_fixed(value, SHORT_UUID, 22, out),
            Self::Int => radix::write_number(value, b"0123456789", out),
            Self::Raw => out.extend_from_slice(id.as_bytes()),
        }
    }

    /// Appends every id of `ids` in this form, each followed by a line feed (bytes of [`UuidText::Raw`] by
    /// nothing); several times faster per id than [`UuidText::write`] for hyphenated text.
    ///
    /// ```
    /// use mintage::{Uuid, UuidText};
    /// let mut out = Vec::new();
    /// UuidText::Simple.write_lines(&[Uuid::nil(), Uuid::max()], &mut out);
    /// assert_eq!(out, b"00000000000000000000000000000000\nffffffffffffffffffffffffffffffff\n");
    /// ```
    pub fn write_lines(self, ids: &[Uuid], out: &mut Vec<u8>) {
        match self {
            Self::Hyphenated => hex::write_lines(ids, out),
            Self::Raw => ids.iter().for_each(|id| out.extend_from_slice(id.as_bytes())),
            _ => {
                for id in ids {
                    self.write(id, out);
                    out.push(b'\n');
                }
            }
        }
    }

    /// Reads a UUID in exactly this form (the strict mode); digits of the hexadecimal forms may be of either
    /// case. Any 128 bits are a UUID here; which version they claim is not looked at.
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
        if let Some(expected) = self.width()
            && text.len() != expected
        {
            return Err(TextError::Length {
                found: text.len(),
                expected,
            });
        }
        let number = |alphabet| radix::read(text, alphabet, false).map(Uuid::from_u128);
        let stream = |text, bits, alphabet| bits::read(text, bits, alphabet).map(Uuid::from_u128);
        match self {
            Self::Hyphenated | Self::Upper => hyphenated(text, 0),
            Self::Simple => {
                let digits = text.first_chunk().expect("the length was checked");
                hex::read_simple(digits).map(Uuid::from_bytes)
            }
            Self::Urn => {
                let differs = |(a, b): (&u8, &u8)| !a.eq_ignore_ascii_case(b);
                match text.iter().zip(URN).position(differs) {
                    Some(position) => Err(TextError::Character { position }),
                    None => hyphenated(text, URN.len()),
                }
            }
            Self::Braced => {
                if text[0] != b'{' {
                    return Err(TextError::Character { position: 0 });
                }
                if text[37] != b'}' {
                    return Err(TextError::Character { position: 37 });
                }
                hyphenated(text, 1)
            }
            Self::Base2 => number(b"01"),
            Self::Base32 => number(radix::CROCKFORD),
            Self::Base32Human => stream(text, 5, radix::CROCKFORD),
            Self::Base32Hex => stream(text, 5, bits::BASE32_HEX),
            Self::Base32Std => stream(text, 5, bits::BASE32_STD),
            Self::Base36 => number(radix::BASE36),
            Self::Base52 => number(BASE52),
            Self::Base58 => number(radix::BASE58_BITCOIN),
            Self::Base62 => number(radix::BASE62),
            Self::Base62Id => read_base62id(text),
            Self::Base62Ieee => number(BASE62_IEEE),
            Self::Base64 => {
                if let Some(at) = text[22..].iter().position(|b| *b != b'=') {
                    return Err(TextError::Character { position: 22 + at });
                }
                stream(&text[..22], 6, radix::BASE64)
            }
            Self::Base64Url => stream(text, 6, radix::BASE64_URL),
            Self::Base64Sort => stream(text, 6, bits::BASE64_SORT),
            Self::Base64Uuid => {
                let first = radix::read(&text[..1], BASE64_UUID, false)?;
                if first >> 2 != 0b0100 {
                    return Err(TextError::Rule {
                        position: 0,
                        rule: "the first character of this form is F, G, H or I",
                    });
                }
                let rest = radix::read(&text[1..], BASE64_UUID, false).map_err(|error| error.moved(1))?;
                Ok(Uuid::from_u128(first << 126 | rest))
            }
            Self::Z85 => bits::read_z85(text).map(Uuid::from_u128),
            Self::NcName32 => ncname::read(text, Between::Base32).map(Uuid::from_u128),
            Self::NcName58 => ncname::read(text, Between::Base58).map(Uuid::from_u128),
            Self::NcName64 => ncname::read(text, Between::Base64).map(Uuid::from_u128),
            Self::ShortUuid => number(SHORT_UUID),
            Self::Int => {
                let value = radix::read(text, b"0123456789", false)?;
                if text.len() > 1 && text[0] == b'0' {
                    return Err(TextError::NotCanonical { position: 0 });
                }
                Ok(Uuid::from_u128(value))
            }
            Self::Raw => Ok(Uuid::from_slice(text).expect("the length was checked")),
        }
    }

    /// Reads a UUID that people or other programs wrote in this form less exactly (the lenient mode). Forgives:
    ///
    /// - white space around the text (not for [`UuidText::Raw`]);
    /// - in the hexadecimal forms any of their punctuations, hyphens between any two digits, `{}`, `()`, `[]` or
    ///   quotes around, `urn:uuid:`, `uuid:` or `0x` in front;
    /// - in Crockford's base32 lower case, `i` `l` for 1, `o` for 0, and hyphens between digits; lower or upper
    ///   case in the other forms whose digits have one case;
    /// - in numbers that leading zeros are missing (in decimal: that there are some);
    /// - padding left out or added, and either alphabet in the base64 and base64url forms.
    ///
    /// # Errors
    /// What is left is not an id of this form; positions are those of the text as it is.
    ///
    /// ```
    /// use mintage::{Uuid, UuidText};
    /// let id = Uuid::try_parse("017f22e2-79b0-7cc3-98c4-dc0c0c07398f").expect("a uuid");
    /// assert_eq!(UuidText::Base62.read_lenient(b" 2p5oQZoHTv0zeY5yG21K3 "), Ok(id));
    /// assert_eq!(UuidText::Base32.read_lenient(b"O1fwhe4y-dgfk-ishh-6w1g-60eecf"), Ok(id));
    /// assert_eq!(UuidText::Hyphenated.read_lenient(b"{017f22e279b0-7CC3-98c4dc0c0c07398f}"), Ok(id));
    /// ```
    pub fn read_lenient(self, text: &[u8]) -> Result<Uuid, TextError> {
        match self {
            Self::Raw => self.read(text),
            // Fewer digits are rather a shorter number: only white space is forgiven.
            Self::Base2 => {
                let before = text.len() - text.trim_ascii_start().len();
                self.read(text.trim_ascii()).map_err(|error| error.moved(before))
            }
            Self::Hyphenated | Self::Simple | Self::Urn | Self::Braced | Self::Upper => {
                let clean = Clean::hex(text)?;
                Self::Simple
                    .read(clean.bytes())
                    .map_err(|error| clean.error(error))
            }
            _ => {
                let clean = Clean::new(self, text)?;
                self.read(clean.bytes()).map_err(|error| clean.error(error))
            }
        }
    }
}

const URN: &[u8; 9] = b"urn:uuid:";
const BASE52: &[u8; 52] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const BASE62_IEEE: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const BASE64_UUID: &[u8; 64] = b"$0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz";
/// skorokithakis/shortuuid, its default alphabet.
const SHORT_UUID: &[u8; 57] = b"23456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

/// 2^129, the bits `10` above an id, in 22 digits of base62: the text of the nil id.
const BASE62ID_OFFSET: &[u8; 22] = b"Fa84QWiAxLXUJaHZmEVPEG";

/// Adds one number to another, digit by digit; the sum fits.
fn add_digits(digits: &mut [u8], other: &[u8], alphabet: &[u8]) {
    let value = |digit: u8| alphabet.iter().position(|letter| *letter == digit).unwrap_or(0);
    let mut carry = 0;
    for (digit, other) in digits.iter_mut().zip(other).rev() {
        let sum = value(*digit) + value(*other) + carry;
        *digit = alphabet[sum % alphabet.len()];
        carry = sum / alphabet.len();
    }
}

/// Reads 22 digits of base62 whose number lies from 2^129 to 2^129 + 2^128 - 1.
fn read_base62id(text: &[u8]) -> Result<Uuid, TextError> {
    let range = TextError::Rule {
        position: 0,
        rule: "the number does not have the bits 10 above the id",
    };
    let mut digits = [0; 22];
    let mut borrow = 0;
    for (position, digit) in text.iter().enumerate().rev() {
        let value = |digit: u8| radix::BASE62.iter().position(|letter| *letter == digit);
        let Some(found) = value(*digit) else {
            // The first one that is wrong, not the last.
            let foreign = |b: &u8| value(*b).is_none();
            let position = text.iter().position(foreign).unwrap_or(position);
            return Err(TextError::Character { position });
        };
        let less = value(BASE62ID_OFFSET[position]).unwrap_or(0) + borrow;
        borrow = usize::from(found < less);
        digits[position] = radix::BASE62[found + 62 * borrow - less];
    }
    if borrow != 0 {
        return Err(range);
    }
    match radix::read(&digits, radix::BASE62, false) {
        Ok(value) => Ok(Uuid::from_u128(value)),
        Err(_) => Err(range),
    }
}

/// Reads the 36 characters from `offset` on.
#[inline]
fn hyphenated(text: &[u8], offset: usize) -> Result<Uuid, TextError> {
    let text = text[offset..].first_chunk().expect("the length was checked");
    hex::read_hyphenated(text, offset).map(Uuid::from_bytes)
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
                if form.sorts() {
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

    proptest! {
        #[test]
        fn lenient_reads_what_strict_reads_and_what_people_write(value in any::<u128>(), shift in 0u32..128) {
            let id = Uuid::from_u128(value >> shift);
            for (name, form) in UuidText::ALL {
                if *form == UuidText::Raw {
                    continue;
                }
                let text = text(*form, id);
                prop_assert_eq!(form.read_lenient(&text), Ok(id), "{}", name);
                let spaced = [b" \t".as_slice(), &text, b"\r\n"].concat();
                prop_assert_eq!(form.read_lenient(&spaced), Ok(id), "{}", name);
            }
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
