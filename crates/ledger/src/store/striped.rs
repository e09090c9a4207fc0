//! Several independent stores as one (protocol S9; Flickr's odd and even ticket servers, tinyid's delta and remainder):
//! any one alive is enough, and none knows of the others.
//!
//! Each store of a set has a register that says which one it is, `cluster/stripe`: the set's id, its number and how many
//! there are. Nothing follows from the order in which the stores are listed.
//!
//! ```text
//!   seq/…              one record in every store, each for its own share; this process takes from one store until
//!                      that fails, then from the next
//!   window/POOL/w      in store w mod K
//!   pool/…             in every store that was alive when it was made
//!   instance/…         in the store that was alive when the process started
//!   cluster/changes    in store 0: definitions change only while all are alive
//! ```
//!
//! The versions of sequences that the ledger sees say which store answered, and count how often this process changed
//! the store, so that they only grow:
//!
//! ```text
//!   1 bit: striped | 15 bits: changes | 4 bits: stores - 1 | 4 bits: store | 40 bits: the store's own version
//! ```

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mintage::Timestamp;
use serde::{Deserialize, Serialize};

use super::tools;
use super::{
    Cas, Claim, Class, Durability, Guard, Key, Marks, Outcome, Store, StoreError, StoreErrorKind, StoreResult,
    Value, Version, Versioned,
};
use crate::runtime::{BoxFuture, Runtime, fresh_token};
use crate::sequence::{STRIPES_MAX, Stripe};
use crate::store::embedded::TOMBSTONE_BODY;

const VERSION_BITS: u32 = 40;
const SWITCH_SHIFT: u32 = 48;
const SWITCHES_MAX: u64 = (1 << 15) - 1;
const STRIPED: u64 = 1 << 63;
/// How long a store that failed is left alone.
const REST: Duration = Duration::from_secs(1);

impl Version {
    /// Which store of a set the version is of.
    pub(crate) fn stripe(self) -> Stripe {
        match self.0 & STRIPED {
            0 => Stripe::WHOLE,
            _ => Stripe {
                number: (self.0 >> VERSION_BITS & 15) as u8,
                of: (self.0 >> (VERSION_BITS + 4) & 15) as u8 + 1,
            },
        }
    }

    /// The version as its store knows it.
    pub(crate) fn raw(self) -> Version {
        match self.0 & STRIPED {
            0 => self,
            _ => Version(self.0 & ((1 << VERSION_BITS) - 1)),
        }
    }

    fn switch(self) -> u64 {
        self.0 >> SWITCH_SHIFT & SWITCHES_MAX
    }

    fn of_stripe(raw: Version, stripe: Stripe, switch: u64) -> Version {
        let place = u64::from(stripe.number) | u64::from(stripe.of - 1) << 4;
        Version(STRIPED | switch << SWITCH_SHIFT | place << VERSION_BITS | raw.0)
    }
}

/// What a store says of its place in a set.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
pub struct StripeNote {
    /// The set, hexadecimal.
    pub set: String,
    /// Which store this is, from 0.
    pub number: u8,
    /// How many there are.
    pub of: u8,
}

/// Where a store says it.
pub(crate) fn stripe_key() -> Key {
    Key::new("cluster/stripe").expect("a constant within the key grammar")
}

/// A store's place in a set, if it has one.
///
/// # Errors
/// The store does not answer, or its note makes no sense.
pub async fn stripe_of(store: &dyn Store) -> Result<Option<StripeNote>, StoreError> {
    let Some(found) = store.get(&stripe_key()).await? else {
        return Ok(None);
    };
    let note: Option<StripeNote> = serde_json::from_str(&found.value.body).ok();
    let sound = |note: &StripeNote| note.of <= STRIPES_MAX && note.number < note.of;
    match note.filter(sound) {
        Some(note) => Ok(Some(note)),
        None => Err(refused(
            StoreErrorKind::Corrupt,
            format!("its place in a set makes no sense: {}", found.value.body),
        )),
    }
}

