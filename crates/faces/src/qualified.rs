//! Names of sequences as PostgreSQL reads them out of a text: `orders`, `shop.orders`, `"Orders"`.

use std::fmt;

/// A name with its schema, if one was given.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Qualified {
    schema: Option<String>,
    name: String,
}

/// A text that is no such name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Malformed {
    /// A part is empty, or a quote is open.
    Syntax,
    /// There are more parts than a schema and a name.
    TooManyParts,
}

impl Qualified {
    /// Reads a name: without quotes its letters are folded to lower case, in quotes every character stands for itself
    /// and a quote is doubled.
    ///
    /// # Errors
    /// What is wrong with it. PostgreSQL reads three parts too, and refuses all databases but its own.
    pub(crate) fn parse(text: &str) -> Result<Qualified, Malformed> {
        let mut parts = Vec::new();
        let mut rest = text;
        loop {
            let (part, after) = part(rest.trim_ascii_start()).ok_or(Malformed::Syntax)?;
            parts.push(part);
            let after = after.trim_ascii_start();
            if after.is_empty() {
                break;
            }
            rest = after.strip_prefix('.').ok_or(Malformed::Syntax)?;
        }
        let name = parts.pop().ok_or(Malformed::Syntax)?;
        match (parts.pop(), parts.len()) {
            (schema, 0) => Ok(Qualified { schema, name }),
            _ => Err(Malformed::TooManyParts),
        }
    }

    /// What it is called here: a name of the schema `public` by itself, others behind their schema.
    pub(crate) fn key(&self) -> String {
        match self.schema.as_deref() {
            None | Some("public") => self.name.clone(),
            Some(schema) => format!("{schema}.{}", self.name),
        }
    }

    /// The name without its schema.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

/// As PostgreSQL shows it: without quotes.
impl fmt::Display for Qualified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(schema) = &self.schema {
            write!(f, "{schema}.")?;
        }
        f.write_str(&self.name)
    }
}

/// The part that a text begins with, and what comes after it.
pub(crate) fn part(text: &str) -> Option<(String, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        let ends = |c: char| c == '.' || c.is_ascii_whitespace();
        let (part, after) = text.split_at(text.find(ends).unwrap_or(text.len()));
        return (!part.is_empty()).then(|| (part.to_ascii_lowercase(), after));
    };
    let (mut part, mut rest) = (String::new(), quoted);
    loop {
        let (before, after) = rest.split_once('"')?;
        part.push_str(before);
        match after.strip_prefix('"') {
            Some(after) => {
                part.push('"');
                rest = after;
            }
            None => return (!part.is_empty()).then_some((part, after)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_are_read_as_postgresql_reads_them() {
        for (text, key, shown) in [
            ("orders", "orders", "orders"),
            ("Orders", "orders", "orders"),
            ("\"Orders\"", "Orders", "Orders"),
            ("public.orders_id_seq", "orders_id_seq", "public.orders_id_seq"),
            ("PUBLIC.\"A b\"", "A b", "public.A b"),
            ("\"Public\".a", "Public.a", "Public.a"),
            ("shop.orders", "shop.orders", "shop.orders"),
            (" shop . orders ", "shop.orders", "shop.orders"),
            ("\"a.b\"", "a.b", "a.b"),
            ("\"a\"\"b\"", "a\"b", "a\"b"),
            ("a\"b", "a\"b", "a\"b"),
            ("order-1:x", "order-1:x", "order-1:x"),
            ("\u{c9}t\u{e9}", "\u{c9}t\u{e9}", "\u{c9}t\u{e9}"),
        ] {
            let name = Qualified::parse(text).unwrap();
            assert_eq!(
                (name.key().as_str(), name.to_string().as_str()),
                (key, shown),
                "{text:?}"
            );
        }
        for text in [
            "", "  ", ".", "a.", ".a", "a..b", "\"", "\"\"", "\"a", "\"a\"b", "a b", "a b.c",
        ] {
            assert_eq!(Qualified::parse(text), Err(Malformed::Syntax), "{text:?}");
        }
        for text in ["a.b.c", "a.b.c.d"] {
            assert_eq!(Qualified::parse(text), Err(Malformed::TooManyParts), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_panic(text in any::<String>()) {
            let _ = Qualified::parse(&text);
        }

        #[test]
        fn what_is_quoted_stands_for_itself(text in "[^\0]{1,20}") {
            let quoted = format!("\"{}\"", text.replace('"', "\"\""));
            prop_assert_eq!(Qualified::parse(&quoted).unwrap().key(), text);
        }
    }
}
