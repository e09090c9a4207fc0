//! The rules of worker windows as arithmetic: lengths, the choice of a worker, the stored record.
//!
//! A window is `worker w for id-ticks [from, until)`. Its register's mark is `until`, in ticks of the layout
//! since its epoch. A successor starts at the stored `until`, never at its own now (protocol W2).

use std::ops::RangeInclusive;
use std::time::Duration;

use mintage::{Layout, Timestamp};
use serde::{Deserialize, Serialize};

use crate::name::Name;
use crate::store::{KEY_MAX_BYTES, Key, Value, Version, Versioned};
use mintage_local::name::NAME_KEY_MAX_BYTES;
use mintage_local::workers::WorkerRanges;

/// The longest window there is by default (protocol W3).
const LENGTH_MAX: Duration = Duration::from_secs(600);
/// A window's default length per worker of the layout.
const PER_WORKER: Duration = Duration::from_millis(600);
/// The shortest window.
const LENGTH_MIN: Duration = Duration::from_secs(3);

/// How far ahead windows of a layout reach.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Lengths {
    /// The shortest, in ticks; at least 4.
    pub min: u64,
    /// The longest, in ticks.
    pub max: u64,
    /// How far ids may run ahead of the clock, in ticks: at least 2, less than half the longest window.
    pub max_ahead: u64,
}

impl Lengths {
    pub(crate) fn new(
        layout: &Layout,
        workers: u64,
        window: Option<Duration>,
        max_ahead: Duration,
    ) -> Lengths {
        let ticks = |d: Duration| {
            let ticks = d.as_nanos().div_ceil(layout.tick().as_nanos().max(1));
            u64::try_from(ticks).unwrap_or(u64::MAX)
        };
        let by_workers = PER_WORKER.saturating_mul(u32::try_from(workers).unwrap_or(u32::MAX));
        let length = window.unwrap_or(by_workers.min(LENGTH_MAX));
        let max = ticks(length)
            .max(ticks(LENGTH_MIN.min(window.unwrap_or(LENGTH_MIN))))
            .max(4);
        let min = ticks(LENGTH_MIN).max(4).min(max);
        let max_ahead = ticks(max_ahead).min((max - 1) / 2).max(2);
        Lengths { min, max, max_ahead }
    }

    /// How far ahead of now the window of a process reaches that has lived for `age` ticks: no further than
    /// it has lived beyond the minimum, so that crash loops park workers for seconds (protocol W3).
    pub(crate) fn at_age(&self, age: u64) -> u64 {
        self.min.saturating_add(age).min(self.max)
    }
}

/// The stored body of a window; its mark is `until`.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct WindowBody {
    /// The instance that holds it, hexadecimal.
    pub owner: String,
    /// What the owner calls itself; for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The first tick of this holder.
    pub from: u64,
    /// The layout's fingerprint (protocol W8).
    pub layout: String,
    /// The holder's wall clock at this write, in milliseconds since 1970; for people and for the check that a
    /// clock is not far behind (protocol W6).
    pub wall_ms: i64,
    /// An operator asked the holder not to renew.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub retired: bool,
    /// It is leased to the machine called `name`, and how.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<MachineLease>,
    /// The renewal that wrote it last, if the borrower named that: older servers do not understand a record that says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renewed: Option<Renewed>,
}

/// A renewal that its borrower may repeat (protocol W10).
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct Renewed {
    /// What the borrower called it.
    pub attempt: String,
    /// The version that it was made from, as the borrower was told that.
    pub from: u64,
    /// The record's own version. At another one it was written by somebody who does not know of renewals, such as a restore:
    /// then it tells the borrower nothing.
    pub at: u64,
}

/// How a machine holds its number (`pool/machine.rs`).
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct MachineLease {
    /// For ever: nobody else takes it, whether its window has passed or not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stable: bool,
    /// The machine that had the number before.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub after: String,
    /// The tick before which nobody else takes it, though its window passes earlier: leases may be longer than windows.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub kept: u64,
    /// The machine gave it back itself, and is the one that may have it again before the window has passed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub returned: bool,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl WindowBody {
    pub(crate) fn read(found: &Versioned) -> Result<WindowBody, String> {
        serde_json::from_str(&found.value.body).map_err(|e| e.to_string())
    }

    /// The renewal that this record at this version answers.
    pub(crate) fn answers(&self, record: Version) -> Option<&Renewed> {
        let renewed = self.renewed.as_ref();
        renewed.filter(|renewed| renewed.at == record.number())
    }

    /// The version that the borrower was told: a confirmation (protocol R6) raises the record's and tells nothing new.
    pub(crate) fn told_version(&self, record: Version) -> u64 {
        self.answers(record)
            .map_or(record.number(), |renewed| renewed.from.saturating_add(1))
    }

    /// Whether nobody else may have the worker, though its window has passed.
    pub(crate) fn is_kept(&self, now: u64) -> bool {
        let keeps = |machine: &MachineLease| machine.stable || machine.kept > now;
        !self.retired && self.machine.as_ref().is_some_and(keeps)
    }

    /// Whether a clock wrote this that was ahead of `now`, and nobody has looked at it since.
    pub(crate) fn is_from_ahead(&self, now: Timestamp) -> bool {
        !self.retired && self.was_written_ahead(now)
    }

    /// Whether a clock wrote this that was ahead of `now`.
    pub(crate) fn was_written_ahead(&self, now: Timestamp) -> bool {
        self.wall_ms > now.saturating_add(AHEAD_MIN).unix_millis()
    }

    pub(crate) fn value(&self, until: u64, token: u128) -> Value {
        let body = serde_json::to_string(self).expect("plain fields always serialise");
        Value {
            mark: until,
            token,
            body,
        }
    }
}

