//! UUIDs of every version; a file per version. Values are the ecosystem's [`uuid::Uuid`].

pub(crate) mod gregorian;
mod v4;
pub(crate) mod v7;

pub use v4::V4Generator;
#[cfg(feature = "std")]
pub use v4::{uuid4, uuid4_many};
pub use v7::V7Generator;
#[cfg(feature = "std")]
pub use v7::{uuid7, uuid7_lead, uuid7_many};
