//! Names of sequences with their schemas, and what those are called here.

use std::fmt;

use crate::qualified::part;
use mintage_server::chassis::config::Keys;

/// A name with the schema, or the database, that was given before it. A catalogue before that is dropped.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SqlName {
    pub(crate) schema: Option<String>,
    pub(crate) name: String,
}

/// A text or a list of parts that is no such name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NotAName {
    /// A part is empty, or a quote is open.
    Syntax,
    /// There are more parts than a catalogue, a schema and a name.
    TooManyParts,
}

impl SqlName {
    /// A name without a schema.
    pub(crate) fn bare(name: impl Into<String>) -> SqlName {
        SqlName {
            schema: None,
            name: name.into(),
        }
    }

    /// A name of these parts, in the order in which they were written.
    ///
    /// # Errors
    /// There are none, or more than three.
    pub(crate) fn of_parts(mut parts: Vec<String>) -> Result<SqlName, NotAName> {
        if parts.len() > PARTS_MAX {
            return Err(NotAName::TooManyParts);
        }
        let name = parts.pop().ok_or(NotAName::Syntax)?;
        let schema = parts.pop();
        Ok(SqlName { schema, name })
    }

    /// The name in a text such as that of `nextval('shop."Orders"')`, as PostgreSQL reads it: without quotes its letters
    /// are folded, in quotes every character stands for itself.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn of_text(text: &str) -> Result<SqlName, NotAName> {
        let mut parts = Vec::new();
        let mut rest = text;
        loop {
            let (part, after) = part(rest.trim_ascii_start()).ok_or(NotAName::Syntax)?;
            parts.push(part);
            if parts.len() > PARTS_MAX {
                return Err(NotAName::TooManyParts);
            }
            let after = after.trim_ascii_start();
            if after.is_empty() {
                return SqlName::of_parts(parts);
            }
            rest = after.strip_prefix('.').ok_or(NotAName::Syntax)?;
        }
    }

    /// What its sequence is called here: by itself in the schema `own` (`public`, or the current database), behind its
    /// schema in any other; then as the configuration has it.
    pub(crate) fn key(&self, own: &str, keys: &Keys) -> String {
        let plain = match self.schema.as_deref() {
            Some(schema) if schema != own => format!("{schema}.{}", self.name),
            _ => self.name.clone(),
        };
        match keys.names.0.get(&plain) {
            Some(listed) => listed.to_string(),
            None if keys.prefix.0.is_empty() => plain,
            None => format!("{}{plain}", keys.prefix.0),
        }
    }
}

/// As messages show it: without quotes.
impl fmt::Display for SqlName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(schema) = &self.schema {
            write!(f, "{schema}.")?;
        }
        f.write_str(&self.name)
    }
}

/// A catalogue, a schema and a name.
const PARTS_MAX: usize = 3;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use mintage_server::chassis::config::{Names, Prefix, Setting};

    #[test]
    fn texts_are_read_as_postgresql_reads_them() {
        let key = |text: &str| SqlName::of_text(text).map(|name| name.key("public", &Keys::default()));
        for (text, expected) in [
            ("orders", "orders"),
            ("Orders", "orders"),
            ("\"Orders\"", "Orders"),
            ("public.orders_id_seq", "orders_id_seq"),
            ("PUBLIC.\"A b\"", "A b"),
            ("shop.orders", "shop.orders"),
            (" shop . orders ", "shop.orders"),
            ("db.public.a", "a"),
            ("db.shop.a", "shop.a"),
            ("\"a.b\"", "a.b"),
            ("\"a\"\"b\"", "a\"b"),
            ("invoices:2026", "invoices:2026"),
            ("a\"b", "a\"b"),
        ] {
            assert_eq!(key(text).as_deref(), Ok(expected), "{text:?}");
        }
        for text in ["", " ", ".", "a.", ".a", "a..b", "\"", "\"\"", "\"a\"b", "a b"] {
            assert_eq!(key(text), Err(NotAName::Syntax), "{text:?}");
        }
        assert_eq!(key("a.b.c.d"), Err(NotAName::TooManyParts));
    }

    #[test]
    fn names_become_what_the_configuration_says() {
        let keys = Keys {
            prefix: Prefix("pg:".into()),
            names: Names::parse("{ \"WORKER_NODE\" = \"uid:WORKER_NODE\" }").unwrap(),
            create: false,
        };
        assert_eq!(
            SqlName::bare("WORKER_NODE").key("public", &keys),
            "uid:WORKER_NODE"
        );
        assert_eq!(SqlName::bare("a").key("public", &keys), "pg:a");
        let of_shop = SqlName::of_parts(vec!["shop".into(), "a".into()]).unwrap();
        assert_eq!(of_shop.key("shop", &Keys::default()), "a");
        assert_eq!(of_shop.key("other", &Keys::default()), "shop.a");
        assert_eq!(of_shop.to_string(), "shop.a");
    }

    proptest! {
        #[test]
        fn what_is_quoted_stands_for_itself(text in "[^\0]{1,20}") {
            let quoted = format!("\"{}\"", text.replace('"', "\"\""));
            prop_assert_eq!(SqlName::of_text(&quoted).unwrap().name, text);
        }

        #[test]
        fn any_text_is_read_without_panic(text in any::<String>()) {
            let _ = SqlName::of_text(&text);
        }
    }
}
