//! What may be said of columns while a question to a catalogue is read.

use super::Parser;
use crate::postgres::errors::{Result, SqlError};
use crate::postgres::plan::question::{Beside, Table};
use crate::postgres::types::Type;
use crate::sql::names::SqlName;

/// What may be said of columns while a question is read.
pub(super) struct Reading {
    pub(super) table: Table,
    pub(super) beside: Option<Beside>,
    /// What the tables are called: which of the two, by every name it has.
    pub(super) names: Vec<(String, bool)>,
    pub(super) columns: Vec<(&'static str, Type)>,
    pub(super) own: usize,
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

/// A column: with the name of its table, or the schema of that too.
pub(super) fn column_name(parser: &mut Parser<'_>) -> Result<SqlName> {
    let name = parser.qualified()?;
    // Types are told of by the columns themselves.
    while parser.eat_symbol("::")? {
        parser.qualified()?;
    }
    Ok(name)
}
