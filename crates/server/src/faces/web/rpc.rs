//! What a port of HTTP has to know of gRPC: which requests are calls, and what answers them.

use std::pin::Pin;
use std::rc::Rc;

use hyper::body::{Body, Bytes, Incoming};
use hyper::{Request, Response, header};

use super::Client;
use crate::metrics::FaceId;
use crate::thread::ServingThread;

/// A body that stays on its thread.
pub(crate) type LocalBody = Pin<Box<dyn Body<Data = Bytes, Error = tonic::Status>>>;

/// Answers a call.
pub(crate) type Call = fn(Rc<ServingThread>, Rc<Client>, Request<Incoming>) -> Calling;

/// An answer that is being made.
pub(crate) type Calling = Pin<Box<dyn Future<Output = Response<LocalBody>>>>;

/// The face that answers calls, and how.
pub(crate) type Calls = (FaceId, Call);

/// Whether a request is a call of gRPC.
pub(crate) fn is_call(request: &Request<Incoming>) -> bool {
    let found = request.headers().get(header::CONTENT_TYPE);
    found.is_some_and(|value| value.as_bytes().starts_with(b"application/grpc"))
}
