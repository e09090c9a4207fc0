//! What the faces of other systems that speak HTTP have in common: who may ask, what takes no id, how a request is
//! counted and refused. A face adds its paths, its answers and the form of its errors.
//!
//! Their clients ask by GET, which our own routes never answer with an id: what a browser sends for a page of another
//! site is refused, nothing may be cached, and HEAD, OPTIONS and TRACE never reach what takes.

use std::pin::Pin;
use std::rc::Rc;

use http_body_util::Full;
use hyper::body::Bytes;
use mintage_ledger::Name;

use super::answer::Response;
use super::body::{BodyLimit, read_body};
use super::head::Head;
use super::host::{self, Guarded};
use super::io::One;
use super::sent::Sent;
use super::{Client, Guest, Site, cors};
use crate::audit::Act;
use crate::auth::{Identity, Right, What};
use crate::config::{Access, Config, FaceAuth, Keys};
use crate::connection::Connection;
use crate::error::{Code, ServiceError};
use crate::faces;
use crate::faces::keyed::Keyed;
use crate::metrics::FaceId;
use crate::service::{Answer, Door};
use crate::thread::ServingThread;
use crate::watch::Watch;

/// A face of another system, as one of HTTP.
#[derive(Debug)]
pub struct Foreign {
    /// Who may use it.
    pub access: fn(&Config) -> &Access,
    /// Whether a path is one of its own, where it shares our port.
    pub owns: fn(&str) -> bool,
    /// What pages of other sites may send, where they may: the value of `Access-Control-Allow-Methods`.
    pub methods: &'static str,
    /// It reads headers that [`Head`] has no place for: [`Head::all`] is there with every request.
    pub reads_all_headers: bool,
    /// It finds out by itself who asks, and whether he has asked for too much lately.
    pub knows_tokens: bool,
    /// Whether a path is a probe's, who shows no token, takes nothing, and may ask by HEAD what it would be told by GET.
    pub is_probe: fn(&str) -> bool,
    /// What a token must be good for.
    pub right: fn(&Head<'_>) -> Right,
    /// The answer to HEAD and OPTIONS, which takes nothing; hyper leaves the body of HEAD out.
    pub look: fn(&Head<'_>, &Config) -> Response,
    /// The answer to any other request.
    pub answer: for<'a> fn(&'a Asked<'a>) -> Answering<'a>,
    /// A refusal in the face's own form; when to ask again and the end of the connection are added.
    pub refuse: fn(&Head<'_>, &Config, &ServiceError) -> Response,
}

/// An answer that is being made.
pub(crate) type Answering<'a> = Pin<Box<dyn Future<Output = Answer<Response>> + 'a>>;

/// A request as it was read.
pub struct Asked<'a> {
    /// The thread that serves the client.
    pub thread: &'a Rc<ServingThread>,
    /// Whose connection it is.
    pub client: &'a Client,
    /// The head of the request.
    pub head: &'a Head<'a>,
    /// Its body.
    pub body: &'a [u8],
    /// The face that is asked.
    pub face: FaceId,
    /// Who asks; it has the right that the face names, for some names at least.
    pub who: Identity,
}

impl Asked<'_> {
    /// Numbers for its keys.
    pub fn keyed<'k>(&'k self, keys: &'k Keys) -> Keyed<'k> {
        Keyed {
            thread: self.thread,
            keys,
            who: &self.who,
            peer: self.client.peer,
        }
    }

    /// What it does that needs the right `admin`, for the audit trail.
    pub fn act(&self, what: &'static str, name: &Name) -> Act {
        Act {
            what,
            names: vec![name.to_string()],
            token: self.who.name().to_string(),
            peer: self.client.peer.to_string(),
            face: faces::name(self.face),
            with: None,
        }
    }
}

/// Answers one request of a face.
pub(crate) async fn answer(
    face: &'static Foreign,
    id: FaceId,
    thread: &Rc<ServingThread>,
    client: &Client,
    head: &Head<'_>,
    body: Option<Sent>,
) -> Response {
    let answered = judge(face, id, thread, client, head, body).await;
    let config = thread.config();
    let mut response =
        answered.unwrap_or_else(|error| face.refusal(&config, head, &error).refusing(error.code));
    let refused = response.refused();
    thread.counters().face_answered(id, refused, 1);
    if let Some(code) = refused {
        thread.counters().refused(code);
    }
    cors::mark(head, &config, &mut response);
    response
}

async fn judge(
    face: &'static Foreign,
    id: FaceId,
    thread: &Rc<ServingThread>,
    client: &Client,
    head: &Head<'_>,
    body: Option<Sent>,
) -> Answer<Response> {
    let config = thread.config();
    let (access, tokens) = ((face.access)(&config), thread.service().tokens());
    if !access.lets_in(client.peer) {
        let why = format!("clients of {} are not let in", client.peer);
        return Err(ServiceError::new(Code::Forbidden, why));
    }
    let is_probe = (face.is_probe)(head.path);
    let guarded = match (face.right)(head) {
        _ if is_probe => Guarded::No,
        _ if tokens.required() && access.auth == FaceAuth::Token => Guarded::ByToken,
        Right::Allocate => Guarded::NoAndGives,
        _ => Guarded::No,
    };
    host::check(thread, client, head, guarded)?;
    cors::check_page(head, &config)?;
    head.check_size(BodyLimit::of_request(&config))?;
    if let Some(response) = cors::preflight(head, &config, || Some(face.methods.to_string())) {
        return Ok(response);
    }
    if matches!(head.method, "TRACE" | "CONNECT") {
        // A route that takes any method means none of those that ask for no resource.
        let why = format!("{} is not served", head.method);
        return Err(ServiceError::new(Code::MethodNotAllowed, why));
    }
    if head.method == "OPTIONS" || head.method == "HEAD" && !is_probe {
        return Ok((face.look)(head, &config));
    }
    if !is_probe && (face.right)(head) == Right::Allocate {
        cors::check_browser(head, &config)?;
    }
    let who = match access.auth {
        _ if !tokens.required() => Identity::ANYBODY,
        _ if is_probe || face.knows_tokens => Identity::OPEN,
        FaceAuth::Token => {
            let who = client.identify(thread, head, id).await?;
            // Names are asked for one by one.
            who.check((face.right)(head), What::Nothing)?;
            who
        }
        FaceAuth::Open => {
            client.is_welcome();
            // A token that is shown all the same lets its holder do what it says.
            let name = faces::name(id);
            let shown = head
                .bearer()
                .and_then(|token| tokens.identify(token.as_bytes(), name));
            let may = |who: &Identity, right| who.may(right, What::Nothing);
            shown
                .filter(|who| may(who, Right::Allocate) || may(who, Right::Admin))
                .unwrap_or(Identity::OPEN)
        }
    };
    if !face.knows_tokens {
        thread.service().admit(&who, client.peer)?;
    }
    let body = read_body(thread, BodyLimit::of_request(&config), body).await?;
    let asked = Asked {
        thread,
        client,
        head,
        body: &body,
        face: id,
        who,
    };
    (face.answer)(&asked).await
}

impl Foreign {
    fn refusal(&self, config: &Config, head: &Head<'_>, error: &ServiceError) -> Response {
        let mut response = (self.refuse)(head, config, error);
        if response.status.is_server_error() || error.code == Code::RateLimited {
            response.say_when(error);
        }
        if error.ends_connection() {
            response.close();
        }
        response
    }
}

/// Serves a connection of such a face in a task of its own, on this thread.
pub fn begin(connection: Connection, face: &'static Foreign) {
    super::begin(connection, face);
}

impl Site for &'static Foreign {
    type Body = Full<Bytes>;

    async fn answer(
        self,
        thread: &Rc<ServingThread>,
        guest: &Guest<Self>,
        head: &Head<'_>,
        body: Option<Sent>,
    ) -> Response {
        answer(self, guest.face, thread, guest, head, body).await
    }

    fn refuse(self, thread: &Door, head: &Head<'_>, error: &ServiceError) -> Response {
        self.refusal(&thread.config(), head, error)
    }

    fn hands_over(self, _: &Door, _: &str) -> bool {
        self.reads_all_headers
    }

    fn for_hyper(
        self,
        response: Response,
        _: &Rc<ServingThread>,
        _: Rc<Watch>,
        one: Rc<One>,
    ) -> hyper::Response<Full<Bytes>> {
        one.answered.set(true);
        response.for_hyper()
    }
}
