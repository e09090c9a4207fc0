//! Values, functions, arithmetic.

use super::{Parser, Read};
use crate::mysql::plan::{Comparison, Expression, Function, Operator, SetValue};
use crate::mysql::refusal::Refusal;
use crate::mysql::tables::MAX_MACHINE;
use crate::sql::lexer::DEPTH_MAX;
use crate::sql::names::SqlName;
use crate::sql::token::Kind;

impl Parser<'_> {
    /// Expressions with commas between.
    pub(super) fn expressions(&mut self) -> Read<Vec<Expression>> {
        let mut all = vec![self.expression()?];
        while self.takes_symbol(",")? {
            all.push(self.expression()?);
        }
        Ok(all)
    }

    /// A comparison, or what is below one.
    pub(super) fn expression(&mut self) -> Read<Expression> {
        if self.depth == 0 {
            self.operators = 0;
        }
        let mut left = self.sum()?;
        loop {
            left = match () {
                () if self.takes("IS")? => {
                    let is_not = self.takes("NOT")?;
                    self.expect("NULL")?;
                    Expression::IsNull(Box::new(left), is_not)
                }
                () if self.takes("COLLATE")? => {
                    self.plain_name()?;
                    left
                }
                () => match self.comparison()? {
                    Some(comparison) => {
                        let right = self.sum()?;
                        Expression::Compare(comparison, Box::new(left), Box::new(right))
                    }
                    None => return Ok(left),
                },
            };
            self.operator()?;
        }
    }

    fn comparison(&mut self) -> Read<Option<Comparison>> {
        let found = [
            ("=", Comparison::Equal),
            ("<>", Comparison::Unequal),
            ("!=", Comparison::Unequal),
            ("<", Comparison::Less),
            ("<=", Comparison::LessOrEqual),
            (">", Comparison::Greater),
            (">=", Comparison::GreaterOrEqual),
        ];
        for (symbol, comparison) in found {
            if self.takes_symbol(symbol)? {
                return Ok(Some(comparison));
            }
        }
        Ok(None)
    }

    /// Sums and what is below them.
    pub(super) fn sum(&mut self) -> Read<Expression> {
        let mut left = self.product()?;
        loop {
            left = match () {
                () if self.takes_symbol("+")? => arithmetic(Operator::Plus, left, self.product()?),
                () if self.takes_symbol("-")? => arithmetic(Operator::Minus, left, self.product()?),
                () => return Ok(left),
            };
            self.operator()?;
        }
    }

    fn product(&mut self) -> Read<Expression> {
        let mut left = self.signed()?;
        while self.takes_symbol("*")? {
            left = arithmetic(Operator::Times, left, self.signed()?);
            self.operator()?;
        }
        Ok(left)
    }

    /// One more operator. The tree of an expression, which is evaluated from its leaves on, is as deep as it has operators and
    /// parentheses at most.
    fn operator(&mut self) -> Read<()> {
        self.operators += 1;
        match self.operators > DEPTH_MAX {
            true => Err(Refusal::too_deep()),
            false => Ok(()),
        }
    }

    fn signed(&mut self) -> Read<Expression> {
        if self.takes_symbol("-")? {
            let inner = self.deeper(Self::signed)?;
            return Ok(match inner {
                Expression::Integer(number) => match number.checked_neg() {
                    Some(number) => Expression::Integer(number),
                    None => Expression::Unsigned(number.unsigned_abs()),
                },
                Expression::Unsigned(number) if number == i64::MIN.unsigned_abs() => {
                    Expression::Integer(i64::MIN)
                }
                inner => Expression::Negative(Box::new(inner)),
            });
        }
        if self.takes_symbol("+")? {
            return self.deeper(Self::signed);
        }
        self.primary()
    }

    fn primary(&mut self) -> Read<Expression> {
        let token = self.token;
        let read = match token.kind {
            Kind::Number => number(token.text).ok_or_else(|| self.syntax())?,
            Kind::Text => {
                let mut text = token.value().into_owned();
                self.advance()?;
                // Texts behind each other are one.
                while self.token.kind == Kind::Text {
                    text.push_str(&self.token.value());
                    self.advance()?;
                }
                return Ok(Expression::Text(text.into()));
            }
            Kind::Parameter => Expression::Parameter(self.parameters),
            Kind::Variable => Expression::UserVariable(token.value().to_lowercase().into()),
            Kind::SystemVariable => system_variable(&token.value()),
            Kind::Symbol if token.text == "(" => {
                self.advance()?;
                if self.is("SELECT") {
                    return Err(self.not_here());
                }
                let inner = self.deeper(Self::expression)?;
                self.expect_symbol(")")?;
                return Ok(inner);
            }
            Kind::Word | Kind::Name => return self.word(),
            _ => return Err(self.syntax()),
        };
        self.advance()?;
        Ok(read)
    }

    /// A keyword, a function, or a column.
    fn word(&mut self) -> Read<Expression> {
        let token = self.token;
        // `_utf8mb4'text'`.
        if token.kind == Kind::Word && token.text.starts_with('_') {
            let mut ahead = *self;
            ahead.advance()?;
            if ahead.token.kind == Kind::Text {
                *self = ahead;
                return self.primary();
            }
        }
        for (words, of) in [
            (["NEXT", "VALUE", "FOR"], Expression::Next as fn(_) -> _),
            (["PREVIOUS", "VALUE", "FOR"], Expression::Previous),
        ] {
            if self.takes_all(&words)? {
                return Ok(of(self.name()?));
            }
        }
        if self.takes("BINARY")? {
            return self.deeper(Self::signed);
        }
        let (is_word, name) = (token.kind == Kind::Word, self.plain_name()?);
        if self.takes_symbol("(")? {
            return self.deeper(|parser| parser.function(&name));
        }
        if is_word && let Some(known) = keyword(&name) {
            return Ok(known);
        }
        if is_word && RESERVED.iter().any(|word| word.eq_ignore_ascii_case(&name)) {
            let mut at = *self;
            at.token = token;
            return Err(at.syntax());
        }
        let (mut schema, mut column) = (None, name);
        while self.takes_symbol(".")? {
            if self.takes_symbol("*")? {
                return Err(self.not_here());
            }
            schema = Some(std::mem::replace(&mut column, self.plain_name()?));
        }
        if self.takes_symbol("(")? {
            return Err(Refusal::no_function(&SqlName { schema, name: column }));
        }
        Ok(Expression::Column(column.into()))
    }

    /// What a function is, from behind its parenthesis on.
    fn function(&mut self, name: &str) -> Read<Expression> {
        let upper = name.to_ascii_uppercase();
        let read = match upper.as_str() {
            "NEXTVAL" => Expression::Next(self.name()?),
            "LASTVAL" => Expression::Previous(self.name()?),
            "SETVAL" => self.set_value()?,
            "CAST" => {
                let inner = self.expression()?;
                self.expect("AS")?;
                self.cast_to(inner)?
            }
            "CONVERT" => {
                let inner = self.expression()?;
                match self.takes("USING")? {
                    true => {
                        self.plain_name()?;
                        Expression::AsText(Box::new(inner))
                    }
                    false => {
                        self.expect_symbol(",")?;
                        self.cast_to(inner)?
                    }
                }
            }
            "COUNT" if self.takes_symbol("*")? => Expression::Count,
            // The one aggregate that a library asks for.
            "MAX" if self.takes("machine_id")? => Expression::Column(MAX_MACHINE.into()),
            "COUNT" | "MAX" | "MIN" | "SUM" | "AVG" | "GROUP_CONCAT" => {
                return Err(Refusal::not_here(&format!("{upper}(…)")));
            }
            _ => {
                let arguments = match self.token.is_symbol(")") {
                    true => Vec::new(),
                    false => self.expressions()?,
                };
                call(&upper, arguments).ok_or_else(|| {
                    let (schema, name) = (None, name.to_string());
                    Refusal::no_function(&SqlName { schema, name })
                })?
            }
        };
        self.expect_symbol(")")?;
        Ok(read)
    }

    fn set_value(&mut self) -> Read<Expression> {
        let name = self.name()?;
        self.expect_symbol(",")?;
        let to = self.expression()?;
        let more = |parser: &mut Self| match parser.takes_symbol(",")? {
            true => parser.expression().map(Some),
            false => Ok(None),
        };
        let (used, round) = (more(self)?, more(self)?);
        Ok(Expression::SetValue(Box::new(SetValue {
            name,
            to,
            used,
            round,
        })))
    }

    /// The type of a cast, as far as values differ by it.
    fn cast_to(&mut self, inner: Expression) -> Read<Expression> {
        let name = self.plain_name()?.to_ascii_uppercase();
        if self.takes_symbol("(")? {
            self.skip_until(|token| token.is_symbol(")"))?;
            self.expect_symbol(")")?;
        }
        // CHARACTER SET x, INTEGER behind SIGNED.
        while !self.token.is_symbol(")") && self.token.kind == Kind::Word {
            self.advance()?;
        }
        let inner = Box::new(inner);
        Ok(match name.as_str() {
            "SIGNED" | "UNSIGNED" | "INTEGER" | "INT" | "BIGINT" => Expression::AsInteger(inner),
            _ => Expression::AsText(inner),
        })
    }
}

