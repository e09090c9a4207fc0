//! Durable reservation of id ranges: nothing is minted that was not first reserved.
//!
//! - a **sequence** reserves blocks of numbers ([`Sequence`]);
//! - a **pool** reserves windows, `worker w for id-timestamps [from, until)` ([`Pool`]);
//! - a **store** keeps what is reserved, as versioned registers ([`Store`]);
//! - the [`Ledger`] is all of it for one process and one store.
//!
//! The holder issues from memory and never past what it reserved, so that a crash, pause, partition, restart or
//! clock step can cost a gap, never a repeat. Time, sleep, threads and randomness come in through [`Runtime`].

mod advance;
mod advice;
mod by_use;
mod clock;
mod cluster;
mod context;
mod counters;
pub mod doctor;
mod error;
mod forecast;
mod guard;
mod health;
mod init;
mod journal;
mod ledger;
mod makeable;
pub mod moves;
mod notes;
mod online_backup;
mod origins;
mod outage;
mod pool;
mod range;
mod readiness;
mod rehearsal;
mod remembered;
mod repeats;
mod runtime;
mod sequence;
mod settings;
pub mod source;
mod store;
mod striped;
mod survey;
pub mod tools;

use mintage_local::{file_system, name};

pub use advice::Advice;
pub use clock::{AnchoredClock, ClockRefusal, ClockReport, ClockStep};
pub use cluster::ServerInfo;
pub use counters::{Counters, RESERVE_BUCKETS_US};
pub use error::{LedgerError, OriginRefusal};
pub use forecast::{Ending, Forecast, Limit};
pub use guard::LossyRules;
pub use health::Outage;
pub use init::init_store;
pub use journal::{open_journal, open_left_journal};
pub use ledger::{Changed, DEFAULT_POOL, Ledger, UUID1_POOL};
pub use makeable::Makeable;
pub use mintage_local::file_system::shared_file_systems;
pub use mintage_local::name::{NAME_MAX_BYTES, Name, NameError};
pub use origins::{OriginStatus, OriginUrls, Origins, TAKE_BUCKETS_US};
pub use outage::{Budget, BudgetOf, Limited, StoreStatus};
pub use pool::{
    AvoidChange, Avoided, LentWindow, MachineError, MachineInstance, MachineNumber, MappedWindow, NotWorkers,
    OffProof, Parked, Pool, PoolIdOrigin, PoolInfo, PoolKind, PoolSpec, PoolStock, RenewalAttempt,
    WindowInfo, WindowIs, WorkerChoice, WorkerRanges,
};
pub use readiness::{NameReadiness, PartReadiness, Readiness};
pub use rehearsal::REHEARSAL_MAX;
pub use remembered::{BLOCK_NAMES_MAX, BLOCKS_MAX, EARLIER_MAX, ReservedBlock, Verdict};
pub use runtime::{BoxFuture, Runtime, SystemRuntime, fresh_token};
pub use sequence::{
    Gap, HeldBlock, MAX_GAP_LIMIT, NumberOrigin, Origin, Passage, PassageIs, RestartAt, Sequence,
    SequenceInfo, SequencePatch, SequenceSpec, SequenceStock, SetOutcome,
};
pub use settings::LedgerSettings;
pub use store::*;
pub use striped::{OpenMember, StripeNote, Striped, stripe_of};
pub use survey::Survey;
