//! How names stand in the keys of registers: reversibly, in printable ASCII without space, `!` and `/`, in the order of
//! the names, and never longer than [`NAME_KEY_MAX_BYTES`].
//!
//! ```text
//!   & ' ( … - . 0 … 9 : … A … Z … a … z { | }      themselves: so names of letters, digits and _ . : - are their own keys
//!   space ! " # $ %                                %20 %21 %22 %23 %24 %25
//!   /                                              .~~      (beyond all that follows a dot, and below 0)
//!   ~ and all beyond ASCII                         ~ and the whole rest of the name, packed
//!   all that follows the third escape              packed
//! ```
//!
//! *Packed*: each character is a number of 7 bits for every byte that it has in UTF-8, greater for a greater character;
//! those bits, filled up with zeros, are read 13 at a time, and each 13 are two digits of base 91. Characters below U+0080
//! have 1 to 95 in their 7 bits, so that the end, 0, comes before all.
//!
//! Whether a place is packed depends on what stands before it alone. So two names are written alike up to where they
//! differ, and there by the same rule, which keeps their order.

use std::borrow::Cow;

/// The longest key of a name: three escapes in front of 252 packed bytes.
pub const NAME_KEY_MAX_BYTES: usize = 281;

/// How many characters are written as escapes; what follows the last of them is packed, or keys would grow to three
/// times their names.
const ESCAPES_MAX: usize = 3;

/// Writes a name's text, which has no control characters.
pub(crate) fn encode(text: &str) -> Cow<'_, str> {
    let mut escapes = 0;
    let Some(first) = text.bytes().position(|byte| !is_plain(byte)) else {
        return Cow::Borrowed(text);
    };
    let mut key = text[..first].to_string();
    for (at, c) in text[first..].char_indices().map(|(at, c)| (first + at, c)) {
        match c {
            _ if escapes == ESCAPES_MAX => {
                pack(&text[at..], &mut key);
                break;
            }
            '/' => key.push_str(SLASH),
            ' '..='%' => key.push_str(&format!("%{:02X}", u32::from(c))),
            c if u8::try_from(c).is_ok_and(is_plain) => {
                key.push(c);
                continue;
            }
            _ => {
                key.push(PACKED);
                pack(&text[at..], &mut key);
                break;
            }
        }
        escapes += 1;
    }
    Cow::Owned(key)
}

/// Reads what [`encode`] wrote; `None` for anything else.
pub(crate) fn decode(key: &str) -> Option<Cow<'_, str>> {
    if key.bytes().all(is_plain) {
        return Some(Cow::Borrowed(key));
    }
    let (mut text, mut rest, mut escapes) = (String::new(), key, 0);
    while !rest.is_empty() {
        if escapes == ESCAPES_MAX {
            unpack(rest, &mut text)?;
            break;
        }
        if let Some(after) = rest.strip_prefix(SLASH) {
            text.push('/');
            (rest, escapes) = (after, escapes + 1);
        } else if let Some(after) = rest.strip_prefix('%') {
            let c = char::from(u8::from_str_radix(after.get(..2)?, 16).ok()?);
            text.push(Some(c).filter(|c| (' '..='%').contains(c))?);
            (rest, escapes) = (&after[2..], escapes + 1);
        } else if let Some(after) = rest.strip_prefix(PACKED) {
            unpack(after, &mut text)?;
            break;
        } else {
            let plain = rest.bytes().next().filter(|byte| is_plain(*byte))?;
            text.push(char::from(plain));
            rest = &rest[1..];
        }
    }
    // One name has one key: another spelling of it is not ours.
    (encode(&text) == key).then_some(Cow::Owned(text))
}

/// What stands for itself.
fn is_plain(byte: u8) -> bool {
    matches!(byte, b'&'..=b'}') && byte != b'/'
}

const SLASH: &str = ".~~";
const PACKED: char = '~';

/// Writes characters as digits.
fn pack(text: &str, key: &mut String) {
    let (mut bits, mut count) = (0_u64, 0_u32);
    for c in text.chars() {
        let (code, length) = code_of(c);
        (bits, count) = (bits << length | u64::from(code), count + length);
        while count >= GROUP_BITS {
            count -= GROUP_BITS;
            push_group(bits >> count, key);
            bits &= (1 << count) - 1;
        }
    }
    if count > 0 {
        push_group(bits << (GROUP_BITS - count), key);
    }
}

/// Reads digits; `None` if they stand for no text.
fn unpack(key: &str, text: &mut String) -> Option<()> {
    let (mut bits, mut count) = (0_u64, 0_u32);
    let mut groups = key.as_bytes().chunks(2);
    loop {
        // Enough for the longest character, unless there is no more.
        while count < CODE_BITS_MAX {
            let Some(group) = groups.next() else { break };
            bits = bits << GROUP_BITS | read_group(group)?;
            count += GROUP_BITS;
        }
        let Some((c, length)) = char_of(bits, count) else {
            // The end, and nothing behind it.
            return (bits == 0 && groups.next().is_none()).then_some(());
        };
        text.push(c);
        count -= length;
        bits &= (1 << count) - 1;
    }
}

