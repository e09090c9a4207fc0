//! How messages stand in bodies: five bytes before each (the specification of gRPC over HTTP/2), and the status behind all.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use hyper::Response;
use hyper::body::{Body, Bytes, Frame};
use hyper::header::{self, HeaderMap, HeaderValue};
use prost::Message;
use tonic::Status;

use super::status;
use crate::error::{Code, ServiceError};
use crate::faces::web::rpc::LocalBody;
use crate::service::Answer;

/// What stands before a message: whether it is compressed, and its length.
const HEAD_BYTES: usize = 5;

/// The message that a body consists of.
///
/// # Errors
/// [`Code::Protocol`]: it is not one message; [`Code::UnsupportedMediaType`]: it is compressed.
pub(super) fn only(body: &[u8]) -> Answer<&[u8]> {
    let broken = || ServiceError::new(Code::Protocol, "the body is not one message of gRPC");
    let (head, message) = body.split_first_chunk::<HEAD_BYTES>().ok_or_else(broken)?;
    let [compressed, length @ ..] = *head;
    if compressed != 0 {
        let why = "messages may not be compressed";
        return Err(ServiceError::new(Code::UnsupportedMediaType, why));
    }
    match u32::from_be_bytes(length) as usize == message.len() {
        true => Ok(message),
        false => Err(broken()),
    }
}

/// Reads a message.
///
/// # Errors
/// [`Code::InvalidBody`].
pub(super) fn read<M: Message + Default>(message: &[u8]) -> Answer<M> {
    M::decode(message).map_err(|error| no_message(&error))
}

/// The refusal of bytes that are no message of the method's.
pub(super) fn no_message(error: &prost::DecodeError) -> ServiceError {
    ServiceError::new(Code::InvalidBody, error.to_string())
        .with_hint("proto/mintage/v1/mint.proto describes the messages")
}

/// Writes a message behind others.
pub(super) fn write(message: &impl Message, out: &mut Vec<u8>) {
    let length = message.encoded_len();
    out.reserve(HEAD_BYTES + length);
    out.push(0);
    // Nothing that is answered is near 4 GiB.
    out.extend_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes());
    message.encode_raw(out);
}

/// What makes the messages of a stream, some at a time.
pub(super) trait Source: 'static {
    /// The next messages, as they stand in a body; `None` behind the last.
    async fn next(&mut self) -> Answer<Option<Vec<u8>>>;
}

/// An answer.
pub(super) struct Reply(LocalBody);

impl Reply {
    /// One message.
    pub(super) fn one(message: &impl Message) -> Reply {
        let mut body = Vec::new();
        write(message, &mut body);
        Reply(Box::pin(Whole {
            body: Some(body.into()),
            ended: false,
        }))
    }

    /// The messages of a source, made as they are read.
    pub(super) fn stream(source: impl Source) -> Reply {
        Reply(Box::pin(Stream {
            making: Some(Box::pin(make(source))),
        }))
    }

    pub(super) fn into_response(self) -> Response<LocalBody> {
        let mut response = Response::new(self.0);
        let grpc = HeaderValue::from_static("application/grpc");
        response.headers_mut().insert(header::CONTENT_TYPE, grpc);
        response
    }
}

/// A refusal: a head alone.
pub(super) fn refusal(status: &Status) -> Response<LocalBody> {
    let response = status.clone().into_http::<Whole>();
    response.map(|nothing| Box::pin(nothing) as LocalBody)
}

/// The trailers behind what was answered well.
fn done() -> Frame<Bytes> {
    let ok = (Status::GRPC_STATUS, HeaderValue::from_static("0"));
    Frame::trailers(HeaderMap::from_iter([ok]))
}

/// A body that is known from its beginning; by default, none.
struct Whole {
    body: Option<Bytes>,
    ended: bool,
}

impl Default for Whole {
    fn default() -> Self {
        Whole {
            body: None,
            ended: true,
        }
    }
}

impl Body for Whole {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        if let Some(body) = self.body.take() {
            return Poll::Ready(Some(Ok(Frame::data(body))));
        }
        let ended = std::mem::replace(&mut self.ended, true);
        Poll::Ready((!ended).then(|| Ok(done())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_none() && self.ended
    }
}

/// A source and what it has made.
type Made<S> = (S, Answer<Option<Vec<u8>>>);

async fn make<S: Source>(mut source: S) -> Made<S> {
    let made = source.next().await;
    (source, made)
}

/// A body that is made as it is read.
struct Stream<S> {
    /// `None` once it has ended.
    making: Option<Pin<Box<dyn Future<Output = Made<S>>>>>,
}

impl<S: Source> Body for Stream<S> {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let Some(making) = &mut self.making else {
            return Poll::Ready(None);
        };
        let (source, made) = ready!(making.as_mut().poll(cx));
        self.making = None;
        Poll::Ready(Some(Ok(match made {
            Ok(Some(messages)) => {
                self.making = Some(Box::pin(make(source)));
                Frame::data(messages.into())
            }
            Ok(None) => done(),
            Err(error) => {
                let mut trailers = HeaderMap::new();
                // What cannot stand in a header is left out by the library.
                let _ = status::of(&error).add_header(&mut trailers);
                Frame::trailers(trailers)
            }
        })))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_whole_plain_message_is_read_and_nothing_else() {
        let mut body = Vec::new();
        write(&"orders".to_string(), &mut body);
        assert_eq!(read::<String>(only(&body).unwrap()), Ok("orders".to_string()));
        let refused = |body: &[u8]| only(body).unwrap_err().code;
        for cut in 0..body.len() {
            assert_eq!(refused(&body[..cut]), Code::Protocol, "{cut}");
        }
        assert_eq!(refused(&[&body[..], &body[..]].concat()), Code::Protocol);
        body[0] = 1;
        assert_eq!(refused(&body), Code::UnsupportedMediaType);
        assert_eq!(read::<String>(b"\x0a\xff").unwrap_err().code, Code::InvalidBody);
    }
}
