//! The seal: a store that takes no reservation, because it was moved, or because a restore is not finished.
//!
//! ```text
//!   cluster/seal   {"sealed":"moved to the etcd store of cluster 2b1e…"}
//!                  {"sealed":"a restore …","restoring":{"id":"9f86…","what":"backup 77af…","numbers":1000,…}}
//!                  {"sealed":""}                                                           taken off
//! ```
//!
//! Servers that run see it within a second and stop; servers that start refuse.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::super::{Cas, Key, Marks, Outcome, Store, StoreError, StoreErrorKind, Value, Versioned};
use super::Pages;
use crate::runtime::{Runtime, fresh_token};

/// How often the seal is tried again after somebody else wrote it.
const TRIES: usize = 64;
/// How long servers have to stop once the store is sealed.
const STOP_WITHIN: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// A register of a server that has not changed for so long belongs to nobody who lives.
const LIVES_WITHIN: Duration = Duration::from_secs(3);
/// How the reason of a seal begins that a restore wrote.
const UNFINISHED: &str = "a restore was begun and is not finished";

#[derive(Serialize, Deserialize)]
struct Seal {
    sealed: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    restoring: Option<Restoring>,
}

/// A restore under way: written first, taken off last.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
pub(super) struct Restoring {
    /// Drawn anew by each restore, kept by those that finish it; what it wrote carries it in its tokens.
    pub(super) id: String,
    /// What is restored.
    pub(super) what: String,
    /// How many numbers every sequence skips.
    pub(super) numbers: u64,
    /// No window begins before this, in milliseconds since 1970.
    pub(super) floor_ms: i64,
}

impl Restoring {
    /// The register that says so.
    pub(super) fn register(&self, mark: u64, runtime: &dyn Runtime) -> (Key, Value) {
        let body = Seal {
            sealed: format!("{UNFINISHED}: {}", self.what),
            restoring: Some(self.clone()),
        };
        (seal_key(), value(&body, mark, runtime))
    }

    /// The token of what this restore writes to a register: who finds it there knows that it is done.
    pub(super) fn token(&self, key: &Key) -> u128 {
        let digest = Sha256::digest(format!("{}/{key}", self.id));
        digest
            .iter()
            .take(16)
            .fold(0, |n, byte| n << 8 | u128::from(*byte))
            | 1
    }
}

fn seal_key() -> Key {
    Key::new("cluster/seal").expect("a constant within the key grammar")
}

/// Carries a mark, so that it is never removed.
fn value(seal: &Seal, mark: u64, runtime: &dyn Runtime) -> Value {
    Value {
        mark,
        token: fresh_token(runtime),
        body: serde_json::to_string(seal).expect("plain fields always serialise"),
    }
}

fn read(found: &Versioned) -> Option<Seal> {
    let seal: Option<Seal> = serde_json::from_str(&found.value.body).ok();
    seal.filter(|seal| !seal.sealed.is_empty())
}

/// Why a store takes no reservation any more, if it is sealed.
///
/// # Errors
/// The store does not answer.
pub async fn sealed(store: &dyn Store) -> Result<Option<String>, StoreError> {
    let found = store.get(&seal_key()).await?;
    Ok(found.and_then(|found| read(&found)).map(|seal| seal.sealed))
}

/// The restore that is under way.
///
/// # Errors
/// The store is sealed for another reason, or does not answer.
pub(super) async fn restoring(store: &dyn Store) -> Result<Option<Restoring>, StoreError> {
    match store.get(&seal_key()).await?.as_ref().and_then(read) {
        None => Ok(None),
        Some(seal) if seal.restoring.is_some() => Ok(seal.restoring),
        Some(seal) => Err(refusal(&seal.sealed)),
    }
}

/// The refusal of a sealed store.
pub(crate) fn refusal(why: &str) -> StoreError {
    let hint = match why.starts_with(UNFINISHED) {
        true => "give the `mint store restore` command again that began it: it finishes it",
        false => {
            "use the store it was moved to; `mint store unseal --store URL` gives this one back if that one was \
             never used"
        }
    };
    StoreError::new(
        StoreErrorKind::Stopped,
        Outcome::NotDone,
        format!("the store is sealed: {why}"),
    )
    .with_hint(hint)
}

/// Seals a store, and waits until no server uses it any more.
///
/// # Errors
/// The store does not answer; [`StoreErrorKind::InUse`], naming servers that have not stopped within 10 s.
pub async fn seal(store: &dyn Store, why: &str, runtime: &dyn Runtime) -> Result<(), StoreError> {
    let seal = Seal {
        sealed: why.to_string(),
        restoring: None,
    };
    write(store, &seal, runtime).await?;
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
    let seal = Seal {
        sealed: format!("{UNFINISHED}: {}", restoring.what),
        restoring: Some(restoring.clone()),
    };
    write(store, &seal, runtime).await
}

/// Takes off the seal of a restore, which is finished.
pub(super) async fn unseal_restored(store: &dyn Store, runtime: &dyn Runtime) -> Result<(), StoreError> {
    write(store, &OFF, runtime).await
}

/// Takes the seal off: for a store that was sealed for a move that came to nothing.
///
/// # Errors
/// A restore is not finished, or the store does not answer.
pub async fn unseal(store: &dyn Store, runtime: &dyn Runtime) -> Result<bool, StoreError> {
    let Some(seal) = store.get(&seal_key()).await?.as_ref().and_then(read) else {
        return Ok(false);
    };
    if seal.restoring.is_some() {
        return Err(refusal(&seal.sealed));
    }
    write(store, &OFF, runtime).await?;
    Ok(true)
}

const OFF: Seal = Seal {
    sealed: String::new(),
    restoring: None,
};

async fn write(store: &dyn Store, seal: &Seal, runtime: &dyn Runtime) -> Result<(), StoreError> {
    for _ in 0..TRIES {
        let found = store.get(&seal_key()).await?;
        let new = value(
            seal,
            found.as_ref().map_or(0, |found| found.value.mark) + 1,
            runtime,
        );
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
    Err(StoreError::new(
        StoreErrorKind::InUse,
        Outcome::NotDone,
        "somebody else writes the seal all the time",
    ))
}
