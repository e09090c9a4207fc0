//! Making a shared store usable: schema, cluster id, and the first note of what is whole.

use std::sync::Arc;

use crate::guard::{Guard, LossyRules};
use crate::notes::Restored;
use crate::runtime::Runtime;
use crate::store::{Class, Initialised, StoreError, StoreSettings, make_schema, open_store};

/// Makes the schema and the cluster id of the shared store at `url`, or the folder of an embedded one; does nothing to one
/// that has them.
///
/// # Errors
/// [`StoreErrorKind::Invalid`](crate::StoreErrorKind::Invalid) for a URL that names no store or one that needs no such
/// step; otherwise what the store itself refuses.
pub async fn init_store(
    url: &str,
    settings: &StoreSettings,
    runtime: Arc<dyn Runtime>,
) -> Result<Initialised, StoreError> {
    let made = make_schema(url, settings, Arc::clone(&runtime)).await?;
    if made.created {
        // One that may forget says from its first moment on which copy of it is whole.
        let any = StoreSettings {
            allow_lossy: true,
            expect_cluster: Some(made.cluster_id),
            ..settings.clone()
        };
        let store = open_store(url, &any, Arc::clone(&runtime)).await?;
        if store.class() == Class::Lossy {
            let rules = Some(LossyRules::default());
            let guard = Guard::new(Arc::clone(&store), runtime, rules, Restored::default(), None);
            guard.begin().await?;
        }
        store.close().await?;
    }
    Ok(made)
}
