//! The other processes on a shared store, as their registers show them: who lives, what each has seen, and what
//! its clock reads.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::store::{Key, Version, Versioned};

/// A register that has not changed for this long belongs to nobody who lives: three renewals were missed.
pub(crate) const LIVE_FOR: Duration = Duration::from_secs(3);
/// A register that has not changed for this long is removed. Its owner, should it wake up, finds it gone and
/// drops all it holds (protocol R4).
const CLUTTER_AFTER: Duration = Duration::from_secs(600);
/// The same where a journal waits for the next process on its machine, which then owns what it says (protocol S7).
const CLUTTER_AFTER_JOURNAL: Duration = Duration::from_secs(7 * 24 * 3600);

/// The body of an instance register.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
pub(crate) struct InstanceBody {
    /// What the process calls itself; for people.
    #[serde(default)]
    pub name: String,
    /// What its machine's wall clock read at this write, in milliseconds since 1970 (protocol W6).
    pub wall_ms: i64,
    /// What the clock that its ids read said, which may have begun wrong and be carried on since. Older programs tell
    /// this one as the other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_ms: Option<i64>,
    /// The newest change of a definition that it follows (protocol S5).
    #[serde(default)]
    pub seen: u64,
    /// How often the journal's state was copied here, as the journal counts it: a journal that counts less is an
    /// old copy of itself, and what it owned has been handed out by another (protocol S7).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub journal: Option<u64>,
    /// The program's version; older ones tell none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The process has stopped; its register waits for the next one with the same journal.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stopped: bool,
}

/// What the registers of others have shown so far. Times are this process's own boot time, so that nobody's wall
/// clock decides who lives.
#[derive(Debug, Default)]
pub(crate) struct Peers {
    known: BTreeMap<Key, Peer>,
}

#[derive(Debug)]
struct Peer {
    version: Version,
    body: InstanceBody,
    /// When it was first seen at this version.
    since: Duration,
    /// Its wall clock minus our boot time in nanoseconds, once it was seen to change and so known to be fresh.
    offset_ns: Option<i128>,
    /// The same of the clock that its ids read.
    clock_offset_ns: Option<i128>,
}

/// What a register shows of its process.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    pub(crate) instance: String,
    pub(crate) name: String,
    pub(crate) version: Option<String>,
    pub(crate) lives: bool,
    /// For how long it has not changed.
    pub(crate) silent: Duration,
    /// Its wall clock minus our boot time, in nanoseconds.
    pub(crate) offset_ns: Option<i128>,
}

/// The offset of a clock that read `wall_ms` somewhere within the last `every` before our boot time `now`: what was
/// known before, as far as that may still be so. Two scans with an outage of the store between them bound it too
/// loosely to say more; the next write, a second later, does.
fn offset_ns(wall_ms: i64, now: Duration, every: Duration, known: Option<i128>) -> Option<i128> {
    let lowest = i128::from(wall_ms) * 1_000_000 - now.as_nanos() as i128;
    let width = every.as_nanos() as i128;
    match known {
        Some(known) => Some(known.clamp(lowest, lowest + width)),
        None if every <= LIVE_FOR => Some(lowest + width / 2),
        None => None,
    }
}

impl Peers {
    /// Takes in what a scan at boot time `now` showed; `every` is the time since the scan before.
    pub(crate) fn observe(
        &mut self,
        found: impl IntoIterator<Item = (Key, Versioned)>,
        ours: &Key,
        now: Duration,
        every: Duration,
    ) {
        let mut left = std::mem::take(&mut self.known);
        // While nobody could look, nobody was silent: an outage of the store makes no register old.
        let blind = every.saturating_sub(LIVE_FOR);
        for (key, found) in found {
            // What cannot be read is a newer program's; it says nothing to us, but it lives or not as any other.
            let body = serde_json::from_str(&found.value.body).unwrap_or(InstanceBody {
                name: key.as_str().to_string(),
                wall_ms: 0,
                clock_ms: None,
                seen: 0,
                journal: None,
                version: None,
                stopped: false,
            });
            if key == *ours {
                continue;
            }
            let before = left.remove(&key);
            let peer = match before {
                Some(peer) if peer.version == found.version => Peer {
                    // Two scans of the same outage count it twice.
                    since: peer.since.saturating_add(blind).min(now),
                    ..peer
                },
                before => {
                    // A change was written between the two scans; what is new to us, who knows when.
                    let known = before.filter(|_| body.wall_ms != 0);
                    let known = known.map(|peer| (peer.offset_ns, peer.clock_offset_ns));
                    let clock_ms = body.clock_ms.unwrap_or(body.wall_ms);
                    Peer {
                        version: found.version,
                        offset_ns: known.and_then(|(known, _)| offset_ns(body.wall_ms, now, every, known)),
                        clock_offset_ns: known.and_then(|(_, known)| offset_ns(clock_ms, now, every, known)),
                        body,
                        since: now,
                    }
                }
            };
            self.known.insert(key, peer);
        }
    }

