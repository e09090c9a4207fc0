//! Where the time-ordered formats stand: the state behind [`Format::make_many`](super::Format::make_many).

#[cfg(feature = "std")]
pub use owned::Generators;
#[cfg(feature = "std")]
pub(crate) use owned::PROCESS;

#[cfg(feature = "std")]
use crate::time::Clock;

/// What ids of now are made from: a clock, and where its generators stand.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    #[cfg(feature = "std")]
    pub(crate) clock: &'a dyn Clock,
    #[cfg(feature = "std")]
    pub(crate) generators: &'a Generators,
    /// Without `std` no format asks for the time by itself.
    #[cfg(not(feature = "std"))]
    nothing: core::marker::PhantomData<&'a ()>,
}

impl Source<'static> {
    /// The process's own.
    pub(crate) const PROCESS: Source<'static> = Source {
        #[cfg(feature = "std")]
        clock: &crate::SystemClock,
        #[cfg(feature = "std")]
        generators: &PROCESS,
        #[cfg(not(feature = "std"))]
        nothing: core::marker::PhantomData,
    };
}

#[cfg(feature = "std")]
mod owned {
    use alloc::vec::Vec;
    use core::sync::atomic::{AtomicU64, Ordering};
    use core::time::Duration;
    use std::sync::Mutex;

    use ::uuid::Uuid;

    use crate::format::places::Line;
    use crate::format::{flake, shapes};
    use crate::time::{Clock, Timestamp};
    use crate::uuid::v7;
    use crate::word::OwnLine;
    use crate::{FixedClock, MintError};

    /// Those of the process: what `uuid7()`, `ksuid()` and their like count on from.
    pub(crate) static PROCESS: Generators = Generators::of_turn(0, Timestamp::UNIX_EPOCH);

    /// How many turns there were in this process.
    static TURNS: AtomicU64 = AtomicU64::new(1);

    /// The generators of all formats that hold a time, for a clock of the caller's: thread-safe, each strictly
    /// increasing over all threads as long as its clock does not go back by more than 10 s.
    ///
    /// The process has one such set on [`SystemClock`](crate::SystemClock), behind [`uuid7`](crate::uuid7),
    /// [`ksuid`](crate::ksuid) and their like. Whoever knows the time better than the wall clock does makes
    /// another one, hands it to [`Format::make_many_by`](crate::Format::make_many_by), and [renews](Self::renewed)
    /// it when that clock goes back: no two sets of a process share the number that tells its ids from others'.
    ///
    /// ```
    /// use mintage::{FixedClock, GenOptions, Generators, Id, Timestamp, format};
    /// let generators = Generators::new(Timestamp::UNIX_EPOCH);
    /// let clock = FixedClock(Timestamp::from_unix_millis(1_645_557_742_000));
    /// let (xid, nothing) = (format("xid").expect("a format"), GenOptions::default());
    /// let mut ids = vec![Id::default(); 2];
    /// xid.make_many_by(&generators, &clock, &nothing, &mut ids)?;
    /// assert!(ids[0] < ids[1]);
    /// assert_eq!(xid.read(&ids[0], &nothing)?.time.expect("a time").at, clock.0);
    /// # Ok::<(), mintage::FormatError>(())
    /// ```
    pub struct Generators {
        /// Version 7, ULID, TypeID, push id and Timeflake: `unix_ms << 20 | counter`.
        pub(crate) millis: OwnLine,
        /// Versions 1 and 6: ticks of 100 ns since 1582.
        pub(crate) gregorian: OwnLine,
        pub(crate) tsid: Line,
        pub(crate) ksuid: Line,
        pub(crate) ksuid_ms: Line,
        pub(crate) xid: Line,
        pub(crate) objectid: Line,
        pub(crate) scru128: Line,
        pub(crate) tid: Line,
        pub(crate) flake: Line,
        /// Added to the process's random numbers: no other set of this process has it.
        turn: u64,
        /// No id of this turn has an earlier time.
        begun: Timestamp,
        /// From where to where the clock jumped ahead in this turn: no id has a time in between.
        jumps: Mutex<Vec<(Timestamp, Timestamp)>>,
        /// Times that ids of earlier turns may have, first and last. Random bits or `turn` tell most formats' ids
        /// from those; with a worker of the caller's nothing does, and they are never entered again.
        spent: Vec<(Timestamp, Timestamp)>,
    }

