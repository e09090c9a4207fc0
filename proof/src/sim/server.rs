//! The one shared store of a simulation: the real registers and rules of `memory:`, behind a network.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use mintage::Timestamp;
use mintage_ledger::{
    Cas, Key, Marks, MemoryStore, Runtime, Store, StoreError, Value, Versioned, delegate_store, tools,
};

use super::wire::{Ask, Told};

/// A register that a request changed.
pub(crate) struct Change {
    pub key: Key,
    pub before: Option<Versioned>,
    pub after: Option<Versioned>,
}

pub(crate) struct Server {
    store: Arc<MemoryStore>,
}

impl Server {
    pub(crate) fn new(cluster_id: u128) -> Server {
        Server {
            store: MemoryStore::with_cluster_id(cluster_id),
        }
    }

    /// Does what is asked, at once and whole.
    pub(crate) fn serve(&self, ask: &Ask, wall: Timestamp) -> (Told, Option<Change>) {
        let store = &*self.store;
        let key = match ask {
            Ask::Get(key) => return (told(now(store.get(key)), Told::Read), None),
            Ask::Scan { prefix, after, limit } => {
                return (
                    told(now(store.scan(prefix, after.as_ref(), *limit)), Told::Page),
                    None,
                );
            }
            Ask::Wall => return (Told::Wall(Some(wall)), None),
            Ask::Set { key, .. } | Ask::Remove { key, .. } => key,
            Ask::Claim(claim) => &claim.key,
        };
        let before = self.register(key);
        let answer = match ask {
            Ask::Set {
                key,
                expected,
                value,
                marks,
            } => now(store.compare_and_set(key, *expected, value.clone(), *marks)),
            Ask::Remove { key, expected } => now(store.remove(key, *expected)),
            Ask::Claim(claim) => now(store.claim(claim)),
            Ask::Get(_) | Ask::Scan { .. } | Ask::Wall => unreachable!("answered above"),
        };
        let after = self.register(key);
        let change = (before != after).then(|| Change {
            key: key.clone(),
            before,
            after,
        });
        (told(answer, Told::Wrote), change)
    }

    /// Writes a register that was not there.
    pub(crate) fn put(&self, key: &str, body: String) {
        let key = Key::new(key).expect("within the grammar");
        let value = Value {
            mark: 0,
            token: 1,
            body,
        };
        let written = now(self.store.compare_and_set(&key, None, value, Marks::NeverLower));
        assert!(matches!(written, Ok(Cas::Done(_))), "{written:?}");
    }

    fn register(&self, key: &Key) -> Option<Versioned> {
        now(self.store.get(key)).expect("memory answers")
    }

    /// How often the journal of this node was copied, as its register says.
    pub(crate) fn copies_of(&self, node: &str) -> Option<u64> {
        let found = self.register(&Key::new(format!("instance/{node}")).ok()?)?;
        let body: serde_json::Value = serde_json::from_str(&found.value.body).ok()?;
        body["journal"].as_u64()
    }

    /// Everything it holds.
    pub(crate) fn dump(&self) -> Vec<(Key, Versioned)> {
        self.store.dump()
    }

    /// The store as the tools of operators see it: `exclusive`, or shared with whoever else uses it.
    pub(crate) fn tended(&self, exclusive: bool) -> Tended {
        Tended {
            store: Arc::clone(&self.store),
            exclusive,
        }
    }

    pub(crate) fn cluster_id(&self) -> u128 {
        self.store.cluster_id()
    }

    /// Another store answers from now on.
    pub(crate) fn replace(&mut self, store: Arc<MemoryStore>) {
        self.store = store;
    }

    /// Holds this from now on.
    pub(crate) fn load(&mut self, registers: Vec<(Key, Versioned)>) {
        self.store = MemoryStore::with_registers(self.cluster_id(), registers);
    }
}

/// Registers in memory, as shared as the store of the run.
#[derive(Debug)]
pub(crate) struct Tended {
    pub(crate) store: Arc<MemoryStore>,
    pub(crate) exclusive: bool,
}

impl Store for Tended {
    delegate_store!(store, but exclusive claim);

    fn exclusive(&self) -> bool {
        self.exclusive
    }
}

/// Makes a set of stores that hold nothing.
pub(crate) fn make_set(servers: &[Server], runtime: &dyn Runtime) {
    let stores: Vec<&dyn Store> = servers
        .iter()
        .map(|server| &*server.store as &dyn Store)
        .collect();
    now(tools::make_set(&stores, runtime)).expect("fresh stores of clusters of their own");
}

fn told<T>(answer: Result<T, StoreError>, as_told: fn(T) -> Told) -> Told {
    answer.map_or_else(Told::Failed, as_told)
}

/// The answer of a store that never waits.
pub(crate) fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer,
        Poll::Pending => unreachable!("memory never waits"),
    }
}
