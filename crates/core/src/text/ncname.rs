//! UUID-NCName (draft-taylor-uuid-ncname): text that XML, HTML and most languages take as a name.
//!
//! A letter `A` to `P` for the version's four bits stands in front, one for the four bits with the variant at the end,
//! the other 120 bits between them.

use alloc::vec::Vec;

use super::{TextError, bits, radix};

/// The alphabet between the two letters.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Between {
    /// 24 lower-case digits of RFC 4648 base32; the letters are lower case, too.
    Base32,
    /// Base58 as Bitcoin writes bytes, filled with `_` to 21.
    Base58,
    /// 20 digits of base64url.
    Base64,
}

impl Between {
    /// How long the whole text is.
    pub(super) const fn width(self) -> usize {
        match self {
            Between::Base32 => 26,
            Between::Base58 => 23,
            Between::Base64 => 22,
        }
    }
}

/// Appends the text.
pub(super) fn write(value: u128, between: Between, out: &mut Vec<u8>) {
    let start = out.len();
    let (version, variant, rest) = apart(value);
    out.push(b'A' + version);
    match between {
        Between::Base32 => radix::write_fixed(rest, bits::BASE32_STD, 24, out),
        Between::Base64 => radix::write_fixed(rest, radix::BASE64_URL, 20, out),
        Between::Base58 => {
            // Every zero byte in front is a digit of its own.
            let zeros = (rest << 8).leading_zeros() as usize / 8;
            let zeros = zeros.min(BYTES);
            out.resize(out.len() + zeros, radix::BASE58_BITCOIN[0]);
            if rest != 0 {
                radix::write_fixed(rest, radix::BASE58_BITCOIN, digits_of(rest), out);
            }
            out.resize(start + between.width() - 1, b'_');
        }
    }
    out.push(b'A' + variant);
    if between == Between::Base32 {
        out[start..].make_ascii_lowercase();
    }
}

/// Reads the text, which has its width.
///
/// # Errors
/// A foreign character, too large a number, or another text than the one [`write`] writes.
pub(super) fn read(text: &[u8], between: Between) -> Result<u128, TextError> {
    let lower = between == Between::Base32;
    let letter = |position: usize| {
        let byte = if lower {
            text[position].to_ascii_uppercase()
        } else {
            text[position]
        };
        match byte {
            b'A'..=b'P' if !lower || text[position].is_ascii_lowercase() => Ok(byte - b'A'),
            _ => Err(TextError::Character { position }),
        }
    };
    let last = text.len() - 1;
    let (version, body) = (letter(0)?, &text[1..last]);
    let rest = match between {
        Between::Base32 => {
            if let Some(at) = body.iter().position(u8::is_ascii_uppercase) {
                return Err(TextError::Character { position: at + 1 });
            }
            radix::read(body, bits::BASE32_STD, true)
        }
        Between::Base64 => radix::read(body, radix::BASE64_URL, false),
        Between::Base58 => read_base58(body),
    };
    let rest = rest.map_err(|error| error.moved(1))?;
    let variant = letter(last)?;
    Ok(together(version, variant, rest))
}

fn read_base58(body: &[u8]) -> Result<u128, TextError> {
    let end = body.iter().position(|b| *b == b'_').unwrap_or(body.len());
    if let Some(at) = body[end..].iter().position(|b| *b != b'_') {
        return Err(TextError::Character { position: end + at });
    }
    let digits = &body[..end];
    let zeros = digits
        .iter()
        .take_while(|b| **b == radix::BASE58_BITCOIN[0])
        .count();
    let number = match &digits[zeros..] {
        [] => 0,
        some => radix::read(some, radix::BASE58_BITCOIN, false).map_err(|error| error.moved(zeros))?,
    };
    if number >> (8 * BYTES) != 0 {
        return Err(TextError::TooLarge);
    }
    // As many ones in front as the number has zero bytes: no other text is the same id.
    if zeros != ((number << 8).leading_zeros() as usize / 8).min(BYTES) {
        return Err(TextError::NotCanonical { position: 0 });
    }
    Ok(number)
}

const BYTES: usize = 15;

/// How many base58 digits a number has.
fn digits_of(mut number: u128) -> usize {
    let mut digits = 0;
    while number != 0 {
        number /= 58;
        digits += 1;
    }
    digits
}

/// The two nibbles that are taken out, and the 120 bits that are left.
fn apart(value: u128) -> (u8, u8, u128) {
    let version = (value >> 76) as u8 & 15;
    let variant = (value >> 60) as u8 & 15;
    let rest = value >> 80 << 72 | (value >> 64 & 0xfff) << 60 | value & ((1 << 60) - 1);
    (version, variant, rest)
}

fn together(version: u8, variant: u8, rest: u128) -> u128 {
    rest >> 72 << 80
        | u128::from(version) << 76
        | (rest >> 60 & 0xfff) << 64
        | u128::from(variant) << 60
        | rest & ((1 << 60) - 1)
}
