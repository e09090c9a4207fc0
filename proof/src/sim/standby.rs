//! A standby that is away: what it has, and what the primary has shown since.

use mintage_ledger::{Key, Versioned};

use super::process::Registers;
use super::wire::Ask;

/// A standby that is away.
pub(super) struct Standby {
    pub(super) kept: Registers,
    /// What was written since.
    pub(super) shown: Vec<Shown>,
}

pub(super) struct Shown {
    pub(super) process: usize,
    pub(super) member: usize,
    pub(super) ask: Ask,
    pub(super) key: Key,
    pub(super) before: Option<Versioned>,
    pub(super) after: Option<Versioned>,
}
