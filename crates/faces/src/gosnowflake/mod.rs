//! goSnowFlake's server: ids by GET.
//!
//! The worker in the path is checked and otherwise ignored. The original honours it, so that two of its servers repeat
//! each other's ids; here the worker is the one that this server has leased.

mod settings;

pub use settings::Settings;

use hyper::StatusCode;

use crate::pooled::mint_one;
use mintage_server::chassis::auth::Right;
use mintage_server::chassis::config::Config;
use mintage_server::chassis::error::{Answer, Code, ServiceError};
use mintage_server::chassis::web;
use mintage_server::chassis::web::answer::Response;
use mintage_server::chassis::web::foreign::{Asked, Foreign};
use mintage_server::chassis::web::head::Head;
use mintage_server::chassis::{Face, NeededPool, SettingsOf};

/// The row of this face.
pub(crate) const FACE: Face = Face {
    name: "gosnowflake",
    label: "gosnowflake",
    title: "goSnowFlake's HTTP",
    section: "faces.gosnowflake",
    port: 8182,
    listen: |config| &config.faces.get::<Settings>().access.listen,
    example: |address| web::curl(address, "", "/worker/1"),
    pools: |_| {
        vec![NeededPool {
            name: POOL.into(),
            preset: "gosnowflake",
        }]
    },
    serves: web::serves(|connection| web::begin(connection, &FOREIGN)),
    settings: Some(SettingsOf::of::<Settings>()),
    told: None,
    foreign: Some(&FOREIGN),
    calls: None,
};

static FOREIGN: Foreign = Foreign {
    access: |config| &config.faces.get::<Settings>().access,
    owns: |path| Route::of(path).is_some(),
    methods: "GET",
    reads_all_headers: false,
    knows_tokens: false,
    is_probe: |_| false,
    right: |head| match Route::of(head.path) {
        Some(Route::Worker(_)) => Right::Allocate,
        _ => Right::Read,
    },
    look,
    answer: |asked| Box::pin(answer(asked)),
    refuse,
};

/// The pool of its ids.
const POOL: &str = "gosnowflake";
const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json; charset=utf-8";
const NOT_FIT: &str = "worker not fit";
/// The largest worker that ten bits hold.
const WORKER_MAX: i64 = 1023;

/// Where a path leads.
enum Route<'p> {
    /// An id; with the text that stands for a worker.
    Worker(&'p str),
    Ping,
    /// The same path without the slash at its end.
    Without(&'p str),
}

impl<'p> Route<'p> {
    fn of(path: &'p str) -> Option<Route<'p>> {
        let exact = |path: &'p str| match path.strip_prefix("/worker/") {
            Some(worker) if !worker.is_empty() && !worker.contains('/') => Some(Route::Worker(worker)),
            _ if path == "/ping" => Some(Route::Ping),
            _ => None,
        };
        let shorter = || path.strip_suffix('/').filter(|path| exact(path).is_some());
        exact(path).or_else(|| shorter().map(Route::Without))
    }
}

fn look(head: &Head<'_>, config: &Config) -> Response {
    match Route::of(head.path).filter(|_| head.method == "HEAD") {
        Some(Route::Worker(worker)) => match check_worker(worker) {
            Ok(()) => Response::new(StatusCode::OK, JSON, ""),
            Err(error) => refuse(head, config, &error),
        },
        Some(Route::Ping) => Response::new(StatusCode::OK, TEXT, ""),
        Some(Route::Without(path)) => moved(path),
        None => refuse(head, config, &no_such_path()),
    }
}

async fn answer(asked: &Asked<'_>) -> Answer<Response> {
    let route = Route::of(asked.head.path).filter(|_| asked.head.method == "GET");
    match route.ok_or_else(no_such_path)? {
        Route::Ping => Ok(Response::new(StatusCode::OK, TEXT, "pong")),
        Route::Without(path) => Ok(moved(path)),
        Route::Worker(worker) => {
            check_worker(worker)?;
            let id = mint_one(asked.thread, &asked.who, asked.client.peer, POOL).await?;
            let strings = asked
                .thread
                .config()
                .faces
                .get::<crate::gosnowflake::Settings>()
                .strings;
            let quote = if strings { "\"" } else { "" };
            let body = format!(r#"{{"id":{quote}{id}{quote}}}"#);
            Ok(Response::new(StatusCode::OK, JSON, body))
        }
    }
}

fn check_worker(text: &str) -> Answer<()> {
    let worker = text.parse::<i64>().ok();
    match worker.is_some_and(|worker| (0..=WORKER_MAX).contains(&worker)) {
        true => Ok(()),
        false => Err(ServiceError::new(Code::InvalidArgument, NOT_FIT)),
    }
}

fn moved(path: &str) -> Response {
    let mut response = Response::empty(StatusCode::MOVED_PERMANENTLY);
    response.add("location", path.to_string());
    response
}

fn no_such_path() -> ServiceError {
    ServiceError::new(Code::UnknownRoute, "404 page not found")
}

fn refuse(_: &Head<'_>, _: &Config, error: &ServiceError) -> Response {
    let status = match error.code {
        Code::UnknownRoute => {
            return Response::new(StatusCode::NOT_FOUND, "text/plain", error.message.to_string());
        }
        // What keeps an id from being had, whatever it is.
        Code::NotFound | Code::Exhausted | Code::Conflict | Code::Internal => 503,
        other => other.row().http_status,
    };
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::SERVICE_UNAVAILABLE);
    let body = serde_json::json!({ "error": error.message }).to_string();
    Response::new(status, JSON, body)
}
