//! The clock that ids read: anchored to the wall clock, carried by boot time (protocol C1).
//!
//! ```text
//!   now = wall at anchor + boot time since anchor, at a rate of 1 +- 0.001
//! ```
//!
//! It never goes back while it is open. A small offset to the wall clock is slewed away at no more than 1 per
//! mille. A larger one is a *step*: reported, and followed only once it is confirmed, by starting anew with
//! another epoch, on which holders take another window. The generators of formats that need no window live here,
//! beside the time they read, so that a step back gives them another start in the same moment.
//!
//! What a store remembers may come from a clock that was wrong. A process begins at the latest time it knows of, and
//! is *settled* once its clock was confirmed: from then on what lies ahead of it is the work of a wrong clock.
//!
//! Every id that carries the time gets it here, and only through the *gate* ([`AnchoredClock::time`], protocol C2): it is
//! shut while nobody knows what the others' clocks say, and while they say something else. Who shuts it is told by
//! `cluster/clocks`; who asks needs one load of an atomic.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicI64, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use arc_swap::ArcSwap;
use mintage::{Clock, FixedClock, Generators, Timestamp};
use tokio::sync::Notify;

use crate::cluster::Sources;

use crate::runtime::Runtime;

/// Offsets up to this are slewed, larger ones are steps.
const SLEW_MAX: Duration = Duration::from_secs(5);
/// How fast offsets are slewed away.
const SLEW_PPM: i128 = 1_000;
/// A change of the offset between two looks that counts as a step of the wall clock.
const STEP_MIN: Duration = Duration::from_millis(100);
/// Two readings of boot time that are less apart are of one moment.
const TOGETHER: Duration = Duration::from_millis(10);
/// How often both clocks are read for that.
const READINGS_MAX: usize = 10;
/// How many steps are remembered.
const STEPS_MAX: usize = 64;
/// How long whoever asks at the start waits at most until the clocks are compared.
const JUDGED_WITHIN: Duration = Duration::from_secs(5);
/// How often the wall clock is looked at.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(500);

/// One straight piece of the clock.
#[derive(Debug)]
struct Line {
    wall_ns: i128,
    boot: Duration,
    ppm: i128,
    generators: Arc<Generators>,
}

impl Line {
    fn at(&self, boot: Duration) -> i128 {
        let elapsed = boot.saturating_sub(self.boot).as_nanos() as i128;
        self.wall_ns + elapsed + elapsed * self.ppm / 1_000_000
    }

    /// The line from here on.
    fn onwards(&self, wall_ns: i128, boot: Duration, ppm: i128) -> Arc<Line> {
        Arc::new(Line {
            wall_ns,
            boot,
            ppm,
            generators: Arc::clone(&self.generators),
        })
    }

    /// What [`Line::at`] says, in 64 bits: 128 are divided for every id only where 64 do not reach.
    fn nanos_near(&self, boot: Duration) -> Option<i64> {
        let elapsed = i64::try_from(boot.saturating_sub(self.boot).as_nanos()).ok()?;
        let slewed = elapsed.checked_mul(i64::try_from(self.ppm).ok()?)? / 1_000_000;
        i64::try_from(self.wall_ns)
            .ok()?
            .checked_add(elapsed)?
            .checked_add(slewed)
    }
}

/// One line read as a clock: for ids that are made at the price of reading a counter.
struct Along<'a> {
    line: &'a Line,
    runtime: &'a dyn Runtime,
}

impl Clock for Along<'_> {
    fn now(&self) -> Timestamp {
        Timestamp::from_unix_nanos(self.line.at(self.runtime.boottime()))
    }

    fn unix_millis(&self) -> i64 {
        match self.line.nanos_near(self.runtime.boottime_near()) {
            Some(nanos) => nanos.div_euclid(1_000_000),
            None => self.now().unix_millis(),
        }
    }

    fn unix_ticks(&self) -> i64 {
        match self.line.nanos_near(self.runtime.boottime_near()) {
            Some(nanos) => nanos.div_euclid(100),
            None => {
                let ticks = self.now().unix_nanos().div_euclid(100);
                i64::try_from(ticks).unwrap_or(i64::MAX)
            }
        }
    }
}

/// A step that is not confirmed yet.
#[derive(Debug, Clone, Copy)]
struct Pending {
    since: Duration,
    offset_ns: i128,
}

