//! A store of class L that may have lost what it acknowledged (specification: reliability 4.6).
//!
//! One register, `cluster/incarnation`, says which copy of the store was last known to be whole, and when. Whoever
//! finds another copy answering, or a register below what it remembers, recovers before it does anything else:
//!
//! ```text
//!   numbers    mark += max_rate x 100 servers x (now - last known whole + 70 s)
//!   windows    mark  = now + the longest window + 21 s; none begins before that
//!   memory     what this process remembers to be higher or newer is written again
//! ```
//!
//! Servers that find it out at once all recover, and one of them is noted. What the others did meanwhile costs numbers,
//! and nobody a window: one that was raised already is left as it is.
//!
//! The bound on numbers is true since every server keeps to `max_rate`; the one on windows leans on the clocks
//! that were validated within 5 s (protocol W6). Nothing else here does. Every recovery raises the *epoch*, which
//! stands in the upper bits of versions, so that no write from before can pass for one from after.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use mintage::Timestamp;
use serde::{Deserialize, Serialize};

use super::Guard;
use super::memory::Met;
use crate::advance::{Raise, newest_wall, pools};
use crate::advice::Advice;
use crate::runtime::fresh_token;
use crate::store::{
    Cas, Key, Marks, Outcome, SCAN_LIMIT_MAX, StoreError, StoreErrorKind, Value, Version, Versioned,
};

/// The rules for a store of class L.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LossyRules {
    /// How many numbers of one name this process reserves per second at most; those of a minute at once.
    pub max_rate: u64,
    /// How far ahead a window reaches at most, for pools that do not say.
    pub window: Duration,
}

impl Default for LossyRules {
    fn default() -> Self {
        LossyRules {
            max_rate: 1_000_000,
            window: Duration::from_secs(30),
        }
    }
}

/// How many servers are assumed to reserve numbers of one name at their highest rate.
const SERVERS_MAX: u64 = 100;
/// How far apart two validated clocks may be (protocol W6), twice.
const SLACK: Duration = Duration::from_secs(10);
/// For how long a primary that was cut off takes writes on beside its promoted replica: the largest
/// `min-replicas-max-lag` that Redis may have, and the second in which it looks.
const OUTLIVES: Duration = Duration::from_secs(11);
/// How much of `max_rate` may be reserved at once: a large block for an outage.
const BURST: Duration = Duration::from_secs(60);
/// How often the store is noted to be whole.
const BEAT_EVERY: Duration = Duration::from_secs(5);
/// Where nothing says when the store was last whole.
const UNKNOWN_AGE: Duration = Duration::from_secs(24 * 3600);
/// How often a raised register is tried again after somebody else wrote it.
const RAISE_TRIES: usize = 64;
/// The bits of a version that count writes; those above are the epoch.
const VERSION_BITS: u32 = 40;

/// What a version says of recoveries.
pub(crate) trait Epoch {
    /// The recovery that the version belongs to; 0 where none ever happened.
    fn epoch(self) -> u64;

    /// The version as its store knows it.
    fn within_epoch(self) -> Version;

    /// The store's version, within this recovery.
    fn in_epoch(self, epoch: u64) -> Version;
}

impl Epoch for Version {
    fn epoch(self) -> u64 {
        self.number() >> VERSION_BITS
    }

    fn within_epoch(self) -> Version {
        Version::of(self.number() & ((1 << VERSION_BITS) - 1))
    }

    fn in_epoch(self, epoch: u64) -> Version {
        Version::of(self.number() | epoch << VERSION_BITS)
    }
}

/// What a token is mixed with in an epoch.
pub(super) fn mask(epoch: u64) -> u128 {
    // Odd multipliers: different for any two epochs, zero for the first.
    u128::from(epoch).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)
}

#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
struct Note {
    /// The copy that was whole.
    incarnation: String,
    /// When, in milliseconds since 1970.
    whole_ms: i64,
    /// No window begins before this, in milliseconds since 1970.
    floor_ms: i64,
    /// By how much numbers were raised by all recoveries together: a name that is not there may be one that was
    /// lost, and begins above.
    skipped: u64,
}

