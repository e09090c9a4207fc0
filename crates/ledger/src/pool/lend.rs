//! Windows for programs in any language that mint by themselves. The program keeps the three rules: only ticks
//! within the window, every (tick, sequence) once, stop at the end unless a renewal was answered.
//!
//! A renewal that a borrower names may be repeated until it is answered (protocol W10):
//!
//! ```text
//!   renew from 7, attempt a ──▶ record 8 {"attempt":"a","from":7,"at":8}     told: 8      the answer is lost
//!   renew from 7, attempt a ──▶ record 9, the same once more (R6)            told: 8      as the first time
//!   renew from 7, attempt b ──▶ refused: a copy of the borrower, whose attempt is another
//!   renew from 8, attempt c ──▶ record 10 {"attempt":"c","from":8,"at":10}   told: 9
//! ```

use std::time::Duration;

use mintage::Timestamp;

use super::Pool;
use super::lease::{Lease, Owner};
use super::window::{self, Renewed, WindowBody};
use crate::error::LedgerError;
use crate::name::check_new;
use crate::runtime::fresh_token;
use crate::store::{Cas, Marks, Versioned};

/// A window lent to a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LentWindow {
    /// The worker.
    pub worker: u64,
    /// Names the borrower in renewals; hexadecimal.
    pub owner: String,
    /// Guards renewals: new at every renewal, and the same however often one is repeated.
    pub version: u64,
    /// The first tick, since the layout's epoch.
    pub from_tick: u64,
    /// The first tick after the window.
    pub until_tick: u64,
    /// `from_tick` as a time.
    pub from: Timestamp,
    /// `until_tick` as a time.
    pub until: Timestamp,
    /// What the server's clock said at its answer, in ticks: a borrower whose clock is another counts from here.
    pub now_tick: u64,
    /// `now_tick` as a time.
    pub now: Timestamp,
    /// How long a tick is.
    pub tick: Duration,
}

/// What a borrower calls one renewal, over all its tries: drawn at random for each renewal, so that no copy of the
/// borrower has the same.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RenewalAttempt(String);

impl RenewalAttempt {
    /// So long: whoever counts its renewals is refused before a copy of it counts the same.
    pub const BYTES: std::ops::RangeInclusive<usize> = 16..=64;

