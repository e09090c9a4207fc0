//! What a statement means: what the grammar makes, and what is executed as often as the text comes.

use std::cell::OnceCell;

use mintage::Series;

use super::refusal::Refusal;
use super::tables::Library;
use crate::sql::names::SqlName;

/// A text: its statements, up to the first that is refused.
#[derive(Debug)]
pub(crate) struct Parsed {
    pub(crate) statements: Vec<Result<Statement, Refusal>>,
    /// How many `?` it has.
    pub(crate) parameters: usize,
    /// How much memory it takes.
    pub(crate) bytes: usize,
    /// The packets before the row of a single `NEXTVAL`, once they were written.
    pub(crate) head: OnceCell<Box<[u8]>>,
}

/// One statement.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Statement {
    /// A query, or several whose rows follow each other (`UNION ALL`).
    Select(Vec<Select>),
    /// `DO`: evaluated, and nothing is shown.
    Do(Vec<Expression>),
    Ticket(Ticket),
    Advance(Advance),
    /// Numbers of a table that a library counts in.
    Library(LibraryChange),
    Create(Create),
    /// `ALTER TABLE t AUTO_INCREMENT = n`; without a number nothing happens.
    AlterTable(SqlName, Option<Expression>),
    AlterSequence(AlterSequence),
    Drop(Drop),
    /// `SHOW CREATE SEQUENCE`.
    ShowCreate(SqlName),
    Show(Show),
    Set(Vec<Assignment>),
    /// `SET STATEMENT … FOR`: the assignments hold for this statement alone, and none of them matters to it.
    Use(String),
    Transaction(Transaction),
    Kill {
        id: Expression,
        whole_connection: bool,
    },
    /// Known, and there is nothing to do.
    Nothing,
}

/// What of a library's table is to be changed.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct LibraryChange {
    pub(crate) table: Library,
    pub(crate) change: Change,
}

/// A change.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Change {
    /// Numbers are reserved: so many, or as many as a step of this face has.
    Take {
        key: Expression,
        count: Option<Expression>,
    },
    /// Sequences are made.
    Insert { rows: Vec<NewRow>, ignores: bool },
    /// A machine goes on with its number.
    Guard {
        namespace: Expression,
        instance: Expression,
        number: Expression,
    },
    /// A machine has stopped; `left` is the instance that keeps its number, or empty.
    GiveBack {
        namespace: Expression,
        instance: Expression,
        left: Expression,
    },
}

/// A row that is made: its key, and where it begins, as its table has it.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct NewRow {
    pub(crate) key: Expression,
    pub(crate) at: Option<Expression>,
}

/// A query.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Select {
    pub(crate) items: Vec<Item>,
    pub(crate) from: From,
    /// What rows must have.
    pub(crate) conditions: Vec<Condition>,
    /// `ORDER BY`, and whether in falling order.
    pub(crate) order: Option<bool>,
    /// How many rows are left out, and how many are shown at most.
    pub(crate) limit: Option<(Expression, Expression)>,
}

/// Where a query's rows come from.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum From {
    /// One row of nothing.
    Nothing,
    Series(Series),
    /// A ticket's table, or a sequence as a table of one row.
    Table(SqlName),
    /// A table that a library counts in.
    Library(Library),
    /// `information_schema.…`.
    Catalogue(String),
}

/// What of a row is shown.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Item {
    /// `*`.
    All,
    One {
        expression: Expression,
        name: Box<str>,
    },
}

/// What a row must have.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Condition {
    /// A column is one of these.
    OneOf(Box<str>, Vec<Expression>),
    /// A column is above this.
    Above(Box<str>, Expression),
    /// A column is like this.
    Like(Box<str>, Expression),
    /// Something else, which no row has.
    Other,
}

/// An expression.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Expression {
    Null,
    Integer(i64),
    Unsigned(u64),
    Decimal(Box<str>),
    Text(Box<str>),
    /// The `?` of this place.
    Parameter(usize),
    Column(Box<str>),
    /// `NEXTVAL`.
    Next(SqlName),
    /// `LASTVAL`.
    Previous(SqlName),
    SetValue(Box<SetValue>),
    /// `LAST_INSERT_ID`, with what it is to be from now on.
    LastInsertId(Option<Box<Expression>>),
    /// A system variable, and whether the global one is meant.
    Variable(Box<str>, bool),
    UserVariable(Box<str>),
    Function(Function),
    /// An id of a format.
    MintId(Box<Expression>),
    /// An id of a pool.
    MintSnowflake(Option<Box<Expression>>),
    Concat(Vec<Expression>),
    /// The first that is not NULL.
    Coalesce(Vec<Expression>),
    Negative(Box<Expression>),
    Arithmetic(Operator, Box<Expression>, Box<Expression>),
    Compare(Comparison, Box<Expression>, Box<Expression>),
    /// Whether it is NULL; or, with `true`, whether it is not.
    IsNull(Box<Expression>, bool),
    AsText(Box<Expression>),
    AsInteger(Box<Expression>),
    /// `COUNT(*)`.
    Count,
}

impl Expression {
    /// The first column in it that `is_it`.
    pub(crate) fn column(&self, is_it: &dyn Fn(&str) -> bool) -> Option<&str> {
        if let Expression::Column(name) = self {
            return Some(&**name).filter(|name| is_it(name));
        }
        self.parts().into_iter().find_map(|part| part.column(is_it))
    }

