//! The ledger: everything that is reserved from one store by one process.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, RwLock};

use mintage::Base;

use crate::clock::{AnchoredClock, LOOK_EVERY};
use crate::cluster::Missed;
use crate::context::Context;
use crate::counters::Counters;
use crate::error::LedgerError;
use crate::health::{Health, Watched};
use crate::journal::Journal;
use crate::loaded;
use crate::name::Name;
use crate::notes;
use crate::outage;
use crate::pool::{Pool, PoolInfo, PoolKind, PoolSpec};
use crate::runtime::{Runtime, fresh_token};
use crate::sequence::{
    Change, ChangeOfAll, Sequence, SequenceInfo, SequencePatch, SequenceSpec, SetOutcome, State,
};
use crate::settings::LedgerSettings;
use crate::store::{Cas, Class, Durability, Key, Marks, SCAN_LIMIT_MAX, Store, StoreError, Value, Versioned};

/// How many names are loaded at the same time at most.
const LOADS_AT_ONCE: usize = 256;

/// The pool that a fresh ledger has.
pub const DEFAULT_POOL: &str = "default";
/// The pool of UUIDs of version 1 that a fresh ledger has.
pub const UUID1_POOL: &str = "uuid1";
/// The layout of [`DEFAULT_POOL`].
const DEFAULT_LAYOUT: &str = "twitter";

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
    pub(crate) sequences: RwLock<HashMap<Name, Arc<Sequence>>>,
    /// Held while names are let go.
    pub(crate) letting_go: tokio::sync::Mutex<()>,
    /// One is held while a name is loaded: see [`Ledger::load`].
    loading: [tokio::sync::Mutex<()>; LOADS_AT_ONCE],
    pools: RwLock<HashMap<Name, Arc<Pool>>>,
}

/// What a changed sequence is now, and who does not follow yet.
#[derive(Clone, PartialEq, Debug)]
pub struct Changed {
    /// What the sequence is now.
    pub info: SequenceInfo,
    /// Other processes on a shared store that live and had not seen the change in time: they may still give out
    /// numbers of the old definition (protocol S5).
    pub pending: Vec<String>,
}

