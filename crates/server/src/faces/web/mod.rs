//! HTTP/1.1 as such: connections, heads, bodies, answers. What is answered is a [`Site`]'s: our own
//! ([`http`](super::http)), or that of a system whose clients are served ([`foreign`]).
//!
//! | file | what |
//! | --- | --- |
//! | `plain` | requests without a body, framed in place: the hot path |
//! | `by_hyper`, `io` | all other requests, framed by hyper |
//! | `strict` | heads that must not be served |
//! | `head`, `body`, `form` | who asks for what: head, body, query and forms |
//! | `html` | text in pages |
//! | `cors`, `host` | pages of other sites; foreign names that were pointed here |
//! | `answer`, `date` | answers |
//! | `h2`, `frames`, `rpc` | HTTP/2, which hyper frames; which frames go by; calls of gRPC on it |
//! | `wire`, `pieces` | what it reads from and writes to; bodies, counted until they have left |
//! | `foreign` | what the faces of other systems have in common |
//! | `spring`, `servlet` | those of them that Spring Boot serves: answers and paths |

pub(crate) mod answer;
pub(crate) mod body;
mod by_hyper;
pub(crate) mod cors;
mod date;
pub(crate) mod foreign;
pub(crate) mod form;
mod frames;
mod h2;
pub(crate) mod head;
pub(crate) mod host;
pub(crate) mod html;
pub(crate) mod io;
mod open;
mod pieces;
pub(crate) mod plain;
pub(crate) mod rpc;
pub(crate) mod sent;
pub(crate) mod servlet;
pub(crate) mod spring;
pub(crate) mod strict;
mod wire;

use std::ops::Deref;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::{Body, Bytes, SizeHint};

use super::{Protocols, Serves};
use crate::auth::{Identity, Presented};
use crate::config::Config;
use crate::connection::{Connection, Counted};
use crate::error::{Code, ServiceError};
use crate::faces;
use crate::held::{Room, TotalBytes};
use crate::metrics::FaceId;
use crate::service::{Answer, Door};
use crate::socket::{End, Socket};
use crate::thread::ServingThread;
use crate::transport::{Endpoint, Peer};
use crate::watch::{Deadlines, Verdict, Watch};
use answer::Response;
use head::Head;
use io::One;
use plain::Left;
use sent::Sent;

/// What answers the requests of a connection.
pub(crate) trait Site: Copy + 'static {
    /// What its answers consist of, where hyper sends them.
    type Body: Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>> + Unpin + 'static;

    /// Answers one request, whoever framed it.
    async fn answer(
        self,
        thread: &Rc<ServingThread>,
        guest: &Guest<Self>,
        head: &Head<'_>,
        body: Option<Sent>,
    ) -> Response;

    /// A refusal in its own form.
    fn refuse(self, thread: &Door, head: &Head<'_>, error: &ServiceError) -> Response;

    /// Whether hyper frames what asks for this path: it needs all headers, or its answer's length is not known.
    fn hands_over(self, thread: &Door, path: &str) -> bool;

    /// What answers calls of gRPC here.
    fn calls(self, _: &Door) -> Option<rpc::Calls> {
        None
    }

    /// An answer for hyper, with its body; `one` is answered once hyper has all of it.
    fn for_hyper(
        self,
        response: Response,
        thread: &Rc<ServingThread>,
        watch: Rc<Watch>,
        one: Rc<One>,
    ) -> hyper::Response<Self::Body>;
}

/// How a face of HTTP serves its connections, apart from what it answers.
pub const fn serves(begin: fn(Connection)) -> Serves {
    Serves {
        request_bytes: |config| config.http_max_header.0,
        deadlines,
        health_deadlines: None,
        too_many: TOO_MANY_CONNECTIONS,
        in_clear: IN_CLEAR,
        protocols: Protocols::Http,
        begin,
    }
}

/// A command that asks for `path`, with these options of curl, each with a blank behind it.
pub fn curl(at: &Endpoint, options: &str, path: &str) -> String {
    let (socket, host) = match at {
        Endpoint::Tcp(address) => (String::new(), format!("http://{address}")),
        Endpoint::Tls(address) => ("--cacert ca.pem ".to_string(), format!("https://{address}")),
        Endpoint::Unix(path) => (
            format!("--unix-socket {} ", path.display()),
            "http://localhost".to_string(),
        ),
    };
    // What a shell would read for itself.
    let quote = if path.contains(['?', '&']) { "'" } else { "" };
    format!("curl {socket}{options}{quote}{host}{path}{quote}")
}

