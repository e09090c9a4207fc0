//! An outage that somebody asked for, to see what it does before one comes.
//!
//! For some seconds this process sends its store nothing, and every call fails as that of a store fails which cannot be
//! reached (`health`). Nothing else knows of it: budgets, refusals, readiness and what other processes make of a register
//! that is not renewed are those of an outage, and it ends as one ends, with the first call that is answered.

use std::sync::Arc;
use std::time::Duration;

use crate::health::{Outage, whole_seconds};
use crate::ledger::Ledger;

/// The longest outage that may be rehearsed.
pub const REHEARSAL_MAX: Duration = Duration::from_secs(600);

impl Ledger {
    /// Treats the store as if it were away from now on for `length`, at most [`REHEARSAL_MAX`]; zero ends a rehearsal
    /// that runs. One that runs already is given this end.
    ///
    /// What is on its way to the store at this moment is still answered.
    pub fn rehearse_outage(&self, length: Duration) {
        let (health, runtime) = (&self.context.health, &self.context.runtime);
        let length = length.min(REHEARSAL_MAX);
        if length.is_zero() {
            if health.end_rehearsal(None) {
                tracing::warn!("the rehearsal of an outage was ended");
            }
            return;
        }
        let until = health.begin_rehearsal(length);
        tracing::warn!(
            for_s = whole_seconds(length),
            "an outage is rehearsed: the store is treated as if it were away"
        );
        let (ends, weak) = (runtime.sleep(length), Arc::downgrade(health));
        runtime.spawn(Box::pin(async move {
            ends.await;
            if weak
                .upgrade()
                .is_some_and(|health| health.end_rehearsal(Some(until)))
            {
                tracing::warn!("the rehearsal of an outage is over");
            }
        }));
    }

    /// For how much longer the store is treated as if it were away.
    pub fn rehearsal_left(&self) -> Option<Duration> {
        self.context.health.rehearsal_left()
    }

    /// The last time that the store did not answer for a second, once it has answered again; and how long ago it ended.
    pub fn last_outage(&self) -> Option<(Outage, Duration)> {
        let outage = self.context.health.last_outage()?;
        let ended = outage.began + outage.lasted;
        Some((outage, self.context.runtime.boottime().saturating_sub(ended)))
    }

    /// That an outage is rehearsed, in words.
    pub(crate) fn rehearses(&self) -> Option<String> {
        let left = whole_seconds(self.rehearsal_left()?);
        Some(format!(
            "an outage is rehearsed: the store is treated as if it were away, for {left} s more"
        ))
    }
}
