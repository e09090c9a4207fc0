//! The settings of this face.

use std::collections::BTreeMap;

use mintage_ledger::Name;

use mintage_server::chassis::config::{Entry, read_table, show_table};
use mintage_server::chassis::config::{Setting, quoted};
use mintage_server::face_settings;

face_settings! {
    "postgrest" fits_main: true prefix: "";
    /// Functions besides `nextval`, `nextvals` and `setval`: `{ next_invoice = { next = "invoices" } }` takes no arguments and gives the next number of that sequence, `{ take = { does = "nextval" } }` is another name for one of the three, `{ setval = { does = "off" } }` takes a name away.
    "functions" functions: Functions = "{}";
    /// The schemas that a client may name (`Content-Profile`), the first where it names none. They change nothing but messages.
    "schemas" schemas: Schemas = "public, api";
    /// Quote numbers above 9007199254740991, which JavaScript rounds to others.
    "strings" strings: bool = "false";
}

/// Functions by their names, besides those that are always there.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Functions(pub BTreeMap<String, Function>);

/// A function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Function {
    /// Gives the next number of this sequence.
    Next(Name),
    /// Does what its arguments say.
    Does(Does),
    /// There is none of this name.
    Off,
}

/// What the functions with arguments do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Does {
    /// The next number of a sequence.
    Nextval,
    /// The next numbers of a sequence.
    Nextvals,
    /// Moves a sequence forward.
    Setval,
}

impl Does {
    /// All of them.
    pub const ALL: [Does; 3] = [Does::Nextval, Does::Nextvals, Does::Setval];

    /// The name of the function that is always there.
    pub fn as_str(self) -> &'static str {
        match self {
            Does::Nextval => "nextval",
            Does::Nextvals => "nextvals",
            Does::Setval => "setval",
        }
    }

    fn named(name: &str) -> Option<Does> {
        Does::ALL.into_iter().find(|does| does.as_str() == name)
    }
}

impl Functions {
    /// The function of a name.
    pub fn find(&self, name: &str) -> Option<Function> {
        let known = self.0.get(name).cloned();
        let found = known.or_else(|| Does::named(name).map(Function::Does));
        found.filter(|function| *function != Function::Off)
    }

    /// The names of all functions.
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.0.keys().map(String::as_str).collect();
        names.extend(
            Does::ALL
                .map(Does::as_str)
                .iter()
                .filter(|name| !self.0.contains_key(**name)),
        );
        names.retain(|name| self.find(name).is_some());
        names
    }
}

/// As PostgreSQL: the longest name, in bytes.
const FUNCTION_BYTES_MAX: usize = 63;

impl Setting for Functions {
    const KIND: &'static str = "table of functions";

    fn parse(text: &str) -> Result<Self, String> {
        Self::from_toml(&text.into())
    }

    fn from_toml(value: &toml::Value) -> Result<Self, String> {
        let table = read_table(value, "{ next_invoice = { next = \"invoices\" } }")?;
        let read = |(name, value): (&String, &toml::Value)| {
            let entry = Entry::of(name, value, &["next", "does"])?;
            let plain = |c: char| !c.is_control() && c != '/';
            if name.is_empty() || name.len() > FUNCTION_BYTES_MAX || !name.chars().all(plain) {
                let why = format!("a function's name has 1 to {FUNCTION_BYTES_MAX} bytes and no slash");
                return Err(entry.refusal(why));
            }
            Ok((name.clone(), function(entry)?))
        };
        table.iter().map(read).collect::<Result<_, _>>().map(Functions)
    }

    fn show(&self) -> String {
        show_table(self.0.iter().map(|(name, function)| {
            let (field, value) = match function {
                Function::Next(name) => ("next", name.as_str()),
                Function::Does(does) => ("does", does.as_str()),
                Function::Off => ("does", OFF),
            };
            (quoted(name), format!("{{ {field} = {} }}", quoted(value)))
        }))
    }
}

const OFF: &str = "off";

fn function(entry: Entry<'_>) -> Result<Function, String> {
    match (entry.text("next")?, entry.text("does")?) {
        (Some(name), None) => {
            let name = Name::from_bytes(name.as_bytes()).map_err(|error| entry.refusal(error))?;
            Ok(Function::Next(name))
        }
        (None, Some(OFF)) => Ok(Function::Off),
        (None, Some(does)) => match Does::named(does) {
            Some(does) => Ok(Function::Does(does)),
            None => {
                let known = Does::ALL.map(Does::as_str).join(", ");
                Err(entry.refusal(format!("does is {does:?}, it must be {known} or {OFF}")))
            }
        },
        _ => Err(entry.refusal("one of next and does must be there")),
    }
}

/// Schemas, of which there is at least one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Schemas(Vec<String>);

impl Schemas {
    /// The one that is meant where none is named.
    pub fn first(&self) -> &str {
        &self.0[0]
    }

    /// All of them.
    pub fn all(&self) -> &[String] {
        &self.0
    }

    fn checked(schemas: Vec<String>) -> Result<Self, String> {
        if schemas.is_empty() {
            return Err("there must be a schema, such as \"public\"".to_string());
        }
        // They stand in headers.
        let fits = |schema: &&String| !schema.is_empty() && schema.bytes().all(|b| b.is_ascii_graphic());
        match schemas.iter().find(|schema| !fits(schema)) {
            Some(odd) => Err(format!(
                "{odd:?} cannot be a schema: a client names one in a header, as visible ASCII"
            )),
            None => Ok(Schemas(schemas)),
        }
    }
}

impl Setting for Schemas {
    const KIND: &'static str = "list of texts";

    fn parse(text: &str) -> Result<Self, String> {
        Schemas::checked(Vec::parse(text)?)
    }

    fn from_toml(value: &toml::Value) -> Result<Self, String> {
        Schemas::checked(Vec::from_toml(value)?)
    }

    fn show(&self) -> String {
        self.0.show()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_read_strictly() {
        for (text, why) in [
            ("{ f = 5 }", "\"f\" must be a table of next, does, found integer"),
            ("{ f = {} }", "\"f\": one of next and does must be there"),
            (
                "{ f = { next = \"a\", does = \"nextval\" } }",
                "\"f\": one of next and does must be there",
            ),
            (
                "{ f = { nxt = \"a\" } }",
                "\"f\" has \"nxt\": there is next, does",
            ),
            (
                "{ f = { next = 5 } }",
                "\"f\": next must be a text, found integer",
            ),
            (
                "{ f = { does = \"currval\" } }",
                "\"f\": does is \"currval\", it must be nextval, nextvals, setval or off",
            ),
            (
                "{ \"a/b\" = { next = \"a\" } }",
                "\"a/b\": a function's name has 1 to 63 bytes and no slash",
            ),
        ] {
            assert_eq!(Functions::parse(text), Err(why.to_string()), "{text}");
        }
        assert!(Functions::parse("{ f = { next = \"\" } }").is_err());
        let text = r#"{ "a" = { next = "x" }, "b" = { does = "setval" }, "nextvals" = { does = "off" } }"#;
        let functions = Functions::parse(text).unwrap();
        assert_eq!(functions.show(), text);
        assert_eq!(functions.names(), ["a", "b", "nextval", "setval"]);
    }

    #[test]
    fn schemas_can_stand_in_headers() {
        assert_eq!(Schemas::parse("a, b").unwrap().first(), "a");
        for text in ["", ",", "a b", "\u{e9}"] {
            assert!(Schemas::parse(text).is_err(), "{text}");
        }
        assert!(Schemas::from_toml(&toml::Value::Array(vec!["".into()])).is_err());
    }
}
