//! What the server can do, free of any protocol: plain types in, plain types or a [`ServiceError`] out.
//!
//! [`Service`] is shared by all threads; a [`Door`] is one serving thread's way to it, with that thread's counters and
//! its memory of names. A request is answered without waiting while numbers are in stock. A [`SendDoor`] does the same
//! for whoever goes from thread to thread.
//!
//! **Faces import this; this imports no face.**

mod door;
mod known;
mod near;
mod one_tick;
mod refusals;
mod send_door;
mod tokens;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

use mintage::{Base, Clock, GenOptions, Id, Reading, Run, Uuid};
use mintage_ledger::{
    Changed, ClockRefusal, Ledger, LedgerError, Name, Pool, Sequence, SequenceInfo, SequencePatch,
    SequenceSpec,
};

use near::KnownNames;

pub use door::Door;
pub use one_tick::TickRun;
pub use refusals::from_ledger;
pub use send_door::SendDoor;

use tokio::sync::Semaphore;

use crate::audit::Trail;
use crate::auth::{Failures, Identity, Tokens};
use crate::config::{Config, Reloaded};
use crate::desk::{Desk, Found, Lookout};
pub use crate::error::Answer;
use crate::error::{Code, ServiceError};
use crate::formats::{FormatRow, Make, no_time};
use crate::history::History;
use crate::metrics::Metrics;
use crate::noise::{Asker, Log, Noise};
use crate::rates::Limits;
use crate::transport::Peer;

/// What all threads share.
#[derive(Debug)]
pub struct Service {
    ledger: Arc<Ledger>,
    config: RwLock<Arc<Config>>,
    /// How often it has changed.
    changes: tokio::sync::watch::Sender<u64>,
    tokens: Tokens,
    limits: Limits,
    audit: RwLock<Trail>,
    metrics: Arc<Metrics>,
    log: Log,
    failures: Failures,
    history: History,
    lists: Desk,
    lookout: Lookout,
    /// The names that a new one is compared with, and how many were nearly one of them.
    known_names: Mutex<KnownNames>,
    near_names: AtomicU64,
    /// The place of the one file that is audited at a time.
    audits: Arc<Semaphore>,
    /// Held while a conditional `set` looks and then acts.
    setting: tokio::sync::Mutex<()>,
    started_boottime: Duration,
}

/// When `set` applies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Condition {
    /// In any case.
    Always,
    /// Only to a name that does not exist.
    IfAbsent,
    /// Only to a name that exists.
    IfPresent,
}

/// What `set` did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SetAnswer {
    /// Whether the condition held.
    pub applied: bool,
    /// The last number before.
    pub previous: Option<i64>,
    /// Servers of the cluster that live and do not follow yet.
    pub pending: Vec<String>,
}

impl Service {
    /// A service over an open ledger.
    pub fn new(ledger: Arc<Ledger>, config: Arc<Config>) -> Arc<Service> {
        let (tokens, limits) = (Tokens::default(), Limits::default());
        let _ = tokens::take(&tokens, &limits, &config);
        Arc::new(Service {
            tokens,
            limits,
            known_names: Mutex::new(KnownNames::new(config.near_names)),
            near_names: AtomicU64::new(0),
            audit: RwLock::default(),
            config: RwLock::new(config),
            changes: tokio::sync::watch::Sender::new(0),
            metrics: Arc::default(),
            log: Log::default(),
            failures: Failures::default(),
            history: History::new(ledger.clock().now().unix_millis()),
            lists: Desk::new("lists"),
            lookout: Lookout::new(),
            audits: Arc::new(Semaphore::new(1)),
            setting: tokio::sync::Mutex::default(),
            started_boottime: mintage::boottime(),
            ledger,
        })
    }

    /// The ledger behind it.
    pub fn ledger(&self) -> &Arc<Ledger> {
        &self.ledger
    }

    /// Where a file that is to be audited takes its place.
    pub(crate) fn audits(&self) -> &Arc<Semaphore> {
        &self.audits
    }