    impl Generators {
        const fn of_turn(turn: u64, begun: Timestamp) -> Self {
            Generators {
                millis: OwnLine(AtomicU64::new(0)),
                gregorian: OwnLine(AtomicU64::new(0)),
                // As wide as the widest that a caller asks for.
                tsid: Line::new(&shapes::ULID_MILLIS, shapes::TSID_TAIL_BITS, 0),
                ksuid: Line::new(&shapes::KSUID_SECONDS, 24, 23),
                ksuid_ms: Line::new(&shapes::KSUID_STEPS, 24, 23),
                xid: Line::new(
                    &shapes::COUNTED_SECONDS,
                    shapes::COUNTER_BITS,
                    shapes::COUNTER_BITS - 1,
                ),
                objectid: Line::new(
                    &shapes::COUNTED_SECONDS,
                    shapes::COUNTER_BITS,
                    shapes::COUNTER_BITS - 1,
                ),
                // All that fits beside a millisecond in 64 bits.
                scru128: Line::new(
                    &shapes::ULID_MILLIS,
                    shapes::SCRU128_LINE_BITS,
                    shapes::SCRU128_LINE_BITS - 1,
                ),
                tid: Line::new(&shapes::TID_MICROS, 0, 0),
                flake: Line::new(&flake::MILLIS, 16, 0),
                turn,
                begun,
                jumps: Mutex::new(Vec::new()),
                spent: Vec::new(),
            }
        }

        /// New ones, for a clock that reads `now` or later.
        pub fn new(now: Timestamp) -> Self {
            Generators::of_turn(TURNS.fetch_add(1, Ordering::Relaxed), now)
        }

        /// Those that follow these once their clock was set to `now`: they do not hold the time that these had
        /// reached, so ids may go back in time, and none repeats.
        ///
        /// Ids with a worker of the caller's (`tsid` and `flake` with a node, `tid` with a clock id, versions 1 and
        /// 6 with a node or a clock sequence) have nothing else that tells them from those of the same time: they
        /// are refused at the times that these generators were in.
        ///
        /// ```
        /// use mintage::{FixedClock, Generators, Timestamp, Uuid};
        /// let at = |hour: i64| FixedClock(Timestamp::from_unix_millis(1_800_000_000_000 + hour * 3_600_000));
        /// let wrong = Generators::new(at(0).0);
        /// let (mut early, mut late) = ([Uuid::nil()], [Uuid::nil()]);
        /// wrong.uuid7_many(&at(3), &mut late);
        /// wrong.renewed(at(0).0).uuid7_many(&at(0), &mut early);
        /// assert!(early < late);
        /// ```
        #[must_use]
        pub fn renewed(&self, now: Timestamp) -> Self {
            let mut next = Generators::new(now);
            next.spent.clone_from(&self.spent);
            let mut begun = self.begun;
            let jumps = self.jumps.lock().expect("no panic while held");
            for (from, to) in jumps
                .iter()
                .copied()
                .chain(self.last_with_workers().map(|last| (last, last)))
            {
                next.spent
                    .push((begun.saturating_sub(MARGIN), from.saturating_add(MARGIN)));
                begun = to;
            }
            drop(jumps);
            next.spent.sort_unstable();
            while next.spent.len() > SPENT_MAX {
                // The two earliest as one: what lies between them is given up.
                let second = next.spent.remove(1);
                next.spent[0].1 = next.spent[0].1.max(second.1);
            }
            next
        }

        /// Notes that the clock jumps ahead to `now`: none of these ids will have a time in between.
        pub fn jumped(&self, now: Timestamp) {
            let mut jumps = self.jumps.lock().expect("no panic while held");
            if let Some(last) = self.last_with_workers()
                && jumps.len() < SPENT_MAX
            {
                jumps.push((last, now));
            }
        }

        /// The last time of the formats that take a worker of the caller's; `None` if they made nothing.
        fn last_with_workers(&self) -> Option<Timestamp> {
            let of = |word: &OwnLine| word.0.load(Ordering::Relaxed);
            let millis = (of(self.tsid.word()) >> shapes::TSID_TAIL_BITS).max(of(self.flake.word()) >> 16);
            let micros = of(self.tid.word()).max(millis.saturating_mul(1000));
            let ticks = of(&self.gregorian).saturating_sub(crate::uuid::gregorian::UNIX_OFFSET as u64);
            let ticks = ticks.max(micros.saturating_mul(10));
            (ticks > 0).then(|| Timestamp::from_unix_nanos(i128::from(ticks) * 100))
        }

        /// What is added to the process's random numbers.
        pub(crate) const fn turn(&self) -> u64 {
            self.turn
        }

        /// The time by `clock` for ids that a worker of the caller's alone tells from those of earlier turns.
        pub(crate) fn unspent(&self, clock: &dyn Clock) -> Result<FixedClock, MintError> {
            let now = clock.now();
            match self
                .spent
                .iter()
                .find(|(first, last)| (*first..=*last).contains(&now))
            {
                // In whole seconds: what a tick is differs.
                Some((_, last)) => Err(MintError::TooFarAhead {
                    ticks: last.since(now).as_secs() + 1,
                }),
                None => Ok(FixedClock(now)),
            }
        }

