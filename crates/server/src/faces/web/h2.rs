//! Connections over HTTP/2, which hyper frames: whoever begins with its preface speaks it, whether TLS agreed on it or
//! not (RFC 9113, 3.3). A stream is a request, answered as one of HTTP/1.1 is; a call of gRPC is answered by its face.

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;

use http_body_util::Either;
use hyper::body::{Bytes, Incoming};
use hyper::header;
use hyper::rt::Executor;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;

use super::head::Head;
use super::io::One;
use super::open::{Begun, Open};
use super::pieces::{Counts, Watched};
use super::rpc::{self, LocalBody};
use super::sent::{Rest, Sent, read_rest};
use super::strict::Framing;
use super::wire::Wire;
use super::{Guest, Site, by_hyper};
use crate::error::{Answer, Code, ServiceError};
use crate::faces::web;
use crate::held::{HeldBytes, TotalBytes};
use crate::socket::{End, Socket};
use crate::thread::ServingThread;
use crate::watch::{Deadlines, Verdict, Waiting, Watch};

/// What a connection over HTTP/2 begins with (RFC 9113, 3.4), as far as no other request does.
pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n";

/// Serves a connection until it ends.
pub(crate) async fn serve<S: Site>(
    socket: &mut Socket,
    thread: &Rc<ServingThread>,
    guest: &Rc<Guest<S>>,
) -> End {
    let (stream, watch, unused) = socket.lend();
    let watch = Rc::clone(watch);
    let open = Rc::new(Open::new(thread, &guest.unread, &watch));
    let builder = builder(thread, &open);
    watch.wait_for(Waiting::Request);
    let service = service_fn(|request: Request<Incoming>| {
        let begun = Begun::new(&open);
        let asked = Asked::new(thread, begun.open(), &request);
        let (thread, guest) = (Rc::clone(thread), Rc::clone(guest));
        async move {
            let answer = match asked.fits(&thread, begun.open()) {
                Ok(()) => answer(&thread, &guest, &begun, request).await,
                Err(error) => {
                    drop(request);
                    begun.may_be_refused().await;
                    refuse(&thread, &guest, &error)
                }
            };
            drop(asked);
            let (watch, sent) = STREAM.with(Clone::clone);
            Ok::<_, Infallible>(answer.map(|(body, counts)| Watched {
                body,
                piece: Bytes::new(),
                counts: counts.then(|| Counts::new(&thread, begun.open())),
                watch,
                sent,
                _begun: begun,
            }))
        }
    });
    let wire = Wire::new(stream, unused, &open, thread);
    let end = {
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
            let _ = open.poll_rest(cx);
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
    };
    open.rests_no_more();
    if !open.frames.are_too_many() {
        return end;
    }
    thread.counters().refused(Code::RateLimited);
    tracing::debug!(peer = %guest.peer, code = %Code::RateLimited, "connection closed");
    match open.frames.goodbye() {
        Some(mut goodbye) => socket
            .flush(&mut goodbye)
            .await
            .map_or_else(|end| end, |()| End::Answered),
        None => End::Client,
    }
}

fn builder(thread: &Rc<ServingThread>, open: &Rc<Open>) -> http2::Builder<Streams> {
    let config = thread.config();
    let streams = Streams {
        thread: Rc::clone(thread),
        open: Rc::clone(open),
    };
    let mut builder = http2::Builder::new(streams);
    let header_bytes = u32::try_from(config.http_max_header.0).unwrap_or(u32::MAX);
    builder
        .max_concurrent_streams(u32::try_from(config.http_max_streams).unwrap_or(u32::MAX))
        .max_header_list_size(header_bytes)
        .max_pending_accept_reset_streams(RESETS_MAX)
        .max_local_error_reset_streams(RESETS_MAX)
        .initial_connection_window_size(BODY_BYTES)
        .initial_stream_window_size(BODY_BYTES)
        .max_send_buf_size(SEND_BYTES);
    builder
}

/// How many streams a client may begin and take back before anybody has looked at them (CVE-2023-44487), and how many of
/// its errors are answered one by one: then the connection ends.
const RESETS_MAX: usize = 20;

/// How much of an answer is handed over ahead of what its reader takes, to within a piece.
const SEND_BYTES: usize = 32 * 1024;

/// How much of the bodies of a connection's requests may come before somebody reads them, which RFC 9113 has as its default.
const BODY_BYTES: u32 = 65_535;

/// What a request takes until it is answered, among those of all connections.
struct Asked([HeldBytes; 2]);

impl Asked {
    fn new(thread: &ServingThread, open: &Open, request: &Request<Incoming>) -> Asked {
        let texts = request.headers().iter();
        let texts = texts.map(|(name, value)| name.as_str().len() + value.len() + HEADER_BYTES);
        let uri = request.uri().path().len() + request.uri().query().map_or(0, str::len);
        let bytes = STREAM_BYTES + uri + texts.sum::<usize>();
        Asked([&thread.shared().requests, &open.requests].map(|total| total.hold(bytes)))
    }

