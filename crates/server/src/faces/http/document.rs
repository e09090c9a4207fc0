//! The JSON documents that bodies are: read strictly, refused in words that name the field and what stands there.

use std::ops::Range;

use serde::de::IgnoredAny;

use crate::requests::invalid;
use crate::service::Answer;

/// The largest whole number that every reader of JSON keeps: 2^53-1 (RFC 8259 section 6).
const EXACT_MAX: &str = "9007199254740991";
/// How much of somebody else's text is shown in a refusal.
const SHOWN_MAX: usize = 40;

/// Reads a body; none at all is an empty document.
pub(super) fn parse<'b, T: serde::Deserialize<'b>>(body: &'b [u8]) -> Answer<T> {
    let body = object(body)?;
    serde_json::from_slice(body).map_err(|error| invalid(in_words(body, &error)))
}

/// Reads a body as parameters, which work as those of the query: every value as the text it would be there.
pub(super) fn parameters(body: &[u8]) -> Answer<Vec<(String, String)>> {
    let body = object(body)?;
    let wrong = |name: &str, is: &str| {
        Err(invalid(format!(
            "{} is {is}, it must be a text or a number",
            cut(name)
        )))
    };
    let text = |range: &Range<usize>| String::from_utf8_lossy(&body[range.clone()]).into_owned();
    members(body)
        .iter()
        .map(|member| {
            let name: String = serde_json::from_slice(&body[member.name.clone()]).unwrap_or_default();
            match body[member.value.start] {
                b'"' => Ok((
                    name,
                    serde_json::from_slice(&body[member.value.clone()]).unwrap_or_default(),
                )),
                b'[' => wrong(&name, "a list"),
                b'{' => wrong(&name, "an object"),
                b'n' => wrong(&name, "null"),
                _ => Ok((name, text(&member.value))),
            }
        })
        .collect()
}

/// The object that a body is, whose numbers everybody reads alike.
fn object(body: &[u8]) -> Answer<&[u8]> {
    let body = body.trim_ascii();
    if body.is_empty() {
        return Ok(b"{}");
    }
    if let Err(error) = serde_json::from_slice::<IgnoredAny>(body) {
        return Err(invalid(format!(
            "the body is not the JSON document asked for: {error}"
        )));
    }
    let is = match body[0] {
        b'{' => return check_numbers(body).map(|()| body),
        b'[' => "a list",
        b'"' => "a text",
        b't' | b'f' => "true or false",
        b'n' => "null",
        _ => "a number",
    };
    Err(invalid(format!(
        "the body is {is}, it must be an object such as {{\"name\": \"value\"}}"
    )))
}

/// A name and a value of a document's own, not of one inside it.
#[derive(Debug)]
struct Member {
    name: Range<usize>,
    value: Range<usize>,
}

/// What stands in a document.
enum Token {
    /// A text with its quotes.
    Text(Range<usize>),
    /// A number, `true`, `false` or `null`.
    Word(Range<usize>),
    /// One of `{}[]:,`.
    Mark(u8, usize),
}

/// Cuts valid JSON into tokens.
fn tokens(json: &[u8]) -> impl Iterator<Item = Token> {
    let mut at = 0;
    std::iter::from_fn(move || {
        at += json[at..].iter().position(|b| !b.is_ascii_whitespace())?;
        let start = at;
        match json[at] {
            b'"' => {
                at += 1;
                while json.get(at).is_some_and(|b| *b != b'"') {
                    at += if json[at] == b'\\' { 2 } else { 1 };
                }
                at = (at + 1).min(json.len());
                Some(Token::Text(start..at))
            }
            mark @ (b'{' | b'}' | b'[' | b']' | b':' | b',') => {
                at += 1;
                Some(Token::Mark(mark, start))
            }
            _ => {
                let ends = |b: &u8| b.is_ascii_whitespace() || b"{}[]:,\"".contains(b);
                at += json[at..].iter().position(ends).unwrap_or(json.len() - at);
                Some(Token::Word(start..at))
            }
        }
    })
}

