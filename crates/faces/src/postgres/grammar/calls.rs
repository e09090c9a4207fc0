//! Calls: which functions there are, and what they take.

use super::Parser;
use crate::postgres::errors::{Result, SqlError, shown};
use crate::postgres::plan::{Expr, From, Function, Target};
use crate::postgres::types::{Type, Value};

/// A function: its name, what it is, how many arguments it takes, what it gives.
pub(super) type Row = (&'static str, Function, usize, usize, Type);

pub(super) const FUNCTIONS: [Row; 21] = [
    ("nextval", Function::Nextval, 1, 1, Type::Int8),
    ("currval", Function::Currval, 1, 1, Type::Int8),
    ("lastval", Function::Lastval, 0, 0, Type::Int8),
    ("setval", Function::Setval, 2, 3, Type::Int8),
    ("mint_uuid7", Function::Uuid7, 0, 0, Type::Uuid),
    ("uuidv7", Function::Uuid7, 0, 0, Type::Uuid),
    ("mint_uuid4", Function::Uuid4, 0, 0, Type::Uuid),
    ("uuidv4", Function::Uuid4, 0, 0, Type::Uuid),
    ("gen_random_uuid", Function::Uuid4, 0, 0, Type::Uuid),
    ("mint_id", Function::MintId, 1, 1, Type::Text),
    ("mint_snowflake", Function::MintSnowflake, 0, 1, Type::Int8),
    ("version", Function::Version, 0, 0, Type::Text),
    ("current_schema", Function::CurrentSchema, 0, 0, Type::Name),
    ("current_database", Function::CurrentDatabase, 0, 0, Type::Name),
    ("pg_backend_pid", Function::BackendPid, 0, 0, Type::Int4),
    ("pg_is_in_recovery", Function::IsInRecovery, 0, 0, Type::Bool),
    ("set_config", Function::SetConfig, 3, 3, Type::Text),
    ("current_setting", Function::CurrentSetting, 1, 2, Type::Text),
    (
        "pg_advisory_unlock_all",
        Function::AdvisoryUnlockAll,
        0,
        0,
        Type::Void,
    ),
    (
        "pg_sequence_last_value",
        Function::SequenceLastValue,
        1,
        1,
        Type::Int8,
    ),
    ("current_user", Function::CurrentUser, 0, 0, Type::Name),
];

/// Functions of PostgreSQL that are not here.
const ELSEWHERE: [&str; 28] = [
    "count",
    "sum",
    "min",
    "max",
    "avg",
    "array_agg",
    "string_agg",
    "now",
    "clock_timestamp",
    "random",
    "coalesce",
    "nullif",
    "greatest",
    "least",
    "length",
    "lower",
    "upper",
    "concat",
    "format",
    "to_char",
    "pg_sleep",
    "row_number",
    "pg_get_serial_sequence",
    "txid_current",
    "pg_advisory_lock",
    "pg_try_advisory_lock",
    "unnest",
    "inet_server_addr",
];

impl Parser<'_> {
    fn arguments(&mut self) -> Result<Vec<(Expr, usize)>> {
        self.expect_symbol("(")?;
        let (mut all, allowed) = (Vec::new(), std::mem::replace(&mut self.rows_allowed, false));
        if !self.token.is_symbol(")") {
            loop {
                if self.token.is_symbol("*") {
                    return Err(SqlError::unsupported("an aggregate").at(self.token.at));
                }
                let at = self.token.at;
                all.push((self.expression()?, at));
                if all.len() > ARGUMENTS_MAX {
                    return Err(SqlError::new(
                        "54023",
                        "cannot pass more than 100 arguments to a function",
                    ));
                }
                if !self.eat_symbol(",")? {
                    break;
                }
            }
        }
        self.expect_symbol(")")?;
        self.rows_allowed = allowed;
        Ok(all)
    }

    pub(super) fn call(&mut self, name: &str, at: usize) -> Result<Expr> {
        let arguments = self.arguments()?;
        if matches!(name, "generate_series" | "mint_next") {
            if !self.rows_allowed || self.rows.is_some() {
                return Err(SqlError::unsupported("a function with several rows here").at(at));
            }
            let rows = match name {
                "mint_next" => (self.next_rows(arguments, at)?, Type::Int8),
                _ => self.series(arguments, at)?,
            };
            self.rows = Some(rows);
            return Ok(Expr::Column(0));
        }
        let fits = |row: &&Row| row.0 == name && (row.2..=row.3).contains(&arguments.len());
        let Some(row) = FUNCTIONS.iter().find(fits) else {
            return Err(self.no_function(name, &arguments, at));
        };
        let function = row.1;
        let mut given = Vec::with_capacity(arguments.len());
        for (place, (argument, at)) in arguments.into_iter().enumerate() {
            given.push(self.argument(function, place, argument, at)?);
        }
        Ok(Expr::Call(function, given.into()))
    }

    /// An argument, with its type.
    fn argument(&mut self, function: Function, place: usize, value: Expr, at: usize) -> Result<Expr> {
        let kind = match (function, place) {
            (Function::Nextval | Function::Currval | Function::Setval | Function::SequenceLastValue, 0) => {
                return self.sequence(value, at);
            }
            (Function::Setval, 1) => Type::Int8,
            (Function::Setval, _) | (Function::SetConfig, 2) | (Function::CurrentSetting, 1) => Type::Bool,
            _ => Type::Text,
        };
        self.typed(value, kind, at)
    }

    /// A value of this type.
    fn typed(&mut self, value: Expr, kind: Type, at: usize) -> Result<Expr> {
        if let Expr::Parameter(parameter) = &value {
            self.parameter(parameter + 1, kind.oid())?;
        }
        match value {
            Expr::Constant(constant) => match constant.cast(kind) {
                Ok(constant) => Ok(Expr::Constant(constant)),
                Err(error) => Err(error.at(at)),
            },
            value if self.kind_of(&value) == kind => Ok(value),
            value => Ok(Expr::Cast(value.into(), kind)),
        }
    }

    /// A value that names a sequence.
    pub(in crate::postgres) fn sequence(&mut self, value: Expr, at: usize) -> Result<Expr> {
        match value {
            Expr::Cast(inner, Type::Regclass | Type::Text | Type::Varchar | Type::Unknown | Type::Name) => {
                match *inner {
                    // Noted already.
                    Expr::Sequence(target) => Ok(Expr::Sequence(target)),
                    inner => self.sequence(inner, at),
                }
            }
            Expr::Constant(Value::Text(text)) => {
                let target = Target::of_text(&text, self.keys).map_err(|error| error.at(at))?;
                Ok(Expr::Sequence(self.noted(target, at)))
            }
            Expr::Parameter(parameter) => {
                self.parameter(parameter + 1, Type::Text.oid())?;
                Ok(Expr::Parameter(parameter))
            }
            other => Ok(other),
        }
    }

    /// `generate_series(first, last [, step])`, and the type of its values.
    pub(super) fn series(&mut self, arguments: Vec<(Expr, usize)>, at: usize) -> Result<(From, Type)> {
        if !(2..=3).contains(&arguments.len()) {
            return Err(self.no_function("generate_series", &arguments, at));
        }
        let is_small = |(argument, _): &(Expr, usize)| match argument {
            Expr::Constant(Value::Int(number)) => i32::try_from(*number).is_ok(),
            Expr::Constant(Value::Text(_)) => true,
            Expr::Parameter(at) => self
                .parameters
                .get(*at)
                .is_none_or(|oid| matches!(oid, 0 | 21 | 23 | 705)),
            other => matches!(self.kind_of(other), Type::Int4 | Type::Int2),
        };
        let kind = if arguments.iter().all(is_small) {
            Type::Int4
        } else {
            Type::Int8
        };
        let mut given = Vec::new();
        for (argument, at) in arguments {
            given.push(self.typed(argument, kind, at)?);
        }
        let mut given = given.into_iter();
        let mut next = || given.next().unwrap_or(Expr::Constant(Value::Null));
        let (first, last) = (next(), next());
        let step = given.next();
        Ok((From::Series { first, last, step }, kind))
    }

    /// `mint_next(s, n)`.
    pub(super) fn next_rows(&mut self, arguments: Vec<(Expr, usize)>, at: usize) -> Result<From> {
        let [sequence, count] = self.two("mint_next", arguments, at)?;
        Ok(From::Next { sequence, count })
    }

    /// A sequence and a count.
    pub(super) fn two(&mut self, name: &str, arguments: Vec<(Expr, usize)>, at: usize) -> Result<[Expr; 2]> {
        let given: [(Expr, usize); 2] = match arguments.try_into() {
            Ok(given) => given,
            Err(arguments) => return Err(self.no_function(name, &arguments, at)),
        };
        let [(sequence, sequence_at), (count, count_at)] = given;
        Ok([
            self.sequence(sequence, sequence_at)?,
            self.typed(count, Type::Int8, count_at)?,
        ])
    }

    /// The arguments of a function in FROM.
    pub(super) fn arguments_of_rows(&mut self) -> Result<Vec<(Expr, usize)>> {
        self.arguments()
    }

    /// A function in FROM, which gives one value.
    pub(super) fn call_in_from(
        &mut self,
        name: &str,
        arguments: Vec<(Expr, usize)>,
        at: usize,
    ) -> Result<Expr> {
        let fits = |row: &&Row| row.0 == name && (row.2..=row.3).contains(&arguments.len());
        let Some(row) = FUNCTIONS.iter().find(fits) else {
            return Err(self.no_function(name, &arguments, at));
        };
        let mut given = Vec::new();
        for (place, (argument, at)) in arguments.into_iter().enumerate() {
            given.push(self.argument(row.1, place, argument, at)?);
        }
        Ok(Expr::Call(row.1, given.into()))
    }

    fn no_function(&self, name: &str, arguments: &[(Expr, usize)], at: usize) -> SqlError {
        if ELSEWHERE.contains(&name) {
            return SqlError::unsupported(&format!("{name}()")).at(at);
        }
        let title = |(argument, _): &(Expr, usize)| match argument {
            Expr::Constant(Value::Text(_) | Value::Null) | Expr::Parameter(_) => "unknown",
            other => self.kind_of(other).title(),
        };
        let given: Vec<&str> = arguments.iter().map(title).collect();
        let name = shown(name);
        let message = format!("function {name}({}) does not exist", given.join(", "));
        let hint = "No function matches the given name and argument types. You might need to add explicit type casts.";
        SqlError::new("42883", message).with_hint(hint).at(at)
    }
}

/// How many arguments a call may have.
const ARGUMENTS_MAX: usize = 100;
