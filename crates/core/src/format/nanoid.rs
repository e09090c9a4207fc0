//! NanoID: random characters of an alphabet.
//!
//! ```text
//! | 21 characters of A-Za-z0-9_-, 6 random bits each: 126 bits |
//! ```
//!
//! Any alphabet of 1 to 256 characters and any length from 0 to 4096 can be chosen. Every character is equally
//! likely: random bytes are cut to as many bits as the alphabet needs and drawn again where they name none, never
//! taken modulo its length (ai/nanoid, README and index.js of 5). No time, no order, nothing that can run out.

use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

use super::{Alphabet, BLANK, Details, Format, FormatError, GenOption, GenOptions, Id};
use crate::Entropy;
use crate::text::TextError;

pub(super) const NANOID: Format = Format {
    name: "nanoid",
    title: "NanoID",
    summary: "21 random characters for URLs; any alphabet, any length",
    unique: "126 random bits",
    tells: "nothing",
    likely: |_, _, _| 0.35,
    source: "ai/nanoid, README and index.js of 5",
    diagram: "| 21 characters, 6 random bits each |",
    text_len: (21, 21),
    options: &[GenOption::Alphabet, GenOption::Length],
    entropy: |options| {
        let bits = options.alphabet.as_ref().map_or(6.0, Alphabet::bits);
        bits * options.length.unwrap_or(NanoId::CHARS) as f64
    },
    parse,
    read: |id, _| Details::default().number("length", id.text().unwrap_or("").chars().count() as u64, 32),
    #[cfg(feature = "std")]
    make_many: Some(|_, options, out| {
        let shape = Shape::of(options)?;
        Id::fill_texts(out, |text| shape.write(&mut crate::SystemEntropy, text));
        Ok(())
    }),
    #[cfg(feature = "std")]
    write_lines: Some(|options, count, out| {
        if options.alphabet.is_none() && options.length.is_none() {
            lines(count, out);
            return Ok(());
        }
        let shape = Shape::of(options)?;
        for _ in 0..count {
            shape.write(&mut crate::SystemEntropy, out);
            out.push(b'\n');
        }
        Ok(())
    }),
    generator: Some(|options, _, mut entropy| {
        let options = options.clone();
        Shape::of(&options)?;
        Ok(alloc::boxed::Box::new(move || {
            let mut text = Vec::new();
            Shape::of(&options)?.write(&mut *entropy, &mut text);
            Ok(Id::from_text(
                core::str::from_utf8(&text).expect("characters of the alphabet"),
            ))
        }))
    }),
    ..BLANK
};

/// The most characters of a NanoID.
const CHARS_MAX: usize = 4096;

/// Checked options.
struct Shape<'a> {
    /// The default one if none.
    alphabet: Option<&'a Alphabet>,
    length: usize,
}

impl<'a> Shape<'a> {
    fn of(options: &'a GenOptions) -> Result<Self, FormatError> {
        let length = options.length.unwrap_or(NanoId::CHARS);
        if length > CHARS_MAX {
            return Err(FormatError::option(
                "length",
                alloc::format!("{length}, a NanoID has at most {CHARS_MAX} characters"),
            ));
        }
        Ok(Shape {
            alphabet: options.alphabet.as_ref(),
            length,
        })
    }

    fn write(&self, entropy: &mut (impl Entropy + ?Sized), out: &mut Vec<u8>) {
        match self.alphabet {
            Some(alphabet) => alphabet.draw(self.length, entropy, out),
            None => {
                let start = out.len();
                out.resize(start + self.length, 0);
                entropy.fill(&mut out[start..]);
                out[start..].iter_mut().for_each(|byte| *byte = symbol(*byte));
            }
        }
    }
}

fn parse(text: &[u8], options: &GenOptions) -> Result<Id, TextError> {
    let text = core::str::from_utf8(text).map_err(|error| TextError::Character {
        position: error.valid_up_to(),
    })?;
    let known = |symbol: char| match &options.alphabet {
        Some(alphabet) => alphabet.symbols().contains(&symbol),
        None => symbol.is_ascii_alphanumeric() || matches!(symbol, '_' | '-'),
    };
    if let Some((position, _)) = text.char_indices().find(|(_, symbol)| !known(*symbol)) {
        return Err(TextError::Character { position });
    }
    let (found, expected) = (text.chars().count(), options.length.unwrap_or(NanoId::CHARS));
    if found != expected {
        return Err(TextError::Length { found, expected });
    }
    Ok(Id::from_text(text))
}

/// The character of the default alphabet for the low six bits: a bijection, so that every one is equally likely.
/// Comparisons and sums, which compilers turn into vector instructions.
#[inline]
const fn symbol(random: u8) -> u8 {
    let value = random & 63;
    let mut symbol = value + b'A';
    if value > 25 {
        symbol = symbol.wrapping_add(b'a' - b'Z' - 1);
    }
    if value > 51 {
        symbol = symbol.wrapping_sub(b'z' + 1 - b'0');
    }
    if value > 61 {
        symbol = symbol.wrapping_add(b'_' - b'9' - 1);
    }
    if value > 62 {
        symbol = symbol.wrapping_sub(b'_' + 1 - b'-');
    }
    symbol
}

