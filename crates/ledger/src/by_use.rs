//! What the first use of a name may make: the one place that asks `auto_create`, whatever was asked for and by whom.
//!
//! A name that begins here at 1 repeats the numbers that its counter elsewhere has given out, and a pool repeats the
//! workers of generators that live. So where first uses make nothing, a name comes from `mint import` or from somebody
//! who says that it is to be made ([`Ledger::create`](crate::Ledger::create),
//! [`Ledger::create_pool`](crate::Ledger::create_pool)). A request of a client's own protocol never says that, whatever
//! its verb is called: old clients send it at every start.

use crate::context::Context;
use crate::error::LedgerError;
use crate::makeable::Makeable;
use crate::name::Name;

impl Context {
    /// Whether the first use of a name that is not there may make it.
    ///
    /// # Errors
    /// [`LedgerError::NoAutoCreate`].
    pub(crate) fn may_make_by_use(&self, kind: Makeable, name: &Name) -> Result<(), LedgerError> {
        match self.settings.auto_create {
            true => Ok(()),
            false => Err(LedgerError::NoAutoCreate {
                kind,
                name: name.clone(),
            }),
        }
    }
}
