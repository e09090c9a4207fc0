//! Hyphenated text with byte shuffles (AVX2): what takes the safe code of [`super`] 6 to 10 ns takes 2 to 3.
//!
//! Which way writing takes is decided at the first call and kept in a function pointer; reading asks the processor's
//! features each time, which costs no more there.
//!
//! `unsafe` here: calling functions compiled for AVX2 after having asked for it, also through that pointer; arrays
//! that are not written before they are filled; loads and stores of 16 bytes inside arrays whose lengths the
//! types state. The safe twin is `super::portable`; tests there check that both agree, on every byte at
//! every place.
#![allow(unsafe_code)]

use core::arch::x86_64::*;
use core::mem::{MaybeUninit, transmute};
use core::sync::atomic::{AtomicPtr, Ordering::Relaxed};

use ::uuid::Uuid;

use super::{HYPHENATED, portable};

/// Fills all of the text.
type Write = unsafe fn(&[u8; 16], &mut MaybeUninit<[u8; HYPHENATED]>);
static WRITE: AtomicPtr<()> = AtomicPtr::new(first_write as *mut ());

/// The text of `bytes`.
#[inline]
pub(super) fn write_hyphenated(bytes: &[u8; 16]) -> [u8; HYPHENATED] {
    let mut out = MaybeUninit::uninit();
    // SAFETY: `WRITE` only ever holds a function of type `Write` that this processor can run, and that fills
    // `out`.
    unsafe {
        transmute::<*mut (), Write>(WRITE.load(Relaxed))(bytes, &mut out);
        out.assume_init()
    }
}

/// The bytes of `text`, if it is one.
#[inline]
pub(super) fn read_hyphenated(text: &[u8; HYPHENATED]) -> Option<[u8; 16]> {
    if !std::arch::is_x86_feature_detected!("avx2") {
        let mut out = [0; 16];
        return portable::read_hyphenated(text, &mut out).then_some(out);
    }
    let mut out = MaybeUninit::uninit();
    // SAFETY: the feature that the function needs was just detected; it fills `out`.
    unsafe {
        let is = read(text, &mut out);
        is.then_some(out.assume_init())
    }
}

/// Writes the text of each id into its line; the line's last byte stays. Whether this processor can.
pub(super) fn write_lines(ids: &[Uuid], lines: &mut [[u8; HYPHENATED + 1]]) -> bool {
    let can = std::arch::is_x86_feature_detected!("avx2");
    if can {
        // SAFETY: the feature that the function needs was just detected.
        unsafe { write_all(ids, lines) };
    }
    can
}

#[cold]
fn first_write(bytes: &[u8; 16], out: &mut MaybeUninit<[u8; HYPHENATED]>) {
    let write: Write = match std::arch::is_x86_feature_detected!("avx2") {
        true => write,
        false => write_plain,
    };
    WRITE.store(write as *mut (), Relaxed);
    // SAFETY: the feature that the function may need was just detected.
    unsafe { write(bytes, out) };
}

fn write_plain(bytes: &[u8; 16], out: &mut MaybeUninit<[u8; HYPHENATED]>) {
    portable::write_hyphenated(bytes, out.write([0; HYPHENATED]));
}

#[target_feature(enable = "avx2")]
fn write_all(ids: &[Uuid], lines: &mut [[u8; HYPHENATED + 1]]) {
    for (id, line) in ids.iter().zip(lines) {
        // SAFETY: a line begins with as many bytes as the text has, and all of them are written.
        let text = unsafe { &mut *line.as_mut_ptr().cast::<MaybeUninit<[u8; HYPHENATED]>>() };
        write(id.as_bytes(), text);
    }
}

#[target_feature(enable = "avx2")]
#[inline]
fn write(bytes: &[u8; 16], out: &mut MaybeUninit<[u8; HYPHENATED]>) {
    // SAFETY: `bytes` is exactly 16 bytes; the load needs no alignment.
    let bytes = unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) };
    // A byte 0xab, widened to 0x00ab, becomes 0x0b0a: its digits in the order of the text.
    let wide = _mm256_cvtepu8_epi16(bytes);
    let nibbles = _mm256_or_si256(_mm256_srli_epi16::<4>(wide), _mm256_slli_epi16::<8>(wide));
    let nibbles = _mm256_and_si256(nibbles, _mm256_set1_epi8(15));
    let letters = _mm256_broadcastsi128_si256(half(*b"0123456789abcdef"));
    // Digits 0 to 15 in the lower half, 16 to 31 in the upper.
    let digits = _mm256_shuffle_epi8(letters, nibbles);
    let text = _mm256_shuffle_epi8(
        digits,
        halves(
            [0, 1, 2, 3, 4, 5, 6, 7, NONE, 8, 9, 10, 11, NONE, 12, 13],
            [NONE, NONE, NONE, 0, 1, 2, 3, NONE, 4, 5, 6, 7, 8, 9, 10, 11],
        ),
    );
    // Digits 14 and 15 belong to the upper half of the text.
    let crossing = _mm256_shuffle_epi8(
        _mm256_permute4x64_epi64::<0b01_00_01_00>(digits),
        halves(
            [NONE; 16],
            [
                14, 15, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE,
            ],
        ),
    );
    let hyphens = halves(
        [0, 0, 0, 0, 0, 0, 0, 0, b'-', 0, 0, 0, 0, b'-', 0, 0],
        [0, 0, b'-', 0, 0, 0, 0, b'-', 0, 0, 0, 0, 0, 0, 0, 0],
    );
    let text = _mm256_or_si256(text, _mm256_or_si256(crossing, hyphens));
    let tail = _mm256_extract_epi32::<7>(digits);
    let out = out.as_mut_ptr().cast::<u8>();
    // SAFETY: 0..32 and 32..36 are the 36 bytes of `out`; the stores need no alignment.
    unsafe {
        _mm256_storeu_si256(out.cast(), text);
        out.add(32).cast::<i32>().write_unaligned(tail);
    }
}

