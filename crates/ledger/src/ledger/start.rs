//! How a ledger begins: what is checked before anything is given out.

use std::collections::HashMap;
use std::sync::atomic::Ordering;

use super::Ledger;
use crate::error::LedgerError;
use crate::sequence::State;
use crate::store::{Key, SCAN_LIMIT_MAX};

impl Ledger {
    /// Counts the sequences, and compares each with what this machine's journal owns of it.
    pub(super) async fn count_sequences(&self) -> Result<(), LedgerError> {
        let context = &self.context;
        let mut owned_until = match &context.journal {
            Some(journal) => journal.owned_until().await,
            None => HashMap::new(),
        };
        let prefix = Key::new("seq/").expect("a constant within the key grammar");
        let (mut count, mut dropped) = (0, 0);
        let mut after = None;
        loop {
            let page = context
                .joining()
                .scan(&prefix, after.as_ref(), SCAN_LIMIT_MAX)
                .await?;
            for (key, found) in &page {
                let until = owned_until.remove(key).unwrap_or(0);
                self.check_journal(key, found.value.mark, until).await?;
            }
            let tombstones = page.iter().filter(|(_, found)| State::is_tombstone(found));
            let tombstones = tombstones.count();
            count += (page.len() - tombstones) as u64;
            dropped += tombstones as u64;
            match page.last() {
                Some((key, _)) if page.len() == usize::from(SCAN_LIMIT_MAX) => after = Some(key.clone()),
                _ => break,
            }
        }
        // A name that is not there begins above what a restore has skipped.
        let absent = context.guard.as_ref().map_or(0, |guard| guard.restored_above());
        for (key, until) in owned_until {
            self.check_journal(&key, absent, until).await?;
        }
        context.sequences.store(count, Ordering::Relaxed);
        context.dropped.store(dropped, Ordering::Relaxed);
        Ok(())
    }

    /// Ends all minting where the store says that fewer numbers were reserved than this machine's journal owns: it was
    /// set back (protocol E3, S7).
    async fn check_journal(&self, key: &Key, mark: u64, until: u64) -> Result<(), LedgerError> {
        match &self.context.guard {
            Some(guard) if until > mark && !guard.may_forget() => {
                let error = guard.behind_journal(key, mark, until).await;
                Err(LedgerError::Stopped(error))
            }
            _ => Ok(()),
        }
    }
}
