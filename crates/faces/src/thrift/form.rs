//! The four forms of a message, and how they are told apart.
//!
//! | bytes 0 to 3 | byte 4 | form |
//! | --- | --- | --- |
//! | `80 01 …` | | unframed, strict header |
//! | length | `80`, and `01` behind it | framed, strict header |
//! | length | `00` | framed, old header, which begins with the length of the name |
//! | length, at most 64 | a letter or `_` | unframed, old header |
//!
//! Everything else is another protocol: compact (`82 …`), HTTP (a letter), TLS (`16 03 …`). Source: the Thrift binary
//! protocol and framed transport, apache/thrift `doc/specs/thrift-binary-protocol.md`, `thrift-rpc.md`.

/// How a message is written.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Form {
    /// Its length comes first.
    pub framed: bool,
    /// Its header begins with the version of the protocol.
    pub strict: bool,
}

/// What the first bytes of a message show.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Told {
    /// Too few bytes to tell.
    Nothing,
    /// A form; of a framed one the length that its frame has, which may be larger than we read.
    Form(Form, Option<usize>),
    /// Another protocol.
    Foreign,
}

/// The longest name of a method without frame and version: behind it a length like any other can stand.
const BARE_NAME_BYTES_MAX: usize = 64;

/// Tells the form by the first bytes, as soon as these say it: whoever speaks another protocol is not waited for.
pub(super) fn tell(input: &[u8]) -> Told {
    let framed = |strict, length| Told::Form(Form { framed: true, strict }, Some(length));
    let unframed = |strict| {
        Told::Form(
            Form {
                framed: false,
                strict,
            },
            None,
        )
    };
    match *input {
        [] | [0x80] => Told::Nothing,
        [0x80, 0x01, ..] => unframed(true),
        // Lengths of 16 MiB and more are a text's first four letters.
        [0, a, b, c, fourth, ref rest @ ..] => {
            let length = u32::from_be_bytes([0, a, b, c]) as usize;
            match (fourth, rest) {
                (0x80, []) => Told::Nothing,
                (0x80, [0x01, ..]) => framed(true, length),
                (0, _) => framed(false, length),
                (b'a'..=b'z' | b'A'..=b'Z' | b'_', _) if (1..=BARE_NAME_BYTES_MAX).contains(&length) => {
                    unframed(false)
                }
                _ => Told::Foreign,
            }
        }
        [0, ..] => Told::Nothing,
        _ => Told::Foreign,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(input: &[u8], expected: Told) {
        assert_eq!(tell(input), expected, "{input:02x?}");
        // Fewer bytes say the same or nothing.
        for cut in 0..input.len() {
            let early = tell(&input[..cut]);
            assert!(early == Told::Nothing || early == expected, "{cut}: {early:?}");
        }
    }

    #[test]
    fn four_forms_are_told_apart() {
        let form = |framed, strict, length| Told::Form(Form { framed, strict }, length);
        check(b"\x80\x01\0\x01\0", form(false, true, None));
        check(b"\0\0\0\x1f\x80\x01", form(true, true, Some(31)));
        check(b"\0\x01\0\0\x80\x01", form(true, true, Some(65_536)));
        check(b"\0\x02\0\0\x80\x01", form(true, true, Some(131_072)));
        check(b"\0\0\0\x1b\0", form(true, false, Some(27)));
        check(b"\0\0\0\x06get_id", form(false, false, None));
        check(b"\0\0\0\x40_", form(false, false, None));
    }

    #[test]
    fn other_protocols_are_foreign_at_the_first_byte_that_says_so() {
        for (input, needed) in [
            (&b"GET / HTTP/1.1\r\n"[..], 1),
            (b"POST / HTTP/1.1\r\n", 1),
            (b"\x16\x03\x01\x02\0\x01", 1),
            // The compact protocol, unframed and framed.
            (b"\x82\x21\0\x06get_id", 1),
            (b"\0\0\0\x11\x82\x21", 5),
            (b"\x80\x02\0\x01", 2),
            (b"\0\0\0\x1f\x80\x02", 6),
            // A name of 65 bytes; none; PostgreSQL's request for TLS; Redis; an older frame of JSON.
            (b"\0\0\0\x41get_id", 5),
            (b"\0\0\0\0get_id", 5),
            (b"\0\0\0\x08\x04\xd2\x16\x2f", 5),
            (b"*1\r\n$4\r\nPING\r\n", 1),
            (b"\0\0\0\x20[1,\"get_id\"", 5),
        ] {
            assert_eq!(tell(&input[..needed]), Told::Foreign, "{input:02x?}");
            assert_eq!(tell(&input[..needed - 1]), Told::Nothing, "{input:02x?}");
            assert_eq!(tell(input), Told::Foreign);
        }
    }
}