/// What this process knows of recoveries.
pub(super) struct Recovery {
    rules: LossyRules,
    /// The copy that was found whole; `None` before the first look.
    known: Mutex<Option<String>>,
    epoch: AtomicU64,
    floor_ms: AtomicI64,
    /// As in the note.
    skipped: AtomicU64,
    /// The store lost something although the same copy answers.
    forced: AtomicBool,
    /// Somebody else may have recovered.
    look: AtomicBool,
    /// What was met before somebody else's recovery and is to be compared with what they left.
    to_compare: Mutex<Vec<(Key, Met)>>,
    /// One at a time.
    busy: tokio::sync::Mutex<()>,
    /// When each name's reservations are paid for, in boot time: a minute's may lie ahead.
    paid: Mutex<HashMap<Key, Duration>>,
}

impl Recovery {
    pub(super) fn new(rules: LossyRules) -> Recovery {
        Recovery {
            rules,
            known: Mutex::default(),
            epoch: AtomicU64::new(0),
            floor_ms: AtomicI64::new(i64::MIN),
            skipped: AtomicU64::new(0),
            forced: AtomicBool::new(false),
            look: AtomicBool::new(false),
            to_compare: Mutex::default(),
            busy: tokio::sync::Mutex::default(),
            paid: Mutex::default(),
        }
    }

    pub(super) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    pub(super) fn floor(&self) -> Option<Timestamp> {
        match self.floor_ms.load(Ordering::Acquire) {
            i64::MIN => None,
            ms => Some(Timestamp::from_unix_millis(ms)),
        }
    }

    /// Above which number a name begins that is not there: it may be one that was lost.
    pub(super) fn skipped(&self) -> u64 {
        self.skipped.load(Ordering::Acquire)
    }

    /// The store forgot something: recover before anything else.
    pub(super) fn demand(&self) {
        self.forced.store(true, Ordering::Release);
    }

    /// Somebody else may have recovered: look before anything else.
    pub(super) fn look_again(&self) {
        self.look.store(true, Ordering::Release);
    }

    fn known(&self) -> Option<String> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn comparing(&self) -> std::sync::MutexGuard<'_, Vec<(Key, Met)>> {
        self.to_compare.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_settled(&self, guard: &Guard) -> bool {
        !self.forced.load(Ordering::Acquire)
            && !self.look.load(Ordering::Acquire)
            && self.comparing().is_empty()
            && self.known().is_some_and(|known| known == answering(guard))
    }

    /// Makes sure that the copy that answers is whole, recovering if it is not known to be.
    pub(super) async fn settle(&self, guard: &Guard) -> Result<(), StoreError> {
        if self.is_settled(guard) {
            return Ok(());
        }
        let _alone = self.busy.lock().await;
        if self.is_settled(guard) {
            return Ok(());
        }
        self.look.store(false, Ordering::Release);
        let noted = guard.judged(guard.inner.get(&note_key()).await)?;
        // Asked after the answer: this copy gave it, or a later one, which is then found out the same way.
        let answering = answering(guard);
        let forced = self.forced.load(Ordering::Acquire);
        let note = noted.as_ref().and_then(read_note);
        let sound = |note: &&Note| {
            let epoch = noted.as_ref().map_or(0, |noted| noted.value.mark);
            note.incarnation == answering && !forced && epoch >= self.epoch()
        };
        let result = match note.as_ref().filter(sound) {
            Some(note) => {
                self.follow(guard, note, noted.as_ref().map_or(0, |noted| noted.value.mark));
                self.compare(guard, note).await
            }
            None => {
                self.recover(guard, noted.as_ref(), note.as_ref(), &answering)
                    .await
            }
        };
        if result.is_err() && forced {
            self.demand();
        }
        result
    }

    /// Takes over what somebody else has noted.
    fn follow(&self, guard: &Guard, note: &Note, epoch: u64) {
        if self.epoch() != epoch {
            // What was met before the recovery has other versions; whoever recovered may not have known it.
            let met = guard.memory().drain();
            self.comparing().extend(met);
            self.epoch.store(epoch, Ordering::Release);
        }
        self.floor_ms.store(note.floor_ms, Ordering::Release);
        self.skipped.store(note.skipped, Ordering::Release);
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = Some(note.incarnation.clone());
    }

