//! Hexadecimal text of 16 bytes, plain and as RFC 9562 hyphenates it.
//!
//! The work is done by `x86` where the processor has its instructions (asked once, at run time), by the
//! safe code below everywhere else.

#[cfg(all(target_arch = "x86_64", feature = "std", not(miri)))]
mod x86;

use ::uuid::Uuid;

#[cfg(all(target_arch = "x86_64", feature = "std", not(miri)))]
use self::x86 as fast;
use super::TextError;

/// How long hyphenated text is.
pub(crate) const HYPHENATED: usize = 36;
/// Where its hyphens stand.
const HYPHENS: [usize; 4] = [8, 13, 18, 23];
/// Where its digits stand: runs of the text, in order.
const RUNS: [core::ops::Range<usize>; 5] = [0..8, 9..13, 14..18, 19..23, 24..36];

/// Lower-case hyphenated text of `bytes`.
#[inline]
pub(crate) fn write_hyphenated(bytes: &[u8; 16]) -> [u8; HYPHENATED] {
    #[cfg(all(target_arch = "x86_64", feature = "std", not(miri)))]
    return fast::write_hyphenated(bytes);
    #[cfg(not(all(target_arch = "x86_64", feature = "std", not(miri))))]
    {
        let mut out = [0; HYPHENATED];
        portable::write_hyphenated(bytes, &mut out);
        out
    }
}

/// Appends the lower-case hyphenated text of every id in `ids`, each followed by a line feed.
pub(crate) fn write_lines(ids: &[Uuid], out: &mut alloc::vec::Vec<u8>) {
    let start = out.len();
    out.resize(start + ids.len() * (HYPHENATED + 1), b'\n');
    let (lines, _) = out[start..].as_chunks_mut::<{ HYPHENATED + 1 }>();
    #[cfg(all(target_arch = "x86_64", feature = "std", not(miri)))]
    if fast::write_lines(ids, lines) {
        return;
    }
    for (id, line) in ids.iter().zip(lines) {
        let (text, _) = line
            .split_first_chunk_mut()
            .expect("a line is longer than its text");
        portable::write_hyphenated(id.as_bytes(), text);
    }
}

/// The 32 lower-case digits of `bytes`.
#[inline]
pub(crate) fn write_simple(bytes: &[u8; 16]) -> [u8; 32] {
    portable::digits(bytes)
}

/// Reads hyphenated text, digits of either case.
///
/// # Errors
/// The first character that does not belong; positions count from `offset`.
#[inline]
pub(crate) fn read_hyphenated(text: &[u8; HYPHENATED], offset: usize) -> Result<[u8; 16], TextError> {
    #[cfg(all(target_arch = "x86_64", feature = "std", not(miri)))]
    let read = fast::read_hyphenated(text);
    #[cfg(not(all(target_arch = "x86_64", feature = "std", not(miri))))]
    let read = {
        let mut out = [0; 16];
        portable::read_hyphenated(text, &mut out).then_some(out)
    };
    match read {
        Some(bytes) => Ok(bytes),
        None => Err(first_wrong(text, offset)),
    }
}

/// The first character that hyphenated text does not have there.
#[cold]
#[inline(never)]
fn first_wrong(text: &[u8; HYPHENATED], offset: usize) -> TextError {
    let wrong = |(at, byte): (usize, &u8)| match HYPHENS.contains(&at) {
        true => *byte != b'-',
        false => !byte.is_ascii_hexdigit(),
    };
    let position = text.iter().enumerate().position(wrong).unwrap_or(0);
    TextError::Character {
        position: position + offset,
    }
}

/// Reads 32 digits of either case.
///
/// # Errors
/// The first character that is no digit.
#[inline]
pub(crate) fn read_simple(text: &[u8; 32]) -> Result<[u8; 16], TextError> {
    let mut out = [0; 16];
    if portable::read_digits(text, &mut out) {
        return Ok(out);
    }
    Err(TextError::Character {
        position: text.iter().position(|b| !b.is_ascii_hexdigit()).unwrap_or(0),
    })
}

/// The safe twin: plain arithmetic, which compilers turn into vector code of whatever the target has.
pub(super) mod portable {
    use super::{HYPHENATED, HYPHENS, RUNS};

    #[inline]
    pub(crate) fn digits(bytes: &[u8; 16]) -> [u8; 32] {
        let mut digits = [0; 32];
        for (pair, byte) in digits.as_chunks_mut::<2>().0.iter_mut().zip(bytes) {
            *pair = [byte >> 4, byte & 15];
        }
        for digit in &mut digits {
            *digit += if *digit > 9 { b'a' - 10 } else { b'0' };
        }
        digits
    }

