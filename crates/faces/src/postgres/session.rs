//! What one connection has set, prepared and begun.

use std::collections::HashMap;
use std::rc::Rc;

use super::errors::{Result, SqlError};
use super::plan::Statement;
use super::portal::Portal;
use super::types::{Formats, Value};
use super::variables::{Facts, Variables};
use crate::sql::session::Numbers;
use mintage_server::chassis::kept::{Full, Heap, Keeping, KeptBytes, allocated};

/// How many statements, portals and cursors, and savepoints a connection has at most.
const STATEMENTS_MAX: usize = 256;
const PORTALS_MAX: usize = 16;
const SAVEPOINTS_MAX: usize = 64;

/// What a statement or a portal takes besides what it holds: its place in a map, which is half empty at worst.
const PLACE_BYTES: usize = 2 * size_of::<(Box<str>, Portal)>();

/// A statement that was parsed, with the types of its parameters.
#[derive(Debug)]
pub(super) struct Prepared {
    /// `None`: it is empty.
    pub(super) statement: Option<Rc<Statement>>,
    pub(super) parameters: Rc<[u32]>,
    /// What the statement takes, for as long as it or one of its portals is kept.
    pub(super) plan: Rc<KeptBytes>,
    _kept: KeptBytes,
}

/// Things with names, of which one has none and is replaced without a word.
#[derive(Debug)]
pub(super) struct Named<T> {
    unnamed: Option<T>,
    named: HashMap<Box<str>, T>,
}

impl<T> Default for Named<T> {
    fn default() -> Self {
        Named {
            unnamed: None,
            named: HashMap::new(),
        }
    }
}

impl<T> Named<T> {
    pub(super) fn get(&self, name: &str) -> Option<&T> {
        match name.is_empty() {
            true => self.unnamed.as_ref(),
            false => self.named.get(name),
        }
    }

    pub(super) fn take(&mut self, name: &str) -> Option<T> {
        match name.is_empty() {
            true => self.unnamed.take(),
            false => self.named.remove(name),
        }
    }

    /// Puts one in its place; one that was there goes.
    pub(super) fn put(&mut self, name: &str, one: T) {
        match name.is_empty() {
            true => self.unnamed = Some(one),
            false => drop(self.named.insert(name.into(), one)),
        }
    }

    pub(super) fn retain(&mut self, mut keeps: impl FnMut(&T) -> bool) {
        self.unnamed = self.unnamed.take().filter(&mut keeps);
        self.named.retain(|_, one| keeps(one));
    }

    pub(super) fn clear(&mut self) {
        *self = Named::default();
    }
}

/// A transaction that was begun: words that clients watch, and what its rollback undoes of settings.
#[derive(Debug, Default)]
pub(super) struct Block {
    pub(super) failed: bool,
    pub(super) read_only: Option<bool>,
    pub(super) isolation: Option<&'static str>,
    /// The settings when it began.
    pub(super) before: Variables,
    pub(super) savepoints: Vec<(Box<str>, Variables)>,
}

/// The state of one connection.
#[derive(Debug, Default)]
pub(super) struct Session {
    pub(super) facts: Facts,
    pub(super) database: Rc<str>,
    pub(super) variables: Variables,
    pub(super) numbers: Numbers,
    pub(super) block: Option<Box<Block>>,
    pub(super) statements: Named<Prepared>,
    pub(super) portals: Named<Portal>,
    pub(super) keeping: Keeping,
    /// What is counted of settings.
    settings: Option<KeptBytes>,
}

impl Session {
    /// That of a client that is known.
    pub(super) fn new(
        facts: Facts,
        database: &str,
        variables: Variables,
        keeping: Keeping,
    ) -> Result<Session> {
        let mut session = Session {
            facts,
            database: database.into(),
            variables,
            numbers: Numbers::new(&keeping),
            keeping,
            ..Session::default()
        };
        session.count_settings()?;
        Ok(session)
    }

    /// Counts anew what is kept of settings, with those that a transaction or a savepoint goes back to.
    ///
    /// # Errors
    /// They are too many, which cannot be where they have become fewer.
    pub(super) fn count_settings(&mut self) -> Result<()> {
        let mut bytes = self.variables.bytes();
        if let Some(block) = &self.block {
            let before = std::iter::once(("", &block.before));
            let savepoints = block
                .savepoints
                .iter()
                .map(|(name, variables)| (&**name, variables));
            let mut last = &self.variables;
            for (name, variables) in before.chain(savepoints) {
                bytes += allocated(name.len());
                // Copies share their memory until one is changed.
                if !variables.are_those(&self.variables) && !variables.are_those(last) {
                    bytes += variables.own_bytes();
                }
                last = variables;
            }
        }
        let keeping = &self.keeping;
        let counted = self.settings.get_or_insert_with(|| keeping.nothing());
        Ok(counted.become_so_many(bytes)?)
    }

    /// The letter of ReadyForQuery.
    #[inline]
    pub(super) fn status(&self) -> u8 {
        match &self.block {
            None => b'I',
            Some(block) if block.failed => b'E',
            Some(_) => b'T',
        }
    }

    pub(super) fn has_failed(&self) -> bool {
        self.block.as_ref().is_some_and(|block| block.failed)
    }

    /// A statement was refused: a transaction has failed by it.
    pub(super) fn fail(&mut self) {
        if let Some(block) = &mut self.block {
            block.failed = true;
        }
    }

