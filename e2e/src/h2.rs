//! Frames of HTTP/2 (RFC 9113), for what no client sends.

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
