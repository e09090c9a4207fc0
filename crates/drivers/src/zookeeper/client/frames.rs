//! Frames out of a stream of bytes: four bytes of length, and so many bytes.

use super::jute::{Malformed, malformed};

/// The bytes that have arrived and were not taken. Room is made for what has arrived, never for what a length says.
#[derive(Debug)]
pub struct Frames {
    buffer: Vec<u8>,
    /// How many bytes at the front were taken.
    taken: usize,
    /// The longest frame that is taken.
    longest: usize,
}

/// How many bytes are read at a time, and kept room for between frames.
const ROOM: usize = 64 << 10;

impl Frames {
    /// With frames of at most so many bytes.
    pub fn new(longest: usize) -> Frames {
        Frames {
            buffer: Vec::new(),
            taken: 0,
            longest,
        }
    }

    pub(super) fn set_longest(&mut self, longest: usize) {
        self.longest = longest;
    }

    /// Where the next bytes are put behind those that are there.
    pub fn room(&mut self) -> &mut Vec<u8> {
        self.buffer.drain(..self.taken);
        self.taken = 0;
        if self.buffer.is_empty() && self.buffer.capacity() > 2 * ROOM {
            self.buffer = Vec::new();
        }
        self.buffer.reserve(ROOM);
        &mut self.buffer
    }

    /// The next frame without its length; `None` if it has not arrived as a whole.
    ///
    /// # Errors
    /// Its length is negative, or more than is taken.
    pub fn take(&mut self) -> Result<Option<&[u8]>, Malformed> {
        let Some((length, rest)) = self.buffer[self.taken..].split_first_chunk() else {
            return Ok(None);
        };
        let length = i32::from_be_bytes(*length);
        let longest = self.longest;
        let Some(length) = usize::try_from(length).ok().filter(|length| *length <= longest) else {
            return malformed(format!("a frame of {length} bytes, {longest} at most are taken"));
        };
        if rest.len() < length {
            return Ok(None);
        }
        let from = self.taken + 4;
        self.taken = from + length;
        Ok(Some(&self.buffer[from..self.taken]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_out_however_their_bytes_arrive() {
        let stream = b"\0\0\0\x03abc\0\0\0\0\0\0\0\x01z\0\0";
        for step in 1..=stream.len() {
            let mut frames = Frames::new(3);
            let mut found: Vec<Vec<u8>> = Vec::new();
            for chunk in stream.chunks(step) {
                frames.room().extend(chunk);
                while let Some(frame) = frames.take().unwrap() {
                    found.push(frame.to_vec());
                }
            }
            assert_eq!(found, [&b"abc"[..], b"", b"z"], "{step} at a time");
        }
    }

    #[test]
    fn a_length_makes_no_room() {
        let mut frames = Frames::new(1 << 30);
        frames.room().extend((1_i32 << 30).to_be_bytes());
        assert_eq!(frames.take(), Ok(None));
        assert!(frames.room().capacity() <= 3 * ROOM);
    }

    #[test]
    fn the_room_of_a_long_frame_is_given_back() {
        let mut frames = Frames::new(1 << 20);
        frames.room().extend((1_i32 << 20).to_be_bytes());
        frames.room().extend(vec![0; 1 << 20]);
        assert_eq!(frames.take().unwrap().map(<[u8]>::len), Some(1 << 20));
        assert!(frames.room().capacity() <= 3 * ROOM);
    }

    #[test]
    fn lengths_beyond_the_limit_are_refused() {
        for length in [4, i32::MAX, -1, i32::from_be_bytes(*b"HTTP")] {
            let mut frames = Frames::new(3);
            frames.room().extend(length.to_be_bytes());
            let why = frames.take().unwrap_err();
            assert_eq!(
                why.to_string(),
                format!("a frame of {length} bytes, 3 at most are taken")
            );
        }
    }
}