#[derive(Debug)]
struct Watch {
    /// The wall clock minus boot time at the last look.
    apart_ns: i128,
    pending: Option<Pending>,
    reference: Reference,
    /// Since when, in boot time, this clock and the wall clock go together.
    together: Duration,
}

/// Which time is right, by more than this machine's own clock (protocol W6).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reference {
    /// There is only the own wall clock: a far step must be confirmed by the kernel or by time.
    Own,
    /// Two sources agree on this wall clock minus boot time, in nanoseconds: it is followed at once.
    Agreed {
        /// What they agree on.
        offset_ns: i128,
    },
    /// No two sources agree: no far step is followed.
    Disputed,
}

/// Whether ids get the time (protocol C2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Gate {
    /// They do.
    Open,
    /// It is not known yet what the others' clocks say: whoever asks waits a moment.
    Unjudged,
    /// They do not: the clocks disagree.
    Shut,
}

/// Why no id that carries the time is made: the clocks disagree, or could not be compared.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct ClockRefusal {
    /// What each clock says, where they disagree.
    told: Option<String>,
}

impl ClockRefusal {
    /// In how many seconds to ask again.
    pub const RETRY_AFTER_S: u64 = 5;
}

impl fmt::Display for ClockRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(told) = &self.told else {
            return f.write_str(
                "ids that carry the time are refused: the clocks of the store and of other servers could not be asked yet; \
                 ask again, or take a random format (uuid4, nanoid)",
            );
        };
        write!(
            f,
            "no two clocks agree within 5 s, so that no id that carries the time is made: {told}; set the clock that is \
             wrong, or take a random format (uuid4, nanoid)"
        )
    }
}

impl std::error::Error for ClockRefusal {}

/// A step of the wall clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClockStep {
    /// When it was seen, by the clock that ids read.
    pub at: Timestamp,
    /// By how much, in milliseconds; negative: back.
    pub by_ms: i64,
}

/// What [`AnchoredClock`] has seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClockReport {
    /// Wall clock minus this clock, in nanoseconds, at the last look.
    pub offset_ns: i64,
    /// How often the wall clock was stepped.
    pub steps: u64,
    /// A far step is seen and not confirmed yet: how long until it will be followed.
    pub unconfirmed: Option<Duration>,
    /// The clock was not confirmed since the process began: how long until it is by going on as it does.
    pub unsettled: Option<Duration>,
}

impl ClockReport {
    /// How long until the clock counts as confirmed by going on as it does.
    pub(crate) fn settles_in(&self) -> Duration {
        let unsettled = self.unsettled.unwrap_or_default();
        self.unconfirmed
            .map_or(unsettled, |left| left.min(unsettled.max(left)))
    }
}

/// The clock that ids read. Thread-safe; never goes back within one epoch.
#[derive(Debug)]
pub struct AnchoredClock {
    runtime: Arc<dyn Runtime>,
    line: ArcSwap<Line>,
    watch: Mutex<Watch>,
    /// The latest time that anything remembered at the start.
    floor: Option<Timestamp>,
    confirm: Duration,
    offset_ns: AtomicI64,
    steps: AtomicU64,
    /// The last of them.
    seen: Mutex<VecDeque<ClockStep>>,
    epoch: AtomicU64,
    unconfirmed_ms: AtomicU64,
    /// How long until the clock counts as confirmed; 0: it does.
    unsettled_ms: AtomicU64,
    /// A [`Gate`].
    gate: AtomicU8,
    /// Since when, in milliseconds of boot time, it has been [`Gate::Unjudged`].
    unjudged_at_ms: AtomicU64,
    /// What the clocks said when it was shut.
    against: Mutex<Option<Sources>>,
    /// The gate is no longer [`Gate::Unjudged`].
    judged: Notify,
}

impl Clock for AnchoredClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_unix_nanos(self.line.load().at(self.runtime.boottime()))
    }
}

