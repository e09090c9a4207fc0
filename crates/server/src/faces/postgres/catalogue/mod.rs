//! What is told of sequences where clients ask PostgreSQL's catalogues.
//!
//! | file | what |
//! | --- | --- |
//! | `tables` | the tables that are answered truly: what columns they have, and their rows |
//! | `question`, `condition` | a SELECT of them: single tables, `=` and `IN` |
//! | `psql` | what psql asks for `\ds`, `\d`, `\dn`, `\l` |
//! | `unknown` | every other: no row, with the columns asked for |

mod condition;
mod psql;
mod question;
mod tables;
mod unknown;

pub(crate) use unknown::expose;

use super::backend::Column;
use super::errors::Result;
use super::execute::Client;
use super::grammar::Parser;
use super::plan::{Expr, From};
use super::types::Value;
use crate::faces::sql::token::Kind;

/// A question to a catalogue.
#[derive(Debug)]
pub(super) enum Query {
    Tables(question::Question),
    Psql(psql::Asked),
    /// What is asked for, for the log.
    Unknown(Box<str>),
}

/// A SELECT of a catalogue.
pub(super) struct Found {
    pub(super) from: From,
    pub(super) columns: Vec<Column>,
}

impl Found {
    fn new(query: Query, columns: Vec<Column>) -> Found {
        Found {
            from: From::Catalogue(Box::new(query)),
            columns,
        }
    }
}

/// Reads a SELECT that a catalogue is asked by, up to its end; `None`: it is about none.
///
/// # Errors
/// It is no text of tokens.
pub(super) fn read(parser: &mut Parser<'_>) -> Result<Option<Found>> {
    let Some(text) = about_catalogue(parser)? else {
        return Ok(None);
    };
    if let Some((asked, columns)) = psql::read(text) {
        parser.skip_statement()?;
        return Ok(Some(Found::new(Query::Psql(asked), columns)));
    }
    let place = parser.place();
    let read = question::read(parser);
    if let Ok((question, columns)) = read
        && parser.is_at_end()
    {
        return Ok(Some(Found::new(Query::Tables(question), columns)));
    }
    parser.go_to(place);
    parser.begin_statement();
    unknown::read(parser, text).map(Some)
}

/// The text of the statement, if FROM or JOIN names a catalogue in it.
fn about_catalogue<'t>(parser: &Parser<'t>) -> Result<Option<&'t str>> {
    let (mut ahead, begins) = (parser.tokens(), parser.token.at);
    let (mut found, mut end) = (false, begins);
    let mut token = parser.token;
    while token.kind != Kind::End && !token.is_symbol(";") {
        end = token.end();
        let reads = token.is("from") || token.is("join") || token.is_symbol(",");
        let comma = token.is_symbol(",");
        token = ahead.next()?;
        if reads && (token.is("pg_catalog") || token.is("information_schema")) {
            // In a list of values it is a function or a column of one.
            found |= !comma;
        } else if reads && !comma && token.kind == Kind::Word {
            let name = token.value();
            found |= name.starts_with("pg_")
                && (!ahead.peek()?.is_symbol("(") || name == "pg_sequence_parameters");
        }
    }
    Ok(found.then(|| &parser.text()[begins..end]))
}

impl Client {
    /// The rows that a question is answered with.
    pub(super) async fn catalogue(&mut self, query: &Query, parameters: &[Value]) -> Result<Vec<Vec<Value>>> {
        match query {
            Query::Tables(question) => self.answer(question, parameters).await,
            Query::Psql(asked) => self.answer_psql(asked).await,
            Query::Unknown(text) => {
                unknown::count(&self.thread);
                tracing::debug!(peer = %self.peer, text = &**text, "a catalogue was asked that is not here: no row");
                Ok(Vec::new())
            }
        }
    }

    /// The value of an expression that needs no row.
    async fn plain(&mut self, expr: &Expr, parameters: &[Value]) -> Result<Value> {
        self.value_without_row(expr, parameters).await
    }
}
