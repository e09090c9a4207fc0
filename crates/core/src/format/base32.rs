//! Five bits a character: Crockford's alphabet, base32hex, and the sortable one of the AT Protocol.
//!
//! Digits are spread out eight at a time with shifts, and become letters by comparisons that compilers turn
//! into vector instructions; 128 bits go through `x86` where the processor has its instructions. Tests
//! check that both agree with each other, and with the plain division of `radix`.

#[cfg(all(target_arch = "x86_64", feature = "std", not(miri)))]
mod x86;

#[cfg(all(target_arch = "x86_64", feature = "std", not(miri)))]
use self::x86 as fast;
use crate::text::TextError;

/// How digits become letters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Letters {
    /// `0-9A-Z` without I, L, O, U.
    Crockford,
    /// The same in lower case.
    CrockfordLower,
    /// `0-9a-v`, RFC 4648 section 7 in lower case.
    Hex,
    /// `2-7a-z`, in the order of ASCII.
    Sortable,
}

impl Letters {
    pub(super) const fn letter(self, digit: u8) -> u8 {
        match self {
            Letters::Crockford | Letters::CrockfordLower => {
                let gap = if matches!(self, Letters::Crockford) {
                    b'A' - b'0' - 10
                } else {
                    b'a' - b'0' - 10
                };
                let mut letter = digit + b'0';
                if digit > 9 {
                    letter += gap;
                }
                letter += (digit > 17) as u8; // no I
                letter += (digit > 19) as u8; // no L
                letter += (digit > 21) as u8; // no O
                letter + (digit > 26) as u8 // no U
            }
            Letters::Hex => digit + if digit > 9 { b'a' - 10 } else { b'0' },
            Letters::Sortable => digit + if digit > 5 { b'a' - 6 } else { b'2' },
        }
    }

    /// The digit of a letter; of other bytes, anything.
    const fn digit(self, letter: u8) -> u8 {
        match self {
            Letters::Crockford | Letters::CrockfordLower => {
                let case = if matches!(self, Letters::Crockford) { 0 } else { 32 };
                let mut digit = letter.wrapping_sub(b'0');
                if letter >= b'A' + case {
                    digit = digit.wrapping_sub(b'A' + case - b'0' - 10);
                }
                digit = digit.wrapping_sub((letter > b'I' + case) as u8);
                digit = digit.wrapping_sub((letter > b'L' + case) as u8);
                digit = digit.wrapping_sub((letter > b'O' + case) as u8);
                digit.wrapping_sub((letter > b'U' + case) as u8)
            }
            Letters::Hex => letter.wrapping_sub(if letter >= b'a' { b'a' - 10 } else { b'0' }),
            Letters::Sortable => letter.wrapping_sub(if letter >= b'a' { b'a' - 6 } else { b'2' }),
        }
    }

    /// Whether the byte is a letter: whether its digit is written so.
    const fn has(self, letter: u8) -> bool {
        self.digit(letter) < 32 && self.letter(self.digit(letter)) == letter
    }

    /// Turns letters into digits; whether all of them were letters. One loop per alphabet, so that each compiles
    /// to its own straight line of vector instructions.
    #[inline]
    fn read<const N: usize>(self, text: &mut [u8; N]) -> bool {
        #[inline]
        fn all<const N: usize>(
            text: &mut [u8; N],
            digit: impl Fn(u8) -> u8,
            letter: impl Fn(u8) -> u8,
        ) -> bool {
            let mut foreign = 0;
            for byte in text {
                let value = digit(*byte);
                // A digit that is written otherwise was not read from a letter.
                foreign |= (letter(value & 31) ^ *byte) | (value & 0xe0);
                *byte = value;
            }
            foreign == 0
        }
        match self {
            Letters::Crockford => all(
                text,
                |l| Letters::Crockford.digit(l),
                |d| Letters::Crockford.letter(d),
            ),
            Letters::CrockfordLower => all(
                text,
                |l| Letters::CrockfordLower.digit(l),
                |d| Letters::CrockfordLower.letter(d),
            ),
            Letters::Hex => all(text, |l| Letters::Hex.digit(l), |d| Letters::Hex.letter(d)),
            Letters::Sortable => all(
                text,
                |l| Letters::Sortable.digit(l),
                |d| Letters::Sortable.letter(d),
            ),
        }
    }
}

/// Writes 128 bits as 26 letters, the first of which holds three bits.
#[inline]
pub(crate) fn encode_128(value: u128, letters: Letters, out: &mut [u8; 26]) {
    #[cfg(all(target_arch = "x86_64", feature = "std", not(miri)))]
    return fast::write(value, letters, out);
    #[cfg(not(all(target_arch = "x86_64", feature = "std", not(miri))))]
    portable::encode_128(value, letters, out);
}

