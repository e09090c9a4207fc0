//! Answers of the Redis protocol, version 2 or 3.

use std::sync::Arc;

use crate::error::{Code, ServiceError};
use crate::faces::resp::digits;
use crate::held::HeldBytes;
use crate::metrics::{FaceId, ThreadCounters};

/// Writes answers behind each other; one buffer per round of requests, sent with one write.
#[derive(Debug)]
pub struct Reply {
    out: Vec<u8>,
    /// What was counted of it before it was made.
    held: Option<HeldBytes>,
    resp3: bool,
    counters: Arc<ThreadCounters>,
    /// The face of another system whose answers these are.
    face: Option<FaceId>,
    /// Requests of that face which were refused since this was last asked.
    refused: u64,
    /// The last error in it.
    error: Option<Code>,
    /// Whether what was asked for has changed anything, where a command says so.
    changed: bool,
}

impl Reply {
    /// An empty answer in version 2 or 3.
    pub(crate) fn new(resp3: bool, counters: Arc<ThreadCounters>, face: Option<FaceId>) -> Self {
        Reply {
            out: Vec::new(),
            held: None,
            resp3,
            counters,
            face,
            refused: 0,
            error: None,
            changed: true,
        }
    }

    /// Says whether what was asked for has changed anything.
    pub fn has_changed(&mut self, changed: bool) {
        self.changed = changed;
    }

    /// Whether what was asked for may have changed anything.
    pub(crate) fn changed(&self) -> bool {
        self.changed
    }

    /// Why what was asked for is refused, if it is.
    pub(crate) fn refusal(&self) -> Option<Code> {
        self.error
    }

    /// Counts so many requests as answered, those that were refused aside: they are counted already.
    #[inline]
    pub(crate) fn count_answered(&mut self, requests: u64) {
        if let Some(face) = self.face {
            let well = requests.saturating_sub(std::mem::take(&mut self.refused));
            self.counters.face_answered(face, None, well);
        }
    }

    /// Whether version 3 is spoken.
    pub(crate) fn resp3(&self) -> bool {
        self.resp3
    }

    /// Changes the version for what follows.
    pub(crate) fn set_resp3(&mut self, resp3: bool) {
        self.resp3 = resp3;
    }

