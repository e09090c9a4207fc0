//! HTTP/1.1: what curl and every HTTP client speak.
//!
//! | file | what |
//! | --- | --- |
//! | `plain` | requests without a body, framed in place: the hot path |
//! | `by_hyper`, `io` | all other requests, framed by hyper |
//! | `head`, `request` | who asks for what: head, query, body |
//! | `route` | paths and methods |
//! | `answer`, `date` | answers and problem documents |
//! | `sequences`, `ids`, `operations`, `backup` | what the routes do |
//! | `testing` | the readers without a connection |

mod answer;
mod backup;
mod by_hyper;
mod date;
mod head;
mod ids;
mod io;
mod operations;
mod plain;
mod pools;
mod request;
mod route;
mod sequences;
#[cfg(feature = "testing")]
pub mod testing;

use std::net::SocketAddr;
use std::rc::Rc;

use hyper::body::Incoming;
use tokio::net::TcpStream;

use crate::auth::Right;
use crate::config::Config;
use crate::error::ServiceError;
use crate::service::Worker;
use crate::socket::Socket;
use crate::watch::{Deadlines, Verdict, Watched};
use answer::Response;
use head::Head;
use plain::Left;
use request::Query;
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
    let local = stream.local_addr().ok();
    let mut socket = Socket::new(stream, watch, worker.clone(), worker.config().http_max_header.0);
    let end = match plain::serve(&mut socket, &worker, local).await {
        Left::HandedOver => by_hyper::serve(&mut socket, peer, &worker, local).await,
        Left::Ended(end) => {
            if let Some(Verdict::Late(code)) = socket.watch().peek() {
                worker.counters().refused(code);
                tracing::debug!(%peer, %code, "connection closed");
            }
            end
        }
    };
    socket.close(end).await;
}

/// Answers one request, whoever framed it.
async fn answer_to(
    worker: &Rc<Worker>,
    head: &Head<'_>,
    body: Option<Incoming>,
) -> Result<Response, ServiceError> {
    head.check_host(worker.config())?;
    head.check_origin()?;
    head.check_size(worker.config())?;
    let route = Route::of(head.path);
    if !matches!(route, Some(Route::Livez | Route::Readyz)) {
        let right = match route.as_ref().is_some_and(|route| route.needs_admin(head.method)) {
            true => Right::Admin,
            false => Right::Allocate,
        };
        head.authorise(worker.service().tokens(), right)?;
    }
    let Some(route) = route else {
        return Err(route::unknown(head.path));
    };
    if !route.allows(head.method) {
        return Err(route.refuse_method(head.method));
    }
    let query = Query::of(head.query);
    match (&route, head.method) {
        (Route::Next { name }, _) => sequences::next(worker, head, &query, name).await,
        (Route::Ids { format }, _) => ids::of_format(worker, head, &query, format).await,
        (Route::Snowflakes { pool }, _) => ids::of_pool(worker, head, &query, pool).await,
        (Route::Sequences, _) => sequences::list(worker, &query).await,
        (Route::Sequence { name }, "PUT") => {
            query.only(&[])?;
            sequences::create(worker, name, &request::read_body(worker, body).await?).await
        }
        (Route::Sequence { name }, "PATCH") => {
            query.only(&[])?;
            sequences::alter(worker, name, &request::read_body(worker, body).await?).await
        }
        (Route::Sequence { name }, "DELETE") => {
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
        (Route::Pools, _) => pools::list(worker, &query).await,
        (Route::Pool { name }, "PUT") => {
            query.only(&[])?;
            pools::create(worker, name, &request::read_body(worker, body).await?).await
        }
        (Route::Pool { name }, _) => pools::show(worker, &query, name).await,
        (Route::Windows { name }, _) => {
            query.only(&[])?;
            pools::lend(worker, name, &request::read_body(worker, body).await?).await
        }
        (Route::Window { name, worker: id }, "PATCH") => {
            query.only(&[])?;
            pools::renew(worker, name, id, &request::read_body(worker, body).await?).await
        }
        (Route::Window { name, worker: id }, "PUT") => {
            query.only(&[])?;
            pools::retire(worker, name, id, &request::read_body(worker, body).await?).await
        }
        (Route::Window { name, worker: id }, _) => {
            query.only(&[])?;
            pools::end(worker, name, id, &request::read_body(worker, body).await?).await
        }
        (Route::Presets, _) => {
            query.only(&[])?;
            Ok(pools::presets())
        }
        (Route::Formats, _) => {
            query.only(&[])?;
            Ok(pools::formats())
        }
        (Route::Inspect { id }, _) => {
            query.only(&[])?;
            ids::inspect(worker, id)
        }
        (Route::Backup, _) => {
            query.only(&[])?;
            backup::begin(worker)
        }
        (Route::Livez, _) => Ok(operations::livez()),
        (Route::Readyz, _) => Ok(operations::readyz(worker)),
        (Route::Metrics, _) => Ok(operations::metrics(worker)),
    }
}

/// What a connection beyond the limit is told.
pub(crate) const TOO_MANY_CONNECTIONS: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nconnection: close\r\nretry-after: 1\r\n\r\n";
