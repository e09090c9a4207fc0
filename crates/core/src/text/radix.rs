//! Positional number systems over a given alphabet.

use alloc::vec::Vec;

use super::TextError;

pub(crate) const CROCKFORD: &[u8] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
pub(crate) const BASE36: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyz";
pub(crate) const BASE58_BITCOIN: &[u8] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
pub(crate) const BASE62: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
pub(crate) const BASE64_URL: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
pub(crate) const BASE64: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Appends `value` in exactly `width` digits, zeros in front; it must fit.
pub(crate) fn write_fixed(value: u128, alphabet: &[u8], width: usize, out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + width, alphabet[0]);
    digits(value, alphabet, &mut out[start..]);
}

/// How many digits the largest number of `bits` bits (1 to 128) has.
pub(crate) const fn digits_for(bits: u32, base: usize) -> usize {
    (u128::MAX >> (u128::BITS - bits)).ilog(base as u128) as usize + 1
}

/// Appends `value` without leading zeros; zero is one digit.
pub(crate) fn write(value: u64, alphabet: &[u8], out: &mut Vec<u8>) {
    let mut buffer = [0; 64];
    let used = match alphabet.len() {
        2 => digits_of::<2>(value, alphabet, &mut buffer),
        10 => digits_of::<10>(value, alphabet, &mut buffer),
        16 => digits_of::<16>(value, alphabet, &mut buffer),
        32 => digits_of::<32>(value, alphabet, &mut buffer),
        36 => digits_of::<36>(value, alphabet, &mut buffer),
        58 => digits_of::<58>(value, alphabet, &mut buffer),
        62 => digits_of::<62>(value, alphabet, &mut buffer),
        _ => digits(u128::from(value), alphabet, &mut buffer),
    };
    if used == 0 {
        out.push(alphabet[0]);
    } else {
        out.extend_from_slice(&buffer[64 - used..]);
    }
}

/// The same for 128 bits.
pub(crate) fn write_number(value: u128, alphabet: &[u8], out: &mut Vec<u8>) {
    let mut buffer = [alphabet[0]; 128];
    let used = digits(value, alphabet, &mut buffer).max(1);
    out.extend_from_slice(&buffer[128 - used..]);
}

/// [`digits`] of 64 bits with the base known when compiling, so that dividing is a multiplication.
fn digits_of<const BASE: usize>(mut value: u64, alphabet: &[u8], out: &mut [u8; 64]) -> usize {
    let Some(alphabet) = alphabet.first_chunk::<BASE>() else {
        return 0;
    };
    let mut at = out.len();
    while value != 0 {
        at -= 1;
        out[at] = alphabet[(value % BASE as u64) as usize];
        value /= BASE as u64;
    }
    out.len() - at
}

/// Writes the digits of `value` at the end of `out` and returns how many there are.
fn digits(mut value: u128, alphabet: &[u8], out: &mut [u8]) -> usize {
    let base = alphabet.len() as u64;
    // The largest power of the base in 64 bits, so that few divisions are 128 bits wide.
    let per_chunk = u64::MAX.ilog(base);
    let chunk = base.pow(per_chunk);
    let mut at = out.len();
    while value != 0 {
        let mut low = (value % u128::from(chunk)) as u64;
        value /= u128::from(chunk);
        for _ in 0..per_chunk {
            if value == 0 && low == 0 {
                break;
            }
            at -= 1;
            out[at] = alphabet[(low % base) as usize];
            low /= base;
        }
    }
    out.len() - at
}

/// Reads digits of `alphabet`, upper case standing for lower case (or the other way) if `fold`.
pub(crate) fn read(text: &[u8], alphabet: &[u8], fold: bool) -> Result<u128, TextError> {
    if text.is_empty() {
        return Err(TextError::Empty);
    }
    let mut value = 0u128;
    for (position, byte) in text.iter().enumerate() {
        let same = |letter: &u8| {
            if fold {
                letter.eq_ignore_ascii_case(byte)
            } else {
                letter == byte
            }
        };
        let digit = alphabet
            .iter()
            .position(same)
            .ok_or(TextError::Character { position })?;
        value = value
            .checked_mul(alphabet.len() as u128)
            .and_then(|v| v.checked_add(digit as u128))
            .ok_or(TextError::TooLarge)?;
    }
    Ok(value)
}

/// Appends the base64 text of `bytes` (RFC 4648), padded with `=` or not.
pub(crate) fn write_base64(bytes: &[u8], alphabet: &[u8], pad: bool, out: &mut Vec<u8>) {
    for group in bytes.chunks(3) {
        let mut bits = [0; 3];
        bits[..group.len()].copy_from_slice(group);
        let bits = u32::from(bits[0]) << 16 | u32::from(bits[1]) << 8 | u32::from(bits[2]);
        for i in 0..4 {
            if i <= group.len() {
                out.push(alphabet[(bits >> (18 - 6 * i) & 63) as usize]);
            } else if pad {
                out.push(b'=');
            }
        }
    }
}

/// Reads unpadded base64; the bits beyond the last whole byte must be zero.
pub(crate) fn read_base64(text: &[u8], alphabet: &[u8]) -> Result<Vec<u8>, TextError> {
    if text.len() % 4 == 1 {
        return Err(TextError::Length {
            found: text.len(),
            expected: text.len() + 1,
        });
    }
    let mut out = Vec::with_capacity(text.len() * 3 / 4);
    let (mut bits, mut have) = (0u32, 0);
    for (position, byte) in text.iter().enumerate() {
        let digit = alphabet
            .iter()
            .position(|l| l == byte)
            .ok_or(TextError::Character { position })?;
        bits = bits << 6 | digit as u32;
        have += 6;
        if have >= 8 {
            have -= 8;
            out.push((bits >> have) as u8);
            bits &= (1 << have) - 1;
        }
    }
    if bits != 0 {
        return Err(TextError::NotCanonical {
            position: text.len() - 1,
        });
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn alphabet() -> impl Strategy<Value = &'static [u8]> {
        prop::sample::select(alloc::vec![
            CROCKFORD,
            BASE36,
            BASE58_BITCOIN,
            BASE62,
            b"01",
            b"0123456789"
        ])
    }

    proptest! {
        #[test]
        fn read_gives_back_what_was_written(value in any::<u128>(), shift in 0u32..128, alphabet in alphabet()) {
            let value = value >> shift;
            let mut out = Vec::new();
            write_fixed(value, alphabet, 128, &mut out);
            prop_assert_eq!(out.len(), 128);
            prop_assert_eq!(read(&out, alphabet, false), Ok(value));
            out.clear();
            write(value as u64, alphabet, &mut out);
            prop_assert_eq!(read(&out, alphabet, false), Ok(u128::from(value as u64)));
            prop_assert!(out.len() == 1 || out[0] != alphabet[0]);
        }

        #[test]
        fn base64_gives_back_what_was_written(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let mut out = Vec::new();
            write_base64(&bytes, BASE64_URL, false, &mut out);
            prop_assert_eq!(read_base64(&out, BASE64_URL), Ok(bytes));
        }

        #[test]
        fn no_text_makes_a_reader_panic(text in prop::collection::vec(any::<u8>(), 0..200), alphabet in alphabet()) {
            let _ = read(&text, alphabet, true);
            let _ = read_base64(&text, BASE64);
        }
    }
}
