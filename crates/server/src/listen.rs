//! Listening sockets: for TCP one per thread and face on the same port (SO_REUSEPORT), of a unix socket one that the
//! threads share.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use socket2::{Domain, Protocol, SockRef, Socket, Type};

use crate::bound::Bound;
use crate::config::Config;
use crate::faces::{self, Face};
use crate::metrics::FaceId;
use crate::passed::Passed;
use crate::socket_file::{BACKLOG, Rules, SocketPath, bind_unix};
use crate::transport::Endpoint;

/// The sockets of one face.
#[derive(Debug)]
pub struct Listeners {
    /// Where they listen, with the port that the system chose for port 0.
    pub address: Endpoint,
    pub(crate) face: &'static Face,
    pub(crate) id: FaceId,
    /// One for each thread.
    pub(crate) sockets: Vec<Bound>,
    /// The path of a unix socket.
    pub(crate) path: Option<SocketPath>,
}

/// The sockets of all faces that listen.
#[derive(Debug)]
pub struct Sockets(pub(crate) Vec<Listeners>);

impl Sockets {
    /// Where a face listens, if it does.
    pub fn address(&self, face: &str) -> Option<&Endpoint> {
        let mut all = self.0.iter();
        all.find(|listeners| listeners.face.name == face)
            .map(|listeners| &listeners.address)
    }
}

/// A socket that could not be had.
#[derive(Debug)]
pub enum ListenError {
    /// The system refused it.
    Bind {
        /// Whose it is.
        face: &'static Face,
        /// Where.
        address: Endpoint,
        /// Why.
        source: io::Error,
    },
    /// The service manager passed one that cannot be used.
    Passed(String),
}

impl ListenError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        let ListenError::Bind {
            face,
            address,
            source,
        } = self
        else {
            return "name each socket after its face: FileDescriptorName=http, resp, …, or tls-http for TLS"
                .into();
        };
        let (flag, section) = (face.flag(), face.section);
        match (source.kind(), address) {
            (io::ErrorKind::AddrInUse, Endpoint::Tcp(address) | Endpoint::Tls(address)) => {
                let port = address.port();
                format!("another program has port {port}; choose another with {flag} or {section}.listen")
            }
            _ => format!("choose another address with {flag} or {section}.listen"),
        }
    }
}

impl fmt::Display for ListenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (face, address, source) = match self {
            ListenError::Bind {
                face,
                address,
                source,
            } => (face, address, source),
            ListenError::Passed(why) => return write!(f, "a socket that was passed cannot be used: {why}"),
        };
        write!(f, "cannot listen on {address} for {}: ", face.title)?;
        match (source.kind(), address) {
            (io::ErrorKind::AddrInUse, Endpoint::Tcp(_) | Endpoint::Tls(_)) => {
                f.write_str("the address is in use")
            }
            _ => source.fmt(f),
        }
    }
}

impl std::error::Error for ListenError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ListenError::Bind { source, .. } => Some(source),
            ListenError::Passed(_) => None,
        }
    }
}

/// Binds all sockets of a configuration, for so many threads; those that a service manager passes stand in the place of the
/// face's own.
///
/// # Errors
/// The first address that cannot be had; nothing stays bound.
pub fn bind(config: &Config, threads: usize) -> Result<Sockets, ListenError> {
    let mut passed = Passed::take().map_err(|source| ListenError::Passed(source.to_string()))?;
    let mut all = Vec::new();
    for (id, face) in faces::numbered() {
        let of_face = passed.of(face.name);
        let mut had = Vec::new();
        for socket in of_face {
            let address = socket.address();
            let judged = config.check_passed(face.section, &address);
            judged.map_err(|error| ListenError::Passed(error.to_string()))?;
            // Its path stays, which is the service manager's.
            let shared = for_threads(socket, threads).map(|sockets| (address.clone(), sockets, None));
            had.push((address, shared));
        }
        if had.is_empty() {
            let endpoints = (face.listen)(config).endpoints.iter();
            had.extend(endpoints.map(|address| (address.clone(), bind_one(address, threads, config))));
        }
        for (address, bound) in had {
            let (address, sockets, path) = bound.map_err(|source| ListenError::Bind {
                face,
                address,
                source,
            })?;
            all.push(Listeners {
                address,
                face,
                id,
                sockets,
                path,
            });
        }
    }
    match passed.left() {
        None => Ok(Sockets(all)),
        Some(name) => Err(ListenError::Passed(format!("there is no face {name:?}"))),
    }
}

fn bind_one(address: &Endpoint, threads: usize, config: &Config) -> io::Result<Had> {
    match address {
        Endpoint::Tcp(at) => bind_tcp(*at, threads, address, Bound::Tcp),
        Endpoint::Tls(at) => bind_tcp(*at, threads, address, Bound::Tls),
        Endpoint::Unix(path) => {
            let (socket, taken_away) = bind_unix(path, &Rules::of(config))?;
            let sockets = for_threads(Bound::Unix(socket), threads)?;
            Ok((address.clone(), sockets, Some(taken_away)))
        }
    }
}

/// The same socket for each thread.
fn for_threads(first: Bound, threads: usize) -> io::Result<Vec<Bound>> {
    let mut sockets = Vec::new();
    for _ in 1..threads {
        sockets.push(first.again()?);
    }
    sockets.push(first);
    Ok(sockets)
}

