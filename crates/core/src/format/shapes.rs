//! The times that formats carry where the process counts them too ([`generators`](super::generators)), and how wide its
//! counters are beside them: what a format's own file and the process's lines must agree on.

use core::time::Duration;

use super::TimeShape;

/// 48 bits of milliseconds since 1970, to 10889.
pub(super) const ULID_MILLIS: TimeShape = TimeShape::new(Duration::from_millis(1), 0, 1 << 48, 3);

const KSUID_EPOCH_MS: i64 = 1_400_000_000_000;

pub(super) const KSUID_SECONDS: TimeShape =
    TimeShape::new(Duration::from_secs(1), KSUID_EPOCH_MS, 1 << 32, 0);

/// 250 steps a second.
pub(super) const KSUID_STEPS: TimeShape =
    TimeShape::new(Duration::from_millis(4), KSUID_EPOCH_MS, 250 << 32, 3);

/// Of XID and ObjectId: unsigned seconds since 1970, to 2106.
pub(super) const COUNTED_SECONDS: TimeShape = TimeShape::new(Duration::from_secs(1), 0, 1 << 32, 0);

/// The counter of XID and ObjectId.
pub(super) const COUNTER_BITS: u32 = 24;

/// Microseconds since 1970.
pub(super) const TID_MICROS: TimeShape = TimeShape::new(Duration::from_micros(1), 0, 1 << 53, 6);

/// Node and counter of a TSID.
pub(super) const TSID_TAIL_BITS: u32 = 22;

/// The process's counter of SCRU128: all that fits beside a millisecond in 64 bits.
#[cfg(feature = "std")]
pub(super) const SCRU128_LINE_BITS: u32 = 22;
