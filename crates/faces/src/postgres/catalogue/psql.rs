//! What psql is answered.

use super::tables::{oid_of, parted};
use crate::postgres::errors::Result;
use crate::postgres::execute::Client;
use crate::postgres::plan::question::Asked;
use crate::postgres::plan::{IntegerKind, OWN_SCHEMA};
use crate::postgres::types::Value;
use crate::sql::names::SqlName;
use mintage_server::chassis::glob;

/// Whether a name fits what psql makes of a pattern: `^(orders.*)$`.
fn fits(pattern: Option<&str>, name: &str) -> bool {
    let Some(pattern) = pattern else { return true };
    let inner = pattern
        .strip_prefix("^(")
        .and_then(|rest| rest.strip_suffix(")$"));
    let as_glob = inner
        .unwrap_or(pattern)
        .replace("[.]", "\u{1}")
        .replace(".*", "*")
        .replace('.', "?");
    glob::matches(as_glob.replace('\u{1}', ".").as_bytes(), name.as_bytes())
}

/// The one name that psql has made a pattern of.
fn literal(pattern: &str) -> Option<&str> {
    let name = pattern.strip_prefix("^(")?.strip_suffix(")$")?;
    let is_plain = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    (!name.is_empty() && name.chars().all(is_plain)).then_some(name)
}

impl Client {
    /// The sequences whose names fit; the one of this very name, where there is one, without a look at the others.
    async fn fitting(&mut self, pattern: Option<&str>) -> Result<Vec<mintage_ledger::SequenceInfo>> {
        let keys = self.config.faces.get::<crate::postgres::Settings>().keys.clone();
        if let Some(name) = pattern.and_then(literal) {
            let found = self
                .sequences_named(&[SqlName::bare(name).key(OWN_SCHEMA, &keys)])
                .await?;
            if !found.is_empty() {
                return Ok(found);
            }
        }
        let pattern = pattern.map(String::from);
        self.sequences(move |info| fits(pattern.as_deref(), parted(&info.name, &keys).1))
            .await
    }

    pub(super) async fn answer_psql(&mut self, asked: &Asked) -> Result<Vec<Vec<Value>>> {
        let owner = Value::Text(self.session.facts.user.clone());
        Ok(match asked {
            Asked::Relations(pattern, more) => {
                let keys = self.config.faces.get::<crate::postgres::Settings>().keys.clone();
                let all = self.fitting(pattern.as_deref()).await?;
                let fitting = all.iter().map(|info| parted(&info.name, &keys));
                let row = |(schema, name): (&str, &str)| {
                    let mut row = vec![
                        Value::text(schema),
                        Value::text(name),
                        Value::text("sequence"),
                        owner.clone(),
                    ];
                    if *more > 0 {
                        // Of files and comments there are none.
                        row.push(Value::text("permanent"));
                        row.resize(4 + more, Value::Null);
                    }
                    row
                };
                fitting.map(row).collect()
            }
            Asked::Named(pattern) => {
                let keys = self.config.faces.get::<crate::postgres::Settings>().keys.clone();
                let all = self.fitting(pattern.as_deref()).await?;
                let row = |info: &mintage_ledger::SequenceInfo| {
                    let (schema, name) = parted(&info.name, &keys);
                    vec![
                        Value::Int(oid_of(info.name.as_str())),
                        Value::text(schema),
                        Value::text(name),
                    ]
                };
                all.iter().map(row).collect()
            }
            Asked::Kind => {
                let mut row = vec![Value::Int(0), Value::text("S")];
                row.extend(vec![Value::Bool(false); 7]);
                row.extend([
                    Value::text(""),
                    Value::Int(0),
                    Value::text(""),
                    Value::text("p"),
                    Value::text("n"),
                    Value::Null,
                ]);
                vec![row]
            }
            Asked::Sequence(oid) => {
                let oid = *oid;
                let found = self
                    .sequences(move |info| oid_of(info.name.as_str()) == oid)
                    .await?;
                let row = |info: &mintage_ledger::SequenceInfo| {
                    let def = &info.def;
                    vec![
                        Value::text(IntegerKind::of_bounds(def.min, def.max).title()),
                        Value::Int(def.start),
                        Value::Int(def.min),
                        Value::Int(def.max),
                        Value::Int(def.increment),
                        Value::text(if def.cycle { "yes" } else { "no" }),
                        Value::Int(1),
                    ]
                };
                found.iter().take(1).map(row).collect()
            }
            Asked::Schemas => vec![vec![Value::text(OWN_SCHEMA), owner]],
            Asked::Databases => vec![vec![Value::Text(self.session.database.clone()), owner]],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_those_of_psql() {
        assert!(fits(Some("^(ord.*)$"), "orders") && fits(None, "x"));
        assert!(!fits(Some("^(ord)$"), "orders"));
        assert_eq!(literal("^(order_items)$"), Some("order_items"));
        assert_eq!(
            [
                literal("^(ord.*)$"),
                literal("^(a|b)$"),
                literal("^()$"),
                literal("orders")
            ],
            [None; 4]
        );
    }
}
