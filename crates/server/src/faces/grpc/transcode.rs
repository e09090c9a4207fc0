//! Calls that are requests of HTTP in another form: a field that the path names stands there, the others are the query or
//! the document, and the answer's document is the answer's message. So what may be asked, by whom, and what comes of it is
//! said once.

use http_body_util::Full;
use hyper::body::Bytes;
use mintage_wire::{OPERATIONS, Operation, Takes, percent};
use prost_reflect::{DeserializeOptions, DynamicMessage, MessageDescriptor, SerializeOptions, Value};
use serde_json::{Map, Value as Json};

use super::asking::Asking;
use super::message::{Reply, no_message};
use super::schema;
use crate::error::{Code, ServiceError};
use crate::faces::http;
use crate::faces::web::answer::Response;
use crate::faces::web::head::{Head, Media};
use crate::service::Answer;

/// Answers a call of a method.
pub(super) async fn answer(asking: &Asking, name: &str, message: &[u8]) -> Answer<Reply> {
    let method = schema::method(name)?;
    let operation = OPERATIONS.iter().find(|row| format!("{:?}", row.op) == name);
    let operation = operation.ok_or_else(|| schema::unknown(name))?;
    let asked = DynamicMessage::decode(method.input(), message).map_err(|error| no_message(&error))?;
    let response = Request::of(operation, &asked)?
        .answer(asking, operation.method)
        .await?;
    Ok(Reply::one(&read(response.body(), method.output())?))
}

/// A request of HTTP.
#[derive(PartialEq, Debug, Default)]
pub(super) struct Request {
    pub(super) path: String,
    pub(super) query: String,
    pub(super) body: Option<Vec<u8>>,
}

impl Request {
    /// What an operation is asked for in a message.
    pub(super) fn of(operation: &Operation, asked: &DynamicMessage) -> Answer<Request> {
        let mut fields = fields(asked);
        let mut path = String::new();
        for segment in operation.path.split('/').skip(1) {
            path.push('/');
            match segment.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
                Some(name) => {
                    fields.remove(name);
                    path.push_str(&percent::encode(&argument(asked, name)?));
                }
                None => path.push_str(segment),
            }
        }
        Ok(match operation.takes {
            Takes::Document(_) => Request {
                path,
                body: Some(document(fields).to_string().into_bytes()),
                ..Request::default()
            },
            Takes::Nothing | Takes::Parameters | Takes::File => Request {
                path,
                query: query(fields),
                body: None,
            },
        })
    }

    /// Does what it asks for.
    pub(super) async fn answer(self, asking: &Asking, method: &str) -> Answer<Response> {
        let head = Head {
            method,
            path: &self.path,
            query: &self.query,
            accept: Some(Media::Json.as_str()),
            content_type: self.body.is_some().then_some(Media::Json.as_str()),
            content_length: None,
            ..asking.head()
        };
        let body = self.body.map(|body| Full::new(Bytes::from(body)));
        http::perform(&asking.thread, &asking.client, &head, body).await
    }
}

/// What a message says, under the names of `proto/`.
fn fields(asked: &DynamicMessage) -> Map<String, Json> {
    let options = SerializeOptions::new().use_proto_field_name(true);
    match asked.serialize_with_options(serde_json::value::Serializer, &options) {
        Ok(Json::Object(fields)) => fields,
        // A message is an object; what cannot be one says nothing.
        _ => Map::new(),
    }
}

/// A field that stands in the path, whatever its value.
fn argument(asked: &DynamicMessage, name: &str) -> Answer<String> {
    let value = asked.get_field_by_name(name);
    match value.as_deref() {
        Some(Value::String(text)) if !text.is_empty() => Ok(text.clone()),
        Some(Value::U64(number)) => Ok(number.to_string()),
        _ => Err(ServiceError::new(
            Code::InvalidArgument,
            format!("{name} is empty"),
        )),
    }
}

/// The document of a request: the one field that is a message, else all that stands nowhere else.
fn document(mut fields: Map<String, Json>) -> Json {
    let nested = fields.iter().find(|(_, value)| value.is_object());
    match nested.map(|(name, _)| name.clone()) {
        Some(name) => fields.remove(&name).unwrap_or_default(),
        None => Json::Object(fields),
    }
}

/// The same as a query; a table of options is as many parameters.
fn query(fields: Map<String, Json>) -> String {
    let mut pairs = Vec::new();
    for (name, value) in fields {
        match value {
            Json::Object(options) => pairs.extend(options),
            value => pairs.push((name, value)),
        }
    }
    let pair = |(name, value): (String, Json)| {
        let value = value.as_str().map_or_else(|| value.to_string(), String::from);
        format!("{}={}", percent::encode(&name), percent::encode(&value))
    };
    pairs.into_iter().map(pair).collect::<Vec<_>>().join("&")
}

/// The message of a document; of none, an empty one.
fn read(document: &[u8], message: MessageDescriptor) -> Answer<DynamicMessage> {
    if document.is_empty() {
        return Ok(DynamicMessage::new(message));
    }
    let options = DeserializeOptions::new().deny_unknown_fields(false);
    let mut document = serde_json::Deserializer::from_slice(document);
    DynamicMessage::deserialize_with_options(message, &mut document, &options)
        .map_err(|error| ServiceError::new(Code::Internal, format!("a document is no message: {error}")))
}
