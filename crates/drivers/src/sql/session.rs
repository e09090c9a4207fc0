//! What the SQL stores need of a driver: a connection that runs statements, and the judgement of its errors.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::super::{Durability, Outcome, StoreError, StoreErrorKind, StoreSettings};
use super::row::{Arg, Column, Row};
use super::statements::Texts;
use crate::advice::Advice;
use crate::runtime::BoxFuture;

/// One connection to a server. Dropping it closes it; one whose call was dropped half-way must be dropped too.
pub trait Session: Send + Sized + 'static {
    /// Runs a statement and answers how many rows it matched, only once the server has said that all of it is
    /// done: PostgreSQL sends rows and counts before it commits.
    fn execute<'a>(
        &'a mut self,
        sql: &Arc<str>,
        args: &'a [Arg<'a>],
    ) -> BoxFuture<'a, Result<u64, sqlx::Error>>;

    /// The same of a write that answers a number with what it matched: how many rows, and that number.
    fn write<'a>(
        &'a mut self,
        sql: &Arc<str>,
        args: &'a [Arg<'a>],
    ) -> BoxFuture<'a, Result<(u64, Option<i64>), sqlx::Error>>;

    /// Runs a query and answers all its rows, with the columns of `shape`.
    fn rows<'a>(
        &'a mut self,
        sql: &Arc<str>,
        args: &'a [Arg<'a>],
        shape: &'a [Column],
    ) -> BoxFuture<'a, Result<Vec<Row>, sqlx::Error>>;

    /// Runs statements without parameters, one after the other.
    fn script<'a>(&'a mut self, sql: &str) -> BoxFuture<'a, Result<(), sqlx::Error>>;

    /// One round trip that does nothing.
    fn ping(&mut self) -> BoxFuture<'_, Result<(), sqlx::Error>>;

    /// Says goodbye.
    fn end(self) -> BoxFuture<'static, ()>;
}

/// Implements [`Session`] for a connection of sqlx; the two drivers differ in their types and in what answers a write.
macro_rules! session {
    ($connection:ty, $run:ident, $written:expr) => {
        impl $crate::sql::session::Session for $connection {
            fn execute<'a>(
                &'a mut self,
                sql: &std::sync::Arc<str>,
                args: &'a [Arg<'a>],
            ) -> $crate::runtime::BoxFuture<'a, Result<u64, sqlx::Error>> {
                let sql = sqlx::AssertSqlSafe(std::sync::Arc::clone(sql));
                Box::pin(async move {
                    let mut query = sqlx::query(sql);
                    for arg in args {
                        query = match *arg {
                            Arg::Text(text) => query.bind(text),
                            Arg::Int(int) => query.bind(int),
                        };
                    }
                    let answer = $crate::sql::warned::unwarned(query.execute(self));
                    Ok(answer.await?.rows_affected())
                })
            }

            fn write<'a>(
                &'a mut self,
                sql: &std::sync::Arc<str>,
                args: &'a [Arg<'a>],
            ) -> $crate::runtime::BoxFuture<'a, Result<(u64, Option<i64>), sqlx::Error>> {
                let sql = sqlx::AssertSqlSafe(std::sync::Arc::clone(sql));
                Box::pin(async move {
                    let mut query = sqlx::query(sql);
                    for arg in args {
                        query = match *arg {
                            Arg::Text(text) => query.bind(text),
                            Arg::Int(int) => query.bind(int),
                        };
                    }
                    let answer = $crate::sql::warned::unwarned(query.$run(self)).await?;
                    ($written)(answer)
                })
            }

            fn rows<'a>(
                &'a mut self,
                sql: &std::sync::Arc<str>,
                args: &'a [Arg<'a>],
                shape: &'a [Column],
            ) -> $crate::runtime::BoxFuture<'a, Result<Vec<Row>, sqlx::Error>> {
                let sql = sqlx::AssertSqlSafe(std::sync::Arc::clone(sql));
                Box::pin(async move {
                    let mut query = sqlx::query(sql);
                    for arg in args {
                        query = match *arg {
                            Arg::Text(text) => query.bind(text),
                            Arg::Int(int) => query.bind(int),
                        };
                    }
                    let found = query.fetch_all(self).await?;
                    let mut rows = Vec::with_capacity(found.len());
                    for row in &found {
                        let mut fields = Vec::with_capacity(shape.len());
                        for (at, column) in shape.iter().enumerate() {
                            let field = match column {
                                Column::Text => sqlx::Row::try_get_unchecked::<Option<String>, _>(row, at)?
                                    .map(Field::Text),
                                Column::Int => sqlx::Row::try_get::<Option<i64>, _>(row, at)?.map(Field::Int),
                            };
                            fields.push(field.unwrap_or(Field::Null));
                        }
                        rows.push(fields);
                    }
                    Ok(rows)
                })
            }

            fn script<'a>(
                &'a mut self,
                sql: &str,
            ) -> $crate::runtime::BoxFuture<'a, Result<(), sqlx::Error>> {
                let sql = sqlx::AssertSqlSafe(sql.to_string());
                Box::pin(async move {
                    $crate::sql::warned::unwarned(sqlx::raw_sql(sql).execute(self)).await?;
                    Ok(())
                })
            }

            fn ping(&mut self) -> $crate::runtime::BoxFuture<'_, Result<(), sqlx::Error>> {
                Box::pin(sqlx::Connection::ping(self))
            }

            fn end(self) -> $crate::runtime::BoxFuture<'static, ()> {
                Box::pin(async move {
                    // It is going away: an error tells nothing that matters.
                    let _ = sqlx::Connection::close(self).await;
                })
            }
        }
    };
}
pub(crate) use session;

