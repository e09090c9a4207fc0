//! A ledger's pools: loaded, made, dropped, listed.

use std::sync::Arc;

use super::Ledger;
use crate::error::LedgerError;
use crate::name::Name;
use crate::pool::{Pool, PoolInfo, PoolKind, PoolSpec};
use crate::runtime::fresh_token;
use crate::store::{Cas, Marks, SCAN_LIMIT_MAX, Value, Versioned};

/// The pool that a fresh ledger has.
pub const DEFAULT_POOL: &str = "default";
/// The pool of UUIDs of version 1 that a fresh ledger has.
pub const UUID1_POOL: &str = "uuid1";
/// The layout of [`DEFAULT_POOL`].
const DEFAULT_LAYOUT: &str = "twitter";

impl Ledger {
    /// In the order of their names.
    pub(crate) fn loaded_pools(&self) -> Vec<Arc<Pool>> {
        let pools = self.pools.read().expect("no panic while held");
        let mut loaded: Vec<_> = pools.values().cloned().collect();
        drop(pools);
        loaded.sort_by(|a, b| a.name().cmp(b.name()));
        loaded
    }

    /// A pool this process has loaded already and does not know to be dropped; no I/O.
    pub fn pool(&self, name: &str) -> Option<Arc<Pool>> {
        let known = self.pools.read().expect("no panic while held").get(name).cloned();
        known.filter(|pool| !pool.is_dropped())
    }

    /// A pool's record: what it is, or was before it was dropped.
    async fn pool_record(&self, name: &Name) -> Result<Option<(Versioned, PoolSpec, bool)>, LedgerError> {
        let found = self.context.store.get(&PoolSpec::key(name)).await;
        let Some(found) = found? else {
            return Ok(None);
        };
        let (spec, dropped) = PoolSpec::read_record(name, &found.value.body)?;
        Ok(Some((found, spec, dropped)))
    }

    /// A pool that exists as of now, whatever this process has loaded; `default` and `uuid1` are made.
    ///
    /// # Errors
    /// As [`Ledger::pool_or_default`].
    pub async fn existing_pool(&self, name: &Name) -> Result<Arc<Pool>, LedgerError> {
        let pool = self.pool_or_default(name).await?;
        pool.check_not_dropped().await?;
        Ok(pool)
    }

    /// Loads a pool. The ones called `default` (layout `twitter`) and `uuid1` are made on first use; once dropped,
    /// they too are made by [`Ledger::create_pool`] alone.
    ///
    /// # Errors
    /// [`LedgerError::NoPool`], or the store refuses.
    pub async fn pool_or_default(&self, name: &Name) -> Result<Arc<Pool>, LedgerError> {
        if let Some(pool) = self.pool(name.as_str()) {
            return Ok(pool);
        }
        match self.pool_record(name).await? {
            Some((_, spec, false)) => Ok(self.keep_pool(name, spec)),
            Some((_, _, true)) => Err(LedgerError::NoPool { name: name.clone() }),
            None if name.as_str() == DEFAULT_POOL => {
                let layout = mintage::preset(DEFAULT_LAYOUT)
                    .expect("a row of PRESETS")
                    .layout();
                self.make_pool(name, PoolKind::Snowflake(Arc::new(layout)).into())
                    .await
            }
            None if name.as_str() == UUID1_POOL => {
                let mut random = [0; 8];
                self.context.runtime.fill_random(&mut random);
                self.make_pool(name, PoolKind::uuid1(random).into()).await
            }
            None => Err(LedgerError::NoPool { name: name.clone() }),
        }
    }

    /// Makes a pool. The same definition again is no error. One that was dropped goes on where it was, with the same
    /// layout alone: ids of another one could equal those it gave out.
    ///
    /// # Errors
    /// The name exists with another definition or had another layout, its layout takes more than 64 bits or cannot follow
    /// its clock policy, or the store refuses.
    pub async fn create_pool(&self, name: &Name, spec: PoolSpec) -> Result<Arc<Pool>, LedgerError> {
        if let PoolKind::Snowflake(layout) = &spec.kind {
            // What leases windows, answers and stores numbers of 64 bits. A wide layout has room for a worker that
            // nobody else has without asking: what a pool would be for.
            layout.check_narrow().map_err(|error| {
                LedgerError::Invalid(format!(
                    "{error}, or mint its ids without a pool, as mint snowflake --layout does"
                ))
            })?;
            let policy = spec
                .clock_policy
                .map_or(Ok(()), |policy| layout.check_policy(policy));
            policy
                .and_then(|()| {
                    mintage::Snowflake::check_layout(layout, mintage::Clock::now(&self.context.clock))
                })
                .map_err(|error| LedgerError::Invalid(error.to_string()))?;
        }
        let made = self.make_pool(name, spec.clone()).await?;
        if !are_alike(&spec.kind, made.kind())
            || spec
                .window
                .is_some_and(|window| Some(window) != made.asked_window())
            || spec
                .clock_policy
                .is_some_and(|policy| policy != made.clock_policy())
        {
            return Err(LedgerError::PoolExists { name: name.clone() });
        }
        Ok(made)
    }

    async fn make_pool(&self, name: &Name, spec: PoolSpec) -> Result<Arc<Pool>, LedgerError> {
        let value = spec.write(fresh_token(&*self.context.runtime));
        let key = PoolSpec::key(name);
        let store = &self.context.store;
        match store
            .compare_and_set(&key, None, value, Marks::NeverLower)
            .await?
        {
            Cas::Lost(Some(found)) => match PoolSpec::read_record(name, &found.value.body)? {
                (there, false) => Ok(self.keep_pool(name, there)),
                (was, true) => self.make_pool_again(name, &found, was, spec).await,
            },
            _ => Ok(self.keep_pool(name, spec)),
        }
    }

