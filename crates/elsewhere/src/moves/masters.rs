//! Masters: counters elsewhere that give out the numbers of one name together, such as Flickr's two ticket servers, of
//! which one counts 1, 3, 5 and the other one 2, 4, 6.
//!
//! Each gives out the numbers that lie whole increments from one of its own: its class. A move fences all of them
//! before ours gives out a number; on the way back each goes on in its class, above all that was given out. Where two
//! classes meet, as of two copies of Leaf's table that were kept apart by ranges, nothing but the fence keeps them
//! apart any more: one of them alone can go on.

use std::collections::BTreeMap;

use mintage::Run;
use serde::{Deserialize, Serialize};

use crate::source::{Counter, MoveId, Note};

/// How many masters a name may have.
pub const MASTERS_MAX: usize = 16;

/// One of the counters elsewhere that became one sequence here.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Master {
    /// Where it is: its place without a password, or beside it the name in `[sources.NAME]`.
    pub source: String,
    /// Its key there.
    pub key: String,
    /// How far its numbers are apart; negative, if it counts down.
    pub increment: i64,
    /// One of its numbers: the others are whole increments away.
    pub one: i64,
    /// What lifting its fence puts back ([`crate::source::Note::before`]).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub before: BTreeMap<String, String>,
    /// From `fenced` on: the first number that it never gives out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<i64>,
    /// The move whose fence has stood there since another master went on alone. It stays: lifted for a moment, so that
    /// this move could build its own, it would let out numbers that were given out meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fenced_by: Option<MoveId>,
}

/// By how much the clients of a counter count, where its source does not know.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Told {
    /// From number to number.
    pub increment: i64,
    /// Whether the source keeps the next number; otherwise the last one that was given out.
    pub is_next: bool,
}

impl Master {
    /// The numbers that a counter gives out, as it stands; `None`: its mark is not known, or no number here.
    pub(super) fn of(source: String, counter: &Counter, told: Option<Told>) -> Option<Master> {
        let mark = i64::try_from(counter.mark?).ok()?;
        let (increment, one) = match told {
            Some(told) if told.is_next => (told.increment, mark),
            Some(told) => (told.increment, mark.saturating_sub(1)),
            None => (counter.increment, mark),
        };
        Some(Master {
            source,
            key: counter.key.clone(),
            increment,
            one,
            before: counter.before.clone(),
            mark: None,
            fenced_by: None,
        })
    }

    /// What its fence says: it is that of this move, unless an earlier one's stands.
    pub fn note(&self, id: MoveId) -> Note {
        Note {
            id: self.fenced_by.unwrap_or(id),
            before: self.before.clone(),
            mark: self.mark.map(i128::from),
        }
    }

    /// Its own number at which it has to stand so that all that follow lie beyond `issued`.
    ///
    /// ```
    /// use mintage_elsewhere::moves::Master;
    /// let even = |increment| Master {
    ///     source: "redis://b".into(), key: "k".into(), increment, one: 2, before: Default::default(), mark: None, fenced_by: None,
    /// };
    /// assert_eq!((even(2).last_before(7), even(2).last_before(8)), (8, 8));
    /// assert_eq!((even(-2).last_before(-7), even(1).last_before(7)), (-8, 7));
    /// ```
    pub fn last_before(&self, issued: i64) -> i64 {
        let size = i128::from(self.increment.unsigned_abs().max(1));
        let sign = i128::from(self.increment.signum());
        let (issued, one) = (i128::from(issued) * sign, i128::from(self.one) * sign);
        let number = (issued + (one - issued).rem_euclid(size)) * sign;
        // Beyond 63 bits its source refuses anyhow.
        i64::try_from(number).unwrap_or(if sign < 0 { i64::MIN } else { i64::MAX })
    }

    /// Its last number before a mark.
    pub(super) fn last_at(&self, mark: i64) -> i64 {
        self.last_before(mark).saturating_sub(self.increment)
    }

