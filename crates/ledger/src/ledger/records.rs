//! What the records tell of where numbers come from.

use super::Ledger;
use super::sequences::sequence_key;
use crate::error::LedgerError;
use crate::name::Name;
use crate::remembered::ReservedBlock;
use crate::sequence::{NumberOrigin, State, explain_number};
use crate::store::Versioned;

impl Ledger {
    /// The blocks that this process reserved of a sequence and remembers, the oldest first: [`BLOCKS_MAX`] at most, of the
    /// [`BLOCK_NAMES_MAX`] names that reserved last.
    ///
    /// # Errors
    /// [`LedgerError::NotFound`], or the store refuses.
    ///
    /// [`BLOCKS_MAX`]: crate::BLOCKS_MAX
    /// [`BLOCK_NAMES_MAX`]: crate::BLOCK_NAMES_MAX
    pub async fn reserved_blocks(&self, name: &Name) -> Result<Vec<ReservedBlock>, LedgerError> {
        let sequence = self.existing(name).await?;
        let (blocks, held) = sequence.remembered().await;
        Ok(blocks.iter().map(|block| block.told(&held)).collect())
    }

    /// What the records say of a number of a sequence.
    ///
    /// # Errors
    /// [`LedgerError::NotFound`], or the store refuses.
    pub async fn explain_number(&self, name: &Name, number: i64) -> Result<NumberOrigin, LedgerError> {
        match self.read(name).await? {
            Some((state, _)) if !state.dropped => Ok(self.explain(name, &state, number).await),
            _ => Err(LedgerError::NotFound { name: name.clone() }),
        }
    }

    /// The same of the sequences after `after` in the order of their names, at most `limit`: those that `may` picks. And
    /// whether there are more.
    ///
    /// # Errors
    /// The store refuses.
    pub async fn explain_number_of_all(
        &self,
        number: i64,
        limit: u16,
        may: impl Fn(&Name) -> bool,
    ) -> Result<(Vec<NumberOrigin>, bool), LedgerError> {
        let (mut found, mut more) = (Vec::new(), false);
        let take = |name: Name, record: Versioned| {
            let state = State::read(&name, &record)?;
            if state.dropped || !may(&name) {
                return Ok(true);
            }
            more = found.len() == usize::from(limit);
            if !more {
                found.push((name, state));
            }
            Ok(!more)
        };
        self.walk("seq/", sequence_key, (None, None), limit, take).await?;
        let mut origins = Vec::with_capacity(found.len());
        for (name, state) in &found {
            origins.push(self.explain(name, state, number).await);
        }
        Ok((origins, more))
    }

    async fn explain(&self, name: &Name, state: &State, number: i64) -> NumberOrigin {
        let loaded = self.sequence(name.as_str());
        explain_number(&self.context, name, state, loaded, number).await
    }
}
