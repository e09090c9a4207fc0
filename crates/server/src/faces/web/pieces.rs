//! Bodies of answers over HTTP/2, handed over piece by piece, and counted until they have left.

use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use hyper::body::{Body, Bytes, Frame, SizeHint};

use super::open::{Begun, Open};
use crate::faces::web;
use crate::held::{Room, TotalBytes, counted};
use crate::thread::ServingThread;
use crate::watch::{Waiting, Watch};

/// How much of an answer is handed over at a time.
const PIECE_BYTES: usize = 16 * 1024;

/// A body that notes when its reader is waited for, and is handed over piece by piece.
pub(super) struct Watched<B> {
    pub(super) body: B,
    /// The rest of what it gave last.
    pub(super) piece: Bytes,
    /// What was handed over and has not left.
    pub(super) sent: Arc<TotalBytes>,
    /// What counts it, if nobody else does.
    pub(super) counts: Option<Counts>,
    pub(super) watch: Rc<Watch>,
    pub(super) _begun: Begun,
}

impl<B: Body<Data = Bytes> + Unpin> Body for Watched<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        self.watch.wait_for(Waiting::Nothing);
        if self.piece.is_empty() {
            if let Some(counts) = &mut self.counts {
                ready!(counts.poll_room(cx));
            }
            let polled = Pin::new(&mut self.body).poll_frame(cx);
            if let Some(counts) = &mut self.counts {
                counts.is_making = polled.is_pending();
            }
            match ready!(polled) {
                Some(Ok(frame)) if frame.is_data() => {
                    let data = frame.into_data().unwrap_or_default();
                    self.piece = match &self.counts {
                        Some(counts) => counts.count(data),
                        None => data,
                    };
                }
                other => {
                    self.watch.wait_for(Waiting::Writing);
                    return Poll::Ready(other);
                }
            }
        }
        self.watch.wait_for(Waiting::Writing);
        let len = self.piece.len().min(PIECE_BYTES);
        let piece = self.piece.split_to(len);
        let held = self.sent.hold(len);
        Poll::Ready(Some(Ok(Frame::data(counted(piece, held)))))
    }

    fn is_end_stream(&self) -> bool {
        self.piece.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        web::longer(self.body.size_hint(), self.piece.len())
    }
}

/// What counts the pieces of a body that is made while it is sent, each once it is made. The next one is made when there is
/// room for more.
pub(super) struct Counts {
    thread: Rc<ServingThread>,
    unread: Arc<TotalBytes>,
    /// The connection's.
    watch: Rc<Watch>,
    /// A piece is being made: it may have its turn, which nobody else gets before it is polled again.
    is_making: bool,
    waiting: Option<Pin<Box<dyn Future<Output = ()>>>>,
}

impl Counts {
    pub(super) fn new(thread: &Rc<ServingThread>, open: &Open) -> Counts {
        Counts {
            thread: Rc::clone(thread),
            unread: Arc::clone(&open.unread),
            watch: Rc::clone(&open.watch),
            is_making: false,
            waiting: None,
        }
    }

    fn poll_room(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.is_making {
            return Poll::Ready(());
        }
        if self.waiting.is_none() && !self.thread.has_room(&self.unread, &self.watch) {
            let (thread, unread, watch) = (
                Rc::clone(&self.thread),
                Arc::clone(&self.unread),
                Rc::clone(&self.watch),
            );
            // Without room for long it goes on, and is among those that are cut off if they are not read.
            self.waiting = Some(Box::pin(
                async move { drop(thread.room(1, &unread, &watch).await) },
            ));
        }
        if let Some(waiting) = &mut self.waiting {
            ready!(waiting.as_mut().poll(cx));
            self.waiting = None;
        }
        Poll::Ready(())
    }

    fn count(&self, bytes: Bytes) -> Bytes {
        let of_all = self.thread.hold_unread(bytes.len(), &self.watch);
        let own = self.unread.hold(bytes.len());
        Room([of_all, own]).around(bytes)
    }
}
