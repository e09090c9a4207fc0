//! The registers with a mark that this process has met, as it last saw them.
//!
//! What a read shows need not be kept (protocol R6): a copy of the store that lacks it has lost nothing that was
//! acknowledged. It counts from the first write of ours on that was begun after the read and acknowledged.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crate::store::{Key, Reserved, Value, Version, Versioned};

/// How many registers are remembered. Beyond, some are forgotten: what is not remembered cannot be missed.
const KEYS_MAX: usize = 200_000;

/// A register as it was last met.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Met {
    pub(super) version: Version,
    pub(super) mark: u64,
    pub(super) token: u128,
    /// How far it was known to have come when another copy of the store answered for the first time: up to here both
    /// copies have the same writes. Version 0: not at all.
    pub(super) common: Version,
    /// Whether what is read later is compared with it: an instance's register carries no mark, and ends with it.
    pub(super) lasts: bool,
    /// Only where a store may forget it.
    pub(super) body: Option<Arc<str>>,
}

impl From<&Reserved> for Met {
    fn from(mark: &Reserved) -> Met {
        Met {
            version: mark.version,
            mark: mark.mark,
            token: mark.token,
            common: Version::of(0),
            lasts: true,
            body: None,
        }
    }
}

impl Met {
    /// How `found`, which was read later, contradicts this (protocol E3); `None`: it does not. `may_fall`: whoever has
    /// a store to himself gives back what he did not use, with a higher version; elsewhere no mark ever falls.
    pub(super) fn gone_back(&self, found: Option<&Versioned>, may_fall: bool) -> Option<String> {
        if !self.lasts {
            return None;
        }
        let Some(found) = found else {
            return (self.mark > 0).then(|| {
                format!(
                    "is gone, it was at version {} with mark {}",
                    self.version.number(),
                    self.mark
                )
            });
        };
        let fell = found.value.mark < self.mark && !may_fall;
        if found.version < self.version || (found.version > self.version && fell) {
            return Some(format!(
                "is at version {} with mark {}, it was at version {} with mark {}",
                found.version.number(),
                found.value.mark,
                self.version.number(),
                self.mark
            ));
        }
        let same = found.value.mark == self.mark && found.value.token == self.token;
        (found.version == self.version && !same).then(|| {
            format!(
                "is at version {} with mark {}, it was at the same version with mark {}, written by somebody else",
                found.version.number(), found.value.mark, self.mark
            )
        })
    }

    pub(super) fn value(&self) -> Option<Value> {
        Some(Value {
            mark: self.mark,
            token: self.token,
            body: self.body.as_ref()?.to_string(),
        })
    }
}

/// A register that a read has shown.
#[derive(Debug)]
struct Shown {
    key: Key,
    met: Met,
    /// How many writes had begun before.
    begun: u64,
}

/// What was met.
#[derive(Debug)]
pub(super) struct Memory {
    met: HashMap<Key, Met>,
    /// What reads have shown since, in their order.
    shown: VecDeque<Shown>,
    /// How many writes have begun.
    begun: u64,
    /// Which copy of the store has shown that.
    copy: Option<String>,
    last: Option<Key>,
    bodies: bool,
}

impl Memory {
    /// Nothing yet; `bodies`: whole registers are kept, so that they can be written again.
    pub(super) fn new(bodies: bool) -> Memory {
        Memory {
            met: HashMap::new(),
            shown: VecDeque::new(),
            begun: 0,
            copy: None,
            last: None,
            bodies,
        }
    }

    pub(super) fn met(&self, key: &Key) -> Option<Met> {
        self.met.get(key).cloned()
    }

    /// How many writes have begun.
    pub(super) fn begun(&self) -> u64 {
        self.begun
    }

    /// A write begins: its number.
    pub(super) fn begin(&mut self) -> u64 {
        self.begun += 1;
        self.begun
    }

    /// The write of this number was acknowledged by this copy of the store: what it had shown before is kept.
    pub(super) fn acknowledged(&mut self, write: u64, copy: Option<String>) {
        self.look_at(copy);
        while let Some(shown) = self.shown.pop_front_if(|shown| shown.begun < write) {
            self.keep(shown.key, shown.met);
        }
    }

    /// Another copy of the store answers from now on.
    pub(super) fn copy_changed(&mut self) {
        for met in self.met.values_mut() {
            met.common = met.version;
        }
    }

    /// What another copy has shown may be lost.
    fn look_at(&mut self, copy: Option<String>) {
        if self.copy != copy {
            self.shown.clear();
            self.copy = copy;
        }
    }

    /// A call failed: the store that answers next may be one that lacks what was shown and not kept.
    pub(super) fn failed(&mut self) {
        self.shown.clear();
    }

    /// Remembers a register that was read, once it is known to be kept.
    pub(super) fn read(&mut self, key: &Key, found: &Versioned, copy: Option<String>) {
        if self.bodies {
            // Where a store may lose what it acknowledged, nothing is known to be kept.
            return self.note(key, found);
        }
        if !self.lasts(key, &found.value) || self.met.get(key).is_some_and(|met| met.version >= found.version)
        {
            return;
        }
        self.look_at(copy);
        if self.shown.len() >= KEYS_MAX {
            self.shown.pop_front();
        }
        self.shown.push_back(Shown {
            key: key.clone(),
            met: self.of(key, found),
            begun: self.begun,
        });
    }

