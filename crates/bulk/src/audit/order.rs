//! Whether ids stand in the order in which they were made, and how far out of it.

use serde::Serialize;

use super::moves::Moves;

/// What the order of a file's ids is like.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Debug)]
pub struct Order {
    /// How many ids of kinds that sort were compared with those before them in the same file.
    pub compared: u64,
    /// How many rows would have to move for each file to be in order: all but its longest run that is.
    pub to_move: u64,
    /// Whether it may be fewer: a row belongs further back than ends of runs are held.
    pub to_move_at_most: bool,
    /// How many are smaller than one before them; one row too far ahead makes all that follow it so.
    pub out_of_order: u64,
    /// The first of them.
    pub first: Option<String>,
    /// How far back in time the farthest is, in microseconds; ids without a time count nothing.
    pub farthest_us: i64,
    /// How many rows back the farthest belongs, to the nearest 64 (more in long files).
    pub farthest_rows: u64,
    /// Where the farthest is.
    pub farthest: Option<String>,
    /// Kinds that are fewer than one id in a hundred and were left out, in words.
    pub left_out: Vec<String>,
}

impl Order {
    /// Adds what another kind of id, or another file, is like.
    pub(super) fn add(&mut self, other: Order) {
        self.compared += other.compared;
        self.to_move += other.to_move;
        self.to_move_at_most |= other.to_move_at_most;
        self.out_of_order += other.out_of_order;
        self.first = self.first.take().or(other.first);
        if (other.farthest_us, other.farthest_rows) > (self.farthest_us, self.farthest_rows) {
            self.farthest = other.farthest;
        }
        self.farthest_us = self.farthest_us.max(other.farthest_us);
        self.farthest_rows = self.farthest_rows.max(other.farthest_rows);
    }
}

/// Follows the ids of one file.
#[derive(Debug)]
pub(super) struct OrderWatch {
    highest: Option<u128>,
    highest_us: i64,
    row: u64,
    /// The running highest at regular rows, to find how far back an id belongs.
    steps: Vec<u128>,
    stride: u64,
    moves: Moves,
    order: Order,
}

impl OrderWatch {
    /// Holds at most this many ends of runs.
    pub(super) fn new(ends_kept: usize) -> OrderWatch {
        OrderWatch {
            moves: Moves::new(ends_kept),
            order: Order::default(),
            highest: None,
            highest_us: i64::MIN,
            row: 0,
            steps: Vec::new(),
            stride: 64,
        }
    }

    /// Takes the next id; `place` names its line if that is needed.
    #[inline]
    pub(super) fn see(&mut self, rank: u128, micros: Option<i64>, place: impl Fn() -> String) {
        self.order.compared += 1;
        self.moves.see(rank);
        match self.highest {
            Some(highest) if rank < highest => self.behind(rank, micros, place),
            _ => {
                self.highest = Some(rank);
                if let Some(micros) = micros {
                    self.highest_us = self.highest_us.max(micros);
                }
            }
        }
        if self.row.is_multiple_of(self.stride) {
            self.steps.push(self.highest.unwrap_or(rank));
            if self.steps.len() == STEPS_MAX {
                let mut keep = false;
                self.steps.retain(|_| {
                    keep = !keep;
                    keep
                });
                self.stride *= 2;
            }
        }
        self.row += 1;
    }

    /// What the ids of this file are like.
    pub(super) fn result(mut self) -> Order {
        (self.order.to_move, self.order.to_move_at_most) = self.moves.result();
        self.order
    }

    fn behind(&mut self, rank: u128, micros: Option<i64>, place: impl Fn() -> String) {
        let order = &mut self.order;
        order.out_of_order += 1;
        if order.first.is_none() {
            order.first = Some(place());
        }
        // It belongs before the first step that is higher.
        let higher = self.steps.partition_point(|step| *step < rank) as u64;
        let rows = self.row.saturating_sub(higher * self.stride);
        let back = micros.map_or(0, |micros| self.highest_us.saturating_sub(micros));
        if (back, rows) > (order.farthest_us, order.farthest_rows) {
            order.farthest_us = back;
            order.farthest = Some(place());
        }
        order.farthest_rows = order.farthest_rows.max(rows);
    }
}

/// The most steps kept.
const STEPS_MAX: usize = 1 << 16;

#[cfg(test)]
mod tests {
    use super::*;

    fn order(ranks: impl Iterator<Item = u64>) -> Order {
        let mut watch = OrderWatch::new(1 << 20);
        for (row, rank) in ranks.enumerate() {
            watch.see(rank.into(), Some(rank as i64 * 1000), || {
                format!("line {}", row + 1)
            });
        }
        watch.result()
    }

    #[test]
    fn ids_in_order_and_equal_ones_are_in_order() {
        assert_eq!(order((0..1000).map(|i| i / 2)).out_of_order, 0);
    }

    #[test]
    fn one_that_comes_late_is_found_with_its_distance() {
        let found = order((0..100_000).map(|i| if i == 90_000 { 40_000 } else { i * 2 }));
        assert_eq!(found.out_of_order, 1);
        assert_eq!(found.first.as_deref(), Some("line 90001"));
        assert_eq!(found.farthest_us, (2 * 89_999 - 40_000) * 1000);
        assert!(found.farthest_rows.abs_diff(70_000) <= 128, "{found:?}");
    }

    #[test]
    fn long_files_keep_a_bounded_number_of_steps() {
        let rows = STEPS_MAX as u64 * 64 * 3;
        let found = order((0..rows).map(|i| if i == rows - 1 { 0 } else { i + 1 }));
        assert!(found.farthest_rows.abs_diff(rows) <= 1024, "{found:?}");
    }
}
