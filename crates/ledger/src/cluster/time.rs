//! Validated time (protocol W6): a window is only taken or extended at a time that two of three sources agree on,
//! so that one broken clock, even the store's, neither poisons a record nor stops the others.

use std::fmt;
use std::time::Duration;

use mintage::Timestamp;

/// How far apart two sources may be that agree, in nanoseconds.
pub(crate) const AGREE_WITHIN_NS: i128 = 5_000_000_000;

/// What the sources say, each as wall-clock time minus this process's boot time in nanoseconds.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Sources {
    /// The clock that ids read: this machine's wall clock when it was last found right, carried by boot time.
    pub own: i128,
    /// This machine's wall clock, which may have been stepped since.
    pub wall: i128,
    /// The store's, where it has one.
    pub store: Option<i128>,
    /// The wall clocks of the others that live.
    pub peers: Vec<i128>,
    /// The median of the clocks that their ids read: each what its machine's wall clock was when last found right.
    pub peers_ids: Option<i128>,
}

/// What follows from them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// There is no other source: the own clock is used, under the rules for one.
    Alone,
    /// Two agree: the own clock where it is among them, else the wall clock, else the store's, else the others'.
    Agreed {
        /// The validated wall clock minus boot time, in nanoseconds.
        offset_ns: i128,
    },
    /// No two agree, or two stand against two.
    Disputed,
}

/// Whether two offsets are of one time.
pub(crate) fn agree(a: i128, b: i128) -> bool {
    (a - b).abs() <= AGREE_WITHIN_NS
}

/// Of an even number the lower middle: no clock that nobody has.
pub(crate) fn median(mut offsets: Vec<i128>) -> Option<i128> {
    offsets.sort_unstable();
    offsets.get(offsets.len().checked_sub(1)? / 2).copied()
}

impl Sources {
    /// Judges the sources.
    pub(crate) fn judge(&self) -> Verdict {
        if self.store.is_none() && self.peers.is_empty() {
            return Verdict::Alone;
        }
        let agreed = |offset_ns| Verdict::Agreed { offset_ns };
        let confirmed = |ours: i128| {
            self.store.is_some_and(|store| agree(ours, store)) || self.is_confirmed_by_peers(ours)
        };
        // First the own clock: a step of the wall clock behind its back says nothing against it.
        if confirmed(self.own) {
            return agreed(self.own);
        }
        if confirmed(self.wall) {
            return agreed(self.wall);
        }
        if let Some(store) = self.store.filter(|store| self.is_confirmed_by_peers(*store)) {
            return agreed(store);
        }
        if let Some(theirs) = self.outvoted_by() {
            return agreed(theirs);
        }
        // Last: those who began wrong together agree on that for ever, whatever their wall clocks say by now. But a
        // wall clock that was stepped, with no other that says the same, stands against nobody.
        if self.peers_ids.is_some_and(|peers| agree(self.own, peers)) {
            return agreed(self.own);
        }
        Verdict::Disputed
    }

    /// Whether others say the same as this clock, and it and they are more than any that agree on another time.
    fn is_confirmed_by_peers(&self, offset: i128) -> bool {
        let (with, against): (Vec<i128>, Vec<i128>) =
            self.peers.iter().partition(|peer| agree(offset, **peer));
        !with.is_empty() && with.len() + 1 > largest_group(&against).len()
    }

    /// The time that two others or more agree on, where they are more than half of all who have a say.
    fn outvoted_by(&self) -> Option<i128> {
        let group = largest_group(&self.peers);
        let all = self.peers.len() + 1 + usize::from(self.store.is_some());
        let is_enough = group.len() >= 2 && 2 * group.len() > all;
        is_enough.then(|| median(group))?
    }

    /// The times that they say at this boot time, in words that name every source.
    pub(crate) fn told_at(&self, boot: Duration) -> String {
        let at = |offset: i128| {
            format!(
                "{:.0}",
                Timestamp::from_unix_nanos(boot.as_nanos() as i128 + offset)
            )
        };
        let mut told = format!("the clock of this server reads {}", at(self.own));
        if !agree(self.own, self.wall) {
            told += &format!(", that of its machine {}", at(self.wall));
        }
        if let Some(store) = self.store {
            told += &format!(", the store's {}", at(store));
        }
        if let Some(others) = median(self.peers.clone()) {
            told += &match self.peers.len() {
                1 => format!(", the other server's {}", at(others)),
                n => format!(", the median of {n} other servers {}", at(others)),
            };
        }
        told
    }
}

/// The most of these that agree with one of them.
fn largest_group(offsets: &[i128]) -> Vec<i128> {
    let around = |one: &i128| {
        offsets
            .iter()
            .copied()
            .filter(|other| agree(*one, *other))
            .collect()
    };
    offsets
        .iter()
        .map(around)
        .max_by_key(|group: &Vec<i128>| group.len())
        .unwrap_or_default()
}

