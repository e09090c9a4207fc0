//! UUID version 1: 100 ns time, clock sequence, node.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! |                           time_low                            |
//! |           time_mid            |  ver  |       time_high       |
//! |var|         clock_seq         |             node              |
//! |                              node                             |
//! ```
//!
//! The time is 60 bits of 100 ns ticks since 1582-10-15 with its low half in front, so ids do not sort by time
//! (version 6 is the same id in sorting order). The clock sequence changes when a time may have been used
//! before; the node says who made the id (RFC 9562 section 5.1).

use ::uuid::Uuid;

use super::{GregorianTicks, Node, UuidError};

/// The largest clock sequence: 14 bits.
pub const CLOCK_SEQ_MAX: u16 = (1 << 14) - 1;

/// The UUID of version 1 with exactly these fields. Touches no generator state.
///
/// # Errors
/// `clock_seq` is above [`CLOCK_SEQ_MAX`].
///
/// ```
/// use mintage::{GregorianTicks, Timestamp, uuid1_from};
/// let at = GregorianTicks::floor(Timestamp::from_unix_millis(1_645_557_742_000))?;
/// let id = uuid1_from(at, 0x33c8, "9f:6b:de:ce:d8:46".parse()?)?;
/// assert_eq!(id.to_string(), "c232ab00-9414-11ec-b3c8-9f6bdeced846"); // RFC 9562 appendix A.1
/// # Ok::<(), mintage::UuidError>(())
/// ```
pub const fn uuid1_from(time: GregorianTicks, clock_seq: u16, node: Node) -> Result<Uuid, UuidError> {
    if clock_seq > CLOCK_SEQ_MAX {
        return Err(clock_seq_too_large(clock_seq as u64, CLOCK_SEQ_MAX as u64));
    }
    Ok(pack(time, low_half(clock_seq, node)))
}

pub(crate) const fn clock_seq_too_large(value: u64, max: u64) -> UuidError {
    UuidError::TooLarge {
        what: "clock_seq",
        value,
        max,
    }
}

/// Variant, clock sequence and node: the low half of versions 1 and 6.
pub(crate) const fn low_half(clock_seq: u16, node: Node) -> u64 {
    0b10 << 62 | (clock_seq as u64) << 48 | node.bits()
}

#[inline]
pub(crate) const fn pack(time: GregorianTicks, low_half: u64) -> Uuid {
    let ticks = time.get();
    let high = ticks << 32 | (ticks >> 32 & 0xffff) << 16 | 1 << 12 | ticks >> 48;
    Uuid::from_u64_pair(high, low_half)
}

/// The ticks of a version 1 UUID (of version 2 as well, whose low 32 bits mean something else).
pub(crate) const fn ticks_of(id: &Uuid) -> GregorianTicks {
    let high = (id.as_u128() >> 64) as u64;
    GregorianTicks::from_bits((high & 0xfff) << 48 | (high >> 16 & 0xffff) << 32 | high >> 32)
}
