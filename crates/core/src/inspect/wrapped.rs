//! Ids as shells, consoles and languages print them: what stands around an id, taken off.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use ::uuid::Uuid;

use super::uuid::{Order, best_order};
use crate::text::radix;

/// An id without what a tool printed around it.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Unwrapped {
    /// The id alone.
    pub text: String,
    /// What stood around it, a phrase.
    pub how: String,
}

/// What is left of a text without what a shell, a console or a language prints around an id; `None` if there is nothing
/// around it.
///
/// ```
/// use mintage::unwrapped;
/// let id = unwrapped(r#"{"_id": ObjectId("590b99745c4c8f7cc2415267")},"#).expect("it is wrapped");
/// assert_eq!((&*id.text, &*id.how), ("590b99745c4c8f7cc2415267", "as ObjectId(…) prints it"));
/// assert_eq!(unwrapped("'42',").expect("quotes").text, "42");
/// assert_eq!(unwrapped("590b99745c4c8f7cc2415267"), None);
/// ```
pub fn unwrapped(text: &str) -> Option<Unwrapped> {
    if text.len() > super::TEXT_MAX {
        return None;
    }
    let mut found: Option<Unwrapped> = None;
    for _ in 0..LAYERS_MAX {
        let now = found.as_ref().map_or(text.trim(), |found| found.text.trim());
        let Some((inner, how)) = layer(now) else {
            break;
        };
        let said = found
            .map(|found| found.how)
            .filter(|said| how == PUNCTUATION || said != PUNCTUATION);
        found = Some(Unwrapped {
            text: inner.trim().into(),
            how: said.unwrap_or(how),
        });
    }
    found.filter(|found| !found.text.is_empty())
}

/// Deeper than any tool prints.
const LAYERS_MAX: usize = 8;

const PUNCTUATION: &str = "in quotes, brackets or with a comma behind it";

/// One layer off: what is inside, and what was around.
fn layer(text: &str) -> Option<(String, String)> {
    let punctuation = |inner: &str| Some((inner.to_string(), PUNCTUATION.to_string()));
    // A UUID's braces are its own, and every reader of UUIDs knows them.
    if text.len() < 2 {
        return None;
    }
    if let Some(inner) = text.strip_suffix([',', ';']) {
        return punctuation(inner);
    }
    if let Some(inner) = between(text, QUOTES) {
        return punctuation(inner);
    }
    if let Some(inner) = between(text, BRACKETS).filter(|inner| !inner.contains(',') && !inner.contains(' '))
    {
        return punctuation(inner);
    }
    if let Some(inner) = in_text(text) {
        return punctuation(inner);
    }
    octets_in_sql(text)
        .or_else(|| binary_document(text))
        .or_else(|| document(text))
        .or_else(|| member(text))
        .or_else(|| call(text))
        .or_else(|| cast(text))
}

const QUOTES: &[(char, char)] = &[
    ('"', '"'),
    ('\'', '\''),
    ('`', '`'),
    ('“', '”'),
    ('‘', '’'),
    ('«', '»'),
];
const BRACKETS: &[(char, char)] = &[('[', ']'), ('(', ')'), ('<', '>')];

/// `| … |` of a table, `\"…\"` of JSON in JSON, `id=…` of a log.
fn in_text(text: &str) -> Option<&str> {
    if let Some(inner) = text.strip_prefix('|') {
        return inner.strip_suffix('|').filter(|inner| !inner.contains('|'));
    }
    if let Some(inner) = text.strip_prefix("\\\"") {
        return inner.strip_suffix("\\\"");
    }
    let (key, value) = text.split_once('=')?;
    let named = ["id", "uuid", "guid", "Id", "ID"]
        .iter()
        .any(|end| key.ends_with(end));
    (named
        && key
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && !value.is_empty())
    .then_some(value)
}

/// What is between a pair, if neither of it occurs inside.
fn between<'a>(text: &'a str, pairs: &[(char, char)]) -> Option<&'a str> {
    pairs.iter().find_map(|(opens, closes)| {
        let inner = text.strip_prefix(*opens)?.strip_suffix(*closes)?;
        (!inner.contains(*opens) && !inner.contains(*closes)).then_some(inner)
    })
}

/// `\x…` of psql, `0x…` of 12 octets, `X'…'` of MySQL, `N'…'` of SQL Server, `E'\\x…'` of PostgreSQL, `b'…'` of Python.
fn octets_in_sql(text: &str) -> Option<(String, String)> {
    let hex = |digits: &str| digits.len() >= 16 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let digits = text.strip_prefix("\\\\x").or_else(|| text.strip_prefix("\\x"));
    if let Some(digits) = digits.filter(|digits| hex(digits)) {
        return Some((
            digits.into(),
            "as psql prints bytea: \\x and hexadecimal digits".into(),
        ));
    }
    if let Some(digits) = text
        .strip_prefix("0x")
        .filter(|digits| digits.len() == 24 && hex(digits))
    {
        return Some((
            digits.into(),
            "as SQL writes octets: 0x and hexadecimal digits".into(),
        ));
    }
    let inner = between(text.get(1..)?, QUOTES)?;
    let how = match text.as_bytes()[0] {
        b'x' | b'X' => "as MySQL writes octets: X'…'",
        b'N' | b'n' | b'E' | b'e' | b'b' | b'B' | b'r' | b'u' => {
            "as a language writes a string: a letter and quotes"
        }
        _ => return None,
    };
    Some((inner.into(), how.into()))
}

