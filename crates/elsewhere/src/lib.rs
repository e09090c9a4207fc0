//! Counters and workers that other systems keep: what they are, what is wrong with them, and how they come to us and go back.
//!
//! - a **source** reads, takes from, and fences counters in the databases of the systems that people come from ([`source`]);
//! - the **doctor** says what ends, has repeated or will, by looking alone ([`doctor`]);
//! - a **move** brings a counter here, beside its original, and back ([`moves`]); our side is a trait to it.

pub mod doctor;
pub mod moves;
pub mod source;

/// Registers' answers, and connections to databases of others.
mod store {
    #[allow(unused_imports, reason = "a build without drivers has no use for them")]
    pub(crate) use mintage_drivers::*;
    pub(crate) use mintage_store::*;
}

use mintage_local::{name, workers};
use mintage_store::runtime;
#[cfg(test)]
use mintage_store::{Runtime, SystemRuntime};
