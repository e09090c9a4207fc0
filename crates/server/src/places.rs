//! Places for connections: how many there are, how many of them one address and one face may have, and a few that are
//! kept for questions about the server's health.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use crate::config::Config;
use crate::metrics::{FACES_MAX, FaceId};
use crate::transport::Peer;

/// All places.
#[derive(Debug)]
pub struct Places {
    taken: Mutex<Taken>,
}

#[derive(Debug)]
struct Limits {
    max: u64,
    per_address: u64,
    per_face: u64,
    for_health: u64,
    /// Who comes from this machine may do everything where no token is needed, so nothing is won by a limit.
    loopback_counts: bool,
}

#[derive(Debug)]
struct Taken {
    limits: Limits,
    all: u64,
    for_health: u64,
    by_face: [u64; FACES_MAX],
    /// As many entries as there are connections at most.
    by_address: HashMap<IpAddr, Count>,
}

#[derive(Debug, Default)]
struct Count {
    all: u64,
    for_health: u64,
}

/// A place, given back when dropped.
#[derive(Debug)]
pub struct ConnectionPlace {
    places: Arc<Places>,
    address: IpAddr,
    face: FaceId,
    for_health: bool,
}

impl Places {
    /// The places of a configuration.
    pub fn new(config: &Config) -> Arc<Places> {
        Arc::new(Places {
            taken: Mutex::new(Taken {
                limits: Limits::of(config),
                all: 0,
                for_health: 0,
                by_face: [0; FACES_MAX],
                by_address: HashMap::new(),
            }),
        })
    }

    /// Another configuration holds for whoever comes from here on.
    pub fn limit(&self, config: &Config) {
        self.taken.lock().expect("no panic while held").limits = Limits::of(config);
    }

    /// Takes a place for a connection of a face from `peer`, if there is one for it; with `answers_health` also one of those that
    /// are kept for questions about the server's health.
    ///
    /// ```
    /// use mintage_server::config::{Auto, Config};
    /// use mintage_server::metrics::FaceId;
    /// use mintage_server::places::Places;
    /// let config = Config { max_connections: 3, max_connections_per_address: Auto(Some(2)), ..Config::default() };
    /// let places = Places::new(&config);
    /// let (one, other) = ("10.0.0.1".parse()?, "10.0.0.2".parse()?);
    /// let (face, for_health_too, not_for_health) = (FaceId::new(0), true, false);
    /// let taken = [places.take(face, not_for_health, one), places.take(face, not_for_health, one)];
    /// assert!(taken.iter().all(Option::is_some) && places.take(face, not_for_health, one).is_none());
    /// let last = places.take(face, not_for_health, other).expect("its first");
    /// // What is left is for questions about health, which only some faces answer.
    /// assert!(places.take(face, not_for_health, other).is_none());
    /// assert!(places.take(face, for_health_too, other).is_some_and(|place| place.is_for_health()));
    /// drop(last);
    /// assert!(places.take(face, for_health_too, other).is_some_and(|place| !place.is_for_health()));
    /// # Ok::<(), std::net::AddrParseError>(())
    /// ```
    pub fn take(self: &Arc<Self>, face: FaceId, answers_health: bool, peer: Peer) -> Option<ConnectionPlace> {
        let address = peer.who();
        let mut taken = self.taken.lock().expect("no panic while held");
        let taken = &mut *taken;
        let limits = &taken.limits;
        let count = taken.by_address.entry(address).or_default();
        let counts = limits.loopback_counts || !address.is_loopback();
        // An address has a quarter of the places for health, so that it cannot take them all either.
        let quarter = limits.for_health.div_ceil(4);
        let of_face = &mut taken.by_face[face.at()];
        let fits = taken.all < limits.max && *of_face < limits.per_face;
        let for_health = if fits && (!counts || count.all < limits.per_address) {
            taken.all += 1;
            *of_face += 1;
            count.all += 1;
            false
        } else if answers_health && taken.for_health < limits.for_health && count.for_health < quarter {
            taken.for_health += 1;
            count.for_health += 1;
            true
        } else {
            if count.all + count.for_health == 0 {
                taken.by_address.remove(&address);
            }
            return None;
        };
        Some(ConnectionPlace {
            places: Arc::clone(self),
            address,
            face,
            for_health,
        })
    }
}

impl Limits {
    fn of(config: &Config) -> Limits {
        let half = (config.max_connections / 2).max(1);
        Limits {
            max: config.max_connections,
            per_address: config.max_connections_per_address.0.unwrap_or(half),
            per_face: config
                .max_connections_per_face
                .0
                .unwrap_or(config.max_connections),
            for_health: config.http_health_connections,
            loopback_counts: config.wants_tokens(),
        }
    }
}

impl ConnectionPlace {
    /// Whether only questions about the server's health are answered here.
    pub fn is_for_health(&self) -> bool {
        self.for_health
    }
}

impl Drop for ConnectionPlace {
    fn drop(&mut self) {
        let mut taken = self.places.taken.lock().expect("no panic while held");
        let taken = &mut *taken;
        let Some(count) = taken.by_address.get_mut(&self.address) else {
            return;
        };
        match self.for_health {
            true => (taken.for_health, count.for_health) = (taken.for_health - 1, count.for_health - 1),
            false => {
                (taken.all, count.all) = (taken.all - 1, count.all - 1);
                taken.by_face[self.face.at()] -= 1;
            }
        }
        if count.all + count.for_health == 0 {
            taken.by_address.remove(&self.address);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Auto;

    const FACE: FaceId = FaceId::new(0);

    fn places(max: u64, per_address: Option<u64>) -> Arc<Places> {
        Places::new(&Config {
            max_connections: max,
            max_connections_per_address: Auto(per_address),
            ..Config::default()
        })
    }

    #[test]
    fn an_address_has_half_of_the_places_and_this_machine_all() {
        let places = places(4, None);
        let far = "10.0.0.1".parse().unwrap();
        let taken = [(); 3].map(|()| places.take(FACE, false, far));
        assert_eq!(taken.iter().flatten().count(), 2);
        drop(taken);
        let near = "127.0.0.1".parse().unwrap();
        let taken = [(); 5].map(|()| places.take(FACE, false, near));
        assert_eq!(taken.iter().flatten().count(), 4);
        drop(taken);
        assert!(places.taken.lock().unwrap().by_address.is_empty());
    }

    #[test]
    fn a_face_leaves_the_rest_to_the_others() {
        let places = Places::new(&Config {
            max_connections: 4,
            max_connections_per_face: Auto(Some(2)),
            ..Config::default()
        });
        let (other, near) = (FaceId::new(1), "127.0.0.1".parse().unwrap());
        let mut taken = [(); 3].map(|()| places.take(FACE, false, near));
        assert_eq!(taken.iter().flatten().count(), 2);
        assert!(places.take(FACE, true, near).unwrap().is_for_health());
        assert!(places.take(other, false, near).is_some());
        taken[0] = None;
        assert!(places.take(FACE, false, near).is_some());
    }

    #[test]
    fn one_address_cannot_take_all_places_for_health() {
        let places = places(1, Some(1));
        let address = |n: u8| Peer::Tcp(([10, 0, 0, n], 1).into());
        let _first = places.take(FACE, false, address(1)).unwrap();
        let taken = [(); 9].map(|()| places.take(FACE, true, address(1)));
        assert_eq!(taken.iter().flatten().count(), 4);
        assert!(taken.iter().flatten().all(ConnectionPlace::is_for_health));
        assert!(places.take(FACE, true, address(2)).is_some());
        assert!(places.take(FACE, false, address(2)).is_none());
    }
}