/// Opens one store of a set; called again while it is not open.
pub type OpenMember = Box<dyn Fn() -> BoxFuture<'static, Result<Arc<dyn Store>, StoreError>> + Send + Sync>;

/// One store of a set, open or not.
struct Member {
    /// For people.
    name: String,
    open: OpenMember,
    opened: Mutex<Option<(StripeNote, Arc<Guard>)>>,
    /// Left alone until then, in milliseconds of boot time.
    rests_until_ms: AtomicU64,
}

/// Several stores as one. Thread-safe.
pub struct Striped {
    runtime: Arc<dyn Runtime>,
    members: Vec<Member>,
    set: u128,
    of: u8,
    /// Where sequences are taken from: how often that changed, and the store's number.
    active: Mutex<(u64, u8)>,
    /// Where registers of instances are that this process has written.
    homes: Mutex<HashMap<Key, u8>>,
}

fn refused(kind: StoreErrorKind, why: String) -> StoreError {
    StoreError::new(kind, Outcome::NotDone, why)
}

impl Striped {
    /// Opens a set. One store that answers is enough; the others are tried again once a second.
    ///
    /// # Errors
    /// None answers; one is no member of a set, or of another than the others; or there are more or fewer than the
    /// set has.
    pub async fn open(
        members: Vec<(String, OpenMember)>,
        runtime: Arc<dyn Runtime>,
    ) -> Result<Arc<Striped>, StoreError> {
        let listed = members.len();
        let mut striped = Striped {
            members: members
                .into_iter()
                .map(|(name, open)| Member {
                    name,
                    open,
                    opened: Mutex::default(),
                    rests_until_ms: AtomicU64::new(0),
                })
                .collect(),
            set: 0,
            of: 0,
            active: Mutex::default(),
            homes: Mutex::default(),
            runtime,
        };
        let mut first: Option<StripeNote> = None;
        let mut failed = None;
        for member in &striped.members {
            match striped.open_member(member, first.as_ref()).await {
                Ok(note) => first = first.or(Some(note)),
                Err(error) if error.kind == StoreErrorKind::Unavailable => {
                    tracing::warn!(store = %member.name, %error, "one store of the set does not answer");
                    failed = Some(error);
                }
                Err(error) => return Err(error),
            }
        }
        let Some(note) = first else {
            return Err(failed.unwrap_or_else(|| {
                refused(StoreErrorKind::Invalid, "a set of stores has at least one".to_string())
            }));
        };
        if usize::from(note.of) != listed {
            return Err(refused(
                StoreErrorKind::Invalid,
                format!("the set has {} stores, {listed} are listed", note.of),
            )
            .with_hint("list every store of the set in store.urls, in any order"));
        }
        striped.set = u128::from_str_radix(&note.set, 16).unwrap_or_default();
        striped.of = note.of;
        // Processes begin with different stores, so that all share the load.
        let mut byte = [0];
        striped.runtime.fill_random(&mut byte);
        let alive: Vec<u8> = striped.alive().into_iter().map(|(number, _)| number).collect();
        let begin = alive.get(usize::from(byte[0]) % alive.len().max(1)).copied().unwrap_or(0);
        *striped.lock_active() = (1, begin);
        Ok(Arc::new(striped))
    }

    async fn open_member(&self, member: &Member, first: Option<&StripeNote>) -> Result<StripeNote, StoreError> {
        let store = (member.open)().await?;
        let name = &member.name;
        let Some(note) = stripe_of(&*store).await? else {
            return Err(refused(
                StoreErrorKind::Foreign,
                format!("{name} is no member of a set of stores"),
            )
            .with_hint("mint store stripes make A B … makes a set of initialised stores"));
        };
        let same_set = |first: &StripeNote| first.set == note.set && first.of == note.of;
        let twice = |number: u8| {
            let others = self.members.iter().filter(|other| !std::ptr::eq(*other, member));
            let mut numbers = others.filter_map(|other| other.lock().as_ref().map(|(note, _)| note.number));
            numbers.any(|other| other == number)
        };
        if !first.is_none_or(same_set) || twice(note.number) {
            return Err(refused(
                StoreErrorKind::Foreign,
                format!(
                    "{name} is store {} of {} in set {}: it belongs to another set, or stands twice",
                    note.number, note.of, note.set
                ),
            ));
        }
        if let Some(why) = tools::sealed(&*store).await? {
            return Err(tools::refusal(&why));
        }
        let above = tools::restored_above(&*store).await?;
        let guard = Guard::new(store, Arc::clone(&self.runtime), None, above);
        *member.lock() = Some((note.clone(), guard));
        Ok(note)
    }

