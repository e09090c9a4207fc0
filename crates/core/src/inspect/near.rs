//! Texts that are no ids, and texts that are nearly one.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::others;
use crate::format::GenOptions;
use crate::text::TextError;

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
    } else if super::calendar::is_time(text) {
        Some("it is a time")
    } else if is_url(text) {
        Some("it is a URL")
    } else if is_address_of_mail(text) {
        Some("it is an e-mail address")
    } else {
        None
    }
}

fn is_address_of_mail(text: &str) -> bool {
    let Some((name, host)) = text.split_once('@') else {
        return false;
    };
    !name.is_empty()
        && host.contains('.')
        && !host.contains(['@', ' ', '/'])
        && !host.ends_with('.')
        && !name.contains(' ')
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

fn is_url(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once("://") else {
        return text.starts_with("mailto:");
    };
    let sound = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    !rest.is_empty()
        // A global id of an application is one.
        && scheme != "gid"
        && scheme.as_bytes().first().is_some_and(u8::is_ascii_alphabetic)
        && scheme.bytes().all(sound)
}

/// Why a text is no id, one sentence's end, the same for everybody who asks: what it is instead, what a tool has done
/// to it, what it very nearly is, or else what it looks like. It names no format that does not fit.
///
/// ```
/// use mintage::fault;
/// assert_eq!(fault("NULL"), "not an id: it means that there is none");
/// assert_eq!(
///     fault("user_2x4y6z8a0b1c2d3e4f5g6h7j8"),
///     "not known; nearly a TypeID whose suffix has 25 characters, 26 are needed"
/// );
/// let said = "not known: 5 characters, letters, digits and punctuation, are no id of any known format";
/// assert_eq!(fault("sk/42"), said);
/// ```
pub fn fault(text: &str) -> String {
    let text = text.trim();
    if text.len() > super::TEXT_MAX {
        return format!("not known: {} bytes are longer than any known id", text.len());
    }
    let inner = super::unwrapped(text).map_or_else(|| text.into(), |found| found.text);
    if let Some(instead) = no_id(text).or_else(|| no_id(&inner)) {
        return format!("not an id: {instead}");
    }
    if let Some(near) = near_miss(text) {
        return format!("not known; nearly {near}");
    }
    let count = text.chars().count();
    let (characters, are) = if count == 1 {
        ("character", "is")
    } else {
        ("characters", "are")
    };
    match count {
        0 => "not an id: it is empty".into(),
        _ => format!(
            "not known: {count} {characters}, {}, {are} no id of any known format",
            looks(text)
        ),
    }
}

/// Which characters a text has, in words.
fn looks(text: &str) -> &'static str {
    let any = |kind: fn(&char) -> bool| text.chars().any(|c| kind(&c));
    let (letters, digits) = (any(|c| c.is_alphabetic()), any(char::is_ascii_digit));
    let others = any(|c| !c.is_alphabetic() && !c.is_ascii_digit());
    match (letters, digits, others) {
        (true, true, true) => "letters, digits and punctuation",
        (true, true, false) if text.bytes().all(|byte| byte.is_ascii_hexdigit()) => "hexadecimal digits",
        (true, true, false) => "letters and digits",
        (true, false, true) => "letters and punctuation",
        (true, false, false) => "letters alone",
        (false, true, true) => "digits and punctuation",
        (false, true, false) => "digits alone",
        (false, false, _) => "punctuation alone",
    }
}

/// What a text very nearly is, and what is wrong with it or was done to it; `None` if it is an id, or near none.
///
/// ```
/// use mintage::near_miss;
/// let near = near_miss("017f22e2-79b0-7cc3-98c4-dc0c0c07398").expect("a digit is missing");
/// assert_eq!(near, "a UUID with 31 hexadecimal digits, 32 are needed: the last group has 11, 12 are needed");
/// assert_eq!(near_miss("017f22e2-79b0-7cc3-98c4-dc0c0c07398f"), None);
/// assert_eq!(near_miss("hello"), None);
/// ```
pub fn near_miss(text: &str) -> Option<String> {
    if text.len() > super::TEXT_MAX {
        return None;
    }
    let text = text.trim();
    if let Some(damage) = super::damage(text) {
        return Some(format!("an id that is damaged: {}", damage.words));
    }
    if !text.is_ascii() {
        return None;
    }
    near_text(text).or_else(|| near_text(&super::unwrapped(text)?.text))
}

fn near_text(text: &str) -> Option<String> {
    near_uuid(text)
        .or_else(|| near_typeid(text))
        .or_else(|| near_of_length(text))
        .or_else(|| near_timed(text))
        .or_else(|| case_lost(text))
        .or_else(|| near_of_characters(text))
}

