//! Generator state of versions 1 and 6 (RFC 9562 section 6.3): the last tick, the clock sequence, the node.

mod owned;
#[cfg(feature = "std")]
mod process;

use core::time::Duration;

pub use owned::{V1Generator, V1State};
#[cfg(feature = "std")]
pub(crate) use process::{claim as claim_ticks, fill_v1, v6_by};
#[cfg(feature = "std")]
pub use process::{uuid1, uuid1_many, uuid6};

use super::CLOCK_SEQ_MAX;
use crate::Entropy;

const TICK: Duration = Duration::from_nanos(100);

fn random_clock_seq(entropy: &mut (impl Entropy + ?Sized)) -> u16 {
    let mut octets = [0; 2];
    entropy.fill(&mut octets);
    u16::from_be_bytes(octets) & CLOCK_SEQ_MAX
}
