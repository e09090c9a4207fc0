//! What texts mean, remembered: clients send few of them, often.
//!
//! One for each thread and dialect, which all connections of the thread share. A text means the same to each of them: what
//! differs, such as the current database, is looked at when a statement runs.

use std::collections::HashMap;
use std::rc::Rc;

use mintage_server::chassis::kept::allocated;

/// Texts and their meanings, within a bound of bytes. Two halves: where the new one is full it becomes the old one, and
/// what was in that is forgotten unless it has come again since.
#[derive(Debug)]
pub(crate) struct Remembered<T> {
    new: HashMap<Box<str>, Entry<T>>,
    old: HashMap<Box<str>, Entry<T>>,
    /// How much memory the new half takes.
    bytes: usize,
}

#[derive(Debug)]
struct Entry<T> {
    meaning: Rc<T>,
    /// With its text and its place.
    bytes: usize,
}

impl<T> Default for Remembered<T> {
    fn default() -> Self {
        Remembered {
            new: HashMap::new(),
            old: HashMap::new(),
            bytes: 0,
        }
    }
}

impl<T> Remembered<T> {
    /// What a text means: as it is remembered, or as it is read now. At most `most` bytes are remembered in all;
    /// `weigh` says how many a meaning takes, and none where it is not to be remembered.
    pub(crate) fn get(
        &mut self,
        text: &str,
        most: usize,
        read: impl FnOnce() -> Rc<T>,
        weigh: impl FnOnce(&T) -> Option<usize>,
    ) -> Rc<T> {
        if text.len() > TEXT_BYTES_MAX {
            return read();
        }
        if let Some(known) = self.new.get(text) {
            return Rc::clone(&known.meaning);
        }
        let entry = match self.old.remove(text) {
            Some(entry) => entry,
            None => {
                let meaning = read();
                let Some(bytes) = weigh(&meaning) else {
                    return meaning;
                };
                // A map of which a third is free.
                let place = 3 * size_of::<(Box<str>, Entry<T>)>() / 2;
                let bytes = bytes + allocated(text.len()) + place;
                Entry { meaning, bytes }
            }
        };
        let meaning = Rc::clone(&entry.meaning);
        if entry.bytes <= most / 2 {
            if self.bytes + entry.bytes > most / 2 {
                self.old = std::mem::take(&mut self.new);
                self.bytes = 0;
            }
            self.bytes += entry.bytes;
            self.new.insert(text.into(), entry);
        }
        meaning
    }

    /// Forgets them all.
    pub(crate) fn clear(&mut self) {
        *self = Remembered::default();
    }
}

/// The longest text that is remembered, in bytes. Longer ones are of many rows, and come once.
const TEXT_BYTES_MAX: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: usize = 1_000_000;

    fn get(known: &mut Remembered<String>, text: &str, bytes: Option<usize>) -> Rc<String> {
        known.get(text, MOST, || Rc::new(text.into()), |_| bytes)
    }

    fn bytes_of(known: &Remembered<String>) -> usize {
        known
            .new
            .values()
            .chain(known.old.values())
            .map(|entry| entry.bytes)
            .sum()
    }

    #[test]
    fn texts_that_come_again_are_known_and_all_take_a_bound_of_memory() {
        let mut known = Remembered::default();
        let first = get(&mut known, "SELECT 0", Some(10_000));
        let mut most = 0;
        for n in 0..1000 {
            get(&mut known, &format!("SELECT {n}"), Some(10_000));
            assert!(Rc::ptr_eq(&first, &get(&mut known, "SELECT 0", Some(10_000))));
            most = most.max(bytes_of(&known));
        }
        assert!((MOST / 2..=MOST).contains(&most), "{most}");
        known.clear();
        assert!(!Rc::ptr_eq(&first, &get(&mut known, "SELECT 0", None)));
    }

    #[test]
    fn what_is_long_or_heavy_or_wrong_is_not_remembered() {
        let mut known = Remembered::default();
        let long = "x".repeat(TEXT_BYTES_MAX + 1);
        for (text, bytes) in [(&*long, Some(1)), ("heavy", Some(MOST / 2)), ("wrong", None)] {
            let first = get(&mut known, text, bytes);
            assert!(!Rc::ptr_eq(&first, &get(&mut known, text, bytes)), "{text}");
        }
        assert_eq!(bytes_of(&known), 0);
    }
}
