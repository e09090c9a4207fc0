//! Generators that do more than hold their clock and begin a tick at zero.

use super::{CLOSED, MintError, Snowflake, WORD_BITS};
use crate::atomic::{AtomicU64, Ordering};
use crate::clock_policy::ClockPolicy;
use crate::layout::{Layout, SequenceStart, ones, place_from, places_in_a_row};
use crate::word::seeded::Word as _;

/// How a generator differs from the plain one.
pub(super) struct Rules {
    pub(super) policy: ClockPolicy,
    pub(super) start: SequenceStart,
    /// Ticks that a clock may have gone back to be waited for.
    pub(super) wait_ticks: u64,
    /// The first tick of the window: following the clock back never leaves it.
    pub(super) from_tick: u64,
    pub(super) rollback_shift: u32,
    /// The largest value of the rollback field, in the upper bits of the word; 0 without one.
    pub(super) rollbacks: u64,
    /// The highest tick of the clock that anything was minted at (since the clock was last followed back).
    pub(super) highest: AtomicU64,
}

impl Snowflake {
    /// The same for generators with rules.
    pub(super) fn reserve_by(&self, rules: &Rules, tick: u64, want: u64) -> Result<(u64, u64), MintError> {
        if self.word.0.load(Ordering::Relaxed) >= CLOSED {
            return Err(MintError::Closed);
        }
        let back = rules.highest.load(Ordering::Relaxed).saturating_sub(tick);
        if back > 0 && matches!(rules.policy, ClockPolicy::Wait { .. } | ClockPolicy::Error) {
            return Err(MintError::ClockBack {
                ticks: back,
                wait: back <= rules.wait_ticks,
            });
        }
        let (first, count, followed) = self.word.0.change(|seen| {
            let found = self.find(rules, seen, (tick, back), want)?;
            Ok((found.0 + found.1, found))
        })?;
        if followed {
            rules.highest.store(tick, Ordering::Relaxed);
        } else {
            rules.highest.fetch_max(tick, Ordering::Relaxed);
        }
        Ok((first, count))
    }

    /// What may be taken where the word is `seen` at `tick`, to which the clock went `back`: the first place with its
    /// rollback value, how many, and whether that follows the clock back.
    fn find(
        &self,
        rules: &Rules,
        seen: u64,
        (tick, back): (u64, u64),
        want: u64,
    ) -> Result<(u64, u64, bool), MintError> {
        let (bits, bump_shift) = (self.sequence_bits, rules.bump_shift());
        let until = self.until.load(Ordering::Relaxed);
        let reach = tick.saturating_add(self.max_ahead).saturating_add(1).min(until);
        // The last place stays free where places reach up to the rollback value: the next one would count as another.
        let limit = (reach << bits).min(ones(bump_shift));
        if seen >= CLOSED {
            return Err(MintError::Closed);
        }
        let (mut bump, mut place) = (seen >> bump_shift, seen & ones(bump_shift));
        let followed = place >= limit && back > self.max_ahead && bump < rules.rollbacks;
        if followed {
            // Under the next value of the rollback field.
            bump += 1;
            place = tick.max(rules.from_tick).min(until) << bits;
        }
        let first = place_from(rules.start, place, tick.min(until), bits);
        if first >= limit {
            return Err(self.refusal(first, tick, until));
        }
        let count = want
            .min(limit - first)
            .min(places_in_a_row(rules.start, first, bits));
        Ok((bump << bump_shift | first, count, followed))
    }
}

impl Rules {
    pub(super) fn new(layout: &Layout, policy: ClockPolicy, from_tick: u64) -> Self {
        let wait_ticks = match policy {
            ClockPolicy::Wait { max } => {
                u64::try_from(max.as_nanos() / layout.tick().as_nanos()).unwrap_or(u64::MAX)
            }
            _ => 0,
        };
        Rules {
            policy,
            start: layout.sequence_start(),
            wait_ticks,
            from_tick,
            rollback_shift: layout.rollback_shift(),
            rollbacks: if policy == ClockPolicy::Bump {
                ones(layout.rollback_bits())
            } else {
                0
            },
            highest: AtomicU64::new(0),
        }
    }

    /// Where the rollback value lies in the word: above every place.
    pub(super) fn bump_shift(&self) -> u32 {
        WORD_BITS - (64 - self.rollbacks.leading_zeros())
    }
}
