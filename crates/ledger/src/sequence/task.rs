//! The one task of a sequence that talks to the store: refill, claims, and changes of the definition, one after
//! the other (protocol S5).
//!
//! Requests queue up while the store is busy; the next round serves all of them with one claim, which is the
//! group commit of gap-free sequences.

use std::collections::VecDeque;
use std::sync::Arc;

use mintage::Run;
use tokio::sync::oneshot;

use super::Sequence;
use super::memory::TaskMemory;
use super::range::{Ask, Range};
use super::spec::{Change, Gap, SequenceSpec, SetOutcome};
use super::state::State;
use super::stock::TAKE_MAX;
use crate::error::LedgerError;
use crate::makeable::Makeable;

/// What is asked of the task.
#[derive(Debug)]
pub(crate) enum Job {
    Take(Taker),
    Refill,
    Change {
        change: Change,
        answer: oneshot::Sender<Result<SetOutcome, LedgerError>>,
    },
    GiveBack {
        answer: oneshot::Sender<()>,
    },
    Look {
        answer: oneshot::Sender<bool>,
    },
    /// What is held, while no claim and no piece of a large block is on its way.
    Held {
        answer: oneshot::Sender<Vec<Range>>,
    },
}

/// Somebody who waits for numbers.
#[derive(Debug)]
pub(crate) struct Taker {
    pub(crate) ask: Ask,
    pub(crate) answer: oneshot::Sender<Result<Run, LedgerError>>,
}

pub(super) type Takers = VecDeque<Taker>;

/// How many numbers those who wait want, for whom one claim is to do. No more than ordinary requests want together: long
/// runs claim for themselves, so that one that is refused leaves no numbers behind.
pub(super) fn wanted<'t>(takes: impl IntoIterator<Item = &'t Taker>) -> u64 {
    let asked = takes.into_iter().map(|take| take.ask.n);
    asked.fold(0, u64::saturating_add).min(TAKE_MAX)
}

/// How a sequence is served: by whose store it is, and by whether numbers may be lost. Each has a file of its own.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ServedAs {
    /// The store is ours alone: the stock is closed while it is asked.
    Alone,
    /// The store is shared: takers go on from stock meanwhile.
    Shared,
    /// On any store: there is no stock.
    GapFree,
    /// On any store: numbers come out of a counter elsewhere, and the stock stays open.
    Origin,
}

/// One round of work on one sequence.
pub(crate) struct SequenceTask<'a> {
    pub(crate) sequence: &'a Arc<Sequence>,
    pub(crate) known: &'a mut TaskMemory,
}

impl SequenceTask<'_> {
    /// Serves everything that was queued, in order; neighbouring takes together.
    pub(crate) async fn serve(&mut self, jobs: VecDeque<Job>) {
        let mut takes = Takers::new();
        if jobs
            .iter()
            .any(|job| !matches!(job, Job::GiveBack { .. } | Job::Held { .. }))
        {
            self.sequence.keep_active();
        }
        for job in jobs {
            self.forget_if_dropped();
            if !matches!(job, Job::Take(_) | Job::Refill) {
                self.serve_takes(std::mem::take(&mut takes)).await;
            }
            match job {
                Job::Take(take) => takes.push_back(take),
                Job::Refill => self.refill().await,
                Job::Change { change, answer } => {
                    // A caller that went away does not undo the change.
                    let _ = answer.send(self.change(change).await);
                }
                Job::Look { answer } => {
                    let _ = answer.send(self.look().await);
                }
                Job::Held { answer } => {
                    let _no_piece_is_on_its_way = self.sequence.owned.entry.lock().await;
                    let adopted = self.known.adopted.iter().copied();
                    let _ = answer.send(adopted.chain(self.sequence.held()).collect());
                }
                Job::GiveBack { answer } => {
                    match self.sequence.is_shared() {
                        // What came out of an origin cannot go back, and its ordinals are nobody's.
                        _ if self.known.state.origin().is_some() => drop(self.sequence.drop_all(None)),
                        true => self.sequence.put_away().await,
                        false => self.give_back().await,
                    }
                    self.sequence.restock(self.sequence.stock.last_issued());
                    let _ = answer.send(());
                }
            }
        }
        self.serve_takes(takes).await;
        if self.known.attempts.is_empty() {
            // Room for a few takes half of what a name needs in memory.
            self.known.attempts = Vec::new();
        }
    }

    fn served_as(&self) -> ServedAs {
        match self.known.state.gap {
            _ if self.known.state.origin().is_some() => ServedAs::Origin,
            Gap::None => ServedAs::GapFree,
            Gap::Bounded if self.sequence.is_shared() => ServedAs::Shared,
            Gap::Bounded => ServedAs::Alone,
        }
    }

    async fn serve_takes(&mut self, mut takes: Takers) {
        while !takes.is_empty() {
            if let Err(error) = self.ensure_exists() {
                return refuse(takes, &error);
            }
            match self.served_as() {
                ServedAs::Alone => return self.serve_alone(takes).await,
                ServedAs::Shared => return self.serve_shared(takes).await,
                ServedAs::GapFree => return self.serve_gap_free(takes).await,
                // Whom it leaves are served by what the record has become meanwhile.
                ServedAs::Origin => self.serve_from_origin(&mut takes).await,
            }
        }
    }

    async fn refill(&mut self) {
        match self.served_as() {
            ServedAs::Alone => self.refill_alone().await,
            ServedAs::Shared => self.refill_shared().await,
            ServedAs::GapFree => self.sequence.refill_begins(),
            ServedAs::Origin => self.refill_from_origin().await,
        }
    }

    /// What this process held when everything was dropped is not ours any more, nor is what is under way: a copy of
    /// this process would find its own tokens too (protocol R1, R4).
    pub(super) fn forget_if_dropped(&mut self) {
        let epoch = self.sequence.owned.lock().epoch;
        if epoch != self.known.epoch {
            self.known.epoch = epoch;
            self.forget_attempts();
            let adopted = std::mem::take(&mut self.known.adopted);
            self.lose(adopted);
            self.known.stale = true;
        }
    }

    /// Whether the store has the sequence, as far as is known.
    pub(super) fn is_stored(&self) -> bool {
        self.known.state.version.is_some() && !self.known.state.dropped && !self.known.unsaved
    }

    /// A name's first use makes it; over a tombstone it continues above (protocol R2). Written by the claim
    /// that follows.
    pub(super) fn ensure_exists(&mut self) -> Result<(), LedgerError> {
        if self.is_stored() || self.known.state.frozen {
            return Ok(());
        }
        let context = &self.sequence.context;
        context.may_make_by_use(Makeable::Sequence, &self.sequence.name)?;
        self.sequence.check_room()?;
        if self.known.state.dropped {
            self.known.state = self.made(&SequenceSpec::default())?;
        }
        self.known.unsaved = true;
        Ok(())
    }

    /// The state of a name that is made now, over nothing or over its tombstone.
    pub(super) fn made(&self, spec: &SequenceSpec) -> Result<State, LedgerError> {
        let max_gap = self.sequence.context.settings.max_gap;
        match self.known.state.version {
            Some(_) => self.known.state.recreated(&self.sequence.name, spec, max_gap),
            None => State::fresh(spec, max_gap),
        }
    }

    /// Counts what nobody will see.
    pub(super) fn lose(&self, ranges: Vec<Range>) {
        self.sequence.lost(&ranges);
    }
}

pub(super) fn refuse(takes: Takers, error: &LedgerError) {
    for take in takes {
        let _ = take.answer.send(Err(error.clone()));
    }
}