/// A server that a URL names.
pub struct Server<O> {
    /// What the driver connects with, the password too.
    pub options: O,
    /// The server without its password, for people.
    pub label: String,
    /// How long one statement may take.
    pub request_timeout: Duration,
}

impl<O> fmt::Debug for Server<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.label)
    }
}

/// One kind of SQL server: how to reach it, its SQL, its errors and what its settings promise.
pub trait Dialect: fmt::Debug + Send + Sync + Sized + 'static {
    /// Its connection.
    type Session: Session;
    /// The scheme of its URLs.
    const SCHEME: &'static str;
    /// Where its SQL differs from the other's.
    const TEXTS: Texts;
    /// How many statements [`Dialect::probe`] runs at most, one after the other.
    const PROBE_STATEMENTS: u32;

    /// Reads what follows the scheme and its colon, without connecting.
    fn of_url(rest: &str, settings: &StoreSettings) -> Result<Self, StoreError>;

    /// Host, port and database, without credentials: for messages.
    fn label(&self) -> &str;

    /// Connects, and settles the session: one statement one transaction, no silent truncation, every
    /// acknowledged write durable.
    fn connect(&self) -> BoxFuture<'static, Result<Self::Session, sqlx::Error>>;

    /// What an error that the server itself answered means.
    fn sort(&self, error: &(dyn sqlx::error::DatabaseError + 'static)) -> Sort;

    /// What must be the same as at the last probe of this session for that to hold still, where a session can live on
    /// while the data behind it becomes another; one round trip.
    fn view<'a>(&'a self, _: &'a mut Self::Session) -> BoxFuture<'a, Result<Option<u64>, sqlx::Error>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    /// Which of the server's own sessions runs the statements of this one, where a pooler may hand out another each
    /// time.
    fn backend<'a>(&'a self, _: &'a mut Self::Session) -> BoxFuture<'a, Result<Option<i64>, sqlx::Error>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    /// Reads the settings that decide what the server may forget.
    fn probe<'a>(&'a self, session: &'a mut Self::Session) -> BoxFuture<'a, Result<Probe, sqlx::Error>>;
}

/// What a server says of itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Probe {
    /// What it may forget.
    pub durability: Durability,
    /// Which copy of the data this is: changes when another copy takes over, not at a restart.
    pub copy: String,
    /// When the server was started, in seconds since 1970 of its own clock, give or take a second or two.
    pub started_s: i64,
    /// Why it takes no writes now, if so.
    pub unwritable: Option<String>,
    /// What [`Dialect::view`] answered.
    pub view: Option<u64>,
}

