//! Jute, the encoding of ZooKeeper's records: integers big-endian, a buffer, text or list behind its length or count.
//!
//! Source: Apache ZooKeeper, `zookeeper.jute` for the records, `BinaryOutputArchive` for the bytes of each type.

/// Bytes that are no answer to what was asked, and why. Whoever sends them is trusted no further.
#[derive(Clone, PartialEq, Eq, Hash, Debug, thiserror::Error)]
#[error("{0}")]
pub struct Malformed(pub(super) String);

/// Makes a [`Malformed`].
pub(super) fn malformed<T>(why: impl Into<String>) -> Result<T, Malformed> {
    Err(Malformed(why.into()))
}

/// Writes a record.
#[derive(Default)]
pub(super) struct Output(pub(super) Vec<u8>);

impl Output {
    pub(super) fn int(&mut self, value: i32) {
        self.0.extend(value.to_be_bytes());
    }

    pub(super) fn long(&mut self, value: i64) {
        self.0.extend(value.to_be_bytes());
    }

    pub(super) fn boolean(&mut self, value: bool) {
        self.0.push(value.into());
    }

    pub(super) fn buffer(&mut self, bytes: &[u8]) {
        self.count(bytes.len());
        self.0.extend(bytes);
    }

    /// A count that does not fit belongs to a request that is refused for its length.
    pub(super) fn count(&mut self, count: usize) {
        self.int(i32::try_from(count).unwrap_or(i32::MAX));
    }
}

/// Reads a record. Every length is compared with the bytes that are there before anything is allocated.
#[derive(Clone, Debug)]
pub struct Input<'a>(pub(super) &'a [u8]);

impl<'a> Input<'a> {
    /// Of all these bytes.
    pub fn new(bytes: &'a [u8]) -> Input<'a> {
        Input(bytes)
    }

    /// How many bytes are not read yet.
    pub fn rest(&self) -> usize {
        self.0.len()
    }

    /// All must have been read.
    pub(super) fn end(&self) -> Result<(), Malformed> {
        match self.0.len() {
            0 => Ok(()),
            more => malformed(format!("{more} bytes behind an answer")),
        }
    }

    pub(super) fn int(&mut self) -> Result<i32, Malformed> {
        self.array().map(i32::from_be_bytes)
    }

    pub(super) fn long(&mut self) -> Result<i64, Malformed> {
        self.array().map(i64::from_be_bytes)
    }

    pub(super) fn boolean(&mut self) -> Result<bool, Malformed> {
        match self.array()? {
            [0] => Ok(false),
            [1] => Ok(true),
            [other] => malformed(format!("the truth value {other}")),
        }
    }

    /// A buffer of length -1, which is Java's null, is an empty one.
    pub(super) fn buffer(&mut self) -> Result<&'a [u8], Malformed> {
        match self.int()? {
            -1 => Ok(&[]),
            length => self.bytes(usize::try_from(length).unwrap_or(usize::MAX)),
        }
    }

    pub(super) fn text(&mut self) -> Result<&'a str, Malformed> {
        let bytes = self.buffer()?;
        std::str::from_utf8(bytes).or_else(|_| malformed("a text that is not UTF-8"))
    }

    /// A list whose elements take at least `least` bytes each.
    pub(super) fn list<T>(
        &mut self,
        least: usize,
        mut element: impl FnMut(&mut Input<'a>) -> Result<T, Malformed>,
    ) -> Result<Vec<T>, Malformed> {
        let count = match self.int()? {
            -1 => 0,
            count => usize::try_from(count).unwrap_or(usize::MAX),
        };
        if count > self.0.len() / least {
            return malformed(format!("a list of {count} in {} bytes", self.0.len()));
        }
        (0..count).map(|_| element(self)).collect()
    }

    pub(super) fn bytes(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let Some((taken, rest)) = self.0.split_at_checked(count) else {
            return malformed(format!("{count} bytes of {}", self.0.len()));
        };
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let Some((taken, rest)) = self.0.split_first_chunk() else {
            return malformed(format!("{N} bytes of {}", self.0.len()));
        };
        self.0 = rest;
        Ok(*taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mut out = Output::default();
        out.int(i32::MIN);
        out.long(i64::MAX);
        out.boolean(true);
        out.buffer("ü".as_bytes());
        out.count(2);
        out.buffer(b"");
        out.buffer(b"a");
        let mut input = Input(&out.0);
        assert_eq!(input.int(), Ok(i32::MIN));
        assert_eq!(input.long(), Ok(i64::MAX));
        assert_eq!(input.boolean(), Ok(true));
        assert_eq!(input.text(), Ok("ü"));
        assert_eq!(input.list(4, Input::text), Ok(vec!["", "a"]));
        assert_eq!(input.end(), Ok(()));
    }

    #[test]
    fn lengths_that_lie_are_refused_before_anything_is_allocated() {
        for length in [1, 2, i32::MAX, -2, i32::MIN] {
            let bytes = length.to_be_bytes();
            assert!(Input(&bytes).buffer().is_err(), "{length}");
            assert!(Input(&bytes).list(1, Input::boolean).is_err(), "{length}");
        }
        // Two elements have room, three have not.
        let nine = [[0, 0, 0, 3].as_slice(), &[0; 9]].concat();
        let why = Input(&nine).list(4, Input::text).unwrap_err();
        assert_eq!(why.to_string(), "a list of 3 in 9 bytes");
        let null = (-1_i32).to_be_bytes();
        assert_eq!(Input(&null).buffer(), Ok(&[][..]));
        assert_eq!(Input(&null).list(4, Input::text), Ok(vec![]));
    }

    #[test]
    fn what_no_writer_writes_is_refused() {
        assert!(Input(&[2]).boolean().is_err());
        assert!(Input(&[0, 0, 0, 1, 0xff]).text().is_err());
        assert!(Input(&[0; 3]).int().is_err());
        assert!(Input(&[0; 7]).long().is_err());
        assert!(Input(&[0]).end().is_err());
    }
}
