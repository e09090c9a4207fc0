//! The clock that ids read: anchored to the wall clock, carried by boot time (protocol C1).
//!
//! ```text
//!   now = wall at anchor + boot time since anchor, at a rate of 1 +- 0.001
//! ```
//!
//! It never goes back while it is open. A small offset to the wall clock is slewed away at no more than 1 per
//! mille. A larger one is a *step*: reported, and followed only once it is confirmed, by starting anew with
//! another epoch, on which holders take another window.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use arc_swap::ArcSwap;
use mintage::{Clock, Timestamp};

use crate::runtime::Runtime;

/// Offsets up to this are slewed, larger ones are steps.
const SLEW_MAX: Duration = Duration::from_secs(5);
/// How fast offsets are slewed away.
const SLEW_PPM: i128 = 1_000;
/// A change of the offset between two looks that counts as a step of the wall clock.
const STEP_MIN: Duration = Duration::from_millis(100);
/// How often the wall clock is looked at.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(500);

/// One straight piece of the clock.
#[derive(Debug)]
struct Line {
    wall_ns: i128,
    boot: Duration,
    ppm: i128,
}

impl Line {
    fn at(&self, boot: Duration) -> i128 {
        let elapsed = boot.saturating_sub(self.boot).as_nanos() as i128;
        self.wall_ns + elapsed + elapsed * self.ppm / 1_000_000
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
    last_offset_ns: i128,
    pending: Option<Pending>,
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
}

/// The clock that ids read. Thread-safe; never goes back within one epoch.
#[derive(Debug)]
pub struct AnchoredClock {
    runtime: Arc<dyn Runtime>,
    line: ArcSwap<Line>,
    watch: Mutex<Watch>,
    confirm: Duration,
    offset_ns: AtomicI64,
    steps: AtomicU64,
    epoch: AtomicU64,
    unconfirmed_ms: AtomicU64,
}

impl Clock for AnchoredClock {
    fn now(&self) -> Timestamp {
        if mintage::planted!("wall-clock-trusted") {
            return self.runtime.wall();
        }
        Timestamp::from_unix_nanos(self.line.load().at(self.runtime.boottime()))
    }
}

impl AnchoredClock {
    /// Starts at the wall clock, or at `floor` if that is later (a time this store has seen before). A far step is
    /// followed once it has stood for `confirm`.
    pub fn new(runtime: Arc<dyn Runtime>, floor: Option<Timestamp>, confirm: Duration) -> Self {
        let wall = runtime.wall();
        let start = floor.map_or(wall, |floor| floor.max(wall));
        let line = Line {
            wall_ns: start.unix_nanos(),
            boot: runtime.boottime(),
            ppm: 0,
        };
        AnchoredClock {
            runtime,
            line: ArcSwap::from_pointee(line),
            watch: Mutex::new(Watch {
                last_offset_ns: wall.unix_nanos() - start.unix_nanos(),
                pending: None,
            }),
            confirm,
            offset_ns: AtomicI64::new(0),
            steps: AtomicU64::new(0),
            epoch: AtomicU64::new(0),
            unconfirmed_ms: AtomicU64::new(0),
        }
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
        }
    }

    /// Compares with the wall clock: slews, notes a step, or follows a confirmed one. The ledger does this twice a second.
    pub fn look(&self) {
        let mut watch = self.watch.lock().expect("no panic while held");
        let boot = self.runtime.boottime();
        let wall = self.runtime.wall().unix_nanos();
        let now = self.line.load().at(boot);
        let offset = wall - now;
        let moved = (offset - watch.last_offset_ns).unsigned_abs();
        if moved > STEP_MIN.as_nanos() {
            self.steps.fetch_add(1, Ordering::Relaxed);
            tracing::warn!(offset_ms = offset / 1_000_000, "the wall clock was stepped");
        }
        let far = offset.unsigned_abs() > SLEW_MAX.as_nanos();
        let mut offset_left = offset;
        if !far {
            let interval = LOOK_EVERY.as_nanos() as i128;
            let ppm = (offset * 1_000_000 / interval).clamp(-SLEW_PPM, SLEW_PPM);
            self.line.store(Arc::new(Line {
                wall_ns: now,
                boot,
                ppm,
            }));
            watch.pending = None;
        } else {
            let same =
                |p: &Pending| (p.offset_ns - offset).unsigned_abs() < Duration::from_secs(1).as_nanos();
            let pending = watch.pending.filter(same).unwrap_or(Pending {
                since: boot,
                offset_ns: offset,
            });
            let stood = boot.saturating_sub(pending.since);
            if self.runtime.clock_synchronised() == Some(true) || stood >= self.confirm {
                tracing::warn!(offset_ms = offset / 1_000_000, "following the wall clock's step");
                self.line.store(Arc::new(Line {
                    wall_ns: wall,
                    boot,
                    ppm: 0,
                }));
                self.epoch.fetch_add(1, Ordering::AcqRel);
                watch.pending = None;
                offset_left = 0;
            } else {
                // Rate 1 while it stands: neither follow nor drift.
                self.line.store(Arc::new(Line {
                    wall_ns: now,
                    boot,
                    ppm: 0,
                }));
                watch.pending = Some(pending);
            }
        }
        let left = watch.pending.map_or(Duration::ZERO, |p| {
            self.confirm
                .saturating_sub(boot.saturating_sub(p.since))
                .max(Duration::from_millis(1))
        });
        self.unconfirmed_ms.store(
            u64::try_from(left.as_millis()).unwrap_or(u64::MAX),
            Ordering::Relaxed,
        );
        watch.last_offset_ns = offset_left;
        self.offset_ns
            .store(i64::try_from(offset_left).unwrap_or(i64::MAX), Ordering::Relaxed);
    }
}