        /// Fills `out` with new UUIDs of version 7 by `clock`, as [`uuid7_many`](crate::uuid7_many) does by the
        /// system's.
        #[inline]
        pub fn uuid7_many(&self, clock: &(impl Clock + ?Sized), out: &mut [Uuid]) {
            v7::fill_at(&self.millis, clock.unix_millis(), out);
        }
    }

    impl core::fmt::Debug for Generators {
        fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
            f.debug_struct("Generators").finish_non_exhaustive()
        }
    }

    /// What a thread that was slow to see the change may have added.
    const MARGIN: Duration = Duration::from_secs(1);
    /// How many stretches of time are remembered apart.
    const SPENT_MAX: usize = 16;

    #[cfg(test)]
    mod tests {
        use mintage_testing::{Distinct, rising};

        use super::*;
        use crate::format::{FORMATS, GenOptions, Id};

        const HOUR_MS: i64 = 3_600_000;

        fn at(ms: i64) -> FixedClock {
            FixedClock(Timestamp::from_unix_millis(1_800_000_000_000 + ms))
        }

        fn timed() -> impl Iterator<Item = &'static crate::Format> {
            FORMATS
                .iter()
                .filter(|row| row.time.is_some() && row.can_make() && row.name != "uuid2")
        }

        #[test]
        fn every_format_with_a_time_reads_the_clock_it_is_given() {
            for row in timed() {
                let (generators, nothing) = (Generators::new(at(0).0), GenOptions::default());
                let mut ids = [Id::default(), Id::default()];
                for ms in [0, HOUR_MS, 9 * HOUR_MS] {
                    row.make_many_by(&generators, &at(ms), &nothing, &mut ids)
                        .expect(row.name);
                    let time = row
                        .read(&ids[0], &nothing)
                        .expect("its own id")
                        .time
                        .expect("a time")
                        .at;
                    assert!(
                        at(ms).0.since(time).as_millis() < 1000 && time <= at(ms).0,
                        "{}",
                        row.name
                    );
                }
            }
        }

        #[test]
        fn a_clock_set_back_is_followed_by_renewed_generators_and_nothing_repeats() {
            for row in timed() {
                let nothing = GenOptions::default();
                let mut generators = Generators::new(at(0).0);
                let mut all = Distinct::of(row.name);
                let mut ids = vec![Id::default(); 500];
                // There and back, again and again: the same times in every turn.
                for _ in 0..20 {
                    for ms in [0, 3 * HOUR_MS] {
                        row.make_many_by(&generators, &at(ms), &nothing, &mut ids)
                            .expect(row.name);
                        all.extend(ids.iter().cloned());
                    }
                    generators = generators.renewed(at(0).0);
                }
            }
        }

        #[test]
        fn a_clock_that_jumped_ahead_keeps_the_order() {
            for row in timed().filter(|row| row.bytes_sort) {
                let (generators, nothing) = (Generators::new(at(0).0), GenOptions::default());
                let mut ids = vec![Id::default(); 2000];
                let (before, after) = ids.split_at_mut(1000);
                row.make_many_by(&generators, &at(5), &nothing, before)
                    .expect(row.name);
                generators.jumped(at(5000).0);
                row.make_many_by(&generators, &at(5000), &nothing, after)
                    .expect(row.name);
                rising(row.name, &ids);
            }
        }

        #[test]
        fn a_worker_of_the_callers_never_enters_a_time_twice() {
            let options = GenOptions {
                node: Some(5),
                ..GenOptions::default()
            };
            for name in ["tsid", "tid", "flake", "uuid1", "uuid6"] {
                let row = crate::format(name).expect("a format");
                let options = GenOptions {
                    clock_seq: name.starts_with("uuid").then_some(7),
                    ..options.clone()
                };
                let mut id = [Id::default()];
                let mut make =
                    |generators: &Generators, ms| row.make_many_by(generators, &at(ms), &options, &mut id);
                // Right, then two hours ahead for a while, then right again.
                let wrong = Generators::new(at(0).0);
                make(&wrong, 0).expect(name);
                wrong.jumped(at(2 * HOUR_MS).0);
                make(&wrong, 2 * HOUR_MS).expect(name);
                make(&wrong, 2 * HOUR_MS + 12_000).expect(name);
                let right = wrong.renewed(at(12_000).0);
                for ms in [12_000, HOUR_MS, 2 * HOUR_MS - 2_000] {
                    make(&right, ms).expect(name);
                }
                for ms in [2 * HOUR_MS, 2 * HOUR_MS + 12_000] {
                    assert!(make(&right, ms).is_err(), "{name} at {ms}");
                }
                make(&right, 2 * HOUR_MS + 14_000).expect(name);
            }
        }
    }
}
