//! One serving thread's door to the service: the hot path.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use mintage::{Run, Uuid};
use mintage_ledger::{Name, Pool, Sequence};
use tokio::sync::Semaphore;

use super::names::Names;
use super::{Answer, Service, from_ledger};
use crate::config::Config;
use crate::error::{Code, ServiceError};
use crate::formats::{FormatRow, Make};
use crate::held::Held;
use crate::metrics::{IdKind, ThreadCounters};
use crate::noise::Asker;
use crate::turn::{SLICE, Turn};
use crate::watch::Watches;

/// What one thread needs to answer requests. Not shared between threads: no lock, no contended line.
#[derive(Debug)]
pub struct Worker {
    service: Arc<Service>,
    /// This thread's own, so that no request touches what threads share.
    config: RefCell<Rc<Config>>,
    counters: Arc<ThreadCounters>,
    names: RefCell<Names>,
    /// The pool asked for last.
    pool: RefCell<Option<Arc<Pool>>>,
    watches: Rc<Watches>,
    lane: Semaphore,
    next_connection: Cell<u64>,
    connection_step: u64,
    inputs: RefCell<Vec<Box<[u8]>>>,
    outputs: RefCell<Vec<Vec<u8>>>,
}

impl Worker {
    /// The door of thread `index` out of `threads`.
    pub fn new(service: Arc<Service>, index: u64, threads: u64) -> Rc<Worker> {
        Rc::new(Worker {
            counters: service.metrics.thread(),
            names: RefCell::new(Names::new(names_max(&service.config(), threads))),
            config: RefCell::new(Rc::new(Config::clone(&service.config()))),
            service,
            pool: RefCell::new(None),
            watches: Rc::default(),
            lane: Semaphore::new(1),
            next_connection: Cell::new(index + 1),
            connection_step: threads,
            inputs: RefCell::default(),
            outputs: RefCell::default(),
        })
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

    /// This thread's connections.
    pub fn watches(&self) -> &Rc<Watches> {
        &self.watches
    }

    /// Where those of this thread's connections stand that have had their turn and want another one.
    pub(crate) fn lane(&self) -> &Semaphore {
        &self.lane
    }

    /// A number for a connection that no other connection of this server has.
    pub fn connection_id(&self) -> u64 {
        let id = self.next_connection.get();
        self.next_connection.set(id + self.connection_step);
        id
    }

    /// A buffer to read into, large enough for a request of either face. Connections share them: only those
    /// that are just being served hold one.
    #[inline]
    pub(crate) fn borrow_input(&self) -> Box<[u8]> {
        self.inputs.borrow_mut().pop().unwrap_or_else(|| {
            let config = self.config();
            vec![0; config.resp_max_request.0.max(config.http_max_header.0)].into()
        })
    }

    /// Gives a buffer back.
    #[inline]
    pub(crate) fn return_input(&self, buffer: Box<[u8]>) {
        let mut inputs = self.inputs.borrow_mut();
        if inputs.len() < BUFFERS_MAX {
            inputs.push(buffer);
        }
    }

    /// Counts answers that a client does not read. Where these are too many, of all clients together, the one of this
    /// thread that has waited longest is cut off.
    pub(crate) fn hold_unread(&self, bytes: usize) -> Held {
        let held = self.service.unread().hold(bytes);
        if self.service.unread().bytes() > self.config().max_unread.0 as u64 {
            self.watches.cut_off_slowest();
        }
        held
    }

    /// An empty buffer to collect answers in.
    #[inline]
    pub(crate) fn borrow_output(&self) -> Vec<u8> {
        self.outputs.borrow_mut().pop().unwrap_or_default()
    }

    /// Gives a buffer back.
    #[inline]
    pub(crate) fn return_output(&self, mut buffer: Vec<u8>) {
        let mut outputs = self.outputs.borrow_mut();
        if outputs.len() < BUFFERS_MAX && buffer.capacity() <= OUTPUT_KEPT_BYTES {
            buffer.clear();
            outputs.push(buffer);
        }
    }

    /// Checks how many ids a request asks for.
    ///
    /// # Errors
    /// [`Code::InvalidCount`], with the range.
    pub fn count(&self, count: Option<u64>) -> Answer<u64> {
        let max = self.config().max_count;
        match count {
            Some(count) if (1..=max).contains(&count) => Ok(count),
            _ => Err(ServiceError::new(
                Code::InvalidCount,
                format!("count must be a whole number from 1 to {max}"),
            )),
        }
    }

    /// Takes 1 to `n` numbers of a sequence that this thread knows, if any are in stock. No lock, no
    /// allocation, no wait.
    #[inline]
    pub fn try_take(&self, name: &[u8], n: u64) -> Option<Run> {
        let run = self.names.borrow_mut().find(name)?.try_take(n)?;
        self.counters.ids(IdKind::Sequence, run.count);
        Some(run)
    }

    /// Takes one run of exactly `n` numbers of a sequence that this thread knows, if memory has it. No lock, no
    /// allocation, no wait.
    #[inline]
    pub fn try_take_contiguous(&self, name: &[u8], n: u64) -> Option<Run> {
        let run = self.names.borrow_mut().find(name)?.try_take_contiguous(n)?;
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
            let taken = sequence.take(left).await;
            self.tell_first_use(&sequence, by);
            let run = taken.map_err(from_ledger)?;
            self.counters.ids(IdKind::Sequence, run.count);
            left -= run.count;
            each(run);
        }
        Ok(sequence)
    }

