//! One shared generator over any layout, its whole state in one atomic word.

mod error;
mod rules;

use alloc::sync::Arc;
use core::fmt;
use core::time::Duration;

pub use error::MintError;
use rules::Rules;

use crate::atomic::{AtomicU64, Ordering};
use crate::clock_policy::ClockPolicy;
use crate::layout::{Layout, LayoutError, SequenceStart, ones};
#[cfg(feature = "std")]
use crate::time::Clock as _;
use crate::time::Timestamp;

/// The part of id-time that a generator may mint in: one worker, ticks from `from_tick` up to, not including,
/// `until_tick`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Window {
    /// The worker id.
    pub worker: u64,
    /// The first tick it may mint in.
    pub from_tick: u64,
    /// The first tick it may no longer mint in; at most one past the layout's largest tick.
    pub until_tick: u64,
}

/// Mints ids of one layout for one worker. Thread-safe, strictly increasing over all callers, never waits.
///
/// The state is one atomic word, `tick << sequence_bits | sequence`, the place of the next id. A tick whose
/// sequence is used up carries into the next *logical* tick, at most `max_ahead` ticks ahead of the clock; a
/// clock that goes back is held at the last tick minted in. A forked child is refused.
pub struct Snowflake {
    layout: Arc<Layout>,
    worker: u64,
    /// The bits that every id of this worker has.
    fixed: u64,
    max_ahead: u64,
    /// Copies from the layout, so that a mint touches this struct alone.
    sequence_bits: u32,
    time_shift: u32,
    sequence_shift: u32,
    #[cfg(feature = "std")]
    ticks: TickClock,
    /// What goes beyond holding the clock and beginning at zero, if anything.
    rules: Option<Rules>,
    /// The first tick that must not be minted in; only grows.
    until: AtomicU64,
    #[cfg(feature = "std")]
    made_in: u64,
    /// The place of the next id, or [`CLOSED`] and above.
    word: OwnLine,
}

/// A word on cache lines of its own, so that minting does not slow down reading what lies beside it.
#[repr(align(128))]
struct OwnLine(AtomicU64);

/// How the system's millisecond becomes a tick without 128-bit arithmetic.
#[cfg(feature = "std")]
#[derive(Clone, Copy)]
enum TickClock {
    /// The tick is a whole number of milliseconds and so is the epoch, in 1970 or later.
    Millis { epoch: u64, per_tick: u64 },
    /// Anything else.
    Nanos,
}

#[cfg(feature = "std")]
impl TickClock {
    fn new(layout: &Layout) -> Self {
        let (tick, epoch) = (layout.tick().as_nanos(), layout.epoch().unix_nanos());
        match u64::try_from(epoch / 1_000_000) {
            Ok(epoch_ms) if epoch % 1_000_000 == 0 && tick % 1_000_000 == 0 => TickClock::Millis {
                epoch: epoch_ms,
                per_tick: (tick / 1_000_000) as u64,
            },
            _ => TickClock::Nanos,
        }
    }
}