impl AnchoredClock {
    /// Starts at the wall clock, or at `floor` if that is later (a time this store has seen before). A far step is
    /// followed once it has stood for `confirm`, or at once where the kernel says that its clock is synchronised: so
    /// is a wall clock far before `floor`, which a wrong clock left behind.
    pub fn new(runtime: Arc<dyn Runtime>, floor: Option<Timestamp>, confirm: Duration) -> Self {
        let settled = runtime.clock_synchronised() == Some(true);
        let (wall, boot) = both(&*runtime);
        let far = |floor: &Timestamp| floor.since(wall) > SLEW_MAX;
        let start = match floor {
            Some(floor) if !(settled && far(&floor)) => floor.max(wall),
            _ => wall,
        };
        let line = Line {
            wall_ns: start.unix_nanos(),
            boot,
            ppm: 0,
            generators: Arc::new(Generators::new(start)),
        };
        let unsettled = if settled { Duration::ZERO } else { confirm };
        let clock = AnchoredClock {
            runtime,
            watch: Mutex::new(Watch {
                apart_ns: wall.unix_nanos() - line.boot.as_nanos() as i128,
                pending: None,
                reference: Reference::Own,
                together: boot,
            }),
            line: ArcSwap::from_pointee(line),
            floor,
            confirm,
            offset_ns: AtomicI64::new(0),
            steps: AtomicU64::new(0),
            seen: Mutex::default(),
            epoch: AtomicU64::new(0),
            unconfirmed_ms: AtomicU64::new(0),
            unsettled_ms: AtomicU64::new(whole_ms(unsettled)),
            gate: AtomicU8::new(Gate::Open as u8),
            unjudged_at_ms: AtomicU64::new(0),
            against: Mutex::default(),
            judged: Notify::new(),
        };
        // Whoever asks before the first look of the ledger is told that a far `floor` is held, too.
        clock.look();
        clock
    }

    /// Makes ids of formats that need no window: gives `make` the time, cheap to read, and the generators that belong
    /// to it. After a confirmed step back both are others: ids follow the clock back and do not repeat.
    ///
    /// ```
    /// use mintage::{Clock, Uuid};
    /// use mintage_ledger::{AnchoredClock, SystemRuntime};
    /// # let tokio = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    /// let clock = AnchoredClock::new(SystemRuntime::new(tokio.handle().clone()), None, Default::default());
    /// let mut ids = [Uuid::nil(); 2];
    /// clock.make(|generators, clock| generators.uuid7_many(clock, &mut ids))?;
    /// assert!(ids[0] < ids[1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The gate is shut.
    #[inline]
    pub fn make<T>(&self, make: impl FnOnce(&Generators, &dyn Clock) -> T) -> Result<T, ClockRefusal> {
        self.pass()?;
        let line = self.line.load();
        let along = Along {
            line: &line,
            runtime: &*self.runtime,
        };
        Ok(make(&line.generators, &along))
    }

    /// Makes ids that carry no time, whatever clocks say: a clock that `make` reads stands at the beginning of time.
    pub fn make_timeless<T>(&self, make: impl FnOnce(&Generators, &dyn Clock) -> T) -> T {
        make(
            &self.line.load().generators,
            &FixedClock(Timestamp::from_unix_millis(0)),
        )
    }

    /// The time for an id, or for what stands in one.
    ///
    /// # Errors
    /// The gate is shut.
    #[inline]
    pub fn time(&self) -> Result<Timestamp, ClockRefusal> {
        self.pass()?;
        Ok(self.now())
    }

    /// Passes the gate: one load of an atomic while it is open.
    #[inline]
    fn pass(&self) -> Result<(), ClockRefusal> {
        if self.gate.load(Ordering::Acquire) == Gate::Open as u8 {
            return Ok(());
        }
        Err(self.refusal().unwrap_or_default())
    }

    /// Why no id gets the time, if none does; with what the clocks say now.
    #[cold]
    pub fn refusal(&self) -> Option<ClockRefusal> {
        if self.gate.load(Ordering::Acquire) == Gate::Open as u8 {
            return None;
        }
        let against = self.against.lock().expect("no panic while held");
        let boot = self.runtime.boottime();
        let told = against
            .as_ref()
            .map(|against| format!("{against}: {}", against.told_at(boot)));
        Some(ClockRefusal { told })
    }

    /// Whether ids get the time.
    pub(crate) fn gate(&self) -> Gate {
        match self.gate.load(Ordering::Acquire) {
            0 => Gate::Open,
            1 => Gate::Unjudged,
            _ => Gate::Shut,
        }
    }

