//! What faces are spoken over: TCP, with TLS or in clear, and unix sockets.
//!
//! A connection is a tag and a socket: whoever reads or writes looks at the tag and calls the socket itself, so that a
//! second kind of transport costs the first one nothing.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::pin::Pin;
use std::str::FromStr;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};

use crate::auth::{self, Presented};
use crate::tls;

/// Where a server listens, or our end of a connection.
///
/// ```
/// use mintage_server::transport::Endpoint;
/// let tcp: Endpoint = "127.0.0.1:7600".parse()?;
/// let unix: Endpoint = "unix:/run/mint/http.sock".parse()?;
/// assert_eq!((tcp.to_string(), tcp.is_local()), ("127.0.0.1:7600".to_string(), true));
/// assert_eq!((unix.to_string(), unix.is_local()), ("unix:/run/mint/http.sock".to_string(), true));
/// let tls: Endpoint = "tls:0.0.0.0:7600".parse()?;
/// assert_eq!((tls.to_string(), tls.is_local(), tls.is_tls()), ("tls:0.0.0.0:7600".to_string(), false, true));
/// assert!(format!("unix:/{}", "x".repeat(107)).parse::<Endpoint>().unwrap_err().contains("108 bytes"));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Endpoint {
    /// Address and port, in clear.
    Tcp(SocketAddr),
    /// Address and port, with TLS.
    Tls(SocketAddr),
    /// The path of a socket.
    Unix(PathBuf),
}

/// The longest path of a unix socket, in bytes (unix(7): `sun_path`, with its end).
const UNIX_PATH_BYTES_MAX: usize = 107;

impl Endpoint {
    /// Whether nobody but this machine reaches it.
    pub fn is_local(&self) -> bool {
        self.tcp().is_none_or(|address| address.ip().is_loopback())
    }

    /// Its port; 0 for a unix socket, as Redis has it.
    pub fn port(&self) -> u16 {
        self.tcp().map_or(0, |address| address.port())
    }

    /// Its address, where it is one of TCP.
    pub fn tcp(&self) -> Option<SocketAddr> {
        match self {
            Endpoint::Tcp(address) | Endpoint::Tls(address) => Some(*address),
            Endpoint::Unix(_) => None,
        }
    }

    /// Whether TLS is spoken there.
    pub fn is_tls(&self) -> bool {
        matches!(self, Endpoint::Tls(_))
    }

    /// The same transport at another address of TCP; a unix socket stays as it is.
    pub fn with_tcp(&self, address: SocketAddr) -> Endpoint {
        match self {
            Endpoint::Tcp(_) => Endpoint::Tcp(address),
            Endpoint::Tls(_) => Endpoint::Tls(address),
            Endpoint::Unix(path) => Endpoint::Unix(path.clone()),
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Endpoint::Tcp(address) => address.fmt(f),
            Endpoint::Tls(address) => write!(f, "tls:{address}"),
            Endpoint::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl FromStr for Endpoint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix("unix:") {
            return match path.len() {
                0 => Err(format!("{text:?} has no path behind unix:")),
                1..=UNIX_PATH_BYTES_MAX => Ok(Endpoint::Unix(path.into())),
                bytes => Err(format!(
                    "{text:?}: the path has {bytes} bytes, and that of a unix socket has at most {UNIX_PATH_BYTES_MAX}"
                )),
            };
        }
        let (with, address): (fn(SocketAddr) -> Endpoint, &str) = match text.strip_prefix("tls:") {
            Some(address) => (Endpoint::Tls, address),
            None => (Endpoint::Tcp, text),
        };
        let numeric = match address.strip_prefix("localhost:") {
            Some(port) => format!("127.0.0.1:{port}"),
            None => address.to_string(),
        };
        numeric.parse().map(with).map_err(|_| {
            format!(
                "{text:?} is neither ADDRESS:PORT, such as \"127.0.0.1:7600\" or \"[::1]:7600\", nor \"tls:ADDRESS:PORT\", nor \"unix:/path\""
            )
        })
    }
}

/// The other end of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Peer {
    /// Address and port.
    Tcp(SocketAddr),
    /// A process of this machine.
    Unix,
}

impl Peer {
    /// Whose connections count together: those of an IPv4 address, or of an IPv6 network, which one machine has whole.
    /// Who comes through a unix socket is this machine.
    pub fn who(&self) -> IpAddr {
        let Peer::Tcp(address) = self else {
            return Ipv4Addr::LOCALHOST.into();
        };
        match address.ip().to_canonical() {
            IpAddr::V6(address) => {
                let network = address.to_bits() & !u128::from(u64::MAX);
                match address.is_loopback() {
                    true => address.into(),
                    false => Ipv6Addr::from_bits(network).into(),
                }
            }
            address => address,
        }
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Peer::Tcp(address) => address.fmt(f),
            Peer::Unix => f.write_str("unix"),
        }
    }
}

impl FromStr for Peer {
    type Err = std::net::AddrParseError;

