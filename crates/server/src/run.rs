//! The server as a whole: sockets, threads, the way up and the way down.
//!
//! ```text
//!   caller's runtime:  ledger, its store and background work
//!   thread 0..n:       one single-threaded runtime each: own listeners, own connections, own counters
//! ```

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use mintage_ledger::state_file::user_state_folder;
use mintage_ledger::{
    Durability, Ledger, LedgerSettings, LossyRules, OpenMember, Outcome, Runtime, Store, StoreError,
    StoreErrorKind, StoreSettings, Striped, SystemRuntime, open_journal, open_pinned,
};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{oneshot, watch};

use crate::advice;
use crate::config::{Config, ConfigError, LogLevel, StoreUrl};
use crate::error::Code;
use crate::listen::{self, Sockets};
use crate::metrics::Face;
use crate::noise::Noise;
use crate::service::{Service, Worker};
use crate::signals::Signals;
use crate::watch::{Deadlines, Verdict};
use crate::{files, http, resp, signals};

/// What a running server is told to do.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Stop {
    /// Go on.
    Not,
    /// Accept nothing more, answer what was read, then end.
    Gently,
    /// End at once.
    Now,
}

/// A server that could not start, or that ended badly.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{message}")]
pub struct RunError {
    /// What was asked and found.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl RunError {
    fn new(message: impl Into<String>, hint: Option<String>) -> Self {
        RunError {
            message: message.into(),
            hint,
        }
    }
}

/// What a server says once it serves.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Serving {
    /// Where HTTP listens.
    pub http: Option<SocketAddr>,
    /// Where the Redis protocol listens.
    pub resp: Option<SocketAddr>,
    /// How many threads serve.
    pub threads: usize,
    /// The store's scheme: `file`, `memory`, …
    pub store: &'static str,
    /// What the store may forget, and why.
    pub durability: Durability,
}

/// How many threads a configuration asks for.
///
/// Measured on two cores with the clients on the same machine: one thread answers as many requests as two, for
/// four fifths of the CPU time, since each wake-up finds more of them.
pub fn threads(config: &Config) -> usize {
    match config.threads.0 {
        Some(threads) => threads as usize,
        None => std::thread::available_parallelism().map_or(1, |cores| cores.get().saturating_sub(1).max(1)),
    }
}

/// What a server needs of the program that it runs in.
pub trait Host {
    /// It answers requests from here on. Called once.
    fn ready(&mut self, serving: &Serving);

    /// Reads the configuration again.
    ///
    /// # Errors
    /// It cannot be used.
    fn reload(&mut self) -> Result<Config, ConfigError>;

    /// Writes log records of this level and the more severe ones from here on.
    fn set_log_level(&mut self, level: LogLevel);
}

/// Opens the store, serves until SIGTERM or SIGINT, and closes: all of `mint serve`. SIGHUP reads the configuration
/// again.
///
/// # Errors
/// An address or the store cannot be had, or the store could not be closed cleanly.
pub fn serve(config: Config, host: &mut dyn Host) -> Result<(), RunError> {
    files::make_room(&config);
    let config = Arc::new(config);
    // Sockets first: a port in use is found before the store is touched.
    let sockets =
        listen::bind(&config, threads(&config)).map_err(|e| RunError::new(e.to_string(), Some(e.hint())))?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| RunError::new(format!("cannot start the runtime: {e}"), None))?;
    runtime.block_on(async {
        // Before anything is announced: a signal that follows the readiness line at once stops gently too.
        let signals =
            Signals::listen().map_err(|e| RunError::new(format!("cannot listen for signals: {e}"), None))?;
        let ledger = open_ledger(&config).await?;
        let (stop, stopped) = watch::channel(Stop::Not);
        let service = Service::new(ledger, config);
        let mut reloads = signals::Reloads::listen()
            .map_err(|e| RunError::new(format!("cannot listen for signals: {e}"), None))?;
        tokio::spawn(signals.stop(stop));
        let (tell, told) = oneshot::channel();
        let serving = serve_until(Arc::clone(&service), sockets, stopped, |serving| {
            let _ = tell.send(serving.clone());
        });
        let hosting = async {
            // An error is the end of the server before its beginning.
            if let Ok(serving) = told.await {
                host.ready(&serving);
            }
            reloads.follow(&service, host).await
        };
        tokio::select! {
            ended = serving => ended,
            never = hosting => match never {},
        }
    })
}

