//! What every part of one ledger shares.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mintage::Timestamp;
use tokio::sync::Semaphore;

use crate::clock::{AnchoredClock, Gate as ClockGate};
use crate::cluster::{Cluster, instance_key};
use crate::counters::Counters;
use crate::guard::Guard;
use crate::health::{Health, WatchedStore};
use crate::journal::Journal;
use crate::late::Gate;
use crate::name::Name;
use crate::notes::Restored;
use crate::origins::UsedOrigins;
use crate::remembered::{Earlier, Recent};
use crate::runtime::{Runtime, fresh_token};
use crate::settings::LedgerSettings;
use crate::store::Store;
use crate::striped::AsStriped;

#[derive(Debug)]
pub(crate) struct Context {
    pub store: Arc<dyn Store>,
    /// Where this process began without the store: what keeps it from `store` until it has joined.
    pub gate: Option<Arc<Gate>>,
    /// `store`, where it is a shared one, or one that a backup was restored into.
    pub guard: Option<Arc<Guard>>,
    pub runtime: Arc<dyn Runtime>,
    pub settings: LedgerSettings,
    pub clock: AnchoredClock,
    pub counters: Counters,
    /// The blocks that were reserved lately.
    pub recent: Recent,
    /// Who held workers before.
    pub earlier: Earlier,
    /// Whether the store answers.
    pub health: Arc<Health>,
    /// The store, for asking it whether it answers.
    pub watched: Arc<WatchedStore>,
    /// This node's own record of what it owns in a shared store (protocol S7).
    pub journal: Option<Journal>,
    /// This process (protocol R4): random, new at every start without a journal and whenever its register was lost.
    instance: Mutex<u128>,
    /// When this process opened the store, in boot time.
    pub started: Duration,
    /// The counters elsewhere out of which sequences take their numbers.
    pub origins: UsedOrigins,
    /// How many sequences exist.
    pub sequences: AtomicU64,
    /// Names that are refused until somebody sets the store right.
    pub refused: Mutex<BTreeSet<Name>>,
    /// How many names were dropped and not made again.
    pub dropped: AtomicU64,
    /// The other processes on the store.
    pub cluster: Cluster,
    /// No new work is begun.
    pub closing: AtomicBool,
    /// How often somebody asked and got nothing.
    pub refusals: AtomicU64,
    /// How many background reservations may ask the store at a time, so that one that comes back is not stormed.
    pub refills: Semaphore,
}

/// Background reservations that ask the store at the same time.
const REFILLS_AT_ONCE: usize = 64;

impl Context {
    pub(crate) fn new(
        store: Arc<dyn Store>,
        settings: LedgerSettings,
        journal: Option<Journal>,
        restored: Restored,
        (begins_away, vouched): (bool, Option<Timestamp>),
        runtime: Arc<dyn Runtime>,
    ) -> Context {
        let health = Health::new(Arc::clone(&runtime));
        let watched = Arc::new(WatchedStore::new(
            store,
            Arc::clone(&health),
            settings.request_timeout,
        ));
        let store: Arc<dyn Store> = Arc::clone(&watched) as Arc<dyn Store>;
        let node = journal.as_ref().map(Journal::node);
        let floor = store.newest_wall().max(vouched);
        let clock = AnchoredClock::new(Arc::clone(&runtime), floor, settings.clock_confirm);
        if !store.exclusive() && !begins_away {
            clock.set_gate(ClockGate::Unjudged, None);
        }
        // A store that is ours alone keeps what it acknowledged, or says so itself.
        // Each store of a set has a guard of its own.
        let guarded = (!store.exclusive() || restored.ever()) && store.striped().is_none();
        let guard = guarded.then(|| {
            let (store, runtime) = (Arc::clone(&store), Arc::clone(&runtime));
            Guard::new(store, runtime, settings.lossy, restored, node.map(instance_key))
        });
        let store = match &guard {
            Some(guard) => Arc::clone(guard) as Arc<dyn Store>,
            None => store,
        };
        let gate = begins_away.then(|| Gate::before(Arc::clone(&store)));
        let store = match &gate {
            Some(gate) => Arc::clone(gate) as Arc<dyn Store>,
            None => store,
        };
        let origins = UsedOrigins::new(
            settings.origins.clone(),
            Arc::clone(&runtime),
            settings.request_timeout,
        );
        Context {
            origins,
            gate,
            guard,
            clock,
            counters: Counters::default(),
            recent: Recent::default(),
            earlier: Earlier::default(),
            health,
            watched,
            instance: Mutex::new(node.unwrap_or_else(|| fresh_token(&*runtime))),
            journal,
            started: runtime.boottime(),
            sequences: AtomicU64::new(0),
            refused: Mutex::default(),
            dropped: AtomicU64::new(0),
            cluster: Cluster::default(),
            closing: AtomicBool::new(false),
            refusals: AtomicU64::new(0),
            refills: Semaphore::new(REFILLS_AT_ONCE),
            store,
            runtime,
            settings,
        }
    }

    /// The store, for what a process does that joins the others.
    pub(crate) fn joining(&self) -> &dyn Store {
        match &self.gate {
            Some(gate) => gate.behind(),
            None => &*self.store,
        }
    }

    /// Whether this process began without the store and has not joined the others yet.
    pub(crate) fn is_away(&self) -> bool {
        self.gate.as_ref().is_some_and(|gate| gate.is_closed())
    }

    /// Which recovery of the store its answers belong to; 0 where none ever happened.
    pub(crate) fn epoch(&self) -> u64 {
        self.guard.as_ref().map_or(0, |guard| guard.epoch())
    }

    /// Which names in use are refused for good, in words.
    pub(crate) fn refused_for_good(&self) -> Option<String> {
        let refused = self.refused.lock().expect("no panic while held");
        let first = refused.first()?;
        let others = match refused.len() {
            1 => String::new(),
            n => format!(" and {} more", n - 1),
        };
        Some(format!(
            "sequence {first}{others}: the stored record went back, and no number is given out until that is set right"
        ))
    }

    /// The record of a sequence is as it should be.
    pub(crate) fn is_served(&self, name: &Name) {
        let mut refused = self.refused.lock().expect("no panic while held");
        if !refused.is_empty() {
            refused.remove(name);
        }
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