impl Snowflake {
    /// A generator for the ticks of `window`, running at most `max_ahead_ticks` ahead of the clock.
    ///
    /// # Errors
    /// The worker does not fit the layout; the window is empty or reaches past the time field;
    /// `max_ahead_ticks` is less than 2.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use mintage::{Snowflake, Timestamp, Window, preset};
    /// let layout = Arc::new(preset("twitter").expect("a preset").layout());
    /// let window = Window { worker: 7, from_tick: 1000, until_tick: 2000 };
    /// let generator = Snowflake::new(layout.clone(), window, 2)?;
    /// let id = generator.mint(layout.time_of(1500))?;
    /// assert_eq!(layout.unpack(id)?.tick, 1500);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(layout: Arc<Layout>, window: Window, max_ahead_ticks: u64) -> Result<Self, LayoutError> {
        // Also the check that the worker fits.
        layout.pack(0, window.worker, 0)?;
        let refused = |reason| LayoutError::Generator {
            layout: layout.name().into(),
            reason,
        };
        let Window {
            from_tick,
            until_tick,
            ..
        } = window;
        if from_tick >= until_tick {
            return Err(refused(alloc::format!(
                "the window from tick {from_tick} until {until_tick} is empty"
            )));
        }
        let end = end_tick(&layout);
        if until_tick > end {
            return Err(refused(alloc::format!(
                "the window ends at tick {until_tick}, past the end of the time field at {end}"
            )));
        }
        if max_ahead_ticks < 2 {
            return Err(refused(alloc::format!(
                "max_ahead of {max_ahead_ticks} ticks, at least 2 are needed"
            )));
        }
        Ok(Snowflake {
            worker: window.worker,
            fixed: layout.fixed_bits(window.worker),
            max_ahead: max_ahead_ticks,
            sequence_bits: layout.sequence_bits(),
            time_shift: layout.place(1, 0).trailing_zeros(),
            sequence_shift: layout.place(0, 1).trailing_zeros(),
            #[cfg(feature = "std")]
            ticks: TickClock::new(&layout),
            rules: (layout.sequence_start() != SequenceStart::Zero)
                .then(|| Rules::new(&layout, ClockPolicy::Hold, from_tick)),
            until: AtomicU64::new(until_tick),
            #[cfg(feature = "std")]
            made_in: crate::fork::fork_generation(),
            word: OwnLine(AtomicU64::new(from_tick << layout.sequence_bits())),
            layout,
        })
    }

    /// Sets what happens when the clock goes back; [`ClockPolicy::Hold`] if this is not called.
    ///
    /// # Errors
    /// [`ClockPolicy::Bump`] on a layout without a rollback field.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use mintage::{ClockPolicy, MintError, Snowflake, preset};
    /// let layout = Arc::new(preset("twitter").expect("a preset").layout());
    /// let generator = Snowflake::unguarded(layout.clone(), 7)?.clock_policy(ClockPolicy::Error)?;
    /// generator.mint(layout.time_of(1000))?;
    /// let back = generator.mint(layout.time_of(990));
    /// assert_eq!(back, Err(MintError::ClockBack { ticks: 10, wait: false }));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn clock_policy(mut self, policy: ClockPolicy) -> Result<Self, LayoutError> {
        self.layout.check_policy(policy)?;
        let from_tick = self
            .word
            .0
            .load(Ordering::Relaxed)
            .div_ceil(1 << self.sequence_bits);
        let plain = policy == ClockPolicy::Hold && self.layout.sequence_start() == SequenceStart::Zero;
        self.rules = (!plain).then(|| Rules::new(&self.layout, policy, from_tick));
        Ok(self)
    }

    /// A generator without a reservation: nothing but you keeps its ids unique.
    ///
    /// It runs at most 5 s (at least 2 ticks) ahead of the clock. Know what is missing:
    ///
    /// - a **second process** (or a second generator) with the same worker id repeats its ids;
    /// - a **restart** within the lead over the clock, or after the clock went back, repeats ids;
    /// - a **clock step** back is held while the process lives, and forgotten when it ends.
    ///
    /// # Errors
    /// The worker does not fit the layout.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use mintage::{Clock, Snowflake, SystemClock, preset};
    /// let layout = Arc::new(preset("twitter").expect("a preset").layout());
    /// let generator = Snowflake::unguarded(layout, 7)?;
    /// let (a, b) = (generator.mint(SystemClock.now())?, generator.mint(SystemClock.now())?);
    /// assert!(a < b);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn unguarded(layout: Arc<Layout>, worker: u64) -> Result<Self, LayoutError> {
        let ahead = (UNGUARDED_AHEAD.as_nanos() / layout.tick().as_nanos()) as u64;
        let window = Window {
            worker,
            from_tick: 0,
            until_tick: end_tick(&layout),
        };
        Self::new(layout, window, ahead.max(2))
    }

    /// The first time that no generator of `layout` mints ids of: the end of its time field, or earlier where time,
    /// sequence and rollback together take more than the 62 bits that a generator counts in.
    ///
    /// ```
    /// use mintage::{Snowflake, preset};
    /// let [twitter, linkedin] = ["twitter", "linkedin"].map(|name| preset(name).expect("a preset").layout());
    /// assert_eq!(Snowflake::end_of(&twitter), twitter.end());
    /// // 41 bits of time and 22 of sequence: half of that time.
    /// assert_eq!(Snowflake::end_of(&linkedin), linkedin.time_of(1 << 40));
    /// ```
    pub fn end_of(layout: &Layout) -> Timestamp {
        match end_tick(layout) {
            end if end > layout.ticks_max() => layout.end(),
            end => layout.time_of(end),
        }
    }

    /// Whether a generator of `layout` mints ids of the time `at`, as far as its word has room: see [`Self::end_of`].
    ///
    /// # Errors
    /// [`LayoutError::ReadOnly`]: the layout is for reading ids.
    ///
    /// ```
    /// use mintage::{LayoutError, Snowflake, Timestamp, preset};
    /// let at = Timestamp::from_unix_millis(1_700_000_000_000);
    /// let [twitter, linkedin] = ["twitter", "linkedin"].map(|name| preset(name).expect("a preset").layout());
    /// assert_eq!(Snowflake::check_layout(&twitter, at), Ok(()));
    /// assert!(matches!(Snowflake::check_layout(&linkedin, at), Err(LayoutError::ReadOnly { .. })));
    /// ```
    pub fn check_layout(layout: &Layout, at: Timestamp) -> Result<(), LayoutError> {
        let end = Self::end_of(layout);
        if at < end || end == layout.end() {
            return Ok(());
        }
        Err(LayoutError::ReadOnly {
            layout: layout.name().into(),
            time: at,
            end,
            time_bits: layout.time_bits(),
            sequence_bits: layout.sequence_bits() + layout.rollback_bits(),
            room_bits: WORD_BITS,
        })
    }

    /// Mints one id at the time `now`.
    ///
    /// # Errors
    /// As [`Self::mint_many`].
    #[inline]
    pub fn mint(&self, now: Timestamp) -> Result<u64, MintError> {
        let tick = self.layout.whole_tick(now).ok_or(MintError::BeforeEpoch)?;
        let (first, _) = self.reserve(tick, 1)?;
        Ok(self.id_at(first))
    }

    /// Mints one id at the system clock's time; faster than reading the clock first.
    ///
    /// # Errors
    /// As [`Self::mint_many`].
    ///
    /// ```
    /// use std::sync::Arc;
    /// use mintage::{Snowflake, preset};
    /// let layout = Arc::new(preset("twitter").expect("a preset").layout());
    /// let generator = Snowflake::unguarded(layout, 7)?;
    /// let (a, b) = (generator.mint_now()?, generator.mint_now()?);
    /// assert!(a < b);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(feature = "std")]
    #[inline]
    pub fn mint_now(&self) -> Result<u64, MintError> {
        let (first, _) = self.reserve(self.tick_now()?, 1)?;
        Ok(self.id_at(first))
    }

    /// Ids at the system clock's time, without end; an item is an error where [`Self::mint_now`] gives one.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use mintage::{Snowflake, preset};
    /// let layout = Arc::new(preset("twitter").expect("a preset").layout());
    /// let ids: Vec<u64> = Snowflake::unguarded(layout, 7)?.ids_now().take(3).collect::<Result<_, _>>()?;
    /// assert!(ids.is_sorted_by(|a, b| a < b));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(feature = "std")]
    pub fn ids_now(&self) -> impl Iterator<Item = Result<u64, MintError>> + '_ {
        core::iter::repeat_with(|| self.mint_now())
    }

    /// [`Self::mint_many`] at the system clock's time.
    ///
    /// # Errors
    /// As [`Self::mint_many`].
    #[cfg(feature = "std")]
    pub fn mint_many_now(&self, out: &mut [u64]) -> Result<usize, MintError> {
        self.fill(self.tick_now()?, out)
    }

    /// Fills the front of `out` with ids, strictly increasing over all callers, and returns how many: at least
    /// one, fewer than asked at the end of the window or of `max_ahead`; 0 only if `out` is empty.
    ///
    /// # Errors
    /// No id could be minted; nothing was issued.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use mintage::{Snowflake, preset};
    /// let layout = Arc::new(preset("twitter").expect("a preset").layout());
    /// let generator = Snowflake::unguarded(layout.clone(), 7)?;
    /// let mut ids = [0; 5000]; // more than one millisecond holds: carries into the next
    /// assert_eq!(generator.mint_many(layout.time_of(1), &mut ids)?, 5000);
    /// assert!(ids.is_sorted());
    /// assert_eq!(layout.unpack(ids[4999])?.tick, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn mint_many(&self, now: Timestamp, out: &mut [u64]) -> Result<usize, MintError> {
        self.fill(self.layout.whole_tick(now).ok_or(MintError::BeforeEpoch)?, out)
    }

    /// Moves the end of the window to `until_tick`; an earlier end than the present one changes nothing.
    ///
    /// Call it only after the longer window was durably reserved. An end past the time field counts as its end.
    pub fn extend(&self, until_tick: u64) {
        self.until
            .fetch_max(until_tick.min(end_tick(&self.layout)), Ordering::Relaxed);
    }

    /// Ends minting for good and returns the first tick that was never minted in.
    ///
    /// One swap: a mint that began before it finishes with an id below the returned tick, every later one is
    /// refused. Closing again returns the end of the window, which is always safe.
    pub fn close(&self) -> u64 {
        let until = self.until.load(Ordering::Relaxed);
        let word = self.word.0.swap(CLOSED, Ordering::AcqRel);
        if word >= CLOSED {
            return until;
        }
        if self
            .rules
            .as_ref()
            .is_some_and(|rules| word >> rules.bump_shift() != 0)
        {
            // It followed the clock back: what was minted before lies higher than the word says.
            return until;
        }
        // Refused takes may have pushed the word past the window; nothing was minted there.
        word.div_ceil(1 << self.sequence_bits).min(until)
    }

    /// The worker id.
    pub fn worker(&self) -> u64 {
        self.worker
    }

    /// The first tick that must not be minted in.
    pub fn until_tick(&self) -> u64 {
        self.until.load(Ordering::Relaxed)
    }

    /// The tick of the last id, or the first of the window where none was minted; the end of the window once closed.
    /// For people: other threads may mint meanwhile.
    pub fn reached_tick(&self) -> u64 {
        let word = self.word.0.load(Ordering::Relaxed);
        if word >= CLOSED {
            return self.until_tick();
        }
        ((word & !(u64::MAX << self.rules.as_ref().map_or(63, |rules| rules.bump_shift())))
            >> self.sequence_bits)
            .min(self.until_tick())
    }

    /// The layout.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    #[cfg(feature = "std")]
    #[inline]
    fn tick_now(&self) -> Result<u64, MintError> {
        match self.ticks {
            TickClock::Millis { epoch, per_tick } => {
                let elapsed = crate::tsc::unix_millis()
                    .checked_sub(epoch)
                    .ok_or(MintError::BeforeEpoch)?;
                // The common tick of 1 ms is worth the branch: a division costs as much as the rest.
                Ok(if per_tick == 1 {
                    elapsed
                } else {
                    elapsed / per_tick
                })
            }
            TickClock::Nanos => self
                .layout
                .whole_tick(crate::SystemClock.now())
                .ok_or(MintError::BeforeEpoch),
        }
    }

    fn fill(&self, tick: u64, out: &mut [u64]) -> Result<usize, MintError> {
        let mut filled = 0;
        // Once as a rule. Again where a tick's start cuts the run short, and to meet the end of the window.
        while filled < out.len() {
            let want = ((out.len() - filled) as u64).min(BATCH_MAX);
            match self.reserve(tick, want) {
                Ok((place, count)) => {
                    self.write_ids(place, &mut out[filled..filled + count as usize]);
                    filled += count as usize;
                }
                Err(error) if filled == 0 => return Err(error),
                Err(_) => break,
            }
        }
        Ok(filled)
    }

    fn write_ids(&self, mut place: u64, mut out: &mut [u64]) {
        // Tick by tick: within one, ids differ by a constant.
        while !out.is_empty() {
            let in_tick = (1 << self.sequence_bits) - (place & ones(self.sequence_bits));
            let (now, later) = out.split_at_mut(out.len().min(in_tick as usize));
            let (mut next, step) = (self.id_at(place), 1u64 << self.sequence_shift);
            let (eights, rest) = now.as_chunks_mut::<8>();
            for eight in eights {
                // Independent sums, which the compiler turns into vector additions.
                *eight = core::array::from_fn(|i| next + i as u64 * step);
                next += 8 * step;
            }
            for id in rest {
                *id = next;
                next = next.wrapping_add(step);
            }
            place += now.len() as u64;
            out = later;
        }
    }

    /// Takes up to `want` places at `tick`; returns the first and how many.
    ///
    /// Rule W4: look first and refuse without adding, then add, then check what the add gave.
    #[inline]
    fn reserve(&self, tick: u64, want: u64) -> Result<(u64, u64), MintError> {
        #[cfg(feature = "std")]
        if crate::fork::fork_generation() != self.made_in {
            return Err(MintError::Forked);
        }
        if let Some(rules) = &self.rules {
            return self.reserve_by(rules, tick, want);
        }
        let until = self.until.load(Ordering::Relaxed);
        // The first tick that is out of reach, and its place. `until` never exceeds 2^62 >> bits, so this
        // cannot overflow whatever `tick` is.
        let reach = tick.saturating_add(self.max_ahead).saturating_add(1).min(until);
        let limit = reach << self.sequence_bits;
        let begin = tick.min(until) << self.sequence_bits;
        let seen = self.word.0.load(Ordering::Relaxed);
        if seen >= limit || begin >= limit {
            return Err(self.refusal(seen.max(begin), tick, until));
        }
        if seen < begin {
            self.word.0.fetch_max(begin, Ordering::Relaxed);
        }
        // Adding less than `limit` keeps the word far below 2^64 under any number of threads.
        let want = want.min(limit - seen.max(begin));
        let first = self.word.0.fetch_add(want, Ordering::AcqRel);
        if first >= limit {
            return Err(self.refusal(first, tick, until));
        }
        Ok((first, want.min(limit - first)))
    }

    #[cold]
    fn refusal(&self, word: u64, tick: u64, until: u64) -> MintError {
        let bits = self.sequence_bits;
        if word >= CLOSED {
            return MintError::Closed;
        }
        if word >= until << bits {
            return if until == end_tick(&self.layout) {
                MintError::TimeFieldFull
            } else {
                MintError::WindowEnd { until_tick: until }
            };
        }
        let reach = tick.saturating_add(self.max_ahead);
        MintError::TooFarAhead {
            ticks: (word >> bits).saturating_sub(reach).max(1),
        }
    }

    #[inline]
    fn id_at(&self, place: u64) -> u64 {
        let sequence = place & ones(self.sequence_bits);
        let (bump, place) = match &self.rules {
            Some(rules) => {
                let shift = rules.bump_shift();
                ((place >> shift) << rules.rollback_shift, place & ones(shift))
            }
            None => (0, place),
        };
        (place >> self.sequence_bits) << self.time_shift | sequence << self.sequence_shift | self.fixed | bump
    }
}

