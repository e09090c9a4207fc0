//! What texts mean, remembered by each thread for all its connections.

use std::cell::RefCell;
use std::rc::Rc;

use super::grammar::parse;
use super::plan::Parsed;
use crate::sql::remembered::Remembered;

thread_local! {
    static CACHE: RefCell<Remembered<Parsed>> = RefCell::default();
}

/// What a text means. At most `most` bytes are remembered in all.
pub(super) fn parsed(text: &str, most: usize) -> Rc<Parsed> {
    let read = || Rc::new(parse(text));
    CACHE.with_borrow_mut(|cache| cache.get(text, most, read, |parsed| Some(parsed.bytes)))
}
