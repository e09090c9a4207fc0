//! 128 bits in 26 letters with byte shuffles (AVX2): what takes the safe code of [`super`] 10 to 25 ns
//! takes 2 to 3.
//!
//! `unsafe` here: calling functions compiled for AVX2 after having asked for it; loads and stores of 16 bytes
//! inside arrays whose lengths the types state. The safe twin is `super::portable`; tests there check
//! that both agree, on every letter at every place.
#![allow(unsafe_code)]

use core::arch::x86_64::*;

use super::{Letters, portable};

/// Writes the 26 letters of `value`.
#[inline]
pub(super) fn write(value: u128, letters: Letters, out: &mut [u8; 26]) {
    if !std::arch::is_x86_feature_detected!("avx2") {
        return portable::encode_128(value, letters, out);
    }
    // SAFETY: the feature that the function needs was just detected.
    unsafe { write_avx2(value, Tables::of(letters), out) };
}

/// Writes the 26 letters of each value into its text.
pub(super) fn write_all<'a>(texts: impl Iterator<Item = (u128, &'a mut [u8; 26])>, letters: Letters) {
    #[target_feature(enable = "avx2")]
    fn write_all_avx2<'a>(texts: impl Iterator<Item = (u128, &'a mut [u8; 26])>, tables: &Tables) {
        for (value, out) in texts {
            write_avx2(value, tables, out);
        }
    }
    if !std::arch::is_x86_feature_detected!("avx2") {
        return texts.for_each(|(value, out)| portable::encode_128(value, letters, out));
    }
    // SAFETY: the feature that the function needs was just detected.
    unsafe { write_all_avx2(texts, Tables::of(letters)) };
}

/// The digits of `text` in four groups of 40 bits, the first of which holds two, if all bytes are letters.
#[inline]
pub(super) fn read(text: &[u8; 26], letters: Letters) -> Option<[u64; 4]> {
    if !std::arch::is_x86_feature_detected!("avx2") {
        return portable::read_26(text, letters);
    }
    // SAFETY: the feature that the function needs was just detected.
    unsafe { read_avx2(text, Tables::of(letters)) }
}

/// An alphabet as the shuffles take it.
struct Tables {
    /// The letters of the digits 0 to 15 and 16 to 31.
    letters: [[u8; 16]; 2],
    /// The digits of the bytes of three rows of ASCII, by their low four bits; [`NONE`] of those that are no
    /// letters.
    digits: [[u8; 16]; 3],
    /// Which rows: the high four bits of their bytes. Each alphabet has digits in the row 3, and letters in two.
    rows: [u8; 3],
}

impl Tables {
    const fn of(letters: Letters) -> &'static Tables {
        match letters {
            Letters::Crockford => &const { Tables::new(Letters::Crockford) },
            Letters::CrockfordLower => &const { Tables::new(Letters::CrockfordLower) },
            Letters::Hex => &const { Tables::new(Letters::Hex) },
            Letters::Sortable => &const { Tables::new(Letters::Sortable) },
        }
    }

    const fn new(alphabet: Letters) -> Tables {
        let first = alphabet.letter(31) >> 4;
        let rows = [3, first - 1, first];
        let (mut letters, mut digits) = ([[0; 16]; 2], [[NONE; 16]; 3]);
        let mut digit = 0;
        while digit < 32 {
            let letter = alphabet.letter(digit);
            letters[digit as usize / 16][digit as usize % 16] = letter;
            let mut row = 0;
            while rows[row] != letter >> 4 {
                row += 1;
            }
            digits[row][(letter & 15) as usize] = digit;
            digit += 1;
        }
        Tables {
            letters,
            digits,
            rows,
        }
    }
}

/// Takes no byte in a shuffle (the place becomes 0), and is no digit.
const NONE: u8 = 0x80;

/// Where each of 16 digits lies, from the digit `first` on: two bytes of a number, low byte first, and the factor
/// that moves it to the top of them.
const fn places(first: usize) -> ([u8; 32], [u16; 16]) {
    let (mut bytes, mut factors) = ([NONE; 32], [0; 16]);
    let mut lane = 0;
    while lane < 16 {
        // 26 digits are 130 bits: two zeros come before the first byte, here as a whole byte of them.
        let bit = 5 * (first + lane) + 6;
        let byte = bit / 8;
        if byte > 0 {
            bytes[2 * lane + 1] = 16 - byte as u8;
        }
        if byte < 16 {
            bytes[2 * lane] = 15 - byte as u8;
        }
        factors[lane] = 1 << (bit % 8);
        lane += 1;
    }
    (bytes, factors)
}

