//! Numbers as spreadsheets name columns: A, B, … Z, AA.

use alloc::string::String;

use super::error::SeriesError;

/// The letters of a number, as spreadsheets count columns: 1 is A, 26 is Z, 27 is AA; nothing for 0.
///
/// ```
/// assert_eq!(mintage::letters_of(28), "AB");
/// assert_eq!(mintage::number_of_letters("AB"), Ok(28));
/// ```
pub fn letters_of(mut number: u64) -> String {
    let mut reversed = alloc::vec::Vec::new();
    while number > 0 {
        number -= 1;
        reversed.push(b'A' + (number % 26) as u8);
        number /= 26;
    }
    reversed.iter().rev().map(|byte| char::from(*byte)).collect()
}

/// The number of letters of either case: the reverse of [`letters_of`].
///
/// # Errors
/// No letters, other characters, or more than 13 of them.
pub fn number_of_letters(letters: &str) -> Result<u64, SeriesError> {
    if letters.is_empty() || letters.len() > 13 {
        return Err(SeriesError::Letters);
    }
    letters
        .bytes()
        .try_fold(0, |number: u64, byte| match byte.to_ascii_uppercase() {
            // 13 letters stay below 27^13 < 2^62.
            letter @ b'A'..=b'Z' => Ok(number * 26 + u64::from(letter - b'A') + 1),
            _ => Err(SeriesError::Letters),
        })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn letters_read_back(number in any::<u32>()) {
            prop_assert_eq!(number_of_letters(&letters_of(u64::from(number) + 1)), Ok(u64::from(number) + 1));
        }

        #[test]
        fn no_text_makes_the_reader_panic(text in "\\PC{0,20}") {
            let _ = number_of_letters(&text);
        }
    }
}
