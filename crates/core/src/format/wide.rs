//! Wide numbers in base 36 and base 62: fixed width, so that texts sort as the numbers do.
//!
//! A number is divided by the largest power of the base in 64 bits, with multiplications by its reciprocal, and
//! what remains each time is written in pairs of digits. The plain twin is `radix`; tests check that both agree.

use crate::text::TextError;

/// A base: its digits in order, lower case where either case is read.
///
/// `PAIRS` is the square of `BASE`.
pub(crate) struct Base<const BASE: usize, const PAIRS: usize> {
    alphabet: &'static [u8; BASE],
    /// The texts of all numbers of two digits.
    pairs: [[u8; 2]; PAIRS],
    /// The digit of every letter, [`FOREIGN`] of others.
    digits: [u8; 256],
}

/// `0-9A-Za-z`.
pub(crate) static BASE62: Base<62, 3844> = Base::new(
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
    false,
);

/// `0-9a-z`, letters of either case when read.
pub(crate) static BASE36: Base<36, 1296> = Base::new(b"0123456789abcdefghijklmnopqrstuvwxyz", true);

const FOREIGN: u8 = 0xff;

impl<const BASE: usize, const PAIRS: usize> Base<BASE, PAIRS> {
    /// How many digits 32 bits hold, and 64.
    const STEP: usize = u32::MAX.ilog(BASE as u32) as usize;
    const LONG_STEP: usize = u64::MAX.ilog(BASE as u64) as usize;
    /// The numbers of [`Self::LONG_STEP`] digits, as many bits to the left as there is room, and their reciprocal:
    /// 2^128 over them, without the first bit.
    const CHUNK: u64 = (BASE as u64).pow(Self::LONG_STEP as u32);
    const ROOM: u32 = Self::CHUNK.leading_zeros();
    const DIVISOR: u64 = Self::CHUNK << Self::ROOM;
    const RECIPROCAL: u64 = (u128::MAX / Self::DIVISOR as u128) as u64;

    const fn new(alphabet: &'static [u8; BASE], fold: bool) -> Self {
        assert!(PAIRS == BASE * BASE);
        let (mut digits, mut pairs) = ([FOREIGN; 256], [[0; 2]; PAIRS]);
        let mut digit = 0;
        while digit < BASE {
            digits[alphabet[digit] as usize] = digit as u8;
            if fold {
                digits[alphabet[digit].to_ascii_uppercase() as usize] = digit as u8;
            }
            let mut second = 0;
            while second < BASE {
                pairs[digit * BASE + second] = [alphabet[digit], alphabet[second]];
                second += 1;
            }
            digit += 1;
        }
        Base {
            alphabet,
            pairs,
            digits,
        }
    }

    /// Writes the lowest digits of a number, highest first: all of it, if it fits.
    #[inline]
    pub(crate) fn encode<const LIMBS: usize>(&self, limbs: [u32; LIMBS], out: &mut [u8]) {
        // Words of 64 bits, the first of one limb where their number is odd.
        let mut words = [0; LIMBS];
        let (first, rest) = limbs.split_at(LIMBS % 2);
        let count = LIMBS.div_ceil(2);
        let words = &mut words[..count];
        if let [first] = first {
            words[0] = u64::from(*first);
        }
        for (word, [high, low]) in words[LIMBS % 2..].iter_mut().zip(rest.as_chunks().0) {
            *word = u64::from(*high) << 32 | u64::from(*low);
        }
        for chunk in out.rchunks_mut(Self::LONG_STEP) {
            let mut rest = 0;
            for word in &mut *words {
                (*word, rest) = Self::divide(rest, *word);
            }
            let mut pairs = chunk.rchunks_exact_mut(2);
            for pair in &mut pairs {
                pair.copy_from_slice(&self.pairs[(rest % PAIRS as u64) as usize]);
                rest /= PAIRS as u64;
            }
            if let [digit] = pairs.into_remainder() {
                *digit = self.alphabet[(rest % BASE as u64) as usize];
            }
        }
    }

    /// `(high << 64 | low) / CHUNK` and what remains; `high` is less than `CHUNK`. Algorithm 4 of Möller and Granlund,
    /// "Improved division by invariant integers" (2011).
    #[inline]
    const fn divide(high: u64, low: u64) -> (u64, u64) {
        let number = (high as u128) << 64 | low as u128;
        let (high, low) = ((number >> (64 - Self::ROOM)) as u64, low << Self::ROOM);
        let guess = Self::RECIPROCAL as u128 * high as u128 + ((high as u128) << 64 | low as u128);
        let (mut quotient, fraction) = (((guess >> 64) as u64).wrapping_add(1), guess as u64);
        let mut rest = low.wrapping_sub(quotient.wrapping_mul(Self::DIVISOR));
        if rest > fraction {
            quotient = quotient.wrapping_sub(1);
            rest = rest.wrapping_add(Self::DIVISOR);
        }
        if rest >= Self::DIVISOR {
            quotient = quotient.wrapping_add(1);
            rest -= Self::DIVISOR;
        }
        (quotient, rest >> Self::ROOM)
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
        fn division_by_the_reciprocal_is_division(high: u64, low: u64, near in -2i64..3, times: u64) {
            let check = |number: u128| {
                let chunk = u128::from(Base::<62, 3844>::CHUNK);
                let number = number % (chunk << 64);
                let (quotient, rest) = Base::<62, 3844>::divide((number >> 64) as u64, number as u64);
                assert_eq!((u128::from(quotient), u128::from(rest)), (number / chunk, number % chunk));
                let chunk = u128::from(Base::<36, 1296>::CHUNK);
                let number = number % (chunk << 64);
                let (quotient, rest) = Base::<36, 1296>::divide((number >> 64) as u64, number as u64);
                assert_eq!((u128::from(quotient), u128::from(rest)), (number / chunk, number % chunk));
            };
            check(u128::from(high) << 64 | u128::from(low));
            // About the multiples, where a guess may be one too many or too few.
            for chunk in [Base::<62, 3844>::CHUNK, Base::<36, 1296>::CHUNK] {
                check((u128::from(chunk) * u128::from(times)).wrapping_add_signed(near.into()));
            }
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