    /// For how much longer the store is treated as if it were away, where an outage is rehearsed.
    pub fn rehearsal_left(&self) -> Option<Duration> {
        self.ledger.rehearsal_left()
    }

    /// The configuration it runs with now.
    pub fn config(&self) -> Arc<Config> {
        Arc::clone(&self.config.read().expect("no panic while held"))
    }

    /// Runs with what another configuration says, as far as a running server can; each thread follows by itself.
    pub fn reload(&self, new: &Config) -> Reloaded {
        let mut config = self.config.write().expect("no panic while held");
        let (reloaded, merged) = Reloaded::between(&config, new);
        // The file of tokens may be the same, and hold others.
        let _ = tokens::take(&self.tokens, &self.limits, &merged);
        if !reloaded.changed.is_empty() {
            *config = Arc::new(merged);
            drop(config);
            self.changes.send_modify(|changes| *changes += 1);
        }
        reloaded
    }

    /// Tells when the configuration changes.
    pub(crate) fn changes(&self) -> tokio::sync::watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// The tokens it knows.
    pub fn tokens(&self) -> &Tokens {
        &self.tokens
    }

    /// The audit trail.
    pub(crate) fn audit(&self) -> Trail {
        self.audit.read().expect("no panic while held").clone()
    }

    /// Opens the audit trail of its configuration, anew if it was open: after a rotation by others it is another file.
    ///
    /// # Errors
    /// In words; the one from before goes on.
    pub(crate) fn open_audit(&self) -> Result<(), String> {
        let trail = Trail::open(&self.config())?;
        *self.audit.write().expect("no panic while held") = trail;
        Ok(())
    }

    /// Whether anybody is limited in what he may ask for in a second.
    #[inline]
    pub fn has_limits(&self) -> bool {
        self.limits.is_on()
    }

    /// Lets one more request of a client through.
    ///
    /// # Errors
    /// [`Code::RateLimited`]: it has asked for too much lately.
    #[inline]
    pub fn admit(&self, who: &Identity, peer: Peer) -> Answer<()> {
        match self.limits.is_on() {
            true => self.limits.admit(who.measure(), peer),
            false => Ok(()),
        }
    }

    /// Notes how many ids a client asks for.
    #[inline]
    pub fn spend(&self, who: &Identity, peer: Peer, ids: u64) {
        if self.limits.is_on() {
            self.limits.spend(who.measure(), peer, ids);
        }
    }

    /// Its counters.
    pub fn metrics(&self) -> &Arc<Metrics> {
        &self.metrics
    }

    /// How it fared.
    pub(crate) fn history(&self) -> &History {
        &self.history
    }

    /// The lines about what clients do.
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// What was found about everything in use, not long ago.
    ///
    /// # Errors
    /// [`Code::Unavailable`] where nothing can be looked for.
    pub async fn found(&self) -> Answer<Arc<Found>> {
        self.lookout.found(&self.ledger, self.names_shown()).await
    }

    /// How many of what is in use are named one by one.
    pub(crate) fn names_shown(&self) -> usize {
        usize::try_from(self.config().metrics_names).unwrap_or(usize::MAX)
    }

    /// Makes a list, or reads one, beside the serving threads.
    ///
    /// # Errors
    /// What `work` says; [`Code::Unavailable`] where it cannot be done.
    pub async fn aside<T, W>(self: &Arc<Self>, work: impl FnOnce(Arc<Self>) -> W) -> Answer<T>
    where
        T: Send + 'static,
        W: Future<Output = Answer<T>> + Send + 'static,
    {
        self.lists.run(work(Arc::clone(self))).await?
    }

    /// A wrong token was shown: counts it, and answers how long its answer waits.
    pub fn delay_of_wrong_token(&self, peer: Peer) -> Duration {
        self.log.note(Noise::WrongToken, peer);
        self.config().wrong_token_delay * self.failures.note(peer)
    }

