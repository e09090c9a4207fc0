//! Wide numbers in base 36 and base 62: fixed width, so that texts sort as the numbers do.
//!
//! Numbers are divided by the largest power of the base in 32 bits, in limbs of 32 bits: every step is a division
//! by a constant, which compiles to a multiplication, and the passes overlap. The plain twin is `radix`; tests
//! check that both agree.

use crate::text::TextError;

/// A base: its digits in order, lower case where either case is read.
pub(crate) struct Base<const BASE: usize> {
    alphabet: &'static [u8; BASE],
    /// The digit of every letter, [`FOREIGN`] of others.
    digits: [u8; 256],
}

/// `0-9A-Za-z`.
pub(crate) static BASE62: Base<62> = Base::new(
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
    false,
);

/// `0-9a-z`, letters of either case when read.
pub(crate) static BASE36: Base<36> = Base::new(b"0123456789abcdefghijklmnopqrstuvwxyz", true);

const FOREIGN: u8 = 0xff;

impl<const BASE: usize> Base<BASE> {
    /// How many digits 32 bits hold.
    const STEP: usize = u32::MAX.ilog(BASE as u32) as usize;
    const CHUNK: u64 = (BASE as u64).pow(Self::STEP as u32);

    const fn new(alphabet: &'static [u8; BASE], fold: bool) -> Self {
        let mut digits = [FOREIGN; 256];
        let mut digit = 0;
        while digit < BASE {
            digits[alphabet[digit] as usize] = digit as u8;
            if fold {
                digits[alphabet[digit].to_ascii_uppercase() as usize] = digit as u8;
            }
            digit += 1;
        }
        Base { alphabet, digits }
    }

    /// Writes the lowest digits of a number, highest first: all of it, if it fits.
    #[inline]
    pub(crate) fn encode<const LIMBS: usize>(&self, limbs: [u32; LIMBS], out: &mut [u8]) {
        let mut limbs = limbs;
        for chunk in out.rchunks_mut(Self::STEP) {
            let mut rest = 0u64;
            for limb in &mut limbs {
                let wide = rest << 32 | u64::from(*limb);
                *limb = (wide / Self::CHUNK) as u32;
                rest = wide % Self::CHUNK;
            }
            let mut rest = rest as u32;
            for digit in chunk.iter_mut().rev() {
                *digit = self.alphabet[(rest % BASE as u32) as usize];
                rest /= BASE as u32;
            }
        }
    }

    /// Reads exactly `CHARS` digits of a number of at most `LIMBS * 4` bytes.
    pub(crate) fn decode<const LIMBS: usize, const CHARS: usize>(
        &self,
        text: &[u8],
    ) -> Result<[u32; LIMBS], TextError> {
        let text: &[u8; CHARS] = text.try_into().map_err(|_| TextError::Length {
            found: text.len(),
            expected: CHARS,
        })?;
        let digits = text.map(|letter| self.digits[usize::from(letter)]);
        if let Some(position) = digits.iter().position(|digit| *digit == FOREIGN) {
            return Err(TextError::Character { position });
        }
        let mut limbs = [0u32; LIMBS];
        // The first chunk is the short one, if there is a short one.
        let (first, rest) = digits.split_at(CHARS % Self::STEP);
        for chunk in core::iter::once(first).chain(rest.chunks(Self::STEP)) {
            let scale = (BASE as u64).pow(chunk.len() as u32);
            let mut carry = chunk
                .iter()
                .fold(0, |value, digit| value * BASE as u64 + u64::from(*digit));
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
}

/// Big-endian bytes as limbs.
#[inline]
pub(crate) fn limbs<const LIMBS: usize>(bytes: &[u8]) -> [u32; LIMBS] {
    let words = bytes.as_chunks::<4>().0;
    core::array::from_fn(|i| u32::from_be_bytes(words[i]))
}

/// Limbs as big-endian bytes; `N` is four times their number.
pub(crate) fn bytes<const LIMBS: usize, const N: usize>(limbs: [u32; LIMBS]) -> [u8; N] {
    const { assert!(N == LIMBS * 4) };
    let mut bytes = [0; N];
    for (bytes, limb) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(limbs) {
        *bytes = limb.to_be_bytes();
    }
    bytes
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
            let number = limbs::<4>(&value.to_be_bytes());
            let (mut out, mut plain) = ([0; 22], Vec::new());
            BASE62.encode(number, &mut out);
            radix::write_fixed(value, radix::BASE62, 22, &mut plain);
            prop_assert_eq!(&out[..], &plain);
            prop_assert_eq!(BASE62.decode::<4, 22>(&out), Ok(number));
            let (mut out, mut plain) = ([0; 25], Vec::new());
            BASE36.encode(number, &mut out);
            radix::write_fixed(value, radix::BASE36, 25, &mut plain);
            prop_assert_eq!(&out[..], &plain);
            prop_assert_eq!(BASE36.decode::<4, 25>(&out.to_ascii_uppercase()), Ok(number));
            prop_assert_eq!(bytes::<4, 16>(number), value.to_be_bytes());
        }

        #[test]
        fn wide_numbers_read_back_and_sort(a: [u32; 5], b: [u32; 5]) {
            let text = |limbs| {
                let mut out = [0; 27];
                BASE62.encode(limbs, &mut out);
                out
            };
            prop_assert_eq!(BASE62.decode::<5, 27>(&text(a)), Ok(a));
            prop_assert_eq!(text(a).cmp(&text(b)), a.cmp(&b));
        }

        #[test]
        fn reading_agrees_with_plain_multiplication(long in "[0-9A-Za-z]{22}", short in "[0-9A-Za-z]{25}") {
            let plain = |text: &str, alphabet, fold| {
                radix::read(text.as_bytes(), alphabet, fold).map(|value| limbs(&value.to_be_bytes()))
            };
            prop_assert_eq!(BASE62.decode::<4, 22>(long.as_bytes()), plain(&long, radix::BASE62, false));
            prop_assert_eq!(BASE36.decode::<4, 25>(short.as_bytes()), plain(&short, radix::BASE36, true));
        }

        #[test]
        fn no_text_makes_the_reader_panic(text in prop::collection::vec(any::<u8>(), 0..30)) {
            let _ = BASE62.decode::<5, 27>(&text);
            let _ = BASE36.decode::<4, 25>(&text);
        }
    }
}
