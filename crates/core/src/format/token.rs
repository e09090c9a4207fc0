//! Opaque tokens: a prefix that says what they open, random characters, and a checksum if wanted.
//!
//! ```text
//!  key_4Tq8ZrB2xW0nLhV6sYdPmJ1cKfGuE9  2cX0aQ
//! |---|------------------------------||------|
//! prefix  random, 30 of base 62        checksum
//! ```
//!
//! Ours, after the habit of code hosts: the prefix lets scanners and people tell what a leaked token opens; the
//! checksum (CRC-32 of everything before it, as a number in the token's alphabet, with its first character in
//! front) lets a reader refuse a mistyped token without asking a store. It proves nothing: whoever can make a
//! token can make its checksum. Alphabets: base 62 by default, base 58, or any of ASCII.

use alloc::vec::Vec;

use super::{Alphabet, BLANK, Details, Format, FormatError, GenOption, GenOptions, Id};
use crate::Entropy;
use crate::text::{TextError, radix};

pub(super) const TOKEN: Format = Format {
    name: "token",
    title: "Opaque token",
    summary: "a secret: prefix, random characters, checksum if wanted",
    unique: "178 random bits",
    tells: "what it is for, by its prefix",
    example: &[(GenOption::Prefix, "key"), (GenOption::Checksum, "true")],
    likely: |_, _, options| if options.checksum { 0.97 } else { 0.05 },
    source: "this project; CRC-32 of ISO 3309",
    diagram: "| prefix | _ | 30 random characters | checksum 6 |",
    text_len: (30, 101),
    options: &[
        GenOption::Prefix,
        GenOption::Alphabet,
        GenOption::Length,
        GenOption::Checksum,
    ],
    entropy: |options| {
        let bits = match &options.alphabet {
            Some(alphabet) => alphabet.bits(),
            None => super::alphabet::log2(62),
        };
        bits * options.length.unwrap_or(CHARS) as f64
    },
    parse: |text, options| {
        let shape = Shape::of(options).map_err(|_| TextError::Rule {
            position: 0,
            rule: "these options make no token",
        })?;
        shape.check(text)?;
        Ok(Id::from_text(
            core::str::from_utf8(text).expect("ASCII was checked"),
        ))
    },
    read: |id, options| {
        let text = id.text().unwrap_or("");
        let start = text.rfind('_').map_or(0, |at| at + 1);
        let sum = Shape::of(options).map_or(0, |shape| shape.sum_len());
        let end = text.len().saturating_sub(sum).max(start);
        let details = Details::default()
            .text("prefix", &text[..start.saturating_sub(1)])
            .number("secret_length", (end - start) as u64, 32);
        if sum == 0 {
            return details;
        }
        details.text("checksum", &text[end..])
    },
    #[cfg(feature = "std")]
    make_many: Some(|_, options, out| {
        let shape = Shape::of(options)?;
        Id::fill_texts(out, |text| shape.write(&mut crate::SystemEntropy, text));
        Ok(())
    }),
    generator: Some(|options, _, mut entropy| {
        let options = options.clone();
        Shape::of(&options)?;
        Ok(alloc::boxed::Box::new(move || {
            let mut text = Vec::new();
            Shape::of(&options)?.write(&mut *entropy, &mut text);
            Ok(Id::from_text(core::str::from_utf8(&text).expect("ASCII alone")))
        }))
    }),
    ..BLANK
};

const CHARS: usize = 30;
/// The most characters of the random part.
const CHARS_MAX: usize = 4096;
const PREFIX_MAX: usize = 64;

/// Checked options.
struct Shape<'a> {
    prefix: &'a str,
    symbols: &'a [u8],
    alphabet: Option<&'a Alphabet>,
    length: usize,
    checksum: bool,
}

impl<'a> Shape<'a> {
    fn of(options: &'a GenOptions) -> Result<Self, FormatError> {
        let prefix = options.prefix.as_deref().unwrap_or("");
        let sound = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        if prefix.len() > PREFIX_MAX || !prefix.bytes().all(sound) || prefix.ends_with('_') {
            return Err(FormatError::option(
                "prefix",
                alloc::format!(
                    "{prefix:?}, a token's has at most {PREFIX_MAX} of A-Z a-z 0-9 _ - and no _ at its end"
                ),
            ));
        }
        let symbols = match &options.alphabet {
            None => radix::BASE62,
            Some(alphabet) => match alphabet.ascii() {
                Some(symbols)
                    if symbols.len() >= 2
                        && symbols
                            .iter()
                            .all(|byte| byte.is_ascii_graphic() && *byte != b'_') =>
                {
                    symbols
                }
                _ => {
                    return Err(FormatError::option(
                        "alphabet",
                        "a token's has two or more visible characters of ASCII, and no _",
                    ));
                }
            },
        };
        let length = options.length.unwrap_or(CHARS);
        if !(1..=CHARS_MAX).contains(&length) {
            return Err(FormatError::option(
                "length",
                alloc::format!("{length}, a token has 1 to {CHARS_MAX} random characters"),
            ));
        }
        Ok(Shape {
            prefix,
            symbols,
            alphabet: options.alphabet.as_ref(),
            length,
            checksum: options.checksum,
        })
    }

