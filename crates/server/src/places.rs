//! Places for connections: how many there are, how many of them one address may have, and a few that are kept for
//! questions about the server's health.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex};

use crate::config::Config;
use crate::metrics::Face;

/// All places.
#[derive(Debug)]
pub struct Places {
    taken: Mutex<Taken>,
}

#[derive(Debug)]
struct Limits {
    max: u64,
    per_address: u64,
    for_health: u64,
    /// Who comes from this machine may do everything where no token is needed, so nothing is won by a limit.
    loopback_counts: bool,
}

#[derive(Debug)]
struct Taken {
    limits: Limits,
    all: u64,
    for_health: u64,
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
pub struct Place {
    places: Arc<Places>,
    address: IpAddr,
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
                by_address: HashMap::new(),
            }),
        })
    }

    /// Another configuration holds for whoever comes from here on.
    pub fn limit(&self, config: &Config) {
        self.taken.lock().expect("no panic while held").limits = Limits::of(config);
    }

    /// Takes a place for a connection from `peer`, if there is one for it.
    ///
    /// ```
    /// use mintage_server::config::{Auto, Config};
    /// use mintage_server::metrics::Face;
    /// use mintage_server::places::Places;
    /// let config = Config { max_connections: 3, max_connections_per_address: Auto(Some(2)), ..Config::default() };
    /// let places = Places::new(&config);
    /// let (one, other) = ("10.0.0.1".parse()?, "10.0.0.2".parse()?);
    /// let taken = [places.take(Face::Resp, one), places.take(Face::Resp, one)];
    /// assert!(taken.iter().all(Option::is_some) && places.take(Face::Resp, one).is_none());
    /// let last = places.take(Face::Resp, other).expect("its first");
    /// // What is left is for questions about health, which HTTP alone answers.
    /// assert!(places.take(Face::Resp, other).is_none());
    /// assert!(places.take(Face::Http, other).is_some_and(|place| place.is_for_health()));
    /// drop(last);
    /// assert!(places.take(Face::Http, other).is_some_and(|place| !place.is_for_health()));
    /// # Ok::<(), std::net::AddrParseError>(())
    /// ```
    pub fn take(self: &Arc<Self>, face: Face, peer: IpAddr) -> Option<Place> {
        let address = who(peer);
        let mut taken = self.taken.lock().expect("no panic while held");
        let taken = &mut *taken;
        let limits = &taken.limits;
        let count = taken.by_address.entry(address).or_default();
        let counts = limits.loopback_counts || !address.is_loopback();
        // An address has a quarter of the places for health, so that it cannot take them all either.
        let quarter = limits.for_health.div_ceil(4);
        let for_health = if taken.all < limits.max && (!counts || count.all < limits.per_address) {
            taken.all += 1;
            count.all += 1;
            false
        } else if face == Face::Http && taken.for_health < limits.for_health && count.for_health < quarter {
            taken.for_health += 1;
            count.for_health += 1;
            true
        } else {
            if count.all + count.for_health == 0 {
                taken.by_address.remove(&address);
            }
            return None;
        };
        Some(Place {
            places: Arc::clone(self),
            address,
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
            for_health: config.http_health_connections,
            loopback_counts: !config.tokens.is_empty(),
        }
    }
}

impl Place {
    /// Whether only questions about the server's health are answered here.
    pub fn is_for_health(&self) -> bool {
        self.for_health
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.taken.lock().expect("no panic while held");
        let taken = &mut *taken;
        let Some(count) = taken.by_address.get_mut(&self.address) else {
            return;
        };
        match self.for_health {
            true => (taken.for_health, count.for_health) = (taken.for_health - 1, count.for_health - 1),
            false => (taken.all, count.all) = (taken.all - 1, count.all - 1),
        }
        if count.all + count.for_health == 0 {
            taken.by_address.remove(&self.address);
        }
    }
}

/// Whose connections count together: those of an IPv4 address, or of an IPv6 network, which one machine has whole.
pub(crate) fn who(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V6(address) => {
            let network = address.to_bits() & !u128::from(u64::MAX);
            match address.is_loopback() {
                true => address.into(),
                false => Ipv6Addr::from_bits(network).into(),
            }
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Auto;

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
        let taken = [(); 3].map(|()| places.take(Face::Resp, far));
        assert_eq!(taken.iter().flatten().count(), 2);
        drop(taken);
        let near = "127.0.0.1".parse().unwrap();
        let taken = [(); 5].map(|()| places.take(Face::Resp, near));
        assert_eq!(taken.iter().flatten().count(), 4);
        drop(taken);
        assert!(places.taken.lock().unwrap().by_address.is_empty());
    }

    #[test]
    fn a_network_of_one_machine_is_one_address() {
        let who = |text: &str| who(text.parse().unwrap());
        assert_eq!(who("2001:db8::1"), who("2001:db8::ffff:1"));
        assert_ne!(who("2001:db8::1"), who("2001:db8:0:1::1"));
        assert_eq!(who("::ffff:10.0.0.1"), who("10.0.0.1"));
        assert!(who("::1").is_loopback());
    }

    #[test]
    fn one_address_cannot_take_all_places_for_health() {
        let places = places(1, Some(1));
        let address = |n: u8| IpAddr::from([10, 0, 0, n]);
        let _first = places.take(Face::Resp, address(1)).unwrap();
        let taken = [(); 9].map(|()| places.take(Face::Http, address(1)));
        assert_eq!(taken.iter().flatten().count(), 4);
        assert!(taken.iter().flatten().all(Place::is_for_health));
        assert!(places.take(Face::Http, address(2)).is_some());
        assert!(places.take(Face::Resp, address(2)).is_none());
    }
}
