//! What every part of one ledger shares.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

use crate::clock::AnchoredClock;
use crate::counters::Counters;
use crate::runtime::Runtime;
use crate::settings::LedgerSettings;
use crate::store::Store;

#[derive(Debug)]
pub(crate) struct Context {
    pub store: Arc<dyn Store>,
    pub runtime: Arc<dyn Runtime>,
    pub settings: LedgerSettings,
    pub clock: AnchoredClock,
    pub counters: Counters,
    /// This process (protocol R4); random, new at every start.
    pub instance: u128,
    /// How many sequences exist.
    pub sequences: AtomicU64,
    /// No new work is begun.
    pub closing: AtomicBool,
}