    fn live(&self, now: Duration) -> impl Iterator<Item = &Peer> {
        self.known
            .values()
            .filter(move |peer| !peer.body.stopped && now.saturating_sub(peer.since) < LIVE_FOR)
    }

    /// The names of those who live and have not seen change `n` yet.
    pub(crate) fn behind(&self, n: u64, now: Duration) -> Vec<String> {
        self.live(now)
            .filter(|peer| peer.body.seen < n)
            .map(|peer| peer.body.name.clone())
            .collect()
    }

    /// The names of those who live.
    pub(crate) fn names(&self, now: Duration) -> Vec<String> {
        self.live(now).map(|peer| peer.body.name.clone()).collect()
    }

    /// The wall clocks of those who live, minus our boot time, in nanoseconds.
    pub(crate) fn clocks_ns(&self, now: Duration) -> Vec<i128> {
        self.live(now).filter_map(|peer| peer.offset_ns).collect()
    }

    /// The same of the clocks that their ids read.
    pub(crate) fn id_clocks_ns(&self, now: Duration) -> Vec<i128> {
        self.live(now).filter_map(|peer| peer.clock_offset_ns).collect()
    }

    /// Whether somebody may live of whom only one register was seen, so that its clock is not known yet.
    pub(crate) fn undecided(&self, now: Duration) -> bool {
        self.live(now).any(|peer| peer.offset_ns.is_none())
    }

    /// All whose registers are there, as they show themselves.
    pub(crate) fn shown(&self, now: Duration) -> Vec<Shown> {
        let shown = self.known.iter().map(|(key, peer)| {
            let silent = now.saturating_sub(peer.since);
            Shown {
                instance: key.after("instance/").to_string(),
                name: peer.body.name.clone(),
                version: peer.body.version.clone(),
                lives: !peer.body.stopped && silent < LIVE_FOR,
                silent,
                offset_ns: peer.offset_ns,
            }
        });
        shown.collect()
    }

