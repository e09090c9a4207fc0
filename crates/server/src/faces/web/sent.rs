//! The body of a request, whose rest is kept where nobody reads it.

use std::cell::RefCell;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};

use super::body::{self, BodyLimit};
use crate::config::Config;
use crate::error::Answer;
use crate::faces::web;

/// What was left unread of a body.
pub(crate) type Rest = Rc<RefCell<Option<Incoming>>>;

/// A body as it comes in.
pub(crate) struct Sent {
    /// What was read of it before.
    ahead: Bytes,
    body: Option<Incoming>,
    rest: Rest,
}

impl Sent {
    /// One whose rest, when it is dropped before its end, is kept there.
    pub(crate) fn keeping(body: Incoming, rest: &Rest) -> Sent {
        Sent {
            ahead: Bytes::new(),
            body: Some(body),
            rest: Rc::clone(rest),
        }
    }

    /// Reads it until it ends or is longer than a request's may be: whoever is asked has it at hand.
    ///
    /// # Errors
    /// It did not arrive whole, or in time.
    pub(super) async fn read_ahead(&mut self, config: &Config) -> Answer<()> {
        let max = BodyLimit::of_request(config).bytes;
        let reading = async {
            let mut read = Vec::new();
            while let Some(body) = self
                .body
                .as_mut()
                .filter(|body| !body.is_end_stream() && read.len() <= max)
            {
                match std::future::poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await {
                    Some(frame) => {
                        let frame = frame.map_err(|_| body::not_whole())?;
                        read.extend(frame.into_data().unwrap_or_default());
                    }
                    None => break,
                }
            }
            Answer::Ok(read)
        };
        let read = tokio::time::timeout(config.http_request_timeout, reading).await;
        self.ahead = read.map_err(|_| body::late())??.into();
        Ok(())
    }
}

impl From<Incoming> for Sent {
    fn from(body: Incoming) -> Sent {
        Sent::keeping(body, &Rest::default())
    }
}

impl Drop for Sent {
    fn drop(&mut self) {
        *self.rest.borrow_mut() = self.body.take().filter(|body| !body.is_end_stream());
    }
}

impl Body for Sent {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        if !self.ahead.is_empty() {
            return Poll::Ready(Some(Ok(Frame::data(std::mem::take(&mut self.ahead)))));
        }
        match &mut self.body {
            Some(body) => Pin::new(body).poll_frame(cx),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.ahead.is_empty() && self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        let none = || SizeHint::with_exact(0);
        web::longer(
            self.body.as_ref().map_or_else(none, Body::size_hint),
            self.ahead.len(),
        )
    }
}

/// Reads what nobody has read, as far as a client may send before it listens to a refusal: over HTTP/2 an answer before the end
/// of the request resets its stream (RFC 9113, 8.1), and some clients give up the answer then.
pub(super) async fn read_rest(rest: &Rest) {
    let Some(mut body) = rest.borrow_mut().take() else {
        return;
    };
    let reading = async {
        let mut left = BYTES_MAX;
        while left > 0 {
            match std::future::poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
                Some(Ok(frame)) => left = left.saturating_sub(frame.data_ref().map_or(1, Bytes::len)),
                Some(Err(_)) | None => return,
            }
        }
    };
    let _ = tokio::time::timeout(PATIENCE, reading).await;
}

/// How much is read, and for how long.
const BYTES_MAX: usize = 1 << 20;
const PATIENCE: Duration = Duration::from_secs(1);
