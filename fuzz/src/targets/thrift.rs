//! Calls of the Thrift binary protocol.

use mintage_faces::thrift::codec::{Argument, CALL_BYTES_MAX, Call, Exception, Reader, Step, refuse, reply};

use crate::{Target, saw};

pub(super) fn target() -> Target {
    let strict = &b"\x80\x01\0\x01\0\0\0\x06get_id\0\0\0\x07\x0b\0\x01\0\0\0\x05web-1\0"[..];
    let old = &b"\0\0\0\x06get_id\x01\0\0\0\x07\x0b\0\x01\0\0\0\x05web-1\0"[..];
    let framed = |body: &[u8]| [&(body.len() as u32).to_be_bytes(), body].concat();
    // Fields of every type before the one that counts, in values in values.
    let fields = &b"\x02\0\x02\x01\x06\0\x02ab\x04\0\x02abcdefgh\x0c\0\x02\x0b\0\x01\0\0\0\x01x\0\
        \x0d\0\x02\x0b\x0f\0\0\0\x01\0\0\0\x01x\x0c\0\0\0\x02\0\0\x0e\0\x02\x06\0\0\0\x02aabb"[..];
    let unknown = [&strict[..18], fields, &strict[18..]].concat();
    let seeds = [
        strict.to_vec(),
        old.to_vec(),
        framed(strict),
        framed(old),
        framed(&unknown),
        [strict, old, strict].concat(),
        unknown,
        b"\x80\x01\0\x04\0\0\0\x0dget_timestamp\0\0\0\x07\0".to_vec(),
        b"GET / HTTP/1.1\r\n\r\n".to_vec(),
    ];
    Target::new("thrift", seeds, check).longest(320).words(&[
        "\0\0\0\x1f",
        "\0\0\0\x06",
        "\x01\0\0\0",
        "\0\x01\0\0",
        "\x7f\x7f\x7f\x7f",
        "\x0b\0\x01",
        "\x0c\0\x02",
        "\x0d\0\x02\x0b\x0b",
        "\x0f\0\x02\x0c",
        "get_id",
    ])
}

/// Every call in a buffer is found, byte by byte as in one piece; its answers are messages of the same form.
fn check(input: &[u8]) {
    let mut rest = input;
    // One reader for all, as on a connection.
    let mut reader = Reader::default();
    loop {
        let step = reader.read(rest);
        assert_eq!(byte_by_byte(rest), step);
        rest = match step {
            Step::Incomplete => return saw("incomplete"),
            Step::Foreign => return saw("foreign"),
            Step::Call { call, len } => {
                assert!(len > 0 && len <= rest.len() && len <= CALL_BYTES_MAX, "{len}");
                let kind = match call.argument {
                    Argument::Missing => 0,
                    Argument::Text(_) => 11,
                    Argument::Other(kind) => kind,
                };
                saw((call.form, call.oneway, kind));
                check_answers(&call);
                &rest[len..]
            }
            Step::Broken { call, fault, len } => {
                assert!(!fault.to_string().is_empty());
                saw((call.form, fault, len.is_some()));
                check_answers(&call);
                match len {
                    Some(len) => {
                        assert!(len > 0 && len <= rest.len() && len <= CALL_BYTES_MAX, "{len}");
                        &rest[len..]
                    }
                    None => return,
                }
            }
        };
    }
}

fn byte_by_byte(input: &[u8]) -> Step<'_> {
    let mut reader = Reader::default();
    let steps = (0..=input.len()).map(|cut| reader.read(&input[..cut]));
    let mut told = steps.skip_while(|step| *step == Step::Incomplete);
    told.next().unwrap_or(Step::Incomplete)
}

/// An answer is read back as a message that is no call, with the name and the number of its call.
fn check_answers(call: &Call<'_>) {
    let mut out = Vec::new();
    reply(&mut out, call, i64::MIN);
    let replied = out.len();
    refuse(&mut out, call, Exception::ProtocolError, "words");
    for answer in [&out[..replied], &out[replied..]] {
        let found = Reader::default().read(answer);
        // Without frame and version, long names are not told apart from other protocols.
        if matches!(found, Step::Foreign) && !call.form.framed && !call.form.strict {
            continue;
        }
        let Step::Broken { call: read, len, .. } = found else {
            panic!("{answer:02x?} is {found:?}")
        };
        assert_eq!(
            (read.form, read.name, read.sequence_number, len),
            (call.form, call.name, call.sequence_number, Some(answer.len()))
        );
    }
}
