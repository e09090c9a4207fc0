//! Putting the seal on a store and taking it off; who else uses the store meanwhile.

use std::time::Duration;

use super::begun::{check_may_give_up, refusal};
use crate::notes::{Restoring, Seal, seal_key, too_many_writers};
use crate::runtime::Runtime;
use crate::store::{Cas, Key, Marks, Outcome, Pages, Store, StoreError, StoreErrorKind, Versioned};

/// How often the seal is tried again after somebody else wrote it.
const TRIES: usize = 64;
/// How long servers have to stop once the store is sealed.
const STOP_WITHIN: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// A register of a server that has not changed for so long belongs to nobody who lives.
const LIVES_WITHIN: Duration = Duration::from_secs(3);

/// Seals a store, and waits until no server uses it any more.
///
/// # Errors
/// The store does not answer, or is sealed for another reason; [`StoreErrorKind::InUse`], naming servers that have not
/// stopped within 10 s.
pub async fn seal(store: &dyn Store, why: &str, runtime: &dyn Runtime) -> Result<(), StoreError> {
    put_on(store, why, runtime).await?;
    // A server that has seen the seal renews its register no more.
    let begun = runtime.boottime();
    let mut last: Option<Vec<(Key, Versioned)>> = None;
    let mut since = begun;
    loop {
        let now = Pages::of(store, "instance/").next().await?;
        let at = runtime.boottime();
        if last.as_ref() != Some(&now) {
            since = at;
        }
        if now.is_empty() || at.saturating_sub(since) > LIVES_WITHIN {
            return Ok(());
        }
        if at.saturating_sub(begun) > STOP_WITHIN {
            return Err(StoreError::new(
                StoreErrorKind::InUse,
                Outcome::Unknown,
                format!("{} servers still use the sealed store: stop them", now.len()),
            ));
        }
        last = Some(now);
        runtime.sleep(LOOK_EVERY).await;
    }
}

/// Refuses a store that servers use: they renew their registers every second.
///
/// # Errors
/// [`StoreErrorKind::InUse`], with how many there are; or the store does not answer.
pub(super) async fn check_unused(store: &dyn Store, runtime: &dyn Runtime) -> Result<(), StoreError> {
    let before = Pages::of(store, "instance/").next().await?;
    if before.is_empty() {
        return Ok(());
    }
    runtime.sleep(LIVES_WITHIN).await;
    let now = Pages::of(store, "instance/").next().await?;
    let living = now.iter().filter(|found| !before.contains(found)).count();
    match living {
        0 => Ok(()),
        _ => Err(StoreError::new(
            StoreErrorKind::InUse,
            Outcome::NotDone,
            format!("{living} servers use the store"),
        )
        .with_hint("stop them first: what they hold would not be raised")),
    }
}

/// Writes the seal of a restore before anything else is written.
pub(super) async fn seal_for_restore(
    store: &dyn Store,
    restoring: &Restoring,
    runtime: &dyn Runtime,
) -> Result<(), StoreError> {
    write(store, &restoring.seal(), runtime).await
}

/// Takes off the seal of what is finished.
pub(super) async fn take_off(store: &dyn Store, runtime: &dyn Runtime) -> Result<(), StoreError> {
    write(store, &Seal::OFF, runtime).await
}

/// Takes the seal off: for a store that was sealed for a move, or for a store more in its set, that came to nothing.
///
/// # Errors
/// The store holds half of something: a restore, a move into it, a set's new store; a store of a set knows of the new
/// one already; or the store does not answer.
pub async fn unseal(store: &dyn Store, runtime: &dyn Runtime) -> Result<bool, StoreError> {
    let Some(seal) = store.get(&seal_key()).await?.as_ref().and_then(Seal::read) else {
        return Ok(false);
    };
    if seal.restoring.is_some() {
        return Err(refusal(&seal.sealed));
    }
    check_may_give_up(store, &seal.sealed).await?;
    write(store, &Seal::OFF, runtime).await?;
    Ok(true)
}

/// Puts a seal on that no other seal gives way to.
async fn put_on(store: &dyn Store, why: &str, runtime: &dyn Runtime) -> Result<(), StoreError> {
    let seal = Seal {
        sealed: why.to_string(),
        restoring: None,
    };
    for _ in 0..TRIES {
        let found = store.get(&seal_key()).await?;
        match found.as_ref().and_then(Seal::read) {
            Some(stands) if stands.restoring.is_none() && stands.sealed == why => return Ok(()),
            Some(stands) => return Err(refusal(&stands.sealed)),
            None => {}
        }
        let new = seal.value(found.as_ref().map_or(0, |found| found.value.mark) + 1, runtime);
        let expected = found.map(|found| found.version);
        if let Cas::Done(_) = store
            .compare_and_set(&seal_key(), expected, new, Marks::NeverLower)
            .await?
        {
            return Ok(());
        }
    }
    Err(too_many_writers(&seal_key()))
}

async fn write(store: &dyn Store, seal: &Seal, runtime: &dyn Runtime) -> Result<(), StoreError> {
    for _ in 0..TRIES {
        let found = store.get(&seal_key()).await?;
        let new = seal.value(found.as_ref().map_or(0, |found| found.value.mark) + 1, runtime);
        if found.as_ref().is_some_and(|found| found.value.body == new.body) {
            return Ok(());
        }
        let expected = found.map(|found| found.version);
        if let Cas::Done(_) = store
            .compare_and_set(&seal_key(), expected, new, Marks::NeverLower)
            .await?
        {
            return Ok(());
        }
    }
    Err(too_many_writers(&seal_key()))
}