    /// How long it has run.
    pub fn uptime(&self) -> Duration {
        mintage::boottime().saturating_sub(self.started_boottime)
    }

    /// Reads a name.
    ///
    /// # Errors
    /// [`Code::InvalidName`].
    pub fn name(&self, bytes: &[u8]) -> Answer<Name> {
        Name::from_bytes(bytes).map_err(|error| from_ledger(LedgerError::Name(error)))
    }

    /// Makes a sequence; the same definition again changes nothing. Whether it was made now.
    ///
    /// # Errors
    /// [`Code::Exists`] for another definition, [`Code::InvalidArgument`], [`Code::TooMany`], and what the store says.
    pub async fn create(&self, name: &Name, spec: &SequenceSpec) -> Answer<(SequenceInfo, bool)> {
        let existed = self.find(name).await?.is_some();
        let info = self.ledger.create(name, spec).await.map_err(from_ledger)?;
        self.know(name);
        Ok((info, !existed))
    }

    /// Makes a sequence because a client of another system asks for its number, as far as first uses may. Whether it was
    /// made now.
    ///
    /// # Errors
    /// [`Code::NotFound`], and those of [`Service::create`].
    pub async fn create_by_use(&self, name: &Name, spec: &SequenceSpec) -> Answer<(SequenceInfo, bool)> {
        let existed = self.find(name).await?.is_some();
        if !existed {
            self.check_not_begun(name).await?;
        }
        let info = self.ledger.create_by_use(name, spec).await.map_err(from_ledger)?;
        self.know(name);
        Ok((info, !existed))
    }

    /// Changes a definition.
    ///
    /// # Errors
    /// [`Code::NotFound`], [`Code::NeedsAllowRepeat`], [`Code::InvalidArgument`], and what the store says.
    pub async fn alter(&self, name: &Name, patch: &SequencePatch) -> Answer<Changed> {
        self.ledger.alter(name, patch).await.map_err(from_ledger)
    }

    /// Drops a sequence; a tombstone keeps its mark. `None`: there was none; else who does not know yet.
    ///
    /// # Errors
    /// What the store says.
    pub async fn drop_sequence(&self, name: &Name) -> Answer<Option<Vec<String>>> {
        match self.ledger.drop_sequence(name).await {
            Ok(pending) => {
                self.known_names.lock().expect("no panic while held").forget(name);
                Ok(Some(pending))
            }
            Err(LedgerError::NotFound { .. }) => Ok(None),
            Err(error) => Err(from_ledger(error)),
        }
    }

    /// Goes on at `to`; backwards only with `allow_repeat`.
    ///
    /// # Errors
    /// [`Code::NotFound`], [`Code::NeedsAllowRepeat`], [`Code::InvalidArgument`], and what the store says.
    pub async fn restart(&self, name: &Name, to: Base, allow_repeat: bool) -> Answer<Changed> {
        self.ledger
            .restart(name, to, allow_repeat)
            .await
            .map_err(from_ledger)
    }

    /// Makes `last` the last number issued: creates the sequence or moves it forward.
    ///
    /// Sets exclude each other in this process, so that of two `IfAbsent` at most one applies; a first use of
    /// the name at the same moment may still come between.
    ///
    /// # Errors
    /// [`Code::OnlyForward`], [`Code::InvalidArgument`], [`Code::TooMany`], and what the store says.
    pub async fn set(&self, name: &Name, last: i64, condition: Condition) -> Answer<SetAnswer> {
        let to = Base {
            value: last,
            is_called: true,
        };
        self.set_to(name, to, condition).await
    }

    /// As [`Service::set`]; where `to` is not called, its value is the next number.
    ///
    /// # Errors
    /// As [`Service::set`].
    pub async fn set_to(&self, name: &Name, to: Base, condition: Condition) -> Answer<SetAnswer> {
        let alone = self.setting.lock().await;
        if condition != Condition::Always {
            let found = self.find(name).await?;
            if found.is_some() != (condition == Condition::IfPresent) {
                return Ok(SetAnswer {
                    applied: false,
                    previous: found.and_then(|info| info.last),
                    pending: Vec::new(),
                });
            }
        }
        let outcome = self.ledger.set(name, to).await.map_err(from_ledger)?;
        self.know(name);
        // Others need not wait for each other's followers.
        drop(alone);
        Ok(SetAnswer {
            applied: true,
            previous: outcome.previous,
            pending: self.ledger.followed_by_all(name).await,
        })
    }