/// Writes 64 bits as 13 letters, the first of which holds four bits.
#[inline]
pub(crate) fn encode_64(value: u64, letters: Letters, out: &mut [u8; 13]) {
    let mut digits = [0; 16];
    for (out, group) in digits.as_chunks_mut::<8>().0.iter_mut().zip([value >> 40, value]) {
        *out = spread(group).to_be_bytes();
    }
    write_letters(&mut digits, letters);
    out.copy_from_slice(&digits[3..]);
}

/// Writes 96 bits as 20 letters, the last of which holds one bit, its highest.
#[inline]
pub(crate) fn encode_96(bytes: &[u8; 12], letters: Letters, out: &mut [u8; 20]) {
    let mut wide = [0; 16];
    wide[..12].copy_from_slice(bytes);
    let value = u128::from_be_bytes(wide);
    let mut digits = [0; 24];
    let groups = [(value >> 88) as u64, (value >> 48) as u64, (value >> 8) as u64];
    for (out, group) in digits.as_chunks_mut::<8>().0.iter_mut().zip(groups) {
        *out = spread(group).to_be_bytes();
    }
    write_letters(&mut digits, letters);
    out.copy_from_slice(&digits[..20]);
}

/// The eight 5-bit digits of the low 40 bits, a byte each.
#[inline]
const fn spread(group: u64) -> u64 {
    let x = group & 0xff_ffff_ffff;
    let x = (x & 0xff_fff0_0000) << 12 | x & 0xf_ffff;
    let x = (x & 0x000f_fc00_000f_fc00) << 6 | x & 0x0000_03ff_0000_03ff;
    (x & 0x03e0_03e0_03e0_03e0) << 3 | x & 0x001f_001f_001f_001f
}

#[inline]
fn write_letters(digits: &mut [u8], letters: Letters) {
    // One loop per alphabet, so that each compiles to its own straight line.
    match letters {
        Letters::Crockford => digits
            .iter_mut()
            .for_each(|digit| *digit = Letters::Crockford.letter(*digit)),
        Letters::CrockfordLower => digits
            .iter_mut()
            .for_each(|digit| *digit = Letters::CrockfordLower.letter(*digit)),
        Letters::Hex => digits
            .iter_mut()
            .for_each(|digit| *digit = Letters::Hex.letter(*digit)),
        Letters::Sortable => digits
            .iter_mut()
            .for_each(|digit| *digit = Letters::Sortable.letter(*digit)),
    }
}

/// Writes each of `values` into the first 26 bytes of a line, whose last stays.
#[cfg(feature = "std")]
pub(crate) fn encode_lines_128(values: impl Iterator<Item = u128>, letters: Letters, lines: &mut [[u8; 27]]) {
    let texts = lines.iter_mut().map(|line| {
        let (text, _) = line.split_first_chunk_mut().expect("27 bytes hold 26");
        text
    });
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    fast::write_all(values.zip(texts), letters);
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    values
        .zip(texts)
        .for_each(|(value, text)| portable::encode_128(value, letters, text));
}

/// Reads 26 letters of 128 bits.
#[inline]
pub(crate) fn decode_128(text: &[u8], letters: Letters) -> Result<u128, TextError> {
    let text: &[u8; 26] = text.try_into().map_err(|_| TextError::Length {
        found: text.len(),
        expected: 26,
    })?;
    #[cfg(all(target_arch = "x86_64", feature = "std", not(miri)))]
    let read = fast::read(text, letters);
    #[cfg(not(all(target_arch = "x86_64", feature = "std", not(miri))))]
    let read = portable::read_26(text, letters);
    let [high, a, b, c] = read.ok_or_else(|| first_foreign(text, letters))?;
    // Two digits, the first of three bits.
    if high >> 8 != 0 {
        return Err(TextError::Rule {
            position: 0,
            rule: "the first character is above 7: more than 128 bits",
        });
    }
    Ok(u128::from(high) << 120 | u128::from(a) << 80 | u128::from(b) << 40 | u128::from(c))
}

/// The safe twin of `x86`.
pub(super) mod portable {
    use super::{Letters, groups, spread, write_letters};

    #[inline]
    pub(super) fn encode_128(value: u128, letters: Letters, out: &mut [u8; 26]) {
        let mut digits = [0; 32];
        let groups = [
            (value >> 120) as u64,
            (value >> 80) as u64,
            (value >> 40) as u64,
            value as u64,
        ];
        for (out, group) in digits.as_chunks_mut::<8>().0.iter_mut().zip(groups) {
            *out = spread(group).to_be_bytes();
        }
        write_letters(&mut digits, letters);
        out.copy_from_slice(&digits[6..]);
    }

