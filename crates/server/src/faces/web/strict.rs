//! Heads that must not be served: whose end, or whose body's length, somebody else could read in another way.
//!
//! A proxy before this server that reads such a request otherwise would take the rest of it for the request of another
//! client. hyper is milder: it drops a second equal length, and a length beside chunks, and takes a bare LF. So what is
//! handed over to it has passed here, head by head.
//!
//! Source: RFC 9112 sections 2.2, 5.1, 5.2, 6.1 and 6.3.

use hyper::Uri;
use memchr::memchr;

/// What the start of a buffer is, as far as it has arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Strict {
    /// Nothing is wrong yet.
    Incomplete,
    /// It must be refused, and the connection ended.
    Refused(&'static str),
    /// There are more header lines than allowed.
    TooManyHeaders,
    /// A head that everybody reads alike.
    Head(Framing),
}

/// How long a request is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Framing {
    /// So many bytes, body included.
    Bytes(u64),
    /// Until a last chunk.
    Chunks,
}

/// Looks at the head at the start of `buffer`, which may have so many header lines.
///
/// What passes is taken by hyper too, so that nothing is refused without a word of ours.
pub(crate) fn look(buffer: &[u8], headers_max: usize) -> Strict {
    let mut lines = Lines { buffer, at: 0 };
    // Empty lines before a request are passed over.
    let first = loop {
        match lines.next() {
            Some(Ok([])) => {}
            Some(Ok(first)) => break first,
            Some(Err(why)) => return Strict::Refused(why),
            None => return Strict::Incomplete,
        }
    };
    if let Err(why) = check_request_line(first) {
        return Strict::Refused(why);
    }
    let (mut length, mut chunked, mut headers) = (None, false, 0);
    loop {
        let line = match lines.next() {
            Some(Ok([])) => break,
            Some(Ok(line)) => line,
            Some(Err(why)) => return Strict::Refused(why),
            None => return Strict::Incomplete,
        };
        headers += 1;
        if headers > headers_max {
            return Strict::TooManyHeaders;
        }
        let (name, value) = match split_header(line) {
            Ok(header) => header,
            Err(why) => return Strict::Refused(why),
        };
        if name.eq_ignore_ascii_case(b"content-length") {
            let number = std::str::from_utf8(value)
                .ok()
                .filter(|text| !text.starts_with('+'));
            let number = number.and_then(|text| text.parse::<u64>().ok());
            if number.is_none() {
                return Strict::Refused("Content-Length is not one number");
            }
            if std::mem::replace(&mut length, number).is_some() {
                return Strict::Refused("Content-Length is given twice");
            }
        } else if name.eq_ignore_ascii_case(b"transfer-encoding")
            && (std::mem::replace(&mut chunked, true) || !value.eq_ignore_ascii_case(b"chunked"))
        {
            return Strict::Refused("Transfer-Encoding is not chunked alone");
        }
    }
    if chunked && length.is_some() {
        return Strict::Refused("Content-Length is given beside Transfer-Encoding");
    }
    if chunked && !first.ends_with(b" HTTP/1.1") {
        return Strict::Refused("Transfer-Encoding does not fit this version of HTTP");
    }
    Strict::Head(match chunked {
        true => Framing::Chunks,
        false => Framing::Bytes((lines.at as u64).saturating_add(length.unwrap_or(0))),
    })
}

/// Name and value of a header line that is not empty (RFC 9112 section 5).
fn split_header(line: &[u8]) -> Result<(&[u8], &[u8]), &'static str> {
    if line[0] == b' ' || line[0] == b'\t' {
        return Err("a header is folded over two lines");
    }
    let Some(colon) = memchr(b':', line) else {
        return Err("a header has no colon");
    };
    let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
    if name.is_empty() || name.trim_ascii().len() < name.len() {
        return Err("there is a space before a header's colon");
    }
    if !name.iter().all(is_token) {
        return Err("a header's name holds a byte that no name has");
    }
    Ok((name, value))
}

/// `METHOD target HTTP/1.x` (RFC 9112 section 3).
fn check_request_line(line: &[u8]) -> Result<(), &'static str> {
    let Some(line) = line
        .strip_suffix(b" HTTP/1.1")
        .or(line.strip_suffix(b" HTTP/1.0"))
    else {
        return Err("the first line is not a request of HTTP/1.1: it ends in a version of HTTP");
    };
    let (method, target) = match memchr(b' ', line) {
        Some(space) => (&line[..space], &line[space + 1..]),
        None => return Err("the first line is not a request of HTTP/1.1: METHOD, target, version"),
    };
    if method.is_empty() || !method.iter().all(is_token) {
        return Err("the method of the request is not a word");
    }
    // Two readers may cut a target with a space in two ways.
    match !target.contains(&b' ') && Uri::try_from(target).is_ok() {
        true => Ok(()),
        false => Err("the target of the request is neither a path nor a URL"),
    }
}

/// What names of methods and headers are made of (RFC 9110 section 5.6.2).
fn is_token(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte)
}

/// Lines, without the CR LF at their ends.
struct Lines<'b> {
    buffer: &'b [u8],
    at: usize,
}

