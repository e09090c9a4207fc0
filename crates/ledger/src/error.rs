//! What a ledger operation answers when it cannot do what was asked.

use crate::advice::Advice;
use crate::makeable::Makeable;
use crate::name::{Name, NameError};
use crate::store::{StoreError, StoreErrorKind};

/// Why a ledger operation was refused or failed. Each text says what was asked and what was found; faces add
/// what to do.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum LedgerError {
    /// There is no such sequence.
    #[error("no sequence {name}")]
    NotFound {
        /// The name asked for.
        name: Name,
    },
    /// There is no such pool.
    #[error("no pool {name}")]
    NoPool {
        /// The name asked for.
        name: Name,
    },
    /// The name exists with another definition.
    #[error("sequence {name} exists with another definition: {difference}")]
    Exists {
        /// The name asked for.
        name: Name,
        /// The first field that differs, with both values.
        difference: String,
    },
    /// The pool exists with another definition.
    #[error("pool {name} exists with another definition: {difference}")]
    PoolExists {
        /// The name asked for.
        name: Name,
        /// The first part that differs, with both values.
        difference: String,
    },
    /// Somebody still mints from the pool, or may.
    #[error("pool {name} is in use: {why}")]
    PoolInUse {
        /// The pool's name.
        name: Name,
        /// Who holds what until when.
        why: String,
    },
    /// A worker cannot be avoided, or not be used again yet, because somebody may be minting with it.
    #[error("worker {worker} of pool {name} {why}")]
    WorkerInUse {
        /// The pool's name.
        name: Name,
        /// The worker.
        worker: u64,
        /// Who may be minting with it.
        why: String,
    },
    /// A dropped pool is made again with another layout, whose ids could equal those it gave out.
    #[error("pool {name} was dropped, and what it gave out was of layout {layout}")]
    PoolDropped {
        /// The pool's name.
        name: Name,
        /// Everything that decided which ids collide.
        layout: String,
    },
    /// The worker has no window in the pool.
    #[error("pool {name} has no window of worker {worker}")]
    NoWindow {
        /// The pool's name.
        name: Name,
        /// The worker asked for.
        worker: u64,
    },
    /// The window belongs to somebody else by now, or was written since: its former holder stops minting.
    #[error("window {worker} of pool {name} is no longer yours")]
    WindowLost {
        /// The pool's name.
        name: Name,
        /// The worker.
        worker: u64,
    },
    /// The name does not fit the grammar.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The definition or value makes no sense; nothing was changed.
    #[error("{0}")]
    Invalid(String),
    /// The sequence has reached its bound and does not cycle.
    #[error("sequence {name} has reached its {} value ({bound})", if *.at_max { "maximum" } else { "minimum" })]
    Exhausted {
        /// The sequence's name.
        name: Name,
        /// The bound reached.
        bound: i64,
        /// Whether it is the upper bound.
        at_max: bool,
    },
    /// Fewer numbers are left before the bound (or before a wrap) than one contiguous run needs.
    #[error("sequence {name} has {left} numbers left before its bound, a run of {asked} was asked for")]
    RunTooLong {
        /// The sequence's name.
        name: Name,
        /// How many were asked for.
        asked: u64,
        /// How many are left.
        left: u64,
    },
    /// A move backwards was asked for where only forward is allowed.
    #[error("{name} is at {at}, SET only moves forward")]
    OnlyForward {
        /// The sequence's name.
        name: Name,
        /// Where it is.
        at: i64,
    },
    /// The change could repeat numbers.
    #[error("{name}: {why}; this can repeat numbers and needs allow_repeat")]
    NeedsAllowRepeat {
        /// The sequence's name.
        name: Name,
        /// What would make numbers repeat.
        why: String,
    },
    /// The sequence takes its numbers out of a counter elsewhere, which gives none, and will not by itself.
    #[error(transparent)]
    OriginRefuses(Box<OriginRefusal>),
    /// No further sequences may be made.
    #[error("cannot make sequence {name}: there are {max} already")]
    TooMany {
        /// The name asked for.
        name: Name,
        /// The limit.
        max: u64,
    },
    /// No further sequences may be dropped.
    #[error(
        "cannot drop sequence {name}: {max} dropped names are remembered already, so that their numbers never come again"
    )]
    TooManyDropped {
        /// The name asked for.
        name: Name,
        /// The limit.
        max: u64,
    },
    /// Unknown names are not made by use.
    #[error(
        "no {kind} {name}, and a first use makes none (sequences.auto_create = false): {}",
        .kind.how_it_comes()
    )]
    NoAutoCreate {
        /// What was asked for.
        kind: Makeable,
        /// The name asked for.
        name: Name,
    },
    /// Its counter elsewhere is being moved here, or back: nothing is given out meanwhile.
    #[error("sequence {name} is being moved, its counter was {place}")]
    Moving {
        /// The sequence's name.
        name: Name,
        /// Where its counter is.
        place: String,
    },
    /// It was given back: the original gives the numbers again.
    #[error("sequence {name} was moved back: {place} gives its numbers")]
    MovedBack {
        /// The sequence's name.
        name: Name,
        /// Where its counter is.
        place: String,
    },
    /// Its numbers are taken out of a counter elsewhere, which alone says where it stands.
    #[error(
        "sequence {name} takes its numbers out of {place} while it is moved, and is not changed meanwhile"
    )]
    Beside {
        /// The sequence's name.
        name: Name,
        /// The name of the source.
        place: String,
    },
    /// A move of a name that is used here already.
    #[error("sequence {name} is used here already: {why}")]
    NameUsed {
        /// The name asked for.
        name: Name,
        /// What it is and gave out.
        why: String,
    },
    /// A step of a move that came too late: a later one was made.
    #[error("another import is moving {name}")]
    StepLost {
        /// The sequence's name.
        name: Name,
    },
    /// For the moment nothing can be given out.
    #[error("{message}")]
    Unavailable {
        /// What is missing.
        message: String,
        /// When to try again, in seconds; at least 1.
        retry_after_s: u64,
    },
    /// The wall clock went back, and the pool's clock policy does not mint then.
    #[error("pool {name}: the clock went back by {} ms, and its clock policy is {policy}", .by.as_millis().max(1))]
    ClockBack {
        /// The pool's name.
        name: Name,
        /// By how much.
        by: std::time::Duration,
        /// The policy.
        policy: mintage::ClockPolicy,
    },
    /// The time field of a layout is full: no id of it can be made any more.
    #[error("pool {name}: the time field of its layout ended; no more ids can be made with it")]
    TimeFieldFull {
        /// The pool's name.
        name: Name,
    },
    /// A sync failed, a record is damaged or an invariant broke: nothing is minted any more.
    #[error("stopped for good: {0}")]
    Stopped(StoreError),
    /// The ledger is closing.
    #[error("closing")]
    Closing,
    /// The store refused.
    #[error("{0}")]
    Store(StoreError),
}

