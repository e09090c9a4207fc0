//! From a text to its statements: recursive descent over the shared lexer, never deeper than 64.
//!
//! | file | what |
//! | --- | --- |
//! | `expression` | values, functions, arithmetic |
//! | `query` | `SELECT`, `DO`, `UNION ALL` |
//! | `change` | `INSERT`, `REPLACE`, `UPDATE`, `DELETE` |
//! | `library` | the tables of libraries |
//! | `definition` | `CREATE`, `ALTER`, `DROP` |
//! | `setting` | `SET`, `SHOW`, transactions, `KILL` |

mod change;
mod definition;
mod expression;
mod library;
mod query;
mod setting;

use std::cell::OnceCell;

use super::plan::{Parsed, Statement};
use super::refusal::Refusal;
use crate::sql::lexer::{DEPTH_MAX, FaultKind, Lexer};
use crate::sql::names::SqlName;
use crate::sql::token::{Dialect, Kind, Token};

/// What a rule of the grammar makes.
type Read<T> = Result<T, Refusal>;

/// Reads a text: each of its statements, up to the first that is refused.
pub(crate) fn parse(text: &str) -> Parsed {
    let mut parsed = read(text);
    parsed.statements.shrink_to_fit();
    parsed.bytes = parsed.weigh();
    parsed
}

fn read(text: &str) -> Parsed {
    let mut parsed = Parsed {
        statements: Vec::new(),
        parameters: 0,
        bytes: 0,
        head: OnceCell::new(),
    };
    let mut parser = match Parser::new(text) {
        Ok(parser) => parser,
        Err(refusal) => {
            parsed.statements.push(Err(refusal));
            return parsed;
        }
    };
    loop {
        // One that is empty between two others is refused, and at the end there is none.
        if parser.is_at_end() {
            if parsed.statements.is_empty() {
                parsed.statements.push(Err(Refusal::empty()));
            }
            break;
        }
        let statement = parser.whole_statement();
        let failed = statement.is_err();
        parsed.statements.push(statement);
        if failed {
            break;
        }
    }
    parsed.parameters = parser.parameters;
    parsed
}

/// Reads tokens, one ahead.
#[derive(Clone, Copy, Debug)]
struct Parser<'t> {
    lexer: Lexer<'t>,
    token: Token<'t>,
    /// Where the token before ended.
    end: usize,
    parameters: usize,
    depth: usize,
    /// How many operators the expression has so far: each makes its tree deeper.
    operators: usize,
    /// Where the statement began.
    began: usize,
}

