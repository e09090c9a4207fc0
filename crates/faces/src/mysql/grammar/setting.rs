//! `SET`, `SHOW`, transactions, `KILL`.

use super::{Parser, Read};
use crate::mysql::plan::{Assignment, Expression, Setting, Show, Statement, Transaction};
use crate::sql::token::Kind;

impl Parser<'_> {
    /// From behind `SET` on.
    pub(super) fn set(&mut self) -> Read<Statement> {
        let start = *self;
        if self.is("PASSWORD")
            || self.is("ROLE")
            || self.is("RESOURCE")
            || self.takes_all(&["DEFAULT", "ROLE"])?
        {
            return Err(start.not_here());
        }
        if self.takes("STATEMENT")? {
            // What it sets holds for the statement behind it alone, and says nothing to it.
            self.skip_until(|token| token.is("FOR"))?;
            self.expect("FOR")?;
            return match self.is("SET") {
                true => Err(self.not_here()),
                false => self.statement(),
            };
        }
        let mut all = Vec::new();
        loop {
            all.push(self.assignment()?);
            if all.len() > ASSIGNMENTS_MAX {
                return Err(start.not_here());
            }
            if !self.takes_symbol(",")? {
                return Ok(Statement::Set(all));
            }
        }
    }

    fn assignment(&mut self) -> Read<Assignment> {
        if self.token.kind == Kind::Variable {
            let name = self.token.value().to_lowercase();
            self.advance()?;
            if !self.takes_symbol(":=")? {
                self.expect_symbol("=")?;
            }
            return Ok(Assignment::UserVariable(name.into(), self.expression()?));
        }
        if self.takes("NAMES")? {
            let charset = self.word_or_text()?;
            let collation = match self.takes("COLLATE")? {
                true => self.word_or_text()?,
                false => None,
            };
            return Ok(Assignment::Names(charset, collation));
        }
        if self.takes_all(&["CHARACTER", "SET"])? || self.takes("CHARSET")? {
            return Ok(Assignment::Names(self.word_or_text()?, None));
        }
        let mut is_global = self.takes("GLOBAL")? || self.takes("PERSIST")?;
        let _ = self.takes("SESSION")? || self.takes("LOCAL")?;
        if self.takes("TRANSACTION")? {
            return self.isolation();
        }
        let name = match self.token.kind {
            Kind::SystemVariable => {
                let written = self.token.value().to_ascii_lowercase();
                is_global |= written.starts_with("global.") || written.starts_with("persist.");
                let name = written
                    .rsplit_once('.')
                    .map_or(written.as_str(), |(_, name)| name);
                let name = name.trim_matches('`').to_string();
                self.advance()?;
                name
            }
            _ => self.plain_name()?.to_ascii_lowercase(),
        };
        if !self.takes_symbol(":=")? {
            self.expect_symbol("=")?;
        }
        Ok(Assignment::Variable {
            name: name.into(),
            value: self.setting()?,
            is_global,
        })
    }

    /// A value: a literal, a word, another variable. Any other expression is passed over.
    fn setting(&mut self) -> Read<Option<Setting>> {
        let before = *self;
        let read = match self.token.kind {
            Kind::Word if self.is("DEFAULT") => {
                self.advance()?;
                Some(Setting::Default)
            }
            Kind::Word | Kind::Name => Some(Setting::Word(self.plain_name()?.into())),
            _ => match self.expression() {
                Ok(
                    value @ (Expression::Integer(_)
                    | Expression::Unsigned(_)
                    | Expression::Decimal(_)
                    | Expression::Text(_)
                    | Expression::Parameter(_)
                    | Expression::Variable(..)
                    | Expression::UserVariable(_)),
                ) => Some(Setting::Value(value)),
                _ => None,
            },
        };
        if read.is_some() && (self.token.is_symbol(",") || self.is_at_statement_end()) {
            return Ok(read);
        }
        *self = before;
        self.skip_until(|token| token.is_symbol(","))?;
        Ok(None)
    }

    fn word_or_text(&mut self) -> Read<Option<Box<str>>> {
        let word = match self.token.kind {
            Kind::Word | Kind::Name | Kind::Text => self.token.value().into_owned(),
            _ => return Err(self.syntax()),
        };
        self.advance()?;
        Ok((!word.eq_ignore_ascii_case("default")).then(|| word.into()))
    }

    /// `ISOLATION LEVEL …`, `READ ONLY`, `READ WRITE`.
    fn isolation(&mut self) -> Read<Assignment> {
        let (mut level, mut read_only) = (None, None);
        loop {
            match () {
                () if self.takes_all(&["ISOLATION", "LEVEL"])? => {
                    let known = [
                        (&["REPEATABLE", "READ"][..], "REPEATABLE-READ"),
                        (&["READ", "COMMITTED"], "READ-COMMITTED"),
                        (&["READ", "UNCOMMITTED"], "READ-UNCOMMITTED"),
                        (&["SERIALIZABLE"], "SERIALIZABLE"),
                    ];
                    for (words, name) in known {
                        if level.is_none() && self.takes_all(words)? {
                            level = Some(name);
                        }
                    }
                    if level.is_none() {
                        return Err(self.syntax());
                    }
                }
                () if self.takes_all(&["READ", "ONLY"])? => read_only = Some(true),
                () if self.takes_all(&["READ", "WRITE"])? => read_only = Some(false),
                () => return Err(self.syntax()),
            }
            if !self.takes_symbol(",")? {
                return Ok(Assignment::Isolation(level, read_only));
            }
        }
    }

    /// From behind `SHOW` on.
    pub(super) fn show(&mut self) -> Read<Statement> {
        let start = *self;
        if self.takes("CREATE")? {
            return match () {
                () if self.takes("SEQUENCE")? => Ok(Statement::ShowCreate(self.name()?)),
                () if KNOWN_CREATED.iter().any(|word| self.is(word)) => Err(start.not_here()),
                () => Err(self.syntax()),
            };
        }
        let full = self.takes("FULL")?;
        let _ = self.takes("GLOBAL")? || self.takes("SESSION")? || self.takes("LOCAL")?;
        let at = *self;
        let word = self.plain_name()?.to_ascii_uppercase();
        let show = match word.as_str() {
            "TABLES" => {
                self.in_database()?;
                Show::Tables {
                    like: self.like()?,
                    full,
                }
            }
            "TABLE" if self.takes("STATUS")? => {
                self.in_database()?;
                Show::TableStatus { like: self.like()? }
            }
            "DATABASES" | "SCHEMAS" => Show::Databases { like: self.like()? },
            "VARIABLES" => self.show_variables()?,
            "WARNINGS" | "ERRORS" => {
                self.skip_statement()?;
                Show::Empty(&["Level", "Code", "Message"])
            }
            "STATUS" | "PLUGINS" | "ENGINES" | "COLLATION" | "CHARSET" | "PROCESSLIST" | "TRIGGERS"
            | "EVENTS" => {
                self.skip_statement()?;
                Show::Empty(&["Variable_name", "Value"])
            }
            word if KNOWN_SHOWN.contains(&word) => return Err(start.not_here()),
            _ => return Err(at.syntax()),
        };
        Ok(Statement::Show(show))
    }

    fn in_database(&mut self) -> Read<()> {
        if self.takes("FROM")? || self.takes("IN")? {
            self.plain_name()?;
        }
        Ok(())
    }

    /// `LIKE 'x'`; any `WHERE` is passed over.
    fn like(&mut self) -> Read<Option<Expression>> {
        match () {
            () if self.takes("LIKE")? => Ok(Some(self.sum()?)),
            () if self.takes("WHERE")? => {
                self.skip_statement()?;
                Ok(None)
            }
            () => Ok(None),
        }
    }

    /// `LIKE 'x'`, `WHERE Variable_name = 'x' OR Variable_name IN ('y', 'z')`.
    fn show_variables(&mut self) -> Read<Show> {
        let (mut like, mut names) = (None, Vec::new());
        if self.takes("LIKE")? {
            like = Some(self.sum()?);
        } else if self.takes("WHERE")? {
            // The texts are the names: of all that clients ask here.
            while !self.is_at_statement_end() {
                match self.token.kind {
                    Kind::Text | Kind::Parameter => names.push(self.sum()?),
                    _ => self.advance()?,
                }
            }
        }
        Ok(Show::Variables { like, names })
    }

    /// From behind the first word of a transaction on.
    pub(super) fn transaction(&mut self, word: &str) -> Read<Statement> {
        let transaction = match word {
            "BEGIN" => {
                let _ = self.takes("WORK")?;
                Transaction::Begin { read_only: false }
            }
            "START" => {
                self.expect("TRANSACTION")?;
                let mut read_only = false;
                while !self.is_at_statement_end() {
                    match () {
                        () if self.takes_all(&["READ", "ONLY"])? => read_only = true,
                        () if self.takes_all(&["READ", "WRITE"])? => {}
                        () if self.takes_all(&["WITH", "CONSISTENT", "SNAPSHOT"])? => {}
                        () => return Err(self.syntax()),
                    }
                    if !self.takes_symbol(",")? {
                        break;
                    }
                }
                Transaction::Begin { read_only }
            }
            "COMMIT" => {
                self.ending()?;
                Transaction::Commit
            }
            "ROLLBACK" => {
                let _ = self.takes("WORK")?;
                match self.takes("TO")? {
                    true => {
                        let _ = self.takes("SAVEPOINT")?;
                        self.plain_name()?;
                        Transaction::Savepoint
                    }
                    false => {
                        self.ending()?;
                        Transaction::Rollback
                    }
                }
            }
            _ => {
                if word == "RELEASE" {
                    self.expect("SAVEPOINT")?;
                }
                self.plain_name()?;
                Transaction::Savepoint
            }
        };
        Ok(Statement::Transaction(transaction))
    }

    /// `WORK`, `AND NO CHAIN`, `NO RELEASE`.
    fn ending(&mut self) -> Read<()> {
        let _ = self.takes("WORK")?;
        let _ = self.takes_all(&["AND", "NO", "CHAIN"])?;
        let _ = self.takes_all(&["NO", "RELEASE"])?;
        Ok(())
    }

    /// From behind `KILL` on.
    pub(super) fn kill(&mut self) -> Read<Statement> {
        let _ = self.takes("HARD")? || self.takes("SOFT")?;
        let whole_connection = match () {
            () if self.takes("QUERY")? => false,
            () => {
                let _ = self.takes("CONNECTION")?;
                true
            }
        };
        Ok(Statement::Kill {
            id: self.expression()?,
            whole_connection,
        })
    }
}

