//! What a read shows is not yet kept (protocol R6): an attempt of ours that a read finds is used only once another write,
//! over what was found, was acknowledged.

use crate::context::Context;
use crate::runtime::{Runtime, fresh_token};
use crate::store::{Cas, Key, Marks, Outcome, Store, StoreError, StoreErrorKind, Value, Version, Versioned};

/// How often one confirmation that found its own earlier write follows it.
const TRIES: usize = 16;
/// Tokens that are remembered of one attempt; one that is forgotten costs what was attempted, nothing more.
const TOKENS_MAX: usize = 64;

/// The tokens under which an attempt may be found: its own, and those of the writes that were to confirm it.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Tokens(Vec<u128>);

impl Tokens {
    pub(crate) fn new(own: u128) -> Tokens {
        Tokens(vec![own])
    }

    /// Of the attempt itself, which is the first.
    pub(crate) fn own(&self) -> Option<u128> {
        self.0.first().copied()
    }

    pub(crate) fn has(&self, token: u128) -> bool {
        self.0.contains(&token)
    }

    /// One more; beyond the limit the oldest but the first is forgotten.
    pub(crate) fn add(&mut self, token: u128) {
        if self.0.len() == TOKENS_MAX {
            self.0.remove(1);
        }
        self.0.push(token);
    }
}

/// One register, as attempts of ours write it.
pub(crate) struct Attempts<'a> {
    pub(crate) store: &'a dyn Store,
    pub(crate) runtime: &'a dyn Runtime,
    pub(crate) key: &'a Key,
}

impl Context {
    /// A register of the store, as attempts of ours write it.
    pub(crate) fn attempts<'a>(&'a self, key: &'a Key) -> Attempts<'a> {
        Attempts {
            store: &*self.store,
            runtime: &*self.runtime,
            key,
        }
    }
}

impl Attempts<'_> {
    /// A conditional write whose answer is that of the attempt `tokens`, see [`Attempts::settle`].
    ///
    /// # Errors
    /// As [`Store::compare_and_set`] and [`Attempts::confirm`].
    pub(crate) async fn write(
        &self,
        expected: Option<Version>,
        value: Value,
        marks: Marks,
        tokens: &mut Tokens,
    ) -> Result<Cas, StoreError> {
        let answer = self.store.compare_and_set(self.key, expected, value, marks).await;
        self.settle(answer, tokens).await
    }

    /// What an answer means to the attempt `tokens`: one that was delivered twice is told of its own success as of a race
    /// that it lost, by a read.
    ///
    /// # Errors
    /// That of the answer, or as [`Attempts::confirm`].
    pub(crate) async fn settle(
        &self,
        answer: Result<Cas, StoreError>,
        tokens: &mut Tokens,
    ) -> Result<Cas, StoreError> {
        match answer? {
            Cas::Lost(Some(found)) if tokens.has(found.value.token) => self.confirm(found, tokens).await,
            answer => Ok(answer),
        }
    }

    /// Writes what was found of an attempt of ours once more, under the version that was found: same mark, same body, new
    /// token. Acknowledged, it lies behind the attempt in whatever the store keeps, and covers it.
    ///
    /// [`Cas::Lost`] with what was found last: somebody else has written since.
    ///
    /// # Errors
    /// Of [`Outcome::Unknown`] always: whether the attempt is kept is known as little as before. The tokens of what was
    /// sent are in `tokens`.
    pub(crate) async fn confirm(&self, mut found: Versioned, tokens: &mut Tokens) -> Result<Cas, StoreError> {
        for _ in 0..TRIES {
            let token = fresh_token(self.runtime);
            tokens.add(token);
            let expected = Some(found.version);
            let value = Value { token, ..found.value };
            let written = self
                .store
                .compare_and_set(self.key, expected, value, Marks::NeverLower);
            match written.await {
                Ok(Cas::Lost(Some(now))) if tokens.has(now.value.token) => found = now,
                Ok(answer) => return Ok(answer),
                Err(error) => {
                    return Err(StoreError {
                        outcome: Outcome::Unknown,
                        ..error
                    });
                }
            }
        }
        Err(StoreError::new(
            StoreErrorKind::Unavailable,
            Outcome::Unknown,
            format!(
                "{} was written {TRIES} times, and was answered each time as found",
                self.key
            ),
        ))
    }
}
