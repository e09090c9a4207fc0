//! Texts that cut 128 bits into digits of 5 or 6 bits from the left, as RFC 4648 does, and Z85.

use alloc::vec::Vec;

use super::{TextError, radix};

/// RFC 4648 section 6.
pub(super) const BASE32_STD: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
/// RFC 4648 section 7.
pub(super) const BASE32_HEX: &[u8; 32] = b"0123456789ABCDEFGHIJKLMNOPQRSTUV";
/// Digits in the order of their ASCII codes.
pub(super) const BASE64_SORT: &[u8; 64] = b"-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz";

/// Appends `value` in digits of `bits` bits, the first digit its highest; the last digit is filled with zeros.
pub(super) fn write(value: u128, bits: u32, alphabet: &[u8], out: &mut Vec<u8>) {
    let mask = (1u128 << bits) - 1;
    let digits = 128u32.div_ceil(bits);
    for digit in 1..=digits {
        let end = digit * bits;
        let digit = match end.checked_sub(128) {
            None | Some(0) => value >> (128 - end),
            Some(filled) => value << filled,
        };
        out.push(alphabet[(digit & mask) as usize]);
    }
}

/// Reads what [`write`] wrote; `text` has its length.
///
/// # Errors
/// A foreign character, or a last digit with bits beyond the 128.
pub(super) fn read(text: &[u8], bits: u32, alphabet: &[u8]) -> Result<u128, TextError> {
    let (last, rest) = text.split_last().ok_or(TextError::Empty)?;
    let value = radix::read(rest, alphabet, false)?;
    let position = rest.len();
    let last = radix::read(&[*last], alphabet, false).map_err(|_| TextError::Character { position })?;
    let filled = 128u32.div_ceil(bits) * bits - 128;
    if last & ((1 << filled) - 1) != 0 {
        return Err(TextError::NotCanonical { position });
    }
    Ok(value << (bits - filled) | last >> filled)
}

/// ZeroMQ RFC 32.
const Z85: &[u8; 85] =
    b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";

/// Appends Z85 text: five digits for every four bytes.
pub(super) fn write_z85(value: u128, out: &mut Vec<u8>) {
    for word in [96, 64, 32, 0] {
        radix::write_fixed(u128::from((value >> word) as u32), Z85, 5, out);
    }
}

/// Reads 20 characters of Z85.
///
/// # Errors
/// A foreign character, or five digits above 2^32 - 1.
pub(super) fn read_z85(text: &[u8]) -> Result<u128, TextError> {
    let mut value = 0u128;
    for (i, digits) in text.chunks(5).enumerate() {
        let word = radix::read(digits, Z85, false).map_err(|error| error.moved(5 * i))?;
        if word > u128::from(u32::MAX) {
            return Err(TextError::Rule {
                position: 5 * i,
                rule: "five digits that are more than four bytes",
            });
        }
        value = value << 32 | word;
    }
    Ok(value)
}
