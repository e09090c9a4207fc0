//! Where a move shall come to.

use std::fmt;

use super::record::{Move, Phase};

/// Where a move shall come to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Goal {
    /// Ours serves, the source is fenced: at its mark, or at this ceiling.
    Open {
        /// The first number that the source may not reach.
        ceiling: Option<i64>,
    },
    /// Our servers take ranges out of the source.
    Beside,
    /// The source serves again.
    Back,
}

impl Goal {
    /// Whether a move is there, its deeds included.
    pub(super) fn is_reached(self, record: &Move) -> bool {
        match self {
            Goal::Open { ceiling: None } => record.phase == Phase::Open && record.ceiling.is_none(),
            Goal::Open { .. } => record.phase == Phase::Open,
            Goal::Beside => record.phase == Phase::Beside,
            Goal::Back => record.phase == Phase::Returned,
        }
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Goal::Open { ceiling: None } => "cut",
            Goal::Open { .. } => "given a ceiling",
            Goal::Beside => "set beside",
            Goal::Back => "taken back",
        })
    }
}