/// Where the sockets listen, one for each thread, and the path to take away in the end.
type Had = (Endpoint, Vec<Bound>, Option<SocketPath>);

fn bind_tcp(
    address: SocketAddr,
    threads: usize,
    asked: &Endpoint,
    bound: fn(TcpListener) -> Bound,
) -> io::Result<Had> {
    let first = TcpListener::from(alone_on(address)?);
    let address = first.local_addr()?;
    share(&first)?;
    let mut sockets = vec![bound(first)];
    for _ in 1..threads {
        let socket = socket(address)?;
        share(&socket)?;
        socket.bind(&address.into())?;
        socket.listen(BACKLOG)?;
        sockets.push(bound(socket.into()));
    }
    Ok((asked.with_tcp(address), sockets, None))
}

/// A socket that listens there. Sockets that share a port do so with *any* process of the same user; so this one takes
/// it for itself alone, listening included: of several servers that start at once only one gets past here.
///
/// Two that begin to listen in the same moment refuse each other (Linux 6.18): each tries again after another while. Where
/// somebody listens, already `bind` fails.
fn alone_on(address: SocketAddr) -> io::Result<Socket> {
    let mut tries = 1..LISTEN_TRIES;
    loop {
        let first = socket(address)?;
        first.bind(&address.into())?;
        match first.listen(BACKLOG) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && tries.next().is_some() => {
                drop(first);
                std::thread::sleep(Duration::from_millis(1 + RandomState::new().hash_one(()) % 20));
            }
            Err(error) => return Err(error),
            Ok(()) => return Ok(first),
        }
    }
}

/// How often two servers that start at once try to listen.
const LISTEN_TRIES: u32 = 10;

fn socket(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_nonblocking(true)?;
    // Connections of a process that just ended must not keep the next one from starting.
    socket.set_reuse_address(true)?;
    Ok(socket)
}

/// Lets the sockets of this process's other threads have the same port.
fn share(socket: &impl std::os::fd::AsFd) -> io::Result<()> {
    SockRef::from(socket).set_reuse_port(true)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::net::UnixListener;

    use super::*;
    use crate::config::Listen;

    fn config(http: &Endpoint) -> Config {
        Config {
            http_listen: http.clone().into(),
            resp_listen: Listen::OFF,
            ..Config::default()
        }
    }

    fn any_port() -> Config {
        config(&"127.0.0.1:0".parse().unwrap())
    }

    #[test]
    fn threads_share_a_port_and_other_servers_do_not() {
        let first = bind(&any_port(), 2).unwrap();
        assert_eq!(first.0[0].sockets.len(), 2);
        let address = first.address("http").unwrap();
        assert_ne!(address.tcp().unwrap().port(), 0);
        let error = bind(&config(address), 2).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("cannot listen on {address} for HTTP: the address is in use")
        );
        let port = address.tcp().unwrap().port().to_string();
        assert!(error.hint().contains("--http") && error.hint().contains(&port));
    }

    /// Two servers that are started at once on one port must not both serve: each would count by itself.
    // claim: P37
    #[test]
    fn of_servers_that_start_at_once_one_has_the_port() {
        // Where no other test takes the port as soon as it is free.
        let any_port = config(&"127.7.0.1:0".parse().unwrap());
        for round in 0..200 {
            let free = bind(&any_port, 1).unwrap();
            let address = free.address("http").unwrap().clone();
            drop(free);
            one_of_three_has(&address, round);
        }
    }

    fn one_of_three_has(address: &Endpoint, round: u32) {
        let together = std::sync::Barrier::new(3);
        let started = || {
            together.wait();
            bind(&config(address), 3)
        };
        // Kept until all have tried: what ends frees the address.
        let outcomes = std::thread::scope(|scope| {
            let starts = [(); 3].map(|()| scope.spawn(started));
            starts.map(|start| start.join().unwrap())
        });
        let served = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
        assert_eq!(served, 1, "round {round}: {outcomes:?}");
    }

    #[test]
    fn a_port_is_free_again_when_its_sockets_are_gone() {
        let first = bind(&any_port(), 1).unwrap();
        let again = config(first.address("http").unwrap());
        drop(first);
        assert!(bind(&again, 1).is_ok());
    }

    #[test]
    fn a_socket_that_nobody_listens_on_is_replaced_and_one_in_use_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("http.sock");
        let config = config(&Endpoint::Unix(path.clone()));
        // As after a kill: the file is there and nobody listens.
        drop(UnixListener::bind(&path).unwrap());
        let first = bind(&config, 2).unwrap();
        let error = bind(&config, 2).unwrap_err();
        assert!(
            error
                .to_string()
                .ends_with("another program listens on this socket"),
            "{error}"
        );
        assert!(error.hint().contains("server.http.listen"));
        drop(first);
        assert!(!path.exists(), "who stops takes its socket away");
        fs::write(&path, "precious").unwrap();
        let error = bind(&config, 2).unwrap_err();
        assert!(error.to_string().contains("not a socket"), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
    }

    #[test]
    fn of_servers_that_start_at_once_one_has_the_stale_socket() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("http.sock");
        for round in 0..50 {
            drop(UnixListener::bind(&path).unwrap());
            one_of_three_has(&Endpoint::Unix(path.clone()), round);
        }
    }
}
