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
//! | `sequences`, `pools`, `ids`, `series`, `inspect`, `operations`, `backup` | what the routes do |
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
mod series;
mod strict;
#[cfg(feature = "testing")]
pub mod testing;

use std::rc::Rc;
use std::time::Duration;

use hyper::StatusCode;
use hyper::body::Incoming;
use mintage_wire::{Op, Takes};

use super::{Face, Serves};
use crate::auth::{Identity, Right};
use crate::config::Config;
use crate::connection::{Connection, Counted};
use crate::error::{Code, ServiceError};
use crate::metrics::FaceId;
use crate::noise::Asker;
use crate::service::{Answer, Door};
use crate::socket::{End, Socket};
use crate::thread::ServingThread;
use crate::transport::{Endpoint, Peer, Transport};
use crate::watch::{Deadlines, Verdict, Watch};
use answer::Response;
use head::Head;
use plain::Left;
use request::Query;
use route::Route;

/// The row of this face.
pub(super) const FACE: Face = Face {
    name: "http",
    label: "http",
    title: "HTTP",
    section: "server.http",
    port: 7600,
    speaks: &[Transport::Tcp, Transport::Unix],
    listen: |config| &config.http_listen,
    example: |address| match address {
        Endpoint::Tcp(address) => format!("curl -X POST http://{address}/v1/sequences/orders/next"),
        Endpoint::Unix(path) => format!(
            "curl --unix-socket {} -X POST http://localhost/v1/sequences/orders/next",
            path.display()
        ),
    },
    serves: Serves {
        request_bytes: |config| config.http_max_header.0,
        deadlines,
        health_deadlines: Some(health_deadlines),
        too_many: TOO_MANY_CONNECTIONS,
        begin: |connection| drop(tokio::task::spawn_local(serve(connection))),
    },
};

