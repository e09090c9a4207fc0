//! Base 62 of wide numbers, `0-9A-Za-z`: fixed width, so that texts sort as the numbers do.
//!
//! Numbers are divided by 62^5 in limbs of 32 bits: every step is a division by a constant, which compiles to a
//! multiplication, and the passes overlap. The plain twin is `radix`; tests check that both agree.

use crate::text::TextError;

/// Five digits at a time: the largest power of 62 in 32 bits.
const CHUNK: u64 = 62u64.pow(5);

const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

const DIGITS: [u8; 256] = {
    let mut digits = [FOREIGN; 256];
    let mut digit = 0;
    while digit < 62 {
        digits[ALPHABET[digit] as usize] = digit as u8;
        digit += 1;
    }
    digits
};

const FOREIGN: u8 = 0xff;

/// Writes a number of `LIMBS * 4` bytes in exactly `CHARS` digits; it must fit.
#[inline]
pub(crate) fn encode<const LIMBS: usize, const CHARS: usize>(limbs: [u32; LIMBS], out: &mut [u8; CHARS]) {
    let mut limbs = limbs;
    for chunk in out.rchunks_mut(5) {
        let mut rest = 0u64;
        for limb in &mut limbs {
            let wide = rest << 32 | u64::from(*limb);
            *limb = (wide / CHUNK) as u32;
            rest = wide % CHUNK;
        }
        let mut rest = rest as u32;
        for digit in chunk.iter_mut().rev() {
            *digit = ALPHABET[(rest % 62) as usize];
            rest /= 62;
        }
    }
}

/// Reads exactly `CHARS` digits of a number of at most `LIMBS * 4` bytes.
pub(crate) fn decode<const LIMBS: usize, const CHARS: usize>(text: &[u8]) -> Result<[u32; LIMBS], TextError> {
    let text: &[u8; CHARS] = text.try_into().map_err(|_| TextError::Length {
        found: text.len(),
        expected: CHARS,
    })?;
    let digits = text.map(|letter| DIGITS[usize::from(letter)]);
    if let Some(position) = digits.iter().position(|digit| *digit == FOREIGN) {
        return Err(TextError::Character { position });
    }
    let mut limbs = [0u32; LIMBS];
    // The first chunk is the short one.
    let (first, rest) = digits.split_at(CHARS % 5);
    for chunk in core::iter::once(first).chain(rest.chunks(5)) {
        let scale = 62u64.pow(chunk.len() as u32);
        let mut carry = chunk
            .iter()
            .fold(0, |value, digit| value * 62 + u64::from(*digit));
        for limb in limbs.iter_mut().rev() {
            let wide = u64::from(*limb) * scale + carry;
            *limb = wide as u32;
            carry = wide >> 32;
        }
        if carry != 0 {
            return Err(TextError::TooLarge);
        }
    }
    Ok(limbs)
}

/// Big-endian bytes as limbs.
#[inline]
pub(crate) fn limbs<const LIMBS: usize>(bytes: &[u8]) -> [u32; LIMBS] {
    let words = bytes.as_chunks::<4>().0;
    core::array::from_fn(|i| u32::from_be_bytes(words[i]))
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use proptest::prelude::*;

    use super::*;
    use crate::text::radix;

    proptest! {
        #[test]
        fn the_fast_way_writes_and_reads_what_plain_division_does(value: u128, shift in 0u32..128) {
            let value = value >> shift;
            let mut out = [0; 22];
            encode(limbs::<4>(&value.to_be_bytes()), &mut out);
            let mut plain = Vec::new();
            radix::write_fixed(value, radix::BASE62, 22, &mut plain);
            prop_assert_eq!(&out[..], &plain);
            prop_assert_eq!(decode::<4, 22>(&out), Ok(limbs(&value.to_be_bytes())));
        }

        #[test]
        fn wide_numbers_read_back_and_sort(a: [u32; 5], b: [u32; 5]) {
            let text = |limbs| {
                let mut out = [0; 27];
                encode(limbs, &mut out);
                out
            };
            prop_assert_eq!(decode::<5, 27>(&text(a)), Ok(a));
            prop_assert_eq!(text(a).cmp(&text(b)), a.cmp(&b));
        }

        #[test]
        fn reading_agrees_with_plain_multiplication(text in "[0-9A-Za-z]{22}") {
            let plain = radix::read(text.as_bytes(), radix::BASE62, false).map(|value| limbs(&value.to_be_bytes()));
            prop_assert_eq!(decode::<4, 22>(text.as_bytes()), plain);
        }

        #[test]
        fn no_text_makes_the_reader_panic(text in prop::collection::vec(any::<u8>(), 0..30)) {
            let _ = decode::<5, 27>(&text);
        }
    }
}
