//! What texts mean, remembered: clients send few of them, often.
//!
//! One for each thread, which all its connections share. A text means the same to each of them: what differs, such as
//! the current database, is looked at when a statement runs.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use super::grammar::parse;
use super::plan::Parsed;

thread_local! {
    static CACHE: RefCell<Cache> = RefCell::default();
}

/// Two halves: where the new one is full it becomes the old one, and what was in that is forgotten unless it has come
/// again since.
#[derive(Debug, Default)]
struct Cache {
    new: HashMap<Box<str>, Rc<Parsed>>,
    old: HashMap<Box<str>, Rc<Parsed>>,
}

/// What a text means.
pub(super) fn parsed(text: &str) -> Rc<Parsed> {
    if text.len() > TEXT_BYTES_MAX {
        return Rc::new(parse(text));
    }
    CACHE.with_borrow_mut(|cache| cache.get(text))
}

impl Cache {
    fn get(&mut self, text: &str) -> Rc<Parsed> {
        if let Some(known) = self.new.get(text) {
            return Rc::clone(known);
        }
        let parsed = match self.old.remove(text) {
            Some(known) => known,
            None => Rc::new(parse(text)),
        };
        if self.new.len() >= HALF {
            self.old = std::mem::take(&mut self.new);
        }
        self.new.insert(text.into(), Rc::clone(&parsed));
        parsed
    }
}

/// How many texts one half holds: 1,024 both.
const HALF: usize = 512;
/// The longest text that is remembered, in bytes. Longer ones are of many rows, and come once.
const TEXT_BYTES_MAX: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_come_again_are_known_and_they_are_not_many() {
        let mut cache = Cache::default();
        let first = cache.get("SELECT 0");
        for n in 0..5 * HALF {
            cache.get(&format!("SELECT {n}"));
            assert!(Rc::ptr_eq(&first, &cache.get("SELECT 0")));
        }
        assert!(cache.new.len() + cache.old.len() <= 2 * HALF);
        let long = format!("SELECT '{}'", "x".repeat(TEXT_BYTES_MAX));
        assert!(!Rc::ptr_eq(&parsed(&long), &parsed(&long)));
        assert!(Rc::ptr_eq(&parsed("SELECT 1"), &parsed("SELECT 1")));
    }
}
