//! The settings of this face.

use std::collections::BTreeMap;

use mintage_ledger::Name;

use mintage_server::chassis::config::{Entry, read_table, show_table};
use mintage_server::chassis::config::{Setting, quoted};
use mintage_server::face_settings;

face_settings! {
    "prest" fits_main: true prefix: "";
    /// What scripts give: `{ "ids/next" = { sequence = "orders" } }` the next number of that sequence, `{ "ids/nextval" = { parameter = "seq" } }` that of the sequence named by this parameter of the query; `column = "nextval"` is what it stands under.
    "queries" queries: Queries = "{}";
    /// Quote numbers above 9007199254740991, which JavaScript rounds to others.
    "strings" strings: bool = "false";
}

/// Scripts by `LOCATION/SCRIPT`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Queries(pub BTreeMap<String, Query>);

/// A script.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Query {
    /// Which sequence it asks.
    pub of: Of,
    /// What its number stands under.
    pub column: String,
}

/// Which sequence a script asks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Of {
    /// Always this one.
    Sequence(Name),
    /// The one that this parameter names.
    Parameter(String),
}

impl Setting for Queries {
    const KIND: &'static str = "table of queries";

    fn parse(text: &str) -> Result<Self, String> {
        Self::from_toml(&text.into())
    }

    fn from_toml(value: &toml::Value) -> Result<Self, String> {
        let table = read_table(value, "{ \"ids/next\" = { sequence = \"orders\" } }")?;
        let read = |(path, value): (&String, &toml::Value)| {
            let entry = Entry::of(path, value, &["sequence", "parameter", "column"])?;
            let is_segment = |segment: &str| !segment.is_empty() && !segment.contains('/');
            if !path
                .split_once('/')
                .is_some_and(|(location, script)| is_segment(location) && is_segment(script))
            {
                return Err(entry.refusal("a query is called LOCATION/SCRIPT"));
            }
            Ok((path.clone(), query(entry)?))
        };
        table.iter().map(read).collect::<Result<_, _>>().map(Queries)
    }

    fn show(&self) -> String {
        show_table(self.0.iter().map(|(path, query)| {
            let (field, value) = match &query.of {
                Of::Sequence(name) => ("sequence", name.as_str()),
                Of::Parameter(name) => ("parameter", name.as_str()),
            };
            let column = quoted(&query.column);
            let shown = format!("{{ {field} = {}, column = {column} }}", quoted(value));
            (quoted(path), shown)
        }))
    }
}

fn query(entry: Entry<'_>) -> Result<Query, String> {
    let of = match (entry.text("sequence")?, entry.text("parameter")?) {
        (Some(name), None) => {
            Of::Sequence(Name::from_bytes(name.as_bytes()).map_err(|error| entry.refusal(error))?)
        }
        (None, Some(name)) if !name.is_empty() => Of::Parameter(name.to_string()),
        (None, Some(_)) => return Err(entry.refusal("parameter is empty")),
        _ => return Err(entry.refusal("one of sequence and parameter must be there")),
    };
    let column = entry.text("column")?.unwrap_or("nextval").to_string();
    match column.is_empty() {
        true => Err(entry.refusal("column is empty")),
        false => Ok(Query { of, column }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_read_strictly() {
        for (text, why) in [
            (
                "{ \"a/b\" = \"x\" }",
                "\"a/b\" must be a table of sequence, parameter, column, found string",
            ),
            (
                "{ \"a/b\" = {} }",
                "\"a/b\": one of sequence and parameter must be there",
            ),
            (
                "{ \"a/b\" = { sequence = \"x\", parameter = \"y\" } }",
                "\"a/b\": one of sequence and parameter must be there",
            ),
            (
                "{ \"a/b\" = { sequenze = \"x\" } }",
                "\"a/b\" has \"sequenze\": there is sequence, parameter, column",
            ),
            (
                "{ \"a/b\" = { parameter = \"\" } }",
                "\"a/b\": parameter is empty",
            ),
            (
                "{ \"a/b\" = { sequence = \"x\", column = \"\" } }",
                "\"a/b\": column is empty",
            ),
            (
                "{ a = { sequence = \"x\" } }",
                "\"a\": a query is called LOCATION/SCRIPT",
            ),
            (
                "{ \"a/b/c\" = { sequence = \"x\" } }",
                "\"a/b/c\": a query is called LOCATION/SCRIPT",
            ),
            (
                "{ \"/b\" = { sequence = \"x\" } }",
                "\"/b\": a query is called LOCATION/SCRIPT",
            ),
        ] {
            assert_eq!(Queries::parse(text), Err(why.to_string()), "{text}");
        }
        assert!(Queries::parse("{ \"a/b\" = { sequence = \"\" } }").is_err());
        let text = r#"{ "a/b" = { sequence = "x", column = "nextval" }, "a/c" = { parameter = "y", column = "id" } }"#;
        assert_eq!(Queries::parse(text).unwrap().show(), text);
    }
}
