//! Sqids: numbers as short text that does not look like them. Reversible, no encryption.
//!
//! ```text
//!  86Rf07  =  1, 2, 3
//! ```
//!
//! A shuffled alphabet is turned by an amount that depends on the numbers; its first character goes in front; every
//! number is written in the rest, and the alphabet is shuffled again after each. Text that contains a word of the
//! blocklist is made again with another turn (sqids/sqids-spec, README and index.ts of 2025-01). Several texts read
//! as the same numbers; one of them is canonical, and only that is accepted without being lenient.
//!
//! `sqids_blocklist.txt` is the default blocklist of sqids/sqids-spec, which every implementation shares (MIT licence, copyright
//! 2023-present Sqids maintainers).

use alloc::string::String;
use alloc::vec::Vec;

use super::{Alphabet, BLANK, Details, Format, FormatError, GenOption, GenOptions, Id, Verb};
use crate::text::{TextError, radix};

pub(super) const SQIDS: Format = Format {
    name: "sqids",
    aliases: &["sqid"],
    title: "Sqids",
    summary: "numbers as short text; anyone can turn it back",
    unique: "the numbers",
    tells: "the numbers, to whoever turns it back",
    example: &[(GenOption::Numbers, "1,2,3")],
    likely: |_, _, _| 0.05,
    lacks: &[Verb::Generator],
    source: "sqids/sqids-spec, README and index.ts of 2025-01",
    diagram: "| turn of the alphabet, 1 character | numbers, a separator between two |",
    text_len: (1, 1024),
    options: &[GenOption::Numbers, GenOption::Alphabet, GenOption::Length],
    parse: |text, options| {
        let sqids = of(options).map_err(|_| TextError::Rule {
            position: 0,
            rule: "these options make no sqid",
        })?;
        sqids.decode_strict(text).map(|_| as_id(text))
    },
    parse_lenient: Some(|text, options| {
        let sqids = of(options).map_err(|_| TextError::Rule {
            position: 0,
            rule: "these options make no sqid",
        })?;
        // Kept in its one canonical text, so that what was read leniently reads back strictly.
        let numbers = sqids.decode(text)?;
        let canonical = sqids
            .encode(&numbers)
            .map_err(|_| TextError::NotCanonical { position: 0 })?;
        Ok(as_id(canonical.as_bytes()))
    }),
    read: |id, options| {
        let text = id.text().unwrap_or("");
        let numbers = of(options)
            .ok()
            .and_then(|sqids| sqids.decode(text.as_bytes()).ok());
        let numbers: Vec<String> = numbers
            .unwrap_or_default()
            .iter()
            .map(|n| alloc::format!("{n}"))
            .collect();
        Details::default().text("numbers", numbers.join(","))
    },
    make_many: Some(|_, options, out| {
        if options.numbers.is_empty() {
            return Err(FormatError::option("numbers", "a sqid stands for one or more"));
        }
        let id = Id::from_text(&of(options)?.encode(&options.numbers)?);
        out.fill(id);
        Ok(())
    }),
    ..BLANK
};

fn of(options: &GenOptions) -> Result<Sqids, FormatError> {
    let mut sqids = match &options.alphabet {
        Some(alphabet) => Sqids::new(alphabet)?,
        None => Sqids::default(),
    };
    if let Some(length) = options.length {
        sqids = sqids.min_length(length)?;
    }
    Ok(sqids)
}

fn as_id(text: &[u8]) -> Id {
    Id::from_text(core::str::from_utf8(text).expect("decoding checked that it is ASCII"))
}

/// Writes numbers as Sqids and reads them.
///
/// ```
/// use mintage::Sqids;
/// let sqids = Sqids::default();
/// assert_eq!(sqids.encode(&[1, 2, 3])?, "86Rf07"); // the specification's
/// assert_eq!(sqids.decode(b"86Rf07"), Ok(vec![1, 2, 3]));
/// # Ok::<(), mintage::FormatError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Sqids {
    /// Shuffled.
    alphabet: Vec<u8>,
    min_length: usize,
    /// In lower case; `None` is [`BLOCKED`].
    blocklist: Option<Vec<String>>,
}

/// The default blocklist, a word a line.
const BLOCKED_LINES: &str = include_str!("sqids_blocklist.txt");
/// Its words, taken apart once, by the compiler. Those that an alphabet cannot spell do no harm: no text has them.
static BLOCKED: [&str; count_lines(BLOCKED_LINES)] = lines(BLOCKED_LINES);

