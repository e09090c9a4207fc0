//! Real servers on a shared store that is frozen, then killed, then back, while clients of both faces ask all the time.

use std::io::{self, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::resp::{Reply, Resp, encode};
use crate::server::{Server, Start};
use crate::store_suite::Engine;
use crate::{http, run};

/// How long the store is away, and how many servers must not notice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Plan {
    /// The outage: half of it frozen, half of it dead. Before it servers have as long and what the store takes to be
    /// back, which their budget covers too.
    pub length: Duration,
    /// Servers on the store, each asked for 10,000 ids a second.
    pub nodes: usize,
}

/// What clients of one face saw in one phase.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// Requests that were answered with ids.
    pub served: u64,
    /// Requests that were not.
    pub failed: u64,
    /// What the first of them was answered.
    pub failure: Option<String>,
    /// How long each took, in microseconds; a pipeline counts once.
    pub micros: Vec<u32>,
}

impl Seen {
    /// The time within which 99 of 100 were answered, in microseconds.
    pub fn p99_us(&self) -> u32 {
        let mut micros = self.micros.clone();
        micros.sort_unstable();
        micros
            .get(micros.len().saturating_sub(1) * 99 / 100)
            .copied()
            .unwrap_or(0)
    }

    fn add(&mut self, other: &Seen) {
        self.served += other.served;
        self.failed += other.failed;
        self.micros.extend(&other.micros);
        if self.failure.is_none() {
            self.failure.clone_from(&other.failure);
        }
    }
}

/// When something was seen.
pub const PHASES: [&str; 3] = ["before", "outage", "after"];

/// What came of one store's outage.
#[derive(Debug)]
pub struct Report {
    /// The store's scheme.
    pub store: &'static str,
    /// By phase of [`PHASES`]: over HTTP, and over the Redis protocol.
    pub phases: [[Seen; 2]; PHASES.len()],
    /// Ids received.
    pub ids: usize,
    /// Of them, those that were received before.
    pub repeats: usize,
    /// What `/readyz` of every server said near the end of the outage: status and document.
    pub readyz: Vec<(u16, Value)>,
}

/// Runs servers on a fresh `engine`, takes it away and gives it back.
///
/// # Panics
/// When a program cannot be started, and when the servers do not see the store again.
pub fn outage(engine: &mut dyn Engine, plan: Plan) -> Report {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let url = engine.url(engine.address());
    run::mint(folder.path(), ["init", "--store", &url]).ok();
    let servers: Vec<Server> = (0..plan.nodes)
        .map(|node| serve(&folder.path().join(node.to_string()), &url, plan.length))
        .collect();
    let clients = Clients::start(&servers);
    // A window reaches as far ahead as its process has lived (W3).
    thread::sleep(plan.length + RETURN);
    engine.freeze();
    clients.enter(1);
    thread::sleep(plan.length / 2);
    engine.kill();
    thread::sleep(plan.length / 2);
    let readyz = servers.iter().map(readyz_of).collect();
    clients.enter(2);
    engine.start();
    for server in &servers {
        let begun = Instant::now();
        while readyz_of(server).1["store"]["up"] != true {
            assert!(begun.elapsed() < RECOVERY_MAX, "{}", server.log());
            thread::sleep(POLL);
        }
    }
    // Some more, so that everybody has reserved again.
    thread::sleep(AFTER);
    let (phases, [numbers, snowflakes]) = clients.end();
    let ids = numbers.len() + snowflakes.len();
    let repeats = repeats(numbers) + repeats(snowflakes);
    for server in servers {
        assert_eq!(server.stop(), 0, "a clean stop");
    }
    Report {
        store: engine.scheme(),
        phases,
        ids,
        repeats,
        readyz,
    }
}

