//! Heads and bodies of HTTP requests.

use mintage_server::http::testing::{Start, documents, start};

use crate::{Target, saw};

const HEADERS_MAX: usize = 8;

pub(super) fn targets() -> [Target; 2] {
    let heads = [
        "GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n",
        "POST /v1/sequences/orders/next?count=5&as=range HTTP/1.1\r\nHost: 127.0.0.1:7600\r\nAccept: text/plain;q=0.5, \
         */*\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n",
        "DELETE /v1/sequences/a%3Ab HTTP/1.1\r\nHost: [::1]\r\nOrigin: http://localhost\r\nAuthorization: Bearer \
         abc\r\n\r\n",
        "GET /v1/sequences?after=a&limit=1000 HTTP/1.1\r\nx: y\r\n\r\nGET / HTTP/1.1\r\n\r\n",
        "PUT /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
    ];
    let bodies = [
        r#"{"start":1,"increment":"-5","min":-9223372036854775808,"max":"9223372036854775807","cycle":true}"#,
        r#"{"gap":"none","order":"node","cache":20,"allow_repeat":false}"#,
        r#"{"value":"12","is_called":false,"allow_repeat":true}"#,
        r#"{"kind":"snowflake","layout":"time=41,worker=10,sequence=12","window_ms":60000}"#,
        r#"{"kind":"uuid1","clock_policy":"wait"}"#,
        r#"{"preset":"twitter"}"#,
        r#"{"name":"worker-7"}"#,
        r#"{"owner":"0f","version":18446744073709551615}"#,
        "",
        "[[[[[[[[[[[[[[[[[[",
    ];
    [
        Target::new("http-head", heads, check_head).longest(512).words(&[
            "GET ",
            "POST ",
            " HTTP/1.1\r\n",
            "\r\n\r\n",
            "host: ",
            "accept: ",
            "content-length: 0\r\n",
            "transfer-encoding: chunked\r\n",
            "%2F",
            "?count=",
            "&",
            "18446744073709551616",
            "\r\n ",
        ]),
        Target::new("http-body", bodies, check_body).longest(512).words(&[
            "{",
            "}",
            "\":",
            "null",
            "true",
            "1e400",
            "-0",
            "0.5",
            "\\u0000",
            "\"value\":",
            "\"gap\":",
            "18446744073709551616",
        ]),
    ]
}

/// A head is framed once, whole, and the same when it arrives in pieces; what follows it does not matter.
fn check_head(input: &[u8]) {
    match start(input, HEADERS_MAX) {
        Start::Incomplete => saw("incomplete"),
        Start::Other => saw("other"),
        Start::Request { bytes, understood } => {
            assert!(bytes <= input.len() && input[..bytes].ends_with(b"\r\n"));
            // A backslash of the input is shown as two.
            let controls = understood.replace("\\\\", "");
            assert!(
                !controls.contains("\\r") && !controls.contains("\\n"),
                "{understood}"
            );
            let alone = start(&input[..bytes], HEADERS_MAX);
            assert_eq!(
                alone,
                Start::Request {
                    bytes,
                    understood: understood.clone()
                }
            );
            for cut in [bytes - 1, bytes / 2, 1] {
                assert_eq!(
                    start(&input[..cut], HEADERS_MAX),
                    Start::Incomplete,
                    "cut at {cut}"
                );
            }
            saw((understood.len().min(400), understood.rsplit(' ').next()));
        }
    }
}

fn check_body(input: &[u8]) {
    saw((documents(input), input.len().min(64)));
}
