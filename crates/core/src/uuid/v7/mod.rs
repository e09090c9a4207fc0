//! UUID version 7: Unix milliseconds, a counter, random bits.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! |                          unix_ts_ms                           |
//! |          unix_ts_ms           |  ver  |     counter, high     |
//! |var|  counter, low  |                 random                   |
//! |                           random                              |
//! ```
//!
//! `unix_ts_ms` counts milliseconds since 1970-01-01T00:00:00Z, leap seconds not counted (RFC 9562 section
//! 5.7). The counter of 20 bits follows it directly (section 6.2, method 1): its top bit starts at 0, the rest
//! at random in every millisecond. 54 random bits are fresh in every id.
//!
//! Rare events. *Counter full*: it carries into the millisecond, so ids run ahead of the clock by as many
//! milliseconds as 2^20 ids a millisecond need. *Clock back*: the last millisecond is held until the clock has
//! caught up. *Fork*: the child draws other random bits, so no id repeats. *End*: the time field lasts until
//! 10889-08-02T05:31:50.655Z.

mod owned;
#[cfg(feature = "std")]
mod process;

use ::uuid::Uuid;
pub use owned::V7Generator;
#[cfg(feature = "std")]
pub(crate) use process::{claim_by, fill_at};
#[cfg(feature = "std")]
pub use process::{uuid7, uuid7_at, uuid7_lead, uuid7_many};

use super::UuidError;
use crate::time::Timestamp;

/// The UUID of version 7 of this time and these random bits; 74 of the 80 are used, or 62 with
/// [`Precision::Submilli`]. Touches no generator state.
///
/// # Errors
/// `time` lies before 1970 or past 10889-08-02T05:31:50.655999999Z.
///
/// ```
/// use mintage::{Precision, Timestamp, uuid7_from};
/// let random = [0x0c, 0xc3, 0x18, 0xc4, 0xdc, 0x0c, 0x0c, 0x07, 0x39, 0x8f];
/// let id = uuid7_from(Timestamp::from_unix_millis(1_645_557_742_000), Precision::Millis, random)?;
/// assert_eq!(id.to_string(), "017f22e2-79b0-7cc3-98c4-dc0c0c07398f"); // RFC 9562 appendix A.6
/// # Ok::<(), mintage::UuidError>(())
/// ```
pub fn uuid7_from(time: Timestamp, precision: Precision, random: [u8; 10]) -> Result<Uuid, UuidError> {
    let millis = match u64::try_from(time.unix_millis()) {
        Ok(millis) if millis <= MILLIS_MAX => millis,
        _ => {
            let last = Timestamp::from_unix_nanos((i128::from(MILLIS_MAX) + 1) * 1_000_000 - 1);
            return Err(UuidError::Time {
                time,
                first: Timestamp::UNIX_EPOCH,
                last,
            });
        }
    };
    let [a, b, rest @ ..] = random;
    let rand_a = match precision {
        Precision::Millis => u64::from(u16::from_be_bytes([a, b]) & 0xfff),
        Precision::Submilli => fraction_of(time),
    };
    let high = millis << 16 | rand_a;
    Ok(super::stamp(
        u128::from(high) << 64 | u128::from(u64::from_be_bytes(rest)),
        7,
    ))
}

/// How much of the time a version 7 UUID holds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Precision {
    /// Whole milliseconds.
    #[default]
    Millis,
    /// Milliseconds and, in rand_a, 12 bits of fraction: steps of 244 ns (RFC 9562 section 6.2, method 3).
    Submilli,
}

/// The 4096ths of the millisecond that have passed at `time`.
fn fraction_of(time: Timestamp) -> u64 {
    (time.unix_nanos().rem_euclid(1_000_000) as u64 * 4096) / 1_000_000
}

/// The last millisecond of the 48-bit field: 10889-08-02T05:31:50.655Z.
pub(crate) const MILLIS_MAX: u64 = (1 << 48) - 1;

/// The millisecond in a version 7 UUID.
pub(crate) fn unix_millis_of(id: &Uuid) -> u64 {
    (id.as_u128() >> 80) as u64
}
