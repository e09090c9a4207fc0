//! The numbers that one connection took last: of each sequence, and of any.
//!
//! Every number that is taken passes here. The name it was taken from last costs one comparison.

use std::collections::HashMap;

use mintage_server::chassis::kept::{Keeping, KeptBytes, allocated};

/// How many names a connection remembers. The one that was used longest ago is forgotten.
pub(crate) const NAMES_MAX: usize = 1024;

/// What a connection took, sequence by sequence.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    /// Where the last number was taken. Empty: nowhere, or of what was dropped since.
    last_name: Vec<u8>,
    last: i64,
    /// The others, and what the last one was before.
    others: HashMap<Box<[u8]>, Kept>,
    uses: u64,
    /// What the others take; `None`: nobody counts it.
    kept: Option<KeptBytes>,
}

#[derive(Clone, Copy, Debug)]
struct Kept {
    number: i64,
    used: u64,
}

impl Numbers {
    /// Of a connection that has taken none. What it remembers counts among what it keeps.
    pub(crate) fn new(keeping: &Keeping) -> Numbers {
        Numbers {
            kept: Some(keeping.nothing()),
            ..Numbers::default()
        }
    }

    /// A number was taken.
    #[inline]
    pub(crate) fn took(&mut self, name: &[u8], number: i64) {
        if self.last_name != name {
            self.move_to(name);
        }
        self.last = number;
    }

    fn move_to(&mut self, name: &[u8]) {
        if !self.last_name.is_empty() {
            let before = std::mem::take(&mut self.last_name);
            self.keep(&before, self.last);
            self.last_name = before;
            self.last_name.clear();
        }
        self.last_name.extend_from_slice(name);
    }

    /// The sequence was moved by this connection: its number is known, and it is no more the last one than before.
    pub(crate) fn set(&mut self, name: &[u8], number: i64) {
        match self.last_name == name {
            true => self.last = number,
            false => self.keep(name, number),
        }
    }

    fn keep(&mut self, name: &[u8], number: i64) {
        self.uses += 1;
        let kept = Kept {
            number,
            used: self.uses,
        };
        if let Some(known) = self.others.get_mut(name) {
            *known = kept;
            return;
        }
        if self.others.len() + 1 >= NAMES_MAX {
            self.forget_oldest();
        }
        let bytes = bytes_of(name);
        while self.kept.as_mut().is_some_and(|kept| kept.grow(bytes).is_err()) {
            if !self.forget_oldest() {
                return;
            }
        }
        self.others.insert(name.into(), kept);
    }

    fn forget_oldest(&mut self) -> bool {
        let oldest = self.others.iter().min_by_key(|(_, kept)| kept.used);
        let oldest = oldest.map(|(name, _)| name.clone());
        oldest.is_some_and(|oldest| self.remove(&oldest))
    }

    fn remove(&mut self, name: &[u8]) -> bool {
        let was_there = self.others.remove(name).is_some();
        if let (true, Some(kept)) = (was_there, &mut self.kept) {
            kept.shrink(bytes_of(name));
        }
        was_there
    }

    /// The last number of this sequence.
    pub(crate) fn current(&self, name: &[u8]) -> Option<i64> {
        match !name.is_empty() && self.last_name == name {
            true => Some(self.last),
            false => self.others.get(name).map(|kept| kept.number),
        }
    }

    /// The sequence that a number was taken from last, and the number.
    pub(crate) fn last(&self) -> Option<(&[u8], i64)> {
        (!self.last_name.is_empty()).then_some((&self.last_name, self.last))
    }

    /// The sequence was dropped.
    pub(crate) fn forget(&mut self, name: &[u8]) {
        self.remove(name);
        if self.last_name == name {
            self.last_name.clear();
        }
    }

    /// Forgets all.
    pub(crate) fn clear(&mut self) {
        let mut kept = self.kept.take();
        if let Some(kept) = &mut kept {
            kept.shrink(self.others.keys().map(|name| bytes_of(name)).sum());
        }
        *self = Numbers {
            kept,
            ..Numbers::default()
        };
    }
}

/// What a name takes that is remembered: in a map that may be half empty.
fn bytes_of(name: &[u8]) -> usize {
    allocated(name.len()) + 2 * size_of::<(Box<[u8]>, Kept)>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_sequence_has_its_number_and_one_is_the_last() {
        let mut numbers = Numbers::default();
        assert_eq!(
            (numbers.last(), numbers.current(b"a"), numbers.current(b"")),
            (None, None, None)
        );
        numbers.took(b"a", 1);
        numbers.took(b"b", 7);
        numbers.took(b"a", 2);
        assert_eq!((numbers.current(b"a"), numbers.current(b"b")), (Some(2), Some(7)));
        assert_eq!(numbers.last(), Some((&b"a"[..], 2)));
        // Moved: known, and not the last one.
        numbers.set(b"b", 70);
        numbers.set(b"c", 5);
        assert_eq!(
            (numbers.current(b"b"), numbers.current(b"c")),
            (Some(70), Some(5))
        );
        assert_eq!(numbers.last(), Some((&b"a"[..], 2)));
        numbers.set(b"a", 9);
        assert_eq!(numbers.last(), Some((&b"a"[..], 9)));
        numbers.forget(b"a");
        assert_eq!((numbers.last(), numbers.current(b"a")), (None, None));
        numbers.took(b"d", 1);
        assert_eq!(numbers.current(b"b"), Some(70));
        numbers.clear();
        assert_eq!((numbers.last(), numbers.current(b"b")), (None, None));
    }

    #[test]
    fn the_name_that_was_used_longest_ago_is_forgotten() {
        let mut numbers = Numbers::default();
        for n in 0..NAMES_MAX as i64 + 2 {
            numbers.took(format!("s{n}").as_bytes(), n);
            // Used all the time.
            numbers.set(b"s0", -1);
        }
        assert_eq!(numbers.others.len() + 1, NAMES_MAX);
        assert_eq!(numbers.current(b"s0"), Some(-1));
        assert_eq!((numbers.current(b"s1"), numbers.current(b"s2")), (None, None));
        assert_eq!(numbers.current(b"s4"), Some(4));
        assert_eq!(
            numbers.last().map(|(_, number)| number),
            Some(NAMES_MAX as i64 + 1)
        );
    }
}
