//! How far from its clock a generator may stand.

use core::ops::Range;
use core::time::Duration;

use super::seeded::Number;
use crate::MintError;

/// The ticks that ids may be made in at one reading of the clock: from `now` to `max_ahead` later, and not past `last`.
#[derive(Clone, Copy)]
pub(crate) struct Reach {
    /// What the clock shows.
    pub(crate) now: u64,
    /// In ticks.
    pub(crate) max_ahead: u64,
    /// The last tick of the time field.
    pub(crate) last: u64,
}

impl Reach {
    /// How far ids may run ahead of the clock unless the caller says otherwise.
    pub(crate) const MAX_AHEAD: Duration = Duration::from_secs(10);

    /// The last tick within reach.
    #[inline]
    pub(crate) fn last_tick(self) -> u64 {
        self.now.saturating_add(self.max_ahead).min(self.last)
    }

    /// The places of these ticks, from the first of the clock's tick up to, not including, the end.
    #[inline]
    pub(crate) fn places<N: Number>(self, counter_bits: u32) -> Range<N> {
        let end = N::from(self.last_tick()) + N::from(1);
        N::from(self.now) << counter_bits..end << counter_bits
    }

    /// Refuses a tick out of reach.
    #[inline]
    pub(crate) fn check(self, tick: u64) -> Result<(), MintError> {
        if tick > self.last_tick() {
            return Err(self.refusal(tick));
        }
        Ok(())
    }

    /// Why `tick` is out of reach.
    #[cold]
    pub(crate) fn refusal(self, tick: u64) -> MintError {
        if tick > self.last {
            return MintError::TimeFieldFull;
        }
        MintError::TooFarAhead {
            ticks: tick - self.last_tick(),
        }
    }
}

/// Whole ticks in `span`, at least `least`.
pub(crate) const fn ticks_in(span: Duration, tick: Duration, least: u64) -> u64 {
    let ticks = span.as_nanos() / tick.as_nanos();
    if ticks > u64::MAX as u128 {
        u64::MAX
    } else if (ticks as u64) < least {
        least
    } else {
        ticks as u64
    }
}