    /// Reads one.
    ///
    /// ```
    /// # use mintage_ledger::RenewalAttempt;
    /// assert!(RenewalAttempt::new("f81d4fae-7dec-41d0-a765-00a0c91e6bf6").is_ok());
    /// let counted = RenewalAttempt::new("1").unwrap_err().to_string();
    /// assert!(counted.contains("16 to 64 letters, digits"), "{counted}");
    /// ```
    ///
    /// # Errors
    /// [`LedgerError::Invalid`]: it is short, long, or has other characters than letters, digits, `-` and `_`.
    pub fn new(text: &str) -> Result<RenewalAttempt, LedgerError> {
        let is_plain = text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
        if is_plain && Self::BYTES.contains(&text.len()) {
            return Ok(RenewalAttempt(text.into()));
        }
        let shown: String = text.chars().take(*Self::BYTES.end()).collect();
        Err(LedgerError::Invalid(format!(
            "attempt {shown:?} of {} bytes: an attempt is {} to {} letters, digits, - and _, drawn at random for each \
             renewal and kept over its tries",
            text.len(),
            Self::BYTES.start(),
            Self::BYTES.end(),
        )))
    }
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
        self.lent(owner.id, lease.version.number(), &lease)
    }

    /// Renews a lent window from the version the borrower knows. With an attempt, the borrower may ask again until that
    /// is answered: a renewal that has landed is then confirmed, and answered as the first time (protocol W10).
    ///
    /// # Errors
    /// [`LedgerError::WindowLost`]: somebody else has it, or the version is not the last one: stop minting. After any
    /// other error the same may be asked again.
    pub async fn renew_lent(
        &self,
        worker: u64,
        owner: &str,
        version: u64,
        attempt: Option<&RenewalAttempt>,
    ) -> Result<LentWindow, LedgerError> {
        let attempt = attempt.map(|attempt| attempt.0.as_str());
        // Each race is lost to another try of the same renewal, or to somebody after whom the next look refuses.
        for _ in 0..RACES_MAX {
            let (found, body) = self.window_record(worker).await?;
            if body.owner != owner || body.retired {
                return Err(self.lost(worker));
            }
            let answers = body.answers(found.version);
            let landed = answers.is_some_and(|it| it.from == version && Some(it.attempt.as_str()) == attempt);
            let told = body.told_version(found.version);
            let renewed = attempt.map(|attempt| Renewed {
                attempt: attempt.to_string(),
                from: version,
                at: found.version.number().saturating_add(1),
            });
            let lease = match (landed, told == version) {
                (true, _) => {
                    let until = found.value.mark;
                    let same = WindowBody { renewed, ..body };
                    self.write_lent(worker, &found, same, until).await?
                }
                (false, true) => self.extend_lent(worker, &found, body, renewed).await?,
                (false, false) => return Err(self.lost(worker)),
            };
            if let Some(lease) = lease {
                let version = match attempt {
                    Some(_) => version.saturating_add(1),
                    None => lease.version.number(),
                };
                return self.lent(owner.into(), version, &lease);
            }
        }
        Err(LedgerError::unavailable(format!(
            "worker {worker} of pool {}: others were quicker {RACES_MAX} times, ask again",
            self.name
        )))
    }

    /// Ends a lent window: it is not renewed any more, and its worker is free once it has passed. May be repeated.
    ///
    /// # Errors
    /// [`LedgerError::WindowLost`] when it is not the borrower's any more.
    pub async fn end_lent(&self, worker: u64, owner: &str, version: u64) -> Result<(), LedgerError> {
        let (found, body) = self.window_record(worker).await?;
        let is_last = body.told_version(found.version) == version;
        if body.owner != owner || !is_last && !body.retired {
            return Err(self.lost(worker));
        }
        // What is found as asked for is written again, too (protocol R6).
        self.mark_retired(worker, &found, body).await
    }

    /// Extends the window from the version that was read (protocol W5); `None`: somebody wrote it meanwhile.
    async fn extend_lent(
        &self,
        worker: u64,
        found: &Versioned,
        body: WindowBody,
        renewed: Option<Renewed>,
    ) -> Result<Option<Lease>, LedgerError> {
        let now = self.valid_tick().await?;
        let lived = u32::try_from(now.saturating_sub(body.from)).unwrap_or(u32::MAX);
        let owner = Owner {
            id: body.owner,
            name: body.name,
            age: self.ticks.tick().saturating_mul(lived),
        };
        let until = self.end_at(now, owner.age).max(found.value.mark);
        let extended = WindowBody {
            renewed,
            ..self.body(&owner, body.from)
        };
        self.write_lent(worker, found, extended, until).await
    }

    /// Writes the record over what was read; `None`: somebody wrote it meanwhile.
    async fn write_lent(
        &self,
        worker: u64,
        found: &Versioned,
        body: WindowBody,
        until: u64,
    ) -> Result<Option<Lease>, LedgerError> {
        let value = body.value(until, fresh_token(&*self.context.runtime));
        let (expected, key) = (Some(found.version), window::key(&self.name, worker));
        let written = match body.renewed {
            // A write that is told of its own success as of a race is found by the next look, which confirms it.
            Some(_) => {
                let store = &self.context.store;
                store
                    .compare_and_set(&key, expected, value, Marks::NeverLower)
                    .await?
            }
            None => self.write(worker, expected, value, Marks::NeverLower).await?,
        };
        Ok(match written {
            Cas::Done(version) => Some(Lease::written(worker, version, body.from, until)),
            Cas::Lost(_) => None,
        })
    }

    fn lost(&self, worker: u64) -> LedgerError {
        LedgerError::WindowLost {
            name: self.name.clone(),
            worker,
        }
    }

    fn lent(&self, owner: String, version: u64, lease: &Lease) -> Result<LentWindow, LedgerError> {
        let now_tick = self.now_tick()?;
        Ok(LentWindow {
            worker: lease.worker,
            owner,
            version,
            from_tick: lease.from,
            until_tick: lease.until,
            from: self.ticks.time_of(lease.from),
            until: self.ticks.time_of(lease.until),
            now_tick,
            now: self.ticks.time_of(now_tick),
            tick: self.ticks.tick(),
        })
    }
}

/// How often somebody else may be quicker.
const RACES_MAX: usize = 16;
