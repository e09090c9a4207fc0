//! Connections over HTTP/2, which hyper frames: whoever begins with its preface speaks it, whether TLS agreed on it or
//! not (RFC 9113, 3.3). A stream is a request, answered as one of HTTP/1.1 is; a call of gRPC is answered by its face.

use std::cell::{Cell, RefCell};
use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use http_body_util::Either;
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::header;
use hyper::rt::Executor;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::Semaphore;

use super::io::One;
use super::rpc::{self, LocalBody};
use super::sent::{Rest, Sent, read_rest};
use super::strict::Framing;
use super::{Guest, Site, by_hyper};
use crate::error::Code;
use crate::held::HeldBytes;
use crate::socket::{End, Socket};
use crate::thread::ServingThread;
use crate::transport::Stream;
use crate::turn::Turn;
use crate::watch::{Deadlines, Verdict, Waiting, Watch};

/// What a connection over HTTP/2 begins with (RFC 9113, 3.4), as far as no other request does.
pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n";

/// Serves a connection until it ends.
pub(crate) async fn serve<S: Site>(
    socket: &mut Socket,
    thread: &Rc<ServingThread>,
    guest: &Rc<Guest<S>>,
) -> End {
    let builder = builder(thread);
    let (stream, watch, unused) = socket.lend();
    let watch = Rc::clone(watch);
    let open = Rc::new(Open {
        streams: Cell::new(0),
        turn: RefCell::new(Turn::begin(thread)),
        next: Semaphore::new(1),
        watch: Rc::clone(&watch),
    });
    watch.wait_for(Waiting::Request);
    let service = service_fn(|request| {
        let begun = Begun::new(&open);
        let (thread, guest) = (Rc::clone(thread), Rc::clone(guest));
        async move {
            begun.give_way_if_over(&thread).await;
            // Its state has room for whatever may be asked for, tens of kilobytes: a stream that waits has none of it yet, and
            // nothing moves it about.
            let answer = Box::pin(answer(&thread, &guest, request)).await;
            let watch = STREAM.with(Rc::clone);
            Ok::<_, Infallible>(answer.map(|body| Watched {
                body,
                watch,
                _begun: begun,
            }))
        }
    });
    let wire = Wire {
        stream,
        unused,
        open: Rc::clone(&open),
        thread: Rc::clone(thread),
        held: None,
    };
    let mut connection = pin!(builder.serve_connection(TokioIo::new(wire), service));
    let mut told = false;
    poll_fn(|cx| {
        let stops = match watch.verdict(cx) {
            Some(Verdict::Late(code)) => {
                thread.counters().refused(code);
                tracing::debug!(peer = %guest.peer, %code, "connection closed");
                return Poll::Ready(End::Verdict);
            }
            Some(Verdict::Now) => return Poll::Ready(End::Verdict),
            Some(Verdict::Stopping) => true,
            None => guest.leaves(&thread.config()),
        };
        if stops && !std::mem::replace(&mut told, true) {
            connection.as_mut().graceful_shutdown();
        }
        connection.as_mut().poll(cx).map(|ended| match ended {
            Ok(()) => End::Answered,
            Err(error) => {
                if error.is_parse() || error.is_user() {
                    thread.counters().refused(Code::Protocol);
                }
                End::Client
            }
        })
    })
    .await
}

fn builder(thread: &Rc<ServingThread>) -> http2::Builder<Streams> {
    let config = thread.config();
    let streams = Streams {
        thread: Rc::clone(thread),
    };
    let mut builder = http2::Builder::new(streams);
    let header_bytes = u32::try_from(config.http_max_header.0).unwrap_or(u32::MAX);
    builder
        .max_concurrent_streams(u32::try_from(config.http_max_streams).unwrap_or(u32::MAX))
        .max_header_list_size(header_bytes)
        .max_pending_accept_reset_streams(RESETS_MAX)
        .max_local_error_reset_streams(RESETS_MAX)
        .max_send_buf_size(SEND_BYTES);
    builder
}

/// How many streams a client may begin and take back before anybody has looked at them (CVE-2023-44487), and how many of
/// its errors are answered one by one: then the connection ends.
const RESETS_MAX: usize = 20;

/// How much of an answer is made ahead of what its reader takes.
const SEND_BYTES: usize = 128 * 1024;

/// How many turns' time the streams of a connection have together: it goes on while other connections are served, and small
/// calls would wait for each other one by one. A stream that asks for much takes turns besides, for itself.
const TURNS: u64 = 8;

