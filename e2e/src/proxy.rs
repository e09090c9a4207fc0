//! A TCP proxy that fails on purpose, between a program under test and a real server.
//!
//! One [`Fault`] rules every connection and is switched while they run; [`Proxy::set_only`] gives a single
//! connection its own. A write of unknown outcome, without a race: [`Fault::HoldAnswers`], ask, see on a direct
//! connection that the write has landed, [`Proxy::cut_all`].

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::engine::port;

/// What happens to traffic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing: everything passes.
    Pass,
    /// The next bytes of a client are not forwarded: its connection is closed instead.
    CutRequest,
    /// Requests are forwarded; the first byte of an answer closes the connection, and the client never sees it.
    /// For protocols that answer only when they are done; with HTTP/2, whose servers send frames of their own
    /// accord, use [`Fault::HoldAnswers`].
    CutAnswer,
    /// Requests are forwarded; answers wait in the proxy until the fault changes.
    HoldAnswers,
    /// Requests are forwarded; each piece of an answer arrives this much later.
    DelayAnswers(Duration),
    /// Before each piece of a request is forwarded, the client is given the last answer of its connection once more.
    RepeatAnswers,
    /// Connections stay and are still accepted, but no byte moves in either direction.
    Freeze,
    /// Existing connections are closed, new ones refused by the kernel.
    Refuse,
}

/// A running proxy; ended, with all its connections and threads, when it is dropped.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
    /// Keeps the port ours while nobody listens on it.
    _holder: socket2::Socket,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    fault: Fault,
    only: BTreeMap<u64, Fault>,
    upstream: SocketAddr,
    /// The address of this machine that the server sees.
    source: Option<IpAddr>,
    connections: BTreeMap<u64, Connection>,
    accepted: u64,
    /// Pieces of requests that reached the proxy, forwarded or not.
    requests: u64,
    listening: bool,
    ended: bool,
}

#[derive(Debug)]
struct Connection {
    client: TcpStream,
    server: Option<TcpStream>,
    /// The last piece of an answer.
    answer: Vec<u8>,
    pumps: u8,
}

/// How much may wait between the two ends of one direction, in pieces of [`PIECE`] bytes.
const QUEUE: usize = 1024;
const PIECE: usize = 16 * 1024;

impl Proxy {
    /// A proxy on a free loopback port that passes everything on to `upstream`.
    ///
    /// # Panics
    /// When no port can be bound.
    pub fn to(upstream: SocketAddr) -> Proxy {
        Proxy::on(std::net::Ipv4Addr::LOCALHOST.into(), upstream)
    }