    /// What it is made of.
    fn parts(&self) -> Vec<&Expression> {
        match self {
            Expression::SetValue(asked) => {
                let first = std::iter::once(&asked.to);
                first.chain(&asked.used).chain(&asked.round).collect()
            }
            Expression::LastInsertId(inner) | Expression::MintSnowflake(inner) => {
                inner.as_deref().into_iter().collect()
            }
            Expression::MintId(inner)
            | Expression::Negative(inner)
            | Expression::IsNull(inner, _)
            | Expression::AsText(inner)
            | Expression::AsInteger(inner) => vec![inner],
            Expression::Concat(parts) | Expression::Coalesce(parts) => parts.iter().collect(),
            Expression::Arithmetic(_, left, right) | Expression::Compare(_, left, right) => {
                vec![left, right]
            }
            Expression::Null
            | Expression::Integer(_)
            | Expression::Unsigned(_)
            | Expression::Decimal(_)
            | Expression::Text(_)
            | Expression::Parameter(_)
            | Expression::Column(_)
            | Expression::Next(_)
            | Expression::Previous(_)
            | Expression::Variable(..)
            | Expression::UserVariable(_)
            | Expression::Function(_)
            | Expression::Count => Vec::new(),
        }
    }
}

/// `SETVAL(s, n [, used [, round]])`.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct SetValue {
    pub(crate) name: SqlName,
    pub(crate) to: Expression,
    pub(crate) used: Option<Expression>,
    pub(crate) round: Option<Expression>,
}

/// What two numbers become.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Operator {
    Plus,
    Minus,
    Times,
}

/// What two values are to each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Comparison {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// What needs no argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Function {
    Version,
    Database,
    User,
    CurrentUser,
    ConnectionId,
    Now,
    UtcNow,
    Today,
    UnixTime,
    RowCount,
    FoundRows,
    Uuid4,
    Uuid7,
}

/// `REPLACE` and `INSERT`: a number for each row, unless the row brings one.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Ticket {
    pub(crate) table: SqlName,
    pub(crate) replaces: bool,
    pub(crate) rows: u64,
    /// The ids that were written, row by row; empty where no row has one.
    pub(crate) ids: Vec<Expression>,
    /// `RETURNING`: what is shown of each row; empty: nothing.
    pub(crate) returning: Vec<Item>,
}

/// `LAST_INSERT_ID(id + n)`: so many numbers, told by the last.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Advance {
    pub(crate) table: SqlName,
    pub(crate) by: Expression,
    /// How many rows the original would count.
    pub(crate) affected: u64,
}

/// What is made of a name that exists.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum IfExists {
    Refuse,
    Skip,
    Replace,
}

/// `CREATE TABLE` with AUTO_INCREMENT, and `CREATE SEQUENCE`.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Create {
    pub(crate) name: SqlName,
    pub(crate) if_exists: IfExists,
    pub(crate) options: Options,
    /// It is a sequence, and not a table.
    pub(crate) is_sequence: bool,
}

/// What a definition says.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Options {
    pub(crate) start: Option<i64>,
    pub(crate) increment: Option<i64>,
    /// Its inner `None`: the default's.
    pub(crate) min: Option<Option<i64>>,
    pub(crate) max: Option<Option<i64>>,
    pub(crate) cycle: Option<bool>,
    /// Read, and without effect.
    pub(crate) cache: Option<i64>,
    /// Its inner `None`: where the definition starts.
    pub(crate) restart: Option<Option<i64>>,
    /// `GAP NONE` is 0, `GAP n` is n.
    pub(crate) gap: Option<u64>,
    /// A number did not fit into 64 bits.
    pub(crate) is_out_of_range: bool,
}

/// `ALTER SEQUENCE`.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct AlterSequence {
    pub(crate) name: SqlName,
    pub(crate) if_exists: bool,
    pub(crate) options: Options,
}

/// `DROP TABLE` and `DROP SEQUENCE`.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Drop {
    pub(crate) names: Vec<SqlName>,
    pub(crate) if_exists: bool,
    pub(crate) is_sequence: bool,
}

/// `SHOW`.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Show {
    Tables {
        like: Option<Expression>,
        full: bool,
    },
    Databases {
        like: Option<Expression>,
    },
    /// `TABLE STATUS`: what a FEDERATED table asks before each use.
    TableStatus {
        like: Option<Expression>,
    },
    Variables {
        like: Option<Expression>,
        names: Vec<Expression>,
    },
    /// No row, in these columns.
    Empty(&'static [&'static str]),
}

/// What `SET` sets.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Assignment {
    /// A system variable; `None`: an expression that is not evaluated.
    Variable {
        name: Box<str>,
        value: Option<Setting>,
        is_global: bool,
    },
    UserVariable(Box<str>, Expression),
    /// `SET NAMES`, with the collation.
    Names(Option<Box<str>>, Option<Box<str>>),
    /// `SET TRANSACTION`.
    Isolation(Option<&'static str>, Option<bool>),
}

/// What a variable becomes.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Setting {
    Default,
    /// A word without quotes: `ON`, `utf8`.
    Word(Box<str>),
    Value(Expression),
}

/// The words of transactions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Transaction {
    Begin {
        read_only: bool,
    },
    Commit,
    Rollback,
    /// A savepoint: known, and nothing happens.
    Savepoint,
}
