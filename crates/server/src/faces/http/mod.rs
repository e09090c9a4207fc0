//! Our own face of HTTP: what curl and every HTTP client speak.
//!
//! | file | what |
//! | --- | --- |
//! | `route` | paths and methods, from the table of operations |
//! | `request`, `document` | queries and bodies |
//! | `id_list`, `problem` | answers that hold ids, and refusals |
//! | `sequences`, `pools`, `moves`, `ids`, `series`, `inspect`, `operations`, `backup` | what the routes do |
//! | `streamed` | which of them have bodies that are made while they are sent |
//! | `live`, `top`, `explain`, `cluster`, `access`, `audit` | what the console shows, and everybody else may ask for |
//! | `console` | the console's page |
//! | `audited` | what of them the audit trail tells |
//! | `testing` | the readers without a connection |
//!
//! How requests arrive and answers leave stands in `faces/web`.

mod access;
mod audit;
mod audited;
mod backup;
mod cluster;
mod console;
mod document;
mod explain;
mod id_list;
mod ids;
mod inspect;
mod live;
mod moves;
mod operations;
mod pools;
mod problem;
mod request;
mod route;
mod sequences;
mod series;
mod streamed;
#[cfg(feature = "testing")]
pub mod testing;
mod top;

use std::rc::Rc;

use hyper::StatusCode;
use hyper::body::Body;
use mintage_wire::{Op, Takes};

use super::web::answer::Response;
use super::web::body::{BodyLimit, read_body};
use super::web::foreign::{self, Foreign};
use super::web::head::Head;
use super::web::host::{self, Guarded};
use super::web::io::One;
use super::web::rpc::Calls;
use super::web::sent::Sent;
use super::web::{self, Site, cors};
use super::{Face, Serves};
use crate::auth::{Identity, Right, What};
use crate::error::{Code, ServiceError};
use crate::faces;
use crate::metrics::FaceId;
use crate::noise::Asker;
use crate::service::{Answer, Door};
use crate::thread::ServingThread;
use crate::turn::{SMALL_BYTES, bytes_of_ids};
use crate::watch::Watch;
use request::Query;
use route::Route;

/// The row of this face.
pub(super) const FACE: Face = Face {
    name: "http",
    label: "http",
    title: "HTTP",
    section: "server.http",
    port: 7600,
    listen: |config| &config.http_listen,
    example: |address| web::curl(address, "-X POST ", "/v1/sequences/orders/next"),
    pools: |_| Vec::new(),
    serves: Serves {
        health_deadlines: Some(web::health_deadlines),
        ..web::serves(|connection| web::begin(connection, Own))
    },
    settings: None,
    told: None,
    foreign: None,
    calls: None,
};

/// Our own routes, and those of the faces that share our port.
#[derive(Clone, Copy, Debug)]
struct Own;

impl Own {
    /// The face that shares our port and has this path.
    fn shared_with(self, thread: &Door, path: &str) -> Option<(FaceId, &'static Foreign)> {
        if path.starts_with(OURS) {
            return None;
        }
        let config = thread.config();
        let mut sharing = faces::numbered().filter(|(_, face)| (face.listen)(&config).main);
        sharing.find_map(|(id, face)| Some((id, face.foreign.filter(|face| (face.owns)(path))?)))
    }
}

/// No other face has a path that begins so.
const OURS: &str = "/v1/";

type Guest = web::Client;

impl Site for Own {
    type Body = streamed::AnyBody;

    async fn answer(
        self,
        thread: &Rc<ServingThread>,
        guest: &web::Guest<Own>,
        head: &Head<'_>,
        body: Option<Sent>,
    ) -> Response {
        if let Some((id, face)) = self.shared_with(thread, head.path)
            && !guest.for_health
        {
            return foreign::answer(face, id, thread, guest, head, body).await;
        }
        let mut response = match perform(thread, guest, head, body).await {
            Ok(response) => response,
            Err(error) => {
                thread.counters().refused(error.code);
                self.refuse(thread, head, &error)
            }
        };
        cors::mark(head, &thread.config(), &mut response);
        response
    }