impl<'t> Parser<'t> {
    fn new(text: &'t str) -> Read<Parser<'t>> {
        let mut lexer = Lexer::new(text, Dialect::Mysql);
        let token = next(&mut lexer)?;
        Ok(Parser {
            lexer,
            token,
            end: 0,
            parameters: 0,
            depth: 0,
            operators: 0,
            began: 0,
        })
    }

    /// A statement up to its `;` or the end.
    fn whole_statement(&mut self) -> Read<Statement> {
        self.began = self.token.at;
        let statement = self.statement()?;
        if !self.takes_symbol(";")? && !self.is_at_end() {
            return Err(self.syntax());
        }
        // As in the original, what is wrong in form is told first.
        if let Statement::Select(selects) = &statement {
            selects.iter().try_for_each(query::check_columns)?;
        }
        Ok(statement)
    }

    fn statement(&mut self) -> Read<Statement> {
        let start = *self;
        let word = self.token;
        let word = match word.kind {
            Kind::Word => word.text.to_ascii_uppercase(),
            // `(SELECT …)` is known, and not here.
            _ => return Err(self.syntax()),
        };
        self.advance()?;
        match word.as_str() {
            "SELECT" => self.select(),
            "DO" => Ok(Statement::Do(self.expressions()?)),
            "INSERT" => self.insert(false),
            "REPLACE" => self.insert(true),
            "UPDATE" => self.update(),
            "DELETE" | "TRUNCATE" => self.remove(),
            "CREATE" => self.create(),
            "ALTER" => self.alter(),
            "DROP" => self.drop(),
            "SHOW" => self.show(),
            "SET" => self.set(),
            "USE" => Ok(Statement::Use(self.plain_name()?)),
            "BEGIN" | "START" | "COMMIT" | "ROLLBACK" | "SAVEPOINT" | "RELEASE" => self.transaction(&word),
            "KILL" => self.kill(),
            "LOCK" | "UNLOCK" | "FLUSH" => {
                self.skip_statement()?;
                Ok(Statement::Nothing)
            }
            word if KNOWN.contains(&word) => Err(start.not_here()),
            _ => Err(start.syntax()),
        }
    }

    /// Goes to the next token.
    fn advance(&mut self) -> Read<()> {
        if self.token.kind == Kind::Parameter {
            self.parameters += 1;
            if self.parameters > PARAMETERS_MAX {
                return Err(Refusal::too_many_parameters());
            }
        }
        self.end = self.token.end();
        self.token = next(&mut self.lexer)?;
        Ok(())
    }

    fn is_at_end(&self) -> bool {
        self.token.kind == Kind::End
    }

    /// Whether the statement ends here.
    fn is_at_statement_end(&self) -> bool {
        self.is_at_end() || self.token.is_symbol(";")
    }

    fn is(&self, word: &str) -> bool {
        self.token.is(word)
    }

    /// Goes on if this word is next.
    fn takes(&mut self, word: &str) -> Read<bool> {
        let is_it = self.is(word);
        if is_it {
            self.advance()?;
        }
        Ok(is_it)
    }

    fn takes_symbol(&mut self, symbol: &str) -> Read<bool> {
        let is_it = self.token.is_symbol(symbol);
        if is_it {
            self.advance()?;
        }
        Ok(is_it)
    }

    /// Goes on if these words are next; where only the first of them are, nothing is read.
    fn takes_all(&mut self, words: &[&str]) -> Read<bool> {
        let before = *self;
        for word in words {
            if !self.takes(word)? {
                *self = before;
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn expect(&mut self, word: &str) -> Read<()> {
        match self.takes(word)? {
            true => Ok(()),
            false => Err(self.syntax()),
        }
    }

    fn expect_symbol(&mut self, symbol: &str) -> Read<()> {
        match self.takes_symbol(symbol)? {
            true => Ok(()),
            false => Err(self.syntax()),
        }
    }

    /// A name without a database.
    fn plain_name(&mut self) -> Read<String> {
        if !matches!(self.token.kind, Kind::Word | Kind::Name) {
            return Err(self.syntax());
        }
        let name = self.token.value().into_owned();
        self.advance()?;
        Ok(name)
    }

    /// A name, with its database where that is written.
    fn name(&mut self) -> Read<SqlName> {
        let mut parts = vec![self.plain_name()?];
        while self.token.is_symbol(".") {
            self.advance()?;
            parts.push(self.plain_name()?);
        }
        let start = *self;
        SqlName::of_parts(parts).map_err(|_| start.syntax())
    }

    fn names(&mut self) -> Read<Vec<SqlName>> {
        let mut names = vec![self.name()?];
        while self.takes_symbol(",")? {
            names.push(self.name()?);
        }
        Ok(names)
    }

    /// A number, perhaps behind its sign. `None`: it does not fit into 64 bits.
    fn integer(&mut self) -> Read<Option<i64>> {
        let sign = match () {
            () if self.takes_symbol("-")? => "-",
            () => {
                self.takes_symbol("+")?;
                ""
            }
        };
        if self.token.kind != Kind::Number || !self.token.text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(self.syntax());
        }
        let number = format!("{sign}{}", self.token.text).parse().ok();
        self.advance()?;
        Ok(number)
    }

    /// Does something inside a parenthesis, as deep as that may be.
    fn deeper<T>(&mut self, inside: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        if self.depth == DEPTH_MAX {
            return Err(Refusal::too_deep());
        }
        self.depth += 1;
        let read = inside(self);
        self.depth -= 1;
        read
    }

    /// Passes over tokens up to one that `ends`, outside of parentheses, or to the end of the statement.
    fn skip_until(&mut self, ends: impl Fn(&Token<'t>) -> bool) -> Read<()> {
        let mut depth = 0;
        while !self.is_at_end() && !(depth == 0 && (self.is_at_statement_end() || ends(&self.token))) {
            match self.token.text {
                "(" if depth == DEPTH_MAX => return Err(Refusal::too_deep()),
                "(" => depth += 1,
                ")" if depth == 0 => return Err(self.syntax()),
                ")" => depth -= 1,
                _ => {}
            }
            self.advance()?;
        }
        match depth {
            0 => Ok(()),
            _ => Err(self.syntax()),
        }
    }

    fn skip_statement(&mut self) -> Read<()> {
        self.skip_until(|_| false)
    }

    /// The refusal of what is next.
    fn syntax(&self) -> Refusal {
        let text = self.lexer.text();
        let before = text.get(..self.token.at).unwrap_or(text);
        let line = 1 + before.matches('\n').count();
        Refusal::syntax(text.get(self.token.at..).unwrap_or_default(), line)
    }

    /// The refusal of a statement that the original knows.
    fn not_here(&self) -> Refusal {
        let text = self.lexer.text();
        Refusal::not_here(text.get(self.began..).unwrap_or_default().trim_ascii())
    }
}

fn next<'t>(lexer: &mut Lexer<'t>) -> Read<Token<'t>> {
    lexer.next().map_err(|fault| match fault.kind {
        FaultKind::TooDeep => Refusal::too_deep(),
        _ => {
            let text = lexer.text();
            let before = text.get(..fault.at).unwrap_or(text);
            Refusal::syntax(
                text.get(fault.at..).unwrap_or_default(),
                1 + before.matches('\n').count(),
            )
        }
    })
}

/// How many `?` a text may have.
const PARAMETERS_MAX: usize = 128;

/// The first words of what the original knows, and what is not here.
const KNOWN: &[&str] = &[
    "ANALYZE",
    "BACKUP",
    "BINLOG",
    "CACHE",
    "CALL",
    "CHANGE",
    "CHECK",
    "CHECKSUM",
    "DEALLOCATE",
    "DELIMITER",
    "DESC",
    "DESCRIBE",
    "EXECUTE",
    "EXPLAIN",
    "GET",
    "GRANT",
    "HANDLER",
    "HELP",
    "INSTALL",
    "LOAD",
    "OPTIMIZE",
    "PREPARE",
    "PURGE",
    "RENAME",
    "REPAIR",
    "RESET",
    "RESIGNAL",
    "REVOKE",
    "SHUTDOWN",
    "SIGNAL",
    "SLAVE",
    "STOP",
    "TABLE",
    "UNINSTALL",
    "VALUES",
    "WITH",
    "XA",
];

#[cfg(test)]
mod tests;
