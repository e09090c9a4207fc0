//! Hashids: numbers as short text, turned round by a salt. The forerunner of Sqids; reversible, no encryption.
//!
//! ```text
//!  laHquq  =  1, 2, 3 with the salt "this is my salt"
//! ```
//!
//! Some letters of the alphabet part numbers, some guard the text's ends; a lottery letter in front and the salt say how
//! the rest is shuffled for each number (niieani/hashids.js, lib/hashids.ts of 2.3). A text is accepted only if its
//! numbers give exactly it.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::{BLANK, Details, Format, FormatError, GenOption, GenOptions, Id, Verb};
use crate::text::TextError;

pub(super) const HASHIDS: Format = Format {
    name: "hashids",
    aliases: &["hashid"],
    title: "Hashids",
    summary: "numbers as short text; who has the salt can turn it back",
    unique: "the numbers",
    tells: "the numbers, to whoever has or guesses the salt",
    example: &[(GenOption::Numbers, "1,2,3"), (GenOption::Salt, "pepper")],
    // Without the salt, only a text made with none is one; few others are, but it says little.
    likely: |id, _, _| {
        if id.text().is_some_and(|text| text.len() >= 6) {
            0.15
        } else {
            0.05
        }
    },
    lacks: &[Verb::Generator],
    source: "niieani/hashids.js 2.3, README and lib/hashids.ts",
    diagram: "| lottery letter, 1 character | numbers, a separator between two |",
    text_len: (1, 1024),
    options: &[
        GenOption::Numbers,
        GenOption::Alphabet,
        GenOption::Length,
        GenOption::Salt,
    ],
    parse: |text, options| {
        let hashids = Hashids::of(options).map_err(|_| TextError::Rule {
            position: 0,
            rule: "these options make no hashid",
        })?;
        hashids.decode(text)?;
        let text = core::str::from_utf8(text).map_err(|_| TextError::Character { position: 0 })?;
        Ok(Id::from_text(text))
    },
    read: |id, options| {
        let text = id.text().unwrap_or("").as_bytes();
        let numbers = Hashids::of(options)
            .ok()
            .and_then(|hashids| hashids.decode(text).ok());
        let numbers: Vec<String> = numbers.unwrap_or_default().iter().map(u64::to_string).collect();
        Details::default().text("numbers", numbers.join(","))
    },
    make_many: Some(|_, options, out| {
        if options.numbers.is_empty() || options.numbers.len() > NUMBERS_MAX {
            return Err(FormatError::option(
                "numbers",
                format!("a hashid stands for 1 to {NUMBERS_MAX}"),
            ));
        }
        let text = Hashids::of(options)?.encode(&options.numbers);
        let text = String::from_utf8(text).map_err(|_| FormatError::option("alphabet", "is not ASCII"))?;
        out.fill(Id::from_text(&text));
        Ok(())
    }),
    ..BLANK
};

const NUMBERS_MAX: usize = 1000;
const LENGTH_MAX: usize = 255;
const SALT_MAX: usize = 255;
const ALPHABET: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ1234567890";
/// Letters that part numbers: with those apart, few words come about.
const SEPARATORS: &[u8] = b"cfhistuCFHISTU";

struct Hashids {
    alphabet: Vec<u8>,
    separators: Vec<u8>,
    guards: Vec<u8>,
    salt: Vec<u8>,
    length_min: usize,
}

impl Hashids {
    fn of(options: &GenOptions) -> Result<Self, FormatError> {
        let symbols = match &options.alphabet {
            None => ALPHABET,
            Some(alphabet) => match alphabet.ascii() {
                Some(symbols) if symbols.len() >= 16 && !symbols.contains(&b' ') => symbols,
                _ => {
                    return Err(FormatError::option(
                        "alphabet",
                        "a hashid's has 16 or more characters of ASCII, and no blank",
                    ));
                }
            },
        };
        let length_min = options.length.unwrap_or(0);
        let salt = options.salt.as_deref().unwrap_or("").as_bytes().to_vec();
        if length_min > LENGTH_MAX {
            let reason = format!("{length_min}, a hashid can be asked to have up to {LENGTH_MAX}");
            return Err(FormatError::option("length", reason));
        }
        if salt.len() > SALT_MAX || !salt.is_ascii() {
            let reason = format!("a hashid's has at most {SALT_MAX} characters of ASCII");
            return Err(FormatError::option("salt", reason));
        }
        let mut alphabet = symbols.to_vec();
        alphabet.retain(|letter| !SEPARATORS.contains(letter));
        let mut separators = SEPARATORS.to_vec();
        separators.retain(|letter| symbols.contains(letter));
        shuffle(&mut separators, &salt);
        // One separator for three and a half letters, one guard for twelve.
        if separators.is_empty() || alphabet.len() * 2 > separators.len() * 7 {
            let wanted = (alphabet.len() * 2).div_ceil(7).max(2);
            if wanted > separators.len() {
                let more = wanted - separators.len();
                separators.extend(alphabet.drain(..more));
            }
        }
        shuffle(&mut alphabet, &salt);
        let count = alphabet.len().div_ceil(12);
        let from = if alphabet.len() < 3 {
            &mut separators
        } else {
            &mut alphabet
        };
        let guards = from.drain(..count).collect();
        Ok(Hashids {
            alphabet,
            separators,
            guards,
            salt,
            length_min,
        })
    }