    /// The digits of `text` in four groups of 40 bits, the first of which holds two, if all bytes are letters.
    #[inline]
    pub(super) fn read_26(text: &[u8; 26], letters: Letters) -> Option<[u64; 4]> {
        // Zeros in front make four whole groups.
        let mut digits = [letters.letter(0); 32];
        digits[6..].copy_from_slice(text);
        letters.read(&mut digits).then(|| groups(&digits))
    }
}

/// Reads 13 letters of 64 bits; `top` is the largest digit that may come first, and the rule that says so.
pub(crate) fn decode_64(
    text: &[u8],
    letters: Letters,
    (top, rule): (u8, &'static str),
) -> Result<u64, TextError> {
    let text: &[u8; 13] = text.try_into().map_err(|_| TextError::Length {
        found: text.len(),
        expected: 13,
    })?;
    let mut digits = [letters.letter(0); 16];
    digits[3..].copy_from_slice(text);
    if !letters.read(&mut digits) {
        return Err(first_foreign(text, letters));
    }
    if digits[3] > top {
        return Err(TextError::Rule { position: 0, rule });
    }
    let [high, low] = groups(&digits);
    Ok(high << 40 | low)
}

/// Reads 20 letters of 96 bits; the unused low four bits of the last must be zero.
pub(crate) fn decode_96(text: &[u8], letters: Letters) -> Result<[u8; 12], TextError> {
    let text: &[u8; 20] = text.try_into().map_err(|_| TextError::Length {
        found: text.len(),
        expected: 20,
    })?;
    let mut digits = [letters.letter(0); 24];
    digits[..20].copy_from_slice(text);
    if !letters.read(&mut digits) {
        return Err(first_foreign(text, letters));
    }
    if digits[19] & 0xf != 0 {
        return Err(TextError::Rule {
            position: 19,
            rule: "the last character has unused bits set: it is 0 or g",
        });
    }
    let [a, b, c] = groups(&digits);
    let value = u128::from(a) << 88 | u128::from(b) << 48 | u128::from(c) << 8;
    let bytes = value.to_be_bytes();
    Ok(*bytes.first_chunk().expect("16 bytes hold 12"))
}

/// The 40 bits of every eight digits.
#[inline]
fn groups<const N: usize, const GROUPS: usize>(digits: &[u8; N]) -> [u64; GROUPS] {
    let chunks = digits.as_chunks::<8>().0;
    core::array::from_fn(|i| gather(u64::from_be_bytes(chunks[i])))
}

/// The 40 bits of eight 5-bit digits, a byte each: [`spread`] turned back.
#[inline]
const fn gather(digits: u64) -> u64 {
    let x = digits;
    let x = (x & 0x1f00_1f00_1f00_1f00) >> 3 | x & 0x001f_001f_001f_001f;
    let x = (x & 0x03ff_0000_03ff_0000) >> 6 | x & 0x0000_03ff_0000_03ff;
    (x & 0x000f_ffff_0000_0000) >> 12 | x & 0xf_ffff
}

#[cold]
fn first_foreign(text: &[u8], letters: Letters) -> TextError {
    let position = text.iter().position(|letter| !letters.has(*letter));
    TextError::Character {
        position: position.expect("a foreign letter was seen"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::radix;

    const LOWER: &[u8] = b"0123456789abcdefghjkmnpqrstvwxyz";
    const HEX: &[u8] = b"0123456789abcdefghijklmnopqrstuv";
    const SORTABLE: &[u8] = b"234567abcdefghijklmnopqrstuvwxyz";

    fn alphabets() -> [(Letters, &'static [u8]); 4] {
        [
            (Letters::Crockford, radix::CROCKFORD),
            (Letters::CrockfordLower, LOWER),
            (Letters::Hex, HEX),
            (Letters::Sortable, SORTABLE),
        ]
    }

    #[test]
    fn letters_are_the_alphabets() {
        for (letters, alphabet) in alphabets() {
            let written: [u8; 32] = core::array::from_fn(|digit| letters.letter(digit as u8));
            assert_eq!(written, alphabet);
            for byte in 0..=255 {
                let digit = alphabet.iter().position(|letter| *letter == byte);
                assert_eq!(
                    letters.has(byte).then(|| usize::from(letters.digit(byte))),
                    digit,
                    "{byte}"
                );
                assert_eq!(letters.read(&mut [byte]), digit.is_some());
            }
        }
    }

    #[test]
    fn every_byte_at_every_place_reads_as_the_safe_code_reads_it() {
        for (letters, alphabet) in alphabets() {
            for place in 0..26 {
                for byte in 0..=255 {
                    let mut text = [alphabet[7]; 26];
                    text[place] = byte;
                    let safe = portable::read_26(&text, letters);
                    assert_eq!(safe.is_some(), alphabet.contains(&byte));
                    let rule_or_value = safe.map(|groups| groups[0] >> 8 == 0);
                    match decode_128(&text, letters) {
                        Ok(value) => {
                            let digit = |at: usize| alphabet.iter().position(|l| *l == text[at]);
                            let plain =
                                (0..26).fold(0, |sum, at| sum << 5 | digit(at).expect("a letter") as u128);
                            assert_eq!((rule_or_value, value), (Some(true), plain));
                        }
                        Err(TextError::Rule { position: 0, .. }) => assert_eq!(rule_or_value, Some(false)),
                        Err(error) => assert_eq!(
                            (rule_or_value, error),
                            (None, TextError::Character { position: place })
                        ),
                    }
                }
            }
        }
    }

    #[test]
    fn every_byte_at_every_place_of_shorter_texts_is_judged_and_named() {
        for (letters, alphabet) in alphabets() {
            for byte in 0..=255u8 {
                let foreign = |position| {
                    let is = !alphabet.contains(&byte);
                    is.then_some(TextError::Character { position })
                };
                // Any letter may stand first where the top digit is 31.
                for place in 0..13 {
                    let mut text = [alphabet[7]; 13];
                    text[place] = byte;
                    assert_eq!(
                        decode_64(&text, letters, (31, "")).err(),
                        foreign(place),
                        "{byte}"
                    );
                }
                // The last letter holds one bit.
                for place in 0..19 {
                    let mut text = [alphabet[16]; 20];
                    text[place] = byte;
                    assert_eq!(decode_96(&text, letters).err(), foreign(place), "{byte}");
                }
            }
            let top = decode_64(&[alphabet[16]; 13], letters, (15, "more than 64 bits"));
            let rule = "more than 64 bits";
            assert_eq!(top, Err(TextError::Rule { position: 0, rule }));
        }
    }

    #[cfg(feature = "std")]
    #[test]
    fn lines_are_the_texts_one_by_one() {
        for (letters, _) in alphabets() {
            let values = [0, 1, u128::MAX, 0x0123_4567_89ab_cdef_0011_2233_4455_6677];
            let mut lines = [[b'\n'; 27]; 4];
            encode_lines_128(values.into_iter(), letters, &mut lines);
            for (value, line) in values.into_iter().zip(lines) {
                let mut text = [0; 26];
                portable::encode_128(value, letters, &mut text);
                assert_eq!((&line[..26], line[26]), (&text[..], b'\n'));
            }
        }
    }

    proptest! {
        #[test]
        fn the_fast_way_writes_what_plain_division_writes(value: u128, shift in 0u32..128) {
            let value = value >> shift;
            for (letters, alphabet) in alphabets() {
                let (mut long, mut short, mut middle) = ([0; 26], [0; 13], [0; 20]);
                encode_128(value, letters, &mut long);
                let mut safe = [0; 26];
                portable::encode_128(value, letters, &mut safe);
                prop_assert_eq!(long, safe);
                encode_64(value as u64, letters, &mut short);
                let bytes: [u8; 12] = *value.to_be_bytes().last_chunk().expect("16 bytes");
                encode_96(&bytes, letters, &mut middle);
                let plain = |value: u128, width| {
                    let mut out = alloc::vec::Vec::new();
                    radix::write_fixed(value, alphabet, width, &mut out);
                    out
                };
                prop_assert_eq!(&long[..], plain(value, 26));
                prop_assert_eq!(&short[..], plain(value as u64 as u128, 13));
                let low_96 = value & ((1 << 96) - 1);
                prop_assert_eq!(&middle[..], plain(low_96 << 4, 20));
                prop_assert_eq!(decode_128(&long, letters), Ok(value));
                prop_assert_eq!(decode_64(&short, letters, (15, "")), Ok(value as u64));
                prop_assert_eq!(decode_96(&middle, letters), Ok(bytes));
            }
        }

        #[test]
        fn what_is_read_is_what_would_be_written(text in "[0-9A-Za-z]{26}") {
            for (letters, alphabet) in alphabets() {
                let read = decode_128(text.as_bytes(), letters);
                prop_assert_eq!(read.ok(), radix::read(text.as_bytes(), alphabet, false).ok());
                if let Ok(value) = read {
                    let mut out = [0; 26];
                    encode_128(value, letters, &mut out);
                    prop_assert_eq!(&out[..], text.as_bytes());
                }
                if let Ok(bytes) = decode_96(&text.as_bytes()[..20], letters) {
                    let mut out = [0; 20];
                    encode_96(&bytes, letters, &mut out);
                    prop_assert_eq!(&out[..], &text.as_bytes()[..20]);
                }
            }
        }

        #[test]
        fn no_text_makes_a_reader_panic(text in prop::collection::vec(any::<u8>(), 0..30)) {
            for (letters, _) in alphabets() {
                let _ = decode_128(&text, letters);
                let _ = decode_96(&text, letters);
                let _ = decode_64(&text, letters, (15, ""));
            }
        }
    }
}
