//! How a row is written again: its own bytes, and the id beside them.

use super::scheme::Scheme;
use crate::rows::RowFormat;

/// Where the id goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IdPlace {
    /// Before the other columns.
    First,
    /// After them.
    Last,
}

/// Writes rows of one form.
pub(super) struct Emitter {
    place: IdPlace,
    /// What separates the id from the rest of the row.
    separator: u8,
    /// For JSON: `"id":"` before the id.
    json: Option<Vec<u8>>,
    /// Whether a row without an id gets the separator all the same.
    columns: bool,
    name: String,
}

impl Emitter {
    pub(super) fn new(format: &RowFormat, place: IdPlace, name: &str) -> Emitter {
        let (separator, json, columns) = match format {
            RowFormat::Fields(dialect) => (dialect.delimiter, None, true),
            RowFormat::JsonLines => {
                let mut key = serde_json::to_vec(name).expect("a text is JSON");
                key.extend_from_slice(b":\"");
                (b',', Some(key), false)
            }
            RowFormat::Log(_) | RowFormat::Lines => (b' ', None, false),
        };
        Emitter {
            place,
            separator,
            json,
            columns,
            name: name.to_string(),
        }
    }

    /// The header with the new column.
    pub(super) fn header(&self, raw: &[u8], out: &mut Vec<u8>) {
        let (text, newline) = crate::lines::without_newline(raw);
        let newline = &raw[raw.len() - newline..];
        let quoted = self.name.contains([self.separator as char, '"', '\n', '\r']);
        let name = match quoted {
            true => format!("\"{}\"", self.name.replace('"', "\"\"")),
            false => self.name.clone(),
        };
        self.plain(text, newline, out, |out| out.extend_from_slice(name.as_bytes()));
    }

    /// A row with its id.
    #[inline]
    pub(super) fn row(&self, raw: &[u8], newline: &[u8], id: u128, scheme: &Scheme, out: &mut Vec<u8>) {
        match &self.json {
            None => self.plain(raw, newline, out, |out| scheme.write(id, out)),
            Some(key) => self.object(raw, newline, key, out, |out| scheme.write(id, out)),
        }
    }

    /// A row that gets none.
    pub(super) fn without(&self, raw: &[u8], newline: &[u8], blank: bool, out: &mut Vec<u8>) {
        if self.columns && !blank {
            self.plain(raw, newline, out, |_| {});
        } else {
            out.extend_from_slice(raw);
            out.extend_from_slice(newline);
        }
    }

    #[inline]
    fn plain(&self, raw: &[u8], newline: &[u8], out: &mut Vec<u8>, id: impl FnOnce(&mut Vec<u8>)) {
        match self.place {
            IdPlace::First => {
                id(out);
                out.push(self.separator);
                out.extend_from_slice(raw);
            }
            IdPlace::Last => {
                out.extend_from_slice(raw);
                out.push(self.separator);
                id(out);
            }
        }
        out.extend_from_slice(newline);
    }

    /// The row is an object: it was read as one.
    fn object(
        &self,
        raw: &[u8],
        newline: &[u8],
        key: &[u8],
        out: &mut Vec<u8>,
        id: impl FnOnce(&mut Vec<u8>),
    ) {
        let open = memchr::memchr(b'{', raw).unwrap_or(0) + 1;
        let close = memchr::memrchr(b'}', raw).unwrap_or(raw.len()).max(open);
        let empty = raw[open..close].iter().all(u8::is_ascii_whitespace);
        let at = match self.place {
            IdPlace::First => open,
            IdPlace::Last => close,
        };
        out.extend_from_slice(&raw[..at]);
        if self.place == IdPlace::Last && !empty {
            out.push(b',');
        }
        out.extend_from_slice(key);
        id(out);
        out.push(b'"');
        if self.place == IdPlace::First && !empty {
            out.push(b',');
        }
        out.extend_from_slice(&raw[at..]);
        out.extend_from_slice(newline);
    }
}

#[cfg(test)]
mod tests {
    use mintage::UuidText;

    use super::super::scheme::{BackfillFormat, SchemeOptions};
    use super::*;
    use crate::rows::Dialect;

    #[track_caller]
    fn check(format: RowFormat, place: IdPlace, raw: &str, expected: &str) {
        let scheme = Scheme::new(SchemeOptions {
            format: BackfillFormat::Uuid7,
            text: UuidText::Int,
            keyed: false,
            node_column: false,
            node: None,
            clock_seq: 0,
            spread_ns: None,
            seed: Vec::new(),
        });
        let mut out = Vec::new();
        Emitter::new(&format, place, "id").row(raw.as_bytes(), b"\r\n", 7, &scheme.unwrap(), &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn the_id_stands_beside_the_rows_own_bytes() {
        let csv = || RowFormat::Fields(Dialect::CSV);
        check(csv(), IdPlace::First, "a,\"b\"", "7,a,\"b\"\r\n");
        check(csv(), IdPlace::Last, "a,\"b\"", "a,\"b\",7\r\n");
        check(RowFormat::Log(String::new()), IdPlace::First, "a b", "7 a b\r\n");
        let json = || RowFormat::JsonLines;
        check(
            json(),
            IdPlace::First,
            " {\"a\": 1}",
            " {\"id\":\"7\",\"a\": 1}\r\n",
        );
        check(
            json(),
            IdPlace::Last,
            "{\"a\": {}} ",
            "{\"a\": {},\"id\":\"7\"} \r\n",
        );
        check(json(), IdPlace::First, "{ }", "{\"id\":\"7\" }\r\n");
        check(json(), IdPlace::Last, "{ }", "{ \"id\":\"7\"}\r\n");
    }

    #[test]
    fn a_name_that_needs_quotes_gets_them() {
        let mut out = Vec::new();
        let csv = RowFormat::Fields(Dialect::CSV);
        Emitter::new(&csv, IdPlace::First, "the, id").header(b"a,b\n", &mut out);
        assert_eq!(out, b"\"the, id\",a,b\n");
    }
}
