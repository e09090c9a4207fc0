//! What is noted in a store of the store as a whole, which everybody reads before using it.
//!
//! | file | what |
//! | --- | --- |
//! | `restored` | a backup was restored: what is not there begins higher |
//! | `seal` | it takes no reservation: it was moved, or a restore is not finished |

mod restored;
mod seal;

use crate::store::{Key, Outcome, StoreError, StoreErrorKind};

pub(crate) use restored::{Restored, RestoredBody, restored, restored_key};
pub use seal::sealed;
pub(crate) use seal::{MOVED, Restoring, Seal, refusal, restoring, seal_key};

/// The refusal after somebody else wrote `key` before every try.
pub(crate) fn too_many_writers(key: &Key) -> StoreError {
    StoreError::new(
        StoreErrorKind::InUse,
        Outcome::NotDone,
        format!("somebody writes {key} all the time: stop the servers first"),
    )
}