    #[inline]
    pub(crate) fn write_hyphenated(bytes: &[u8; 16], out: &mut [u8; HYPHENATED]) {
        let digits = digits(bytes);
        let mut at = 0;
        for run in RUNS {
            let length = run.len();
            out[run].copy_from_slice(&digits[at..at + length]);
            at += length;
        }
        for hyphen in HYPHENS {
            out[hyphen] = b'-';
        }
    }

    #[inline]
    pub(crate) fn read_digits(text: &[u8; 32], out: &mut [u8; 16]) -> bool {
        let mut values = [0u8; 32];
        let mut wrong = 0u8;
        for (value, byte) in values.iter_mut().zip(text) {
            let number = byte.wrapping_sub(b'0');
            let letter = (byte | 0x20).wrapping_sub(b'a');
            *value = if number < 10 {
                number
            } else {
                letter.wrapping_add(10)
            };
            wrong |= u8::from(number >= 10) & u8::from(letter >= 6);
        }
        for (byte, pair) in out.iter_mut().zip(values.as_chunks::<2>().0) {
            *byte = pair[0] << 4 | pair[1];
        }
        wrong == 0
    }

    #[inline]
    pub(crate) fn read_hyphenated(text: &[u8; HYPHENATED], out: &mut [u8; 16]) -> bool {
        let mut digits = [0; 32];
        let mut at = 0;
        for run in RUNS {
            let length = run.len();
            digits[at..at + length].copy_from_slice(&text[run]);
            at += length;
        }
        let hyphens = HYPHENS.iter().all(|at| text[*at] == b'-');
        read_digits(&digits, out) && hyphens
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn plain(text: &[u8; HYPHENATED]) -> Option<[u8; 16]> {
        let mut out = [0; 16];
        portable::read_hyphenated(text, &mut out).then_some(out)
    }

    proptest! {
        #[test]
        fn the_fast_and_the_plain_way_write_the_same_text(ids in prop::collection::vec(any::<u128>().prop_map(Uuid::from_u128), 0..20)) {
            let mut lines = alloc::vec::Vec::new();
            write_lines(&ids, &mut lines);
            prop_assert_eq!(lines.len(), ids.len() * 37);
            for (id, line) in ids.iter().zip(lines.chunks(37)) {
                let mut plain = [0; HYPHENATED];
                portable::write_hyphenated(id.as_bytes(), &mut plain);
                prop_assert_eq!(write_hyphenated(id.as_bytes()), plain);
                prop_assert_eq!(&line[..36], &plain);
                prop_assert_eq!(line[36], b'\n');
            }
        }

        #[test]
        fn the_fast_and_the_plain_way_read_the_same(
            id in any::<[u8; 16]>(), upper: u64, at in 0usize..36, byte: u8,
        ) {
            let mut text = write_hyphenated(&id);
            for (i, byte) in text.iter_mut().enumerate() {
                if upper >> i & 1 == 1 {
                    byte.make_ascii_uppercase();
                }
            }
            prop_assert_eq!(read_hyphenated(&text, 0), Ok(id));
            text[at] = byte;
            let read = read_hyphenated(&text, 0);
            prop_assert_eq!(read.ok(), plain(&text));
            if let Err(error) = read {
                prop_assert_eq!(error, TextError::Character { position: at });
            }
        }
    }

    #[test]
    fn every_byte_at_every_place_is_judged_alike() {
        let good = *b"017f22e2-79B0-7cc3-98C4-dc0c0c07398f";
        for at in 0..36 {
            for byte in 0..=255 {
                let mut text = good;
                text[at] = byte;
                let fits = match HYPHENS.contains(&at) {
                    true => byte == b'-',
                    false => byte.is_ascii_hexdigit(),
                };
                assert_eq!(read_hyphenated(&text, 0).is_ok(), fits, "{at} {byte}");
                assert_eq!(plain(&text).is_some(), fits, "{at} {byte}");
            }
        }
    }

    #[test]
    fn every_byte_at_every_place_of_digits_alone_is_judged_and_named() {
        let good = *b"017f22e279B07cc398C4dc0c0c07398f";
        for at in 0..32 {
            for byte in 0..=255u8 {
                let mut text = good;
                text[at] = byte;
                let wrong = (!byte.is_ascii_hexdigit()).then_some(TextError::Character { position: at });
                assert_eq!(read_simple(&text).err(), wrong, "{at} {byte}");
            }
        }
    }

    proptest! {
        #[test]
        fn digits_alone_are_the_hyphenated_text_without_its_hyphens(id: [u8; 16]) {
            let digits: alloc::vec::Vec<u8> =
                write_hyphenated(&id).into_iter().filter(|byte| *byte != b'-').collect();
            let text = write_simple(&id);
            prop_assert_eq!(&text[..], &digits);
            prop_assert_eq!(read_simple(&text), Ok(id));
            prop_assert_eq!(read_simple(&text.map(|byte| byte.to_ascii_uppercase())), Ok(id));
        }
    }
}
