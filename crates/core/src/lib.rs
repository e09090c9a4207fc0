//! Unique ids of every kind: UUID v1 to v8, the Snowflake family, sequences.
//!
//! No I/O, no thread, no wait: waiting is a returned value.
#![cfg_attr(not(feature = "std"), no_std)]

mod time;

pub use time::{Clock, FixedClock, Timestamp};