#[target_feature(enable = "avx2")]
#[inline]
fn write_avx2(value: u128, tables: &Tables, out: &mut [u8; 26]) {
    const FRONT: ([u8; 32], [u16; 16]) = places(0);
    const BACK: ([u8; 32], [u16; 16]) = places(10);
    // From registers: 16 bytes that were just stored as two halves could not be loaded at once.
    let value = _mm_set_epi64x((value >> 64) as i64, value as i64);
    let value = _mm256_broadcastsi128_si256(value);
    let digits = |(bytes, factors): &([u8; 32], [u16; 16])| {
        // SAFETY: both arrays are exactly 32 bytes; the loads need no alignment.
        let (bytes, factors) = unsafe {
            (
                _mm256_loadu_si256(bytes.as_ptr().cast()),
                _mm256_loadu_si256(factors.as_ptr().cast()),
            )
        };
        _mm256_srli_epi16::<11>(_mm256_mullo_epi16(_mm256_shuffle_epi8(value, bytes), factors))
    };
    // Digits 0 to 15 in the lower half, 10 to 25 in the upper.
    let digits = _mm256_packus_epi16(digits(&FRONT), digits(&BACK));
    let digits = _mm256_permute4x64_epi64::<0b11_01_10_00>(digits);
    let [low, high] = &tables.letters;
    let low = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(half(low)), digits);
    let high = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(half(high)), digits);
    let text = _mm256_blendv_epi8(low, high, _mm256_cmpgt_epi8(digits, _mm256_set1_epi8(15)));
    let out = out.as_mut_ptr();
    // SAFETY: 0..16 and 10..26 lie within the 26 bytes of `out`; the stores need no alignment.
    unsafe {
        _mm_storeu_si128(out.cast(), _mm256_castsi256_si128(text));
        _mm_storeu_si128(out.add(10).cast(), _mm256_extracti128_si256::<1>(text));
    }
}

#[target_feature(enable = "avx2")]
#[inline]
fn read_avx2(text: &[u8; 26], tables: &Tables) -> Option<[u64; 4]> {
    let at = text.as_ptr();
    // SAFETY: 0..16 and 10..26 lie within the 26 bytes of `text`; the loads need no alignment.
    let text = unsafe { _mm256_loadu2_m128i(at.add(10).cast(), at.cast()) };
    let row = _mm256_and_si256(_mm256_srli_epi16::<4>(text), _mm256_set1_epi8(15));
    let mut digits = _mm256_set1_epi8(NONE as i8);
    for (table, number) in tables.digits.iter().zip(tables.rows) {
        let found = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(half(table)), text);
        let here = _mm256_cmpeq_epi8(row, _mm256_set1_epi8(number as i8));
        digits = _mm256_blendv_epi8(digits, found, here);
    }
    if _mm256_movemask_epi8(digits) != 0 {
        return None;
    }
    // Six zeros in front make four whole groups.
    let moved = _mm256_setr_epi8(
        -1, -1, -1, -1, -1, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, // the first ten
        0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, // the last sixteen
    );
    let digits = _mm256_shuffle_epi8(digits, moved);
    let tens = _mm256_maddubs_epi16(digits, _mm256_set1_epi16(0x0120));
    let twenties = _mm256_madd_epi16(tens, _mm256_set1_epi32(0x0001_0400));
    // The first twenty bits of a group stand in the lower half of 64.
    let groups = _mm256_or_si256(
        _mm256_srli_epi64::<12>(_mm256_slli_epi64::<32>(twenties)),
        _mm256_srli_epi64::<32>(twenties),
    );
    let mut out = [0; 4];
    // SAFETY: `out` is exactly 32 bytes; the store needs no alignment.
    unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), groups) };
    Some(out)
}

#[target_feature(enable = "avx2")]
#[inline]
fn half(bytes: &[u8; 16]) -> __m128i {
    // SAFETY: `bytes` is exactly 16 bytes; the load needs no alignment.
    unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
}
