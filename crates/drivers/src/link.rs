//! Keeps a connection to a shared store: makes it, finds out who answers before any write counts, replaces it
//! when it breaks, and says of every failed call whether the write may have happened (protocol, "Drivers").

use std::fmt;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, oneshot};

#[cfg(any(feature = "etcd", feature = "zookeeper"))]
use super::probed::Probed;
use super::settings::{StoreSettings, lossy};
use super::{Class, Durability, Outcome, PROGRESS_KEY, StoreError, StoreErrorKind};
use crate::advice::Advice;
use crate::runtime::{BoxFuture, Runtime};

/// The schema that this program makes and understands, in every shared store.
pub(crate) const SCHEMA: u32 = 1;

/// How often a connection that works is asked again who answers and what it may forget.
const PROBE_EVERY: Duration = Duration::from_secs(60);

/// `connect_timeout` is what one round trip may take: this many of them make a connection and find out who answers.
/// Nobody waits so long for a connection but who has none to go on with, and a connection that comes late is kept.
const CONNECTING_ROUND_TRIPS: u32 = 5;

/// How many connections may be in the making at a time.
const ATTEMPTS_MAX: usize = 4;

/// What a kind of store brings.
pub(crate) trait Driver: Send + Sync + 'static {
    /// A connection that any number of calls may use at a time.
    type Connection: Clone + Send + Sync + 'static;

    /// What every request on a connection compares the meta record with.
    type MetaStamp: Clone + Send + Sync + 'static;

    /// The store's scheme.
    fn scheme(&self) -> &'static str;

    /// Scheme and hosts for messages, without credentials.
    fn place(&self) -> String;

    /// Makes a connection, credentials included. Runs on the ledger's own thread.
    fn connect(&self) -> BoxFuture<'_, Result<Self::Connection, Failure>>;

    /// Asks who answers.
    fn probe(
        &self,
        connection: Self::Connection,
    ) -> BoxFuture<'_, Result<Answering<Self::MetaStamp>, Failure>>;
}

/// Who answers on a connection.
#[derive(Clone, Debug)]
pub(crate) struct Answering<S> {
    /// What `mint init` wrote; `None` where it did not, or where it is gone.
    pub(crate) meta: Option<(InitRecord, S)>,
    /// Whether the registers still have the mark that `mint init` set among them.
    pub(crate) whole: bool,
    /// What the store may forget.
    pub(crate) durability: Durability,
    /// Which copy of the store it is.
    pub(crate) incarnation: String,
    /// Why it would go on beside a replica that is promoted, where that matters and the store can say so: of class L the
    /// windows that it renews would be lent again there.
    pub(crate) unbounded: Option<String>,
}

/// What silences a primary that was cut off before its replica's servers begin.
const BOUND_BY: &str = "CONFIG SET min-replicas-to-write 1 and CONFIG SET min-replicas-max-lag 10 on every node (and CONFIG REWRITE to keep \
    it); or REPLICAOF NO ONE on each replica, so that none can be promoted";

/// The record of `mint init`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct InitRecord {
    pub(crate) schema: u32,
    pub(crate) cluster_id: u128,
}

/// Why a request failed, as its driver saw it next to the call.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The server answered that it did not do it. The connection is fine.
    Refused(StoreErrorKind, String),
    /// It was not done, and this connection is of no use.
    Useless(StoreErrorKind, String),
    /// No answer, or none that can be trusted: a write may have been done.
    Lost(String),
    /// The server did nothing, because its meta record is not the one this connection was probed with.
    Stranger,
}

/// A connection that comes back.
pub(crate) struct Link<D: Driver> {
    pub(crate) driver: D,
    me: Weak<Link<D>>,
    runtime: Arc<dyn Runtime>,
    settings: StoreSettings,
    state: Mutex<State<D>>,
    /// Held by whoever waits for a connection.
    connecting: tokio::sync::Mutex<()>,
    /// Held by those that make a connection, whether or not somebody waits for it still.
    making: Arc<Semaphore>,
    arrivals: Notify,
    cluster_id: OnceLock<u128>,
    stopped: OnceLock<StoreError>,
}

