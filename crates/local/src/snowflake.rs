//! Snowflake ids without server or store: reserved in a [`StateFile`], shared by any number of processes of one
//! user on one machine.
//!
//! What is reserved is the generator's own word (`tick << sequence_bits | sequence`), not whole ticks, so
//! parallel one-shot commands within one tick share it and do not run ahead of the clock.
//!
//! **Guarantees:** no two ids of one file and worker are equal, strictly increasing in the order of the
//! reservations, across restarts, kills and a clock set back (ids then continue above the stored word), until
//! [`LocalSnowflake::leave_worker`] gives up a worker that a wrong clock took far ahead. Between machines nothing is coordinated: a worker drawn at random makes a repeat unlikely, not impossible.

use std::time::Duration;

use mintage::{ClockPolicy, Layout, LayoutError, Role, Snowflake, Timestamp};
use serde::{Deserialize, Serialize};

use crate::state_file::{Found, StateFile, StateFileError};

/// Mints ids of one layout for one worker from a state file.
#[derive(Clone, Debug)]
pub struct LocalSnowflake {
    file: StateFile,
    layout: Layout,
    max_ahead: Duration,
    policy: ClockPolicy,
}

/// Ids that nobody else will get: `count` words from `word`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reserved {
    /// The worker whose ids they are.
    pub worker: u64,
    rollback: u64,
    word: u64,
    count: u64,
}

/// What a reservation came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reservation {
    /// Durable: mint them with [`LocalSnowflake::ids`].
    Done(Reserved),
    /// The ids already reserved run ahead of the clock by all that is allowed: ask again after this long.
    Wait(Duration),
}

