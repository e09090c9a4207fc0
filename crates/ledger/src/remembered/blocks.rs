//! The blocks that this process reserved lately, for whoever asks where a number comes from.
//!
//! A reservation costs one short lock more, a number nothing. What is kept has bounds, whatever is asked for: 32 blocks of
//! 64 bytes for each of 1,024 names, which is 2 MiB and the names.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use mintage::{Run, Timestamp};

use crate::name::Name;
use crate::range::Range;

/// Of how many names blocks are remembered; then the one that reserved least recently is forgotten.
pub const BLOCK_NAMES_MAX: usize = 1024;
/// How many blocks of a name are remembered.
pub const BLOCKS_MAX: usize = 32;

/// A block that this process reserved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReservedBlock {
    /// When that was known, by the clock that ids read.
    pub at: Timestamp,
    /// How long the store took; of one whose answer was lost, until it was found.
    pub took: Duration,
    /// Its numbers.
    pub numbers: Run,
    /// How many of them left this process's memory for somebody who asked.
    pub used: u64,
    /// How many of them nobody will get: dropped with an older definition, passed over for a run.
    pub lost: u64,
    /// How many of them, its last ones, were given back to the store, where others are given them.
    pub given_back: u64,
}

/// What is remembered of all names.
#[derive(Debug, Default)]
pub(crate) struct Recent(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    names: HashMap<Name, OfName>,
    /// The names by when they last reserved.
    by_turn: BTreeMap<u64, Name>,
    turns: u64,
}

#[derive(Debug, Default)]
struct OfName {
    blocks: VecDeque<Kept>,
    turn: u64,
}

/// A block as it is remembered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Kept {
    at_ms: i64,
    took_us: u64,
    range: Range,
    lost: u64,
    given_back: u64,
}

const _: () = assert!(size_of::<Kept>() == 64);

impl Recent {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().expect("no panic while held")
    }

    /// This was reserved now, which took so long.
    pub(crate) fn note(&self, name: &Name, at: Timestamp, took: Duration, range: Range) {
        let mut inner = self.lock();
        inner.turns += 1;
        let turn = inner.turns;
        if let Some(before) = inner.names.get(name).map(|known| known.turn) {
            let moved = inner.by_turn.remove(&before);
            inner.by_turn.insert(turn, moved.unwrap_or_else(|| name.clone()));
        } else {
            if inner.names.len() == BLOCK_NAMES_MAX
                && let Some((_, oldest)) = inner.by_turn.pop_first()
            {
                inner.names.remove(&oldest);
            }
            inner.by_turn.insert(turn, name.clone());
            inner.names.insert(name.clone(), OfName::default());
        }
        let known = inner.names.get_mut(name).expect("put there just now");
        known.turn = turn;
        if known.blocks.len() == BLOCKS_MAX {
            known.blocks.pop_front();
        }
        known.blocks.push_back(Kept {
            at_ms: at.unix_millis(),
            took_us: u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
            range,
            lost: 0,
            given_back: 0,
        });
    }

    /// Nobody will get these.
    pub(crate) fn note_lost(&self, name: &Name, ranges: &[Range]) {
        if let Some(known) = self.lock().names.get_mut(name) {
            for block in &mut known.blocks {
                block.lost += ranges.iter().map(|lost| block.shares(lost)).sum::<u64>();
            }
        }
    }

    /// Nobody will get the `passed` numbers that were next before `first` was given out.
    pub(crate) fn note_passed(&self, name: &Name, first: i64, mut passed: u64) {
        let mut inner = self.lock();
        let Some(known) = inner.names.get_mut(name) else {
            return;
        };
        let Some((at, place)) = place_of(&known.blocks, first) else {
            return;
        };
        let mut before = place;
        for block in known.blocks.iter_mut().take(at + 1).rev() {
            let lost = passed.min(before.unwrap_or(block.count()));
            (block.lost, passed, before) = (block.lost + lost, passed - lost, None);
        }
    }

    /// What lies at this ordinal and above it was given back to the store.
    pub(crate) fn note_given_back(&self, name: &Name, from: u64) {
        if let Some(known) = self.lock().names.get_mut(name) {
            for block in &mut known.blocks {
                let end = block.range.ordinal + block.count();
                block.given_back += end.saturating_sub(from.max(block.range.ordinal));
            }
        }
    }

    /// The blocks of a name, the oldest first.
    pub(crate) fn of(&self, name: &Name) -> Vec<Kept> {
        let inner = self.lock();
        let known = inner.names.get(name);
        known.map_or(Vec::new(), |known| known.blocks.iter().copied().collect())
    }
}

/// Which block has a number, and how many of its numbers come before; the newest, where numbers repeat.
fn place_of(blocks: &VecDeque<Kept>, number: i64) -> Option<(usize, Option<u64>)> {
    let places = blocks.iter().enumerate().rev();
    places
        .filter_map(|(at, block)| Some((at, Some(block.place(number)?))))
        .next()
}

impl Kept {
    /// How many numbers it has still, those aside that were given back.
    fn count(&self) -> u64 {
        self.range.run.count - self.given_back
    }

    /// How many of its numbers come before this one, if it has it.
    pub(crate) fn place(&self, number: i64) -> Option<u64> {
        place_in(&self.range.run, number).filter(|place| *place < self.count())
    }

    /// How many numbers it has in common with `other`.
    fn shares(&self, other: &Range) -> u64 {
        let (ours, from) = (&self.range, self.range.ordinal.max(other.ordinal));
        let until = (ours.ordinal + self.count()).min(other.end());
        let value = |range: &Range| range.run.value(from - range.ordinal);
        // Ordinals of several stores, and of several definitions, are told apart by what lies there.
        match from < until && ours.run.step == other.run.step && value(ours) == value(other) {
            true => until - from,
            false => 0,
        }
    }

