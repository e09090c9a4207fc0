//! The stores of a set: which are open, which answer, and which one numbers are taken from.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::Poll;

use super::place::SWITCHES_MAX;
use super::{StripeNote, Striped, is_away, refused, stripe_of};
use crate::advice::Advice;
use crate::guard::Guard;
use crate::notes;
use crate::runtime::{BoxFuture, Runtime};
use crate::store::{Key, OpenMember, Store, StoreError, StoreErrorKind};

/// One store of a set, open or not.
pub(super) struct Member {
    /// For people.
    pub(super) name: String,
    open: OpenMember,
    opened: Mutex<Option<(StripeNote, Arc<Guard>)>>,
    /// No call asks it: one task does.
    pub(super) is_away: AtomicBool,
    /// It is being seen whether it is whole.
    pub(super) is_beating: AtomicBool,
}

impl Member {
    pub(super) fn lock(&self) -> MutexGuard<'_, Option<(StripeNote, Arc<Guard>)>> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A store's number, and what it answers.
type Asking<'a, T> = BoxFuture<'a, (u8, Result<T, StoreError>)>;

impl Striped {
    /// Opens a set. One store that answers is enough; the others are tried again in the background.
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
                .map(|(name, open)| {
                    Arc::new(Member {
                        name,
                        open,
                        opened: Mutex::default(),
                        is_away: AtomicBool::new(false),
                        is_beating: AtomicBool::new(false),
                    })
                })
                .collect(),
            me: Weak::new(),
            set: 0,
            of: 0,
            active: Mutex::default(),
            homes: Mutex::default(),
            runtime,
        };
        let mut first: Option<StripeNote> = None;
        let mut failed = Vec::new();
        for member in &striped.members {
            match striped.open_member(member, first.as_ref()).await {
                Ok(note) => first = first.or(Some(note)),
                Err(error) if error.kind == StoreErrorKind::Unavailable => {
                    failed.push((Arc::clone(member), error));
                }
                Err(error) => return Err(error),
            }
        }
        let Some(note) = first else {
            return Err(failed.pop().map(|(_, error)| error).unwrap_or_else(|| {
                refused(
                    StoreErrorKind::Invalid,
                    "a set of stores has at least one".to_string(),
                )
            }));
        };
        if usize::from(note.of) != listed {
            return Err(refused(
                StoreErrorKind::Invalid,
                format!("the set has {} stores, {listed} are listed", note.of),
            )
            .with_hint(Advice::ListWholeSet));
        }
        striped.set = u128::from_str_radix(&note.set, 16).unwrap_or_default();
        striped.of = note.of;
        // Processes begin with different stores, so that all share the load.
        let mut byte = [0];
        striped.runtime.fill_random(&mut byte);
        let alive: Vec<u8> = striped.alive().into_iter().map(|(number, _)| number).collect();
        let begin = alive
            .get(usize::from(byte[0]) % alive.len().max(1))
            .copied()
            .unwrap_or(0);
        *striped.lock_active() = (1, begin);
        let striped = Arc::new_cyclic(|me| Striped {
            me: Weak::clone(me),
            ..striped
        });
        for (member, error) in &failed {
            striped.await_return(member, error);
        }
        Ok(striped)
    }

    pub(super) async fn open_member(
        &self,
        member: &Member,
        first: Option<&StripeNote>,
    ) -> Result<StripeNote, StoreError> {
        let store = (member.open)().await?;
        let name = &member.name;
        let Some(note) = stripe_of(&*store).await? else {
            return Err(refused(
                StoreErrorKind::Foreign,
                format!("{name} is not a member of a set of stores"),
            )
            .with_hint(Advice::MakeSet));
        };
        let same_set = |first: &StripeNote| first.set == note.set && first.of == note.of;
        let twice = |number: u8| {
            let others = self
                .members
                .iter()
                .filter(|other| !std::ptr::eq(&***other, member));
            let mut numbers = others.filter_map(|other| other.lock().as_ref().map(|(note, _)| note.number));
            numbers.any(|other| other == number)
        };
        if !first.is_none_or(same_set) || twice(note.number) {
            return Err(refused(
                StoreErrorKind::Foreign,
                format!(
                    "{name} is store {} of {} in set {}: it belongs to another set, or is listed twice",
                    note.number, note.of, note.set
                ),
            ));
        }
        if let Some(why) = notes::sealed(&*store).await? {
            return Err(notes::refusal(&why));
        }
        let restored = notes::restored(&*store).await?;
        let guard = Guard::new(store, Arc::clone(&self.runtime), None, restored, None);
        guard.begin().await?;
        *member.lock() = Some((note.clone(), guard));
        Ok(note)
    }

    pub(super) fn lock_active(&self) -> MutexGuard<'_, (u64, u8)> {
        self.active.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The stores that are open and answer, by number.
    pub(super) fn alive(&self) -> Vec<(u8, Arc<Guard>)> {
        let mut alive: Vec<_> = self
            .members
            .iter()
            .filter(|member| !member.is_away.load(Ordering::Acquire))
            .filter_map(|member| {
                member
                    .lock()
                    .as_ref()
                    .map(|(note, guard)| (note.number, Arc::clone(guard)))
            })
            .collect();
        alive.sort_by_key(|(number, _)| *number);
        alive
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

    /// The store that sequences are taken from now.
    pub(super) fn active(&self) -> Result<(u64, u8, Arc<Guard>), StoreError> {
        let alive = self.alive();
        let mut active = self.lock_active();
        let (switch, number) = *active;
        if let Some((_, guard)) = alive.iter().find(|(n, _)| *n == number) {
            return Ok((switch, number, Arc::clone(guard)));
        }
        // The next one in the ring.
        let next = alive.iter().find(|(n, _)| *n > number).or(alive.first());
        let Some((next, guard)) = next else {
            return Err(self.none_answers());
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

    /// Whether a store is there of which nothing bad was heard just now.
    pub(crate) fn any_alive(&self) -> bool {
        !self.alive().is_empty()
    }

    /// Asks all stores at once for a register, and is done with the first answer.
    ///
    /// # Errors
    /// None answers.
    pub(crate) async fn probe(&self, key: &Key) -> Result<(), StoreError> {
        let mut asked = self.ask_alive(|_, guard| Box::pin(async move { guard.get(key).await }));
        std::future::poll_fn(|cx| {
            let mut answered = false;
            asked.retain_mut(|asking| match asking.as_mut().poll(cx) {
                Poll::Ready((_, answer)) => {
                    answered |= !is_away(&answer);
                    false
                }
                Poll::Pending => true,
            });
            match answered {
                true => Poll::Ready(Ok(())),
                false if asked.is_empty() => Poll::Ready(Err(self.none_answers())),
                false => Poll::Pending,
            }
        })
        .await
    }

    /// Asks all stores that are alive at once, so that the time of slow ones does not add up, and waits for every
    /// answer. They come by number.
    pub(super) async fn all_alive<'a, T: Send + 'a>(
        &'a self,
        call: impl Fn(u8, Arc<Guard>) -> BoxFuture<'a, Result<T, StoreError>>,
    ) -> Vec<(u8, Result<T, StoreError>)> {
        let asked = self.ask_alive(call).into_iter();
        let mut asked: Vec<_> = asked.map(|asking| (asking, None)).collect();
        std::future::poll_fn(|cx| {
            let mut is_waiting = false;
            for (asking, answer) in &mut asked {
                if answer.is_none() {
                    match asking.as_mut().poll(cx) {
                        Poll::Ready(found) => *answer = Some(found),
                        Poll::Pending => is_waiting = true,
                    }
                }
            }
            match is_waiting {
                true => Poll::Pending,
                false => Poll::Ready(()),
            }
        })
        .await;
        asked.into_iter().filter_map(|(_, answer)| answer).collect()
    }

    /// One call to every store that is alive, none of them begun.
    fn ask_alive<'a, T: Send + 'a>(
        &'a self,
        call: impl Fn(u8, Arc<Guard>) -> BoxFuture<'a, Result<T, StoreError>>,
    ) -> Vec<Asking<'a, T>> {
        let ask = |(number, guard)| -> Asking<'a, T> {
            let calling = call(number, guard);
            Box::pin(async move { (number, self.ask(number, calling).await) })
        };
        self.alive().into_iter().map(ask).collect()
    }

    /// The refusal when no store of the set is there.
    pub(super) fn none_answers(&self) -> StoreError {
        refused(
            StoreErrorKind::Unavailable,
            format!("none of the {} stores answers", self.of),
        )
    }
}