    /// What was written so far.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.out
    }

    /// The buffer, to be sent and emptied.
    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }

    /// An empty answer of the same version, for work that goes on elsewhere.
    pub(crate) fn detached(&self) -> Reply {
        Reply::new(self.resp3, self.counters.clone(), self.face)
    }

    /// `:n`.
    #[inline]
    pub fn integer(&mut self, n: i64) {
        self.out.push(b':');
        self.number(n);
        self.end_line();
    }

    /// One `:n` after the other.
    #[inline]
    pub fn integers(&mut self, run: mintage::Run) {
        digits::write(&mut self.out, run);
    }

    /// `+text`.
    pub fn simple(&mut self, text: &str) {
        self.out.push(b'+');
        self.out.extend_from_slice(text.as_bytes());
        self.end_line();
    }

    /// `$length text`.
    pub(crate) fn bulk(&mut self, text: &[u8]) {
        self.out.push(b'$');
        self.number(text.len() as i64);
        self.end_line();
        self.out.extend_from_slice(text);
        self.end_line();
    }

    /// A number as a bulk string.
    pub fn bulk_number(&mut self, n: impl itoa::Integer) {
        self.bulk(itoa::Buffer::new().format(n).as_bytes());
    }

    /// Text for people: a verbatim string in version 3.
    pub(crate) fn text(&mut self, text: &str) {
        if self.resp3 {
            self.out.push(b'=');
            self.number(text.len() as i64 + 4);
            self.out.extend_from_slice(b"\r\ntxt:");
            self.out.extend_from_slice(text.as_bytes());
            self.end_line();
        } else {
            self.bulk(text.as_bytes());
        }
    }

    /// Nothing.
    pub(crate) fn null(&mut self) {
        self.out
            .extend_from_slice(if self.resp3 { b"_\r\n" } else { b"$-1\r\n" });
    }

    /// Nothing, in the words of version 2 whatever is spoken.
    pub fn null_bulk(&mut self) {
        self.out.extend_from_slice(b"$-1\r\n");
    }

    /// Nothing where an array was asked for.
    pub(crate) fn null_array(&mut self) {
        self.out
            .extend_from_slice(if self.resp3 { b"_\r\n" } else { b"*-1\r\n" });
    }

    /// True or false; a number in version 2.
    pub(crate) fn boolean(&mut self, value: bool) {
        match (self.resp3, value) {
            (true, true) => self.out.extend_from_slice(b"#t\r\n"),
            (true, false) => self.out.extend_from_slice(b"#f\r\n"),
            (false, value) => self.integer(i64::from(value)),
        }
    }

    /// `len` elements follow.
    pub(crate) fn array(&mut self, len: usize) {
        self.header(b'*', len);
    }

    /// `len` distinct elements follow.
    pub(crate) fn set(&mut self, len: usize) {
        self.header(if self.resp3 { b'~' } else { b'*' }, len);
    }

    /// `len` pairs of key and value follow.
    pub(crate) fn map(&mut self, len: usize) {
        if self.resp3 {
            self.header(b'%', len)
        } else {
            self.header(b'*', len * 2)
        }
    }

    /// An error in Redis's own words, prefix included.
    pub fn error(&mut self, code: Code, text: &str) {
        self.counters.refused(code);
        self.error = Some(code);
        if let Some(face) = self.face {
            self.counters.face_answered(face, Some(code), 1);
            self.refused += 1;
        }
        self.out.push(b'-');
        // An error is one line, whatever the client sent.
        self.out.extend(
            text.bytes()
                .map(|b| if b == b'\r' || b == b'\n' { b' ' } else { b }),
        );
        self.end_line();
    }

    /// An error of ours: the code's prefix, `mint:`, the message, when to retry.
    pub(crate) fn refuse(&mut self, error: &ServiceError) {
        let prefix = error.code.row().resp_prefix;
        let mut text = format!("{prefix} mint: {}", error.message);
        if let Some(seconds) = error.retry_after_s {
            text.push_str(&format!(", retry in {seconds} s"));
        }
        if let Some(hint) = &error.hint {
            text.push_str(&format!(" ({hint})"));
        }
        self.error(error.code, &text);
    }

    /// A JSON document as arrays, maps and strings.
    pub(crate) fn json(&mut self, value: &serde_json::Value) {
        match value {
            serde_json::Value::Null => self.null(),
            serde_json::Value::Bool(value) => self.boolean(*value),
            serde_json::Value::Number(number) => match number.as_i64() {
                Some(n) => self.integer(n),
                None => self.bulk(number.to_string().as_bytes()),
            },
            serde_json::Value::String(text) => self.bulk(text.as_bytes()),
            serde_json::Value::Array(items) => {
                self.array(items.len());
                items.iter().for_each(|item| self.json(item));
            }
            serde_json::Value::Object(fields) => {
                self.map(fields.len());
                for (name, value) in fields {
                    self.bulk(name.as_bytes());
                    self.json(value);
                }
            }
        }
    }

    /// What was written elsewhere.
    pub(crate) fn append(&mut self, mut other: Reply) {
        match self.out.is_empty() {
            // Large answers are not copied.
            true if other.out.len() > self.out.capacity() => self.out = std::mem::take(&mut other.out),
            _ => self.out.extend_from_slice(&other.out),
        }
        self.refused += other.refused;
        self.held = other.held.take().or(self.held.take());
    }

    /// Counts what is in it until it is sent.
    pub(crate) fn keep(&mut self, held: HeldBytes) {
        self.held = Some(held);
    }

    /// Counts it no longer.
    pub(crate) fn let_go(&mut self) {
        self.held = None;
    }

    fn header(&mut self, kind: u8, len: usize) {
        self.out.push(kind);
        self.number(len as i64);
        self.end_line();
    }

    #[inline]
    fn number(&mut self, n: i64) {
        self.out
            .extend_from_slice(itoa::Buffer::new().format(n).as_bytes());
    }

    #[inline]
    fn end_line(&mut self) {
        self.out.extend_from_slice(b"\r\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Metrics;

    #[track_caller]
    fn check(write: impl Fn(&mut Reply), resp2: &str, resp3: &str) {
        for (version, wire) in [(false, resp2), (true, resp3)] {
            let mut reply = Reply::new(version, Metrics::default().thread(), None);
            write(&mut reply);
            assert_eq!(
                String::from_utf8_lossy(reply.bytes()),
                wire,
                "version 3: {version}"
            );
        }
    }

    #[test]
    fn each_version_has_its_own_forms() {
        check(
            |r| r.integer(i64::MIN),
            ":-9223372036854775808\r\n",
            ":-9223372036854775808\r\n",
        );
        check(|r| r.null(), "$-1\r\n", "_\r\n");
        check(|r| r.null_array(), "*-1\r\n", "_\r\n");
        check(|r| r.map(2), "*4\r\n", "%2\r\n");
        check(|r| r.set(2), "*2\r\n", "~2\r\n");
        check(|r| r.boolean(true), ":1\r\n", "#t\r\n");
        check(|r| r.text("hi"), "$2\r\nhi\r\n", "=6\r\ntxt:hi\r\n");
        check(|r| r.bulk(b""), "$0\r\n\r\n", "$0\r\n\r\n");
    }

    #[test]
    fn an_error_stays_one_line() {
        check(
            |r| r.error(Code::Internal, "ERR a\r\nb"),
            "-ERR a  b\r\n",
            "-ERR a  b\r\n",
        );
    }

    #[test]
    fn refusals_say_when_to_retry_and_what_to_do() {
        let error = ServiceError::new(Code::Unavailable, "the store does not answer")
            .with_retry_after_s(2)
            .with_hint("look at its log");
        let wire = "-TRYAGAIN mint: the store does not answer, retry in 2 s (look at its log)\r\n";
        check(|r| r.refuse(&error), wire, wire);
    }

    #[test]
    fn json_becomes_arrays_and_maps() {
        let value = serde_json::json!({"a": [1, null, true], "b": "c"});
        check(
            |r| r.json(&value),
            "*4\r\n$1\r\na\r\n*3\r\n:1\r\n$-1\r\n:1\r\n$1\r\nb\r\n$1\r\nc\r\n",
            "%2\r\n$1\r\na\r\n*3\r\n:1\r\n_\r\n#t\r\n$1\r\nb\r\n$1\r\nc\r\n",
        );
    }
}