/// Digits in the groups of a UUID.
const GROUPS: [usize; 5] = [8, 4, 4, 4, 12];

/// Whether a text has the hyphens of a UUID, and is none.
pub(super) fn is_nearly_uuid(text: &str) -> bool {
    text.contains('-') && near_uuid(text).is_some()
}

fn near_uuid(text: &str) -> Option<String> {
    let groups: Vec<&str> = text.split('-').collect();
    let is_hex = |group: &&str| group.bytes().all(|byte| byte.is_ascii_hexdigit());
    let digits = text.len() + 1 - groups.len();
    let whole = groups.len() == 5;
    if whole && groups.iter().all(is_hex) && digits != 32 && (29..=35).contains(&digits) {
        let names = ["first", "second", "third", "fourth", "last"];
        let wrong = groups.iter().zip(GROUPS).zip(names);
        let wrong = wrong.filter(|((group, width), _)| group.len() != *width);
        let wrong: Vec<String> = wrong
            .map(|((group, width), name)| format!("the {name} group has {}, {width} are needed", group.len()))
            .collect();
        let wrong = wrong.join("; ");
        return Some(format!(
            "a UUID with {digits} hexadecimal digits, 32 are needed: {wrong}"
        ));
    }
    // What is left of one that was cut: whole groups, and a last one that is shorter.
    let shaped = groups.iter().zip(GROUPS).enumerate().all(|(at, (group, width))| {
        let last = at + 1 == groups.len();
        is_hex(group)
            && if last {
                group.len() <= width
            } else {
                group.len() == width
            }
    });
    if shaped && (2..=5).contains(&groups.len()) && (12..32).contains(&digits) {
        let version = groups.get(2).and_then(|group| group.chars().next());
        let version = version.filter(|version| ('1'..='8').contains(version));
        let version = version.map_or(String::new(), |version| format!(" of version {version}"));
        return Some(format!(
            "a UUID{version} that was cut: {} characters, 36 are needed; what it began with is right, the rest is lost",
            text.len()
        ));
    }
    let wrong = text
        .bytes()
        .filter(|byte| *byte != b'-' && !byte.is_ascii_hexdigit())
        .count();
    let at = text
        .bytes()
        .position(|byte| byte != b'-' && !byte.is_ascii_hexdigit())?;
    let shape = whole
        && groups
            .iter()
            .zip(GROUPS)
            .all(|(group, width)| group.len() == width);
    let letter = char::from(text.as_bytes()[at]);
    (shape && wrong <= 2).then(|| format!("a UUID, but {letter:?} at {at} is not a hexadecimal digit"))
}

fn is_crockford(text: &str) -> bool {
    let digits = crate::text::radix::CROCKFORD;
    text.bytes()
        .all(|byte| digits.contains(&byte.to_ascii_uppercase()))
}

/// Whether it is a TypeID but for the length of its suffix.
pub(super) fn is_nearly_typeid(text: &str) -> bool {
    near_typeid(text).is_some()
}

/// A prefix and a suffix that is a little too short or too long.
fn near_typeid(text: &str) -> Option<String> {
    let (prefix, suffix) = text.rsplit_once('_')?;
    let named = !prefix.is_empty()
        && prefix
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    let begins = suffix.starts_with(|c: char| ('0'..='7').contains(&c));
    let sound =
        named && begins && is_crockford(suffix) && !suffix.bytes().any(|byte| byte.is_ascii_uppercase());
    let digits = suffix.bytes().filter(u8::is_ascii_digit).count();
    (sound && matches!(suffix.len(), 23..=25 | 27 | 28) && digits > 2).then(|| {
        format!(
            "a TypeID whose suffix has {} characters, 26 are needed",
            suffix.len()
        )
    })
}

/// Ids whose beginning or alphabet gives them away although a few characters are missing or too many.
fn near_of_length(text: &str) -> Option<String> {
    let letters = text.len();
    let every = |kind: fn(&u8) -> bool| text.bytes().all(|byte| kind(&byte));
    let (hex, digits) = (every(u8::is_ascii_hexdigit), every(u8::is_ascii_digit));
    let cases = text.bytes().any(|byte| byte.is_ascii_uppercase())
        && text.bytes().any(|byte| byte.is_ascii_lowercase());
    let told = |what: &str, needed: usize| {
        let wrong = match letters.abs_diff(needed) {
            1 if letters < needed => "one is missing".into(),
            1 => "one is too many".into(),
            many if letters < needed => format!("{many} are missing"),
            many => format!("{many} are too many"),
        };
        let article = if what.starts_with('O') { "an" } else { "a" };
        Some(format!(
            "{article} {what} of {letters} characters, {needed} are needed: {wrong}"
        ))
    };
    match letters {
        _ if digits => None,
        26..=31 | 33 | 34 if hex => told("UUID without hyphens", 32),
        22 | 23 | 25 if hex => told("ObjectId", 24),
        // Times from 2005 to 2039.
        23..=25 | 27 | 28 if text.starts_with("01") && !cases && is_crockford(text) => told("ULID", 26),
        // Times from 2014 to 2030.
        26 | 28 if text.starts_with(['0', '1', '2', '3']) && cases && every(u8::is_ascii_alphanumeric) => {
            told("KSUID", 27)
        }
        _ => None,
    }
}