/// Opens a configuration's store and the ledger over it, on the current runtime.
///
/// # Errors
/// What the store says, with its hint.
pub async fn open_ledger(config: &Config) -> Result<Arc<Ledger>, RunError> {
    let runtime = SystemRuntime::new(tokio::runtime::Handle::current());
    let folder = state_folder(config);
    let store = open_stores(config, &store_settings(config), runtime.clone())
        .await
        .map_err(|e| {
            RunError::new(
                format!("cannot open store {}: {}", stores_shown(config), e.message),
                e.hint.map(|hint| advice::words(hint).into_owned()),
            )
        })?;
    let mut settings = ledger_settings(config);
    settings.journal = journal(config, &*store, folder.as_deref(), runtime.clone()).await;
    Ledger::open(store, settings, runtime).await.map_err(|e| {
        let error = crate::service::from_ledger(e);
        RunError::new(error.message, error.hint.map(String::from))
    })
}

/// Opens the store that a configuration names, or its set of stores.
///
/// # Errors
/// What the store says, with its hint.
pub async fn open_stores(
    config: &Config,
    settings: &StoreSettings,
    runtime: Arc<dyn Runtime>,
) -> Result<Arc<dyn Store>, StoreError> {
    let folder = state_folder(config);
    if config.store_urls.is_empty() {
        return open_pinned(&config.store_url.0, settings, folder.as_deref(), runtime).await;
    }
    let expected = settings.expect_cluster;
    let member = |url: &StoreUrl| {
        let shared = Arc::new((
            url.0.clone(),
            StoreSettings {
                // The set has an id of its own.
                expect_cluster: None,
                ..settings.clone()
            },
            folder.clone(),
            Arc::clone(&runtime),
        ));
        let open: OpenMember = Box::new(move || {
            let shared = Arc::clone(&shared);
            Box::pin(async move {
                let (url, settings, folder, runtime) = &*shared;
                open_pinned(url, settings, folder.as_deref(), Arc::clone(runtime)).await
            })
        });
        (url.redacted(), open)
    };
    let members = config.store_urls.iter().map(member).collect();
    let set = Striped::open(members, Arc::clone(&runtime)).await?;
    match expected.filter(|expected| *expected != set.cluster_id()) {
        None => Ok(set),
        Some(expected) => Err(StoreError::new(
            StoreErrorKind::Foreign,
            Outcome::NotDone,
            format!(
                "the stores are set {:032x}, expected {expected:032x}",
                set.cluster_id()
            ),
        )),
    }
}

/// The URL of the store, or those of its set, without passwords.
pub fn stores_shown(config: &Config) -> String {
    match config.store_urls.as_slice() {
        [] => config.store_url.redacted(),
        urls => urls.iter().map(StoreUrl::redacted).collect::<Vec<_>>().join(" "),
    }
}

/// This machine's own record of what it owns in a shared store; without one the outage budget is limited.
async fn journal(
    config: &Config,
    store: &dyn Store,
    folder: Option<&Path>,
    runtime: Arc<dyn Runtime>,
) -> Option<Arc<dyn Store>> {
    // What a set's stores own are not one name's ordinals; and another store is what it has for an outage.
    if store.exclusive() || store.striped().is_some() || config.outage_budget.is_zero() {
        return None;
    }
    let Some(folder) = folder else {
        tracing::warn!("no state folder: the outage budget of a sequence is limited by its max_gap");
        return None;
    };
    match open_journal(folder, store.cluster_id(), &store_settings(config), runtime).await {
        Ok(journal) => Some(journal),
        Err(error) => {
            tracing::warn!(%error, "no journal: the outage budget of a sequence is limited by its max_gap");
            None
        }
    }
}

/// What a configuration tells the store.
pub fn store_settings(config: &Config) -> StoreSettings {
    StoreSettings {
        expect_cluster: config.cluster_id.0.map(|id| id.0),
        allow_lossy: config.allow_lossy,
        allow_file_systems: config.allow_file_systems.clone(),
        state_folder: state_folder(config),
        request_timeout: config.request_timeout,
        connect_timeout: config.connect_timeout,
        ..StoreSettings::default()
    }
}

