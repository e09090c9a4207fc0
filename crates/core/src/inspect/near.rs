//! Texts that are no ids, and texts that are nearly one.

use alloc::format;
use alloc::string::String;

use super::others;
use crate::format::GenOptions;

/// What a text is that is surely no id, a phrase: one that means that there is none, a time, an address of the web.
///
/// ```
/// use mintage::no_id;
/// assert_eq!(no_id("NULL"), Some("it means that there is none"));
/// assert_eq!(no_id("2026-11-22T09:54:12Z"), Some("it is a time"));
/// assert_eq!(no_id("https://example.org/"), Some("it is a URL"));
/// assert_eq!(no_id("017f22e2-79b0-7cc3-98c4-dc0c0c07398f"), None);
/// ```
pub fn no_id(text: &str) -> Option<&'static str> {
    let text = text.trim();
    if !text.is_empty() && means_none(text) {
        Some("it means that there is none")
    } else if is_time(text) {
        Some("it is a time")
    } else if is_url(text) {
        Some("it is a URL")
    } else {
        None
    }
}

/// How programs and people write that there is nothing.
const NONE: &[&str] = &[
    "null",
    "nil",
    "none",
    "nan",
    "n/a",
    "na",
    "#n/a",
    "undefined",
    "missing",
    "<null>",
    "(null)",
    "[null]",
    "\\n",
    "-",
    "--",
    "?",
];

/// Whether a text is one that programs and people write where there is nothing: `NULL`, `nil`, `None`, `\\N`, `n/a`, or
/// nothing at all. Cheap for what begins with a digit.
///
/// ```
/// use mintage::means_none;
/// assert!(["NULL", "nil", "None", r"\N", "n/a", ""].into_iter().all(means_none));
/// assert!(!means_none("0") && !means_none("nilpotent"));
/// ```
pub fn means_none(text: &str) -> bool {
    if text.as_bytes().first().is_some_and(u8::is_ascii_digit) || text.len() > 9 {
        return false;
    }
    text.is_empty() || text != "\\n" && NONE.iter().any(|none| text.eq_ignore_ascii_case(none))
}

/// `2026-11-22`, `2026-11-22 09:54`, `2026-11-22T09:54:12.345+01:00`, `09:54:12`.
fn is_time(text: &str) -> bool {
    let bytes = text.as_bytes();
    let like = |shape: &[u8], part: &[u8]| {
        part.len() >= shape.len()
            && shape.iter().zip(part).all(|(shape, byte)| match shape {
                b'9' => byte.is_ascii_digit(),
                other => other == byte,
            })
    };
    let rest = if like(b"9999-99-99", bytes) || like(b"9999/99/99", bytes) {
        match &bytes[10..] {
            [] => return true,
            [b'T' | b't' | b' ', rest @ ..] => rest,
            _ => return false,
        }
    } else {
        bytes
    };
    let of_clock = |byte: &u8| {
        byte.is_ascii_digit() || matches!(byte, b':' | b'.' | b',' | b'+' | b'-' | b'Z' | b'z' | b' ')
    };
    like(b"99:99", rest)
        && rest.iter().all(of_clock)
        // Six pairs with colons are a hardware address.
        && rest.iter().filter(|byte| **byte == b':').count() <= 3
}

fn is_url(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once("://") else {
        return text.starts_with("mailto:");
    };
    let sound = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    !rest.is_empty()
        && scheme.as_bytes().first().is_some_and(u8::is_ascii_alphabetic)
        && scheme.bytes().all(sound)
}

/// What a text very nearly is, and what is wrong with it; `None` if it is an id, or near none.
///
/// ```
/// use mintage::near_miss;
/// let near = near_miss("017f22e2-79b0-7cc3-98c4-dc0c0c07398").expect("a digit is missing");
/// assert_eq!(near, "a UUID with 31 hexadecimal digits, where it has 32: the last group has 11, should have 12");
/// assert_eq!(near_miss("017f22e2-79b0-7cc3-98c4-dc0c0c07398f"), None);
/// assert_eq!(near_miss("hello"), None);
/// ```
pub fn near_miss(text: &str) -> Option<String> {
    let text = text.trim();
    if !text.is_ascii() {
        return None;
    }
    near_uuid(text)
        .or_else(|| near_of_length(text))
        .or_else(|| near_of_characters(text))
}

/// Digits in the groups of a UUID.
const GROUPS: [usize; 5] = [8, 4, 4, 4, 12];

