//! The store of a restore: found, made where there is none, given the cluster id of the backup where it is empty, and
//! opened though it may be a copy. What is then done to it is in `restore`, the same for every store.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::restore::{Accept, Plan, first_register, raise_in_place, write_backup};
use super::seal::{check_unused, seal_for_restore};
use super::{Advance, Backup, RestoreReport};
use crate::advice::Advice;
use crate::init::init_store;
use crate::notes::restoring;
use crate::runtime::Runtime;
use crate::store::{
    EmbeddedStore, Outcome, Pins, Store, StoreError, StoreErrorKind, StoreKind, StoreSettings, embedded,
    open_pinned, open_store, store_folder,
};

/// What is to be restored, and where.
#[derive(Clone, Copy, Debug)]
pub struct Restore<'a> {
    /// The store's URL.
    pub url: &'a str,
    /// How to open it.
    pub settings: &'a StoreSettings,
    /// Where this machine remembers which cluster it met.
    pub state: Option<&'a Path>,
    /// What to write into it; `None` raises what it holds, because it was itself put back.
    pub backup: Option<&'a Backup>,
    /// How many numbers to skip.
    pub advance: Advance,
    /// The longest window of pools that do not say.
    pub window: Duration,
    /// Which stores the backup may be written into.
    pub accept: Accept,
}

/// Restores: of a backup into a store that is empty or absent, which takes the backup's cluster id, or of a store that
/// was itself put back.
///
/// Cut off at any point it leaves nothing, or a store as it was, or one that refuses to serve and says that the same
/// is to be asked again, which finishes it.
///
/// ```
/// # let rt = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
/// # let folder = tempfile::tempdir().unwrap();
/// # rt.block_on(async {
/// use std::time::Duration;
/// use mintage_ledger::tools::{Accept, Advance, Backup, Restore, back_up, restore};
/// use mintage_ledger::*;
/// let runtime = SystemRuntime::new(tokio::runtime::Handle::current());
/// let (settings, mut file) = (StoreSettings::default(), Vec::new());
/// let lost = open_store("memory:", &settings, runtime.clone()).await?;
/// back_up(&*lost, &mut file, &*runtime).await?;
///
/// let url = format!("file:{}", folder.path().join("new").display());
/// let backup = Backup::read(&file[..])?;
/// let ask = Restore {
///     url: &url,
///     settings: &settings,
///     state: None,
///     backup: Some(&backup),
///     advance: Advance::By(1000),
///     window: Duration::from_secs(600),
///     accept: Accept::default(),
/// };
/// assert_eq!(restore(&ask, runtime.clone()).await?.skipped, 1000);
/// let new = open_store(&url, &settings, runtime).await?;
/// assert_eq!(new.cluster_id(), lost.cluster_id());
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
///
/// # Errors
/// As [`restore_into`](super::restore_into) and [`raise_in_place`], and what opening or making the store refuses.
pub async fn restore(ask: &Restore<'_>, runtime: Arc<dyn Runtime>) -> Result<RestoreReport, StoreError> {
    let (kind, _) = StoreKind::of(ask.url)?;
    let folder = store_folder(ask.url);
    match (ask.backup, folder) {
        (None, Some(folder)) => {
            let store = embedded::open_to_restore(folder, ask.settings, Arc::clone(&runtime)).await?;
            let report = raised(&*store, ask, &*runtime).await?;
            let what = format!("restored, every sequence skipping {}", report.skipped);
            embedded::adopt_as(folder, &what, ask.settings, runtime).await?;
            Ok(report)
        }
        (None, None) => {
            let settings = StoreSettings {
                accept_copy: true,
                ..ask.settings.clone()
            };
            let store = open_pinned(ask.url, &settings, ask.state, Arc::clone(&runtime)).await?;
            raised(&*store, ask, &*runtime).await
        }
        (Some(backup), Some(folder)) => {
            let plan = Plan::of(backup, ask.advance, ask.window, &*runtime);
            let first = plan.restoring.register(1, &*runtime);
            embedded::make_to_restore(
                folder,
                backup.cluster_id,
                first,
                ask.settings,
                Arc::clone(&runtime),
            )
            .await?;
            let store = EmbeddedStore::open(folder, ask.settings, Arc::clone(&runtime)).await?;
            written(&*store, backup, plan, ask, &*runtime).await
        }
        (Some(backup), None) => {
            let plan = Plan::of(backup, ask.advance, ask.window, &*runtime);
            let store = match kind.is_shared() && !ask.accept.foreign {
                true => open_as(backup, &plan, ask, &runtime).await?,
                false => open_pinned(ask.url, ask.settings, ask.state, Arc::clone(&runtime)).await?,
            };
            written(&*store, backup, plan, ask, &*runtime).await
        }
    }
}