    /// How many characters hold 32 bits; 0 without a checksum.
    fn sum_len(&self) -> usize {
        if !self.checksum {
            return 0;
        }
        let (mut digits, mut all) = (0, 1u64);
        while all <= u64::from(u32::MAX) {
            all *= self.symbols.len() as u64;
            digits += 1;
        }
        digits
    }

    fn write(&self, entropy: &mut (impl Entropy + ?Sized), out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(self.prefix.as_bytes());
        if !self.prefix.is_empty() {
            out.push(b'_');
        }
        match self.alphabet {
            Some(alphabet) => alphabet.draw(self.length, entropy, out),
            None => draw_62(self.length, entropy, out),
        }
        if self.checksum {
            let sum = crc32(&out[start..]);
            radix::write_fixed(sum.into(), self.symbols, self.sum_len(), out);
        }
    }

    fn check(&self, text: &[u8]) -> Result<(), TextError> {
        let start = if self.prefix.is_empty() {
            0
        } else {
            let differs =
                (0..self.prefix.len()).find(|at| text.get(*at) != Some(&self.prefix.as_bytes()[*at]));
            if let Some(position) = differs {
                return Err(TextError::Rule {
                    position,
                    rule: "another prefix than the one asked for",
                });
            }
            if text.get(self.prefix.len()) != Some(&b'_') {
                return Err(TextError::Rule {
                    position: self.prefix.len(),
                    rule: "an underscore separates prefix and secret",
                });
            }
            self.prefix.len() + 1
        };
        let secret = &text[start..];
        if let Some(at) = secret.iter().position(|letter| !self.symbols.contains(letter)) {
            return Err(TextError::Character { position: start + at });
        }
        let expected = start + self.length + self.sum_len();
        if text.len() != expected {
            return Err(TextError::Length {
                found: text.len(),
                expected,
            });
        }
        let end = start + self.length;
        let mut sum = Vec::new();
        if self.checksum {
            radix::write_fixed(crc32(&text[..end]).into(), self.symbols, self.sum_len(), &mut sum);
        }
        if text[end..] != sum {
            return Err(TextError::Rule {
                position: end,
                rule: "the checksum is not that of the text before it",
            });
        }
        Ok(())
    }
}

/// Base 62 without building an [`Alphabet`]: six bits, drawn again above 61.
fn draw_62(count: usize, entropy: &mut (impl Entropy + ?Sized), out: &mut Vec<u8>) {
    let mut random = [0; 64];
    let end = out.len() + count;
    while out.len() < end {
        let want = (end - out.len()) + 2;
        let random = &mut random[..want.min(64)];
        entropy.fill(random);
        let symbols = random
            .iter()
            .filter_map(|byte| radix::BASE62.get(usize::from(byte & 63)));
        out.extend(symbols.take(end - out.len()));
    }
}

/// CRC-32 of ISO 3309: reflected polynomial 0xedb88320, as in zlib.
pub(crate) fn crc32(bytes: &[u8]) -> u32 {
    let mut sum = u32::MAX;
    for byte in bytes {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            sum = sum >> 1 ^ if sum & 1 == 1 { 0xedb8_8320 } else { 0 };
        }
    }
    !sum
}

#[cfg(test)]
mod tests {
    use alloc::string::String;

    use super::*;

    #[test]
    fn the_checksum_is_the_worlds() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926); // the check value of the catalogues
        assert_eq!(crc32(b""), 0);
    }

    fn options(prefix: &str, alphabet: Option<&str>, checksum: bool) -> GenOptions {
        GenOptions {
            prefix: (!prefix.is_empty()).then(|| prefix.into()),
            alphabet: alphabet.map(|symbols| Alphabet::new(symbols).expect("distinct")),
            checksum,
            ..GenOptions::default()
        }
    }

    #[test]
    fn what_is_made_is_read_and_one_changed_character_is_not() {
        let base58 = core::str::from_utf8(radix::BASE58_BITCOIN).expect("ASCII");
        for options in [
            options("", None, false),
            options("key", None, true),
            options("sk_live", Some(base58), true),
            options("bits", Some("01"), true),
        ] {
            let made = TOKEN.make(&options).expect("a token");
            let text = String::from(made.text().expect("text")).into_bytes();
            assert_eq!(TOKEN.parse(&text, &options), Ok(made.clone()));
            if !options.checksum {
                continue;
            }
            for at in 0..text.len() {
                let mut changed = text.clone();
                changed[at] = if changed[at] == b'1' { b'0' } else { b'1' };
                assert!(TOKEN.parse(&changed, &options).is_err(), "{at}");
            }
        }
    }

    #[test]
    fn options_that_make_no_token_are_refused() {
        for (options, wrong) in [
            (options("a b", None, false), "prefix"),
            (options("key_", None, false), "prefix"),
            (options("", Some("ab_"), false), "alphabet"),
            (options("", Some("a"), false), "alphabet"),
            (
                GenOptions {
                    length: Some(0),
                    ..GenOptions::default()
                },
                "length",
            ),
        ] {
            let error = TOKEN.make(&options).expect_err(wrong);
            assert!(alloc::format!("{error}").starts_with(wrong));
        }
    }
}