    fn lock_active(&self) -> std::sync::MutexGuard<'_, (u64, u8)> {
        self.active.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.runtime.boottime().as_millis()).unwrap_or(u64::MAX)
    }

    /// The stores that are open and did not fail just now, by number.
    fn alive(&self) -> Vec<(u8, Arc<Guard>)> {
        let now = self.now_ms();
        let mut alive: Vec<_> = self
            .members
            .iter()
            .filter(|member| member.rests_until_ms.load(Ordering::Acquire) <= now)
            .filter_map(|member| member.lock().as_ref().map(|(note, guard)| (note.number, Arc::clone(guard))))
            .collect();
        alive.sort_by_key(|(number, _)| *number);
        alive
    }

    fn member(&self, number: u8) -> Option<(&Member, Arc<Guard>)> {
        self.members.iter().find_map(|member| {
            let opened = member.lock();
            let (note, guard) = opened.as_ref()?;
            (note.number == number).then(|| (member, Arc::clone(guard)))
        })
    }

    /// Every store of the set, by number.
    ///
    /// # Errors
    /// One is not there.
    pub(crate) fn members_all(&self) -> Result<Vec<(u8, Arc<Guard>)>, StoreError> {
        let alive = self.alive();
        if alive.len() == usize::from(self.of) {
            return Ok(alive);
        }
        let there: Vec<u8> = alive.iter().map(|(number, _)| *number).collect();
        let missing = (0..self.of).filter(|number| !there.contains(number));
        let missing: Vec<String> = missing.map(|number| number.to_string()).collect();
        Err(refused(
            StoreErrorKind::Unavailable,
            format!(
                "definitions change only while all {} stores answer: store {} does not",
                self.of,
                missing.join(" and ")
            ),
        ))
    }

    /// A record of one store, with a version that says so.
    pub(crate) async fn read_of(
        &self,
        number: u8,
        store: &dyn Store,
        key: &Key,
    ) -> Result<Option<Versioned>, StoreError> {
        let stripe = Stripe { number, of: self.of };
        Ok(store.get(key).await?.map(|found| placed(found, stripe)))
    }

    /// The store that sequences are taken from now.
    fn active(&self) -> Result<(u64, u8, Arc<Guard>), StoreError> {
        let alive = self.alive();
        let mut active = self.lock_active();
        let (switch, number) = *active;
        if let Some((_, guard)) = alive.iter().find(|(n, _)| *n == number) {
            return Ok((switch, number, Arc::clone(guard)));
        }
        // The next one in the ring.
        let next = alive.iter().find(|(n, _)| *n > number).or(alive.first());
        let Some((next, guard)) = next else {
            return Err(refused(
                StoreErrorKind::Unavailable,
                format!("none of the {} stores answers", self.of),
            ));
        };
        if switch >= SWITCHES_MAX {
            return Err(refused(
                StoreErrorKind::Unavailable,
                format!("this process has changed the store {SWITCHES_MAX} times: start it again"),
            ));
        }
        tracing::warn!(from = number, to = *next, "numbers are taken from another store");
        *active = (switch + 1, *next);
        Ok((switch + 1, *next, Arc::clone(guard)))
    }

    /// Leaves a store alone for a while.
    fn rest(&self, number: u8) {
        if let Some((member, _)) = self.member(number) {
            let until = self.now_ms().saturating_add(u64::try_from(REST.as_millis()).unwrap_or(u64::MAX));
            member.rests_until_ms.store(until, Ordering::Release);
        }
    }

    fn shown(&self, switch: u64, number: u8, found: Option<Versioned>) -> Option<Versioned> {
        let stripe = Stripe { number, of: self.of };
        found.map(|found| Versioned {
            version: Version::of_stripe(found.version, stripe, switch),
            ..found
        })
    }

    /// A sequence's record in the store that numbers are taken from; if that fails, in the next.
    async fn sequence(&self, key: &Key) -> Result<Option<Versioned>, StoreError> {
        loop {
            let (switch, number, guard) = self.active()?;
            match guard.get(key).await {
                Ok(found) => return Ok(self.shown(switch, number, found)),
                Err(error) if error.kind == StoreErrorKind::Unavailable => self.rest(number),
                Err(error) => return Err(error),
            }
        }
    }

    /// A write of a sequence's record. A store that fails is left, whatever became of the write: what it would have
    /// reserved there is spent, and the record of the next store is the answer.
    async fn write<'a>(
        &self,
        key: &Key,
        expected: Option<Version>,
        write: impl FnOnce(Arc<Guard>, Option<Version>) -> BoxFuture<'a, Result<Cas, StoreError>>,
    ) -> Result<Cas, StoreError> {
        let (switch, number, guard) = self.active()?;
        let stripe = Stripe { number, of: self.of };
        let fits = expected.is_none_or(|version| version.stripe() == stripe && version.switch() == switch);
        if !fits {
            return Ok(Cas::Lost(self.sequence(key).await?));
        }
        let answer = match expected {
            Some(version) => write(guard, Some(version.raw())).await,
            // The share of a new name follows from the store it is made in: over a tombstone, which says which.
            None => {
                let tombstone = Value {
                    mark: 0,
                    token: fresh_token(&*self.runtime),
                    body: TOMBSTONE_BODY.to_string(),
                };
                let made = guard.compare_and_set(key, None, tombstone, Marks::NeverLower).await;
                match made {
                    Ok(_) => return Ok(Cas::Lost(self.sequence(key).await?)),
                    Err(error) => Err(error),
                }
            }
        };
        match answer {
            Ok(Cas::Done(version)) => Ok(Cas::Done(Version::of_stripe(version, stripe, switch))),
            Ok(Cas::Lost(found)) => Ok(Cas::Lost(self.shown(switch, number, found))),
            Err(error) if error.kind == StoreErrorKind::Unavailable => {
                self.rest(number);
                Ok(Cas::Lost(self.sequence(key).await?))
            }
            Err(error) => Err(error),
        }
    }

    /// The store that a register which is no sequence lies in.
    fn home(&self, key: &Key) -> Result<(u8, Arc<Guard>), StoreError> {
        let alive = self.alive();
        let number = match key.as_str().split_once('/') {
            Some(("window", rest)) => {
                let worker = rest.rsplit('/').next().and_then(|w| w.parse::<u64>().ok()).unwrap_or(0);
                (worker % u64::from(self.of)) as u8
            }
            Some(("instance", _)) => {
                let mut homes = self.homes.lock().unwrap_or_else(PoisonError::into_inner);
                let first = alive.first().map_or(0, |(number, _)| *number);
                *homes.entry(key.clone()).or_insert(first)
            }
            _ => 0,
        };
        let found = alive.into_iter().find(|(n, _)| *n == number);
        found.ok_or_else(|| {
            refused(
                StoreErrorKind::Unavailable,
                format!("store {number} of {}, which has {key}, does not answer", self.of),
            )
        })
    }

    async fn at_home<T>(
        &self,
        key: &Key,
        call: impl AsyncFnOnce(Arc<Guard>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let (number, guard) = self.home(key)?;
        let answer = call(guard).await;
        if matches!(&answer, Err(error) if error.kind == StoreErrorKind::Unavailable) {
            self.rest(number);
        }
        answer
    }

    /// The first of the stores that has a register.
    async fn anywhere(&self, key: &Key) -> Result<Option<Versioned>, StoreError> {
        let mut failed = None;
        for (number, guard) in self.alive() {
            match guard.get(key).await {
                Ok(None) => {}
                Ok(found) => return Ok(found),
                Err(error) => {
                    self.rest(number);
                    failed = Some(error);
                }
            }
        }
        match failed {
            // It may be in the one that did not answer.
            Some(error) => Err(error),
            None if self.alive().is_empty() => Err(refused(
                StoreErrorKind::Unavailable,
                format!("none of the {} stores answers", self.of),
            )),
            None => Ok(None),
        }
    }

    /// Makes a register in every store that is alive.
    async fn everywhere(&self, key: &Key, new: Value, marks: Marks) -> Result<Cas, StoreError> {
        if let Some(found) = self.anywhere(key).await? {
            return Ok(Cas::Lost(Some(found)));
        }
        let mut first = None;
        for (number, guard) in self.alive() {
            match guard.compare_and_set(key, None, new.clone(), marks).await {
                Ok(answer) => first = first.or(Some(answer)),
                Err(error) => {
                    self.rest(number);
                    if first.is_none() {
                        return Err(error);
                    }
                }
            }
        }
        first.ok_or_else(|| {
            refused(
                StoreErrorKind::Unavailable,
                format!("none of the {} stores answers", self.of),
            )
        })
    }
}

