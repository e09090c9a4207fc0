//! The answers that hold ids, in the form that the client accepts: the one writer of `mintage_wire::Ids`.

use crate::faces::web::head::Media;

/// Collects ids.
pub(super) struct IdList {
    media: Media,
    body: Vec<u8>,
}

impl IdList {
    /// For ids of about so many bytes in all.
    pub(super) fn new(media: Media, bytes: usize) -> Self {
        let mut body = Vec::with_capacity(HEAD.len() + TAIL_CYCLE.len() + bytes);
        if media == Media::Json {
            body.extend_from_slice(HEAD);
        }
        IdList { media, body }
    }

    /// Adds one that `text` and `packed` write.
    #[inline]
    pub(super) fn push(&mut self, text: impl FnOnce(&mut Vec<u8>), packed: impl FnOnce(&mut Vec<u8>)) {
        match self.media {
            Media::Json => {
                let first = self.body.len() == HEAD.len();
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
        self.body
    }
}

const HEAD: &[u8] = b"{\"ids\":[";
const TAIL: &[u8] = b"]}\n";
const TAIL_CYCLE: &[u8] = b"],\"cycle\":true}\n";

#[cfg(test)]
mod tests {
    use mintage_wire::Ids;

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
    fn ids_are_lines_or_bytes() {
        assert_eq!(written(Media::Text, &[-1, 7], true), b"-1\n7\n");
        let packed: Vec<u8> = [-1i64, 7].iter().flat_map(|n| n.to_be_bytes()).collect();
        assert_eq!(written(Media::Octets, &[-1, 7], false), packed);
    }
}
