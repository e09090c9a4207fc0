//! Messages of the client, read in place.

use super::errors::{Result, SqlError};
use super::types::utf8;

/// The next message of a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step<'m> {
    /// Its rest has not arrived.
    Incomplete,
    /// One message, which takes `len` bytes.
    Message {
        /// Its kind.
        kind: u8,
        /// What is behind its length.
        body: &'m [u8],
        /// Kind, length and body.
        len: usize,
    },
    /// A length that cannot be.
    WrongLength,
    /// One that is longer than is read.
    TooLong(usize),
}

/// The next message, of at most `max` bytes of body.
pub fn read(input: &[u8], max: usize) -> Step<'_> {
    let Some((head, rest)) = input.split_first_chunk::<5>() else {
        return Step::Incomplete;
    };
    let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
    let Some(body) = length.checked_sub(4).filter(|_| length <= i32::MAX as usize) else {
        return Step::WrongLength;
    };
    if body > max {
        return Step::TooLong(body);
    }
    match rest.get(..body) {
        Some(bytes) => Step::Message {
            kind: head[0],
            body: bytes,
            len: 5 + body,
        },
        None => Step::Incomplete,
    }
}

/// A body, field by field.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields<'m>(pub(super) &'m [u8]);

impl<'m> Fields<'m> {
    /// A text up to its zero.
    pub(super) fn text(&mut self) -> Result<&'m str> {
        let end =
            memchr::memchr(0, self.0).ok_or_else(|| SqlError::new("08P01", "invalid string in message"))?;
        let text = utf8(&self.0[..end])?;
        self.0 = &self.0[end + 1..];
        Ok(text)
    }

    pub(super) fn bytes(&mut self, count: usize) -> Result<&'m [u8]> {
        let (bytes, rest) = self
            .0
            .split_at_checked(count)
            .ok_or_else(|| SqlError::new("08P01", "insufficient data left in message"))?;
        self.0 = rest;
        Ok(bytes)
    }

    fn chunk<const N: usize>(&mut self) -> Result<[u8; N]> {
        let bytes = self.bytes(N)?;
        Ok(bytes.try_into().expect("so many were asked for"))
    }

    pub(super) fn byte(&mut self) -> Result<u8> {
        Ok(self.chunk::<1>()?[0])
    }

    pub(super) fn int2(&mut self) -> Result<usize> {
        Ok(usize::from(u16::from_be_bytes(self.chunk()?)))
    }

    pub(super) fn int4(&mut self) -> Result<i32> {
        Ok(i32::from_be_bytes(self.chunk()?))
    }

    /// So many values of two bytes.
    pub(super) fn codes(&mut self) -> Result<&'m [u8]> {
        let count = self.int2()?;
        self.bytes(2 * count)
    }

    /// Nothing may be left.
    pub(super) fn end(&self) -> Result<()> {
        match self.0.is_empty() {
            true => Ok(()),
            false => Err(SqlError::new("08P01", "invalid message format")),
        }
    }
}

/// `P`: a statement, its name, and the types that the client has named.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parse<'m> {
    pub(super) name: &'m str,
    pub(super) query: &'m str,
    /// Four bytes each.
    types: &'m [u8],
}

impl<'m> Parse<'m> {
    pub(super) fn read(body: &'m [u8]) -> Result<Parse<'m>> {
        let mut fields = Fields(body);
        let (name, query, count) = (fields.text()?, fields.text()?, fields.int2()?);
        let types = fields.bytes(4 * count)?;
        fields.end()?;
        Ok(Parse { name, query, types })
    }

    pub(super) fn types(&self) -> impl ExactSizeIterator<Item = u32> + use<'m> {
        let (types, _) = self.types.as_chunks::<4>();
        types.iter().map(|oid| u32::from_be_bytes(*oid))
    }
}

/// `B`: a portal, its statement, parameters, and the formats of both.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bind<'m> {
    pub(super) portal: &'m str,
    pub(super) statement: &'m str,
    pub(super) formats: &'m [u8],
    pub(super) parameter_count: usize,
    parameters: Fields<'m>,
    pub(super) results: &'m [u8],
}

