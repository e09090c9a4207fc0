//! Windows for programs in any language that mint by themselves. The program keeps the three rules: only ticks
//! within the window, every (tick, sequence) once, stop at the end unless a renewal was answered.

use std::time::Duration;

use mintage::Timestamp;

use super::Pool;
use super::lease::{Lease, Owner, Renewal};
use crate::error::LedgerError;
use crate::name::check_new;
use crate::runtime::fresh_token;

/// A window lent to a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LentWindow {
    /// The worker.
    pub worker: u64,
    /// Names the borrower in renewals; hexadecimal.
    pub owner: String,
    /// Guards renewals: the version of the record, new at every renewal.
    pub version: u64,
    /// The first tick, since the layout's epoch.
    pub from_tick: u64,
    /// The first tick after the window.
    pub until_tick: u64,
    /// `from_tick` as a time.
    pub from: Timestamp,
    /// `until_tick` as a time.
    pub until: Timestamp,
}

impl Pool {
    /// Lends a window of a free worker to the program called `name`.
    ///
    /// # Errors
    /// The name has characters that nobody sees, no worker is free, or the store refuses.
    pub async fn lend(&self, name: &str) -> Result<LentWindow, LedgerError> {
        check_new(name)?;
        let id = format!("{:032x}", fresh_token(&*self.context.runtime));
        let owner = Owner {
            id,
            name: name.to_string(),
            age: Duration::ZERO,
        };
        // An attempt of unknown outcome burns: there is nobody to adopt it.
        let lease = self.acquire(&owner, &mut None).await?;
        Ok(self.lent(owner.id, &lease))
    }

    /// Renews a lent window from the version the borrower knows.
    ///
    /// # Errors
    /// [`LedgerError::WindowLost`]: somebody else has it, or the version is not the last one: stop minting.
    pub async fn renew_lent(
        &self,
        worker: u64,
        owner: &str,
        version: u64,
    ) -> Result<LentWindow, LedgerError> {
        let (found, body) = self.window_record(worker).await?;
        let lost = || LedgerError::WindowLost {
            name: self.name.clone(),
            worker,
        };
        if body.owner != owner || found.version.number() != version || body.retired {
            return Err(lost());
        }
        let lived = self.now_tick()?.saturating_sub(body.from);
        let age = self
            .ticks
            .tick()
            .saturating_mul(u32::try_from(lived).unwrap_or(u32::MAX));
        let owner = Owner {
            id: body.owner,
            name: body.name,
            age,
        };
        let mut lease = Lease::new(worker, body.from, &found);
        match self.renew(&owner, &mut lease).await {
            Renewal::Extended => Ok(self.lent(owner.id, &lease)),
            Renewal::Kept(error) => Err(error),
            Renewal::Lost => Err(lost()),
        }
    }

    /// Ends a lent window: it is not renewed any more, and its worker is free once it has passed.
    ///
    /// # Errors
    /// [`LedgerError::WindowLost`] when it is not the borrower's any more.
    pub async fn end_lent(&self, worker: u64, owner: &str, version: u64) -> Result<(), LedgerError> {
        let (found, body) = self.window_record(worker).await?;
        if body.owner != owner || found.version.number() != version {
            return Err(LedgerError::WindowLost {
                name: self.name.clone(),
                worker,
            });
        }
        self.mark_retired(worker, &found, body).await
    }

    fn lent(&self, owner: String, lease: &Lease) -> LentWindow {
        LentWindow {
            worker: lease.worker,
            owner,
            version: lease.version.number(),
            from_tick: lease.from,
            until_tick: lease.until,
            from: self.ticks.time_of(lease.from),
            until: self.ticks.time_of(lease.until),
        }
    }
}
