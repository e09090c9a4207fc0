//! Content types. The body is the same whatever is accepted; Spring's clients read it only under a type they asked for.

use std::borrow::Cow;

pub(super) const TEXT: &str = "text/plain;charset=UTF-8";
pub(super) const JSON: &str = "application/json;charset=UTF-8";
pub(super) const HTML: &str = "text/html;charset=UTF-8";

/// The content type of a number: the first type that the client names whole, by weight and then by place.
pub(super) fn media_type(accept: Option<&str>) -> Cow<'static, str> {
    let Some(name) = accept.and_then(preferred) else {
        return TEXT.into();
    };
    match name.to_ascii_lowercase().as_str() {
        "text/plain" => TEXT.into(),
        "application/json" => JSON.into(),
        "text/html" => HTML.into(),
        other => format!("{other};charset=UTF-8").into(),
    }
}

/// Whether pages are wanted rather than documents.
pub(super) fn wants_html(accept: Option<&str>) -> bool {
    media_type(accept) == HTML
}

fn preferred(accept: &str) -> Option<&str> {
    let mut best: Option<(f32, &str)> = None;
    for range in accept.split(',') {
        let mut parts = range.split(';').map(str::trim);
        let Some(name) = parts.next().filter(|name| is_whole(name)) else {
            continue;
        };
        let weight = parts.find_map(|part| part.strip_prefix("q="));
        let weight = weight.map_or(1.0, |weight| weight.parse().unwrap_or(0.0));
        if weight > 0.0 && best.is_none_or(|(highest, _)| weight > highest) {
            best = Some((weight, name));
        }
    }
    best.map(|(_, name)| name)
}

/// Whether this is one media type, and not many.
fn is_whole(name: &str) -> bool {
    let is_word = |word: &str| {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte);
        (1..=WORD_BYTES_MAX).contains(&word.len()) && word.bytes().all(fits)
    };
    name.split_once('/')
        .is_some_and(|(kind, subtype)| is_word(kind) && is_word(subtype))
}

/// RFC 6838 section 4.2 has no longer ones.
const WORD_BYTES_MAX: usize = 127;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_type_that_is_named_is_echoed() {
        for (accept, expected) in [
            (None, TEXT),
            (Some("*/*"), TEXT),
            (Some(""), TEXT),
            (Some("text/*"), TEXT),
            (Some("application/json, application/*+json"), JSON),
            (
                Some("text/plain, application/json, application/*+json, */*"),
                TEXT,
            ),
            (Some("text/plain;q=0.5, Application/JSON"), JSON),
            (Some("text/html,application/xhtml+xml,*/*;q=0.8"), HTML),
            (Some("text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2"), HTML),
            (Some("image/png"), "image/png;charset=UTF-8"),
            (Some("image/png;q=0, */*"), TEXT),
            (Some("no type at all, ,;;q=, text/x y"), TEXT),
            (Some("text/<script>"), TEXT),
        ] {
            assert_eq!(media_type(accept), expected, "{accept:?}");
        }
    }
}
