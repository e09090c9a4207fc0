//! What a tool has begun with a store, as the seal on it says: written before anything else, taken off last.
//!
//! | the seal says | on | taken off by |
//! | --- | --- | --- |
//! | moved to … | the store that was moved away | [`unseal`](super::unseal), which gives the move up |
//! | a move … into it | the one it is moved into | the move that finishes |
//! | a store is being added … | every store of the set | the addition that finishes; `unseal`, which gives it up |
//! | it is being added … | the new store of the set | the addition that finishes |
//!
//! A restore says so in a seal of its own kind. Who finds his own words goes on; anybody else is refused.

use crate::advice::Advice;
use crate::guard::set_back;
use crate::notes::{self, MOVED, sealed};
use crate::store::{Outcome, Store, StoreError, StoreErrorKind};
use crate::striped::{StripeNote, stripe_of};

const MOVING_IN: &str = "a move into it is not finished, of cluster ";
const ADDING: &str = "a store is being added to its set";
const FILLING: &str = "it is being added to a set, which is not finished: ";

/// The seal of a store that is moved away.
pub(super) fn moved(to: &dyn Store) -> String {
    format!("{MOVED}{} store of cluster {:032x}", to.scheme(), to.cluster_id())
}

/// The seal of the store that it is moved into.
pub(super) fn moving_in(from: &dyn Store) -> String {
    format!("{MOVING_IN}{:032x}", from.cluster_id())
}

/// The seal of a set's stores while `new` becomes the last of so many.
pub(super) fn adding(new: &dyn Store, of: u8) -> String {
    format!("{ADDING}: cluster {:032x}, the last of {of}", new.cluster_id())
}

/// The seal of the store that takes this place in a set.
pub(super) fn filling(place: &StripeNote) -> String {
    format!(
        "{FILLING}as number {} of {} in set {}",
        place.number, place.of, place.set
    )
}

/// Refuses a store that is sealed, unless it is by what is done here. Whether it is sealed by that.
pub(super) async fn check_seal(store: &dyn Store, ours: Option<&str>) -> Result<bool, StoreError> {
    match sealed(store).await? {
        None => Ok(false),
        Some(why) if ours == Some(&why) => Ok(true),
        Some(why) => Err(refusal(&why)),
    }
}

/// Refuses a store that is known to have lost what it acknowledged: what is made of it would repeat that.
pub(super) async fn check_not_set_back(store: &dyn Store) -> Result<(), StoreError> {
    match set_back(store).await? {
        None => Ok(()),
        Some(why) => Err(StoreError::new(
            StoreErrorKind::Corrupt,
            Outcome::NotDone,
            format!("the store has lost what it acknowledged: {why}"),
        )
        .with_hint(Advice::RaiseAboveLost { place: None })),
    }
}

/// Refuses to take a seal off that protects half of something.
pub(super) async fn check_may_give_up(store: &dyn Store, why: &str) -> Result<(), StoreError> {
    let is_half = why.starts_with(MOVING_IN) || why.starts_with(FILLING);
    if is_half || (why.starts_with(ADDING) && knows_of_new(store, why).await?) {
        return Err(refusal(why));
    }
    Ok(())
}

/// Whether a store has learned already how many there are with the new one: it cannot go back.
async fn knows_of_new(store: &dyn Store, why: &str) -> Result<bool, StoreError> {
    let place = stripe_of(store).await?;
    Ok(place.is_some_and(|place| why.ends_with(&format!(" of {}", place.of))))
}

/// The refusal of a store with this seal.
pub(super) fn refusal(why: &str) -> StoreError {
    let refusal = notes::refusal(why);
    let begins = |with: &str| why.starts_with(with);
    if begins(MOVING_IN) || begins(FILLING) {
        return refusal.with_hint(
            "the command that began it finishes it; to give it up, empty this store: what is in it is only a part",
        );
    }
    if begins(ADDING) {
        return refusal.with_hint(
            "the command that began it finishes it; taking the seal off every store of the old set gives it up, \
             before one of them knows of the new one",
        );
    }
    refusal
}
