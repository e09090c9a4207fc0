//! gRPC: `mintage.v1.Mint` of `proto/`, health and reflection, on our own port of HTTP or one of its own.
//!
//! | file | what |
//! | --- | --- |
//! | `schema` | the messages, as `proto/` describes them |
//! | `message` | how they stand in bodies |
//! | `status` | refusals |
//! | `asking` | who calls, and whether he may |
//! | `transcode` | calls that are requests of HTTP in another form: all but those for numbers and streams |
//! | `numbers`, `streams` | numbers; blocks of numbers and ids, as fast as they are read |
//! | `health`, `reflection` | the services of these names |
//! | `testing` | the readers without a connection |

mod asking;
mod health;
mod message;
mod numbers;
mod reflection;
mod schema;
mod status;
mod streams;
#[cfg(feature = "testing")]
pub mod testing;
mod transcode;

use std::rc::Rc;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::http::request::Parts;
use hyper::{Request, Response, StatusCode};

use super::web::answer::Response as Answered;
use super::web::body::{BodyLimit, read_body};
use super::web::head::{Head, Media};
use super::web::io::One;
use super::web::rpc::{Call, Calling, Calls};
use super::web::sent::Sent;
use super::web::{self, Client, Guest, Site};
use super::{Face, Serves};
use crate::error::{Code, ServiceError};
use crate::faces;
use crate::service::{Answer, Door};
use crate::thread::ServingThread;
use crate::transport::Endpoint;
use crate::watch::Watch;
use asking::Asking;
use message::Reply;

/// The row of this face.
pub(super) const FACE: Face = Face {
    name: "grpc",
    label: "grpc",
    title: "gRPC",
    section: "server.grpc",
    port: 7602,
    listen: |config| &config.grpc_listen,
    example,
    pools: |_| Vec::new(),
    serves: Serves {
        ..web::serves(|connection| web::begin(connection, Alone))
    },
    settings: None,
    told: None,
    foreign: None,
    calls: Some(CALL),
};

const CALL: Call = call;

fn example(at: &Endpoint) -> String {
    let options = if at.is_tls() {
        "-cacert ca.pem"
    } else {
        "-plaintext"
    };
    format!(
        "grpcurl {options} -d '{{\"name\": \"orders\"}}' {} mintage.v1.Mint/Next",
        address(at)
    )
}

fn address(at: &Endpoint) -> String {
    at.tcp()
        .map_or_else(|| at.to_string(), |address| address.to_string())
}

/// A port where nothing but gRPC is spoken.
#[derive(Clone, Copy, Debug)]
struct Alone;

impl Site for Alone {
    type Body = Full<Bytes>;

    async fn answer(
        self,
        thread: &Rc<ServingThread>,
        _: &Guest<Self>,
        head: &Head<'_>,
        _: Option<Sent>,
    ) -> Answered {
        let why = "this port speaks gRPC alone, over HTTP/2";
        let error = ServiceError::new(Code::UnsupportedMediaType, why);
        thread.counters().refused(error.code);
        self.refuse(thread, head, &error)
    }

    fn refuse(self, _: &Door, _: &Head<'_>, error: &ServiceError) -> Answered {
        let status = StatusCode::from_u16(error.code.row().http_status).expect("a row has a status");
        let mut refused = Answered::new(status, Media::Text.as_str(), format!("{error}\n"));
        refused.close();
        refused
    }

    fn hands_over(self, _: &Door, _: &str) -> bool {
        false
    }

    fn calls(self, _: &Door) -> Option<Calls> {
        let found = faces::numbered().find(|(_, face)| face.calls.is_some());
        found.map(|(id, _)| (id, CALL))
    }

    fn for_hyper(
        self,
        response: Answered,
        _: &Rc<ServingThread>,
        _: Rc<Watch>,
        one: Rc<One>,
    ) -> Response<Full<Bytes>> {
        one.answered.set(true);
        response.for_hyper()
    }
}

/// Answers one call.
fn call(thread: Rc<ServingThread>, client: Rc<Client>, request: Request<Incoming>) -> Calling {
    Box::pin(async move {
        let counters = Rc::clone(&thread);
        counters.counters().requests(client.face, 1);
        let (arrived, face) = (mintage::boottime(), client.face);
        let response = match reflection::is_asked(request.uri().path()) {
            true => Box::pin(reflection::answer(&thread, &client, request)).await,
            false => {
                // What waits for its message has no state yet of what it will ask for.
                let (parts, body) = request.into_parts();
                let limit = BodyLimit::of_request(&thread.config());
                match read_body(&thread, limit, Some(body)).await {
                    Ok(body) => Box::pin(answer(thread, client, parts, &body))
                        .await
                        .map(Reply::into_response),
                    Err(error) => Err(error),
                }
            }
        };
        let took = mintage::boottime().saturating_sub(arrived);
        counters.counters().answered(face, 1, took);
        response.unwrap_or_else(|error| {
            counters.counters().refused(error.code);
            message::refusal(&status::of(&error))
        })
    })
}

async fn answer(thread: Rc<ServingThread>, client: Rc<Client>, parts: Parts, body: &[u8]) -> Answer<Reply> {
    let message = message::only(body)?;
    let asking = Asking {
        thread,
        client,
        parts,
    };
    let path = asking.parts.uri.path();
    match path.strip_prefix("/mintage.v1.Mint/") {
        Some("Next") => numbers::next(&asking, message).await,
        Some("NextStream") => streams::numbers(asking, message).await,
        Some("IdStream") => streams::ids(asking, message).await,
        Some(method) => transcode::answer(&asking, method, message).await,
        None => match path {
            "/grpc.health.v1.Health/Check" => health::check(&asking, message).await,
            "/grpc.health.v1.Health/Watch" => health::watch(asking, message).await,
            _ => Err(schema::unknown(path)),
        },
    }
}