fn sequence_key(name: &Name) -> Key {
    Key::new(format!("seq/{}", name.to_key())).expect("names are within the key grammar")
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
        let asked = Watched::new(Arc::clone(&store), health, settings.request_timeout);
        if let Some(why) = notes::sealed(&asked).await.map_err(LedgerError::from_store)? {
            return Err(LedgerError::Stopped(notes::refusal(&why)));
        }
        let restored = notes::restored(&asked).await.map_err(LedgerError::from_store)?;
        let journal = journal.map(|journal| journal.restored_at(restored.workers_from));
        let context = Arc::new(Context::new(store, settings, journal, restored, runtime));
        let ledger = Arc::new(Ledger {
            context: Arc::clone(&context),
            sequences: RwLock::default(),
            letting_go: tokio::sync::Mutex::default(),
            loading: std::array::from_fn(|_| tokio::sync::Mutex::default()),
            pools: RwLock::default(),
        });
        ledger.count_sequences().await?;
        let entered = match context.store.exclusive() {
            true => None,
            false => ledger.join_cluster().await?,
        };
        if context.clock.is_settled() {
            context.store.clock_confirmed();
        }
        let (ticking, woken) = (Arc::clone(&context), Arc::downgrade(&ledger));
        context.runtime.spawn(Box::pin(async move {
            while !ticking.closing.load(Ordering::Acquire) {
                if ticking.clock.look() {
                    ticking.store.clock_confirmed();
                    outage::look_again(&woken).await;
                }
                ticking.runtime.sleep(LOOK_EVERY).await;
            }
        }));
        let (tended, probing) = (Arc::clone(&context), Arc::clone(&context));
        context
            .runtime
            .spawn(Box::pin(async move { outage::tend(&tended).await }));
        context
            .runtime
            .spawn(Box::pin(async move { outage::probe(&probing).await }));
        let looking = Arc::downgrade(&ledger);
        context.runtime.spawn(Box::pin(outage::look_ahead(looking)));
        let idling = Arc::downgrade(&ledger);
        context.runtime.spawn(Box::pin(loaded::let_idle_go(idling)));
        if !context.store.exclusive() {
            context
                .runtime
                .spawn(Box::pin(Arc::clone(&ledger).keep_instance(entered)));
        }
        Ok(ledger)
    }

    /// Counts the sequences, and compares each with what this machine's journal owns of it.
    async fn count_sequences(&self) -> Result<(), LedgerError> {
        let context = &self.context;
        let mut owned_until = match &context.journal {
            Some(journal) => journal.owned_until().await,
            None => HashMap::new(),
        };
        let (mut count, mut dropped) = (0, 0);
        let mut after = None;
        loop {
            let page = self.page("seq/", after.as_ref(), SCAN_LIMIT_MAX).await?;
            for (key, found) in &page {
                let until = owned_until.remove(key).unwrap_or(0);
                self.check_journal(key, found.value.mark, until).await?;
            }
            let tombstones = page.iter().filter(|(_, found)| State::is_tombstone(found));
            let tombstones = tombstones.count();
            count += (page.len() - tombstones) as u64;
            dropped += tombstones as u64;
            match page.last() {
                Some((key, _)) if page.len() == usize::from(SCAN_LIMIT_MAX) => after = Some(key.clone()),
                _ => break,
            }
        }
        // A name that is not there begins above what a restore has skipped.
        let absent = context.guard.as_ref().map_or(0, |guard| guard.restored_above());
        for (key, until) in owned_until {
            self.check_journal(&key, absent, until).await?;
        }
        context.sequences.store(count, Ordering::Relaxed);
        context.dropped.store(dropped, Ordering::Relaxed);
        Ok(())
    }

    /// Ends all minting where the store says that fewer numbers were reserved than this machine's journal owns: it was
    /// set back (protocol E3, S7).
    async fn check_journal(&self, key: &Key, mark: u64, until: u64) -> Result<(), LedgerError> {
        match &self.context.guard {
            Some(guard) if until > mark && !guard.may_forget() => {
                let error = guard.behind_journal(key, mark, until).await;
                Err(LedgerError::Stopped(error))
            }
            _ => Ok(()),
        }
    }

    async fn page(
        &self,
        prefix: &str,
        after: Option<&Key>,
        limit: u16,
    ) -> Result<Vec<(Key, Versioned)>, LedgerError> {
        let prefix = Key::new(prefix).map_err(LedgerError::from_store)?;
        self.context
            .store
            .scan(&prefix, after, limit)
            .await
            .map_err(LedgerError::from_store)
    }

    /// Looks up sequences that others have changed; `false`: not all could be.
    pub(crate) async fn look_again(&self, missed: &Missed) -> bool {
        let sequences = match missed {
            Missed::These(names) => names
                .iter()
                .filter_map(|name| self.sequence(name.as_str()))
                .collect(),
            Missed::Many => self.loaded(),
        };
        // All are asked at once, then each is waited for.
        let looks: Vec<_> = sequences.iter().map(Sequence::ask_to_look).collect();
        let mut all = true;
        for look in looks {
            all &= look.await.unwrap_or(false);
        }
        all
    }

    pub(crate) fn drop_everything(&self) {
        for sequence in self.loaded() {
            sequence.drop_stock();
        }
        for pool in self.loaded_pools() {
            pool.drop_window();
        }
    }

    /// In the order of their names, so that a simulated run repeats.
    fn loaded(&self) -> Vec<Arc<Sequence>> {
        let sequences = self.sequences.read().expect("no panic while held");
        let mut loaded: Vec<_> = sequences.values().cloned().collect();
        drop(sequences);
        loaded.sort_by(|a, b| a.name().cmp(b.name()));
        loaded
    }

    /// In the order of their names.
    pub(crate) fn loaded_pools(&self) -> Vec<Arc<Pool>> {
        let pools = self.pools.read().expect("no panic while held");
        let mut loaded: Vec<_> = pools.values().cloned().collect();
        drop(pools);
        loaded.sort_by(|a, b| a.name().cmp(b.name()));
        loaded
    }

    // Sequences.

    /// A sequence this process has loaded already; no I/O. It may have been dropped since
    /// ([`Sequence::exists`]); taking from it makes it anew.
    pub fn sequence(&self, name: &str) -> Option<Arc<Sequence>> {
        self.sequences
            .read()
            .expect("no panic while held")
            .get(name)
            .cloned()
    }

    /// Loads a sequence. One that does not exist is made by its first take (`auto_create`).
    ///
    /// # Errors
    /// The store refuses, or the name is unknown and `auto_create` is off.
    pub async fn sequence_or_create(&self, name: &Name) -> Result<Arc<Sequence>, LedgerError> {
        let sequence = self.load(name).await?;
        if !sequence.exists() && !self.context.settings.auto_create {
            return Err(LedgerError::NoAutoCreate { name: name.clone() });
        }
        Ok(sequence)
    }

    /// A sequence that exists.
    ///
    /// # Errors
    /// [`LedgerError::NotFound`], or the store refuses.
    pub async fn existing(&self, name: &Name) -> Result<Arc<Sequence>, LedgerError> {
        match self.sequence(name.as_str()) {
            Some(sequence) if sequence.exists() => Ok(sequence),
            // Asking for names that do not exist must not fill the memory.
            _ => {
                let _alone = self.loads(name).lock().await;
                match self.read(name).await? {
                    Some((state, token)) if !state.dropped => Ok(self.keep(name, state, token).await),
                    _ => Err(LedgerError::NotFound { name: name.clone() }),
                }
            }
        }
    }

    /// A name's object, made from its record and from what the journal has of it. One at a time does that for a name:
    /// between the reading of a second and its end the first one's object could be used and let go again, and what was
    /// read would be handed out twice.
    async fn load(&self, name: &Name) -> Result<Arc<Sequence>, LedgerError> {
        if let Some(sequence) = self.sequence(name.as_str()) {
            return Ok(sequence);
        }
        let _alone = self.loads(name).lock().await;
        if let Some(sequence) = self.sequence(name.as_str()) {
            return Ok(sequence);
        }
        let (state, token) = match self.read(name).await? {
            Some(found) => found,
            None => (
                State::fresh(&SequenceSpec::default(), self.context.settings.max_gap)?,
                0,
            ),
        };
        Ok(self.keep(name, state, token).await)
    }

    /// What is held while a name is loaded; some names share one.
    fn loads(&self, name: &Name) -> &tokio::sync::Mutex<()> {
        let bytes = name.as_str().bytes();
        let hash = bytes.fold(0_usize, |hash, byte| {
            hash.wrapping_mul(31).wrapping_add(usize::from(byte))
        });
        &self.loading[hash % LOADS_AT_ONCE]
    }

    /// A sequence's record and the token of the attempt that wrote it.
    async fn read(&self, name: &Name) -> Result<Option<(State, u128)>, LedgerError> {
        if let Some(error) = self.stopped() {
            return Err(LedgerError::Stopped(error));
        }
        let found = self
            .context
            .store
            .get(&sequence_key(name))
            .await
            .map_err(LedgerError::from_store)?;
        let Some(found) = found else { return Ok(None) };
        let mut state = State::read(name, &found)?;
        if let Some(striped) = self.context.store.striped() {
            // Another store may know of a later change than the one that numbers are taken from.
            let key = sequence_key(name);
            let records = tokio::select! {
                // In a fixed order, so that a simulated run repeats.
                biased;
                records = striped.records(&key) => records,
                // As one that does not answer.
                () = self.context.runtime.sleep(self.context.settings.request_timeout) => Ok(Vec::new()),
            };
            let mut known = Vec::new();
            for found in records.map_err(LedgerError::from_store)? {
                known.push(State::read(name, &found)?);
            }
            match State::newest(&known).filter(|known| state.is_behind(known) && !state.frozen) {
                Some(known) => state = known.taught(&state),
                None if !found.version.is_written() => return Ok(None),
                None => {}
            }
        }
        Ok(Some((state, found.value.token)))
    }

    /// One object per name, whoever was first; with the large blocks that this node owns of it (protocol S7).
    async fn keep(&self, name: &Name, state: State, token: u128) -> Arc<Sequence> {
        let (entry, owned) = match &self.context.journal {
            Some(journal) => journal.read(name).await,
            None => Default::default(),
        };
        let of_now = owned.filter(|owned| owned.generation == state.generation && !state.dropped);
        let owned = of_now.map_or(Vec::new(), |owned| owned.left(entry.mark(), token));
        let owned = owned
            .into_iter()
            .filter_map(|(from, until)| state.range(from, until))
            .collect();
        let sequence = {
            let mut sequences = self.sequences.write().expect("no panic while held");
            let made = || {
                let context = Arc::clone(&self.context);
                Sequence::new(context, name.clone(), sequence_key(name), state, entry, owned)
            };
            Arc::clone(sequences.entry(name.clone()).or_insert_with(made))
        };
        self.make_room().await;
        sequence
    }

    /// Makes a sequence. The same definition again is no error.
    ///
    /// # Errors
    /// The definition makes no sense, the name exists with another one, or there are too many.
    pub async fn create(&self, name: &Name, spec: &SequenceSpec) -> Result<SequenceInfo, LedgerError> {
        self.change(name, Change::Create(*spec)).await
    }

    /// Changes a definition; the position stays.
    ///
    /// # Errors
    /// The new definition makes no sense, or numbers could repeat and `allow_repeat` is not set.
    pub async fn alter(&self, name: &Name, patch: &SequencePatch) -> Result<Changed, LedgerError> {
        self.existing(name).await?;
        self.change_for_all(name, Change::Alter(*patch)).await
    }

    /// Drops a sequence; a tombstone keeps its mark, and the same name made again continues above it. Answers who
    /// does not follow yet, as [`Changed::pending`].
    ///
    /// # Errors
    /// [`LedgerError::NotFound`], [`LedgerError::TooManyDropped`], or the store refuses.
    pub async fn drop_sequence(&self, name: &Name) -> Result<Vec<String>, LedgerError> {
        self.existing(name).await?;
        let max = self.context.settings.max_dropped;
        if self.context.dropped.load(Ordering::Relaxed) >= max {
            return Err(LedgerError::TooManyDropped {
                name: name.clone(),
                max,
            });
        }
        Ok(self.change_for_all(name, Change::Drop).await?.pending)
    }

    /// Moves a sequence: the next number is `to` (plus the increment if called).
    ///
    /// # Errors
    /// Out of bounds; or backwards without `allow_repeat`.
    pub async fn restart(&self, name: &Name, to: Base, allow_repeat: bool) -> Result<Changed, LedgerError> {
        self.existing(name).await?;
        self.change_for_all(name, Change::Restart { to, allow_repeat })
            .await
    }

    /// Makes a sequence or moves it, forward only. One that is made here has room for any value: below 1 its minimum is
    /// that value. Others on a shared store may not follow yet: see
    /// [`Ledger::followed_by_all`].
    ///
    /// # Errors
    /// [`LedgerError::OnlyForward`], out of bounds, or there are too many.
    pub async fn set(&self, name: &Name, to: Base) -> Result<SetOutcome, LedgerError> {
        let sequence = self.load(name).await?;
        self.change_of(&sequence, Change::Set(to)).await
    }

    /// Makes a change, in every store of a set.
    async fn change_of(&self, sequence: &Arc<Sequence>, change: Change) -> Result<SetOutcome, LedgerError> {
        let context = &self.context;
        let Some(striped) = context.store.striped() else {
            return sequence.change(change).await;
        };
        let name = sequence.name();
        let existed = sequence.exists();
        let outcome = SetOutcome {
            previous: sequence.last_issued(),
            created: !existed,
        };
        let makes = matches!(change, Change::Create(_) | Change::Set(_));
        if makes && !existed && self.sequence_count() >= context.settings.max_sequences {
            return Err(LedgerError::TooMany {
                name: name.clone(),
                max: context.settings.max_sequences,
            });
        }
        let change = ChangeOfAll {
            striped,
            key: &sequence_key(name),
            name,
            change: Some(&change),
            max_gap: context.settings.max_gap,
            runtime: &*context.runtime,
        };
        change.make().await?;
        // What this process holds of the old definition goes with a look at the new one.
        let _ = sequence.ask_to_look().await;
        Ok(outcome)
    }

    /// Tells the other processes on a shared store that a sequence was changed, and waits until each that lives
    /// follows: about a second at most. Answers the names of those that do not in time (protocol S5).
    pub async fn followed_by_all(&self, name: &Name) -> Vec<String> {
        self.context.seen_by_all(name).await
    }

    async fn change_for_all(&self, name: &Name, change: Change) -> Result<Changed, LedgerError> {
        let info = self.change(name, change).await?;
        let pending = self.followed_by_all(name).await;
        Ok(Changed { info, pending })
    }

    async fn change(&self, name: &Name, change: Change) -> Result<SequenceInfo, LedgerError> {
        let sequence = self.load(name).await?;
        self.change_of(&sequence, change).await?;
        Ok(sequence.info())
    }

    /// What a sequence is and where it stands.
    ///
    /// # Errors
    /// [`LedgerError::NotFound`], or the store refuses.
    pub async fn show(&self, name: &Name) -> Result<SequenceInfo, LedgerError> {
        Ok(self.existing(name).await?.info())
    }

    /// The sequences after `after` in the order of their names, at most `limit`.
    ///
    /// # Errors
    /// The store refuses.
    pub async fn list(&self, after: Option<&Name>, limit: u16) -> Result<Vec<SequenceInfo>, LedgerError> {
        self.list_of(None, after, limit).await
    }

    /// The same, of those whose names begin with `prefix`.
    ///
    /// # Errors
    /// The store refuses.
    pub async fn list_of(
        &self,
        prefix: Option<&Name>,
        after: Option<&Name>,
        limit: u16,
    ) -> Result<Vec<SequenceInfo>, LedgerError> {
        let mut infos = Vec::new();
        let take = |name: Name, found: Versioned| {
            let state = State::read(&name, &found)?;
            if !state.dropped {
                let live = self.sequence(name.as_str()).map(|sequence| sequence.info());
                infos.push(live.unwrap_or_else(|| state.info(&name, state.ordinal)));
            }
            Ok(infos.len() < usize::from(limit))
        };
        self.walk("seq/", sequence_key, (prefix, after), limit, take)
            .await?;
        Ok(infos)
    }

    /// How many sequences exist.
    pub fn sequence_count(&self) -> u64 {
        self.context.sequences.load(Ordering::Relaxed)
    }

    /// Takes note that another node has changed the definition of `name`, which is of this generation now: numbers of
    /// the older one are not given out from here on (protocol S5). No I/O.
    pub fn saw_generation(&self, name: &str, generation: u64) {
        if let Some(sequence) = self.sequence(name) {
            sequence.saw_generation(generation);
        }
    }

    // Pools.

    /// A pool this process has loaded already and does not know to be dropped; no I/O.
    pub fn pool(&self, name: &str) -> Option<Arc<Pool>> {
        let known = self.pools.read().expect("no panic while held").get(name).cloned();
        known.filter(|pool| !pool.is_dropped())
    }

    /// A pool's record: what it is, or was before it was dropped.
    async fn pool_record(&self, name: &Name) -> Result<Option<(Versioned, PoolSpec, bool)>, LedgerError> {
        let found = self.context.store.get(&PoolSpec::key(name)).await;
        let Some(found) = found.map_err(LedgerError::from_store)? else {
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
    /// The name exists with another definition or had another layout, its layout cannot follow its clock policy, or the
    /// store refuses.
    pub async fn create_pool(&self, name: &Name, spec: PoolSpec) -> Result<Arc<Pool>, LedgerError> {
        if let (Some(policy), PoolKind::Snowflake(layout)) = (spec.clock_policy, &spec.kind) {
            layout
                .check_policy(policy)
                .map_err(|error| LedgerError::Invalid(error.to_string()))?;
        }
        if let PoolKind::Snowflake(layout) = &spec.kind {
            let end = mintage::Snowflake::end_of(layout);
            if end < layout.end() && end <= mintage::Clock::now(&self.context.clock) {
                return Err(LedgerError::Invalid(format!(
                    "layout {} can be read only: its time and sequence take more than 62 bits, so that ids of it ended at {end:.0}; \
                     give a layout of your own fewer bits of sequence",
                    layout.name()
                )));
            }
        }
        let made = self.make_pool(name, spec.clone()).await?;
        // Every pool of UUIDs draws its own node.
        let same = match (&spec.kind, made.kind()) {
            (PoolKind::Uuid1 { .. }, PoolKind::Uuid1 { .. }) => true,
            (asked, is) => asked.fingerprint() == is.fingerprint(),
        };
        if !same
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
        match self
            .context
            .store
            .compare_and_set(&key, None, value, Marks::NeverLower)
            .await
        {
            Ok(Cas::Lost(Some(found))) => match PoolSpec::read_record(name, &found.value.body)? {
                (there, false) => Ok(self.keep_pool(name, there)),
                (was, true) => self.make_pool_again(name, &found, was, spec).await,
            },
            Ok(_) => Ok(self.keep_pool(name, spec)),
            Err(error) => Err(LedgerError::from_store(error)),
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
        let same = match (&was.kind, &asked.kind) {
            (PoolKind::Uuid1 { .. }, PoolKind::Uuid1 { .. }) => true,
            (was, asked) => was.fingerprint() == asked.fingerprint(),
        };
        if !same {
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
        let written = self.write_pool(name, found, value).await?;
        match written {
            true => Ok(self.keep_pool(name, spec)),
            false => Err(LedgerError::Unavailable {
                message: format!("somebody else changed pool {name} at the same moment"),
                retry_after_s: 1,
            }),
        }
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
        match written? {
            true => Ok(()),
            false => Err(LedgerError::Unavailable {
                message: format!("somebody else changed pool {name} at the same moment"),
                retry_after_s: 1,
            }),
        }
    }

    /// Writes a pool's record anew; `false`: somebody else was quicker.
    async fn write_pool(&self, name: &Name, found: &Versioned, value: Value) -> Result<bool, LedgerError> {
        let (key, token) = (PoolSpec::key(name), value.token);
        let store = &self.context.store;
        let answer = store
            .compare_and_set(&key, Some(found.version), value, Marks::NeverLower)
            .await;
        match answer.map(|cas| cas.of_attempt(token)) {
            Ok(Cas::Done(_)) => Ok(true),
            Ok(Cas::Lost(_)) => Ok(false),
            Err(error) => Err(LedgerError::from_store(error)),
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

    /// Goes over the records of names in their order, those after `after` and of `prefix`, until `take` has enough.
    async fn walk(
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

    /// What this process holds of the pools it uses; no I/O.
    pub fn pools_held(&self) -> Vec<PoolInfo> {
        self.loaded_pools().iter().map(|pool| pool.info()).collect()
    }

    // The whole.

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

    /// The store's scheme: `memory`, `file`, …
    pub fn store_scheme(&self) -> &'static str {
        self.context.store.scheme()
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
        self.leave_cluster().await;
        // All are asked at once, so that the store can group them; then each is waited for.
        let loaded = self.loaded();
        let waits: Vec<_> = loaded.iter().map(Sequence::ask_to_give_back).collect();
        for wait in waits {
            let _ = wait.await;
        }
        if let Some(journal) = &self.context.journal {
            journal.close().await;
        }
        self.context.store.close().await.map_err(LedgerError::from_store)
    }
}
