//! UUID version 2, DCE Security: version 1 that also names a POSIX user or group.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! |                           local_id                            |
//! |           time_mid            |  ver  |       time_high       |
//! |var| clock_seq |    domain     |             node              |
//! |                              node                             |
//! ```
//!
//! The local id takes the place of the low 32 bits of the time and the domain that of the low 8 of the clock
//! sequence (DCE 1.1, Authentication and Security Services; RFC 9562 section 5.2 leaves it to that). So the
//! time moves only every 429.5 s, and one node has 64 ids per local id in that time.

use ::uuid::Uuid;

use super::{GregorianTicks, Node, UuidError, v1};

/// What the local id of a version 2 UUID names.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Domain {
    /// 0: a person, the POSIX user id.
    Person,
    /// 1: a group, the POSIX group id.
    Group,
    /// 2: an organisation, a number of the site's own.
    Org,
}

impl Domain {
    /// The number in the id.
    pub const fn number(self) -> u8 {
        match self {
            Self::Person => 0,
            Self::Group => 1,
            Self::Org => 2,
        }
    }

    /// The domain called `person`, `group` or `org`.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "person" => Self::Person,
            "group" => Self::Group,
            "org" => Self::Org,
            _ => return None,
        })
    }
}

/// The UUID of version 2 with exactly these fields; `clock_seq` has 6 bits. Touches no generator state.
///
/// # Errors
/// `clock_seq` is above 63.
///
/// ```
/// use mintage::{Domain, GregorianTicks, Timestamp, uuid2_from};
/// let at = GregorianTicks::floor(Timestamp::from_unix_millis(1_645_557_742_000))?;
/// let id = uuid2_from(at, 0x33, "9f:6b:de:ce:d8:46".parse()?, Domain::Person, 1000)?;
/// assert_eq!(id.to_string(), "000003e8-9414-21ec-b300-9f6bdeced846");
/// # Ok::<(), mintage::UuidError>(())
/// ```
pub const fn uuid2_from(
    time: GregorianTicks,
    clock_seq: u8,
    node: Node,
    domain: Domain,
    local_id: u32,
) -> Result<Uuid, UuidError> {
    if clock_seq > 63 {
        return Err(v1::clock_seq_too_large(clock_seq as u64, 63));
    }
    let ticks = time.get();
    let high = (local_id as u64) << 32 | (ticks >> 32 & 0xffff) << 16 | 2 << 12 | ticks >> 48;
    let low = 0b10 << 62 | (clock_seq as u64) << 56 | (domain.number() as u64) << 48 | node.bits();
    Ok(Uuid::from_u64_pair(high, low))
}

/// A new UUID of version 2 for this user, group or organisation, now.
///
/// Its node and clock sequence are fresh at random in every id: 53 bits are what tells ids of one local id and
/// the same 429.5 s apart, where one node would have 64.
///
/// # Panics
/// As [`fill_random`](crate::fill_random).
///
/// ```
/// use mintage::{Domain, uuid2};
/// let (a, b) = (uuid2(Domain::Person, 1000), uuid2(Domain::Person, 1000));
/// assert_ne!(a, b);
/// assert!(a.to_string().starts_with("000003e8-"));
/// ```
#[cfg(feature = "std")]
pub fn uuid2(domain: Domain, local_id: u32) -> Uuid {
    let ticks = crate::tsc::unix_ticks() + super::gregorian::UNIX_OFFSET as u64;
    let node = Node::random(&mut crate::SystemEntropy);
    let [clock_seq] = crate::entropy::random_array();
    uuid2_from(
        GregorianTicks::from_bits(ticks),
        clock_seq & 63,
        node,
        domain,
        local_id,
    )
    .expect("six bits of clock sequence fit")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_sequence_of_seven_bits_is_refused() {
        let node = Node::from_octets([1; 6]);
        assert!(uuid2_from(GregorianTicks::MAX, 64, node, Domain::Group, 0).is_err());
        let id = uuid2_from(GregorianTicks::MAX, 63, node, Domain::Org, u32::MAX).expect("63 fits");
        assert_eq!(id.to_string(), "ffffffff-ffff-2fff-bf02-010101010101");
    }

    #[test]
    fn domains_have_names() {
        for (name, number) in [("person", 0), ("group", 1), ("org", 2)] {
            assert_eq!(Domain::from_name(name).map(Domain::number), Some(number));
        }
        assert_eq!(Domain::from_name("0"), None);
    }
}
