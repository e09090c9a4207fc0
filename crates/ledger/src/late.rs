//! A shared store that a process begins without, since it could not be opened: it is opened later, in the background.
//!
//! ```text
//!   ledger ── Gate ── Guard ── LateStore ── the store, once it is open
//!              │                   └─ not open: every call is refused at once as unavailable
//!              └─ closed until the process has joined the others (`ledger/away`): whoever joins goes past it
//! ```

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use mintage::Timestamp;

use crate::delegate_store;
use crate::runtime::BoxFuture;
use crate::store::{
    Cas, Claim, Class, Durability, Key, LateStore, Marks, Outcome, Seen, Store, StoreError, StoreErrorKind,
    StoreResult, Value, Version, Versioned,
};

/// A store that is opened later, under a ledger.
pub(crate) struct Late {
    known: LateStore,
    class: Class,
    opened: OnceLock<Arc<dyn Store>>,
}

impl fmt::Debug for Late {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.opened.get() {
            Some(store) => store.fmt(f),
            None => self.known.fmt(f),
        }
    }
}

impl Late {
    pub(crate) fn new(known: LateStore, class: Class) -> Arc<Late> {
        Arc::new(Late {
            known,
            class,
            opened: OnceLock::new(),
        })
    }

    /// Tries to open the store.
    pub(crate) async fn try_open(&self) -> Result<(), StoreError> {
        if self.opened.get().is_some() {
            return Ok(());
        }
        let store = (self.known.open)().await?;
        if store.cluster_id() != self.known.cluster_id {
            return Err(StoreError::new(
                StoreErrorKind::Foreign,
                Outcome::NotDone,
                format!(
                    "the store is cluster {:032x}, expected {:032x}",
                    store.cluster_id(),
                    self.known.cluster_id
                ),
            ));
        }
        // One task does this.
        let _ = self.opened.set(store);
        Ok(())
    }

    fn store(&self) -> Result<&Arc<dyn Store>, StoreError> {
        self.opened.get().ok_or_else(|| {
            let why = format!("the store could not be opened yet: {}", self.known.why);
            StoreError::new(StoreErrorKind::Unavailable, Outcome::NotDone, why)
        })
    }
}

/// Inside `impl Store for …`: what is asked of the store goes to the one that `self.store()` gives, or is refused as it says.
macro_rules! ask_the_store_if_it_is_there {
    () => {
        fn wall(&self) -> StoreResult<'_, Option<Timestamp>> {
            Box::pin(async move { self.store()?.wall().await })
        }

        fn get<'a>(&'a self, key: &'a Key) -> StoreResult<'a, Option<Versioned>> {
            Box::pin(async move { self.store()?.get(key).await })
        }

        fn compare_and_set<'a>(
            &'a self,
            key: &'a Key,
            expected: Option<Version>,
            new: Value,
            marks: Marks,
        ) -> StoreResult<'a, Cas> {
            Box::pin(async move {
                self.store()?
                    .compare_and_set(key, expected, new, marks)
                    .await
            })
        }

        fn scan<'a>(
            &'a self,
            prefix: &'a Key,
            after: Option<&'a Key>,
            limit: u16,
        ) -> StoreResult<'a, Vec<(Key, Versioned)>> {
            Box::pin(async move { self.store()?.scan(prefix, after, limit).await })
        }

        fn remove<'a>(&'a self, key: &'a Key, expected: Version) -> StoreResult<'a, Cas> {
            Box::pin(async move { self.store()?.remove(key, expected).await })
        }

        fn claim<'a>(&'a self, claim: &'a Claim) -> StoreResult<'a, Cas> {
            Box::pin(async move { self.store()?.claim(claim).await })
        }
    };
}

impl Store for Late {
    fn scheme(&self) -> &'static str {
        self.known.scheme
    }

    fn class(&self) -> Class {
        self.opened.get().map_or(self.class, |store| store.class())
    }

    fn durability(&self) -> Durability {
        match self.opened.get() {
            Some(store) => store.durability(),
            None => Durability {
                class: self.class,
                why: "as it was when it answered last".into(),
                fix: None,
                settings: Vec::new(),
            },
        }
    }

    fn cluster_id(&self) -> u128 {
        self.known.cluster_id
    }

    fn incarnation(&self) -> Option<String> {
        self.opened.get()?.incarnation()
    }

    fn seen(&self) -> Option<Arc<Seen>> {
        self.known.seen.clone()
    }

    fn stopped(&self) -> Option<StoreError> {
        self.opened.get()?.stopped()
    }

    ask_the_store_if_it_is_there!();

    fn tend(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if let Some(store) = self.opened.get() {
                store.tend().await;
            }
        })
    }

    fn close(&self) -> StoreResult<'_, ()> {
        Box::pin(async move {
            match self.opened.get() {
                Some(store) => store.close().await,
                None => Ok(()),
            }
        })
    }
}

/// Keeps a process that began without its store from it until it has joined the others there.
#[derive(Debug)]
pub(crate) struct Gate {
    store: Arc<dyn Store>,
    closed: AtomicBool,
}

impl Gate {
    /// A closed one.
    pub(crate) fn before(store: Arc<dyn Store>) -> Arc<Gate> {
        Arc::new(Gate {
            store,
            closed: AtomicBool::new(true),
        })
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    pub(crate) fn open(&self) {
        self.closed.store(false, Ordering::Release);
    }

    pub(crate) fn behind(&self) -> &dyn Store {
        &*self.store
    }

    fn store(&self) -> Result<&Arc<dyn Store>, StoreError> {
        match self.is_closed() {
            false => Ok(&self.store),
            true => Err(StoreError::new(
                StoreErrorKind::Unavailable,
                Outcome::NotDone,
                "this process began while its store was away, and gives out what its journal owns until that is back",
            )),
        }
    }
}

impl Store for Gate {
    delegate_store!(store, but get compare_and_set scan remove claim wall);

    ask_the_store_if_it_is_there!();
}