fn serve(folder: &Path, url: &str, length: Duration) -> Server {
    std::fs::create_dir_all(folder).expect("the folder is ours");
    // A window's default of ten minutes ends before a store that was away for as long is back.
    let window = (length + RECOVERY_MAX).max(WINDOW_DEFAULT);
    let settings = format!(
        "[store]\nurl = {url:?}\nstate_folder = {:?}\n[sequences]\noutage_budget = \"{}s\"\n\
         [pools]\nwindow = \"{}s\"\n",
        folder.join("state"),
        (length + RETURN).as_secs(),
        window.as_secs()
    );
    std::fs::write(folder.join("mint.toml"), settings).expect("the folder is ours");
    Start::in_folder(folder).args(["--config", "mint.toml"]).ready()
}

fn readyz_of(server: &Server) -> (u16, Value) {
    let answer = server.http("GET", "/readyz", "");
    (answer.status, answer.json())
}

fn repeats(mut ids: Vec<i64>) -> usize {
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    count - ids.len()
}

/// Clients that ask for 5,000 ids a second each, over one face of one server each.
struct Clients {
    phase: Arc<AtomicUsize>,
    threads: Vec<(usize, JoinHandle<Client>)>,
}

type ByPhase = [[Seen; 2]; PHASES.len()];

impl Clients {
    fn start(servers: &[Server]) -> Clients {
        let phase = Arc::new(AtomicUsize::new(0));
        let faces: Vec<(usize, SocketAddr)> = servers
            .iter()
            .flat_map(|server| [(0, server.http), (1, server.resp)])
            .collect();
        let threads = faces.into_iter().map(|(face, address)| {
            let phase = Arc::clone(&phase);
            let work = move || Client::new(face, address).run(&phase);
            (face, thread::spawn(work))
        });
        Clients {
            threads: threads.collect(),
            phase: Arc::clone(&phase),
        }
    }

    fn enter(&self, phase: usize) {
        self.phase.store(phase, Ordering::SeqCst);
    }

    fn end(self) -> (ByPhase, [Vec<i64>; 2]) {
        self.enter(PHASES.len());
        let mut phases = ByPhase::default();
        let mut ids = [Vec::new(), Vec::new()];
        for (face, thread) in self.threads {
            let client = thread.join().expect("no panic");
            for (all, one) in phases.iter_mut().zip(&client.seen) {
                all[face].add(one);
            }
            for (all, one) in ids.iter_mut().zip(client.ids) {
                all.extend(one);
            }
        }
        (phases, ids)
    }
}

struct Client {
    face: usize,
    address: SocketAddr,
    seen: [Seen; PHASES.len()],
    /// Numbers of the sequence, and snowflakes.
    ids: [Vec<i64>; 2],
}

impl Client {
    fn new(face: usize, address: SocketAddr) -> Client {
        Client {
            face,
            address,
            seen: Default::default(),
            ids: Default::default(),
        }
    }

    fn run(mut self, phase: &AtomicUsize) -> Client {
        let mut connection = None;
        let (mut begun, mut step) = (Instant::now(), 0);
        loop {
            let phase = phase.load(Ordering::SeqCst);
            if phase == PHASES.len() {
                break;
            }
            let asked = Instant::now();
            let outcome = self.ask(&mut connection, phase);
            let micros = u32::try_from(asked.elapsed().as_micros()).unwrap_or(u32::MAX);
            self.seen[phase].micros.push(micros);
            if let Err(error) = outcome {
                connection = None;
                self.failed(phase, error.to_string());
            }
            step += 1;
            // Late clients catch up, since the rate is what counts; but not with more than stock is kept for.
            if begun.elapsed() > STEP * step + BEHIND_MAX {
                (begun, step) = (Instant::now(), 0);
            }
            thread::sleep((STEP * step).saturating_sub(begun.elapsed()));
        }
        self
    }

    fn failed(&mut self, phase: usize, why: String) {
        self.seen[phase].failed += 1;
        self.seen[phase].failure.get_or_insert(why);
    }