/// The members of an object, which is valid JSON.
fn members(json: &[u8]) -> Vec<Member> {
    let mut found: Vec<Member> = Vec::new();
    let (mut depth, mut name) = (0, None);
    for token in tokens(json) {
        let (opens, range) = match token {
            Token::Mark(b'{' | b'[', at) => (true, at..at + 1),
            Token::Mark(b'}' | b']', at) => {
                depth -= 1;
                if let Some(last) = found.last_mut().filter(|_| depth == 1) {
                    last.value.end = at + 1;
                }
                continue;
            }
            Token::Mark(..) => continue,
            Token::Text(range) | Token::Word(range) => (false, range),
        };
        if depth == 1 {
            match name.take() {
                None => name = Some(range),
                Some(name) => found.push(Member { name, value: range }),
            }
        }
        depth += i32::from(opens);
    }
    found
}

/// Refuses a whole number that some readers of JSON round: whoever wrote it may have lost digits already.
fn check_numbers(json: &[u8]) -> Answer<()> {
    let words = tokens(json).filter_map(|token| match token {
        Token::Word(range) => Some(range),
        _ => None,
    });
    for range in words {
        let digits = json[range.clone()]
            .strip_prefix(b"-")
            .unwrap_or(&json[range.clone()]);
        let whole = digits.iter().all(u8::is_ascii_digit);
        if whole && (digits.len(), digits) > (EXACT_MAX.len(), EXACT_MAX.as_bytes()) {
            let shown = String::from_utf8_lossy(&json[range.clone()]).into_owned();
            let whose = field_at(json, range.start).map_or(String::new(), |name| format!("{name} is "));
            return Err(invalid(format!(
                "{whose}{}: a whole number beyond {EXACT_MAX} (2^53-1) stands in quotes, since many programs round it",
                cut(&shown)
            )));
        }
    }
    Ok(())
}

/// The name of the member whose value holds this place.
fn field_at(json: &[u8], place: usize) -> Option<String> {
    let members = members(json);
    let member = members.iter().rfind(|member| member.value.start <= place)?;
    let name: String = serde_json::from_slice(&json[member.name.clone()]).ok()?;
    Some(cut(&name))
}

/// What serde says, without the words of the language this is written in.
fn in_words(json: &[u8], error: &serde_json::Error) -> String {
    let said = error.to_string();
    let said = said
        .rsplit_once(" at line ")
        .map_or(said.as_str(), |(said, _)| said);
    let kind = ["invalid type: ", "invalid value: "]
        .iter()
        .find_map(|kind| said.strip_prefix(kind));
    let Some((found, wanted)) = kind.and_then(|rest| rest.rsplit_once(", expected ")) else {
        return said.chars().take(300).collect();
    };
    let lines = json.split_inclusive(|b| *b == b'\n');
    let before: usize = lines.take(error.line().saturating_sub(1)).map(<[u8]>::len).sum();
    let place = before + error.column();
    let name = field_at(json, place).unwrap_or_else(|| "a field".into());
    format!(
        "{name} is {}, it must be {}",
        found_in_words(found),
        wanted_in_words(wanted)
    )
}

fn found_in_words(found: &str) -> String {
    let inner = |text: &str| {
        text.split_once('`')
            .map(|(_, rest)| rest.trim_end_matches('`').to_string())
    };
    match found {
        "map" => "an object".into(),
        "sequence" => "a list".into(),
        _ => match found.strip_prefix("string ") {
            Some(text) => format!("the text {}", cut(text)),
            None => cut(&inner(found).unwrap_or_else(|| found.to_string())),
        },
    }
}

