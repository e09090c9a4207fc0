//! Text from elsewhere, as people may be shown it: on a terminal, in a log, in a script.

use core::fmt;

/// Whether people see a character for what it is: it is no control character, ends no line, does not change the direction
/// of others, and is not invisible.
///
/// Those that are not are of the categories Cc, Zl and Zp, or are Default_Ignorable_Code_Point of Unicode (Default_Ignorable
/// in `DerivedCoreProperties.txt`), or mark annotations. U+FE0E and U+FE0F are plain: they only choose between the forms of
/// the sign before them, as most emoji do.
///
/// ```
/// assert!("Größe/日本 ❤\u{fe0f}".chars().all(mintage::is_plain));
/// assert!(!"\u{9b}\u{7f}\u{202e}\u{200b}\u{2028}\u{feff}".chars().any(mintage::is_plain));
/// ```
pub fn is_plain(c: char) -> bool {
    !c.is_control()
        && !matches!(
            c,
            '\u{ad}'
                | '\u{34f}'
                | '\u{61c}'
                | '\u{115f}'..='\u{1160}'
                | '\u{17b4}'..='\u{17b5}'
                | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{3164}'
                | '\u{fe00}'..='\u{fe0d}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff0}'..='\u{fffb}'
                | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

/// A text with every character written out that is not plain: `\u{1b}`, `\n`.
///
/// ```
/// assert_eq!(mintage::Plain("a\u{202e}b\n").to_string(), "a\\u{202e}b\\n");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Plain<'a>(pub &'a str);

impl fmt::Display for Plain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        while let Some((at, c)) = rest.char_indices().find(|(_, c)| !is_plain(*c)) {
            f.write_str(&rest[..at])?;
            write!(f, "{}", c.escape_default())?;
            rest = &rest[at + c.len_utf8()..];
        }
        f.write_str(rest)
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    /// Every character there is: what is written out is what a terminal, or a reader, would take for something else.
    #[test]
    fn whatever_is_not_plain_is_written_out_and_nothing_else() {
        let hidden = [
            0x00..=0x1f,
            0x7f..=0x9f,
            0x200b..=0x200f,
            0x2028..=0x202e,
            0x2066..=0x2069,
            0xfeff..=0xfeff,
            0xe0000..=0xe0fff,
        ];
        for c in '\0'..=char::MAX {
            let shown = Plain(c.encode_utf8(&mut [0; 4])).to_string();
            assert_eq!(shown.chars().eq([c]), is_plain(c), "{shown}");
            assert!(shown.chars().all(is_plain), "{shown}");
            if hidden.iter().any(|range| range.contains(&u32::from(c))) {
                assert!(!is_plain(c), "{shown}");
            }
            if c.is_alphanumeric() && !matches!(c, '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}') {
                assert!(is_plain(c), "{shown}");
            }
        }
    }

    #[test]
    fn the_rest_of_a_text_stays() {
        for (text, shown) in [
            ("", ""),
            ("größe/日本", "größe/日本"),
            ("a\x1b[2Jb", "a\\u{1b}[2Jb"),
            ("a\u{9b}31m\u{7f}", "a\\u{9b}31m\\u{7f}"),
            ("a\nb\tc", "a\\nb\\tc"),
            ("\u{202e}txt\u{200b}", "\\u{202e}txt\\u{200b}"),
        ] {
            assert_eq!(Plain(text).to_string(), shown);
        }
    }
}
