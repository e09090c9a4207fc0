//! A whole server in this process, over the memory store, on ports of its own.
#![allow(unreachable_pub)]
#![allow(
    dead_code,
    reason = "the tests of the faces have it too, and neither program needs all of it"
)]

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use mintage::Timestamp;
use mintage_ledger::tools::make_set;
use mintage_ledger::{
    Cas, FaultPlan, FaultyStore, Key, Ledger, LedgerSettings, Marks, MemoryStore, OpenMember, Origins,
    Runtime, Store, StoreResult, StoreSettings, Striped, SystemRuntime, Value, delegate_store, open_store,
};
use mintage_server::auth::{Grant, Proof, Right, Token, TokenDigest};
use mintage_server::config::{Config, Listen, Setting};
use mintage_server::{RunError, Serving, Stop, ledger_settings, listen, run};
use socket2::{Domain, Socket, Type};
use tokio::sync::watch;

/// How many sequences [`Server::crowd`] makes: more than [`FEW`].
pub const CROWD: usize = 1_500;
/// A `server.max_count` that a crowd exceeds at a tenth of the cost of the default.
pub const FEW: u64 = 1_000;

/// A store with a clock of its own.
#[derive(Debug)]
struct Apart {
    store: Arc<dyn Store>,
    runtime: Arc<dyn Runtime>,
    by_ms: i64,
}

impl Store for Apart {
    delegate_store!(store, but wall);

    fn wall(&self) -> StoreResult<'_, Option<Timestamp>> {
        let now_ms = self.runtime.wall().unix_millis() + self.by_ms;
        Box::pin(std::future::ready(Ok(Some(Timestamp::from_unix_millis(now_ms)))))
    }
}

/// A running server; stops at once when dropped.
pub struct Server {
    pub serving: Serving,
    stop: watch::Sender<Stop>,
    thread: Option<JoinHandle<Result<(), RunError>>>,
}

impl Server {
    /// With the default configuration.
    pub fn start() -> Server {
        Server::with(|_| {})
    }

    /// With a changed configuration.
    pub fn with(change: impl FnOnce(&mut Config)) -> Server {
        Server::over(change, |store, _| store)
    }

    /// Over a store that can be made to fail.
    pub fn faulty() -> (Server, Arc<FaultyStore>) {
        Server::faulty_with(|_| {})
    }

    /// The same with a changed configuration.
    pub fn faulty_with(change: impl FnOnce(&mut Config)) -> (Server, Arc<FaultyStore>) {
        let (tell, told) = mpsc::channel();
        let wrap = move |store, runtime| {
            let faulty = FaultyStore::new(store, runtime, FaultPlan::NONE);
            tell.send(faulty.clone()).unwrap();
            faulty as Arc<dyn Store>
        };
        let server = Server::over(change, wrap);
        (server, told.recv().unwrap())
    }

    /// Servers that share a set of two stores, each with this configuration.
    pub fn on_a_set(change: impl Fn(&mut Config)) -> [Server; 2] {
        let stores = [101, 102].map(MemoryStore::shared);
        [true, false].map(|is_first| {
            let stores = stores.clone();
            let open = async move |_, runtime: Arc<dyn Runtime>| {
                if is_first {
                    let both: [&dyn Store; 2] = std::array::from_fn(|at| &*stores[at] as &dyn Store);
                    make_set(&both, &*runtime).await.unwrap();
                }
                let members = stores.map(|store| {
                    let open: OpenMember = Box::new(move || {
                        let store = store.clone();
                        Box::pin(async move { Ok(store as Arc<dyn Store>) })
                    });
                    ("a store".to_string(), open)
                });
                Striped::open(members.into(), runtime).await.unwrap() as Arc<dyn Store>
            };
            Server::over_records(&change, open, |_| (None, Vec::new()))
        })
    }

