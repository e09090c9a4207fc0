//! The token at hand, and what has been gathered of a statement.

use std::rc::Rc;

use crate::postgres::errors::{Result, SqlError, shown};
use crate::postgres::plan::{From, Target};
use crate::postgres::types::Type;
use crate::sql::lexer::{DEPTH_MAX, Lexer};
use crate::sql::names::SqlName;
use crate::sql::token::{Dialect, Kind, Token};
use mintage_server::chassis::config::Keys;

/// Reads tokens of one text.
pub(in crate::postgres) struct Parser<'t> {
    lexer: Lexer<'t>,
    /// The token at hand: the first that has not been used.
    pub(in crate::postgres) token: Token<'t>,
    pub(in crate::postgres) keys: &'t Keys,
    depth: usize,
    /// The types of parameters, in their order; 0 for one that was not seen.
    pub(super) parameters: Vec<u32>,
    /// The one that is first in the text: its number, and where.
    pub(super) first_parameter: Option<(usize, usize)>,
    /// The sequences that were named by a text, and where.
    pub(super) names: Vec<(Target, usize)>,
    /// What gives several rows in a list of values, if anything does.
    pub(super) rows: Option<(From, Type)>,
    /// Whether such a thing may stand here.
    pub(super) rows_allowed: bool,
    /// The columns that FROM gives: what they are called, and their types.
    pub(super) columns: Vec<(String, Type)>,
    /// What FROM is called.
    pub(super) alias: Option<String>,
}

/// Words that are never names without quotes.
const RESERVED: [&str; 72] = [
    "all",
    "analyse",
    "analyze",
    "and",
    "any",
    "array",
    "as",
    "asc",
    "asymmetric",
    "both",
    "case",
    "cast",
    "check",
    "collate",
    "column",
    "constraint",
    "create",
    "default",
    "deferrable",
    "desc",
    "distinct",
    "do",
    "else",
    "end",
    "except",
    "false",
    "fetch",
    "for",
    "foreign",
    "from",
    "grant",
    "group",
    "having",
    "in",
    "initially",
    "intersect",
    "into",
    "is",
    "join",
    "lateral",
    "leading",
    "left",
    "like",
    "limit",
    "natural",
    "not",
    "null",
    "offset",
    "on",
    "only",
    "or",
    "order",
    "placing",
    "primary",
    "references",
    "returning",
    "right",
    "select",
    "some",
    "symmetric",
    "table",
    "then",
    "to",
    "trailing",
    "true",
    "union",
    "unique",
    "using",
    "variadic",
    "when",
    "where",
    "with",
];

/// A parameter of which nothing is known yet.
const SEEN: u32 = 705;

/// How many parameters a statement may have.
pub(in crate::postgres) const PARAMETERS_MAX: usize = 128;

