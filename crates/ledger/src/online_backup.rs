//! A backup of the store that this process has open, while it gives out ids.

use crate::advice::Advice;
use crate::error::LedgerError;
use crate::ledger::Ledger;
use crate::store::{Outcome, StoreError, StoreErrorKind};
use crate::striped::AsStriped;
use crate::tools::BackupLines;

impl Ledger {
    /// A backup that begins now; [`Ledger::backup_lines`] gives it. It is as good as one of a store that nobody uses:
    /// marks only grow, and what is given out after it has begun counts as given out since, which a restore skips.
    ///
    /// # Errors
    /// Minting has stopped for good, or the store is a set, each of which has a backup of its own.
    pub fn begin_backup(&self) -> Result<BackupLines, LedgerError> {
        let context = &self.context;
        if let Some(error) = context.store.stopped() {
            return Err(LedgerError::Stopped(error));
        }
        if context.store.striped().is_some() {
            return Err(LedgerError::from(
                StoreError::new(
                    StoreErrorKind::Invalid,
                    Outcome::NotDone,
                    "a set of stores has no backup as a whole",
                )
                .with_hint(Advice::BackUpEachStore),
            ));
        }
        Ok(BackupLines::new(&*context.watched, &*context.runtime))
    }

    /// The next lines of a backup; `None` after the last. What is in memory at a time does not grow with the store.
    ///
    /// # Errors
    /// The store does not answer, or minting has stopped for good: what was given so far is no backup.
    pub async fn backup_lines(&self, lines: &mut BackupLines) -> Result<Option<Vec<u8>>, LedgerError> {
        if let Some(error) = self.context.store.stopped() {
            return Err(LedgerError::Stopped(error));
        }
        let page = lines.next(&*self.context.watched).await;
        page.map_err(LedgerError::from)
    }
}
