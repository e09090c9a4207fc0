//! Opening a store in this process, for commands that need no server.

use std::sync::Arc;
use std::time::Duration;

use mintage_ledger::{
    Ledger, LedgerError, LedgerSettings, StoreError, StoreErrorKind, StoreSettings, SystemRuntime, open_store,
};

use crate::errors::Failure;

/// How long a command waits for another command to let go of the folder.
const LOCK_WAIT: Duration = Duration::from_secs(5);

/// Opens the ledger at a store's URL, does `work`, and closes it, which gives back what was not used.
pub(crate) fn with_ledger<T>(
    url: &str,
    work: impl AsyncFnOnce(&Arc<Ledger>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .map_err(|e| Failure::cannot(format_args!("cannot start the runtime: {e}")))?;
    runtime.block_on(async {
        let system = SystemRuntime::new(tokio::runtime::Handle::current());
        let settings = StoreSettings { lock_wait: LOCK_WAIT, ..StoreSettings::default() };
        let store = open_store(url, &settings, system.clone()).await.map_err(store_refused)?;
        let name = format!("mint {}", std::process::id());
        let settings = LedgerSettings { instance_name: name, ..LedgerSettings::default() };
        let ledger = Ledger::open(store, settings, system).await.map_err(refused)?;
        let done = work(&ledger).await;
        // What was printed stands even if closing fails; the failure is still one.
        let closed = ledger.close().await.map_err(refused);
        done.and_then(|value| closed.map(|()| value))
    })
}

/// A ledger's refusal as a failure of the command.
pub(crate) fn refused(error: LedgerError) -> Failure {
    match error {
        LedgerError::Store(error) | LedgerError::Stopped(error) => store_refused(error),
        LedgerError::Name(_) | LedgerError::Invalid(_) => Failure::usage(error),
        LedgerError::OnlyForward { .. } | LedgerError::NeedsAllowRepeat { .. } => {
            Failure::cannot(error).with_hint("--allow-repeat goes back; numbers given out before then repeat")
        }
        other => Failure::cannot(other),
    }
}

/// A store's refusal as a failure of the command.
pub(crate) fn store_refused(error: StoreError) -> Failure {
    let failure = match error.kind {
        StoreErrorKind::Invalid => Failure::usage(&error),
        _ => Failure::cannot(&error),
    };
    failure.with_hint_if(error.hint)
}