impl<'t> Parser<'t> {
    pub(in crate::postgres) fn new(text: &'t str, keys: &'t Keys) -> Result<Parser<'t>> {
        let mut lexer = Lexer::new(text, Dialect::Postgres);
        let token = lexer.next().map_err(|fault| SqlError::of_fault(fault, text))?;
        Ok(Parser {
            lexer,
            token,
            keys,
            depth: 0,
            parameters: Vec::new(),
            first_parameter: None,
            names: Vec::new(),
            rows: None,
            rows_allowed: false,
            columns: Vec::new(),
            alias: None,
        })
    }

    /// Forgets what was gathered of the statement before.
    pub(in crate::postgres) fn begin_statement(&mut self) {
        (self.rows, self.rows_allowed, self.alias) = (None, false, None);
        self.parameters.clear();
        self.first_parameter = None;
        self.names.clear();
        self.columns.clear();
    }

    /// Notes that a sequence was named here. One that is named several times in a row is one, with its first place.
    pub(super) fn noted(&mut self, target: Target, at: usize) -> Target {
        match self.names.last() {
            Some((known, _)) if *known == target => known.clone(),
            _ => {
                self.names.push((target.clone(), at));
                target
            }
        }
    }

    /// The types of the parameters, and the sequences that must be there.
    pub(super) fn gathered(&mut self) -> (Rc<[u32]>, Vec<(Target, usize)>) {
        // What nothing is known of is a text.
        let found = self.parameters.iter();
        let found = found.map(|oid| if *oid == SEEN { Type::Text.oid() } else { *oid });
        (found.collect(), std::mem::take(&mut self.names))
    }

    /// Goes on to the next token, and answers the one that was at hand.
    pub(in crate::postgres) fn advance(&mut self) -> Result<Token<'t>> {
        let text = self.lexer.text();
        let next = self
            .lexer
            .next()
            .map_err(|fault| SqlError::of_fault(fault, text))?;
        Ok(std::mem::replace(&mut self.token, next))
    }

    /// Where it is, to come back to.
    pub(in crate::postgres) fn place(&self) -> (Lexer<'t>, Token<'t>) {
        (self.lexer, self.token)
    }

    /// The tokens behind the one at hand.
    pub(in crate::postgres) fn tokens(&self) -> Ahead<'t> {
        Ahead(self.lexer)
    }

    pub(in crate::postgres) fn go_to(&mut self, place: (Lexer<'t>, Token<'t>)) {
        (self.lexer, self.token) = place;
    }

    /// The token behind the one at hand.
    pub(super) fn ahead(&self) -> Result<Token<'t>> {
        self.lexer
            .peek()
            .map_err(|fault| SqlError::of_fault(fault, self.lexer.text()))
    }

    pub(in crate::postgres) fn is(&self, word: &str) -> bool {
        self.token.is(word)
    }

    /// Whether the keyword is at hand, which is then used.
    pub(in crate::postgres) fn eat(&mut self, word: &str) -> Result<bool> {
        let found = self.token.is(word);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    pub(in crate::postgres) fn eat_symbol(&mut self, symbol: &str) -> Result<bool> {
        let found = self.token.is_symbol(symbol);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    /// The first of these keywords that is at hand, which is then used.
    pub(super) fn eat_any(&mut self, words: &[&'static str]) -> Result<Option<&'static str>> {
        let found = words.iter().copied().find(|word| self.token.is(word));
        if found.is_some() {
            self.advance()?;
        }
        Ok(found)
    }

    pub(in crate::postgres) fn expect(&mut self, word: &str) -> Result<()> {
        match self.eat(word)? {
            true => Ok(()),
            false => Err(self.unexpected()),
        }
    }

    pub(in crate::postgres) fn expect_symbol(&mut self, symbol: &str) -> Result<()> {
        match self.eat_symbol(symbol)? {
            true => Ok(()),
            false => Err(self.unexpected()),
        }
    }

    /// The refusal of the token at hand.
    pub(in crate::postgres) fn unexpected(&self) -> SqlError {
        SqlError::syntax(self.token.at, self.token.text)
    }

    pub(in crate::postgres) fn is_at_end(&self) -> bool {
        self.token.kind == Kind::End || self.token.is_symbol(";")
    }

    /// Goes to the end of the statement.
    pub(in crate::postgres) fn skip_statement(&mut self) -> Result<()> {
        while !self.is_at_end() {
            self.advance()?;
        }
        Ok(())
    }

    /// Whether a name is at hand.
    pub(in crate::postgres) fn is_name(&self) -> bool {
        match self.token.kind {
            Kind::Name => true,
            Kind::Word => !RESERVED.iter().any(|word| self.token.is(word)),
            _ => false,
        }
    }

    /// A name: one part of one.
    pub(in crate::postgres) fn name(&mut self) -> Result<String> {
        match self.is_name() {
            true => Ok(self.advance()?.value().into_owned()),
            false => Err(self.unexpected()),
        }
    }

    /// A name with its schema.
    pub(in crate::postgres) fn qualified(&mut self) -> Result<SqlName> {
        let at = self.token.at;
        let mut parts = vec![self.name()?];
        while self.eat_symbol(".")? {
            // Behind a dot any word is a name.
            match self.token.kind {
                Kind::Word | Kind::Name => parts.push(self.advance()?.value().into_owned()),
                _ => return Err(self.unexpected()),
            }
        }
        let written = parts.join(".");
        SqlName::of_parts(parts).map_err(|_| {
            let message = format!(
                "improper qualified name (too many dotted names): {}",
                shown(&written)
            );
            SqlError::new("42601", message).at(at)
        })
    }

    /// A whole number, with a sign.
    pub(super) fn integer(&mut self) -> Result<i64> {
        let negative = match self.token.is_symbol("-") {
            true => {
                self.advance()?;
                true
            }
            false => {
                self.eat_symbol("+")?;
                false
            }
        };
        if self.token.kind != Kind::Number {
            return Err(self.unexpected());
        }
        let written = self.advance()?.text;
        let text = if negative {
            format!("-{written}")
        } else {
            written.to_string()
        };
        crate::postgres::types::Value::text(text).integer(Type::Int8)
    }

    /// Does one more thing inside others.
    pub(in crate::postgres) fn deeper<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= DEPTH_MAX {
            return Err(SqlError::too_deep());
        }
        self.depth += 1;
        let done = work(self);
        self.depth -= 1;
        done
    }

    /// Notes a parameter where it is written.
    pub(super) fn parameter_at(&mut self, number: usize, at: usize) -> Result<()> {
        // A list is read after what is behind FROM.
        if self.first_parameter.is_none_or(|(_, first)| at < first) {
            self.first_parameter = Some((number, at));
        }
        self.parameter(number, 0)
    }

    /// Notes a parameter, and its type where that is known here and was not before.
    pub(in crate::postgres) fn parameter(&mut self, number: usize, kind: u32) -> Result<()> {
        if number > PARAMETERS_MAX {
            let message =
                format!("there is no parameter ${number}: a statement has {PARAMETERS_MAX} of them at most");
            return Err(SqlError::new("54000", message).at(self.token.at));
        }
        if self.parameters.len() < number {
            self.parameters.resize(number, 0);
        }
        let known = &mut self.parameters[number - 1];
        if *known == 0 || *known == SEEN {
            *known = if kind == 0 { SEEN } else { kind };
        }
        Ok(())
    }

    /// The whole text.
    pub(in crate::postgres) fn text(&self) -> &'t str {
        self.lexer.text()
    }
}

/// Tokens that are looked at without being used.
pub(in crate::postgres) struct Ahead<'t>(Lexer<'t>);

impl<'t> Ahead<'t> {
    pub(in crate::postgres) fn next(&mut self) -> Result<Token<'t>> {
        let text = self.0.text();
        self.0.next().map_err(|fault| SqlError::of_fault(fault, text))
    }

    pub(in crate::postgres) fn peek(&self) -> Result<Token<'t>> {
        self.0
            .peek()
            .map_err(|fault| SqlError::of_fault(fault, self.0.text()))
    }
}
