//! Redis's glob patterns: `*`, `?`, `[a-c]`, `[^a]`, `\x`. Source: Redis 7.0 `util.c`, `stringmatchlen`.

/// Whether `text` matches `pattern`. Takes time in proportion to both lengths, whatever the pattern.
///
/// ```
/// use mintage_server::glob::matches;
/// assert!(matches(b"order*", b"orders:2026"));
/// assert!(!matches(b"order?", b"order"));
/// ```
pub fn matches(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    // Where to go on when a star has to take one more byte.
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        if pattern.get(p) == Some(&b'*') {
            star = Some((p + 1, t));
            p += 1;
        } else if let Some(width) = match_one(&pattern[p..], text[t]) {
            p += width;
            t += 1;
        } else if let Some((after, from)) = star {
            star = Some((after, from + 1));
            (p, t) = (after, from + 1);
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|b| *b == b'*')
}

/// How many bytes of the pattern match this byte.
fn match_one(pattern: &[u8], byte: u8) -> Option<usize> {
    match pattern {
        [b'?', ..] => Some(1),
        [b'[', class @ ..] => match_class(class, byte).map(|width| width + 1),
        [b'\\', escaped, ..] => (*escaped == byte).then_some(2),
        [plain, ..] => (*plain == byte).then_some(1),
        [] => None,
    }
}

/// A class without its opening bracket; one that never closes ends with the pattern, as in Redis.
fn match_class(class: &[u8], byte: u8) -> Option<usize> {
    let negated = class.first() == Some(&b'^');
    let mut at = usize::from(negated);
    let mut found = false;
    loop {
        match &class[at.min(class.len())..] {
            [] => break,
            [b']', ..] => {
                at += 1;
                break;
            }
            [b'\\', escaped, ..] => {
                found |= *escaped == byte;
                at += 2;
            }
            [low, b'-', high, ..] => {
                let (low, high) = if low <= high { (low, high) } else { (high, low) };
                found |= (low..=high).contains(&&byte);
                at += 3;
            }
            [plain, ..] => {
                found |= *plain == byte;
                at += 1;
            }
        }
    }
    (found != negated).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn patterns_match_as_in_redis() {
        for (pattern, text, matched) in [
            ("*", "", true),
            ("", "", true),
            ("", "a", false),
            ("a*c", "abbc", true),
            ("a*c", "abbd", false),
            ("**a", "bba", true),
            ("a?c", "abc", true),
            ("[a-c]x", "bx", true),
            ("[c-a]x", "bx", true),
            ("[^a-c]x", "bx", false),
            ("[^a-c]x", "dx", true),
            ("[abc", "b", true),
            ("[a\\]]", "]", true),
            ("\\*", "*", true),
            ("\\*", "a", false),
            ("a\\", "a\\", true),
            ("*a*b*c*", "xxaxxbxxcxx", true),
            ("[", "[", false),
        ] {
            assert_eq!(
                matches(pattern.as_bytes(), text.as_bytes()),
                matched,
                "{pattern:?} on {text:?}"
            );
        }
    }

    #[test]
    fn many_stars_do_not_take_forever() {
        let pattern = b"a*".repeat(2000);
        assert!(!matches(&[&pattern[..], b"b"].concat(), &b"a".repeat(4000)));
    }

    proptest! {
        #[test]
        fn any_pattern_is_answered(pattern in proptest::collection::vec(any::<u8>(), 0..20), text in proptest::collection::vec(any::<u8>(), 0..20)) {
            matches(&pattern, &text);
        }

        #[test]
        fn plain_text_matches_itself_between_stars(text in "[a-z]{0,10}", more in "[a-z]{0,5}") {
            let (padded, pattern) = (format!("{more}{text}{more}"), format!("*{text}*"));
            prop_assert!(matches(pattern.as_bytes(), padded.as_bytes()));
        }
    }
}
