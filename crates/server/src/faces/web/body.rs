//! Bodies of requests, read within their limits.

use std::rc::Rc;

use http_body_util::{BodyExt, Limited};
use hyper::body::Body;

use super::head::too_large;
use crate::error::{Code, ServiceError};
use crate::service::Answer;
use crate::thread::ServingThread;

/// Reads a body, within its limits of length and time; none is an empty one.
pub(crate) async fn read_body<B>(thread: &Rc<ServingThread>, body: Option<B>) -> Answer<Vec<u8>>
where
    B: Body<Error: Into<Box<dyn std::error::Error + Send + Sync>>>,
{
    let Some(body) = body.filter(|body| !body.is_end_stream()) else {
        return Ok(Vec::new());
    };
    let config = thread.config();
    let collected = Limited::new(body, config.http_max_body.0).collect();
    match tokio::time::timeout(config.http_request_timeout, collected).await {
        Ok(Ok(collected)) => Ok(collected.to_bytes().to_vec()),
        Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => Err(too_large(&config)),
        Ok(Err(_)) => Err(ServiceError::new(Code::Protocol, "the body did not arrive whole")),
        Err(_) => Err(ServiceError::new(
            Code::RequestTimeout,
            "the body did not arrive in time",
        )),
    }
}
