//! Several independent stores as one (protocol S9; Flickr's odd and even ticket servers, tinyid's delta and remainder):
//! any one alive is enough, and none knows of the others.
//!
//! Each store of a set has a register that says which one it is, `cluster/stripe`: the set's id, its number and how many
//! there are. Nothing follows from the order in which the stores are listed.
//!
//! ```text
//!   seq/…              one record in every store, each for its own share; this process takes from one store until
//!                      that fails, then from the next. A first use is told to all that answer; one that was away
//!                      learns of a name from whoever takes from it next
//!   window/POOL/w      in store w mod K
//!   pool/…             in every store that was alive when it was made; dropped only while all are alive
//!   instance/…         in the store that was alive when the process started
//!   cluster/changes    in store 0: definitions change only while all are alive
//! ```
//!
//! | file | what |
//! | --- | --- |
//! | `members` | which stores are open, which answer, and which one numbers are taken from |
//! | `away` | the stores that do not answer, and who asks them meanwhile |
//! | `place` | which store of a set: its own note, and the versions of its records |
//! | `routes` | where a register lies |
//! | `stripe` | the numbers of one store out of several |

mod away;
mod members;
mod place;
mod routes;
mod stripe;

use std::any::Any;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use mintage::Timestamp;

use crate::guard::Guard;
use crate::runtime::{BoxFuture, Runtime};
use crate::store::rules::check_limit;
use crate::store::{
    CHANGES_KEY, Cas, Claim, Class, Durability, Key, Marks, Outcome, Store, StoreError, StoreErrorKind,
    StoreResult, Value, Version, Versioned,
};
use members::Member;
pub(crate) use place::{Placed, placed, stripe_key};
pub use place::{StripeNote, stripe_of};
pub(crate) use stripe::{STRIPES_MAX, Stripe};

/// Several stores as one. Thread-safe.
pub struct Striped {
    me: Weak<Striped>,
    runtime: Arc<dyn Runtime>,
    members: Vec<Arc<Member>>,
    set: u128,
    of: u8,
    /// Where sequences are taken from: how often that changed, and the store's number.
    active: Mutex<(u64, u8)>,
    /// Where registers of instances are that this process has written.
    homes: Mutex<HashMap<Key, u8>>,
}

/// Whether a store says that it does not answer now.
fn is_away<T>(answer: &Result<T, StoreError>) -> bool {
    matches!(answer, Err(error) if error.kind == StoreErrorKind::Unavailable)
}

/// Asks a store whether it is a set.
pub trait AsStriped {
    /// The set of stores that this is, if it is one (protocol S9).
    fn striped(&self) -> Option<&Striped>;
}

impl AsStriped for dyn Store {
    fn striped(&self) -> Option<&Striped> {
        self.as_set()?.downcast_ref()
    }
}

fn refused(kind: StoreErrorKind, why: String) -> StoreError {
    StoreError::new(kind, Outcome::NotDone, why)
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
        open.max_by_key(rank)
            .unwrap_or_else(|| Durability::plain(Class::Lossy, "no store is open"))
    }

    fn wall(&self) -> StoreResult<'_, Option<Timestamp>> {
        Box::pin(async move {
            // The one that numbers are taken from, unless it is away: any of them tells the time.
            let active = self.lock_active().1;
            let mut alive = self.alive();
            alive.sort_by_key(|(number, _)| *number != active);
            let mut failed = self.none_answers();
            for (number, guard) in alive {
                match self.ask(number, guard.wall()).await {
                    Ok(wall) => return Ok(wall),
                    Err(error) => {
                        self.leave_alone(number, &error);
                        failed = error;
                    }
                }
            }
            Err(failed)
        })
    }

    fn cluster_id(&self) -> u128 {
        self.set
    }

    fn get<'a>(&'a self, key: &'a Key) -> StoreResult<'a, Option<Versioned>> {
        Box::pin(async move {
            match key.as_str().split('/').next() {
                Some("seq") => self.sequence(key).await.map(Some),
                Some("pool") => self.anywhere(key).await,
                Some("cluster") if key.as_str() != CHANGES_KEY => self.anywhere(key).await,
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
            if key.as_str().starts_with("pool/") {
                return match expected {
                    None => self.everywhere(key, new, marks).await,
                    Some(version) => self.rewrite_everywhere(key, version, new, marks).await,
                };
            }
            self.at_home(key, async |guard| {
                guard.compare_and_set(key, expected, new, marks).await
            })
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
            let limit_all = check_limit(limit)?;
            let (switch, active) = *self.lock_active();
            let mut all: BTreeMap<Key, Versioned> = BTreeMap::new();
            let mut is_answered = false;
            let pages =
                self.all_alive(|_, guard| Box::pin(async move { guard.scan(prefix, after, limit).await }));
            for (number, page) in pages.await {
                let page = match page {
                    Ok(page) => page,
                    Err(error) if error.kind == StoreErrorKind::Unavailable => continue,
                    Err(error) => return Err(error),
                };
                is_answered = true;
                for (key, found) in page {
                    // One name, one line: the record of the store that numbers are taken from, where it has one.
                    let found = match is_sequence(&key) {
                        true => self.shown(switch, number, Some(found)),
                        false => found,
                    };
                    if number == active || !all.contains_key(&key) {
                        all.insert(key, found);
                    }
                }
            }
            match is_answered {
                true => Ok(all.into_iter().take(limit_all).collect()),
                false => Err(self.none_answers()),
            }
        })
    }

    fn remove<'a>(&'a self, key: &'a Key, expected: Version) -> StoreResult<'a, Cas> {
        Box::pin(async move {
            if key.as_str().starts_with("instance/") {
                // Of others it is not known where they are.
                for (number, guard) in self.alive() {
                    let found = self.ask(number, guard.get(key)).await?;
                    if found.is_some_and(|found| found.version == expected) {
                        let mut homes = self.homes.lock().unwrap_or_else(PoisonError::into_inner);
                        homes.insert(key.clone(), number);
                    }
                }
            }
            self.at_home(key, async |guard| guard.remove(key, expected).await)
                .await
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

    fn as_set(&self) -> Option<&(dyn Any + Send + Sync)> {
        Some(self)
    }

    fn reachable(&self, key: &Key) -> bool {
        self.home(key).is_ok()
    }

    fn tend(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.beat())
    }

    fn vouch(&self, now: Option<Timestamp>) {
        for member in &self.members {
            if let Some((_, guard)) = member.lock().as_ref() {
                guard.vouch(now);
            }
        }
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
