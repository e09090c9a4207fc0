//! A ledger's pools: loaded, made, dropped, listed.

use std::sync::Arc;

use super::Ledger;
use crate::cluster::Missed;
use crate::error::LedgerError;
use crate::kept::Tokens;
use crate::makeable::Makeable;
use crate::name::Name;
use crate::pool::{AvoidChange, Avoided, Pool, PoolInfo, PoolKind, PoolSpec, WorkerChoice};
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

    /// Loads a pool. The ones called `default` (layout `twitter`) and `uuid1` are made on first use (`auto_create`); once
    /// dropped, they too are made by [`Ledger::create_pool`] alone.
    ///
    /// # Errors
    /// [`LedgerError::NoPool`], [`LedgerError::NoAutoCreate`], or the store refuses.
    pub async fn pool_or_default(&self, name: &Name) -> Result<Arc<Pool>, LedgerError> {
        if let Some(pool) = self.pool(name.as_str()) {
            return Ok(pool);
        }
        match self.pool_record(name).await? {
            Some((_, spec, false)) => Ok(self.keep_pool(name, spec)),
            Some((_, _, true)) => Err(LedgerError::NoPool { name: name.clone() }),
            None if [DEFAULT_POOL, UUID1_POOL].contains(&name.as_str()) => {
                self.context.may_make_by_use(Makeable::Pool, name)?;
                self.make_pool(name, self.default_kind(name).into()).await
            }
            None => Err(LedgerError::NoPool { name: name.clone() }),
        }
    }

    /// What [`DEFAULT_POOL`] or [`UUID1_POOL`] is made like.
    fn default_kind(&self, name: &Name) -> PoolKind {
        if name.as_str() == UUID1_POOL {
            let mut random = [0; 8];
            self.context.runtime.fill_random(&mut random);
            return PoolKind::uuid1(random);
        }
        let preset = mintage::preset(DEFAULT_LAYOUT).expect("a row of PRESETS");
        PoolKind::Snowflake(Arc::new(preset.layout()))
    }

    /// Makes a pool because its first client asks for it: as [`Ledger::create_pool`] where first uses make names, else
    /// only one that is there will do, whatever its definition.
    ///
    /// # Errors
    /// [`LedgerError::NoAutoCreate`], and those of [`Ledger::create_pool`].
    pub async fn create_pool_by_use(&self, name: &Name, spec: PoolSpec) -> Result<Arc<Pool>, LedgerError> {
        match self.context.may_make_by_use(Makeable::Pool, name) {
            Ok(()) => self.create_pool(name, spec).await,
            Err(refused) => match self.existing_pool(name).await {
                Err(LedgerError::NoPool { .. }) => Err(refused),
                found => found,
            },
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
        let workers = spec.workers.check(name, spec.kind.workers())?;
        let spec = PoolSpec { workers, ..spec };
        let made = self.make_pool(name, spec.clone()).await?;
        match difference(&made, &spec) {
            None => Ok(made),
            Some(difference) => Err(LedgerError::PoolExists {
                name: name.clone(),
                difference,
            }),
        }
    }

    /// Changes which workers a pool avoids. The same change again changes nothing, and finishes what one began that was
    /// cut short.
    ///
    /// # Errors
    /// [`LedgerError::NoPool`]; [`LedgerError::Invalid`] for workers outside the layout, or where none would be left;
    /// [`LedgerError::WorkerInUse`] for the number of a machine that is to be avoided, or one that another system may
    /// still use and that is not to be avoided any more; the store refuses.
    pub async fn avoid_workers(&self, name: &Name, change: &AvoidChange) -> Result<Avoided, LedgerError> {
        let pool = self.existing_pool(name).await?;
        let Some((found, spec, false)) = self.pool_record(name).await? else {
            return Err(LedgerError::NoPool { name: name.clone() });
        };
        let workers = change.apply(name, spec.kind.workers(), &spec.workers, pool.judged_at())?;
        pool.check_no_machine(&change.add).await?;
        if workers != spec.workers {
            let changed = PoolSpec {
                workers: workers.clone(),
                ..spec
            };
            let value = changed.write(fresh_token(&*self.context.runtime));
            self.write_pool(name, &found, value).await?;
            pool.follow(workers);
        }
        let pending = self.context.seen_by_all(name).await;
        let held = pool.retire_all(&change.add).await?;
        pool.wake();
        Ok(Avoided {
            info: pool.info(),
            held,
            pending,
        })
    }

    /// Takes in which workers the pools may choose that others have changed; `false`: the store did not say.
    pub(crate) async fn look_at_pools(&self, missed: &Missed) -> bool {
        let pools = match missed {
            Missed::These(names) => names.iter().filter_map(|name| self.pool(name.as_str())).collect(),
            Missed::Many => self.loaded_pools(),
        };
        let mut all = true;
        for pool in pools {
            match self.context.store.get(&PoolSpec::key(pool.name())).await {
                Ok(Some(found)) => {
                    // A tombstone, or a record that cannot be understood, is told to whoever asks for a window.
                    if pool.follow_record(&found.value.body).is_ok() {
                        pool.wake();
                    }
                }
                Ok(None) => {}
                Err(_) => all = false,
            }
        }
        all
    }

    async fn make_pool(&self, name: &Name, spec: PoolSpec) -> Result<Arc<Pool>, LedgerError> {
        if let Err(error) = name.check_new() {
            let there = self.pool_record(name).await?;
            let Some((_, there, false)) = there else {
                return Err(error.into());
            };
            return Ok(self.keep_pool(name, there));
        }
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
        let workers = workers_again(name, &was.workers, asked.workers)?;
        let spec = PoolSpec {
            kind,
            workers,
            ..asked
        };
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
        let mut tokens = Tokens::new(value.token);
        let (key, expected) = (PoolSpec::key(name), Some(found.version));
        let register = self.context.attempts(&key);
        match register
            .write(expected, value, Marks::NeverLower, &mut tokens)
            .await?
        {
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
        let workers = spec.workers.clone();
        let made = || Arc::new(Pool::new(Arc::clone(&self.context), name.clone(), spec));
        let pool = Arc::clone(pools.entry(name.clone()).or_insert_with(made));
        pool.follow(workers);
        pool
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
                if let Some(known) = &known {
                    known.follow(spec.workers.clone());
                }
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

/// How a pool differs from what was asked for, in words.
fn difference(made: &Pool, asked: &PoolSpec) -> Option<String> {
    if !are_alike(&asked.kind, made.kind()) {
        return Some(format!(
            "its layout is {}, asked for was {}",
            made.kind().layout_words(),
            asked.kind.layout_words()
        ));
    }
    if asked
        .window
        .is_some_and(|window| Some(window) != made.asked_window())
    {
        return Some("another window".to_string());
    }
    let policy = asked.clock_policy.filter(|policy| *policy != made.clock_policy());
    match policy {
        Some(policy) => Some(format!(
            "its clock policy is {}, asked for was {policy}",
            made.clock_policy()
        )),
        None => made.choice().difference(&asked.workers),
    }
}

/// Which workers a pool may choose that is made again: what it avoided has not become anybody's because it was dropped.
fn workers_again(name: &Name, was: &WorkerChoice, asked: WorkerChoice) -> Result<WorkerChoice, LedgerError> {
    if asked.avoid.is_empty() {
        return Ok(WorkerChoice {
            within: asked.within.or_else(|| was.within.clone()),
            ..was.clone()
        });
    }
    let missing = was.avoid.without(&asked.avoid);
    match missing.is_empty() {
        true => Ok(asked),
        false => Err(LedgerError::Invalid(format!(
            "pool {name} avoided workers {missing}, too, when it was dropped: avoid them as well, and remove them afterwards"
        ))),
    }
}