    /// After a call: whether the copy that was known to be whole gave the answer.
    pub(super) fn leave(&self, guard: &Guard, epoch: u64, outcome: Outcome) -> Result<(), StoreError> {
        if epoch == self.epoch() && self.known().is_some_and(|known| known == answering(guard)) {
            return Ok(());
        }
        Err(StoreError::new(
            StoreErrorKind::Unavailable,
            outcome,
            "another copy of the store answers, which may have lost what was acknowledged: recovering",
        ))
    }

    /// Keeps a name's reservations within `max_rate`.
    pub(super) fn pay(&self, guard: &Guard, key: &Key, from: u64, to: u64) -> Result<(), StoreError> {
        if !key.as_str().starts_with("seq/") {
            return Ok(());
        }
        let added = to.saturating_sub(from);
        let cost_ns = u128::from(added) * 1_000_000_000 / u128::from(self.rules.max_rate.max(1));
        let cost = Duration::from_nanos(u64::try_from(cost_ns).unwrap_or(u64::MAX));
        let now = guard.runtime.boottime();
        let mut paid = self.paid.lock().unwrap_or_else(PoisonError::into_inner);
        if paid.len() > PAID_MAX {
            paid.retain(|_, until| *until > now);
        }
        let until = paid.get(key).copied().unwrap_or(now).max(now) + cost;
        if until > now + BURST {
            return Err(StoreError::new(
                StoreErrorKind::Unavailable,
                Outcome::NotDone,
                format!(
                    "{added} numbers of {key} are more than the {} a second that a store of class L may give out",
                    self.rules.max_rate
                ),
            )
            .with_hint(Advice::RaiseMaxRate));
        }
        paid.insert(key.clone(), until);
        Ok(())
    }

    /// Notes every few seconds that the store is whole.
    pub(super) async fn beat(&self, guard: &Guard) -> Result<(), StoreError> {
        self.settle(guard).await?;
        let Some(noted) = guard.inner.get(&note_key()).await? else {
            self.look_again();
            return Ok(());
        };
        let Some(note) = read_note(&noted).filter(|note| {
            noted.value.mark == self.epoch() && Some(&note.incarnation) == self.known().as_ref()
        }) else {
            self.look_again();
            return Ok(());
        };
        let now_ms = guard.runtime.wall().unix_millis();
        let age_ms = now_ms.saturating_sub(note.whole_ms);
        if i128::from(age_ms) < BEAT_EVERY.as_millis() as i128 {
            return Ok(());
        }
        let note = Note {
            whole_ms: now_ms,
            ..note
        };
        let value = note_value(guard, &note, noted.value.mark);
        // Lost: another server was quicker.
        guard
            .inner
            .compare_and_set(&note_key(), Some(noted.version), value, Marks::NeverLower)
            .await?;
        Ok(())
    }

    /// Raises every mark above all that may have been lost, and notes the copy that answers as whole.
    async fn recover(
        &self,
        guard: &Guard,
        noted: Option<&Versioned>,
        note: Option<&Note>,
        answering: &str,
    ) -> Result<(), StoreError> {
        let first = noted.is_none() && self.known().is_none();
        let (raise, lost_for) = self.how_far(guard, note).await?;
        let raised = self.raise_all_or_remember(guard, &raise).await?;
        let (numbers, now) = (raise.numbers, guard.runtime.wall());
        // A store that was empty has lost nothing.
        let nothing_lost = first && raised == 0;
        let fresh = Note {
            incarnation: answering.to_string(),
            whole_ms: now.unix_millis(),
            floor_ms: match nothing_lost {
                true => i64::MIN,
                false => raise.floor.unix_millis(),
            },
            skipped: note
                .map_or(0, |note| note.skipped)
                .saturating_add(if nothing_lost { 0 } else { numbers }),
        };
        let epoch = self.epoch().max(noted.map_or(0, |noted| noted.value.mark)) + 1;
        self.note_recovered(guard, noted, &fresh, epoch).await?;
        tracing::warn!(
            store = guard.inner.scheme(),
            incarnation = answering,
            raised,
            skipped = numbers,
            lost_for_s = lost_for.as_secs(),
            "the store may have lost what it acknowledged: every mark was raised"
        );
        self.forced.store(false, Ordering::Release);
        self.epoch.store(epoch, Ordering::Release);
        self.floor_ms.store(fresh.floor_ms, Ordering::Release);
        self.skipped.store(fresh.skipped, Ordering::Release);
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = Some(fresh.incarnation);
        Ok(())
    }

