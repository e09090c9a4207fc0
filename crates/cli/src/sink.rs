//! Ids in a text form on their way out, one per line.

use mintage::{SnowflakeText, Uuid, UuidText};

use crate::errors::Failure;
use crate::out::Out;

/// A text form of ids.
pub(crate) trait TextForm {
    /// What it is a form of.
    type Id;
    /// Writes one.
    fn write(&self, id: &Self::Id, buffer: &mut Vec<u8>);
    /// Writes all of them, each with the end of a line.
    fn write_lines(&self, ids: &[Self::Id], buffer: &mut Vec<u8>);
}

impl TextForm for UuidText {
    type Id = Uuid;

    fn write(&self, id: &Uuid, buffer: &mut Vec<u8>) {
        UuidText::write(*self, id, buffer);
    }

    fn write_lines(&self, ids: &[Uuid], buffer: &mut Vec<u8>) {
        UuidText::write_lines(*self, ids, buffer);
    }
}

impl TextForm for SnowflakeText {
    type Id = u64;

    fn write(&self, id: &u64, buffer: &mut Vec<u8>) {
        SnowflakeText::write(*self, *id, buffer);
    }

    fn write_lines(&self, ids: &[u64], buffer: &mut Vec<u8>) {
        SnowflakeText::write_lines(*self, ids, buffer);
    }
}

/// Where ids go.
pub(crate) struct Sink<'a, F> {
    pub(crate) form: F,
    pub(crate) out: &'a mut Out,
}

impl<F: TextForm> Sink<'_, F> {
    /// Writes ids.
    pub(crate) fn put(&mut self, ids: &[F::Id]) -> Result<(), Failure> {
        let json = self.out.json;
        let buffer = self.out.buffer();
        if json {
            for id in ids {
                buffer.extend_from_slice(b"{\"id\":\"");
                self.form.write(id, buffer);
                buffer.extend_from_slice(b"\"}\n");
            }
        } else {
            self.form.write_lines(ids, buffer);
        }
        self.out.written()
    }
}
