//! Frames of HTTP/2 as they go by: a connection that sends nothing but what is no request is told to calm down
//! (RFC 9113, 7: `ENHANCE_YOUR_CALM`).

use std::cell::{Cell, RefCell};
use std::time::Duration;

/// Both directions of a connection.
#[derive(Debug)]
pub(super) struct Frames {
    incoming: RefCell<Reader>,
    outgoing: RefCell<Reader>,
    /// How many that carry nothing came since the last one that did, either way, and when the first of them did.
    idle: Cell<u64>,
    since: Cell<Duration>,
    max: u64,
    last_stream: Cell<u32>,
}

impl Frames {
    /// At most `max` frames that carry nothing may follow each other within a minute.
    pub(super) fn new(max: u64) -> Frames {
        Frames {
            incoming: RefCell::new(Reader {
                left: PREFACE_BYTES,
                ..Reader::default()
            }),
            outgoing: RefCell::default(),
            idle: Cell::default(),
            since: Cell::default(),
            max,
            last_stream: Cell::default(),
        }
    }

    /// Notes bytes that came.
    pub(super) fn came(&self, bytes: &[u8], now: Duration) {
        self.incoming.borrow_mut().read(bytes, |frame| {
            if frame.kind == HEADERS {
                self.last_stream.set(self.last_stream.get().max(frame.stream));
            }
            if frame.kind == HEADERS || frame.carries_data() {
                self.idle.set(0);
                return;
            }
            if self.idle.get() == 0 || now.saturating_sub(self.since.get()) > WITHIN {
                self.idle.set(0);
                self.since.set(now);
            }
            self.idle.set(self.idle.get() + 1);
        });
    }

    /// Notes bytes that left.
    pub(super) fn left(&self, bytes: &[u8]) {
        self.outgoing.borrow_mut().read(bytes, |frame| {
            if frame.carries_data() {
                self.idle.set(0);
            }
        });
    }

    /// Whether too many have come that carry nothing.
    pub(super) fn are_too_many(&self) -> bool {
        self.idle.get() > self.max
    }

    /// Whether some have come lately that carry nothing.
    pub(super) fn are_idle(&self) -> bool {
        self.idle.get() > 0
    }

    /// The last frame that a connection of too many is sent, if it can be: none was cut off.
    pub(super) fn goodbye(&self) -> Option<Vec<u8>> {
        let whole = self.outgoing.borrow().is_between_frames();
        whole.then(|| {
            let mut frame = vec![0, 0, 8, GOAWAY, 0, 0, 0, 0, 0];
            frame.extend(self.last_stream.get().to_be_bytes());
            frame.extend(ENHANCE_YOUR_CALM.to_be_bytes());
            frame
        })
    }
}

/// What stands at the beginning of a frame.
#[derive(Clone, Copy, Debug)]
struct Head {
    length: usize,
    kind: u8,
    flags: u8,
    stream: u32,
}

impl Head {
    fn carries_data(&self) -> bool {
        self.kind == DATA && (self.length >= DATA_BYTES_MIN || self.flags & END_STREAM != 0)
    }
}

/// Cuts bytes into frames.
#[derive(Debug, Default)]
struct Reader {
    head: [u8; HEAD_BYTES],
    filled: usize,
    /// Of what follows the last head.
    left: usize,
}

impl Reader {
    fn read(&mut self, mut bytes: &[u8], mut each: impl FnMut(Head)) {
        loop {
            let skipped = self.left.min(bytes.len());
            (self.left, bytes) = (self.left - skipped, &bytes[skipped..]);
            let taken = (HEAD_BYTES - self.filled).min(bytes.len());
            if taken == 0 {
                return;
            }
            self.head[self.filled..][..taken].copy_from_slice(&bytes[..taken]);
            (self.filled, bytes) = (self.filled + taken, &bytes[taken..]);
            if self.filled < HEAD_BYTES {
                return;
            }
            let [l0, l1, l2, kind, flags, stream @ ..] = self.head;
            let head = Head {
                length: u32::from_be_bytes([0, l0, l1, l2]) as usize,
                kind,
                flags,
                stream: u32::from_be_bytes(stream) & (u32::MAX >> 1),
            };
            (self.filled, self.left) = (0, head.length);
            each(head);
        }
    }

