//! What a connection knows: who it is, what it has set, and the numbers that it took last.

use std::collections::HashMap;

use super::capabilities::{Capabilities, status};
use super::claims::Claims;
use super::prepared::Prepared;
use super::refusal::Refusal;

use super::value::Value;
use super::variables::Settings;
use crate::sql::session::Numbers;
use mintage_server::chassis::auth::Identity;
use mintage_server::chassis::kept::{Heap, Keeping, KeptBytes};

/// What a connection has set: system variables, and its own.
pub(crate) type SetSoFar = (Settings, HashMap<Box<str>, Value>);

/// One connection's state, as its statements see and change it.
#[derive(Debug)]
pub(crate) struct Session {
    /// Its number, as clients know it.
    pub(crate) id: u32,
    /// Who it is.
    pub(crate) identity: Identity,
    /// Who it said it is.
    pub(crate) user: Box<str>,
    /// Where it comes from.
    pub(crate) host: Box<str>,
    /// The database it has chosen; empty: none.
    pub(crate) database: Box<str>,
    /// What both sides can do.
    pub(crate) capabilities: Capabilities,
    /// The last number of each sequence, for LASTVAL.
    pub(crate) numbers: Numbers,
    /// What it has reserved in the tables of libraries.
    pub(crate) claims: Claims,
    /// For LAST_INSERT_ID().
    pub(crate) last_insert_id: u64,
    /// For ROW_COUNT().
    pub(crate) row_count: i64,
    /// For FOUND_ROWS().
    pub(crate) found_rows: u64,
    pub(crate) autocommit: bool,
    pub(crate) in_transaction: bool,
    pub(crate) is_read_only: bool,
    pub(crate) settings: Settings,
    user_variables: HashMap<Box<str>, Value>,
    pub(crate) prepared: Prepared,
    pub(crate) keeping: Keeping,
    /// What is counted of settings and variables.
    counted: KeptBytes,
}

impl Session {
    /// A new one.
    pub(crate) fn new(id: u32, host: Box<str>, keeping: Keeping) -> Session {
        Session {
            id,
            identity: Identity::OPEN,
            user: "".into(),
            host,
            database: "".into(),
            capabilities: Capabilities::default(),
            numbers: Numbers::new(&keeping),
            claims: Claims::default(),
            last_insert_id: 0,
            row_count: 0,
            found_rows: 0,
            autocommit: true,
            in_transaction: false,
            is_read_only: false,
            settings: Settings::default(),
            user_variables: HashMap::new(),
            prepared: Prepared::new(&keeping),
            counted: keeping.nothing(),
            keeping,
        }
    }

    /// Forgets all but who it is and which database it has chosen.
    pub(crate) fn reset(&mut self) {
        let fresh = Session::new(self.id, std::mem::take(&mut self.host), self.keeping.clone());
        let before = std::mem::replace(self, fresh);
        self.identity = before.identity;
        self.user = before.user;
        self.database = before.database;
        self.capabilities = before.capabilities;
    }

    /// Chooses a database, whatever it is called.
    pub(crate) fn use_database(&mut self, name: &str) -> Result<(), Refusal> {
        if name.len() > DATABASE_BYTES_MAX {
            return Err(Refusal::database(name));
        }
        self.database = name.into();
        Ok(())
    }

    /// Its status, as answers tell it.
    #[inline]
    pub(crate) fn status(&self) -> u16 {
        let of = |is: bool, flag: u16| if is { flag } else { 0 };
        of(self.in_transaction, status::IN_TRANSACTION)
            | of(self.autocommit, status::AUTOCOMMIT)
            | of(self.in_transaction && self.is_read_only, status::READ_ONLY)
    }

    /// A statement touches a sequence: without autocommit a transaction is open from here on.
    #[inline]
    pub(crate) fn touches(&mut self) {
        self.in_transaction |= !self.autocommit;
    }

    /// The transaction ends.
    pub(crate) fn end_transaction(&mut self) {
        self.in_transaction = false;
        self.is_read_only = false;
        self.claims.clear();
    }

    /// What is set now, to go back to.
    pub(crate) fn set_so_far(&self) -> SetSoFar {
        (self.settings.clone(), self.user_variables.clone())
    }

    /// Counts what is set; where that is too much, all is as it was before.
    ///
    /// # Errors
    /// It is too much.
    pub(crate) fn count_settings(&mut self, before: SetSoFar) -> Result<(), Refusal> {
        let of_users = self
            .user_variables
            .iter()
            .map(|(name, value)| name.heap() + value.heap());
        let places = self.user_variables.capacity() * size_of::<(Box<str>, Value)>();
        let bytes = self.settings.heap() + of_users.sum::<usize>() + places;
        let counted = self.counted.become_so_many(bytes);
        if counted.is_err() {
            (self.settings, self.user_variables) = before;
        }
        Ok(counted?)
    }

    /// What a variable of the user's own is.
    pub(crate) fn user_variable(&self, name: &str) -> Value {
        self.user_variables.get(name).cloned().unwrap_or(Value::Null)
    }

    /// Sets one; `false`: there are too many, or it is too long.
    pub(crate) fn set_user_variable(&mut self, name: &str, value: Value) -> bool {
        let len = match &value {
            Value::Text(text) | Value::Decimal(text) => text.len(),
            _ => 0,
        };
        let is_new = !self.user_variables.contains_key(name);
        let fits = len <= VALUE_BYTES_MAX && name.len() <= NAME_BYTES_MAX;
        if !fits || is_new && self.user_variables.len() >= USER_VARIABLES_MAX {
            return false;
        }
        self.user_variables.insert(name.into(), value);
        true
    }
}

/// How long the name of a database is.
pub(crate) const DATABASE_BYTES_MAX: usize = 256;
/// How many variables of its own a connection has.
pub(crate) const USER_VARIABLES_MAX: usize = 32;
/// How long their values are.
pub(crate) const VALUE_BYTES_MAX: usize = 1024;
/// And their names.
const NAME_BYTES_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reset_forgets_all_but_who_it_is() {
        let mut session = Session::new(7, "h".into(), Keeping::default());
        (session.user, session.database) = ("u".into(), "d".into());
        session.autocommit = false;
        session.touches();
        session.last_insert_id = 5;
        assert_eq!(session.status(), 1);
        assert!(session.set_user_variable("x", Value::Integer(1)));
        session.reset();
        assert_eq!((session.id, session.status(), session.last_insert_id), (7, 2, 0));
        assert_eq!(
            (&*session.user, &*session.database, &*session.host),
            ("u", "d", "h")
        );
        assert_eq!(session.user_variable("x"), Value::Null);
    }

    #[test]
    fn variables_are_few_and_short() {
        let mut session = Session::new(1, "".into(), Keeping::default());
        for n in 0..USER_VARIABLES_MAX {
            assert!(session.set_user_variable(&format!("v{n}"), Value::Null));
        }
        assert!(!session.set_user_variable("more", Value::Null));
        assert!(session.set_user_variable("v0", Value::Integer(1)));
        assert!(!session.set_user_variable("v0", Value::text("x".repeat(1025))));
    }
}