/// The body of a window that nobody holds any more: no process or borrower has this owner. `None` where that is not to be
/// changed: a machine has it, or it makes no sense.
pub(crate) fn without_holder(body: &str) -> Option<String> {
    let held: WindowBody = serde_json::from_str(body).ok()?;
    if held.machine.is_some() {
        return None;
    }
    let freed = WindowBody {
        owner: format!("{:032x}", 0),
        renewed: None,
        ..held
    };
    Some(serde_json::to_string(&freed).expect("plain fields always serialise"))
}

/// How far ahead of now a record's clock was that was wrong: two that are right may differ by seconds.
pub(crate) const AHEAD_MIN: Duration = Duration::from_secs(60);

// The longest key that a name stands in.
const _: () = assert!("window/".len() + NAME_KEY_MAX_BYTES + "/0000000000".len() <= KEY_MAX_BYTES);

/// The keys of a pool's windows. Worker ids are padded so that keys sort as the ids do.
pub(crate) fn key(pool: &Name, worker: u64) -> Key {
    Key::new(format!("window/{}/{worker:010}", pool.to_key()))
        .expect("names and digits are within the key grammar")
}

pub(crate) fn prefix(pool: &Name) -> Key {
    Key::new(format!("window/{}/", pool.to_key())).expect("names are within the key grammar")
}

pub(crate) fn worker_of(key: &Key) -> Option<u64> {
    key.as_str().rsplit('/').next()?.parse().ok()
}

/// What one page of a pool's records shows.
#[derive(Debug)]
pub(crate) struct Survey {
    /// Workers that may be chosen and have no record, in order; at most a few.
    pub absent: Vec<u64>,
    /// Records of workers that may be chosen whose window has passed and that are kept for nobody.
    pub passed: Vec<(u64, Versioned)>,
    /// The record whose window ends first, of those that last, may be chosen and are kept for nobody.
    pub soonest: Option<(u64, Versioned)>,
    /// The newest wall clock seen in a record that was not given up.
    pub newest_wall_ms: Option<i64>,
    /// The last worker that was looked at.
    pub last: u64,
    /// Whether these are all there are.
    pub whole: bool,
}

/// How many absent workers a survey names.
const ABSENT_MAX: usize = 16;

impl Survey {
    /// Sorts `page`, which is complete for `workers`, of which those `allowed` may be chosen; `whole`: those are all.
    pub(crate) fn of(
        page: Vec<(u64, Versioned)>,
        workers: RangeInclusive<u64>,
        allowed: &WorkerRanges,
        whole: bool,
        now: u64,
    ) -> Survey {
        let mut survey = Survey {
            absent: Vec::new(),
            passed: Vec::new(),
            soonest: None,
            newest_wall_ms: None,
            last: *workers.end(),
            whole,
        };
        let free = WorkerRanges::span(*workers.start(), *workers.end()).within(allowed);
        let there = WorkerRanges::of(page.iter().map(|(worker, _)| *worker));
        survey.absent = free.without(&there).iter().take(ABSENT_MAX).collect();
        for (worker, found) in page {
            let body = WindowBody::read(&found).ok().filter(|body| !body.retired);
            survey.newest_wall_ms = survey.newest_wall_ms.max(body.as_ref().map(|body| body.wall_ms));
            if !allowed.contains(worker) || body.is_some_and(|body| body.is_kept(now)) {
                continue;
            }
            if found.value.mark <= now {
                survey.passed.push((worker, found));
            } else if survey
                .soonest
                .as_ref()
                .is_none_or(|(_, s)| found.value.mark < s.value.mark)
            {
                survey.soonest = Some((worker, found));
            }
        }
        survey
    }

    /// Forgets workers that cannot be had now.
    pub(crate) fn keep(&mut self, can_be_had: impl Fn(u64) -> bool) {
        self.absent.retain(|worker| can_be_had(*worker));
        self.passed.retain(|(worker, _)| can_be_had(*worker));
        self.soonest = self.soonest.take().filter(|(worker, _)| can_be_had(*worker));
    }
}