/// Where this machine remembers what shared stores were, if there is such a place.
pub fn state_folder(config: &Config) -> Option<PathBuf> {
    if let Some(folder) = &config.state_folder.0 {
        return Some(folder.0.clone());
    }
    let variable = |name| std::env::var_os(name).map(PathBuf::from);
    // systemd names one folder, or several with colons between.
    if let Some(folders) = variable("STATE_DIRECTORY") {
        let first = folders.to_string_lossy().split(':').next().map(PathBuf::from);
        return first.filter(|folder| folder.is_absolute());
    }
    user_state_folder(variable("XDG_STATE_HOME").as_deref(), variable("HOME").as_deref())
}

/// What this process calls itself towards others of its cluster.
fn node_name(config: &Config) -> String {
    match &config.server_name.0 {
        Some(name) => name.0.clone(),
        // A machine without a name has its process ids still.
        None => format!(
            "{}:{}",
            mintage::host_name().unwrap_or_default(),
            std::process::id()
        ),
    }
}

/// What a configuration tells the ledger.
pub fn ledger_settings(config: &Config) -> LedgerSettings {
    LedgerSettings {
        auto_create: config.auto_create,
        max_sequences: config.max_sequences,
        max_dropped: config.max_dropped,
        max_loaded: config.max_loaded,
        idle_after: config.idle_after,
        max_gap: config.max_gap,
        window: config.window.0,
        max_ahead: config.max_ahead,
        clock_policy: config.clock_policy,
        clock_confirm: config.clock_confirm,
        lossy: config.allow_lossy.then(|| LossyRules {
            max_rate: config.max_rate,
            window: config.window.0.unwrap_or(LossyRules::default().window),
        }),
        outage_budget: config.outage_budget,
        // A request may have to make its connection first.
        request_timeout: config.request_timeout + config.connect_timeout,
        journal: None,
        instance_name: node_name(config),
    }
}

/// Serves over an open ledger and bound sockets until `stop` says so, then closes the ledger.
///
/// The ledger must live on the current runtime. Sockets and stop signal are the caller's, so tests own both.
///
/// # Errors
/// A thread could not be started, or the store could not be closed cleanly.
pub async fn run(
    config: Arc<Config>,
    ledger: Arc<Ledger>,
    sockets: Sockets,
    stop: watch::Receiver<Stop>,
    ready: impl FnOnce(&Serving),
) -> Result<(), RunError> {
    serve_until(Service::new(ledger, config), sockets, stop, ready).await
}

async fn serve_until(
    service: Arc<Service>,
    sockets: Sockets,
    mut stop: watch::Receiver<Stop>,
    ready: impl FnOnce(&Serving),
) -> Result<(), RunError> {
    let ledger = Arc::clone(service.ledger());
    let serving = Serving {
        http: sockets.http.as_ref().map(|l| l.address),
        resp: sockets.resp.as_ref().map(|l| l.address),
        threads: sockets
            .http
            .iter()
            .chain(&sockets.resp)
            .map(|l| l.sockets.len())
            .max()
            .unwrap_or(0),
        store: ledger.store_scheme(),
        durability: ledger.store_durability(),
    };
    let mut http = sockets.http.map(|l| l.sockets.into_iter());
    let mut resp = sockets.resp.map(|l| l.sockets.into_iter());
    let mut ended = Vec::new();
    for index in 0..serving.threads {
        let listeners = [
            (Face::Http, http.as_mut().and_then(Iterator::next)),
            (Face::Resp, resp.as_mut().and_then(Iterator::next)),
        ];
        let place = Place {
            service: service.clone(),
            index: index as u64,
            threads: serving.threads as u64,
            stop: stop.clone(),
        };
        let (end, ends) = oneshot::channel::<()>();
        std::thread::Builder::new()
            .name(format!("serve-{index}"))
            .spawn(move || {
                let _end = end;
                serve_thread(place, listeners)
            })
            .map_err(|e| RunError::new(format!("cannot start thread {index}: {e}"), None))?;
        ended.push(ends);
    }
    ready(&serving);
    for end in ended {
        // An error is the end of the thread: the sender is dropped with it.
        let _ = end.await;
    }
    service.log().write_all();
    let answered = Face::ALL
        .iter()
        .map(|face| service.metrics().requests(*face))
        .sum::<u64>();
    let closing = async { ledger.close().await };
    tokio::select! {
        closed = closing => {
            closed.map_err(|e| RunError::new(format!("the store was not closed cleanly: {e}"), None))?;
            tracing::info!(uptime_s = service.uptime().as_secs(), requests = answered, "stopped");
            Ok(())
        }
        _ = stop.wait_for(|stop| *stop == Stop::Now) => {
            Err(RunError::new("stopped at once: windows and unused numbers were not given back", None))
        }
    }
}

