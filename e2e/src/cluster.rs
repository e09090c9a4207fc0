//! Several `mint serve` on one real store, clients on all of them, and faults: what the matrix of stores and faults
//! is made of.

use std::collections::HashSet;
use std::fmt;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use mintage_testing::{MARK, invariant};
use tempfile::TempDir;

use crate::events::{Event, row};
use crate::namespace::Namespace;
use crate::need;
use crate::proxy::Proxy;
use crate::resp::{Reply, Resp, encode};
use crate::run;
use crate::server::{Server, Start};
use crate::store_suite::Engine;

/// What the clients of a cluster were given.
#[derive(Debug, Default)]
pub struct Seen {
    /// By what they are of: a sequence's numbers, a pool's ids.
    sets: [Mutex<HashSet<u64>>; 2],
    repeats: AtomicU64,
    first_repeat: Mutex<Option<String>>,
    refused: AtomicU64,
    last_refusal: Mutex<String>,
}

/// What an id is of.
#[derive(Clone, Copy, Debug)]
pub enum Of {
    /// The sequence that the clients use.
    Sequence,
    /// The pool that the clients use.
    Pool,
}

impl Seen {
    /// Takes in an id that somebody was given.
    pub fn note(&self, of: Of, id: u64) {
        let fresh = lock(&self.sets[of as usize]).insert(id);
        if !fresh {
            self.repeats.fetch_add(1, Ordering::SeqCst);
            lock(&self.first_repeat).get_or_insert_with(|| {
                // At once: whatever else fails before it is asserted is not forgiven.
                need::say(&format!("{MARK}{of:?} {id} was received twice"));
                format!("{of:?} {id}")
            });
        }
    }

    fn refused(&self, why: &str) {
        self.refused.fetch_add(1, Ordering::SeqCst);
        *lock(&self.last_refusal) = why.to_string();
    }

    /// How many ids were received.
    pub fn count(&self) -> u64 {
        self.sets.iter().map(|set| lock(set).len() as u64).sum()
    }

    /// How many requests were refused; those that a dead server did not answer are not among them.
    pub fn refusals(&self) -> u64 {
        self.refused.load(Ordering::SeqCst)
    }

    /// What the last refusal said.
    pub fn last_refusal(&self) -> String {
        lock(&self.last_refusal).clone()
    }
}

/// One line of the matrix.
#[derive(Debug)]
pub struct Row {
    event: Event,
    ids: u64,
    repeats: u64,
    refused: u64,
}

impl Row {
    /// Prints the row of a test that compares ids as they come, and has passed: `ids` of them, none twice.
    ///
    /// # Panics
    /// When the table of events does not have it.
    #[track_caller]
    pub fn passed(store: &str, event: &str, ids: usize) {
        let row = Row {
            event: row(store, event),
            ids: ids as u64,
            repeats: 0,
            refused: 0,
        };
        need::say(&row.to_string());
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "matrix: {} | {} | {} | {} | {} | {}",
            self.event.store, self.event.event, self.event.outcome, self.ids, self.repeats, self.refused
        )
    }
}

/// A server of the cluster, with one client that uses it all the time.
pub struct Node {
    /// What it calls itself.
    pub name: String,
    server: Option<Server>,
    start: Start,
    address: Arc<Mutex<Option<SocketAddr>>>,
    stop: Arc<AtomicBool>,
    served: Arc<AtomicU64>,
    client: Option<JoinHandle<()>>,
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {:?}", self.name, *lock(&self.address))
    }
}

/// Servers around one store.
pub struct Cluster<E: Engine> {
    /// The store's server.
    pub engine: E,
    /// The servers.
    pub nodes: Vec<Node>,
    /// What their clients were given.
    pub seen: Arc<Seen>,
    folder: TempDir,
    url: String,
    pool: &'static str,
    options: Vec<String>,
    started: u32,
}

