//! Every id that was got, so that one that comes again is found: exact, and bounded in memory.

use std::collections::{HashMap, HashSet};

/// Ids of 64 bits, a bit for each: those that lie close together share a page.
///
/// It has at most [`PAGES_MAX`] pages, which is some 75 MB. Numbers of a sequence fill them, so that there is room for
/// 469 million; Snowflakes that are taken a hundred at a time need about a page for every two answers.
#[derive(Default)]
pub(super) struct Numbers {
    pages: HashMap<u64, Page>,
    count: u64,
    highest: u64,
}

type Page = [u64; 16];

/// How many ids share a page, as a power of two.
const PAGE_BITS: u32 = 10;

/// As many as fit half a million places of a hash table.
const PAGES_MAX: usize = (1 << 19) / 8 * 7;

impl Numbers {
    /// Whether it is new.
    pub(super) fn insert(&mut self, id: u64) -> bool {
        let page = self.pages.entry(id >> PAGE_BITS).or_default();
        let (word, bit) = ((id >> 6) as usize % page.len(), 1 << (id % 64));
        let is_new = page[word] & bit == 0;
        page[word] |= bit;
        self.count += u64::from(is_new);
        self.highest = self.highest.max(id);
        is_new
    }

    /// Whether no more should be taken.
    pub(super) fn is_full(&self) -> bool {
        self.pages.len() >= PAGES_MAX
    }

    /// How many of the numbers from 1 to the highest are not here.
    pub(super) fn missing(&self) -> u64 {
        self.highest.saturating_sub(self.count)
    }
}

/// Ids of 128 bits, of which no two lie close together: at most [`WIDE_MAX`] of them, which is some 75 MB.
#[derive(Default)]
pub(super) struct Wide(HashSet<u128>);

/// As many as fit four million places of a hash table.
const WIDE_MAX: usize = (1 << 22) / 8 * 7;

impl Wide {
    /// Whether it is new.
    pub(super) fn insert(&mut self, id: u128) -> bool {
        self.0.insert(id)
    }

    /// Whether no more should be taken.
    pub(super) fn is_full(&self) -> bool {
        self.0.len() >= WIDE_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_planted_repeat_is_found_among_numbers() {
        let mut seen = Numbers::default();
        for id in (1..=100_000).chain([1 << 22, (1 << 63) + 5, u64::MAX]) {
            assert!(seen.insert(id), "{id}");
        }
        for planted in [
            1,
            64,
            1023,
            1024,
            77_777,
            100_000,
            1 << 22,
            (1 << 63) + 5,
            u64::MAX,
        ] {
            assert!(!seen.insert(planted), "{planted}");
        }
        assert!(seen.insert(100_001));
    }

    #[test]
    fn a_planted_repeat_is_found_among_uuids() {
        let mut seen = Wide::default();
        assert!((0..10_000).all(|id| seen.insert(id << 64 | id)));
        assert!(!seen.insert(4_321 << 64 | 4_321));
        assert!(seen.insert(4_321 << 64 | 4_322));
    }

    #[test]
    fn what_is_missing_is_counted_up_to_the_highest_number() {
        let mut seen = Numbers::default();
        for number in [1, 2, 5, 10] {
            seen.insert(number);
        }
        // Again: it is one number still.
        seen.insert(10);
        assert_eq!(seen.missing(), 6);
    }

    #[test]
    fn there_is_room_for_what_the_bound_promises_and_no_more() {
        let mut seen = Numbers::default();
        let pages = PAGES_MAX as u64;
        for page in 0..pages - 1 {
            seen.insert(page << PAGE_BITS);
        }
        assert!(!seen.is_full());
        seen.insert((pages - 1) << PAGE_BITS);
        assert!(seen.is_full());
        assert_eq!(seen.pages.capacity(), PAGES_MAX);
    }
}
