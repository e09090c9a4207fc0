//! A ledger's sequences: loaded, made, changed, listed.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use mintage::Base;

use super::Ledger;
use crate::cluster::Missed;
use crate::error::LedgerError;
use crate::kept::Tokens;
use crate::makeable::Makeable;
use crate::name::Name;
use crate::sequence::{
    Change, ChangeOfAll, Sequence, SequenceInfo, SequencePatch, SequenceSpec, SetOutcome, State,
};
use crate::store::{Cas, Key, Version, Versioned};
use crate::striped::{AsStriped, Placed};

/// How many names are loaded at the same time at most.
pub(super) const LOADS_AT_ONCE: usize = 256;

/// What a changed sequence is now, and who does not follow yet.
#[derive(Clone, PartialEq, Debug)]
pub struct Changed {
    /// What the sequence is now.
    pub info: SequenceInfo,
    /// Other processes on a shared store that live and had not seen the change in time: they may still give out
    /// numbers of the old definition (protocol S5).
    pub pending: Vec<String>,
}

pub(super) fn sequence_key(name: &Name) -> Key {
    Key::new(format!("seq/{}", name.to_key())).expect("names are within the key grammar")
}

impl Ledger {
    /// In the order of their names, so that a simulated run repeats.
    pub(super) fn loaded(&self) -> Vec<Arc<Sequence>> {
        let sequences = self.sequences.read().expect("no panic while held");
        let mut loaded: Vec<_> = sequences.values().cloned().collect();
        drop(sequences);
        loaded.sort_by(|a, b| a.name().cmp(b.name()));
        loaded
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
        if let Err(error) = name.check_new() {
            return match self.existing(name).await {
                Err(LedgerError::NotFound { .. }) => Err(error.into()),
                found => found,
            };
        }
        let sequence = self.load(name).await?;
        if !sequence.exists() {
            self.context.may_make_by_use(Makeable::Sequence, name)?;
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
    pub(super) async fn load(&self, name: &Name) -> Result<Arc<Sequence>, LedgerError> {
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
    pub(super) fn loads(&self, name: &Name) -> &tokio::sync::Mutex<()> {
        let bytes = name.as_str().bytes();
        let hash = bytes.fold(0_usize, |hash, byte| {
            hash.wrapping_mul(31).wrapping_add(usize::from(byte))
        });
        &self.loading[hash % LOADS_AT_ONCE]
    }

    /// A sequence's record and the token of the attempt that wrote it.
    pub(crate) async fn read(&self, name: &Name) -> Result<Option<(State, u128)>, LedgerError> {
        if let Some(error) = self.stopped() {
            return Err(LedgerError::Stopped(error));
        }
        if self.context.is_away()
            && let Some(journal) = &self.context.journal
            && let Some(state) = journal.definition(name).await
        {
            return Ok(Some((state, 0)));
        }
        let found = self.context.store.get(&sequence_key(name)).await?;
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
            for found in records? {
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
    async fn keep(&self, name: &Name, mut state: State, token: u128) -> Arc<Sequence> {
        let (mut entry, owned) = match &self.context.journal {
            Some(journal) => journal.read(name).await,
            None => Default::default(),
        };
        let of_now = owned.filter(|owned| owned.generation == state.generation && !state.dropped);
        let owned = match of_now {
            Some(owned) => {
                let landed = match owned.is_pending(token) {
                    true => self.confirm(name, token).await,
                    false => None,
                };
                state.version = landed.or(state.version);
                owned.left(entry.mark(), landed.map(|_| token))
            }
            None => Vec::new(),
        };
        // A set's record that is not there has no version either; a set has no journal.
        let unread = state.version.is_some_and(|version| !version.is_written());
        let is_of_journal = unread && self.context.journal.is_some();
        if let Some(journal) = self.context.journal.as_ref().filter(|_| !is_of_journal) {
            journal.vouch(name, &mut entry, &state, owned.clone()).await;
        }
        let owned = owned
            .into_iter()
            .filter_map(|(from, until)| state.range(from, until))
            .collect();
        let sequence = {
            let mut sequences = self.sequences.write().expect("no panic while held");
            let made = || {
                let (context, in_use) = (Arc::clone(&self.context), Arc::clone(&self.in_use));
                Sequence::new(
                    context,
                    in_use,
                    name.clone(),
                    sequence_key(name),
                    state,
                    entry,
                    owned,
                )
            };
            Arc::clone(sequences.entry(name.clone()).or_insert_with(made))
        };
        if is_of_journal {
            sequence.mistrust_record();
        }
        self.make_room().await;
        sequence
    }

    /// A claim that the journal knows as sent and the record shows is kept once it was written again (protocol R6): the
    /// record's version then. `None`: it is a gap.
    async fn confirm(&self, name: &Name, token: u128) -> Option<Version> {
        let key = sequence_key(name);
        let found = self.context.store.get(&key).await.ok().flatten();
        let found = found.filter(|found| found.value.token == token)?;
        let attempts = self.context.attempts(&key);
        match attempts.confirm(found, &mut Tokens::new(token)).await {
            Ok(Cas::Done(version)) => Some(version),
            Ok(Cas::Lost(_)) | Err(_) => None,
        }
    }

    /// Makes a sequence. The same definition again is no error.
    ///
    /// # Errors
    /// The definition makes no sense, the name exists with another one, or there are too many.
    pub async fn create(&self, name: &Name, spec: &SequenceSpec) -> Result<SequenceInfo, LedgerError> {
        self.change(name, Change::Create(*spec)).await
    }

    /// Makes a sequence because a client of another system asks for its number: as [`Ledger::create`] where first uses
    /// make names, else only one that is there will do, whatever its definition.
    ///
    /// # Errors
    /// [`LedgerError::NoAutoCreate`], and those of [`Ledger::create`].
    pub async fn create_by_use(&self, name: &Name, spec: &SequenceSpec) -> Result<SequenceInfo, LedgerError> {
        match self.context.may_make_by_use(Makeable::Sequence, name) {
            Ok(()) => self.create(name, spec).await,
            Err(refused) => match self.show(name).await {
                Err(LedgerError::NotFound { .. }) => Err(refused),
                found => found,
            },
        }
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
    /// [`LedgerError::OnlyForward`], [`LedgerError::NoAutoCreate`], out of bounds, or there are too many.
    pub async fn set(&self, name: &Name, to: Base) -> Result<SetOutcome, LedgerError> {
        let sequence = self.load(name).await?;
        self.change_of(&sequence, Change::Set(to)).await
    }

    /// Makes a change, in every store of a set.
    pub(super) async fn change_of(
        &self,
        sequence: &Arc<Sequence>,
        change: Change,
    ) -> Result<SetOutcome, LedgerError> {
        let context = &self.context;
        let Some(striped) = context.store.striped() else {
            let changed = sequence.change(change).await?;
            if let Some(journal) = &context.journal {
                // One that cannot is broken, and what is told by the changes' register waits for that (protocol S11).
                let _ = self.forget_definition(sequence.name(), journal).await;
            }
            return Ok(changed);
        };
        // Its stores are asked one by one.
        context.health.admit_rehearsed()?;
        let name = sequence.name();
        let existed = sequence.exists();
        let outcome = SetOutcome {
            previous: sequence.last_issued(),
            created: !existed,
        };
        if matches!(change, Change::Set(_)) && !existed {
            context.may_make_by_use(Makeable::Sequence, name)?;
        }
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

    /// What a sequence is and its last number.
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
                let stored = state.info(&name, state.ordinal);
                // What others have reserved since this process did, the store knows alone.
                infos.push(match live {
                    Some(live) => SequenceInfo {
                        unreserved: stored.unreserved,
                        ..live
                    },
                    None => stored,
                });
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
}
