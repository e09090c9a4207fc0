//! Requests without a body, framed in place: the hot path of HTTP.
//!
//! Nearly every request for ids is a short head without a body. This file frames just those, strictly, and
//! answers all that arrived together with one write. Anything else (a body, HTTP/1.0, an upgrade, `Expect`, an
//! odd byte, a head that is too long) is handed over to hyper together with the rest of its connection, so that
//! every rare form has one judge. **What is taken here, hyper would take with the same meaning**; a test holds
//! the two to it.

use std::rc::Rc;

use memchr::memchr;

use super::answer::Response;
use super::h2::PREFACE;
use super::head::{Head, is_mark};
use super::strict::{self, Framing, Strict};
use super::{Guest, Site, date};
use crate::error::{Code, ServiceError};
use crate::service::Door;
use crate::socket::{End, Socket};
use crate::thread::ServingThread;
use crate::turn::{LOOK_BYTES, SMALL_BYTES, Turn};
use crate::watch::{Verdict, Waiting};

/// What the start of a buffer is. One lives at a time, on the stack of the hot path.
#[allow(clippy::large_enum_variant)]
#[derive(Debug)]
pub(crate) enum Framed<'b> {
    /// A request of so many bytes.
    Request(Head<'b>, usize),
    /// The beginning of a request.
    Incomplete,
    /// Not for us.
    Other,
}

/// Why the plain path was left.
pub(crate) enum Left {
    /// The connection ends.
    Ended(End),
    /// It is a connection over HTTP/2.
    Http2,
    /// hyper goes on with what was read: a request that is framed so.
    HandedOver(Framing),
}

/// Answers plain requests until there is another one, or what only the first bytes of a connection may be: HTTP/2.
pub(crate) async fn serve<S: Site>(
    socket: &mut Socket,
    thread: &Rc<ServingThread>,
    guest: &Guest<S>,
    mut is_first: bool,
) -> Left {
    let mut turn = Turn::begin(thread);
    loop {
        let (buffer, filled) = match socket.fill(&mut turn).await {
            Ok(input) => input,
            Err(end) => return Left::Ended(end),
        };
        if is_first && buffer[..filled].starts_with(PREFACE) {
            socket.keep(&buffer[..filled]);
            thread.return_input(buffer);
            return Left::Http2;
        }
        is_first &= PREFACE.starts_with(&buffer[..filled]);
        let mut out = thread.borrow_output();
        let next = answer_all(socket, thread, guest, &buffer[..filled], &mut out, &mut turn).await;
        thread.return_input(buffer);
        turn.end_of_all(guest.face).await;
        if let Err(end) = socket.flush(&mut out).await {
            return Left::Ended(end);
        }
        thread.return_output(out);
        match next {
            Next::Read => {}
            Next::Close => return Left::Ended(End::Answered),
            Next::HandOver(framing) => return Left::HandedOver(framing),
        }
    }
}

/// What to do after the requests that were read.
enum Next {
    Read,
    Close,
    HandOver(Framing),
}

