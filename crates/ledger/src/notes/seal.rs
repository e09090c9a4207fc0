//! The seal: a store that takes no reservation, because it was moved, or because a restore is not finished.
//!
//! ```text
//!   cluster/seal   {"sealed":"moved to the etcd store of cluster 2b1e…"}
//!                  {"sealed":"a restore …","restoring":{"id":"9f86…","what":"backup 77af…","numbers":1000,…}}
//!                  {"sealed":""}                                                           taken off
//! ```
//!
//! Servers that run see it within a second and stop; servers that start refuse.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::advice::Advice;
use crate::runtime::{Runtime, fresh_token};
use crate::store::{Key, Outcome, Store, StoreError, StoreErrorKind, Value, Versioned};

/// How the reason of a seal begins that a restore wrote.
const UNFINISHED: &str = "a restore was begun and is not finished";

/// The same of one that was moved elsewhere.
pub(crate) const MOVED: &str = "moved to the ";

#[derive(Serialize, Deserialize)]
pub(crate) struct Seal {
    pub(crate) sealed: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) restoring: Option<Restoring>,
}

/// A restore under way: written first, taken off last.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Restoring {
    /// Drawn anew by each restore, kept by those that finish it; what it wrote carries it in its tokens.
    pub(crate) id: String,
    /// What is restored.
    pub(crate) what: String,
    /// How many numbers every sequence skips.
    pub(crate) numbers: u64,
    /// No window begins before this, in milliseconds since 1970.
    pub(crate) floor_ms: i64,
}

impl Restoring {
    /// The register that says so.
    pub(crate) fn register(&self, mark: u64, runtime: &dyn Runtime) -> (Key, Value) {
        (seal_key(), self.seal().value(mark, runtime))
    }

    /// The seal that stands on the store meanwhile.
    pub(crate) fn seal(&self) -> Seal {
        Seal {
            sealed: format!("{UNFINISHED}: {}", self.what),
            restoring: Some(self.clone()),
        }
    }

    /// The token of what this restore writes to a register: who finds it there knows that it is done.
    pub(crate) fn token(&self, key: &Key) -> u128 {
        let digest = Sha256::digest(format!("{}/{key}", self.id));
        digest
            .iter()
            .take(16)
            .fold(0, |n, byte| n << 8 | u128::from(*byte))
            | 1
    }
}

pub(crate) fn seal_key() -> Key {
    Key::new("cluster/seal").expect("a constant within the key grammar")
}

impl Seal {
    /// None, where there was one.
    pub(crate) const OFF: Seal = Seal {
        sealed: String::new(),
        restoring: None,
    };

    /// The record; it carries a mark, so that it is never removed.
    pub(crate) fn value(&self, mark: u64, runtime: &dyn Runtime) -> Value {
        Value {
            mark,
            token: fresh_token(runtime),
            body: serde_json::to_string(self).expect("plain fields always serialise"),
        }
    }

    /// The seal that a record is; `None` for one that was taken off. What cannot be read is one: a newer version may have
    /// written it, and why the store must rest is not known.
    pub(crate) fn read(found: &Versioned) -> Option<Seal> {
        let seal = serde_json::from_str(&found.value.body).unwrap_or_else(|_| Seal {
            sealed: "by a record that this version cannot read".to_string(),
            restoring: None,
        });
        Some(seal).filter(|seal: &Seal| !seal.sealed.is_empty())
    }
}

/// Why a store takes no reservation any more, if it is sealed.
///
/// # Errors
/// The store does not answer.
pub async fn sealed(store: &dyn Store) -> Result<Option<String>, StoreError> {
    let found = store.get(&seal_key()).await?;
    Ok(found.and_then(|found| Seal::read(&found)).map(|seal| seal.sealed))
}

/// The restore that is under way.
///
/// # Errors
/// The store is sealed for another reason, or does not answer.
pub(crate) async fn restoring(store: &dyn Store) -> Result<Option<Restoring>, StoreError> {
    match store.get(&seal_key()).await?.as_ref().and_then(Seal::read) {
        None => Ok(None),
        Some(seal) if seal.restoring.is_some() => Ok(seal.restoring),
        Some(seal) => Err(refusal(&seal.sealed)),
    }
}

/// The refusal of a sealed store.
pub(crate) fn refusal(why: &str) -> StoreError {
    let hint = if why.starts_with(UNFINISHED) {
        Advice::FinishRestore {
            or_remove: false,
            finishes: true,
        }
    } else if why.starts_with(MOVED) {
        Advice::Unseal
    } else {
        "the command that began it finishes it".into()
    };
    StoreError::new(
        StoreErrorKind::Stopped,
        Outcome::NotDone,
        format!("the store is sealed: {why}"),
    )
    .with_hint(hint)
}
