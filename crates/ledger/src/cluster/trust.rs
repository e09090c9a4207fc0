//! Whether ids get the time of this server's clock (protocol C2): what follows from a verdict on the clocks, given what was
//! known before.
//!
//! | the clocks | ids |
//! | --- | --- |
//! | two agree | get that time |
//! | disagree, and this clock was among two that agreed before | go on at that time: it was carried on since |
//! | disagree otherwise | get none: nobody can tell which clock is right |
//! | nobody else has one | get this one, unless it is known to be wrong |
//!
//! Known to be wrong is a wall clock that others have spoken against, whether they are still there or not: a server that
//! is refused does not begin when the others are restarted, or when the store stops answering.

use std::time::Duration;

use super::time::{Sources, Verdict, agree};
use crate::clock::Reference;

/// What this process knows of its own clock.
#[derive(Debug, Default)]
pub(super) struct Trust {
    /// In which epoch of the clock two sources agreed on it.
    agreed_in: Option<u64>,
    /// Ids got the time once: then another's word against ours, and its end, are no proof.
    opened: bool,
    /// The wall clock that others spoke against, minus boot time in nanoseconds, and what all of them said.
    outvoted: Option<Sources>,
    /// That ids go on at an agreed time was told.
    told: bool,
    /// Since when, in boot time, it is asked whether others live.
    asked: Option<Duration>,
}

/// What follows.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Weighed {
    /// What the clock that ids read compares with.
    pub(super) reference: Reference,
    /// Whether ids get its time.
    pub(super) ids: Ids,
}

/// Whether ids get the time.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Ids {
    /// They do: there is no other clock.
    Go,
    /// They do, as soon as the clock reads this: two agree on it.
    GoAt(i128),
    /// They do, at the time that was agreed on before; whether that is news.
    Hold {
        /// It was not told yet.
        is_news: bool,
    },
    /// They do not, since this is what the clocks say.
    Refuse(Sources),
}

impl Trust {
    /// The clock, in this epoch of it, reads what two sources agree on.
    pub(super) fn agreed(&mut self, epoch: u64) {
        self.agreed_in = Some(epoch);
        self.opened = true;
        self.told = false;
    }

    /// Whether two sources agreed on it, in this epoch of it.
    pub(super) fn is_agreed(&self, epoch: u64) -> bool {
        self.agreed_in == Some(epoch)
    }

    /// For how long it is asked whether others live.
    pub(super) fn asked_for(&mut self, boot: Duration) -> Duration {
        boot.saturating_sub(*self.asked.get_or_insert(boot))
    }

    /// It is asked once more, from the beginning.
    pub(super) fn ask_anew(&mut self) {
        self.asked = None;
    }

    /// What follows from a verdict, in this epoch of the clock.
    pub(super) fn weigh(&mut self, sources: &Sources, verdict: Verdict, epoch: u64) -> Weighed {
        let (reference, ids) = match verdict {
            Verdict::Agreed { offset_ns } => {
                let is_wrong = !agree(sources.wall, offset_ns);
                self.outvoted = is_wrong.then(|| sources.clone());
                (Reference::Agreed { offset_ns }, Ids::GoAt(offset_ns))
            }
            Verdict::Disputed => (Reference::Disputed, self.in_dispute(sources, epoch)),
            Verdict::Alone => self.alone(sources),
        };
        if ids == Ids::Go {
            self.opened = true;
        }
        Weighed { reference, ids }
    }

    fn in_dispute(&mut self, sources: &Sources, epoch: u64) -> Ids {
        if self.is_agreed(epoch) {
            let is_news = !std::mem::replace(&mut self.told, true);
            return Ids::Hold { is_news };
        }
        if !self.opened {
            self.outvoted = Some(sources.clone());
        }
        Ids::Refuse(sources.clone())
    }

    fn alone(&mut self, sources: &Sources) -> (Reference, Ids) {
        self.outvoted = self.outvoted.take().filter(|then| agree(then.wall, sources.wall));
        match &self.outvoted {
            None => (Reference::Own, Ids::Go),
            // No step to it is followed.
            Some(_) if self.opened => (Reference::Disputed, Ids::Go),
            Some(then) => (Reference::Disputed, Ids::Refuse(then.clone())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i128 = 1_000_000_000;

    /// A clock's own time, its machine's, and those of the others, in seconds.
    fn said(own: i128, wall: i128, peers: &[i128]) -> Sources {
        Sources {
            own: own * S,
            wall: wall * S,
            store: None,
            peers: peers.iter().map(|peer| peer * S).collect(),
            peers_ids: None,
        }
    }

    fn weigh(trust: &mut Trust, sources: &Sources) -> Weighed {
        trust.weigh(sources, sources.judge(), 0)
    }

    #[test]
    fn a_server_that_began_wrong_does_not_begin_when_the_others_are_gone() {
        let mut trust = Trust::default();
        let wrong = said(9_000, 9_000, &[0]);
        assert_eq!(weigh(&mut trust, &wrong).ids, Ids::Refuse(wrong.clone()));
        let alone = weigh(&mut trust, &said(9_000, 9_000, &[]));
        assert_eq!(
            (alone.reference, alone.ids),
            (Reference::Disputed, Ids::Refuse(wrong))
        );
        // Its machine's clock is set.
        let alone = weigh(&mut trust, &said(9_000, 0, &[]));
        assert_eq!((alone.reference, alone.ids), (Reference::Own, Ids::Go));
    }

    #[test]
    fn a_server_that_was_alone_refuses_while_another_disagrees_and_goes_on_when_that_is_gone() {
        let mut trust = Trust::default();
        assert_eq!(weigh(&mut trust, &said(0, 0, &[])).ids, Ids::Go);
        let disputed = said(0, 0, &[9_000]);
        assert_eq!(weigh(&mut trust, &disputed).ids, Ids::Refuse(disputed.clone()));
        let alone = weigh(&mut trust, &said(0, 0, &[]));
        assert_eq!((alone.reference, alone.ids), (Reference::Own, Ids::Go));
    }

    #[test]
    fn what_was_agreed_on_is_held_in_a_dispute_until_the_clock_follows_something_else() {
        let mut trust = Trust::default();
        assert_eq!(weigh(&mut trust, &said(0, 0, &[1])).ids, Ids::GoAt(0));
        trust.agreed(0);
        let disputed = said(0, 0, &[9_000]);
        assert_eq!(weigh(&mut trust, &disputed).ids, Ids::Hold { is_news: true });
        assert_eq!(weigh(&mut trust, &disputed).ids, Ids::Hold { is_news: false });
        let later = trust.weigh(&disputed, disputed.judge(), 1);
        assert_eq!(later.ids, Ids::Refuse(disputed));
    }

    #[test]
    fn a_wall_clock_that_was_outvoted_is_not_followed_once_the_others_are_gone() {
        let mut trust = Trust::default();
        let outvoted = weigh(&mut trust, &said(9_000, 9_000, &[0, 1]));
        assert_eq!(
            (outvoted.reference, outvoted.ids),
            (Reference::Agreed { offset_ns: 0 }, Ids::GoAt(0))
        );
        trust.agreed(1);
        let alone = weigh(&mut trust, &said(0, 9_000, &[]));
        assert_eq!((alone.reference, alone.ids), (Reference::Disputed, Ids::Go));
        // Another time is judged as that of any server that is alone.
        let alone = weigh(&mut trust, &said(0, 500, &[]));
        assert_eq!((alone.reference, alone.ids), (Reference::Own, Ids::Go));
    }
}
