//! Opens what a configuration names: the store or a set of stores, the journal beside it, and the ledger over them.
//! Whoever has a runtime can use it; no thread of the server is needed.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use mintage_ledger::{
    AsStriped, Ledger, LedgerSettings, LossyRules, OpenMember, Origins, Outcome, Runtime, Store, StoreError,
    StoreErrorKind, StoreSettings, Striped, SystemRuntime, late_store, open_journal, open_left_journal,
    open_pinned, store_folder,
};
use mintage_local::state_file::user_state_folder;

use crate::advice;
use crate::config::{Config, StoreUrl};
use crate::host::RunError;
use crate::service::from_ledger;

/// Opens a configuration's store and the ledger over it, on the current runtime.
///
/// # Errors
/// What the store says, with its hint.
pub async fn open_ledger(config: &Config) -> Result<Arc<Ledger>, RunError> {
    let runtime = SystemRuntime::new(tokio::runtime::Handle::current());
    let folder = state_folder(config);
    let mut settings = ledger_settings(config);
    settings.origins = origins(config, runtime.clone())?;
    let store = match open_stores(config, &store_settings(config), runtime.clone()).await {
        Ok(store) => store,
        Err(e) => {
            if let (StoreErrorKind::Unavailable, Some(folder)) = (e.kind, &folder)
                && let Some(ledger) = open_on_journal(config, folder, settings, &e, runtime).await
            {
                return Ok(ledger);
            }
            return Err(RunError::new(
                format!("cannot open store {}: {}", stores_shown(config), e.message),
                e.hint.map(|hint| advice::words(hint).into_owned()),
            ));
        }
    };
    settings.journal = journal(config, &*store, folder.as_deref(), runtime.clone()).await;
    Ledger::open(store, settings, runtime).await.map_err(|e| {
        let error = from_ledger(e);
        RunError::new(error.message, error.hint.map(String::from))
    })
}

/// Opens the ledger without its store, which is away for the reason `why`, on a journal that a process of this machine has
/// left; `None`: there is none on which one may begin.
async fn open_on_journal(
    config: &Config,
    folder: &Path,
    settings: LedgerSettings,
    why: &StoreError,
    runtime: Arc<dyn Runtime>,
) -> Option<Arc<Ledger>> {
    // A set begins with any one store, and has no journal.
    if !config.store_urls.is_empty() || config.outage_budget.is_zero() {
        return None;
    }
    let (url, store_settings) = (&config.store_url.0, store_settings(config));
    let known = || late_store(url, &store_settings, folder, runtime.clone(), why.clone());
    let mut refusals = Vec::new();
    let mut next = 0;
    loop {
        let store = match known() {
            Ok(store) => store,
            Err(refusal) => {
                refusals.push(refusal);
                break;
            }
        };
        let left = open_left_journal(folder, store.cluster_id, next, runtime.clone()).await;
        let Some((slot, journal)) = left else { break };
        next = slot + 1;
        let settings = LedgerSettings {
            journal: Some(journal),
            ..settings.clone()
        };
        match Ledger::open_without_store(store, settings, runtime.clone()).await {
            Ok(ledger) => return Some(ledger),
            Err(refusal) => refusals.push(from_ledger(refusal).message.into_owned()),
        }
    }
    let refusals = match refusals.is_empty() {
        true => "no process before has left a journal".to_string(),
        false => refusals.join("; "),
    };
    tracing::warn!(why = refusals, "cannot begin without the store, on the journal");
    None
}

/// Opens the store that a configuration names, or its set of stores.
///
/// # Errors
/// What the store says, with its hint.
pub async fn open_stores(
    config: &Config,
    settings: &StoreSettings,
    runtime: Arc<dyn Runtime>,
) -> Result<Arc<dyn Store>, StoreError> {
    let folder = state_folder(config);
    if config.store_urls.is_empty() {
        return open_pinned(&config.store_url.0, settings, folder.as_deref(), runtime).await;
    }
    let expected = settings.expect_cluster;
    let member = |url: &StoreUrl| {
        let shared = Arc::new((
            url.0.clone(),
            StoreSettings {
                // The set has an id of its own.
                expect_cluster: None,
                ..settings.clone()
            },
            folder.clone(),
            Arc::clone(&runtime),
        ));
        let open: OpenMember = Box::new(move || {
            let shared = Arc::clone(&shared);
            Box::pin(async move {
                let (url, settings, folder, runtime) = &*shared;
                open_pinned(url, settings, folder.as_deref(), Arc::clone(runtime)).await
            })
        });
        (url.redacted(), open)
    };
    let members = config.store_urls.iter().map(member).collect();
    let set = Striped::open(members, Arc::clone(&runtime)).await?;
    match expected.filter(|expected| *expected != set.cluster_id()) {
        None => Ok(set),
        Some(expected) => Err(StoreError::new(
            StoreErrorKind::Foreign,
            Outcome::NotDone,
            format!(
                "the stores are set {:032x}, expected {expected:032x}",
                set.cluster_id()
            ),
        )),
    }
}