#[target_feature(enable = "avx2")]
#[inline]
fn read(text: &[u8; HYPHENATED], out: &mut MaybeUninit<[u8; 16]>) -> bool {
    let at = text.as_ptr();
    // SAFETY: 0..32, 16..18 and 32..36 lie within the 36 bytes of `text`; the loads need no alignment.
    let (body, crossing, tail) = unsafe {
        (
            _mm256_loadu_si256(at.cast()),
            at.add(16).cast::<i16>().read_unaligned(),
            at.add(32).cast::<i32>().read_unaligned(),
        )
    };
    let digits = _mm256_shuffle_epi8(
        body,
        halves(
            [0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 14, 15, NONE, NONE],
            [3, 4, 5, 6, 8, 9, 10, 11, 12, 13, 14, 15, NONE, NONE, NONE, NONE],
        ),
    );
    // Digits 14 and 15 stand in the text's upper half; the next blend covers what this one does there.
    let digits = _mm256_blend_epi16::<0x80>(digits, _mm256_set1_epi16(crossing));
    let digits = _mm256_blend_epi32::<0x80>(digits, _mm256_set1_epi32(tail));
    let values = values(digits);
    // Pairs of nibbles: the first counts sixteen.
    let pairs = _mm256_maddubs_epi16(values, _mm256_set1_epi16(0x0110));
    let bytes = _mm_packus_epi16(
        _mm256_castsi256_si128(pairs),
        _mm256_extracti128_si256::<1>(pairs),
    );
    // SAFETY: `out` is exactly 16 bytes; the store needs no alignment.
    unsafe { _mm_storeu_si128(out.as_mut_ptr().cast(), bytes) };
    let hyphens = _mm256_cmpeq_epi8(body, _mm256_set1_epi8(b'-' as i8));
    let missing = _mm256_andnot_si256(
        hyphens,
        halves(
            [0, 0, 0, 0, 0, 0, 0, 0, WRONG, 0, 0, 0, 0, WRONG, 0, 0],
            [0, 0, WRONG, 0, 0, 0, 0, WRONG, 0, 0, 0, 0, 0, 0, 0, 0],
        ),
    );
    _mm256_testz_si256(_mm256_or_si256(values, missing), _mm256_set1_epi8(WRONG as i8)) == 1
}

/// The bits that the value of a digit does not have.
const WRONG: u8 = 0xf0;

/// The values of 32 digits; of what is none, a value with one of the bits of [`WRONG`].
///
/// With saturating sums, after Geoff Langdale and Wojciech Muła: digits end up at 0 to 9, letters at 10 to 15,
/// all else above.
#[target_feature(enable = "avx2")]
#[inline]
fn values(text: __m256i) -> __m256i {
    let byte = |value: u8| _mm256_set1_epi8(value as i8);
    // '0' to '9' become 0xf6 to 0xff, then 0xf0 to 0xf9, then 0 to 9.
    let number = _mm256_add_epi8(text, byte(0xff - b'9'));
    let number = _mm256_sub_epi8(_mm256_subs_epu8(number, byte(6)), byte(0xf0));
    // 'A' to 'F' of either case become 0 to 5, then 10 to 15; all else saturates above.
    let letter = _mm256_sub_epi8(_mm256_and_si256(text, byte(0xdf)), byte(b'A'));
    let letter = _mm256_adds_epu8(letter, byte(10));
    _mm256_min_epu8(number, letter)
}

/// Takes no byte in a shuffle: the place becomes 0.
const NONE: u8 = 0x80;

#[target_feature(enable = "avx2")]
#[inline]
fn half(bytes: [u8; 16]) -> __m128i {
    // SAFETY: `bytes` is exactly 16 bytes; the load needs no alignment.
    unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
}

#[target_feature(enable = "avx2")]
#[inline]
fn halves(lower: [u8; 16], upper: [u8; 16]) -> __m256i {
    _mm256_set_m128i(half(upper), half(lower))
}
