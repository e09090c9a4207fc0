//! The readers of this face without a connection, for fuzzing. Available with the feature `testing`.

use mintage_wire::Operation;
use prost_reflect::DynamicMessage;

use super::{message, schema, transcode};
use crate::error::Code;

/// What a call is as a request of HTTP.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Asked {
    /// Its path.
    pub path: String,
    /// Its query, without the question mark.
    pub query: String,
    /// Its document.
    pub body: Option<Vec<u8>>,
}

/// The one message in a body.
///
/// # Errors
/// The code of the refusal.
pub fn only(body: &[u8]) -> Result<&[u8], Code> {
    message::only(body).map_err(|error| error.code)
}

/// Reads a message that asks for an operation.
///
/// # Errors
/// The code of the refusal.
pub fn asked(operation: &Operation, message: &[u8]) -> Result<Asked, Code> {
    let read = || {
        let method = schema::method(&format!("{:?}", operation.op))?;
        let asked =
            DynamicMessage::decode(method.input(), message).map_err(|error| message::no_message(&error))?;
        transcode::Request::of(operation, &asked)
    };
    let transcode::Request { path, query, body } = read().map_err(|error| error.code)?;
    Ok(Asked { path, query, body })
}
