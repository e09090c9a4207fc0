//! What is told of sequences where clients ask PostgreSQL's catalogues.
//!
//! | file | what |
//! | --- | --- |
//! | `tables` | the rows of tables that are answered truly |
//! | `answer` | questions to them: which rows, which columns |
//! | `psql` | what psql is answered for `\ds`, `\d`, `\dn`, `\l` |
//! | `unknown` | every other: no row |

mod answer;
mod psql;
mod tables;
mod unknown;

pub(crate) use unknown::expose;

use super::errors::Result;
use super::execute::Client;
use super::plan::Expr;
use super::plan::question::Query;
use super::types::Value;

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