/// How long a connection may wait for what.
fn deadlines(config: &Config) -> Deadlines {
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
fn health_deadlines(config: &Config) -> Deadlines {
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

/// Serves one connection until it ends.
async fn serve(connection: Connection) {
    let Connection {
        stream,
        peer,
        face,
        thread,
        watch,
        counted,
    } = connection;
    let guest = Guest {
        peer,
        local: stream.local().ok(),
        face,
        watch: Rc::clone(&watch),
        for_health: counted.place.is_for_health(),
        _counted: counted,
    };
    let for_health = guest.for_health;
    let mut socket = Socket::new(stream, watch, thread.clone(), thread.config().http_max_header.0);
    let end = loop {
        let framing = match plain::serve(&mut socket, &thread, &guest).await {
            Left::HandedOver(_) if for_health => break End::Client,
            Left::HandedOver(framing) => framing,
            Left::Ended(end) => {
                if let Some(Verdict::Late(code)) = socket.watch().peek() {
                    thread.counters().refused(code);
                    tracing::debug!(%peer, %code, "connection closed");
                }
                if for_health && end == End::Verdict {
                    // There was no place for whatever it wanted to ask.
                    let _ = socket.flush(&mut TOO_MANY_CONNECTIONS.to_vec()).await;
                }
                break end;
            }
        };
        if let Some(end) = by_hyper::serve(&mut socket, &thread, &guest, framing).await {
            break end;
        }
    };
    socket.close(end).await;
}

/// Whose requests these are.
pub(super) struct Guest {
    peer: Peer,
    /// Our end of the connection.
    local: Option<Endpoint>,
    face: FaceId,
    watch: Rc<Watch>,
    /// There is no place for it but for questions about the server's health.
    for_health: bool,
    _counted: Counted,
}

impl Guest {
    /// Whether the connection ends with an answer.
    fn leaves(&self, config: &Config) -> bool {
        self.for_health || self.watch.wrong_tokens() >= config.max_wrong_tokens
    }

    /// A question for one name may ask the store: like others that do, it takes a place and a token.
    async fn may_ask_for_a_name(&self, thread: &Door, head: &Head<'_>) -> Answer<()> {
        if self.for_health {
            let why = "too many connections: only /livez and /readyz without a name are answered";
            return Err(ServiceError::new(Code::TooManyConnections, why));
        }
        self.authorise(thread, head, Right::Read).await.map(|_| ())
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
    async fn authorise(&self, thread: &Door, head: &Head<'_>, right: Right) -> Answer<Identity> {
        let judged = head.authorise(thread.service().tokens(), right);
        match &judged {
            Err(error) if error.code == Code::WrongToken => {
                self.watch.wrong_token();
                tokio::time::sleep(thread.service().delay_of_wrong_token(self.peer)).await;
            }
            Err(error) if error.code == Code::Unauthenticated => {}
            _ => self.watch.authenticated(),
        }
        judged
    }
}

/// Answers one request, whoever framed it.
async fn answer_to(
    thread: &Rc<ServingThread>,
    guest: &Guest,
    head: &Head<'_>,
    body: Option<Incoming>,
) -> Response {
    let mut response = match do_what_is_asked(thread, guest, head, body).await {
        Ok(response) => response,
        Err(error) => {
            thread.counters().refused(error.code);
            Response::problem(head, &error)
        }
    };
    cors::mark(head, &thread.config(), &mut response);
    response
}

async fn do_what_is_asked(
    thread: &Rc<ServingThread>,
    guest: &Guest,
    head: &Head<'_>,
    body: Option<Incoming>,
) -> Result<Response, ServiceError> {
    head.check_host(&thread.config(), thread.service().tokens())?;
    cors::check_origin(head, &thread.config())?;
    head.check_size(&thread.config())?;
    if let Some(response) = cors::preflight(head, &thread.config()) {
        return Ok(response);
    }
    let route = Route::of(head.path);
    let right = match &route {
        Some(route) => route.right(head.method),
        None => Some(Right::Read),
    };
    let who = match right {
        None => Identity::ANYBODY,
        Some(_) if guest.for_health => {
            let why = "too many connections: only /livez and /readyz are answered";
            return Err(ServiceError::new(Code::TooManyConnections, why));
        }
        Some(right) => guest.authorise(thread, head, right).await?,
    };
    let Some(route) = route else {
        return Err(route::unknown(head.path));
    };
    let Some(operation) = route.operation(head.method) else {
        return Err(route.refuse_method(head.method));
    };
    head.check_idempotency()?;
    let body = request::read_body(thread, body).await?;
    request::check_body(operation.takes, head, &body)?;
    let parameters = match operation.takes {
        Takes::Parameters => document::parameters(&body)?,
        Takes::Nothing | Takes::Document(_) => Vec::new(),
    };
    let query = Query::of(head.query).and(&parameters);
    query.fit(operation)?;
    let asked = Asked {
        head,
        query: &query,
        route: &route,
        body: &body,
    };
    let answered = operate(thread, guest, &who, operation.op, &asked).await;
    if let (Ok(response), Some((what, name))) = (&answered, route.change(head.method)) {
        // The same definition again changes nothing.
        if what != "create" || response.status == StatusCode::CREATED {
            let (name, token, peer) = (&*name, who.name(), guest.peer);
            tracing::info!(what, name, token, %peer, "changed");
        }
    }
    answered
}

/// A request as it was read.
struct Asked<'r> {
    head: &'r Head<'r>,
    query: &'r Query<'r>,
    route: &'r Route<'r>,
    body: &'r [u8],
}

/// Does what an operation does: an arm for each.
async fn operate(
    thread: &Rc<ServingThread>,
    guest: &Guest,
    who: &Identity,
    op: Op,
    asked: &Asked<'_>,
) -> Result<Response, ServiceError> {
    let Asked {
        head,
        query,
        route,
        body,
    } = *asked;
    let [name, id] = &route.arguments;
    match op {
        Op::Next => {
            let by = Asker {
                token: who.name().into(),
                peer: guest.peer,
            };
            sequences::next(thread, head, query, name, &by).await
        }
        Op::MakeIds => ids::of_format(thread, head, query, name).await,
        Op::MakeSnowflakes => ids::of_pool(thread, head, query, name).await,
        Op::ListSequences => sequences::list(thread, query).await,
        Op::ShowSequence => sequences::show(thread, name).await,
        Op::CreateSequence => sequences::create(thread, name, body).await,
        Op::AlterSequence => sequences::alter(thread, name, body).await,
        Op::DropSequence => sequences::drop_sequence(thread, name).await,
        Op::RestartSequence => sequences::restart(thread, name, body).await,
        Op::ListPools => pools::list(thread, query).await,
        Op::ShowPool => pools::show(thread, query, name).await,
        Op::CreatePool => pools::create(thread, name, body).await,
        Op::DropPool => pools::drop_pool(thread, name).await,
        Op::LendWindow => pools::lend(thread, name, body).await,
        Op::RenewWindow => pools::renew(thread, name, id, body).await,
        Op::RetireWindow => pools::retire(thread, name, id, body).await,
        Op::EndWindow => pools::end(thread, name, id, body).await,
        Op::ListPresets => Ok(pools::presets()),
        Op::ListFormats => Ok(pools::formats()),
        Op::Inspect => inspect::inspect(thread, query, name),
        Op::ShowSeries => series::show(thread, head, query).await,
        Op::ShowNamedSeries => series::show_named(thread, head, query, name).await,
        Op::Backup => backup::begin(thread),
        Op::Livez => Ok(operations::livez()),
        Op::Readyz => operations::readyz(thread, guest, head, query).await,
        Op::OpenApi => Ok(operations::openapi()),
        Op::Metrics => operations::metrics(thread).await,
    }
}

/// What a connection beyond the limit is told.
const TOO_MANY_CONNECTIONS: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\n\
    content-type: application/problem+json\r\ncache-control: no-store\r\ncontent-length: 187\r\n\
    connection: close\r\nretry-after: 1\r\n\r\n\
    {\"type\":\"urn:mint:error:too_many_connections\",\"title\":\"too many connections\",\"status\":503,\
    \"code\":\"too_many_connections\",\"detail\":\"as many connections are open as may be\",\"retry_after\":1}\n";
