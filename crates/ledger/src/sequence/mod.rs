//! Sequences: numbers from memory, reserved ahead.
//!
//! | file | what |
//! | --- | --- |
//! | `spec` | what people say and are told |
//! | `state` | the rules, as arithmetic on the stored record |
//! | `range` | runs of numbers and their ordinals |
//! | `stock`, `counter` | numbers in memory: the hot path |
//! | `demand` | how large a block should be |
//! | `task` | the one task that talks to the store, and how it serves: as one of the next four |
//! | `alone` | where the store is ours alone: the stock is closed meanwhile |
//! | `shared` | where it is not: the stock stays open |
//! | `origin` | where numbers come out of a counter elsewhere |
//! | `gap_free` | where no number may be lost: there is no stock |
//! | `closed` | what the first and the last have in common |
//! | `claim` | one claim, from the first try to its outcome |
//! | `memory` | what the task knows from one round to the next |
//! | `found` | what the store holds, taken over |
//! | `plan` | how much is kept for an outage |
//! | `change` | changes of the definition |
//! | `owned` | large blocks, of which pieces go to the stock |
//! | `stripes` | changes of the definition in all of them |
//! | `passage` | a sequence that is moved here, beside its original, or back |
//! | `sealed` | what a move does with it, and keeps others from doing |
//! | `reserved` | what is held, was reserved and is lost, for whoever asks |
//! | `explained` | where a number of it comes from, as far as record and memory tell |
//! | `usage` | how fast a name is used, and what it has left |

mod alone;
mod change;
mod claim;
mod closed;
mod counter;
mod demand;
mod explained;
mod found;
mod gap_free;
mod memory;
mod origin;
mod owned;
mod passage;
mod plan;
mod range;
mod reserved;
mod sealed;
mod shared;
mod spec;
pub(crate) mod state;
mod stock;
mod stripes;
mod task;
mod usage;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

use arc_swap::{ArcSwap, ArcSwapOption};
use mintage::Run;
use tokio::sync::oneshot;

pub use explained::NumberOrigin;
pub(crate) use explained::explain_number;
pub(crate) use passage::Pass;
pub use passage::{Origin, Passage, PassageIs};
pub use range::HeldBlock;
pub(crate) use spec::Change;
pub use spec::{Gap, MAX_GAP_LIMIT, RestartAt, SequenceInfo, SequencePatch, SequenceSpec, SetOutcome};
pub(crate) use state::State;
pub(crate) use stripes::ChangeOfAll;
pub(crate) use usage::InUse;
pub use usage::SequenceStock;

use crate::context::Context;
use crate::error::LedgerError;
use crate::journal::Entry;
use crate::name::Name;
use crate::store::Key;
use memory::TaskMemory;
use owned::Owned;
use range::{Ask, Range};
use stock::{Stock, Taken};
use task::{Job, SequenceTask, Taker};

/// One sequence, shared by all who take from it.
///
/// Thread-safe. Values that one process hands out by [`Sequence::try_take`] never repeat, whatever happens to
/// this process, its clock or its store; numbers that were reserved and not used are a gap.
#[derive(Debug)]
pub struct Sequence {
    name: Name,
    key: Key,
    context: Arc<Context>,
    in_use: Arc<InUse>,
    stock: Stock,
    owned: Owned,
    exists: AtomicBool,
    /// It was made by a take, which nobody was told of yet.
    was_made: AtomicBool,
    /// The store has a tombstone of it.
    is_tombstone: AtomicBool,
    /// A refill is queued, or waits for the store to come back.
    refill: AtomicBool,
    /// A piece of a large block is on its way to the stock.
    feeding: AtomicBool,
    /// How many numbers were answered without going through the stock.
    direct: AtomicU64,
    /// How many of its numbers are known to be lost since this object was made.
    lost: AtomicU64,
    /// The sequence is among those that are looked after every second.
    active: AtomicBool,
    /// When somebody last asked and got nothing, in milliseconds of boot time; 0: never.
    refused_ms: AtomicU64,
    me: Weak<Sequence>,
    queue: Mutex<Queue>,
    /// What the record was when the task last looked.
    published: ArcSwap<State>,
    /// Why its origin gave nothing when it was last asked, if it did not.
    origin_refusal: ArcSwapOption<String>,
}

#[derive(Debug)]
struct Queue {
    jobs: VecDeque<Job>,
    /// The task's own state; `None` while it works.
    idle: Option<TaskMemory>,
}

/// Ends a feeding, however it ends.
struct Fed<'a>(&'a Sequence);

impl Drop for Fed<'_> {
    fn drop(&mut self) {
        self.0.feeding.store(false, Ordering::Release);
    }
}

