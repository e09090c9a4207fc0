//! Unique ids of every kind: UUID v1 to v8, the Snowflake family, sequences.
//!
//! No I/O, no thread, no wait: waiting is a returned value. Time comes in through a [`Clock`], randomness
//! through an [`Entropy`]; with the `std` feature (the default) both have a system implementation, and the
//! one-line generators use them.
//!
//! ```
//! use std::sync::Arc;
//! use mintage::{Snowflake, preset, uuid4, uuid7, uuid7_many};
//!
//! // Random, and time-ordered: strictly increasing over all threads, and never repeated by a forked child.
//! let (random, ordered) = (uuid4(), uuid7());
//! assert_eq!((random.get_version_num(), ordered.get_version_num()), (4, 7));
//!
//! // Batches go into your own memory, many times faster per id.
//! let mut ids = [mintage::Uuid::nil(); 1000];
//! uuid7_many(&mut ids);
//! assert!(ids[0] > ordered);
//!
//! // A Snowflake of any layout. Who else has worker 7? Only a reservation (crate `mintage-ledger`, or a
//! // server) keeps that unique; without one it is called what it is.
//! let layout = Arc::new(preset("twitter").expect("a preset").layout());
//! let snowflakes = Snowflake::unguarded(layout, 7)?;
//! assert!(snowflakes.mint_now()? < snowflakes.mint_now()?);
//!
//! // What is this id?
//! let now = mintage::Timestamp::from_unix_millis(1_800_000_000_000);
//! let reading = &mintage::inspect("017f22e2-79b0-7cc3-98c4-dc0c0c07398f", now)[0];
//! assert_eq!(reading.version, Some(7));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Two doors to every kind: a function that uses the process's clock and random source ([`uuid7`]), and a
//! generator that takes its own ([`V7Generator`]). Constructors of given fields or times ([`uuid1_from`],
//! [`uuid7_from`]) touch no generator.
//!
//! | feature | default | gives |
//! | --- | --- | --- |
//! | `std` | yes | system clock, random source with its fork guard, one-line generators, host names and interfaces |
//! | `names` | yes | versions 3 and 5, version 8 by SHA-256, node fingerprints |
//! | `cuid2` | yes | making CUID2, which needs SHA-3 |
//! | `serde` | no | `Serialize` and `Deserialize` for the plain data types |
//!
//! Without `std` it needs `alloc` only.
#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

mod atomic;
mod calendar;
mod clock_policy;
mod entropy;
#[cfg(feature = "std")]
mod fork;
mod format;
#[cfg(feature = "std")]
mod host;
mod inspect;
#[cfg(feature = "std")]
mod keystream;
mod layout;
mod presets;
mod sequence;
#[cfg(feature = "serde")]
mod serde_impls;
mod series;
mod snowflake;
#[cfg(feature = "std")]
mod system;
mod text;
mod time;
mod time_text;
#[cfg(feature = "std")]
mod tsc;
mod uuid;
#[cfg(feature = "names")]
mod whole;
mod word;

pub use ::uuid::Uuid;
pub use calendar::Date;
pub use clock_policy::{ClockPolicy, NotAClockPolicy};
pub use entropy::Entropy;
#[cfg(feature = "std")]
pub use entropy::{SystemEntropy, fill_random};
#[cfg(feature = "std")]
pub use fork::fork_generation;
pub use format::*;
#[cfg(feature = "std")]
pub use host::{HostError, Interface, WorkerSource, host_name, interfaces};
pub use inspect::{
    BitField, CONFIDENCE_LEAST, Damage, FOREIGN, Foreign, Reading, Refusal, Unwrapped, damage, fault,
    inspect, inspect_as, inspect_layout, inspect_layout_wide, means_none, near_miss, no_id, refusals,
    unwrapped,
};
pub use layout::{Field, FieldsText, Layout, LayoutBuilder, LayoutError, Parts, Role, SequenceStart};
pub use presets::{PRESETS, Preset, WIDE_PRESETS, preset};
pub use sequence::{Base, Run, RunIter, SequenceDef, SequenceError, SequenceOptions};
pub use series::{
    Series, SeriesError, SeriesForm, TextSeries, date_of, day_of_date, letters_of, number_of_letters,
};
pub use snowflake::{MintError, Snowflake, WideSnowflake, Window};
#[cfg(feature = "std")]
pub use system::{SystemClock, boottime, boottime_near, clock_synchronised};
pub use text::{
    Plain, SnowflakeText, TextError, UuidText, is_plain, parse_uuid, parse_uuid_lenient, uuid_text,
};
pub use time::{Clock, FixedClock, Timestamp};
pub use time_text::{NotATime, nanos_of_span};
pub use uuid::{
    CLOCK_SEQ_MAX, Domain, GregorianTicks, NAMESPACES, Node, Precision, UuidError, UuidOrder, V1Generator,
    V1State, V4Generator, V7Generator, namespace, uuid1_from, uuid1_to_6, uuid2_from, uuid6_from, uuid6_to_1,
    uuid7_from, uuid7_of_ulid, uuid8, uuid8_from,
};
#[cfg(feature = "std")]
pub use uuid::{uuid1, uuid1_many, uuid2, uuid4, uuid4_many, uuid6, uuid7, uuid7_at, uuid7_lead, uuid7_many};
#[cfg(feature = "names")]
pub use uuid::{uuid3, uuid5, uuid8_sha256};