fn arithmetic(operator: Operator, left: Expression, right: Expression) -> Expression {
    Expression::Arithmetic(operator, Box::new(left), Box::new(right))
}

/// A number as it is written.
fn number(text: &str) -> Option<Expression> {
    if let Some(digits) = text.strip_prefix("0x").or(text.strip_prefix("0X")) {
        return u64::from_str_radix(digits, 16).ok().map(Expression::Unsigned);
    }
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(Expression::Decimal(text.into()));
    }
    Some(match (text.parse::<i64>(), text.parse::<u64>()) {
        (Ok(number), _) => Expression::Integer(number),
        (_, Ok(number)) => Expression::Unsigned(number),
        _ => Expression::Decimal(text.into()),
    })
}

/// `@@x`, `@@session.x`, `@@global.x`.
fn system_variable(name: &str) -> Expression {
    let name = name.to_ascii_lowercase();
    let (is_global, name) = match name.split_once('.') {
        Some(("global", name)) => (true, name),
        Some(("session" | "local", name)) => (false, name),
        _ => (false, name.as_str()),
    };
    Expression::Variable(name.trim_matches('`').into(), is_global)
}

/// A word that is a value, or a function without its parentheses.
fn keyword(name: &str) -> Option<Expression> {
    Some(match name.to_ascii_uppercase().as_str() {
        "NULL" => Expression::Null,
        "TRUE" => Expression::Integer(1),
        "FALSE" => Expression::Integer(0),
        "CURRENT_TIMESTAMP" | "LOCALTIME" | "LOCALTIMESTAMP" => Expression::Function(Function::Now),
        "CURRENT_DATE" => Expression::Function(Function::Today),
        "UTC_TIMESTAMP" => Expression::Function(Function::UtcNow),
        "CURRENT_USER" => Expression::Function(Function::CurrentUser),
        _ => return None,
    })
}

