//! Leaf's server: segments and snowflakes over HTTP, as its clients ask for them.

pub(crate) mod settings;

use hyper::StatusCode;

use super::keyed::Keyed;
use super::web;
use super::web::answer::Response;
use super::web::foreign::{Asked, Foreign};
use super::web::head::Head;
use super::{Face, NeededPool};
use crate::auth::Right;
use crate::config::Config;
use crate::error::{Answer, Code, ServiceError};
use crate::transport::{Endpoint, Transport};

/// The row of this face.
pub(super) const FACE: Face = Face {
    name: "leaf",
    label: "leaf",
    title: "Leaf's HTTP",
    section: "faces.leaf",
    port: 8080,
    speaks: &[Transport::Tcp, Transport::Unix],
    listen: |config| &config.faces.leaf.access.listen,
    example: |address| match address {
        Endpoint::Tcp(address) => format!("curl http://{address}/api/snowflake/get/any"),
        Endpoint::Unix(path) => format!(
            "curl --unix-socket {} http://localhost/api/snowflake/get/any",
            path.display()
        ),
    },
    pools: |_| {
        vec![NeededPool {
            name: "leaf".into(),
            preset: "leaf",
        }]
    },
    serves: web::serves(|connection| web::begin(connection, &FOREIGN)),
    foreign: Some(&FOREIGN),
};

static FOREIGN: Foreign = Foreign {
    access: |config| &config.faces.leaf.access,
    owns: |path| path.starts_with("/api/"),
    methods: "GET, POST",
    reads_all_headers: false,
    knows_tokens: false,
    right: |_| Right::Allocate,
    look: |_, _| Response::new(StatusCode::OK, TEXT, ""),
    answer: |asked| Box::pin(answer(asked)),
    refuse,
};

const TEXT: &str = "text/plain;charset=UTF-8";

async fn answer(asked: &Asked<'_>) -> Answer<Response> {
    let config = asked.thread.config();
    let keyed = Keyed {
        thread: asked.thread,
        keys: &config.faces.leaf.keys,
        who: &asked.who,
        peer: asked.client.peer,
    };
    match asked.head.path.strip_prefix("/api/segment/get/") {
        Some(key) => {
            let number = keyed.take_one(key.as_bytes()).await?;
            Ok(Response::new(StatusCode::OK, TEXT, number.to_string()))
        }
        None => Err(ServiceError::new(Code::UnknownRoute, "no such path")),
    }
}

fn refuse(_: &Head<'_>, _: &Config, error: &ServiceError) -> Response {
    Response::new(StatusCode::INTERNAL_SERVER_ERROR, TEXT, error.message.as_bytes())
}
