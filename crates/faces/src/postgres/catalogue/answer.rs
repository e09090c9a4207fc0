//! Questions to tables that are answered truly, answered.

use super::tables::{PUBLIC, Wanted, oid_of, parted};
use crate::postgres::errors::Result;
use crate::postgres::execute::Client;
use crate::postgres::plan::question::{Beside, Pick, Question, Table, holds};
use crate::postgres::plan::{Expr, OWN_SCHEMA};
use crate::postgres::types::{Type, Value};
use crate::sql::names::SqlName;

/// The schema of a row of `pg_class`. Of others than `public` there is the number alone.
fn namespace_of(class: &[Value]) -> [Value; 3] {
    let at = Table::Class
        .columns()
        .iter()
        .position(|(name, _)| *name == "relnamespace");
    let oid = at.and_then(|at| class.get(at)).cloned().unwrap_or(Value::Null);
    let name = if oid == Value::Int(PUBLIC) {
        Value::text(OWN_SCHEMA)
    } else {
        Value::Null
    };
    [oid, name, Value::Int(10)]
}

/// The function that reads texts of the type of this row of `pg_type`.
fn input_of(of_type: &[Value]) -> [Value; 2] {
    let at = Table::Types
        .columns()
        .iter()
        .position(|(name, _)| *name == "typinput");
    let name = at.and_then(|at| of_type.get(at)).cloned().unwrap_or(Value::Null);
    let oid = name.shown().map_or(Value::Null, |name| Value::Int(oid_of(&name)));
    [oid, name]
}

/// What a condition is about, of what tells one sequence from others.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    Name,
    Schema,
    Oid,
}

/// A condition with its values.
struct Said {
    of: Of,
    is: bool,
    like: bool,
    values: Vec<String>,
}

impl Client {
    pub(super) async fn answer(
        &mut self,
        question: &Question,
        parameters: &[Value],
    ) -> Result<Vec<Vec<Value>>> {
        let mut wanted = Vec::new();
        for condition in &question.conditions {
            let mut values = Vec::new();
            for value in &condition.values {
                values.push(self.plain(value, parameters).await?);
            }
            wanted.push(values);
        }
        let sequences = match &question.about {
            None => self.asked_for(question, &wanted),
            Some(Expr::Sequence(target)) => Wanted::Named(vec![target.key.to_string()]),
            Some(other) => {
                let value = self.plain(other, parameters).await?;
                Wanted::Named(vec![self.target(&value)?.key.to_string()])
            }
        };
        let mut rows = self.rows_of(question.table, sequences).await?;
        match question.beside {
            None => {}
            Some(Beside::Range) => rows
                .iter_mut()
                .for_each(|row| row.extend([Value::Null, Value::Null])),
            Some(Beside::Namespace) => rows.iter_mut().for_each(|row| row.extend(namespace_of(row))),
            Some(Beside::Input) => rows.iter_mut().for_each(|row| row.extend(input_of(row))),
        }
        let fits = |row: &Vec<Value>| {
            let mut pairs = question.conditions.iter().zip(&wanted);
            pairs.all(|(condition, values)| condition.holds(&row[condition.column], values))
        };
        rows.retain(fits);
        self.picked(question, rows, parameters).await
    }

    /// The sequences that a question can be about: those that it names, else all that what it says of names and oids
    /// leaves.
    fn asked_for(&self, question: &Question, wanted: &[Vec<Value>]) -> Wanted {
        let own: Vec<&str> = question.table.columns().iter().map(|(name, _)| *name).collect();
        let of_schema = Table::Namespace.columns().iter().map(|(name, _)| *name);
        let columns: Vec<&str> = own.iter().copied().chain(of_schema).collect();
        let (name_column, schema_column) = question.table.naming().unwrap_or_default();
        let mut said = Vec::new();
        for (condition, values) in question.conditions.iter().zip(wanted) {
            let of = match columns.get(condition.column) {
                Some(column) if *column == name_column => Of::Name,
                Some(column) if *column == schema_column => Of::Schema,
                Some(&"oid" | &"seqrelid") if condition.column == 0 => Of::Oid,
                _ => continue,
            };
            said.push(Said {
                of,
                is: condition.is,
                like: condition.like,
                values: values.iter().filter_map(Value::shown).collect(),
            });
        }
        let keys = self.config.faces.get::<crate::postgres::Settings>().keys.clone();
        let values_of = |of: Of| {
            let mut all = said.iter();
            all.find(|said| said.of == of && said.is && !said.like)
                .map(|said| said.values.iter().cloned())
        };
        if let Some(names) = values_of(Of::Name) {
            let schemas: Vec<Option<String>> = match values_of(Of::Schema) {
                Some(schemas) => schemas.map(Some).collect(),
                None => vec![None],
            };
            let key = |(schema, name)| SqlName { schema, name }.key(OWN_SCHEMA, &keys);
            let pairs =
                names.flat_map(|name| schemas.iter().cloned().map(move |schema| (schema, name.clone())));
            return Wanted::Named(pairs.map(key).collect());
        }
        Wanted::Fitting(Box::new(move |info| {
            let (schema, name) = parted(&info.name, &keys);
            said.iter().all(|said| {
                let oid;
                let text = match said.of {
                    Of::Name => name,
                    Of::Schema => schema,
                    Of::Oid => {
                        oid = oid_of(info.name.as_str()).to_string();
                        &oid
                    }
                };
                holds(said.is, said.like, text, &said.values)
            })
        }))
    }

    async fn picked(
        &mut self,
        question: &Question,
        rows: Vec<Vec<Value>>,
        parameters: &[Value],
    ) -> Result<Vec<Vec<Value>>> {
        let mut values = Vec::new();
        for pick in &question.picks {
            values.push(match pick {
                Pick::Value(value) => self.plain(value, parameters).await?,
                Pick::Count => Value::Int(rows.len() as i64),
                Pick::Column(_) => Value::Null,
            });
        }
        if question.picks.iter().any(|pick| matches!(pick, Pick::Count)) {
            return Ok(vec![values]);
        }
        let pick = |row: &Vec<Value>| -> Vec<Value> {
            let pairs = question.picks.iter().zip(&values);
            pairs
                .map(|(pick, value)| match pick {
                    Pick::Column(at) => row[*at].clone(),
                    _ => value.clone(),
                })
                .collect()
        };
        let mut picked: Vec<Vec<Value>> = rows.iter().map(pick).collect();
        for (at, descends) in question.order.iter().rev() {
            let key = |row: &Vec<Value>| match &row[*at] {
                Value::Int(number) => (*number, String::new()),
                other => (0, other.shown().unwrap_or_default()),
            };
            picked.sort_by(|a, b| {
                if *descends {
                    key(b).cmp(&key(a))
                } else {
                    key(a).cmp(&key(b))
                }
            });
        }
        if let Some(limit) = &question.limit {
            let limit = self.plain(limit, parameters).await?.integer(Type::Int8)?;
            picked.truncate(usize::try_from(limit).unwrap_or_default());
        }
        Ok(picked)
    }
}
