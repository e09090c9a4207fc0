//! Requests that `plain` leaves over, framed by hyper, one at a time.

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;

use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;

use super::answer::Response;
use super::head::Head;
use super::io::{Io, One};
use super::sent::Sent;
use super::strict::Framing;
use super::{Guest, Site};
use crate::config::Config;
use crate::error::Code;
use crate::socket::{End, Socket};
use crate::thread::ServingThread;
use crate::turn::{SMALL_BYTES, after_the_others};
use crate::watch::{Verdict, Waiting};

/// Serves one request; what followed it is back in the socket. `None`: the connection goes on; otherwise it ends, and
/// the goodbye is left to the caller.
///
/// So every head passes the one judge of what may be served ([`strict`](super::strict)), whoever frames it.
pub(crate) async fn serve<S: Site>(
    socket: &mut Socket,
    thread: &Rc<ServingThread>,
    guest: &Guest<S>,
    framing: Framing,
) -> Option<End> {
    let config = thread.config();
    let builder = builder(&config);
    let (stream, watch, unused) = socket.lend();
    let one = Rc::new(One::new(unused, framing));
    let service = service_fn(|request: Request<Incoming>| {
        let (watch, one) = ((*watch).clone(), Rc::clone(&one));
        let request = Request::map(request, Sent::from);
        async move {
            watch.wait_for(Waiting::Nothing);
            let response = answer_in_time(thread, guest, request).await;
            after_the_others().await;
            watch.wait_for(Waiting::Request);
            let site = guest.site;
            Ok::<_, Infallible>(site.for_hyper(response, thread, Rc::clone(&watch), one))
        }
    });
    let io = Io::new(stream, (*watch).clone(), Rc::clone(thread), Rc::clone(&one));
    let mut told = false;
    // What the end of the connection is, unless hyper finds another one first.
    let mut end = Some(End::Answered);
    let ended = {
        let mut connection = pin!(builder.serve_connection(io, service));
        poll_fn(|cx| {
            match watch.verdict(cx) {
                Some(Verdict::Late(_) | Verdict::Now) => {
                    end = Some(End::Verdict);
                    return Poll::Ready(Ok(()));
                }
                Some(Verdict::Stopping) if !std::mem::replace(&mut told, true) => {
                    if watch.waiting() == Waiting::Request {
                        end = Some(End::Verdict);
                    }
                    connection.as_mut().graceful_shutdown();
                }
                Some(Verdict::Stopping) | None => {}
            }
            let polled = connection.as_mut().poll(cx);
            if polled.is_pending() && one.is_done() {
                end = None;
                return Poll::Ready(Ok(()));
            }
            polled
        })
        .await
    };
    let Some(code) = refusal(watch.peek(), ended) else {
        socket.put_back(one.rest());
        return end;
    };
    thread.counters().refused(code);
    tracing::debug!(peer = %guest.peer, %code, "connection closed");
    end
}

/// Why a connection ended that did not end well.
fn refusal(verdict: Option<Verdict>, ended: hyper::Result<()>) -> Option<Code> {
    match (verdict, ended) {
        (Some(Verdict::Late(code)), _) => Some(code),
        (_, Err(error)) if error.is_parse_too_large() => Some(Code::HeaderTooLarge),
        (_, Err(error)) if error.is_parse() => Some(Code::Protocol),
        _ => None,
    }
}

fn builder(config: &Config) -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder
        .half_close(true)
        // (`pipeline_flush` would save writes, but loses answers that stand before a malformed request.)
        // Deadlines are the watch's: hyper's would set a timer for every request.
        .header_read_timeout(None)
        .max_headers(config.http_max_headers as usize)
        .max_buf_size(config.http_max_header.0);
    builder
}

/// Answers one request and counts how long that took.
pub(super) async fn answer_in_time<S: Site>(
    thread: &Rc<ServingThread>,
    guest: &Guest<S>,
    request: Request<Sent>,
) -> Response {
    let arrived = mintage::boottime();
    let response = answer(thread, guest, request).await;
    let took = mintage::boottime().saturating_sub(arrived);
    thread.counters().answered(guest.face, 1, took);
    response
}

async fn answer<S: Site>(thread: &Rc<ServingThread>, guest: &Guest<S>, request: Request<Sent>) -> Response {
    thread.counters().requests(guest.face, 1);
    let (parts, body) = request.into_parts();
    let head = Head::of(&parts, guest.local.as_ref());
    let mut response = guest.site.answer(thread, guest, &head, Some(body)).await;
    guest.note_request(&head, &response);
    if head.closes() || guest.leaves(&thread.config()) {
        response.close();
    }
    guest.count(thread, response, SMALL_BYTES)
}
