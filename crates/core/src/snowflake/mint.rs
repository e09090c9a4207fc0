//! Minting: reserve places, then make ids of them.

use super::{BATCH_MAX, CLOSED, MintError, Snowflake, end_tick};
use crate::atomic::Ordering;
use crate::layout::ones;
use crate::time::Timestamp;
use crate::word::windowed;

impl Snowflake {
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
        let (first, _) = self.reserve(self.ticks.now(&self.layout)?, 1)?;
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
        self.fill(self.ticks.now(&self.layout)?, out)
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

    fn fill(&self, tick: u64, out: &mut [u64]) -> Result<usize, MintError> {
        self.fill_by(tick, out, |place, out| self.write_ids(place, out))
    }

    /// Fills `out` with what `write` makes of a run of places from its first on.
    pub(super) fn fill_by<T>(
        &self,
        tick: u64,
        out: &mut [T],
        write: impl Fn(u64, &mut [T]),
    ) -> Result<usize, MintError> {
        let mut filled = 0;
        // Once as a rule. Again where a tick's start cuts the run short, and to meet the end of the window.
        while filled < out.len() {
            let want = ((out.len() - filled) as u64).min(BATCH_MAX);
            match self.reserve(tick, want) {
                Ok((place, count)) => {
                    write(place, &mut out[filled..filled + count as usize]);
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
    #[inline]
    pub(super) fn reserve(&self, tick: u64, want: u64) -> Result<(u64, u64), MintError> {
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
        windowed::take_up_to(&self.word.0, begin..limit, want)
            .map_err(|place| self.refusal(place, tick, until))
    }

    #[cold]
    pub(super) fn refusal(&self, word: u64, tick: u64, until: u64) -> MintError {
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
        let (bump, tick, sequence) = self.parts_at(place);
        tick << self.time_shift | sequence << self.sequence_shift | self.fixed | bump << self.rollback_shift()
    }

    /// The value of the rollback field, tick and sequence of a place.
    #[inline]
    pub(super) fn parts_at(&self, place: u64) -> (u64, u64, u64) {
        let sequence = place & ones(self.sequence_bits);
        let (bump, place) = match &self.rules {
            Some(rules) => (place >> rules.bump_shift(), place & ones(rules.bump_shift())),
            None => (0, place),
        };
        (bump, place >> self.sequence_bits, sequence)
    }

    /// How far up the rollback field lies, if the generator changes it.
    #[inline]
    pub(super) fn rollback_shift(&self) -> u32 {
        self.rules.as_ref().map_or(0, |rules| rules.rollback_shift)
    }
}
