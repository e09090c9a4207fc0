//! Who has shown wrong tokens lately.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::by_address::ByAddress;
use crate::transport::Peer;

/// Who has shown wrong tokens lately: the second of the last one, and how many there were, each in 32 bits.
#[derive(Debug, Default)]
pub(crate) struct Failures(ByAddress<AtomicU64, PLACES>);

impl Failures {
    /// Notes one more of this address; how many there were without a pause, as far as they make it wait longer.
    pub(crate) fn note(&self, peer: Peer) -> u32 {
        self.note_at(peer, mintage::boottime().as_secs() as u32)
            .min(FAILURES_MAX)
    }

    fn note_at(&self, peer: Peer, second: u32) -> u32 {
        let counted = |before: u64| {
            let (then, count) = ((before >> 32) as u32, before as u32);
            let forgotten = second.wrapping_sub(then) >= FORGOTTEN_AFTER_S;
            if forgotten { 1 } else { count.saturating_add(1) }
        };
        let next = |before| Some(u64::from(second) << 32 | u64::from(counted(before)));
        let place = self.0.of(peer);
        match place.fetch_update(Ordering::AcqRel, Ordering::Acquire, next) {
            Ok(before) | Err(before) => counted(before),
        }
    }
}

/// 8 KiB, however many addresses there are.
const PLACES: usize = 1024;
/// A pause after which an address begins anew.
const FORGOTTEN_AFTER_S: u32 = 60;
/// The most by which the delay of a wrong token is multiplied.
const FAILURES_MAX: u32 = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_shows_wrong_tokens_is_counted_until_it_pauses() {
        let failures = Failures::default();
        let peer = "10.0.0.1".parse().unwrap();
        let counts: Vec<u32> = [1000, 1000, 1030, 1089, 1149, 1150]
            .map(|second| failures.note_at(peer, second))
            .to_vec();
        assert_eq!(counts, [1, 2, 3, 4, 1, 2]);
    }
}