/// What a function is of these arguments; `None`: there is none.
fn call(name: &str, mut arguments: Vec<Expression>) -> Option<Expression> {
    let plain = |function| Some(Expression::Function(function));
    // Parts of a second: none are shown.
    let digits = arguments.len() <= 1;
    match (name, arguments.len()) {
        ("LAST_INSERT_ID", 0) => Some(Expression::LastInsertId(None)),
        ("LAST_INSERT_ID", 1) => Some(Expression::LastInsertId(arguments.pop().map(Box::new))),
        ("VERSION", 0) => plain(Function::Version),
        ("DATABASE" | "SCHEMA", 0) => plain(Function::Database),
        ("USER" | "SESSION_USER" | "SYSTEM_USER", 0) => plain(Function::User),
        ("CURRENT_USER", 0) => plain(Function::CurrentUser),
        ("CONNECTION_ID", 0) => plain(Function::ConnectionId),
        ("NOW" | "CURRENT_TIMESTAMP" | "SYSDATE" | "LOCALTIME" | "LOCALTIMESTAMP", _) if digits => {
            plain(Function::Now)
        }
        ("UTC_TIMESTAMP", _) if digits => plain(Function::UtcNow),
        ("CURDATE" | "CURRENT_DATE", 0) => plain(Function::Today),
        ("UNIX_TIMESTAMP", 0) => plain(Function::UnixTime),
        ("ROW_COUNT", 0) => plain(Function::RowCount),
        ("FOUND_ROWS", 0) => plain(Function::FoundRows),
        ("MINT_UUID7" | "UUID_V7", 0) => plain(Function::Uuid7),
        ("MINT_UUID4" | "UUID_V4" | "UUID", 0) => plain(Function::Uuid4),
        ("MINT_ID", 1) => Some(Expression::MintId(Box::new(arguments.pop()?))),
        ("MINT_SNOWFLAKE", 0 | 1) => Some(Expression::MintSnowflake(arguments.pop().map(Box::new))),
        ("CONCAT", 1..) => Some(Expression::Concat(arguments)),
        ("IFNULL", 2) | ("COALESCE", 1..) => Some(Expression::Coalesce(arguments)),
        // No time zones are loaded, which NULL says.
        ("CONVERT_TZ", 3) => Some(Expression::Null),
        // Nobody holds a lock of this server.
        ("RELEASE_ALL_LOCKS", 0) => Some(Expression::Integer(0)),
        _ => None,
    }
}

/// Words that are no columns.
const RESERVED: &[&str] = &[
    "AND", "AS", "BY", "DESC", "FOR", "FROM", "GROUP", "HAVING", "IN", "INTO", "JOIN", "LIKE", "LIMIT",
    "NOT", "ON", "OR", "ORDER", "SELECT", "SET", "TABLE", "UNION", "UPDATE", "VALUES", "WHERE",
];