impl<E: Engine> Cluster<E> {
    /// Initialises the store. Clients use the sequence `orders` and the pool of this name, which has `worker_bits`
    /// bits of workers and windows of 2 s.
    ///
    /// # Panics
    /// When the store refuses.
    #[track_caller]
    pub fn new(engine: E, pool: &'static str, worker_bits: u8) -> Cluster<E> {
        Cluster::with_options(engine, pool, worker_bits, &[])
    }

    /// The same with settings in the servers' environment, `NAME=VALUE`.
    ///
    /// # Panics
    /// When the store refuses.
    #[track_caller]
    pub fn with_options(engine: E, pool: &'static str, worker_bits: u8, options: &[&str]) -> Cluster<E> {
        Cluster::with_windows(engine, pool, worker_bits, "2s", options)
    }

    /// The same with windows of another length.
    ///
    /// # Panics
    /// When the store refuses.
    #[track_caller]
    pub fn with_windows(
        engine: E,
        pool: &'static str,
        worker_bits: u8,
        window: &str,
        options: &[&str],
    ) -> Cluster<E> {
        let mut cluster = Cluster::bare(engine, pool, options);
        let url = cluster.url.clone();
        cluster.mint(&["init", "--store", &url]);
        let layout = layout(worker_bits);
        cluster.mint(&[
            "pool", "create", pool, "--layout", &layout, "--window", window, "--store", &url,
        ]);
        cluster
    }

    /// A cluster whose store and pool somebody else makes.
    pub fn bare(engine: E, pool: &'static str, options: &[&str]) -> Cluster<E> {
        Cluster {
            nodes: Vec::new(),
            seen: Arc::default(),
            folder: tempfile::tempdir().expect("a temporary folder can be made"),
            url: engine.url(engine.address()),
            pool,
            options: options.iter().map(ToString::to_string).collect(),
            started: 0,
            engine,
        }
    }

    /// The same with another URL than the engine's.
    #[must_use]
    pub fn with_url(mut self, url: &str) -> Cluster<E> {
        self.url = url.to_string();
        self
    }

    /// Runs `mint` with the servers' settings, and answers what it printed.
    ///
    /// # Panics
    /// When it fails.
    #[track_caller]
    pub fn mint(&mut self, args: &[&str]) -> String {
        let mut command = run::command(args);
        run::at_home(&mut command, self.folder.path());
        command.envs(self.options.iter().filter_map(|word| word.split_once('=')));
        let said: run::Said = command.output().expect("mint can be started").into();
        said.ok()
    }

    /// The store's URL.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// How to start one more server, called `node-N`; not started yet.
    pub fn next_start(&mut self, url: &str) -> (String, Start) {
        self.started += 1;
        let name = format!("node-{}", self.started);
        let folder = self.folder.path().join(&name);
        std::fs::create_dir(&folder).expect("the folder is ours");
        let mut settings = vec![format!("MINT_SERVER__NAME={name}")];
        settings.extend(self.options.iter().cloned());
        let start = Start::in_folder(&folder)
            .args(["--store", url])
            .under(["env".to_string()].into_iter().chain(settings));
        (name, start)
    }

    /// Starts one more server and a client on it.
    #[track_caller]
    pub fn add(&mut self) -> usize {
        let url = self.url.clone();
        let (name, start) = self.next_start(&url);
        self.add_started(name, start)
    }

    /// Starts one more server that reaches the store through a proxy of its own.
    #[track_caller]
    pub fn add_behind_proxy(&mut self) -> (usize, Proxy) {
        let proxy = Proxy::to(self.engine.address());
        let url = self.engine.url(proxy.address());
        let (name, start) = self.next_start(&url);
        (self.add_started(name, start), proxy)
    }

    /// Starts one more server on a machine of its own, which reaches the store over a cable. The proxy must be dropped
    /// before its address goes with the namespace.
    #[track_caller]
    pub fn add_in_namespace(&mut self) -> (usize, Proxy, Namespace) {
        let namespace = Namespace::new();
        let proxy = Proxy::on(namespace.here, self.engine.address());
        let url = self.engine.url(proxy.address());
        let (name, start) = self.next_start(&url);
        let start = start.listen_on(namespace.there).under(namespace.words());
        (self.add_started(name, start), proxy, namespace)
    }

