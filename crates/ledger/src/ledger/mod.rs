//! The ledger: everything that is reserved from one store by one process.
//!
//! | file | what |
//! | --- | --- |
//! | `start` | what is checked before anything is given out |
//! | `away` | a start while the store is away |
//! | `sequences`, `pools` | loaded, made, changed, listed |
//! | `records` | where numbers come from |
//! | `passed` | what a move does with a sequence |
//! | `loaded` | which sequences are held in memory, and when one is let go |
//! | `tasks` | what runs until the ledger closes |

mod away;
mod loaded;
mod passed;
mod pools;
mod records;
mod sequences;
mod start;
mod tasks;

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, RwLock};

pub use pools::{DEFAULT_POOL, UUID1_POOL};
pub use sequences::Changed;
use sequences::LOADS_AT_ONCE;

use crate::clock::AnchoredClock;
use crate::context::Context;
use crate::counters::Counters;
use crate::error::LedgerError;
use crate::guard;
use crate::health::{Health, WatchedStore};
use crate::journal::Journal;
use crate::name::Name;
use crate::notes;
use crate::origins::OriginStatus;
use crate::pool::Pool;
use crate::runtime::Runtime;
use crate::sequence::{InUse, Sequence};
use crate::settings::LedgerSettings;
use crate::store::{Class, Durability, Key, SCAN_LIMIT_MAX, Store, StoreError, Versioned};
use crate::striped::{AsStriped, stripe_of};

/// Everything that one process reserves from one store: sequences and pools.
///
/// ```
/// # use mintage_ledger::*;
/// # let tokio = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
/// # tokio.block_on(async {
/// let runtime = SystemRuntime::new(tokio::runtime::Handle::current());
/// let store = open_store("memory:", &StoreSettings::default(), runtime.clone()).await?;
/// let ledger = Ledger::open(store, LedgerSettings::default(), runtime).await?;
/// let orders = ledger.sequence_or_create(&Name::new("orders")?).await?;
/// assert_eq!(orders.take(1).await?.first, 1);
/// assert_eq!(orders.take_contiguous(10).await?.last(), 11);
/// ledger.close().await?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Ledger {
    pub(crate) context: Arc<Context>,
    pub(crate) in_use: Arc<InUse>,
    sequences: RwLock<HashMap<Name, Arc<Sequence>>>,
    /// Held while names are let go.
    letting_go: tokio::sync::Mutex<()>,
    /// One is held while a name is loaded: see [`Ledger::load`].
    loading: [tokio::sync::Mutex<()>; LOADS_AT_ONCE],
    pools: RwLock<HashMap<Name, Arc<Pool>>>,
}

impl Ledger {
    /// Opens a ledger over `store` and starts its background tasks on `runtime`.
    ///
    /// # Errors
    /// The store refuses.
    pub async fn open(
        store: Arc<dyn Store>,
        settings: LedgerSettings,
        runtime: Arc<dyn Runtime>,
    ) -> Result<Arc<Ledger>, LedgerError> {
        if let Some(error) = store.stopped() {
            return Err(LedgerError::Stopped(error));
        }
        // A store that is ours alone needs no journal: nobody else can have taken what we own.
        let journal = match settings.journal.clone().filter(|_| !store.exclusive()) {
            Some(journal) => Some(Journal::open(journal, store.cluster_id(), Arc::clone(&runtime)).await?),
            None => None,
        };
        // A store that does not answer must not hold the start up for ever.
        let health = Health::new(Arc::clone(&runtime));
        let asked = WatchedStore::new(Arc::clone(&store), health, settings.request_timeout);
        if let Some(why) = notes::sealed(&asked).await? {
            return Err(LedgerError::Stopped(notes::refusal(&why)));
        }
        if store.striped().is_none()
            && let Some(place) = stripe_of(&asked).await?
        {
            return Err(LedgerError::Stopped(place.opened_alone()));
        }
        let restored = notes::restored(&asked).await?;
        if let Some(journal) = &journal {
            journal.restored_at(restored.workers_from);
            // What was changed while nobody had this journal is not looked at one by one.
            journal.begin_life().await;
        }
        let vouched = match store.exclusive() {
            true => None,
            false => guard::vouched(&asked).await?,
        };
        let begins = (false, vouched);
        let context = Arc::new(Context::new(store, settings, journal, restored, begins, runtime));
        let ledger = Ledger::over(Arc::clone(&context));
        ledger.count_sequences().await?;
        let entered = match context.store.exclusive() {
            true => None,
            false => ledger.join_cluster().await?,
        };
        if context.clock.is_settled() {
            context.store.clock_confirmed();
        }
        tasks::start(&ledger);
        if !context.store.exclusive() {
            context
                .runtime
                .spawn(Box::pin(Arc::clone(&ledger).keep_instance(entered)));
        }
        Ok(ledger)
    }

