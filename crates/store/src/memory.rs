//! The store `memory:`: registers of this process, gone with it.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::rules::{Current, Verdict, check_limit, judge_claim, judge_remove, judge_set};
use super::{Cas, Claim, Class, Key, Marks, Store, StoreError, StoreResult, Value, Version, Versioned};
use crate::runtime::{Runtime, fresh_token};

/// Registers in memory: for tests and for throw-away runs. Thread-safe; nothing survives the process, so
/// two runs may issue the same numbers.
///
/// Nobody else can write to it, so it answers [`Store::exclusive`] with true; [`MemoryStore::shared`] makes one that
/// several ledgers of one process share, as they would a database.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// use mintage_store::{Key, MemoryStore, Store};
/// let store = MemoryStore::with_cluster_id(1);
/// assert_eq!(store.get(&Key::new("seq/orders")?).await?, None);
/// # Ok::<(), mintage_store::StoreError>(()) }).unwrap();
/// ```
pub struct MemoryStore {
    registers: Mutex<BTreeMap<Key, Versioned>>,
    cluster_id: u128,
    shared: bool,
    incarnation: Mutex<Option<String>>,
}

impl MemoryStore {
    /// A store for several ledgers of one process, which then treat it as any shared one; for tests.
    pub fn shared(cluster_id: u128) -> Arc<Self> {
        MemoryStore::made(cluster_id, true, BTreeMap::new())
    }

    /// An empty store with a fresh cluster id.
    pub fn new(runtime: &dyn Runtime) -> Arc<Self> {
        MemoryStore::with_cluster_id(fresh_token(runtime))
    }

    /// An empty store with a given cluster id; for tests.
    pub fn with_cluster_id(cluster_id: u128) -> Arc<Self> {
        MemoryStore::made(cluster_id, false, BTreeMap::new())
    }

    fn made(cluster_id: u128, shared: bool, registers: BTreeMap<Key, Versioned>) -> Arc<Self> {
        Arc::new(MemoryStore {
            registers: Mutex::new(registers),
            cluster_id,
            shared,
            incarnation: Mutex::default(),
        })
    }

    /// A store that holds these registers, as read from another by [`MemoryStore::dump`]; for tests.
    #[cfg(any(test, feature = "testing"))]
    pub fn with_registers(
        cluster_id: u128,
        registers: impl IntoIterator<Item = (Key, Versioned)>,
    ) -> Arc<Self> {
        MemoryStore::made(cluster_id, false, registers.into_iter().collect())
    }

    /// Forgets what was written since these registers were read by [`MemoryStore::dump`], as a server that
    /// loses acknowledged writes, and calls itself `incarnation` from now on; for tests.
    #[cfg(any(test, feature = "testing"))]
    pub fn fall_back_to(&self, registers: impl IntoIterator<Item = (Key, Versioned)>, incarnation: &str) {
        let mut held = self.registers();
        *held = registers.into_iter().collect();
        *self.incarnation.lock().unwrap_or_else(PoisonError::into_inner) = Some(incarnation.to_string());
    }

    /// Every register, in key order; for tests.
    #[cfg(any(test, feature = "testing"))]
    pub fn dump(&self) -> Vec<(Key, Versioned)> {
        let registers = self.registers();
        registers
            .iter()
            .map(|(key, found)| (key.clone(), found.clone()))
            .collect()
    }

    fn registers(&self) -> MutexGuard<'_, BTreeMap<Key, Versioned>> {
        // No code between lock and unlock panics half-way through a change.
        self.registers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, key: &Key, expected: Option<Version>, new: Value, marks: Marks) -> Result<Cas, StoreError> {
        let mut registers = self.registers();
        let found = registers.get(key);
        match judge_set(key, found.map(Current::of), expected, &new, marks)? {
            Verdict::Lost => Ok(Cas::Lost(found.cloned())),
            Verdict::Go(version) => {
                registers.insert(key.clone(), Versioned { value: new, version });
                Ok(Cas::Done(version))
            }
        }
    }

    fn add(&self, claim: &Claim) -> Result<Cas, StoreError> {
        let mut registers = self.registers();
        let Some(found) = registers.get_mut(&claim.key) else {
            judge_claim(claim, None)?;
            return Ok(Cas::Lost(None));
        };
        match judge_claim(claim, Some(Current::of(found)))? {
            None => Ok(Cas::Lost(Some(found.clone()))),
            Some((version, mark)) => {
                found.version = version;
                found.value.mark = mark;
                found.value.token = claim.token;
                Ok(Cas::Done(version))
            }
        }
    }

    fn take_away(&self, key: &Key, expected: Version) -> Result<Cas, StoreError> {
        let mut registers = self.registers();
        let found = registers.get(key);
        match judge_remove(key, found.map(Current::of), expected)? {
            Verdict::Lost => Ok(Cas::Lost(found.cloned())),
            Verdict::Go(version) => {
                registers.remove(key);
                Ok(Cas::Done(version))
            }
        }
    }

    fn page(
        &self,
        prefix: &Key,
        after: Option<&Key>,
        limit: u16,
    ) -> Result<Vec<(Key, Versioned)>, StoreError> {
        let limit = check_limit(limit)?;
        let from = match after {
            Some(after) if after >= prefix => Bound::Excluded(after),
            _ => Bound::Included(prefix),
        };
        let registers = self.registers();
        let range = registers.range::<Key, _>((from, Bound::Unbounded));
        let page = range
            .take_while(|(key, _)| key.as_str().starts_with(prefix.as_str()))
            .take(limit);
        Ok(page.map(|(key, found)| (key.clone(), found.clone())).collect())
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MemoryStore({} registers)", self.registers().len())
    }
}

impl Store for MemoryStore {
    fn scheme(&self) -> &'static str {
        "memory"
    }

    fn class(&self) -> Class {
        Class::Lossy
    }

    fn incarnation(&self) -> Option<String> {
        self.incarnation
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn cluster_id(&self) -> u128 {
        self.cluster_id
    }

    fn get<'a>(&'a self, key: &'a Key) -> StoreResult<'a, Option<Versioned>> {
        Box::pin(async move { Ok(self.registers().get(key).cloned()) })
    }

    fn compare_and_set<'a>(
        &'a self,
        key: &'a Key,
        expected: Option<Version>,
        new: Value,
        marks: Marks,
    ) -> StoreResult<'a, Cas> {
        Box::pin(async move { self.set(key, expected, new, marks) })
    }

    fn scan<'a>(
        &'a self,
        prefix: &'a Key,
        after: Option<&'a Key>,
        limit: u16,
    ) -> StoreResult<'a, Vec<(Key, Versioned)>> {
        Box::pin(async move { self.page(prefix, after, limit) })
    }

    fn remove<'a>(&'a self, key: &'a Key, expected: Version) -> StoreResult<'a, Cas> {
        Box::pin(async move { self.take_away(key, expected) })
    }

    fn claim<'a>(&'a self, claim: &'a Claim) -> StoreResult<'a, Cas> {
        Box::pin(async move { self.add(claim) })
    }

    fn exclusive(&self) -> bool {
        !self.shared
    }
}
