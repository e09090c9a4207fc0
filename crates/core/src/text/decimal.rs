//! Many decimal numbers, one a line.

use alloc::vec::Vec;

/// The most digits above the last four of a 64-bit number.
const HIGH_MAX: usize = 16;
/// The longest line, and room for a copy of fixed length.
const LINE_MAX: usize = HIGH_MAX + 5;

/// Appends each number and a line feed.
///
/// Numbers of one generator share all but their last digits: those above the last four are written once and then
/// copied, sixteen bytes at a time, whatever their length.
pub(super) fn write_lines(numbers: &[u64], out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + numbers.len() * LINE_MAX, 0);
    let mut at = start;
    let mut high = High::new(0);
    for number in numbers {
        let (above, low) = (number / 10_000, (number % 10_000) as usize);
        if above != high.number {
            high = High::new(above);
        }
        let line = out[at..]
            .first_chunk_mut::<LINE_MAX>()
            .expect("room for every line was made");
        at += if above == 0 {
            write_small(low, line)
        } else {
            let (front, _) = line
                .split_first_chunk_mut::<HIGH_MAX>()
                .expect("a line is longer");
            *front = high.digits;
            let len = high.len.min(HIGH_MAX);
            line[len..len + 2].copy_from_slice(&PAIRS[low / 100]);
            line[len + 2..len + 4].copy_from_slice(&PAIRS[low % 100]);
            line[len + 4] = b'\n';
            len + 5
        };
    }
    out.truncate(at);
}

/// What stands above the last four digits.
struct High {
    number: u64,
    digits: [u8; HIGH_MAX],
    len: usize,
}

impl High {
    #[cold]
    fn new(number: u64) -> High {
        let (mut digits, mut len, mut rest) = ([0; HIGH_MAX], 0, number);
        while rest > 0 {
            digits[len] = b'0' + (rest % 10) as u8;
            rest /= 10;
            len += 1;
        }
        digits[..len].reverse();
        High { number, digits, len }
    }
}

/// A number of at most four digits; answers how long its line is.
fn write_small(number: usize, line: &mut [u8; LINE_MAX]) -> usize {
    let len = if number < 10 {
        1
    } else if number < 100 {
        2
    } else if number < 1000 {
        3
    } else {
        4
    };
    let mut rest = number;
    for place in line[..len].iter_mut().rev() {
        *place = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    line[len] = b'\n';
    len + 1
}

/// 00 to 99.
const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[0; 2]; 100];
    let mut number = 0;
    while number < 100 {
        pairs[number] = [b'0' + (number / 10) as u8, b'0' + (number % 10) as u8];
        number += 1;
    }
    pairs
};
