//! Settings that are tables, entry by entry, and read strictly: what is misspelled is named, with what fits instead.

/// A table out of a file, or out of the text of an environment variable or a flag, where nothing is an empty one.
///
/// # Errors
/// Says what was expected and found; `example` is shown.
pub fn read_table(value: &toml::Value, example: &str) -> Result<toml::Table, String> {
    match value {
        toml::Value::Table(table) => Ok(table.clone()),
        toml::Value::String(text) if text.is_empty() => Ok(toml::Table::new()),
        toml::Value::String(text) => {
            let whole = format!("table = {text}").parse::<toml::Table>();
            let table = whole.ok().filter(|whole| whole.len() == 1);
            match table.and_then(|mut whole| whole.remove("table")) {
                Some(toml::Value::Table(table)) => Ok(table),
                _ => Err(format!("{text:?} is not a TOML table such as {example}")),
            }
        }
        other => Err(format!(
            "expected a table such as {example}, found {}",
            other.type_str()
        )),
    }
}

/// A table as TOML writes it in one line, of what stands on the two sides of each `=`.
pub fn show_table(entries: impl Iterator<Item = (String, String)>) -> String {
    let entries: Vec<String> = entries.map(|(key, value)| format!("{key} = {value}")).collect();
    match entries.is_empty() {
        true => "{}".to_string(),
        false => format!("{{ {} }}", entries.join(", ")),
    }
}

/// An entry that is a table of texts itself.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'t> {
    key: &'t str,
    table: &'t toml::Table,
}

impl<'t> Entry<'t> {
    /// An entry which may hold these and nothing else.
    ///
    /// # Errors
    /// It is no table, or holds something else.
    pub fn of(key: &'t str, value: &'t toml::Value, known: &[&str]) -> Result<Self, String> {
        let Some(table) = value.as_table() else {
            let found = value.type_str();
            return Err(format!(
                "{key:?} must be a table of {}, found {found}",
                known.join(", ")
            ));
        };
        match table.keys().find(|given| !known.contains(&given.as_str())) {
            Some(unknown) => Err(format!("{key:?} has {unknown:?}: there is {}", known.join(", "))),
            None => Ok(Entry { key, table }),
        }
    }

    /// A text of it.
    ///
    /// # Errors
    /// It is something else.
    pub fn text(&self, name: &str) -> Result<Option<&'t str>, String> {
        let Some(value) = self.table.get(name) else {
            return Ok(None);
        };
        let found = value.type_str();
        let text = value
            .as_str()
            .ok_or_else(|| self.refusal(format!("{name} must be a text, found {found}")));
        text.map(Some)
    }

    /// A refusal of it.
    pub fn refusal(&self, why: impl std::fmt::Display) -> String {
        format!("{:?}: {why}", self.key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_one_and_nothing_beside_it() {
        let read = |text: &str| read_table(&text.into(), "{ a = 1 }").map(|table| table.len());
        assert_eq!(read(""), Ok(0));
        assert_eq!(read("{}"), Ok(0));
        assert_eq!(read("{ a = {}, b = 1 }"), Ok(2));
        for text in ["5", "{", "{}\nb = 1", "[]", "\"{}\""] {
            let error = read(text).unwrap_err();
            assert!(
                error.ends_with("is not a TOML table such as { a = 1 }"),
                "{error}"
            );
        }
        let error = read_table(&5.into(), "{ a = 1 }").unwrap_err();
        assert_eq!(error, "expected a table such as { a = 1 }, found integer");
    }

    #[test]
    fn an_entry_holds_what_it_may() {
        let table: toml::Table = "a = { b = 'x', c = 5 }\nd = 5".parse().unwrap();
        let entry = Entry::of("a", &table["a"], &["b", "c"]).unwrap();
        assert_eq!(entry.text("b"), Ok(Some("x")));
        assert_eq!(entry.text("e"), Ok(None));
        assert_eq!(
            entry.text("c").unwrap_err(),
            "\"a\": c must be a text, found integer"
        );
        let unknown = Entry::of("a", &table["a"], &["b"]).unwrap_err();
        assert_eq!(unknown, "\"a\" has \"c\": there is b");
        let none = Entry::of("d", &table["d"], &["b", "c"]).unwrap_err();
        assert_eq!(none, "\"d\" must be a table of b, c, found integer");
    }
}