/// What a failed statement means for the caller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sort {
    /// The row is there already.
    Duplicate,
    /// Rolled back for the sake of another transaction: may be repeated at once.
    Again,
    /// Table, schema or database do not exist.
    Missing,
    /// No such account, wrong password, or no right to do this.
    Denied,
    /// The server takes no writes.
    ReadOnly,
    /// No space.
    Full,
    /// Too many connections, starting up, waited too long for a lock.
    Busy,
    /// The server does not know what this session told it: a pooler in between hands out another for each
    /// transaction.
    Pooled,
    /// Any other refusal; certainly not done.
    Refused,
    /// What is stored is damaged.
    Damaged,
    /// The connection ended, or the server did, while the statement was under way.
    Unclear,
}

/// A failed statement.
#[derive(Debug)]
pub struct Fault {
    /// What the error means.
    pub sort: Sort,
    /// In the server's or the driver's words.
    pub text: String,
}

impl Fault {
    /// Judges an error next to the driver call.
    pub fn new<D: Dialect>(dialect: &D, error: &sqlx::Error) -> Fault {
        let sort = match error {
            sqlx::Error::Database(error) => dialect.sort(&**error),
            // Refused before anything was sent.
            sqlx::Error::Encode(_) | sqlx::Error::InvalidArgument(_) | sqlx::Error::Configuration(_) => {
                Sort::Refused
            }
            _ => Sort::Unclear,
        };
        let text = match error {
            sqlx::Error::Database(error) => error.to_string(),
            sqlx::Error::Io(error) => error.to_string(),
            other => other.to_string(),
        };
        Fault {
            sort,
            text: one_line(&text),
        }
    }

    /// No answer in time.
    pub fn late(after: std::time::Duration) -> Fault {
        Fault {
            sort: Sort::Unclear,
            text: format!("no answer within {after:?}"),
        }
    }

    /// The error that a store call answers; `outcome` is what an unclear end means for it.
    pub fn error(self, store: &str, what: &str, outcome: Outcome) -> StoreError {
        let (kind, hint): (_, Option<Advice>) = match self.sort {
            Sort::Denied => (StoreErrorKind::Denied, Some(Advice::AllowRights)),
            Sort::ReadOnly => (
                StoreErrorKind::Unavailable,
                Some(
                    "name the primary in the URL; it goes on by itself when the server takes writes again"
                        .into(),
                ),
            ),
            Sort::Full => (
                StoreErrorKind::Unavailable,
                Some("free space on the server; it goes on by itself".into()),
            ),
            Sort::Damaged => (
                StoreErrorKind::Corrupt,
                Some("restore the database from a backup".into()),
            ),
            Sort::Missing => (StoreErrorKind::Foreign, Some(Advice::Initialise { place: None })),
            Sort::Pooled => (
                StoreErrorKind::Unavailable,
                Some(
                    "a pooler in transaction mode stands before the server: name the server itself, or set \
                     pool_mode = session for this database"
                        .into(),
                ),
            ),
            Sort::Duplicate | Sort::Again | Sort::Busy | Sort::Refused | Sort::Unclear => {
                (StoreErrorKind::Unavailable, None)
            }
        };
        let outcome = match self.sort {
            Sort::Unclear => outcome,
            _ => Outcome::NotDone,
        };
        StoreError {
            hint,
            ..StoreError::new(kind, outcome, format!("store {store}: {what}: {}", self.text))
        }
    }
}

/// Server messages may have several lines and end in a full stop.
fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").trim_end_matches('.').to_string()
}
