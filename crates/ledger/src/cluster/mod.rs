//! Several processes on one shared store: who lives, what time it is, and who has seen which change.
//!
//! | file | what |
//! | --- | --- |
//! | `instance` | the register of this process and its once-a-second round (protocol R4) |
//! | `peers` | what the registers of the others show |
//! | `changes` | changes of definitions that all must see (protocol S5) |
//! | `time` | which clock is right (protocol W6) |
//!
//! A store that one process has to itself (an exclusive lock) needs none of this: the lock says the same.

mod changes;
mod instance;
mod peers;
mod time;

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use mintage::{Clock, Timestamp};
use tokio::sync::Notify;

use crate::clock::Reference;
use crate::context::Context;
use crate::error::LedgerError;
use crate::name::Name;
use crate::store::{Key, SCAN_LIMIT_MAX, StoreError};
pub(crate) use changes::Missed;
use peers::{LIVE_FOR, Peers};
use time::{Sources, Verdict};

/// How long a change waits for the others at most: longer than one that has just died counts as alive.
const SEEN_WITHIN: Duration = Duration::from_millis(3_500);
/// How often it looks.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// A store's answer that took longer says too little about its clock.
const ROUND_TRIP_MAX: Duration = Duration::from_secs(2);
/// How long a time that cannot be validated is likely to stay so, in seconds.
const DISPUTE_RETRY_S: u64 = 5;

/// What this process knows of the others.
#[derive(Debug, Default)]
pub(crate) struct Cluster {
    /// The newest change that this process follows.
    seen: AtomicU64,
    peers: Mutex<Observed>,
    /// The store's wall clock minus our boot time, in nanoseconds.
    store_offset_ns: Mutex<Option<i128>>,
    /// Something happened that the once-a-second round should not wait for.
    poke: Notify,
    /// Changes are being followed at this moment.
    following: AtomicBool,
    /// The register is removed, or was given up.
    left: AtomicBool,
    has_left: Notify,
}

#[derive(Debug, Default)]
struct Observed {
    peers: Peers,
    /// When the last look at them began: what it did not show yet was written later.
    begun: Option<Duration>,
}

impl Cluster {
    /// The newest change that this process follows.
    pub(crate) fn seen(&self) -> u64 {
        self.seen.load(Ordering::Acquire)
    }
}

/// The register of an instance.
pub(crate) fn instance_key(instance: u128) -> Key {
    Key::new(format!("instance/{instance:032x}")).expect("hexadecimal digits are within the key grammar")
}

impl Context {
    /// This process's own register.
    pub(crate) fn instance_key(&self) -> Key {
        instance_key(self.instance())
    }

    /// Looks at the others' registers.
    async fn observe(&self) -> Result<(), StoreError> {
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
    async fn sample_time(&self) -> Result<(), StoreError> {
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
        self.ready_to_judge().await.map_err(LedgerError::from_store)?;
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
                if apart(self.clock.now()) > time::AGREE_WITHIN_NS {
                    // Two sources agree, so that the clock follows at once (protocol C1).
                    self.clock.look();
                }
                let now = self.clock.now();
                if apart(now) > time::AGREE_WITHIN_NS {
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

    /// Counts a change of a definition and waits until everybody who lives follows it; the names of those who do
    /// not in time (protocol S5).
    pub(crate) async fn seen_by_all(&self, name: &Name) -> Vec<String> {
        if self.store.exclusive() {
            return Vec::new();
        }
        let begun = self.runtime.boottime();
        let late = || self.runtime.boottime().saturating_sub(begun) > SEEN_WITHIN;
        let peers = || self.cluster.peers.lock().expect("no panic while held");
        let number = loop {
            match changes::count(self, name).await {
                Ok(number) => break number,
                Err(error) => {
                    tracing::warn!(sequence = %name, %error, "others could not be told of a change");
                    if late() {
                        return peers().peers.names(self.runtime.boottime());
                    }
                }
            }
            self.runtime.sleep(LOOK_EVERY).await;
        };
        loop {
            let looked = self.observe().await;
            let behind = peers().peers.behind(number, self.runtime.boottime());
            if (looked.is_ok() && behind.is_empty()) || late() {
                return behind;
            }
            self.runtime.sleep(LOOK_EVERY).await;
        }
    }
}