/// Every text in double quotes, in order.
fn quoted(text: &str) -> Vec<&str> {
    text.split('"').skip(1).step_by(2).collect()
}

/// Extended JSON's `$binary`, of version 1 and 2.
fn binary_document(text: &str) -> Option<(String, String)> {
    let inner = text.strip_prefix('{')?.strip_suffix('}')?;
    let words = quoted(inner);
    let after = |name: &str| {
        let at = words.iter().position(|word| *word == name)?;
        words.get(at + 1).copied()
    };
    let data = after("base64").or_else(|| after("$binary"))?;
    let subtype = after("subType").or_else(|| after("$type"))?;
    octets(
        &base64(data)?,
        subtype.trim_start_matches('0'),
        "as Extended JSON has it: $binary",
    )
}

/// An object of one member: `{"$oid":"…"}`, `{"id": 7}`.
fn document(text: &str) -> Option<(String, String)> {
    let inner = text.strip_prefix('{')?.strip_suffix('}')?.trim();
    let (value, key) = value_of_member(inner)?;
    let how = match key.starts_with('$') {
        true => format!("as Extended JSON has it: {key}"),
        false => PUNCTUATION.into(),
    };
    Some((value.into(), how))
}

/// `"id": "…"`, as a line of JSON that is printed over several.
fn member(text: &str) -> Option<(String, String)> {
    let (value, _) = value_of_member(text)?;
    Some((value.into(), PUNCTUATION.into()))
}

/// The value of one member of an object, and its key. A key without quotes must end like one of an id.
fn value_of_member(text: &str) -> Option<(&str, &str)> {
    let (key, value) = text.split_once(':')?;
    let (key, value) = (key.trim(), value.trim());
    let named = |key: &str| {
        !key.is_empty()
            && key
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'.'))
    };
    let bare = between(key, &QUOTES[..2]);
    let is_key = match bare {
        Some(key) => named(key),
        None => {
            named(key)
                && ["id", "Id", "ID", "uuid", "guid"]
                    .iter()
                    .any(|end| key.ends_with(end))
        }
    };
    // Several members are no id, and a scheme's colon is followed by what is no value.
    let one = between(value, &QUOTES[..2]).is_some()
        || value.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
        || value.starts_with('{') && value.ends_with('}')
        || value.ends_with(')') && value.contains('(')
        || bare.is_none()
            && value
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    (is_key && one && !value.is_empty()).then_some((value, bare.unwrap_or(key)))
}

/// Calls that take an id as their text.
const CALLS: &[&str] = &[
    "objectid",
    "bson::objectid",
    "bson.objectid",
    "primitive.objectid",
    "primitive.objectidfromhex",
    "uuid",
    "guid",
    "uuid.uuid",
    "uuid.fromstring",
    "uuid.parse",
    "uuid.mustparse",
    "uuid::parse_str",
    "guid.parse",
    "touuid",
    "numberlong",
    "numberint",
    "long",
    "long.fromstring",
    "int64",
    "bigint",
    "decimal128",
    "luuid",
    "csuuid",
    "juuid",
    "pyuuid",
    "hextoraw",
    "unhex",
    "uuid_to_bin",
    "ulid",
    "ulid.parse",
    "isodate",
    "date",
    "timestamp",
    "string",
    "some",
    "just",
];

/// `ObjectId("…")`, `new Guid("…")`, `BinData(3, "…")`, `CAST('…' AS uuid)`.
fn call(text: &str) -> Option<(String, String)> {
    let (name, arguments) = text.strip_suffix(')')?.split_once('(')?;
    let name = name.trim().strip_prefix("new ").unwrap_or(name).trim();
    let lower = name.to_ascii_lowercase();
    let how = format!("as {name}(…) prints it");
    match lower.as_str() {
        "bindata" | "hexdata" => {
            let (subtype, data) = arguments.split_once(',')?;
            let data = between(data.trim(), QUOTES)?;
            let raw = if lower == "bindata" {
                base64(data)?
            } else {
                hexadecimal(data)?
            };
            octets(&raw, subtype.trim(), &how)
        }
        "binary.createfrombase64" => {
            let (data, subtype) = arguments.split_once(',').unwrap_or((arguments, "4"));
            octets(&base64(between(data.trim(), QUOTES)?)?, subtype.trim(), &how)
        }
        // The second argument says that the first is hexadecimal, and 4 behind it that it is a UUID.
        "binary" | "buffer.from" => {
            let inner = quoted(&arguments.replace('\'', "\""))
                .first()
                .copied()
                .map(String::from)?;
            Some((inner, how))
        }
        "cast" => {
            let at = arguments.to_ascii_lowercase().find(" as ")?;
            Some((arguments.get(..at)?.into(), "in a cast of SQL".into()))
        }
        // The helpers of MongoDB's shell show the UUID that their language's driver meant.
        "luuid" | "csuuid" | "juuid" | "pyuuid" => {
            let inner = arguments.trim();
            Some((
                inner.into(),
                format!("{how}: the database keeps it in that driver's legacy order of octets"),
            ))
        }
        _ if CALLS.contains(&lower.as_str()) => Some((arguments.into(), how)),
        _ => None,
    }
}