/// The task while it works. Dropped half-way, it leaves the sequence to the next one.
struct Work {
    sequence: Arc<Sequence>,
    known: Option<TaskMemory>,
}

impl Work {
    async fn run(mut self) {
        loop {
            let jobs = {
                let mut queue = self.sequence.queue.lock().expect("no panic while held");
                if queue.jobs.is_empty() {
                    queue.idle = self.known.take();
                    return;
                }
                std::mem::take(&mut queue.jobs)
            };
            let known = self.known.as_mut().expect("put back only at the end");
            SequenceTask {
                sequence: &self.sequence,
                known,
            }
            .serve(jobs)
            .await;
        }
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        if let Some(mut known) = self.known.take() {
            known.interrupted();
            let mut queue = self.sequence.queue.lock().expect("no panic while held");
            queue.idle = Some(known);
            // Those who wait hear that nothing comes.
            queue.jobs.clear();
        }
    }
}

fn check_length(n: u64) -> Result<(), LedgerError> {
    match n {
        1..=stock::RUN_MAX => Ok(()),
        _ => Err(LedgerError::Invalid(format!(
            "cannot take a run of {n}: it has 1 to {} numbers",
            stock::RUN_MAX
        ))),
    }
}

impl Sequence {
    /// `owned` are the numbers of large blocks that the journal's `entry` says are ours.
    pub(crate) fn new(
        context: Arc<Context>,
        in_use: Arc<InUse>,
        name: Name,
        key: Key,
        state: State,
        entry: Entry,
        owned: Vec<Range>,
    ) -> Arc<Sequence> {
        let exists = state.version.is_some() && !state.dropped;
        let is_tombstone = state.is_written_tombstone();
        Arc::new_cyclic(|me| Sequence {
            me: me.clone(),
            owned: Owned::new(entry, owned),
            feeding: AtomicBool::new(false),
            direct: AtomicU64::new(0),
            lost: AtomicU64::new(0),
            active: AtomicBool::new(false),
            refused_ms: AtomicU64::new(0),
            name,
            key,
            context,
            in_use,
            stock: Stock::empty(state.last_before(state.ordinal).filter(|_| exists)),
            exists: AtomicBool::new(exists),
            was_made: AtomicBool::new(false),
            is_tombstone: AtomicBool::new(is_tombstone),
            refill: AtomicBool::new(false),
            published: ArcSwap::from_pointee(state.clone()),
            origin_refusal: ArcSwapOption::empty(),
            queue: Mutex::new(Queue {
                jobs: VecDeque::new(),
                idle: Some(TaskMemory::new(state)),
            }),
        })
    }

    /// What is known of the record may be old: it is read before the next write.
    pub(crate) fn mistrust_record(&self) {
        let mut queue = self.queue.lock().expect("no panic while held");
        if let Some(known) = &mut queue.idle {
            known.interrupted();
        }
    }

    /// The sequence's name.
    pub fn name(&self) -> &Name {
        &self.name
    }

    /// Takes a linear run of 1 to `n` numbers from memory; `None`: nothing in stock (gap-free sequences never
    /// have any), so [`Sequence::take`] must be asked. No lock, no allocation, no I/O.
    #[inline]
    pub fn try_take(self: &Arc<Self>, n: u64) -> Option<Run> {
        self.taken(self.stock.take(n))
    }

    /// Takes exactly `n` numbers as one run from memory, if it has that many; nothing moves otherwise (protocol S2),
    /// and never where [`Sequence::take_contiguous`] refuses. What lies before the run is given up: numbers rise. No
    /// I/O; and no lock where the current block has them.
    #[inline]
    pub fn try_take_contiguous(self: &Arc<Self>, n: u64) -> Option<Run> {
        self.check_run(n).ok()?;
        self.try_take_linear(n)
    }

    /// The same, with whatever steps the numbers in stock have.
    #[inline]
    fn try_take_linear(self: &Arc<Self>, n: u64) -> Option<Run> {
        match self.stock.take_exactly(n) {
            Taken::Empty => self.take_further(n),
            taken => self.taken(taken),
        }
    }

    /// A run that the current block has not: out of that and the next together if they touch, else of a later one.
    #[cold]
    fn take_further(self: &Arc<Self>, n: u64) -> Option<Run> {
        let run = Ask { n, contiguous: true };
        let served = self.stock.serve(run, None, None);
        self.passed_over(&served);
        if served.run.is_some() && served.low {
            self.run_low();
        }
        served.run
    }

    #[inline]
    fn taken(self: &Arc<Self>, taken: Taken) -> Option<Run> {
        match taken {
            Taken::Run(run) => Some(run),
            Taken::RunLow(run) => {
                self.run_low();
                Some(run)
            }
            Taken::Empty => None,
        }
    }

