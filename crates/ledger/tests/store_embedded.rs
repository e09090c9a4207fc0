//! The embedded store through its public doors.

use std::path::Path;
use std::sync::Arc;

use mintage_ledger::conformance::check_all;
use mintage_ledger::{EmbeddedStore, Runtime, Store, StoreSettings, SystemRuntime};

fn runtime() -> Arc<dyn Runtime> {
    SystemRuntime::new(tokio::runtime::Handle::current())
}

async fn open(path: &Path) -> Arc<EmbeddedStore> {
    EmbeddedStore::open(path, &StoreSettings::default(), runtime())
        .await
        .unwrap_or_else(|e| panic!("{e}"))
}

#[tokio::test]
async fn embedded_keeps_the_contract() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("data");
    check_all(&move || {
        let path = path.clone();
        Box::pin(async move { open(&path).await as Arc<dyn Store> })
    })
    .await;
}
