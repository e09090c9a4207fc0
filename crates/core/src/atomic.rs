//! The atomics of the generators: the processor's, or loom's, under which a test walks through every
//! interleaving (`cargo xtask loom`).

#[cfg(not(loom))]
pub(crate) use core::sync::atomic::{AtomicU64, Ordering};
#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU64, Ordering};