    /// What a sequence is and its last number.
    ///
    /// # Errors
    /// [`Code::NotFound`], and what the store says.
    pub async fn show(&self, name: &Name) -> Answer<SequenceInfo> {
        self.ledger.show(name).await.map_err(from_ledger)
    }

    /// As [`Service::show`], with `None` for a name that does not exist.
    ///
    /// # Errors
    /// What the store says.
    pub async fn find(&self, name: &Name) -> Answer<Option<SequenceInfo>> {
        match self.ledger.show(name).await {
            Ok(info) => Ok(Some(info)),
            Err(LedgerError::NotFound { .. }) => Ok(None),
            Err(error) => Err(from_ledger(error)),
        }
    }

    /// Whether there is a pool of this name.
    ///
    /// # Errors
    /// What the store says.
    pub async fn has_pool(&self, name: &Name) -> Answer<bool> {
        match self.ledger.pool_or_default(name).await {
            Ok(_) => Ok(true),
            Err(LedgerError::NoPool { .. } | LedgerError::NoAutoCreate { .. }) => Ok(false),
            Err(error) => Err(from_ledger(error)),
        }
    }

    /// What an id is: every reading, the likeliest first.
    pub fn inspect(&self, text: &str) -> Vec<Reading> {
        mintage::inspect(text, self.ledger.clock().now())
    }

    /// Sequences in order of their names, after `after`, at most `limit`.
    ///
    /// # Errors
    /// What the store says.
    pub async fn list(&self, after: Option<&Name>, limit: u16) -> Answer<Vec<SequenceInfo>> {
        self.ledger.list(after, limit).await.map_err(from_ledger)
    }

    /// How many sequences there are.
    pub fn count(&self) -> u64 {
        self.ledger.sequence_count()
    }

    /// The names that `matches` picks, of those that begin with `prefix`.
    ///
    /// # Errors
    /// [`Code::TooMany`] when more than `max` match, and what the store says.
    pub async fn names_matching(
        &self,
        max: u64,
        prefix: &str,
        matches: impl Fn(&Name) -> bool,
    ) -> Answer<Vec<Name>> {
        let found = self
            .sequences_matching(max, prefix, |info| matches(&info.name))
            .await?;
        Ok(found.into_iter().map(|info| info.name).collect())
    }

    /// The sequences that `matches` picks, of those whose names begin with `prefix`. However many there are, no more than
    /// a page and those that match are in memory.
    ///
    /// # Errors
    /// [`Code::TooMany`] when more than `max` match, and what the store says.
    pub async fn sequences_matching(
        &self,
        max: u64,
        prefix: &str,
        matches: impl Fn(&SequenceInfo) -> bool,
    ) -> Answer<Vec<SequenceInfo>> {
        // Nothing is a prefix of every name.
        let prefix = Name::new(prefix).ok();
        let (mut found, mut after) = (Vec::new(), None::<Name>);
        loop {
            let page = self
                .ledger
                .list_of(prefix.as_ref(), after.as_ref(), LIST_PAGE)
                .await;
            let page = page.map_err(from_ledger)?;
            let full = page.len() == usize::from(LIST_PAGE);
            after = page.last().map(|info| info.name.clone());
            found.extend(page.into_iter().filter(&matches));
            if found.len() as u64 > max {
                return Err(ServiceError::new(
                    Code::TooMany,
                    format!("more than {max} names match"),
                ));
            }
            if !full {
                return Ok(found);
            }
        }
    }