    /// Starts a server as told, and a client on it.
    #[track_caller]
    pub fn add_started(&mut self, name: String, start: Start) -> usize {
        let server = start.ready();
        let mut node = Node {
            name,
            address: Arc::new(Mutex::new(Some(server.resp))),
            server: Some(server),
            start,
            stop: Arc::default(),
            served: Arc::default(),
            client: None,
        };
        node.client = Some(node.use_it(self.pool, self.seen.clone()));
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    /// Waits until each of these nodes has served `requests` more requests.
    ///
    /// # Panics
    /// When one does not within a minute; shows what was refused last.
    #[track_caller]
    pub fn all_serve(&self, nodes: &[usize], requests: u64) {
        let before: Vec<u64> = nodes.iter().map(|at| self.nodes[*at].served()).collect();
        for (at, before) in nodes.iter().zip(before) {
            let node = &self.nodes[*at];
            eventually(
                &format!(
                    "{} serves (last refusal: {})",
                    node.name,
                    self.seen.last_refusal()
                ),
                || node.served() >= before + requests,
            );
        }
    }

    /// Stops the clients, and answers what the fault came to.
    ///
    /// # Panics
    /// When an id was received twice, or next to none at all, or when the table of events does not have this one.
    #[track_caller]
    pub fn checked(mut self, event: &str) -> Row {
        for node in &mut self.nodes {
            node.quit();
        }
        let row = Row {
            event: row(self.engine.scheme(), event),
            ids: self.seen.count(),
            repeats: self.seen.repeats.load(Ordering::SeqCst),
            refused: self.seen.refusals(),
        };
        need::say(&row.to_string());
        let repeat = lock(&self.seen.first_repeat).clone();
        invariant!(row.repeats == 0, "{} repeats, the first: {repeat:?}", row.repeats);
        assert!(row.ids > 1_000, "{row}");
        row
    }
}

impl Node {
    /// How many requests were answered with ids.
    pub fn served(&self) -> u64 {
        self.served.load(Ordering::SeqCst)
    }

    /// The server.
    ///
    /// # Panics
    /// When it is not running.
    #[track_caller]
    pub fn server(&self) -> &Server {
        self.server.as_ref().expect("it runs")
    }

    /// Kills the server where it stands.
    pub fn kill(&mut self) {
        *lock(&self.address) = None;
        if let Some(server) = self.server.take() {
            server.kill();
        }
    }

    /// Starts it again.
    #[track_caller]
    pub fn restart(&mut self) {
        let server = self.start.ready();
        *lock(&self.address) = Some(server.resp);
        self.server = Some(server);
    }

    /// Sends its process a signal, such as `STOP`.
    ///
    /// # Panics
    /// When it is not running.
    #[track_caller]
    pub fn signal(&self, signal: &str) {
        crate::signal::signal(self.server().pid(), signal);
    }

    /// The worker it holds in a pool, by its own words.
    #[track_caller]
    pub fn worker(&self, pool: &str) -> Option<u64> {
        let answer = self.server().http("GET", &format!("/v1/pools/{pool}"), "");
        answer.json()["worker"].as_u64()
    }

    /// A value of its metrics, where there is one.
    #[track_caller]
    pub fn metric(&self, name: &str) -> Option<f64> {
        let text = self.server().http("GET", "/metrics", "").text();
        let line = text.lines().find(|line| {
            line.strip_prefix(name)
                .is_some_and(|rest| rest.starts_with([' ', '{']))
        });
        line.and_then(|line| line.rsplit(' ').next()?.parse().ok())
    }

    /// Whether it can mint from a window now.
    #[track_caller]
    pub fn has_window(&self) -> bool {
        self.metric("mint_window_until_seconds")
            .is_some_and(|left| left > 0.0)
    }

