//! A SELECT of catalogues that are answered truly: columns, `=`, `IN`, LIKE, ORDER BY, LIMIT.

use super::Parser;
use super::condition::conditions;
use super::reading::{Reading, column_name, not_this};
use crate::postgres::backend::Column;
use crate::postgres::errors::Result;
use crate::postgres::plan::Expr;
use crate::postgres::plan::question::{Beside, Pick, Question, Table};
use crate::postgres::types::{Type, Value};
use crate::sql::names::SqlName;

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
            (Table::Types, "pg_proc") => (
                Beside::Input,
                &[("oid", Type::Oid), ("proname", Type::Name)],
                ["oid", "typinput"],
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