    /// The same on a free port of another address of this machine.
    ///
    /// # Panics
    /// When no port can be bound.
    pub fn on(address: IpAddr, upstream: SocketAddr) -> Proxy {
        let (holder, listener) = bind(address);
        let address = listener.local_addr().expect("a bound socket has an address");
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                fault: Fault::Pass,
                only: BTreeMap::new(),
                upstream,
                source: None,
                connections: BTreeMap::new(),
                accepted: 0,
                requests: 0,
                listening: true,
                ended: false,
            }),
            changed: Condvar::new(),
        });
        let acceptor = {
            let shared = shared.clone();
            std::thread::spawn(move || accept(&shared, listener, address))
        };
        Proxy {
            address,
            shared,
            acceptor: Some(acceptor),
            _holder: holder,
        }
    }

    /// From now on the server sees this address of this machine.
    #[must_use]
    pub fn seen_as(self, source: IpAddr) -> Proxy {
        self.shared.lock().source = Some(source);
        self
    }

    /// Where clients connect.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// From now on this happens, on every connection; returns when it does.
    pub fn set(&self, fault: Fault) {
        let refuse = fault == Fault::Refuse;
        {
            let mut state = self.shared.lock();
            state.only.clear();
            state.fault = fault;
            if refuse {
                state.cut_all();
            }
        }
        self.shared.changed.notify_all();
        if refuse {
            // Wakes the acceptor, which then closes its socket.
            drop(TcpStream::connect(self.address));
        }
        let mut state = self.shared.lock();
        while state.listening == refuse {
            state = self.shared.wait(state);
        }
    }

    /// From now on this happens on one connection, given by its number in [`Proxy::connections`], until the next
    /// [`Proxy::set`].
    ///
    /// # Panics
    /// For [`Fault::Refuse`], which no existing connection can do.
    pub fn set_only(&self, connection: u64, fault: Fault) {
        assert!(
            fault != Fault::Refuse,
            "a connection that exists cannot be refused"
        );
        self.shared.lock().only.insert(connection, fault);
        self.shared.changed.notify_all();
    }

    /// Closes every connection; new ones are accepted as before. What was held is lost.
    pub fn cut_all(&self) {
        self.shared.lock().cut_all();
        self.shared.changed.notify_all();
    }

    /// New connections lead to another server, and the existing ones are closed: a failover.
    pub fn redirect(&self, upstream: SocketAddr) {
        {
            let mut state = self.shared.lock();
            state.upstream = upstream;
            state.cut_all();
        }
        self.shared.changed.notify_all();
    }

    /// The numbers of the open connections, oldest first; a number is never used again.
    pub fn connections(&self) -> Vec<u64> {
        self.shared.lock().connections.keys().copied().collect()
    }

    /// How many connections were ever accepted.
    pub fn accepted(&self) -> u64 {
        self.shared.lock().accepted
    }

    /// How many pieces of requests have arrived, forwarded or not.
    pub fn requests(&self) -> u64 {
        self.shared.lock().requests
    }

    /// Waits until more than `seen` pieces of requests have arrived.
    ///
    /// # Panics
    /// When none arrives within 60 s.
    pub fn wait_for_request(&self, seen: u64) {
        let arrived = self.has_request(seen, Duration::from_secs(60));
        assert!(arrived, "no request reached the proxy within 60 s");
    }

    /// Whether more than `seen` pieces of requests have arrived, after waiting for them no longer than `at_most`.
    pub fn has_request(&self, seen: u64, at_most: Duration) -> bool {
        let until = Instant::now() + at_most;
        let mut state = self.shared.lock();
        while state.requests <= seen {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            state = self.shared.wait_for(state, left);
        }
        true
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        {
            let mut state = self.shared.lock();
            state.ended = true;
            state.cut_all();
        }
        self.shared.changed.notify_all();
        drop(TcpStream::connect(self.address));
        if let Some(acceptor) = self.acceptor.take() {
            acceptor.join().ok();
        }
    }
}

impl State {
    fn fault_of(&self, connection: u64) -> &Fault {
        self.only.get(&connection).unwrap_or(&self.fault)
    }

    fn cut_all(&mut self) {
        for (_, connection) in std::mem::take(&mut self.connections) {
            connection.cut();
        }
        self.only.clear();
    }

    fn cut(&mut self, number: u64) {
        if let Some(connection) = self.connections.remove(&number) {
            connection.cut();
        }
        self.only.remove(&number);
    }
}

