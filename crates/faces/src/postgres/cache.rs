//! One thread's memory of statements: from a text to what it asks for, so that a text is read once.

use std::cell::RefCell;
use std::rc::Rc;

use super::errors::Result;
use super::grammar;
use super::plan::Statement;
use crate::sql::remembered::Remembered;
use mintage_server::chassis::config::Config;

/// The statements of one text, or why it has none.
pub(super) type Parsed = Rc<Texts>;
type Texts = Result<Vec<Rc<Statement>>>;

#[derive(Debug, Default)]
struct Cache {
    /// Names are read as the configuration has them.
    config: Option<Rc<Config>>,
    texts: Remembered<Texts>,
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
        let read = || {
            Rc::new(grammar::parse(
                text,
                &config.faces.get::<crate::postgres::Settings>().keys,
            ))
        };
        cache.texts.get(text, config.max_sql_cache.0, read, weigh)
    })
}

/// How much memory statements take; a refusal is not remembered.
fn weigh(read: &Texts) -> Option<usize> {
    let bytes = |all: &Vec<Rc<Statement>>| all.iter().map(|one| one.bytes + size_of::<Rc<Statement>>()).sum();
    read.as_ref().map(bytes).ok()
}