/// `'…'::uuid`, `uuid '…'`.
fn cast(text: &str) -> Option<(String, String)> {
    let how = || "in a cast of SQL".to_string();
    if let Some((value, kind)) = text.rsplit_once("::")
        && kind.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && between(value.trim(), QUOTES).is_some()
    {
        return Some((value.into(), how()));
    }
    let (kind, value) = text.split_once(' ')?;
    let known = ["uuid", "text", "bigint", "varchar", "bytea"]
        .iter()
        .any(|known| kind.eq_ignore_ascii_case(known));
    (known && between(value.trim(), QUOTES).is_some()).then(|| (value.into(), how()))
}

/// 16 octets as the UUID that they are; of MongoDB's subtype 3 in the order in which they are one that can be.
fn octets(raw: &[u8], subtype: &str, how: &str) -> Option<(String, String)> {
    let Ok(raw) = <[u8; 16]>::try_from(raw) else {
        let hex = raw.iter().map(|octet| format!("{octet:02x}")).collect();
        return (raw.len() == 12).then(|| (hex, how.to_string()));
    };
    if subtype != "3" {
        return Some((Uuid::from_bytes(raw).to_string(), how.into()));
    }
    let (order, others) = best_order(raw);
    let mut how = format!("{how}, read in the order of octets of {}", order.driver());
    for other in others {
        how.push_str(&format!(
            "; by {} it is {}",
            other.driver(),
            Uuid::from_bytes(other.read(raw))
        ));
    }
    Some((Uuid::from_bytes(order.read(raw)).to_string(), how))
}

fn base64(text: &str) -> Option<Vec<u8>> {
    const DIGITS: &[u8] = radix::BASE64;
    let body = text.trim_end_matches('=');
    if body.len() > 64 {
        return None;
    }
    let mut out = Vec::new();
    let (mut bits, mut held) = (0u32, 0u32);
    for byte in body.bytes() {
        let value = DIGITS.iter().position(|digit| *digit == byte)?;
        bits = bits << 6 | value as u32;
        held += 6;
        if held >= 8 {
            held -= 8;
            out.push((bits >> held) as u8);
            bits &= (1 << held) - 1;
        }
    }
    Some(out)
}

fn hexadecimal(text: &str) -> Option<Vec<u8>> {
    let digit = |at: usize| u8::from_str_radix(text.get(at..at + 2)?, 16).ok();
    (text.len() <= 64 && text.len().is_multiple_of(2))
        .then(|| (0..text.len()).step_by(2).map(digit).collect())?
}

impl Order {
    fn driver(self) -> &'static str {
        match self {
            Order::Plain => "Python's driver",
            Order::Mixed => "C#'s driver",
            Order::Java => "Java's driver",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, inner: &str) {
        assert_eq!(
            unwrapped(text).map(|found| found.text).as_deref(),
            Some(inner),
            "{text}"
        );
    }

    #[test]
    fn what_tools_print_around_an_id_comes_off() {
        let uuid = "0188c17d-67a6-7764-b475-2c985755bb71";
        check(
            r"\x0188c17d67a67764b4752c985755bb71",
            "0188c17d67a67764b4752c985755bb71",
        );
        check(
            "X'0188C17D67A67764B4752C985755BB71'",
            "0188C17D67A67764B4752C985755BB71",
        );
        for text in [
            format!("UUID(\"{uuid}\")"),
            format!("{uuid},"),
            format!("  \"id\" : \"{uuid}\","),
            format!("'{uuid}'::uuid"),
            format!("CAST('{uuid}' AS uniqueidentifier)"),
            format!("{{\"_id\":{{\"$uuid\":\"{uuid}\"}}}}"),
            "BinData(4, \"AYjBfWemd2S0dSyYV1W7cQ==\")".to_string(),
            "BinData(3, \"fcGIAaZnZHe0dSyYV1W7cQ==\")".to_string(),
            "HexData(4, \"0188c17d67a67764b4752c985755bb71\")".to_string(),
        ] {
            check(&text, uuid);
        }
    }

    #[test]
    fn what_is_no_wrapping_stays() {
        for text in [
            "",
            "'",
            "()",
            "hello(7)",
            "https://x.org",
            "(1, 2)",
            "{017f22e2-79b0-7cc3-98c4-dc0c0c07398f}",
            "ERROR: 7",
        ] {
            assert_eq!(unwrapped(text), None, "{text}");
        }
    }
}