    fn is_between_frames(&self) -> bool {
        self.filled == 0 && self.left == 0
    }
}

/// `PRI * HTTP/2.0`, `SM` and their empty lines.
const PREFACE_BYTES: usize = 24;
const HEAD_BYTES: usize = 9;
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const GOAWAY: u8 = 7;
const END_STREAM: u8 = 1;
const ENHANCE_YOUR_CALM: u32 = 11;

/// A frame of data carries something from here on, or if it is a stream's last.
const DATA_BYTES_MIN: usize = 64;

/// Signs of life, once a second at the most, may come for ever.
const WITHIN: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::from_secs(1000);

    fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
        let mut frame = (payload.len() as u32).to_be_bytes()[1..].to_vec();
        frame.extend([kind, flags]);
        frame.extend(stream.to_be_bytes());
        frame.extend(payload);
        frame
    }

    fn of_connection() -> Frames {
        let frames = Frames::new(3);
        frames.came(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", NOW);
        frames
    }

    #[test]
    fn frames_that_carry_nothing_are_counted_however_they_are_cut() {
        let kinds = [
            frame(4, 0, 0, &[]),
            frame(6, 0, 0, &[7; 8]),
            frame(8, 0, 0, &[0, 0, 0, 1]),
            frame(2, 0, 5, &[0; 5]),
            frame(3, 0, 5, &[0; 4]),
            frame(DATA, 0, 5, &[]),
            frame(DATA, 0, 5, b"x"),
            frame(9, 0, 5, &[1; 100]),
            frame(99, 0, 5, &[0; 300]),
        ];
        for kind in &kinds {
            for cut in [1, 5, 9, 1000] {
                let frames = of_connection();
                kind.repeat(3).chunks(cut).for_each(|part| frames.came(part, NOW));
                assert!(!frames.are_too_many() && frames.are_idle(), "{kind:?}");
                kind.chunks(cut).for_each(|part| frames.came(part, NOW));
                assert!(frames.are_too_many(), "{kind:?}");
            }
        }
    }

    #[test]
    fn requests_their_bodies_and_answers_begin_the_count_again() {
        let ping = frame(6, 0, 0, &[7; 8]);
        let came = [
            frame(HEADERS, 5, 3, &[0x82; 20]),
            frame(DATA, 0, 3, &[1; 64]),
            frame(DATA, END_STREAM, 3, &[]),
        ];
        for carries in &came {
            let frames = of_connection();
            for _ in 0..10 {
                frames.came(&ping.repeat(3), NOW);
                frames.came(carries, NOW);
            }
            assert!(!frames.are_too_many(), "{carries:?}");
        }
        let frames = of_connection();
        for _ in 0..10 {
            frames.came(&ping.repeat(3), NOW);
            frames.left(&frame(DATA, 0, 3, &[1; 1000]));
        }
        assert!(!frames.are_too_many());
    }

    #[test]
    fn signs_of_life_may_come_for_ever() {
        let frames = of_connection();
        for minute in 0..10 {
            frames.came(&frame(6, 0, 0, &[7; 8]).repeat(3), NOW + WITHIN * 2 * minute);
            assert!(!frames.are_too_many());
        }
    }

    #[test]
    fn the_goodbye_names_the_last_request_and_cuts_into_no_frame() {
        let frames = of_connection();
        frames.came(&frame(HEADERS, 5, 7, &[0x82]), NOW);
        let answer = frame(DATA, 0, 7, &[1; 10]);
        frames.left(&answer[..12]);
        assert_eq!(frames.goodbye(), None);
        frames.left(&answer[12..]);
        let told = frame(GOAWAY, 0, 0, &[0, 0, 0, 7, 0, 0, 0, 11]);
        assert_eq!(frames.goodbye(), Some(told));
    }
}
