//! A shared store that must be the cluster which was met before (protocol R5), and what was seen of it.

use std::any::Any;
use std::path::Path;
use std::sync::Arc;

use mintage::Timestamp;

use super::pin::Pins;
use super::registry::{StoreKind, open_store};
use super::seen::Seen;
use super::settings::StoreSettings;
use super::{
    Cas, Claim, Class, Durability, Key, Marks, Outcome, Store, StoreError, StoreErrorKind, StoreResult,
    Value, Version, Versioned,
};
use crate::runtime::{BoxFuture, Runtime};

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
    fn seen(&self) -> Option<Arc<Seen>> {
        Some(Arc::clone(&self.seen))
    }

    fn scheme(&self) -> &'static str {
        self.inner.scheme()
    }

    fn class(&self) -> Class {
        self.inner.class()
    }

    fn durability(&self) -> Durability {
        self.inner.durability()
    }

    fn wall(&self) -> StoreResult<'_, Option<Timestamp>> {
        self.inner.wall()
    }

    fn incarnation(&self) -> Option<String> {
        self.inner.incarnation()
    }

    fn cluster_id(&self) -> u128 {
        self.inner.cluster_id()
    }

    fn get<'a>(&'a self, key: &'a Key) -> StoreResult<'a, Option<Versioned>> {
        self.inner.get(key)
    }

    fn compare_and_set<'a>(
        &'a self,
        key: &'a Key,
        expected: Option<Version>,
        new: Value,
        marks: Marks,
    ) -> StoreResult<'a, Cas> {
        self.inner.compare_and_set(key, expected, new, marks)
    }

    fn scan<'a>(
        &'a self,
        prefix: &'a Key,
        after: Option<&'a Key>,
        limit: u16,
    ) -> StoreResult<'a, Vec<(Key, Versioned)>> {
        self.inner.scan(prefix, after, limit)
    }

    fn remove<'a>(&'a self, key: &'a Key, expected: Version) -> StoreResult<'a, Cas> {
        self.inner.remove(key, expected)
    }

    fn claim<'a>(&'a self, claim: &'a Claim) -> StoreResult<'a, Cas> {
        self.inner.claim(claim)
    }

    fn exclusive(&self) -> bool {
        self.inner.exclusive()
    }

    fn as_set(&self) -> Option<&(dyn Any + Send + Sync)> {
        self.inner.as_set()
    }

    fn reachable(&self, key: &Key) -> bool {
        self.inner.reachable(key)
    }

    fn tend(&self) -> BoxFuture<'_, ()> {
        self.inner.tend()
    }

    fn stopped(&self) -> Option<StoreError> {
        self.inner.stopped()
    }

    fn newest_wall(&self) -> Option<Timestamp> {
        self.inner.newest_wall()
    }

    fn close(&self) -> StoreResult<'_, ()> {
        self.inner.close()
    }
}
