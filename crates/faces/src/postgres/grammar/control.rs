//! Transactions, cursors, settings, and what pools send between uses.

use std::rc::Rc;

use super::Parser;
use crate::postgres::errors::{Result, SqlError};
use crate::postgres::plan::{Declare, Discard, Fetch, Modes, Plan, Set, Transaction};
use crate::sql::token::Kind;

impl Parser<'_> {
    /// A statement that begins with `word`, which is at hand; `None`: none of these.
    pub(super) fn control(&mut self, word: &str) -> Result<Option<Plan>> {
        Ok(Some(match word {
            "begin" => {
                self.advance()?;
                self.transaction_word()?;
                Plan::Transaction(Transaction::Begin {
                    tag: "BEGIN",
                    modes: self.modes()?,
                })
            }
            "start" => {
                self.advance()?;
                self.expect("transaction")?;
                Plan::Transaction(Transaction::Begin {
                    tag: "START TRANSACTION",
                    modes: self.modes()?,
                })
            }
            "commit" | "end" => {
                self.advance()?;
                self.not_prepared()?;
                self.transaction_word()?;
                Plan::Transaction(Transaction::Commit { chain: self.chain()? })
            }
            "rollback" | "abort" => {
                self.advance()?;
                self.not_prepared()?;
                self.transaction_word()?;
                match word == "rollback" && self.eat("to")? {
                    true => {
                        self.eat("savepoint")?;
                        Plan::Transaction(Transaction::RollbackTo(self.name()?.into()))
                    }
                    false => Plan::Transaction(Transaction::Rollback { chain: self.chain()? }),
                }
            }
            "savepoint" => {
                self.advance()?;
                Plan::Transaction(Transaction::Savepoint(self.name()?.into()))
            }
            "release" => {
                self.advance()?;
                self.eat("savepoint")?;
                Plan::Transaction(Transaction::Release(self.name()?.into()))
            }
            "declare" => self.declare()?,
            "fetch" => self.fetch(false)?,
            "move" => self.fetch(true)?,
            "close" => {
                self.advance()?;
                Plan::Close(self.all_or_name()?)
            }
            "set" => self.set()?,
            "show" => self.show()?,
            "reset" => self.reset()?,
            "discard" => {
                self.advance()?;
                let what = self.eat_any(&["all", "sequences", "plans", "temporary", "temp"])?;
                Plan::Discard(match what {
                    Some("all") => Discard::All,
                    Some("sequences") => Discard::Sequences,
                    Some("plans") => Discard::Plans,
                    Some(_) => Discard::Temp,
                    None => return Err(self.unexpected()),
                })
            }
            "deallocate" => {
                self.advance()?;
                self.eat("prepare")?;
                Plan::Deallocate(self.all_or_name()?)
            }
            "unlisten" => {
                self.advance()?;
                if !self.eat_symbol("*")? {
                    self.name()?;
                }
                Plan::Nothing("UNLISTEN")
            }
            _ => return Ok(None),
        }))
    }

    fn transaction_word(&mut self) -> Result<()> {
        self.eat_any(&["transaction", "work"])?;
        Ok(())
    }

    fn not_prepared(&mut self) -> Result<()> {
        match self.is("prepared") {
            true => Err(SqlError::unsupported("a prepared transaction").at(self.token.at)),
            false => Ok(()),
        }
    }

    /// `AND [NO] CHAIN`.
    fn chain(&mut self) -> Result<bool> {
        if !self.eat("and")? {
            return Ok(false);
        }
        let no = self.eat("no")?;
        self.expect("chain")?;
        Ok(!no)
    }

    fn modes(&mut self) -> Result<Modes> {
        let mut modes = Modes::default();
        while !self.is_at_end() {
            match () {
                () if self.eat("isolation")? => {
                    self.expect("level")?;
                    modes.isolation = Some(match self.eat_any(&["serializable", "repeatable", "read"])? {
                        Some("serializable") => "serializable",
                        Some("repeatable") => {
                            self.expect("read")?;
                            "repeatable read"
                        }
                        Some(_) => match self.eat_any(&["committed", "uncommitted"])? {
                            Some("committed") => "read committed",
                            Some(_) => "read uncommitted",
                            None => return Err(self.unexpected()),
                        },
                        None => return Err(self.unexpected()),
                    });
                }
                () if self.eat("read")? => {
                    modes.read_only = Some(match self.eat_any(&["only", "write"])? {
                        Some(word) => word == "only",
                        None => return Err(self.unexpected()),
                    });
                }
                () if self.eat("deferrable")? => modes.deferrable = Some(true),
                () if self.is("not") => {
                    self.advance()?;
                    self.expect("deferrable")?;
                    modes.deferrable = Some(false);
                }
                () => return Err(self.unexpected()),
            }
            self.eat_symbol(",")?;
        }
        Ok(modes)
    }

    fn all_or_name(&mut self) -> Result<Option<Box<str>>> {
        match self.eat("all")? {
            true => Ok(None),
            false => Ok(Some(self.name()?.into())),
        }
    }

    /// `DECLARE c … CURSOR … FOR SELECT …`.
    fn declare(&mut self) -> Result<Plan> {
        self.advance()?;
        let name = self.name()?.into();
        loop {
            match self.eat_any(&["binary", "asensitive", "insensitive", "no", "scroll"])? {
                Some("no") => self.expect("scroll")?,
                Some("binary") => return Err(SqlError::unsupported("a binary cursor").at(self.token.at)),
                Some("scroll") => {
                    return Err(SqlError::unsupported("a cursor that scrolls").at(self.token.at));
                }
                Some(_) => {}
                None => break,
            }
        }
        self.expect("cursor")?;
        let mut hold = false;
        if let Some(word) = self.eat_any(&["with", "without"])? {
            hold = word == "with";
            self.expect("hold")?;
        }
        self.expect("for")?;
        if !self.is("select") {
            return Err(match self.token.kind {
                Kind::Word => SqlError::unsupported("a cursor of this").at(self.token.at),
                _ => self.unexpected(),
            });
        }
        let query = self.select_statement()?;
        // They are those of the whole.
        self.parameters = query.parameters.to_vec();
        self.names = query.names.clone();
        Ok(Plan::Declare(Declare {
            name,
            hold,
            query: Rc::new(query.weighed()),
        }))
    }

    /// `FETCH [how] [FROM|IN] c`.
    fn fetch(&mut self, moves: bool) -> Result<Plan> {
        self.advance()?;
        let mut count = Some(1);
        match () {
            () if self.eat("next")? => {}
            () if self.eat("all")? => count = None,
            () if self.eat("forward")? => count = self.how_many(Some(1))?,
            () if self.token.kind == Kind::Number || self.token.is_symbol("-") => {
                count = self.how_many(Some(1))?
            }
            () => {
                let back = ["prior", "first", "last", "absolute", "relative", "backward"];
                let is_direction = back.iter().any(|word| self.is(word));
                let ahead = self.ahead()?;
                // A cursor may be called so.
                if is_direction && ahead.kind != Kind::End && !ahead.is_symbol(";") {
                    return Err(SqlError::new("55000", "cursor can only scan forward")
                        .with_hint("Declare it with SCROLL option to enable backward scan."));
                }
            }
        }
        self.eat_any(&["from", "in"])?;
        Ok(Plan::Fetch(Fetch {
            cursor: self.name()?.into(),
            count,
            moves,
        }))
    }

    fn how_many(&mut self, otherwise: Option<u64>) -> Result<Option<u64>> {
        if self.eat("all")? {
            return Ok(None);
        }
        if self.token.kind != Kind::Number && !self.token.is_symbol("-") {
            return Ok(otherwise);
        }
        match u64::try_from(self.integer()?) {
            Ok(count) => Ok(Some(count)),
            Err(_) => Err(SqlError::new("55000", "cursor can only scan forward")
                .with_hint("Declare it with SCROLL option to enable backward scan.")),
        }
    }

    fn set(&mut self) -> Result<Plan> {
        self.advance()?;
        let mut local = false;
        match () {
            () if self.is("session") && self.ahead()?.is("characteristics") => {
                self.advance()?;
                self.advance()?;
                self.expect("as")?;
                self.expect("transaction")?;
                return Ok(Plan::SetTransaction {
                    session: true,
                    modes: self.modes()?,
                });
            }
            () if self.is("session") && self.ahead()?.is("authorization") => {
                return Err(SqlError::unsupported("SET SESSION AUTHORIZATION").at(self.token.at));
            }
            () if self.eat("session")? => {}
            () if self.eat("local")? => local = true,
            () => {}
        }
        let begins = self.token;
        match () {
            () if self.is("transaction") => {
                self.advance()?;
                if self.is("snapshot") {
                    return Err(SqlError::unsupported("a snapshot").at(begins.at));
                }
                return Ok(Plan::SetTransaction {
                    session: false,
                    modes: self.modes()?,
                });
            }
            () if self.is("constraints") => {
                self.skip_statement()?;
                return Ok(Plan::Nothing("SET CONSTRAINTS"));
            }
            () if self.is("role") => return Err(SqlError::unsupported("SET ROLE").at(begins.at)),
            () if self.is("time") && self.ahead()?.is("zone") => {
                self.advance()?;
                self.advance()?;
                let value = match self.eat_any(&["local", "default"])? {
                    Some(_) => None,
                    None => Some(self.value()?),
                };
                return Ok(Plan::Set(Set {
                    name: "timezone".into(),
                    value: value.map(Into::into),
                    local,
                }));
            }
            () if self.is("names") => {
                self.advance()?;
                let value = match self.is_at_end() || self.eat("default")? {
                    true => None,
                    false => Some(self.value()?),
                };
                return Ok(Plan::Set(Set {
                    name: "client_encoding".into(),
                    value: value.map(Into::into),
                    local,
                }));
            }
            () => {}
        }
        let name = self.setting_name()?;
        if !self.eat_symbol("=")? {
            self.expect("to")?;
        }
        if self.eat("default")? {
            return Ok(Plan::Set(Set {
                name,
                value: None,
                local,
            }));
        }
        let mut value = self.value()?;
        while self.eat_symbol(",")? {
            value.push_str(", ");
            value.push_str(&self.value()?);
        }
        Ok(Plan::Set(Set {
            name,
            value: Some(value.into()),
            local,
        }))
    }

    /// The value of a setting: a text, a word, a number with its sign.
    fn value(&mut self) -> Result<String> {
        match self.token.kind {
            Kind::Text | Kind::Word | Kind::Name => Ok(self.advance()?.value().into_owned()),
            Kind::Number => Ok(self.advance()?.text.to_string()),
            Kind::Symbol if matches!(self.token.text, "-" | "+") => {
                let sign = self.advance()?.text;
                match self.token.kind {
                    Kind::Number => Ok(format!(
                        "{}{}",
                        sign.trim_start_matches('+'),
                        self.advance()?.text
                    )),
                    _ => Err(self.unexpected()),
                }
            }
            _ => Err(self.unexpected()),
        }
    }

    /// The name of a setting, perhaps with a dot.
    pub(super) fn setting_name(&mut self) -> Result<Box<str>> {
        let mut name = self.name()?;
        while self.eat_symbol(".")? {
            name.push('.');
            name.push_str(&self.name()?);
        }
        Ok(name.into())
    }

    fn show(&mut self) -> Result<Plan> {
        self.advance()?;
        let name: Box<str> = match () {
            () if self.eat("all")? => return Ok(Plan::ShowAll),
            () if self.is("time") && self.ahead()?.is("zone") => {
                self.advance()?;
                self.advance()?;
                "timezone".into()
            }
            () if self.is("transaction") && self.ahead()?.is("isolation") => {
                self.advance()?;
                self.advance()?;
                self.expect("level")?;
                "transaction_isolation".into()
            }
            () if self.is("session") && self.ahead()?.is("authorization") => {
                self.advance()?;
                self.advance()?;
                "session_authorization".into()
            }
            () => self.setting_name()?,
        };
        Ok(Plan::Show(name.to_ascii_lowercase().into()))
    }

    fn reset(&mut self) -> Result<Plan> {
        self.advance()?;
        Ok(Plan::Reset(match () {
            () if self.eat("all")? => None,
            () if self.is("time") && self.ahead()?.is("zone") => {
                self.advance()?;
                self.advance()?;
                Some("timezone".into())
            }
            () if self.is("session") && self.ahead()?.is("authorization") => {
                self.skip_statement()?;
                return Ok(Plan::Nothing("RESET"));
            }
            () if self.is("role") => {
                self.advance()?;
                return Ok(Plan::Nothing("RESET"));
            }
            () => Some(self.setting_name()?.to_ascii_lowercase().into()),
        }))
    }
}
