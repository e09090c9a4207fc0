//! Spellings of known scripts that were sent once, by their SHA-1: EVALSHA brings no text.

use std::collections::{HashMap, VecDeque};
use std::sync::RwLock;

use crate::config::{Does, Sha1Digest};

/// What this server has learned from EVAL and SCRIPT LOAD; no text is kept. All connections share it.
///
/// Bounded: the spelling that was learned first goes, and whoever still uses it is told NOSCRIPT, upon which clients
/// send the text again.
#[derive(Debug, Default)]
pub(crate) struct Learned(RwLock<Spellings>);

#[derive(Debug, Default)]
struct Spellings {
    all: HashMap<Sha1Digest, Does>,
    /// In the order in which they were learned.
    order: VecDeque<Sha1Digest>,
}

impl Learned {
    /// What a spelling does.
    pub(crate) fn find(&self, sha1: Sha1Digest) -> Option<Does> {
        let spellings = self.0.read().expect("no panic while held");
        spellings.all.get(&sha1).cloned()
    }

    /// Remembers a spelling; above `most` the first ones go.
    pub(crate) fn learn(&self, sha1: Sha1Digest, does: &Does, most: u64) {
        if self.find(sha1).is_some() {
            return;
        }
        let mut spellings = self.0.write().expect("no panic while held");
        if spellings.all.insert(sha1, does.clone()).is_none() {
            spellings.order.push_back(sha1);
        }
        while spellings.order.len() as u64 > most {
            if let Some(first) = spellings.order.pop_front() {
                spellings.all.remove(&first);
            }
        }
    }

    /// Forgets them all.
    pub(crate) fn forget(&self) {
        *self.0.write().expect("no panic while held") = Spellings::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_one_goes_when_there_are_too_many() {
        let learned = Learned::default();
        let sha1 = |i: u32| Sha1Digest::of(&i.to_be_bytes());
        for i in 0..100 {
            learned.learn(sha1(i), &Does::Incr, 3);
            // Again, which makes it neither twice nor younger.
            learned.learn(sha1(i), &Does::Incr, 3);
        }
        for i in 0..100 {
            assert_eq!(learned.find(sha1(i)).is_some(), i >= 97, "{i}");
        }
        assert_eq!(learned.0.read().unwrap().order.len(), 3);
        learned.learn(sha1(0), &Does::Range, 1);
        assert_eq!(learned.find(sha1(99)), None);
        assert_eq!(learned.find(sha1(0)), Some(Does::Range));
        learned.forget();
        assert_eq!(learned.find(sha1(0)), None);
    }
}