    /// Over a store that others could share, which can be made to fail and to freeze; its calls are given up soon.
    pub fn shared() -> (Server, Arc<FaultyStore>) {
        let (tell, told) = mpsc::channel();
        let wrap = move |_, runtime| {
            let faulty = FaultyStore::new(MemoryStore::shared(7), runtime, FaultPlan::NONE);
            tell.send(faulty.clone()).unwrap();
            faulty as Arc<dyn Store>
        };
        let soon = Duration::from_millis(50);
        let server = Server::over(
            |config| (config.request_timeout, config.connect_timeout) = (soon, soon),
            wrap,
        );
        (server, told.recv().unwrap())
    }

    /// Over a store that others could share, whose clock is so many milliseconds away from this machine's.
    pub fn apart_from_its_store(by_ms: i64, change: impl FnOnce(&mut Config)) -> Server {
        Server::over(change, move |_, runtime| {
            let store = MemoryStore::shared(7);
            Arc::new(Apart {
                store,
                runtime,
                by_ms,
            })
        })
    }

    fn over(
        change: impl FnOnce(&mut Config),
        wrap: impl FnOnce(Arc<dyn Store>, Arc<dyn Runtime>) -> Arc<dyn Store> + Send + 'static,
    ) -> Server {
        let wrap = async move |store, runtime| wrap(store, runtime);
        Server::over_records(change, wrap, |_| (None, Vec::new()))
    }

    /// Over a store that has these records, knowing these sources.
    pub fn with_origins(
        origins: impl FnOnce(Arc<dyn Runtime>) -> (Arc<dyn Origins>, Vec<(Key, Value)>) + Send + 'static,
    ) -> Server {
        let origins = |runtime| {
            let (origins, records) = origins(runtime);
            (Some(origins), records)
        };
        Server::over_records(|_| {}, async |store, _| store, origins)
    }

    fn over_records(
        change: impl FnOnce(&mut Config),
        wrap: impl AsyncFnOnce(Arc<dyn Store>, Arc<dyn Runtime>) -> Arc<dyn Store> + Send + 'static,
        origins: impl FnOnce(Arc<dyn Runtime>) -> (Option<Arc<dyn Origins>>, Vec<(Key, Value)>) + Send + 'static,
    ) -> Server {
        let any_port = || Listen::parse("127.0.0.1:0").unwrap();
        let mut config = Config {
            http_listen: any_port(),
            resp_listen: any_port(),
            ..crate::config()
        };
        change(&mut config);
        // Which sources there are depends on the engines of this build; nobody asks them here.
        let without_sources = Config {
            sources: Default::default(),
            ..config.clone()
        };
        without_sources.validate().expect("a valid configuration");
        let sockets = listen::bind(&config, 2).unwrap();
        let (stop, stopped) = watch::channel(Stop::Not);
        let (tell, told) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let tokio = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            tokio.block_on(async {
                let runtime = SystemRuntime::new(tokio::runtime::Handle::current());
                let store = open_store("memory:", &StoreSettings::default(), runtime.clone())
                    .await
                    .unwrap();
                let store = wrap(store, runtime.clone()).await;
                let (origins, records) = origins(runtime.clone());
                for (key, value) in records {
                    let written = store.compare_and_set(&key, None, value, Marks::NeverLower);
                    assert!(matches!(written.await, Ok(Cas::Done(_))), "{key}");
                }
                let settings = LedgerSettings {
                    origins,
                    ..ledger_settings(&config)
                };
                let ledger = Ledger::open(store, settings, runtime).await.unwrap();
                run(Arc::new(config), ledger, sockets, stopped, |serving| {
                    tell.send(serving.clone()).unwrap()
                })
                .await
            })
        });
        let serving = told.recv().expect("the server starts");
        Server {
            serving,
            stop,
            thread: Some(thread),
        }
    }

    /// Says how to stop.
    pub fn stop(&self, how: Stop) {
        self.stop.send(how).unwrap();
    }

    /// Waits until it has ended.
    pub fn end(mut self) -> Result<(), RunError> {
        self.thread.take().unwrap().join().expect("no panic")
    }

    /// How many ids it has given out from pools: the line of its metrics.
    pub fn minted(&self) -> String {
        let metrics = self.http().ask("GET", "/metrics").text();
        let is_it = |line: &&str| line.starts_with("mint_ids_total") && line.contains("snowflake");
        let line = metrics.lines().find(is_it);
        line.unwrap_or_else(|| panic!("{metrics}")).to_string()
    }

    /// Where a face listens.
    pub fn address(&self, face: &str) -> SocketAddr {
        let address = self.serving.address(face).expect("it listens");
        address.tcp().expect("it is one of TCP")
    }

    /// A connection to a face.
    pub fn face(&self, name: &str) -> Client {
        Client::connect(self.address(name))
    }

    /// Makes a sequence by our own HTTP.
    #[track_caller]
    pub fn make(&self, name: &str, definition: &str) {
        let path = format!("/v1/sequences/{name}");
        let made = self.http().ask_with("PUT", &path, &[], definition);
        assert!(made.status < 300, "{}", made.text());
    }

    /// Makes more sequences than one list may have.
    pub fn crowd(&self) {
        let mut redis = self.resp();
        for from in (0..CROWD).step_by(500) {
            let names = from..from + 500;
            redis.send(
                names
                    .map(|k| format!("INCR crowd:{k:05}\r\n"))
                    .collect::<String>(),
            );
            redis.expect(&":1\r\n".repeat(500));
        }
    }

    /// A connection to the Redis protocol.
    pub fn resp(&self) -> Client {
        Client::connect(self.address("resp"))
    }

    /// A connection to HTTP.
    pub fn http(&self) -> Client {
        Client::connect(self.address("http"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            let _ = self.stop.send(Stop::Now);
            let ended = thread.join();
            if !std::thread::panicking() {
                let _ = ended.expect("no panic");
            }
        }
    }
}

