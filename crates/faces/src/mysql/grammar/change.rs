//! `INSERT`, `REPLACE`, `UPDATE`: tickets.

use super::query::series;
use super::{Parser, Read};
use crate::mysql::library::added;
use crate::mysql::plan::{Advance, Expression, Statement, Ticket};
use crate::mysql::refusal::Refusal;
use crate::mysql::tables::Library;
use crate::sql::names::SqlName;

/// The rows that are to be made.
#[derive(Default)]
struct Rows {
    count: u64,
    ids: Vec<Expression>,
}

impl Parser<'_> {
    /// From behind `INSERT` or `REPLACE` on.
    pub(super) fn insert(&mut self, replaces: bool) -> Read<Statement> {
        let start = *self;
        let mut ignores = false;
        while ["LOW_PRIORITY", "DELAYED", "HIGH_PRIORITY", "IGNORE"]
            .iter()
            .any(|word| self.is(word))
        {
            ignores |= self.is("IGNORE");
            self.advance()?;
        }
        let _ = self.takes("INTO")?;
        let table = self.table()?;
        if let Some(library) = Library::named(&table.name)
            && let Some(statement) = self.library_insert(library, replaces, ignores)?
        {
            return Ok(statement);
        }
        let rows = match () {
            () if self.takes("SET")? => self.assigned_row()?,
            () if self.token.is_symbol("(") => {
                let columns = self.columns()?;
                self.rows(Some(&columns))?
            }
            () => self.rows(None)?,
        };
        if self.is("SELECT") {
            return Err(start.not_here());
        }
        if !self.takes("ON")? {
            let returning = match self.takes("RETURNING")? {
                true => self.items()?,
                false => Vec::new(),
            };
            return Ok(Statement::Ticket(Ticket {
                table,
                replaces,
                rows: rows.count,
                ids: rows.ids,
                returning,
            }));
        }
        self.expect("DUPLICATE")?;
        self.expect("KEY")?;
        self.expect("UPDATE")?;
        match self.advance_by()? {
            // A row that is there counts twice.
            Some(by) if rows.count == 1 => Ok(Statement::Advance(Advance {
                table,
                by,
                affected: 2,
            })),
            _ => Err(start.not_here()),
        }
    }

    /// From behind `UPDATE` on.
    pub(super) fn update(&mut self) -> Read<Statement> {
        let start = *self;
        let _ = self.takes("LOW_PRIORITY")?;
        let _ = self.takes("IGNORE")?;
        let table = self.table()?;
        self.expect("SET")?;
        if let Some(library) = Library::named(&table.name)
            && let Some(statement) = self.library_update(library)?
        {
            return Ok(statement);
        }
        let by = self.advance_by()?;
        if self.takes("WHERE")? || self.takes("ORDER")? || self.takes("LIMIT")? {
            self.skip_statement()?;
        }
        match by {
            Some(by) => Ok(Statement::Advance(Advance {
                table,
                by,
                affected: 1,
            })),
            None => Err(start.not_here()),
        }
    }

    /// A table that is no series: those are read only.
    fn table(&mut self) -> Read<SqlName> {
        let name = self.name()?;
        match series(&name)? {
            Some(_) => Err(Refusal::series(&name)),
            None => Ok(name),
        }
    }

    /// From behind `DELETE` or `TRUNCATE` on: nothing is removed, and of a series nothing can be.
    pub(super) fn remove(&mut self) -> Read<Statement> {
        let start = *self;
        while ["LOW_PRIORITY", "QUICK", "IGNORE", "FROM", "TABLE"]
            .iter()
            .any(|word| self.is(word))
        {
            self.advance()?;
        }
        self.table()?;
        Err(start.not_here())
    }

    /// `(a, b)`, which may be empty.
    pub(super) fn columns(&mut self) -> Read<Vec<String>> {
        self.expect_symbol("(")?;
        let mut columns = Vec::new();
        while !self.token.is_symbol(")") {
            columns.push(self.name()?.name);
            if !self.takes_symbol(",")? {
                break;
            }
        }
        self.expect_symbol(")")?;
        Ok(columns)
    }

    /// `VALUES (…), (…)`.
    fn rows(&mut self, columns: Option<&[String]>) -> Read<Rows> {
        if self.is("SELECT") {
            return Err(Refusal::not_here("INSERT … SELECT"));
        }
        if !self.takes("VALUES")? && !self.takes("VALUE")? {
            return Err(self.syntax());
        }
        let id_at = columns.map(|columns| columns.iter().position(|name| is_id(name)));
        let mut rows = Rows::default();
        loop {
            let (values, id) = self.row(id_at)?;
            rows.count += 1;
            let expected = columns.map_or(values, <[String]>::len);
            if values != expected && values > 0 || values == 0 && expected > 0 {
                return Err(Refusal::column_count(rows.count));
            }
            rows.push(id);
            if !self.takes_symbol(",")? {
                return Ok(rows.settled());
            }
        }
    }

    /// One row: how many values it has, and what it says of the id. Without a list of columns the first value is the id,
    /// if it can be one.
    fn row(&mut self, id_at: Option<Option<usize>>) -> Read<(usize, Option<Expression>)> {
        self.expect_symbol("(")?;
        let (mut count, mut id) = (0, None);
        while !self.token.is_symbol(")") {
            let is_id = match id_at {
                Some(at) => at == Some(count),
                None => count == 0,
            };
            match is_id {
                true => id = self.id(id_at.is_some())?,
                false => self.skip_until(|token| token.is_symbol(",") || token.is_symbol(")"))?,
            }
            count += 1;
            if !self.takes_symbol(",")? {
                break;
            }
        }
        self.expect_symbol(")")?;
        Ok((count, id))
    }

    /// The value of an id; `None`: one that is made. Anything at all where `is_named` is false and it is no number.
    fn id(&mut self, is_named: bool) -> Read<Option<Expression>> {
        let before = *self;
        if self.takes("DEFAULT")? {
            return Ok(None);
        }
        let read = self.expression();
        let may_be_one = |id: &Expression| {
            is_named
                || matches!(
                    id,
                    Expression::Integer(_)
                        | Expression::Unsigned(_)
                        | Expression::Null
                        | Expression::Parameter(_)
                )
        };
        match read {
            Ok(Expression::Null | Expression::Integer(0)) => Ok(None),
            Ok(id) if may_be_one(&id) => Ok(Some(id)),
            Err(refusal) if is_named => Err(refusal),
            _ => {
                *self = before;
                self.skip_until(|token| token.is_symbol(",") || token.is_symbol(")"))?;
                Ok(None)
            }
        }
    }

    /// `SET a = b, c = d`.
    fn assigned_row(&mut self) -> Read<Rows> {
        let mut rows = Rows {
            count: 1,
            ids: Vec::new(),
        };
        let mut id = None;
        loop {
            let name = self.name()?;
            self.expect_symbol("=")?;
            match is_id(&name.name) {
                true => id = self.id(true)?,
                false => {
                    self.skip_until(|token| token.is_symbol(",") || token.is("ON") || token.is("RETURNING"))?;
                }
            }
            if !self.takes_symbol(",")? {
                break;
            }
        }
        rows.ids.push(id.unwrap_or(Expression::Null));
        Ok(rows.settled())
    }

    /// Assignments, one of them `id = LAST_INSERT_ID(id + n)`: its `n`.
    fn advance_by(&mut self) -> Read<Option<Expression>> {
        let mut by = None;
        loop {
            let name = self.name()?;
            self.expect_symbol("=")?;
            let before = *self;
            match self.expression() {
                Ok(Expression::LastInsertId(Some(next))) => match added(&name.name, &next) {
                    Some(found) if by.is_none() => by = Some(found.clone()),
                    _ => return Ok(None),
                },
                Ok(_) => {}
                Err(_) => {
                    *self = before;
                    self.skip_until(|token| token.is_symbol(",") || token.is("WHERE"))?;
                }
            }
            if !self.takes_symbol(",")? {
                return Ok(by);
            }
        }
    }
}

impl Rows {
    fn push(&mut self, id: Option<Expression>) {
        self.ids.push(id.unwrap_or(Expression::Null));
    }

    /// Without a list of ids where none was written.
    fn settled(mut self) -> Rows {
        if self.ids.iter().all(|id| *id == Expression::Null) {
            self.ids = Vec::new();
        }
        self
    }
}

fn is_id(name: &str) -> bool {
    name.eq_ignore_ascii_case("id")
}
