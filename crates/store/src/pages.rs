//! A store read page by page.

use super::{Key, SCAN_LIMIT_MAX, Store, StoreError, Versioned};

/// Everything under a prefix, page by page.
pub struct Pages<'a> {
    store: &'a dyn Store,
    prefix: Key,
    after: Option<Key>,
    ended: bool,
}

impl<'a> Pages<'a> {
    /// All registers whose key begins so.
    pub fn of(store: &'a dyn Store, prefix: &str) -> Pages<'a> {
        Pages {
            store,
            prefix: Key::new(prefix).expect("a constant within the key grammar"),
            after: None,
            ended: false,
        }
    }

    /// The next page; empty at the end.
    pub async fn next(&mut self) -> Result<Vec<(Key, Versioned)>, StoreError> {
        if self.ended {
            return Ok(Vec::new());
        }
        let page = self
            .store
            .scan(&self.prefix, self.after.as_ref(), SCAN_LIMIT_MAX)
            .await?;
        self.ended = page.len() < usize::from(SCAN_LIMIT_MAX);
        self.after = page.last().map(|(key, _)| key.clone());
        Ok(page)
    }
}
