//! The contract of [`Store`](super::Store) over stores that can only say "write this if that is unchanged": etcd
//! and ZooKeeper. The rules are judged here, on a copy of the register whose revision the store then compares, so
//! that a copy that is out of date costs a round trip and nothing else.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::link::{Driver, Link};
use super::rules::{Current, Verdict, check_limit, check_value, judge_claim, judge_remove, judge_set};
use super::{
    Cas, Claim, Class, Durability, Key, Marks, Outcome, Store, StoreError, StoreErrorKind, StoreResult,
    Value, Version, Versioned,
};
use crate::runtime::BoxFuture;

/// A register as it was seen, and what the store compares to tell whether it is still so.
#[derive(Clone, Debug)]
pub(crate) struct Cached<R> {
    pub(crate) found: Versioned,
    pub(crate) revision: R,
}

/// What a conditional write came to.
#[derive(Debug)]
pub(crate) enum Put<R> {
    /// Written, and durable.
    Done(R),
    /// Not written: this is what is there.
    Changed(Option<Cached<R>>),
}

/// What a store of this kind brings; it is a [`Store`] by that.
pub(crate) trait CasStore: fmt::Debug + Send + Sync + 'static {
    /// Who speaks its protocol.
    type Driver: Driver;

    /// Equal revisions mean: nobody wrote in between, removals and re-creations included.
    type Revision: Clone + Send + Sync;

    /// Its connection.
    fn link(&self) -> &Link<Self::Driver>;

    /// Copies of registers as they were last seen.
    fn copies(&self) -> &Copies<Self::Revision>;

    /// Reads a register.
    fn read<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<Option<Cached<Self::Revision>>, StoreError>>;

    /// Writes `new` over `old`, or where nothing is.
    fn put<'a>(
        &'a self,
        verb: &'static str,
        key: &'a Key,
        old: Option<&'a Cached<Self::Revision>>,
        new: &'a Versioned,
    ) -> BoxFuture<'a, Result<Put<Self::Revision>, StoreError>>;

    /// Removes `old`.
    fn delete<'a>(
        &'a self,
        key: &'a Key,
        old: &'a Cached<Self::Revision>,
    ) -> BoxFuture<'a, Result<Put<Self::Revision>, StoreError>>;

    /// See [`Store::take_cluster_id`].
    fn rename(&self, id: u128) -> StoreResult<'_, ()>;

    /// See [`Store::scan`]; the limit is within its bounds.
    fn page<'a>(
        &'a self,
        prefix: &'a Key,
        after: Option<&'a Key>,
        limit: usize,
    ) -> StoreResult<'a, Vec<(Key, Versioned)>>;
}

/// What makes a [`CasStore`] a [`Store`].
#[derive(Debug)]
pub(crate) struct ByCas<S>(pub(crate) Arc<S>);

impl<S: CasStore> Store for ByCas<S> {
    fn scheme(&self) -> &'static str {
        self.0.link().driver.scheme()
    }

    fn class(&self) -> Class {
        self.0.link().durability().class
    }

    fn durability(&self) -> Durability {
        self.0.link().durability()
    }

    fn incarnation(&self) -> Option<String> {
        self.0.link().incarnation()
    }

    fn cluster_id(&self) -> u128 {
        self.0.link().cluster_id()
    }

    fn take_cluster_id(&self, id: u128) -> StoreResult<'_, ()> {
        self.0.rename(id)
    }

    fn get<'a>(&'a self, key: &'a Key) -> StoreResult<'a, Option<Versioned>> {
        Box::pin(get(&*self.0, key))
    }

    fn compare_and_set<'a>(
        &'a self,
        key: &'a Key,
        expected: Option<Version>,
        new: Value,
        marks: Marks,
    ) -> StoreResult<'a, Cas> {
        Box::pin(compare_and_set(&*self.0, key, expected, new, marks))
    }

    fn scan<'a>(
        &'a self,
        prefix: &'a Key,
        after: Option<&'a Key>,
        limit: u16,
    ) -> StoreResult<'a, Vec<(Key, Versioned)>> {
        match check_limit(limit) {
            Ok(limit) => self.0.page(prefix, after, limit),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }

    fn remove<'a>(&'a self, key: &'a Key, expected: Version) -> StoreResult<'a, Cas> {
        Box::pin(remove(&*self.0, key, expected))
    }

    fn claim<'a>(&'a self, claim: &'a Claim) -> StoreResult<'a, Cas> {
        Box::pin(self::claim(&*self.0, claim))
    }

    fn stopped(&self) -> Option<StoreError> {
        self.0.link().stopped()
    }

    fn close(&self) -> StoreResult<'_, ()> {
        self.0.link().disconnect();
        Box::pin(std::future::ready(Ok(())))
    }
}

/// How often a write is tried again after it certainly did nothing, because the copy was out of date.
const ATTEMPTS: u32 = 4;

async fn get<S: CasStore>(store: &S, key: &Key) -> Result<Option<Versioned>, StoreError> {
    let held = store.read(key).await?;
    store.copies().note(key, held.as_ref());
    Ok(held.map(|held| held.found))
}

