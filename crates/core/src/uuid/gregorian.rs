//! Time as versions 1, 2 and 6 count it: 100 ns ticks since 1582-10-15T00:00:00Z.

use crate::time::Timestamp;

/// Ticks from 1582-10-15 to 1970-01-01 (RFC 9562 section 5.1 and appendix A).
pub(crate) const UNIX_OFFSET: i128 = 0x01B2_1DD2_1381_4000;

/// When `ticks` is, exactly.
pub(crate) const fn time_of(ticks: u64) -> Timestamp {
    Timestamp::from_unix_nanos((ticks as i128 - UNIX_OFFSET) * 100)
}