    /// Takes a linear run of 1 to `n` numbers, waiting for the store where memory has none. Ask again for the
    /// rest. An unknown or dropped name is made by this, if settings allow.
    ///
    /// # Errors
    /// The bound was reached, the store cannot be reached, or nothing is minted any more.
    pub async fn take(self: &Arc<Self>, n: u64) -> Result<Run, LedgerError> {
        self.take_or_ask(Ask { n, contiguous: false }).await
    }

    /// Takes exactly `n` numbers as one run of consecutive values (protocol S2).
    ///
    /// # Errors
    /// As [`Sequence::take`]; and fewer than `n` numbers are left before the bound or the next wrap.
    pub async fn take_contiguous(self: &Arc<Self>, n: u64) -> Result<Run, LedgerError> {
        self.check_run(n)?;
        self.take_or_ask(Ask { n, contiguous: true }).await
    }

    /// Takes exactly `n` numbers as one run of equal steps, for whoever is told the step ([`Run::step`]): where the
    /// numbers are shared by several stores (protocol S9) it is one store's share, and has steps of
    /// [`Sequence::run_step`].
    ///
    /// # Errors
    /// As [`Sequence::take_contiguous`].
    pub async fn take_linear(self: &Arc<Self>, n: u64) -> Result<Run, LedgerError> {
        check_length(n)?;
        self.take_or_ask(Ask { n, contiguous: true }).await
    }

    /// From one number of a run to the next, by the definition and the stores that this process knows.
    pub fn run_step(&self) -> i64 {
        let state = self.published.load();
        state.def.increment.saturating_mul(i64::from(state.stripe().of))
    }

    /// Whether a run of `n` can be had at all, of memory or of the store.
    fn check_run(&self, n: u64) -> Result<(), LedgerError> {
        let stores = self.published.load().stripe().of;
        if n > 1 && stores > 1 {
            return Err(LedgerError::Invalid(format!(
                "a run of {n} numbers: each of the {stores} stores has its own share, so that none has a run"
            )));
        }
        check_length(n)
    }

    /// From one number to the next, by the definition that this process knows.
    pub fn increment(&self) -> i64 {
        self.published.load().def.increment
    }

    async fn take_or_ask(self: &Arc<Self>, mut ask: Ask) -> Result<Run, LedgerError> {
        let most = match ask.contiguous {
            true => stock::RUN_MAX,
            false => stock::TAKE_MAX,
        };
        ask.n = ask.n.clamp(1, most);
        if let Some(run) = self.take_owned(ask).await {
            return Ok(run);
        }
        let (answer, answered) = oneshot::channel();
        self.enqueue(Job::Take(Taker { ask, answer }))?;
        let taken = answered.await.map_err(|_| LedgerError::Closing)?;
        if matches!(
            taken,
            Err(LedgerError::Unavailable { .. } | LedgerError::OriginRefuses(_))
        ) {
            self.was_refused();
        }
        taken
    }

    pub(crate) async fn change(self: &Arc<Self>, change: Change) -> Result<SetOutcome, LedgerError> {
        let (answer, answered) = oneshot::channel();
        self.enqueue(Job::Change { change, answer })?;
        answered.await.map_err(|_| LedgerError::Closing)?
    }

    /// Gives unused numbers back where the store allows it; the stock is empty after that.
    pub(crate) fn ask_to_give_back(self: &Arc<Self>) -> oneshot::Receiver<()> {
        let (answer, answered) = oneshot::channel();
        self.push(Job::GiveBack { answer });
        answered
    }

    /// Whether nothing of it is under way, and nothing would be forgotten with this object that the store does not
    /// know: claims of unknown outcome, and gap-free numbers that go out next (protocol S6).
    pub(crate) fn rests(&self) -> bool {
        if self.refill.load(Ordering::Acquire) || self.feeding.load(Ordering::Acquire) {
            return false;
        }
        let queue = self.queue.lock().expect("no panic while held");
        queue.jobs.is_empty() && queue.idle.as_ref().is_some_and(TaskMemory::is_at_rest)
    }

    /// Loses all stock, at once: this process's register was lost (protocol R4).
    pub(crate) fn drop_stock(self: &Arc<Self>) {
        self.drop_all(None);
    }

    /// Another node has raised the generation to `generation`: numbers of an older definition are not given out
    /// from here on (protocol S5). At once, whatever the store does; the new definition is read at the next claim.
    pub(crate) fn saw_generation(&self, generation: u64) {
        if self.is_shared() && self.published.load().generation < generation {
            self.drop_all(None);
        }
    }

