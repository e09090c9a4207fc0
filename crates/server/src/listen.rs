//! Listening sockets: one per thread and face on the same port (SO_REUSEPORT).

use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener};

use socket2::{Domain, Protocol, SockRef, Socket, Type};

use crate::config::Config;
use crate::metrics::Face;

/// The sockets of one face.
#[derive(Debug)]
pub struct Listeners {
    /// Where they listen, with the port that the system chose for port 0.
    pub address: SocketAddr,
    /// One for each thread.
    pub sockets: Vec<TcpListener>,
}

/// The sockets of all faces.
#[derive(Debug)]
pub struct Sockets {
    /// HTTP, unless it is off.
    pub http: Option<Listeners>,
    /// The Redis protocol, unless it is off.
    pub resp: Option<Listeners>,
}

/// A socket that could not be had.
#[derive(Debug)]
pub struct ListenError {
    face: Face,
    address: SocketAddr,
    source: io::Error,
}

impl ListenError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        let (flag, key) = match self.face {
            Face::Http => ("--http", "server.http.listen"),
            Face::Resp => ("--resp", "server.resp.listen"),
        };
        match self.source.kind() {
            io::ErrorKind::AddrInUse => {
                format!(
                    "another program has port {}; choose another with {flag} or {key}",
                    self.address.port()
                )
            }
            _ => format!("choose another address with {flag} or {key}"),
        }
    }
}

impl fmt::Display for ListenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let face = match self.face {
            Face::Http => "HTTP",
            Face::Resp => "the Redis protocol",
        };
        match self.source.kind() {
            io::ErrorKind::AddrInUse => write!(
                f,
                "cannot listen on {} for {face}: the address is in use",
                self.address
            ),
            _ => write!(f, "cannot listen on {} for {face}: {}", self.address, self.source),
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
    let face = |face, address: Option<SocketAddr>| {
        address.map(|address| {
            bind_face(address, threads).map_err(|source| ListenError {
                face,
                address,
                source,
            })
        })
    };
    Ok(Sockets {
        http: face(Face::Http, config.http_listen.0).transpose()?,
        resp: face(Face::Resp, config.resp_listen.0).transpose()?,
    })
}

fn bind_face(address: SocketAddr, threads: usize) -> io::Result<Listeners> {
    // Sockets that share a port do so with *any* process of the same user. So the first one takes the port for itself
    // alone, listening included: of several servers that start at once only one gets past this line.
    let first = socket(address)?;
    first.bind(&address.into())?;
    first.listen(BACKLOG)?;
    let first = TcpListener::from(first);
    let address = first.local_addr()?;
    share(&first)?;
    let mut sockets = vec![first];
    for _ in 1..threads {
        let socket = socket(address)?;
        share(&socket)?;
        socket.bind(&address.into())?;
        socket.listen(BACKLOG)?;
        sockets.push(socket.into());
    }
    Ok(Listeners { address, sockets })
}

fn socket(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_nonblocking(true)?;
    // Connections of a process that just ended must not keep the next one from starting.
    socket.set_reuse_address(true)?;
    Ok(socket)
}

/// Lets the sockets of this process's other threads have the same port.
#[cfg(unix)]
fn share(socket: &impl std::os::fd::AsFd) -> io::Result<()> {
    SockRef::from(socket).set_reuse_port(true)
}

/// Connections that may wait to be accepted, per socket.
const BACKLOG: i32 = 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Listen;

    fn config(http: SocketAddr) -> Config {
        Config {
            http_listen: Listen(Some(http)),
            resp_listen: Listen(None),
            ..Config::default()
        }
    }

    #[test]
    fn threads_share_a_port_and_other_servers_do_not() {
        let first = bind(&config("127.0.0.1:0".parse().unwrap()), 2)
            .unwrap()
            .http
            .unwrap();
        assert_eq!(first.sockets.len(), 2);
        assert_ne!(first.address.port(), 0);
        let error = bind(&config(first.address), 2).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "cannot listen on {} for HTTP: the address is in use",
                first.address
            )
        );
        assert!(error.hint().contains("--http") && error.hint().contains(&first.address.port().to_string()));
    }

    /// Two servers that are started at once on one port must not both serve: each would count by itself.
    #[test]
    fn of_servers_that_start_at_once_one_has_the_port() {
        for round in 0..200 {
            let free = bind(&config("127.0.0.1:0".parse().unwrap()), 1).unwrap().http;
            let address = free.unwrap().address;
            let together = std::sync::Barrier::new(3);
            let started = || {
                together.wait();
                bind(&config(address), 3)
            };
            // Kept until all have tried: what ends frees the port.
            let outcomes = std::thread::scope(|scope| {
                let starts = [(); 3].map(|()| scope.spawn(started));
                starts.map(|start| start.join().unwrap())
            });
            let served = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
            assert_eq!(served, 1, "round {round}: {outcomes:?}");
        }
    }

    #[test]
    fn a_port_is_free_again_when_its_sockets_are_gone() {
        let address = bind(&config("127.0.0.1:0".parse().unwrap()), 1)
            .unwrap()
            .http
            .unwrap()
            .address;
        assert!(bind(&config(address), 1).is_ok());
    }
}
