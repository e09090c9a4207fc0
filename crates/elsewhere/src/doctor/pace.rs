//! How fast a counter goes, from two looks at it.

use std::collections::BTreeMap;
use std::time::Duration;

use mintage::Timestamp;

use crate::source::Counter;

/// What stands for one counter from one look to the next: where it is, its kind, its key.
pub type CounterId = (String, String, String);

/// Where a counter stood when.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stood {
    /// When it was looked at.
    pub at: Timestamp,
    /// Its mark then.
    pub mark: i128,
}

/// An earlier look: only what is needed to tell how fast counters go.
///
/// ```
/// use mintage::Timestamp;
/// use mintage_elsewhere::doctor::{Earlier, Stood};
/// let mut earlier = Earlier::default();
/// let stood = Stood { at: Timestamp::from_unix_millis(0), mark: 7 };
/// earlier.add(("postgres://db/shop".into(), "postgres".into(), "public.s".into()), stood);
/// assert_eq!(earlier.of("postgres://db/shop", "postgres", "public.s"), Some(stood));
/// assert_eq!(earlier.of("postgres://db/shop", "postgres", "public.t"), None);
/// ```
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Earlier(BTreeMap<CounterId, Stood>);

impl Earlier {
    /// Notes where a counter stood. Of two notes the later look counts.
    pub fn add(&mut self, id: CounterId, stood: Stood) {
        let kept = self.0.entry(id).or_insert(stood);
        if stood.at > kept.at {
            *kept = stood;
        }
    }

    /// Where a counter stood.
    pub fn of(&self, place: &str, kind: &str, key: &str) -> Option<Stood> {
        // Not worth a borrowed key of three parts: asked once for each counter.
        self.0
            .get(&(place.to_string(), kind.to_string(), key.to_string()))
            .copied()
    }

    /// How many counters are noted.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether none is noted.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// How a counter moved between two looks.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Pace {
    /// How far its mark goes in a second, in the direction that it counts.
    pub distance_per_s: f64,
    /// How many numbers that is.
    pub per_s: f64,
    /// How long lay between the looks.
    pub over: Duration,
}

/// What became of a mark since an earlier look.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Went {
    /// Nothing can be said: there was no earlier look, or no time between, or one of the marks could not be read.
    Unknown,
    /// On, or nowhere.
    On(Pace),
    /// Back: from this mark.
    Back(Stood),
}

/// What became of a counter since it stood there.
pub(super) fn went(counter: &Counter, now: Timestamp, before: Option<Stood>) -> Went {
    let (Some(before), Some(mark)) = (before, counter.mark) else {
        return Went::Unknown;
    };
    let over = now.since(before.at);
    if over.is_zero() {
        return Went::Unknown;
    }
    let distance = match counter.increment < 0 {
        true => before.mark.saturating_sub(mark),
        false => mark.saturating_sub(before.mark),
    };
    if distance < 0 {
        return Went::Back(before);
    }
    let distance_per_s = distance as f64 / over.as_secs_f64();
    let step = counter.increment.unsigned_abs().max(1);
    Went::On(Pace {
        distance_per_s,
        per_s: distance_per_s / step as f64,
        over,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(s: i64) -> Timestamp {
        Timestamp::from_unix_millis(s * 1000)
    }

    fn counter(mark: i128, increment: i64) -> Counter {
        Counter {
            mark: Some(mark),
            increment,
            ..Counter::new("postgres", "s")
        }
    }

    #[track_caller]
    fn check(mark: i128, increment: i64, before: i128, per_s: f64, distance_per_s: f64) {
        let stood = Stood {
            at: at(100),
            mark: before,
        };
        let went = went(&counter(mark, increment), at(110), Some(stood));
        let Went::On(pace) = went else { panic!("{went:?}") };
        assert_eq!((pace.per_s, pace.distance_per_s), (per_s, distance_per_s));
        assert_eq!(pace.over, Duration::from_secs(10));
    }

    #[test]
    fn the_pace_is_the_way_of_the_mark() {
        check(120, 1, 100, 2.0, 2.0);
        check(100, 1, 100, 0.0, 0.0);
        check(200, 10, 100, 1.0, 10.0);
        check(-200, -10, -100, 1.0, 10.0);
        // Beyond 64 bits.
        let far = i128::from(u64::MAX);
        check(far, 1, far - 10, 1.0, 1.0);
    }

    #[test]
    fn what_cannot_be_told_is_not_told() {
        let stood = |s, mark| Some(Stood { at: at(s), mark });
        let one = counter(100, 1);
        assert_eq!(went(&one, at(10), None), Went::Unknown);
        // No time between, and a look from the future.
        assert_eq!(went(&one, at(10), stood(10, 5)), Went::Unknown);
        assert_eq!(went(&one, at(10), stood(99, 5)), Went::Unknown);
        let unread = Counter { mark: None, ..one };
        assert_eq!(went(&unread, at(10), stood(1, 5)), Went::Unknown);
    }

    #[test]
    fn a_mark_that_went_back_is_no_pace() {
        let before = Stood { at: at(1), mark: 101 };
        assert_eq!(went(&counter(100, 1), at(10), Some(before)), Went::Back(before));
        let before = Stood {
            at: at(1),
            mark: -101,
        };
        assert_eq!(went(&counter(-100, -1), at(10), Some(before)), Went::Back(before));
    }

    #[test]
    fn of_two_notes_the_later_counts() {
        let id: CounterId = ("p".into(), "k".into(), "s".into());
        let mut earlier = Earlier::default();
        earlier.add(id.clone(), Stood { at: at(5), mark: 50 });
        earlier.add(id.clone(), Stood { at: at(1), mark: 10 });
        assert_eq!(earlier.of("p", "k", "s").map(|stood| stood.mark), Some(50));
        earlier.add(id, Stood { at: at(9), mark: 90 });
        assert_eq!(earlier.of("p", "k", "s").map(|stood| stood.mark), Some(90));
        assert_eq!((earlier.len(), earlier.is_empty()), (1, false));
    }
}