    fn ask(&mut self, connection: &mut Option<Connection>, phase: usize) -> io::Result<()> {
        if connection.is_none() {
            *connection = Some(match self.face {
                0 => Connection::Http(HttpConnection::connect(self.address)?),
                _ => Connection::Resp(Resp::connect(self.address)?),
            });
        }
        match connection.as_mut().expect("made above") {
            Connection::Http(http) => {
                for (kind, path) in HTTP_PATHS.iter().enumerate() {
                    let answer = http.post(path)?;
                    match answer.status {
                        200 => {
                            self.seen[phase].served += 1;
                            let document: Value = serde_json::from_slice(&answer.body)?;
                            let found = document["ids"].as_array().into_iter().flatten();
                            let found = found.filter_map(|id| id.as_str()?.parse::<i64>().ok());
                            self.ids[kind].extend(found);
                        }
                        _ => self.failed(phase, answer.text()),
                    }
                }
            }
            Connection::Resp(resp) => {
                let mut pipeline = encode(&["INCR", "orders"]).repeat(NUMBERS);
                pipeline.extend(encode(&["MINT.SNOWFLAKE", "default", "COUNT", "10"]));
                resp.send(&pipeline)?;
                for n in 0..=NUMBERS {
                    match resp.reply()? {
                        Reply::Int(number) => {
                            self.seen[phase].served += 1;
                            self.ids[0].push(number);
                        }
                        Reply::Array(found) => {
                            self.seen[phase].served += 1;
                            self.ids[1].extend(found.iter().filter_map(Reply::int));
                        }
                        other => self.failed(phase, format!("request {n} of a pipeline: {other:?}")),
                    }
                }
            }
        }
        Ok(())
    }
}

enum Connection {
    Http(HttpConnection),
    Resp(Resp),
}

/// A connection that is kept.
struct HttpConnection {
    stream: BufReader<TcpStream>,
}

impl HttpConnection {
    fn connect(to: SocketAddr) -> io::Result<HttpConnection> {
        let stream = TcpStream::connect_timeout(&to, SILENCE_MAX)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(SILENCE_MAX))?;
        Ok(HttpConnection {
            stream: BufReader::new(stream),
        })
    }

    fn post(&mut self, path: &str) -> io::Result<http::Answer> {
        let request = format!("POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n");
        self.stream.get_mut().write_all(request.as_bytes())?;
        http::read(&mut self.stream)
    }
}

impl Report {
    /// The rows of a table: store, face, p99 before and during, requests, failed ones.
    pub fn rows(&self) -> Vec<String> {
        ["http", "redis protocol"]
            .iter()
            .enumerate()
            .map(|(face, name)| {
                let [before, outage, after] = [0, 1, 2].map(|phase| &self.phases[phase][face]);
                format!(
                    "| {} | {name} | {} | {} | {} | {} |",
                    self.store,
                    before.p99_us(),
                    outage.p99_us(),
                    before.served + outage.served + after.served,
                    before.failed + outage.failed + after.failed,
                )
            })
            .collect()
    }
}

/// The head of the table that [`Report::rows`] are of.
pub const TABLE: &str = "| store | face | p99 before, us | p99 in the outage, us | requests | failed |\n\
                         | --- | --- | --- | --- | --- | --- |";

/// How often each client asks.
const STEP: Duration = Duration::from_millis(10);
/// A client that is further behind gives up what it missed.
const BEHIND_MAX: Duration = Duration::from_secs(1);
/// Numbers that a client takes each time; and 10 snowflakes.
const NUMBERS: usize = 40;
const HTTP_PATHS: [&str; 2] = [
    "/v1/sequences/orders/next?count=40",
    "/v1/snowflakes/default?count=10",
];
/// A server that says nothing for this long has a defect.
const SILENCE_MAX: Duration = Duration::from_secs(30);
/// How long the store is away beyond the outage, while it starts: five of them do at once, on a busy host.
const RETURN: Duration = Duration::from_secs(40);
/// A store that is back and not seen for this long has not come back for the server.
const RECOVERY_MAX: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(100);
/// How long a window of many workers is unless the configuration says otherwise.
const WINDOW_DEFAULT: Duration = Duration::from_secs(600);
/// How long clients go on once the store is back.
const AFTER: Duration = Duration::from_secs(5);
