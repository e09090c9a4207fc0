//! Reflection: clients ask what methods and messages there are, as `/openapi.json` says it of HTTP.

use std::rc::Rc;

use hyper::body::Incoming;
use hyper::{Request, Response};
use mintage_wire::Op;
use tonic::codegen::Service;
use tonic_reflection::server::Builder;

use super::asking::Asking;
use super::schema;
use crate::auth::What;
use crate::faces::web::Client;
use crate::faces::web::rpc::LocalBody;
use crate::service::Answer;
use crate::thread::ServingThread;

const V1: &str = "/grpc.reflection.v1.";
const V1_ALPHA: &str = "/grpc.reflection.v1alpha.";

/// Whether a call is one of this service's.
pub(super) fn is_asked(path: &str) -> bool {
    path.starts_with(V1) || path.starts_with(V1_ALPHA)
}

/// Answers a call: a stream both ways, which the library serves.
pub(super) async fn answer(
    thread: &Rc<ServingThread>,
    client: &Rc<Client>,
    request: Request<Incoming>,
) -> Answer<Response<LocalBody>> {
    let (parts, body) = request.into_parts();
    let asking = Asking {
        thread: Rc::clone(thread),
        client: Rc::clone(client),
        parts,
    };
    asking.admit(Op::OpenApi, What::Nothing).await?;
    let is_alpha = asking.parts.uri.path().starts_with(V1_ALPHA);
    let request = Request::from_parts(asking.parts, body);
    let builder = Builder::configure()
        .register_encoded_file_descriptor_set(schema::DESCRIPTORS)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET);
    let described = "our own descriptors are sound";
    let answered = match is_alpha {
        true => builder.build_v1alpha().expect(described).call(request).await,
        false => builder.build_v1().expect(described).call(request).await,
    };
    let Ok(response) = answered;
    Ok(response.map(|body| Box::pin(body) as LocalBody))
}