impl<'b> Lines<'b> {
    /// The next line if it is whole; what cannot become one is refused as soon as it is seen.
    fn next(&mut self) -> Option<Result<&'b [u8], &'static str>> {
        let rest = &self.buffer[self.at..];
        let newline = memchr(b'\n', rest);
        let line = &rest[..newline.unwrap_or(rest.len())];
        let (line, returned) = match line.split_last() {
            Some((b'\r', line)) => (line, true),
            _ => (line, false),
        };
        if newline.is_some() && !returned {
            return Some(Err("a line ends in LF without CR"));
        }
        if line.iter().any(|b| (*b < b' ' && *b != b'\t') || *b == 0x7f) {
            return Some(Err("there is a control byte in the head"));
        }
        self.at += newline? + 1;
        Some(Ok(line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn heads_that_can_be_read_in_two_ways_are_refused() {
        for (head, why) in [
            ("GET / HTTP/1.1\n\n", "LF without CR"),
            ("GET / HTTP/1.1\r\nhost: a\n\r\n", "LF without CR"),
            ("GET / HTTP/1.1\r\nhost: a\r\n\n", "LF without CR"),
            (
                "POST / HTTP/1.1\r\nContent-Length: 2\r\ncontent-length: 2\r\n\r\n",
                "is given twice",
            ),
            (
                "POST / HTTP/1.1\r\ncontent-length: 0\r\ncontent-length: 0\r\n\r\n",
                "is given twice",
            ),
            (
                "POST / HTTP/1.1\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n",
                "is given twice",
            ),
            (
                "POST / HTTP/1.1\r\ncontent-length: 2, 2\r\n\r\n",
                "not one number",
            ),
            ("POST / HTTP/1.1\r\ncontent-length: +2\r\n\r\n", "not one number"),
            ("POST / HTTP/1.1\r\ncontent-length:\r\n\r\n", "not one number"),
            (
                "POST / HTTP/1.1\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n",
                "beside",
            ),
            (
                "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\ncontent-length: 2\r\n\r\n",
                "beside",
            ),
            (
                "POST / HTTP/1.1\r\ntransfer-encoding: gzip, chunked\r\n\r\n",
                "chunked alone",
            ),
            (
                "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n",
                "chunked alone",
            ),
            (
                "POST / HTTP/1.0\r\ntransfer-encoding: chunked\r\n\r\n",
                "this version",
            ),
            ("GET / HTTP/1.1\r\nhost: a\r\n b\r\n\r\n", "folded"),
            ("GET / HTTP/1.1\r\nhost : a\r\n\r\n", "before a header's colon"),
            ("GET / HTTP/1.1\r\nhost\r\n\r\n", "no colon"),
            ("GET / HTTP/1.1\r\nhost: a\rb\r\n\r\n", "control byte"),
            ("nonsense\r\n\r\n", "not a request of HTTP/1.1"),
            ("GET /livez HTTP/9.9\r\n\r\n", "version of HTTP"),
            ("PRI * HTTP/2.0\r\n\r\n", "version of HTTP"),
            ("/livez HTTP/1.1\r\n\r\n", "METHOD, target, version"),
            ("GET /a b HTTP/1.1\r\n\r\n", "neither a path"),
            ("GET /\u{e9}<> HTTP/1.1\r\n\r\n", "neither a path"),
            ("G@T / HTTP/1.1\r\n\r\n", "not a word"),
            ("GET / HTTP/1.1\r\nho st: a\r\n\r\n", "no name has"),
            // What is wrong is wrong before the rest has arrived.
            ("\x16\x03\x01", "control byte"),
        ] {
            match look(head.as_bytes(), 64) {
                Strict::Refused(said) => assert!(said.contains(why), "{head:?}: {said}"),
                other => panic!("{head:?}: {other:?}"),
            }
        }
    }

    #[test]
    fn other_heads_are_as_long_as_they_say() {
        let length = |text: &str| match look(text.as_bytes(), 64) {
            Strict::Head(framing) => Some(framing),
            _ => None,
        };
        let head = "\r\nPUT / HTTP/1.1\r\nContent-Length: 2\r\nx:\u{e9}\r\n\r\n";
        assert_eq!(
            length(&format!("{head}{{}}GET")),
            Some(Framing::Bytes(head.len() as u64 + 2))
        );
        let head = "GET / HTTP/1.0\r\n\r\n";
        assert_eq!(length(head), Some(Framing::Bytes(head.len() as u64)));
        let head = "PUT / HTTP/1.1\r\ntransfer-encoding: Chunked\r\n\r\n";
        assert_eq!(length(head), Some(Framing::Chunks));
        for cut in 0..head.len() {
            assert_eq!(look(&head.as_bytes()[..cut], 64), Strict::Incomplete, "{cut}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_judged_without_panic(input in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = look(&input, 8);
        }

        #[test]
        fn bytes_like_heads_are_judged_without_panic(
            parts in proptest::collection::vec(
                prop_oneof![
                    Just("GET / HTTP/1.1\r\n"), Just("\r\n"), Just("\n"), Just(": "), Just(" "), Just("\t"), Just("\r"),
                    Just("content-length"), Just("transfer-encoding"), Just("2"), Just("chunked"), Just("18446744073709551615"),
                ],
                0..30,
            )
        ) {
            let _ = look(parts.concat().as_bytes(), 8);
        }
    }
}