async fn answer_all<S: Site>(
    socket: &mut Socket,
    thread: &Rc<ServingThread>,
    guest: &Guest<S>,
    input: &[u8],
    out: &mut Vec<u8>,
    turn: &mut Turn,
) -> Next {
    let mut at = 0;
    let mut look_at = LOOK_BYTES;
    // A pipeline is often one request again and again: what is the same to the byte is framed once.
    let mut last: Option<(Head<'_>, &[u8])> = None;
    while at < input.len() {
        let rest = &input[at..];
        let framed = match &last {
            Some((head, bytes)) if rest.starts_with(bytes) => Framed::Request(head.clone(), bytes.len()),
            _ => frame(rest, thread.config().http_max_headers as usize),
        };
        match framed {
            Framed::Request(head, _) if guest.site.hands_over(thread, head.path) => {
                return leave(socket, thread, guest, Framed::Other, rest, out);
            }
            Framed::Request(head, len) => {
                socket.watch().wait_for(Waiting::Nothing);
                let head = Head {
                    local: guest.local.as_ref(),
                    ..head
                };
                let mut response = answer(thread, guest, &head).await;
                turn.answered(1);
                if socket.watch().peek() == Some(Verdict::Stopping) || guest.leaves(&thread.config()) {
                    response.close();
                }
                date::with(thread, turn.began(), |date| response.write_head(date, out));
                if send_body(socket, &mut response, out, turn).await.is_err() {
                    return Next::Close;
                }
                if response.closes() {
                    return Next::Close;
                }
                last = Some((head, &rest[..len]));
                at += len;
                if out.len() >= look_at {
                    let Ok(next) = socket.look(out, OUTPUT_MAX, turn).await else {
                        return Next::Close;
                    };
                    look_at = next;
                }
            }
            framed => return leave(socket, thread, guest, framed, rest, out),
        }
    }
    Next::Read
}

/// Puts a body behind its head, or sends it if it is large: it is held once, and as it was counted.
async fn send_body(
    socket: &mut Socket,
    response: &mut Response,
    out: &mut Vec<u8>,
    turn: &mut Turn,
) -> Result<(), End> {
    match response.take_large() {
        None => out.extend_from_slice(response.body()),
        Some(body) => {
            socket.flush(out).await?;
            socket.send(&body).await?;
            drop(body);
            turn.give_way().await;
        }
    }
    Ok(())
}

/// What becomes of a rest that is no whole request of the plain kind.
fn leave<S: Site>(
    socket: &mut Socket,
    thread: &Rc<ServingThread>,
    guest: &Guest<S>,
    framed: Framed<'_>,
    rest: &[u8],
    out: &mut Vec<u8>,
) -> Next {
    let looked = strict::look(rest, thread.config().http_max_headers as usize);
    let refused = match (framed, looked) {
        (Framed::Other, Strict::Head(framing)) => {
            socket.keep(rest);
            return Next::HandOver(framing);
        }
        (_, Strict::Refused(why)) => ServiceError::new(Code::Protocol, why),
        (_, Strict::TooManyHeaders) => too_many_headers(thread),
        _ if !socket.is_full(rest.len()) => {
            socket.keep(rest);
            return Next::Read;
        }
        _ => too_long(thread),
    };
    refuse(thread, guest, &refused, out);
    Next::Close
}

/// Answers what must not be served, whatever it was.
fn refuse<S: Site>(thread: &Rc<ServingThread>, guest: &Guest<S>, error: &ServiceError, out: &mut Vec<u8>) {
    thread.counters().requests(guest.face, 1);
    thread.counters().refused(error.code);
    let response = guest.site.refuse(thread, &Head::default(), error);
    date::with(thread, mintage::boottime(), |date| response.write(date, out));
}

fn too_long(thread: &Door) -> ServiceError {
    let max = thread.config().http_max_header.0;
    ServiceError::new(
        Code::HeaderTooLarge,
        format!("the head of a request has at most {max} bytes (server.http.max_header)"),
    )
}

fn too_many_headers(thread: &Door) -> ServiceError {
    let max = thread.config().http_max_headers;
    ServiceError::new(
        Code::HeaderTooLarge,
        format!("a request has at most {max} header lines (server.http.max_headers)"),
    )
}

async fn answer<S: Site>(thread: &Rc<ServingThread>, guest: &Guest<S>, head: &Head<'_>) -> Response {
    thread.counters().requests(guest.face, 1);
    let response = guest.site.answer(thread, guest, head, None).await;
    guest.note_request(head, &response);
    guest.count(thread, response, SMALL_BYTES)
}

/// Frames one request.
pub(crate) fn frame(buffer: &[u8], headers_max: usize) -> Framed<'_> {
    let mut head = Head::default();
    let Some(end) = memchr(b'\n', buffer) else {
        return Framed::Incomplete;
    };
    let Some(()) = take_request_line(&buffer[..end], &mut head) else {
        return Framed::Other;
    };
    let mut at = end + 1;
    for _ in 0..=headers_max {
        let Some(end) = memchr(b'\n', &buffer[at..]) else {
            return Framed::Incomplete;
        };
        let line = &buffer[at..at + end];
        at += end + 1;
        if line == b"\r" {
            return Framed::Request(head, at);
        }
        let Some(()) = take_header(line, &mut head) else {
            return Framed::Other;
        };
    }
    Framed::Other
}

