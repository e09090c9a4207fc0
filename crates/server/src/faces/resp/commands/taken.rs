//! The numbers that one connection took last, for `MINT.CURRVAL` and `MINT.LASTVAL`.
//!
//! Every `INCR` passes here, whether its connection will ever ask or not. The name it took from last costs one
//! comparison; another one is found by a hash, and links keep the order of use. Where all places are taken, the one not
//! used for the longest time is given away together with its memory, so that nothing is allocated any more.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::kept::{Keeping, KeptBytes, allocated};

/// What a connection took, sequence by sequence.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    places: Vec<Place>,
    /// From the hash of a name to its place.
    by_hash: HashMap<u64, u32, BuildHasherDefault<IsHash>>,
    newest: u32,
    oldest: u32,
    /// Whether there were more sequences than may be remembered.
    forgot: bool,
    /// What all this takes; `None`: nobody counts it.
    kept: Option<KeptBytes>,
}

#[derive(Debug)]
struct Place {
    name: Vec<u8>,
    number: i64,
    hash: u64,
    /// The places that were used next before and next after this one; its own at the ends.
    older: u32,
    newer: u32,
}

impl Taken {
    /// Of a connection that has taken none. What it remembers counts among what it keeps.
    pub(crate) fn new(keeping: &Keeping) -> Taken {
        Taken {
            kept: Some(keeping.nothing()),
            ..Taken::default()
        }
    }

    /// Forgets all.
    pub(super) fn clear(&mut self) {
        let mut kept = self.kept.take();
        if let Some(kept) = &mut kept {
            kept.shrink(usize::MAX);
        }
        *self = Taken {
            kept,
            ..Taken::default()
        };
    }

    /// Whether there is room for so many bytes more.
    fn has_room(&mut self, bytes: usize) -> bool {
        self.kept.as_mut().is_none_or(|kept| kept.grow(bytes).is_ok())
    }

    /// Notes the last number taken of a sequence; of at most `max()` of them.
    #[inline]
    pub(super) fn note(&mut self, name: &[u8], number: i64, max: impl FnOnce() -> u64) {
        match self.places.get_mut(self.newest as usize) {
            Some(place) if *place.name == *name => place.number = number,
            _ => self.note_another(name, number, max()),
        }
    }

    fn note_another(&mut self, name: &[u8], number: i64, max: u64) {
        if self.places.len() as u64 > max || max == 0 {
            // Fewer may be remembered than before.
            self.clear();
            self.forgot = true;
        }
        let hash = hash_of(name);
        let known = self.by_hash.get(&hash).copied();
        let at = match known {
            Some(at) => at,
            None if (self.places.len() as u64) < max && self.has_room(bytes_of(name)) => {
                return self.add(name, number, hash);
            }
            None if self.places.is_empty() => return self.forgot = true,
            None => self.oldest,
        };
        let more = name
            .len()
            .saturating_sub(self.places[at as usize].name.capacity());
        if !self.has_room(more) {
            self.clear();
            return self.forgot = true;
        }
        let place = &mut self.places[at as usize];
        if *place.name != *name {
            self.forgot = true;
            place.name.clear();
            // Not amortised: a name takes its own length at most.
            place.name.reserve_exact(name.len());
            place.name.extend_from_slice(name);
            self.by_hash.remove(&place.hash);
            place.hash = hash;
            self.by_hash.insert(hash, at);
        }
        place.number = number;
        self.make_newest(at);
    }

    fn add(&mut self, name: &[u8], number: i64, hash: u64) {
        let at = self.places.len() as u32;
        if let Some(newest) = self.places.get_mut(self.newest as usize) {
            newest.newer = at;
        }
        self.places.push(Place {
            name: name.to_vec(),
            number,
            hash,
            older: self.newest,
            newer: at,
        });
        self.by_hash.insert(hash, at);
        self.newest = at;
    }

    fn make_newest(&mut self, at: u32) {
        if at == self.newest {
            return;
        }
        let Place { older, newer, .. } = self.places[at as usize];
        // It is not the newest, so that `newer` is another one.
        if at == self.oldest {
            self.oldest = newer;
            self.places[newer as usize].older = newer;
        } else {
            self.places[older as usize].newer = newer;
            self.places[newer as usize].older = older;
        }
        self.places[self.newest as usize].newer = at;
        let place = &mut self.places[at as usize];
        (place.older, place.newer) = (self.newest, at);
        self.newest = at;
    }