    fn use_it(&self, pool: &'static str, seen: Arc<Seen>) -> JoinHandle<()> {
        let (address, stop, served) = (self.address.clone(), self.stop.clone(), self.served.clone());
        std::thread::spawn(move || {
            let mut round = Vec::new();
            for _ in 0..INCR_PER_ROUND {
                round.extend(encode(&["INCR", "orders"]));
            }
            round.extend(encode(&["MINT.SNOWFLAKE", pool, "COUNT", "30"]));
            let mut connection = None;
            while !stop.load(Ordering::SeqCst) {
                let Some(to) = *lock(&address) else {
                    connection = None;
                    std::thread::sleep(PACE);
                    continue;
                };
                if connection.is_none() {
                    connection = Resp::connect(to).ok();
                }
                let done = match &mut connection {
                    Some(connection) => one_round(connection, &round, &seen, &served),
                    None => Err(std::io::ErrorKind::NotConnected.into()),
                };
                if done.is_err() {
                    // Killed, or about to be: what was not received was not given out to anybody.
                    connection = None;
                }
                std::thread::sleep(PACE);
            }
        })
    }

    fn quit(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        // A client that waits for a stopped server goes on when that ends.
        self.kill();
        if let Some(client) = self.client.take() {
            // Its panic is the test's.
            client.join().expect("the client ends");
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.quit();
        }
    }
}

fn one_round(connection: &mut Resp, round: &[u8], seen: &Seen, served: &AtomicU64) -> std::io::Result<()> {
    connection.send(round)?;
    for _ in 0..INCR_PER_ROUND {
        match connection.reply()? {
            Reply::Int(number) => {
                seen.note(Of::Sequence, number.unsigned_abs());
                served.fetch_add(1, Ordering::SeqCst);
            }
            other => seen.refused(&format!("{other:?}")),
        }
    }
    match connection.reply()? {
        Reply::Array(ids) => {
            for id in ids {
                let id = id.text().and_then(|id| id.parse().ok());
                seen.note(Of::Pool, id.expect("an id is a number"));
            }
            served.fetch_add(1, Ordering::SeqCst);
        }
        other => seen.refused(&format!("{other:?}")),
    }
    Ok(())
}

/// A layout with so many bits of workers, in the command's words.
pub fn layout(worker_bits: u8) -> String {
    format!("time=42,worker={worker_bits},sequence=9")
}

/// Waits until something is so.
///
/// # Panics
/// When it is not within a minute.
#[track_caller]
pub fn eventually(what: &str, is_so: impl FnMut() -> bool) {
    assert!(within_a_minute(is_so), "not within a minute: {what}");
}

/// Waits until something is so that takes its time by design, such as a window that runs out.
///
/// # Panics
/// When it is not within five minutes.
#[track_caller]
pub fn at_length(what: &str, is_so: impl FnMut() -> bool) {
    assert!(within(Duration::from_secs(300), is_so), "never: {what}");
}

/// Waits until something is so, a minute at most: whether it is.
pub fn within_a_minute(is_so: impl FnMut() -> bool) -> bool {
    within(Duration::from_secs(60), is_so)
}

fn within(patience: Duration, mut is_so: impl FnMut() -> bool) -> bool {
    let begun = Instant::now();
    while !is_so() {
        if begun.elapsed() > patience {
            return false;
        }
        std::thread::sleep(PACE);
    }
    true
}

/// How many times the short form is repeated: `MINT_TEST_MATRIX` says how often, 1 without.
pub fn rounds() -> usize {
    let asked = std::env::var("MINT_TEST_MATRIX").ok();
    asked.and_then(|n| n.parse().ok()).unwrap_or(1)
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Numbers of the sequence per round of a client.
const INCR_PER_ROUND: usize = 20;
/// The pause between two rounds.
const PACE: Duration = Duration::from_millis(20);
