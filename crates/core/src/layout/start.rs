//! Where in a tick a generator goes on.

use super::ones;

/// Where the sequence of a new tick begins.
///
/// At a few ids a second, beginning at zero makes nearly all ids even, and a multiple of 4096: `id % n` then
/// picks one shard. The other ways spread them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum SequenceStart {
    /// At 0.
    #[default]
    Zero,
    /// At this number; smaller ones are never used.
    At(u64),
    /// Somewhere in `0..below`, by a hash of the tick.
    Random {
        /// One more than the largest start.
        below: u64,
    },
    /// Where the last tick stopped, going round at half of the field, so that half of it is always left.
    Carry,
}

/// The next place at or after `place`, which is the next free one, when the clock shows `tick`.
pub(crate) fn place_from(start: SequenceStart, place: u64, tick: u64, bits: u32) -> u64 {
    let begin = tick << bits;
    let new_tick = place < begin;
    match start {
        SequenceStart::Zero => place.max(begin),
        SequenceStart::At(first) => {
            let place = place.max(begin);
            // Also where a full tick carried into the next.
            place.max(place >> bits << bits | first)
        }
        SequenceStart::Random { below } if new_tick => begin | (mix(tick) % below.max(1)),
        SequenceStart::Carry if new_tick => begin | place & ones(bits - 1),
        SequenceStart::Random { .. } | SequenceStart::Carry => place,
    }
}

/// How many places follow each other from `place` on before a tick begins elsewhere than right after the last.
pub(crate) fn places_in_a_row(start: SequenceStart, place: u64, bits: u32) -> u64 {
    match start {
        SequenceStart::At(_) => (1 << bits) - (place & ones(bits)),
        _ => u64::MAX,
    }
}

/// A well-mixed number from `n` (the finisher of SplitMix64); for spreading, not for secrets.
fn mix(n: u64) -> u64 {
    let n = (n ^ n >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ n >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ n >> 31
}