    /// The last number issued of a sequence, if it exists and has issued any. What is no name does not exist.
    ///
    /// # Errors
    /// What the store says.
    pub(crate) async fn last(&self, name: &[u8]) -> Answer<Option<i64>> {
        Ok(self.find_any(name).await?.and_then(|info| info.last))
    }

    /// Whether a sequence exists. What is no name does not.
    ///
    /// # Errors
    /// What the store says.
    pub(crate) async fn exists(&self, name: &[u8]) -> Answer<bool> {
        Ok(self.find_any(name).await?.is_some())
    }

    async fn find_any(&self, name: &[u8]) -> Answer<Option<SequenceInfo>> {
        match Name::from_bytes(name) {
            Ok(name) => self.find(&name).await,
            Err(_) => Ok(None),
        }
    }

    async fn sequence_or_create(&self, name: &[u8]) -> Answer<Arc<Sequence>> {
        let name = self.name(name)?;
        let sequence = self.ledger.sequence_or_create(&name).await.map_err(from_ledger)?;
        match sequence.exists() {
            true => self.know(&name),
            false => self.check_not_begun(&name).await?,
        }
        Ok(sequence)
    }

    /// Refuses to make a sequence of CosId whose numbers stand under the name of its key in Redis, as our own port and
    /// imports called it once: it would begin at 1.
    ///
    /// # Errors
    /// [`Code::Conflict`], and what the store says.
    async fn check_not_begun(&self, name: &Name) -> Answer<()> {
        let config = self.config();
        let prefix = &config.faces.keys_of("cosid").prefix.0;
        let Some(segment) = name.as_str().strip_prefix(&**prefix) else {
            return Ok(());
        };
        if prefix.is_empty() {
            return Ok(());
        }
        let Ok(older) = Name::new(format!("cosid:{{{segment}}}.adder")) else {
            return Ok(());
        };
        let Some(info) = self.find(&older).await? else {
            return Ok(());
        };
        let next = info.last.map_or(1, |last| i128::from(last) + 1);
        Err(ServiceError::new(
            Code::Conflict,
            format!("{name} has its numbers under its earlier name {older}, and would begin again"),
        )
        .with_hint(format!(
            "mint seq create '{name}' --start N with N of at least {next}, and mint seq drop '{older}'"
        )))
    }

    /// Remembers a name for the comparison with new ones; not while others do, for nobody waits for that.
    fn know(&self, name: &Name) {
        if let Ok(mut known) = self.known_names.try_lock() {
            known.add(name);
        }
    }

    /// Remembers names that are there from before, as many as it may of the first hundred pages of them.
    ///
    /// # Errors
    /// What the store says.
    pub(crate) async fn learn_names(&self) -> Answer<()> {
        let mut after = None;
        for _ in 0..LEARNT_PAGES {
            let page = self.list(after.as_ref(), LIST_PAGE).await?;
            let mut known = self.known_names.lock().expect("no panic while held");
            page.iter().for_each(|info| known.add(&info.name));
            if known.is_full() || page.len() < usize::from(LIST_PAGE) {
                break;
            }
            after = page.last().map(|info| info.name.clone());
        }
        Ok(())
    }

    /// How many sequences were made by their first use under a name that was nearly another one.
    pub(crate) fn near_names(&self) -> u64 {
        self.near_names.load(Ordering::Relaxed)
    }

    /// Takes 1 to `n` numbers; the log is told who has made the sequence by this.
    async fn take_some(&self, sequence: &Arc<Sequence>, n: u64, by: &Asker<'_>) -> Answer<Run> {
        let taken = sequence.take(n).await;
        self.tell_first_use(sequence, by);
        taken.map_err(from_ledger)
    }

    /// The same for one run of exactly `n`.
    async fn take_run(&self, sequence: &Arc<Sequence>, n: u64, by: &Asker<'_>) -> Answer<Run> {
        let taken = sequence.take_contiguous(n).await;
        self.tell_first_use(sequence, by);
        taken.map_err(from_ledger)
    }

