//! One shared generator over any layout, its whole state in one atomic word.

mod error;
mod mint;
mod rules;
#[cfg(test)]
mod tests;
#[cfg(feature = "std")]
mod tick_clock;
mod wide;

use alloc::sync::Arc;
use core::fmt;
use core::time::Duration;

pub use error::MintError;
use rules::Rules;
#[cfg(feature = "std")]
use tick_clock::TickClock;
pub use wide::WideSnowflake;

use crate::atomic::{AtomicU64, Ordering};
use crate::clock_policy::ClockPolicy;
use crate::layout::{Layout, LayoutError, SequenceStart};
use crate::time::Timestamp;
use crate::word::{OwnLine, ticks_in};

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

impl Snowflake {
    /// A generator for the ticks of `window`, running at most `max_ahead_ticks` ahead of the clock.
    ///
    /// # Errors
    /// The worker does not fit the layout; ids of it need more than 64 bits ([`WideSnowflake`] makes those); the window
    /// is empty or reaches past the time field;
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
        // Also the check that ids have 64 bits.
        let same = (layout.pack(0, window.worker, 0)?, layout.shifts());
        Self::counting(layout, window, max_ahead_ticks, same)
    }

    /// A generator that counts the places of any layout, whose worker is known to fit, and makes ids of them with what
    /// all have in common, by these shifts of time and sequence.
    fn counting(
        layout: Arc<Layout>,
        window: Window,
        max_ahead_ticks: u64,
        (fixed, (time_shift, sequence_shift)): (u64, (u32, u32)),
    ) -> Result<Self, LayoutError> {
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
        if max_ahead_ticks < MAX_AHEAD_LEAST {
            return Err(refused(alloc::format!(
                "max_ahead of {max_ahead_ticks} ticks, at least {MAX_AHEAD_LEAST} are needed"
            )));
        }
        Ok(Snowflake {
            worker: window.worker,
            fixed,
            max_ahead: max_ahead_ticks,
            sequence_bits: layout.sequence_bits(),
            time_shift,
            sequence_shift,
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

    /// Sets how far ids may run ahead of the clock; whole ticks, at least 2.
    ///
    /// ```
    /// use core::time::Duration;
    /// use std::sync::Arc;
    /// use mintage::{MintError, Snowflake, preset};
    /// let layout = Arc::new(preset("twitter").expect("a preset").layout());
    /// let generator = Snowflake::unguarded(layout.clone(), 7)?.max_ahead(Duration::from_millis(50));
    /// generator.mint(layout.time_of(1000))?;
    /// assert!(generator.mint(layout.time_of(950)).is_ok());
    /// assert_eq!(generator.mint(layout.time_of(949)), Err(MintError::TooFarAhead { ticks: 1 }));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn max_ahead(mut self, max_ahead: Duration) -> Self {
        self.max_ahead = ticks_in(max_ahead, self.layout.tick(), MAX_AHEAD_LEAST);
        self
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
        let (window, ahead) = unguarded_window(&layout, worker);
        Self::new(layout, window, ahead)
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

/// All that a generator can mint, and how far ahead of the clock where nothing guards it.
fn unguarded_window(layout: &Layout, worker: u64) -> (Window, u64) {
    let window = Window {
        worker,
        from_tick: 0,
        until_tick: end_tick(layout),
    };
    (window, ticks_in(UNGUARDED_AHEAD, layout.tick(), MAX_AHEAD_LEAST))
}

/// The first tick no generator of `layout` mints in.
///
/// One past the largest tick, and never so late that a place would need more than 62 bits: only layouts whose
/// time and sequence take more are cut short, and those have room for centuries.
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

/// The fewest ticks that a generator may run ahead of the clock: with one, a full tick under a clock that stands would
/// refuse what the next tick has room for.
const MAX_AHEAD_LEAST: u64 = 2;

/// How far an unguarded generator may run ahead of the clock.
const UNGUARDED_AHEAD: Duration = Duration::from_secs(5);
