//! What the server can do, free of any protocol: plain types in, plain types or a [`ServiceError`] out.
//!
//! [`Service`] is shared by all threads; [`Worker`] is one serving thread's door to it, with that thread's
//! counters and its memory of names. A request is answered without waiting while numbers are in stock.
//!
//! **Faces import this; this imports no face.**

mod cursors;
mod names;
mod worker;

use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

use mintage::{Base, Clock, Reading};
use mintage_ledger::{
    Changed, Ledger, LedgerError, Name, SequenceInfo, SequencePatch, SequenceSpec, StoreError,
};

pub use worker::Worker;

use crate::advice;
use crate::auth::{Failures, Tokens};
use crate::config::{Config, Reloaded};
use crate::desk::{Desk, Found, Lookout};
use crate::error::{Code, ServiceError};
use crate::held::Total;
use crate::metrics::Metrics;
use crate::noise::Log;
use crate::places::Places;
use cursors::Cursors;

/// What every operation answers.
pub type Answer<T> = Result<T, ServiceError>;

/// What all threads share.
#[derive(Debug)]
pub struct Service {
    ledger: Arc<Ledger>,
    config: RwLock<Arc<Config>>,
    /// How often it has changed.
    changes: tokio::sync::watch::Sender<u64>,
    tokens: Tokens,
    metrics: Arc<Metrics>,
    log: Log,
    failures: Failures,
    places: Arc<Places>,
    unread: Arc<Total>,
    queued: Arc<Total>,
    lists: Desk,
    lookout: Lookout,
    cursors: Mutex<Cursors>,
    /// Held while a conditional `set` looks and then acts.
    setting: tokio::sync::Mutex<()>,
    started_boottime: Duration,
}

/// When `set` applies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Condition {
    /// In any case.
    Always,
    /// Only to a name that does not exist (Redis's `NX`).
    IfAbsent,
    /// Only to a name that exists (Redis's `XX`).
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

/// One page of names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Page {
    /// The names, in order.
    pub names: Vec<Name>,
    /// Where to go on; 0 at the end.
    pub cursor: u64,
}

impl Service {
    /// A service over an open ledger.
    pub fn new(ledger: Arc<Ledger>, config: Arc<Config>) -> Arc<Service> {
        Arc::new(Service {
            tokens: Tokens::new(config.tokens.clone()),
            places: Places::new(&config),
            ledger,
            config: RwLock::new(config),
            changes: tokio::sync::watch::Sender::new(0),
            metrics: Arc::default(),
            log: Log::default(),
            failures: Failures::default(),
            unread: Arc::default(),
            queued: Arc::default(),
            lists: Desk::new("lists"),
            lookout: Lookout::new(),
            cursors: Mutex::default(),
            setting: tokio::sync::Mutex::default(),
            started_boottime: mintage::boottime(),
        })
    }

    /// The ledger behind it.
    pub fn ledger(&self) -> &Arc<Ledger> {
        &self.ledger
    }

    /// The configuration it runs with now.
    pub fn config(&self) -> Arc<Config> {
        Arc::clone(&self.config.read().expect("no panic while held"))
    }

