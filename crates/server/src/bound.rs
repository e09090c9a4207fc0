//! Sockets that listen, of no runtime yet: bound here, or passed by a service manager.

use std::io;
use std::net::TcpListener;
use std::os::unix::net::UnixListener;

use crate::transport::{Endpoint, Listener};

/// A socket that listens.
#[derive(Debug)]
pub(crate) enum Bound {
    Tcp(TcpListener),
    Tls(TcpListener),
    Unix(UnixListener),
}

impl Bound {
    /// Where it listens.
    pub(crate) fn address(&self) -> Endpoint {
        let tcp = |socket: &TcpListener| socket.local_addr().unwrap_or_else(|_| ([0, 0, 0, 0], 0).into());
        match self {
            Bound::Tcp(socket) => Endpoint::Tcp(tcp(socket)),
            Bound::Tls(socket) => Endpoint::Tls(tcp(socket)),
            Bound::Unix(socket) => {
                let address = socket.local_addr().ok();
                let path = address.as_ref().and_then(|address| address.as_pathname());
                Endpoint::Unix(path.unwrap_or("".as_ref()).to_path_buf())
            }
        }
    }

    /// The same socket once more, for another thread.
    pub(crate) fn again(&self) -> io::Result<Bound> {
        Ok(match self {
            Bound::Tcp(socket) => Bound::Tcp(socket.try_clone()?),
            Bound::Tls(socket) => Bound::Tls(socket.try_clone()?),
            Bound::Unix(socket) => Bound::Unix(socket.try_clone()?),
        })
    }

    /// The same for the runtime of the current thread.
    pub(crate) fn listener(self) -> io::Result<Listener> {
        Ok(match self {
            Bound::Tcp(socket) => Listener::Tcp(socket.try_into()?),
            Bound::Tls(socket) => Listener::Tls(socket.try_into()?),
            Bound::Unix(socket) => Listener::Unix(socket.try_into()?),
        })
    }
}
