//! The server as a whole: its threads, the way up and the way down.
//!
//! ```text
//!   caller's runtime:  ledger, its store and background work
//!   thread 0..n:       one single-threaded runtime each: own listeners, own connections, own counters
//! ```

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use mintage_ledger::Ledger;
use tokio::sync::{oneshot, watch};

use crate::bound::Bound;
use crate::config::{Config, Setting};
use crate::connection::{Connection, Counted};
use crate::error::Code;
use crate::faces::scripts::parts::check_pools;
use crate::faces::{self, Face};
use crate::host::{Host, RunError, Serving, Stop};
use crate::listen::{self, Sockets};
use crate::metrics::FaceId;
use crate::noise::Noise;
use crate::opening::open_ledger;
use crate::places::ConnectionPlace;
use crate::sampler;
use crate::service::Service;
use crate::signals::Signals;
use crate::thread::{ServingThread, Shared};
use crate::transport::{Listener, Peer, Stream};
use crate::watch::Verdict;
use crate::{core_dumps, files, give_back, notify, signals, tls};

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

/// Opens the store, serves until SIGTERM or SIGINT, and closes: all of `mint serve`. SIGHUP reads the configuration
/// again.
///
/// # Errors
/// An address or the store cannot be had, or the store could not be closed cleanly.
pub fn serve(config: Config, host: &mut dyn Host) -> Result<(), RunError> {
    core_dumps::switch_off(&config);
    files::make_room(&config);
    let config = Arc::new(config);
    // Sockets first: a port in use is found before the store is touched.
    let sockets =
        listen::bind(&config, threads(&config)).map_err(|e| RunError::new(e.to_string(), Some(e.hint())))?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| RunError::new(format!("cannot start the runtime: {e}"), None))?;
    let served = runtime.block_on(async {
        // Before anything is announced: a signal that follows the readiness line at once stops gently too.
        let signals =
            Signals::listen().map_err(|e| RunError::new(format!("cannot listen for signals: {e}"), None))?;
        let (stop, mut stopped) = watch::channel(Stop::Not);
        tokio::spawn(signals.stop(stop));
        let opening = async {
            let ledger = open_ledger(&config).await?;
            check_pools(&config.scripts, &ledger).await.map_err(|e| {
                RunError::new(format!("faces.scripts: {}", e.message), e.hint.map(String::from))
            })?;
            shared(ledger, Arc::clone(&config))
        };
        let shared = tokio::select! {
            opened = opening => opened?,
            // The store may not answer for long.
            () = asked_to_stop(&mut stopped) => return stopped_before_serving(),
        };
        let mut reloads = signals::Reloads::listen()
            .map_err(|e| RunError::new(format!("cannot listen for signals: {e}"), None))?;
        let (tell, told) = oneshot::channel();
        let serving = serve_until(Arc::clone(&shared), sockets, stopped, |serving| {
            let _ = tell.send(serving.clone());
        });
        let hosting = async {
            // An error is the end of the server before its beginning.
            if let Ok(serving) = told.await {
                host.ready(&serving);
                notify::ready(&serving);
            }
            reloads.follow(&shared, host).await
        };
        tokio::select! {
            ended = serving => ended,
            never = hosting => match never {},
            never = shared.tls.follow() => match never {},
            never = shared.service.follow_tokens() => match never {},
            never = shared.beats.tell() => match never {},
            never = give_back::follow(&shared) => match never {},
            never = faces::make_pools_when_back(&shared.service) => match never {},
        }
    });
    // Calls that block, such as the look-up of a name, are not waited for: they end with the process.
    runtime.shutdown_background();
    served
}

/// Completes once the server is to stop. An error means that the sender is gone: nobody can say so any more.
async fn asked_to_stop(stop: &mut watch::Receiver<Stop>) {
    let _ = stop.wait_for(|stop| *stop > Stop::Not).await;
}

/// That is no failure.
fn stopped_before_serving() -> Result<(), RunError> {
    tracing::info!("stopped before it served anybody");
    Ok(())
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
    serve_until(shared(ledger, config)?, sockets, stop, ready).await
}

/// What the threads share, the certificates read.
fn shared(ledger: Arc<Ledger>, config: Arc<Config>) -> Result<Arc<Shared>, RunError> {
    let files = tls::Files::of(&config);
    let shared = Shared::new(Service::new(ledger, config));
    // Warnings were told with the configuration.
    let loaded = files.and_then(|files| shared.tls.load(files));
    loaded.map_err(|why| RunError::new(why, Some(tls::HINT.into())))?;
    shared
        .service
        .open_audit()
        .map_err(|why| RunError::new(why, None))?;
    Ok(shared)
}

