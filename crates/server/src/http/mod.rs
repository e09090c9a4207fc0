//! HTTP/1.1: what curl and every HTTP client speak.
//!
//! | file | what |
//! | --- | --- |
//! | `plain` | requests without a body, framed in place: the hot path |
//! | `by_hyper`, `io` | all other requests, framed by hyper |
//! | `strict` | heads that must not be served |
//! | `head`, `request`, `document` | who asks for what: head, query, body |
//! | `cors` | pages of other sites |
//! | `route` | paths and methods, from the table of operations |
//! | `answer`, `id_list`, `date` | answers and problem documents |
//! | `sequences`, `pools`, `ids`, `inspect`, `operations`, `backup` | what the routes do |
//! | `testing` | the readers without a connection |

mod answer;
mod backup;
mod by_hyper;
mod cors;
mod date;
mod document;
mod head;
mod id_list;
mod ids;
mod inspect;
mod io;
mod operations;
mod plain;
mod pools;
mod request;
mod route;
mod sequences;
mod strict;
#[cfg(feature = "testing")]
pub mod testing;

use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use hyper::StatusCode;
use hyper::body::Incoming;
use mintage_wire::{Op, Takes};
use tokio::net::TcpStream;

use crate::auth::{Identity, Right, delay_of_wrong_token};
use crate::config::Config;
use crate::error::{Code, ServiceError};
use crate::noise::Asker;
use crate::service::{Answer, Worker};
use crate::socket::{End, Socket};
use crate::watch::{Deadlines, Verdict, Watch, Watched};
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
        authentication: config
            .authentication_timeout
            .0
            .filter(|_| !config.tokens.is_empty()),
    }
}

/// The same for a place that is kept for questions about health: there are few, so nobody stays.
pub(crate) fn health_deadlines(config: &Config) -> Deadlines {
    let short = Some(config.http_request_timeout.min(HEALTH_TIMEOUT));
    Deadlines {
        first_byte: short,
        request: short,
        rest: short,
        writing: short,
        authentication: None,
    }
}

const HEALTH_TIMEOUT: Duration = Duration::from_secs(1);

/// Serves one connection until it ends; `for_health`: questions about the server's health alone, and one of them.
pub(crate) async fn serve(
    stream: TcpStream,
    peer: SocketAddr,
    worker: Rc<Worker>,
    watch: Watched,
    for_health: bool,
) {
    let local = stream.local_addr().ok();
    let mut socket = Socket::new(stream, watch, worker.clone(), worker.config().http_max_header.0);
    let guest = Guest {
        peer,
        watch: Rc::clone(socket.watch()),
        for_health,
    };
    let end = loop {
        let framing = match plain::serve(&mut socket, &worker, &guest, local).await {
            Left::HandedOver(_) if for_health => break End::Client,
            Left::HandedOver(framing) => framing,
            Left::Ended(end) => {
                if let Some(Verdict::Late(code)) = socket.watch().peek() {
                    worker.counters().refused(code);
                    tracing::debug!(%peer, %code, "connection closed");
                }
                if for_health && end == End::Verdict {
                    // There was no place for whatever it wanted to ask.
                    let _ = socket.flush(&mut TOO_MANY_CONNECTIONS.to_vec()).await;
                }
                break end;
            }
        };
        if let Some(end) = by_hyper::serve(&mut socket, &worker, &guest, local, framing).await {
            break end;
        }
    };
    socket.close(end).await;
}

/// Whose requests these are.
pub(super) struct Guest {
    peer: SocketAddr,
    watch: Rc<Watch>,
    /// There is no place for it but for questions about the server's health.
    for_health: bool,
}

impl Guest {
    /// Whether the connection ends with an answer.
    fn leaves(&self, config: &Config) -> bool {
        self.for_health || self.watch.wrong_tokens() >= config.max_wrong_tokens
    }

    /// A question for one name may ask the store: like others that do, it takes a place and a token.
    async fn may_ask_for_a_name(&self, worker: &Worker, head: &Head<'_>) -> Answer<()> {
        if self.for_health {
            let why = "too many connections: only /livez and /readyz without a name are answered";
            return Err(ServiceError::new(Code::TooManyConnections, why));
        }
        self.authorise(worker, head, Right::Allocate).await.map(|_| ())
    }

    /// Every request, for who asks for that much: without its query, which may hold anything.
    fn note_request(&self, head: &Head<'_>, response: &Response) {
        tracing::debug!(
            peer = %self.peer,
            method = head.method,
            path = head.path,
            status = response.status.as_u16(),
            "request"
        );
    }

    /// Finds out who it is, and whether it may.
    async fn authorise(&self, worker: &Worker, head: &Head<'_>, right: Right) -> Answer<Identity> {
        let judged = head.authorise(worker.service().tokens(), right);
        match &judged {
            Err(error) if error.code == Code::WrongToken => {
                self.watch.wrong_token();
                tokio::time::sleep(delay_of_wrong_token(worker.service(), self.peer)).await;
            }
            Err(error) if error.code == Code::Unauthenticated => {}
            _ => self.watch.authenticated(),
        }
        judged
    }
}

