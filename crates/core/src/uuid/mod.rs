//! UUIDs of every version; a file per version. Values are the ecosystem's [`uuid::Uuid`].

mod v4;

pub use v4::V4Generator;
#[cfg(feature = "std")]
pub use v4::{uuid4, uuid4_many};