const fn count_lines(text: &str) -> usize {
    let (mut count, mut at) = (0, 0);
    while at < text.len() {
        count += (text.as_bytes()[at] == b'\n') as usize;
        at += 1;
    }
    count
}

const fn lines<const N: usize>(mut rest: &str) -> [&str; N] {
    let mut lines = [""; N];
    let mut line = 0;
    while line < N {
        let mut end = 0;
        while rest.as_bytes()[end] != b'\n' {
            end += 1;
        }
        let (word, after) = rest.split_at(end);
        lines[line] = word;
        rest = after.split_at(1).1;
        line += 1;
    }
    lines
}

/// The most numbers that one text stands for.
const NUMBERS_MAX: usize = 1000;
/// The most characters that a text can be asked to have at least.
const MIN_LENGTH_MAX: usize = 255;

impl Default for Sqids {
    /// The specification's alphabet `a-zA-Z0-9` and blocklist, no least length.
    fn default() -> Self {
        let symbols = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
        Self::of_symbols(symbols.to_vec())
    }
}

impl Sqids {
    /// Texts of another alphabet, with the default blocklist.
    ///
    /// # Errors
    /// The alphabet has fewer than 3 characters, or some that are not ASCII.
    pub fn new(alphabet: &Alphabet) -> Result<Self, FormatError> {
        match alphabet.ascii() {
            Some(symbols) if symbols.len() >= 3 => Ok(Self::of_symbols(symbols.to_vec())),
            _ => Err(FormatError::option(
                "alphabet",
                "sqids need three or more characters of ASCII",
            )),
        }
    }

    fn of_symbols(mut alphabet: Vec<u8>) -> Self {
        shuffle(&mut alphabet);
        Sqids {
            alphabet,
            min_length: 0,
            blocklist: None,
        }
    }

    /// Sets the fewest characters of a text; 0 to 255.
    ///
    /// # Errors
    /// More than 255.
    pub fn min_length(mut self, min_length: usize) -> Result<Self, FormatError> {
        if min_length > MIN_LENGTH_MAX {
            return Err(FormatError::option(
                "length",
                alloc::format!("{min_length}, a sqid can be asked to have up to {MIN_LENGTH_MAX}"),
            ));
        }
        self.min_length = min_length;
        Ok(self)
    }

