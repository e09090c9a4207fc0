//! A SELECT of tables that are answered truly: columns, `=`, `IN`, LIKE, ORDER BY, LIMIT.

use super::condition::{Condition, conditions};
use super::tables::{PUBLIC, Table};
use crate::faces::postgres::backend::Column;
use crate::faces::postgres::errors::{Result, SqlError};
use crate::faces::postgres::execute::Client;
use crate::faces::postgres::grammar::Parser;
use crate::faces::postgres::plan::{Expr, OWN_SCHEMA};
use crate::faces::postgres::types::{Type, Value};
use crate::faces::sql::names::SqlName;

#[derive(Debug)]
pub(in crate::faces::postgres) struct Question {
    table: Table,
    /// The sequence that a function in FROM is about.
    about: Option<Expr>,
    /// What is joined to the table, whose columns are behind its own.
    beside: Option<Beside>,
    picks: Vec<Pick>,
    conditions: Vec<Condition>,
    /// Columns of the result, and whether they descend.
    order: Vec<(usize, bool)>,
    limit: Option<Expr>,
}

#[derive(Debug)]
enum Pick {
    Column(usize),
    Value(Expr),
    Count,
}

/// What a table can be joined to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Beside {
    /// `pg_namespace`, to `pg_class`.
    Namespace,
    /// `pg_range`, to `pg_type`: there is none.
    Range,
}

