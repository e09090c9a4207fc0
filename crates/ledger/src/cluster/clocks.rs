//! The clocks of all that live, the store's and this machine's: read, compared, and told to the clock that ids read
//! (protocol W6).

use std::time::Duration;

use mintage::{Clock, Timestamp};

use super::peers::LIVE_FOR;
use super::time::{AGREE_WITHIN_NS, Sources, Verdict};
use crate::clock::Reference;
use crate::context::Context;
use crate::error::LedgerError;
use crate::store::{Key, SCAN_LIMIT_MAX, StoreError};

/// A store's answer that took longer says too little about its clock.
const ROUND_TRIP_MAX: Duration = Duration::from_secs(2);
/// How long a time that cannot be validated is likely to stay so, in seconds.
const DISPUTE_RETRY_S: u64 = 5;

impl Context {
    /// Looks at the others' registers.
    pub(super) async fn observe(&self) -> Result<(), StoreError> {
        let prefix = Key::new("instance/").expect("a constant within the key grammar");
        let begun = self.runtime.boottime();
        let mut found = Vec::new();
        loop {
            let after = found.last().map(|(key, _): &(Key, _)| key.clone());
            let page = self.store.scan(&prefix, after.as_ref(), SCAN_LIMIT_MAX).await?;
            let full = page.len() == usize::from(SCAN_LIMIT_MAX);
            found.extend(page);
            if !full {
                break;
            }
        }
        let now = self.runtime.boottime();
        let mut observed = self.cluster.peers.lock().expect("no panic while held");
        let every = now.saturating_sub(observed.begun.unwrap_or(now));
        observed.peers.observe(found, &self.instance_key(), now, every);
        observed.begun = Some(begun);
        Ok(())
    }

    /// Asks all sources for the time, and tells the clock that ids read what came of it.
    pub(super) async fn sample_time(&self) -> Result<(), StoreError> {
        let before = self.runtime.boottime();
        let wall = self.store.wall().await?;
        let after = self.runtime.boottime();
        if let Some(wall) = wall
            && after.saturating_sub(before) <= ROUND_TRIP_MAX
        {
            let middle = before + after.saturating_sub(before) / 2;
            let offset = wall.unix_nanos() - middle.as_nanos() as i128;
            *self.cluster.store_offset_ns.lock().expect("no panic while held") = Some(offset);
        }
        self.observe().await?;
        self.tell_clock();
        Ok(())
    }

    fn sources(&self) -> Sources {
        let boot = self.runtime.boottime();
        let boot_ns = boot.as_nanos() as i128;
        let observed = self.cluster.peers.lock().expect("no panic while held");
        Sources {
            own: self.clock.now().unix_nanos() - boot_ns,
            wall: self.runtime.wall().unix_nanos() - boot_ns,
            store: *self.cluster.store_offset_ns.lock().expect("no panic while held"),
            peers: observed.peers.median_ns(boot),
            peers_ids: observed.peers.median_clock_ns(boot),
        }
    }

    fn tell_clock(&self) -> Verdict {
        let verdict = self.sources().judge();
        self.clock.refer_to(match verdict {
            Verdict::Alone => Reference::Own,
            Verdict::Agreed { offset_ns } => Reference::Agreed { offset_ns },
            Verdict::Disputed(_) => Reference::Disputed,
        });
        verdict
    }

    /// Why no time can be validated at this moment, in words (protocol W6).
    pub(crate) fn time_dispute(&self) -> Option<String> {
        match self.sources().judge() {
            Verdict::Disputed(sources) if !self.store.exclusive() => {
                Some(format!("no two clocks agree: {sources}"))
            }
            _ => None,
        }
    }

    /// Whether this machine's clock is the only source of time.
    pub(crate) fn has_one_clock(&self) -> bool {
        self.store.exclusive() || self.sources().judge() == Verdict::Alone
    }

    /// The time that ids read, once two of three sources agree on it within 5 s (protocol W6); with one source,
    /// that one.
    ///
    /// # Errors
    /// No two agree, or the clock that ids read is not there yet.
    pub(crate) async fn valid_now(&self) -> Result<Timestamp, LedgerError> {
        if self.store.exclusive() {
            return Ok(self.clock.now());
        }
        self.ready_to_judge().await?;
        let refused = |message| LedgerError::Unavailable {
            message,
            retry_after_s: DISPUTE_RETRY_S,
        };
        match self.tell_clock() {
            Verdict::Alone => Ok(self.clock.now()),
            Verdict::Agreed { offset_ns } => {
                let valid = |boot: Duration| Timestamp::from_unix_nanos(boot.as_nanos() as i128 + offset_ns);
                let apart =
                    |now: Timestamp| (now.unix_nanos() - valid(self.runtime.boottime()).unix_nanos()).abs();
                if apart(self.clock.now()) > AGREE_WITHIN_NS {
                    // Two sources agree, so that the clock follows at once (protocol C1).
                    self.clock.look();
                }
                let now = self.clock.now();
                if apart(now) > AGREE_WITHIN_NS {
                    return Err(refused("the clock that ids read is being set right".to_string()));
                }
                Ok(now)
            }
            Verdict::Disputed(sources) => Err(refused(format!(
                "no two clocks agree within 5 s, so that no window is taken or extended: {sources}; set the clocks"
            ))),
        }
    }

    /// At the start: asks the store for its clock, and watches the others until it is known whose registers live.
    async fn ready_to_judge(&self) -> Result<(), StoreError> {
        let begun = self.runtime.boottime();
        loop {
            let (asked, undecided) = {
                let observed = self.cluster.peers.lock().expect("no panic while held");
                let now = self.runtime.boottime();
                (observed.begun.is_some(), observed.peers.undecided(now))
            };
            let judged = self.sources().judge();
            // Peers that came later cannot make two that agree disagree.
            if asked && (!undecided || matches!(judged, Verdict::Agreed { .. })) {
                return Ok(());
            }
            if asked {
                if self.runtime.boottime().saturating_sub(begun) > LIVE_FOR {
                    return Ok(());
                }
                self.runtime.sleep(Duration::from_millis(500)).await;
            }
            self.sample_time().await?;
        }
    }
}
