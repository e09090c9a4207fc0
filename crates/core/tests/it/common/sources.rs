//! What tests make ids from: clocks, randomness, options.

use std::cell::Cell;
use std::rc::Rc;

use mintage::*;

/// A clock that a test moves, in nanoseconds since 1970.
#[derive(Clone)]
pub(crate) struct Hand(pub(crate) Rc<Cell<i128>>);

impl Clock for Hand {
    fn now(&self) -> Timestamp {
        Timestamp::from_unix_nanos(self.0.get())
    }
}

/// Random enough for tests, and the same in every run: SplitMix64.
pub(crate) struct Seeded(pub(crate) u64);

impl Entropy for Seeded {
    fn fill(&mut self, out: &mut [u8]) {
        for chunk in out.chunks_mut(8) {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut bits = self.0;
            bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            bits ^= bits >> 31;
            chunk.copy_from_slice(&bits.to_be_bytes()[..chunk.len()]);
        }
    }
}

/// What a format is asked with: its example.
pub(crate) fn asked(row: &Format) -> GenOptions {
    row.example_options()
}

/// Whether every id of the same options is the same: nothing in it is random, and nothing is the time.
pub(crate) fn repeats(row: &Format) -> bool {
    row.time.is_none() && row.entropy_bits(&asked(row)) == 0.0
}
