//! Where a register lies: sequences in every store, each for its share; the rest in one store or in all.

use std::sync::{Arc, PoisonError};

use super::stripe::Stripe;
use super::{Striped, is_away, refused};
use crate::guard::Guard;
use crate::runtime::BoxFuture;
use crate::store::{
    Cas, Key, Marks, Store, StoreError, StoreErrorKind, TOMBSTONE_BODY, Value, Version, Versioned,
};
use crate::striped::Placed;

impl Striped {
    /// A sequence's record in one store, with a version that says so.
    pub(crate) async fn read_of(
        &self,
        number: u8,
        store: &dyn Store,
        key: &Key,
    ) -> Result<Versioned, StoreError> {
        Ok(self.shown(0, number, self.ask(number, store.get(key)).await?))
    }

    /// A record as the ledger sees it. One that is not there is a tombstone that nobody has written: it says which
    /// store's share it is, and that this store has not met the name. (One that this process has met there and that
    /// vanished is the guard's matter.)
    pub(super) fn shown(&self, switch: u64, number: u8, found: Option<Versioned>) -> Versioned {
        let stripe = Stripe { number, of: self.of };
        let found = found.unwrap_or_else(|| Versioned {
            version: Version::of(0),
            value: Value {
                mark: 0,
                token: 0,
                body: TOMBSTONE_BODY.to_string(),
            },
        });
        Versioned {
            version: Version::of_stripe(found.version, stripe, switch),
            ..found
        }
    }

    /// A sequence's record in the store that numbers are taken from; if that fails, in the next.
    pub(super) async fn sequence(&self, key: &Key) -> Result<Versioned, StoreError> {
        loop {
            let (switch, number, guard) = self.active()?;
            let answer = self.ask(number, guard.get(key)).await;
            if !is_away(&answer) {
                return Ok(self.shown(switch, number, answer?));
            }
        }
    }

    /// What the stores that answer have of a sequence, which need not be the same: one that was away may not have met
    /// the name, or not have followed a change that failed half-way.
    pub(crate) async fn records(&self, key: &Key) -> Result<Vec<Versioned>, StoreError> {
        let mut records = Vec::new();
        let answers =
            self.all_alive(|number, guard| Box::pin(async move { self.read_of(number, &*guard, key).await }));
        for (_, answer) in answers.await {
            match answer {
                Ok(found) if found.version.is_written() => records.push(found),
                Ok(_) => {}
                Err(error) if error.kind == StoreErrorKind::Unavailable => {}
                Err(error) => return Err(error),
            }
        }
        Ok(records)
    }

    /// Makes a sequence known, with nothing reserved, in those stores that answer and have not met it; `value` is what
    /// one of them is to hold, given what it has. Others learn of it when they are taken from.
    pub(crate) async fn make_known(&self, key: &Key, value: impl Fn(&Versioned) -> Option<Value> + Sync) {
        let value = &value;
        let told = self.all_alive(|number, guard| {
            Box::pin(async move {
                let found = self.read_of(number, &*guard, key).await?;
                if !found.version.is_written()
                    && let Some(value) = value(&found)
                {
                    guard.compare_and_set(key, None, value, Marks::NeverLower).await?;
                }
                Ok(())
            })
        });
        for (number, told) in told.await {
            if let Err(error) = told {
                tracing::debug!(store = number, %key, %error, "could not be told of a name");
                self.leave_alone(number, &error);
            }
        }
    }