    /// The last number taken of a sequence.
    pub(super) fn number_of(&self, name: &[u8]) -> Option<i64> {
        let at = *self.by_hash.get(&hash_of(name))?;
        let place = &self.places[at as usize];
        (*place.name == *name).then_some(place.number)
    }

    /// The last number taken of any.
    pub(super) fn last(&self) -> Option<i64> {
        Some(self.places.get(self.newest as usize)?.number)
    }

    /// Whether a number may have been taken of a sequence that is not remembered.
    pub(super) fn forgot(&self) -> bool {
        self.forgot
    }
}

/// What one place takes: in lists that may be half empty.
fn bytes_of(name: &[u8]) -> usize {
    allocated(name.len()) + 2 * size_of::<(Place, u64, u32)>()
}

/// Tells names apart, fast. Of two names of one hash the later is remembered, so that who makes such names has only their
/// own connection forget one.
fn hash_of(name: &[u8]) -> u64 {
    // The multiplier of Fibonacci hashing, 2^64 divided by the golden ratio.
    let mix = |hash: u64, word: [u8; 8]| {
        let mixed = (hash ^ u64::from_be_bytes(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ mixed >> 32
    };
    let (words, rest) = name.as_chunks::<8>();
    let hash = words
        .iter()
        .fold(name.len() as u64, |hash, word| mix(hash, *word));
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    mix(hash, last)
}

/// The hash of what is a hash.
#[derive(Default)]
struct IsHash(u64);

impl Hasher for IsHash {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("the keys are of 64 bits");
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_was_used_longest_ago_is_forgotten_first() {
        let mut taken = Taken::default();
        for (name, number) in [("a", 1), ("b", 2), ("c", 3), ("a", 4), ("d", 5)] {
            taken.note(name.as_bytes(), number, || 3);
        }
        let numbers: Vec<_> = ["a", "b", "c", "d"]
            .map(|name| taken.number_of(name.as_bytes()))
            .into();
        assert_eq!(numbers, [Some(4), None, Some(3), Some(5)]);
        assert!(taken.forgot());
        assert_eq!(taken.last(), Some(5));
    }

    #[test]
    fn with_a_limit_of_0_nothing_is_remembered_nor_held() {
        let mut taken = Taken::default();
        taken.note(b"a", 1, || 0);
        assert_eq!((taken.number_of(b"a"), taken.last()), (None, None));
        assert_eq!(taken.places.capacity() + taken.by_hash.capacity(), 0);
        // The limit was lowered while the connection lasted.
        taken.note(b"a", 1, || 2);
        taken.note(b"b", 2, || 2);
        taken.note(b"c", 3, || 1);
        assert_eq!((taken.number_of(b"b"), taken.last()), (None, Some(3)));
    }

    #[test]
    fn of_two_names_of_one_hash_the_later_is_remembered() {
        let mut taken = Taken::default();
        taken.note(b"a", 1, || 3);
        // As if both had the hash of the second.
        taken.by_hash = [(hash_of(b"b"), 0)].into_iter().collect();
        taken.places[0].hash = hash_of(b"b");
        assert_eq!(taken.number_of(b"b"), None);
        taken.note(b"b", 2, || 3);
        assert_eq!((taken.number_of(b"a"), taken.number_of(b"b")), (None, Some(2)));
        assert!(taken.forgot());
    }

    proptest! {
        /// Against a plain list of all that was taken.
        #[test]
        fn it_remembers_the_latest(steps in prop::collection::vec((0u8..12, any::<i64>()), 1..200), max in 1usize..10) {
            let mut taken = Taken::default();
            let (mut order, mut numbers) = (Vec::new(), HashMap::new());
            for (name, number) in steps {
                // Names of more than a word, alike at their beginning.
                let name = format!("sequences-of-one-kind-{name}");
                taken.note(name.as_bytes(), number, || max as u64);
                order.retain(|known| *known != name);
                order.push(name.clone());
                numbers.insert(name, number);
                prop_assert_eq!(taken.last(), Some(number));
            }
            prop_assert!(taken.places.len() <= max);
            prop_assert_eq!(taken.forgot(), order.len() > max);
            for (age, name) in order.iter().rev().enumerate() {
                let known = (age < max).then(|| numbers[name]);
                prop_assert_eq!(taken.number_of(name.as_bytes()), known, "{}", name);
            }
        }
    }
}