async fn serve_until(
    shared: Arc<Shared>,
    sockets: Sockets,
    mut stop: watch::Receiver<Stop>,
    ready: impl FnOnce(&Serving),
) -> Result<(), RunError> {
    let service = &shared.service;
    let ledger = Arc::clone(service.ledger());
    if !ledger.is_away() {
        tokio::select! {
            made = faces::make_pools(service) => {
                made.map_err(|e| RunError::new(e.message, e.hint.map(String::from)))?;
            }
            () = asked_to_stop(&mut stop) => return stopped_before_serving(),
        }
    }
    let all = || sockets.0.iter();
    let serving = Serving {
        addresses: all().map(|l| (l.face.name, l.address.clone())).collect(),
        sharing: faces::sharing(&service.config()),
        threads: all().map(|l| l.sockets.len()).max().unwrap_or(0),
        store: ledger.store_scheme(),
        durability: ledger.store_durability(),
    };
    // Paths are taken away once nobody is served any more.
    let mut paths = Vec::new();
    let mut starts: Vec<ThreadStart> = (0..serving.threads as u64)
        .map(|index| ThreadStart {
            shared: Arc::clone(&shared),
            index,
            threads: serving.threads as u64,
            stop: stop.clone(),
            bound: Vec::new(),
        })
        .collect();
    for listeners in sockets.0 {
        paths.push(listeners.path);
        for (start, socket) in starts.iter_mut().zip(listeners.sockets) {
            start.bound.push((listeners.id, listeners.face, socket));
        }
    }
    let ended = starts
        .into_iter()
        .map(ThreadStart::spawn)
        .collect::<Result<Vec<_>, _>>()?;
    let mut of_resp = serving.addresses.iter().filter(|(face, _)| *face == "resp");
    let resp = of_resp.next().map(|(_, at)| at.clone());
    let sampling = sampler::start(Arc::clone(service), resp);
    ready(&serving);
    let all_ended = async {
        for end in ended {
            // An error is the end of the thread: the sender is dropped with it.
            let _ = end.await;
        }
    };
    tokio::select! {
        biased;
        () = all_ended => {}
        () = all_must_have_ended(service, stop.clone()) => {
            tracing::warn!("a thread does not end: what it does is cut off");
        }
    }
    drop((paths, sampling));
    service.log().write_all();
    let counted = faces::numbered().map(|(face, _)| service.metrics().requests(face));
    let answered = counted.sum::<u64>();
    let closing = async { ledger.close().await };
    let patience = service.config().shutdown_timeout.max(CLOSING_AT_LEAST);
    tokio::select! {
        closed = closing => {
            closed.map_err(|e| RunError::new(format!("the store was not closed cleanly: {e}"), None))?;
            tracing::info!(uptime_s = service.uptime().as_secs(), requests = answered, "stopped");
            Ok(())
        }
        _ = stop.wait_for(|stop| *stop == Stop::Now) => {
            Err(RunError::new("stopped at once: windows and unused numbers were not given back", None))
        }
        () = tokio::time::sleep(patience) => Err(RunError::new(
            format!(
                "the store did not answer for {}: windows and unused numbers were not given back",
                Setting::show(&patience)
            ),
            None,
        )),
    }
}

/// Completes when every serving thread has been told to end, and has had its time for that: one that does something
/// without end, or waits for a file, keeps nobody from the end of the process.
async fn all_must_have_ended(service: &Service, mut stop: watch::Receiver<Stop>) {
    asked_to_stop(&mut stop).await;
    let patience = service.config().shutdown_timeout;
    tokio::select! {
        () = tokio::time::sleep(patience) => {}
        _ = stop.wait_for(|stop| *stop == Stop::Now) => {}
    }
    tokio::time::sleep(ENDING_TIME).await;
}

/// How long a thread may take to cut off its connections.
const ENDING_TIME: Duration = Duration::from_secs(2);

/// How long the store may take to close, however short `server.shutdown_timeout` is.
const CLOSING_AT_LEAST: Duration = Duration::from_secs(5);