    /// A write of a sequence's record. A store that fails is left, whatever became of the write: what it would have
    /// reserved there is spent, and the record of the next store is the answer.
    pub(super) async fn write<'a>(
        &self,
        key: &Key,
        expected: Option<Version>,
        write: impl FnOnce(Arc<Guard>, Option<Version>) -> BoxFuture<'a, Result<Cas, StoreError>>,
    ) -> Result<Cas, StoreError> {
        let (switch, number, guard) = self.active()?;
        let stripe = Stripe { number, of: self.of };
        // The share of a name follows from the store that its record is read in, so that it is read first.
        let fits = |version: &Version| version.stripe() == stripe && version.switch() == switch;
        let Some(expected) = expected.filter(fits) else {
            return Ok(Cas::Lost(Some(self.sequence(key).await?)));
        };
        let written = write(guard, expected.is_written().then(|| expected.raw()));
        match self.ask(number, written).await {
            Ok(Cas::Done(version)) => Ok(Cas::Done(Version::of_stripe(version, stripe, switch))),
            Ok(Cas::Lost(found)) => Ok(Cas::Lost(Some(self.shown(switch, number, found)))),
            Err(error) if error.kind == StoreErrorKind::Unavailable => {
                Ok(Cas::Lost(Some(self.sequence(key).await?)))
            }
            Err(error) => Err(error),
        }
    }

    /// The store that a register which is no sequence lies in.
    pub(super) fn home(&self, key: &Key) -> Result<(u8, Arc<Guard>), StoreError> {
        let alive = self.alive();
        let number = match key.as_str().split_once('/') {
            Some(("window", rest)) => {
                let worker = rest
                    .rsplit('/')
                    .next()
                    .and_then(|w| w.parse::<u64>().ok())
                    .unwrap_or(0);
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

    pub(super) async fn at_home<T>(
        &self,
        key: &Key,
        call: impl AsyncFnOnce(Arc<Guard>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let (number, guard) = self.home(key)?;
        self.ask(number, call(guard)).await
    }

    /// The first of the stores that has a register.
    pub(super) async fn anywhere(&self, key: &Key) -> Result<Option<Versioned>, StoreError> {
        let mut failed = None;
        let answers = self.all_alive(|_, guard| Box::pin(async move { guard.get(key).await }));
        for (number, answer) in answers.await {
            match answer {
                Ok(None) => {}
                Ok(found) => return Ok(found),
                Err(error) => {
                    self.leave_alone(number, &error);
                    failed = Some(error);
                }
            }
        }
        match failed {
            // It may be in the one that did not answer.
            Some(error) => Err(error),
            None if self.alive().is_empty() => Err(self.none_answers()),
            None => Ok(None),
        }
    }

    /// Makes a register in every store that is alive.
    pub(super) async fn everywhere(&self, key: &Key, new: Value, marks: Marks) -> Result<Cas, StoreError> {
        if let Some(found) = self.anywhere(key).await? {
            return Ok(Cas::Lost(Some(found)));
        }
        // The first of them decides between processes that make it at the same time; the rest follow the winner.
        let (number, guard) = self
            .alive()
            .into_iter()
            .next()
            .ok_or_else(|| self.none_answers())?;
        let first = guard.compare_and_set(key, None, new.clone(), marks).await;
        match first {
            Ok(Cas::Done(_)) => {}
            Ok(Cas::Lost(_)) => return first,
            Err(error) => {
                self.leave_alone(number, &error);
                return Err(error);
            }
        }
        let made = self.all_alive(|other, guard| {
            let new = new.clone();
            Box::pin(async move {
                if other != number {
                    guard.compare_and_set(key, None, new, marks).await?;
                }
                Ok(())
            })
        });
        for (number, made) in made.await {
            if let Err(error) = made {
                self.leave_alone(number, &error);
            }
        }
        first
    }

    /// Writes a register anew in every store, all of which must be alive. The first, which readers ask first, is written
    /// last: what breaks off half-way is asked for again.
    pub(super) async fn rewrite_everywhere(
        &self,
        key: &Key,
        expected: Version,
        new: Value,
        marks: Marks,
    ) -> Result<Cas, StoreError> {
        let found = self.anywhere(key).await?;
        if found.as_ref().is_none_or(|found| found.version != expected) {
            return Ok(Cas::Lost(found));
        }
        let mut alive = self.alive();
        if alive.len() < usize::from(self.of) {
            return Err(refused(
                StoreErrorKind::Unavailable,
                format!(
                    "{} of {} stores of the set answer, {key} changes only while all do",
                    alive.len(),
                    self.of
                ),
            ));
        }
        alive.sort_by_key(|(number, _)| std::cmp::Reverse(*number));
        let mut last = Cas::Lost(found);
        for (number, guard) in alive {
            let written = async {
                let there = guard.get(key).await?;
                let version = there.map(|there| there.version);
                guard.compare_and_set(key, version, new.clone(), marks).await
            };
            last = match written.await {
                Ok(Cas::Done(version)) => Cas::Done(version),
                Ok(lost) => return Ok(lost),
                Err(error) => {
                    self.leave_alone(number, &error);
                    return Err(error);
                }
            };
        }
        Ok(last)
    }
}
