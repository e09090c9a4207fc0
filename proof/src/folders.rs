//! Folders that a second process opens, that were copied, or that were restored.

use std::path::Path;

use mintage_ledger::{EmbeddedStore, Key, Marks, Store, StoreErrorKind, StoreSettings, SystemRuntime, Value};

use crate::disk;

/// Opens folders that must be refused.
///
/// # Errors
/// One was not.
pub fn run() -> Result<u64, String> {
    let scratch = disk::scratch().map_err(|e| e.to_string())?;
    let (original, copied) = (scratch.path().join("original"), scratch.path().join("copied"));
    disk::block_on(|runtime| async move {
        let store = open(&original, &runtime).await.map_err(|e| e.to_string())?;
        let key = Key::new("seq/orders").map_err(|e| e.to_string())?;
        let value = Value {
            mark: 10,
            token: 1,
            body: "{}".into(),
        };
        store
            .compare_and_set(&key, None, value, Marks::NeverLower)
            .await
            .map_err(|e| e.to_string())?;
        refused(
            open(&original, &runtime).await.err(),
            StoreErrorKind::InUse,
            "a second opening",
        )?;
        store.close().await.map_err(|e| e.to_string())?;
        disk::flips::copy(&original, &copied).map_err(|e| e.to_string())?;
        let error = open(&copied, &runtime).await.err();
        // By name: that its marks of how far it got are not there tells a backup that was put back, too.
        if let Some(error) = error
            .as_ref()
            .filter(|error| !error.message.contains("it is a copy"))
        {
            return Err(format!("a copy was refused as something else: {error}"));
        }
        refused(error, StoreErrorKind::Foreign, "a copy")?;
        let again = open(&original, &runtime).await.map_err(|e| e.to_string())?;
        again.close().await.map_err(|e| e.to_string())?;
        put_back(
            &scratch.path().join("used"),
            &scratch.path().join("backup"),
            &runtime,
        )
        .await?;
        Ok(3)
    })
}

/// A backup of a stopped folder, copied back over it after it was used again.
async fn put_back(
    folder: &Path,
    backup: &Path,
    runtime: &std::sync::Arc<SystemRuntime>,
) -> Result<(), String> {
    let key = Key::new("seq/orders").map_err(|e| e.to_string())?;
    for mark in [10, 20] {
        let store = open(folder, runtime).await.map_err(|e| e.to_string())?;
        let found = store.get(&key).await.map_err(|e| e.to_string())?;
        let value = Value {
            mark,
            token: u128::from(mark),
            body: "{}".into(),
        };
        store
            .compare_and_set(&key, found.map(|found| found.version), value, Marks::NeverLower)
            .await
            .map_err(|e| e.to_string())?;
        store.close().await.map_err(|e| e.to_string())?;
        if mark == 10 {
            disk::flips::copy(folder, backup).map_err(|e| e.to_string())?;
        }
    }
    disk::flips::copy(backup, folder).map_err(|e| e.to_string())?;
    refused(
        open(folder, runtime).await.err(),
        StoreErrorKind::Foreign,
        "a backup over the folder itself",
    )
}

async fn open(
    path: &Path,
    runtime: &std::sync::Arc<SystemRuntime>,
) -> Result<std::sync::Arc<EmbeddedStore>, mintage_ledger::StoreError> {
    EmbeddedStore::open(
        path,
        &StoreSettings::default(),
        std::sync::Arc::clone(runtime) as _,
    )
    .await
}

fn refused(
    error: Option<mintage_ledger::StoreError>,
    kind: StoreErrorKind,
    what: &str,
) -> Result<(), String> {
    match error {
        Some(error) if error.kind == kind => Ok(()),
        Some(error) => Err(format!("{what} was refused as {:?}: {error}", error.kind)),
        None => Err(format!("{what} was not refused")),
    }
}
