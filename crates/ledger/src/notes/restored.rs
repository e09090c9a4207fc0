//! That a backup was restored: names and workers that are not there may have been, and begin higher.

use mintage::Timestamp;
use serde::{Deserialize, Serialize};

use crate::store::{Key, Store, StoreError};

/// Above which mark names begin that are not in the store: it was restored.
pub(crate) fn restored_key() -> Key {
    Key::new("cluster/restored").expect("a constant within the key grammar")
}

/// What is noted in a store that was restored.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Restored {
    /// A name that is not there begins above this number.
    pub(crate) above: u64,
    /// A worker that has no record begins at this time: it may have had one.
    pub(crate) workers_from: Option<Timestamp>,
}

impl Restored {
    /// Whether a backup was ever restored.
    pub(crate) fn ever(self) -> bool {
        self != Restored::default()
    }
}

/// The stored body of that note; its mark is the number.
#[derive(Serialize, Deserialize, Default)]
pub(crate) struct RestoredBody {
    pub(crate) note: String,
    #[serde(default)]
    pub(crate) workers_from_ms: Option<i64>,
}

/// What is noted in a store that was restored.
pub(crate) async fn restored(store: &dyn Store) -> Result<Restored, StoreError> {
    let Some(found) = store.get(&restored_key()).await? else {
        return Ok(Restored::default());
    };
    let body: RestoredBody = serde_json::from_str(&found.value.body).unwrap_or_default();
    Ok(Restored {
        above: found.value.mark,
        workers_from: body.workers_from_ms.map(Timestamp::from_unix_millis),
    })
}
