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
mod settings;
mod text;

pub use settings::Settings;

use hyper::StatusCode;

use generators::Kind;
use mintage_server::chassis::auth::Right;
use mintage_server::chassis::config::Config;
use mintage_server::chassis::error::{Answer, Code, ServiceError};
use mintage_server::chassis::keyed::Keyed;
use mintage_server::chassis::web;
use mintage_server::chassis::web::answer::Response;
use mintage_server::chassis::web::foreign::{Asked, Foreign};
use mintage_server::chassis::web::head::Head;
use mintage_server::chassis::{Face, NeededPool, SettingsOf};
use route::Route;

/// The row of this face.
pub(crate) const FACE: Face = Face {
    name: "cosid",
    label: "cosid",
    title: "CosId's REST proxy",
    section: "faces.cosid",
    port: 8688,
    listen: |config| &config.faces.get::<Settings>().access.listen,
    example: |address| web::curl(address, "", "/ids"),
    pools: |config| {
        let settings = &config.faces.get::<Settings>();
        let mut generators = settings.names().filter_map(|name| settings.generator(name));
        let needed = generators.any(|generator| generator.kind() == Kind::Snowflake);
        let pool = needed.then(|| NeededPool {
            name: ids::POOL.into(),
            preset: "cosid",
        });
        pool.into_iter().collect()
    },
    serves: web::serves(|connection| web::begin(connection, &FOREIGN)),
    settings: Some(SettingsOf::of::<Settings>()),
    told: None,
    foreign: Some(&FOREIGN),
    calls: None,
};

static FOREIGN: Foreign = Foreign {
    access: |config| &config.faces.get::<Settings>().access,
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
    asked.keyed(&config.faces.get::<Settings>().keys)
}