/// Why nothing was reserved.
#[derive(Debug, thiserror::Error)]
pub enum LocalError {
    /// The state file.
    #[error(transparent)]
    File(#[from] StateFileError),
    /// The worker or the time does not fit the layout.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// The file was made for something else.
    #[error("state file {path} holds {found}, asked for {asked}")]
    Other {
        /// The file.
        path: String,
        /// What it holds.
        found: String,
        /// What was asked for.
        asked: String,
    },
    /// The clock went back, and the clock policy does not mint then.
    #[error("the clock is {} ms behind the latest that this worker saw, and its clock policy is {policy}", .by.as_millis().max(1))]
    ClockBack {
        /// By how much.
        by: Duration,
        /// The policy.
        policy: ClockPolicy,
    },
}

/// The payload, readable by a person.
#[derive(Serialize, Deserialize)]
struct Record {
    /// The layout's fingerprint.
    layout: String,
    worker: u64,
    /// The first word that was not reserved.
    next: u64,
    /// The latest tick of the clock that a reservation saw.
    #[serde(default)]
    tick: u64,
    /// The value of the layout's rollback field, if it has one: how often the clock was followed back.
    #[serde(default, skip_serializing_if = "is_zero")]
    rollback: u64,
    /// Workers that a wrong clock took ahead, each with the first word that was not reserved.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    parked: Vec<(u64, u64)>,
}

/// A worker that is further ahead than this was taken there by a clock that was wrong.
const LEAVE_AFTER: Duration = Duration::from_secs(60);
/// How often another worker is drawn before the file keeps its own after all.
const DRAWS_MAX: usize = 256;
/// The most workers that are left alone at a time.
const PARKED_MAX: usize = 64;

fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl LocalSnowflake {
    /// Ids of `layout` from `file`, at most `max_ahead` (at least 2 ticks) ahead of the clock.
    pub fn new(file: StateFile, layout: Layout, max_ahead: Duration) -> LocalSnowflake {
        LocalSnowflake {
            file,
            layout,
            max_ahead,
            policy: ClockPolicy::Hold,
        }
    }

    /// Sets what happens when the clock went back since the last reservation of any process, more than the ids
    /// made since may run ahead of it; [`ClockPolicy::Hold`] if this is not called.
    ///
    /// # Errors
    /// [`ClockPolicy::Bump`] on a layout without a rollback field.
    ///
    /// ```
    /// use std::time::Duration;
    /// use mintage::ClockPolicy;
    /// use mintage_local::snowflake::LocalSnowflake;
    /// use mintage_local::state_file::StateFile;
    /// let layout = mintage::preset("twitter").expect("a preset").layout();
    /// let local = LocalSnowflake::new(StateFile::new("state"), layout, Duration::from_secs(5));
    /// assert!(local.clone().clock_policy(ClockPolicy::Error).is_ok());
    /// assert!(local.clock_policy(ClockPolicy::Bump).is_err());
    /// ```
    pub fn clock_policy(mut self, policy: ClockPolicy) -> Result<LocalSnowflake, LayoutError> {
        self.layout.check_policy(policy)?;
        self.policy = policy;
        Ok(self)
    }

    /// Reserves 1 to `want` ids at the time `now`.
    ///
    /// `worker` is the one asked for; without one, a file keeps its own and a new file takes what `draw` gives.
    ///
    /// # Errors
    /// The file is damaged, not writable, or made for another layout or worker; the worker or the time does not
    /// fit the layout. Nothing was reserved, or it is unknown and counts as spent.
    pub fn reserve(
        &self,
        worker: Option<u64>,
        draw: impl FnOnce() -> u64,
        now: Timestamp,
        want: u64,
    ) -> Result<Reservation, LocalError> {
        let tick = self.tick_at(now)?;
        self.file.update(|found| {
            let found = match found {
                Some(found) => Some((self.read(&found, worker)?, found.may_be_older())),
                None => None,
            };
            let worker = worker
                .or(found.as_ref().map(|(r, _)| r.worker))
                .unwrap_or_else(draw);
            // Also the check that the worker fits.
            self.layout.pack_wide(tick, worker, 0)?;
            let mut record = Record {
                layout: self.layout.fingerprint(),
                worker,
                next: 0,
                tick,
                rollback: 0,
                parked: Vec::new(),
            };
            let mut may_be_older = false;
            if let Some((found, lost)) = found {
                (record.next, record.rollback, may_be_older) = (found.next, found.rollback, lost);
                record.parked = found.parked;
                let back = found.tick.saturating_sub(tick);
                record.tick = found.tick.max(tick);
                match self.policy {
                    _ if back == 0 => {}
                    ClockPolicy::Bump
                        if back > self.ahead_ticks()
                            && record.rollback + 1 < 1 << self.layout.rollback_bits() =>
                    {
                        // Unique whatever lies above: no id of this rollback value was made before.
                        record.rollback += 1;
                        (record.next, record.tick) = (tick << self.layout.sequence_bits(), tick);
                    }
                    ClockPolicy::Wait { max } if self.length_of(back) <= max => {
                        return Ok((None, Reservation::Wait(self.length_of(back))));
                    }
                    policy @ (ClockPolicy::Wait { .. } | ClockPolicy::Error) => {
                        let by = self.length_of(back);
                        return Err(LocalError::ClockBack { by, policy });
                    }
                    _ => {}
                }
            }
            let text = |record: &Record| {
                Some(serde_json::to_string(record).expect("numbers and a short text serialise"))
            };
            let limit = self.limit(tick);
            if may_be_older {
                // A lost record reserved at most up to the limit of its own time, which was not after now:
                // durably skip all of that, once, in the last rollback value: it may have been the one that took the next.
                record.next = record.next.max(limit);
                record.rollback = (1 << self.layout.rollback_bits()) - 1;
                return Ok((
                    text(&record),
                    Reservation::Wait(self.until_within(record.next, tick)),
                ));
            }
            let (first, in_a_row) = self.layout.next_place(record.next, tick);
            if first >= limit {
                return Ok((None, Reservation::Wait(self.until_within(first, tick))));
            }
            let count = want.clamp(1, (limit - first).min(in_a_row));
            record.next = first + count;
            let reserved = Reserved {
                worker: record.worker,
                rollback: record.rollback,
                word: first,
                count,
            };
            Ok((text(&record), Reservation::Done(reserved)))
        })
    }

    /// Leaves the file's worker, which a wrong clock took more than a minute ahead of `now`, for one that `draw` gives:
    /// the order starts anew, and the old worker is not used before the time that it had reached. Answers whether it
    /// did; the next reservation may have to wait for as long as ids may run ahead.
    ///
    /// # Errors
    /// As [`LocalSnowflake::reserve`].
    pub fn leave_worker(&self, mut draw: impl FnMut() -> u64, now: Timestamp) -> Result<bool, LocalError> {
        let tick = self.tick_at(now)?;
        self.file.update(|found| {
            let Some(found) = found else {
                return Ok((None, false));
            };
            let mut record = self.read(&found, None)?;
            let reached = tick << self.layout.sequence_bits();
            record.parked.retain(|(_, next)| *next > reached);
            let full = record.parked.len() >= PARKED_MAX;
            if full || self.until_within(record.next, tick) <= LEAVE_AFTER {
                return Ok((None, false));
            }
            let free = |worker: &u64| {
                *worker != record.worker
                    && record.parked.iter().all(|(parked, _)| parked != worker)
                    && self.layout.pack_wide(tick, *worker, 0).is_ok()
            };
            let Some(other) = (0..DRAWS_MAX).map(|_| draw()).find(free) else {
                return Ok((None, false));
            };
            record.parked.push((record.worker, record.next));
            // A lost record may have taken this very worker: it reserved at most up to the limit of its own time.
            (record.worker, record.next, record.tick) = (other, self.limit(tick), tick);
            let text = serde_json::to_string(&record).expect("numbers and a short text serialise");
            Ok((Some(text), true))
        })
    }

    /// The ids of a reservation, in order: numbers of as many bits as the layout has, so of 64 where it is not a wide
    /// one.
    pub fn ids(&self, reserved: Reserved) -> impl Iterator<Item = u128> + use<> {
        let layout = &self.layout;
        let bits = layout.sequence_bits();
        let shift_of = |role| {
            layout
                .fields()
                .iter()
                .find(|field| field.role == role)
                .map_or(0, |field| field.shift)
        };
        let (time, sequence) = (shift_of(Role::Time), shift_of(Role::Sequence));
        // Worker and constants are the same in all of them; time and sequence fit, which the reservation checked.
        let same = layout
            .pack_wide(0, reserved.worker, 0)
            .expect("the worker was checked when it was reserved")
            | u128::from(reserved.rollback) << shift_of(Role::Rollback);
        let mask = (1 << bits) - 1;
        (reserved.word..reserved.word + reserved.count)
            .map(move |word| same | u128::from(word >> bits) << time | u128::from(word & mask) << sequence)
    }

    fn read(&self, found: &Found, asked: Option<u64>) -> Result<Record, LocalError> {
        let path = || self.file.path().display().to_string();
        let Ok(record) = serde_json::from_str::<Record>(&found.payload) else {
            return Err(StateFileError::Foreign {
                path: self.file.path().to_path_buf(),
            }
            .into());
        };
        let ours = self.layout.fingerprint();
        if record.layout != ours {
            return Err(LocalError::Other {
                path: path(),
                found: format!("layout {}", record.layout),
                asked: format!("{} ({ours})", self.layout.name()),
            });
        }
        match asked {
            Some(worker) if worker != record.worker => Err(LocalError::Other {
                path: path(),
                found: format!("worker {}", record.worker),
                asked: format!("worker {worker}"),
            }),
            _ => Ok(record),
        }
    }

    /// The tick of `now`, whose words have room in 64 bits.
    fn tick_at(&self, now: Timestamp) -> Result<u64, LayoutError> {
        let tick = self.layout.tick_at(now)?;
        if self.layout.time_bits() + self.layout.sequence_bits() > u64::BITS {
            // Only of wide layouts: there the fields reach further than the word counts, as in every generator.
            Snowflake::check_layout(&self.layout, now)?;
        }
        Ok(tick)
    }

    /// The first word that is too far ahead at `tick`, or past the time field.
    fn limit(&self, tick: u64) -> u64 {
        let last = tick
            .saturating_add(self.ahead_ticks())
            .min(self.layout.ticks_max());
        // Layouts that fill 64 bits end exactly where u64 does.
        u64::try_from((u128::from(last) + 1) << self.layout.sequence_bits()).unwrap_or(u64::MAX)
    }

    fn length_of(&self, ticks: u64) -> Duration {
        self.layout
            .tick()
            .saturating_mul(u32::try_from(ticks).unwrap_or(u32::MAX))
    }

    fn ahead_ticks(&self) -> u64 {
        u64::try_from(self.max_ahead.as_nanos() / self.layout.tick().as_nanos())
            .unwrap_or(u64::MAX)
            .max(2)
    }

    /// How long until `word` comes within reach of a clock that is at `tick` now.
    fn until_within(&self, word: u64, tick: u64) -> Duration {
        let within = (word >> self.layout.sequence_bits()).saturating_sub(self.ahead_ticks());
        self.layout
            .time_of(within.max(tick + 1))
            .since(self.layout.time_of(tick))
    }
}

#[cfg(test)]
mod tests {
    use mintage_testing::{Distinct, distinct, invariant, rising};

