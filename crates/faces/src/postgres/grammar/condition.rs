//! What is behind WHERE of a question to a catalogue: `=`, `<>`, `IN`, LIKE, with AND between.

use super::Parser;
use super::reading::{Reading, column_name, not_this};
use crate::postgres::errors::Result;
use crate::postgres::plan::Expr;
use crate::postgres::plan::question::Condition;
use crate::postgres::types::{Type, Value};

pub(super) fn conditions(parser: &mut Parser<'_>, reading: &Reading) -> Result<Vec<Condition>> {
    let mut all = Vec::new();
    loop {
        let bracket = parser.eat_symbol("(")?;
        match bracket {
            true => all.extend(parser.deeper(|parser| conditions(parser, reading))?),
            false => all.extend(condition(parser, reading)?),
        }
        if bracket {
            parser.expect_symbol(")")?;
        }
        if !parser.eat("and")? {
            return Ok(all);
        }
    }
}

fn condition(parser: &mut Parser<'_>, reading: &Reading) -> Result<Option<Condition>> {
    let name = column_name(parser)?;
    if name.name == "pg_table_is_visible" && parser.eat_symbol("(")? {
        column_name(parser)?;
        parser.expect_symbol(")")?;
        return Ok(None);
    }
    let column = reading.find(&name)?;
    if parser.eat_symbol("!~")? {
        // What is held back by this is not here.
        let pattern = parser.expression()?;
        let internal = matches!(&pattern, Expr::Constant(Value::Text(text)) if text.starts_with("^pg_"));
        return if internal { Ok(None) } else { Err(not_this()) };
    }
    let (mut is, mut like) = (true, false);
    let mut values = Vec::new();
    match () {
        () if parser.eat_symbol("=")? => {
            if parser.eat("any")? {
                parser.expect_symbol("(")?;
                parser.expect("array")?;
                parser.expect_symbol("[")?;
                values = values_until(parser, "]")?;
                parser.expect_symbol(")")?;
            } else {
                values.push(parser.expression()?);
            }
        }
        () if parser.eat_symbol("<>")? || parser.eat_symbol("!=")? => {
            is = false;
            values.push(parser.expression()?);
        }
        () => {
            is = !parser.eat("not")?;
            if parser.eat("in")? {
                parser.expect_symbol("(")?;
                values = values_until(parser, ")")?;
            } else {
                parser.expect("like")?;
                like = true;
                values.push(parser.expression()?);
            }
        }
    }
    for value in &values {
        if let Expr::Parameter(at) = value {
            parser.parameter(at + 1, Type::Text.oid())?;
        }
    }
    Ok(Some(Condition {
        column,
        is,
        like,
        values,
    }))
}

fn values_until(parser: &mut Parser<'_>, end: &str) -> Result<Vec<Expr>> {
    let mut values = Vec::new();
    loop {
        values.push(parser.expression()?);
        if !parser.eat_symbol(",")? {
            break;
        }
    }
    parser.expect_symbol(end)?;
    Ok(values)
}
