//! From texts to plans: a recursive descent over tokens that says exactly what is served, with positions.
//!
//! | file | what |
//! | --- | --- |
//! | `parser` | the token at hand, names, and what a statement has gathered |
//! | `expression` | expressions |
//! | `calls` | which functions there are, and what they take |
//! | `select` | SELECT and what it reads from |
//! | `catalogue`, `psql` | whether a SELECT asks a catalogue; psql's own questions |
//! | `question`, `condition`, `reading` | such a SELECT, where it is answered truly |
//! | `define` | CREATE, ALTER and DROP SEQUENCE |
//! | `control` | transactions, cursors, settings, DISCARD |

mod calls;
mod catalogue;
mod condition;
mod control;
mod define;
mod expression;
mod parser;
mod psql;
mod question;
mod reading;
mod select;

use std::rc::Rc;

pub(super) use parser::{PARAMETERS_MAX, Parser};

use super::errors::{Result, SqlError};
use super::plan::{Plan, Statement, Target};
use crate::sql::token::Kind;
use mintage_server::chassis::config::Keys;

/// Reads every statement of a text. One that is wrong refuses them all, as in PostgreSQL.
///
/// # Errors
/// What is wrong with it, and where.
pub(super) fn parse(text: &str, keys: &Keys) -> Result<Vec<Rc<Statement>>> {
    let mut parser = Parser::new(text, keys)?;
    let mut all = Vec::new();
    loop {
        while parser.eat_symbol(";")? {}
        if parser.token.kind == Kind::End {
            return Ok(all);
        }
        all.push(Rc::new(parser.statement()?.weighed()));
        if parser.token.kind != Kind::End && !parser.token.is_symbol(";") {
            return Err(parser.unexpected());
        }
    }
}

/// What a statement begins with: what PostgreSQL knows and this server does not do.
const UNSUPPORTED: [&str; 41] = [
    "analyze",
    "analyse",
    "call",
    "checkpoint",
    "cluster",
    "comment",
    "copy",
    "do",
    "execute",
    "explain",
    "grant",
    "import",
    "listen",
    "load",
    "lock",
    "merge",
    "notify",
    "prepare",
    "reassign",
    "refresh",
    "reindex",
    "revoke",
    "security",
    "table",
    "truncate",
    "vacuum",
    "values",
    "with",
    "create",
    "alter",
    "drop",
    "set",
    "start",
    "move",
    "declare",
    "fetch",
    "commit",
    "rollback",
    "insert",
    "update",
    "delete",
];

impl Parser<'_> {
    /// One statement, up to its `;`.
    fn statement(&mut self) -> Result<Statement> {
        self.begin_statement();
        let word = self.token.value().into_owned();
        let at_word = self.token;
        let is_word = at_word.kind == Kind::Word;
        let plan = match word.as_str() {
            "select" if is_word => return self.select_statement(),
            "create" if is_word => self.create()?,
            "alter" if is_word => self.alter()?,
            "drop" if is_word => self.drop()?,
            "insert" | "update" | "delete" if is_word => self.change_rows()?,
            word if is_word => match self.control(word)? {
                Some(plan) => plan,
                None if UNSUPPORTED.contains(&word) => {
                    return Err(SqlError::unsupported(&word.to_uppercase()).at(at_word.at));
                }
                None => return Err(self.unexpected()),
            },
            _ if at_word.is_symbol("(") => {
                return Err(SqlError::unsupported("a query in parentheses").at(at_word.at));
            }
            _ => return Err(self.unexpected()),
        };
        Ok(self.finished(plan))
    }

    /// A statement without rows of its own.
    fn finished(&mut self, plan: Plan) -> Statement {
        let columns = match &plan {
            Plan::Show(name) => Some(vec![super::backend::Column::new(
                super::known::title(name),
                super::types::Type::Text,
            )]),
            Plan::ShowAll => Some(super::known::show_all_columns()),
            _ => None,
        };
        let (parameters, names) = self.gathered();
        Statement {
            plan,
            columns,
            parameters,
            first_parameter: self.first_parameter,
            names,
            next: None,
            bytes: 0,
        }
    }

    /// INSERT, UPDATE, DELETE: of their relation alone is read what it is.
    fn change_rows(&mut self) -> Result<Plan> {
        let begins = self.token;
        self.advance()?;
        match () {
            () if begins.is("insert") => self.expect("into")?,
            () if begins.is("delete") => self.expect("from")?,
            () => {}
        }
        self.eat("only")?;
        let at = self.token.at;
        let name = self.qualified()?;
        let target = Target::new(&name, self.keys);
        self.skip_statement()?;
        Ok(Plan::ChangeRows(target, at))
    }
}

#[cfg(test)]
mod tests;