    use super::*;

    const AHEAD: Duration = Duration::from_secs(5);

    fn fresh(folder: &tempfile::TempDir) -> LocalSnowflake {
        let layout = mintage::preset("twitter").unwrap().layout();
        LocalSnowflake::new(StateFile::new(folder.path().join("state")), layout, AHEAD)
    }

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_unix_millis(1_700_000_000_000 + ms)
    }

    #[test]
    fn a_tick_begins_where_the_layout_says() {
        let folder = tempfile::tempdir().unwrap();
        let layout = mintage::preset("yitter").unwrap().layout();
        let local = LocalSnowflake::new(StateFile::new(folder.path().join("state")), layout.clone(), AHEAD);
        for round in 0..50 {
            for id in take(&local, at(round / 5), 100) {
                assert!(layout.unpack(id).unwrap().sequence >= 5, "{id}");
            }
        }
    }

    #[track_caller]
    fn take(from: &LocalSnowflake, now: Timestamp, want: u64) -> Vec<u64> {
        match from.reserve(None, || 17, now, want).unwrap() {
            Reservation::Done(reserved) => from.ids(reserved).map(|id| id as u64).collect(),
            Reservation::Wait(how_long) => panic!("told to wait {how_long:?}"),
        }
    }

    // claim: P68
    #[test]
    fn ids_rise_and_never_repeat_whatever_the_clock_does() {
        let folder = tempfile::tempdir().unwrap();
        let mut last = 0;
        let mut seen = Distinct::of("ids");
        for (ms, want) in [
            (0, 1),
            (0, 1),
            (0, 5000),
            (1, 3),
            (-2000, 10),
            (-4000, 4096),
            (10_000, 1),
            (9_999, 2),
        ] {
            // A new value each time, as a new process has it.
            for id in take(&fresh(&folder), at(ms), want) {
                invariant!(id > last, "{id} after {last}");
                seen.add(id);
                last = id;
            }
        }
        assert_eq!(seen.len(), 1 + 1 + 5000 + 3 + 10 + 4096 + 1 + 2);
    }

