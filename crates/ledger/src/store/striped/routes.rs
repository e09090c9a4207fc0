//! Where a register lies: sequences in every store, each for its share; the rest in one store or in all.

use std::sync::{Arc, PoisonError};

use super::{Striped, placed, refused};
use crate::runtime::{BoxFuture, fresh_token};
use crate::sequence::Stripe;
use crate::store::embedded::TOMBSTONE_BODY;
use crate::store::{Cas, Guard, Key, Marks, Store, StoreError, StoreErrorKind, Value, Version, Versioned};

impl Striped {
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

    pub(super) fn shown(&self, switch: u64, number: u8, found: Option<Versioned>) -> Option<Versioned> {
        let stripe = Stripe { number, of: self.of };
        found.map(|found| Versioned {
            version: Version::of_stripe(found.version, stripe, switch),
            ..found
        })
    }

    /// A sequence's record in the store that numbers are taken from; if that fails, in the next.
    pub(super) async fn sequence(&self, key: &Key) -> Result<Option<Versioned>, StoreError> {
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
    pub(super) async fn write<'a>(
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
                let made = guard
                    .compare_and_set(key, None, tombstone, Marks::NeverLower)
                    .await;
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
        let answer = call(guard).await;
        if matches!(&answer, Err(error) if error.kind == StoreErrorKind::Unavailable) {
            self.rest(number);
        }
        answer
    }

    /// The first of the stores that has a register.
    pub(super) async fn anywhere(&self, key: &Key) -> Result<Option<Versioned>, StoreError> {
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
            None if self.alive().is_empty() => Err(self.none_answers()),
            None => Ok(None),
        }
    }

    /// Makes a register in every store that is alive.
    pub(super) async fn everywhere(&self, key: &Key, new: Value, marks: Marks) -> Result<Cas, StoreError> {
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
        first.ok_or_else(|| self.none_answers())
    }
}
