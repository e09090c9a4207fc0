//! The arguments of a function, out of a body.

use serde_json::{Map, Value};

use super::refusal::Refusal;
use crate::json_number::EXACT_MAX;
use mintage_server::chassis::error::Code;
use mintage_server::chassis::web::form::Form;
use mintage_server::chassis::web::head::Head;

/// Arguments by their names.
#[derive(Clone, Debug, Default)]
pub(super) struct Arguments {
    values: Map<String, Value>,
    /// They came as JSON, which the original also tries as one value.
    pub(super) as_json: bool,
}

impl Arguments {
    /// Reads a body.
    ///
    /// # Errors
    /// It is no JSON object, or of another type.
    pub(super) fn of_body(head: &Head<'_>, body: &[u8]) -> Result<Arguments, Refusal> {
        let given = head.content_type.unwrap_or("application/json");
        let kind = given.split(';').next().unwrap_or_default().trim();
        if kind.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
            let alone = Head {
                content_type: head.content_type,
                ..Head::default()
            };
            return Ok(Arguments::of_pairs(&Form::of(&alone, body)));
        }
        if !kind.eq_ignore_ascii_case("application/json") {
            let shown: String = kind.chars().take(SHOWN_MAX).collect();
            let message = format!("Content-Type not acceptable: {shown}");
            return Err(Refusal::parameter(Code::InvalidBody, message));
        }
        let body = body.trim_ascii();
        let values = match body {
            [] => Map::new(),
            body => serde_json::from_slice(body)
                .map_err(|_| Refusal::parameter(Code::InvalidBody, "Empty or invalid json"))?,
        };
        Ok(Arguments {
            values,
            as_json: true,
        })
    }

    /// Those of a query, without what PostgREST reads as filters and the like.
    pub(super) fn of_query(head: &Head<'_>) -> Arguments {
        let mut arguments = Arguments::of_pairs(&Form::of_query(head));
        arguments
            .values
            .retain(|name, _| !RESERVED.contains(&name.as_str()));
        arguments
    }

    fn of_pairs(form: &Form<'_>) -> Arguments {
        let mut values = Map::new();
        for (name, value) in form.pairs() {
            values
                .entry(name.into_owned())
                .or_insert_with(|| Value::from(value.into_owned()));
        }
        Arguments {
            values,
            as_json: false,
        }
    }

    /// Their names, in order.
    pub(super) fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.values.keys().map(String::as_str).collect();
        names.sort_unstable();
        names
    }

    /// Takes the first of these out.
    pub(super) fn take(&mut self, names: &[&str]) -> Option<Argument> {
        names.iter().find_map(|name| {
            let value = self.values.remove(*name)?;
            let name = (*name).to_string();
            Some(Argument { name, value })
        })
    }

    /// Whether all were taken.
    pub(super) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}

/// What is no argument in a query.
const RESERVED: [&str; 8] = [
    "select",
    "columns",
    "order",
    "limit",
    "offset",
    "and",
    "or",
    "on_conflict",
];

/// How much of somebody else's text is shown in a refusal.
const SHOWN_MAX: usize = 80;

/// One argument.
#[derive(Clone, Debug)]
pub(super) struct Argument {
    name: String,
    value: Value,
}

impl Argument {
    /// It as a text; numbers are what they look like.
    pub(super) fn text(&self) -> Result<String, Refusal> {
        match &self.value {
            Value::String(text) => Ok(text.clone()),
            Value::Number(number) => Ok(number.to_string()),
            _ => Err(self.refusal(Code::InvalidArgument, "the name of a sequence")),
        }
    }

    /// It as a count from 1 to `max`.
    pub(super) fn count(&self, max: u64) -> Result<u64, Refusal> {
        let count = match &self.value {
            Value::Number(number) => number.as_u64(),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        };
        count
            .filter(|count| (1..=max).contains(count))
            .ok_or_else(|| self.refusal(Code::InvalidCount, &format!("a whole number from 1 to {max}")))
    }

    /// It as a number of 64 bits. One without quotes that JavaScript cannot hold may have been rounded by whoever
    /// wrote it, and a sequence moved to it would give numbers again that were given out already.
    pub(super) fn number(&self) -> Result<i64, Refusal> {
        let (number, is_text) = match &self.value {
            Value::Number(number) => (number.as_i64(), false),
            Value::String(text) => (text.trim().parse().ok(), true),
            _ => (None, false),
        };
        let Some(number) = number else {
            return Err(self.refusal(Code::InvalidArgument, "a whole number of 64 bits"));
        };
        match is_text || number.unsigned_abs() <= EXACT_MAX {
            true => Ok(number),
            false => {
                let wanted = format!("in quotes above {EXACT_MAX}, since it may have been rounded");
                Err(self.refusal(Code::InvalidArgument, &wanted))
            }
        }
    }

    /// It as true or false, in the words of PostgreSQL.
    pub(super) fn flag(&self) -> Result<bool, Refusal> {
        let text = match &self.value {
            Value::Bool(flag) => return Ok(*flag),
            Value::String(text) => text.trim().to_ascii_lowercase(),
            _ => String::new(),
        };
        match text.as_str() {
            "true" | "t" | "yes" | "on" | "1" => Ok(true),
            "false" | "f" | "no" | "off" | "0" => Ok(false),
            _ => Err(self.refusal(Code::InvalidArgument, "true or false")),
        }
    }

    fn refusal(&self, code: Code, wanted: &str) -> Refusal {
        let found: String = self.value.to_string().chars().take(SHOWN_MAX).collect();
        let name = &self.name;
        Refusal::parameter(code, format!("{name} must be {wanted}, found {found}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn argument(json: &str) -> Argument {
        Argument {
            name: "a".into(),
            value: serde_json::from_str(json).unwrap(),
        }
    }

    #[test]
    fn values_are_read_as_postgresql_casts_them() {
        let number = |json| argument(json).number().map_err(|refusal| refusal.message);
        assert_eq!(number("9007199254740991"), Ok(9_007_199_254_740_991));
        assert_eq!(number("\"9223372036854775807\""), Ok(i64::MAX));
        assert_eq!(number(" \" -5 \" "), Ok(-5));
        for json in ["-9007199254740992", "9007199254740992"] {
            assert!(
                number(json)
                    .unwrap_err()
                    .contains("in quotes above 9007199254740991"),
                "{json}"
            );
        }
        for json in [
            "1.5",
            "1e3",
            "9223372036854775808",
            "\"9223372036854775808\"",
            "\"x\"",
            "null",
            "[]",
        ] {
            let message = number(json).unwrap_err();
            assert!(
                message.starts_with("a must be a whole number of 64 bits, found "),
                "{message}"
            );
        }
        for (json, flag) in [
            ("true", true),
            ("\"F\"", false),
            ("\"off\"", false),
            ("\"1\"", true),
        ] {
            assert_eq!(argument(json).flag(), Ok(flag), "{json}");
        }
        assert!(argument("1").flag().is_err());
        assert_eq!(argument("5").text(), Ok("5".to_string()));
        assert!(argument("{}").text().is_err());
        assert_eq!(argument("\"3\"").count(3), Ok(3));
        for json in ["0", "4", "-1", "2.0", "null", "\"\""] {
            let message = argument(json).count(3).unwrap_err().message;
            assert!(
                message.starts_with("a must be a whole number from 1 to 3, found "),
                "{message}"
            );
        }
    }
}