fn near_uuid(text: &str) -> Option<String> {
    let hyphens = text.bytes().filter(|byte| *byte == b'-').count();
    let foreign = text
        .bytes()
        .position(|byte| byte != b'-' && !byte.is_ascii_hexdigit());
    let others = text
        .bytes()
        .filter(|byte| *byte != b'-' && !byte.is_ascii_hexdigit())
        .count();
    let digits = text.len() - hyphens;
    if hyphens == 4 && others == 0 && digits != 32 && (29..=35).contains(&digits) {
        let names = ["first", "second", "third", "fourth", "last"];
        let groups = text.split('-').zip(GROUPS).zip(names);
        let wrong = groups.filter(|((group, width), _)| group.len() != *width);
        let wrong = wrong.map(|((group, width), name)| {
            format!("the {name} group has {}, should have {width}", group.len())
        });
        let wrong: alloc::vec::Vec<String> = wrong.collect();
        return Some(format!(
            "a UUID with {digits} hexadecimal digits, where it has 32: {}",
            wrong.join("; ")
        ));
    }
    let at = foreign.filter(|_| others <= 2 && hyphens == 4 && digits == 32)?;
    let shape = text
        .split('-')
        .zip(GROUPS)
        .all(|(group, width)| group.len() == width);
    let letter = char::from(text.as_bytes()[at]);
    shape.then(|| format!("a UUID, but {letter:?} at {at} is not a hexadecimal digit"))
}

/// Ids whose beginning or alphabet gives them away although a character is missing or too many.
fn near_of_length(text: &str) -> Option<String> {
    let letters = text.len();
    let hex = text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let told = |what: &str, expected: usize| {
        let wrong = if letters < expected {
            "is missing"
        } else {
            "is too many"
        };
        format!("a {what} of {letters} characters, where it has {expected}: one {wrong}")
    };
    match letters {
        31 | 33 if hex => Some(told("UUID without hyphens", 32)),
        23 | 25 if hex && !text.bytes().all(|byte| byte.is_ascii_digit()) => Some(told("ObjectId", 24)),
        // Times from 2005 to 2039.
        25 | 27 if text.starts_with("01") => {
            let crockford = crate::text::radix::CROCKFORD;
            text.bytes()
                .all(|byte| crockford.contains(&byte))
                .then(|| told("ULID", 26))
        }
        _ => None,
    }
}

/// One wrong character in a text of the right length.
fn near_of_characters(text: &str) -> Option<String> {
    let plain = GenOptions::default();
    others().find_map(|row| {
        if row.text_len != (text.len(), text.len()) || text.len() < 20 {
            return None;
        }
        let error = row.parse(text.as_bytes(), &plain).err()?;
        if row.parse_lenient(text.as_bytes(), &plain).is_ok() {
            return None;
        }
        let at = error.position().filter(|at| *at < text.len())?;
        let mended = |digit: u8| {
            let mut bytes = text.as_bytes().to_vec();
            bytes[at] = digit;
            row.parse(&bytes, &plain).is_ok()
        };
        (mended(b'0') || mended(b'a')).then(|| format!("a {}, but {}", row.title, error))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_means_nothing_is_no_id_and_neither_are_times_and_addresses() {
        for text in [
            "NULL",
            "nil",
            "None",
            "\\N",
            "n/a",
            "N/A",
            "NaN",
            "-",
            "undefined",
            "2026-11-22",
            "2026-11-22T09:54:12Z",
            "2026-11-22 09:54:12.123+01:00",
            "09:54",
            "09:54:12",
            "https://example.org/a?b",
            "postgres://h/db",
            "mailto:a@b.c",
        ] {
            assert!(no_id(text).is_some(), "{text}");
            assert!(
                crate::inspect(text, crate::Timestamp::UNIX_EPOCH).is_empty(),
                "{text}"
            );
        }
        for text in [
            "7",
            "00:1b:44:11:3a:b7",
            "20:21:22:23:24:25",
            "nilpotent",
            "hello",
            "2026",
            "\\n",
        ] {
            assert_eq!(no_id(text), None, "{text}");
        }
    }

    #[test]
    fn a_slip_is_told_and_other_text_is_not() {
        for (text, says) in [
            ("017f22e2-79b0-7cc3-98c4-dc0c0c07398", "the last group has 11"),
            (
                "017f22e2-79b-7cc3-98c4-dc0c0c07398f",
                "the second group has 3, should have 4",
            ),
            ("017f22e2-79b0-7cc3-98c4-dc0c0c07398ff", "33 hexadecimal digits"),
            (
                "017f22e2-79b0-7cc3-98c4-dc0c0c07398g",
                "'g' at 35 is not a hexadecimal digit",
            ),
            ("017f22e279b07cc398c4dc0c0c07398", "one is missing"),
            ("507f1f77bcf86cd79943901", "ObjectId of 23"),
            ("01ARZ3NDEKTSV4RRFFQ69G5FA", "ULID of 25"),
            ("01ARZ3NDEKTSV4RRFFQ69G5FAU", "a ULID, but"),
            (
                "81ARZ3NDEKTSV4RRFFQ69G5FAV",
                "a ULID, but the first character is above 7",
            ),
        ] {
            let near = near_miss(text).unwrap_or_else(|| panic!("{text}: nothing"));
            assert!(near.contains(says), "{text}: {near}");
        }
        for text in [
            "hello",
            "",
            "01ARZ3NDEKTSV4RRFFQ69G5FAV",
            "1541815603606036480",
            "ΑΒΓ",
            "no id at all",
        ] {
            assert_eq!(near_miss(text), None, "{text}");
        }
    }
}