    /// Runs with what another configuration says, as far as a running server can; each thread follows by itself.
    pub fn reload(&self, new: &Config) -> Reloaded {
        let mut config = self.config.write().expect("no panic while held");
        let (reloaded, merged) = Reloaded::between(&config, new);
        if !reloaded.changed.is_empty() {
            self.tokens.replace(merged.tokens.clone());
            self.places.limit(&merged);
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

    /// Its counters.
    pub fn metrics(&self) -> &Arc<Metrics> {
        &self.metrics
    }

    /// The lines about what clients do.
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// What was found about everything in use, not long ago.
    ///
    /// # Errors
    /// [`Code::Unavailable`] where nothing can be looked for.
    pub(crate) async fn found(&self) -> Answer<Arc<Found>> {
        let names = usize::try_from(self.config().metrics_names).unwrap_or(usize::MAX);
        self.lookout.found(&self.ledger, names).await
    }

    /// Makes a list, or reads one, beside the serving threads.
    ///
    /// # Errors
    /// What `work` says; [`Code::Unavailable`] where it cannot be done.
    pub(crate) async fn aside<T, W>(self: &Arc<Self>, work: impl FnOnce(Arc<Self>) -> W) -> Answer<T>
    where
        T: Send + 'static,
        W: Future<Output = Answer<T>> + Send + 'static,
    {
        self.lists.run(work(Arc::clone(self))).await?
    }

    /// Who has shown wrong tokens lately.
    pub(crate) fn failures(&self) -> &Failures {
        &self.failures
    }

    /// The places for connections.
    pub(crate) fn places(&self) -> &Arc<Places> {
        &self.places
    }

    /// Answers that clients have not read yet.
    pub(crate) fn unread(&self) -> &Arc<Total> {
        &self.unread
    }

    /// What connections have queued since their `MULTI`.
    pub(crate) fn queued(&self) -> &Arc<Total> {
        &self.queued
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
            Ok(pending) => Ok(Some(pending)),
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
        let to = Base {
            value: last,
            is_called: true,
        };
        let outcome = self.ledger.set(name, to).await.map_err(from_ledger)?;
        // Others need not wait for each other's followers.
        drop(alone);
        Ok(SetAnswer {
            applied: true,
            previous: outcome.previous,
            pending: self.ledger.followed_by_all(name).await,
        })
    }

    /// What a sequence is and where it stands.
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
    pub(crate) async fn has_pool(&self, name: &Name) -> Answer<bool> {
        match self.ledger.pool_or_default(name).await {
            Ok(_) => Ok(true),
            Err(LedgerError::NoPool { .. }) => Ok(false),
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

    /// The names that `matches` picks.
    ///
    /// # Errors
    /// [`Code::TooMany`] when more than `max` match, and what the store says.
    pub async fn names_matching(&self, max: u64, matches: impl Fn(&Name) -> bool) -> Answer<Vec<Name>> {
        let (mut names, mut after) = (Vec::new(), None::<Name>);
        loop {
            let page = self.list(after.as_ref(), LIST_PAGE).await?;
            let full = page.len() == usize::from(LIST_PAGE);
            after = page.last().map(|info| info.name.clone());
            names.extend(
                page.into_iter()
                    .map(|info| info.name)
                    .filter(|name| matches(name)),
            );
            if names.len() as u64 > max {
                let message = format!("more than {max} names match");
                return Err(
                    ServiceError::new(Code::TooMany, message).with_hint("read them page by page (SCAN)")
                );
            }
            if !full {
                return Ok(names);
            }
        }
    }

    /// The next page of names behind a cursor; 0 begins. Names that exist all the time are seen exactly once.
    ///
    /// # Errors
    /// [`Code::InvalidArgument`] for a cursor that was never given out or is forgotten, and what the store says.
    pub async fn page(&self, cursor: u64, limit: u16) -> Answer<Page> {
        let after = match cursor {
            0 => None,
            cursor => {
                let found = self.cursors.lock().expect("no panic while held").find(cursor);
                Some(found.ok_or_else(|| ServiceError::new(Code::InvalidArgument, "invalid cursor"))?)
            }
        };
        let names: Vec<Name> = self
            .list(after.as_ref(), limit)
            .await?
            .into_iter()
            .map(|info| info.name)
            .collect();
        let more = names.len() == usize::from(limit);
        let cursor = match names.last() {
            Some(last) if more => self
                .cursors
                .lock()
                .expect("no panic while held")
                .remember(last.clone()),
            _ => 0,
        };
        Ok(Page { names, cursor })
    }
}

/// How many sequences are read from the ledger at a time.
const LIST_PAGE: u16 = 1000;

/// What a ledger's refusal is called towards clients, and what they can do.
pub fn from_ledger(error: LedgerError) -> ServiceError {
    let message = error.to_string();
    match error {
        LedgerError::Name(_) => ServiceError::new(Code::InvalidName, message)
            .with_hint("a name is any UTF-8 text of 1 to 255 bytes without control characters"),
        LedgerError::NotFound { .. } | LedgerError::NoPool { .. } | LedgerError::NoWindow { .. } => {
            ServiceError::new(Code::NotFound, message)
        }
        LedgerError::WindowLost { .. } => ServiceError::new(Code::Conflict, message)
            .with_hint("stop minting with it and take another window"),
        LedgerError::NoAutoCreate { .. } => {
            ServiceError::new(Code::NotFound, message).with_hint("create the sequence first")
        }
        LedgerError::PoolInUse { .. } => ServiceError::new(Code::Conflict, message).with_hint(
            "a window ends by itself some time after its holder stops; this server lets go a minute after its last id",
        ),
        LedgerError::PoolDropped { .. } => ServiceError::new(Code::Exists, message)
            .with_hint("make it with that layout again, or take another name: ids of two layouts can be equal"),
        LedgerError::Exists { .. } | LedgerError::PoolExists { .. } => {
            ServiceError::new(Code::Exists, message)
                .with_hint("change the definition instead, or take another name")
        }
        LedgerError::Invalid(_) => ServiceError::new(Code::InvalidArgument, message),
        LedgerError::Exhausted { .. }
        | LedgerError::RunTooLong { .. }
        | LedgerError::TimeFieldFull { .. } => ServiceError::new(Code::Exhausted, message),
        LedgerError::OnlyForward { .. } => ServiceError::new(Code::OnlyForward, message)
            .with_hint("restart with allow_repeat goes back, loudly"),
        LedgerError::NeedsAllowRepeat { .. } => ServiceError::new(Code::NeedsAllowRepeat, message)
            .with_hint("say allow_repeat if repeats are acceptable"),
        LedgerError::TooMany { .. } => ServiceError::new(Code::TooMany, message)
            .with_hint("raise sequences.max_sequences, or drop what is unused"),
        LedgerError::TooManyDropped { .. } => ServiceError::new(Code::TooMany, message)
            .with_hint("use dropped names again, or raise sequences.max_dropped"),
        LedgerError::ClockBack { by, .. } => ServiceError::new(Code::ClockBack, message)
            .with_hint("set the clock right, or give the pool the clock policy hold")
            .with_retry_after_s(by.as_secs().clamp(1, 60)),
        LedgerError::Unavailable { retry_after_s, .. } => {
            ServiceError::new(Code::Unavailable, message).with_retry_after_s(retry_after_s)
        }
        LedgerError::Closing => {
            ServiceError::new(Code::Unavailable, "the server is stopping").with_retry_after_s(1)
        }
        LedgerError::Stopped(store) => with_hint_of(ServiceError::new(Code::Stopped, message), store),
        LedgerError::Store(store) => with_hint_of(
            ServiceError::new(Code::Unavailable, message).with_retry_after_s(STORE_RETRY_S),
            store,
        ),
    }
}

fn with_hint_of(error: ServiceError, store: StoreError) -> ServiceError {
    match store.hint {
        Some(hint) => error.with_hint(advice::words(hint)),
        None => error,
    }
}

/// When to ask again after the store refused for a reason that an operator has to remove.
const STORE_RETRY_S: u64 = 5;
