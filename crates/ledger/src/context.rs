//! What every part of one ledger shares.

use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::clock::AnchoredClock;
use crate::cluster::Cluster;
use crate::counters::Counters;
use crate::runtime::{Runtime, fresh_token};
use crate::settings::LedgerSettings;
use crate::store::{Guard, Store};

#[derive(Debug)]
pub(crate) struct Context {
    pub store: Arc<dyn Store>,
    /// `store`, where it is a shared one.
    pub guard: Option<Arc<Guard>>,
    pub runtime: Arc<dyn Runtime>,
    pub settings: LedgerSettings,
    pub clock: AnchoredClock,
    pub counters: Counters,
    /// This process (protocol R4): random, new at every start and whenever its register was lost.
    instance: Mutex<u128>,
    /// When this process opened the store, in boot time.
    pub started: Duration,
    /// How many sequences exist.
    pub sequences: AtomicU64,
    /// The other processes on the store.
    pub cluster: Cluster,
    /// No new work is begun.
    pub closing: AtomicBool,
}

impl Context {
    pub(crate) fn new(store: Arc<dyn Store>, settings: LedgerSettings, runtime: Arc<dyn Runtime>) -> Context {
        let clock = AnchoredClock::new(Arc::clone(&runtime), store.newest_wall(), settings.clock_confirm);
        let guard = (!store.exclusive())
            .then(|| Guard::new(Arc::clone(&store), Arc::clone(&runtime), settings.lossy));
        let store = match &guard {
            Some(guard) => Arc::clone(guard) as Arc<dyn Store>,
            None => store,
        };
        Context {
            guard,
            clock,
            counters: Counters::default(),
            instance: Mutex::new(fresh_token(&*runtime)),
            started: runtime.boottime(),
            sequences: AtomicU64::new(0),
            cluster: Cluster::default(),
            closing: AtomicBool::new(false),
            store,
            runtime,
            settings,
        }
    }

    /// Which recovery of the store its answers belong to; 0 where none ever happened.
    pub(crate) fn epoch(&self) -> u64 {
        self.guard.as_ref().map_or(0, |guard| guard.epoch())
    }

    pub(crate) fn instance(&self) -> u128 {
        *self.instance.lock().expect("no panic while held")
    }

    /// Draws another identity, after the register of this one was lost.
    pub(crate) fn renew_instance(&self) -> u128 {
        let fresh = fresh_token(&*self.runtime);
        *self.instance.lock().expect("no panic while held") = fresh;
        fresh
    }
}
