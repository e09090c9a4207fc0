//! One serving thread's door to the service: the hot path.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use mintage::{Run, Uuid};
use mintage_ledger::{Pool, Sequence};

use super::known::KnownSequences;
use super::one_tick::{self, TickRun};
use super::{Answer, Service, check_count, from_ledger};
use crate::config::Config;
use crate::error::{Code, ServiceError};
use crate::formats::{FormatRow, Make};
use crate::metrics::{IdKind, ThreadCounters};
use crate::noise::Asker;

/// One thread's way to the service: its memory of names, its counters. Not shared between threads: no lock, no
/// contended line. Who must be free to go from thread to thread takes a [`SendDoor`](super::SendDoor).
#[derive(Debug)]
pub struct Door {
    service: Arc<Service>,
    /// This thread's own, so that no request touches what threads share.
    config: RefCell<Rc<Config>>,
    counters: Arc<ThreadCounters>,
    known: RefCell<KnownSequences>,
    /// The pool asked for last.
    pool: RefCell<Option<Arc<Pool>>>,
}

impl Door {
    /// The door of one out of so many threads.
    pub fn new(service: Arc<Service>, threads: u64) -> Door {
        let config = service.config();
        Door {
            counters: service.metrics.thread(),
            known: RefCell::new(KnownSequences::new(names_max(&config, threads))),
            config: RefCell::new(Rc::new(Config::clone(&config))),
            service,
            pool: RefCell::new(None),
        }
    }

    /// What all threads share.
    pub fn service(&self) -> &Arc<Service> {
        &self.service
    }

    /// The configuration, as it is now.
    #[inline]
    pub fn config(&self) -> Rc<Config> {
        Rc::clone(&self.config.borrow())
    }

    /// Follows changes of the configuration, for ever.
    pub(crate) async fn follow_configuration(&self) {
        let mut changes = self.service.changes();
        // What changed before anybody listened.
        changes.mark_changed();
        while changes.changed().await.is_ok() {
            let config = self.service.config();
            *self.config.borrow_mut() = Rc::new(Config::clone(&config));
        }
    }

    /// This thread's counters.
    pub fn counters(&self) -> &Arc<ThreadCounters> {
        &self.counters
    }

    /// Checks how many ids a request asks for.
    ///
    /// # Errors
    /// [`Code::InvalidCount`](crate::error::Code::InvalidCount), with the range.
    pub fn count(&self, count: Option<u64>) -> Answer<u64> {
        check_count(count, self.config().max_count)
    }

    /// Takes 1 to `n` numbers of a sequence that this thread knows, if any are in stock. No lock, no
    /// allocation, no wait.
    #[inline]
    pub fn try_take(&self, name: &[u8], n: u64) -> Option<Run> {
        let run = self.known.borrow_mut().find(name)?.try_take(n)?;
        self.counters.ids(IdKind::Sequence, run.count);
        Some(run)
    }

    /// Takes one run of exactly `n` numbers of a sequence that this thread knows, if memory has it. No lock, no
    /// allocation, no wait.
    #[inline]
    pub fn try_take_contiguous(&self, name: &[u8], n: u64) -> Option<Run> {
        let run = self.known.borrow_mut().find(name)?.try_take_contiguous(n)?;
        self.counters.ids(IdKind::Sequence, run.count);
        Some(run)
    }

    /// Takes exactly `n` numbers, handing them to `each` run by run; makes the sequence if needed, and has the log tell
    /// by whom.
    ///
    /// # Errors
    /// What stopped it; runs handed out before are used up.
    pub async fn take(
        &self,
        name: &[u8],
        n: u64,
        by: &Asker<'_>,
        mut each: impl FnMut(Run),
    ) -> Answer<Arc<Sequence>> {
        let sequence = self.sequence_or_create(name).await?;
        let mut left = n;
        while left > 0 {
            let run = self.service.take_some(&sequence, left, by).await?;
            self.counters.ids(IdKind::Sequence, run.count);
            left -= run.count;
            each(run);
        }
        Ok(sequence)
    }

    /// Takes exactly `n` numbers as one run without a hole; makes the sequence as [`Door::take`] does.
    ///
    /// # Errors
    /// [`Code::Exhausted`](crate::error::Code::Exhausted) when fewer are left before the bound, and what the store says.
    pub async fn take_contiguous(&self, name: &[u8], n: u64, by: &Asker<'_>) -> Answer<(Run, Arc<Sequence>)> {
        let sequence = self.sequence_or_create(name).await?;
        let run = self.service.take_run(&sequence, n, by).await?;
        self.counters.ids(IdKind::Sequence, run.count);
        Ok((run, sequence))
    }

