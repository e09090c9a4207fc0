//! Keys of Redis are bytes, and ours are text: what is not plain text is written with escapes.

use std::fmt::Write;

/// A key as text: `\xHH` for a byte that is no UTF-8, or of a character that is not plain, `\\` for a backslash, the rest as it is.
pub(super) fn text_of(key: &[u8]) -> String {
    let mut text = String::with_capacity(key.len());
    for chunk in key.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\\' => text.push_str("\\\\"),
                c if !mintage::is_plain(c) => c.to_string().bytes().for_each(|byte| escape(&mut text, byte)),
                c => text.push(c),
            }
        }
        chunk.invalid().iter().for_each(|byte| escape(&mut text, *byte));
    }
    text
}

fn escape(text: &mut String, byte: u8) {
    write!(text, "\\x{byte:02x}").expect("a String takes everything");
}

/// The key that a text means.
pub(super) fn key_of(text: &str) -> Result<Vec<u8>, String> {
    let bad = || {
        format!(
            "{text:?} is no key: a backslash is written \\\\, and any byte \\xHH with two hexadecimal digits"
        )
    };
    let mut key = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((plain, escaped)) = rest.split_once('\\') {
        key.extend_from_slice(plain.as_bytes());
        if let Some(after) = escaped.strip_prefix('\\') {
            key.push(b'\\');
            rest = after;
        } else {
            let digits = escaped
                .strip_prefix('x')
                .and_then(|digits| digits.get(..2))
                .ok_or_else(bad)?;
            let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
            let byte = u8::from_str_radix(digits, 16).ok().filter(|_| is_hex);
            key.push(byte.ok_or_else(bad)?);
            rest = &escaped[3..];
        }
    }
    key.extend_from_slice(rest.as_bytes());
    Ok(key)
}

/// Our glob as that of `SCAN`, which also knows sets and backslashes; over the key's bytes, so that it finds at least what
/// ours does.
pub(super) fn scan_glob(glob: &str) -> Vec<u8> {
    let mut scan = Vec::new();
    let mut escaped = false;
    for byte in glob.bytes() {
        match byte {
            // An escape stands for one byte, a character of several bytes for as many.
            b'\\' => escaped = true,
            b'?' => scan.push(b'*'),
            b'[' | b']' | b'^' | b'-' => scan.push(b'?'),
            byte => scan.push(byte),
        }
    }
    match escaped {
        true => b"*".to_vec(),
        false => scan,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::matches_glob;

    #[test]
    fn any_bytes_are_a_key_and_come_back() {
        for (key, text) in [
            (&b"orders"[..], "orders"),
            (b"a b:{c}", "a b:{c}"),
            ("größe".as_bytes(), "größe"),
            (b"a\\b", "a\\\\b"),
            (b"\xff\x00a\n", "\\xff\\x00a\\x0a"),
            (b"", ""),
            (b"\\x41", "\\\\x41"),
        ] {
            assert_eq!(text_of(key), text);
            assert_eq!(key_of(text).as_deref(), Ok(key));
        }
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(key_of(&text_of(&all)), Ok(all));
    }

    #[test]
    fn texts_that_are_no_key_are_refused() {
        for text in ["\\", "a\\b", "\\x", "\\x1", "\\xg0", "\\x+1", "\\xé"] {
            assert!(key_of(text).unwrap_err().contains("is no key"), "{text}");
        }
    }

    /// What SCAN leaves out is never seen: its glob must let through whatever ours does.
    #[test]
    fn globs_of_scan_let_through_what_ours_do() {
        for (glob, scan) in [
            ("orders", "orders"),
            ("id:*", "id:*"),
            ("a?c", "a*c"),
            ("[a]", "?a?"),
            ("x\\\\y*", "*"),
        ] {
            assert_eq!(scan_glob(glob), scan.as_bytes(), "{glob}");
        }
        assert!(matches_glob("?", "é"), "ours counts characters");
    }
}
