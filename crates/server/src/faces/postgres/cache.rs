//! One thread's memory of statements: from a text to what it asks for, so that a text is read once.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use super::errors::Result;
use super::grammar;
use super::plan::Statement;
use crate::config::Config;

/// The statements of one text, or why it has none.
pub(super) type Parsed = Rc<Result<Vec<Rc<Statement>>>>;

/// How many texts a thread remembers, and how long they may be: one more, and it begins anew.
const TEXTS_MAX: usize = 1024;
const TEXT_BYTES_MAX: usize = 1024;

#[derive(Debug, Default)]
struct Cache {
    /// Names are read as the configuration has them.
    config: Option<Rc<Config>>,
    texts: HashMap<Box<str>, Parsed>,
}

thread_local! {
    static CACHE: RefCell<Cache> = RefCell::default();
}

/// What a text asks for.
pub(super) fn parse(text: &str, config: &Rc<Config>) -> Parsed {
    CACHE.with_borrow_mut(|cache| {
        if !cache
            .config
            .as_ref()
            .is_some_and(|known| Rc::ptr_eq(known, config))
        {
            cache.texts.clear();
            cache.config = Some(Rc::clone(config));
        }
        if let Some(known) = cache.texts.get(text) {
            return Rc::clone(known);
        }
        let parsed = Rc::new(grammar::parse(text, &config.faces.postgres.keys));
        if text.len() <= TEXT_BYTES_MAX && parsed.is_ok() {
            if cache.texts.len() >= TEXTS_MAX {
                cache.texts.clear();
            }
            cache.texts.insert(text.into(), Rc::clone(&parsed));
        }
        parsed
    })
}