/// A token that may do this.
pub fn token(name: &str, secret: &str, may: &[Right]) -> Token {
    Token {
        name: name.into(),
        shows: Proof::Digest(TokenDigest::of(secret.as_bytes())),
        may: may.iter().copied().map(Grant::from).collect(),
        faces: None,
        until: None,
        rates: Default::default(),
        sql: Default::default(),
    }
}

/// One connection, byte by byte.
pub struct Client {
    stream: TcpStream,
}

impl Client {
    pub fn connect(address: SocketAddr) -> Client {
        Client::over(TcpStream::connect(address).unwrap())
    }

    fn over(stream: TcpStream) -> Client {
        stream.set_nodelay(true).unwrap();
        // A server that hangs fails the test instead of hanging it.
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.set_write_timeout(Some(Duration::from_secs(20))).unwrap();
        Client { stream }
    }

    /// For whom the system keeps little: most of a large answer waits in the server until it is read.
    pub fn with_small_buffer(address: SocketAddr) -> Client {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, None).unwrap();
        socket.set_recv_buffer_size(4096).unwrap();
        socket.connect(&address.into()).unwrap();
        Client::over(socket.into())
    }

    /// From another address of this machine.
    pub fn from(source: &str, address: SocketAddr) -> Client {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, None).unwrap();
        let source = SocketAddr::new(source.parse().unwrap(), 0);
        socket.bind(&source.into()).unwrap();
        socket.connect(&address.into()).unwrap();
        Client::over(socket.into())
    }

    pub fn send(&mut self, bytes: impl AsRef<[u8]>) -> &mut Self {
        self.stream.write_all(bytes.as_ref()).unwrap();
        self
    }

    /// As [`Client::send`], where the server may have closed already.
    pub fn try_send(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        self.stream.write_all(bytes.as_ref()).is_ok()
    }

    pub fn finish_sending(&mut self) -> &mut Self {
        self.stream.shutdown(Shutdown::Write).unwrap();
        self
    }

    /// The same where the server may have closed the connection already.
    pub fn try_finish_sending(&mut self) -> bool {
        self.stream.shutdown(Shutdown::Write).is_ok()
    }

    /// Reads so many bytes.
    pub fn read(&mut self, len: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(len);
        if let Err(error) = Read::take(&self.stream, len as u64).read_to_end(&mut bytes) {
            panic!("{error} after {:?}", String::from_utf8_lossy(&bytes));
        }
        bytes
    }

    /// Reads until the server closes; a reset counts as closed.
    pub fn read_to_end(&mut self) -> String {
        let mut bytes = Vec::new();
        match self.stream.read_to_end(&mut bytes) {
            Err(error) if error.kind() != std::io::ErrorKind::ConnectionReset => {
                panic!("{error} after {:?}", String::from_utf8_lossy(&bytes))
            }
            _ => {}
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Whether the server closes within this time. What it sends meanwhile is passed over, a byte each time.
    pub fn is_closed_after(&mut self, time: Duration) -> bool {
        self.stream.set_read_timeout(Some(time)).unwrap();
        let read = self.stream.read_exact(&mut [0]);
        let closed = read.is_err_and(|error| error.kind() != std::io::ErrorKind::WouldBlock);
        self.stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        closed
    }

    /// Reads exactly this.
    #[track_caller]
    pub fn expect(&mut self, wire: &str) -> &mut Self {
        let got = self.read(wire.len());
        assert_eq!(String::from_utf8_lossy(&got), wire);
        self
    }

    /// Reads exactly this, and then the end.
    #[track_caller]
    pub fn expect_end(&mut self, wire: &str) {
        assert_eq!(self.read_to_end(), wire);
    }

    /// Reads one line, without its end.
    pub fn line(&mut self) -> String {
        let mut line = Vec::new();
        while !line.ends_with(b"\n") {
            let byte = self.read(1);
            assert!(
                !byte.is_empty(),
                "closed after {:?}",
                String::from_utf8_lossy(&line)
            );
            line.extend(byte);
        }
        String::from_utf8_lossy(&line).trim_end().to_string()
    }

    /// Reads one HTTP answer.
    pub fn answer(&mut self) -> Answer {
        let status = self.line();
        let mut headers = Vec::new();
        loop {
            let line = self.line();
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(": ").expect("a header");
            headers.push((name.to_ascii_lowercase(), value.to_string()));
        }
        let mut answer = Answer {
            status: status.split(' ').nth(1).unwrap().parse().unwrap(),
            headers,
            body: vec![],
        };
        let length = answer
            .header("content-length")
            .map_or(0, |text| text.parse().unwrap());
        answer.body = self.read(length);
        answer
    }

    /// Sends a request without a body and reads its answer.
    pub fn ask(&mut self, method: &str, target: &str) -> Answer {
        self.ask_with(method, target, &[], "")
    }

    /// Sends a request and reads its answer.
    pub fn ask_with(&mut self, method: &str, target: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut request = format!("{method} {target} HTTP/1.1\r\nhost: localhost\r\n");
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        if !body.is_empty() {
            request.push_str(&format!("content-length: {}\r\n", body.len()));
        }
        self.send(format!("{request}\r\n{body}"));
        self.answer()
    }
}

/// One HTTP answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Answer {
    /// It is this, of this type, and nobody keeps it or takes it for something else.
    #[track_caller]
    pub fn is(&self, status: u16, media_type: &str, body: &str) {
        assert_eq!(self.text(), body);
        assert_eq!(self.status, status);
        assert_eq!(self.header("content-type"), Some(media_type));
        assert_eq!(self.header("cache-control"), Some("no-store"));
        assert_eq!(self.header("x-content-type-options"), Some("nosniff"));
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(n, _)| n == name)
            .map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("{e}: {}", self.text()))
    }
}

/// Sends each request and reads exactly its answer; at the end nothing else may come.
#[track_caller]
pub fn check(client: &mut Client, conversation: &[(&str, &str)]) {
    for (request, answer) in conversation {
        client.send(format!("{request}\r\n"));
        let got = client.read(answer.len());
        assert_eq!(String::from_utf8_lossy(&got), *answer, "to {request:?}");
    }
    client.send("PING end\r\n").expect("$3\r\nend\r\n");
}
