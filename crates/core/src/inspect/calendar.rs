//! Times of the calendar as people and programs write them.

use alloc::vec::Vec;

/// `2026-11-22`, `2026-11-22T09:54:12.345+01:00`, `09:54:12`, `22.11.2026`, `11/22/2026 09:54 PM`, `Sun, 22 Nov 2026
/// 09:54:12 GMT`, `22/Nov/2026:09:54:12 +0000`, `20261122T095412Z`, `2026-W47`.
pub(super) fn is_time(text: &str) -> bool {
    text.len() <= 48 && text.is_ascii() && (iso(text) || numeric(text) || in_words(text) || basic(text))
}

fn like(shape: &[u8], part: &[u8]) -> bool {
    part.len() >= shape.len()
        && shape.iter().zip(part).all(|(shape, byte)| match shape {
            b'9' => byte.is_ascii_digit(),
            other => other == byte,
        })
}

fn of_clock(part: &[u8]) -> bool {
    let one = |byte: &u8| {
        byte.is_ascii_digit() || matches!(byte, b':' | b'.' | b',' | b'+' | b'-' | b'Z' | b'z' | b' ')
    };
    like(b"99:99", part)
        && part.iter().all(one)
        // Six pairs with colons are a hardware address.
        && part.iter().filter(|byte| **byte == b':').count() <= 3
}

fn iso(text: &str) -> bool {
    let bytes = text.as_bytes();
    if like(b"9999-99-99", bytes) || like(b"9999/99/99", bytes) {
        return match &bytes[10..] {
            [] => true,
            [b'T' | b't' | b' ', rest @ ..] => of_clock(rest.strip_suffix(b" UTC").unwrap_or(rest)),
            _ => false,
        };
    }
    like(b"9999-W99", bytes) && (bytes.len() == 8 || bytes.len() == 10 && bytes[8] == b'-') || of_clock(bytes)
}

/// Days, months and years in digits, in any order, parted by points or slashes, and perhaps a time behind.
fn numeric(text: &str) -> bool {
    let (day, clock) = text.split_once([' ', 'T']).unwrap_or((text, ""));
    let separator = ['.', '/', '-']
        .into_iter()
        .find(|separator| day.contains(*separator));
    let Some(separator) = separator else {
        return false;
    };
    let parts: Vec<u32> = day
        .split(separator)
        .filter_map(|part| part.parse().ok())
        .collect();
    let widths: Vec<usize> = day.split(separator).map(str::len).collect();
    let small = |number: u32, most: u32| (1..=most).contains(&number);
    let of_day = match (parts.as_slice(), widths.as_slice()) {
        ([a, b, year], [1 | 2, 1 | 2, 4]) => {
            (small(*a, 31) && small(*b, 12) || small(*a, 12) && small(*b, 31)) && small(*year, 9999)
        }
        ([_, month, day], [4, 1 | 2, 1 | 2]) => small(*month, 12) && small(*day, 31),
        _ => false,
    };
    let clock = ["AM", "PM", "am", "pm"]
        .iter()
        .find_map(|half| clock.strip_suffix(half))
        .unwrap_or(clock)
        .trim();
    of_day && (clock.is_empty() || of_clock(clock.as_bytes()) || like(b"9:99", clock.as_bytes()))
}

const MONTHS: &[&str] = &[
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];
const WORDS: &[&str] = &[
    "mon", "tue", "wed", "thu", "fri", "sat", "sun", "am", "pm", "utc", "gmt", "cet", "cest", "est", "edt",
    "pst", "pdt", "z", "t", "st", "nd", "rd", "th", "of", "at",
];
const LONG: &[&str] = &[
    "january",
    "february",
    "march",
    "april",
    "june",
    "july",
    "august",
    "september",
    "sept",
    "october",
    "november",
    "december",
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
];

/// A month by its name, with a day or a year, and nothing that is no time.
fn in_words(text: &str) -> bool {
    let words: Vec<&str> = text
        .split(|c: char| !c.is_ascii_alphabetic())
        .filter(|word| !word.is_empty())
        .collect();
    let among = |list: &[&str], word: &str| list.iter().any(|known| known.eq_ignore_ascii_case(word));
    let is_month = |word: &str| among(MONTHS, word) || among(&LONG[..12], word);
    let numbers = text
        .split(|c: char| !c.is_ascii_digit())
        .filter(|part| !part.is_empty());
    let (mut days, mut all) = (0, 0);
    for number in numbers {
        all += 1;
        days += usize::from(matches!(number.len(), 1 | 2 | 4));
    }
    words.iter().filter(|word| is_month(word)).count() == 1
        && words
            .iter()
            .all(|word| is_month(word) || among(WORDS, word) || among(LONG, word))
        && days >= 1
        && all <= 8
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b" ,./:+-()".contains(&byte))
}

/// `20261122T095412Z`.
fn basic(text: &str) -> bool {
    let bytes = text.as_bytes();
    let Some(rest) = like(b"99999999T9999", bytes).then(|| &bytes[13..]) else {
        return false;
    };
    rest.iter()
        .all(|byte| byte.is_ascii_digit() || b".+-Z".contains(byte))
}
