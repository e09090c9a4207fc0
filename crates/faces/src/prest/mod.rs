//! pREST's queries: `GET /_QUERIES/LOCATION/SCRIPT` gives a row with a number, for the scripts of the configuration.
//!
//! Only GET does. The original runs POST, PUT and DELETE as writes, whose answer says how many rows they touched and not
//! which number they took.
//!
//! Source: the documentation of pREST 2, "custom queries".

mod settings;

pub use settings::Settings;

use std::borrow::Cow;

use hyper::StatusCode;
use mintage_wire::percent;
use serde::Serialize;

use crate::json_number::put_number;
use crate::qualified::Qualified;
use mintage_server::chassis::auth::Right;
use mintage_server::chassis::config::{Config, Keys};
use mintage_server::chassis::error::{Answer, Code, ServiceError};
use mintage_server::chassis::web;
use mintage_server::chassis::web::answer::Response;
use mintage_server::chassis::web::foreign::{Asked, Foreign};
use mintage_server::chassis::web::form::Form;
use mintage_server::chassis::web::head::Head;
use mintage_server::chassis::{Face, SettingsOf};
use settings::{Of, Query};

/// The row of this face.
pub(crate) const FACE: Face = Face {
    name: "prest",
    label: "prest",
    title: "pREST's HTTP",
    section: "faces.prest",
    port: 3001,
    listen: |config| &config.faces.get::<Settings>().access.listen,
    example: |address| web::curl(address, "", "/_QUERIES/LOCATION/SCRIPT"),
    pools: |_| Vec::new(),
    serves: web::serves(|connection| web::begin(connection, &FOREIGN)),
    settings: Some(SettingsOf::of::<Settings>()),
    told: None,
    foreign: Some(&FOREIGN),
    calls: None,
};

static FOREIGN: Foreign = Foreign {
    access: |config| &config.faces.get::<Settings>().access,
    owns: |path| path.starts_with(QUERIES),
    methods: METHODS,
    reads_all_headers: false,
    knows_tokens: false,
    is_probe: |_| false,
    right: |_| Right::Allocate,
    look: |head, config| match script(head, config.faces.get::<Settings>()) {
        Ok(_) if head.method == "OPTIONS" => {
            let mut response = Response::empty(StatusCode::OK);
            response.add("allow", METHODS);
            response
        }
        Ok(_) => Response::new(StatusCode::OK, JSON, ""),
        Err(error) => refuse(head, config, &error).refusing(error.code),
    },
    answer: |asked| Box::pin(answer(asked)),
    refuse,
};

const QUERIES: &str = "/_QUERIES/";
const JSON: &str = "application/json";
const METHODS: &str = "GET";

async fn answer(asked: &Asked<'_>) -> Answer<Response> {
    let config = asked.thread.config();
    let settings = &config.faces.get::<Settings>();
    let query = script(asked.head, settings)?;
    if asked.head.method != "GET" {
        let message = "a script gives its number to GET alone: a write answers how many rows it touched";
        return Err(ServiceError::new(Code::MethodNotAllowed, message));
    }
    let (key, keys) = match &query.of {
        Of::Sequence(name) => {
            let create = settings.keys.create;
            let keys = Keys {
                create,
                ..Keys::default()
            };
            (name.to_string(), Cow::Owned(keys))
        }
        Of::Parameter(name) => {
            let given = Form::of_query(asked.head).get(name).ok_or_else(|| {
                let message = format!("could not parse script: the query has no parameter {name}");
                ServiceError::new(Code::InvalidArgument, message)
            })?;
            let name = Qualified::parse(&given).map_err(|_| not_executed(Code::InvalidName))?;
            (name.key(), Cow::Borrowed(&settings.keys))
        }
    };
    let keyed = asked.keyed(&keys);
    let number = keyed
        .take_one(key.as_bytes())
        .await
        .map_err(|error| match error.code {
            Code::NotFound | Code::Exhausted => not_executed(error.code),
            _ => error,
        })?;
    Ok(row(&query.column, number, settings.strings))
}

/// The script that a request is for, whatever its database: there is one here.
fn script<'s>(head: &Head<'_>, settings: &'s Settings) -> Answer<&'s Query> {
    let Some(path) = head.path.strip_prefix(QUERIES) else {
        return Err(ServiceError::new(Code::UnknownRoute, "there is no such path"));
    };
    let segments: Vec<&str> = path.split('/').collect();
    let (location, script) = match segments[..] {
        [location, script] | [_, location, script] => (location, script),
        _ => return Err(ServiceError::new(Code::UnknownRoute, "there is no such path")),
    };
    let decoded = |text: &str| {
        let bytes = percent::decode(text).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let path = format!("{}/{}", decoded(location), decoded(script));
    settings.queries.0.get(&path).ok_or_else(|| {
        let message = format!("could not get script {path}, could not load script: query not found");
        ServiceError::new(Code::InvalidArgument, message)
    })
}

/// What the original answers when PostgreSQL refuses.
fn not_executed(code: Code) -> ServiceError {
    ServiceError::new(code, "could not execute sql, check your prest logs")
}

/// One row, written as `jsonb` writes it: a blank after the colon.
fn row(column: &str, number: i64, strings: bool) -> Response {
    let mut body = b"[{".to_vec();
    body.extend_from_slice(serde_json::Value::from(column).to_string().as_bytes());
    body.extend_from_slice(b": ");
    put_number(number, strings, &mut body);
    body.extend_from_slice(b"}]");
    Response::new(StatusCode::OK, JSON, body)
}

#[derive(Serialize)]
struct Refusal<'a> {
    error: &'a str,
}

fn refuse(_: &Head<'_>, _: &Config, error: &ServiceError) -> Response {
    // What PostgreSQL refuses is 400 here, whatever it was.
    let status = match error.code {
        Code::NotFound | Code::Exhausted => StatusCode::BAD_REQUEST,
        code => StatusCode::from_u16(code.row().http_status).expect("a row of CODES has a status"),
    };
    let body = mintage_wire::json::to_vec(&Refusal {
        error: &error.message,
    });
    let mut response = Response::new(status, JSON, body.expect("texts are JSON"));
    match status {
        StatusCode::METHOD_NOT_ALLOWED => response.add("allow", METHODS),
        StatusCode::UNAUTHORIZED => response.add("www-authenticate", "Bearer"),
        StatusCode::SERVICE_UNAVAILABLE if error.retry_after_s.is_none() => {
            response.add("retry-after", RETRY_S.to_string());
        }
        _ => {}
    }
    response
}

/// When to ask a server again that does not know when it will answer.
const RETRY_S: u64 = 5;