    /// By how much marks are raised, and for how long the store may have lost what it acknowledged.
    async fn how_far(&self, guard: &Guard, note: Option<&Note>) -> Result<(Raise, Duration), StoreError> {
        let pools = pools(&*guard.inner).await?;
        let now = guard.runtime.wall();
        let unknown = || Timestamp::from_unix_nanos(now.unix_nanos() - UNKNOWN_AGE.as_nanos() as i128);
        let whole = match note {
            Some(note) => Timestamp::from_unix_millis(note.whole_ms),
            None => newest_wall(&*guard.inner).await?.unwrap_or_else(unknown),
        };
        let lost_for = now.since(whole) + SLACK + BURST;
        let a_second = self.rules.max_rate.saturating_mul(SERVERS_MAX);
        let raise = Raise {
            numbers: a_second.saturating_mul(lost_for.as_secs() + 1),
            floor: now.saturating_add(Raise::longest(&pools, self.rules.window) + SLACK + OUTLIVES),
            pools,
        };
        Ok((raise, lost_for))
    }

    /// Raises everything; what is remembered is not lost with an attempt that fails.
    async fn raise_all_or_remember(&self, guard: &Guard, raise: &Raise) -> Result<u64, StoreError> {
        let mut remembered: HashMap<Key, Met> = guard.memory().drain().into_iter().collect();
        let raised = self.raise_all(guard, raise, &mut remembered).await;
        if raised.is_err() {
            let mut memory = guard.memory();
            for (key, met) in remembered {
                if let Some(value) = met.value() {
                    let version = met.version;
                    memory.note(&key, &Versioned { value, version });
                }
            }
        }
        raised
    }

    /// Notes that every mark was raised, unless somebody else has recovered at the same time: theirs holds then, and
    /// ours has only raised more.
    async fn note_recovered(
        &self,
        guard: &Guard,
        noted: Option<&Versioned>,
        fresh: &Note,
        epoch: u64,
    ) -> Result<(), StoreError> {
        let value = note_value(guard, fresh, epoch);
        let expected = noted.map(|noted| noted.version);
        let answer = guard
            .inner
            .compare_and_set(&note_key(), expected, value, Marks::NeverLower)
            .await?;
        match answer {
            Cas::Done(_) => Ok(()),
            Cas::Lost(_) => Err(StoreError::new(
                StoreErrorKind::Unavailable,
                Outcome::NotDone,
                "another server recovers the store at this moment",
            )),
        }
    }

    /// Raises the registers that are there, and writes those again that only this process remembers.
    async fn raise_all(
        &self,
        guard: &Guard,
        raise: &Raise,
        remembered: &mut HashMap<Key, Met>,
    ) -> Result<u64, StoreError> {
        let mut raised = 0;
        for prefix in ["seq/", "window/"] {
            let prefix = Key::new(prefix).expect("a constant within the key grammar");
            let mut after: Option<Key> = None;
            loop {
                let page = guard.inner.scan(&prefix, after.as_ref(), SCAN_LIMIT_MAX).await?;
                after = page.last().map(|(key, _)| key.clone());
                let full = page.len() == usize::from(SCAN_LIMIT_MAX);
                for (key, found) in page {
                    let met = remembered.get(&key).cloned();
                    raise_one(guard, raise, &key, Some(found), met.as_ref()).await?;
                    remembered.remove(&key);
                    raised += 1;
                }
                if !full {
                    break;
                }
            }
        }
        let rest: Vec<(Key, Met)> = remembered.iter().map(|(k, m)| (k.clone(), m.clone())).collect();
        for (key, met) in rest {
            if !key.as_str().starts_with("cluster/") {
                raise_one(guard, raise, &key, None, Some(&met)).await?;
                raised += 1;
            }
            remembered.remove(&key);
        }
        Ok(raised)
    }

