//! Ids of one tick, for those who put ids together themselves out of a time and a run of sequence numbers.

use std::sync::Arc;

use mintage::{Layout, Parts, Timestamp};
use mintage_ledger::Pool;

use super::{Answer, from_ledger};
use crate::error::{Code, ServiceError};

/// Ids of one tick and worker whose sequence numbers follow each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TickRun {
    /// When their tick begins.
    pub time: Timestamp,
    /// Their worker.
    pub worker: u64,
    /// The least of their sequence numbers.
    pub first_sequence: u64,
    /// The greatest.
    pub last_sequence: u64,
}

/// Takes `count` ids of one tick. What does not fit into a tick is left out, as numbers are before a run.
pub(super) async fn take(pool: &Arc<Pool>, count: u64) -> Answer<TickRun> {
    let layout = pool.layout();
    let in_a_tick = 1u64 << layout.sequence_bits();
    if count == 0 || count > in_a_tick {
        let message = format!("{count} ids of one tick, of 1 to {in_a_tick}");
        return Err(ServiceError::new(Code::InvalidCount, message));
    }
    // Other threads mint in between, so that a run may have holes, and its tick may end.
    let mut ids = vec![0; count as usize];
    for _ in 0..TRIES_MAX {
        pool.mint(&mut ids).await.map_err(from_ledger)?;
        let (first, last) = (parts(layout, ids[0])?, parts(layout, ids[ids.len() - 1])?);
        let is_one = (first.tick, first.worker) == (last.tick, last.worker)
            && last.sequence - first.sequence == count - 1;
        if is_one {
            return Ok(TickRun {
                time: layout.time_of(first.tick),
                worker: first.worker,
                first_sequence: first.sequence,
                last_sequence: last.sequence,
            });
        }
        // Too few are left in this tick: the next run begins with the next one.
        let left = in_a_tick - 1 - last.sequence;
        if left < count {
            pool.mint(&mut ids[..left as usize]).await.map_err(from_ledger)?;
        }
    }
    let message = format!(
        "pool {} is asked for so many ids by others that {count} of one tick cannot be had",
        pool.name()
    );
    Err(ServiceError::new(Code::Unavailable, message).with_retry_after_s(1))
}

fn parts(layout: &Layout, id: u64) -> Answer<Parts> {
    let wrong = |error: mintage::LayoutError| ServiceError::new(Code::Internal, error.to_string());
    layout.unpack(id).map_err(wrong)
}

/// How often a run is tried.
const TRIES_MAX: usize = 64;