    /// With a standing clock, each of 500 copies that were put back gave the ids of the one before.
    #[test]
    fn a_state_that_is_put_back_from_a_copy_repeats_nothing() {
        for (per_copy_ms, per_try_ms) in [(0, 0), (1, 0), (7000, 1)] {
            let folder = tempfile::tempdir().unwrap();
            let (state, kept) = (folder.path().join("state"), folder.path().join("kept"));
            let (mut seen, mut given) = (Distinct::of("ids"), 0);
            seen.extend(take(&fresh(&folder), at(0), 10));
            std::fs::copy(&state, &kept).unwrap();
            for copy in 1..100 {
                // First as it is left, then with the copy in its place.
                for nth in 0..4 {
                    let now = at(copy * per_copy_ms + nth * per_try_ms);
                    if let Reservation::Done(reserved) = fresh(&folder).reserve(None, || 17, now, 3).unwrap()
                    {
                        given += 1;
                        seen.extend(fresh(&folder).ids(reserved).map(|id| id as u64));
                    }
                }
                std::fs::copy(&kept, &state).unwrap();
            }
            // Where the clock goes on, no more than a tick is waited for.
            let least = if per_try_ms > 0 { 3 * 99 } else { 4 };
            assert!(given >= least, "{per_copy_ms}: {given}");
        }
    }

    #[test]
    fn parallel_commands_in_one_tick_share_it() {
        let folder = tempfile::tempdir().unwrap();
        let layout = mintage::preset("twitter").unwrap().layout();
        for sequence in 0..100 {
            let ids = take(&fresh(&folder), at(0), 1);
            let parts = layout.unpack(ids[0]).unwrap();
            assert_eq!(
                (layout.time_of(parts.tick), parts.worker, parts.sequence),
                (at(0), 17, sequence)
            );
        }
    }