    /// Replaces the blocklist. Words of fewer than three characters, and those with characters that the alphabet
    /// has in neither case, are left out, as the specification says.
    #[must_use]
    pub fn blocklist<'a>(mut self, words: impl IntoIterator<Item = &'a str>) -> Self {
        let lower: Vec<u8> = self.alphabet.to_ascii_lowercase();
        let words = words
            .into_iter()
            .map(str::to_ascii_lowercase)
            .filter(|word| word.len() >= 3 && word.bytes().all(|byte| lower.contains(&byte)));
        self.blocklist = Some(words.collect());
        self
    }

    /// The canonical text of `numbers`; empty for none.
    ///
    /// # Errors
    /// More than 1000 numbers, or every turn of the alphabet gives a blocked text.
    pub fn encode(&self, numbers: &[u64]) -> Result<String, FormatError> {
        if numbers.len() > NUMBERS_MAX {
            return Err(FormatError::option(
                "numbers",
                alloc::format!("{}, a sqid stands for at most {NUMBERS_MAX}", numbers.len()),
            ));
        }
        if numbers.is_empty() {
            return Ok(String::new());
        }
        for turn in 0..=self.alphabet.len() {
            let text = self.encode_turned(numbers, turn);
            if !self.is_blocked(&text) {
                return Ok(text);
            }
        }
        Err(FormatError::option(
            "numbers",
            "every text of them is blocked; use a shorter blocklist or a longer alphabet",
        ))
    }

    fn encode_turned(&self, numbers: &[u64], turn: usize) -> String {
        let count = self.alphabet.len();
        let mut offset = numbers.len();
        for (i, number) in numbers.iter().enumerate() {
            offset += usize::from(self.alphabet[(number % count as u64) as usize]) + i;
        }
        let mut alphabet = self.alphabet.clone();
        alphabet.rotate_left((offset % count + turn) % count);
        let mut text = Vec::from([alphabet[0]]);
        alphabet.reverse();
        for (i, number) in numbers.iter().enumerate() {
            radix::write(*number, &alphabet[1..], &mut text);
            if i + 1 < numbers.len() {
                text.push(alphabet[0]);
                shuffle(&mut alphabet);
            }
        }
        if text.len() < self.min_length {
            text.push(alphabet[0]);
            while text.len() < self.min_length {
                shuffle(&mut alphabet);
                let more = count.min(self.min_length - text.len());
                text.extend_from_slice(&alphabet[..more]);
            }
        }
        String::from_utf8(text).expect("the alphabet is ASCII")
    }

    fn is_blocked(&self, text: &str) -> bool {
        let text = text.to_ascii_lowercase();
        match &self.blocklist {
            None => BLOCKED.iter().any(|word| blocks(word, &text)),
            Some(words) => words.iter().any(|word| blocks(word, &text)),
        }
    }

    /// The numbers of a text, whether it is the canonical one of them or not.
    ///
    /// # Errors
    /// A character that the alphabet does not have, a number above 2^64 - 1, more than 1000 numbers, or no number
    /// where one must be.
    pub fn decode(&self, text: &[u8]) -> Result<Vec<u64>, TextError> {
        let Some((prefix, rest)) = text.split_first() else {
            return Err(TextError::Empty);
        };
        if let Some(position) = text.iter().position(|letter| !self.alphabet.contains(letter)) {
            return Err(TextError::Character { position });
        }
        let mut alphabet = self.alphabet.clone();
        let turn = alphabet.iter().position(|letter| letter == prefix);
        alphabet.rotate_left(turn.expect("every character was found"));
        alphabet.reverse();
        let mut numbers = Vec::new();
        let mut at = 1;
        let mut rest = rest;
        while !rest.is_empty() {
            let end = rest.iter().position(|letter| *letter == alphabet[0]);
            let digits = &rest[..end.unwrap_or(rest.len())];
            // Nothing between separators is where padding begins.
            if digits.is_empty() {
                break;
            }
            if numbers.len() == NUMBERS_MAX {
                return Err(TextError::Rule {
                    position: at,
                    rule: "more than 1000 numbers",
                });
            }
            numbers.push(number_of(digits, &alphabet[1..]).ok_or(TextError::TooLarge)?);
            let Some(end) = end else { break };
            shuffle(&mut alphabet);
            rest = &rest[end + 1..];
            at += end + 1;
        }
        if numbers.is_empty() {
            return Err(TextError::Rule {
                position: text.len().min(1),
                rule: "no number follows the first character",
            });
        }
        Ok(numbers)
    }

    /// The numbers of a text, if it is the canonical one of them.
    ///
    /// # Errors
    /// As [`Sqids::decode`], or the text is another than [`Sqids::encode`] writes.
    ///
    /// ```
    /// use mintage::Sqids;
    /// let sqids = Sqids::default();
    /// assert_eq!(sqids.decode(b"se8ojk"), Ok(vec![1, 2, 3]));
    /// assert!(sqids.decode_strict(b"se8ojk").is_err()); // 86Rf07 is canonical
    /// ```
    pub fn decode_strict(&self, text: &[u8]) -> Result<Vec<u64>, TextError> {
        let numbers = self.decode(text)?;
        let canonical = self
            .encode(&numbers)
            .map_err(|_| TextError::NotCanonical { position: 0 })?;
        let differs = canonical.bytes().zip(text).position(|(a, b)| a != *b);
        match differs {
            Some(position) => Err(TextError::NotCanonical { position }),
            None if canonical.len() != text.len() => Err(TextError::NotCanonical {
                position: canonical.len().min(text.len()),
            }),
            None => Ok(numbers),
        }
    }
}

/// The specification's shuffle: no randomness, the same for the same characters.
fn shuffle(alphabet: &mut [u8]) {
    let count = alphabet.len();
    for i in 0..count - 1 {
        let j = count - 1 - i;
        let r = (i * j + usize::from(alphabet[i]) + usize::from(alphabet[j])) % count;
        alphabet.swap(i, r);
    }
}

fn number_of(digits: &[u8], alphabet: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0u64, |number, letter| {
        let digit = alphabet.iter().position(|known| known == letter)?;
        number
            .checked_mul(alphabet.len() as u64)?
            .checked_add(digit as u64)
    })
}
/// Whether a word in lower case blocks a text in lower case (sqids-spec, "blocklist").
fn blocks(word: &str, text: &str) -> bool {
    if word.len() > text.len() {
        false
    } else if text.len() <= 3 || word.len() <= 3 {
        word == text
    } else if word.bytes().any(|byte| byte.is_ascii_digit()) {
        text.starts_with(word) || text.ends_with(word)
    } else {
        text.contains(word)
    }
}