/// A NanoID of the default alphabet and length: 21 characters of `A-Za-z0-9_-`, 126 random bits.
///
/// ```
/// use mintage::{NanoId, nanoid};
/// let id = nanoid();
/// assert_eq!(id.as_str().len(), 21);
/// assert_ne!(id, nanoid());
/// assert_eq!("V1StGXR8_Z5jdHi6B-myT".parse::<NanoId>()?.as_str(), "V1StGXR8_Z5jdHi6B-myT");
/// # Ok::<(), mintage::TextError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NanoId([u8; NanoId::CHARS]);

impl NanoId {
    /// How many characters it has.
    pub const CHARS: usize = 21;

    /// Its text.
    #[inline]
    pub fn as_str(&self) -> &str {
        core::str::from_utf8(&self.0).expect("characters of the alphabet")
    }

    /// Its text, as bytes of ASCII.
    pub const fn as_bytes(&self) -> &[u8; Self::CHARS] {
        &self.0
    }

    /// A new one from `entropy`, whose quality decides how unique and how guessable it is.
    #[inline]
    pub fn new(entropy: &mut (impl Entropy + ?Sized)) -> Self {
        let mut random = [0; 32];
        entropy.fill(&mut random[..Self::CHARS]);
        Self::of(random)
    }

    /// Of the first 21 of 32 random bytes: whole vectors.
    #[inline]
    fn of(random: [u8; 32]) -> Self {
        let symbols = random.map(symbol);
        NanoId(*symbols.first_chunk().expect("32 bytes hold 21"))
    }
}

impl fmt::Display for NanoId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for NanoId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NanoId({self})")
    }
}

impl AsRef<str> for NanoId {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl FromStr for NanoId {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        parse(text.as_bytes(), &GenOptions::default())?;
        Ok(NanoId(
            text.as_bytes()
                .try_into()
                .expect("21 ASCII characters were checked"),
        ))
    }
}