/// What else the original shows.
const KNOWN_SHOWN: &[&str] = &[
    "ALL",
    "ANALYZE",
    "AUTHORS",
    "BINARY",
    "BINLOG",
    "CHARACTER",
    "CLIENT_STATISTICS",
    "COLUMNS",
    "CONTRIBUTORS",
    "COUNT",
    "ENGINE",
    "EXPLAIN",
    "FIELDS",
    "FUNCTION",
    "GRANTS",
    "INDEX",
    "INDEXES",
    "INDEX_STATISTICS",
    "KEYS",
    "LOCALES",
    "MASTER",
    "OPEN",
    "PACKAGE",
    "PRIVILEGES",
    "PROCEDURE",
    "PROFILE",
    "PROFILES",
    "RELAYLOG",
    "REPLICA",
    "REPLICAS",
    "SLAVE",
    "STORAGE",
    "TABLE",
    "TABLE_STATISTICS",
    "USER_STATISTICS",
];

/// What else the original shows the making of.
const KNOWN_CREATED: &[&str] = &[
    "DATABASE",
    "EVENT",
    "FUNCTION",
    "PACKAGE",
    "PROCEDURE",
    "SCHEMA",
    "TABLE",
    "TRIGGER",
    "USER",
    "VIEW",
];

/// How many assignments one `SET` may have.
const ASSIGNMENTS_MAX: usize = 64;