impl fmt::Debug for Snowflake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snowflake")
            .field("layout", &self.layout.name())
            .field("worker", &self.worker)
            .field("until_tick", &self.until_tick())
            .finish_non_exhaustive()
    }
}

/// The first tick no generator of `layout` mints in.
///
/// One past the largest tick, and never so late that a place would need more than 62 bits: only layouts whose
/// time and sequence take 63 or 64 bits are cut short, and those have room for centuries.
fn end_tick(layout: &Layout) -> u64 {
    let room = 1 << (WORD_BITS - layout.rollback_bits() - layout.sequence_bits());
    (layout.ticks_max()).saturating_add(1).min(room)
}

/// Bits of the word that hold place and rollback value.
const WORD_BITS: u32 = 62;

/// A word at or above this means closed. Places stay below 2^62, and adds to a closed word stay below 2^64.
const CLOSED: u64 = 1 << 63;

/// Ids per reservation: with this and 2^30 threads the word cannot reach [`CLOSED`] by adding alone.
const BATCH_MAX: u64 = 1 << 32;

/// How far an unguarded generator may run ahead of the clock.
const UNGUARDED_AHEAD: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use std::string::ToString;
    use std::vec::Vec;

    use proptest::prelude::*;

    use super::*;

    fn twitter() -> Arc<Layout> {
        Arc::new(crate::preset("twitter").expect("a preset").layout())
    }

    fn generator(from_tick: u64, until_tick: u64, ahead: u64) -> Snowflake {
        Snowflake::new(
            twitter(),
            Window {
                worker: 3,
                from_tick,
                until_tick,
            },
            ahead,
        )
        .expect("a sound window")
    }

    fn tick_of(g: &Snowflake, id: u64) -> u64 {
        g.layout().unpack(id).expect("an id of the layout").tick
    }

    #[test]
    fn a_clock_that_goes_back_is_held() {
        let g = generator(0, 1 << 40, 10_000_000);
        let at = |tick| g.layout().time_of(tick);
        let mut last = g.mint(at(5_000_000)).expect("an id");
        for back in [1, 1000, 3_600_000] {
            let id = g.mint(at(5_000_000 - back)).expect("an id");
            assert!(id > last);
            assert_eq!(tick_of(&g, id), 5_000_000);
            last = id;
        }
        assert_eq!(tick_of(&g, g.mint(at(5_000_001)).expect("an id")), 5_000_001);
    }

    #[test]
    fn a_full_tick_carries_and_stops_at_max_ahead() {
        let g = generator(0, 1 << 40, 2);
        let now = g.layout().time_of(10);
        let mut ids = Vec::new();
        let error = loop {
            match g.mint(now) {
                Ok(id) => ids.push(id),
                Err(e) => break e,
            }
        };
        assert_eq!(ids.len(), 3 * 4096);
        assert!(ids.is_sorted_by(|a, b| a < b));
        assert_eq!(error, MintError::TooFarAhead { ticks: 1 });
        assert!(g.mint(g.layout().time_of(11)).is_ok());
    }

    #[test]
    fn nothing_is_minted_outside_the_window() {
        let g = generator(10, 12, 1000);
        let early = g.mint(g.layout().time_of(0)).expect("within max_ahead");
        assert_eq!(tick_of(&g, early), 10);
        let mut out = [0; 10_000];
        let n = g
            .mint_many(g.layout().time_of(10), &mut out)
            .expect("ids are left");
        assert_eq!(n, 2 * 4096 - 1);
        assert!(out[..n].iter().all(|id| (10..12).contains(&tick_of(&g, *id))));
        let end = Err(MintError::WindowEnd { until_tick: 12 });
        assert_eq!(g.mint(g.layout().time_of(10)), end);
        assert_eq!(
            g.mint(g.layout().time_of(500)),
            end,
            "also when the clock is past the window"
        );
        g.extend(11);
        assert_eq!(g.mint(g.layout().time_of(10)), end, "an extension never shortens");
        g.extend(14);
        assert_eq!(tick_of(&g, g.mint(g.layout().time_of(10)).expect("extended")), 12);
    }

    #[test]
    fn a_start_far_ahead_of_the_clock_says_how_long_to_wait() {
        let g = generator(1000, 2000, 5);
        assert_eq!(
            g.mint(g.layout().time_of(900)),
            Err(MintError::TooFarAhead { ticks: 95 })
        );
        assert!(g.mint(g.layout().time_of(995)).is_ok());
    }

    #[test]
    fn close_returns_the_first_tick_never_minted_in() {
        let fresh = generator(10, 20, 2);
        assert_eq!(fresh.close(), 10);
        let used = generator(10, 20, 2);
        used.mint(used.layout().time_of(12)).expect("an id");
        assert_eq!(used.close(), 13);
        assert_eq!(used.mint(used.layout().time_of(15)), Err(MintError::Closed));
        assert_eq!(used.close(), 20);
        let full = generator(10, 11, 2);
        let mut out = [0; 5000];
        assert_eq!(full.mint_many(full.layout().time_of(10), &mut out), Ok(4096));
        assert_eq!(full.close(), 11);
    }

    #[test]
    fn the_end_of_the_time_field_is_an_error_and_not_a_wrap() {
        let layout = twitter();
        let g = Snowflake::unguarded(layout.clone(), 1023).expect("the worker fits");
        let last = layout.time_of(layout.ticks_max());
        let mut out = [0; 5000];
        assert_eq!(g.mint_many(last, &mut out), Ok(4096));
        assert_eq!(out[4095], u64::MAX >> 1);
        assert_eq!(g.mint(last), Err(MintError::TimeFieldFull));
        assert_eq!(g.mint(layout.end()), Err(MintError::TimeFieldFull));
        let before = layout.epoch().saturating_sub(Duration::from_nanos(1));
        assert_eq!(g.mint(before), Err(MintError::BeforeEpoch));
    }

    #[test]
    fn a_layout_of_64_bits_without_workers_works() {
        let layout = Layout::builder("tso")
            .time("physical", 46)
            .sequence("logical", 18)
            .build();
        let layout = Arc::new(layout.expect("a sound layout"));
        let g = Snowflake::unguarded(layout.clone(), 0).expect("worker 0 fits");
        let id = g
            .mint(Timestamp::from_unix_millis(1_700_000_000_000))
            .expect("an id");
        assert_eq!(id, 1_700_000_000_000 << 18);
        assert!(Snowflake::unguarded(layout, 1).is_err());
    }

    fn layout_starting(start: SequenceStart) -> Arc<Layout> {
        let builder = Layout::builder("x")
            .time("t", 41)
            .worker("w", 10)
            .sequence("s", 12);
        Arc::new(builder.sequence_start(start).build().expect("a sound layout"))
    }

    fn sequences(start: SequenceStart, ticks: impl Iterator<Item = u64>) -> Vec<u64> {
        let layout = layout_starting(start);
        let g = Snowflake::unguarded(layout.clone(), 0).expect("worker 0 fits");
        let ids: Vec<u64> = ticks
            .map(|tick| g.mint(layout.time_of(tick)).expect("an id"))
            .collect();
        assert!(ids.is_sorted_by(|a, b| a < b));
        ids.iter()
            .map(|id| layout.unpack(*id).expect("an id of the layout").sequence)
            .collect()
    }

    #[test]
    fn a_carried_sequence_stays_even_under_any_modulo_up_to_64() {
        let rounds = 64 * 630;
        let sequences = sequences(SequenceStart::Carry, (1..=rounds).map(|i| i * 3));
        assert_eq!(sequences[..3], [0, 1, 2]);
        for modulo in 2..=64 {
            let mut hits = std::vec![0u64; modulo as usize];
            for sequence in &sequences {
                hits[(sequence % modulo) as usize] += 1;
            }
            let (least, most) = (hits.iter().min().expect("hits"), hits.iter().max().expect("hits"));
            assert!(
                most - least <= rounds / 2048 + 1,
                "modulo {modulo}: {least} to {most}"
            );
        }
    }

    #[test]
    fn a_carried_sequence_always_leaves_half_of_a_tick() {
        let layout = layout_starting(SequenceStart::Carry);
        let g = Snowflake::unguarded(layout.clone(), 0).expect("worker 0 fits");
        let mut out = [0; 2048];
        for tick in 1..50 {
            g.mint_many(layout.time_of(tick), &mut out[..2000]).expect("ids");
            let last = layout.unpack(out[1999]).expect("an id of the layout");
            assert_eq!(last.tick, tick);
        }
    }

    #[test]
    fn a_random_start_stays_below_its_bound_and_spreads() {
        let sequences = sequences(SequenceStart::Random { below: 100 }, 1..1000);
        let mut seen = [false; 100];
        for sequence in sequences {
            seen[sequence as usize] = true;
        }
        assert!(seen.iter().filter(|hit| **hit).count() > 95);
    }

    #[test]
    fn a_start_at_5_never_uses_0_to_4_even_after_a_full_tick() {
        let layout = layout_starting(SequenceStart::At(5));
        let g = Snowflake::unguarded(layout.clone(), 0).expect("worker 0 fits");
        let mut out = [0; 10_000];
        assert_eq!(g.mint_many(layout.time_of(7), &mut out), Ok(10_000));
        assert!(out.is_sorted_by(|a, b| a < b));
        let parts: Vec<_> = out.iter().map(|id| layout.unpack(*id).expect("an id")).collect();
        assert!(parts.iter().all(|parts| parts.sequence >= 5));
        assert_eq!((parts[4091].tick, parts[4091].sequence), (8, 5));
    }

    #[test]
    fn waiting_is_said_up_to_the_bound_and_an_error_beyond_it() {
        let layout = twitter();
        let wait = ClockPolicy::Wait {
            max: Duration::from_millis(5),
        };
        let g = Snowflake::unguarded(layout.clone(), 0)
            .and_then(|g| g.clock_policy(wait))
            .expect("sound");
        g.mint(layout.time_of(1000)).expect("an id");
        let at = |tick| g.mint(layout.time_of(tick));
        assert_eq!(at(995), Err(MintError::ClockBack { ticks: 5, wait: true }));
        assert_eq!(
            at(994),
            Err(MintError::ClockBack {
                ticks: 6,
                wait: false
            })
        );
        assert!(at(1000).is_ok());
    }

    #[test]
    fn a_bound_of_more_ticks_than_there_are_is_no_short_one() {
        // 384 more than 64 bits hold.
        let max = Duration::from_secs(18_446_744_073_709_552);
        let g = Snowflake::unguarded(twitter(), 0)
            .and_then(|g| g.clock_policy(ClockPolicy::Wait { max }))
            .expect("sound");
        g.mint(g.layout().time_of(1000)).expect("an id");
        let (ticks, wait) = (900, true);
        assert_eq!(
            g.mint(g.layout().time_of(100)),
            Err(MintError::ClockBack { ticks, wait })
        );
    }

    #[test]
    fn a_reading_far_ahead_that_was_refused_is_forgotten() {
        let window = Window {
            worker: 1,
            from_tick: 0,
            until_tick: 100,
        };
        let g = Snowflake::new(twitter(), window, 2).and_then(|g| g.clock_policy(ClockPolicy::Error));
        let g = g.expect("sound");
        let at = |tick| g.mint(g.layout().time_of(tick));
        assert!(at(10).is_ok());
        assert_eq!(at(1 << 40), Err(MintError::WindowEnd { until_tick: 100 }));
        assert!(at(11).is_ok());
    }

    #[test]
    fn bumping_follows_a_clock_that_went_far_back_and_never_repeats() {
        let layout = Arc::new(crate::preset("rollback2").expect("a preset").layout());
        let window = Window {
            worker: 9,
            from_tick: 1000,
            until_tick: 1 << 40,
        };
        let g = Snowflake::new(layout.clone(), window, 100).and_then(|g| g.clock_policy(ClockPolicy::Bump));
        let g = g.expect("sound");
        let rollback = |id: u64| layout.fields()[1].of(id);
        let mut seen = std::collections::HashSet::new();
        let mut mint = |tick| {
            let id = g.mint(layout.time_of(tick))?;
            assert!(seen.insert(id), "{id} repeats");
            Ok((layout.unpack(id).expect("an id").tick, rollback(id)))
        };
        assert_eq!(mint(500_000), Ok((500_000, 0)));
        assert_eq!(mint(499_950), Ok((500_000, 0)), "held within max_ahead");
        assert_eq!(mint(400_000), Ok((400_000, 1)), "followed beyond it");
        assert_eq!(mint(400_001), Ok((400_001, 1)));
        assert_eq!(
            mint(500),
            Err(MintError::TooFarAhead { ticks: 400 }),
            "not below the window"
        );
        assert_eq!(mint(300_000), Ok((300_000, 2)));
        assert_eq!(mint(200_000), Ok((200_000, 3)));
        assert_eq!(
            mint(100_000),
            Err(MintError::TooFarAhead { ticks: 99_900 }),
            "used up: held"
        );
        assert_eq!(mint(500_000), Ok((500_000, 3)));
        assert_eq!(
            g.close(),
            1 << 40,
            "what was minted before the step back lies higher than the last id"
        );
    }

    #[test]
    fn bumping_needs_a_field() {
        let error = Snowflake::unguarded(twitter(), 0).and_then(|g| g.clock_policy(ClockPolicy::Bump));
        assert!(
            error
                .expect_err("twitter has none")
                .to_string()
                .contains("rollback field")
        );
    }

    /// What a caller may do to a generator.
    #[derive(Clone, Debug)]
    enum Step {
        /// Mint this many at this tick.
        Mint(u64, usize),
        /// Mint at any time at all.
        MintAt(i128),
        Extend(u64),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            8 => (0u64..300, 1usize..70).prop_map(|(tick, n)| Step::Mint(tick, n)),
            1 => any::<i128>().prop_map(Step::MintAt),
            1 => (0u64..400).prop_map(Step::Extend),
        ]
    }

    fn start() -> impl Strategy<Value = SequenceStart> {
        prop_oneof![
            Just(SequenceStart::Zero),
            (0u64..16).prop_map(SequenceStart::At),
            (0u64..16).prop_map(|below| SequenceStart::Random { below }),
            Just(SequenceStart::Carry),
        ]
    }

    fn policy() -> impl Strategy<Value = ClockPolicy> {
        let wait = ClockPolicy::Wait {
            max: Duration::from_millis(3),
        };
        prop_oneof![
            Just(ClockPolicy::Hold),
            Just(wait),
            Just(ClockPolicy::Error),
            Just(ClockPolicy::Bump)
        ]
    }

    proptest! {
        /// Whatever clock, start and policy: no id twice, none outside the window, none too far ahead.
        #[test]
        fn every_generator_keeps_its_promises(
            start in start(), policy in policy(), from in 0u64..50, length in 1u64..200, ahead in 2u64..30,
            steps in prop::collection::vec(step(), 1..60),
        ) {
            let builder = Layout::builder("x").time("t", 20).field("r", 2, crate::Role::Rollback);
            let layout = builder.worker("w", 3).sequence("s", 4).sequence_start(start).build();
            let layout = Arc::new(layout.expect("a sound layout"));
            let window = Window { worker: 5, from_tick: from, until_tick: from + length };
            let g = Snowflake::new(layout.clone(), window, ahead).and_then(|g| g.clock_policy(policy));
            let g = g.expect("sound settings");
            let mut seen = std::collections::HashSet::new();
            let mut last = 0;
            let mut until = from + length;
            let mut highest = 0;
            for step in steps {
                let (now, n) = match step {
                    Step::Mint(tick, n) => (layout.time_of(tick), n),
                    Step::MintAt(nanos) => (Timestamp::from_unix_nanos(nanos), 3),
                    Step::Extend(to) => {
                        g.extend(to);
                        until = until.max(to);
                        continue;
                    }
                };
                let mut out = std::vec![0; n];
                let Ok(made) = g.mint_many(now, &mut out) else { continue };
                prop_assert!(made >= 1);
                let tick = layout.tick_at(now).expect("it minted");
                for id in &out[..made] {
                    let parts = layout.unpack(*id).expect("an id of the layout");
                    prop_assert!(seen.insert(*id), "{id} twice");
                    prop_assert_eq!(parts.worker, 5);
                    prop_assert!((from..until).contains(&parts.tick), "{} outside the window", parts.tick);
                    prop_assert!(parts.tick <= tick + ahead, "{} too far ahead of {tick}", parts.tick);
                    if policy != ClockPolicy::Bump {
                        prop_assert!(*id > last || seen.len() == 1);
                    }
                    last = *id;
                    highest = highest.max(parts.tick);
                }
            }
            let closed_at = g.close();
            prop_assert!(closed_at > highest || seen.is_empty());
            prop_assert!(closed_at <= until);
            prop_assert_eq!(g.mint(layout.time_of(from)), Err(MintError::Closed));
        }
    }

    #[test]
    fn refused_settings_say_why() {
        let check = |window, ahead, reason: &str| {
            let error = Snowflake::new(twitter(), window, ahead)
                .expect_err("not usable")
                .to_string();
            assert!(error.contains(reason), "{error}");
        };
        check(
            Window {
                worker: 1024,
                from_tick: 0,
                until_tick: 1,
            },
            2,
            "largest is 1023",
        );
        check(
            Window {
                worker: 0,
                from_tick: 5,
                until_tick: 5,
            },
            2,
            "is empty",
        );
        check(
            Window {
                worker: 0,
                from_tick: 0,
                until_tick: 1 << 42,
            },
            2,
            "past the end",
        );
        check(
            Window {
                worker: 0,
                from_tick: 0,
                until_tick: 10,
            },
            1,
            "at least 2",
        );
    }

    #[test]
    fn threads_share_one_generator_without_a_repeat() {
        let g = generator(0, 1 << 40, 1 << 30);
        let now = g.layout().time_of(100);
        let mut all: Vec<u64> = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..64)
                .map(|i| {
                    let g = &g;
                    scope.spawn(move || {
                        let mut mine = Vec::new();
                        let mut buffer = [0; 37];
                        for _ in 0..200 {
                            mine.push(g.mint(now).expect("an id"));
                            let n = g.mint_many(now, &mut buffer[..i % 37]).expect("ids");
                            mine.extend_from_slice(&buffer[..n]);
                        }
                        assert!(
                            mine.is_sorted_by(|a, b| a < b),
                            "strictly increasing in every thread"
                        );
                        mine
                    })
                })
                .collect();
            workers
                .into_iter()
                .flat_map(|w| w.join().expect("no panic"))
                .collect()
        });
        let total = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), total);
        let mut expected = 100 << 22 | 3 << 12;
        assert_eq!(all[0], expected);
        // Without a gap: every place was used.
        for id in all {
            assert_eq!(id, expected);
            expected += 1;
            if expected & 0xfff == 0 {
                expected += (1 << 22) - 4096;
            }
        }
    }

    #[test]
    fn closing_under_load_never_mints_at_or_past_the_returned_tick() {
        for _ in 0..50 {
            let g = generator(0, 1000, 999);
            let highest = std::thread::scope(|scope| {
                let minters: Vec<_> = (0..4)
                    .map(|_| {
                        let g = &g;
                        scope.spawn(move || {
                            let mut highest = 0;
                            let mut out = [0; 100];
                            for tick in 0..1000 {
                                match g.mint_many(g.layout().time_of(tick), &mut out) {
                                    Ok(n) => highest = out[n - 1],
                                    Err(_) => break,
                                }
                            }
                            highest
                        })
                    })
                    .collect();
                std::thread::yield_now();
                let closed_at = g.close();
                let highest = minters
                    .into_iter()
                    .map(|m| m.join().expect("no panic"))
                    .max()
                    .expect("four minters");
                (closed_at, highest)
            });
            let (closed_at, highest) = highest;
            assert!(tick_of(&g, highest) < closed_at || highest == 0);
        }
    }
}