    /// Whether there is room for it: for a few of each connection there is, for more of a client that is known as long as all
    /// together do not take as much as their answers may.
    ///
    /// # Errors
    /// Why not.
    fn fits(&self, thread: &ServingThread, open: &Open) -> Answer<()> {
        let [of_all, own] = &self.0;
        let max = thread.config().max_unread.0 as u64;
        let is_known = thread.is_known(&open.watch);
        if own.of_all() <= FEW_BYTES || is_known && of_all.of_all() <= max {
            return Ok(());
        }
        let why = match is_known {
            true => {
                format!("requests that wait for their answers take all {max} bytes that there are for them")
            }
            false => "a connection without a token may wait for a few answers at a time".to_string(),
        };
        let error = ServiceError::new(Code::Unavailable, why).with_retry_after_s(1);
        Err(match is_known {
            true => error.with_hint("server.max_unread"),
            false => error,
        })
    }
}

/// What a stream takes that waits for its answer, and a line of its head besides its text: measured.
const STREAM_BYTES: usize = 6 * 1024;
const HEADER_BYTES: usize = 64;

/// What requests of one connection may always take.
const FEW_BYTES: u64 = 32 * 1024;

/// Answers one request, of whatever kind: its body, and whether that makes what nobody has counted.
async fn answer<S: Site>(
    thread: &Rc<ServingThread>,
    guest: &Rc<Guest<S>>,
    begun: &Begun,
    request: Request<Incoming>,
) -> Response<(Either<S::Body, LocalBody>, bool)> {
    if rpc::is_call(&request)
        && let Some((face, call)) = guest.site.calls(thread)
    {
        let client = guest.client.on(face);
        begun.may_begin(thread).await;
        let response = call(Rc::clone(thread), client, request).await;
        return response.map(|body| (Either::Right(body), true));
    }
    let rest = Rest::default();
    let mut request = request.map(|body| Sent::keeping(body, &rest));
    // The state of an answer has room for whatever may be asked for, tens of kilobytes: a stream that waits has none of it yet,
    // and nothing moves it about.
    if let Err(error) = request.body_mut().read_ahead(&thread.config()).await {
        return refuse(thread, guest, &error);
    }
    begun.may_begin(thread).await;
    let response = Box::pin(by_hyper::answer_in_time(thread, guest, request)).await;
    read_rest(&rest).await;
    for_hyper(thread, guest, response)
}

fn for_hyper<S: Site>(
    thread: &Rc<ServingThread>,
    guest: &Rc<Guest<S>>,
    response: web::answer::Response,
) -> Response<(Either<S::Body, LocalBody>, bool)> {
    let response = guest.count(thread, response, 0);
    let is_made = !response.is_streamed();
    let one = Rc::new(One::new(Vec::new(), Framing::Bytes(0)));
    let watch = Rc::clone(&guest.watch);
    let mut response = guest.site.for_hyper(response, thread, watch, one);
    // Not of HTTP/2 (RFC 9113, 8.2.2): the connection ends by itself.
    response.headers_mut().remove(header::CONNECTION);
    response.map(|body| (Either::Left(body), !is_made))
}

/// Answers a request that nobody looks at.
fn refuse<S: Site>(
    thread: &Rc<ServingThread>,
    guest: &Rc<Guest<S>>,
    error: &ServiceError,
) -> Response<(Either<S::Body, LocalBody>, bool)> {
    thread.counters().requests(guest.face, 1);
    thread.counters().refused(error.code);
    for_hyper(thread, guest, guest.site.refuse(thread, &Head::default(), error))
}

tokio::task_local! {
    /// The deadline of the stream that is being served: a client that reads its connection and leaves one answer unread is
    /// slow for that answer alone. And what of it was handed over and has not left.
    static STREAM: (Rc<Watch>, Arc<TotalBytes>);
}

/// Runs each stream in a task of this thread.
#[derive(Clone)]
struct Streams {
    thread: Rc<ServingThread>,
    open: Rc<Open>,
}

impl<F: Future + 'static> Executor<F> for Streams {
    fn execute(&self, stream: F) {
        let deadlines = Deadlines {
            first_byte: None,
            request: None,
            rest: None,
            writing: Some(self.thread.config().write_timeout),
            authentication: None,
        };
        let (thread, open) = (Rc::clone(&self.thread), Rc::clone(&self.open));
        let watched = thread.watches().add_part_of(&open.watch, deadlines);
        let sent = Arc::<TotalBytes>::default();
        // In one place, however often it is handed on: there may be many.
        let served = Box::pin(STREAM.scope((Rc::clone(&watched), Arc::clone(&sent)), stream));
        drop(tokio::task::spawn_local(async move {
            // Dropped, it is reset.
            if until_late(&thread, &watched, served).await.is_some() && sent.bytes() > 0 {
                // The connection has all of it, and the client's window may be shut.
                watched.wait_for(Waiting::Writing);
                if until_late(&thread, &watched, sent.room(0, 0)).await.is_none() {
                    open.watch.is_late(Code::SlowReader);
                }
            }
        }));
    }
}

/// What comes of this, unless its client is late or the server stops at once before.
async fn until_late<F: Future>(thread: &ServingThread, watch: &Watch, doing: F) -> Option<F::Output> {
    let mut doing = pin!(doing);
    poll_fn(|cx| match watch.verdict(cx) {
        Some(Verdict::Late(code)) => {
            thread.counters().refused(code);
            Poll::Ready(None)
        }
        Some(Verdict::Now) => Poll::Ready(None),
        Some(Verdict::Stopping) | None => doing.as_mut().poll(cx).map(Some),
    })
    .await
}
