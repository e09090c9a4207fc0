//! Why a call to a source failed.

use std::fmt;

use crate::store::{Outcome, StoreError, StoreErrorKind};

/// What went wrong, as far as the caller's next step depends on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SourceErrorKind {
    /// Not reachable, too slow, or locked by others; may pass.
    Unavailable,
    /// The account may not do this; [`SourceError::fix`] says what would allow it.
    Denied,
    /// There is no such counter, or it went away.
    Gone,
    /// Somebody else's fence stands there, or the fence is not as this move left it.
    Foreign,
    /// The source cannot do this, or not like that: nothing was changed.
    Refused,
    /// The counter has no further number.
    Exhausted,
    /// The URL or a key makes no sense.
    Invalid,
}

/// A failed call: what was asked, what was found, what to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourceError {
    /// What the caller can base its next step on.
    pub kind: SourceErrorKind,
    /// Whether anything was changed.
    pub outcome: Outcome,
    /// What was asked and found, in words.
    pub message: String,
    /// What to do: a statement to run where one helps.
    pub fix: Option<String>,
}

impl SourceError {
    /// An error of a call that certainly changed nothing.
    ///
    /// ```
    /// use mintage_elsewhere::source::{SourceError, SourceErrorKind};
    /// let error = SourceError::new(SourceErrorKind::Gone, "no sequence public.orders");
    /// assert_eq!(error.to_string(), "no sequence public.orders");
    /// ```
    pub fn new(kind: SourceErrorKind, message: impl Into<String>) -> SourceError {
        SourceError {
            kind,
            outcome: Outcome::NotDone,
            message: message.into(),
            fix: None,
        }
    }

    /// The same of a call that may have done what was asked.
    #[must_use]
    pub fn unknown(self) -> SourceError {
        SourceError {
            outcome: Outcome::Unknown,
            ..self
        }
    }

    /// The same with what to do.
    #[must_use]
    pub fn with_fix(self, fix: impl Into<String>) -> SourceError {
        SourceError {
            fix: Some(fix.into()),
            ..self
        }
    }
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for SourceError {}

/// What the reader of a URL or a driver that the stores share says.
impl From<StoreError> for SourceError {
    fn from(error: StoreError) -> SourceError {
        let kind = match error.kind {
            StoreErrorKind::Denied => SourceErrorKind::Denied,
            StoreErrorKind::Invalid => SourceErrorKind::Invalid,
            StoreErrorKind::Unavailable | StoreErrorKind::InUse => SourceErrorKind::Unavailable,
            StoreErrorKind::Corrupt | StoreErrorKind::Foreign | StoreErrorKind::Stopped => {
                SourceErrorKind::Refused
            }
        };
        SourceError {
            kind,
            outcome: error.outcome,
            message: error.message,
            fix: None,
        }
    }
}