impl fmt::Display for Sources {
    /// In words that name every source: `the store's clock is 3600 s behind this machine's`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let apart = |other: i128| {
            let seconds = (other - self.own) / 1_000_000_000;
            match seconds {
                0.. => format!("{seconds} s ahead of"),
                _ => format!("{} s behind", -seconds),
            }
        };
        let mut said = false;
        if let Some(store) = self.store {
            write!(f, "the store's clock is {} this machine's", apart(store))?;
            said = true;
        }
        if let Some(peers) = median(self.peers.clone()) {
            let and = if said { ", " } else { "" };
            write!(f, "{and}the other nodes' median is {} it", apart(peers))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i128 = 1_000_000_000;

    #[test]
    fn two_of_three_decide() {
        let agreed = |s: i128| Verdict::Agreed { offset_ns: s * S };
        type Row = (i128, i128, Option<i128>, Option<i128>, Option<Verdict>);
        let rows: [Row; 12] = [
            (100, 100, None, None, Some(Verdict::Alone)),
            (100, 100, Some(104), None, Some(agreed(100))),
            (100, 100, None, Some(95), Some(agreed(100))),
            // One of the others is wrong.
            (100, 100, Some(9_000), Some(101), Some(agreed(100))),
            (100, 100, Some(99), Some(9_000), Some(agreed(100))),
            // The wall clock was stepped, wrongly and rightly.
            (100, 9_000, Some(101), None, Some(agreed(100))),
            (100, 9_000, Some(9_001), None, Some(agreed(9_000))),
            (100, 9_000, None, Some(8_999), Some(agreed(9_000))),
            // The own clock is wrong.
            (9_000, 9_000, Some(100), Some(102), Some(agreed(100))),
            (-9_000, 0, Some(100), Some(98), Some(agreed(100))),
            // Nobody can tell who is.
            (9_000, 9_000, Some(100), None, None),
            (0, 0, Some(1_000), Some(2_000), None),
        ];
        for (own, wall, store, peers, verdict) in rows {
            let sources = Sources {
                own: own * S,
                wall: wall * S,
                store: store.map(|s| s * S),
                peers: peers.iter().map(|s| s * S).collect(),
                peers_ids: None,
            };
            let expected = verdict.unwrap_or(Verdict::Disputed);
            assert_eq!(sources.judge(), expected, "{own} {wall} {store:?} {peers:?}");
        }
    }

    #[test]
    fn two_servers_that_agree_outvote_the_third_whichever_way_it_is_wrong() {
        let agreed = |s: i128| Some(Verdict::Agreed { offset_ns: s * S });
        type Row = (i128, Option<i128>, &'static [i128], Option<Verdict>);
        let rows: [Row; 12] = [
            // The wrong one is outvoted, ahead and behind; the others go on.
            (9_000, None, &[100, 102], agreed(100)),
            (-9_000, None, &[100, 102], agreed(100)),
            (100, None, &[102, 9_000], agreed(100)),
            (100, None, &[-9_000, 102], agreed(100)),
            (100, None, &[-9_000, -8_000, 102], agreed(100)),
            // Two against two, one against one, and three of whom no two agree.
            (100, None, &[102, 9_000, 9_001], None),
            (100, None, &[9_000], None),
            (100, None, &[9_000, 20_000], None),
            // A majority decides, however many there are.
            (9_000, None, &[100, 101, 102, 9_001], agreed(101)),
            (100, None, &[101, 102, 9_000, 9_001], agreed(100)),
            // A store's clock has a say of its own.
            (100, Some(101), &[9_000, 9_001, 9_002], agreed(100)),
            (9_000, Some(50_000), &[100, 101, 102], agreed(101)),
        ];
        for (own, store, peers, verdict) in rows {
            let sources = Sources {
                own: own * S,
                wall: own * S,
                store: store.map(|s| s * S),
                peers: peers.iter().map(|s| s * S).collect(),
                peers_ids: None,
            };
            let expected = verdict.unwrap_or(Verdict::Disputed);
            assert_eq!(sources.judge(), expected, "{own} {store:?} {peers:?}");
        }
    }

    #[test]
    fn wall_clocks_that_agree_go_before_clocks_that_began_wrong_together() {
        let judge = |own: i128, wall: i128, peers: i128, peers_ids: i128| {
            let sources = Sources {
                own: own * S,
                wall: wall * S,
                store: None,
                peers: vec![peers * S],
                peers_ids: Some(peers_ids * S),
            };
            match sources.judge() {
                Verdict::Agreed { offset_ns } => Some(offset_ns / S),
                _ => None,
            }
        };
        assert_eq!(judge(18_000, 1, 0, 18_000), Some(1), "both set right");
        assert_eq!(judge(18_000, 0, 1, 7_000), Some(0), "wrong by different amounts");
        assert_eq!(
            judge(18_000, 0, 18_000, 18_000),
            Some(18_000),
            "one of two set right"
        );
        assert_eq!(judge(0, 0, 9_000, 1), Some(0), "the other's was stepped");
        assert_eq!(judge(0, -9_000, 0, 0), Some(0), "the own was stepped");
        assert_eq!(judge(9_000, 9_000, 0, 0), None, "nobody can tell");
    }

    #[test]
    fn a_dispute_is_told_in_words() {
        let sources = Sources {
            own: 3_600 * S,
            wall: 3_600 * S,
            store: Some(0),
            peers: vec![7_300 * S],
            peers_ids: Some(7_300 * S),
        };
        assert_eq!(
            sources.to_string(),
            "the store's clock is 3600 s behind this machine's, the other nodes' median is 3700 s ahead of it"
        );
        assert_eq!(
            sources.told_at(Duration::from_secs(86_400)),
            "the clock of this server reads 1970-01-02T01:00:00Z, the store's 1970-01-02T00:00:00Z, the other server's \
             1970-01-02T02:01:40Z"
        );
    }
}
