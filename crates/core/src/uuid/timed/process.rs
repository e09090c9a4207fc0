//! Versions 1 and 6 of the process: ticks that count on in one word.

use ::uuid::Uuid;

use super::TICK;
use crate::MintError;
use crate::format::{Own, Source};
use crate::uuid::gregorian::UNIX_OFFSET;
use crate::uuid::{CLOCK_SEQ_MAX, GregorianTicks, v1, v6};
use crate::word::{Reach, ticks_in, windowed};

/// A new UUID of version 1: a tick of its own, and a random node and clock sequence that the process keeps.
///
/// Thread-safe; ticks strictly increase over all threads, [`uuid6`] included. A forked child takes another
/// node. Nothing is kept across restarts: the next process has another node.
///
/// # Errors
/// [`MintError::TooFarAhead`] when more than 10 million ids a second, which is all that 100 ns ticks allow,
/// have run 10 s ahead of the clock, or the clock went back by more than that.
///
/// # Panics
/// As [`fill_random`](crate::fill_random).
///
/// ```
/// let (a, b) = (mintage::uuid1()?, mintage::uuid1()?);
/// assert_ne!(a, b);
/// assert_eq!(a.get_node_id(), b.get_node_id());
/// # Ok::<(), mintage::MintError>(())
/// ```
#[inline]
pub fn uuid1() -> Result<Uuid, MintError> {
    let first = claim(Source::PROCESS, 1)?;
    Ok(v1::pack(GregorianTicks::from_bits(first), identity()))
}

/// Fills `out` with UUIDs of version 1, with one clock reading.
///
/// # Errors
/// As [`uuid1`]; nothing was written.
///
/// ```
/// let mut ids = [mintage::Uuid::nil(); 100];
/// mintage::uuid1_many(&mut ids)?;
/// assert!(ids.iter().all(|id| id.get_version_num() == 1));
/// # Ok::<(), mintage::MintError>(())
/// ```
pub fn uuid1_many(out: &mut [Uuid]) -> Result<(), MintError> {
    fill_v1(Source::PROCESS, out)
}

/// Fills `out` by another clock.
pub(crate) fn fill_v1(from: Source<'_>, out: &mut [Uuid]) -> Result<(), MintError> {
    if out.is_empty() {
        return Ok(());
    }
    let first = claim(from, out.len() as u64)?;
    // Another clock sequence in every turn.
    let identity = identity();
    let clock_seq = (identity >> 48).wrapping_add(from.generators.turn()) & u64::from(CLOCK_SEQ_MAX);
    let low_half = 0b10 << 62 | clock_seq << 48 | identity & (u64::MAX >> 16);
    for (tick, id) in (first..).zip(out) {
        *id = v1::pack(GregorianTicks::from_bits(tick), low_half);
    }
    Ok(())
}

/// A new UUID of version 6: a tick of its own, and a clock sequence and node fresh at random in every id,
/// as RFC 9562 section 5.6 recommends. Strictly increasing over all threads of the process.
///
/// # Errors
/// As [`uuid1`].
///
/// ```
/// let (a, b) = (mintage::uuid6()?, mintage::uuid6()?);
/// assert!(a < b);
/// # Ok::<(), mintage::MintError>(())
/// ```
#[inline]
pub fn uuid6() -> Result<Uuid, MintError> {
    v6_by(Source::PROCESS)
}

/// One by another clock.
#[inline]
pub(crate) fn v6_by(from: Source<'_>) -> Result<Uuid, MintError> {
    let first = claim(from, 1)?;
    let low_half = random_half(u64::from_be_bytes(crate::entropy::random_array()));
    Ok(v6::pack(GregorianTicks::from_bits(first), low_half))
}

/// In ticks of 100 ns.
const MAX_AHEAD: u64 = ticks_in(Reach::MAX_AHEAD, TICK, 0);

/// Takes `count` ticks that nobody else of this source takes and returns the first.
#[inline]
pub(crate) fn claim(from: Source<'_>, count: u64) -> Result<u64, MintError> {
    let now = from.clock.unix_ticks().saturating_add(UNIX_OFFSET as i64);
    let now = u64::try_from(now).map_err(|_| MintError::BeforeEpoch)?;
    if now > GregorianTicks::MAX.get() - MAX_AHEAD {
        return Err(MintError::TimeFieldFull);
    }
    let end = now + MAX_AHEAD;
    windowed::take_all(&from.generators.gregorian.0, now, end, count).map_err(|tick| MintError::TooFarAhead {
        ticks: tick + count - end,
    })
}

/// Variant, clock sequence and node of this process; another in a forked child.
#[inline]
fn identity() -> u64 {
    static IDENTITY: Own = Own::new();
    random_half(IDENTITY.get())
}

/// The lower half of an id whose clock sequence and node are these random bits.
#[inline]
fn random_half(random: u64) -> u64 {
    // Variant, and the multicast bit that keeps the node from being taken for hardware.
    random & (u64::MAX >> 2) | 0b10 << 62 | 1 << 40
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_makes_no_tick_twice() {
        let ids: std::vec::Vec<Uuid> = std::thread::scope(|scope| {
            let threads: std::vec::Vec<_> = (0..8)
                .map(|i| {
                    scope.spawn(move || {
                        let mut mine = std::vec::Vec::new();
                        let mut batch = [Uuid::nil(); 10];
                        for _ in 0..500 {
                            mine.push(uuid1().expect("an id"));
                            mine.push(uuid6().expect("an id"));
                            uuid1_many(&mut batch[..i]).expect("ids");
                            mine.extend_from_slice(&batch[..i]);
                        }
                        mine
                    })
                })
                .collect();
            threads
                .into_iter()
                .flat_map(|t| t.join().expect("no panic"))
                .collect()
        });
        let ticks = |id: &Uuid| {
            if id.get_version_num() == 1 {
                v1::ticks_of(id)
            } else {
                v6::ticks_of(id)
            }
        };
        mintage_testing::distinct("ticks", ids.iter().map(ticks));
    }
}
