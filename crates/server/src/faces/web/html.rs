//! Text in pages of HTML.

use std::borrow::Cow;

/// Text as it stands in a page, between tags or in quotes.
pub fn escape(text: &str) -> Cow<'_, str> {
    if !text.contains(['&', '<', '>', '"', '\'']) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    Cow::Owned(escaped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_becomes_a_tag_or_ends_a_quote() {
        assert_eq!(escape("order"), "order");
        assert_eq!(
            escape("<a href=\"x\">'&amp;'"),
            "&lt;a href=&quot;x&quot;&gt;&#39;&amp;amp;&#39;"
        );
    }
}