    /// Looks at the stored record, and loses all stock of an older definition (protocol S5). Answers whether it
    /// could.
    pub(crate) fn ask_to_look(self: &Arc<Self>) -> oneshot::Receiver<bool> {
        let (answer, answered) = oneshot::channel();
        self.push(Job::Look { answer });
        answered
    }

    /// The highest number this process knows to be issued; after a crash, the mark (protocol S8).
    pub fn last_issued(&self) -> Option<i64> {
        if self.exists() {
            self.stock.last_issued()
        } else {
            None
        }
    }

    /// Whether a take of this process has made the name, for the one who asks first: later answers are `false` until it
    /// is made anew.
    pub fn told_as_made(&self) -> bool {
        self.was_made.load(Ordering::Relaxed) && self.was_made.swap(false, Ordering::AcqRel)
    }

    /// Whether the name exists: it was made, and not dropped since.
    pub fn exists(&self) -> bool {
        self.exists.load(Ordering::Acquire)
    }

    /// Whether numbers repeat by definition.
    pub fn is_cycling(&self) -> bool {
        self.published.load().def.cycle
    }

    /// What the sequence is and where it stands.
    pub fn info(&self) -> SequenceInfo {
        let state = self.published.load();
        let mut info = state.info(&self.name, state.ordinal);
        info.last = self.stock.last_issued();
        info.unused = self.stock.unused().saturating_add(self.owned_count());
        info.forecast = self.forecast();
        info
    }

    /// The stock is low.
    #[cold]
    fn run_low(self: &Arc<Self>) {
        if self.is_shared() && self.owned_count() > 0 {
            if !self.feeding.swap(true, Ordering::AcqRel) {
                let sequence = Arc::clone(self);
                self.context.runtime.spawn_near(Box::pin(async move {
                    let _done = Fed(&sequence);
                    sequence.keep_active();
                    sequence.feed(None).await;
                }));
            }
            return;
        }
        self.ask_for_refill();
    }

    #[cold]
    fn ask_for_refill(self: &Arc<Self>) {
        if !self.refill.load(Ordering::Relaxed) && !self.refill.swap(true, Ordering::AcqRel) {
            // Refused only while closing.
            let _ = self.enqueue(Job::Refill);
        }
    }

    fn enqueue(self: &Arc<Self>, job: Job) -> Result<(), LedgerError> {
        if let Some(error) = self.context.store.stopped() {
            return Err(LedgerError::Stopped(error));
        }
        if self.context.closing.load(Ordering::Acquire) {
            return Err(LedgerError::Closing);
        }
        self.push(job);
        Ok(())
    }

    /// Queues a job and starts the task if it rests.
    fn push(self: &Arc<Self>, job: Job) {
        let mut queue = self.queue.lock().expect("no panic while held");
        queue.jobs.push_back(job);
        if let Some(known) = queue.idle.take() {
            drop(queue);
            let work = Work {
                sequence: Arc::clone(self),
                known: Some(known),
            };
            self.context.runtime.spawn_near(Box::pin(work.run()));
        }
    }

    // What the task tells.

    fn note_made(&self) {
        self.was_made.store(true, Ordering::Release);
    }

    fn refill_begins(&self) {
        self.refill.store(false, Ordering::Release);
    }

    fn publish(&self, state: &State) {
        if **self.published.load() != *state {
            self.published.store(Arc::new(state.clone()));
        }
    }

    /// What the store has of it is this.
    fn set_stored(&self, state: &State) {
        let (exists, is_tombstone) = (!state.dropped, state.is_written_tombstone());
        count(&self.exists, exists, &self.context.sequences);
        count(&self.is_tombstone, is_tombstone, &self.context.dropped);
    }

    /// An empty stock; `last` is the last number issued.
    fn restock(&self, last: Option<i64>) {
        self.stock.restart(last);
    }

    /// Whether it may be made: by its name, and by how many there are.
    fn check_room(&self) -> Result<(), LedgerError> {
        self.name.check_new()?;
        let max = self.context.settings.max_sequences;
        if self.context.sequences.load(Ordering::Relaxed) >= max {
            return Err(LedgerError::TooMany {
                name: self.name.clone(),
                max,
            });
        }
        Ok(())
    }
}

/// Sets a flag, and counts among `all` whose flag is set.
fn count(flag: &AtomicBool, is: bool, all: &AtomicU64) {
    if flag.swap(is, Ordering::AcqRel) == is {
        return;
    }
    // Saturating: another process may have made it after we counted.
    let step = |count: u64| match is {
        true => count.saturating_add(1),
        false => count.saturating_sub(1),
    };
    let _ = all.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| Some(step(n)));
}