/// `METHOD /path?query HTTP/1.1`, with a CR at its end.
fn take_request_line<'b>(line: &'b [u8], head: &mut Head<'b>) -> Option<()> {
    let line = line.strip_suffix(b" HTTP/1.1\r")?;
    let space = memchr(b' ', line)?;
    head.method = match &line[..space] {
        b"POST" => "POST",
        b"GET" => "GET",
        b"DELETE" => "DELETE",
        _ => return None,
    };
    let target = &line[space + 1..];
    // What a target is made of (RFC 3986), without the few characters on which readers disagree.
    let plain = |b: &u8| b.is_ascii_alphanumeric() || b"/-._~:?=&%,+@!*;".contains(b);
    if target.first() != Some(&b'/') || !target.iter().all(plain) {
        return None;
    }
    let target = std::str::from_utf8(target).ok()?;
    (head.path, head.query) = target.split_once('?').unwrap_or((target, ""));
    Some(())
}

/// `name: value`, with a CR at its end.
fn take_header<'b>(line: &'b [u8], head: &mut Head<'b>) -> Option<()> {
    let line = line.strip_suffix(b"\r")?;
    let colon = memchr(b':', line)?;
    let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
    // No fold, no space before the colon, no byte that somebody could read as the end of a line.
    if name.is_empty()
        || !name
            .iter()
            .all(|b| b.is_ascii_alphanumeric() || *b == b'-' || *b == b'_')
    {
        return None;
    }
    if !value.iter().all(|b| (b' '..=b'~').contains(b)) {
        return None;
    }
    let value = std::str::from_utf8(value).ok()?;
    let is = |wanted: &str| name.eq_ignore_ascii_case(wanted.as_bytes());
    let slot = match name.len() {
        4 if is("host") => &mut head.host,
        6 if is("origin") => &mut head.origin,
        6 if is("accept") => &mut head.accept,
        6 if is("expect") => return None,
        7 if is("upgrade") || is("trailer") => return None,
        7 if is("referer") => &mut head.referer,
        2 if is("te") => return None,
        10 if is("connection") => return value.eq_ignore_ascii_case("keep-alive").then_some(()),
        10 if is("user-agent") => &mut head.user_agent,
        13 if is("authorization") => &mut head.authorization,
        14 if is("sec-fetch-site") => &mut head.fetch_site,
        14 if is("sec-fetch-mode") => &mut head.fetch_mode,
        14 if is("content-length") && value == "0" => &mut head.content_length,
        14 if is("content-length") => return None,
        14 if is("http2-settings") => return None,
        15 if is("accept-language") => &mut head.accept_language,
        15 if is("idempotency-key") => &mut head.idempotency_key,
        17 if is("transfer-encoding") => return None,
        _ => {
            head.is_marked |= is_mark(name);
            return Some(());
        }
    };
    // What stands twice is not for us.
    slot.replace(value).is_none().then_some(())
}

