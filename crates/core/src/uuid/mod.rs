//! UUIDs of every version; a file per version. Values are the ecosystem's [`uuid::Uuid`].

mod error;
pub(crate) mod gregorian;
mod names;
mod node;
mod order;
mod timed;
mod ulid;
pub(crate) mod v1;
mod v2;
mod v4;
pub(crate) mod v6;
pub(crate) mod v7;
mod v8;

use ::uuid::Uuid;

pub use error::UuidError;
pub use gregorian::GregorianTicks;
pub use names::{NAMESPACES, namespace};
#[cfg(feature = "names")]
pub use names::{uuid3, uuid5, uuid8_sha256};
pub use node::Node;
pub use order::UuidOrder;
pub use timed::{V1Generator, V1State};
#[cfg(feature = "std")]
pub(crate) use timed::{claim_ticks, fill_v1, v6_by};
#[cfg(feature = "std")]
pub use timed::{uuid1, uuid1_many, uuid6};
pub use ulid::uuid7_of_ulid;
pub use v1::{CLOCK_SEQ_MAX, uuid1_from};
#[cfg(feature = "std")]
pub use v2::uuid2;
pub use v2::{Domain, uuid2_from};
pub use v4::V4Generator;
#[cfg(feature = "std")]
pub use v4::{uuid4, uuid4_many};
pub use v6::{uuid1_to_6, uuid6_from, uuid6_to_1};
pub use v7::{Precision, V7Generator, uuid7_from};
#[cfg(feature = "std")]
pub use v7::{uuid7, uuid7_at, uuid7_lead, uuid7_many};
pub use v8::{uuid8, uuid8_from};

/// Puts version and the RFC 9562 variant into 128 bits.
pub(crate) const fn stamp(bits: u128, version: u8) -> Uuid {
    Uuid::from_u128(bits & !(0xf << 76 | 0b11 << 62) | (version as u128) << 76 | 0b10 << 62)
}

/// Refuses a UUID that is not of `expected` version and the RFC 9562 variant.
pub(crate) fn expect_version(id: &Uuid, expected: u8) -> Result<(), UuidError> {
    let octets = id.as_bytes();
    let found = if octets[8] >> 6 == 0b10 { octets[6] >> 4 } else { 0 };
    if found == expected {
        Ok(())
    } else {
        Err(UuidError::Version { found, expected })
    }
}
