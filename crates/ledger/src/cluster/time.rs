//! Validated time (protocol W6): a window is only taken or extended at a time that two of three sources agree on,
//! so that one broken clock, even the store's, neither poisons a record nor stops the others.

use std::fmt;

/// How far apart two sources may be that agree, in nanoseconds.
pub(crate) const AGREE_WITHIN_NS: i128 = 5_000_000_000;

/// What the sources say, each as wall-clock time minus this process's boot time in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Sources {
    /// The clock that ids read: this machine's wall clock when it was last found right, carried by boot time.
    pub own: i128,
    /// This machine's wall clock, which may have been stepped since.
    pub wall: i128,
    /// The store's, where it has one.
    pub store: Option<i128>,
    /// The median of the wall clocks of the others that live, if any do.
    pub peers: Option<i128>,
    /// The median of the clocks that their ids read: each what its machine's wall clock was when last found right.
    pub peers_ids: Option<i128>,
}

/// What follows from them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// There is no other source: the own clock is used, under the rules for one.
    Alone,
    /// Two agree: the own clock where it is among them, else the wall clock, else the store's.
    Agreed {
        /// The validated wall clock minus boot time, in nanoseconds.
        offset_ns: i128,
    },
    /// No two agree.
    Disputed(Sources),
}

impl Sources {
    /// Judges the sources.
    pub(crate) fn judge(&self) -> Verdict {
        let agree = |a: i128, b: i128| (a - b).abs() <= AGREE_WITHIN_NS;
        let others = [self.store, self.peers];
        let confirmed = |ours: i128| others.iter().flatten().any(|other| agree(ours, *other));
        match (self.store, self.peers) {
            (None, None) => Verdict::Alone,
            // First the own clock: a step of the wall clock behind its back says nothing against it.
            _ if confirmed(self.own) => Verdict::Agreed { offset_ns: self.own },
            _ if confirmed(self.wall) => Verdict::Agreed { offset_ns: self.wall },
            (Some(store), Some(peers)) if agree(store, peers) => Verdict::Agreed { offset_ns: store },
            // Last: those who began wrong together agree on that for ever, whatever their wall clocks say by now. But a
            // wall clock that was stepped, with no other that says the same, stands against nobody.
            _ if self.peers_ids.is_some_and(|peers| agree(self.own, peers)) => {
                Verdict::Agreed { offset_ns: self.own }
            }
            _ => Verdict::Disputed(*self),
        }
    }
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
        if let Some(peers) = self.peers {
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
                peers: peers.map(|s| s * S),
                peers_ids: None,
            };
            let expected = verdict.unwrap_or(Verdict::Disputed(sources));
            assert_eq!(sources.judge(), expected, "{own} {wall} {store:?} {peers:?}");
        }
    }

    #[test]
    fn wall_clocks_that_agree_go_before_clocks_that_began_wrong_together() {
        let judge = |own: i128, wall: i128, peers: i128, peers_ids: i128| {
            let sources = Sources {
                own: own * S,
                wall: wall * S,
                store: None,
                peers: Some(peers * S),
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
            peers: Some(7_300 * S),
            peers_ids: Some(7_300 * S),
        };
        assert_eq!(
            sources.to_string(),
            "the store's clock is 3600 s behind this machine's, the other nodes' median is 3700 s ahead of it"
        );
    }
}
