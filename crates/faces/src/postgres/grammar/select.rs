//! SELECT: what it reads from, and the values of its list.

use std::borrow::Cow;

use super::Parser;
use super::catalogue;
use super::expression::title_of;
use crate::postgres::backend::Column;
use crate::postgres::errors::{Result, SqlError};
use crate::postgres::plan::{Expr, From, Function, Plan, Select, Statement, Target};
use crate::postgres::types::Type;
use crate::sql::lexer::Lexer;
use crate::sql::names::SqlName;
use crate::sql::token::{Kind, Token};

impl<'t> Parser<'t> {
    /// A SELECT, from its word on.
    pub(super) fn select_statement(&mut self) -> Result<Statement> {
        if let Some(found) = catalogue::read(self)? {
            let items = (0..found.columns.len()).map(Expr::Column).collect();
            return Ok(self.selected(items, found.from, None, found.columns));
        }
        self.advance()?;
        self.eat("all")?;
        if self.is("distinct") {
            return Err(SqlError::unsupported("DISTINCT").at(self.token.at));
        }
        // What the list names is known only behind it.
        let (list, mut reads, mut tail) = (self.place(), From::Nothing, None);
        if let Some(from) = self.find_from()? {
            self.go_to(from);
            self.advance()?;
            reads = self.from()?;
            tail = Some(self.place());
            self.go_to(list);
        }
        self.rows_allowed = matches!(reads, From::Nothing);
        let (items, columns) = self.list()?;
        self.rows_allowed = false;
        if let Some(tail) = tail {
            if !self.is("from") {
                return Err(self.unexpected());
            }
            self.go_to(tail);
        }
        if let Some((rows, _)) = self.rows.take() {
            reads = rows;
        }
        let limit = self.tail()?;
        Ok(self.selected(items, reads, limit, columns))
    }

    fn selected(
        &mut self,
        mut items: Vec<Expr>,
        from: From,
        limit: Option<Expr>,
        mut columns: Vec<Column>,
    ) -> Statement {
        // They may be kept for long.
        items.shrink_to_fit();
        columns.shrink_to_fit();
        let (parameters, names) = self.gathered();
        let next = match (items.as_slice(), &from, &limit) {
            ([Expr::Call(Function::Nextval, arguments)], From::Nothing, None) => match &**arguments {
                [Expr::Sequence(target)] => Some(target.clone()),
                _ => None,
            },
            _ => None,
        };
        Statement {
            plan: Plan::Select(Select { items, from, limit }),
            columns: Some(columns),
            parameters,
            first_parameter: self.first_parameter,
            names,
            next,
            bytes: 0,
        }
    }

    /// Where FROM is, outside of parentheses.
    fn find_from(&self) -> Result<Option<(Lexer<'t>, Token<'t>)>> {
        let (mut lexer, mut token) = self.place();
        let mut depth = 0usize;
        loop {
            match token.kind {
                Kind::End => return Ok(None),
                Kind::Symbol if token.text == ";" => return Ok(None),
                Kind::Symbol if token.text == "(" => depth += 1,
                Kind::Symbol if token.text == ")" => depth = depth.saturating_sub(1),
                Kind::Word if depth == 0 && token.is("from") => return Ok(Some((lexer, token))),
                _ => {}
            }
            token = lexer
                .next()
                .map_err(|fault| SqlError::of_fault(fault, self.text()))?;
        }
    }

    /// The values of the list, and what their columns are called.
    fn list(&mut self) -> Result<(Vec<Expr>, Vec<Column>)> {
        let (mut items, mut columns) = (Vec::new(), Vec::new());
        loop {
            if items.len() >= ITEMS_MAX {
                return Err(SqlError::new(
                    "54011",
                    "target lists can have at most 1664 entries",
                ));
            }
            if self.token.is_symbol("*") {
                let at = self.advance()?.at;
                if self.columns.is_empty() {
                    return Err(
                        SqlError::new("42601", "SELECT * with no tables specified is not valid").at(at),
                    );
                }
                for (at, (name, kind)) in self.columns.iter().enumerate() {
                    items.push(Expr::Column(at));
                    columns.push(Column::new(name.clone(), *kind));
                }
            } else if let Some(all) = self.all_of_alias()? {
                items.extend((0..all.len()).map(Expr::Column));
                columns.extend(all);
            } else {
                let (value, column) = self.item()?;
                items.push(value);
                columns.push(column);
            }
            if !self.eat_symbol(",")? {
                return Ok((items, columns));
            }
        }
    }

    /// `alias.*`.
    fn all_of_alias(&mut self) -> Result<Option<Vec<Column>>> {
        let place = self.place();
        if self.is_name() && self.ahead()?.is_symbol(".") {
            let name = self.name()?;
            self.advance()?;
            if self.token.is_symbol("*") && self.alias.as_deref() == Some(&name) {
                self.advance()?;
                let columns = self.columns.iter();
                return Ok(Some(
                    columns
                        .map(|(name, kind)| Column::new(name.clone(), *kind))
                        .collect(),
                ));
            }
            self.go_to(place);
        }
        Ok(None)
    }