/// What one serving thread begins with.
struct ThreadStart {
    shared: Arc<Shared>,
    index: u64,
    threads: u64,
    stop: watch::Receiver<Stop>,
    bound: Vec<(FaceId, &'static Face, Bound)>,
}

impl ThreadStart {
    /// Begins to serve; what this answers ends with the thread.
    fn spawn(self) -> Result<oneshot::Receiver<()>, RunError> {
        let index = self.index;
        let (end, ends) = oneshot::channel::<()>();
        std::thread::Builder::new()
            .name(format!("serve-{index}"))
            .spawn(move || {
                let _end = end;
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build_local(Default::default());
                match runtime {
                    Ok(runtime) => {
                        runtime.block_on(serve_all(self));
                        // As that of the process: an audit, a line of the audit trail.
                        runtime.shutdown_background();
                    }
                    Err(error) => tracing::error!(%error, "cannot start a thread's runtime"),
                }
            })
            .map_err(|e| RunError::new(format!("cannot start thread {index}: {e}"), None))?;
        Ok(ends)
    }
}

async fn serve_all(start: ThreadStart) {
    let ThreadStart {
        shared,
        index,
        threads,
        mut stop,
        bound,
    } = start;
    let service = Arc::clone(&shared.service);
    let request_bytes = faces::request_bytes(&service.config());
    let thread = ServingThread::new(shared, index, threads, request_bytes);
    let swept = Rc::clone(&thread);
    tokio::task::spawn_local(async move {
        let besides = || {
            swept.bound_unread();
            service.log().write_due()
        };
        swept.watches().sweep(besides).await;
    });
    let beating = thread.clone();
    tokio::task::spawn_local(async move { beating.shared().beats.beat().await });
    let forgetful = thread.clone();
    tokio::task::spawn_local(async move { forgetful.let_idle_names_go().await });
    let following = thread.clone();
    tokio::task::spawn_local(async move { following.follow_configuration().await });
    let mut accepting = Vec::new();
    for (id, face, socket) in bound {
        match socket.listener() {
            Ok(listener) => {
                accepting.push(tokio::task::spawn_local(accept(
                    listener,
                    id,
                    face,
                    thread.clone(),
                )));
            }
            Err(error) => tracing::error!(%error, "cannot listen"),
        }
    }
    // An error means that the sender is gone: nobody can stop us gently any more.
    let _ = stop.wait_for(|stop| *stop > Stop::Not).await;
    for task in &accepting {
        task.abort();
    }
    thread.watches().stop(Verdict::Stopping);
    let patience = thread.config().shutdown_timeout;
    let at_once = tokio::select! {
        () = thread.watches().empty() => false,
        () = tokio::time::sleep(patience) => true,
        _ = stop.wait_for(|stop| *stop == Stop::Now) => true,
    };
    if at_once {
        tracing::warn!(connections = thread.watches().count(), "connections are cut off");
        thread.watches().stop(Verdict::Now);
    }
}

/// Accepts connections for ever.
async fn accept(listener: Listener, id: FaceId, face: &'static Face, thread: Rc<ServingThread>) {
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => begin(stream, peer, listener.is_tls(), id, face, &thread),
            Err(error) => {
                // Out of file descriptors, usually: wait for connections to end instead of spinning.
                thread.service().log().note_accept(&error);
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

fn begin(
    stream: Stream,
    peer: Peer,
    is_tls: bool,
    id: FaceId,
    face: &'static Face,
    thread: &Rc<ServingThread>,
) {
    let serves = &face.serves;
    thread.counters().accepted(id);
    if face
        .access(&thread.config())
        .is_some_and(|access| !access.lets_in(peer))
    {
        thread.counters().refused(Code::Forbidden);
        return;
    }
    let answers_health = serves.health_deadlines.is_some();
    let Some(place) = thread.shared().places.take(id, answers_health, peer) else {
        thread.counters().refused(Code::TooManyConnections);
        thread.service().log().note(Noise::TooManyConnections, peer);
        if !is_tls || serves.protocols.begin_in_clear() {
            // The socket's buffer is empty, so this fits; and if not, the client sees the end all the same.
            let _ = stream.try_write(serves.too_many);
        }
        return;
    };
    stream.send_at_once();
    let begun = Begun {
        peer,
        id,
        face,
        place,
    };
    match is_tls && !serves.protocols.begin_in_clear() {
        false => begun.serve(stream, is_tls, thread),
        // The place is held meanwhile: handshakes are as many as connections at most.
        true => drop(tokio::task::spawn_local(
            begun.shake_and_serve(stream, Rc::clone(thread)),
        )),
    }
}

/// A connection that has a place.
struct Begun {
    peer: Peer,
    id: FaceId,
    face: &'static Face,
    place: ConnectionPlace,
}

impl Begun {
    fn serve(self, stream: Stream, wants_tls: bool, thread: &Rc<ServingThread>) {
        let serves = &self.face.serves;
        let deadlines = match serves.health_deadlines.filter(|_| self.place.is_for_health()) {
            Some(short) => short(&thread.config()),
            None => (serves.deadlines)(&thread.config()),
        };
        (serves.begin)(Connection {
            presented: Rc::new(stream.presented()),
            stream,
            peer: self.peer,
            wants_tls,
            face: self.id,
            watch: thread.watches().add(deadlines),
            counted: Counted {
                place: self.place,
                _open: thread.service().metrics().connect(self.id),
            },
            thread: Rc::clone(thread),
        });
    }

    /// Serves it once TLS is agreed on.
    async fn shake_and_serve(self, stream: Stream, thread: Rc<ServingThread>) {
        let serves = &self.face.serves;
        let Some(certificates) = thread.shared().tls.handshake(serves.protocols) else {
            // A configuration without them is refused where anything listens with TLS.
            return;
        };
        let limit = thread.config().tls_handshake_timeout;
        match tls::shake(stream, certificates, limit, serves.in_clear).await {
            tls::Shaken::Done(stream) => self.serve(stream, true, &thread),
            tls::Shaken::Failed(why) => {
                thread.counters().refused(Code::Handshake);
                thread.service().log().note_sent(Noise::Tls, why, self.peer);
            }
        }
    }
}

/// How long accepting rests after it failed.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