impl Connection {
    fn cut(self) {
        // Either side may be gone already; that is what was wanted.
        self.client.shutdown(Shutdown::Both).ok();
        if let Some(server) = self.server {
            server.shutdown(Shutdown::Both).ok();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_for<'a>(&self, state: MutexGuard<'a, State>, at_most: Duration) -> MutexGuard<'a, State> {
        let waited = self.changed.wait_timeout(state, at_most);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// A listener on a free port, and a second socket that is bound to that port and never listens: while the
/// listener is closed, the kernel refuses connections and gives the port to nobody else.
fn bind(address: IpAddr) -> (socket2::Socket, TcpListener) {
    for _ in 0..20 {
        let holder = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None)
            .expect("a socket can be made");
        holder.set_reuse_address(true).expect("a plain option");
        let any = SocketAddr::new(address, 0);
        holder
            .bind(&any.into())
            .expect("the address is ours and has a free port");
        let address = holder.local_addr().ok().and_then(|a| a.as_socket());
        let address = address.expect("a bound socket has an address");
        if let Ok(listener) = TcpListener::bind(address) {
            return (holder, listener);
        }
    }
    panic!("no port of {address} could be held");
}

fn accept(shared: &Arc<Shared>, listener: TcpListener, address: SocketAddr) {
    let mut listener = Some(listener);
    loop {
        let mut state = shared.lock();
        if state.ended {
            return;
        }
        if state.fault == Fault::Refuse {
            if let Some(open) = listener.take() {
                port::close(open);
            }
            state.listening = false;
            shared.changed.notify_all();
            drop(shared.wait(state));
            continue;
        }
        let open = match listener.take() {
            Some(open) => open,
            None => TcpListener::bind(address).expect("the port was kept"),
        };
        if !state.listening {
            state.listening = true;
            shared.changed.notify_all();
        }
        drop(state);
        let accepted = open.accept();
        listener = Some(open);
        let Ok((client, _)) = accepted else { continue };
        client.set_nodelay(true).ok();
        let mut state = shared.lock();
        if state.ended || state.fault == Fault::Refuse {
            continue;
        }
        state.accepted += 1;
        let number = state.accepted;
        let Ok(handle) = client.try_clone() else { continue };
        state.connections.insert(
            number,
            Connection {
                client: handle,
                server: None,
                answer: Vec::new(),
                pumps: 2,
            },
        );
        drop(state);
        let shared = shared.clone();
        std::thread::spawn(move || serve(&shared, number, client));
    }
}

/// Connects one client to the server, as soon as nothing is frozen, and moves bytes until either side ends.
fn serve(shared: &Arc<Shared>, number: u64, client: TcpStream) {
    let (upstream, source) = {
        let mut state = shared.lock();
        loop {
            if !state.connections.contains_key(&number) {
                return;
            }
            match state.fault_of(number) {
                Fault::Freeze => state = shared.wait(state),
                _ => break (state.upstream, state.source),
            }
        }
    };
    let streams = connect_from(source, upstream).and_then(|server| {
        server.set_nodelay(true)?;
        Ok((client.try_clone()?, server.try_clone()?, server))
    });
    let Ok((client_too, server_too, server)) = streams else {
        return shared.lock().cut(number);
    };
    {
        let mut state = shared.lock();
        match (state.connections.get_mut(&number), server.try_clone()) {
            (Some(connection), Ok(handle)) => connection.server = Some(handle),
            // It was cut meanwhile.
            _ => return,
        }
    }
    pump(shared, number, Way::Request, client, server);
    pump(shared, number, Way::Answer, server_too, client_too);
}

fn connect_from(source: Option<IpAddr>, to: SocketAddr) -> io::Result<TcpStream> {
    let Some(source) = source else {
        return TcpStream::connect(to);
    };
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None)?;
    socket.bind(&SocketAddr::new(source, 0).into())?;
    socket.connect(&to.into())?;
    Ok(socket.into())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Request,
    Answer,
}

/// A piece and when it arrived; the arrival decides when a delayed answer leaves.
type Piece = (Instant, Vec<u8>);

/// One thread reads, so that arrivals are noted at once, another one judges and writes.
fn pump(shared: &Arc<Shared>, number: u64, way: Way, mut from: TcpStream, mut to: TcpStream) {
    let (push, pop): (SyncSender<Piece>, Receiver<Piece>) = sync_channel(QUEUE);
    {
        let shared = shared.clone();
        std::thread::spawn(move || {
            let mut buffer = vec![0u8; PIECE];
            while let Ok(n @ 1..) = from.read(&mut buffer) {
                if way == Way::Request {
                    shared.lock().requests += 1;
                    shared.changed.notify_all();
                }
                if push.send((Instant::now(), buffer[..n].to_vec())).is_err() {
                    break;
                }
            }
        });
    }
    let shared = shared.clone();
    std::thread::spawn(move || {
        while let Ok((arrived, piece)) = pop.recv() {
            if forward(&shared, number, way, arrived, &piece, &mut to).is_err() {
                return shared.lock().cut(number);
            }
        }
        // One side ended: the other one hears of it, and what flows back still may.
        to.shutdown(Shutdown::Write).ok();
        let mut state = shared.lock();
        if let Some(connection) = state.connections.get_mut(&number) {
            connection.pumps -= 1;
            if connection.pumps == 0 {
                state.cut(number);
            }
        }
    });
}

