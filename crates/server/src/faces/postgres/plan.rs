//! What a statement is once it has been read: free of its text.

use std::rc::Rc;

use mintage_ledger::Gap;

use super::backend::Column;
use super::errors::{Result, SqlError};
use super::types::{Type, Value};
use crate::config::Keys;
use crate::faces::sql::names::{NotAName, SqlName};

/// A statement that can be run, any number of times.
#[derive(Debug)]
pub(super) struct Statement {
    pub(super) plan: Plan,
    /// The columns of its rows; `None` where it has none.
    pub(super) columns: Option<Vec<Column>>,
    /// The types of its parameters, as they were found.
    pub(super) parameters: Rc<[u32]>,
    /// The sequences that must be there, and where they were named.
    pub(super) names: Vec<(Target, usize)>,
    /// It is `SELECT nextval('s')` and no more.
    pub(super) next: Option<Target>,
}

impl Statement {
    /// Whether it is `SELECT nextval($1)` and no more.
    pub(super) fn takes_next_of_parameter(&self) -> bool {
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

/// A sequence that is meant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Target {
    /// Its name here.
    pub(super) key: Rc<str>,
    /// As messages show it: what was written, without quotes.
    pub(super) shown: Rc<str>,
    /// The same without its schema.
    pub(super) relation: Rc<str>,
}

impl Target {
    pub(super) fn new(name: &SqlName, keys: &Keys) -> Target {
        Target {
            key: name.key(OWN_SCHEMA, keys).into(),
            shown: name.to_string().into(),
            relation: name.name.as_str().into(),
        }
    }

    /// Out of a text, as that of `nextval`.
    pub(super) fn of_text(text: &str, keys: &Keys) -> Result<Target> {
        match SqlName::of_text(text) {
            Ok(name) => Ok(Target::new(&name, keys)),
            Err(NotAName::Syntax) => Err(SqlError::new("42602", "invalid name syntax")),
            Err(NotAName::TooManyParts) => {
                let text = super::errors::shown(text);
                let message = format!("improper relation name (too many dotted names): {text}");
                Err(SqlError::new("42601", message))
            }
        }
    }
}

/// The schema whose name is no part of ours.
pub(super) const OWN_SCHEMA: &str = "public";

/// Schemas in which nobody makes anything.
pub(super) const OUR_SCHEMAS: [&str; 4] = ["next", "pg_catalog", "information_schema", "mint"];

#[derive(Debug)]
pub(super) enum Plan {
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
pub(super) struct Select {
    pub(super) items: Vec<Expr>,
    pub(super) from: From,
    pub(super) limit: Option<Expr>,
}

#[derive(Debug)]
pub(super) enum From {
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
    Catalogue(Box<super::catalogue::Query>),
}

#[derive(Clone, PartialEq, Debug)]
pub(super) enum Expr {
    Constant(Value),
    /// A sequence that was named by a text, resolved when it was read.
    Sequence(Target),
    Parameter(usize),
    /// A column of the row that FROM gives.
    Column(usize),
    Cast(Box<Expr>, Type),
    Call(Function, Vec<Expr>),
    Calculate(Box<Expr>, Operator, Box<Expr>),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Operator {
    Add,
    Subtract,
    Multiply,
}

/// A function that gives one value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Function {
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
pub(super) struct Options {
    pub(super) kind: Option<IntegerKind>,
    pub(super) increment: Option<i64>,
    pub(super) min: Option<Bound>,
    pub(super) max: Option<Bound>,
    pub(super) start: Option<i64>,
    pub(super) restart: Option<Restart>,
    pub(super) cache: Option<i64>,
    pub(super) cycle: Option<bool>,
    pub(super) gap: Option<Gap>,
    pub(super) max_gap: Option<u64>,
    pub(super) owned: bool,
}

/// `MINVALUE n` or `NO MINVALUE`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Bound {
    At(i64),
    Default,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Restart {
    Start,
    With(i64),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum IntegerKind {
    Small,
    Integer,
    Big,
}

#[derive(Debug)]
pub(super) struct Create {
    pub(super) target: Target,
    pub(super) schema: Option<Box<str>>,
    pub(super) if_not_exists: bool,
    pub(super) options: Options,
}

#[derive(Debug)]
pub(super) struct Alter {
    pub(super) target: Target,
    pub(super) if_exists: bool,
    pub(super) options: Options,
}

#[derive(Debug)]
pub(super) struct Drop {
    pub(super) targets: Vec<Target>,
    pub(super) if_exists: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Modes {
    pub(super) read_only: Option<bool>,
    pub(super) isolation: Option<&'static str>,
    pub(super) deferrable: Option<bool>,
}

#[derive(Debug)]
pub(super) enum Transaction {
    Begin { tag: &'static str, modes: Modes },
    Commit { chain: bool },
    Rollback { chain: bool },
    Savepoint(Box<str>),
    Release(Box<str>),
    RollbackTo(Box<str>),
}

#[derive(Debug)]
pub(super) struct Declare {
    pub(super) name: Box<str>,
    pub(super) hold: bool,
    pub(super) query: Rc<Statement>,
}

#[derive(Debug)]
pub(super) struct Fetch {
    pub(super) cursor: Box<str>,
    /// `None`: all that are left.
    pub(super) count: Option<u64>,
    /// MOVE: rows are passed over, not sent.
    pub(super) moves: bool,
}

#[derive(Debug)]
pub(super) struct Set {
    pub(super) name: Box<str>,
    /// `None`: the default.
    pub(super) value: Option<Box<str>>,
    pub(super) local: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Discard {
    All,
    Sequences,
    Plans,
    Temp,
}

impl Plan {
    /// What may be run in a transaction that has failed.
    pub(super) fn ends_failure(&self) -> bool {
        matches!(
            self,
            Plan::Transaction(
                Transaction::Commit { .. } | Transaction::Rollback { .. } | Transaction::RollbackTo(_)
            )
        )
    }
}
