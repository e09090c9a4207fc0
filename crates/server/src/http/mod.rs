//! HTTP/1.1: what curl and every HTTP client speak.
//!
//! | file | what |
//! | --- | --- |
//! | `io` | a socket that tells what it waits for |
//! | `route` | paths and methods |
//! | `request` | query, accepted media types, bodies, who asks |
//! | `answer` | answers and problem documents |
//! | `sequences`, `ids`, `operations` | what the routes do |
//!
//! hyper frames the requests; routing is a `match` over the path's segments.

mod answer;
mod ids;
mod io;
mod operations;
mod request;
mod route;
mod sequences;

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;

use hyper::body::Incoming;
use hyper::header::{self, HeaderValue};
use hyper::{Method, Request, service::service_fn};
use tokio::net::TcpStream;

use crate::auth::Right;
use crate::config::Config;
use crate::error::{Code, ServiceError};
use crate::metrics::Face;
use crate::service::Worker;
use crate::turn::after_the_others;
use crate::watch::{Deadlines, Verdict, Waiting, Watched};
use answer::Response;
use io::Io;
use request::{Head, Query};
use route::Route;

/// How long a connection may wait for what.
pub(crate) fn deadlines(config: &Config) -> Deadlines {
    Deadlines {
        first_byte: Some(config.http_request_timeout),
        request: config.http_idle_timeout.0,
        rest: Some(config.http_request_timeout),
        writing: Some(config.write_timeout),
    }
}

/// Serves one connection until it ends.
pub(crate) async fn serve(stream: TcpStream, peer: SocketAddr, worker: Rc<Worker>, watch: Watched) {
    let config = worker.config();
    let local = stream.local_addr().ok();
    let mut builder = hyper::server::conn::http1::Builder::new();
    builder
        .half_close(true)
        // (`pipeline_flush` would save writes, but loses answers that stand before a malformed request.)
        // Deadlines are the watch's: hyper's would set a timer for every request.
        .header_read_timeout(None)
        .max_headers(config.http_max_headers as usize)
        .max_buf_size(config.http_max_header.0);
    let service = service_fn(|request| {
        let (worker, watch) = (worker.clone(), (*watch).clone());
        async move {
            watch.wait_for(Waiting::Nothing);
            let response = handle(&worker, request, local).await;
            after_the_others().await;
            watch.wait_for(Waiting::Request);
            Ok::<_, Infallible>(response)
        }
    });
    let mut connection = pin!(builder.serve_connection(Io::new(stream, (*watch).clone()), service));
    let mut told = false;
    let ended = poll_fn(|cx| {
        match watch.verdict(cx) {
            Some(Verdict::Late(_) | Verdict::Now) => return Poll::Ready(Ok(())),
            Some(Verdict::Stopping) if !std::mem::replace(&mut told, true) => {
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
        _ => return,
    };
    worker.counters().refused(code);
    tracing::debug!(%peer, %code, "connection closed");
}

async fn handle(worker: &Rc<Worker>, request: Request<Incoming>, local: Option<SocketAddr>) -> Response {
    worker.counters().requests(Face::Http, 1);
    let (parts, body) = request.into_parts();
    let head = Head::new(&parts, local);
    let mut response = match answer_to(worker, &head, body).await {
        Ok(response) => response,
        Err(error) => {
            worker.counters().refused(error.code);
            answer::problem(&head, &error)
        }
    };
    if head.closes() {
        response
            .headers_mut()
            .insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

async fn answer_to(worker: &Rc<Worker>, head: &Head<'_>, body: Incoming) -> Result<Response, ServiceError> {
    head.check_host(worker.config())?;
    head.check_origin()?;
    head.check_size(worker.config())?;
    let route = Route::of(head.path());
    if !matches!(route, Some(Route::Livez | Route::Readyz)) {
        let right = match route
            .as_ref()
            .is_some_and(|route| route.needs_admin(head.method()))
        {
            true => Right::Admin,
            false => Right::Allocate,
        };
        head.authorise(worker.service().tokens(), right)?;
    }
    let Some(route) = route else {
        return Err(route::unknown(head.path()));
    };
    if !route.allows(head.method()) {
        return Err(route.refuse_method(head.method()));
    }
    let query = Query::of(head.query());
    match (&route, head.method()) {
        (Route::Next { name }, _) => sequences::next(worker, head, &query, name).await,
        (Route::Ids { format }, _) => ids::of_format(worker, head, &query, format).await,
        (Route::Snowflakes { pool }, _) => ids::of_pool(worker, head, &query, pool).await,
        (Route::Sequences, _) => sequences::list(worker, &query).await,
        (Route::Sequence { name }, &Method::PUT) => {
            query.only(&[])?;
            sequences::create(worker, name, &request::read_body(worker, body).await?).await
        }
        (Route::Sequence { name }, &Method::PATCH) => {
            query.only(&[])?;
            sequences::alter(worker, name, &request::read_body(worker, body).await?).await
        }
        (Route::Sequence { name }, &Method::DELETE) => {
            query.only(&[])?;
            sequences::drop_sequence(worker, name).await
        }
        (Route::Sequence { name }, _) => {
            query.only(&[])?;
            sequences::show(worker, name).await
        }
        (Route::Restart { name }, _) => {
            query.only(&[])?;
            sequences::restart(worker, name, &request::read_body(worker, body).await?).await
        }
        (Route::Inspect { id }, _) => {
            query.only(&[])?;
            ids::inspect(worker, id)
        }
        (Route::Livez, _) => Ok(operations::livez()),
        (Route::Readyz, _) => Ok(operations::readyz(worker)),
        (Route::Metrics, _) => Ok(operations::metrics(worker)),
    }
}

/// What a connection beyond the limit is told.
pub(crate) const TOO_MANY_CONNECTIONS: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nconnection: close\r\nretry-after: 1\r\n\r\n";