/// How long a connection may wait for what.
fn deadlines(config: &Config) -> Deadlines {
    Deadlines {
        first_byte: Some(config.http_request_timeout),
        request: config.http_idle_timeout.0,
        rest: Some(config.http_request_timeout),
        writing: Some(config.write_timeout),
        authentication: config.authentication_timeout.0.filter(|_| config.wants_tokens()),
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

/// Begins to serve a connection, in a task of its own.
pub(crate) fn begin(connection: Connection, site: impl Site) {
    drop(tokio::task::spawn_local(serve(connection, site)));
}

/// Serves one connection until it ends.
async fn serve<S: Site>(connection: Connection, site: S) {
    let Connection {
        stream,
        peer,
        presented,
        wants_tls: _,
        face,
        thread,
        watch,
        counted,
    } = connection;
    let client = Client {
        peer,
        presented,
        local: stream.local().ok(),
        face,
        watch: Rc::clone(&watch),
        unread: Arc::default(),
        for_health: counted.place.is_for_health(),
    };
    let for_health = client.for_health;
    let guest = Rc::new(Guest {
        site,
        client,
        _counted: counted,
    });
    let mut is_first = true;
    let mut socket = Socket::new(stream, watch, thread.clone(), thread.config().http_max_header.0);
    let end = loop {
        let begun = plain::serve(&mut socket, &thread, &guest, is_first).await;
        is_first = false;
        let framing = match begun {
            Left::HandedOver(_) | Left::Http2 if for_health => break End::Client,
            Left::Http2 => break h2::serve(&mut socket, &thread, &guest).await,
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

/// Whose requests these are, and what answers them.
pub(crate) struct Guest<S> {
    site: S,
    client: Client,
    _counted: Counted,
}

impl<S> Deref for Guest<S> {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

/// The other end of a connection.
#[derive(Clone)]
pub struct Client {
    pub peer: Peer,
    /// What it shows by itself.
    presented: Rc<Presented>,
    /// Our end of the connection.
    local: Option<Endpoint>,
    pub(crate) face: FaceId,
    watch: Rc<Watch>,
    /// Answers that are made and have not left.
    unread: Arc<TotalBytes>,
    /// There is no place for it but for questions about the server's health.
    pub(crate) for_health: bool,
}

impl Client {
    /// The same as a client of another face, which shares this one's port.
    fn on(&self, face: FaceId) -> Rc<Client> {
        Rc::new(Client { face, ..self.clone() })
    }

    /// Our end of its connection.
    pub(crate) fn local(&self) -> Option<&Endpoint> {
        self.local.as_ref()
    }

    /// The deadlines of its connection.
    pub(crate) fn watch(&self) -> &Watch {
        &self.watch
    }

    /// Room for an answer, before it is made: once this client has read so much of others, and there is room among all.
    ///
    /// # Errors
    /// [`Code::Unavailable`]: others leave theirs unread.
    pub(crate) async fn room(&self, thread: &ServingThread, bytes: u64) -> Answer<Room> {
        thread.room(bytes, &self.unread, &self.watch).await
    }

    /// Counts an answer that is made, if nobody has and it has more bytes than these.
    fn count(&self, thread: &ServingThread, response: Response, above: u64) -> Response {
        if !response.is_to_be_counted(above) {
            return response;
        }
        let bytes = response.body().len();
        let of_all = thread.hold_unread(bytes, &self.watch);
        response.counted(Room([of_all, self.unread.hold(bytes)]))
    }

    /// Whether the connection ends with an answer.
    fn leaves(&self, config: &Config) -> bool {
        self.for_health || self.watch.wrong_tokens() >= config.max_wrong_tokens
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

    /// It may stay: it has shown a token, or needs none for what it asked for.
    pub fn is_welcome(&self) {
        self.watch.authenticated();
    }

    /// Finds out who it is, on this face.
    pub(crate) async fn identify(&self, thread: &Door, head: &Head<'_>, face: FaceId) -> Answer<Identity> {
        let judged = head.identify(thread.service().tokens(), faces::name(face), &self.presented);
        match &judged {
            Err(error) if error.code == Code::WrongToken => self.has_shown_a_wrong_token(thread).await,
            Err(error) if error.code == Code::Unauthenticated => {}
            _ => self.is_welcome(),
        }
        judged
    }

    /// Counts a wrong token, and waits as long as its answer has to.
    pub async fn has_shown_a_wrong_token(&self, thread: &Door) {
        self.watch.wrong_token();
        tokio::time::sleep(thread.service().delay_of_wrong_token(self.peer)).await;
    }
}

/// What is known of the length of a body that has so many more bytes before it.
fn longer(body: SizeHint, before: usize) -> SizeHint {
    let (mut hint, before) = (SizeHint::new(), before as u64);
    hint.set_lower(body.lower() + before);
    if let Some(upper) = body.upper() {
        hint.set_upper(upper + before);
    }
    hint
}

/// What a connection beyond the limit is told.
const TOO_MANY_CONNECTIONS: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\n\
    content-type: application/problem+json\r\ncache-control: no-store\r\ncontent-length: 187\r\n\
    connection: close\r\nretry-after: 1\r\n\r\n\
    {\"type\":\"urn:mint:error:too_many_connections\",\"title\":\"too many connections\",\"status\":503,\
    \"code\":\"too_many_connections\",\"detail\":\"as many connections are open as may be\",\"retry_after\":1}\n";

/// What a client is told that speaks in clear where TLS is spoken.
const IN_CLEAR: &[u8] = b"HTTP/1.1 400 Bad Request\r\n\
    content-type: application/problem+json\r\ncache-control: no-store\r\ncontent-length: 187\r\n\
    connection: close\r\n\r\n\
    {\"type\":\"urn:mint:error:protocol_error\",\"title\":\"the bytes are not a request\",\"status\":400,\
    \"code\":\"protocol_error\",\"detail\":\"this port speaks TLS, and clear text came: ask for https://\"}\n";
