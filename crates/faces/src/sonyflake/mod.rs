//! sonyflake's example server, and servers of bare numbers as pysnowflake has one.

mod settings;

pub use settings::Settings;

use std::sync::atomic::{AtomicU64, Ordering};

use hyper::StatusCode;
use mintage::{Clock, Parts};

use crate::pooled::mint_one;
use mintage_server::chassis::auth::Right;
use mintage_server::chassis::config::Config;
use mintage_server::chassis::error::{Answer, Code, ServiceError};
use mintage_server::chassis::web;
use mintage_server::chassis::web::answer::Response;
use mintage_server::chassis::web::foreign::{Asked, Foreign};
use mintage_server::chassis::web::head::Head;
use mintage_server::chassis::{Face, NeededPool, SettingsOf};
use settings::Shape;

/// The row of this face.
pub(crate) const FACE: Face = Face {
    name: "sonyflake",
    label: "sonyflake",
    title: "sonyflake's HTTP",
    section: "faces.sonyflake",
    port: 8081,
    listen: |config| &config.faces.get::<Settings>().access.listen,
    example: |address| web::curl(address, "", "/"),
    pools: |config| {
        let name = pool_of(config.faces.get::<Settings>().shape);
        vec![NeededPool {
            name: name.into(),
            preset: name,
        }]
    },
    serves: web::serves(|connection| web::begin(connection, &FOREIGN)),
    // Every path is its own.
    settings: Some(SettingsOf::of::<Settings>()),
    told: None,
    foreign: None,
    calls: None,
};

static FOREIGN: Foreign = Foreign {
    access: |config| &config.faces.get::<Settings>().access,
    owns: |_| true,
    methods: "GET, POST",
    reads_all_headers: false,
    knows_tokens: false,
    is_probe: |_| false,
    right: |_| Right::Allocate,
    look: |head, config| match path_of(head, config) {
        Some(_) => Response::new(StatusCode::OK, media_type(config), ""),
        None => refuse(head, config, &no_such_path()),
    },
    answer: |asked| Box::pin(answer(asked)),
    refuse,
};

/// The pool of a shape, which is called as its preset is. Version 2 has one of its own: its ids have another epoch, so
/// that those of both can be equal, and none may be read as the other's.
fn pool_of(shape: Shape) -> &'static str {
    match shape {
        Shape::V1 | Shape::Number => "sonyflake",
        Shape::V2 => "sonyflake2",
    }
}

/// What a path asks for.
enum Wanted {
    Id,
    Stats,
}

/// The original has one answer for every path; servers of bare numbers have two paths.
fn path_of(head: &Head<'_>, config: &Config) -> Option<Wanted> {
    match (config.faces.get::<Settings>().shape, head.path) {
        (Shape::Number, "/stats") => Some(Wanted::Stats),
        (Shape::Number, path) if path != "/" => None,
        _ => Some(Wanted::Id),
    }
}

fn media_type(config: &Config) -> &'static str {
    match config.faces.get::<Settings>().shape {
        Shape::Number => "application/json",
        Shape::V1 | Shape::V2 => "application/json; charset=utf-8",
    }
}

/// What `/stats` tells of all threads; kept for bare numbers alone.
#[derive(Debug, Default)]
struct Told {
    /// The highest id that was answered.
    last: AtomicU64,
    /// How often there was none.
    errors: AtomicU64,
}

async fn answer(asked: &Asked<'_>) -> Answer<Response> {
    let config = asked.thread.config();
    let shape = config.faces.get::<Settings>().shape;
    let told = || asked.thread.shared().of_face::<Told>();
    let body = match path_of(asked.head, &config).ok_or_else(no_such_path)? {
        Wanted::Stats => stats(asked, &told())?,
        Wanted::Id => {
            let minted = mint_one(asked.thread, &asked.who, asked.client.peer, pool_of(shape)).await;
            if shape == Shape::Number {
                match &minted {
                    Ok(id) => told().last.fetch_max(*id, Ordering::Relaxed),
                    Err(_) => told().errors.fetch_add(1, Ordering::Relaxed),
                };
            }
            let id = minted?;
            let quote = if config.faces.get::<Settings>().strings {
                "\""
            } else {
                ""
            };
            let shown = format!("{quote}{id}{quote}");
            match shape {
                Shape::Number => shown,
                Shape::V1 | Shape::V2 => with_parts(shape, id, &shown, parts(asked, shape, id)?),
            }
        }
    };
    Ok(Response::new(StatusCode::OK, media_type(&config), body))
}

fn with_parts(shape: Shape, id: u64, shown: &str, parts: Parts) -> String {
    let Parts {
        tick,
        worker,
        sequence,
    } = parts;
    match shape {
        Shape::V2 => {
            format!(r#"{{"id":{shown},"machine":{worker},"sequence":{sequence},"time":{tick}}}"#)
        }
        Shape::V1 | Shape::Number => {
            let msb = id >> 63;
            format!(
                r#"{{"id":{shown},"machine-id":{worker},"msb":{msb},"sequence":{sequence},"time":{tick}}}"#
            )
        }
    }
}

/// The parts of an id, by the layout that its pool has: an operator may have made it with another one.
fn parts(asked: &Asked<'_>, shape: Shape, id: u64) -> Answer<Parts> {
    let pool = asked.thread.service().ledger().pool(pool_of(shape));
    let read = pool.and_then(|pool| pool.layout().unpack(id).ok());
    read.ok_or_else(|| ServiceError::new(Code::Conflict, "the pool was changed at the same moment"))
}

/// What pysnowflake's client reads. Nothing overloads the sequence: whoever asks too fast waits for the next tick.
fn stats(asked: &Asked<'_>, told: &Told) -> Answer<String> {
    let pool = pool_of(Shape::Number);
    let pool = asked.thread.service().ledger().pool(pool);
    let last = told.last.load(Ordering::Relaxed);
    let (mut last_ms, mut sequence, mut worker) = (-1, 0, 0);
    if let Some(pool) = &pool {
        worker = pool.info().worker.unwrap_or(0);
        if last > 0
            && let Ok(parts) = pool.layout().unpack(last)
        {
            last_ms = pool.layout().time_of(parts.tick).unix_millis();
            sequence = parts.sequence;
        }
    }
    let now_ms = asked.thread.service().ledger().clock().unix_millis();
    let errors = told.errors.load(Ordering::Relaxed);
    Ok(format!(
        r#"{{"dc": 0, "worker": {worker}, "timestamp": {now_ms}, "last_timestamp": {last_ms}, "sequence": {sequence}, "sequence_overload": 0, "errors": {errors}}}"#
    ))
}

fn no_such_path() -> ServiceError {
    ServiceError::new(Code::UnknownRoute, "404 page not found")
}

fn refuse(_: &Head<'_>, _: &Config, error: &ServiceError) -> Response {
    let is_of_request = matches!(
        error.code.row().http_status,
        400..=405 | 408 | 411 | 413..=415 | 417 | 421 | 431
    ) && !matches!(error.code, Code::NotFound);
    let status = match is_of_request {
        true => error.code.row().http_status,
        false => 500,
    };
    let text = match error.code {
        Code::Exhausted => "over the time limit",
        _ => &error.message,
    };
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    Response::new(status, "text/plain; charset=utf-8", format!("{text}\n"))
}