    /// Whether nothing may be changed now.
    pub(super) fn is_read_only(&self) -> bool {
        match self.block.as_ref().and_then(|block| block.read_only) {
            Some(read_only) => read_only,
            None => self.variables.is_on("default_transaction_read_only"),
        }
    }

    /// Ends the transaction; `undo`: settings go back to what they were.
    pub(super) fn end_block(&mut self, undo: bool) {
        let Some(block) = self.block.take() else { return };
        match undo {
            true => self.variables = block.before,
            false => self.variables.end_local(),
        }
        let keeps = |portal: &Portal| portal.outlives_transaction(undo);
        self.portals.retain(keeps);
    }

    /// Outside of a transaction every Sync ends one: its portals go.
    pub(super) fn sync(&mut self) {
        if self.block.is_none() {
            self.portals.retain(|portal| portal.outlives_transaction(false));
        }
    }

    pub(super) fn savepoint(&mut self, name: &str) -> Result<()> {
        let variables = self.variables.clone();
        let block = self.in_block("SAVEPOINT")?;
        if block.savepoints.len() >= SAVEPOINTS_MAX {
            let message = format!("a transaction has at most {SAVEPOINTS_MAX} savepoints");
            return Err(SqlError::new("53400", message));
        }
        block.savepoints.push((name.into(), variables));
        Ok(())
    }

    pub(super) fn release(&mut self, name: &str) -> Result<()> {
        let block = self.in_block("RELEASE SAVEPOINT")?;
        let at = find_savepoint(block, name)?;
        block.savepoints.truncate(at);
        Ok(())
    }

    /// Back to a savepoint, which stays.
    pub(super) fn rollback_to(&mut self, name: &str) -> Result<()> {
        let block = self.in_block("ROLLBACK TO SAVEPOINT")?;
        let at = find_savepoint(block, name)?;
        block.savepoints.truncate(at + 1);
        block.failed = false;
        let variables = block.savepoints[at].1.clone();
        self.variables = variables;
        Ok(())
    }

    fn in_block(&mut self, what: &str) -> Result<&mut Block> {
        let message = || format!("{what} can only be used in transaction blocks");
        self.block
            .as_deref_mut()
            .ok_or_else(|| SqlError::new("25P01", message()))
    }

    /// Keeps a statement under a name, in place of one that has none.
    pub(super) fn prepare(
        &mut self,
        name: &str,
        statement: Option<Rc<Statement>>,
        parameters: Rc<[u32]>,
    ) -> Result<()> {
        if name.is_empty() {
            self.statements.take(name);
        } else if self.statements.get(name).is_some() {
            let name = super::errors::shown(name);
            let message = format!("prepared statement \"{name}\" already exists");
            return Err(SqlError::new("42P05", message));
        } else if self.statements.named.len() >= STATEMENTS_MAX {
            let message = format!("a connection has at most {STATEMENTS_MAX} prepared statements");
            return Err(SqlError::new("53400", message).with_hint("close those that are not used any more"));
        }
        let plan = statement.as_ref().map_or(0, |statement| statement.bytes);
        let place = allocated(name.len()) + PLACE_BYTES + allocated(4 * parameters.len());
        let prepared = Prepared {
            plan: Rc::new(self.keep(name, plan)?),
            _kept: self.keep(name, place)?,
            statement,
            parameters,
        };
        self.statements.put(name, prepared);
        Ok(())
    }

    /// Of those without a name there is one at a time.
    fn keep(&self, name: &str, bytes: usize) -> std::result::Result<KeptBytes, Full> {
        match name.is_empty() {
            true => self.keeping.keep_at_hand(bytes),
            false => self.keeping.keep(bytes),
        }
    }

    /// What a statement takes that was not prepared.
    ///
    /// # Errors
    /// It is too large.
    pub(super) fn plan(&self, statement: &Statement) -> std::result::Result<Rc<KeptBytes>, Full> {
        self.keeping.keep_at_hand(statement.bytes).map(Rc::new)
    }

    /// A portal of this name, which counts from here on, beside its statement.
    ///
    /// # Errors
    /// It is too large.
    pub(super) fn portal(
        &self,
        name: &str,
        statement: (Rc<Statement>, Rc<KeptBytes>),
        parameters: Rc<[Value]>,
        formats: Formats,
    ) -> std::result::Result<Portal, Full> {
        let values = allocated(size_of_val::<[Value]>(&parameters)) + parameters.heap();
        let bytes = allocated(name.len()) + PLACE_BYTES + values + formats.bytes();
        Ok(Portal::new(
            statement,
            parameters,
            formats,
            self.keep(name, bytes)?,
        ))
    }

    /// Opens a portal; of SQL, a cursor.
    pub(super) fn open(&mut self, name: &str, portal: Portal) -> Result<()> {
        if !name.is_empty() {
            if self.portals.get(name).is_some() {
                let message = format!("cursor \"{}\" already exists", super::errors::shown(name));
                return Err(SqlError::new("42P03", message));
            }
            if self.portals.named.len() >= PORTALS_MAX {
                let message = format!("a connection has at most {PORTALS_MAX} open portals and cursors");
                return Err(
                    SqlError::new("53400", message).with_hint("close those that are not used any more")
                );
            }
        }
        self.portals.put(name, portal);
        Ok(())
    }
}

fn find_savepoint(block: &Block, name: &str) -> Result<usize> {
    let found = block.savepoints.iter().rposition(|(known, _)| **known == *name);
    found.ok_or_else(|| {
        SqlError::new(
            "3B001",
            format!("savepoint \"{}\" does not exist", super::errors::shown(name)),
        )
    })
}
