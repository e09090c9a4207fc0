//! A connection with TLS, which ends with what let its client in.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use rustls::ServerConnection;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

use super::admission::Admission;

/// A connection with TLS. Once its client's certificate has ended, whatever the face, it reads as one whose client has gone:
/// no request is taken from it, and nothing more is written to it.
#[derive(Debug)]
pub struct TlsSocket {
    socket: TlsStream<TcpStream>,
    /// `None`: the client has shown no certificate.
    admission: Option<Admission>,
    is_over: bool,
}

impl TlsSocket {
    pub(super) fn new(socket: TlsStream<TcpStream>, admission: Option<Admission>) -> TlsSocket {
        TlsSocket {
            socket,
            admission,
            is_over: false,
        }
    }

    pub(crate) fn tcp(&self) -> &TcpStream {
        self.socket.get_ref().0
    }

    pub fn tls(&self) -> &ServerConnection {
        self.socket.get_ref().1
    }

    /// Whether what let the client in is over; looked at before every read and every write.
    #[inline]
    fn is_over(&mut self) -> bool {
        match &self.admission {
            None => false,
            Some(_) if self.is_over => true,
            Some(admission) => {
                let over = admission.over(jiff::Timestamp::now().as_second());
                if let Some(why) = over {
                    self.is_over = true;
                    let peer = self
                        .tcp()
                        .peer_addr()
                        .map_or(String::new(), |peer| peer.to_string());
                    tracing::info!(
                        peer,
                        why = why.as_str(),
                        "a connection has ended with its certificate"
                    );
                }
                over.is_some()
            }
        }
    }

    /// The socket, while something may be written to it.
    #[inline]
    fn to_write(self: Pin<&mut Self>) -> io::Result<Pin<&mut TlsStream<TcpStream>>> {
        let this = self.get_mut();
        match this.is_over() {
            false => Ok(Pin::new(&mut this.socket)),
            true => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }
}

impl AsyncRead for TlsSocket {
    #[inline]
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        match this.is_over() {
            false => Pin::new(&mut this.socket).poll_read(cx, buffer),
            true => Poll::Ready(Ok(())),
        }
    }
}

impl AsyncWrite for TlsSocket {
    #[inline]
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.to_write()?.poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.to_write()?.poll_write_vectored(cx, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().socket).poll_flush(cx)
    }

    /// Says goodbye, whatever is over.
    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().socket).poll_shutdown(cx)
    }
}
