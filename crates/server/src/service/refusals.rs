//! What the ledger's refusals are called towards clients.

use mintage_ledger::{LedgerError, StoreError};

use crate::advice;
use crate::error::{Code, ServiceError};

/// What a ledger's refusal is called towards clients, and what they can do.
pub fn from_ledger(error: LedgerError) -> ServiceError {
    let message = error.to_string();
    match error {
        LedgerError::Name(_) => ServiceError::new(Code::InvalidName, message)
            .with_hint("a name is any UTF-8 text of 1 to 255 bytes without control characters"),
        // The last says in its message what to do: faces of other systems show no hint.
        LedgerError::NotFound { .. }
        | LedgerError::NoPool { .. }
        | LedgerError::NoWindow { .. }
        | LedgerError::NoAutoCreate { .. } => ServiceError::new(Code::NotFound, message),
        LedgerError::WindowLost { .. } => ServiceError::new(Code::Conflict, message)
            .with_hint("stop minting with it and take another window"),
        LedgerError::PoolInUse { .. } => ServiceError::new(Code::Conflict, message).with_hint(
            "a window ends by itself some time after its holder stops; this server lets go a minute after its last id",
        ),
        LedgerError::WorkerInUse { .. } => ServiceError::new(Code::Conflict, message).with_hint(
            "nothing was changed: a number has one generator at a time, and is used again an hour after its last",
        ),
        LedgerError::PoolDropped { .. } => ServiceError::new(Code::Exists, message)
            .with_hint("make it with that layout again, or take another name: ids of two layouts can be equal"),
        LedgerError::Exists { .. } | LedgerError::PoolExists { .. } => {
            ServiceError::new(Code::Exists, message)
                .with_hint("change the definition instead, or take another name")
        }
        LedgerError::Invalid(_) => ServiceError::new(Code::InvalidArgument, message),
        LedgerError::OriginRefuses(refusal) => {
            let error = match refusal.has_ended {
                true => ServiceError::new(Code::Exhausted, message),
                false => ServiceError::new(Code::Unavailable, message).with_retry_after_s(STORE_RETRY_S),
            };
            match refusal.advice {
                Some(advice) => error.with_hint(advice::words(advice)),
                None => error,
            }
        }
        LedgerError::Exhausted { .. }
        | LedgerError::RunTooLong { .. }
        | LedgerError::TimeFieldFull { .. } => ServiceError::new(Code::Exhausted, message),
        LedgerError::OnlyForward { .. } => ServiceError::new(Code::OnlyForward, message)
            .with_hint("restart with allow_repeat goes back, loudly"),
        LedgerError::NeedsAllowRepeat { .. } => ServiceError::new(Code::NeedsAllowRepeat, message)
            .with_hint("set allow_repeat if repeats are acceptable"),
        LedgerError::TooMany { .. } => ServiceError::new(Code::TooMany, message)
            .with_hint("raise sequences.max_sequences, or drop what is unused"),
        LedgerError::TooManyDropped { .. } => ServiceError::new(Code::TooMany, message)
            .with_hint("use dropped names again, or raise sequences.max_dropped"),
        LedgerError::ClockBack { by, .. } => ServiceError::new(Code::ClockBack, message)
            .with_hint("set the clock right, or give the pool the clock policy hold")
            .with_retry_after_s(by.as_secs().clamp(1, 60))
            .with_clock_back(by),
        LedgerError::Moving { .. } => ServiceError::new(Code::Moving, message)
            .with_hint("ask again: this lasts as long as its counter is being moved; mint import --status shows how far it is")
            .with_retry_after_s(1),
        LedgerError::MovedBack { .. } => ServiceError::new(Code::MovedBack, message)
            .with_hint("ask the original for its numbers, or move it here again with mint import"),
        LedgerError::Beside { .. } => {
            ServiceError::new(Code::Conflict, message).with_hint("end the move first: mint import --cut, or --back")
        }
        LedgerError::NameUsed { .. } => ServiceError::new(Code::Exists, message)
            .with_hint("take another name with --name, or set this one forward with --into-used"),
        LedgerError::StepLost { .. } => {
            ServiceError::new(Code::Conflict, message).with_hint("look with mint import --status")
        }
        LedgerError::Unavailable { retry_after_s, .. } => {
            ServiceError::new(Code::Unavailable, message).with_retry_after_s(retry_after_s)
        }
        LedgerError::Closing => {
            ServiceError::new(Code::Unavailable, ServiceError::STOPPING).with_retry_after_s(1)
        }
        LedgerError::Stopped(store) => with_hint_of(ServiceError::new(Code::Stopped, message), store),
        LedgerError::Store(store) => with_hint_of(
            ServiceError::new(Code::Unavailable, message).with_retry_after_s(STORE_RETRY_S),
            store,
        ),
    }
}

fn with_hint_of(error: ServiceError, store: StoreError) -> ServiceError {
    match store.hint {
        Some(hint) => error.with_hint(advice::words(hint)),
        None => error,
    }
}

/// When to ask again after the store refused for a reason that an operator has to remove.
const STORE_RETRY_S: u64 = 5;