    /// Shuffles the alphabet as the next number has it.
    fn turn(&self, alphabet: &mut [u8], lottery: u8) {
        let mut by = Vec::from([lottery]);
        by.extend_from_slice(&self.salt);
        by.extend_from_slice(alphabet);
        by.truncate(alphabet.len());
        shuffle(alphabet, &by);
    }

    fn encode(&self, numbers: &[u64]) -> Vec<u8> {
        let sum = (100u64..)
            .zip(numbers)
            .map(|(by, number)| (number % by) as usize)
            .sum::<usize>();
        let mut alphabet = self.alphabet.clone();
        let lottery = alphabet[sum % alphabet.len()];
        let mut text = Vec::from([lottery]);
        for (at, number) in numbers.iter().enumerate() {
            self.turn(&mut alphabet, lottery);
            let start = text.len();
            crate::text::radix::write(*number, &alphabet, &mut text);
            if at + 1 < numbers.len() {
                let by = u64::from(text[start]) + at as u64;
                text.push(self.separators[(number % by) as usize % self.separators.len()]);
            }
        }
        self.lengthen(text, sum, alphabet)
    }

    /// Guards and then letters on both sides, until the text is long enough.
    fn lengthen(&self, mut text: Vec<u8>, sum: usize, mut alphabet: Vec<u8>) -> Vec<u8> {
        let guard = |letter: u8| self.guards[(sum + usize::from(letter)) % self.guards.len()];
        if text.len() < self.length_min {
            text.insert(0, guard(text[0]));
            if text.len() < self.length_min {
                text.push(guard(text[2]));
            }
        }
        let half = alphabet.len() / 2;
        while text.len() < self.length_min {
            let by = alphabet.clone();
            shuffle(&mut alphabet, &by);
            let mut longer = alphabet[half..].to_vec();
            longer.extend_from_slice(&text);
            longer.extend_from_slice(&alphabet[..half]);
            text = longer;
            if let excess @ 1.. = text.len().saturating_sub(self.length_min) {
                text = text[excess / 2..excess / 2 + self.length_min].to_vec();
            }
        }
        text
    }

    fn decode(&self, text: &[u8]) -> Result<Vec<u64>, TextError> {
        if text.is_empty() {
            return Err(TextError::Empty);
        }
        let known = |letter: &u8| {
            [&self.alphabet, &self.separators, &self.guards]
                .iter()
                .any(|set| set.contains(letter))
        };
        if let Some(position) = text.iter().position(|letter| !known(letter)) {
            return Err(TextError::Character { position });
        }
        let parts: Vec<&[u8]> = text.split(|letter| self.guards.contains(letter)).collect();
        let inner = match parts.as_slice() {
            [inner] => inner,
            [_, inner] | [_, inner, _] => inner,
            _ => return Err(NOT_OF_NUMBERS),
        };
        let (lottery, rest) = inner.split_first().ok_or(NOT_OF_NUMBERS)?;
        let mut alphabet = self.alphabet.clone();
        let mut numbers = Vec::new();
        for digits in rest.split(|letter| self.separators.contains(letter)) {
            self.turn(&mut alphabet, *lottery);
            let number = crate::text::radix::read(digits, &alphabet, false).map_err(|_| NOT_OF_NUMBERS)?;
            numbers.push(u64::try_from(number).map_err(|_| TextError::TooLarge)?);
        }
        if numbers.len() > NUMBERS_MAX || self.encode(&numbers) != text {
            return Err(NOT_OF_NUMBERS);
        }
        Ok(numbers)
    }
}

const NOT_OF_NUMBERS: TextError = TextError::Rule {
    position: 0,
    rule: "no numbers give this text with this salt",
};

/// Moves every letter to a place that the salt says.
fn shuffle(letters: &mut [u8], salt: &[u8]) {
    if salt.is_empty() {
        return;
    }
    let mut sum = 0;
    for (turn, at) in (1..letters.len()).rev().enumerate() {
        let turn = turn % salt.len();
        let by = usize::from(salt[turn]);
        sum += by;
        letters.swap(at, (by + turn + sum) % at);
    }
}