    fn over(context: Arc<Context>) -> Arc<Ledger> {
        Arc::new(Ledger {
            context,
            in_use: Arc::default(),
            sequences: RwLock::default(),
            letting_go: tokio::sync::Mutex::default(),
            loading: std::array::from_fn(|_| tokio::sync::Mutex::default()),
            pools: RwLock::default(),
        })
    }

    /// Whether it began without its store and has not joined the others there yet.
    pub fn is_away(&self) -> bool {
        self.context.is_away()
    }

    async fn page(
        &self,
        prefix: &str,
        after: Option<&Key>,
        limit: u16,
    ) -> Result<Vec<(Key, Versioned)>, LedgerError> {
        let prefix = Key::new(prefix)?;
        Ok(self.context.store.scan(&prefix, after, limit).await?)
    }

    pub(crate) fn drop_everything(&self) {
        for sequence in self.loaded() {
            sequence.drop_stock();
        }
        for pool in self.loaded_pools() {
            pool.drop_window();
        }
    }

    /// Goes over the records of names in their order, those after `after` and of `prefix`, until `take` has enough.
    pub(crate) async fn walk(
        &self,
        kind: &str,
        key_of: impl Fn(&Name) -> Key,
        (prefix, after): (Option<&Name>, Option<&Name>),
        limit: u16,
        mut take: impl FnMut(Name, Versioned) -> Result<bool, LedgerError>,
    ) -> Result<(), LedgerError> {
        let mut after = after
            .filter(|after| prefix.is_none_or(|prefix| *after >= prefix))
            .map(&key_of);
        let page_size = limit.clamp(1, SCAN_LIMIT_MAX);
        let is_of = |name: &Name| prefix.is_none_or(|prefix| name.as_str().starts_with(prefix.as_str()));
        if let (Some(prefix), None) = (prefix, &after) {
            // The prefix may be a whole name, which a page after it does not have.
            let key = key_of(prefix);
            let found = self.page(key.as_str(), None, 1).await?.into_iter().next();
            if let Some((_, found)) = found.filter(|(first, _)| *first == key)
                && !take(prefix.clone(), found)?
            {
                return Ok(());
            }
            after = Some(key);
        }
        loop {
            let page = self.page(kind, after.as_ref(), page_size).await?;
            let last = page.len() < usize::from(page_size);
            after = page.last().map(|(key, _)| key.clone());
            for (key, found) in page {
                let name = Name::from_key(key.after(kind))?;
                if !is_of(&name) || !take(name, found)? {
                    return Ok(());
                }
            }
            if last {
                return Ok(());
            }
        }
    }

    /// Why nothing is minted any more, once a sync has failed or a mark went back.
    pub fn stopped(&self) -> Option<StoreError> {
        self.context.store.stopped()
    }

    /// The clock that ids read.
    pub fn clock(&self) -> &AnchoredClock {
        &self.context.clock
    }

    /// What was counted.
    pub fn counters(&self) -> &Counters {
        &self.context.counters
    }

    /// What the store may forget.
    pub fn store_class(&self) -> Class {
        self.context.store.class()
    }

    /// What the store may forget, and why, as of its last probe.
    pub fn store_durability(&self) -> Durability {
        self.context.store.durability()
    }

    /// Which copy of the store answers, where it says so.
    pub fn store_incarnation(&self) -> Option<String> {
        self.context.store.incarnation()
    }

    /// The store's scheme: `memory`, `file`, …
    pub fn store_scheme(&self) -> &'static str {
        self.context.store.scheme()
    }

    /// What is known of the sources out of which sequences have taken numbers, in the order of their names. No I/O.
    pub fn origins(&self) -> Vec<OriginStatus> {
        self.context.origins.statuses()
    }

    /// What this process calls itself.
    pub fn instance_name(&self) -> &str {
        &self.context.settings.instance_name
    }

    /// The identity of the store as a whole.
    pub fn cluster_id(&self) -> u128 {
        self.context.store.cluster_id()
    }

    /// A clean stop: no new work, windows and unused numbers given back where the store allows it, the store
    /// closed.
    ///
    /// # Errors
    /// The store could not be closed cleanly; nothing that was issued is at risk.
    pub async fn close(&self) -> Result<(), LedgerError> {
        self.context.closing.store(true, Ordering::Release);
        for pool in self.loaded_pools() {
            pool.stop().await;
        }
        if !self.context.is_away() {
            self.leave_cluster().await;
        }
        // All are asked at once, so that the store can group them; then each is waited for.
        let loaded = self.loaded();
        let waits: Vec<_> = loaded.iter().map(Sequence::ask_to_give_back).collect();
        for wait in waits {
            let _ = wait.await;
        }
        if let Some(journal) = &self.context.journal {
            journal.close().await;
        }
        Ok(self.context.store.close().await?)
    }
}
