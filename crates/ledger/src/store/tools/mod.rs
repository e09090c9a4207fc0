//! What an operator does to a whole store, through the seam: back up, restore, check, move.
//!
//! | file | what |
//! | --- | --- |
//! | `backup` | a store as a checksummed file of JSON lines, and back |
//! | `restore` | a store that a backup was restored into: every mark higher |
//! | `target` | finding, making and opening the store for it |
//! | `seal` | a store that takes no reservation |
//! | `migrate` | seal one store and go on in another |
//! | `stripes` | sets of stores: making one, adding to one |
//! | `check` | whether every register makes sense |

mod backup;
mod check;
mod migrate;
mod restore;
mod seal;
mod stripes;
mod target;

use std::collections::HashMap;

use mintage::Timestamp;

use super::{Key, Outcome, SCAN_LIMIT_MAX, Store, StoreError, StoreErrorKind, Versioned};
use crate::name::Name;
use crate::pool::PoolSpec;

pub use super::guard::note_progress_restored;
pub use backup::{Backup, BackupError, BackupLines, back_up, copy_backup};
pub use check::{StoreReport, check_store};
pub use migrate::{MigrateReport, migrate};
pub use restore::{Advance, RestoreReport, raise_in_place, restore_into};
pub(crate) use restore::{Restored, restored};
pub(crate) use seal::refusal;
pub use seal::{seal, sealed, unseal};
pub use stripes::{add_to_set, make_set};
pub use target::{Restore, restore};

/// The prefixes of everything that a store must not lose. Instances and their changes end with the processes.
pub(super) const PREFIXES: [&str; 3] = ["pool/", "seq/", "window/"];

/// The prefixes of what a backup holds: also that names begin higher since a restore, and a store's place in its set.
pub(super) const KEPT: [&str; 5] = ["cluster/restored", "cluster/stripe", "seq/", "window/", "pool/"];

/// Above which mark names begin that are not in the store: it was restored.
pub(super) fn restored_key() -> Key {
    Key::new("cluster/restored").expect("a constant within the key grammar")
}

/// The refusal after somebody else wrote `key` before every try.
pub(super) fn too_many_writers(key: &Key) -> StoreError {
    StoreError::new(
        StoreErrorKind::InUse,
        Outcome::NotDone,
        format!("somebody writes {key} all the time: stop the servers first"),
    )
}

/// Everything under a prefix, page by page.
pub(super) struct Pages<'a> {
    store: &'a dyn Store,
    prefix: Key,
    after: Option<Key>,
    ended: bool,
}

impl<'a> Pages<'a> {
    pub(super) fn of(store: &'a dyn Store, prefix: &str) -> Pages<'a> {
        Pages {
            store,
            prefix: Key::new(prefix).expect("a constant within the key grammar"),
            after: None,
            ended: false,
        }
    }

    /// The next page; empty at the end.
    pub(super) async fn next(&mut self) -> Result<Vec<(Key, Versioned)>, StoreError> {
        if self.ended {
            return Ok(Vec::new());
        }
        let page = self
            .store
            .scan(&self.prefix, self.after.as_ref(), SCAN_LIMIT_MAX)
            .await?;
        self.ended = page.len() < usize::from(SCAN_LIMIT_MAX);
        self.after = page.last().map(|(key, _)| key.clone());
        Ok(page)
    }
}

/// The pools that a store knows, by their names as keys have them; records that make no sense are passed over.
pub(super) async fn pools(store: &dyn Store) -> Result<HashMap<String, PoolSpec>, StoreError> {
    let mut pools = HashMap::new();
    let mut pages = Pages::of(store, "pool/");
    loop {
        let page = pages.next().await?;
        if page.is_empty() {
            return Ok(pools);
        }
        pools.extend(
            page.iter()
                .filter_map(|(key, found)| pool_of(key, &found.value.body)),
        );
    }
}

/// A pool, by its name as keys have it.
pub(super) fn pool_of(key: &Key, body: &str) -> Option<(String, PoolSpec)> {
    let written = key.as_str().strip_prefix("pool/")?;
    let name = Name::from_key(written).ok()?;
    Some((written.to_string(), PoolSpec::read(&name, body).ok()?))
}

/// The newest clock that a process wrote down: when something was last acknowledged, as far as is known.
pub(super) async fn newest_wall(store: &dyn Store) -> Result<Option<Timestamp>, StoreError> {
    let mut newest = None;
    for prefix in ["instance/", "window/"] {
        let mut pages = Pages::of(store, prefix);
        loop {
            let page = pages.next().await?;
            if page.is_empty() {
                break;
            }
            for (_, found) in page {
                let body: serde_json::Value = serde_json::from_str(&found.value.body).unwrap_or_default();
                newest = newest.max(body["wall_ms"].as_i64());
            }
        }
    }
    Ok(newest.map(Timestamp::from_unix_millis))
}