    /// Compares what this process met before somebody else's recovery with what they left: what is higher or
    /// newer here is written again.
    async fn compare(&self, guard: &Guard, note: &Note) -> Result<(), StoreError> {
        if self.comparing().is_empty() {
            return Ok(());
        }
        let raise = Raise {
            numbers: note.skipped,
            floor: Timestamp::from_unix_millis(note.floor_ms),
            pools: pools(&*guard.inner).await?,
        };
        while let Some((key, met)) = { self.comparing().last().cloned() } {
            let found = guard.inner.get(&key).await?;
            let lacks = found.as_ref().is_none_or(|found| {
                let ours = met.body.as_deref().map_or(0, generation);
                found.value.mark < met.mark || generation(&found.value.body) < ours
            });
            if lacks && !key.as_str().starts_with("cluster/") {
                raise_one(guard, &raise, &key, found, Some(&met)).await?;
            }
            self.comparing().pop();
        }
        Ok(())
    }
}

/// Writes one register anew, above what was lost: from what is found, or from what is remembered where that is
/// newer.
async fn raise_one(
    guard: &Guard,
    raise: &Raise,
    key: &Key,
    mut found: Option<Versioned>,
    met: Option<&Met>,
) -> Result<(), StoreError> {
    for _ in 0..RAISE_TRIES {
        let there = found.as_ref().map(|found| found.value.clone());
        let ours = met.and_then(Met::value);
        let mark_of = |value: &Option<Value>| value.as_ref().map_or(0, |value| value.mark);
        let higher = mark_of(&ours).max(mark_of(&there));
        // By another server that recovers at this moment; written again, a window would be lost to its holder, who goes
        // on from what that one wrote. Whichever of the two is noted, nobody takes a window before its floor.
        if let Some(there) = &there
            && there.mark == higher
            && raise.has_raised(key, there, SLACK)
        {
            return Ok(());
        }
        let body = match (there, ours) {
            (Some(there), Some(ours)) if generation(&ours.body) > generation(&there.body) => ours.body,
            (Some(there), _) => there.body,
            (None, Some(ours)) => ours.body,
            (None, None) => return Ok(()),
        };
        let mut value = Value {
            mark: higher,
            token: fresh_token(&*guard.runtime),
            body,
        };
        // A layout nobody knows any more, or a sequence at its end: never used again.
        value.mark = raise.mark(key, &value).0;
        let expected = found.as_ref().map(|found| found.version);
        match guard
            .inner
            .compare_and_set(key, expected, value, Marks::NeverLower)
            .await?
        {
            Cas::Done(_) => return Ok(()),
            Cas::Lost(now) => found = now,
        }
    }
    Err(StoreError::new(
        StoreErrorKind::Unavailable,
        Outcome::NotDone,
        format!("too many writers on {key} while the store recovers"),
    ))
}

/// How often a sequence's definition was changed, by its record.
fn generation(body: &str) -> u64 {
    let body: serde_json::Value = serde_json::from_str(body).unwrap_or_default();
    body["generation"].as_u64().unwrap_or(0)
}

fn answering(guard: &Guard) -> String {
    guard.inner.incarnation().unwrap_or_default()
}

fn note_key() -> Key {
    Key::new("cluster/incarnation").expect("a constant within the key grammar")
}

fn read_note(found: &Versioned) -> Option<Note> {
    serde_json::from_str(&found.value.body).ok()
}

fn note_value(guard: &Guard, note: &Note, epoch: u64) -> Value {
    Value {
        mark: epoch,
        token: fresh_token(&*guard.runtime),
        body: serde_json::to_string(note).expect("plain fields always serialise"),
    }
}

/// How many names' payments are kept before those of the past are cleared away.
const PAID_MAX: usize = 100_000;