/// What may be said of columns while a question is read.
pub(super) struct Reading {
    table: Table,
    beside: Option<Beside>,
    /// What the tables are called: which of the two, by every name it has.
    names: Vec<(String, bool)>,
    columns: Vec<(&'static str, Type)>,
    own: usize,
}

impl Reading {
    pub(super) fn find(&self, name: &SqlName) -> Result<usize> {
        let of = match &name.schema {
            None => None,
            Some(alias) => match self.names.iter().find(|(known, _)| known == alias) {
                Some((_, namespace)) => Some(*namespace),
                None => return Err(not_this()),
            },
        };
        let fits = |(at, (column, _)): &(usize, &(&str, Type))| {
            *column == name.name && of.is_none_or(|namespace| namespace == (*at >= self.own))
        };
        let found = self.columns.iter().enumerate().find(fits);
        found.map(|(at, _)| at).ok_or_else(not_this)
    }
}

/// It is another question than these: what becomes of it is not told to anybody.
pub(super) fn not_this() -> SqlError {
    SqlError::unsupported("this question to a catalogue")
}

/// Reads one, from its SELECT on.
///
/// # Errors
/// It is another.
pub(super) fn read(parser: &mut Parser<'_>) -> Result<(Question, Vec<Column>)> {
    parser.advance()?;
    parser.eat("distinct")?;
    let list = parser.place();
    while !parser.is("from") {
        if parser.is_at_end() || parser.is("select") {
            return Err(not_this());
        }
        parser.advance()?;
    }
    parser.advance()?;
    let (reading, about) = tables(parser)?;
    let tail = parser.place();
    parser.go_to(list);
    let (picks, columns) = list_of(parser, &reading)?;
    if !parser.is("from") {
        return Err(not_this());
    }
    parser.go_to(tail);
    let conditions = match parser.eat("where")? {
        true => conditions(parser, &reading)?,
        false => Vec::new(),
    };
    let order = order(parser, &reading, &picks, &columns)?;
    let limit = match parser.eat("limit")? {
        true => Some(parser.expression()?),
        false => None,
    };
    let question = Question {
        table: reading.table,
        about,
        beside: reading.beside,
        picks,
        conditions,
        order,
        limit,
    };
    Ok((question, columns))
}

/// What is behind FROM: one table, and perhaps `pg_namespace` beside `pg_class`.
fn tables(parser: &mut Parser<'_>) -> Result<(Reading, Option<Expr>)> {
    let name = parser.qualified()?;
    let table = Table::of_name(&name).ok_or_else(not_this)?;
    let mut about = None;
    if table == Table::Parameters {
        let at = parser.token.at;
        parser.expect_symbol("(")?;
        let argument = parser.expression()?;
        about = Some(parser.sequence(argument, at)?);
        parser.expect_symbol(")")?;
    }
    let mut reading = Reading {
        table,
        beside: None,
        names: called(parser, &name, false)?,
        columns: table.columns().to_vec(),
        own: table.columns().len(),
    };
    let outer = parser.eat("left")?;
    parser.eat(if outer { "outer" } else { "inner" })?;
    if parser.eat("join")? {
        let name = parser.qualified()?;
        let (beside, columns, keys): (_, &[(&str, Type)], _) = match (table, name.name.as_str()) {
            (Table::Class, "pg_namespace") => (
                Beside::Namespace,
                Table::Namespace.columns(),
                ["oid", "relnamespace"],
            ),
            (Table::Types, "pg_range") if outer => (
                Beside::Range,
                &[("rngtypid", Type::Oid), ("rngsubtype", Type::Oid)],
                ["oid", "rngtypid"],
            ),
            _ => return Err(not_this()),
        };
        reading.names.extend(called(parser, &name, true)?);
        reading.beside = Some(beside);
        reading.columns.extend(columns);
        parser.expect("on")?;
        let bracket = parser.eat_symbol("(")?;
        let one = parser.qualified()?;
        parser.expect_symbol("=")?;
        let other = parser.qualified()?;
        if bracket {
            parser.expect_symbol(")")?;
        }
        if !keys.iter().all(|key| *key == one.name || *key == other.name) {
            return Err(not_this());
        }
    }
    Ok((reading, about))
}

/// The names of a table: its own, or its alias.
fn called(parser: &mut Parser<'_>, name: &SqlName, namespace: bool) -> Result<Vec<(String, bool)>> {
    let alias = match parser.eat("as")? {
        true => Some(parser.name()?),
        false if parser.is_name() && !parser.is("inner") => Some(parser.name()?),
        false => None,
    };
    Ok(vec![(alias.unwrap_or_else(|| name.name.clone()), namespace)])
}

/// A column: with the name of its table, or the schema of that too.
pub(super) fn column_name(parser: &mut Parser<'_>) -> Result<SqlName> {
    let name = parser.qualified()?;
    // Types are told of by the columns themselves.
    while parser.eat_symbol("::")? {
        parser.qualified()?;
    }
    Ok(name)
}

fn list_of(parser: &mut Parser<'_>, reading: &Reading) -> Result<(Vec<Pick>, Vec<Column>)> {
    let (mut picks, mut columns) = (Vec::new(), Vec::new());
    loop {
        if parser.eat_symbol("*")? {
            for (at, (name, kind)) in reading.columns.iter().enumerate() {
                picks.push(Pick::Column(at));
                columns.push(Column::new(*name, *kind));
            }
        } else {
            let (pick, title, kind) = pick(parser, reading)?;
            let alias = match parser.eat("as")? {
                true => Some(parser.advance()?.value().into_owned()),
                false if parser.is_name() => Some(parser.name()?),
                false => None,
            };
            columns.push(Column::new(alias.unwrap_or(title), kind));
            picks.push(pick);
        }
        if !parser.eat_symbol(",")? {
            return Ok((picks, columns));
        }
    }
}

fn pick(parser: &mut Parser<'_>, reading: &Reading) -> Result<(Pick, String, Type)> {
    if !parser.is_name() || parser.is("true") || parser.is("null") {
        let value = parser.expression()?;
        let kind = parser.kind_of(&value);
        return Ok((Pick::Value(value), "?column?".into(), kind));
    }
    let place = parser.place();
    let name = column_name(parser)?;
    if parser.token.is_symbol("(") {
        if name.name == "count" {
            parser.advance()?;
            parser.expect_symbol("*")?;
            parser.expect_symbol(")")?;
            return Ok((Pick::Count, "count".into(), Type::Int8));
        }
        parser.go_to(place);
        return Err(not_this());
    }
    let at = reading.find(&name)?;
    Ok((Pick::Column(at), name.name, reading.columns[at].1))
}

/// ORDER BY columns of the result, by name or number.
fn order(
    parser: &mut Parser<'_>,
    reading: &Reading,
    picks: &[Pick],
    columns: &[Column],
) -> Result<Vec<(usize, bool)>> {
    let mut order = Vec::new();
    if !parser.eat("order")? {
        return Ok(order);
    }
    parser.expect("by")?;
    loop {
        let at = match parser.is_name() {
            true => {
                let name = column_name(parser)?;
                let titled = columns
                    .iter()
                    .position(|column| name.schema.is_none() && *column.name == *name.name);
                match titled {
                    Some(at) => at,
                    None => {
                        let column = reading.find(&name)?;
                        let is_it = |pick: &Pick| matches!(pick, Pick::Column(at) if *at == column);
                        picks.iter().position(is_it).ok_or_else(not_this)?
                    }
                }
            }
            false => match parser.expression()? {
                Expr::Constant(Value::Int(number)) => usize::try_from(number - 1).map_err(|_| not_this())?,
                _ => return Err(not_this()),
            },
        };
        if at >= columns.len() {
            return Err(not_this());
        }
        let descends = parser.eat("desc")?;
        parser.eat("asc")?;
        order.push((at, descends));
        if !parser.eat_symbol(",")? {
            return Ok(order);
        }
    }
}

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
        let key = match &question.about {
            None => self.key_asked_for(question, &wanted),
            Some(Expr::Sequence(target)) => Some(target.key.to_string()),
            Some(other) => {
                let value = self.plain(other, parameters).await?;
                Some(self.target(&value)?.key.to_string())
            }
        };
        let mut rows = self.rows_of(question.table, key.as_deref()).await?;
        match question.beside {
            None => {}
            Some(Beside::Range) => rows
                .iter_mut()
                .for_each(|row| row.extend([Value::Null, Value::Null])),
            Some(Beside::Namespace) => rows.iter_mut().for_each(|row| row.extend(namespace_of(row))),
        }
        let fits = |row: &Vec<Value>| {
            let mut pairs = question.conditions.iter().zip(&wanted);
            pairs.all(|(condition, values)| condition.holds(&row[condition.column], values))
        };
        rows.retain(fits);
        self.picked(question, rows, parameters).await
    }

    /// The key of the one sequence that is asked for by its name.
    fn key_asked_for(&self, question: &Question, wanted: &[Vec<Value>]) -> Option<String> {
        let (name_column, schema_column) = question.table.naming()?;
        let mut columns: Vec<&str> = question.table.columns().iter().map(|(name, _)| *name).collect();
        columns.extend(
            super::tables::Table::Namespace
                .columns()
                .iter()
                .map(|(name, _)| *name),
        );
        let value_of = |name: &str| {
            let mut pairs = question.conditions.iter().zip(wanted);
            let found = pairs.find(|(condition, values)| {
                columns[condition.column] == name && condition.is && !condition.like && values.len() == 1
            });
            found.and_then(|(_, values)| values[0].shown())
        };
        let name = value_of(name_column)?;
        let name = SqlName {
            schema: value_of(schema_column),
            name,
        };
        Some(name.key(OWN_SCHEMA, &self.config.faces.postgres.keys))
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