    /// Takes one run that spans about `span` from its first number to its last and has one number at least, for a client
    /// that is told its step: that of one store's share, where the numbers are shared by several.
    ///
    /// # Errors
    /// As [`Door::take_contiguous`].
    pub async fn take_spanning(&self, name: &[u8], span: u64, by: &Asker<'_>) -> Answer<Run> {
        let sequence = self.sequence_or_create(name).await?;
        let n = (span / sequence.run_step().unsigned_abs().max(1)).max(1);
        let run = self.service.take_linear(&sequence, n, by).await?;
        self.counters.ids(IdKind::Sequence, run.count);
        Ok(run)
    }

    /// As [`Door::try_take_contiguous`], for a client that is told one number of the run and reckons the others from it,
    /// in steps of 1: none where the sequence has other steps.
    #[inline]
    pub fn try_take_counted(&self, name: &[u8], n: u64) -> Option<Run> {
        let in_ones = n == 1 || self.known.borrow_mut().find(name)?.increment() == 1;
        in_ones.then(|| self.try_take_contiguous(name, n))?
    }

    /// As [`Door::take_contiguous`], for a client that is told one number of the run and reckons the others from it, in
    /// steps of 1.
    ///
    /// # Errors
    /// As there; [`Code::InvalidArgument`](crate::error::Code::InvalidArgument) where the sequence has other steps.
    pub async fn take_counted(&self, name: &[u8], n: u64, by: &Asker<'_>) -> Answer<(Run, Arc<Sequence>)> {
        let sequence = self.sequence_or_create(name).await?;
        check_steps(&sequence, n, sequence.increment())?;
        let run = self.service.take_run(&sequence, n, by).await?;
        // Somebody may have changed it meanwhile: such a run is given to nobody.
        check_steps(&sequence, n, run.step)?;
        self.counters.ids(IdKind::Sequence, run.count);
        Ok((run, sequence))
    }

    /// Whether a sequence that this thread knows repeats by definition.
    pub fn is_cycling(&self, name: &[u8]) -> bool {
        self.known
            .borrow_mut()
            .find(name)
            .is_some_and(|sequence| sequence.is_cycling())
    }

    /// The last number issued of a sequence that this thread knows to exist.
    pub fn last_issued(&self, name: &[u8]) -> Option<i64> {
        let mut known = self.known.borrow_mut();
        known.find(name)?.last_issued()
    }

    /// The last number issued of a sequence, if it exists and has issued any. What is no name does not exist.
    ///
    /// # Errors
    /// What the store says.
    pub async fn last(&self, name: &[u8]) -> Answer<Option<i64>> {
        if let Some(last) = self.last_issued(name) {
            return Ok(Some(last));
        }
        self.service.last(name).await
    }

    /// Whether this thread knows that a sequence exists, without waiting.
    pub fn knows(&self, name: &[u8]) -> bool {
        let mut known = self.known.borrow_mut();
        known.find(name).is_some_and(|sequence| sequence.exists())
    }

    /// Whether a sequence exists. What is no name does not.
    ///
    /// # Errors
    /// What the store says.
    pub async fn exists(&self, name: &[u8]) -> Answer<bool> {
        if self.knows(name) {
            return Ok(true);
        }
        self.service.exists(name).await
    }

    /// Fills `out` with UUIDs from memory; `false`: they must be waited for ([`Door::mint_timed`]).
    #[must_use]
    pub fn mint_uuids(&self, make: Make, out: &mut [Uuid]) -> bool {
        if !self.service.mint_uuids(make, out) {
            return false;
        }
        self.counters.ids(make.kind(), out.len() as u64);
        true
    }

    /// Makes `count` ids of a format that core makes alone, by the clock of the ledger; `None`: whether they get the time
    /// must be waited for ([`Door::make`]).
    pub fn try_make(
        &self,
        row: &FormatRow,
        options: &mintage::GenOptions,
        count: usize,
    ) -> Option<Answer<Vec<mintage::Id>>> {
        let clock = self.service.ledger.clock();
        if row.format.time.is_some() && clock.refusal().is_some() {
            return None;
        }
        let ids = row.make(clock, options, count);
        if ids.is_ok() {
            self.counters.ids(row.make.kind(), count as u64);
        }
        Some(ids)
    }

    /// Makes `count` ids of a format that core makes alone, by the clock of the ledger.
    ///
    /// # Errors
    /// As [`FormatRow::make`].
    pub async fn make(
        &self,
        row: &FormatRow,
        options: &mintage::GenOptions,
        count: usize,
    ) -> Answer<Vec<mintage::Id>> {
        let ids = self.service.make(row, options, count).await?;
        self.counters.ids(row.make.kind(), count as u64);
        Ok(ids)
    }

