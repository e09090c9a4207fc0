//! Where a generator stands: a tick in the high bits of one word, a counter in the low ones.
//!
//! Two kernels move such a word, and every generator that counts so uses one of them. [`windowed`] adds, between the
//! place of the clock and an end. [`seeded`] swaps in what it made of the word that it saw, so that a counter may
//! begin anywhere in a new tick; it is written once for a word that threads share (`&AtomicU64`) and for one that a
//! generator owns (`&mut`). `tests/loom/kernels.rs` walks through both. They know places alone; [`Reach`] says which
//! are within reach of the clock, and the generator what a refusal means.
// Without std there are no generators of the process, which some of this is for.
#![cfg_attr(not(feature = "std"), allow(dead_code))]

mod reach;
pub(crate) mod seeded;
pub(crate) mod windowed;

pub(crate) use reach::{Reach, ticks_in};

use crate::atomic::AtomicU64;

/// A word on cache lines of its own: what lies beside a word that every thread changes would be slow to read.
#[repr(align(128))]
pub(crate) struct OwnLine(pub(crate) AtomicU64);
