//! All requests that `plain` leaves over, framed by hyper.

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;

use hyper::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;

use super::answer::Response;
use super::head::Head;
use super::io::Io;
use super::{answer_to, backup};
use crate::error::Code;
use crate::metrics::Face;
use crate::service::Worker;
use crate::socket::{End, Socket};
use crate::turn::after_the_others;
use crate::watch::{Verdict, Waiting};

/// Serves the rest of a connection until it ends, and leaves the goodbye to the caller.
pub(super) async fn serve(
    socket: &mut Socket,
    peer: SocketAddr,
    worker: &Rc<Worker>,
    local: Option<SocketAddr>,
) -> End {
    let config = worker.config();
    let mut builder = hyper::server::conn::http1::Builder::new();
    builder
        .half_close(true)
        // (`pipeline_flush` would save writes, but loses answers that stand before a malformed request.)
        // Deadlines are the watch's: hyper's would set a timer for every request.
        .header_read_timeout(None)
        .max_headers(config.http_max_headers as usize)
        .max_buf_size(config.http_max_header.0);
    let (stream, watch, unused) = socket.lend();
    let service = service_fn(|request| {
        let watch = (*watch).clone();
        async move {
            watch.wait_for(Waiting::Nothing);
            let response = answer(worker, request, local).await;
            after_the_others().await;
            watch.wait_for(Waiting::Request);
            Ok::<_, Infallible>(backup::for_hyper(response, worker, Rc::clone(&watch)))
        }
    });
    let io = Io::new(stream, (*watch).clone(), unused);
    let mut connection = pin!(builder.serve_connection(io, service));
    let mut told = false;
    // What the end of the connection is, unless hyper finds another one first.
    let mut end = End::Answered;
    let ended = poll_fn(|cx| {
        match watch.verdict(cx) {
            Some(Verdict::Late(_) | Verdict::Now) => {
                end = End::Verdict;
                return Poll::Ready(Ok(()));
            }
            Some(Verdict::Stopping) if !std::mem::replace(&mut told, true) => {
                if watch.waiting() == Waiting::Request {
                    end = End::Verdict;
                }
                connection.as_mut().graceful_shutdown();
            }
            Some(Verdict::Stopping) | None => {}
        }
        connection.as_mut().poll(cx)
    })
    .await;
    let code = match (watch.peek(), ended) {
        (Some(Verdict::Late(code)), _) => code,
        (_, Err(error)) if error.is_parse_too_large() => Code::HeaderTooLarge,
        (_, Err(error)) if error.is_parse() => Code::Protocol,
        _ => return end,
    };
    worker.counters().refused(code);
    tracing::debug!(%peer, %code, "connection closed");
    end
}

async fn answer(worker: &Rc<Worker>, request: Request<Incoming>, local: Option<SocketAddr>) -> Response {
    worker.counters().requests(Face::Http, 1);
    let (parts, body) = request.into_parts();
    let head = Head::of(&parts, local);
    let mut response = match answer_to(worker, &head, Some(body)).await {
        Ok(response) => response,
        Err(error) => {
            worker.counters().refused(error.code);
            Response::problem(&head, &error)
        }
    };
    if head.closes() {
        response.close();
    }
    response
}