/// Whether it is a CUID but for a character: a time that can be and a counter, which a CUID2 has by chance in one of
/// 200.
pub(super) fn is_nearly_cuid(text: &str) -> bool {
    text.len() == 24 && text.starts_with('c') && near_timed(text).is_some()
}

/// Ids with a time in front that can be, one character short or long.
fn near_timed(text: &str) -> Option<String> {
    let rows = ["cuid", "xid", "pushid"]
        .into_iter()
        .filter_map(crate::format::format);
    let plain = GenOptions::default();
    rows.into_iter().find_map(|row| {
        let needed = row.text_len.0;
        let whole = match text.len() {
            len if len + 1 == needed => format!("{text}0"),
            len if len == needed + 1 => text.get(..needed)?.into(),
            _ => return None,
        };
        // Digits alone are a number that is too long.
        let letters = text.bytes().any(|byte| byte.is_ascii_alphabetic()) && !super::rank::is_wordy(text);
        let id = row.parse(whole.as_bytes(), &plain).ok().filter(|_| letters)?;
        let at = row.read(&id, &plain).ok()?.time?.at.unix_millis();
        let article = if row.title.starts_with('x') { "an" } else { "a" };
        // 2010 to 2033.
        (1_262_304_000_000..2_000_000_000_000).contains(&at).then(|| {
            let wrong = if text.len() < needed {
                "one is missing"
            } else {
                "one is too many"
            };
            format!(
                "{article} {} of {} characters, {needed} are needed: {wrong}",
                row.title,
                text.len()
            )
        })
    })
}

/// A KSUID in one case: of 27 characters of base 62, by chance some are large and some are small.
fn case_lost(text: &str) -> Option<String> {
    let count = |kind: fn(&u8) -> bool| text.bytes().filter(&kind).count();
    let (upper, lower) = (count(u8::is_ascii_uppercase), count(u8::is_ascii_lowercase));
    let all = upper + lower + count(u8::is_ascii_digit) == text.len();
    // What is written in small letters alone loses nothing in capitals.
    if lower == 0 && upper > 0 && text.len() > 19 {
        let small = text.to_ascii_lowercase();
        let row = ["xid", "typeid", "cuid"]
            .into_iter()
            .filter_map(crate::format::format);
        let found = row
            .into_iter()
            .find(|row: &&crate::format::Format| row.parse(small.as_bytes(), &GenOptions::default()).is_ok());
        if let Some(row) = found.filter(|row| row.name != "typeid" || text.contains('_')) {
            return Some(format!(
                "a {} in capitals, where it has small letters alone: {small}",
                row.title
            ));
        }
    }
    let fits = text.len() == 27 && text.starts_with(['0', '1', '2', '3']) && all && upper + lower >= 8;
    (fits && (upper == 0 || lower == 0)).then(|| {
        let case = if upper == 0 { "small letters" } else { "capitals" };
        format!("a KSUID in {case} alone: it has both, its case was lost and cannot be had back")
    })
}

/// One wrong character in a text of the right length.
fn near_of_characters(text: &str) -> Option<String> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
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
        let letter = char::from(text.as_bytes()[at]);
        let what = match error {
            TextError::Character { .. } => format!("{letter:?} at {at} is not one of its characters"),
            error => format!("{error}"),
        };
        let article = if row.title.starts_with(['O', 'o']) {
            "an"
        } else {
            "a"
        };
        (mended(b'0') || mended(b'a')).then(|| format!("{article} {}, but {what}", row.title))
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
                "the second group has 3, 4 are needed",
            ),
            ("017f22e2-79b0-7cc3-98c4-dc0c0c07398ff", "33 hexadecimal digits"),
            (
                "017f22e2-79b0-7cc3-98c4-dc0c0c07398g",
                "'g' at 35 is not a hexadecimal digit",
            ),
            ("017f22e279b07cc398c4dc0c0c07398", "one is missing"),
            ("507f1f77bcf86cd79943901", "ObjectId of 23"),
            ("01ARZ3NDEKTSV4RRFFQ69G5FA", "ULID of 25"),
            (
                "01ARZ3NDEKTSV4RRFFQ69G5FAU",
                "a ULID, but 'U' at 25 is not one of its characters",
            ),
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
