//! CosId's REST proxy: machine numbers, segments and ids over HTTP, as CosId's clients ask for them.
//!
//! The original keeps what it knows of machines in its own memory. Here it stands in the store, so that any server on
//! that store answers any call, before and after it was killed.
//!
//! | file | what |
//! | --- | --- |
//! | `route` | paths and methods |
//! | `parameters` | what the query says |
//! | `duration` | lengths of time as ISO 8601 writes them |
//! | `machines` | numbers of machines: lease, guard, give back; also for the scripts that CosId sends to Redis |
//! | `segments` | runs of a sequence |
//! | `ids` | single ids, as numbers and as text |
//! | `generators`, `pattern`, `text` | what the configuration lists of generators, and how their ids are written |
//! | `actuator` | what Spring Boot's probes and monitors ask |
//! | `refusal` | the form of errors |

mod actuator;
mod duration;
mod generators;
mod ids;
pub(super) mod machines;
mod parameters;
mod pattern;
mod refusal;
mod route;
mod segments;
pub(crate) mod settings;
mod text;

use hyper::StatusCode;
use mintage_ledger::Name;

use super::keyed::Keyed;
use super::web;
use super::web::answer::Response;
use super::web::foreign::{Asked, Foreign};
use super::web::head::Head;
use super::{Face, NeededPool};
use crate::audit::{self, Act};
use crate::auth::{Identity, Right, What};
use crate::config::Config;
use crate::error::{Answer, Code, ServiceError};
use crate::service::Service;
use generators::Kind;
use route::Route;

/// The row of this face.
pub(super) const FACE: Face = Face {
    name: "cosid",
    label: "cosid",
    title: "CosId's REST proxy",
    section: "faces.cosid",
    port: 8688,
    listen: |config| &config.faces.cosid.access.listen,
    example: |address| web::curl(address, "", "/ids"),
    pools: |config| {
        let settings = &config.faces.cosid;
        let mut generators = settings.names().filter_map(|name| settings.generator(name));
        let needed = generators.any(|generator| generator.kind() == Kind::Snowflake);
        let pool = needed.then(|| NeededPool {
            name: ids::POOL.into(),
            preset: "cosid",
        });
        pool.into_iter().collect()
    },
    serves: web::serves(|connection| web::begin(connection, &FOREIGN)),
    foreign: Some(&FOREIGN),
    calls: None,
};

static FOREIGN: Foreign = Foreign {
    access: |config| &config.faces.cosid.access,
    owns: |path| {
        path == "/ids"
            || ["/ids/", "/machines/", "/segments/", "/actuator/"]
                .iter()
                .any(|own| path.starts_with(own))
    },
    methods: "GET, POST, PATCH, DELETE",
    reads_all_headers: false,
    knows_tokens: false,
    is_probe: |path| Route::is_health(path),
    right: |_| Right::Allocate,
    look,
    answer: |asked| Box::pin(answer(asked)),
    refuse: refusal::refuse,
};

/// What a number is answered as.
const JSON: &str = "application/json";

async fn answer(asked: &Asked<'_>) -> Answer<Response> {
    let route = Route::of(asked.head.path).ok_or_else(route::unknown)?;
    match (&route, asked.head.method) {
        (Route::Machines { namespace }, "POST") => machines::lease(asked, namespace).await,
        (Route::Machines { namespace }, "PATCH") => machines::guard(asked, namespace).await,
        (Route::Machines { namespace }, "DELETE") => machines::give_back(asked, namespace).await,
        (Route::Distributor { key }, "POST") => segments::distributor(asked, key).await,
        (Route::Segment { key }, "PATCH") => segments::next(asked, key).await,
        (Route::Actuator(route), "GET") => actuator::answer(asked, route).await,
        (Route::Actuator(route), "HEAD") if route.is_health() => actuator::answer(asked, route).await,
        (Route::Id { name, as_text }, "GET") => ids::answer(asked, name.as_deref(), *as_text).await,
        (route, method) => Err(ServiceError::new(
            Code::MethodNotAllowed,
            format!("{method} does not fit this path: {}", route.methods()),
        )),
    }
}

/// HEAD and OPTIONS: what a path would answer, without taking anything.
fn look(head: &Head<'_>, config: &Config) -> Response {
    let route = match Route::of(head.path) {
        Some(route) => route,
        None => return refusal::refuse(head, config, &route::unknown()),
    };
    match (&route, head.method) {
        (Route::Id { as_text: true, .. }, "HEAD") => {
            Response::new(StatusCode::OK, web::spring::accepted(head.accept), "")
        }
        (Route::Id { .. }, "HEAD") => Response::new(StatusCode::OK, JSON, ""),
        (Route::Actuator(_), "HEAD") => Response::new(StatusCode::OK, actuator::MEDIA, ""),
        (_, "OPTIONS") => {
            let mut response = Response::empty(StatusCode::OK);
            response.add("allow", route.methods());
            response
        }
        _ => {
            let error = ServiceError::new(Code::MethodNotAllowed, "HEAD does not fit this path");
            refusal::refuse(head, config, &error)
        }
    }
}

/// The sequences of this face, for who asks.
fn keyed<'a>(asked: &'a Asked<'_>, config: &'a Config) -> Keyed<'a> {
    asked.keyed(&config.faces.cosid.keys)
}

/// Refuses to make a `what` for who may only take.
async fn check_may_make(service: &Service, who: &Identity, what: &str, act: Act, name: &Name) -> Answer<()> {
    if who.may(Right::Admin, What::Named(name.as_str().as_bytes())) {
        return Ok(());
    }
    audit::refused(service, act).await;
    let why = format!("{what} {name} does not exist, and making it needs a token that may admin");
    Err(ServiceError::new(Code::Forbidden, why))
}
