//! The answers that hold ids or values, in the form that the client accepts: the one writer of `mintage_wire::Ids` and
//! `mintage_wire::SeriesPage`.

use crate::faces::web::head::Media;

/// Collects ids.
pub(super) struct IdList {
    media: Media,
    body: Vec<u8>,
    /// Where the first one begins.
    begin: usize,
}

impl IdList {
    /// For ids of about so many bytes in all.
    pub(super) fn new(media: Media, bytes: usize) -> Self {
        IdList::under(HEAD, media, bytes)
    }

    /// For values of a series, of about so many bytes in all.
    pub(super) fn of_series(media: Media, bytes: usize) -> Self {
        IdList::under(SERIES_HEAD, media, bytes)
    }

    fn under(head: &[u8], media: Media, bytes: usize) -> Self {
        let mut body = Vec::with_capacity(head.len() + TAIL_CYCLE.len() + bytes);
        if media == Media::Json {
            body.extend_from_slice(head);
        }
        let begin = body.len();
        IdList { media, body, begin }
    }

    /// Adds one that `text` and `packed` write.
    #[inline]
    pub(super) fn push(&mut self, text: impl FnOnce(&mut Vec<u8>), packed: impl FnOnce(&mut Vec<u8>)) {
        match self.media {
            Media::Json => {
                let first = self.body.len() == self.begin;
                self.body.extend_from_slice(if first { b"\"" } else { b",\"" });
                text(&mut self.body);
                self.body.push(b'"');
            }
            Media::Text => {
                text(&mut self.body);
                self.body.push(b'\n');
            }
            Media::Octets => packed(&mut self.body),
        }
    }

    /// Adds a number.
    #[inline]
    pub(super) fn push_number(&mut self, number: impl itoa::Integer, packed: [u8; 8]) {
        self.push(
            |body| body.extend_from_slice(itoa::Buffer::new().format(number).as_bytes()),
            |body| body.extend_from_slice(&packed),
        );
    }

    /// The body; `cycling`: the ids come from a sequence that begins again at its end.
    pub(super) fn finish(mut self, cycling: bool) -> Vec<u8> {
        if self.media == Media::Json {
            self.body
                .extend_from_slice(if cycling { TAIL_CYCLE } else { TAIL });
        }
        self.body.shrink_to_fit();
        self.body
    }

    /// The body of a page of a series, with what `after` takes for the next one: digits, letters and marks of time.
    pub(super) fn finish_series(mut self, next: Option<&str>) -> Vec<u8> {
        if self.media == Media::Json {
            let tail = match next {
                Some(next) => format!("],\"next\":\"{next}\"}}\n"),
                None => "],\"next\":null}\n".into(),
            };
            self.body.extend_from_slice(tail.as_bytes());
        }
        self.body.shrink_to_fit();
        self.body
    }
}

const HEAD: &[u8] = b"{\"ids\":[";
const SERIES_HEAD: &[u8] = b"{\"values\":[";
const TAIL: &[u8] = b"]}\n";
const TAIL_CYCLE: &[u8] = b"],\"cycle\":true}\n";

#[cfg(test)]
mod tests {
    use mintage_wire::{Ids, SeriesPage};

    use super::*;

    fn written(media: Media, numbers: &[i64], cycling: bool) -> Vec<u8> {
        let mut list = IdList::new(media, 0);
        for number in numbers {
            list.push_number(*number, number.to_be_bytes());
        }
        list.finish(cycling)
    }

    #[test]
    fn ids_are_the_document_of_the_wire() {
        for (numbers, cycle) in [(&[-1, 0, i64::MAX][..], false), (&[], false), (&[7], true)] {
            let document = Ids {
                ids: numbers.iter().map(i64::to_string).collect(),
                cycle,
            };
            let expected = serde_json::to_string(&document).unwrap() + "\n";
            assert_eq!(written(Media::Json, numbers, cycle), expected.as_bytes());
        }
    }

    #[test]
    fn a_page_of_a_series_is_the_document_of_the_wire() {
        for (values, next) in [(&["1", "4"][..], Some("4")), (&[], None)] {
            let mut list = IdList::of_series(Media::Json, 0);
            for value in values {
                list.push(|body| body.extend_from_slice(value.as_bytes()), |_| ());
            }
            let document = SeriesPage {
                values: values.iter().map(ToString::to_string).collect(),
                next: next.map(str::to_string),
            };
            let expected = serde_json::to_string(&document).unwrap() + "\n";
            assert_eq!(list.finish_series(next), expected.as_bytes());
        }
    }

    #[test]
    fn ids_are_lines_or_bytes() {
        assert_eq!(written(Media::Text, &[-1, 7], true), b"-1\n7\n");
        let packed: Vec<u8> = [-1i64, 7].iter().flat_map(|n| n.to_be_bytes()).collect();
        assert_eq!(written(Media::Octets, &[-1, 7], false), packed);
    }
}
