//! Cursors of paged reading: a number for the client, a name for us.
//!
//! Redis's clients carry a cursor as an integer, and a page goes on after a *name*, since names that come and
//! go meanwhile must not shift the rest. So the server remembers the last name of each page it gave out.

use std::collections::VecDeque;

use mintage_ledger::Name;

/// The most recent cursors.
#[derive(Debug, Default)]
pub(crate) struct Cursors {
    recent: VecDeque<Name>,
    /// The cursor of the first of `recent`, minus one.
    forgotten: u64,
}

impl Cursors {
    /// A cursor that goes on after `name`.
    pub(super) fn remember(&mut self, name: Name) -> u64 {
        if self.recent.len() == CURSORS_MAX {
            self.recent.pop_front();
            self.forgotten += 1;
        }
        self.recent.push_back(name);
        self.forgotten + self.recent.len() as u64
    }

    /// The name to go on after.
    pub(super) fn find(&self, cursor: u64) -> Option<Name> {
        let index = cursor.checked_sub(self.forgotten + 1)?;
        self.recent.get(usize::try_from(index).ok()?).cloned()
    }
}

/// How many readers can be on their way at a time.
const CURSORS_MAX: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recent_cursors_are_known_and_old_ones_are_not() {
        let mut cursors = Cursors::default();
        let name = |i: usize| Name::new(format!("n{i}")).unwrap();
        let given: Vec<u64> = (0..CURSORS_MAX + 2).map(|i| cursors.remember(name(i))).collect();
        assert_eq!(cursors.find(given[1]), None);
        assert_eq!(cursors.find(given[2]), Some(name(2)));
        assert_eq!(cursors.find(given[CURSORS_MAX + 1]), Some(name(CURSORS_MAX + 1)));
        assert_eq!(cursors.find(0), None);
        assert_eq!(cursors.find(u64::MAX), None);
    }
}