    fn refuse(self, _: &Door, head: &Head<'_>, error: &ServiceError) -> Response {
        problem::problem(head, error)
    }

    fn hands_over(self, thread: &Door, path: &str) -> bool {
        // Answers of unknown length are hyper's.
        streamed::is_at(path)
            || self
                .shared_with(thread, path)
                .is_some_and(|(_, face)| face.reads_all_headers)
    }

    fn calls(self, thread: &Door) -> Option<Calls> {
        faces::calls(&thread.config())
    }

    fn for_hyper(
        self,
        response: Response,
        thread: &Rc<ServingThread>,
        watch: Rc<Watch>,
        one: Rc<One>,
    ) -> hyper::Response<streamed::AnyBody> {
        streamed::for_hyper(response, thread, watch, one)
    }
}

/// A question for one name may ask the store: like others that do, it takes a place and a token.
async fn may_ask_for_a_name(guest: &Guest, thread: &Door, head: &Head<'_>, name: &[u8]) -> Answer<()> {
    if guest.for_health {
        let why = "too many connections: only /livez and /readyz without a name are answered";
        return Err(ServiceError::new(Code::TooManyConnections, why));
    }
    let who = guest.identify(thread, head, guest.face).await?;
    Ok(who.check(Right::Read, What::Named(name))?)
}

/// Does what a request asks for, whatever it came by.
pub(crate) async fn perform<B>(
    thread: &Rc<ServingThread>,
    guest: &Guest,
    head: &Head<'_>,
    body: Option<B>,
) -> Result<Response, ServiceError>
where
    B: Body<Error: Into<Box<dyn std::error::Error + Send + Sync>>>,
{
    host::check(thread, guest, head, Guarded::of(thread.service().tokens()))?;
    cors::check_origin(head, &thread.config())?;
    if let Some(response) = cors::preflight(head, &thread.config(), || Route::allow_header(head.path)) {
        return Ok(response);
    }
    let route = Route::of(head.path);
    let limit = match &route {
        Some(route) if route.takes_file(head.method) => BodyLimit::of_file(&thread.config()),
        _ => BodyLimit::of_request(&thread.config()),
    };
    head.check_size(limit)?;
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
        Some(right) => {
            let who = guest.identify(thread, head, guest.face).await?;
            let what = route
                .as_ref()
                .map_or(What::Nothing, |route| route.what(head.method));
            if let Err(denied) = who.check(right, what) {
                audited::refused(thread, guest, head, &route, &who).await;
                return Err(denied.into());
            }
            thread.service().admit(&who, guest.peer)?;
            who
        }
    };
    let Some(route) = route else {
        return Err(route::unknown(head.path));
    };
    let Some(operation) = route.operation(head.method) else {
        return Err(route.refuse_method(head.method));
    };
    head.check_idempotency()?;
    // A file waits for its turn before it is read: there is room for one at a time.
    let turn = match operation.takes {
        Takes::File => Some(audit::turn(thread)?),
        _ => None,
    };
    let body = read_body(thread, limit, body).await?;
    request::check_body(operation.takes, head, &body)?;
    let parameters = match operation.takes {
        Takes::Parameters if !body.is_empty() => document::parameters(&body)?,
        Takes::Parameters | Takes::Nothing | Takes::Document(_) | Takes::File => Vec::new(),
    };
    let query = Query::of(head.query).and(&parameters);
    query.fit(operation)?;
    let asked = Asked {
        head,
        query: &query,
        route: &route,
        body: &body,
        turn,
    };
    if operation.allocates {
        thread.service().spend(&who, guest.peer, query.count(thread)?);
    }
    let room = match bytes_of_answer(thread, operation.op, &query)? {
        ..=SMALL_BYTES => None,
        bytes => Some(guest.room(thread, bytes).await?),
    };
    let doing = operate(thread, guest, &who, operation.op, &asked);
    let answered = match audited::act(guest, operation, &route, &who, &body) {
        None => doing.await,
        Some(act) => audited::done(thread, act, doing).await,
    };
    if let (Ok(response), Some((what, name))) = (&answered, route.change(head.method)) {
        // The same definition again changes nothing.
        if what != "create" || response.status == StatusCode::CREATED {
            let (name, token, peer) = (&*name, who.name(), guest.peer);
            tracing::info!(what, name, token, %peer, "changed");
        }
    }
    answered.map(|response| match room {
        Some(room) => response.counted(room),
        None => response,
    })
}