    #[test]
    fn wide_ids_rise_and_never_repeat_whatever_the_clock_does() {
        for spec in [
            "time=44,worker=20,sequence=16",
            "time=60,worker=64,sequence=4",
            "rollback=2,time=64,worker=48,sequence=14",
        ] {
            let layout: Layout = spec.parse().unwrap();
            let folder = tempfile::tempdir().unwrap();
            let worker = layout.worker_max();
            let (mut last, mut seen) = (0, Distinct::of(spec));
            for (ms, want) in [
                (0, 1),
                (0, 70_000),
                (-2000, 10),
                (-4000, 300),
                (1, 3),
                (10_000, 1),
            ] {
                // As a new process does each time.
                let file = StateFile::new(folder.path().join("state"));
                let local = LocalSnowflake::new(file, layout.clone(), AHEAD);
                let Reservation::Done(reserved) = local.reserve(None, || worker, at(ms), want).unwrap()
                else {
                    continue;
                };
                for id in local.ids(reserved) {
                    assert_eq!(layout.unpack_wide(id).unwrap().worker, worker, "{spec}");
                    invariant!(id > last, "{spec}: {id} after {last}");
                    seen.add(id);
                    last = id;
                }
            }
            assert!(seen.len() > 1000, "{spec}");
        }
    }