    fn tell_first_use(&self, sequence: &Sequence, by: &Asker<'_>) {
        if sequence.told_as_made() {
            self.service.log().note_first_use(sequence.name(), by);
        }
    }

    /// Takes exactly `n` numbers as one run without a hole; makes the sequence as [`Worker::take`] does.
    ///
    /// # Errors
    /// [`Code::Exhausted`] when fewer are left before the bound, and what the store says.
    pub async fn take_contiguous(&self, name: &[u8], n: u64, by: &Asker<'_>) -> Answer<(Run, Arc<Sequence>)> {
        let sequence = self.sequence_or_create(name).await?;
        let taken = sequence.take_contiguous(n).await;
        self.tell_first_use(&sequence, by);
        let run = taken.map_err(from_ledger)?;
        self.counters.ids(IdKind::Sequence, run.count);
        Ok((run, sequence))
    }

    /// Whether a sequence that this thread knows repeats by definition.
    pub fn is_cycling(&self, name: &[u8]) -> bool {
        self.names
            .borrow_mut()
            .find(name)
            .is_some_and(|sequence| sequence.is_cycling())
    }

    /// The last number issued of a sequence that this thread knows to exist.
    pub fn last_issued(&self, name: &[u8]) -> Option<i64> {
        let mut names = self.names.borrow_mut();
        names.find(name)?.last_issued()
    }

    /// The last number issued of a sequence, if it exists and has issued any. What is no name does not exist.
    ///
    /// # Errors
    /// What the store says.
    pub async fn last(&self, name: &[u8]) -> Answer<Option<i64>> {
        if let Some(last) = self.last_issued(name) {
            return Ok(Some(last));
        }
        let Ok(name) = Name::from_bytes(name) else {
            return Ok(None);
        };
        Ok(self.service.find(&name).await?.and_then(|info| info.last))
    }

    /// Whether a sequence exists. What is no name does not.
    ///
    /// # Errors
    /// What the store says.
    pub async fn exists(&self, name: &[u8]) -> Answer<bool> {
        if self
            .names
            .borrow_mut()
            .find(name)
            .is_some_and(|sequence| sequence.exists())
        {
            return Ok(true);
        }
        let Ok(name) = Name::from_bytes(name) else {
            return Ok(false);
        };
        Ok(self.service.find(&name).await?.is_some())
    }