/// What one serving thread begins with.
struct Place {
    service: Arc<Service>,
    index: u64,
    threads: u64,
    stop: watch::Receiver<Stop>,
}

fn serve_thread(place: Place, listeners: [(Face, Option<std::net::TcpListener>); 2]) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build_local(Default::default());
    match runtime {
        Ok(runtime) => runtime.block_on(serve_all(place, listeners)),
        Err(error) => tracing::error!(%error, "cannot start a thread's runtime"),
    }
}

async fn serve_all(place: Place, listeners: [(Face, Option<std::net::TcpListener>); 2]) {
    let Place {
        service,
        index,
        threads,
        mut stop,
    } = place;
    let worker = Worker::new(Arc::clone(&service), index, threads);
    let sweep = worker.watches().clone();
    tokio::task::spawn_local(async move { sweep.sweep(|| service.log().write_due()).await });
    let forgetful = worker.clone();
    tokio::task::spawn_local(async move { forgetful.let_idle_names_go().await });
    let following = worker.clone();
    tokio::task::spawn_local(async move { following.follow_configuration().await });
    let mut accepting = Vec::new();
    for (face, listener) in listeners {
        let Some(listener) = listener else { continue };
        match TcpListener::from_std(listener) {
            Ok(listener) => accepting.push(tokio::task::spawn_local(accept(listener, face, worker.clone()))),
            Err(error) => tracing::error!(%error, "cannot listen"),
        }
    }
    // An error means that the sender is gone: nobody can stop us gently any more.
    let _ = stop.wait_for(|stop| *stop > Stop::Not).await;
    for task in &accepting {
        task.abort();
    }
    worker.watches().stop(Verdict::Stopping);
    let patience = worker.config().shutdown_timeout;
    let at_once = tokio::select! {
        () = worker.watches().empty() => false,
        () = tokio::time::sleep(patience) => true,
        _ = stop.wait_for(|stop| *stop == Stop::Now) => true,
    };
    if at_once {
        tracing::warn!(connections = worker.watches().count(), "connections are cut off");
        worker.watches().stop(Verdict::Now);
    }
}

/// Accepts connections for ever.
async fn accept(listener: TcpListener, face: Face, worker: Rc<Worker>) {
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => begin(stream, peer, face, &worker),
            Err(error) => {
                // Out of file descriptors, usually: wait for connections to end instead of spinning.
                worker.service().log().note_accept(&error);
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

fn begin(stream: TcpStream, peer: SocketAddr, face: Face, worker: &Rc<Worker>) {
    worker.counters().accepted(face);
    let Some(place) = worker.service().places().take(face, peer.ip()) else {
        worker.counters().refused(Code::TooManyConnections);
        worker.service().log().note(Noise::TooManyConnections, peer);
        // The socket's buffer is empty, so this fits; and if not, the client sees the end all the same.
        let _ = stream.try_write(match face {
            Face::Http => http::TOO_MANY_CONNECTIONS,
            Face::Resp => resp::TOO_MANY_CONNECTIONS,
        });
        return;
    };
    // Answers are written whole; waiting to fill packets only costs time.
    let _ = stream.set_nodelay(true);
    let deadlines: Deadlines = match face {
        Face::Http if place.is_for_health() => http::health_deadlines(&worker.config()),
        Face::Http => http::deadlines(&worker.config()),
        Face::Resp => resp::connection::deadlines(&worker.config()),
    };
    let watch = worker.watches().add(deadlines);
    let worker = worker.clone();
    let open = worker.service().metrics().connect(face);
    match face {
        Face::Http => tokio::task::spawn_local(async move {
            http::serve(stream, peer, worker, watch, place.is_for_health()).await;
            drop((open, place));
        }),
        Face::Resp => tokio::task::spawn_local(async move {
            resp::connection::serve(stream, peer, worker, watch).await;
            drop((open, place));
        }),
    };
}

/// How long accepting rests after it failed.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
