//! The clocks of all that live, the store's and this machine's: read, compared, and told to the clock that ids read
//! (protocol W6).

use std::time::Duration;

use mintage::{Clock, Timestamp};

use super::peers::LIVE_FOR;
use super::time::{AGREE_WITHIN_NS, Sources, Verdict, median};
use super::trust::{Ids, Weighed};
use crate::clock::{Gate, Reference};
use crate::context::Context;
use crate::error::LedgerError;
use crate::journal::Journal;
use crate::store::{Key, SCAN_LIMIT_MAX, StoreError};

/// A store's answer that took longer says too little about its clock.
const ROUND_TRIP_MAX: Duration = Duration::from_secs(2);
/// How long a start waits at most for the clocks of others that may live.
const JUDGED_WITHIN: Duration = Duration::from_secs(4);
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
            peers: observed.peers.clocks_ns(boot),
            peers_ids: median(observed.peers.id_clocks_ns(boot)),
        }
    }

    /// Judges the clocks, and tells the clock that ids read what came of it.
    fn tell_clock(&self) -> Verdict {
        let sources = self.sources();
        let verdict = sources.judge();
        if verdict == Verdict::Alone && self.has_not_heard() {
            // That opens no gate. A clock whose ids go on follows its own machine's, if nobody spoke against that.
            if self.clock.gate() == Gate::Open {
                let mut trust = self.cluster.trust.lock().expect("no panic while held");
                self.clock
                    .refer_to(trust.weigh(&sources, verdict, self.clock.epoch()).reference);
            }
            return verdict;
        }
        if self.is_undecided(verdict) {
            self.clock.refer_to(reference_of(verdict));
            return verdict;
        }
        let mut trust = self.cluster.trust.lock().expect("no panic while held");
        let Weighed { reference, ids } = trust.weigh(&sources, verdict, self.clock.epoch());
        self.clock.refer_to(reference);
        match ids {
            Ids::Go => self.clock.set_gate(Gate::Open, None),
            Ids::GoAt(offset_ns) => {
                // Two sources agree, so that the clock follows at once (protocol C1).
                if self.apart_ns(offset_ns) > AGREE_WITHIN_NS && self.clock.look() {
                    self.store.clock_confirmed();
                }
                if self.apart_ns(offset_ns) <= AGREE_WITHIN_NS {
                    trust.agreed(self.clock.epoch());
                    self.clock.set_gate(Gate::Open, None);
                }
            }
            Ids::Hold { is_news } => {
                if is_news {
                    let clocks = sources.told_at(self.runtime.boottime());
                    tracing::warn!(
                        clocks,
                        "the clocks disagree: ids go on at the time that was agreed on before"
                    );
                }
                self.clock.set_gate(Gate::Open, None);
            }
            Ids::Refuse(against) => self.clock.set_gate(Gate::Shut, Some(against)),
        }
        verdict
    }

    /// Whether the others were not heard for lack of a store that answers: then nothing is known of whether they live.
    fn has_not_heard(&self) -> bool {
        if self.store.exclusive() || self.clock.gate() == Gate::Unjudged {
            return false;
        }
        let observed = self.cluster.peers.lock().expect("no panic while held");
        let now = self.runtime.boottime();
        observed
            .begun
            .is_some_and(|begun| now.saturating_sub(begun) > LIVE_FOR)
    }

    /// How far the clock that ids read is from this one.
    fn apart_ns(&self, offset_ns: i128) -> i128 {
        let boot_ns = self.runtime.boottime().as_nanos() as i128;
        (self.clock.now().unix_nanos() - boot_ns - offset_ns).abs()
    }

    /// At the start: whether more will be known in a moment about those who may live.
    fn is_undecided(&self, verdict: Verdict) -> bool {
        if self.clock.gate() != Gate::Unjudged || matches!(verdict, Verdict::Agreed { .. }) {
            return false;
        }
        let boot = self.runtime.boottime();
        let observed = self.cluster.peers.lock().expect("no panic while held");
        if observed.begun.is_none() {
            return true;
        }
        let mut trust = self.cluster.trust.lock().expect("no panic while held");
        // Who answers too slowly for its clock to be known has no say.
        observed.peers.undecided(boot) && trust.asked_for(boot) <= JUDGED_WITHIN
    }

    /// Why no time can be validated at this moment, in words (protocol W6).
    pub(crate) fn time_dispute(&self) -> Option<String> {
        if self.clock.gate() == Gate::Shut {
            return self.clock.refusal().map(|refusal| refusal.to_string());
        }
        match self.sources() {
            sources if sources.judge() == Verdict::Disputed && !self.store.exclusive() => {
                Some(format!("no two clocks agree: {sources}"))
            }
            _ => None,
        }
    }

    /// What this process vouches for: the time that its ids have, while they have one.
    pub(crate) fn vouched(&self) -> Option<Timestamp> {
        self.clock.time().ok()
    }

    /// The same minus boot time, in nanoseconds.
    pub(crate) fn vouched_ns(&self) -> Option<i128> {
        let boot_ns = self.runtime.boottime().as_nanos() as i128;
        Some(self.vouched()?.unix_nanos() - boot_ns)
    }

    /// Before the store is there: the journal knows what the clock read when it answered last.
    pub(crate) fn begin_at_noted_time(&self) {
        let noted = self.journal.as_ref().and_then(Journal::vouched_ns);
        let Some(offset_ns) = noted else {
            // Its ids had no time when the store answered last, or nothing is known of that.
            return self.clock.set_gate(Gate::Shut, None);
        };
        self.clock.refer_to(Reference::Agreed { offset_ns });
        self.clock.look();
    }

    /// The store is back: a time that nobody vouched for waits until the clocks were compared.
    pub(crate) fn compare_clocks_first(&self) {
        let mut trust = self.cluster.trust.lock().expect("no panic while held");
        if !trust.is_agreed(self.clock.epoch()) {
            trust.ask_anew();
            self.clock.set_gate(Gate::Unjudged, None);
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
            Verdict::Alone => self.clock.time().map_err(|error| refused(error.to_string())),
            Verdict::Agreed { offset_ns } => {
                if self.apart_ns(offset_ns) > AGREE_WITHIN_NS {
                    return Err(refused("the clock that ids read is being set right".to_string()));
                }
                Ok(self.clock.now())
            }
            Verdict::Disputed => Err(refused(format!(
                "no two clocks agree within 5 s, so that no window is taken or extended: {}; set the clocks",
                self.sources()
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

/// What the clock that ids read is told, with nothing known but this.
pub(super) fn reference_of(verdict: Verdict) -> Reference {
    match verdict {
        Verdict::Alone => Reference::Own,
        Verdict::Agreed { offset_ns } => Reference::Agreed { offset_ns },
        Verdict::Disputed => Reference::Disputed,
    }
}