struct State<D: Driver> {
    current: Option<Arc<Connected<D>>>,
    durability: Option<Durability>,
    incarnation: Option<String>,
    /// How many attempts to connect have ended, and how the last one failed.
    attempts: u64,
    failed: Option<StoreError>,
}

/// A connection that was probed.
pub(crate) struct Connected<D: Driver> {
    pub(crate) connection: D::Connection,
    /// The meta record that it was probed with: every request on it names it.
    pub(crate) met: D::MetaStamp,
}

/// What was asked, for messages: a verb with its preposition, and a key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct What<'a>(pub(crate) &'static str, pub(crate) &'a str);

impl fmt::Display for What<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.0, self.1)
    }
}

impl<D: Driver> fmt::Debug for Link<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Link({})", self.driver.place())
    }
}

impl<D: Driver> Link<D> {
    /// Connects and probes; from then on probes every minute.
    pub(crate) async fn open(
        driver: D,
        settings: &StoreSettings,
        runtime: Arc<dyn Runtime>,
    ) -> Result<Arc<Link<D>>, StoreError> {
        let link = Arc::new_cyclic(|me| Link {
            me: Weak::clone(me),
            ..Link::unopened(driver, settings, runtime.clone())
        });
        link.connect(settings.connect_timeout * CONNECTING_ROUND_TRIPS)
            .await?;
        let (weak, clock) = (Arc::downgrade(&link), runtime.clone());
        runtime.spawn(Box::pin(async move {
            loop {
                clock.sleep(PROBE_EVERY).await;
                let Some(link) = weak.upgrade() else { return };
                link.probe_again().await;
            }
        }));
        Ok(link)
    }

    /// A link that has not connected: for `mint init`, which works before there is anything to probe.
    pub(crate) fn unopened(driver: D, settings: &StoreSettings, runtime: Arc<dyn Runtime>) -> Link<D> {
        Link {
            driver,
            me: Weak::new(),
            making: Arc::new(Semaphore::new(ATTEMPTS_MAX)),
            arrivals: Notify::new(),
            runtime,
            settings: settings.clone(),
            state: Mutex::new(State {
                current: None,
                durability: None,
                incarnation: None,
                attempts: 0,
                failed: None,
            }),
            connecting: tokio::sync::Mutex::new(()),
            cluster_id: OnceLock::new(),
            stopped: OnceLock::new(),
        }
    }

    /// The cluster id found at opening.
    pub(crate) fn cluster_id(&self) -> u128 {
        *self
            .cluster_id
            .get()
            .expect("a link that opened has met its cluster")
    }

    /// Scheme and hosts for messages.
    pub(crate) fn place(&self) -> String {
        self.driver.place()
    }

    /// Judges the record that a call outside of the guarded ones found; for `mint init`.
    pub(crate) fn check_meta(&self, meta: Option<InitRecord>) -> Result<InitRecord, StoreError> {
        self.identify(meta)
    }

    /// What the last probe found.
    pub(crate) fn durability(&self) -> Durability {
        let state = self.state();
        state.durability.clone().expect("a link that opened was probed")
    }

    /// Which copy of the store answered the last probe.
    pub(crate) fn incarnation(&self) -> Option<String> {
        self.state().incarnation.clone()
    }

    /// Why nothing may be minted any more.
    pub(crate) fn stopped(&self) -> Option<StoreError> {
        self.stopped.get().cloned()
    }

    /// Stops for good (protocol E3) and answers why, or why it had stopped before.
    pub(crate) fn stop(&self, why: StoreError) -> StoreError {
        let first = self.stopped.get_or_init(|| {
            tracing::error!(store = %self.driver.place(), error = %why, "nothing is minted from it any more");
            StoreError {
                kind: StoreErrorKind::Stopped,
                ..why
            }
        });
        first.clone()
    }

