//! `SELECT`.

use mintage::{Series, SeriesError};

use super::{Parser, Read};
use crate::mysql::plan::{Condition, Expression, From, Item, Select, Statement};
use crate::mysql::refusal::Refusal;
use crate::mysql::tables::{Library, MAX_MACHINE};
use crate::sql::names::SqlName;
use crate::sql::token::Kind;
use mintage_server::chassis::error::Code;

impl Parser<'_> {
    /// From behind `SELECT` on.
    pub(super) fn select(&mut self) -> Read<Statement> {
        let mut all = vec![self.one_select()?];
        while self.takes("UNION")? {
            // Without ALL equal rows would become one.
            self.expect("ALL")?;
            self.expect("SELECT")?;
            all.push(self.one_select()?);
        }
        if all.iter().any(|select| select.items.len() != all[0].items.len()) {
            return Err(Refusal::not_here("UNION of different columns"));
        }
        Ok(Statement::Select(all))
    }

    fn one_select(&mut self) -> Read<Select> {
        while self.token.kind == Kind::Word && HINTS.iter().any(|word| self.token.is(word)) {
            self.advance()?;
        }
        let mut select = Select {
            items: self.items()?,
            from: From::Nothing,
            conditions: Vec::new(),
            order: None,
            limit: None,
        };
        if self.takes("FROM")? {
            select.from = self.from()?;
        }
        if self.takes("WHERE")? {
            select.conditions = self.conditions()?;
        }
        if self.is("GROUP") || self.is("HAVING") || self.is("PROCEDURE") || self.is("INTO") {
            return Err(self.not_here());
        }
        if self.takes_all(&["ORDER", "BY"])? {
            select.order = Some(self.order()?);
        }
        select.limit = self.limit()?;
        // Locks are of rows, which there are none of.
        let mut locks = self.takes_all(&["FOR", "UPDATE"])? || self.takes_all(&["FOR", "SHARE"])?;
        if locks {
            let _ = self.takes("NOWAIT")? || self.takes_all(&["SKIP", "LOCKED"])?;
        }
        locks |= self.takes_all(&["LOCK", "IN", "SHARE", "MODE"])?;
        select.of_library(locks)
    }

    /// What is shown.
    pub(super) fn items(&mut self) -> Read<Vec<Item>> {
        let mut items = vec![self.item()?];
        while self.takes_symbol(",")? {
            items.push(self.item()?);
            if items.len() > ITEMS_MAX {
                return Err(Refusal::not_here("more than 1024 columns"));
            }
        }
        // They may be kept for long.
        items.shrink_to_fit();
        Ok(items)
    }

    /// One of what is shown.
    fn item(&mut self) -> Read<Item> {
        if self.takes_symbol("*")? {
            return Ok(Item::All);
        }
        let start = self.token.at;
        let expression = self.expression()?;
        let written = self.lexer.text().get(start..self.end).unwrap_or_default();
        let alias = match () {
            () if self.takes("AS")? => Some(self.alias()?),
            () if self.is_alias() => Some(self.alias()?),
            () => None,
        };
        let name = match (&expression, alias) {
            (_, Some(alias)) => alias.into(),
            (Expression::Column(name) | Expression::Text(name), None) => name.clone(),
            _ => written.into(),
        };
        Ok(Item::One { expression, name })
    }

    fn is_alias(&self) -> bool {
        match self.token.kind {
            Kind::Name | Kind::Text => true,
            Kind::Word => !AFTER_ITEMS.iter().any(|word| self.token.is(word)),
            _ => false,
        }
    }

    fn alias(&mut self) -> Read<String> {
        if self.token.kind == Kind::Text {
            let alias = self.token.value().into_owned();
            self.advance()?;
            return Ok(alias);
        }
        self.plain_name()
    }

    fn from(&mut self) -> Read<From> {
        let name = self.name()?;
        let _ = self.takes("AS")?;
        if self.is_alias() {
            self.alias()?;
        }
        if self.token.is_symbol(",") || self.is("JOIN") || self.is("LEFT") || self.is("INNER") {
            return Err(self.not_here());
        }
        if name
            .schema
            .as_deref()
            .is_some_and(|schema| schema.eq_ignore_ascii_case("information_schema"))
        {
            return Ok(From::Catalogue(name.name.to_ascii_lowercase()));
        }
        if name.schema.is_none() && name.name.eq_ignore_ascii_case("dual") {
            return Ok(From::Nothing);
        }
        series(&name).map(|series| series.map_or(From::Table(name), From::Series))
    }

    /// What rows must have: comparisons of columns, all of which hold.
    pub(super) fn conditions(&mut self) -> Read<Vec<Condition>> {
        let mut all = Vec::new();
        loop {
            let before = *self;
            match self.condition() {
                Ok(condition) if self.is_after_condition() => all.push(condition),
                // What is not read so is true of no row that there is here.
                _ => {
                    *self = before;
                    self.skip_until(|token| AFTER_CONDITIONS.iter().any(|word| token.is(word)))?;
                    all.push(Condition::Other);
                }
            }
            if !self.takes("AND")? {
                return Ok(all);
            }
        }
    }

    fn is_after_condition(&self) -> bool {
        self.is_at_statement_end()
            || self.is("AND")
            || AFTER_CONDITIONS.iter().any(|word| self.token.is(word))
    }

    fn condition(&mut self) -> Read<Condition> {
        let left = self.sum_of_condition()?;
        if self.takes_symbol("=")? || self.takes_symbol("<=>")? {
            let right = self.sum_of_condition()?;
            return Ok(match (left, right) {
                (Expression::Column(name), value) | (value, Expression::Column(name)) => {
                    Condition::OneOf(lower(&name), vec![value])
                }
                _ => Condition::Other,
            });
        }
        let Expression::Column(name) = left else {
            return Ok(Condition::Other);
        };
        if self.takes_symbol(">")? {
            return Ok(Condition::Above(lower(&name), self.sum_of_condition()?));
        }
        if self.takes("LIKE")? {
            return Ok(Condition::Like(lower(&name), self.sum_of_condition()?));
        }
        if self.takes("IN")? {
            self.expect_symbol("(")?;
            let values = self.deeper(Self::expressions)?;
            self.expect_symbol(")")?;
            return Ok(Condition::OneOf(lower(&name), values));
        }
        Ok(Condition::Other)
    }

    /// One side of a comparison, which no comparison is itself.
    fn sum_of_condition(&mut self) -> Read<Expression> {
        if self.depth == 0 {
            self.operators = 0;
        }
        self.deeper(Self::sum)
    }

    /// Whether rows come in falling order.
    fn order(&mut self) -> Read<bool> {
        self.expression()?;
        let descending = self.takes("DESC")?;
        if !descending {
            self.takes("ASC")?;
        }
        while self.takes_symbol(",")? {
            self.expression()?;
            let _ = self.takes("DESC")? || self.takes("ASC")?;
        }
        Ok(descending)
    }

    /// `LIMIT [offset,] count`, `LIMIT count OFFSET offset`.
    fn limit(&mut self) -> Read<Option<(Expression, Expression)>> {
        if !self.takes("LIMIT")? {
            return Ok(None);
        }
        let first = self.expression()?;
        let nothing = Expression::Integer(0);
        Ok(Some(match () {
            () if self.takes_symbol(",")? => (first, self.expression()?),
            () if self.takes("OFFSET")? => (self.expression()?, first),
            () => (nothing, first),
        }))
    }
}

