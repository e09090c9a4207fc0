//! Unique ids of every kind: UUID v1 to v8, the Snowflake family, sequences.
//!
//! No I/O, no thread, no wait: waiting is a returned value. Time comes in through a [`Clock`], randomness
//! through an [`Entropy`]; with the `std` feature (the default) both have a system implementation, and the
//! one-line generators use them.
#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

mod clock_policy;
mod entropy;
#[cfg(feature = "std")]
mod fork;
#[cfg(feature = "std")]
mod host;
mod inspect;
#[cfg(feature = "std")]
mod keystream;
mod layout;
mod presets;
mod sequence;
mod series;
mod snowflake;
#[cfg(feature = "std")]
mod system;
mod text;
mod time;
#[cfg(feature = "std")]
mod tsc;
mod uuid;

pub use ::uuid::Uuid;
pub use clock_policy::ClockPolicy;
pub use entropy::Entropy;
#[cfg(feature = "std")]
pub use entropy::{SystemEntropy, fill_random};
#[cfg(feature = "std")]
pub use fork::fork_generation;
#[cfg(feature = "std")]
pub use host::{HostError, Interface, WorkerSource, host_name, interfaces};
pub use inspect::{FieldValue, IdTime, Reading, inspect, inspect_layout};
pub use layout::{Field, Layout, LayoutBuilder, LayoutError, Parts, Role, SequenceStart};
pub use presets::{PRESETS, Preset, preset};
pub use sequence::{Base, Run, RunIter, SequenceDef, SequenceError, SequenceOptions};
pub use series::{Series, SeriesError, date_of, day_of_date, letters_of, number_of_letters};
pub use snowflake::{MintError, Snowflake, Window};
#[cfg(feature = "std")]
pub use system::{SystemClock, boottime, clock_synchronised};
pub use text::{SnowflakeText, TextError, UuidText};
pub use time::{Clock, FixedClock, Timestamp};
pub use uuid::{
    CLOCK_SEQ_MAX, Domain, GregorianTicks, NAMESPACES, Node, Precision, UuidError, V1Generator, V1State,
    V4Generator, V7Generator, namespace, uuid1_from, uuid1_to_6, uuid2_from, uuid6_from, uuid6_to_1,
    uuid7_from, uuid8, uuid8_from,
};
#[cfg(feature = "std")]
pub use uuid::{uuid1, uuid1_many, uuid4, uuid4_many, uuid6, uuid7, uuid7_at, uuid7_lead, uuid7_many};
#[cfg(feature = "names")]
pub use uuid::{uuid3, uuid5, uuid8_sha256};