    /// The same with whatever steps it has.
    async fn take_linear(&self, sequence: &Arc<Sequence>, n: u64, by: &Asker<'_>) -> Answer<Run> {
        let taken = sequence.take_linear(n).await;
        self.tell_first_use(sequence, by);
        taken.map_err(from_ledger)
    }

    fn tell_first_use(&self, sequence: &Sequence, by: &Asker<'_>) {
        if !sequence.told_as_made() {
            return;
        }
        let name = sequence.name();
        self.log.note_first_use(name, by);
        let lives = |other: &Name| {
            let loaded = self.ledger.sequence(other.as_str());
            loaded.is_none_or(|other| other.exists())
        };
        let near = {
            let mut known = self.known_names.lock().expect("no panic while held");
            let near = known.near(name, lives);
            known.add(name);
            near
        };
        if let Some(near) = near {
            self.near_names.fetch_add(1, Ordering::Relaxed);
            self.log.note_near_name(name, near, by);
        }
    }

    async fn pool(&self, name: &[u8]) -> Answer<Arc<Pool>> {
        let name = self.name(name)?;
        self.ledger.pool_or_default(&name).await.map_err(from_ledger)
    }

    /// The worker that this process holds of a pool; takes a window first where it holds none.
    ///
    /// # Errors
    /// [`Code::NotFound`], and what the store says.
    pub async fn worker_of(&self, pool: &[u8]) -> Answer<(Arc<Pool>, u64)> {
        let pool = self.pool(pool).await?;
        let worker = pool.hold_worker().await.map_err(from_ledger)?;
        Ok((pool, worker))
    }

    /// Fills `out` with UUIDs from memory; `false`: they come from a pool, or the clock must be asked whether it tells
    /// the time ([`Service::mint_waiting`]).
    #[must_use]
    fn mint_uuids(&self, make: Make, out: &mut [Uuid]) -> bool {
        match make {
            Make::Uuid4 => mintage::uuid4_many(out),
            Make::Uuid7 => {
                let made = self.uuid7(out);
                return made.is_ok();
            }
            Make::Uuid1 | Make::Uuid6 | Make::Snowflake | Make::Core => return false,
        }
        true
    }

    fn uuid7(&self, out: &mut [Uuid]) -> Result<(), ClockRefusal> {
        let clock = self.ledger.clock();
        clock.make(|generators, clock| generators.uuid7_many(clock, out))
    }

    /// Makes ids of a format that core makes alone; at the start once it is known whether they get the time.
    async fn make(&self, row: &FormatRow, options: &GenOptions, count: usize) -> Answer<Vec<Id>> {
        let clock = self.ledger.clock();
        if row.format.time.is_some() {
            clock.judged().await;
        }
        row.make(clock, options, count)
    }

    /// Fills `out` with UUIDs of any version that is made here, where [`Service::mint_uuids`] could not.
    async fn mint_waiting(&self, make: Make, pool: &[u8], out: &mut [Uuid]) -> Answer<()> {
        if make == Make::Uuid7 {
            self.ledger.clock().judged().await;
            return self.uuid7(out).map_err(|refusal| no_time("uuid7", &refusal));
        }
        self.pool(pool)
            .await?
            .mint_uuid1(out)
            .await
            .map_err(from_ledger)?;
        if make == Make::Uuid6 {
            for id in out.iter_mut() {
                *id = mintage::uuid1_to_6(id).expect("made as version 1 just now");
            }
        }
        Ok(())
    }
}

/// Checks how many ids a request asks for.
fn check_count(count: Option<u64>, max: u64) -> Answer<u64> {
    let message = || format!("count must be a whole number from 1 to {max}");
    count
        .filter(|count| (1..=max).contains(count))
        .ok_or_else(|| ServiceError::new(Code::InvalidCount, message()))
}

/// How many sequences are read from the ledger at a time.
const LIST_PAGE: u16 = 1000;
/// How many of them are read for the comparison of names.
const LEARNT_PAGES: usize = 100;
