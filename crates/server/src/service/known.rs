//! One thread's memory of the sequences it has met: from a name's bytes to the shared object, without a lock.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use mintage_ledger::Sequence;

/// Sequences by name, with the last one at hand. The ledger lets a sequence's object go only while nobody else holds it,
/// so that an entry never goes stale.
#[derive(Debug)]
pub(super) struct KnownSequences {
    entries: Vec<(Rc<[u8]>, Arc<Sequence>)>,
    by_name: HashMap<Rc<[u8]>, usize>,
    last: usize,
    max: usize,
}

impl KnownSequences {
    /// Remembers at most `max` names; one more, and it begins anew.
    pub(super) fn new(max: usize) -> Self {
        KnownSequences {
            entries: Vec::new(),
            by_name: HashMap::new(),
            last: 0,
            max,
        }
    }

    /// The sequence called `name`, if this thread has met it. Runs of one name cost a comparison.
    #[inline]
    pub(super) fn find(&mut self, name: &[u8]) -> Option<&Arc<Sequence>> {
        if self
            .entries
            .get(self.last)
            .is_none_or(|(last, _)| **last != *name)
        {
            self.last = *self.by_name.get(name)?;
        }
        self.entries.get(self.last).map(|(_, sequence)| sequence)
    }

    /// Forgets those that were not used lately, so that the ledger can let them go.
    pub(super) fn let_idle_go(&mut self) {
        self.entries.retain(|(_, sequence)| sequence.is_active());
        self.entries.shrink_to_fit();
        let places = self.entries.iter().enumerate();
        self.by_name = places.map(|(at, (name, _))| (name.clone(), at)).collect();
        self.last = 0;
    }

    /// Remembers a sequence.
    pub(super) fn remember(&mut self, name: &[u8], sequence: &Arc<Sequence>) {
        if self.by_name.contains_key(name) {
            return;
        }
        if self.entries.len() >= self.max {
            self.entries.clear();
            self.by_name.clear();
        }
        let name: Rc<[u8]> = name.into();
        self.by_name.insert(name.clone(), self.entries.len());
        self.entries.push((name, sequence.clone()));
    }
}

#[cfg(test)]
mod tests {
    use mintage_ledger::{Ledger, LedgerSettings, Name, StoreSettings, SystemRuntime, open_store};

    use super::*;

    #[tokio::test]
    async fn names_that_are_not_used_are_forgotten_and_the_ledger_lets_them_go() {
        let runtime = SystemRuntime::new(tokio::runtime::Handle::current());
        let store = open_store("memory:", &StoreSettings::default(), runtime.clone())
            .await
            .unwrap();
        let settings = LedgerSettings {
            max_loaded: 4,
            ..LedgerSettings::default()
        };
        let ledger = Ledger::open(store, settings, runtime).await.unwrap();
        let mut names = KnownSequences::new(8);
        let used = ledger
            .sequence_or_create(&Name::new("used").unwrap())
            .await
            .unwrap();
        used.take(1).await.unwrap();
        names.remember(b"used", &used);
        for k in 0..6 {
            // Looked up, and never taken from.
            let name = Name::new(format!("n{k}")).unwrap();
            let sequence = ledger.sequence_or_create(&name).await.unwrap();
            names.remember(name.as_str().as_bytes(), &sequence);
        }
        assert!(names.find(b"n5").is_some());
        assert_eq!(ledger.loaded_sequences(), 7, "all are held");
        names.let_idle_go();
        assert!(names.find(b"n5").is_none() && names.find(b"used").is_some());
        let one_more = ledger
            .sequence_or_create(&Name::new("more").unwrap())
            .await
            .unwrap();
        assert!(ledger.loaded_sequences() <= 4);
        names.remember(b"more", &one_more);
        assert!(names.find(b"more").is_some() && names.find(b"used").is_some());
    }
}
