//! A store of a set that does not answer: no call waits for it, one task asks it until it does.
//!
//! ```text
//!   a call is refused as unavailable, or given up after a second    the store is away: no call asks it
//!   away, and refuses at once                                       asked once a second
//!   away, and does not answer (it hangs)                            asked after 1, 2, 4 and from then on 8 s
//!   no store of the set answers                                     each is asked once a second
//!   it answers                                                      it takes part again
//! ```
//!
//! A store that could not be opened is away in the same way: asking it is opening it.

use std::fmt::Display;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use super::members::Member;
use super::{StripeNote, Striped, stripe_key};
use crate::guard::Guard;
use crate::store::{Store, StoreError, StoreErrorKind};

/// How long a store that failed is left alone, and from when on a call that is given up says that it hangs.
const REST: Duration = Duration::from_secs(1);
/// How long one that hangs is left alone at most, after it was asked in vain.
const REST_MAX: Duration = Duration::from_secs(8);
/// How long its answer is awaited, should the store itself set no end.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);

/// The pause after a question that was not answered: twice the last one, if the store let us wait.
pub(super) fn next_pause(last: Duration, asked_for: Duration) -> Duration {
    match asked_for < REST {
        true => REST,
        false => (last * 2).min(REST_MAX),
    }
}

/// A call that was sent; given up by its caller, it says as much as an answer.
struct Waiting<'a> {
    set: &'a Striped,
    number: u8,
    since: Duration,
    is_answered: bool,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let waited = self.set.runtime.boottime().saturating_sub(self.since);
        if !self.is_answered && waited >= REST {
            let why = format!("no answer within {} ms", waited.as_millis());
            self.set.leave_alone(self.number, &why);
        }
    }
}

impl Striped {
    /// What a store answers. One that turns out to be away is left alone.
    pub(super) async fn ask<T>(
        &self,
        number: u8,
        call: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let mut waiting = Waiting {
            set: self,
            number,
            since: self.runtime.boottime(),
            is_answered: false,
        };
        let answer = call.await;
        waiting.is_answered = true;
        if let Err(error) = &answer
            && error.kind == StoreErrorKind::Unavailable
        {
            self.leave_alone(number, error);
        }
        answer
    }

    /// From now on one task asks this store, and nobody else does until it answers.
    pub(super) fn leave_alone(&self, number: u8, why: &dyn Display) {
        let numbered = |member: &&Arc<Member>| {
            let opened = member.lock();
            opened.as_ref().is_some_and(|(note, _)| note.number == number)
        };
        if let Some(member) = self.members.iter().find(numbered) {
            self.await_return(member, why);
        }
    }

    /// Asks a store that is away, in the background, until it answers.
    pub(super) fn await_return(&self, member: &Arc<Member>, why: &dyn Display) {
        if member.is_away.swap(true, Ordering::AcqRel) {
            return;
        }
        tracing::warn!(store = %member.name, error = %why, "one store of the set does not answer");
        let (set, member, runtime) = (
            Weak::clone(&self.me),
            Arc::clone(member),
            Arc::clone(&self.runtime),
        );
        self.runtime.spawn(Box::pin(async move {
            let (mut pause, mut waited) = (REST, Duration::ZERO);
            loop {
                runtime.sleep(REST).await;
                waited += REST;
                let Some(set) = set.upgrade() else { return };
                if waited < pause && set.any_alive() {
                    continue;
                }
                let begun = runtime.boottime();
                if set.answers(&member).await {
                    return;
                }
                pause = next_pause(pause, runtime.boottime().saturating_sub(begun));
                waited = Duration::ZERO;
            }
        }));
    }

    /// Asks a store that is away; one that answers takes part again.
    async fn answers(&self, member: &Arc<Member>) -> bool {
        let opened = member.lock().as_ref().map(|(_, guard)| Arc::clone(guard));
        let asking = async {
            match opened {
                Some(guard) => self.look_at(&guard).await,
                None => self.open_member(member, Some(&self.note())).await.map(drop),
            }
        };
        let answer = tokio::select! {
            // In a fixed order, so that a simulated run repeats.
            biased;
            answer = asking => answer,
            () = self.runtime.sleep(ANSWER_WITHIN) => return false,
        };
        match answer {
            Err(error) if error.kind == StoreErrorKind::Unavailable || member.lock().is_none() => {
                tracing::debug!(store = %member.name, %error, "does not answer yet");
                false
            }
            // What else it says is for those who ask it.
            _ => {
                member.is_away.store(false, Ordering::Release);
                tracing::info!(store = %member.name, "one more store of the set answers");
                true
            }
        }
    }

    async fn look_at(&self, guard: &Arc<Guard>) -> Result<(), StoreError> {
        guard.get(&stripe_key()).await?;
        // It may not be what it was, which is to be seen before it is taken from.
        guard.beat().await;
        Ok(())
    }

    /// What every member of this set says of it, but for its number.
    fn note(&self) -> StripeNote {
        StripeNote {
            set: format!("{:032x}", self.set),
            number: 0,
            of: self.of,
        }
    }

    /// Sees whether every store that answers is whole. Whoever asks for this does not wait for one that hangs.
    pub(super) async fn beat(&self) {
        let mut beating = Vec::new();
        for member in &self.members {
            let opened = member.lock().as_ref().map(|(_, guard)| Arc::clone(guard));
            let Some(guard) = opened.filter(|_| !member.is_away.load(Ordering::Acquire)) else {
                continue;
            };
            if member.is_beating.swap(true, Ordering::AcqRel) {
                continue;
            }
            let (tell, told) = tokio::sync::oneshot::channel();
            let member = Beating(Arc::clone(member));
            beating.push(told);
            self.runtime.spawn(Box::pin(async move {
                guard.beat().await;
                drop(member);
                // Nobody listens any more if it took long.
                let _ = tell.send(());
            }));
        }
        let all = async {
            for told in beating {
                // An error: the task has ended with its runtime.
                let _ = told.await;
            }
        };
        tokio::select! {
            // In a fixed order, so that a simulated run repeats.
            biased;
            () = all => {}
            () = self.runtime.sleep(REST) => {}
        }
    }
}

/// Clears the mark that a beat is under way, however it ends.
struct Beating(Arc<Member>);

impl Drop for Beating {
    fn drop(&mut self) {
        self.0.is_beating.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_that_hangs_is_asked_ever_more_rarely_up_to_the_stated_pause() {
        let hangs = |last| next_pause(last, ANSWER_WITHIN);
        let pauses: Vec<Duration> = std::iter::successors(Some(REST), |last| Some(hangs(*last)))
            .take(6)
            .collect();
        assert_eq!(pauses, [1, 2, 4, 8, 8, 8].map(Duration::from_secs));
        assert_eq!(next_pause(REST_MAX, Duration::from_millis(3)), REST);
    }
}
