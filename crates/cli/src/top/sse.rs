//! Server-sent events: what `/v1/live` sends.

use std::io::{self, BufRead, Read};

/// The data of the next event; `None` at the end.
pub(super) fn next(from: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut data = String::new();
    let mut has_data = false;
    let mut left = EVENT_MAX_BYTES;
    loop {
        let mut line = Vec::new();
        let read = from.by_ref().take(left).read_until(b'\n', &mut line)?;
        left -= read as u64;
        if !line.ends_with(b"\n") {
            // What the end cuts off is no event.
            return match left {
                0 => Err(io::Error::new(io::ErrorKind::InvalidData, "an event is too long")),
                _ => Ok(None),
            };
        }
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_end_matches(['\r', '\n']);
        match line.split_once(':') {
            _ if line.is_empty() && has_data => return Ok(Some(data)),
            Some(("data", text)) => {
                if has_data {
                    data.push('\n');
                }
                data.push_str(text.strip_prefix(' ').unwrap_or(text));
                has_data = true;
            }
            // Comments keep the connection alive; names and ids of events say nothing here.
            _ => {}
        }
    }
}

/// A frame has some kilobytes.
const EVENT_MAX_BYTES: u64 = 4 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(stream: &str, events: &[&str]) {
        let mut stream = stream.as_bytes();
        let read: Vec<String> = std::iter::from_fn(|| next(&mut stream).unwrap()).collect();
        assert_eq!(read, events);
    }

    #[test]
    fn events_are_told_apart() {
        check("data: {\"a\":1}\n\ndata: 2\n\n", &["{\"a\":1}", "2"]);
        check("data:a\r\ndata: b\r\n\r\n", &["a\nb"]);
        check(": hello\n\nevent: frame\nid: 7\ndata: x\nretry: 1\n\n", &["x"]);
    }

    #[test]
    fn an_event_that_is_cut_off_is_none() {
        check("data: 1\n\ndata: {\"half", &["1"]);
        check("data: 1\n\ndata: {\"whole line\": 2}\n", &["1"]);
    }

    #[test]
    fn an_event_without_end_is_refused_and_not_kept() {
        let endless = io::repeat(b'x');
        assert!(next(&mut io::BufReader::new(endless)).is_err());
    }
}