    fn item(&mut self) -> Result<(Expr, Column)> {
        let rows_before = self.rows.is_some();
        let value = self.expression()?;
        let mut kind = self.kind_of(&value);
        let mut title = title_of(&value, &self.columns);
        if let (false, Some((from, of_rows))) = (rows_before, &self.rows) {
            kind = *of_rows;
            let name = if matches!(from, From::Next { .. }) {
                "mint_next"
            } else {
                "generate_series"
            };
            title.get_or_insert_with(|| name.into());
            if value != Expr::Column(0) {
                return Err(SqlError::unsupported("a calculation over rows"));
            }
        }
        let alias = match self.eat("as")? {
            true => Some(self.label()?),
            false if self.is_name() => Some(self.name()?),
            false => None,
        };
        let name = alias.map(Cow::Owned).or(title).unwrap_or("?column?".into());
        Ok((value, Column::new(name, kind)))
    }

    /// What is behind AS: any word is a name there.
    fn label(&mut self) -> Result<String> {
        match self.token.kind {
            Kind::Word | Kind::Name => Ok(self.advance()?.value().into_owned()),
            _ => Err(self.unexpected()),
        }
    }

    /// What is behind FROM: one function, or one relation.
    fn from(&mut self) -> Result<From> {
        let at = self.token.at;
        if self.token.is_symbol("(") || self.is("only") || self.is("lateral") {
            return Err(SqlError::unsupported("a query within another").at(at));
        }
        let name = self.qualified()?;
        let from = match self.token.is_symbol("(") {
            true => self.function_in_from(&name, at)?,
            false => self.relation(&name, at)?,
        };
        self.alias = Some(name.name);
        self.alias_of_from()?;
        if self.token.is_symbol(",")
            || ["join", "inner", "left", "cross", "natural", "full", "right"]
                .iter()
                .any(|word| self.is(word))
        {
            return Err(SqlError::unsupported("a join").at(self.token.at));
        }
        Ok(from)
    }

    fn relation(&mut self, name: &SqlName, at: usize) -> Result<From> {
        let of = |columns: &[(&str, Type)]| {
            columns
                .iter()
                .map(|(name, kind)| (name.to_string(), *kind))
                .collect()
        };
        if name.schema.as_deref() == Some("next") {
            let target = Target::new(&SqlName::bare(name.name.as_str()), self.keys);
            self.names.push((target.clone(), at));
            self.columns = of(&[("id", Type::Int8)]);
            return Ok(From::NextOf(target));
        }
        let target = Target::new(name, self.keys);
        self.names.push((target.clone(), at));
        self.columns = of(&[
            ("last_value", Type::Int8),
            ("log_cnt", Type::Int8),
            ("is_called", Type::Bool),
        ]);
        Ok(From::State(target))
    }

    fn function_in_from(&mut self, name: &SqlName, at: usize) -> Result<From> {
        let arguments = self.arguments_of_rows()?;
        let of = |columns: &[(&str, Type)]| {
            columns
                .iter()
                .map(|(name, kind)| (name.to_string(), *kind))
                .collect()
        };
        let function = name.name.as_str();
        Ok(match function {
            "generate_series" => {
                let (from, kind) = self.series(arguments, at)?;
                self.columns = of(&[(function, kind)]);
                from
            }
            "mint_next" => {
                self.columns = of(&[(function, Type::Int8)]);
                self.next_rows(arguments, at)?
            }
            "mint_run" => {
                self.columns = of(&[
                    ("first", Type::Int8),
                    ("last", Type::Int8),
                    ("increment", Type::Int8),
                ]);
                let [sequence, count] = self.two(function, arguments, at)?;
                From::Run { sequence, count }
            }
            _ => {
                let call = self.call_in_from(function, arguments, at)?;
                self.columns = of(&[(function, self.kind_of(&call))]);
                From::Value(call)
            }
        })
    }

    /// `[AS] alias [(column, …)]`.
    fn alias_of_from(&mut self) -> Result<()> {
        let named = match self.eat("as")? {
            true => Some(self.name()?),
            false if self.is_name() => Some(self.name()?),
            false => None,
        };
        let Some(named) = named else { return Ok(()) };
        // The one column of a function is called as the function is.
        if let ([(column, _)], Some(before)) = (&mut *self.columns, &self.alias)
            && column == before
        {
            *column = named.clone();
        }
        self.alias = Some(named);
        if self.eat_symbol("(")? {
            let mut at = 0;
            loop {
                let named = self.name()?;
                match self.columns.get_mut(at) {
                    Some(column) => column.0 = named,
                    None => return Err(SqlError::new("42P10", "table has fewer columns than were named")),
                }
                at += 1;
                if !self.eat_symbol(",")? {
                    break;
                }
            }
            self.expect_symbol(")")?;
        }
        Ok(())
    }

    /// What is behind the list and FROM.
    fn tail(&mut self) -> Result<Option<Expr>> {
        let unsupported = [
            "where",
            "group",
            "having",
            "window",
            "order",
            "offset",
            "fetch",
            "for",
            "union",
            "intersect",
            "except",
            "into",
        ];
        let mut limit = None;
        while !self.is_at_end() {
            if limit.is_none() && self.eat("limit")? {
                if !self.eat("all")? {
                    let value = self.expression()?;
                    if let Expr::Parameter(at) = value {
                        self.parameter(at + 1, Type::Int8.oid())?;
                    }
                    limit = Some(value);
                }
            } else if let Some(word) = unsupported.iter().find(|word| self.is(word)) {
                return Err(SqlError::unsupported(&word.to_uppercase()).at(self.token.at));
            } else {
                // Of a cursor's query within DECLARE too.
                return Err(self.unexpected());
            }
        }
        Ok(limit)
    }
}

/// As PostgreSQL has it.
const ITEMS_MAX: usize = 1664;