    fn lasts(&self, key: &Key, value: &Value) -> bool {
        value.mark > 0 || (self.bodies && key.as_str().starts_with("pool/"))
    }

    fn of(&self, key: &Key, found: &Versioned) -> Met {
        Met {
            version: found.version,
            mark: found.value.mark,
            token: found.value.token,
            common: Version::of(0),
            lasts: self.lasts(key, &found.value),
            body: self.bodies.then(|| Arc::from(found.value.body.as_str())),
        }
    }

    /// Remembers a register that was written, unless a newer one is remembered.
    pub(super) fn note(&mut self, key: &Key, found: &Versioned) {
        self.keep(key.clone(), self.of(key, found));
    }

    fn keep(&mut self, key: Key, mut met: Met) {
        if let Some(known) = self.met.get(&key) {
            if known.lasts && known.version > met.version {
                return;
            }
            met.common = known.common;
        }
        if self.met.len() >= KEYS_MAX && !self.met.contains_key(&key) {
            let Some(any) = self.met.keys().next().cloned() else {
                return;
            };
            self.met.remove(&any);
        }
        // Windows are renewed every second in any case.
        if self.last.as_ref() != Some(&key) && key.as_str().starts_with("seq/") {
            self.last = Some(key.clone());
        }
        self.met.insert(key, met);
    }

    /// The sequence that was met last.
    pub(super) fn last(&self) -> Option<Key> {
        self.last.clone()
    }

    /// Takes over what this machine remembers of processes before.
    pub(super) fn remember(&mut self, marks: &HashMap<Key, Reserved>) {
        for (key, mark) in marks {
            self.met.entry(key.clone()).or_insert_with(|| Met::from(mark));
        }
    }

    /// A claim moved a register's mark.
    pub(super) fn moved(&mut self, key: &Key, version: Version, mark: u64, token: u128) {
        if let Some(met) = self.met.get_mut(key).filter(|met| met.version < version) {
            *met = Met {
                version,
                mark,
                token,
                common: met.common,
                lasts: met.lasts,
                body: met.body.take(),
            };
        }
    }

    /// What a page of a scan is compared with; the whole where it is small, nothing where copying it would cost
    /// more than it is worth: reads and writes are compared one by one in any case.
    pub(super) fn clone_if_small(&self) -> Option<HashMap<Key, Met>> {
        (self.met.len() <= 1_000).then(|| self.met.clone())
    }

    /// Takes everything out.
    pub(super) fn drain(&mut self) -> Vec<(Key, Met)> {
        self.last = None;
        self.shown.clear();
        self.met.drain().filter(|(_, met)| met.lasts).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn register(version: u64, mark: u64, token: u128) -> Versioned {
        let value = Value {
            mark,
            token,
            body: "{}".into(),
        };
        let version = Version::of(version);
        Versioned { value, version }
    }

    #[test]
    fn only_what_contradicts_is_missed() {
        let key = Key::new("seq/a").unwrap();
        let mut memory = Memory::new(false);
        memory.note(&key, &register(5, 100, 1));
        let met = memory.met(&key).unwrap();
        // Somebody gave back, with a higher version; or lowered it by hand.
        assert_eq!(met.gone_back(Some(&register(6, 90, 2)), true), None);
        for (found, says) in [
            (Some(register(5, 100, 1)), None),
            (Some(register(6, 100, 2)), None),
            (
                Some(register(6, 90, 2)),
                Some("is at version 6 with mark 90, it was at version 5 with mark 100"),
            ),
            (
                Some(register(4, 80, 9)),
                Some("is at version 4 with mark 80, it was at version 5 with mark 100"),
            ),
            (Some(register(5, 100, 2)), Some("written by somebody else")),
            (Some(register(5, 99, 1)), Some("same version with mark 100")),
            (None, Some("is gone")),
        ] {
            let missed = met.gone_back(found.as_ref(), false);
            match (&missed, says) {
                (None, None) => {}
                (Some(missed), Some(says)) => assert!(missed.contains(says), "{missed}"),
                _ => panic!("{found:?}: {missed:?}"),
            }
        }
    }

    #[test]
    fn the_newest_is_remembered_and_registers_without_a_mark_are_not() {
        let key = Key::new("seq/a").unwrap();
        let mut memory = Memory::new(false);
        memory.note(&key, &register(5, 100, 1));
        memory.note(&key, &register(4, 80, 1));
        memory.moved(&key, Version::of(6), 110, 3);
        assert_eq!(
            memory.met(&key).map(|met| (met.version.number(), met.mark)),
            Some((6, 110))
        );
        let instance = Key::new("instance/1").unwrap();
        memory.note(&instance, &register(5, 0, 1));
        let gone = memory.met(&instance).and_then(|met| met.gone_back(None, false));
        assert_eq!(gone, None);
    }
}
