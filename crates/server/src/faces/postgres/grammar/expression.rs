//! Expressions, and the functions that there are.

use super::Parser;
use crate::faces::postgres::errors::{Result, SqlError};
use crate::faces::postgres::plan::{Expr, From, Function, Operator, Target};
use crate::faces::postgres::types::{Type, Value};
use crate::faces::sql::token::Kind;

/// A function: its name, what it is, how many arguments it takes, what it gives.
type Row = (&'static str, Function, usize, usize, Type);

const FUNCTIONS: [Row; 21] = [
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

/// Values that are called without parentheses.
const WORDS: [(&str, Function); 6] = [
    ("current_user", Function::CurrentUser),
    ("session_user", Function::CurrentUser),
    ("user", Function::CurrentUser),
    ("current_role", Function::CurrentUser),
    ("current_schema", Function::CurrentSchema),
    ("current_catalog", Function::CurrentDatabase),
];

impl Parser<'_> {
    /// An expression: sums of products of values.
    pub(in crate::faces::postgres) fn expression(&mut self) -> Result<Expr> {
        self.deeper(|parser| {
            let mut sum = parser.product()?;
            loop {
                let operator = match () {
                    () if parser.eat_symbol("+")? => Operator::Add,
                    () if parser.eat_symbol("-")? => Operator::Subtract,
                    () => return Ok(sum),
                };
                let next = parser.product()?;
                sum = parser.calculation(sum, operator, next)?;
            }
        })
    }

    fn product(&mut self) -> Result<Expr> {
        let mut product = self.signed()?;
        while self.eat_symbol("*")? {
            let next = self.signed()?;
            product = self.calculation(product, Operator::Multiply, next)?;
        }
        Ok(product)
    }

    fn calculation(&mut self, left: Expr, operator: Operator, right: Expr) -> Result<Expr> {
        let integer = Type::Int8.oid();
        for side in [&left, &right] {
            if let Expr::Parameter(at) = side {
                self.parameter(at + 1, integer)?;
            }
        }
        Ok(Expr::Calculate(left.into(), operator, right.into()))
    }

    fn signed(&mut self) -> Result<Expr> {
        if self.token.is_symbol("-") {
            if self.ahead()?.kind == Kind::Number {
                self.advance()?;
                let written = self.advance()?.text;
                let number = constant_number(&format!("-{written}"));
                return self.casts(number, self.token.at);
            }
            self.advance()?;
            let value = self.deeper(Self::signed)?;
            return self.calculation(Expr::Constant(Value::Int(0)), Operator::Subtract, value);
        }
        if self.eat_symbol("+")? {
            return self.deeper(Self::signed);
        }
        let at = self.token.at;
        let value = self.primary()?;
        self.casts(value, at)
    }

    /// `::type`, any number of times.
    fn casts(&mut self, mut value: Expr, at: usize) -> Result<Expr> {
        let mut count = 0;
        while self.eat_symbol("::")? {
            count += 1;
            if count > crate::faces::sql::lexer::DEPTH_MAX {
                return Err(SqlError::too_deep());
            }
            let kind = self.type_name()?;
            value = self.cast(value, kind, at)?;
        }
        Ok(value)
    }

    fn cast(&mut self, value: Expr, kind: Type, at: usize) -> Result<Expr> {
        if let Expr::Parameter(parameter) = &value {
            // What is read as a name of a sequence is sent as a text.
            let sent = if kind == Type::Regclass { Type::Text } else { kind };
            self.parameter(parameter + 1, sent.oid())?;
        }
        if let (Expr::Constant(Value::Text(text)), Type::Regclass) = (&value, kind) {
            let target = Target::of_text(text, self.keys).map_err(|error| error.at(at))?;
            self.names.push((target.clone(), at));
            return Ok(Expr::Cast(Expr::Sequence(target).into(), kind));
        }
        if let Expr::Constant(constant) = value {
            // What is wrong with a literal is told before anything is run.
            let constant = constant.cast(kind).map_err(|error| error.at(at))?;
            return Ok(Expr::Cast(Expr::Constant(constant).into(), kind));
        }
        Ok(Expr::Cast(value.into(), kind))
    }

    fn primary(&mut self) -> Result<Expr> {
        let token = self.token;
        match token.kind {
            Kind::Number => {
                self.advance()?;
                Ok(constant_number(token.text))
            }
            Kind::Text => {
                self.advance()?;
                Ok(Expr::Constant(Value::text(&*token.value())))
            }
            Kind::Parameter => {
                self.advance()?;
                let number = token.parameter().ok_or_else(|| {
                    SqlError::new("42P02", format!("there is no parameter {}", token.text)).at(token.at)
                })?;
                self.parameter(usize::from(number), 0)?;
                Ok(Expr::Parameter(usize::from(number) - 1))
            }
            Kind::Symbol if token.text == "(" => {
                self.advance()?;
                if self.is("select") {
                    return Err(SqlError::unsupported("a query within another").at(token.at));
                }
                let inner = self.expression()?;
                self.expect_symbol(")")?;
                Ok(inner)
            }
            Kind::Word => self.word(),
            Kind::Name => self.called_or_column(),
            _ => Err(self.unexpected()),
        }
    }

    fn word(&mut self) -> Result<Expr> {
        for (word, value) in [
            ("null", Value::Null),
            ("true", Value::Bool(true)),
            ("false", Value::Bool(false)),
        ] {
            if self.eat(word)? {
                return Ok(Expr::Constant(value));
            }
        }
        if self.is("cast") {
            self.advance()?;
            self.expect_symbol("(")?;
            let at = self.token.at;
            let value = self.expression()?;
            self.expect("as")?;
            let kind = self.type_name()?;
            self.expect_symbol(")")?;
            return self.cast(value, kind, at);
        }
        let ahead = self.ahead()?;
        let plain = !ahead.is_symbol("(") && !ahead.is_symbol(".");
        if let Some((_, function)) = WORDS.iter().find(|(word, _)| plain && self.is(word)) {
            self.advance()?;
            return Ok(Expr::Call(*function, Vec::new()));
        }
        if ["case", "array", "not", "exists", "row", "interval"]
            .iter()
            .any(|word| self.is(word))
        {
            let what = self.token.text.to_uppercase();
            return Err(SqlError::unsupported(&what).at(self.token.at));
        }
        self.called_or_column()
    }

    /// A function with its arguments, or a column of FROM.
    fn called_or_column(&mut self) -> Result<Expr> {
        let at = self.token.at;
        let name = self.qualified()?;
        if self.token.is_symbol("(") {
            let known = matches!(
                name.schema.as_deref(),
                None | Some("pg_catalog" | "public" | "mint")
            );
            return match known {
                true => self.call(&name.name, at),
                false => Err(SqlError::new(
                    "3F000",
                    format!("schema \"{}\" does not exist", name.schema.unwrap_or_default()),
                )
                .at(at)),
            };
        }
        let whole =
            name.schema.is_none() && self.columns.len() == 1 && self.alias.as_deref() == Some(&name.name);
        let fits = name.schema.is_none() || name.schema == self.alias;
        let found = self
            .columns
            .iter()
            .position(|(column, _)| fits && *column == name.name);
        match found.or(whole.then_some(0)) {
            Some(column) => Ok(Expr::Column(column)),
            None => Err(SqlError::new("42703", format!("column \"{name}\" does not exist")).at(at)),
        }
    }

    /// A type's name.
    pub(super) fn type_name(&mut self) -> Result<Type> {
        let at = self.token.at;
        if !self.is_name() {
            return Err(self.unexpected());
        }
        let name = self.qualified()?;
        let mut written = name.name.clone();
        if written == "character" && self.eat("varying")? {
            written = "varchar".into();
        }
        if self.eat_symbol("(")? {
            self.integer()?;
            self.expect_symbol(")")?;
        }
        match Type::of_name(&written) {
            Some(kind) if !self.token.is_symbol("[") => Ok(kind),
            Some(_) => Err(SqlError::unsupported("an array").at(at)),
            None => Err(SqlError::new("42704", format!("type \"{written}\" does not exist")).at(at)),
        }
    }

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

    fn call(&mut self, name: &str, at: usize) -> Result<Expr> {
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
        Ok(Expr::Call(function, given))
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
    pub(in crate::faces::postgres) fn sequence(&mut self, value: Expr, at: usize) -> Result<Expr> {
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
                self.names.push((target.clone(), at));
                Ok(Expr::Sequence(target))
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
        Ok(Expr::Call(row.1, given))
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
        let name = super::super::errors::shown(name);
        let message = format!("function {name}({}) does not exist", given.join(", "));
        let hint = "No function matches the given name and argument types. You might need to add explicit type casts.";
        SqlError::new("42883", message).with_hint(hint).at(at)
    }

    pub(in crate::faces::postgres) fn kind_of(&self, value: &Expr) -> Type {
        kind_of(value, &self.columns, &self.parameters)
    }
}

/// The type of an expression's value.
pub(in crate::faces::postgres) fn kind_of(
    value: &Expr,
    columns: &[(String, Type)],
    parameters: &[u32],
) -> Type {
    match value {
        Expr::Constant(Value::Int(number)) if i32::try_from(*number).is_ok() => Type::Int4,
        Expr::Constant(Value::Int(_)) => Type::Int8,
        Expr::Calculate(left, _, right) => {
            let sides = [left, right].map(|side| kind_of(side, columns, parameters));
            match sides.iter().all(|side| matches!(side, Type::Int4 | Type::Int2)) {
                true => Type::Int4,
                false => Type::Int8,
            }
        }
        Expr::Constant(Value::Bool(_)) => Type::Bool,
        Expr::Constant(Value::Uuid(_)) => Type::Uuid,
        Expr::Constant(Value::Text(_) | Value::Null) | Expr::Sequence(_) => Type::Text,
        Expr::Parameter(at) => {
            let known = parameters.get(*at).and_then(|oid| Type::of_oid(*oid));
            known.filter(|kind| *kind != Type::Unknown).unwrap_or(Type::Text)
        }
        Expr::Column(at) => columns.get(*at).map_or(Type::Text, |(_, kind)| *kind),
        // What stands for a relation is shown by its name.
        Expr::Cast(_, Type::Regclass) => Type::Text,
        Expr::Cast(_, kind) => *kind,
        Expr::Call(function, _) => {
            let row = FUNCTIONS.iter().find(|row| row.1 == *function);
            row.map_or(Type::Text, |row| row.4)
        }
    }
}

/// What a column is called that nobody has named.
pub(super) fn title_of(value: &Expr, columns: &[(String, Type)]) -> Option<String> {
    match value {
        Expr::Call(function, _) => {
            let row = FUNCTIONS.iter().find(|row| row.1 == *function)?;
            Some(row.0.to_string())
        }
        Expr::Column(at) => columns.get(*at).map(|(name, _)| name.clone()),
        Expr::Cast(inner, kind) => title_of(inner, columns).or_else(|| Some(kind.name().to_string())),
        _ => None,
    }
}

fn constant_number(written: &str) -> Expr {
    Expr::Constant(match written.parse() {
        Ok(number) => Value::Int(number),
        // With a fraction, or beyond 64 bits: whoever wants a whole number refuses it.
        Err(_) => Value::text(written),
    })
}

/// How many arguments a call may have.
const ARGUMENTS_MAX: usize = 100;
