//! Bodies of requests, read within their limits.

use std::rc::Rc;

use http_body_util::{BodyExt, Limited};
use hyper::body::Body;

use crate::config::Config;
use crate::error::{Code, ServiceError};
use crate::service::Answer;
use crate::thread::ServingThread;

/// How long a body may be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BodyLimit {
    pub(crate) bytes: usize,
    setting: &'static str,
}

impl BodyLimit {
    /// Of a request.
    pub(crate) fn of_request(config: &Config) -> BodyLimit {
        BodyLimit {
            bytes: config.http_max_body.0,
            setting: "server.http.max_body",
        }
    }

    /// Of a file that is sent to be looked at.
    pub(crate) fn of_file(config: &Config) -> BodyLimit {
        BodyLimit {
            bytes: config.http_max_file.0,
            setting: "server.http.max_file",
        }
    }

    /// The refusal of what is longer.
    pub(crate) fn refuse(self) -> ServiceError {
        let message = format!("a body has at most {} bytes here ({})", self.bytes, self.setting);
        ServiceError::new(Code::BodyTooLarge, message)
    }
}

/// Reads a body, within its limits of length and time; none is an empty one.
pub(crate) async fn read_body<B>(
    thread: &Rc<ServingThread>,
    limit: BodyLimit,
    body: Option<B>,
) -> Answer<Vec<u8>>
where
    B: Body<Error: Into<Box<dyn std::error::Error + Send + Sync>>>,
{
    let Some(body) = body.filter(|body| !body.is_end_stream()) else {
        return Ok(Vec::new());
    };
    let config = thread.config();
    let collected = Limited::new(body, limit.bytes).collect();
    match tokio::time::timeout(config.http_request_timeout, collected).await {
        Ok(Ok(collected)) => Ok(collected.to_bytes().to_vec()),
        Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => Err(limit.refuse()),
        Ok(Err(_)) => Err(not_whole()),
        Err(_) => Err(late()),
    }
}

pub(crate) fn not_whole() -> ServiceError {
    ServiceError::new(Code::Protocol, "the body did not arrive whole")
}

pub(crate) fn late() -> ServiceError {
    ServiceError::new(Code::RequestTimeout, "the body did not arrive in time")
}
