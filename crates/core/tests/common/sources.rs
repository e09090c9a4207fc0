//! What tests make ids from: clocks, randomness, options.

#![allow(dead_code)] // every test file uses its own part

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

/// What a format needs to be asked for one.
pub(crate) fn asked(row: &Format) -> GenOptions {
    let mut options = GenOptions::default();
    match row.name {
        "uuid2" => (options.domain, options.local_id) = (Some(Domain::Org), Some(7)),
        "uuid3" | "uuid5" | "uuid8" => {
            options.namespace = namespace("dns");
            options.name = Some(b"www.example.com".to_vec());
        }
        "sqids" | "hashids" => options.numbers = vec![1, 2, 3],
        "typeid" => options.prefix = Some("user_account".into()),
        _ => {}
    }
    options
}