/// The URL of the store, or those of its set, without passwords; folders with their whole paths.
pub fn stores_shown(config: &Config) -> String {
    let shown = |url: &StoreUrl| match store_folder(&url.0).map(std::path::absolute) {
        Some(Ok(folder)) => format!("file:{}", folder.display()),
        _ => url.redacted(),
    };
    let stores: Vec<String> = config.stores().iter().map(shown).collect();
    stores.join(" ")
}

/// This machine's own record of what it owns in a shared store; without one the outage budget is limited.
async fn journal(
    config: &Config,
    store: &dyn Store,
    folder: Option<&Path>,
    runtime: Arc<dyn Runtime>,
) -> Option<Arc<dyn Store>> {
    // What a set's stores own are not one name's ordinals; and another store is what it has for an outage.
    if store.exclusive() || store.striped().is_some() || config.outage_budget.is_zero() {
        return None;
    }
    let Some(folder) = folder else {
        tracing::warn!("no state folder: the outage budget of a sequence is limited by its max_gap");
        return None;
    };
    match open_journal(folder, store.cluster_id(), &store_settings(config), runtime).await {
        Ok(journal) => Some(journal),
        Err(error) => {
            tracing::warn!(%error, "no journal: the outage budget of a sequence is limited by its max_gap");
            None
        }
    }
}

/// What a configuration tells the store.
pub fn store_settings(config: &Config) -> StoreSettings {
    StoreSettings {
        expect_cluster: config.cluster_id.0.map(|id| id.0),
        allow_lossy: config.allow_lossy,
        allow_file_systems: config.allow_file_systems.clone(),
        create: config.store_create,
        anew: config.store_new,
        state_folder: state_folder(config),
        request_timeout: config.request_timeout,
        connect_timeout: config.connect_timeout,
        ..StoreSettings::default()
    }
}

/// Where this machine remembers what shared stores were, if there is such a place.
pub fn state_folder(config: &Config) -> Option<PathBuf> {
    if let Some(folder) = &config.state_folder.0 {
        return Some(folder.0.clone());
    }
    let variable = |name| std::env::var_os(name).map(PathBuf::from);
    // systemd names one folder, or several with colons between.
    if let Some(folders) = variable("STATE_DIRECTORY") {
        let first = folders.to_string_lossy().split(':').next().map(PathBuf::from);
        return first.filter(|folder| folder.is_absolute());
    }
    user_state_folder(variable("XDG_STATE_HOME").as_deref(), variable("HOME").as_deref())
}

/// What this process calls itself towards others of its cluster.
pub(crate) fn node_name(config: &Config) -> String {
    match &config.server_name.0 {
        Some(name) => name.0.clone(),
        // A machine without a name has its process ids still.
        None => format!(
            "{}:{}",
            mintage::host_name().unwrap_or_default(),
            std::process::id()
        ),
    }
}

/// The sources that a configuration names, out of which sequences may take their numbers.
///
/// # Errors
/// One whose URL names no source, in words that name the setting.
pub fn origins(config: &Config, runtime: Arc<dyn Runtime>) -> Result<Option<Arc<dyn Origins>>, RunError> {
    let opened = config.sources.open(&store_settings(config), runtime);
    let origins = opened.map_err(|error| RunError::new(error, None))?;
    Ok(origins.map(|origins| origins as Arc<dyn Origins>))
}

/// What a configuration tells the ledger.
pub fn ledger_settings(config: &Config) -> LedgerSettings {
    LedgerSettings {
        auto_create: config.auto_create,
        max_sequences: config.max_sequences,
        max_dropped: config.max_dropped,
        max_loaded: config.max_loaded,
        idle_after: config.idle_after,
        max_gap: config.max_gap,
        window: config.window.0,
        max_ahead: config.max_ahead,
        clock_policy: config.clock_policy,
        clock_confirm: config.clock_confirm,
        lossy: config.allow_lossy.then(|| LossyRules {
            max_rate: config.max_rate,
            window: config.window.0.unwrap_or(LossyRules::default().window),
        }),
        outage_budget: config.outage_budget,
        // A request may have to make its connection first.
        request_timeout: config.request_timeout + config.connect_timeout,
        journal: None,
        origins: None,
        instance_name: node_name(config),
    }
}