/// Writes one piece when the fault of the moment lets it pass.
///
/// # Errors
/// When the connection is to be cut, or is.
fn forward(
    shared: &Shared,
    number: u64,
    way: Way,
    arrived: Instant,
    piece: &[u8],
    to: &mut TcpStream,
) -> io::Result<()> {
    let cut = || Err(io::ErrorKind::ConnectionAborted.into());
    let mut state = shared.lock();
    loop {
        if !state.connections.contains_key(&number) {
            return cut();
        }
        match (state.fault_of(number), way) {
            (Fault::CutRequest, Way::Request) | (Fault::CutAnswer, Way::Answer) | (Fault::Refuse, _) => {
                return cut();
            }
            (Fault::Freeze, _) | (Fault::HoldAnswers, Way::Answer) => state = shared.wait(state),
            (Fault::DelayAnswers(by), Way::Answer) => {
                let left = (arrived + *by).saturating_duration_since(Instant::now());
                if left.is_zero() {
                    break;
                }
                state = shared.wait_for(state, left);
            }
            _ => break,
        }
    }
    let repeats = *state.fault_of(number) == Fault::RepeatAnswers;
    if let Some(connection) = state.connections.get_mut(&number) {
        match way {
            // Small, and the client waits for it.
            Way::Request if repeats => connection.client.write_all(&connection.answer)?,
            Way::Request => {}
            Way::Answer => connection.answer = piece.to_vec(),
        }
    }
    drop(state);
    to.write_all(piece)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that answers every byte with its successor, on one connection after the other.
    fn successor() -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                std::thread::spawn(move || {
                    let mut byte = [0u8];
                    while stream.read_exact(&mut byte).is_ok() {
                        stream.write_all(&[byte[0] + 1]).ok();
                    }
                });
            }
        });
        address
    }

    fn connect(proxy: &Proxy) -> TcpStream {
        TcpStream::connect(proxy.address()).unwrap()
    }

    /// Sends `byte` and gives the answer, or nothing if the connection ends instead.
    fn ask(stream: &mut TcpStream, byte: u8) -> Option<u8> {
        stream.write_all(&[byte]).ok()?;
        let mut answer = [0u8];
        stream.read_exact(&mut answer).ok().map(|()| answer[0])
    }

    #[test]
    fn traffic_passes_and_a_cut_connection_ends() {
        let proxy = Proxy::to(successor());
        let mut stream = connect(&proxy);
        assert_eq!(ask(&mut stream, 1), Some(2));
        for fault in [Fault::CutRequest, Fault::CutAnswer] {
            let mut stream = connect(&proxy);
            assert_eq!(ask(&mut stream, 1), Some(2));
            let only = *proxy.connections().last().unwrap();
            proxy.set_only(only, fault.clone());
            assert_eq!(ask(&mut stream, 7), None, "{fault:?}");
        }
        assert_eq!(ask(&mut stream, 3), Some(4), "the other connection lives");
        proxy.cut_all();
        assert_eq!(ask(&mut stream, 5), None);
        assert!(proxy.connections().is_empty());
    }

    #[test]
    fn a_repeated_answer_comes_before_that_of_the_next_request() {
        let proxy = Proxy::to(successor());
        let mut stream = connect(&proxy);
        assert_eq!(ask(&mut stream, 1), Some(2));
        proxy.set(Fault::RepeatAnswers);
        assert_eq!(ask(&mut stream, 7), Some(2), "of the request before");
        let mut next = [0u8];
        stream.read_exact(&mut next).unwrap();
        assert_eq!(next, [8]);
        proxy.set(Fault::Pass);
        assert_eq!(ask(&mut stream, 3), Some(4));
    }

    #[test]
    fn held_answers_and_frozen_traffic_go_on_when_the_fault_ends() {
        for (fault, reached) in [(Fault::HoldAnswers, true), (Fault::Freeze, false)] {
            let seen = Arc::new((Mutex::new(0u64), Condvar::new()));
            let upstream = {
                let listener = TcpListener::bind("127.0.0.1:0").unwrap();
                let address = listener.local_addr().unwrap();
                let seen = seen.clone();
                std::thread::spawn(move || {
                    let (mut stream, _) = listener.accept().unwrap();
                    let mut byte = [0u8];
                    while stream.read_exact(&mut byte).is_ok() {
                        *seen.0.lock().unwrap() += 1;
                        seen.1.notify_all();
                        stream.write_all(&byte).ok();
                    }
                });
                address
            };
            let proxy = Proxy::to(upstream);
            let mut stream = connect(&proxy);
            assert_eq!(ask(&mut stream, 1), Some(1));
            proxy.set(fault.clone());
            let before = proxy.requests();
            stream.write_all(&[9]).unwrap();
            proxy.wait_for_request(before);
            if reached {
                let mut count = seen.0.lock().unwrap();
                while *count < 2 {
                    count = seen.1.wait(count).unwrap();
                }
            } else {
                assert_eq!(*seen.0.lock().unwrap(), 1, "{fault:?} reaches nobody");
            }
            proxy.set(Fault::Pass);
            let mut answer = [0u8];
            stream.read_exact(&mut answer).unwrap();
            assert_eq!(answer, [9], "{fault:?}");
        }
    }

    #[test]
    fn refused_connections_are_refused_by_the_kernel_and_come_back_on_the_same_port() {
        let proxy = Proxy::to(successor());
        let mut stream = connect(&proxy);
        for _ in 0..3 {
            proxy.set(Fault::Refuse);
            assert_eq!(ask(&mut stream, 1), None);
            let refused = TcpStream::connect(proxy.address()).unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
            proxy.set(Fault::Pass);
            stream = connect(&proxy);
            assert_eq!(ask(&mut stream, 1), Some(2));
        }
    }

    #[test]
    fn a_delayed_answer_arrives_late_and_at_once_when_the_delay_ends() {
        let proxy = Proxy::to(successor());
        let mut stream = connect(&proxy);
        let delay = Duration::from_millis(50);
        proxy.set(Fault::DelayAnswers(delay));
        let began = Instant::now();
        assert_eq!(ask(&mut stream, 1), Some(2));
        assert!(began.elapsed() >= delay);
        proxy.set(Fault::DelayAnswers(Duration::from_secs(3600)));
        let before = proxy.requests();
        stream.write_all(&[5]).unwrap();
        proxy.wait_for_request(before);
        proxy.set(Fault::Pass);
        let mut answer = [0u8];
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(answer, [6]);
    }

    #[test]
    fn a_redirected_proxy_leads_to_the_other_server() {
        let proxy = Proxy::to(successor());
        let mut stream = connect(&proxy);
        assert_eq!(ask(&mut stream, 1), Some(2));
        let echo = TcpListener::bind("127.0.0.1:0").unwrap();
        proxy.redirect(echo.local_addr().unwrap());
        assert_eq!(ask(&mut stream, 1), None);
        let mut stream = connect(&proxy);
        stream.write_all(&[1]).unwrap();
        let (mut served, _) = echo.accept().unwrap();
        let mut byte = [0u8];
        served.read_exact(&mut byte).unwrap();
        assert_eq!(byte, [1]);
    }
}
