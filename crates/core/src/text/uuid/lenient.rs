//! Texts that people paste: the same id written less exactly.

use super::UuidText;
use crate::text::TextError;

/// The text with what leniency passes over taken out, and where each character stood.
pub(super) struct Clean {
    bytes: [u8; MAX],
    places: [u8; MAX],
    len: usize,
    /// How long the text was.
    found: usize,
}

/// More characters than any form has; places fit a byte.
const MAX: usize = 64;
/// More than any form has with a hyphen between all its digits; longer text is not looked at.
const TEXT_MAX: usize = 250;

/// What a form forgives besides white space around it.
struct Rules {
    /// Other characters for digits of the form.
    replace: fn(u8) -> u8,
    /// Hyphens between digits.
    hyphens: bool,
    /// `=` at the end.
    padding: bool,
    /// Whether digits that are missing in front are zeros, and which digit that is.
    zero: Option<u8>,
    /// Leading zeros above the form's width.
    more_zeros: bool,
}

impl Rules {
    fn of(form: UuidText) -> Rules {
        use UuidText as F;
        let none = Rules {
            replace: |byte| byte,
            hyphens: false,
            padding: false,
            zero: None,
            more_zeros: false,
        };
        let crockford = |byte: u8| match byte.to_ascii_uppercase() {
            b'I' | b'L' => b'1',
            b'O' => b'0',
            other => other,
        };
        let upper = |byte: u8| byte.to_ascii_uppercase();
        let lower = |byte: u8| byte.to_ascii_lowercase();
        match form {
            F::Base32 => Rules {
                replace: crockford,
                hyphens: true,
                zero: Some(b'0'),
                ..none
            },
            F::Base32Human => Rules {
                replace: crockford,
                hyphens: true,
                ..none
            },
            F::Base32Hex | F::Base32Std => Rules {
                replace: upper,
                padding: true,
                ..none
            },
            F::Base36 => Rules {
                replace: lower,
                zero: Some(b'0'),
                ..none
            },
            F::Base52 | F::Base62Ieee => Rules {
                zero: Some(b'A'),
                ..none
            },
            F::Base58 => Rules {
                zero: Some(b'1'),
                ..none
            },
            F::Base62 => Rules {
                zero: Some(b'0'),
                ..none
            },
            F::ShortUuid => Rules {
                zero: Some(b'2'),
                ..none
            },
            F::Base64Url => Rules {
                replace: |byte| match byte {
                    b'+' => b'-',
                    b'/' => b'_',
                    other => other,
                },
                padding: true,
                ..none
            },
            F::Base64 => Rules {
                replace: |byte| match byte {
                    b'-' => b'+',
                    b'_' => b'/',
                    other => other,
                },
                padding: true,
                ..none
            },
            F::NcName32 => Rules {
                replace: lower,
                ..none
            },
            F::Int => Rules {
                more_zeros: true,
                ..none
            },
            _ => none,
        }
    }
}

impl Clean {
    /// Takes out of `text` what `form` forgives.
    pub(super) fn new(form: UuidText, text: &[u8]) -> Result<Clean, TextError> {
        let rules = Rules::of(form);
        let (mut at, mut text) = trimmed(text);
        if text.is_empty() {
            return Err(TextError::Empty);
        }
        let found = text.len();
        if rules.padding {
            let padding = text.iter().rev().take_while(|b| **b == b'=').count().min(6);
            text = &text[..found - padding];
        }
        if rules.more_zeros {
            let zeros = text
                .iter()
                .take_while(|b| **b == b'0')
                .count()
                .min(text.len().saturating_sub(1));
            (at, text) = (at + zeros, &text[zeros..]);
        }
        let width = form.width().unwrap_or(39);
        let mut clean = Clean {
            bytes: [0; MAX],
            places: [0; MAX],
            len: 0,
            found,
        };
        let too_long = Err(TextError::Length {
            found,
            expected: width,
        });
        if at + text.len() > TEXT_MAX {
            return too_long;
        }
        for (i, byte) in text.iter().enumerate() {
            if *byte == b'-' && rules.hyphens && (1..text.len() - 1).contains(&i) {
                continue;
            }
            if !clean.push((rules.replace)(*byte), at + i) {
                return too_long;
            }
        }
        if form == UuidText::Base64 && clean.len == 22 {
            // The form itself has its padding.
            clean.push(b'=', at + found);
            clean.push(b'=', at + found);
        }
        if let Some(zero) = rules.zero.filter(|_| (1..width).contains(&clean.len)) {
            clean.fill(zero, width);
        }
        Ok(clean)
    }

