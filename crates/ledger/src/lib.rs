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
mod by_use;
mod clock;
mod cluster;
mod context;
mod counters;
mod error;
mod forecast;
mod guard;
mod health;
mod init;
mod journal;
mod kept;
mod late;
mod ledger;
mod makeable;
mod notes;
mod of_moves;
mod online_backup;
mod origins;
mod outage;
mod pool;
mod range;
mod readiness;
mod rehearsal;
mod remembered;
mod sequence;
mod settings;
mod striped;
mod survey;
pub mod tools;

/// Registers, and those that databases of others keep.
mod store {
    pub(crate) use mintage_drivers::*;
    pub(crate) use mintage_store::*;

    pub(crate) use crate::late::Late;
}

use mintage_local::name;
use mintage_store::{advice, repeats, runtime};

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
#[cfg(any(test, feature = "testing"))]
pub use mintage_drivers::remembering;
pub use mintage_drivers::{
    STORES, StoreKind, check_store_url, embedded_folder, late_store, open_pinned, open_store, probe_store,
    store_folder,
};
#[cfg(feature = "zookeeper")]
pub use mintage_drivers::{open_zookeeper, zookeeper_client};
pub use mintage_elsewhere::{doctor, moves, source};
pub use mintage_local::file_system::shared_file_systems;
pub use mintage_local::name::{NAME_MAX_BYTES, Name, NameError};
pub use mintage_local::workers::{NotWorkers, WorkerRanges};
pub use mintage_store::runtime::BoxFuture;
pub use mintage_store::{
    Advice, BODY_MAX_BYTES, Cas, Claim, Class, Durability, EmbeddedStore, Initialised, Key, LateStore, Marks,
    MemoryStore, OpenMember, Outcome, Pins, Probed, Progress, Runtime, SCAN_LIMIT_MAX, Seen, Setting,
    Standing, Store, StoreError, StoreErrorKind, StoreResult, StoreSettings, SystemRuntime, TOMBSTONE_BODY,
    Value, Version, Versioned, delegate_store, embedded, fresh_token, holds_password, shown_url,
};
#[cfg(any(test, feature = "testing"))]
pub use mintage_store::{FaultCounts, FaultPlan, FaultyStore, conformance};
pub use origins::{OriginStatus, OriginUrls, Origins, TAKE_BUCKETS_US};
pub use outage::{Budget, BudgetOf, Limited, StoreStatus};
pub use pool::{
    AvoidChange, Avoided, LentWindow, MachineError, MachineInstance, MachineNumber, MappedWindow, OffProof,
    Parked, Pool, PoolIdOrigin, PoolInfo, PoolKind, PoolSpec, PoolStock, RenewalAttempt, WindowInfo,
    WindowIs, WorkerChoice,
};
pub use readiness::{NameReadiness, PartReadiness, Readiness};
pub use rehearsal::REHEARSAL_MAX;
pub use remembered::{BLOCK_NAMES_MAX, BLOCKS_MAX, EARLIER_MAX, ReservedBlock, Verdict};
pub use sequence::{
    Gap, HeldBlock, MAX_GAP_LIMIT, NumberOrigin, Origin, Passage, PassageIs, RestartAt, Sequence,
    SequenceInfo, SequencePatch, SequenceSpec, SequenceStock, SetOutcome,
};
pub use settings::LedgerSettings;
pub use striped::{AsStriped, StripeNote, Striped, stripe_of};
pub use survey::Survey;