fn wanted_in_words(wanted: &str) -> &str {
    match wanted {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number from 0 on",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "a boolean" => "true or false",
        "a string" | "a borrowed string" => "a text in quotes",
        "f32" | "f64" => "a number",
        other => other,
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN_MAX) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Code;
    use proptest::prelude::*;
    use serde::Deserialize;

    #[derive(Deserialize, Debug)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code)]
    struct Ten {
        name: Option<String>,
        retired: Option<bool>,
        window_ms: Option<u64>,
    }

    #[track_caller]
    fn check_refused(body: &str, says: &str) {
        let error = parse::<Ten>(body.as_bytes()).unwrap_err();
        assert_eq!(error.code, Code::InvalidBody);
        assert!(error.message.contains(says), "{body}: {error}");
        for word in ["struct", "u64", "elements", "map", "sequence"] {
            assert!(!error.message.contains(word), "{body}: {error}");
        }
    }

    #[test]
    fn refusals_name_the_field_and_what_stands_there() {
        check_refused("[1]", "the body is a list, it must be an object");
        check_refused("\"x\"", "the body is a text");
        check_refused(" 7 ", "the body is a number");
        check_refused(r#"{"name": 5}"#, "name is 5, it must be a text in quotes");
        check_refused(r#"{"name": {"a": [1, "}"]}}"#, "name is an object");
        check_refused(
            "{\"name\": \"a\",\n \"retired\": \"yes\"}",
            "retired is the text \"yes\", it must be true or false",
        );
        check_refused(
            r#"{"window_ms": [5]}"#,
            "window_ms is a list, it must be a whole number from 0 on",
        );
        check_refused(r#"{"window_ms": -5}"#, "window_ms is -5");
        check_refused(r#"{"window_ms": 1.5}"#, "window_ms is 1.5");
        check_refused(r#"{"nmae": 5}"#, "unknown field `nmae`");
        check_refused(
            &format!(r#"{{"name": "a", "retired": "{}"}}"#, "x".repeat(3000)),
            "xxx…",
        );
    }

    #[test]
    fn numbers_that_others_round_stand_in_quotes() {
        for fine in [
            "9007199254740991",
            "-9007199254740991",
            "\"9007199254740993\"",
            "0",
        ] {
            let body = format!(r#"{{"a": {fine}}}"#);
            assert!(check_numbers(body.as_bytes()).is_ok(), "{fine}");
        }
        for rounded in [
            "9007199254740992",
            "-9007199254740993",
            "18446744073709551616",
            "10000000000000000",
        ] {
            for body in [
                format!(r#"{{"b\"": 1, "a": {rounded}}}"#),
                format!(r#"{{"a":[1,{{"c":{rounded}}}]}}"#),
            ] {
                let error = check_numbers(body.as_bytes()).unwrap_err();
                assert!(
                    error.message.starts_with("a is ") && error.message.contains(rounded),
                    "{body}: {error}"
                );
            }
        }
    }

    #[test]
    fn parameters_are_texts() {
        let read = parameters(br#"{"count": 3, "as": "ran\u0067e", "big": "12", "yes": true}"#).unwrap();
        let read: Vec<(&str, &str)> = read.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
        assert_eq!(
            read,
            [("count", "3"), ("as", "range"), ("big", "12"), ("yes", "true")]
        );
        assert_eq!(parameters(b" ").unwrap(), []);
        for body in [
            &b"{\"count\": [1]}"[..],
            b"{\"count\": null}",
            b"{\"count\": {}}",
            b"[]",
            b"count=3",
        ] {
            assert_eq!(parameters(body).unwrap_err().code, Code::InvalidBody);
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(body in proptest::collection::vec(any::<u8>(), 0..100)) {
            let _ = (parse::<Ten>(&body), parameters(&body));
        }

        #[test]
        fn bytes_like_documents_are_read_without_panic(
            parts in proptest::collection::vec(
                prop_oneof![
                    Just("{"), Just("}"), Just("["), Just("]"), Just(":"), Just(","), Just("\"a\""), Just("\"name\":"),
                    Just("9007199254740993"), Just("1e5"), Just("null"), Just(" "), Just("\n"), Just("\"\\\""), Just("\\"),
                ],
                0..20,
            )
        ) {
            let body = parts.concat();
            let _ = (parse::<Ten>(body.as_bytes()), parameters(body.as_bytes()));
        }
    }
}
