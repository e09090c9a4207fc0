//! Listening sockets: for TCP one per thread and face on the same port (SO_REUSEPORT), of a unix socket one that the
//! threads share.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use socket2::{Domain, Protocol, SockRef, Socket, Type};

use crate::config::Config;
use crate::faces::{self, Face};
use crate::metrics::FaceId;
use crate::transport::{Endpoint, Listener};

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

/// A socket that listens, of no runtime yet.
#[derive(Debug)]
pub(crate) enum Bound {
    Tcp(TcpListener),
    Tls(TcpListener),
    Unix(UnixListener),
}

impl Bound {
    /// The same for the runtime of the current thread.
    pub(crate) fn listener(self) -> io::Result<Listener> {
        Ok(match self {
            Bound::Tcp(socket) => Listener::Tcp(socket.try_into()?),
            Bound::Tls(socket) => Listener::Tls(socket.try_into()?),
            Bound::Unix(socket) => Listener::Unix(socket.try_into()?),
        })
    }
}

/// The path of a socket that listens, taken away when this is dropped.
#[derive(Debug)]
pub(crate) struct SocketPath {
    path: PathBuf,
    /// Device and number of the socket there.
    file: (u64, u64),
}

impl Drop for SocketPath {
    fn drop(&mut self) {
        // Another server may have put its own there; nothing is lost if ours stays.
        if file_of(&self.path).is_ok_and(|file| file == self.file) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn file_of(path: &Path) -> io::Result<(u64, u64)> {
    let found = fs::symlink_metadata(path)?;
    Ok((found.dev(), found.ino()))
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
pub struct ListenError {
    face: &'static Face,
    address: Endpoint,
    source: io::Error,
}

impl ListenError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        let (flag, section) = (self.face.flag(), self.face.section);
        match (self.source.kind(), &self.address) {
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
        write!(f, "cannot listen on {} for {}: ", self.address, self.face.title)?;
        match (self.source.kind(), &self.address) {
            (io::ErrorKind::AddrInUse, Endpoint::Tcp(_) | Endpoint::Tls(_)) => {
                f.write_str("the address is in use")
            }
            _ => self.source.fmt(f),
        }
    }
}

impl std::error::Error for ListenError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

/// Binds all sockets of a configuration, for so many threads.
///
/// # Errors
/// The first address that cannot be had; nothing stays bound.
pub fn bind(config: &Config, threads: usize) -> Result<Sockets, ListenError> {
    let mut all = Vec::new();
    for (id, face) in faces::numbered() {
        for address in &(face.listen)(config).endpoints {
            let bound = match address {
                Endpoint::Tcp(at) => bind_tcp(*at, threads, address, Bound::Tcp),
                Endpoint::Tls(at) => bind_tcp(*at, threads, address, Bound::Tls),
                Endpoint::Unix(path) => bind_unix(path, threads),
            };
            let (address, sockets, path) = bound.map_err(|source| ListenError {
                face,
                address: address.clone(),
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
    Ok(Sockets(all))
}

/// Where the sockets listen, one for each thread, and the path to take away in the end.
type Had = (Endpoint, Vec<Bound>, Option<SocketPath>);

fn bind_tcp(
    address: SocketAddr,
    threads: usize,
    asked: &Endpoint,
    bound: fn(TcpListener) -> Bound,
) -> io::Result<Had> {
    // Sockets that share a port do so with *any* process of the same user. So the first one takes the port for itself
    // alone, listening included: of several servers that start at once only one gets past this line.
    let first = socket(address)?;
    first.bind(&address.into())?;
    first.listen(BACKLOG)?;
    let first = TcpListener::from(first);
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

/// A server that was killed leaves its socket's file behind, on which nobody listens: it is replaced. Nothing else is.
fn bind_unix(path: &Path, threads: usize) -> io::Result<Had> {
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    // Between the look and the new socket no other server may do the same. Released when this file is closed.
    let alone = File::open(folder)?;
    alone.lock()?;
    if let Ok(found) = fs::symlink_metadata(path) {
        if !found.file_type().is_socket() {
            let why = "a file that is not a socket is there: nothing is replaced";
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, why));
        }
        match UnixStream::connect(path) {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
            Ok(_) => {
                let why = "another program listens on this socket";
                return Err(io::Error::new(io::ErrorKind::AddrInUse, why));
            }
        }
    }
    let first = UnixListener::bind(path)?;
    let taken_away = SocketPath {
        path: path.to_path_buf(),
        file: file_of(path)?,
    };
    first.set_nonblocking(true)?;
    let mut sockets = Vec::new();
    for _ in 1..threads {
        sockets.push(Bound::Unix(first.try_clone()?));
    }
    sockets.push(Bound::Unix(first));
    Ok((Endpoint::Unix(path.to_path_buf()), sockets, Some(taken_away)))
}

/// Connections that may wait to be accepted, per socket.
const BACKLOG: i32 = 1024;

#[cfg(test)]
mod tests {
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
    #[test]
    fn of_servers_that_start_at_once_one_has_the_port() {
        for round in 0..200 {
            let free = bind(&any_port(), 1).unwrap();
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
