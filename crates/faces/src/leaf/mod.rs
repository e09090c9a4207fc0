//! Leaf's server: segments and snowflakes over HTTP, as its clients ask for them.
//!
//! | file | what |
//! | --- | --- |
//! | `route` | paths |
//! | `decode` | `/decodeSnowflakeId` |
//! | `pages` | `/cache` and `/db` |
//! | `refusal` | errors in the form of its framework |
//!
//! Beside the original: a batch by `?count=N`, whole keys with their dots, and no `-3` because a step was small.

mod decode;
mod pages;
mod refusal;
mod route;
mod settings;

pub use settings::Settings;

use hyper::StatusCode;

use crate::pooled::mint_one;
use mintage_server::chassis::auth::{Right, What};
use mintage_server::chassis::config::Config;
use mintage_server::chassis::error::{Answer, Code, ServiceError};
use mintage_server::chassis::web::answer::Response;
use mintage_server::chassis::web::foreign::{Asked, Foreign};
use mintage_server::chassis::web::form::Form;
use mintage_server::chassis::web::head::Head;
use mintage_server::chassis::web::{self, servlet};
use mintage_server::chassis::{Face, NeededPool, SettingsOf};
use route::Route;

/// The row of this face.
pub(crate) const FACE: Face = Face {
    name: "leaf",
    label: "leaf",
    title: "Leaf's HTTP",
    section: "faces.leaf",
    port: 8080,
    listen: |config| &config.faces.get::<Settings>().access.listen,
    example: |address| web::curl(address, "", "/api/snowflake/get/any"),
    pools: |_| {
        vec![NeededPool {
            name: POOL.into(),
            preset: "leaf",
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
    methods: "GET, POST",
    reads_all_headers: false,
    knows_tokens: false,
    is_probe: |_| false,
    right: |head| match Route::of(head.path) {
        Some(Route::Cache | Route::Db | Route::Decode | Route::Style) => Right::Read,
        _ => Right::Allocate,
    },
    look,
    answer: |asked| Box::pin(answer(asked)),
    refuse: refusal::refuse,
};

/// The pool of its snowflakes.
const POOL: &str = "leaf";

const STYLE: &str = "body{font-family:sans-serif;margin:1em}\n.table{border-collapse:collapse}\n\
                     .table th,.table td{padding:.3em .8em;border-bottom:1px solid #ddd;text-align:left}\n\
                     .table-hover tbody tr:hover{background:#f5f5f5}\n";

fn look(head: &Head<'_>, config: &Config) -> Response {
    let Some(route) = Route::of(head.path) else {
        return refusal::refuse(head, config, &no_such_path());
    };
    let mut response = Response::new(StatusCode::OK, route.media_type(head), "");
    if head.method == "OPTIONS" {
        response.add("allow", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS");
    }
    response
}

async fn answer(asked: &Asked<'_>) -> Answer<Response> {
    let config = asked.thread.config();
    let route = Route::of(asked.head.path).ok_or_else(no_such_path)?;
    let form = Form::of(asked.head, asked.body);
    if route.is_off(&config) {
        let has_zero = matches!(route, Route::Segment(_) | Route::Snowflake);
        return match has_zero && config.faces.get::<Settings>().zero_when_off {
            true => Ok(ok(&route, asked.head, "0")),
            false => Err(ServiceError::new(Code::NotFound, refusal::SWITCHED_OFF)),
        };
    }
    let body = match &route {
        Route::Segment(key) => segment(asked, &form, key).await?,
        Route::Snowflake => mint_one(asked.thread, &asked.who, asked.client.peer, POOL)
            .await?
            .to_string(),
        Route::Decode => match form.joined("snowflakeId") {
            Some(id) => decode::decode(&id, &config.faces.get::<Settings>().time_zone),
            None => return Err(ServiceError::new(Code::InvalidArgument, refusal::NO_ID)),
        },
        Route::Cache | Route::Db => {
            // They list every key.
            asked.who.check(Right::Read, What::Everything)?;
            match route {
                Route::Cache => pages::cache(asked).await?,
                _ => pages::db(asked).await?,
            }
        }
        Route::Style => STYLE.to_string(),
    };
    Ok(ok(&route, asked.head, body))
}

fn ok(route: &Route<'_>, head: &Head<'_>, body: impl Into<String>) -> Response {
    Response::new(StatusCode::OK, route.media_type(head), body.into())
}

fn no_such_path() -> ServiceError {
    ServiceError::new(Code::UnknownRoute, "No message available")
}

/// A key without the type of content that it ends in.
fn without_ending(key: &[u8]) -> Option<Vec<u8>> {
    let ending = servlet::extension(std::str::from_utf8(key).ok()?)?.len() + 1;
    let short = &key[..key.len() - ending];
    (!short.is_empty()).then(|| short.to_vec())
}

/// One number as the original answers it; with `count`, that many, one a line.
async fn segment(asked: &Asked<'_>, form: &Form<'_>, key: &str) -> Answer<String> {
    let config = asked.thread.config();
    let keyed = asked.keyed(&config.faces.get::<Settings>().keys);
    let mut key = route::key(key, config.faces.get::<Settings>().cut_at_dot)?;
    // The original takes no ending for part of a key. Here keys may have dots, so that a key as it stands comes first.
    if let Some(short) = without_ending(&key)
        && !keyed.exists(&key).await?
    {
        key = short.into();
    }
    let Some(count) = form.get("count") else {
        return Ok(keyed.take_one(&key).await?.to_string());
    };
    let count = asked.thread.count(count.parse().ok())?;
    let mut body = String::with_capacity(count as usize * 8);
    keyed
        .take(&key, count, |run| {
            for number in run.iter() {
                body.push_str(itoa::Buffer::new().format(number));
                body.push('\n');
            }
        })
        .await?;
    Ok(body)
}
