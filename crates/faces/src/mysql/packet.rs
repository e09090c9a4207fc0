//! Packets: three bytes of length, the lowest first, a number that counts them within one exchange, and the payload.

/// What the beginning of some bytes is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step<'a> {
    /// More must come.
    Incomplete,
    /// A packet.
    Packet {
        /// Its number.
        number: u8,
        /// Its payload.
        payload: &'a [u8],
        /// How many bytes it takes with its head.
        len: usize,
    },
    /// One that is longer than `max`.
    TooLong {
        /// Its number.
        number: u8,
    },
}

/// The bytes before a payload.
pub const HEAD_BYTES: usize = 4;

/// Reads the packet at the beginning of `input`, whose payload may have `max` bytes. One of 2^24-1 bytes goes on in the
/// next, and is too long in any case.
#[inline]
pub fn read(input: &[u8], max: usize) -> Step<'_> {
    let Some(([low, middle, high, number], rest)) = input.split_first_chunk::<HEAD_BYTES>() else {
        return Step::Incomplete;
    };
    let len = usize::from(*low) | usize::from(*middle) << 8 | usize::from(*high) << 16;
    if len > max || len == GOES_ON {
        return Step::TooLong { number: *number };
    }
    match rest.get(..len) {
        Some(payload) => Step::Packet {
            number: *number,
            payload,
            len: HEAD_BYTES + len,
        },
        None => Step::Incomplete,
    }
}

/// The length of a packet that the next one continues.
const GOES_ON: usize = 0xff_ffff;

/// Writes packets that are numbered one after the other.
#[derive(Debug)]
pub struct Packets<'o> {
    out: &'o mut Vec<u8>,
    next: u8,
}

impl<'o> Packets<'o> {
    /// Behind what `out` has; the first one has the number `next`.
    #[inline]
    pub fn new(out: &'o mut Vec<u8>, next: u8) -> Packets<'o> {
        Packets { out, next }
    }

    /// Writes one, whose payload `fill` appends.
    #[inline]
    pub fn write(&mut self, fill: impl FnOnce(&mut Vec<u8>)) {
        let start = self.out.len();
        self.out.extend_from_slice(&[0, 0, 0, self.next]);
        self.next = self.next.wrapping_add(1);
        fill(self.out);
        let len = self.out.len() - start - HEAD_BYTES;
        debug_assert!(len < GOES_ON, "answers are bounded far below");
        let bytes = (len as u32).to_le_bytes();
        self.out[start..start + 3].copy_from_slice(&bytes[..3]);
    }

    /// The number of the next one.
    #[inline]
    pub fn next(&self) -> u8 {
        self.next
    }
}

/// Appends a number whose first byte says how long it is.
#[inline]
pub fn put_number(out: &mut Vec<u8>, number: u64) {
    let bytes = number.to_le_bytes();
    match number {
        0..=250 => out.push(bytes[0]),
        251..=0xffff => {
            out.push(0xfc);
            out.extend_from_slice(&bytes[..2]);
        }
        0x1_0000..=0xff_ffff => {
            out.push(0xfd);
            out.extend_from_slice(&bytes[..3]);
        }
        _ => {
            out.push(0xfe);
            out.extend_from_slice(&bytes);
        }
    }
}

/// Appends a text behind its length.
#[inline]
pub fn put_text(out: &mut Vec<u8>, text: &[u8]) {
    put_number(out, text.len() as u64);
    out.extend_from_slice(text);
}

/// Reads the parts of a payload, one after the other; `None`: it is cut short.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// From the beginning of a payload.
    pub fn new(payload: &'a [u8]) -> Reader<'a> {
        Reader(payload)
    }

    /// What has not been read.
    pub fn rest(&self) -> &'a [u8] {
        self.0
    }

    /// All that has not been read.
    pub fn take_rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }

    /// The next `len` bytes.
    pub fn bytes(&mut self, len: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(bytes)
    }

    /// The next bytes, as many as the array has.
    pub fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*bytes)
    }

    /// The next byte.
    pub fn byte(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    /// A number of two bytes.
    pub fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    /// A number of four bytes.
    pub fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    /// A text up to its NUL.
    pub fn to_nul(&mut self) -> Option<&'a [u8]> {
        let end = memchr::memchr(0, self.0)?;
        let text = self.bytes(end)?;
        self.byte()?;
        Some(text)
    }

    /// A number whose first byte says how long it is.
    pub fn number(&mut self) -> Option<u64> {
        let mut bytes = [0; 8];
        let len = match self.byte()? {
            0xfc => 2,
            0xfd => 3,
            0xfe => 8,
            // NULL and an error: no number.
            0xfb | 0xff => return None,
            short => return Some(short.into()),
        };
        bytes[..len].copy_from_slice(self.bytes(len)?);
        Some(u64::from_le_bytes(bytes))
    }

    /// A text behind its length.
    pub fn text(&mut self) -> Option<&'a [u8]> {
        let len = usize::try_from(self.number()?).ok()?;
        self.bytes(len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_read_whole_and_long_ones_are_refused_by_their_head() {
        let two = b"\x02\0\0\0ab\x01\0\0\x05c";
        let first = read(two, 10);
        assert_eq!(
            first,
            Step::Packet {
                number: 0,
                payload: b"ab",
                len: 6
            }
        );
        assert!(matches!(
            read(&two[6..], 10),
            Step::Packet {
                number: 5,
                payload: b"c",
                ..
            }
        ));
        for cut in 0..6 {
            assert_eq!(read(&two[..cut], 10), Step::Incomplete, "{cut}");
        }
        assert_eq!(read(two, 1), Step::TooLong { number: 0 });
        assert_eq!(read(b"\xff\xff\xff\x01", usize::MAX), Step::TooLong { number: 1 });
        assert!(matches!(
            read(b"\0\0\0\0", 10),
            Step::Packet {
                payload: b"",
                len: 4,
                ..
            }
        ));
    }

    #[test]
    fn packets_are_numbered_round_and_round() {
        let mut out = b"x".to_vec();
        let mut packets = Packets::new(&mut out, 255);
        packets.write(|out| out.extend_from_slice(b"ab"));
        packets.write(|_| {});
        assert_eq!(packets.next(), 1);
        assert_eq!(out, b"x\x02\0\0\xffab\0\0\0\0");
    }

    #[test]
    fn numbers_are_read_as_they_are_written() {
        for number in [0, 250, 251, 65_535, 65_536, 0xff_ffff, 0x100_0000, u64::MAX] {
            let mut out = Vec::new();
            put_number(&mut out, number);
            let mut reader = Reader::new(&out);
            assert_eq!(reader.number(), Some(number));
            assert_eq!(reader.rest(), b"");
            for cut in 0..out.len() {
                assert_eq!(Reader::new(&out[..cut]).number(), None);
            }
        }
        assert_eq!(Reader::new(b"\xfb").number(), None);
        assert_eq!(Reader::new(b"\x03ab").text(), None);
        assert_eq!(Reader::new(b"ab\0c").to_nul(), Some(&b"ab"[..]));
        assert_eq!(Reader::new(b"ab").to_nul(), None);
    }
}
