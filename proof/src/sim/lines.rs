//! Sets of numbers as intervals, so that runs of millions cost what one number costs.

use std::collections::BTreeMap;

use mintage::Run;

/// Disjoint half-open intervals, each with whom it belongs to. Neighbours of one owner are one interval.
#[derive(Clone, Debug)]
pub(crate) struct Intervals<T>(BTreeMap<i128, (i128, T)>);

impl<T> Default for Intervals<T> {
    fn default() -> Self {
        Intervals(BTreeMap::new())
    }
}

impl<T: Copy + PartialEq> Intervals<T> {
    /// The parts of `[from, to)` that belong to somebody already.
    pub(crate) fn overlaps(&self, from: i128, to: i128) -> Vec<(i128, i128, T)> {
        let mut found = Vec::new();
        let before = self.0.range(..from).next_back();
        for (start, (end, owner)) in before.into_iter().chain(self.0.range(from..to)) {
            if *end > from && *start < to {
                found.push(((*start).max(from), (*end).min(to), *owner));
            }
        }
        found
    }

    /// Adds what does not belong to anybody yet.
    pub(crate) fn add(&mut self, from: i128, to: i128, owner: T) {
        let mut at = from;
        for (start, end, _) in self.overlaps(from, to) {
            self.put(at, start, owner);
            at = end;
        }
        self.put(at, to, owner);
    }

    fn put(&mut self, mut from: i128, mut to: i128, owner: T) {
        if from >= to {
            return;
        }
        if let Some((start, (end, who))) = self.0.range(..from).next_back()
            && *end == from
            && *who == owner
        {
            from = *start;
        }
        if let Some((end, who)) = self.0.get(&to).copied()
            && who == owner
        {
            self.0.remove(&to);
            to = end;
        }
        self.0.insert(from, (to, owner));
    }

    /// Takes `[from, to)` out, whoever it belongs to.
    pub(crate) fn remove(&mut self, from: i128, to: i128) {
        for (start, end, owner) in self.overlaps(from, to) {
            let whole = self.0.range(..=start).next_back().map(|(s, (e, _))| (*s, *e));
            let Some((first, last)) = whole else { continue };
            self.0.remove(&first);
            self.put(first, start, owner);
            self.put(end, last, owner);
        }
    }

    /// Whether all of `[from, to)` is in the set.
    pub(crate) fn covers(&self, from: i128, to: i128) -> bool {
        let mut at = from;
        for (start, end, _) in self.overlaps(from, to) {
            if start != at {
                return false;
            }
            at = end;
        }
        at >= to
    }

    /// How many numbers are in it.
    pub(crate) fn count(&self) -> u64 {
        self.0.iter().map(|(start, (end, _))| (end - start) as u64).sum()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (i128, i128, T)> + '_ {
        self.0.iter().map(|(start, (end, owner))| (*start, *end, *owner))
    }
}

/// Numbers of sequences: arithmetic progressions, kept as intervals per step and remainder.
#[derive(Clone, Debug)]
pub(crate) struct Lines<T>(BTreeMap<(u64, u64), Intervals<T>>);

impl<T> Default for Lines<T> {
    fn default() -> Self {
        Lines(BTreeMap::new())
    }
}

/// Where a run lies: step, remainder, and the interval of its places.
fn place(run: Run) -> ((u64, u64), i128, i128) {
    let step = run.step.unsigned_abs();
    let last = i128::from(run.first) + i128::from(run.step) * (i128::from(run.count) - 1);
    let low = i128::from(run.first).min(last);
    let remainder = low.rem_euclid(i128::from(step));
    let from = (low - remainder) / i128::from(step);
    ((step, remainder as u64), from, from + i128::from(run.count))
}

impl<T: Copy + PartialEq> Lines<T> {
    /// The owners of numbers of `run` that are in the set, each with one such number.
    pub(crate) fn overlaps(&self, run: Run) -> Vec<(i128, i128, T)> {
        let (key, from, to) = place(run);
        let mut found = Vec::new();
        for ((step, remainder), set) in &self.0 {
            let value = |place: i128| place * i128::from(*step) + i128::from(*remainder);
            if (*step, *remainder) == key {
                let same = set.overlaps(from, to).into_iter();
                found.extend(same.map(|(a, b, owner)| (value(a), value(b - 1), owner)));
                continue;
            }
            // Another step: number by number, over the part that can meet.
            let own = |at: i128| at * i128::from(key.0) + i128::from(key.1);
            let low = (own(from) - i128::from(*remainder)).div_euclid(i128::from(*step));
            let high = (own(to - 1) - i128::from(*remainder)).div_euclid(i128::from(*step)) + 1;
            for (a, b, owner) in set.overlaps(low, high) {
                let meets = |at: &i128| {
                    let number = value(*at);
                    number >= own(from)
                        && number <= own(to - 1)
                        && (number - i128::from(key.1)).rem_euclid(i128::from(key.0)) == 0
                };
                if let Some(at) = (a..b).find(meets) {
                    found.push((value(at), value(at), owner));
                }
            }
        }
        found
    }