impl Member {
    fn lock(&self) -> std::sync::MutexGuard<'_, Option<(StripeNote, Arc<Guard>)>> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A sequence's record as one that lies in this store of a set.
pub(crate) fn placed(found: Versioned, stripe: Stripe) -> Versioned {
    Versioned {
        version: Version::of_stripe(found.version, stripe, 0),
        ..found
    }
}

fn is_sequence(key: &Key) -> bool {
    key.as_str().starts_with("seq/")
}

impl fmt::Debug for Striped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.members.iter().map(|member| member.name.as_str()).collect();
        f.debug_struct("Striped").field("members", &names).finish()
    }
}

impl Store for Striped {
    fn scheme(&self) -> &'static str {
        "striped"
    }

    fn class(&self) -> Class {
        self.durability().class
    }

    /// The worst of those that are open.
    fn durability(&self) -> Durability {
        let rank = |durability: &Durability| match durability.class {
            Class::Survives => 0,
            Class::Durable => 1,
            Class::Lossy => 2,
        };
        let open = self.members.iter().filter_map(|member| {
            let opened = member.lock();
            opened.as_ref().map(|(_, guard)| guard.durability())
        });
        open.max_by_key(rank).unwrap_or(Durability {
            class: Class::Lossy,
            why: "no store is open".to_string(),
            fix: None,
        })
    }

    fn wall(&self) -> StoreResult<'_, Option<Timestamp>> {
        Box::pin(async move {
            let (_, _, guard) = self.active()?;
            guard.wall().await
        })
    }

    fn cluster_id(&self) -> u128 {
        self.set
    }

    fn get<'a>(&'a self, key: &'a Key) -> StoreResult<'a, Option<Versioned>> {
        Box::pin(async move {
            match key.as_str().split('/').next() {
                Some("seq") => self.sequence(key).await,
                Some("pool") => self.anywhere(key).await,
                Some("cluster") if *key != crate::cluster::changes_key() => self.anywhere(key).await,
                _ => self.at_home(key, async |guard| guard.get(key).await).await,
            }
        })
    }

    fn compare_and_set<'a>(
        &'a self,
        key: &'a Key,
        expected: Option<Version>,
        new: Value,
        marks: Marks,
    ) -> StoreResult<'a, Cas> {
        Box::pin(async move {
            if is_sequence(key) {
                let write = |guard: Arc<Guard>, raw| -> BoxFuture<'a, Result<Cas, StoreError>> {
                    Box::pin(async move { guard.compare_and_set(key, raw, new, marks).await })
                };
                return self.write(key, expected, write).await;
            }
            if key.as_str().starts_with("pool/") && expected.is_none() {
                return self.everywhere(key, new, marks).await;
            }
            self.at_home(key, async |guard| guard.compare_and_set(key, expected, new, marks).await)
                .await
        })
    }

    fn scan<'a>(
        &'a self,
        prefix: &'a Key,
        after: Option<&'a Key>,
        limit: u16,
    ) -> StoreResult<'a, Vec<(Key, Versioned)>> {
        Box::pin(async move {
            let limit_all = super::rules::check_limit(limit)?;
            let alive = self.alive();
            if alive.is_empty() {
                return Err(refused(
                    StoreErrorKind::Unavailable,
                    format!("none of the {} stores answers", self.of),
                ));
            }
            let (switch, active) = *self.lock_active();
            let mut all: BTreeMap<Key, Versioned> = BTreeMap::new();
            for (number, guard) in alive {
                let page = match guard.scan(prefix, after, limit).await {
                    Ok(page) => page,
                    Err(error) if error.kind == StoreErrorKind::Unavailable => {
                        self.rest(number);
                        continue;
                    }
                    Err(error) => return Err(error),
                };
                for (key, found) in page {
                    // One name, one line: the record of the store that numbers are taken from, where it has one.
                    let found = match is_sequence(&key) {
                        true => self.shown(switch, number, Some(found)),
                        false => Some(found),
                    };
                    let Some(found) = found else { continue };
                    if number == active || !all.contains_key(&key) {
                        all.insert(key, found);
                    }
                }
            }
            Ok(all.into_iter().take(limit_all).collect())
        })
    }

    fn remove<'a>(&'a self, key: &'a Key, expected: Version) -> StoreResult<'a, Cas> {
        Box::pin(async move {
            if key.as_str().starts_with("instance/") {
                // Of others it is not known where they are.
                for (number, guard) in self.alive() {
                    if guard.get(key).await?.is_some_and(|found| found.version == expected) {
                        let mut homes = self.homes.lock().unwrap_or_else(PoisonError::into_inner);
                        homes.insert(key.clone(), number);
                    }
                }
            }
            self.at_home(key, async |guard| guard.remove(key, expected).await).await
        })
    }

    fn claim<'a>(&'a self, claim: &'a Claim) -> StoreResult<'a, Cas> {
        Box::pin(async move {
            let write = |guard: Arc<Guard>, raw: Option<Version>| -> BoxFuture<'a, Result<Cas, StoreError>> {
                Box::pin(async move {
                    let asked = Claim {
                        expected: raw.unwrap_or(claim.expected),
                        ..claim.clone()
                    };
                    guard.claim(&asked).await
                })
            };
            self.write(&claim.key, Some(claim.expected), write).await
        })
    }

    fn striped(&self) -> Option<&Striped> {
        Some(self)
    }

    fn reachable(&self, key: &Key) -> bool {
        self.home(key).is_ok()
    }

    fn tend(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let note = StripeNote {
                set: format!("{:032x}", self.set),
                number: 0,
                of: self.of,
            };
            for member in &self.members {
                let opened = member.lock().as_ref().map(|(_, guard)| Arc::clone(guard));
                match opened {
                    Some(guard) => guard.beat().await,
                    None => match self.open_member(member, Some(&note)).await {
                        Ok(_) => tracing::info!(store = %member.name, "one more store of the set answers"),
                        Err(error) => tracing::debug!(store = %member.name, %error, "not open"),
                    },
                }
            }
        })
    }

    fn stopped(&self) -> Option<StoreError> {
        self.members
            .iter()
            .find_map(|member| member.lock().as_ref().and_then(|(_, guard)| guard.stopped()))
    }

    fn close<'a>(&'a self) -> StoreResult<'a, ()> {
        Box::pin(async move {
            for (_, guard) in self.alive() {
                guard.close().await?;
            }
            Ok(())
        })
    }
}
