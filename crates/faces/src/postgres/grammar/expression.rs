//! Expressions: sums, casts, literals, columns.

use std::borrow::Cow;

use super::Parser;
use super::calls::FUNCTIONS;
use crate::postgres::errors::{Result, SqlError};
use crate::postgres::plan::{Expr, Function, Operator, Target};
use crate::postgres::types::{Type, Value};
use crate::sql::token::Kind;

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
    pub(in crate::postgres) fn expression(&mut self) -> Result<Expr> {
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
            if count > crate::sql::lexer::DEPTH_MAX {
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
            let target = self.noted(target, at);
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
                self.parameter_at(usize::from(number), token.at)?;
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
            return Ok(Expr::Call(*function, Box::default()));
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

    pub(in crate::postgres) fn kind_of(&self, value: &Expr) -> Type {
        kind_of(value, &self.columns, &self.parameters)
    }
}

/// The type of an expression's value.
pub(in crate::postgres) fn kind_of(value: &Expr, columns: &[(String, Type)], parameters: &[u32]) -> Type {
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
pub(super) fn title_of(value: &Expr, columns: &[(String, Type)]) -> Option<Cow<'static, str>> {
    match value {
        Expr::Call(function, _) => {
            let row = FUNCTIONS.iter().find(|row| row.1 == *function)?;
            Some(row.0.into())
        }
        Expr::Column(at) => columns.get(*at).map(|(name, _)| name.clone().into()),
        Expr::Cast(inner, kind) => title_of(inner, columns).or_else(|| Some(kind.name().into())),
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
