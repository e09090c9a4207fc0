//! What a statement is once it has been read: free of its text.

pub(in crate::postgres) mod question;
mod weight;

use std::rc::Rc;

use mintage_ledger::Gap;

use crate::postgres::backend::Column;
use crate::postgres::errors::{Result, SqlError};
use crate::postgres::types::{Type, Value};
use crate::sql::names::{NotAName, SqlName};
use mintage_server::chassis::config::Keys;

/// A statement that can be run, any number of times.
#[derive(Debug)]
pub(in crate::postgres) struct Statement {
    pub(in crate::postgres) plan: Plan,
    /// The columns of its rows; `None` where it has none.
    pub(in crate::postgres) columns: Option<Vec<Column>>,
    /// The types of its parameters, as they were found.
    pub(in crate::postgres) parameters: Rc<[u32]>,
    /// The first of them in the text: its number, and where.
    pub(in crate::postgres) first_parameter: Option<(usize, usize)>,
    /// The sequences that must be there, and where they were named.
    pub(in crate::postgres) names: Vec<(Target, usize)>,
    /// It is `SELECT nextval('s')` and no more.
    pub(in crate::postgres) next: Option<Target>,
    /// How much memory all this takes.
    pub(in crate::postgres) bytes: usize,
}

impl Statement {
    /// Whether it is `SELECT nextval($1)` and no more.
    pub(in crate::postgres) fn takes_next_of_parameter(&self) -> bool {
        let Plan::Select(Select {
            items,
            from: From::Nothing,
            limit: None,
        }) = &self.plan
        else {
            return false;
        };
        match items.as_slice() {
            [Expr::Call(Function::Nextval, arguments)] => **arguments == [Expr::Parameter(0)],
            _ => false,
        }
    }
}

/// A sequence that is meant. Copies share its names, so that a list of the same one is small.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::postgres) struct Target(Rc<Names>);

/// What a sequence is called.
#[derive(PartialEq, Eq, Debug)]
pub(in crate::postgres) struct Names {
    /// Its name here.
    pub(in crate::postgres) key: Box<str>,
    /// As messages show it: what was written, without quotes.
    pub(in crate::postgres) shown: Rc<str>,
    /// The same without its schema.
    pub(in crate::postgres) relation: Box<str>,
}

impl std::ops::Deref for Target {
    type Target = Names;

    fn deref(&self) -> &Names {
        &self.0
    }
}

impl Target {
    pub(in crate::postgres) fn new(name: &SqlName, keys: &Keys) -> Target {
        Target(Rc::new(Names {
            key: name.key(OWN_SCHEMA, keys).into(),
            shown: name.to_string().into(),
            relation: name.name.as_str().into(),
        }))
    }

    /// The sequence of this key, as catalogues name it.
    pub(in crate::postgres) fn of_key(key: &str) -> Target {
        Target(Rc::new(Names {
            key: key.into(),
            shown: key.into(),
            relation: key.into(),
        }))
    }

    /// Out of a text, as that of `nextval`.
    pub(in crate::postgres) fn of_text(text: &str, keys: &Keys) -> Result<Target> {
        match SqlName::of_text(text) {
            Ok(name) => Ok(Target::new(&name, keys)),
            Err(NotAName::Syntax) => Err(SqlError::new("42602", "invalid name syntax")),
            Err(NotAName::TooManyParts) => {
                let text = crate::postgres::errors::shown(text);
                let message = format!("improper relation name (too many dotted names): {text}");
                Err(SqlError::new("42601", message))
            }
        }
    }
}

/// The schema whose name is no part of ours.
pub(in crate::postgres) const OWN_SCHEMA: &str = "public";

/// Schemas in which nobody makes anything.
pub(in crate::postgres) const OUR_SCHEMAS: [&str; 4] = ["next", "pg_catalog", "information_schema", "mint"];