    /// Reads an address, with or without a port.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let address = text
            .parse()
            .or_else(|_| text.parse().map(|ip| SocketAddr::new(ip, 0)));
        address.map(Peer::Tcp)
    }
}

/// A connected socket.
#[derive(Debug)]
pub enum Stream {
    /// TCP in clear.
    Tcp(TcpStream),
    // Boxed: what TLS keeps of a connection would make every other one as large.
    /// TCP with TLS.
    Tls(Box<tls::TlsSocket>),
    /// A unix socket.
    Unix(UnixStream),
}

/// Does the same with whatever socket it is.
macro_rules! each {
    ($any:expr, $socket:ident => $do:expr) => {
        match $any {
            Stream::Tcp($socket) => $do,
            Stream::Tls($socket) => $do,
            Stream::Unix($socket) => $do,
        }
    };
}

impl Stream {
    /// Our end of it.
    pub(crate) fn local(&self) -> io::Result<Endpoint> {
        match self {
            Stream::Tcp(socket) => socket.local_addr().map(Endpoint::Tcp),
            Stream::Tls(socket) => socket.tcp().local_addr().map(Endpoint::Tls),
            Stream::Unix(socket) => {
                let address = socket.local_addr()?;
                Ok(Endpoint::Unix(
                    address.as_pathname().unwrap_or("".as_ref()).to_path_buf(),
                ))
            }
        }
    }

    /// The other end of it.
    pub(crate) fn peer(&self) -> io::Result<Peer> {
        match self {
            Stream::Tcp(socket) => socket.peer_addr().map(Peer::Tcp),
            Stream::Tls(socket) => socket.tcp().peer_addr().map(Peer::Tcp),
            Stream::Unix(_) => Ok(Peer::Unix),
        }
    }

    /// What it shows before a word is said: the names of its certificate, or its user.
    pub(crate) fn presented(&self) -> Presented {
        match self {
            Stream::Tcp(_) => Presented::default(),
            Stream::Tls(socket) => Presented {
                certificate_names: tls::names_of(socket.tls()),
                uid: None,
            },
            Stream::Unix(socket) => Presented {
                certificate_names: Vec::new(),
                uid: socket
                    .peer_cred()
                    .ok()
                    .map(|found| found.uid())
                    .filter(|uid| !auth::is_nobody(*uid)),
            },
        }
    }

    /// Sends whatever is written at once: answers are written whole, and waiting to fill packets only costs time.
    pub(crate) fn send_at_once(&self) {
        let socket = match self {
            Stream::Tcp(socket) => socket,
            Stream::Tls(socket) => socket.tcp(),
            Stream::Unix(_) => return,
        };
        // Without it answers come, if later.
        let _ = socket.set_nodelay(true);
    }

    /// Sends what fits without waiting, before anything else is said; nothing over TLS, where nobody could read it.
    pub(crate) fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(socket) => socket.try_write(bytes),
            Stream::Tls(_) => Ok(0),
            Stream::Unix(socket) => socket.try_write(bytes),
        }
    }
}

impl AsyncRead for Stream {
    #[inline]
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        each!(self.get_mut(), socket => Pin::new(socket).poll_read(cx, buffer))
    }
}

impl AsyncWrite for Stream {
    #[inline]
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        each!(self.get_mut(), socket => Pin::new(socket).poll_write(cx, bytes))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        each!(self.get_mut(), socket => Pin::new(socket).poll_write_vectored(cx, parts))
    }

    fn is_write_vectored(&self) -> bool {
        each!(self, socket => socket.is_write_vectored())
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        each!(self.get_mut(), socket => Pin::new(socket).poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        each!(self.get_mut(), socket => Pin::new(socket).poll_shutdown(cx))
    }
}

/// A socket that listens, of a thread's runtime.
#[derive(Debug)]
pub(crate) enum Listener {
    Tcp(TcpListener),
    Tls(TcpListener),
    Unix(UnixListener),
}

impl Listener {
    /// The next connection. Where TLS is spoken, its handshake is still to come.
    pub(crate) async fn accept(&self) -> io::Result<(Stream, Peer)> {
        match self {
            Listener::Tcp(socket) | Listener::Tls(socket) => {
                let (stream, peer) = socket.accept().await?;
                Ok((Stream::Tcp(stream), Peer::Tcp(peer)))
            }
            Listener::Unix(socket) => {
                let (stream, _) = socket.accept().await?;
                Ok((Stream::Unix(stream), Peer::Unix))
            }
        }
    }

    /// Whether a handshake of TLS is to come.
    pub(crate) fn is_tls(&self) -> bool {
        matches!(self, Listener::Tls(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_of_one_machine_is_one_address() {
        let who = |text: &str| text.parse::<Peer>().unwrap().who();
        assert_eq!(who("2001:db8::1"), who("2001:db8::ffff:1"));
        assert_ne!(who("2001:db8::1"), who("2001:db8:0:1::1"));
        assert_eq!(who("::ffff:10.0.0.1"), who("10.0.0.1"));
        assert!(who("::1").is_loopback() && Peer::Unix.who().is_loopback());
    }
}