    pub(crate) fn add(&mut self, run: Run, owner: T) {
        if run.count > 0 {
            let (key, from, to) = place(run);
            self.0.entry(key).or_default().add(from, to, owner);
        }
    }

    pub(crate) fn remove(&mut self, run: Run) {
        if run.count > 0 {
            let (key, from, to) = place(run);
            if let Some(set) = self.0.get_mut(&key) {
                set.remove(from, to);
            }
        }
    }

    pub(crate) fn covers(&self, run: Run) -> bool {
        let (key, from, to) = place(run);
        self.0.get(&key).is_some_and(|set| set.covers(from, to))
    }

    pub(crate) fn count(&self) -> u64 {
        self.0.values().map(Intervals::count).sum()
    }

    /// The runs of this set, each with its owner.
    pub(crate) fn iter(&self) -> Vec<(Run, T)> {
        self.without(&Lines::<()>::default())
    }

    /// The runs of this set that are not in `other`.
    pub(crate) fn without<U: Copy + PartialEq>(&self, other: &Lines<U>) -> Vec<(Run, T)> {
        let mut found = Vec::new();
        for (key, set) in &self.0 {
            for (from, to, owner) in set.iter() {
                let mut at = from;
                let taken = other
                    .0
                    .get(key)
                    .map(|set| set.overlaps(from, to))
                    .unwrap_or_default();
                for (start, end) in taken.iter().map(|t| (t.0, t.1)).chain([(to, to)]) {
                    if start > at {
                        let first = at * i128::from(key.0) + i128::from(key.1);
                        let run = Run {
                            first: first as i64,
                            step: key.0 as i64,
                            count: (start - at) as u64,
                        };
                        found.push((run, owner));
                    }
                    at = end;
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    use crate::dice::Dice;

    fn run(first: i64, step: i64, count: u64) -> Run {
        Run { first, step, count }
    }

    /// The same as a plain map from number to owner.
    #[test]
    fn intervals_are_what_a_plain_set_is() {
        let mut dice = Dice::new(7);
        for _ in 0..300 {
            let mut lines = Lines::default();
            let mut plain: BTreeMap<i64, u8> = BTreeMap::new();
            for _ in 0..30 {
                let r = run(
                    dice.below(60) as i64 - 30,
                    *dice.pick(&[1, 1, -1, 2, 3, -3]),
                    1 + dice.below(12),
                );
                let owner = dice.below(2) as u8;
                let mut owners: Vec<u8> = r.into_iter().filter_map(|n| plain.get(&n).copied()).collect();
                let mut found: Vec<u8> = lines.overlaps(r).into_iter().map(|o| o.2).collect();
                for list in [&mut owners, &mut found] {
                    list.sort_unstable();
                    list.dedup();
                }
                assert_eq!(found, owners, "{r:?}");
                // Sets of different steps are kept apart: only disjoint ones may be added, as the checker does.
                if found.is_empty() {
                    lines.add(r, owner);
                    assert!(lines.covers(r));
                    plain.extend(r.into_iter().map(|n| (n, owner)));
                } else if dice.chance(300) && lines.covers(r) {
                    lines.remove(r);
                    plain.retain(|n, _| !r.into_iter().any(|gone| gone == *n));
                }
                assert_eq!(lines.count() as usize, plain.len());
            }
        }
    }

    #[test]
    fn what_is_missing_is_found() {
        let (mut all, mut some) = (Lines::default(), Lines::default());
        all.add(run(1, 1, 100), 1u8);
        some.add(run(1, 1, 10), ());
        some.add(run(20, 1, 30), ());
        let missing: Vec<_> = all
            .without(&some)
            .into_iter()
            .map(|(r, _)| (r.first, r.count))
            .collect();
        assert_eq!(missing, [(11, 9), (50, 51)]);
    }
}
