//! `LIKE`.

/// SQL's LIKE: `%` is any text, `_` any byte of one, a backslash makes the next one stand for itself; letters of either
/// case are equal. Takes time in proportion to both lengths.
pub(super) fn like(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        let matched = match pattern.get(p) {
            Some(b'%') => {
                star = Some((p + 1, t));
                p += 1;
                continue;
            }
            Some(b'_') => Some(1),
            Some(b'\\') if p + 1 < pattern.len() => {
                pattern[p + 1].eq_ignore_ascii_case(&text[t]).then_some(2)
            }
            Some(plain) => plain.eq_ignore_ascii_case(&text[t]).then_some(1),
            None => None,
        };
        match (matched, star) {
            (Some(width), _) => {
                p += width;
                t += 1;
            }
            (None, Some((after, from))) => {
                star = Some((after, from + 1));
                (p, t) = (after, from + 1);
            }
            (None, None) => return false,
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'%')
}

/// The one text that a pattern without wildcards stands for.
pub(super) fn literal(pattern: &[u8]) -> Option<Vec<u8>> {
    let mut text = Vec::with_capacity(pattern.len());
    let mut bytes = pattern.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'%' | b'_' => return None,
            b'\\' => text.push(*bytes.next().unwrap_or(&b'\\')),
            plain => text.push(*plain),
        }
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn like_is_that_of_sql() {
        for (pattern, text, fits) in [
            ("sql_mode", "sql_mode", true),
            ("SQL%", "sql_mode", true),
            ("%mode", "sql_mode", true),
            ("s_l_mode", "sql_mode", true),
            ("s\\_l", "sql", false),
            ("s\\_l", "s_l", true),
            ("%a%b%", "xxaxxbxx", true),
            ("", "", true),
            ("", "a", false),
            ("%", "", true),
            ("\\", "\\", true),
        ] {
            assert_eq!(
                like(pattern.as_bytes(), text.as_bytes()),
                fits,
                "{pattern} {text}"
            );
        }
        assert!(!like("%a".repeat(100).as_bytes(), "a".repeat(99).as_bytes()));
    }

    #[test]
    fn a_pattern_without_wildcards_is_one_text() {
        for (pattern, text) in [
            ("orders", Some("orders")),
            ("order\\_items", Some("order_items")),
            ("100\\%", Some("100%")),
            ("\\", Some("\\")),
            ("", Some("")),
            ("orders%", None),
            ("order_items", None),
        ] {
            let text = text.map(|text| text.as_bytes().to_vec());
            assert_eq!(literal(pattern.as_bytes()), text, "{pattern}");
            if let Some(text) = text {
                assert!(like(pattern.as_bytes(), &text));
            }
        }
    }
}