    /// Opens or shuts the gate; `against`: what the clocks say that disagree. Tells the log where that is news.
    pub(crate) fn set_gate(&self, gate: Gate, against: Option<Sources>) {
        let told = against
            .as_ref()
            .map(|against| against.told_at(self.runtime.boottime()));
        // Before the gate, so that nobody is refused without a reason.
        *self.against.lock().expect("no panic while held") = against;
        if gate == Gate::Unjudged && self.gate() != Gate::Unjudged {
            let now = self.runtime.boottime().as_millis() as u64;
            self.unjudged_at_ms.store(now, Ordering::Release);
        }
        let before = self.gate.swap(gate as u8, Ordering::AcqRel);
        match (before == gate as u8, gate) {
            (false, Gate::Shut) => {
                tracing::warn!(
                    clocks = told.unwrap_or_default(),
                    "ids that carry the time are refused: the clocks disagree"
                );
            }
            (false, Gate::Open) if before == Gate::Shut as u8 => {
                tracing::info!("ids that carry the time are made again: the clocks agree");
            }
            _ => {}
        }
        self.judged.notify_waiters();
    }

    /// Waits until it is known whether ids get the time; not for long, whoever asks, after it was asked for first.
    pub async fn judged(&self) {
        let begun = Duration::from_millis(self.unjudged_at_ms.load(Ordering::Acquire));
        while self.gate() == Gate::Unjudged {
            let judged = self.judged.notified();
            tokio::pin!(judged);
            judged.as_mut().enable();
            let left = JUDGED_WITHIN.saturating_sub(self.runtime.boottime().saturating_sub(begun));
            if self.gate() != Gate::Unjudged || left.is_zero() {
                return;
            }
            tokio::select! {
                // In a fixed order, so that a simulated run repeats.
                biased;
                () = judged => {}
                () = self.runtime.sleep(left) => {}
            }
        }
    }

    /// Whether the clock was confirmed since the process began: two sources agreed, the kernel said that it is
    /// synchronised, or it went on steadily, or a step of it stood, for as long as a step has to stand.
    pub fn is_settled(&self) -> bool {
        self.unsettled_ms.load(Ordering::Acquire) == 0
    }

    /// The latest time that anything remembered at the start.
    pub(crate) fn floor(&self) -> Option<Timestamp> {
        self.floor
    }

    /// Raised when a confirmed step was followed: ids may go back in time, so generators must be new.
    pub fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    /// What the last look at the wall clock showed.
    pub fn report(&self) -> ClockReport {
        let ms = self.unconfirmed_ms.load(Ordering::Relaxed);
        ClockReport {
            offset_ns: self.offset_ns.load(Ordering::Relaxed),
            steps: self.steps.load(Ordering::Relaxed),
            unconfirmed: (ms > 0).then(|| Duration::from_millis(ms)),
            unsettled: match self.unsettled_ms.load(Ordering::Acquire) {
                0 => None,
                ms => Some(Duration::from_millis(ms)),
            },
        }
    }

    /// The last steps of the wall clock, at most 64, the earliest first.
    pub fn steps(&self) -> Vec<ClockStep> {
        self.seen
            .lock()
            .expect("no panic while held")
            .iter()
            .copied()
            .collect()
    }

    fn remember(&self, step: ClockStep) {
        let mut seen = self.seen.lock().expect("no panic while held");
        if seen.len() == STEPS_MAX {
            seen.pop_front();
        }
        seen.push_back(step);
    }

    /// What the next looks compare with; [`Reference::Own`] at the start.
    pub(crate) fn refer_to(&self, reference: Reference) {
        self.watch.lock().expect("no panic while held").reference = reference;
    }

