//! The symbols that a text is made of.

use alloc::string::String;
use alloc::vec::Vec;

use super::FormatError;

/// 1 to 256 distinct characters, in an order that counts.
///
/// ```
/// use mintage::Alphabet;
/// let hex = Alphabet::new("0123456789abcdef")?;
/// assert_eq!((hex.len(), hex.bits()), (16, 4.0));
/// assert_eq!(Alphabet::new("abca").unwrap_err().to_string(), "alphabet: 'a' is in it twice, at 0 and 3");
/// # Ok::<(), mintage::FormatError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Alphabet {
    symbols: Vec<char>,
    /// The same, if all are ASCII.
    ascii: Option<Vec<u8>>,
}

impl Alphabet {
    /// The alphabet of the characters of `symbols`.
    ///
    /// # Errors
    /// There are none, or more than 256, or one is given twice.
    pub fn new(symbols: &str) -> Result<Self, FormatError> {
        let refused = |reason: String| FormatError::Option {
            option: "alphabet",
            reason,
        };
        let symbols: Vec<char> = symbols.chars().collect();
        if symbols.is_empty() || symbols.len() > 256 {
            return Err(refused(alloc::format!(
                "{} characters, it has 1 to 256",
                symbols.len()
            )));
        }
        for (i, symbol) in symbols.iter().enumerate() {
            if let Some(first) = symbols[..i].iter().position(|earlier| earlier == symbol) {
                return Err(refused(alloc::format!(
                    "{symbol:?} is in it twice, at {first} and {i}"
                )));
            }
        }
        let ascii = symbols.iter().all(char::is_ascii);
        Ok(Alphabet {
            ascii: ascii.then(|| symbols.iter().map(|symbol| *symbol as u8).collect()),
            symbols,
        })
    }

    /// The characters, in order.
    pub fn symbols(&self) -> &[char] {
        &self.symbols
    }

    /// The characters as bytes, if all are ASCII.
    pub fn ascii(&self) -> Option<&[u8]> {
        self.ascii.as_deref()
    }

    /// How many there are: 1 to 256.
    #[allow(clippy::len_without_is_empty)] // it never is
    pub fn len(&self) -> usize {
        self.symbols.len()
    }

    /// How many random bits one character holds: the logarithm of the number of characters to base 2.
    pub fn bits(&self) -> f64 {
        log2(self.len() as u32)
    }
}

/// The logarithm of `n` (at least 1) to base 2, exact to 2^-50; core has none.
pub(crate) fn log2(n: u32) -> f64 {
    let whole = n.ilog2();
    let mut rest = f64::from(n) / f64::from(1u32 << whole);
    let (mut bits, mut bit) = (f64::from(whole), 0.5);
    // Squaring doubles the logarithm: its binary digits come out one by one.
    for _ in 0..50 {
        rest *= rest;
        if rest >= 2.0 {
            rest /= 2.0;
            bits += bit;
        }
        bit /= 2.0;
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_are_those_of_the_standard_library() {
        for n in 1..1000 {
            assert!((log2(n) - f64::from(n).log2()).abs() < 1e-12, "{n}");
        }
    }

    #[test]
    fn one_to_256_characters_of_any_script_are_an_alphabet() {
        let all: String = ('\u{100}'..='\u{1ff}').collect();
        let alphabet = Alphabet::new(&all).expect("256 characters");
        assert_eq!((alphabet.len(), alphabet.ascii()), (256, None));
        assert!(Alphabet::new(&(all + "a")).is_err());
        assert!(Alphabet::new("").is_err());
        assert_eq!(Alphabet::new("a").expect("one").bits(), 0.0);
    }
}
