//! CUID2: a letter and a hash, 2 to 32 characters that say nothing.
//!
//! ```text
//! | a letter | 23 base-36 digits of SHA-3-512(time, salt, counter, fingerprint) |
//! ```
//!
//! Time, counter and fingerprint of the process enter the hash beside a random salt, so that a weak random source
//! alone does not make ids repeat; none of them can be read back (paralleldrive/cuid2, README and index.js of 2). Only
//! the shape of an id can be checked. Which of the hash's digits are taken is not observable; ours are the lowest,
//! where dividing 512 bits leaves no bias. *Fork*: the child draws another salt and fingerprint.

#[cfg(feature = "cuid2")]
use sha3::{Digest, Sha3_512};

use super::{BLANK, Details, Format, GenOption, GenOptions, Id};
use crate::text::TextError;

pub(super) const CUID2: Format = Format {
    name: "cuid2",
    title: "CUID2",
    summary: "a letter and 23 more that say nothing; any length from 2 to 32",
    unique: "124 bits of a hash of time, counter, process and randomness",
    tells: "nothing",
    likely: |id, _, _| {
        if id.text().is_some_and(|text| text.len() == CHARS) {
            0.5
        } else {
            0.05
        }
    },
    source: "paralleldrive/cuid2, README and index.js of 2",
    diagram: "| letter | 23 base-36 digits of a SHA-3 hash |",
    text_len: (2, 32),
    options: &[GenOption::Length],
    entropy: |options| {
        let digits = options.length.unwrap_or(CHARS).saturating_sub(1) as f64;
        super::alphabet::log2(26) + digits * super::alphabet::log2(36)
    },
    parse,
    read: |id, _| Details::default().number("length", id.text().unwrap_or("").len() as u64, 8),
    #[cfg(all(feature = "std", feature = "cuid2"))]
    make_many: Some(|_, options, out| {
        let length = length_of(options)?;
        out.iter_mut().for_each(|id| {
            let mut text = [0; CHARS_MAX];
            *id = Id::from_text(process::write(&mut text[..length]));
        });
        Ok(())
    }),
    #[cfg(all(feature = "std", feature = "cuid2"))]
    write_lines: Some(|options, count, out| {
        let length = length_of(options)?;
        for _ in 0..count {
            let mut text = [0; CHARS_MAX];
            out.extend_from_slice(process::write(&mut text[..length]).as_bytes());
            out.push(b'\n');
        }
        Ok(())
    }),
    #[cfg(feature = "cuid2")]
    generator: Some(|options, clock, mut entropy| {
        use crate::time::Clock as _;
        let length = length_of(options)?;
        let mut fingerprint = [0; 32];
        entropy.fill(&mut fingerprint);
        let mut counter = 0;
        Ok(alloc::boxed::Box::new(move || {
            let mut random = [0; 36];
            entropy.fill(&mut random);
            counter += 1;
            let mut text = [0; CHARS_MAX];
            let text = hash(
                clock.unix_millis(),
                counter,
                &fingerprint,
                &random,
                &mut text[..length],
            );
            Ok(Id::from_text(text))
        }))
    }),
    ..BLANK
};

const CHARS: usize = 24;
const CHARS_MAX: usize = 32;

#[cfg(feature = "cuid2")]
fn length_of(options: &GenOptions) -> Result<usize, super::FormatError> {
    match options.length.unwrap_or(CHARS) {
        length @ 2..=CHARS_MAX => Ok(length),
        length => Err(super::FormatError::option(
            "length",
            alloc::format!("{length}, a CUID2 has 2 to {CHARS_MAX} characters"),
        )),
    }
}

fn parse(text: &[u8], options: &GenOptions) -> Result<Id, TextError> {
    let (min, max) = options.length.map_or((2, CHARS_MAX), |length| (length, length));
    if !(min..=max).contains(&text.len()) {
        return Err(TextError::Lengths {
            found: text.len(),
            min,
            max,
        });
    }
    if !text[0].is_ascii_lowercase() {
        return Err(TextError::Rule {
            position: 0,
            rule: "a CUID2 begins with a letter",
        });
    }
    Id::of_base36(text)
}

/// Fills `out` with the id of these: 4 random bytes for the letter, 32 of salt.
#[cfg(feature = "cuid2")]
fn hash<'a>(
    millis: i64,
    counter: u64,
    fingerprint: &[u8; 32],
    random: &[u8; 36],
    out: &'a mut [u8],
) -> &'a str {
    let (letter, salt) = random.split_first_chunk::<4>().expect("36 bytes hold four");
    let mut hash = Sha3_512::new();
    hash.update(millis.to_be_bytes());
    hash.update(salt);
    hash.update(counter.to_be_bytes());
    hash.update(fingerprint);
    let hash: [u8; 64] = hash.finalize().into();
    super::wide::BASE36.encode(super::wide::limbs::<16>(&hash), out);
    // The bias of 26 against 2^32 is below one in a hundred million.
    out[0] = b'a' + (u32::from_be_bytes(*letter) % 26) as u8;
    core::str::from_utf8(out).expect("letters and digits")
}

#[cfg(all(feature = "std", feature = "cuid2"))]
pub use process::cuid2;

#[cfg(all(feature = "std", feature = "cuid2"))]
mod process {
    use alloc::string::String;
    use core::sync::atomic::{AtomicU64, Ordering};

    use super::{CHARS, hash};
    use crate::SystemClock;
    use crate::entropy::random_array;
    use crate::format::places::Own;
    use crate::time::Clock as _;

    static COUNTER: AtomicU64 = AtomicU64::new(0);
    static FINGERPRINT: Own = Own::new();

    /// A new CUID2 of 24 characters. Thread-safe and fork-safe.
    ///
    /// # Panics
    /// As [`fill_random`](crate::fill_random).
    ///
    /// ```
    /// let id = mintage::cuid2();
    /// assert!(id.len() == 24 && id.starts_with(|c: char| c.is_ascii_lowercase()));
    /// assert_ne!(id, mintage::cuid2());
    /// ```
    pub fn cuid2() -> String {
        write(&mut [0; CHARS]).into()
    }

    pub(super) fn write(out: &mut [u8]) -> &str {
        let mut fingerprint = [0; 32];
        fingerprint[..8].copy_from_slice(&FINGERPRINT.get().to_be_bytes());
        let counter = COUNTER.fetch_add(1, Ordering::Relaxed);
        hash(
            SystemClock.unix_millis(),
            counter,
            &fingerprint,
            &random_array(),
            out,
        )
    }
}

#[cfg(all(test, feature = "cuid2"))]
mod tests {
    use super::*;

    #[test]
    fn every_part_enters_the_hash_and_every_length_is_made() {
        let id = |millis, counter, finger: u8, random: u8| {
            let mut out = [0; CHARS_MAX];
            alloc::string::String::from(hash(millis, counter, &[finger; 32], &[random; 36], &mut out))
        };
        let base = id(1, 2, 3, 4);
        for other in [id(2, 2, 3, 4), id(1, 3, 3, 4), id(1, 2, 4, 4), id(1, 2, 3, 5)] {
            assert_ne!(base[1..], other[1..]);
        }
        for length in 2..=CHARS_MAX {
            let options = GenOptions {
                length: Some(length),
                ..GenOptions::default()
            };
            let made = CUID2.make(&options).expect("an id");
            let text = made.text().expect("text").as_bytes();
            assert_eq!(
                (text.len(), CUID2.parse(text, &options)),
                (length, Ok(made.clone()))
            );
        }
    }
}
