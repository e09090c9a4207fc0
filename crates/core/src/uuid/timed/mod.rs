//! Generators of versions 1 and 6.

mod owned;
#[cfg(feature = "std")]
mod process;

use core::time::Duration;

pub use owned::{V1Generator, V1State};
#[cfg(feature = "std")]
pub(crate) use process::{claim as claim_ticks, fill_v1, v6_by};
#[cfg(feature = "std")]
pub use process::{uuid1, uuid1_many, uuid6};

const TICK: Duration = Duration::from_nanos(100);