    /// Fills `out` with UUIDs of any version that is made here; versions 1 and 6 come from `pool`.
    ///
    /// # Errors
    /// There is no such pool, or it makes something else. [`Code::Unavailable`](crate::error::Code::Unavailable) with the seconds to wait: no window, or more than 10 million of versions 1 and 6 a
    /// second.
    pub async fn mint_timed(&self, make: Make, pool: &[u8], out: &mut [Uuid]) -> Answer<()> {
        if self.mint_uuids(make, out) {
            return Ok(());
        }
        self.service.mint_waiting(make, pool, out).await?;
        self.counters.ids(make.kind(), out.len() as u64);
        Ok(())
    }

    /// Fills the beginning of `out` with ids of the pool this thread asked last; how many, 0 if it must wait.
    pub fn try_mint(&self, pool: &[u8], out: &mut [u64]) -> usize {
        let known = self.pool.borrow();
        let Some(pool) = known
            .as_ref()
            .filter(|known| known.name().as_str().as_bytes() == pool)
        else {
            return 0;
        };
        let minted = pool.try_mint(out).unwrap_or(0);
        self.counters.ids(IdKind::Snowflake, minted as u64);
        minted
    }

    /// Fills `out` with ids of a pool.
    ///
    /// # Errors
    /// [`Code::NotFound`](crate::error::Code::NotFound), [`Code::Unavailable`](crate::error::Code::Unavailable) with the seconds to wait, [`Code::Exhausted`](crate::error::Code::Exhausted).
    pub async fn mint(&self, pool: &[u8], out: &mut [u64]) -> Answer<()> {
        let pool = self.service.pool(pool).await?;
        pool.mint(out).await.map_err(from_ledger)?;
        self.counters.ids(IdKind::Snowflake, out.len() as u64);
        *self.pool.borrow_mut() = Some(pool);
        Ok(())
    }

    /// Takes `count` ids of a pool, all of one tick and with sequence numbers that follow each other, if `fits` finds
    /// nothing wrong with the pool.
    ///
    /// # Errors
    /// What `fits` says; [`Code::InvalidCount`](crate::error::Code::InvalidCount) where a tick has fewer; and as
    /// [`Door::mint`].
    pub async fn mint_in_one_tick(
        &self,
        pool: &[u8],
        count: u64,
        fits: impl FnOnce(&Pool) -> Answer<()>,
    ) -> Answer<TickRun> {
        let pool = self.service.pool(pool).await?;
        fits(&pool)?;
        let run = one_tick::take(&pool, count).await?;
        self.counters.ids(IdKind::Snowflake, count);
        Ok(run)
    }

    /// Forgets names that were not used lately, every now and then, for ever.
    pub(crate) async fn let_idle_names_go(&self) {
        loop {
            tokio::time::sleep(self.config().idle_after.clamp(LOOK_EVERY.0, LOOK_EVERY.1)).await;
            self.known.borrow_mut().let_idle_go();
        }
    }

    async fn sequence_or_create(&self, name: &[u8]) -> Answer<Arc<Sequence>> {
        if let Some(known) = self.known.borrow_mut().find(name) {
            return Ok(known.clone());
        }
        let sequence = self.service.sequence_or_create(name).await?;
        self.known.borrow_mut().remember(name, &sequence);
        Ok(sequence)
    }
}

/// Refuses a run whose numbers do not follow in steps of 1.
fn check_steps(sequence: &Sequence, n: u64, step: i64) -> Answer<()> {
    if n == 1 || step == 1 {
        return Ok(());
    }
    let message = format!(
        "{} counts by {step}, and a run of {n} is answered by one number, from which the others are reckoned in steps of 1",
        sequence.name()
    );
    let hint = "take its numbers one by one, or a run by HTTP (as=range), which says the step";
    Err(ServiceError::new(Code::InvalidArgument, message).with_hint(hint))
}

/// How many names one thread remembers at most; about 200 bytes each.
const NAMES_MAX: usize = 16_384;

/// How often names that are not used any more are looked for.
const LOOK_EVERY: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

/// How many names one of so many threads remembers: all of them together no more than half of those that the ledger may
/// hold, which could let none go otherwise.
fn names_max(config: &Config, threads: u64) -> usize {
    let share = config.max_loaded / (2 * threads.max(1));
    usize::try_from(share).unwrap_or(usize::MAX).clamp(1, NAMES_MAX)
}