    /// Registers whose owners are long gone.
    pub(crate) fn clutter(&self, now: Duration) -> Vec<(Key, Version)> {
        self.known
            .iter()
            .filter(|(_, peer)| {
                let after = match peer.body.journal {
                    Some(_) => CLUTTER_AFTER_JOURNAL,
                    None => CLUTTER_AFTER,
                };
                now.saturating_sub(peer.since) >= after
            })
            .map(|(key, peer)| (key.clone(), peer.version))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::time::median;
    use super::*;
    use crate::store::Value;

    const SECOND: Duration = Duration::from_secs(1);

    fn register(id: u32, version: u64, wall_ms: i64, seen: u64) -> (Key, Versioned) {
        let body = InstanceBody {
            name: format!("node-{id}"),
            wall_ms,
            clock_ms: None,
            seen,
            journal: None,
            version: None,
            stopped: false,
        };
        let value = Value {
            mark: 0,
            token: 1,
            body: serde_json::to_string(&body).unwrap(),
        };
        let version = Version::of(version);
        (key(id), Versioned { value, version })
    }

    fn key(id: u32) -> Key {
        Key::new(format!("instance/{id:032x}")).unwrap()
    }

    #[test]
    fn who_stops_writing_is_dead_after_three_renewals_and_clutter_later() {
        let mut peers = Peers::default();
        let at = |s: u64| Duration::from_secs(100 + s);
        peers.observe(
            [register(1, 5, 1, 0), register(9, 1, 1, 0)],
            &key(9),
            at(0),
            SECOND,
        );
        assert_eq!(peers.names(at(2)), ["node-1"], "our own is not among them");
        peers.observe([register(1, 5, 1, 0)], &key(9), at(3), SECOND);
        assert!(peers.names(at(3)).is_empty());
        assert!(peers.clutter(at(599)).is_empty());
        assert_eq!(peers.clutter(at(600)), [(key(1), Version::of(5))]);
        peers.observe([register(1, 6, 1, 0)], &key(9), at(601), SECOND);
        assert_eq!(peers.names(at(601)), ["node-1"], "it woke up");
        peers.observe([], &key(9), at(602), SECOND);
        assert!(peers.names(at(602)).is_empty(), "it left");
    }

    #[test]
    fn an_outage_of_the_store_makes_no_register_clutter() {
        let mut peers = Peers::default();
        let at = |s: u64| Duration::from_secs(100 + s);
        peers.observe([register(1, 5, 1, 0)], &key(9), at(0), SECOND);
        peers.observe([register(1, 5, 1, 0)], &key(9), at(1), SECOND);
        peers.observe([register(1, 5, 1, 0)], &key(9), at(701), 700 * SECOND);
        assert!(peers.clutter(at(701)).is_empty(), "it could not write either");
        for s in 702..=1297 {
            peers.observe([register(1, 5, 1, 0)], &key(9), at(s), SECOND);
        }
        assert_eq!(peers.clutter(at(1297)), [(key(1), Version::of(5))]);
    }

    #[test]
    fn an_outage_that_two_scans_saw_keeps_the_dead_no_longer_than_one() {
        let mut peers = Peers::default();
        let at = |s: u64| Duration::from_secs(100 + s);
        peers.observe([register(1, 5, 1, 0)], &key(9), at(0), SECOND);
        for _ in 0..2 {
            peers.observe([register(1, 5, 1, 0)], &key(9), at(34), 34 * SECOND);
        }
        assert_eq!(peers.names(at(34)), ["node-1"], "it could not write either");
        assert!(peers.names(at(37)).is_empty());
    }

    #[test]
    fn only_those_who_live_are_waited_for() {
        let mut peers = Peers::default();
        let at = |s: u64| Duration::from_secs(100 + s);
        let all = |v| [register(1, v, 1, 7), register(2, v, 1, 6), register(3, 1, 1, 0)];
        for s in 0..5 {
            peers.observe(all(s), &key(9), at(s), SECOND);
        }
        assert_eq!(peers.behind(7, at(4)), ["node-2"]);
        assert!(peers.behind(6, at(4)).is_empty());
    }

    #[test]
    fn the_clock_of_the_many_is_the_median_of_those_seen_to_change() {
        let mut peers = Peers::default();
        let at = |s: u64| Duration::from_secs(100 + s);
        let scan = |v: u64| {
            let ms = 1_000_000 + v as i64 * 1000;
            [
                register(1, v, ms, 0),
                register(2, v, ms + 2_000, 0),
                register(3, v, ms + 3_600_000, 0),
            ]
        };
        peers.observe(scan(1), &key(9), at(0), SECOND);
        assert_eq!(peers.clocks_ns(at(0)), [], "nobody knows how old these are");
        assert!(peers.undecided(at(0)));
        peers.observe(scan(2), &key(9), at(1), SECOND);
        assert!(!peers.undecided(at(1)));
        // Written half a second before the scan at 101 s, by a clock that read 1004 s.
        let offset_ms = median(peers.clocks_ns(at(1))).unwrap() / 1_000_000;
        assert_eq!(offset_ms, 1_004_000 - 100_500);
    }

    #[test]
    fn a_minute_without_the_store_makes_no_clock_look_wrong() {
        let mut peers = Peers::default();
        let at = |s: u64| Duration::from_secs(100 + s);
        // Both clocks read 1000 s at boot time 100 s.
        let scan = |v: u64, s: i64| [register(1, v, (1_000 + s) * 1000, 0)];
        let off_by_ms = |peers: &Peers, now| median(peers.clocks_ns(now)).map(|ns| ns / 1_000_000 - 900_000);
        peers.observe(scan(1, 0), &key(9), at(0), SECOND);
        peers.observe(scan(2, 1), &key(9), at(1), SECOND);
        let known = off_by_ms(&peers, at(1)).unwrap();
        assert!((0..=1_000).contains(&known), "{known}");
        // Written at the very end of the time between the scans, or at its very beginning.
        peers.observe(scan(3, 65), &key(9), at(65), 64 * SECOND);
        assert_eq!(off_by_ms(&peers, at(65)), Some(known));
        peers.observe(scan(4, 66), &key(9), at(129), 64 * SECOND);
        assert_eq!(off_by_ms(&peers, at(129)), Some(known));
        // What cannot be explained by when it was written was a step, by at least this.
        peers.observe(scan(5, 193 + 3_600), &key(9), at(193), 64 * SECOND);
        assert_eq!(off_by_ms(&peers, at(193)), Some(3_600_000));
        // Somebody of whom only one register was seen before the outage is not judged by it.
        let mut peers = Peers::default();
        peers.observe(scan(1, 0), &key(9), at(0), SECOND);
        peers.observe(scan(2, 64), &key(9), at(64), 64 * SECOND);
        assert_eq!(off_by_ms(&peers, at(64)), None);
        assert!(peers.undecided(at(64)));
        peers.observe(scan(3, 65), &key(9), at(65), SECOND);
        assert!(!peers.undecided(at(65)));
    }
}
