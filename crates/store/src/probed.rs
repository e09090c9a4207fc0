//! Asks a shared store's server what it may forget, without opening the store: nothing is written, and nothing of ours
//! need be there yet.

use super::{Durability, StoreError};
use crate::runtime::BoxFuture;

/// What a store's server said of itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Probed {
    /// What it may forget, with its settings.
    pub durability: Durability,
    /// Why it takes no writes now, if so.
    pub unwritable: Option<String>,
}

impl Probed {
    /// A server that takes writes.
    pub fn of(durability: Durability) -> Probed {
        Probed {
            durability,
            unwritable: None,
        }
    }
}

/// What a row of the table of stores probes with.
pub type Probing = BoxFuture<'static, Result<Probed, StoreError>>;