/// Why a counter elsewhere gives a sequence no numbers.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[error("sequence {name} takes its numbers from {from}: {why}")]
pub struct OriginRefusal {
    /// The sequence's name.
    pub name: Name,
    /// The source and the counter there.
    pub from: String,
    /// What was asked and found.
    pub why: String,
    /// What would help.
    pub advice: Option<Advice>,
    /// Whether that counter has no further number.
    pub has_ended: bool,
}

impl LedgerError {
    /// For the moment: worth asking again after a second.
    pub(crate) fn unavailable(message: impl Into<String>) -> Self {
        LedgerError::Unavailable {
            message: message.into(),
            retry_after_s: RETRY_AFTER_S,
        }
    }
}

/// What a store error means for the caller of a ledger operation.
impl From<StoreError> for LedgerError {
    fn from(error: StoreError) -> Self {
        match error.kind {
            StoreErrorKind::Unavailable => LedgerError::unavailable(error.message),
            StoreErrorKind::Stopped | StoreErrorKind::Corrupt | StoreErrorKind::Foreign => {
                LedgerError::Stopped(error)
            }
            StoreErrorKind::Denied | StoreErrorKind::InUse | StoreErrorKind::Invalid => {
                LedgerError::Store(error)
            }
        }
    }
}

/// When to come back after the store was not reachable.
const RETRY_AFTER_S: u64 = 1;
