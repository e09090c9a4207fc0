//! From ULIDs to UUIDs and back.
//!
//! Both have 128 bits, and the exact mapping keeps all of them: the ULID's bytes are the UUID's, and
//! [`UuidText::Base32`](crate::UuidText::Base32) writes the one as the other. What comes out sorts the same and
//! comes back; it says nothing true about version and variant, which are random bits of the ULID.

use ::uuid::Uuid;

/// The version 7 with the time and the random bits of a ULID, but for six of them, which give way to version
/// and variant: 64 ULIDs become one, and the way back is closed.
///
/// ```
/// use mintage::{Uuid, uuid7_of_ulid};
/// let ulid = Uuid::from_u128(0x0161_4d3b_9b41_ffff_ffff_ffff_ffff_ffff);
/// assert_eq!(uuid7_of_ulid(&ulid).to_string(), "01614d3b-9b41-7fff-bfff-ffffffffffff");
/// assert_eq!(uuid7_of_ulid(&mintage::uuid7()).get_version_num(), 7);
/// ```
pub fn uuid7_of_ulid(ulid: &Uuid) -> Uuid {
    super::stamp(ulid.as_u128(), 7)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_uuid_of_version_7_stays_what_it_is(bits: u128) {
            let id = uuid7_of_ulid(&Uuid::from_u128(bits));
            prop_assert_eq!((id.get_version_num(), id.get_variant()), (7, ::uuid::Variant::RFC4122));
            prop_assert_eq!(uuid7_of_ulid(&id), id);
            prop_assert_eq!((id.as_u128() ^ bits) & !(0xf << 76 | 0b11 << 62), 0);
        }
    }
}
