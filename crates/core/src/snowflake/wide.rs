//! The same generator for ids of up to 128 bits.

use alloc::sync::Arc;
use core::fmt;
use core::time::Duration;

use super::{MintError, Snowflake, Window, unguarded_window};
use crate::clock_policy::ClockPolicy;
use crate::layout::{Layout, LayoutError};
use crate::time::Timestamp;

/// Mints ids of a layout of any width, as numbers of 128 bits. Thread-safe, strictly increasing over all callers, never
/// waits.
///
/// It counts as [`Snowflake`] does, with the same word and the same promises, and of layouts of up to 64 bits makes the
/// same ids; what differs is how a place becomes an id. Time, sequence and rollback together count in 62 bits, however
/// wide their fields are: [`Snowflake::end_of`] says until when.
pub struct WideSnowflake {
    /// Counts places; its own ids are of no layout.
    places: Snowflake,
    /// The bits that every id of this worker has.
    fixed: u128,
}

impl WideSnowflake {
    /// A generator for the ticks of `window`, running at most `max_ahead_ticks` ahead of the clock.
    ///
    /// # Errors
    /// The worker does not fit the layout; the window is empty or reaches past the time field; `max_ahead_ticks` is
    /// less than 2.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use mintage::{WideSnowflake, Window, preset};
    /// let layout = Arc::new(preset("cosid-string").expect("a preset").layout());
    /// let window = Window { worker: 7, from_tick: 1000, until_tick: 2000 };
    /// let generator = WideSnowflake::new(layout.clone(), window, 2)?;
    /// assert_eq!(generator.mint(layout.time_of(1500))?, 1500 << 36 | 7 << 16);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(layout: Arc<Layout>, window: Window, max_ahead_ticks: u64) -> Result<Self, LayoutError> {
        // Also the check that the worker fits.
        let fixed = layout.pack_wide(0, window.worker, 0)?;
        let places = Snowflake::counting(layout, window, max_ahead_ticks, (0, (0, 0)))?;
        Ok(WideSnowflake { places, fixed })
    }

    /// A generator without a reservation: nothing but you keeps its ids unique, with all that
    /// [`Snowflake::unguarded`] says is missing.
    ///
    /// # Errors
    /// The worker does not fit the layout.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use mintage::{Clock, SystemClock, WideSnowflake};
    /// let layout = Arc::new("time=60,worker=64,sequence=4;tick=1us".parse()?);
    /// let generator = WideSnowflake::unguarded(layout, 0xfeed_c0de_cafe_f00d)?;
    /// let (a, b) = (generator.mint(SystemClock.now())?, generator.mint(SystemClock.now())?);
    /// assert!(a < b);
    /// assert_eq!((a >> 4) as u64, 0xfeed_c0de_cafe_f00d);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn unguarded(layout: Arc<Layout>, worker: u64) -> Result<Self, LayoutError> {
        let (window, ahead) = unguarded_window(&layout, worker);
        Self::new(layout, window, ahead)
    }

    /// Sets what happens when the clock goes back, as [`Snowflake::clock_policy`].
    ///
    /// # Errors
    /// [`ClockPolicy::Bump`] on a layout without a rollback field.
    pub fn clock_policy(self, policy: ClockPolicy) -> Result<Self, LayoutError> {
        let places = self.places.clock_policy(policy)?;
        Ok(WideSnowflake { places, ..self })
    }

    /// Sets how far ids may run ahead of the clock; whole ticks, at least 2.
    #[must_use]
    pub fn max_ahead(self, max_ahead: Duration) -> Self {
        let places = self.places.max_ahead(max_ahead);
        WideSnowflake { places, ..self }
    }

    /// Mints one id at the time `now`.
    ///
    /// # Errors
    /// As [`Snowflake::mint_many`].
    pub fn mint(&self, now: Timestamp) -> Result<u128, MintError> {
        let (first, _) = self.places.reserve(self.tick_of(now)?, 1)?;
        Ok(self.id_at(first))
    }

    /// Fills the front of `out` with ids, as [`Snowflake::mint_many`].
    ///
    /// # Errors
    /// No id could be minted; nothing was issued.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use mintage::{WideSnowflake, preset};
    /// let layout = Arc::new(preset("flake").expect("a preset").layout());
    /// let generator = WideSnowflake::unguarded(layout.clone(), 0x9f6b_dece_d846)?;
    /// let mut ids = [0; 70_000]; // more than one millisecond holds: carries into the next
    /// assert_eq!(generator.mint_many(layout.time_of(1), &mut ids)?, 70_000);
    /// assert!(ids.is_sorted());
    /// assert_eq!(layout.unpack_wide(ids[69_999])?.tick, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn mint_many(&self, now: Timestamp, out: &mut [u128]) -> Result<usize, MintError> {
        self.places.fill_by(self.tick_of(now)?, out, |first, out| {
            for (place, id) in (first..).zip(out) {
                *id = self.id_at(place);
            }
        })
    }

    /// Moves the end of the window, as [`Snowflake::extend`].
    pub fn extend(&self, until_tick: u64) {
        self.places.extend(until_tick);
    }

    /// Ends minting for good and returns the first tick that was never minted in, as [`Snowflake::close`].
    pub fn close(&self) -> u64 {
        self.places.close()
    }

    /// The worker id.
    pub fn worker(&self) -> u64 {
        self.places.worker()
    }

    /// The first tick that must not be minted in.
    pub fn until_tick(&self) -> u64 {
        self.places.until_tick()
    }

    /// The layout.
    pub fn layout(&self) -> &Layout {
        self.places.layout()
    }

    fn tick_of(&self, now: Timestamp) -> Result<u64, MintError> {
        self.layout().whole_tick(now).ok_or(MintError::BeforeEpoch)
    }

    fn id_at(&self, place: u64) -> u128 {
        let (bump, tick, sequence) = self.places.parts_at(place);
        let rollback = u128::from(bump) << self.places.rollback_shift();
        self.layout().place::<u128>(tick, sequence) | self.fixed | rollback
    }
}

impl fmt::Debug for WideSnowflake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WideSnowflake")
            .field("layout", &self.layout().name())
            .field("worker", &self.worker())
            .field("until_tick", &self.until_tick())
            .finish_non_exhaustive()
    }
}