fn push_group(group: u64, key: &mut String) {
    for digit in [group / DIGITS, group % DIGITS] {
        // The digits are all from `"` to `}`, without `/`.
        let byte = b'"' + digit as u8;
        key.push(char::from(byte + u8::from(byte >= b'/')));
    }
}

fn read_group(group: &[u8]) -> Option<u64> {
    let digit = |byte: u8| match byte {
        b'"'..=b'.' => Some(u64::from(byte - b'"')),
        b'0'..=b'}' => Some(u64::from(byte - b'"' - 1)),
        _ => None,
    };
    let [high, low] = *group else { return None };
    Some(digit(high)? * DIGITS + digit(low)?).filter(|group| *group < 1 << GROUP_BITS)
}

const DIGITS: u64 = 91;
/// 2^13 is less than 91 times 91.
const GROUP_BITS: u32 = 13;
const CODE_BITS_MAX: u32 = 28;

/// The first 7 bits of the codes of characters of one, two, three and four bytes.
const FIRST: [u32; 4] = [1, 96, 111, 115];
/// The first character of one (that is no control character), two, three and four bytes.
const LOWEST: [u32; 4] = [0x20, 0x80, 0x800, 0x1_0000];

/// A character's code and its bits: greater for a greater character, and none begins as another.
fn code_of(c: char) -> (u32, u32) {
    let class = c.len_utf8() - 1;
    let code = (FIRST[class] << (7 * class)) + (u32::from(c) - LOWEST[class]);
    (code, 7 * c.len_utf8() as u32)
}

/// The character whose code the upper of `count` bits are, and how many.
fn char_of(bits: u64, count: u32) -> Option<(char, u32)> {
    let first = u32::try_from(bits >> count.checked_sub(7)?).ok()?;
    let class = FIRST.iter().rposition(|lowest| *lowest <= first)?;
    let length = 7 * (class as u32 + 1);
    let code = u32::try_from(bits >> count.checked_sub(length)?).ok()?;
    let c = char::from_u32(code - (FIRST[class] << (7 * class)) + LOWEST[class])?;
    (c.len_utf8() == class + 1).then_some((c, length))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_stand_so_in_keys() {
        for (name, key) in [
            ("orders", "orders"),
            ("_A.z:9-", "_A.z:9-"),
            ("{acct}:seq", "{acct}:seq"),
            ("svc@prod:id", "svc@prod:id"),
            ("shop/orders", "shop.~~orders"),
            ("ids#order", "ids%23order"),
            ("Seq Invoice", "Seq%20Invoice"),
            (".", "."),
            ("..", ".."),
            ("%41", "%2541"),
            ("a ", "a%20"),
            ("a/b/c/", "a.~~b.~~c.~~"),
        ] {
            assert_eq!(encode(name), key);
            assert_eq!(decode(key).as_deref(), Some(name));
        }
    }

    #[test]
    fn other_spellings_are_no_keys() {
        for key in [
            "%41",
            "%2",
            "%",
            "%07",
            "%+1",
            "~",
            "a\u{7}",
            "~~",
            ".~~~",
            "a!b",
            "a b",
            "ü",
            "%20%20%20a",
            "~\"\"",
            "a/b",
        ] {
            assert_eq!(decode(key), None, "{key:?}");
        }
    }

    #[test]
    fn the_longest_names_fit() {
        let longest = |c: &str| c.repeat(255 / c.len());
        for name in [" ", "/", "~", "a", "я", "€", "🦀", "}", "a/", "/я"].map(longest) {
            let key = encode(&name);
            assert!(key.len() <= NAME_KEY_MAX_BYTES, "{} bytes: {name}", key.len());
            assert_eq!(decode(&key).as_deref(), Some(&*name));
        }
    }

    /// Characters of every kind, those on the edges often.
    fn names() -> impl Strategy<Value = String> {
        let edges: Vec<char> = (' '..='~')
            .chain("\u{a0}\u{7ff}\u{800}\u{d7ff}\u{e000}\u{ffff}\u{10000}\u{10ffff}".chars())
            .collect();
        let any = any::<char>().prop_filter("no control characters", |c| !c.is_control());
        let c = prop_oneof![4 => proptest::sample::select(edges), 1 => Just('a'), 1 => any];
        proptest::collection::vec(c, 1..12).prop_map(|chars| chars.into_iter().collect())
    }

    proptest! {
        #[test]
        fn every_name_comes_back(name in names()) {
            let key = encode(&name);
            prop_assert!(key.bytes().all(|b| matches!(b, b'"'..=b'~') && b != b'/'), "{}", key);
            let read = decode(&key);
            prop_assert_eq!(read.as_deref(), Some(&*name));
        }

        #[test]
        fn keys_sort_as_names_do(start in names(), a in names(), b in names()) {
            let (a, b) = (format!("{start}{a}"), format!("{start}{b}"));
            let keys = [&a, &b].map(|name| encode(name).into_owned());
            prop_assert_eq!(keys[0].cmp(&keys[1]), a.cmp(&b));
            prop_assert!(encode(&start) < encode(&a));
        }

        #[test]
        fn what_is_read_is_what_is_written(key in "[\"-~]{0,20}") {
            if let Some(name) = decode(&key) {
                prop_assert_eq!(encode(&name), &*key);
            }
        }
    }
}
