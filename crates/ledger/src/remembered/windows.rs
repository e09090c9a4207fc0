//! Who held workers before, as far as this process has seen: a record names the last holder alone.
//!
//! Filled whenever records of windows are read or taken over. Bounded, whatever pools there are: 4,096 windows that were
//! seen last and 4,096 that came before them, a few hundred bytes each.

use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;

use mintage::Timestamp;

use crate::name::Name;

/// How many windows of earlier holders are remembered, over all pools.
pub const EARLIER_MAX: usize = 4096;
/// Of how many workers the last window is remembered, to tell when another one follows.
const LAST_MAX: usize = 4096;

/// A window that somebody held before the one that the record names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Held {
    pub(crate) owner: String,
    pub(crate) name: String,
    /// In ticks.
    pub(crate) from: u64,
    /// As far as was seen; the holder may have renewed it since.
    pub(crate) until: u64,
    pub(crate) written: Timestamp,
}

/// What was seen of the workers of all pools.
#[derive(Debug, Default)]
pub(crate) struct Earlier(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    last: HashMap<Name, HashMap<u64, Held>>,
    /// How many `last` has.
    workers: usize,
    earlier: VecDeque<(Name, u64, Held)>,
}

impl Earlier {
    /// A record says this of a worker now.
    pub(crate) fn note(&self, pool: &Name, worker: u64, held: Held) {
        let mut inner = self.0.lock().expect("no panic while held");
        let full = inner.workers >= LAST_MAX;
        let known = inner.last.get_mut(pool).and_then(|of| of.get_mut(&worker));
        match known {
            Some(known) if known.owner == held.owner && known.from == held.from => {
                known.until = known.until.max(held.until);
                known.written = held.written;
            }
            Some(known) => {
                let from = held.from;
                let mut before = std::mem::replace(known, held);
                // Whoever took it over began at its end, or later.
                before.until = before.until.min(from);
                if inner.earlier.len() == EARLIER_MAX {
                    inner.earlier.pop_front();
                }
                inner.earlier.push_back((pool.clone(), worker, before));
            }
            None if full => {}
            None => {
                let of = inner.last.entry(pool.clone()).or_default();
                of.insert(worker, held);
                inner.workers += 1;
            }
        }
    }

    /// The earlier windows of the workers of a pool, the earlier ones first.
    pub(crate) fn of(&self, pool: &Name, workers: std::ops::RangeInclusive<u64>) -> Vec<(u64, Held)> {
        let inner = self.0.lock().expect("no panic while held");
        let ours = inner
            .earlier
            .iter()
            .filter(|(of, worker, _)| of == pool && workers.contains(worker));
        ours.map(|(_, worker, held)| (*worker, held.clone())).collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn note(earlier: &Earlier, worker: u64, owner: &str, from: u64, until: u64) {
        let held = Held {
            owner: owner.into(),
            name: String::new(),
            from,
            until,
            written: Timestamp::from_unix_millis(0),
        };
        earlier.note(&Name::new("p").unwrap(), worker, held);
    }

    fn of(earlier: &Earlier, worker: u64) -> Vec<(String, u64, u64)> {
        let found = earlier.of(&Name::new("p").unwrap(), worker..=worker);
        let told = found.into_iter();
        told.map(|(_, held)| (held.owner, held.from, held.until))
            .collect()
    }

    #[test]
    fn a_window_is_earlier_once_another_holder_was_seen() {
        let earlier = Earlier::default();
        note(&earlier, 1, "a", 10, 20);
        note(&earlier, 1, "a", 10, 30);
        note(&earlier, 2, "b", 10, 20);
        assert!(of(&earlier, 1).is_empty());
        note(&earlier, 1, "b", 30, 40);
        note(&earlier, 1, "b", 50, 60);
        assert_eq!(of(&earlier, 1), [("a".into(), 10, 30), ("b".into(), 30, 40)]);
        assert!(of(&earlier, 2).is_empty());
        assert!(earlier.of(&Name::new("q").unwrap(), 0..=9).is_empty());
    }

    #[test]
    fn what_is_remembered_has_an_end() {
        let earlier = Earlier::default();
        for worker in 0..2 * LAST_MAX as u64 {
            note(&earlier, worker, "a", 10, 20);
        }
        for turn in 0..2 * EARLIER_MAX as u64 {
            note(&earlier, 0, &turn.to_string(), 20 + turn, 30 + turn);
        }
        let inner = earlier.0.lock().unwrap();
        assert_eq!((inner.workers, inner.earlier.len()), (LAST_MAX, EARLIER_MAX));
    }
}
