//! Many integers in a row, quickly: the next number is the last one's digits plus one.
//!
//! Formatting costs several nanoseconds a number; counting up in ASCII costs about one, and a fixed-size copy
//! another. [`write_slowly`] is the plain twin that a test holds it to.

use mintage::Run;

/// Appends `:n\r\n` for each number of a run.
pub(super) fn write(out: &mut Vec<u8>, run: Run) {
    if run.step == 1 && run.first >= 0 && run.count > 1 {
        write_counting(out, run);
    } else {
        write_slowly(out, run);
    }
}

fn write_slowly(out: &mut Vec<u8>, run: Run) {
    let mut digits = itoa::Buffer::new();
    for n in run.iter() {
        out.push(b':');
        out.extend_from_slice(digits.format(n).as_bytes());
        out.extend_from_slice(b"\r\n");
    }
}

fn write_counting(out: &mut Vec<u8>, run: Run) {
    let mut at = out.len();
    let mut line = Line::of(run.first);
    // Room for whole lines, so that each copy has a fixed size; what is too much is cut off again.
    out.resize(at + run.count as usize * LINE_BYTES, 0);
    for _ in 0..run.count {
        out[at..at + LINE_BYTES].copy_from_slice(&line.bytes);
        at += line.len;
        line.count_up();
    }
    out.truncate(at);
}

/// `:`, up to 20 digits, CR LF, and what fills a fixed size.
struct Line {
    bytes: [u8; LINE_BYTES],
    len: usize,
}

impl Line {
    fn of(n: i64) -> Line {
        let mut line = Line {
            bytes: [0; LINE_BYTES],
            len: 0,
        };
        line.push(b":");
        line.push(itoa::Buffer::new().format(n).as_bytes());
        line.push(b"\r\n");
        line
    }

    fn push(&mut self, bytes: &[u8]) {
        self.bytes[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    fn count_up(&mut self) {
        for digit in self.bytes[1..self.len - 2].iter_mut().rev() {
            if *digit < b'9' {
                *digit += 1;
                return;
            }
            *digit = b'0';
        }
        // All nines: one digit more. Past i64::MAX nobody looks at the line any more, and it still has room.
        self.bytes.copy_within(1..self.len, 2);
        self.bytes[1] = b'1';
        self.len += 1;
    }
}

const LINE_BYTES: usize = 24;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check_twins(run: Run) {
        let (mut quick, mut slow) = (b"before".to_vec(), b"before".to_vec());
        write(&mut quick, run);
        write_slowly(&mut slow, run);
        assert_eq!(String::from_utf8_lossy(&quick), String::from_utf8_lossy(&slow));
    }

    #[test]
    fn counting_agrees_with_formatting_at_the_edges() {
        for (first, step, count) in [
            (0, 1, 12),
            (1, 1, 1),
            (1, 1, 0),
            (8, 1, 3),
            (98, 1, 3),
            (999_998, 1, 1003),
            (-2, 1, 5),
            (5, -1, 8),
            (5, 3, 8),
            (i64::MAX - 2, 1, 3),
            (9_999_999_999_999_998 - 1, 1, 5),
        ] {
            check_twins(Run { first, step, count });
        }
    }

    proptest! {
        #[test]
        fn counting_agrees_with_formatting(first in any::<i64>(), step in -2i64..3, count in 0u64..300) {
            let last = i128::from(first) + i128::from(step) * i128::from(count);
            prop_assume!(step != 0 && i64::try_from(last).is_ok());
            check_twins(Run { first, step, count });
        }
    }
}