impl Select {
    /// As a query of a library's table, where it is one. Whoever locks such a row reckons with nobody taking its numbers
    /// meanwhile.
    fn of_library(mut self, locks: bool) -> Read<Select> {
        let From::Table(name) = &self.from else {
            return Ok(self);
        };
        let Some(library) = Library::named(&name.name).filter(|library| library.has_all(&self)) else {
            return Ok(self);
        };
        if locks {
            return Err(Refusal::not_here(&format!(
                "a lock on a row of {}: UPDATE reserves numbers, and the SELECT after it tells them",
                library.table()
            )));
        }
        self.from = From::Library(library);
        Ok(self)
    }
}

/// The series of a name that is one. In every database there are all of them.
pub(super) fn series(name: &SqlName) -> Read<Option<Series>> {
    if !name.name.starts_with("seq_") {
        return Ok(None);
    }
    match name.name.parse::<Series>() {
        Ok(series) => Ok(Some(series)),
        Err(SeriesError::ZeroStep) => Err(Refusal {
            errno: 1030,
            state: "HY000",
            text: "Got error 140 \"Wrong create options\" from storage engine SEQUENCE".into(),
            code: Code::InvalidArgument,
            ends_connection: false,
            database_at: None,
        }),
        // A sequence may be called almost so.
        Err(_) => Ok(None),
    }
}

/// Refuses columns that nothing has: before any number is taken, and where it is prepared, too.
pub(super) fn check_columns(select: &Select) -> Read<()> {
    let is_known = |column: &str| match &select.from {
        From::Nothing => false,
        From::Series(_) => column.eq_ignore_ascii_case("seq"),
        From::Table(_) | From::Library(_) | From::Catalogue(_) => true,
    };
    let is_machines = select.from == From::Library(Library::Machines);
    for item in &select.items {
        let Item::One { expression, .. } = item else {
            continue;
        };
        if !is_machines && expression.column(&|column| column == MAX_MACHINE).is_some() {
            return Err(Refusal::not_here("MAX(…)"));
        }
        if let Some(column) = expression.column(&|column| !is_known(column)) {
            return Err(Refusal::no_column(column, "SELECT"));
        }
    }
    Ok(())
}

fn lower(name: &str) -> Box<str> {
    name.to_ascii_lowercase().into()
}

/// How many columns a query may have.
const ITEMS_MAX: usize = 1024;

/// Words before the first item that change nothing here.
const HINTS: &[&str] = &[
    "SQL_NO_CACHE",
    "SQL_CACHE",
    "HIGH_PRIORITY",
    "ALL",
    "STRAIGHT_JOIN",
    "SQL_BUFFER_RESULT",
    "SQL_SMALL_RESULT",
    "SQL_BIG_RESULT",
];

/// Words that are no alias.
const AFTER_ITEMS: &[&str] = &[
    "FROM",
    "WHERE",
    "GROUP",
    "HAVING",
    "ORDER",
    "LIMIT",
    "UNION",
    "FOR",
    "LOCK",
    "INTO",
    "PROCEDURE",
    "JOIN",
    "LEFT",
    "INNER",
    "ON",
    "AND",
    "OR",
    "AS",
    "USE",
    "FORCE",
    "IGNORE",
];

/// Words that end what rows must have.
const AFTER_CONDITIONS: &[&str] = &[
    "GROUP",
    "HAVING",
    "ORDER",
    "LIMIT",
    "UNION",
    "FOR",
    "LOCK",
    "INTO",
    "PROCEDURE",
];
