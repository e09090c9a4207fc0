//! One connection to a server: bytes, in clear or by TLS.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::frames::Frames;

/// The longest frame before a session has begun. A server of another protocol is found out by its first bytes.
pub(super) const GREETING_BYTES_MAX: usize = 1024;

/// TCP, or TLS over it.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

pub(super) struct Connection {
    pub(super) stream: Box<dyn Stream>,
    pub(super) frames: Frames,
}

impl Connection {
    pub(super) fn new(stream: Box<dyn Stream>) -> Connection {
        Connection {
            stream,
            frames: Frames::new(GREETING_BYTES_MAX),
        }
    }

    pub(super) async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes).await?;
        self.stream.flush().await
    }

    /// The next frame, or why there is none.
    pub(super) async fn next(&mut self) -> Result<Vec<u8>, String> {
        loop {
            if let Some(frame) = self.frames.take().map_err(|why| why.to_string())? {
                return Ok(frame.to_vec());
            }
            read_more(&mut self.stream, &mut self.frames).await?;
        }
    }
}

/// Waits for bytes. Those that have arrived are kept if nobody waits any more.
pub(super) async fn read_more(
    from: &mut (impl AsyncRead + Unpin),
    frames: &mut Frames,
) -> Result<(), String> {
    match from.read_buf(frames.room()).await {
        Ok(0) => Err("the server ended the connection".to_string()),
        Ok(_) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}
