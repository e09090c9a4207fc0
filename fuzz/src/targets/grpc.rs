//! Bodies of calls of gRPC, and the requests that their messages are.

use mintage_server::grpc::testing::{Asked, asked, only};
use mintage_server::http::testing::{Start, documents, operation, start};
use mintage_wire::OPERATIONS;

use crate::{Target, saw};

pub(super) fn target() -> Target {
    let messages: [&[u8]; 7] = [
        b"",
        b"\x0a\x06orders",
        b"\x0a\x04a/..\x10\x05",
        b"\x0a\x06orders\x12\x0a\x08\x01\x10\xfb\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        b"\x0a\x01p\x10\x07\x1a\x02id",
        b"\x08\x07\x12\x0a\x0a\x03key\x12\x03val",
        b"\x0a\x02\xff\xfe",
    ];
    let body = |message: &[u8]| {
        let length = u32::try_from(message.len()).expect("a seed is short");
        [&[0][..], &length.to_be_bytes(), message].concat()
    };
    Target::new("grpc", messages.map(body), check)
        .longest(160)
        .words(&[
            "\0\0\0\0\x02",
            "\x0a\x01a",
            "\x12\x02\x08\x01",
            "\x1a\x00",
            "\x20\x01",
            "\x0b",
            "..",
            "/",
            "?",
            "\r\n",
            "%2F",
        ])
}

/// A message of any method is refused, or is a request of that very operation: nothing in a field leads elsewhere.
fn check(input: &[u8]) {
    // A length that is wrong is seen as such; all the same, what follows it is read.
    let whole = only(input);
    saw(whole.is_ok());
    let message = whole.unwrap_or(input);
    for row in OPERATIONS {
        match asked(row, message) {
            Ok(asked) => {
                assert_eq!(operation(row.method, &asked.path), Some(row.op), "{asked:?}");
                saw((framed(&asked), asked.body.as_deref().map(documents)));
            }
            Err(code) => saw(code),
        }
    }
}

/// How long the head of a request of that path and query is; it ends where they do.
fn framed(asked: &Asked) -> usize {
    let Asked { path, query, .. } = asked;
    let head = format!("GET {path}?{query} HTTP/1.1\r\nhost: localhost\r\n\r\n");
    match start(head.as_bytes(), 8) {
        Start::Request { bytes, .. } if bytes == head.len() => bytes,
        other => panic!("{head:?} is {other:?}"),
    }
}
