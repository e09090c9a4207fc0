//! Small changes to an input.

use crate::random::Random;

/// Bytes at which readers change their mind.
const EDGES: &[u8] = b"\0\t\n\r \"#$%&'()*+,-./0123456789:;<=>?@AFGIJKLOPQUVWXYZ[\\]^_`afgijklopquvwxyz{|}~\x7f\x80\xc3\xe2\xff";

/// Changes `input` in one to four places; `other` is another input to take a piece of.
pub(crate) fn mutate(input: &mut Vec<u8>, other: &[u8], words: &[&str], longest: usize, random: &mut Random) {
    for _ in 0..=random.below(4) {
        once(input, other, words, random);
    }
    input.truncate(longest);
}

fn once(input: &mut Vec<u8>, other: &[u8], words: &[&str], random: &mut Random) {
    let len = input.len();
    // A place within, and one at most at the end.
    let (at, gap) = (random.below(len.max(1)), random.below(len + 1));
    match random.below(14) {
        0 if len > 0 => input[at] ^= 1 << random.below(8),
        1 if len > 0 => input[at] = random.next() as u8,
        2 | 3 if len > 0 => input[at] = *random.pick(EDGES).unwrap_or(&b'0'),
        4 if len > 0 => input[at] ^= 0x20,
        5 if len > 0 => input[at] = input[at].wrapping_add(if random.below(2) == 0 { 1 } else { 255 }),
        6 => input.insert(gap, *random.pick(EDGES).unwrap_or(&b'0')),
        7 if len > 0 => drop(input.remove(at)),
        8 if len > 0 => {
            let end = at + random.below(len - at) + 1;
            drop(input.drain(at..end));
        }
        9 if len > 0 => {
            let end = at + random.below((len - at).min(16)) + 1;
            let piece = input[at..end].to_vec();
            drop(input.splice(gap..gap, piece));
        }
        10 if len > 1 => {
            let to = random.below(len);
            input.swap(at, to);
        }
        11 if !other.is_empty() => {
            let from = random.below(other.len());
            let end = from + random.below((other.len() - from).min(32)) + 1;
            let upto = (gap + end - from).min(len);
            let upto = if random.below(2) == 0 { gap } else { upto };
            drop(input.splice(gap..upto, other[from..end].iter().copied()));
        }
        12 => {
            if let Some(word) = random.pick(words) {
                drop(input.splice(gap..gap, word.bytes()));
            }
        }
        _ => input.truncate(gap),
    }
}