    /// The 32 digits of hexadecimal text in any punctuation: hyphens between digits, one pair of braces or
    /// brackets, `urn:uuid:`, `uuid:` or `0x` in front.
    pub(super) fn hex(text: &[u8]) -> Result<Clean, TextError> {
        let (mut at, mut text) = trimmed(text);
        let found = text.len();
        if text.is_empty() {
            return Err(TextError::Empty);
        }
        for (open, close) in [
            (b'{', b'}'),
            (b'(', b')'),
            (b'[', b']'),
            (b'"', b'"'),
            (b'\'', b'\''),
        ] {
            if let [first, inner @ .., last] = text
                && *first == open
            {
                if *last != close {
                    return Err(TextError::Character {
                        position: at + text.len() - 1,
                    });
                }
                (at, text) = (at + 1, inner);
                break;
            }
        }
        for prefix in [&b"urn:uuid:"[..], b"uuid:", b"0x"] {
            if text.len() >= prefix.len() && text[..prefix.len()].eq_ignore_ascii_case(prefix) {
                (at, text) = (at + prefix.len(), &text[prefix.len()..]);
                break;
            }
        }
        let mut clean = Clean {
            bytes: [0; MAX],
            places: [0; MAX],
            len: 0,
            found,
        };
        let wrong_length = Err(TextError::Length { found, expected: 36 });
        if at + text.len() > TEXT_MAX {
            return wrong_length;
        }
        for (i, byte) in text.iter().enumerate() {
            if *byte == b'-' && (1..text.len() - 1).contains(&i) {
                continue;
            }
            if !byte.is_ascii_hexdigit() {
                return Err(TextError::Character { position: at + i });
            }
            if !clean.push(*byte, at + i) {
                return wrong_length;
            }
        }
        if clean.len == 32 { Ok(clean) } else { wrong_length }
    }

    /// The characters that are left.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// An error about these characters as one about the text.
    pub(super) fn error(&self, error: TextError) -> TextError {
        let place = |position: usize| match self.places.get(position) {
            Some(place) if position < self.len => usize::from(*place),
            _ => position,
        };
        match error {
            TextError::Character { position } => TextError::Character {
                position: place(position),
            },
            TextError::NotCanonical { position } => TextError::NotCanonical {
                position: place(position),
            },
            TextError::Rule { position, rule } => TextError::Rule {
                position: place(position),
                rule,
            },
            TextError::Length { expected, .. } => TextError::Length {
                found: self.found,
                expected,
            },
            other => other,
        }
    }

    fn push(&mut self, byte: u8, place: usize) -> bool {
        let fits = self.len < MAX;
        if fits {
            self.bytes[self.len] = byte;
            self.places[self.len] = place.min(255) as u8;
            self.len += 1;
        }
        fits
    }

    /// Puts zeros in front up to `width`.
    fn fill(&mut self, zero: u8, width: usize) {
        let (filled, first) = (width - self.len, self.places[0]);
        self.bytes.copy_within(..self.len, filled);
        self.places.copy_within(..self.len, filled);
        self.bytes[..filled].fill(zero);
        self.places[..filled].fill(first);
        self.len = width;
    }
}

/// Without white space around it, and how much of that stood in front.
fn trimmed(text: &[u8]) -> (usize, &[u8]) {
    let inner = text.trim_ascii_start();
    (text.len() - inner.len(), inner.trim_ascii_end())
}