    /// What its source is told to have been issued, so that it goes on beyond `issued` and in its class. `counts`:
    /// who knows its steps.
    pub(super) fn told(&self, issued: i64, counts: KnowsSteps) -> i64 {
        match counts {
            // It goes on a step further.
            KnowsSteps::Source | KnowsSteps::ClientsFromLast => self.last_before(issued),
            // It goes on one number further, whatever its clients count in.
            KnowsSteps::ClientsFromNext => {
                let sign = self.increment.signum();
                self.last_before(issued.saturating_add(sign)).saturating_sub(sign)
            }
        }
    }

    /// Whether both can give out the same number.
    pub(super) fn meets(&self, other: &Master) -> bool {
        let size = gcd(self.increment.unsigned_abs(), other.increment.unsigned_abs()).max(1);
        i128::from(self.one).abs_diff(other.one.into()) % u128::from(size) == 0
    }
}

/// Who knows the steps of a counter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum KnowsSteps {
    /// The source itself.
    Source,
    /// Its clients, and the source keeps the last number that they gave out.
    ClientsFromLast,
    /// Its clients, and the source keeps the number that they give out next.
    ClientsFromNext,
}

/// Kinds of counters that do not know by how much their clients count.
pub(super) const COUNTED_BY_CLIENTS: [&str; 2] = ["redis", "own"];

/// Whether a counter of this kind is counted by its clients, in steps that its source does not know: what is taken
/// out of it holds the numbers of others, too.
pub fn is_counted_by_clients(kind: &str) -> bool {
    COUNTED_BY_CLIENTS.contains(&kind)
}

/// The numbers of a run that lie whole increments from `one`: of what a source of other steps answers, those that are
/// ours.
///
/// ```
/// use mintage::Run;
/// use mintage_elsewhere::moves::of_class;
/// let run = Run { first: 5, step: 1, count: 6 };
/// assert_eq!(of_class(run, 1, 2).iter().collect::<Vec<_>>(), [5, 7, 9]);
/// assert_eq!(of_class(run, 0, 4).iter().collect::<Vec<_>>(), [8]);
/// assert_eq!(of_class(Run { first: 5, step: 2, count: 3 }, 1, 2).count, 3);
/// assert_eq!(of_class(Run { first: 6, step: 2, count: 3 }, 1, 2).count, 0);
/// ```
pub fn of_class(run: Run, one: i64, increment: i64) -> Run {
    let size = i128::from(increment.unsigned_abs().max(1));
    let (first, step) = (i128::from(run.first), i128::from(run.step));
    let is_ours = |at: &u64| (first + step * i128::from(*at) - i128::from(one)).rem_euclid(size) == 0;
    // After so many they repeat.
    let turn =
        increment.unsigned_abs().max(1) / gcd(increment.unsigned_abs().max(1), run.step.unsigned_abs());
    let Some(at) = (0..run.count.min(turn)).find(is_ours) else {
        return Run { count: 0, ..run };
    };
    let (Ok(first), Some(step)) = (
        i64::try_from(first + step * i128::from(at)),
        i64::try_from(turn)
            .ok()
            .and_then(|turn| run.step.checked_mul(turn)),
    ) else {
        return Run { count: 0, ..run };
    };
    Run {
        first,
        step,
        count: (run.count - at).div_ceil(turn),
    }
}

/// How far the numbers of all of them are apart: every number of any is one of ours then.
///
/// ```
/// use mintage_elsewhere::moves::{Master, increment_of};
/// let of = |increment, one| Master {
///     source: "redis://a".into(), key: "k".into(), increment, one, before: Default::default(), mark: None, fenced_by: None,
/// };
/// assert_eq!(increment_of(&[of(2, 1), of(2, 2)]), 1);
/// assert_eq!(increment_of(&[of(10, 1), of(10, 6)]), 5);
/// assert_eq!(increment_of(&[of(-2, -1), of(-2, -1)]), -2);
/// ```
pub fn increment_of(masters: &[Master]) -> i64 {
    let Some(first) = masters.first() else {
        return 1;
    };
    let size = masters.iter().fold(0, |size, master| {
        let apart = i128::from(master.one).abs_diff(first.one.into());
        let apart = u64::try_from(apart).expect("two numbers of 64 bits lie less than 2^64 apart");
        gcd(gcd(size, master.increment.unsigned_abs()), apart)
    });
    let size = i64::try_from(size).unwrap_or(i64::MAX).max(1);
    if first.increment < 0 { -size } else { size }
}