    #[test]
    fn a_time_that_the_word_has_no_room_for_is_refused_before_anything_is_reserved() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        let layout: Layout = "time=64,worker=48,sequence=16,tick=1ns".parse().unwrap();
        let local = LocalSnowflake::new(StateFile::new(&path), layout.clone(), AHEAD);
        let refused = local.reserve(None, || 1, at(0), 1).unwrap_err();
        assert!(
            matches!(refused, LocalError::Layout(LayoutError::ReadOnly { .. })),
            "{refused}"
        );
        assert!(!path.exists());
        // The last time that it has room for does not overflow, and its ids fit.
        let last = Snowflake::end_of(&layout).saturating_sub(Duration::from_nanos(1));
        let Reservation::Done(reserved) = local.reserve(None, || 1, last, 100_000).unwrap() else {
            panic!("told to wait");
        };
        let ids: Vec<u128> = local.ids(reserved).collect();
        rising("ids", &ids);
        assert_eq!(
            layout.unpack_wide(ids[0]).map(|parts| parts.tick),
            Ok((1 << 46) - 1)
        );
    }

    #[test]
    fn what_runs_ahead_of_the_clock_stops_at_its_limit_and_says_how_long_to_wait() {
        let folder = tempfile::tempdir().unwrap();
        let all = take(&fresh(&folder), at(0), u64::MAX);
        assert_eq!(all.len(), 5001 * 4096);
        let wait = |ms| fresh(&folder).reserve(None, || 0, at(ms), 1).unwrap();
        assert_eq!(wait(0), Reservation::Wait(Duration::from_millis(1)));
        assert_eq!(
            wait(-3_600_000),
            Reservation::Wait(Duration::from_millis(3_600_001))
        );
        assert_eq!(take(&fresh(&folder), at(1), u64::MAX).len(), 4096);
    }

    #[test]
    fn a_worker_that_a_wrong_clock_took_ahead_is_left_for_another_one() {
        const HOUR: i64 = 3_600_000;
        let folder = tempfile::tempdir().unwrap();
        let local = fresh(&folder);
        let leave = |draws: &[u64], ms: i64| {
            let mut draws = draws.iter().copied().cycle();
            local.leave_worker(|| draws.next().unwrap(), at(ms)).unwrap()
        };
        assert!(!leave(&[18], 0), "there is no file yet");
        let mut all = Distinct::of("ids of all workers");
        let mut worker_at = |ms: i64| {
            let ids = take(&local, at(ms), 50);
            all.extend(ids.iter().copied());
            local.layout.unpack(ids[0]).unwrap().worker
        };
        assert_eq!(worker_at(2 * HOUR), 17);
        assert!(!leave(&[18], 2 * HOUR), "it is not ahead");
        // Right again; another wrong clock; and the times of both come round.
        assert!(leave(&[17, 18], 0));
        assert_eq!((worker_at(6_000), worker_at(9 * HOUR)), (18, 18));
        assert!(
            leave(&[18, 17, 19], 10_000),
            "neither its own nor the one that was left before"
        );
        for ms in [20_000, HOUR, 2 * HOUR, 2 * HOUR + 1, 9 * HOUR, 9 * HOUR + 1] {
            assert_eq!(worker_at(ms), 19);
        }
        assert!(
            worker_at(12 * HOUR) == 19 && !leave(&[19], 0),
            "there is no other"
        );
        // Time has passed both: they may be taken again, above what was made.
        assert!(leave(&[17], 11 * HOUR));
        assert_eq!(worker_at(11 * HOUR + 6_000), 17);
    }

    #[test]
    fn a_clock_that_went_back_is_met_as_the_policy_says() {
        let folder = tempfile::tempdir().unwrap();
        let local = |preset: &str, policy: &str| {
            let layout = mintage::preset(preset).unwrap().layout();
            LocalSnowflake::new(StateFile::new(folder.path().join(preset)), layout, AHEAD)
                .clock_policy(policy.parse().unwrap())
                .unwrap()
        };
        let first = take(&local("rollback2", "hold"), at(0), 10);
        let error = local("rollback2", "error")
            .reserve(None, || 0, at(-7000), 1)
            .unwrap_err();
        assert!(error.to_string().contains("7000 ms behind"), "{error}");
        let waits = local("rollback2", "wait(5ms)").reserve(None, || 0, at(-3), 1);
        assert_eq!(waits.unwrap(), Reservation::Wait(Duration::from_millis(3)));
        let refused = local("rollback2", "wait(5ms)").reserve(None, || 0, at(-6), 1);
        assert!(
            matches!(refused, Err(LocalError::ClockBack { .. })),
            "{refused:?}"
        );

        // Followed back three times, as often as two bits can tell; then held. No id repeats.
        let layout = mintage::preset("rollback2").unwrap().layout();
        let rollback = layout.fields().iter().find(|f| f.role == Role::Rollback).unwrap();
        let mut all = first;
        for (hour, (ticks_back, value)) in [(1, 1), (2, 2), (3, 3), (4, 3)].into_iter().enumerate() {
            let now = at(-3_600_000 * ticks_back);
            let bumped = local("rollback2", "bump");
            if hour == 3 {
                let held = bumped.reserve(None, || 0, now, 1).unwrap();
                assert!(matches!(held, Reservation::Wait(_)), "{held:?}");
                break;
            }
            let ids = take(&bumped, now, 10);
            assert_eq!(layout.time_of(layout.unpack(ids[0]).unwrap().tick), now);
            assert!(ids.iter().all(|id| rollback.of(*id) == value));
            all.extend(ids);
        }
        // A later command without the policy keeps the value reached.
        all.extend(take(&local("rollback2", "hold"), at(-3_600_000 * 3), 10));
        distinct("ids", all);
    }

    #[test]
    fn a_damaged_newer_record_costs_a_wait_and_never_a_repeat() {
        let folder = tempfile::tempdir().unwrap();
        let before: Vec<u64> = (0..3).flat_map(|_| take(&fresh(&folder), at(0), 4096)).collect();
        let path = folder.path().join("state");
        let mut bytes = std::fs::read(&path).unwrap();
        // The third write is in the second slot.
        bytes[1024 + 30] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        let waits = fresh(&folder).reserve(None, || 0, at(0), 1).unwrap();
        assert!(matches!(waits, Reservation::Wait(_)), "{waits:?}");
        let after = take(&fresh(&folder), at(5001), 1);
        rising("ids", [before[before.len() - 1], after[0]]);
    }

    #[test]
    fn a_file_of_another_layout_or_worker_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        take(&fresh(&folder), at(0), 1);
        let said = fresh(&folder)
            .reserve(Some(18), || 0, at(0), 1)
            .unwrap_err()
            .to_string();
        assert!(said.ends_with("holds worker 17, asked for worker 18"), "{said}");
        let layout = mintage::preset("twitter").unwrap().layout();
        let other = Layout::builder("mine")
            .epoch(layout.epoch())
            .time("t", 41)
            .worker("w", 5)
            .sequence("s", 17);
        let file = StateFile::new(folder.path().join("state"));
        let other = LocalSnowflake::new(file, other.build().unwrap(), AHEAD);
        let said = other.reserve(None, || 0, at(0), 1).unwrap_err().to_string();
        assert!(
            said.contains("holds layout") && said.contains("asked for mine"),
            "{said}"
        );
        let said = fresh(&tempfile::tempdir().unwrap()).reserve(Some(1024), || 0, at(0), 1);
        assert!(said.unwrap_err().to_string().contains("1024"));
    }
}
