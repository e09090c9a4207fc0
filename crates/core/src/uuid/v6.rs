//! UUID version 6: version 1 with its time in sorting order.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! |                           time_high                           |
//! |           time_mid            |  ver  |       time_low        |
//! |var|         clock_seq         |             node              |
//! |                              node                             |
//! ```
//!
//! RFC 9562 section 5.6. New systems should prefer version 7.

use ::uuid::Uuid;

use super::v1::{self, CLOCK_SEQ_MAX};
use super::{GregorianTicks, Node, UuidError};

/// The UUID of version 6 with exactly these fields. Touches no generator state.
///
/// # Errors
/// `clock_seq` is above [`CLOCK_SEQ_MAX`].
///
/// ```
/// use mintage::{GregorianTicks, Timestamp, uuid6_from};
/// let at = GregorianTicks::floor(Timestamp::from_unix_millis(1_645_557_742_000))?;
/// let id = uuid6_from(at, 0x33c8, "9f:6b:de:ce:d8:46".parse()?)?;
/// assert_eq!(id.to_string(), "1ec9414c-232a-6b00-b3c8-9f6bdeced846"); // RFC 9562 appendix A.5
/// # Ok::<(), mintage::UuidError>(())
/// ```
pub const fn uuid6_from(time: GregorianTicks, clock_seq: u16, node: Node) -> Result<Uuid, UuidError> {
    if clock_seq > CLOCK_SEQ_MAX {
        return Err(v1::clock_seq_too_large(clock_seq as u64, CLOCK_SEQ_MAX as u64));
    }
    Ok(pack(time, v1::low_half(clock_seq, node)))
}

/// The same id as version 6: a permutation of the time's bits, reversible for every id.
///
/// # Errors
/// `id` is not of version 1 (and variant RFC 9562).
///
/// ```
/// use mintage::{Uuid, uuid1_to_6, uuid6_to_1};
/// let v1 = Uuid::try_parse("c232ab00-9414-11ec-b3c8-9f6bdeced846").expect("a uuid");
/// let v6 = uuid1_to_6(&v1)?;
/// assert_eq!(v6.to_string(), "1ec9414c-232a-6b00-b3c8-9f6bdeced846");
/// assert_eq!(uuid6_to_1(&v6)?, v1);
/// # Ok::<(), mintage::UuidError>(())
/// ```
pub fn uuid1_to_6(id: &Uuid) -> Result<Uuid, UuidError> {
    super::expect_version(id, 1)?;
    Ok(pack(v1::ticks_of(id), id.as_u128() as u64))
}

/// The same id as version 1: the reverse of [`uuid1_to_6`].
///
/// # Errors
/// `id` is not of version 6 (and variant RFC 9562).
pub fn uuid6_to_1(id: &Uuid) -> Result<Uuid, UuidError> {
    super::expect_version(id, 6)?;
    Ok(v1::pack(ticks_of(id), id.as_u128() as u64))
}

#[inline]
pub(crate) const fn pack(time: GregorianTicks, low_half: u64) -> Uuid {
    let ticks = time.get();
    Uuid::from_u64_pair((ticks >> 12) << 16 | 6 << 12 | ticks & 0xfff, low_half)
}

/// The ticks of a version 6 UUID.
pub(crate) const fn ticks_of(id: &Uuid) -> GregorianTicks {
    let high = (id.as_u128() >> 64) as u64;
    GregorianTicks::from_bits((high >> 16) << 12 | high & 0xfff)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn versions_1_and_6_are_one_id_in_two_orders(ticks in 0u64..1 << 60, clock_seq in 0u16..=CLOCK_SEQ_MAX, node: [u8; 6]) {
            let (time, node) = (GregorianTicks::new(ticks).expect("60 bits"), Node::from_octets(node));
            let one = v1::uuid1_from(time, clock_seq, node).expect("in range");
            let six = uuid6_from(time, clock_seq, node).expect("in range");
            prop_assert_eq!((v1::ticks_of(&one), ticks_of(&six)), (time, time));
            prop_assert_eq!(uuid1_to_6(&one), Ok(six));
            prop_assert_eq!(uuid6_to_1(&six), Ok(one));
            prop_assert_eq!((one.get_version_num(), six.get_version_num()), (1, 6));
        }

        #[test]
        fn version_6_sorts_by_time(a in 0u64..1 << 60, b in 0u64..1 << 60) {
            let id = |ticks| pack(GregorianTicks::new(ticks).expect("60 bits"), 1 << 63);
            prop_assert_eq!(id(a).cmp(&id(b)), a.cmp(&b));
        }
    }

    #[test]
    fn other_versions_are_refused() {
        let expected = Err(UuidError::Version {
            found: 6,
            expected: 1,
        });
        assert_eq!(uuid1_to_6(&pack(GregorianTicks::MIN, 1 << 63)), expected);
        assert!(uuid6_to_1(&Uuid::nil()).is_err());
        let node = Node::from_octets([0; 6]);
        assert!(uuid6_from(GregorianTicks::MIN, 1 << 14, node).is_err());
        assert!(v1::uuid1_from(GregorianTicks::MIN, 1 << 14, node).is_err());
    }
}
