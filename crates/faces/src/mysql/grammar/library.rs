//! Statements on the tables of libraries (`super::super::library`).

use super::{Parser, Read};
use crate::mysql::plan::{Change, LibraryChange, NewRow};
use crate::mysql::plan::{Condition, Expression, Statement};
use crate::mysql::refusal::Refusal;
use crate::mysql::tables::Library;

impl Parser<'_> {
    /// From behind `UPDATE … SET` on. `None`: it is nothing that a library does, and nothing was read.
    pub(super) fn library_update(&mut self, table: Library) -> Read<Option<Statement>> {
        let before = *self;
        let change = match self.set_where() {
            Ok(Some((set, conditions))) => table.update(&set, &conditions)?,
            _ => None,
        };
        if change.is_none() {
            *self = before;
        }
        Ok(change.map(|change| Statement::Library(LibraryChange { table, change })))
    }

    /// `a = b, … WHERE …`, up to the end of the statement.
    #[allow(clippy::type_complexity, reason = "taken apart at once")]
    fn set_where(&mut self) -> Read<Option<(Vec<(Box<str>, Expression)>, Vec<Condition>)>> {
        let mut set = Vec::new();
        loop {
            let column = self.name()?.name;
            self.expect_symbol("=")?;
            set.push((column.into(), self.expression()?));
            if !self.takes_symbol(",")? {
                break;
            }
        }
        let conditions = match self.takes("WHERE")? {
            true => self.conditions()?,
            false => Vec::new(),
        };
        Ok(self.is_at_statement_end().then_some((set, conditions)))
    }

    /// From behind `INSERT … INTO t` on. `None`: its columns are not this table's, and nothing was read.
    pub(super) fn library_insert(
        &mut self,
        table: Library,
        replaces: bool,
        ignores: bool,
    ) -> Read<Option<Statement>> {
        let before = *self;
        let columns: Vec<String> = match self.token.is_symbol("(") {
            true => self.columns()?,
            false => table.columns().iter().map(|(name, _)| (*name).into()).collect(),
        };
        let is_own = columns.iter().all(|column| table.kind(column).is_some());
        if !is_own || columns.is_empty() || !(self.takes("VALUES")? || self.takes("VALUE")?) {
            *self = before;
            return Ok(None);
        }
        if table == Library::Machines {
            return Err(Refusal::not_here(
                "a row of cosid_machine: the SELECT by namespace and instance_id leases a number",
            ));
        }
        let mut rows = Vec::new();
        loop {
            rows.push(self.library_row(table, &columns, rows.len() as u64 + 1)?);
            if !self.takes_symbol(",")? {
                break;
            }
        }
        if replaces || !self.is_at_statement_end() {
            return Err(Refusal::not_here(&format!(
                "a row of {} that replaces or changes another",
                table.table()
            )));
        }
        rows.shrink_to_fit();
        let change = Change::Insert { rows, ignores };
        Ok(Some(Statement::Library(LibraryChange { table, change })))
    }

    fn library_row(&mut self, table: Library, columns: &[String], at: u64) -> Read<NewRow> {
        let mut values = Vec::new();
        self.expect_symbol("(")?;
        loop {
            values.push(match self.takes("DEFAULT")? {
                true => None,
                false => Some(self.expression()?),
            });
            if !self.takes_symbol(",")? {
                break;
            }
        }
        self.expect_symbol(")")?;
        if values.len() != columns.len() {
            return Err(Refusal::column_count(at));
        }
        let mut of = |wanted: &str| {
            let place = columns
                .iter()
                .position(|column| column.eq_ignore_ascii_case(wanted))?;
            values[place].take()
        };
        Ok(NewRow {
            key: of(table.key()).unwrap_or_else(|| Expression::Text("".into())),
            at: of(table.counts()),
        })
    }
}