/// About what an answer takes until it has left, while it is made included: what is large waits for room before that.
fn bytes_of_answer(thread: &Door, op: Op, query: &Query<'_>) -> Answer<u64> {
    Ok(match op {
        Op::Next if query.get("as")?.as_deref() == Some(b"range") => 0,
        Op::Next | Op::MakeSnowflakes => bytes_of_ids(query.count(thread)?, 0),
        Op::MakeIds => {
            let length = query.number("length")?.flatten().unwrap_or(0);
            bytes_of_ids(query.count(thread)?, usize::try_from(length).unwrap_or(0))
        }
        Op::ShowSeries | Op::ShowNamedSeries => {
            let count = query.number("count")?.flatten();
            bytes_of_ids(count.unwrap_or_else(|| thread.config().max_count), 0)
        }
        Op::ListSequences | Op::ListPools | Op::ListTop | Op::ListActs => {
            u64::from(query.limit()?) * LISTED_BYTES
        }
        Op::ShowHistory | Op::ShowBlocks | Op::ShowPoolMap | Op::Explain | Op::ShowCluster | Op::Audit => {
            PAGE_BYTES
        }
        // Whoever watches a server waits for nobody.
        _ => 0,
    })
}

/// About what one of a list takes: its document, and what it is made of.
const LISTED_BYTES: u64 = 2048;

/// The same for what has many parts.
const PAGE_BYTES: u64 = 256 * 1024;

/// A request as it was read.
struct Asked<'r> {
    pub head: &'r Head<'r>,
    query: &'r Query<'r>,
    route: &'r Route<'r>,
    pub body: &'r [u8],
    /// That of a file to be looked at.
    turn: Option<audit::FileTurn>,
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
        ref turn,
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
        Op::MakeIds => ids::of_format(thread, who, head, query, name).await,
        Op::MakeSnowflakes => ids::of_pool(thread, head, query, name).await,
        Op::ListSequences => sequences::list(thread, who, query).await,
        Op::ShowSequence => sequences::show(thread, name).await,
        Op::CreateSequence => sequences::create(thread, name, body).await,
        Op::AlterSequence => sequences::alter(thread, name, body).await,
        Op::DropSequence => sequences::drop_sequence(thread, name).await,
        Op::RestartSequence => sequences::restart(thread, name, body).await,
        Op::ListMoves => moves::list(thread).await,
        Op::ShowMove => moves::show(thread, name).await,
        Op::StepMove => moves::step(thread, who, name, body).await,
        Op::ListPools => pools::list(thread, who, query).await,
        Op::ShowPool => pools::show(thread, query, name).await,
        Op::CreatePool => pools::create(thread, name, body).await,
        Op::AlterPool => pools::alter(thread, name, body).await,
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
        Op::ShowBlocks => explain::blocks(thread, name).await,
        Op::ShowPoolMap => explain::map(thread, query, name).await,
        Op::Explain => explain::explain(thread, who, query, name).await,
        Op::WatchLive => Ok(live::watch(head, who)),
        Op::ShowHistory => live::history(thread, query).await,
        Op::ListTop => top::list(thread, who, query).await,
        Op::ShowCluster => cluster::show(thread, who).await,
        Op::Rehearse => cluster::rehearse(thread, body),
        Op::Audit => audit::audit(thread, query, body, turn.clone()).await,
        Op::ShowAccess => Ok(access::show(thread)),
        Op::ListActs => access::acts(thread, query).await,
        Op::Console => Ok(console::page()),
        Op::ConsoleStyle => Ok(console::style()),
        Op::ConsoleScript => Ok(console::script()),
        Op::Livez => Ok(operations::livez()),
        Op::Readyz => operations::readyz(thread, guest, head, query).await,
        Op::OpenApi => Ok(operations::openapi()),
        Op::Metrics => operations::metrics(thread).await,
    }
}