async fn raised(
    store: &dyn Store,
    ask: &Restore<'_>,
    runtime: &dyn Runtime,
) -> Result<RestoreReport, StoreError> {
    let report = raise_in_place(store, ask.advance, ask.window, runtime).await;
    closed(store, report).await
}

async fn written(
    store: &dyn Store,
    backup: &Backup,
    plan: Plan,
    ask: &Restore<'_>,
    runtime: &dyn Runtime,
) -> Result<RestoreReport, StoreError> {
    let report = write_backup(store, backup, plan, ask.accept, runtime).await;
    closed(store, report).await
}

/// Closes it also after a refusal, so that the next opening finds no unclean stop.
async fn closed(
    store: &dyn Store,
    report: Result<RestoreReport, StoreError>,
) -> Result<RestoreReport, StoreError> {
    let closed = store.close().await;
    let report = report?;
    closed.map(|()| report)
}

/// Refuses where the store is known as none of these clusters.
fn known_as(known: Option<u128>, fits: &[u128], whose: &str) -> Result<(), StoreError> {
    match known.filter(|known| !fits.contains(known)) {
        None => Ok(()),
        Some(known) => Err(StoreError::new(
            StoreErrorKind::Foreign,
            Outcome::NotDone,
            format!(
                "the backup is of cluster {:032x}, and {whose} knows the store as cluster {known:032x}",
                fits[0]
            ),
        )
        .with_hint(Advice::StoreOfBackup)),
    }
}

/// Opens a shared store as the cluster that the backup is of: one that has no schema gets one, and one that is empty
/// takes the id, after it was sealed.
async fn open_as(
    backup: &Backup,
    plan: &Plan,
    ask: &Restore<'_>,
    runtime: &Arc<dyn Runtime>,
) -> Result<Arc<dyn Store>, StoreError> {
    let pins = ask.state.map(Pins::in_folder);
    let pinned = pins
        .as_ref()
        .map(|pins| pins.find(ask.url))
        .transpose()?
        .flatten();
    known_as(
        ask.settings.expect_cluster,
        &[backup.cluster_id],
        "store.cluster_id",
    )?;
    let any = StoreSettings {
        expect_cluster: None,
        accept_copy: true,
        ..ask.settings.clone()
    };
    // Does nothing to one that has a schema.
    let found = init_store(ask.url, &any, Arc::clone(runtime)).await?;
    // An empty one that this machine has met loses an id under which nothing was ever given out.
    known_as(pinned, &[backup.cluster_id, found.cluster_id], "this machine")?;
    let mut store = open_store(ask.url, &any, Arc::clone(runtime)).await?;
    let begun = restoring(&*store).await?;
    let ours = begun
        .as_ref()
        .is_none_or(|begun| begun.what == plan.restoring.what);
    let other = store.cluster_id() != backup.cluster_id;
    if ours && other && first_register(&*store).await?.is_none() {
        check_unused(&*store, &**runtime).await?;
        if begun.is_none() {
            seal_for_restore(&*store, &plan.restoring, &**runtime).await?;
        }
        remember(&pins, ask, backup);
        store.take_cluster_id(backup.cluster_id).await?;
        store.close().await?;
        store = open_store(ask.url, &any, Arc::clone(runtime)).await?;
    }
    if store.cluster_id() == backup.cluster_id {
        remember(&pins, ask, backup);
    }
    Ok(store)
}

/// Notes on this machine which cluster the store is from now on: before it is, so that what is cut off in between is
/// not refused later.
fn remember(pins: &Option<Pins>, ask: &Restore<'_>, backup: &Backup) {
    if let Some(pins) = pins
        && let Err(error) = pins.remember(ask.url, backup.cluster_id)
    {
        tracing::warn!(%error, "cannot remember the store's cluster id: set store.cluster_id instead");
    }
}