    /// Drops the connection; a later call makes a new one.
    pub(crate) fn disconnect(&self) {
        let current = self.state().current.clone();
        if let Some(current) = current {
            self.forget(&current);
        }
    }

    /// Reads. Whatever goes wrong, nothing was changed.
    pub(crate) async fn read<T, F, A>(&self, what: What<'_>, ask: F) -> Result<T, StoreError>
    where
        F: FnOnce(Arc<Connected<D>>) -> A,
        A: Future<Output = Result<T, Failure>> + Send,
    {
        self.request(what, Outcome::NotDone, 1, ask).await
    }

    /// Reads in several round trips, one after the other.
    #[cfg(feature = "zookeeper")]
    pub(crate) async fn read_long<T, F, A>(
        &self,
        what: What<'_>,
        round_trips: u32,
        ask: F,
    ) -> Result<T, StoreError>
    where
        F: FnOnce(Arc<Connected<D>>) -> A,
        A: Future<Output = Result<T, Failure>> + Send,
    {
        self.request(what, Outcome::NotDone, round_trips, ask).await
    }

    /// Writes. `ask` must not send anything twice.
    pub(crate) async fn write<T, F, A>(&self, what: What<'_>, ask: F) -> Result<T, StoreError>
    where
        F: FnOnce(Arc<Connected<D>>) -> A,
        A: Future<Output = Result<T, Failure>> + Send,
    {
        self.request(what, Outcome::Unknown, 1, ask).await
    }

    async fn request<T, F, A>(
        &self,
        what: What<'_>,
        if_lost: Outcome,
        round_trips: u32,
        ask: F,
    ) -> Result<T, StoreError>
    where
        F: FnOnce(Arc<Connected<D>>) -> A,
        A: Future<Output = Result<T, Failure>> + Send,
    {
        // The others are still told why.
        if let Some(why) = self.stopped().filter(|_| what.1 != PROGRESS_KEY) {
            return Err(why);
        }
        let connected = self.connected().await?;
        if if_lost == Outcome::Unknown {
            // The next one asks anew: whoever mends the store need not wait for the minute to end.
            self.admit_write().inspect_err(|_| self.forget(&connected))?;
        }
        let limit = self.settings.request_timeout * round_trips;
        let failure = match self.within(limit, ask(connected.clone())).await {
            Some(Ok(answer)) => return Ok(answer),
            Some(Err(failure)) => failure,
            None => Failure::Lost(format!("no answer within {limit:?}")),
        };
        let place = self.driver.place();
        Err(match failure {
            Failure::Refused(kind, why) => {
                StoreError::new(kind, Outcome::NotDone, format!("{what}: {place} answers: {why}"))
            }
            Failure::Useless(kind, why) => {
                self.forget(&connected);
                StoreError::new(kind, Outcome::NotDone, format!("{what}: {place}: {why}"))
            }
            Failure::Lost(why) => {
                self.forget(&connected);
                StoreError::new(
                    StoreErrorKind::Unavailable,
                    if_lost,
                    format!("{what}: {place}: {why}"),
                )
            }
            Failure::Stranger => self.meet_stranger(&connected).await,
        })
    }

    /// A store that came to be of class L while we use it is written no more, as one that was so at the start is
    /// not opened.
    fn admit_write(&self) -> Result<(), StoreError> {
        if self.settings.allow_lossy {
            return Ok(());
        }
        let state = self.state();
        match &state.durability {
            // Between `open` and the caller's look at the class no write is asked for.
            Some(found) if found.class == Class::Lossy => Err(StoreError {
                kind: StoreErrorKind::Unavailable,
                ..lossy(self.driver.scheme(), found)
            }),
            _ => Ok(()),
        }
    }

    /// The connection, a new one if there is none. Whoever waits for somebody else's attempt shares its end.
    async fn connected(&self) -> Result<Arc<Connected<D>>, StoreError> {
        let asked = {
            let state = self.state();
            if let Some(current) = &state.current {
                return Ok(current.clone());
            }
            state.attempts
        };
        let _alone = self.connecting.lock().await;
        {
            let state = self.state();
            if let Some(current) = &state.current {
                return Ok(current.clone());
            }
            if state.attempts != asked
                && let Some(error) = &state.failed
            {
                return Err(error.clone());
            }
        }
        let outcome = self.connect(self.settings.connect_timeout).await;
        let mut state = self.state();
        state.attempts += 1;
        state.failed = outcome.as_ref().err().cloned();
        outcome
    }

    /// Waits `patience` for a connection, made now or on its way already.
    async fn connect(&self, patience: Duration) -> Result<Arc<Connected<D>>, StoreError> {
        let late = || {
            let limit = self.settings.connect_timeout;
            self.not_connected(Failure::Lost(format!("no connection within {limit:?}")))
        };
        let making = Arc::clone(&self.making).try_acquire_owned();
        let told = making.ok().and_then(|permit| self.begin(permit));
        let waiting = async {
            let own = async {
                match told {
                    Some(told) => told.await.unwrap_or_else(|_| Err(late())),
                    // As many as may be are on their way.
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                outcome = own => outcome,
                () = self.arrivals.notified() => match self.state().current.clone() {
                    Some(arrived) => Ok(arrived),
                    None => Err(late()),
                },
            }
        };
        self.within(patience, waiting)
            .await
            .unwrap_or_else(|| Err(late()))
    }

    /// Begins to make a connection, which goes on when nobody waits for it any more.
    fn begin(
        &self,
        permit: OwnedSemaphorePermit,
    ) -> Option<oneshot::Receiver<Result<Arc<Connected<D>>, StoreError>>> {
        let link = self.me.upgrade()?;
        let (tell, told) = oneshot::channel();
        self.runtime.spawn(Box::pin(async move {
            let outcome = link.make().await.map(|made| link.keep(Arc::new(made)));
            drop(permit);
            if tell.send(outcome).is_err() {
                link.arrivals.notify_one();
            }
        }));
        Some(told)
    }

    async fn make(&self) -> Result<Connected<D>, StoreError> {
        let limit = self.settings.connect_timeout * CONNECTING_ROUND_TRIPS;
        let attempt = async {
            let connection = self.driver.connect().await?;
            let probe = self.driver.probe(connection.clone()).await?;
            Ok((connection, probe))
        };
        let (connection, probe) = match self.within(limit, attempt).await {
            Some(Ok(made)) => made,
            Some(Err(failure)) => return Err(self.not_connected(failure)),
            None => {
                let why = format!("no connection within {limit:?}");
                return Err(self.not_connected(Failure::Lost(why)));
            }
        };
        let met = self.judge(probe)?;
        Ok(Connected { connection, met })
    }

    /// Makes a new connection the one in use, unless another one came first.
    fn keep(&self, made: Arc<Connected<D>>) -> Arc<Connected<D>> {
        let mut state = self.state();
        if let Some(first) = state.current.clone() {
            drop(state);
            return first;
        }
        state.failed = None;
        state.current = Some(Arc::clone(&made));
        made
    }

    /// A connection without any look at who answers; for `mint init`.
    pub(crate) async fn connect_unprobed(&self) -> Result<D::Connection, StoreError> {
        let limit = self.settings.connect_timeout * CONNECTING_ROUND_TRIPS;
        match self.within(limit, self.driver.connect()).await {
            Some(made) => made.map_err(|failure| self.not_connected(failure)),
            None => Err(self.not_connected(Failure::Lost(format!("no connection within {limit:?}")))),
        }
    }

    /// One request outside of the guarded ones; for `mint init`.
    pub(crate) async fn unguarded<T>(
        &self,
        ask: impl Future<Output = Result<T, Failure>> + Send,
    ) -> Result<T, StoreError> {
        let limit = self.settings.request_timeout;
        let place = self.driver.place();
        let (kind, outcome, why) = match self.within(limit, ask).await {
            Some(Ok(answer)) => return Ok(answer),
            Some(Err(Failure::Refused(kind, why) | Failure::Useless(kind, why))) => {
                (kind, Outcome::NotDone, why)
            }
            Some(Err(Failure::Lost(why))) => (StoreErrorKind::Unavailable, Outcome::Unknown, why),
            Some(Err(Failure::Stranger)) => (
                StoreErrorKind::Foreign,
                Outcome::NotDone,
                "it was changed meanwhile".to_string(),
            ),
            None => {
                let why = format!("no answer within {limit:?}");
                (StoreErrorKind::Unavailable, Outcome::Unknown, why)
            }
        };
        Err(StoreError::new(kind, outcome, format!("{place}: {why}")))
    }

    /// Asks what the server may forget, whether or not there is anything of ours.
    #[cfg(any(feature = "etcd", feature = "zookeeper"))]
    pub(crate) async fn probe(&self) -> Result<Probed, StoreError> {
        let connection = self.connect_unprobed().await?;
        let found = self.unguarded(self.driver.probe(connection.clone())).await;
        Ok(Probed::of(found?.durability))
    }

    fn not_connected(&self, failure: Failure) -> StoreError {
        let (kind, why) = match failure {
            Failure::Refused(kind, why) | Failure::Useless(kind, why) => (kind, why),
            Failure::Lost(why) => (StoreErrorKind::Unavailable, why),
            Failure::Stranger => (StoreErrorKind::Foreign, "it changes while it is probed".into()),
        };
        let place = self.driver.place();
        StoreError::new(kind, Outcome::NotDone, format!("cannot use {place}: {why}"))
    }

    /// Takes a probe in: refuses a store that is not ours, notes its class.
    fn judge(&self, probe: Answering<D::MetaStamp>) -> Result<D::MetaStamp, StoreError> {
        let (meta, met) = probe.meta.unzip();
        self.identify(meta)?;
        if !probe.whole {
            let why = format!(
                "{} has lost its registers: mint_register was emptied",
                self.driver.place()
            );
            let error = StoreError::new(StoreErrorKind::Foreign, Outcome::NotDone, why)
                .with_hint(Advice::RestoreOrMove);
            return Err(match self.was_open() {
                true => self.stop(error),
                false => error,
            });
        }
        if let Some(why) = probe.unbounded.filter(|_| self.settings.allow_lossy) {
            let kind = match self.was_open() {
                true => StoreErrorKind::Unavailable,
                false => StoreErrorKind::Denied,
            };
            let why = format!(
                "{} may lose what it has acknowledged, and {why}",
                self.driver.place()
            );
            return Err(StoreError::new(kind, Outcome::NotDone, why).with_hint(BOUND_BY));
        }
        let mut state = self.state();
        if let Some(before) = state.incarnation.replace(probe.incarnation.clone())
            && before != probe.incarnation
        {
            tracing::warn!(store = %self.driver.place(), %before, now = %probe.incarnation,
                "another copy of the store answers, or the same one started anew");
        }
        let now = probe.durability;
        if let Some(before) = state.durability.replace(now.clone())
            && before.class != now.class
        {
            tracing::warn!(store = %self.driver.place(), class = now.class.letter(), why = %now.why,
                "the store's class has changed");
        }
        Ok(met.expect("what was identified was there"))
    }

    fn identify(&self, meta: Option<InitRecord>) -> Result<InitRecord, StoreError> {
        let place = self.driver.place();
        let foreign = |why: String| StoreError::new(StoreErrorKind::Foreign, Outcome::NotDone, why);
        let known = self.cluster_id.get().copied();
        let Some(meta) = meta else {
            if let Some(known) = known {
                return Err(self.stop(foreign(format!(
                    "{place} was cluster {known:032x} and is empty now: it was emptied, or lost its data"
                ))));
            }
            let missing = match self.settings.expect_cluster {
                Some(expected) => format!("{place} has no schema of mint, expected cluster {expected:032x}"),
                None => format!("{place} has no schema of mint"),
            };
            return Err(foreign(missing).with_hint(match self.settings.expect_cluster {
                Some(_) => {
                    "was it emptied, or is it another store? never start over on one that was in use".into()
                }
                None => Advice::Initialise { place: Some(place) },
            }));
        };
        if meta.schema != SCHEMA {
            let found = meta.schema;
            return Err(match found > SCHEMA {
                true => foreign(format!(
                    "{place} has schema version {found}, this program knows {SCHEMA} at most"
                ))
                .with_hint(Advice::NewerProgram {
                    on_this_machine: true,
                }),
                false => foreign(format!(
                    "{place} has schema version {found}, this program needs {SCHEMA}"
                ))
                .with_hint(Advice::Upgrade { place }),
            });
        }
        if let Some(known) = known.filter(|known| *known != meta.cluster_id) {
            return Err(self.stop(foreign(format!(
                "{place} was cluster {known:032x} and is cluster {:032x} now",
                meta.cluster_id
            ))));
        }
        if let Some(expected) = self.settings.expect_cluster.filter(|e| *e != meta.cluster_id) {
            return Err(foreign(format!(
                "{place} is cluster {:032x}, expected {expected:032x}",
                meta.cluster_id
            ))
            .with_hint(Advice::CheckClusterId));
        }
        self.cluster_id.get_or_init(|| meta.cluster_id);
        Ok(meta)
    }

    /// Whether a connection was ever made: what was there then must be there for good.
    fn was_open(&self) -> bool {
        self.state().durability.is_some()
    }

    /// A guarded request found another meta record: says which.
    async fn meet_stranger(&self, connected: &Arc<Connected<D>>) -> StoreError {
        self.forget(connected);
        match self.connected().await {
            Err(error) => error,
            Ok(_) => StoreError::new(
                StoreErrorKind::Unavailable,
                Outcome::NotDone,
                format!("{}: its meta record was away for a moment", self.driver.place()),
            ),
        }
    }

    /// Asks the current connection who answers.
    async fn probe_again(&self) {
        let current = self.state().current.clone();
        let Some(connected) = current else { return };
        // Nobody waits for it: one that is silent is found out by the requests.
        let limit = self.settings.request_timeout * CONNECTING_ROUND_TRIPS;
        let probe = self.driver.probe(connected.connection.clone());
        match self.within(limit, probe).await {
            Some(Ok(probe)) => {
                if let Err(error) = self.judge(probe) {
                    tracing::warn!(store = %self.driver.place(), %error, "the store is no longer what it was");
                    self.forget(&connected);
                }
            }
            Some(Err(_)) | None => self.forget(&connected),
        }
    }

    /// Drops a connection, unless another one took its place already.
    fn forget(&self, broken: &Arc<Connected<D>>) {
        let mut state = self.state();
        if state
            .current
            .as_ref()
            .is_some_and(|current| Arc::ptr_eq(current, broken))
        {
            state.current = None;
        }
        drop(state);
    }

    async fn within<T>(&self, limit: Duration, work: impl Future<Output = T> + Send) -> Option<T> {
        tokio::select! {
            biased;
            done = work => Some(done),
            () = self.runtime.sleep(limit) => None,
        }
    }

    fn state(&self) -> MutexGuard<'_, State<D>> {
        // No code between lock and unlock panics half-way through a change.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs `work` on the ledger's own thread, so that what a driver spawns lives as long as the ledger and not only
/// as long as the thread that asked.
#[cfg(any(feature = "redis", feature = "etcd"))]
pub(crate) async fn on_own_thread<T: Send + 'static>(
    runtime: &Arc<dyn Runtime>,
    work: impl Future<Output = Result<T, Failure>> + Send + 'static,
) -> Result<T, Failure> {
    let (tell, told) = tokio::sync::oneshot::channel();
    runtime.spawn(Box::pin(async move {
        // The one who asked may have given up.
        tell.send(work.await).ok();
    }));
    told.await
        .unwrap_or_else(|_| Err(Failure::Lost("the program is ending".to_string())))
}
