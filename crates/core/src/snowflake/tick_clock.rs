//! The system clock in ticks of a layout.

use super::MintError;
use crate::layout::Layout;
use crate::time::Clock as _;

/// How the system's millisecond becomes a tick without 128-bit arithmetic.
#[derive(Clone, Copy)]
pub(super) enum TickClock {
    /// The tick is a whole number of milliseconds and so is the epoch, in 1970 or later.
    Millis { epoch: u64, per_tick: u64 },
    /// Anything else.
    Nanos,
}

impl TickClock {
    pub(super) fn new(layout: &Layout) -> Self {
        let (tick, epoch) = (layout.tick().as_nanos(), layout.epoch().unix_nanos());
        match u64::try_from(epoch / 1_000_000) {
            Ok(epoch_ms) if epoch % 1_000_000 == 0 && tick % 1_000_000 == 0 => TickClock::Millis {
                epoch: epoch_ms,
                per_tick: (tick / 1_000_000) as u64,
            },
            _ => TickClock::Nanos,
        }
    }

    /// The tick of now in `layout`, which this was made for.
    #[inline]
    pub(super) fn now(&self, layout: &Layout) -> Result<u64, MintError> {
        match *self {
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
            TickClock::Nanos => layout
                .whole_tick(crate::SystemClock.now())
                .ok_or(MintError::BeforeEpoch),
        }
    }
}