    /// Compares with the wall clock: slews, notes a step, or follows a confirmed one. The ledger does this twice a second.
    /// Returns whether something was confirmed: a step was followed, or the clock is settled from now on.
    pub fn look(&self) -> bool {
        let mut watch = self.watch.lock().expect("no panic while held");
        let (wall, boot) = both(&*self.runtime);
        let wall = wall.unix_nanos();
        let line = self.line.load_full();
        let now = line.at(boot);
        let boot_ns = boot.as_nanos() as i128;
        if (wall - boot_ns - watch.apart_ns).unsigned_abs() > STEP_MIN.as_nanos() {
            self.steps.fetch_add(1, Ordering::Relaxed);
            let stepped_ms = millis(wall - boot_ns - watch.apart_ns);
            self.remember(ClockStep {
                at: Timestamp::from_unix_nanos(now),
                by_ms: stepped_ms,
            });
            tracing::warn!(stepped_ms, "the wall clock was stepped");
        }
        watch.apart_ns = wall - boot_ns;
        // The own clock where it is among those that agree: it runs smoother than what came over a network.
        let target = match watch.reference {
            Reference::Agreed { offset_ns }
                if (wall - boot_ns - offset_ns).unsigned_abs() > SLEW_MAX.as_nanos() =>
            {
                boot_ns + offset_ns
            }
            _ => wall,
        };
        let offset = target - now;
        let far = offset.unsigned_abs() > SLEW_MAX.as_nanos();
        let mut followed = false;
        if !far {
            let interval = LOOK_EVERY.as_nanos() as i128;
            let ppm = (offset * 1_000_000 / interval).clamp(-SLEW_PPM, SLEW_PPM);
            self.line.store(line.onwards(now, boot, ppm));
            watch.pending = None;
        } else {
            watch.together = boot;
            let same =
                |p: &Pending| (p.offset_ns - offset).unsigned_abs() < Duration::from_secs(1).as_nanos();
            let pending = watch.pending.filter(same).unwrap_or(Pending {
                since: boot,
                offset_ns: offset,
            });
            followed = self.is_confirmed(watch.reference, boot.saturating_sub(pending.since));
            if followed {
                tracing::warn!(offset_ms = millis(offset), "ids follow the step of the clock");
                self.line.store(follow(&line, target, now, boot));
                self.epoch.fetch_add(1, Ordering::AcqRel);
                watch.pending = None;
            } else {
                // Rate 1 while it stands: neither follow nor drift.
                self.line.store(line.onwards(now, boot, 0));
                watch.pending = Some(pending);
            }
        }
        let left = watch.pending.map_or(Duration::ZERO, |p| {
            self.confirm
                .saturating_sub(boot.saturating_sub(p.since))
                .max(Duration::from_millis(1))
        });
        self.unconfirmed_ms.store(whole_ms(left), Ordering::Relaxed);
        let shown = wall - target + if followed { 0 } else { offset };
        self.offset_ns
            .store(i64::try_from(shown).unwrap_or(i64::MAX), Ordering::Relaxed);
        let settled = self.settle(&watch, boot, followed);
        followed || settled
    }

    /// Whether what has stood for `stood` is confirmed (protocol C1).
    fn is_confirmed(&self, reference: Reference, stood: Duration) -> bool {
        match reference {
            Reference::Own => self.runtime.clock_synchronised() == Some(true) || stood >= self.confirm,
            Reference::Agreed { .. } => true,
            Reference::Disputed => false,
        }
    }

    /// Settles the clock where it is not yet and can be; whether it did.
    fn settle(&self, watch: &Watch, boot: Duration, followed: bool) -> bool {
        if self.is_settled() {
            return false;
        }
        let stood = boot.saturating_sub(watch.together);
        let settled = followed || watch.pending.is_none() && self.is_confirmed(watch.reference, stood);
        let left = self.confirm.saturating_sub(stood).max(Duration::from_millis(1));
        let left = if settled { Duration::ZERO } else { left };
        self.unsettled_ms.store(whole_ms(left), Ordering::Release);
        settled
    }
}

/// The wall clock and the boot time of one moment. Read again where this thread was set aside in between: that would
/// look like a step.
fn both(runtime: &dyn Runtime) -> (Timestamp, Duration) {
    let mut before = runtime.boottime();
    for _ in 1..READINGS_MAX {
        let wall = runtime.wall();
        let after = runtime.boottime();
        if after.saturating_sub(before) < TOGETHER {
            return (wall, before);
        }
        before = after;
    }
    (runtime.wall(), before)
}

/// The line from `target` on, where `now` was read: with other generators if that is back in time.
fn follow(line: &Line, target: i128, now: i128, boot: Duration) -> Arc<Line> {
    let at = Timestamp::from_unix_nanos(target);
    if target >= now {
        line.generators.jumped(at);
        return line.onwards(target, boot, 0);
    }
    Arc::new(Line {
        wall_ns: target,
        boot,
        ppm: 0,
        generators: Arc::new(line.generators.renewed(at)),
    })
}

/// In milliseconds, rounded up: what is left is not shown as nothing.
fn whole_ms(left: Duration) -> u64 {
    u64::try_from(left.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}
/// Nanoseconds as milliseconds, in a type that logs write as a number.
fn millis(nanos: i128) -> i64 {
    i64::try_from(nanos / 1_000_000).unwrap_or(i64::MAX)
}