/// Two of them that can give out the same number, if there are such.
///
/// ```
/// use mintage_elsewhere::moves::{Master, that_meet};
/// let of = |increment, one| Master {
///     source: "redis://a".into(), key: "k".into(), increment, one, before: Default::default(), mark: None, fenced_by: None,
/// };
/// assert!(that_meet(&[of(2, 1), of(2, 2)]).is_none() && that_meet(&[of(4, 1), of(2, 2)]).is_none());
/// assert!(that_meet(&[of(1, 1), of(1, 5_000)]).is_some() && that_meet(&[of(2, 1), of(3, 1)]).is_some());
/// ```
pub fn that_meet(masters: &[Master]) -> Option<(&Master, &Master)> {
    masters.iter().enumerate().find_map(|(at, one)| {
        let other = masters[at + 1..].iter().find(|other| one.meets(other))?;
        Some((one, other))
    })
}

/// Several texts as people say them; the same one once.
pub(super) fn all_of<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    let mut different: Vec<&str> = Vec::new();
    for text in texts {
        if !different.contains(&text) {
            different.push(text);
        }
    }
    different.join(" and ")
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::super::record::Move;
    use super::*;

    fn master(source: &str, increment: i64, one: i64) -> Master {
        Master {
            source: source.into(),
            key: "shop.tickets".into(),
            increment,
            one,
            before: BTreeMap::new(),
            mark: None,
            fenced_by: None,
        }
    }

    /// As a store of before there were several has it.
    const OF_ONE: &str = r#"{"id": "0123456789abcdef0123456789abcdef", "phase": "open", "source": "mysql://a/shop",
        "kind": "tickets", "key": "shop.tickets", "definition": {"start": 1, "increment": 2, "min": 1, "max": 99,
        "cycle": false}, "before": {"max": "99"}, "advance": 0, "mark": 7, "first": 7, "at_ms": 5}"#;

    #[test]
    fn a_record_of_before_there_were_several_is_that_of_one() {
        let record: Move = serde_json::from_str(OF_ONE).unwrap();
        let [one] = &record.counters()[..] else {
            panic!("{record:?}");
        };
        assert_eq!(
            (one.source.as_str(), one.key.as_str(), one.increment, one.mark),
            ("mysql://a/shop", "shop.tickets", 2, Some(7))
        );
        assert_eq!(one.before["max"], "99");
        assert_eq!(
            (record.going_back().len(), record.check_masters(true)),
            (1, Ok(()))
        );
        // And is written as it was.
        let written = serde_json::to_value(&record).unwrap();
        assert!(
            written.get("masters").is_none() && written.get("back_to").is_none(),
            "{written}"
        );
    }

    #[test]
    fn a_record_of_several_is_another_counter_to_who_knows_one() {
        let record: Move = serde_json::from_str(OF_ONE).unwrap();
        let mut record = record.with_masters(vec![
            master("mysql://a/shop", 2, 1),
            master("mysql://b/shop", 2, 2),
        ]);
        assert_eq!(record.source, "mysql://a/shop and mysql://b/shop");
        assert_eq!(record.key, "shop.tickets");
        // A cut one says where each was fenced; the furthest is the move's own.
        assert!(record.check_masters(true).is_err());
        record.set_mark(0, 9);
        record.set_mark(1, 8);
        assert_eq!((record.mark, record.check_masters(true)), (Some(9), Ok(())));
        let read: Move = serde_json::from_str(&serde_json::to_string(&record).unwrap()).unwrap();
        assert_eq!(read, record);
    }

    #[test]
    fn what_a_record_says_of_masters_makes_sense() {
        let record: Move = serde_json::from_str(OF_ONE).unwrap();
        let (a, b) = (master("mysql://a/shop", 2, 1), master("mysql://b/shop", 2, 2));
        let with = |masters: Vec<Master>, back_to: Option<&str>| Move {
            masters,
            back_to: back_to.map(String::from),
            ..record.clone()
        };
        for (record, is_right) in [
            (with(vec![a.clone(), b.clone()], None), true),
            (with(vec![a.clone(), b.clone()], Some("mysql://b/shop")), true),
            (with(vec![a.clone(), b.clone()], Some("mysql://c/shop")), false),
            (with(vec![], Some("mysql://a/shop")), false),
            (with(vec![a.clone()], None), false),
            (with(vec![a.clone(); MASTERS_MAX], None), true),
            (with(vec![a.clone(); MASTERS_MAX + 1], None), false),
            (with(vec![a, master("mysql://b/shop", 0, 2)], None), false),
        ] {
            assert_eq!(record.check_masters(false).is_ok(), is_right, "{record:?}");
        }
    }

    /// A counter elsewhere as its kind keeps it, counted upwards: its clients are the number that they give out next.
    struct There {
        next: i64,
        increment: i64,
        counts: KnowsSteps,
    }

    impl There {
        /// The mark that its source shows.
        fn mark(&self) -> i64 {
            match self.counts {
                KnowsSteps::Source | KnowsSteps::ClientsFromNext => self.next,
                KnowsSteps::ClientsFromLast => self.next - self.increment + 1,
            }
        }

        /// As sources lift.
        fn lift(&mut self, issued: i64) {
            let further = match self.counts {
                KnowsSteps::Source | KnowsSteps::ClientsFromLast => self.increment,
                KnowsSteps::ClientsFromNext => 1,
            };
            let is_up = self.increment > 0;
            let next = issued + if is_up { further } else { self.increment };
            self.next = if is_up {
                self.next.max(next)
            } else {
                self.next.min(next)
            };
        }
    }

    #[test]
    fn every_counter_goes_on_in_its_class_beyond_what_was_issued() {
        use KnowsSteps::*;
        let mut seen = 0;
        for (counts, increment) in [Source, ClientsFromLast, ClientsFromNext]
            .into_iter()
            .flat_map(|counts| [1, 2, 3, 7, -1, -2, -5].map(|increment| (counts, increment)))
        {
            // Clients that count downwards by themselves are refused.
            if increment < 0 && counts != Source {
                continue;
            }
            for (next, issued) in (-9..9).flat_map(|next| (-30..30).map(move |issued| (next, issued))) {
                let mut there = There {
                    next,
                    increment,
                    counts,
                };
                let counter = Counter {
                    mark: Some(there.mark().into()),
                    increment: if counts == Source { increment } else { 1 },
                    ..Counter::new("own", "k")
                };
                let told = (counts != Source).then_some(Told {
                    increment,
                    is_next: counts == ClientsFromNext,
                });
                let master = Master::of("a".into(), &counter, told).unwrap();
                there.lift(master.told(issued, counts));
                let is_beyond = (there.next - issued) * increment.signum() > 0;
                let is_its_own = (there.next - next) % increment == 0;
                let is_back = (there.next - next) * increment.signum() < 0;
                let lost = (there.next - issued).abs().min((there.next - next).abs());
                let is_near = lost <= 2 * increment.abs();
                assert!(
                    is_beyond && is_its_own && !is_back && is_near,
                    "{counts:?} {increment}: {next}, {issued} given out, goes on at {}",
                    there.next
                );
                // A second lift changes nothing.
                let then = there.next;
                there.lift(master.told(issued, counts));
                assert_eq!(there.next, then);
                seen += 1;
            }
        }
        assert!(seen > 10_000, "{seen}");
    }

    #[test]
    fn extremes_do_not_overflow() {
        let ends = [master("a", i64::MIN, i64::MIN), master("b", i64::MAX, i64::MAX)];
        increment_of(&ends);
        that_meet(&ends);
        for issued in [i64::MIN, -1, 0, 1, i64::MAX] {
            for end in &ends {
                end.last_before(issued);
                for counts in [
                    KnowsSteps::Source,
                    KnowsSteps::ClientsFromLast,
                    KnowsSteps::ClientsFromNext,
                ] {
                    end.told(issued, counts);
                }
                let run = Run {
                    first: issued,
                    step: end.increment,
                    count: u64::MAX,
                };
                of_class(run, end.one, 3);
            }
        }
    }
}