    /// Writes a pool over its tombstone. Every pool of UUIDs draws its own node: made again, it keeps the one it had.
    async fn make_pool_again(
        &self,
        name: &Name,
        found: &Versioned,
        was: PoolSpec,
        asked: PoolSpec,
    ) -> Result<Arc<Pool>, LedgerError> {
        if !are_alike(&was.kind, &asked.kind) {
            return Err(LedgerError::PoolDropped {
                name: name.clone(),
                layout: was.kind.layout_words(),
            });
        }
        let kind = match &asked.kind {
            PoolKind::Uuid1 { .. } => was.kind,
            PoolKind::Snowflake(_) => asked.kind,
        };
        let spec = PoolSpec { kind, ..asked };
        let value = spec.write(fresh_token(&*self.context.runtime));
        self.write_pool(name, found, value).await?;
        Ok(self.keep_pool(name, spec))
    }

    /// Drops a pool: nobody takes a window of it any more, and the same name made again goes on where it was.
    ///
    /// # Errors
    /// [`LedgerError::NoPool`]; [`LedgerError::PoolInUse`] while a window of it lasts; the store refuses.
    pub async fn drop_pool(&self, name: &Name) -> Result<(), LedgerError> {
        let Some((found, spec, false)) = self.pool_record(name).await? else {
            return Err(LedgerError::NoPool { name: name.clone() });
        };
        let pool = self.keep_pool(name, spec.clone());
        pool.check_unused().await?;
        pool.end_dropped().await;
        // Whatever comes of the write: this object has ended, and the next use loads another.
        self.pools.write().expect("no panic while held").remove(name);
        let tombstone = spec.write_tombstone(fresh_token(&*self.context.runtime));
        let written = self.write_pool(name, &found, tombstone).await;
        // Somebody may have loaded it meanwhile.
        let loaded = self.pools.write().expect("no panic while held").remove(name);
        if let Some(loaded) = loaded {
            loaded.end_dropped().await;
        }
        written
    }

    /// Writes a pool's record anew, unless somebody else was quicker.
    async fn write_pool(&self, name: &Name, found: &Versioned, value: Value) -> Result<(), LedgerError> {
        let (key, token) = (PoolSpec::key(name), value.token);
        let store = &self.context.store;
        let answer = store
            .compare_and_set(&key, Some(found.version), value, Marks::NeverLower)
            .await;
        match answer?.of_attempt(token) {
            Cas::Done(_) => Ok(()),
            Cas::Lost(_) => Err(LedgerError::unavailable(format!(
                "somebody else changed pool {name} at the same moment"
            ))),
        }
    }

    /// Counts the workers of every pool at the start: what a wrong clock parked is told before anybody asks for ids.
    pub(crate) async fn count_parked(&self) {
        let mut after = None;
        while let Ok(page) = self.pools(after.as_ref(), SCAN_LIMIT_MAX).await {
            for info in &page {
                // What cannot be counted now is counted once it is used.
                if let Ok(pool) = self.pool_or_default(&info.name).await {
                    let _ = pool.count_held().await;
                }
            }
            match page.last() {
                Some(last) if page.len() == usize::from(SCAN_LIMIT_MAX) => after = Some(last.name.clone()),
                _ => return,
            }
        }
    }

    fn keep_pool(&self, name: &Name, spec: PoolSpec) -> Arc<Pool> {
        let mut pools = self.pools.write().expect("no panic while held");
        if pools.get(name).is_some_and(|known| known.is_dropped()) {
            pools.remove(name);
        }
        let made = || Arc::new(Pool::new(Arc::clone(&self.context), name.clone(), spec));
        Arc::clone(pools.entry(name.clone()).or_insert_with(made))
    }

    /// The pools after `after` in the order of their names, at most `limit`.
    ///
    /// # Errors
    /// The store refuses.
    pub async fn pools(&self, after: Option<&Name>, limit: u16) -> Result<Vec<PoolInfo>, LedgerError> {
        self.pools_of(None, after, limit).await
    }

    /// The same, of those whose names begin with `prefix`.
    ///
    /// # Errors
    /// The store refuses.
    pub async fn pools_of(
        &self,
        prefix: Option<&Name>,
        after: Option<&Name>,
        limit: u16,
    ) -> Result<Vec<PoolInfo>, LedgerError> {
        let mut infos = Vec::new();
        let take = |name: Name, found: Versioned| {
            if let (spec, false) = PoolSpec::read_record(&name, &found.value.body)? {
                let known = self.pool(name.as_str());
                let shown = || Arc::new(Pool::new(Arc::clone(&self.context), name.clone(), spec));
                infos.push(known.unwrap_or_else(shown).info());
            }
            Ok(infos.len() < usize::from(limit))
        };
        self.walk("pool/", PoolSpec::key, (prefix, after), limit, take)
            .await?;
        Ok(infos)
    }

    /// What this process holds of the pools it uses; no I/O.
    pub fn pools_held(&self) -> Vec<PoolInfo> {
        self.loaded_pools().iter().map(|pool| pool.info()).collect()
    }
}

/// Whether pools make the same ids. Every pool of UUIDs draws its own node.
fn are_alike(one: &PoolKind, other: &PoolKind) -> bool {
    match (one, other) {
        (PoolKind::Uuid1 { .. }, PoolKind::Uuid1 { .. }) => true,
        _ => one.fingerprint() == other.fingerprint(),
    }
}
