//! A shared store that must be the cluster which was met before (protocol R5), and what was seen of it.

use std::path::Path;
use std::sync::Arc;

use super::registry::{StoreKind, open_store};
use super::{LateStore, OpenMember, Outcome, Pins, Seen, Store, StoreError, StoreErrorKind, StoreSettings};
use crate::runtime::Runtime;
use mintage_store::delegate_store;

/// Opens the store at `url` as [`open_store`] does; a shared one must be the cluster that the settings name, or
/// else the one that was met there first, which is noted in the state folder (protocol R5).
///
/// A state folder that cannot be written costs the note and a warning, nothing more.
///
/// # Errors
/// As [`open_store`]; [`StoreErrorKind::Foreign`] for another cluster than the expected one, naming the file that
/// remembers it.
pub async fn open_pinned(
    url: &str,
    settings: &StoreSettings,
    state: Option<&Path>,
    runtime: Arc<dyn Runtime>,
) -> Result<Arc<dyn Store>, StoreError> {
    let (kind, _) = StoreKind::of(url)?;
    let Some(pins) = state.map(Pins::in_folder).filter(|_| kind.is_shared()) else {
        return open_store(url, settings, runtime).await;
    };
    let seen = Seen::new(pins.clone(), url, Arc::clone(&runtime));
    let pinned = pins.find(url)?;
    let expected = settings.expect_cluster.or(pinned);
    let settings = StoreSettings {
        expect_cluster: expected,
        ..settings.clone()
    };
    let from_file = pinned.is_some() && pinned == expected;
    let store = match open_store(url, &settings, runtime).await {
        Ok(store) => store,
        Err(error) if error.kind == StoreErrorKind::Foreign && from_file => {
            let file = pins.file(url);
            return Err(error.with_hint(format!(
                "this machine met another cluster here before, noted in {}: was the store emptied or restored? \
                 if it was replaced on purpose, remove that file",
                file.display()
            )));
        }
        Err(error) => return Err(error),
    };
    let found = store.cluster_id();
    if expected.is_some_and(|expected| expected != found) {
        return Err(StoreError::new(
            StoreErrorKind::Foreign,
            Outcome::NotDone,
            format!(
                "the store is cluster {found:032x}, expected {:032x}",
                expected.unwrap_or_default()
            ),
        ));
    }
    if pinned != Some(found)
        && let Err(error) = pins.remember(url, found)
    {
        tracing::warn!(%error, "cannot remember the store's cluster id: set store.cluster_id instead");
    }
    Ok(Arc::new(Pinned { inner: store, seen }))
}

/// What this machine knows of the shared store at `url`, which could not be opened for the reason `why`: enough for
/// `Ledger::open_without_store`. It is opened later as [`open_pinned`] does.
///
/// # Errors
/// In words: the store is none that others share, was never met, is not the one that the settings name, or a process of this
/// machine has stopped for good on it.
pub fn late_store(
    url: &str,
    settings: &StoreSettings,
    state: &Path,
    runtime: Arc<dyn Runtime>,
    why: StoreError,
) -> Result<LateStore, String> {
    let (kind, _) = StoreKind::of(url).map_err(|error| error.message)?;
    if !kind.is_shared() {
        return Err("the store is this machine's own".into());
    }
    let pins = Pins::in_folder(state);
    let pinned = pins.find(url).map_err(|error| error.message)?;
    let Some(cluster_id) = pinned else {
        return Err("this machine has not met the store before".into());
    };
    if settings
        .expect_cluster
        .is_some_and(|expected| expected != cluster_id)
    {
        return Err("this machine has met another cluster there than the one that is expected".into());
    }
    let seen = Seen::new(pins, url, Arc::clone(&runtime));
    // Whether it was restored since, the store alone knows.
    if let Some((_, why)) = seen.known().map_err(|error| error.message)?.stopped {
        return Err(format!("this machine stopped for good before, since {why}"));
    }
    let shared = Arc::new((
        url.to_string(),
        StoreSettings {
            expect_cluster: Some(cluster_id),
            ..settings.clone()
        },
        state.to_path_buf(),
        runtime,
    ));
    let open: OpenMember = Box::new(move || {
        let shared = Arc::clone(&shared);
        Box::pin(async move {
            let (url, settings, state, runtime) = &*shared;
            open_pinned(url, settings, Some(state), Arc::clone(runtime)).await
        })
    });
    Ok(LateStore {
        scheme: kind.scheme,
        cluster_id,
        seen: Some(seen),
        open,
        why,
    })
}

/// `store`, with what this machine has seen of it in the state folder `state`, as if it had been opened at `url`; for
/// tests.
///
/// # Errors
/// The folder cannot be used.
#[cfg(any(test, feature = "testing"))]
pub fn remembering(
    store: Arc<dyn Store>,
    url: &str,
    state: &Path,
    runtime: Arc<dyn Runtime>,
) -> Result<Arc<dyn Store>, StoreError> {
    let pins = Pins::in_folder(state);
    if pins.find(url)?.is_none() {
        pins.remember(url, store.cluster_id())?;
    }
    let seen = Seen::new(pins, url, runtime);
    Ok(Arc::new(Pinned { inner: store, seen }))
}

/// A shared store and what this machine has seen of it.
#[derive(Debug)]
struct Pinned {
    inner: Arc<dyn Store>,
    seen: Arc<Seen>,
}

impl Store for Pinned {
    delegate_store!(inner, but seen);

    fn seen(&self) -> Option<Arc<Seen>> {
        Some(Arc::clone(&self.seen))
    }
}
