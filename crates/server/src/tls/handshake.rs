//! From an accepted socket to one that a face can be given.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::admission::Admission;
use super::{Handshake, TlsSocket};
use crate::transport::Stream;

/// What a handshake came to.
pub(crate) enum Shaken {
    Done(Stream),
    /// It failed, in words.
    Failed(String),
}

/// Does the handshake, within so long. A client that speaks in clear is told so in its own words.
pub(crate) async fn shake(
    stream: Stream,
    with: Handshake,
    limit: Duration,
    in_clear: &'static [u8],
) -> Shaken {
    let Stream::Tcp(socket) = stream else {
        return Shaken::Failed("TLS is spoken over TCP alone".into());
    };
    match tokio::time::timeout(limit, agree(socket, &with)).await {
        Ok(Ok(done)) => match admit(&done, &with) {
            Ok(admission) => Shaken::Done(Stream::Tls(Box::new(TlsSocket::new(done, admission)))),
            Err(why) => Shaken::Failed(why),
        },
        Ok(Err(Spoilt::Handshake(error, socket))) => {
            // The alert has been written.
            say_goodbye(socket, b"").await;
            Shaken::Failed(error.to_string())
        }
        Ok(Err(Spoilt::Clear(socket))) => {
            say_goodbye(socket, in_clear).await;
            Shaken::Failed("clear text was spoken where TLS is".into())
        }
        Err(_) => Shaken::Failed(format!("the handshake took longer than {limit:?}")),
    }
}

/// Why there is no TLS.
enum Spoilt {
    Handshake(io::Error, TcpStream),
    /// Something else was said.
    Clear(TcpStream),
}

/// What lets the client in, and until when; `None`: it has shown no certificate, and need not.
fn admit(done: &TlsStream<TcpStream>, with: &Handshake) -> Result<Option<Admission>, String> {
    match (done.get_ref().1.peer_certificates(), &with.authorities) {
        (Some(chain), Some(authorities)) => {
            let now = jiff::Timestamp::now().as_second();
            authorities.admit(chain, now).map(Some)
        }
        _ => Ok(None),
    }
}

async fn agree(socket: TcpStream, with: &Handshake) -> Result<TlsStream<TcpStream>, Spoilt> {
    let mut first = [0];
    // Looked at before TLS reads it, whose own refusal would be an alert, which clear text knows nothing of.
    match socket.peek(&mut first).await {
        Ok(1..) if first[0] != super::HANDSHAKE => return Err(Spoilt::Clear(socket)),
        Ok(_) => {}
        Err(error) => return Err(Spoilt::Handshake(error, socket)),
    }
    TlsAcceptor::from(with.config.clone())
        .accept(socket)
        .into_fallible()
        .await
        .map_err(|(error, socket)| Spoilt::Handshake(error, socket))
}

/// Sends the last words, if any, to a client that may still be sending. Whatever comes of it, the connection ends.
async fn say_goodbye(mut socket: TcpStream, words: &[u8]) {
    let _ = tokio::time::timeout(ANSWER, tell(&mut socket, words)).await;
}

/// How long the last words to a client may take.
const ANSWER: Duration = Duration::from_secs(1);

/// Answers, and reads what still comes: a socket that is closed with unread bytes takes its answer, or its alert, back.
async fn tell(socket: &mut TcpStream, words: &[u8]) -> io::Result<()> {
    socket.write_all(words).await?;
    socket.shutdown().await?;
    let mut rest = [0; 1024];
    for _ in 0..READS_MAX {
        if socket.read(&mut rest).await? == 0 {
            break;
        }
    }
    Ok(())
}

/// How often more is read of a client whose connection ends so.
const READS_MAX: u32 = 64;