/// Answers one request, of whatever kind.
async fn answer<S: Site>(
    thread: &Rc<ServingThread>,
    guest: &Rc<Guest<S>>,
    request: Request<Incoming>,
) -> Response<Either<S::Body, LocalBody>> {
    if rpc::is_call(&request)
        && let Some((face, call)) = guest.site.calls(thread)
    {
        let client = guest.client.on(face);
        return call(Rc::clone(thread), client, request).await.map(Either::Right);
    }
    let rest = Rest::default();
    let request = request.map(|body| Sent::keeping(body, &rest));
    let response = by_hyper::answer_in_time(thread, guest, request).await;
    read_rest(&rest).await;
    let one = Rc::new(One::new(Vec::new(), Framing::Bytes(0)));
    let watch = Rc::clone(&guest.watch);
    let mut response = guest.site.for_hyper(response, thread, watch, one);
    // Not of HTTP/2 (RFC 9113, 8.2.2): the connection ends by itself.
    response.headers_mut().remove(header::CONNECTION);
    response.map(Either::Left)
}

/// The streams of a connection that wait for their answers.
struct Open {
    streams: Cell<usize>,
    /// What all of them have done since others of the thread came first.
    turn: RefCell<Turn>,
    /// Who begins next: in the order in which they came, and one of them waits for the connection's next turn.
    next: Semaphore,
    watch: Rc<Watch>,
}

impl Open {
    /// What the connection waits for while it is not read and not written.
    fn waiting(&self) -> Waiting {
        match self.streams.get() {
            0 => Waiting::Request,
            _ => Waiting::Nothing,
        }
    }
}

/// One of them, until dropped.
struct Begun(Rc<Open>);

impl Begun {
    fn new(open: &Rc<Open>) -> Begun {
        if open.streams.get() == 0 {
            open.turn.borrow_mut().begin_again();
        }
        open.streams.set(open.streams.get() + 1);
        open.watch.wait_for(Waiting::Nothing);
        Begun(Rc::clone(open))
    }

    /// Lets other connections come first if this one's streams have had their turn: a hundred of them are no hundred turns.
    async fn give_way_if_over(&self, thread: &Rc<ServingThread>) {
        let _first = self.0.next.acquire().await;
        if self.0.turn.borrow().is_over_after(TURNS) {
            let mut turn = Turn::begin(thread);
            turn.give_way().await;
            self.0.turn.replace(turn);
        }
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        self.0.streams.set(self.0.streams.get() - 1);
        if self.0.watch.waiting() != Waiting::Writing {
            self.0.watch.wait_for(self.0.waiting());
        }
    }
}

tokio::task_local! {
    /// The deadline of the stream that is being served: a client that reads its connection and leaves one answer unread is
    /// slow for that answer alone.
    static STREAM: Rc<Watch>;
}

/// Runs each stream in a task of this thread.
#[derive(Clone)]
struct Streams {
    thread: Rc<ServingThread>,
}

impl<F: Future + 'static> Executor<F> for Streams {
    fn execute(&self, stream: F) {
        let watched = self.thread.watches().add(Deadlines {
            first_byte: None,
            request: None,
            rest: None,
            writing: Some(self.thread.config().write_timeout),
            authentication: None,
        });
        let thread = Rc::clone(&self.thread);
        let served = STREAM.scope(Rc::clone(&watched), stream);
        drop(tokio::task::spawn_local(async move {
            let mut served = pin!(served);
            poll_fn(|cx| match watched.verdict(cx) {
                // Dropped, it is reset.
                Some(Verdict::Late(code)) => {
                    thread.counters().refused(code);
                    Poll::Ready(())
                }
                Some(Verdict::Now) => Poll::Ready(()),
                Some(Verdict::Stopping) | None => served.as_mut().poll(cx).map(drop),
            })
            .await;
        }));
    }
}

/// A body that notes when its reader is waited for.
struct Watched<B> {
    body: B,
    watch: Rc<Watch>,
    _begun: Begun,
}

impl<B: Body<Data = Bytes> + Unpin> Body for Watched<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        self.watch.wait_for(Waiting::Nothing);
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        self.watch.wait_for(Waiting::Writing);
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// What hyper reads from and writes to.
struct Wire<'s> {
    stream: &'s mut Stream,
    /// What was read before it was known what it is.
    unused: Vec<u8>,
    open: Rc<Open>,
    thread: Rc<ServingThread>,
    /// While the client does not read.
    held: Option<HeldBytes>,
}

impl Wire<'_> {
    fn note(&mut self, written: Poll<io::Result<usize>>, bytes: usize) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.held = None;
            self.open.watch.wait_for(self.open.waiting());
        } else {
            self.open.watch.wait_for(Waiting::Writing);
            if self.held.is_none() {
                self.held = Some(self.thread.hold_unread(bytes));
            }
        }
        written
    }
}

impl AsyncRead for Wire<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        window: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.unused.is_empty() {
            return Pin::new(&mut *self.stream).poll_read(cx, window);
        }
        let len = self.unused.len().min(window.remaining());
        window.put_slice(&self.unused[..len]);
        self.unused.drain(..len);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Wire<'_> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut *self.stream).poll_write(cx, bytes);
        self.note(written, bytes.len())
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut *self.stream).poll_write_vectored(cx, parts);
        self.note(written, parts.iter().map(|part| part.len()).sum())
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.stream).poll_shutdown(cx)
    }
}