/// Answers are sent in between when they pass this.
const OUTPUT_MAX: usize = 256 * 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HEADERS_MAX: usize = 8;

    fn framed(request: &str) -> Option<(String, usize)> {
        match frame(request.as_bytes(), HEADERS_MAX) {
            Framed::Request(head, len) => Some((format!("{head:?}"), len)),
            Framed::Incomplete => Some(("incomplete".into(), 0)),
            Framed::Other => None,
        }
    }

    #[test]
    fn short_heads_without_a_body_are_taken() {
        let request = "POST /v1/sequences/a/next?count=5 HTTP/1.1\r\nHost: localhost:7600\r\nAccept: text/plain\r\nContent-Length: 0\r\nConnection: Keep-Alive\r\nx-request-id:  7 \r\n\r\nrest";
        let Framed::Request(head, len) = frame(request.as_bytes(), HEADERS_MAX) else {
            panic!("not taken")
        };
        assert_eq!(
            (head.method, head.path, head.query),
            ("POST", "/v1/sequences/a/next", "count=5")
        );
        assert_eq!(
            (head.host, head.accept, head.origin),
            (Some("localhost:7600"), Some("text/plain"), None)
        );
        assert_eq!(&request[len..], "rest");
    }

    #[test]
    fn whatever_is_odd_is_left_to_hyper() {
        for request in [
            "PUT /a HTTP/1.1\r\n",
            "post /a HTTP/1.1\r\n",
            "GET /a HTTP/1.0\r\n",
            "GET /a HTTP/1.1\n",
            "GET  /a HTTP/1.1\r\n",
            "GET /a  HTTP/1.1\r\n",
            "GET http://localhost/a HTTP/1.1\r\n",
            "GET * HTTP/1.1\r\n",
            "GET /a#b HTTP/1.1\r\n",
            "GET /\u{e9} HTTP/1.1\r\n",
            "\r\nGET /a HTTP/1.1\r\n",
            "GET /a HTTP/1.1\r\nhost: a\r\nhost: b\r\n",
            "GET /a HTTP/1.1\r\nhost : a\r\n",
            "GET /a HTTP/1.1\r\nhost: a\r\n folded\r\n",
            "GET /a HTTP/1.1\r\n: a\r\n",
            "GET /a HTTP/1.1\r\nhost: a\n",
            "GET /a HTTP/1.1\r\nhost: a\rb\r\n",
            "GET /a HTTP/1.1\r\nhost: a\0b\r\n",
            "GET /a HTTP/1.1\r\nno colon\r\n",
            "GET /a HTTP/1.1\r\ncontent-length: 1\r\n",
            "GET /a HTTP/1.1\r\ncontent-length: 00\r\n",
            "GET /a HTTP/1.1\r\ncontent-length: 0, 0\r\n",
            "GET /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n",
            "GET /a HTTP/1.1\r\nconnection: close\r\n",
            "GET /a HTTP/1.1\r\nconnection: keep-alive, te\r\n",
            "GET /a HTTP/1.1\r\nexpect: 100-continue\r\n",
            "GET /a HTTP/1.1\r\nupgrade: h2c\r\n",
            &format!("GET /a HTTP/1.1\r\n{}", "a: b\r\n".repeat(HEADERS_MAX + 1)),
        ] {
            assert_eq!(framed(&format!("{request}\r\n")), None, "{request:?}");
        }
    }

    #[test]
    fn every_prefix_is_incomplete() {
        let request = "GET /livez HTTP/1.1\r\nhost: localhost\r\na: b\r\n\r\n";
        for cut in 0..request.len() {
            assert!(
                matches!(frame(&request.as_bytes()[..cut], HEADERS_MAX), Framed::Incomplete),
                "{cut}"
            );
        }
    }

    #[test]
    fn as_many_headers_as_allowed_are_taken() {
        let request = format!("GET /a HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(HEADERS_MAX));
        assert!(framed(&request).is_some());
    }

    proptest! {
        #[test]
        fn any_bytes_are_answered_without_panic(input in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = frame(&input, HEADERS_MAX);
        }

        #[test]
        fn bytes_like_requests_are_answered_without_panic(
            parts in proptest::collection::vec(
                prop_oneof![
                    Just("GET "), Just("POST "), Just("/a"), Just("?"), Just(" HTTP/1.1\r\n"), Just("\r\n"), Just("\n"),
                    Just("host"), Just(": "), Just("x"), Just("content-length: 0\r\n"), Just(":"), Just(" "), Just("\0"),
                ],
                0..30,
            )
        ) {
            let _ = frame(parts.concat().as_bytes(), HEADERS_MAX);
        }
    }
}