async fn compare_and_set<S: CasStore>(
    store: &S,
    key: &Key,
    expected: Option<Version>,
    new: Value,
    marks: Marks,
) -> Result<Cas, StoreError> {
    check_value(key, &new)?;
    change(store, "write of", key, expected, |found| {
        Ok(
            match judge_set(key, found.map(Current::of), expected, &new, marks)? {
                Verdict::Lost => Step::Lost,
                Verdict::Go(version) => Step::Write(Versioned {
                    value: new.clone(),
                    version,
                }),
            },
        )
    })
    .await
}

async fn claim<S: CasStore>(store: &S, claim: &Claim) -> Result<Cas, StoreError> {
    change(store, "claim on", &claim.key, Some(claim.expected), |found| {
        Ok(match (judge_claim(claim, found.map(Current::of))?, found) {
            (Some((version, mark)), Some(found)) => Step::Write(Versioned {
                value: Value {
                    mark,
                    token: claim.token,
                    body: found.value.body.clone(),
                },
                version,
            }),
            _ => Step::Lost,
        })
    })
    .await
}

async fn remove<S: CasStore>(store: &S, key: &Key, expected: Version) -> Result<Cas, StoreError> {
    change(store, "removal of", key, Some(expected), |found| {
        Ok(match judge_remove(key, found.map(Current::of), expected)? {
            Verdict::Lost => Step::Lost,
            Verdict::Go(_) => Step::Remove,
        })
    })
    .await
}

/// What the rules say to a register as it was seen.
enum Step {
    Lost,
    Write(Versioned),
    Remove,
}

async fn change<S: CasStore>(
    store: &S,
    verb: &'static str,
    key: &Key,
    expected: Option<Version>,
    judge: impl Fn(Option<&Versioned>) -> Result<Step, StoreError>,
) -> Result<Cas, StoreError> {
    let copies = store.copies();
    // A copy at another version than the expected one proves nothing: the store has the word. Absence needs no
    // copy, the store compares it.
    let mut seen = copies.of(key).filter(|held| Some(held.found.version) == expected);
    let mut is_fresh = expected.is_none();
    for _ in 0..ATTEMPTS {
        if seen.is_none() && !is_fresh {
            seen = store.read(key).await?;
            copies.note(key, seen.as_ref());
            is_fresh = true;
        }
        let step = match judge(seen.as_ref().map(|held| &held.found)) {
            Ok(step) if is_fresh || !matches!(step, Step::Lost) => step,
            Err(error) if is_fresh => return Err(error),
            // A refusal that rests on a copy is no answer.
            _ => {
                seen = None;
                continue;
            }
        };
        let outcome = match step {
            Step::Lost => return Ok(Cas::Lost(seen.map(|held| held.found))),
            Step::Write(new) => {
                let put = store.put(verb, key, seen.as_ref(), &new).await;
                if let Ok(Put::Done(revision)) = put {
                    let version = new.version;
                    copies.note(key, Some(&Cached { found: new, revision }));
                    return Ok(Cas::Done(version));
                }
                put
            }
            Step::Remove => match &seen {
                Some(old) => {
                    let put = store.delete(key, old).await;
                    if let Ok(Put::Done(_)) = put {
                        let version = old.found.version;
                        copies.note(key, None);
                        return Ok(Cas::Done(version));
                    }
                    put
                }
                None => return Ok(Cas::Lost(None)),
            },
        };
        match outcome {
            Ok(Put::Changed(held)) => {
                copies.note(key, held.as_ref());
                (seen, is_fresh) = (held, true);
            }
            Ok(Put::Done(_)) => unreachable!("taken above"),
            Err(error) => {
                // It may have landed: what is there now must be read.
                copies.note(key, None);
                return Err(error);
            }
        }
    }
    Err(StoreError::new(
        StoreErrorKind::Unavailable,
        Outcome::NotDone,
        format!("{verb} {key}: others write it so often that {ATTEMPTS} attempts failed"),
    ))
}

/// Copies of registers as they were last seen; what does not fit is read again when it is needed.
#[derive(Debug)]
pub(crate) struct Copies<R> {
    held: Mutex<HashMap<Key, Cached<R>>>,
}

/// With bodies of at most [`COPY_BODY_MAX`] bytes: 20 MB at the very most, a fifth of it as registers are.
const COPIES_MAX: usize = 16 * 1024;
const COPY_BODY_MAX: usize = 1024;

impl<R: Clone> Copies<R> {
    pub(crate) fn new() -> Copies<R> {
        Copies {
            held: Mutex::default(),
        }
    }

    fn of(&self, key: &Key) -> Option<Cached<R>> {
        self.held().get(key).cloned()
    }

    fn note(&self, key: &Key, seen: Option<&Cached<R>>) {
        let mut held = self.held();
        match seen.filter(|seen| seen.found.value.body.len() <= COPY_BODY_MAX) {
            None => drop(held.remove(key)),
            Some(seen) => {
                if held.len() >= COPIES_MAX && !held.contains_key(key) {
                    held.clear();
                }
                held.insert(key.clone(), seen.clone());
            }
        }
    }

    fn held(&self) -> MutexGuard<'_, HashMap<Key, Cached<R>>> {
        // No code between lock and unlock panics half-way through a change.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