    /// With what of it is in memory still.
    pub(crate) fn told(&self, held: &[Range]) -> ReservedBlock {
        let left: u64 = held.iter().map(|held| self.shares(held)).sum();
        ReservedBlock {
            at: Timestamp::from_unix_millis(self.at_ms),
            took: Duration::from_micros(self.took_us),
            numbers: self.range.run,
            used: self.count().saturating_sub(left).saturating_sub(self.lost),
            lost: self.lost,
            given_back: self.given_back,
        }
    }
}

/// How many numbers of a run come before this one, if it is one of them.
pub(crate) fn place_in(run: &Run, number: i64) -> Option<u64> {
    let (apart, step) = (i128::from(number) - i128::from(run.first), i128::from(run.step));
    let place = match step {
        0 => (apart == 0).then_some(0),
        _ => (apart % step == 0).then(|| apart / step),
    };
    let place = u64::try_from(place?).ok()?;
    (place < run.count).then_some(place)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::range::range;

    fn note(recent: &Recent, name: &str, of: Range) {
        let at = Timestamp::from_unix_millis(7);
        recent.note(&Name::new(name).unwrap(), at, Duration::from_millis(2), of);
    }

    /// How many of each block were used, lost and given back.
    fn told(recent: &Recent, name: &str, held: &[Range]) -> Vec<(u64, u64, u64)> {
        let blocks = recent.of(&Name::new(name).unwrap());
        let told = blocks.iter().map(|block| block.told(held));
        told.map(|block| (block.used, block.lost, block.given_back))
            .collect()
    }

    #[test]
    fn what_is_not_held_was_used() {
        let recent = Recent::default();
        for block in [range(0, 10), range(10, 10), range(30, 5)] {
            note(&recent, "a", block);
        }
        for (held, used) in [
            (vec![], [10, 10, 5]),
            (vec![range(13, 7), range(30, 5)], [10, 3, 0]),
            (vec![range(2, 18)], [2, 0, 5]),
            (vec![range(31, 100)], [10, 10, 1]),
        ] {
            let told: Vec<u64> = told(&recent, "a", &held).iter().map(|block| block.0).collect();
            assert_eq!(told, used, "{held:?}");
        }
        assert!(told(&recent, "b", &[]).is_empty());
        // Of another store's share the ordinals are the same.
        let mut other = range(0, 10);
        other.run.first = 1_000;
        assert_eq!(told(&recent, "a", &[other])[0], (10, 0, 0));
    }

    #[test]
    fn what_was_lost_or_given_back_was_not_used() {
        let recent = Recent::default();
        let name = Name::new("a").unwrap();
        note(&recent, "a", range(0, 10));
        note(&recent, "a", range(10, 10));
        recent.note_lost(&name, &[range(5, 2), range(18, 2)]);
        assert_eq!(told(&recent, "a", &[]), [(8, 2, 0), (8, 2, 0)]);
        // The two before number 13, and the three before those.
        recent.note_passed(&name, 13, 5);
        assert_eq!(told(&recent, "a", &[]), [(5, 5, 0), (6, 4, 0)]);
        note(&recent, "a", range(20, 10));
        recent.note_given_back(&name, 24);
        note(&recent, "a", range(24, 3));
        assert_eq!(told(&recent, "a", &[range(25, 2)])[2..], [(4, 0, 6), (1, 0, 0)]);
        let blocks = recent.of(&name);
        let has = |number| blocks.iter().rposition(|block| block.place(number).is_some());
        assert_eq!(
            (has(24), has(25), has(27), has(28)),
            (Some(2), Some(3), Some(3), None)
        );
    }

    #[test]
    fn the_name_that_reserved_least_recently_is_forgotten_and_so_are_old_blocks() {
        let recent = Recent::default();
        for number in 0..BLOCK_NAMES_MAX {
            note(&recent, &format!("n{number}"), range(0, 1));
        }
        note(&recent, "n0", range(1, 1));
        note(&recent, "new", range(0, 1));
        let known = |name: &str| told(&recent, name, &[]).len();
        assert_eq!(
            (known("n0"), known("n1"), known("n2"), known("new")),
            (2, 0, 1, 1)
        );
        for ordinal in 1..=BLOCKS_MAX as u64 {
            note(&recent, "new", range(ordinal, 1));
        }
        assert_eq!(known("new"), BLOCKS_MAX);
        assert_eq!(recent.of(&Name::new("new").unwrap())[0].range, range(1, 1));
        let inner = recent.lock();
        assert_eq!(
            (inner.names.len(), inner.by_turn.len()),
            (BLOCK_NAMES_MAX, BLOCK_NAMES_MAX)
        );
    }

    #[test]
    fn a_number_lies_in_the_runs_that_have_it() {
        let run = |first, step, count| Run { first, step, count };
        for (run, number, place) in [
            (run(1, 1, 10), 10, Some(9)),
            (run(1, 1, 10), 11, None),
            (run(1, 1, 10), 0, None),
            (run(5, 10, 3), 25, Some(2)),
            (run(5, 10, 3), 20, None),
            (run(-1, -2, 4), -7, Some(3)),
            (run(-1, -2, 4), 1, None),
            (run(i64::MIN, i64::MAX, 2), i64::MAX, None),
            (run(i64::MAX, 1, 1), i64::MAX, Some(0)),
        ] {
            assert_eq!(place_in(&run, number), place, "{run:?} {number}");
        }
    }
}
