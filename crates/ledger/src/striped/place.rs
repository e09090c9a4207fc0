//! Which store of a set: what a store says of itself, and what a version says of a record.
//!
//! The versions of sequences that the ledger sees say which store answered, and count how often this process changed
//! the store, so that they only grow:
//!
//! ```text
//!   1 bit: striped | 15 bits: changes | 4 bits: stores - 1 | 4 bits: store | 40 bits: the store's own version
//! ```

use serde::{Deserialize, Serialize};

use super::refused;
use super::stripe::{STRIPES_MAX, Stripe};
use crate::advice::Advice;
use crate::store::{Key, Store, StoreError, StoreErrorKind, Version, Versioned};

const VERSION_BITS: u32 = 40;
const SWITCH_SHIFT: u32 = 48;
pub(super) const SWITCHES_MAX: u64 = (1 << 15) - 1;
const STRIPED: u64 = 1 << 63;

/// What a version says of a set of stores.
pub(crate) trait Placed {
    /// Which store of a set the version is of.
    fn stripe(self) -> Stripe;

    /// The version as its store knows it.
    fn raw(self) -> Version;

    /// Whether there is a record: stores count their versions from 1.
    #[allow(clippy::wrong_self_convention, reason = "a version is a number")]
    fn is_written(self) -> bool;

    /// How often this process had changed the store.
    fn switch(self) -> u64;

    /// A store's own version, as one of its set.
    fn of_stripe(raw: Version, stripe: Stripe, switch: u64) -> Version;
}

impl Placed for Version {
    fn stripe(self) -> Stripe {
        match self.number() & STRIPED {
            0 => Stripe::WHOLE,
            _ => Stripe {
                number: (self.number() >> VERSION_BITS & 15) as u8,
                of: (self.number() >> (VERSION_BITS + 4) & 15) as u8 + 1,
            },
        }
    }

    fn raw(self) -> Version {
        match self.number() & STRIPED {
            0 => self,
            _ => Version::of(self.number() & ((1 << VERSION_BITS) - 1)).of_copy(self.copy()),
        }
    }

    fn is_written(self) -> bool {
        self.raw().number() > 0
    }

    fn switch(self) -> u64 {
        self.number() >> SWITCH_SHIFT & SWITCHES_MAX
    }

    fn of_stripe(raw: Version, stripe: Stripe, switch: u64) -> Version {
        let place = u64::from(stripe.number) | u64::from(stripe.of - 1) << 4;
        Version::of(STRIPED | switch << SWITCH_SHIFT | place << VERSION_BITS | raw.number())
            .of_copy(raw.copy())
    }
}

/// What a store says of its place in a set.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
pub struct StripeNote {
    /// The set, hexadecimal.
    pub set: String,
    /// Which store this is, from 0.
    pub number: u8,
    /// How many there are.
    pub of: u8,
}

impl StripeNote {
    /// The refusal of one store of a set that is opened without the others: the numbers of all would count as its own.
    pub(crate) fn opened_alone(&self) -> StoreError {
        refused(
            StoreErrorKind::Foreign,
            format!(
                "the store is number {} of a set of {}, and was opened without the others",
                self.number + 1,
                self.of
            ),
        )
        .with_hint(Advice::ListWholeSet)
    }
}

/// Where a store says it.
pub(crate) fn stripe_key() -> Key {
    Key::new("cluster/stripe").expect("a constant within the key grammar")
}

/// A store's place in a set, if it has one.
///
/// # Errors
/// The store does not answer, or its note makes no sense.
pub async fn stripe_of(store: &dyn Store) -> Result<Option<StripeNote>, StoreError> {
    let Some(found) = store.get(&stripe_key()).await? else {
        return Ok(None);
    };
    let note: Option<StripeNote> = serde_json::from_str(&found.value.body).ok();
    let sound = |note: &StripeNote| note.of <= STRIPES_MAX && note.number < note.of;
    match note.filter(sound) {
        Some(note) => Ok(Some(note)),
        None => Err(refused(
            StoreErrorKind::Corrupt,
            format!("its place in a set makes no sense: {}", found.value.body),
        )),
    }
}

/// A sequence's record as one that lies in this store of a set.
pub(crate) fn placed(found: Versioned, stripe: Stripe) -> Versioned {
    Versioned {
        version: Version::of_stripe(found.version, stripe, 0),
        ..found
    }
}
