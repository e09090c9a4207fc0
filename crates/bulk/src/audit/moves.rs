//! How many rows would have to move for a file to be in order: all but the longest run of rows that already are.
//!
//! Patience sorting, one row at a time: `ends[k]` is the smallest id that a run of `k + 1` rows in order can end with.
//! A row in order is appended, another takes the place of the first end above it; the number of ends is the length
//! of the longest run. The ends of a file in order are its rows, so only the last `kept` of them are held: a row that
//! is smaller than all of those is counted as moved without looking further. Where that happened, the answer is at
//! most this much too large, and says so.

use std::collections::VecDeque;

/// Follows the ids of one file: 16 bytes for each end that is held.
#[derive(Debug)]
pub(super) struct Moves {
    ends: VecDeque<u128>,
    kept: usize,
    /// Ends that were dropped.
    dropped: u64,
    rows: u64,
    /// Rows below all ends that are held.
    below: u64,
}

impl Moves {
    pub(super) fn new(kept: usize) -> Moves {
        Moves {
            ends: VecDeque::new(),
            kept: kept.max(1),
            dropped: 0,
            rows: 0,
            below: 0,
        }
    }

    #[inline]
    pub(super) fn see(&mut self, rank: u128) {
        self.rows += 1;
        if self.ends.back().is_some_and(|last| rank < *last) {
            return self.behind(rank);
        }
        self.ends.push_back(rank);
        if self.ends.len() > self.kept {
            self.ends.pop_front();
            self.dropped += 1;
        }
    }

    fn behind(&mut self, rank: u128) {
        let at = self.ends.partition_point(|end| *end <= rank);
        if at == 0 && self.dropped > 0 {
            self.below += 1;
        } else {
            self.ends[at] = rank;
        }
    }

    /// How many rows would have to move, and whether it can be fewer.
    pub(super) fn result(&self) -> (u64, bool) {
        let longest = self.dropped + self.ends.len() as u64;
        (self.rows - longest, self.below > 0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn moves(ranks: impl IntoIterator<Item = u64>, kept: usize) -> (u64, bool) {
        let mut moves = Moves::new(kept);
        ranks.into_iter().for_each(|rank| moves.see(rank.into()));
        moves.result()
    }

    /// The longest run in order by trying all pairs.
    fn by_hand(ranks: &[u64]) -> u64 {
        let mut longest = vec![1u64; ranks.len()];
        for i in 0..ranks.len() {
            for j in 0..i {
                if ranks[j] <= ranks[i] {
                    longest[i] = longest[i].max(longest[j] + 1);
                }
            }
        }
        ranks.len() as u64 - longest.into_iter().max().unwrap_or(0)
    }

    #[test]
    fn one_row_from_the_future_moves_one_row_and_not_all_behind_it() {
        // Counting rows behind a larger one made 99,999 of them.
        assert_eq!(moves([1 << 60].into_iter().chain(0..99_999), 1 << 20), (1, false));
        assert_eq!(moves(0..1000, 10), (0, false));
        assert_eq!(moves((0..1000).map(|i| i / 2), 10), (0, false));
    }

    #[test]
    fn a_row_from_before_all_that_is_held_makes_it_an_upper_bound() {
        assert_eq!(moves((10..1000).chain([3]), 10), (1, true));
    }

    proptest! {
        #[test]
        fn it_is_what_trying_all_pairs_gives(ranks in prop::collection::vec(0u64..50, 0..60)) {
            prop_assert_eq!(moves(ranks.iter().copied(), 1000), (by_hand(&ranks), false));
        }

        #[test]
        fn with_few_ends_held_it_is_never_too_small(ranks in prop::collection::vec(0u64..50, 0..60), kept in 1usize..20) {
            let (few, upper) = moves(ranks.iter().copied(), kept);
            let exact = by_hand(&ranks);
            prop_assert!(few >= exact);
            prop_assert!(upper || few == exact);
        }
    }
}
