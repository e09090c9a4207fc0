//! Transactions, cursors, settings, and what pools send between uses.

use std::rc::Rc;

use super::{Client, Result, SqlError};
use crate::postgres::plan::{Declare, Discard, Modes, Set, Transaction};
use crate::postgres::portal::Portal;
use crate::postgres::session::Block;
use crate::postgres::types::{Formats, Value};
use crate::postgres::{known, leave};

impl Client {
    /// A transaction's word; its tag.
    pub(super) fn transaction(
        &mut self,
        transaction: &Transaction,
        out: &mut Vec<u8>,
    ) -> Result<&'static str> {
        Ok(match transaction {
            Transaction::Begin { tag, modes } => {
                match &mut self.session.block {
                    Some(block) => {
                        block.read_only = modes.read_only.or(block.read_only);
                        let message = "there is already a transaction in progress";
                        self.say(out, &SqlError::warning("25001", message));
                    }
                    None => self.begin_block(*modes),
                }
                tag
            }
            Transaction::Commit { chain } => self.end(false, *chain, out)?,
            Transaction::Rollback { chain } => self.end(true, *chain, out)?,
            Transaction::Savepoint(name) => {
                self.session.savepoint(name)?;
                "SAVEPOINT"
            }
            Transaction::Release(name) => {
                self.session.release(name)?;
                "RELEASE"
            }
            Transaction::RollbackTo(name) => {
                self.session.rollback_to(name)?;
                "ROLLBACK"
            }
        })
    }

    fn begin_block(&mut self, modes: Modes) {
        self.session.block = Some(Box::new(Block {
            read_only: modes.read_only,
            isolation: modes.isolation,
            before: self.session.variables.clone(),
            ..Block::default()
        }));
    }

    fn end(&mut self, undo: bool, chain: bool, out: &mut Vec<u8>) -> Result<&'static str> {
        let Some(block) = &self.session.block else {
            let what = if undo { "ROLLBACK" } else { "COMMIT" };
            if chain {
                let message = format!("{what} AND CHAIN can only be used in transaction blocks");
                return Err(SqlError::new("25P01", message));
            }
            let message = "there is no transaction in progress";
            self.say(out, &SqlError::warning("25P01", message));
            return Ok(what);
        };
        let modes = Modes {
            read_only: block.read_only,
            isolation: block.isolation,
            deferrable: None,
        };
        // A transaction that has failed is undone, whatever is said.
        let undo = undo || block.failed;
        self.session.end_block(undo);
        if chain {
            self.begin_block(modes);
        }
        Ok(if undo { "ROLLBACK" } else { "COMMIT" })
    }

    pub(super) fn declare(&mut self, declare: &Declare, of: &Portal) -> Result<()> {
        if self.session.block.is_none() && !declare.hold {
            return Err(SqlError::new(
                "25P01",
                "DECLARE CURSOR can only be used in transaction blocks",
            ));
        }
        let plan = Rc::new(self.session.keeping.keep(declare.query.bytes)?);
        let (query, parameters) = ((Rc::clone(&declare.query), plan), Rc::clone(&of.parameters));
        let mut cursor = self
            .session
            .portal(&declare.name, query, parameters, Formats::Text)?;
        (cursor.is_cursor, cursor.hold) = (true, declare.hold);
        cursor.committed.set(self.session.block.is_none());
        self.session.open(&declare.name, cursor)
    }

    pub(super) fn close_cursor(&mut self, name: Option<&str>) -> Result<&'static str> {
        let Some(name) = name else {
            self.session.portals.retain(|portal| !portal.is_cursor);
            return Ok("CLOSE CURSOR ALL");
        };
        match self.session.portals.take(name) {
            Some(_) => Ok("CLOSE CURSOR"),
            None => Err(SqlError::new(
                "34000",
                format!("cursor \"{name}\" does not exist"),
            )),
        }
    }

    /// Settings that are the transaction's own.
    fn special(&self, name: &str) -> Option<Rc<str>> {
        let block = self.session.block.as_deref();
        match name {
            "transaction_read_only" => Some(if self.session.is_read_only() { "on" } else { "off" }.into()),
            "transaction_isolation" => match block.and_then(|block| block.isolation) {
                Some(level) => Some(level.into()),
                None => self
                    .session
                    .variables
                    .get("default_transaction_isolation", &self.session.facts),
            },
            _ => None,
        }
    }

    /// The value of a setting, as SHOW tells it.
    pub(super) fn setting(&self, name: &str) -> Result<Rc<str>> {
        let found = || self.session.variables.get(name, &self.session.facts);
        let value = self.special(name).or_else(found);
        value.ok_or_else(|| known::not_known(name))
    }

    /// Sets one value, perhaps for the transaction alone.
    async fn set_one(&mut self, name: &str, value: &str, local: bool) -> Result<()> {
        if name.eq_ignore_ascii_case("transaction_read_only") {
            let on = matches!(value.to_ascii_lowercase().as_str(), "on" | "true" | "1" | "yes");
            if let Some(block) = &mut self.session.block {
                block.read_only = Some(on);
            }
            return Ok(());
        }
        if leave::is(name) {
            let (variables, at) = (&mut self.session.variables, (self.face, self.peer));
            let set = || variables.set(name, value, local);
            return leave::set(&self.thread, at, &self.who, value, set).await;
        }
        self.session.variables.set(name, value, local)
    }

    pub(super) async fn set(&mut self, set: &Set, out: &mut Vec<u8>) -> Result<()> {
        if set.local && self.session.block.is_none() {
            let message = "SET LOCAL can only be used in transaction blocks";
            self.say(out, &SqlError::warning("25P01", message));
            return Ok(());
        }
        match &set.value {
            Some(value) => self.set_one(&set.name, value, set.local).await?,
            None => self.session.variables.reset(Some(&set.name))?,
        }
        Ok(())
    }

    /// `set_config(name, value, is_local)`: the new value.
    pub(super) async fn set_config(&mut self, values: &[Value]) -> Result<Value> {
        let name = values.first().and_then(Value::shown);
        let name = name.ok_or_else(|| SqlError::new("22004", "SET requires parameter name"))?;
        let local = values.get(2) == Some(&Value::Bool(true));
        match values.get(1).and_then(Value::shown) {
            Some(value) if local && self.session.block.is_none() => return Ok(Value::text(value)),
            Some(value) => self.set_one(&name, &value, local).await?,
            None => self.session.variables.reset(Some(&name))?,
        }
        let shown = self.session.variables.get(&name, &self.session.facts);
        Ok(shown.map_or(Value::Null, Value::Text))
    }

    pub(super) fn reset(&mut self, name: Option<&str>) -> Result<()> {
        self.session.variables.reset(name)
    }

    /// `SET TRANSACTION`, or `SET SESSION CHARACTERISTICS`.
    pub(super) fn set_transaction(&mut self, session: bool, modes: Modes, out: &mut Vec<u8>) -> Result<()> {
        if session {
            if let Some(read_only) = modes.read_only {
                let value = if read_only { "on" } else { "off" };
                self.session
                    .variables
                    .set("default_transaction_read_only", value, false)?;
            }
            if let Some(level) = modes.isolation {
                self.session
                    .variables
                    .set("default_transaction_isolation", level, false)?;
            }
            return Ok(());
        }
        match &mut self.session.block {
            Some(block) => {
                block.read_only = modes.read_only.or(block.read_only);
                block.isolation = modes.isolation.or(block.isolation);
            }
            None => {
                let message = "SET TRANSACTION can only be used in transaction blocks";
                self.say(out, &SqlError::warning("25P01", message));
            }
        }
        Ok(())
    }

    pub(super) fn discard(&mut self, what: Discard) -> Result<&'static str> {
        Ok(match what {
            Discard::All => {
                if self.session.block.is_some() {
                    return Err(SqlError::new(
                        "25001",
                        "DISCARD ALL cannot run inside a transaction block",
                    ));
                }
                self.session.variables.reset(None)?;
                self.session.statements.clear();
                self.session.portals.clear();
                self.session.numbers.clear();
                "DISCARD ALL"
            }
            Discard::Sequences => {
                self.session.numbers.clear();
                "DISCARD SEQUENCES"
            }
            Discard::Plans => "DISCARD PLANS",
            Discard::Temp => "DISCARD TEMP",
        })
    }

    pub(super) fn deallocate(&mut self, name: Option<&str>) -> Result<&'static str> {
        let Some(name) = name else {
            self.session.statements.clear();
            return Ok("DEALLOCATE ALL");
        };
        match self.session.statements.take(name) {
            Some(_) => Ok("DEALLOCATE"),
            None => Err(SqlError::new(
                "26000",
                format!("prepared statement \"{name}\" does not exist"),
            )),
        }
    }
}