impl<'m> Bind<'m> {
    pub(super) fn read(body: &'m [u8]) -> Result<Bind<'m>> {
        let mut fields = Fields(body);
        let (portal, statement, formats) = (fields.text()?, fields.text()?, fields.codes()?);
        let parameter_count = fields.int2()?;
        let parameters = fields;
        for _ in 0..parameter_count {
            parameter(&mut fields)?;
        }
        let results = fields.codes()?;
        fields.end()?;
        Ok(Bind {
            portal,
            statement,
            formats,
            parameter_count,
            parameters,
            results,
        })
    }

    /// The parameters, in order; `None` for NULL.
    pub(super) fn parameters(&self) -> impl Iterator<Item = Option<&'m [u8]>> + use<'m> {
        let mut fields = self.parameters;
        // They were all found when the message was read.
        (0..self.parameter_count).map(move |_| parameter(&mut fields).unwrap_or_default())
    }
}

fn parameter<'m>(fields: &mut Fields<'m>) -> Result<Option<&'m [u8]>> {
    match fields.int4()? {
        -1 => Ok(None),
        length => match usize::try_from(length) {
            Ok(length) => fields.bytes(length).map(Some),
            Err(_) => Err(SqlError::new("08P01", "invalid parameter length in bind message")),
        },
    }
}

/// What `D` and `C` are about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum About<'m> {
    Statement(&'m str),
    Portal(&'m str),
}

impl<'m> About<'m> {
    pub(super) fn read(body: &'m [u8], message: &str) -> Result<About<'m>> {
        let mut fields = Fields(body);
        let (kind, name) = (fields.byte()?, fields.text()?);
        fields.end()?;
        match kind {
            b'S' => Ok(About::Statement(name)),
            b'P' => Ok(About::Portal(name)),
            other => Err(SqlError::new(
                "08P01",
                format!("invalid {message} message subtype {other}"),
            )),
        }
    }
}

/// `E`: a portal, and how many rows at most; 0 for all.
pub(super) fn read_execute(body: &[u8]) -> Result<(&str, u64)> {
    let mut fields = Fields(body);
    let (portal, max) = (fields.text()?, fields.int4()?);
    fields.end()?;
    Ok((portal, u64::try_from(max).unwrap_or_default()))
}

/// The one text of `Q`.
pub(super) fn read_query(body: &[u8]) -> Result<&str> {
    let mut fields = Fields(body);
    let query = fields.text()?;
    fields.end()?;
    Ok(query)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_a_kind_and_a_length() {
        assert_eq!(read(b"S\0\0\0", 10), Step::Incomplete);
        assert_eq!(read(b"Q\0\0\0\x06a", 10), Step::Incomplete);
        assert_eq!(
            read(b"S\0\0\0\x04X", 10),
            Step::Message {
                kind: b'S',
                body: b"",
                len: 5
            }
        );
        for length in [0u32, 3, 0x8000_0000, u32::MAX] {
            let input = [&b"Q"[..], &length.to_be_bytes()].concat();
            assert_eq!(read(&input, 10), Step::WrongLength, "{length}");
        }
        assert_eq!(read(b"Q\0\0\0\x0f", 10), Step::TooLong(11));
    }

    #[test]
    fn what_is_cut_short_or_too_long_is_refused() {
        let bind = b"\0s\0\0\x01\0\x01\0\x02\0\0\0\x01x\xff\xff\xff\xff\0\x01\0\0";
        let read = Bind::read(bind).unwrap();
        assert_eq!(
            (read.portal, read.statement, read.results),
            ("", "s", &[0, 0][..])
        );
        assert_eq!(read.parameters().collect::<Vec<_>>(), [Some(&b"x"[..]), None]);
        for cut in 0..bind.len() {
            assert_eq!(Bind::read(&bind[..cut]).unwrap_err().state, "08P01", "{cut}");
        }
        assert_eq!(
            Bind::read(&[&bind[..], b"\0"].concat()).unwrap_err().state,
            "08P01"
        );
        assert_eq!(
            Bind::read(b"\0\0\0\0\0\x01\xff\xff\xff\xfe\0\0")
                .unwrap_err()
                .state,
            "08P01"
        );
        assert_eq!(Parse::read(b"\0SELECT 1").unwrap_err().state, "08P01");
        assert_eq!(Parse::read(b"\0\xff\0\0\0").unwrap_err().state, "22021");
        assert_eq!(About::read(b"X\0", "CLOSE").unwrap_err().state, "08P01");
        assert_eq!(read_execute(b"c\0\0\0\0\x05"), Ok(("c", 5)));
    }
}
