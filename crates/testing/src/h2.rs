//! Frames of HTTP/2 (RFC 9113), for what no client sends, and the calls of gRPC that take numbers and change a sequence.

/// What a connection begins with.
pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// `:method POST`, `:scheme http`, `:path /` of the static table (RFC 7541, A).
pub const POST: &[u8] = &[0x83, 0x86, 0x84];

/// Kinds of frames: a part of a body.
pub const DATA: u8 = 0;
/// A head, or the end of a body.
pub const HEADERS: u8 = 1;
/// A stream is taken back.
pub const RESET: u8 = 3;
/// The settings of an end.
pub const SETTINGS: u8 = 4;
/// Asks whether the other end lives.
pub const PING: u8 = 6;
/// The other end takes no more streams.
pub const GO_AWAY: u8 = 7;
/// More room for data.
pub const WINDOW_UPDATE: u8 = 8;
/// More of a head.
pub const CONTINUATION: u8 = 9;

/// Flags: the last frame of a request or answer.
pub const END_STREAM: u8 = 1;
/// The last frame of a head.
pub const END_HEADERS: u8 = 4;

const HEAD_BYTES: usize = 9;

/// A frame.
pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len())
        .expect("short of 4 GiB")
        .to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// Takes the whole frames out of what was read: kind, flags and length of each.
pub fn take_frames(read: &mut Vec<u8>) -> impl Iterator<Item = (u8, u8, usize)> + use<> {
    let (mut at, mut found) = (0, Vec::new());
    while let Some(&[high, middle, low, kind, flags, ..]) =
        read.get(at..).filter(|rest| rest.len() >= HEAD_BYTES)
    {
        let end = at + HEAD_BYTES + u32::from_be_bytes([0, high, middle, low]) as usize;
        if end > read.len() {
            break;
        }
        found.push((kind, flags, end - at - HEAD_BYTES));
        at = end;
    }
    read.drain(..at);
    found.into_iter()
}

/// A call of gRPC with its one message: `METHOD NAME FIELD=VALUE…`, of the service of `proto/mintage/v1/mint.proto`, for the
/// holder of a token, if there is one.
///
/// # Panics
/// When there is no such field.
pub fn call(stream: u32, token: &str, request: &str) -> Vec<u8> {
    let mut words = request.split(' ');
    let (method, name) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let mut message = [&[0x0a, name.len() as u8][..], name.as_bytes()].concat();
    let mut fields = Vec::new();
    for word in words {
        let (field, value) = word.split_once('=').unwrap_or((word, "1"));
        let number = match (method, field) {
            ("Next", "count") | ("RestartSequence", "value") | (_, "increment") => 2,
            ("Next", "contiguous") | ("RestartSequence", "is_called") | (_, "min") => 3,
            (_, "start") => 1,
            (_, "max") => 4,
            (_, "restart") => 11,
            other => panic!("{other:?}: no field of the messages that are known here"),
        };
        let value = match value {
            "true" => 1,
            "false" => 0,
            number => number.parse::<i64>().expect("a number") as u64,
        };
        fields.push(number << 3);
        put_varint(&mut fields, value);
    }
    if method == "AlterSequence" || method == "CreateSequence" {
        message.extend([0x12, fields.len() as u8]);
    }
    message.extend(fields);
    let length = (message.len() as u32).to_be_bytes();
    let body = [&[0][..], &length, &message].concat();
    let head = [
        POST[0..2].to_vec(),
        literal(&[0x04], &format!("/mintage.v1.Mint/{method}")),
        literal(&[0x01], "localhost"),
        literal(&[0x0f, 0x10], "application/grpc"),
        literal(b"\0\x02te", "trailers"),
        match token {
            "" => Vec::new(),
            token => literal(&[0x0f, 0x08], &format!("Bearer {token}")),
        },
    ];
    let head = frame(HEADERS, END_HEADERS, stream, &head.concat());
    [head, frame(DATA, END_STREAM, stream, &body)].concat()
}

/// A field of a head: its name, or where that stands in the static table, and its value.
fn literal(name: &[u8], value: &str) -> Vec<u8> {
    [name, &[value.len() as u8], value.as_bytes()].concat()
}

fn put_varint(into: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        into.push(value as u8 | 0x80);
        value >>= 7;
    }
    into.push(value as u8);
}

/// What an answer's body has of a `NextResponse`: `1,2,3` or `1 to 30 by 1`. An answer without a message is a refusal.
pub fn numbers_of(body: &[u8]) -> String {
    let Some(message) = body.get(5..) else {
        return "-refused".into();
    };
    let (mut ids, mut range, mut rest) = (Vec::new(), Vec::new(), message);
    while let Some((field, after)) = varint(rest) {
        let Some((value, after)) = varint(after) else {
            break;
        };
        rest = after;
        match field {
            // One number, or all of them packed.
            0x08 => ids.push(value as i64),
            0x0a => {
                let (mut packed, after) = rest.split_at((value as usize).min(rest.len()));
                while let Some((id, next)) = varint(packed) {
                    ids.push(id as i64);
                    packed = next;
                }
                rest = after;
            }
            0x12 => {
                let (mut block, after) = rest.split_at((value as usize).min(rest.len()));
                range = vec![0; 3];
                while let Some((field, next)) = varint(block) {
                    let Some((value, next)) = varint(next) else { break };
                    // Of another message than this one, there is more.
                    if let Some(known) = range.get_mut((field as usize >> 3).wrapping_sub(1)) {
                        *known = value;
                    }
                    block = next;
                }
                rest = after;
            }
            _ => {}
        }
    }
    if let [first, count, increment] = range[..] {
        let zigzag = |value: u64| (value >> 1) as i64 ^ -((value & 1) as i64);
        let (first, step) = (zigzag(first), zigzag(increment));
        let last = first.wrapping_add((count as i64).wrapping_sub(1).wrapping_mul(step));
        return format!("{first} to {last} by {step}");
    }
    let ids: Vec<String> = ids.iter().map(i64::to_string).collect();
    ids.join(",")
}

fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let end = bytes.iter().position(|byte| *byte < 0x80)?;
    let value = bytes[..=end].iter().enumerate().fold(0, |sum, (at, byte)| {
        sum | u64::from(byte & 0x7f) << (7 * at.min(9))
    });
    Some((value, &bytes[end + 1..]))
}