#[derive(Debug)]
pub(in crate::postgres) enum Plan {
    Select(Select),
    Create(Create),
    Alter(Alter),
    Drop(Drop),
    /// INSERT, UPDATE, DELETE of a relation.
    ChangeRows(Target, usize),
    Transaction(Transaction),
    Declare(Declare),
    Fetch(Fetch),
    Close(Option<Box<str>>),
    Set(Set),
    SetTransaction {
        session: bool,
        modes: Modes,
    },
    Show(Box<str>),
    ShowAll,
    /// `None`: all.
    Reset(Option<Box<str>>),
    Discard(Discard),
    Deallocate(Option<Box<str>>),
    /// What asks for nothing that is here, and is answered with this tag.
    Nothing(&'static str),
}

#[derive(Debug)]
pub(in crate::postgres) struct Select {
    pub(in crate::postgres) items: Vec<Expr>,
    pub(in crate::postgres) from: From,
    pub(in crate::postgres) limit: Option<Expr>,
}

#[derive(Debug)]
pub(in crate::postgres) enum From {
    Nothing,
    /// `generate_series`.
    Series {
        first: Expr,
        last: Expr,
        step: Option<Expr>,
    },
    /// `mint_next(s, n)`.
    Next {
        sequence: Expr,
        count: Expr,
    },
    /// `mint_run(s, n)`: first, last, increment.
    Run {
        sequence: Expr,
        count: Expr,
    },
    /// One row of one value, of any function.
    Value(Expr),
    /// The row of a sequence: last_value, log_cnt, is_called.
    State(Target),
    /// `next.s`: one row, a new number.
    NextOf(Target),
    /// Rows about sequences, schemas and types.
    Catalogue(Box<question::Query>),
}

#[derive(Clone, PartialEq, Debug)]
pub(in crate::postgres) enum Expr {
    Constant(Value),
    /// A sequence that was named by a text, resolved when it was read.
    Sequence(Target),
    Parameter(usize),
    /// A column of the row that FROM gives.
    Column(usize),
    Cast(Box<Expr>, Type),
    Call(Function, Box<[Expr]>),
    Calculate(Box<Expr>, Operator, Box<Expr>),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::postgres) enum Operator {
    Add,
    Subtract,
    Multiply,
}

/// A function that gives one value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::postgres) enum Function {
    Nextval,
    Currval,
    Lastval,
    Setval,
    Uuid7,
    Uuid4,
    MintId,
    MintSnowflake,
    Version,
    CurrentSchema,
    CurrentUser,
    CurrentDatabase,
    BackendPid,
    IsInRecovery,
    SetConfig,
    CurrentSetting,
    AdvisoryUnlockAll,
    SequenceLastValue,
}

#[derive(Debug, Default)]
pub(in crate::postgres) struct Options {
    pub(in crate::postgres) kind: Option<IntegerKind>,
    pub(in crate::postgres) increment: Option<i64>,
    pub(in crate::postgres) min: Option<Bound>,
    pub(in crate::postgres) max: Option<Bound>,
    pub(in crate::postgres) start: Option<i64>,
    pub(in crate::postgres) restart: Option<Restart>,
    pub(in crate::postgres) cache: Option<i64>,
    pub(in crate::postgres) cycle: Option<bool>,
    pub(in crate::postgres) gap: Option<Gap>,
    pub(in crate::postgres) max_gap: Option<u64>,
    pub(in crate::postgres) owned: bool,
}

/// `MINVALUE n` or `NO MINVALUE`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::postgres) enum Bound {
    At(i64),
    Default,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::postgres) enum Restart {
    Start,
    With(i64),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::postgres) enum IntegerKind {
    Small,
    Integer,
    Big,
}

#[derive(Debug)]
pub(in crate::postgres) struct Create {
    pub(in crate::postgres) target: Target,
    pub(in crate::postgres) schema: Option<Box<str>>,
    pub(in crate::postgres) if_not_exists: bool,
    pub(in crate::postgres) options: Options,
}

#[derive(Debug)]
pub(in crate::postgres) struct Alter {
    pub(in crate::postgres) target: Target,
    pub(in crate::postgres) if_exists: bool,
    pub(in crate::postgres) options: Options,
}

#[derive(Debug)]
pub(in crate::postgres) struct Drop {
    pub(in crate::postgres) targets: Vec<Target>,
    pub(in crate::postgres) if_exists: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(in crate::postgres) struct Modes {
    pub(in crate::postgres) read_only: Option<bool>,
    pub(in crate::postgres) isolation: Option<&'static str>,
    pub(in crate::postgres) deferrable: Option<bool>,
}

#[derive(Debug)]
pub(in crate::postgres) enum Transaction {
    Begin { tag: &'static str, modes: Modes },
    Commit { chain: bool },
    Rollback { chain: bool },
    Savepoint(Box<str>),
    Release(Box<str>),
    RollbackTo(Box<str>),
}

#[derive(Debug)]
pub(in crate::postgres) struct Declare {
    pub(in crate::postgres) name: Box<str>,
    pub(in crate::postgres) hold: bool,
    pub(in crate::postgres) query: Rc<Statement>,
}

#[derive(Debug)]
pub(in crate::postgres) struct Fetch {
    pub(in crate::postgres) cursor: Box<str>,
    /// `None`: all that are left.
    pub(in crate::postgres) count: Option<u64>,
    /// MOVE: rows are passed over, not sent.
    pub(in crate::postgres) moves: bool,
}

#[derive(Debug)]
pub(in crate::postgres) struct Set {
    pub(in crate::postgres) name: Box<str>,
    /// `None`: the default.
    pub(in crate::postgres) value: Option<Box<str>>,
    pub(in crate::postgres) local: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::postgres) enum Discard {
    All,
    Sequences,
    Plans,
    Temp,
}

impl Plan {
    /// What may be run in a transaction that has failed.
    pub(in crate::postgres) fn ends_failure(&self) -> bool {
        matches!(
            self,
            Plan::Transaction(
                Transaction::Commit { .. } | Transaction::Rollback { .. } | Transaction::RollbackTo(_)
            )
        )
    }
}
