//! Pools that are not wanted any more (protocol R2, W2, W8).
//!
//! A dropped pool leaves a tombstone with its layout, and its windows' records stay: made again, its workers begin where
//! the last holder's window ended (W2), so that nothing repeats. That holds whoever took a window meanwhile without
//! having heard of it, which is why a name keeps its layout for ever.

use std::sync::atomic::Ordering;

use super::window::WindowBody;
use super::{IN_USE, Pool, PoolSpec, utc};
use crate::error::LedgerError;
use crate::store::SCAN_LIMIT_MAX;

impl Pool {
    /// Whether this object is of a pool that is known to be dropped.
    pub(crate) fn is_dropped(&self) -> bool {
        self.dropped.load(Ordering::Acquire)
    }

    /// Ends the keeper of a pool that is dropped, or about to be.
    pub(crate) async fn end_dropped(&self) {
        self.dropped.store(true, Ordering::Release);
        self.stop().await;
    }

    /// Refuses a pool that another process has dropped, and takes in which workers may be chosen by now. A store that
    /// does not answer says nothing against it: windows of a dropped pool repeat nothing.
    pub(crate) async fn check_not_dropped(&self) -> Result<(), LedgerError> {
        let found = self.context.store.get(&PoolSpec::key(&self.name)).await;
        let Ok(Some(found)) = found else { return Ok(()) };
        self.follow_record(&found.value.body)
    }

    /// Takes in what a record says: which workers may be chosen, and whether it is a tombstone.
    pub(crate) fn follow_record(&self, body: &str) -> Result<(), LedgerError> {
        let (spec, dropped) = PoolSpec::read_record(&self.name, body)?;
        if !dropped {
            self.follow(spec.workers);
            return Ok(());
        }
        self.dropped.store(true, Ordering::Release);
        Err(LedgerError::NoPool {
            name: self.name.clone(),
        })
    }

    /// Refuses while somebody's window lasts. The one of this process counts while ids are taken from it: nobody else
    /// holds that one, and it ends with the pool.
    pub(crate) async fn check_unused(&self) -> Result<(), LedgerError> {
        let in_use = |why: String| LedgerError::PoolInUse {
            name: self.name.clone(),
            why,
        };
        if self.left_in_window().is_some_and(|stock| stock.in_use) {
            return Err(in_use(format!(
                "this process minted from it less than {} s ago",
                IN_USE.as_secs()
            )));
        }
        let now = self.now_tick()?;
        let ours = format!("{:032x}", self.context.instance());
        let mut first = 0;
        loop {
            let page = self.page(first, SCAN_LIMIT_MAX).await?;
            for (worker, found) in &page {
                // One that was given up is renewed by nobody; one of ours ends with the keeper, or has ended.
                let body = WindowBody::read(found).ok();
                let held = body.filter(|body| !body.retired && body.owner != ours);
                if let Some(body) = held.filter(|_| found.value.mark > now) {
                    let until = utc(self.ticks.time_of(found.value.mark));
                    let called = match body.name.as_str() {
                        "" => body.owner,
                        name => name.to_string(),
                    };
                    return Err(in_use(format!(
                        "worker {worker} is held by {called} until {until}"
                    )));
                }
            }
            match page.last() {
                Some((worker, _)) if page.len() == usize::from(SCAN_LIMIT_MAX) => first = worker + 1,
                _ => return Ok(()),
            }
        }
    }
}