/// Answers one request, whoever framed it.
async fn answer_to(worker: &Rc<Worker>, guest: &Guest, head: &Head<'_>, body: Option<Incoming>) -> Response {
    let mut response = match do_what_is_asked(worker, guest, head, body).await {
        Ok(response) => response,
        Err(error) => {
            worker.counters().refused(error.code);
            Response::problem(head, &error)
        }
    };
    cors::mark(head, &worker.config(), &mut response);
    response
}

async fn do_what_is_asked(
    worker: &Rc<Worker>,
    guest: &Guest,
    head: &Head<'_>,
    body: Option<Incoming>,
) -> Result<Response, ServiceError> {
    head.check_host(&worker.config(), worker.service().tokens())?;
    cors::check_origin(head, &worker.config())?;
    head.check_size(&worker.config())?;
    if let Some(response) = cors::preflight(head, &worker.config()) {
        return Ok(response);
    }
    let route = Route::of(head.path);
    let mut who = Identity::ANYBODY;
    let right = match &route {
        Some(route) => route.right(head.method),
        None => Some(Right::Allocate),
    };
    if let Some(right) = right {
        if guest.for_health {
            return Err(ServiceError::new(
                Code::TooManyConnections,
                "too many connections: only /livez and /readyz are answered",
            ));
        }
        who = guest.authorise(worker, head, right).await?;
    }
    let Some(route) = route else {
        return Err(route::unknown(head.path));
    };
    let Some(operation) = route.operation(head.method) else {
        return Err(route.refuse_method(head.method));
    };
    head.check_idempotency()?;
    let body = request::read_body(worker, body).await?;
    request::check_body(operation.takes, head, &body)?;
    let parameters = match operation.takes {
        Takes::Parameters => document::parameters(&body)?,
        Takes::Nothing | Takes::Document(_) => Vec::new(),
    };
    let query = Query::of(head.query).and(&parameters);
    query.fit(operation)?;
    let [name, id] = &route.arguments;
    let answered = match operation.op {
        Op::Next => {
            let by = Asker {
                token: who.name().into(),
                peer: guest.peer,
            };
            sequences::next(worker, head, &query, name, &by).await
        }
        Op::MakeIds => ids::of_format(worker, head, &query, name).await,
        Op::MakeSnowflakes => ids::of_pool(worker, head, &query, name).await,
        Op::ListSequences => sequences::list(worker, &query).await,
        Op::ShowSequence => sequences::show(worker, name).await,
        Op::CreateSequence => sequences::create(worker, name, &body).await,
        Op::AlterSequence => sequences::alter(worker, name, &body).await,
        Op::DropSequence => sequences::drop_sequence(worker, name).await,
        Op::RestartSequence => sequences::restart(worker, name, &body).await,
        Op::ListPools => pools::list(worker, &query).await,
        Op::ShowPool => pools::show(worker, &query, name).await,
        Op::CreatePool => pools::create(worker, name, &body).await,
        Op::DropPool => pools::drop_pool(worker, name).await,
        Op::LendWindow => pools::lend(worker, name, &body).await,
        Op::RenewWindow => pools::renew(worker, name, id, &body).await,
        Op::RetireWindow => pools::retire(worker, name, id, &body).await,
        Op::EndWindow => pools::end(worker, name, id, &body).await,
        Op::ListPresets => Ok(pools::presets()),
        Op::ListFormats => Ok(pools::formats()),
        Op::Inspect => inspect::inspect(worker, &query, name),
        Op::Backup => backup::begin(worker),
        Op::Livez => Ok(operations::livez()),
        Op::Readyz => operations::readyz(worker, guest, head, &query).await,
        Op::OpenApi => Ok(operations::openapi()),
        Op::Metrics => operations::metrics(worker).await,
    };
    if let (Ok(response), Some((what, name))) = (&answered, route.change(head.method)) {
        // The same definition again changes nothing.
        if what != "create" || response.status == StatusCode::CREATED {
            let (name, token, peer) = (&*name, who.name(), guest.peer);
            tracing::info!(what, name, token, %peer, "changed");
        }
    }
    answered
}

/// What a connection beyond the limit is told.
pub(crate) const TOO_MANY_CONNECTIONS: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\n\
    content-type: application/problem+json\r\ncache-control: no-store\r\ncontent-length: 187\r\n\
    connection: close\r\nretry-after: 1\r\n\r\n\
    {\"type\":\"urn:mint:error:too_many_connections\",\"title\":\"too many connections\",\"status\":503,\
    \"code\":\"too_many_connections\",\"detail\":\"as many connections are open as may be\",\"retry_after\":1}\n";
