//! Opening a store in this process, for commands that need no server.

use std::sync::Arc;
use std::time::Duration;

use mintage_ledger::{
    Ledger, LedgerError, LedgerSettings, Runtime, Store, StoreError, StoreErrorKind, StoreSettings,
    SystemRuntime,
};
use mintage_server::config::Config;
use mintage_server::{advice, open_stores, store_settings};

use crate::config::{load, opening, store_given};
use crate::errors::Failure;
use crate::runtime::{block_on, runtime};

/// How long a command waits for another command to release the folder.
pub(crate) const LOCK_WAIT: Duration = Duration::from_secs(2);

/// A ledger opened by this process, and the runtime it lives on.
pub(crate) struct Local {
    runtime: tokio::runtime::Runtime,
    ledger: Arc<Ledger>,
}

impl Local {
    /// Opens the ledger at a store's URL, with what the configuration says of stores.
    pub(crate) fn open(url: &str, absent: Absent) -> Result<Local, Failure> {
        let config = opening(load(None, store_given(url))?)?;
        let runtime = runtime()?;
        let ledger = runtime.block_on(async {
            let system = SystemRuntime::new(tokio::runtime::Handle::current());
            let store = open_or_make(&config, absent, system.clone()).await?;
            let instance_name = format!("mint {}", std::process::id());
            let origins = mintage_server::origins(&config, system.clone())
                .map_err(|error| Failure::usage(error.message))?;
            let settings = LedgerSettings {
                instance_name,
                origins,
                ..LedgerSettings::default()
            };
            Ledger::open(store, settings, system).await.map_err(refused)
        })?;
        Ok(Local { runtime, ledger })
    }

    /// Does some work with the ledger.
    pub(crate) fn run<T>(
        &self,
        work: impl AsyncFnOnce(&Ledger) -> Result<T, LedgerError>,
    ) -> Result<T, Failure> {
        self.runtime.block_on(work(&self.ledger)).map_err(refused)
    }

    /// The ledger, for work that lasts.
    pub(crate) fn ledger(&self) -> Arc<Ledger> {
        Arc::clone(&self.ledger)
    }

    /// Does some work on the runtime that the ledger lives on.
    pub(crate) fn block_on<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }

    /// Closes it, which gives back what was not used.
    pub(crate) fn close(self) -> Result<(), Failure> {
        self.run(async |ledger| ledger.close().await)
    }
}

/// What becomes of an embedded store that is not there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Absent {
    /// It is made: for what takes or defines numbers.
    Make,
    /// The command is refused: a mistyped folder must not look like an empty store.
    Refuse,
}

/// Opens the store that a configuration names, which must be there, waiting a little for another command to release
/// it.
pub(crate) async fn open_configured(
    config: &Config,
    runtime: Arc<dyn Runtime>,
) -> Result<Arc<dyn Store>, Failure> {
    open_or_make(config, Absent::Refuse, runtime).await
}

async fn open_or_make(
    config: &Config,
    absent: Absent,
    runtime: Arc<dyn Runtime>,
) -> Result<Arc<dyn Store>, Failure> {
    let settings = StoreSettings {
        lock_wait: LOCK_WAIT,
        create: absent == Absent::Make && config.store_create,
        ..store_settings(config)
    };
    open_stores(config, &settings, runtime)
        .await
        .map_err(store_refused)
}

/// The file systems that the configuration allows for state files.
pub(crate) fn allowed_file_systems() -> Result<Vec<String>, Failure> {
    Ok(load(None, Vec::new())?.config.allow_file_systems)
}

/// Runs work of the store's tools.
pub(crate) fn with_runtime<T>(
    work: impl AsyncFnOnce(Arc<dyn Runtime>) -> Result<T, StoreError>,
) -> Result<T, Failure> {
    block_on(async {
        let runtime = SystemRuntime::new(tokio::runtime::Handle::current());
        work(runtime).await.map_err(store_refused)
    })
}

/// A ledger's refusal as a failure of the command; a store that was named wrongly is wrong usage.
pub(crate) fn refused(error: LedgerError) -> Failure {
    match error {
        LedgerError::Store(error) => store_refused(error),
        other => other.into(),
    }
}

/// A store's refusal as a failure of the command.
pub(crate) fn store_refused(error: StoreError) -> Failure {
    let failure = match error.kind {
        StoreErrorKind::Invalid => Failure::usage(&error),
        _ => Failure::cannot(&error),
    };
    failure.with_hint_if(error.hint.map(advice::words))
}
