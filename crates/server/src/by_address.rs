//! What is kept of addresses: a fixed number of places, so that no number of addresses takes more memory.

use std::hash::{BuildHasher, RandomState};

use crate::transport::Peer;

/// Something for every address; addresses that share a place share it.
#[derive(Debug)]
pub(crate) struct ByAddress<T, const PLACES: usize> {
    places: Box<[T]>,
    /// Nobody can choose an address that shares another's place.
    hasher: RandomState,
}

impl<T: Default, const PLACES: usize> Default for ByAddress<T, PLACES> {
    fn default() -> Self {
        ByAddress {
            places: (0..PLACES).map(|_| T::default()).collect(),
            hasher: RandomState::new(),
        }
    }
}

impl<T, const PLACES: usize> ByAddress<T, PLACES> {
    /// That of a client's address.
    pub(crate) fn of(&self, peer: Peer) -> &T {
        let place = self.hasher.hash_one(peer.who()) % PLACES as u64;
        &self.places[place as usize]
    }
}