impl From<NanoId> for Id {
    fn from(id: NanoId) -> Self {
        Id::from_text(id.as_str())
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for NanoId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for NanoId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <alloc::string::String as serde::Deserialize>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// A new NanoID from the process's cryptographic source. Thread-safe and fork-safe.
///
/// # Panics
/// As [`fill_random`](crate::fill_random).
#[cfg(feature = "std")]
#[inline]
pub fn nanoid() -> NanoId {
    let mut random = [0; 32];
    random[..24].copy_from_slice(&crate::entropy::random_array::<24>());
    NanoId::of(random)
}

/// Fills `out` with new NanoIDs; several times faster per id than [`nanoid`].
///
/// # Panics
/// As [`fill_random`](crate::fill_random).
///
/// ```
/// let mut ids = [mintage::nanoid(); 100];
/// mintage::nanoid_many(&mut ids);
/// assert_ne!(ids[0], ids[1]);
/// ```
#[cfg(feature = "std")]
pub fn nanoid_many(out: &mut [NanoId]) {
    if out.len() < BATCH_PAYS_FROM {
        out.fill_with(nanoid);
        return;
    }
    let mut batch = crate::entropy::Batch::new();
    let mut random = [0; NanoId::CHARS * 256];
    for piece in out.chunks_mut(256) {
        let random = &mut random[..(piece.len() * NanoId::CHARS)
            .next_multiple_of(256)
            .min(NanoId::CHARS * 256)];
        batch.fill(random);
        random.iter_mut().for_each(|byte| *byte = symbol(*byte));
        for (id, symbols) in piece.iter_mut().zip(random.as_chunks().0) {
            *id = NanoId(*symbols);
        }
    }
}

/// From this many ids on, a key of its own costs less than going through the thread's buffer.
#[cfg(feature = "std")]
const BATCH_PAYS_FROM: usize = 16;

/// Appends `count` NanoIDs, each with a newline: random bytes for the newlines too, then whole vectors.
#[cfg(feature = "std")]
fn lines(count: usize, out: &mut Vec<u8>) {
    const LINE: usize = NanoId::CHARS + 1;
    let mut batch = crate::entropy::Batch::new();
    let start = out.len();
    out.resize(start + count * LINE, 0);
    // 256 lines are whole steps of the keystream and stay in the first-level cache.
    for piece in out[start..].chunks_mut(LINE * 256) {
        batch.fill(piece);
        piece.iter_mut().for_each(|byte| *byte = symbol(*byte));
        for line in piece.chunks_exact_mut(LINE) {
            line[NanoId::CHARS] = b'\n';
        }
    }
}

/// How many random bytes [`Alphabet::draw`] takes at a time: few, because what is left over is lost.
const PIECE: usize = 16;
/// About how many characters it writes at a time.
const AT_ONCE: usize = 64;

impl Alphabet {
    /// Appends `count` characters drawn at random, every one of the alphabet equally likely.
    ///
    /// Random bytes are cut to as many bits as the alphabet needs; those that name no character are drawn again.
    ///
    /// ```
    /// use mintage::{Alphabet, SystemEntropy};
    /// let mut pin = Vec::new();
    /// Alphabet::new("0123456789")?.draw(6, &mut SystemEntropy, &mut pin);
    /// assert!(pin.len() == 6 && pin.iter().all(u8::is_ascii_digit));
    /// # Ok::<(), mintage::FormatError>(())
    /// ```
    pub fn draw(&self, count: usize, entropy: &mut (impl Entropy + ?Sized), out: &mut Vec<u8>) {
        let mask = (self.len().next_power_of_two() - 1) as u8;
        let mut left = count;
        while left > 0 {
            let (mut numbers, mut kept) = ([0; AT_ONCE + PIECE], 0);
            while kept < left.min(AT_ONCE) {
                let mut random = [0; PIECE];
                entropy.fill(&mut random);
                // Kept or not, a number is written, and no branch asks: which are kept, no processor can guess.
                for number in random.map(|byte| byte & mask) {
                    numbers[kept] = number;
                    kept += usize::from(usize::from(number) < self.len());
                }
            }
            let numbers = &numbers[..kept.min(left)];
            match self.ascii() {
                Some(symbols) => out.extend(numbers.iter().map(|number| symbols[usize::from(*number)])),
                None => numbers.iter().for_each(|number| {
                    let symbol = self.symbols()[usize::from(*number)];
                    out.extend_from_slice(symbol.encode_utf8(&mut [0; 4]).as_bytes());
                }),
            }
            left -= numbers.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::string::{String, ToString};

    use mintage_testing::Distinct;

    use super::*;
    use crate::SystemEntropy;

    #[test]
    fn every_character_of_the_default_alphabet_has_one_value() {
        let symbols: HashSet<u8> = (0..64).map(symbol).collect();
        assert_eq!(symbols.len(), 64);
        assert!(
            symbols
                .iter()
                .all(|s| s.is_ascii_alphanumeric() || b"_-".contains(s))
        );
        assert!((0..=255).all(|byte| symbol(byte) == symbol(byte & 63)));
    }

    /// Entropy that counts up, byte by byte.
    struct Counting(u8);

    impl Entropy for Counting {
        fn fill(&mut self, out: &mut [u8]) {
            for byte in out {
                *byte = self.0;
                self.0 = self.0.wrapping_add(1);
            }
        }
    }

    #[test]
    fn drawing_is_free_of_modulo_bias_for_every_length_of_alphabet() {
        // Over all 256 byte values every character comes out equally often: exactly, not by chance.
        for length in 1..=256usize {
            let symbols: String = (0..length)
                .map(|i| char::from_u32(0x4e00 + i as u32).expect("a letter"))
                .collect();
            let alphabet = Alphabet::new(&symbols).expect("distinct");
            let each = 256 / length.next_power_of_two();
            let mut out = Vec::new();
            alphabet.draw(length * each, &mut Counting(0), &mut out);
            let text = String::from_utf8(out).expect("UTF-8");
            for symbol in symbols.chars() {
                assert_eq!(text.chars().filter(|c| *c == symbol).count(), each, "{length}");
            }
        }
    }

    #[test]
    fn any_length_from_nothing_on_is_made_and_read() {
        for (alphabet, length) in [
            (None, 0),
            (None, 1),
            (None, 300),
            (Some("abc"), 0),
            (Some("a"), 5),
            (Some("αβγδε"), 77),
        ] {
            let options = GenOptions {
                alphabet: alphabet.map(|symbols| Alphabet::new(symbols).expect("distinct")),
                length: Some(length),
                ..GenOptions::default()
            };
            let id = NANOID.make(&options).expect("an id");
            let text = id.text().expect("text");
            assert_eq!(text.chars().count(), length);
            assert_eq!(NANOID.parse(text.as_bytes(), &options), Ok(id.clone()));
        }
        let long = GenOptions {
            length: Some(4097),
            ..GenOptions::default()
        };
        assert!(NANOID.make(&long).is_err());
    }

    #[test]
    fn batches_and_lines_of_any_length_are_all_new() {
        let mut seen = Distinct::of("nanoid");
        for length in [0, 1, 15, 16, 17, 255, 256, 257, 1000] {
            let mut ids = std::vec![NanoId([b'a'; 21]); length];
            nanoid_many(&mut ids);
            seen.extend(ids.iter().map(NanoId::to_string));
            assert!(ids.iter().all(|id| id.to_string().parse() == Ok(*id)));
            let mut text = Vec::new();
            lines(length, &mut text);
            let text = String::from_utf8(text).expect("ASCII");
            assert_eq!(text.lines().count(), length);
            seen.extend(text.lines().map(String::from));
            assert!(text.lines().all(|line| line.parse::<NanoId>().is_ok()));
        }
        seen.add(NanoId::new(&mut SystemEntropy).to_string());
    }
}
