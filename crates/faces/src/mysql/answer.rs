//! Answers: OK, ERR, EOF, and the columns before rows.

use super::greeting::CHARSET;
use super::packet::{Packets, put_number, put_text};
use super::refusal::Refusal;
use super::value::Kind;

/// What an OK tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Done {
    /// How many rows were affected.
    pub affected: u64,
    /// The number that was made.
    pub insert_id: u64,
    /// The connection's status.
    pub status: u16,
}

/// Appends OK. It has no text: a client that knows no changes of sessions takes one for malformed.
#[inline]
pub fn write_ok(packets: &mut Packets<'_>, done: Done) {
    packets.write(|out| {
        out.push(0);
        put_number(out, done.affected);
        put_number(out, done.insert_id);
        out.extend_from_slice(&done.status.to_le_bytes());
        // No warnings.
        out.extend_from_slice(&[0, 0]);
    });
}

/// Appends ERR.
#[cold]
pub fn write_error(packets: &mut Packets<'_>, refusal: &Refusal) {
    packets.write(|out| {
        out.push(0xff);
        out.extend_from_slice(&refusal.errno.to_le_bytes());
        out.push(b'#');
        out.extend_from_slice(refusal.state.as_bytes());
        out.extend_from_slice(shortened(&refusal.text).as_bytes());
    });
}

/// As much of a text as clients have room for.
fn shortened(text: &str) -> &str {
    let mut end = text.len().min(TEXT_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The length of the original's texts.
const TEXT_BYTES_MAX: usize = 511;

/// Appends the end of columns or rows.
#[inline]
pub fn write_eof(packets: &mut Packets<'_>, status: u16) {
    packets.write(|out| {
        out.push(0xfe);
        // No warnings.
        out.extend_from_slice(&[0, 0]);
        out.extend_from_slice(&status.to_le_bytes());
    });
}

/// Appends how many columns follow.
pub fn write_count(packets: &mut Packets<'_>, columns: usize) {
    packets.write(|out| put_number(out, columns as u64));
}

/// A column.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Column {
    /// Its name.
    pub name: Box<[u8]>,
    /// What it has.
    pub kind: Kind,
}

impl Column {
    /// A column.
    pub fn new(name: impl AsRef<[u8]>, kind: Kind) -> Column {
        Column {
            name: name.as_ref().into(),
            kind,
        }
    }
}

/// Appends a column.
pub fn write_column(packets: &mut Packets<'_>, column: &Column) {
    let shape = Shape::of(column.kind);
    packets.write(|out| {
        put_text(out, b"def");
        // Neither database nor table.
        out.extend_from_slice(&[0, 0, 0]);
        put_text(out, &column.name);
        out.extend_from_slice(&[0, LENGTH_OF_THE_REST]);
        out.extend_from_slice(&shape.charset.to_le_bytes());
        out.extend_from_slice(&shape.length.to_le_bytes());
        out.push(shape.tag);
        out.extend_from_slice(&shape.flags.to_le_bytes());
        out.push(shape.decimals);
        out.extend_from_slice(&[0, 0]);
    });
}

const LENGTH_OF_THE_REST: u8 = 12;

/// What the protocol calls a kind.
struct Shape {
    tag: u8,
    charset: u16,
    length: u32,
    flags: u16,
    decimals: u8,
}

impl Shape {
    const fn of(kind: Kind) -> Shape {
        const BINARY: u16 = 0x80;
        const UNSIGNED: u16 = 0x20;
        /// Bytes, which are in no character set.
        const NONE: u16 = 63;
        const NUMBER: Shape = Shape {
            tag: 8,
            charset: NONE,
            length: 20,
            flags: BINARY,
            decimals: 0,
        };
        match kind {
            Kind::Integer => NUMBER,
            Kind::Unsigned => Shape {
                flags: BINARY | UNSIGNED,
                ..NUMBER
            },
            Kind::Decimal => Shape {
                tag: 246,
                length: 67,
                // As many as a value has.
                decimals: 31,
                ..NUMBER
            },
            Kind::Null => Shape {
                tag: 6,
                length: 0,
                ..NUMBER
            },
            Kind::Text => Shape {
                tag: 253,
                charset: CHARSET as u16,
                length: 1020,
                flags: 0,
                decimals: 39,
            },
        }
    }
}

/// Appends the columns of a result.
pub fn write_columns(packets: &mut Packets<'_>, columns: &[Column], status: u16) {
    write_count(packets, columns.len());
    columns.iter().for_each(|column| write_column(packets, column));
    write_eof(packets, status);
}

/// Appends what a client is told whose statement is prepared.
pub fn write_prepared(
    packets: &mut Packets<'_>,
    id: u32,
    parameters: usize,
    columns: &[Column],
    status: u16,
) {
    packets.write(|out| {
        out.push(0);
        out.extend_from_slice(&id.to_le_bytes());
        // Both are bounded far below 2^16.
        out.extend_from_slice(&(columns.len() as u16).to_le_bytes());
        out.extend_from_slice(&(parameters as u16).to_le_bytes());
        out.extend_from_slice(&[0, 0, 0]);
    });
    if parameters > 0 {
        let parameter = Column::new("?", Kind::Text);
        (0..parameters).for_each(|_| write_column(packets, &parameter));
        write_eof(packets, status);
    }
    if !columns.is_empty() {
        columns.iter().for_each(|column| write_column(packets, column));
        write_eof(packets, status);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl FnOnce(&mut Packets<'_>)) -> String {
        let mut out = Vec::new();
        write(&mut Packets::new(&mut out, 1));
        out.escape_ascii().to_string()
    }

    fn is(bytes: &[u8]) -> String {
        bytes.escape_ascii().to_string()
    }

    #[test]
    fn ok_has_no_text() {
        let done = Done {
            affected: 2,
            insert_id: 300,
            status: 3,
        };
        let ok = written(|packets| write_ok(packets, done));
        assert_eq!(ok, is(b"\x09\0\0\x01\0\x02\xfc\x2c\x01\x03\0\0\0"));
    }

    #[test]
    fn errors_are_numbers_states_and_texts_of_bounded_length() {
        let refusal = Refusal::unknown_command();
        let error = written(|packets| write_error(packets, &refusal));
        assert_eq!(error, is(b"\x18\0\0\x01\xff\x17\x04#08S01Unknown command"));
        assert_eq!(shortened(&"é".repeat(400)).len(), 510);
    }

    #[test]
    fn columns_are_numbers_and_texts() {
        let number = written(|packets| write_column(packets, &Column::new("n", Kind::Integer)));
        assert_eq!(
            number,
            is(b"\x17\0\0\x01\x03def\0\0\0\x01n\0\x0c\x3f\0\x14\0\0\0\x08\x80\0\0\0\0")
        );
        let text = written(|packets| write_column(packets, &Column::new("t", Kind::Text)));
        assert_eq!(
            text,
            is(b"\x17\0\0\x01\x03def\0\0\0\x01t\0\x0c\x2d\0\xfc\x03\0\0\xfd\0\0\x27\0\0")
        );
    }

    #[test]
    fn a_prepared_statement_tells_its_parameters() {
        let told = written(|packets| write_prepared(packets, 7, 0, &[], 2));
        assert_eq!(told, is(b"\x0c\0\0\x01\0\x07\0\0\0\0\0\0\0\0\0\0"));
    }
}