    /// Fills `out` with UUIDs from memory; `false`: they must be waited for ([`Worker::mint_timed`]).
    pub fn mint_uuids(&self, make: Make, out: &mut [Uuid]) -> bool {
        match make {
            Make::Uuid4 => mintage::uuid4_many(out),
            Make::Uuid7 => {
                let clock = self.service.ledger.clock();
                clock.make(|generators, clock| generators.uuid7_many(clock, out));
            }
            Make::Uuid1 | Make::Uuid6 | Make::Snowflake | Make::Core => return false,
        }
        self.counters.ids(make.kind(), out.len() as u64);
        true
    }

    /// Makes `count` ids of a format that core makes alone, by the clock of the ledger.
    ///
    /// # Errors
    /// As [`FormatRow::make`].
    pub fn make(
        &self,
        row: &FormatRow,
        options: &mintage::GenOptions,
        count: usize,
    ) -> Answer<Vec<mintage::Id>> {
        let ids = row.make(self.service.ledger.clock(), options, count)?;
        self.counters.ids(row.make.kind(), count as u64);
        Ok(ids)
    }

    /// The same for any `count`, in turns with the other connections of this thread.
    ///
    /// # Errors
    /// As [`Worker::make`]; ids that were made before are used up.
    pub async fn make_in_turns(
        self: &Rc<Self>,
        row: &FormatRow,
        options: &mintage::GenOptions,
        count: usize,
    ) -> Answer<Vec<mintage::Id>> {
        row.check_answer(options, count)?;
        let mut turn = Turn::begin(self);
        let mut ids = Vec::with_capacity(count);
        while ids.len() < count {
            ids.extend(self.make(row, options, SLICE.min(count - ids.len()))?);
            turn.give_way_if_over().await;
        }
        Ok(ids)
    }

    /// Fills `out` with UUIDs of any version that is made here; versions 1 and 6 come from `pool`.
    ///
    /// # Errors
    /// There is no such pool, or it makes something else. [`Code::Unavailable`] with the seconds to wait: no window, or more than 10 million of versions 1 and 6 a
    /// second.
    pub async fn mint_timed(&self, make: Make, pool: &[u8], out: &mut [Uuid]) -> Answer<()> {
        if self.mint_uuids(make, out) {
            return Ok(());
        }
        let name = self.service.name(pool)?;
        let pool = self
            .service
            .ledger
            .pool_or_default(&name)
            .await
            .map_err(from_ledger)?;
        pool.mint_uuid1(out).await.map_err(from_ledger)?;
        if make == Make::Uuid6 {
            for id in out.iter_mut() {
                *id = mintage::uuid1_to_6(id).expect("made as version 1 just now");
            }
        }
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
    /// [`Code::NotFound`], [`Code::Unavailable`] with the seconds to wait, [`Code::Exhausted`].
    pub async fn mint(&self, pool: &[u8], out: &mut [u64]) -> Answer<()> {
        let name = self.service.name(pool)?;
        let pool = self
            .service
            .ledger
            .pool_or_default(&name)
            .await
            .map_err(from_ledger)?;
        pool.mint(out).await.map_err(from_ledger)?;
        self.counters.ids(IdKind::Snowflake, out.len() as u64);
        *self.pool.borrow_mut() = Some(pool);
        Ok(())
    }

    /// Forgets names that were not used lately, every now and then, for ever.
    pub(crate) async fn let_idle_names_go(&self) {
        loop {
            tokio::time::sleep(self.config().idle_after.clamp(LOOK_EVERY.0, LOOK_EVERY.1)).await;
            self.names.borrow_mut().let_idle_go();
        }
    }

    async fn sequence_or_create(&self, name: &[u8]) -> Answer<Arc<Sequence>> {
        if let Some(known) = self.names.borrow_mut().find(name) {
            return Ok(known.clone());
        }
        let checked: Name = self.service.name(name)?;
        let sequence = self
            .service
            .ledger
            .sequence_or_create(&checked)
            .await
            .map_err(from_ledger)?;
        self.names.borrow_mut().remember(name, &sequence);
        Ok(sequence)
    }
}

/// How many buffers of each kind a thread keeps.
const BUFFERS_MAX: usize = 64;

/// The largest answer buffer that is kept.
const OUTPUT_KEPT_BYTES: usize = 128 * 1024;

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
