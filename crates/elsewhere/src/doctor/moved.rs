//! Whether the fences of counters that are ours stand, by their form and by the records of their moves.

use super::rules::Found;
use crate::moves::{Master, Move, Phase};
use crate::name::Name;
use crate::source::{Counter, Fence, FindingCode, MoveId, SOURCES, Severity};

/// The moves of one store.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moves<'a>(&'a [(Name, Move)]);

fn fenced(text: String) -> Found {
    Found::new(FindingCode::Fenced, Severity::Info, text)
}

fn broken(text: String) -> Found {
    Found::new(FindingCode::FenceBroken, Severity::Error, text)
}

/// What a fence shows by itself.
pub(super) fn by_form(counter: &Counter) -> Vec<Found> {
    match &counter.fence {
        Fence::None => Vec::new(),
        Fence::Ours { id: Some(id), .. } => vec![fenced(format!("fenced: moved to mint by the move {id}"))],
        Fence::Ours { id: None, .. } => vec![fenced("fenced: moved to mint".to_string())],
        Fence::Broken { why, .. } => vec![broken(format!("fence-broken: {why}"))],
    }
}

impl<'a> Moves<'a> {
    pub(super) fn new(moves: &'a [(Name, Move)]) -> Moves<'a> {
        Moves(moves)
    }

    /// The move that a fence names, else that of the counter; and the counter as the move has it.
    fn of(&self, id: Option<MoveId>, place: &str, counter: &Counter) -> Option<(&'a Name, &'a Move, Master)> {
        let named = id.and_then(|id| self.0.iter().find(|(_, record)| record.id == id));
        let is_it = |record: &Move, one: &Master| {
            one.source == place && record.kind == counter.kind && one.key == counter.key
        };
        let of_place = || {
            let mut all = self.0.iter();
            all.find(|(_, record)| record.counters().iter().any(|one| is_it(record, one)))
        };
        let (name, record) = named.or_else(of_place)?;
        let mut all = record.counters();
        let at = all.iter().position(|one| is_it(record, one)).unwrap_or(0);
        Some((name, record, all.swap_remove(at)))
    }

    /// What is wrong with a counter's fence, or with there being none.
    pub(super) fn judge(&self, place: &str, counter: &Counter) -> Vec<Found> {
        let id = match &counter.fence {
            Fence::None => None,
            Fence::Ours { id, .. } | Fence::Broken { id, .. } => *id,
        };
        let of = self.of(id, place, counter);
        match (&counter.fence, of) {
            (Fence::Broken { .. }, _) => by_form(counter),
            (Fence::None, Some((name, record, of))) if must_stand(record, &of) => vec![broken(format!(
                "fence-broken: it was moved to {name}, and no fence stands; both give out numbers"
            ))],
            (Fence::None, _) => Vec::new(),
            (Fence::Ours { .. }, None) => {
                let mut found = by_form(counter);
                found
                    .iter_mut()
                    .for_each(|found| found.text += ", which this store does not know");
                found
            }
            (Fence::Ours { id, mark }, Some((name, record, of))) => {
                vec![match stands(*id, *mark, name, record, &of) {
                    Ok(text) => fenced(text),
                    Err(text) => broken(text),
                }]
            }
        }
    }

    /// The counters that were moved from here, and are not there any more: whoever makes one anew begins at 1.
    pub(super) fn gone(&self, place: &str, kinds: &[&str], counters: &[Counter]) -> Vec<(Counter, Found)> {
        let is_gone = |record: &Move, of: &Master| {
            of.source == place
                && kinds.contains(&record.kind.as_str())
                && must_stand(record, of)
                && !counters
                    .iter()
                    .any(|counter| counter.kind == record.kind && counter.key == of.key)
        };
        let all = self.0.iter().flat_map(|(name, record)| {
            let counters = record.counters().into_iter();
            counters.map(move |of| (name, record, of))
        });
        let gone = all.filter(|(_, record, of)| is_gone(record, of));
        gone.filter_map(|(name, record, of)| {
            let kind = SOURCES.iter().find(|kind| kind.name == record.kind)?;
            let text = format!("fence-broken: it was moved to {name}, and is gone; made anew it begins at 1");
            Some((Counter::new(kind.name, of.key), broken(text)))
        })
        .collect()
    }
}

/// Whether a fence must stand at this phase. While one is built or lifted it may be there or not. Where one of several
/// masters went on alone, those of the others stay.
fn must_stand(record: &Move, of: &Master) -> bool {
    matches!(record.phase, Phase::Fenced | Phase::Open) || record.keeps_fenced(of)
}

/// Whether a fence is as its move left it: what to say of it.
fn stands(id: Option<MoveId>, mark: i128, name: &Name, record: &Move, of: &Master) -> Result<String, String> {
    let phase = record.phase.as_str();
    match (id, of.mark) {
        (Some(id), _) if id != of.fenced_by.unwrap_or(record.id) => Err(format!(
            "fence-broken: it carries the move {id}, and {name} has the move {}",
            record.id
        )),
        _ if !record.keeps_fenced(of)
            && matches!(record.phase, Phase::Planned | Phase::Beside | Phase::Returned) =>
        {
            Err(format!(
                "fence-broken: it stands, and the move of {name} is {phase}; nobody gives out numbers"
            ))
        }
        (_, Some(then)) if !record.is_kept_at(of, mark) => Err(format!(
            "fence-broken: its mark is {mark}, and was {then} when it was moved to {name}"
        )),
        _ => Ok(format!("fenced: moved to {name} ({phase})")),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::moves::Definition;

    const ID: &str = "0123456789abcdef0123456789abcdef";
    const OTHER: &str = "ffffffffffffffffffffffffffffffff";

    fn record(phase: Phase) -> (Name, Move) {
        let definition = Definition {
            start: 1,
            increment: 1,
            min: 1,
            max: i64::MAX,
            cycle: false,
        };
        let record = Move {
            id: ID.parse().unwrap(),
            former: Vec::new(),
            phase,
            ceiling: None,
            source: "postgres://db/shop".into(),
            kind: "postgres".into(),
            key: "public.s".into(),
            table: None,
            masters: Vec::new(),
            back_to: None,
            definition,
            before: BTreeMap::new(),
            advance: 0,
            take: None,
            mark: Some(100),
            first: Some(100),
            highest: None,
            issued: None,
            at_ms: 0,
        };
        (Name::new("orders").unwrap(), record)
    }

    fn ours(id: Option<&str>, mark: i128) -> Fence {
        Fence::Ours {
            id: id.map(|id| id.parse().unwrap()),
            mark,
        }
    }

    fn counter(fence: Fence) -> Counter {
        Counter {
            fence,
            ..Counter::new("postgres", "public.s")
        }
    }

    #[track_caller]
    fn check(phase: Phase, fence: Fence, code: Option<FindingCode>, says: &str) {
        let moves = [record(phase)];
        let found = Moves::new(&moves).judge("postgres://db/shop", &counter(fence));
        assert_eq!(found.first().map(|found| found.code), code, "{found:?}");
        assert!(
            found.first().is_none_or(|found| found.text.contains(says)),
            "{found:?}"
        );
    }

    #[test]
    fn a_fence_is_held_against_its_move() {
        let (good, bad) = (Some(FindingCode::Fenced), Some(FindingCode::FenceBroken));
        check(Phase::Open, ours(Some(ID), 100), good, "moved to orders (open)");
        check(Phase::Open, ours(None, 100), good, "moved to orders (open)");
        check(Phase::Fencing, ours(Some(ID), 100), good, "(fencing)");
        check(
            Phase::Open,
            ours(Some(ID), 101),
            bad,
            "its mark is 101, and was 100",
        );
        check(Phase::Open, ours(Some(OTHER), 100), bad, "carries the move ffff");
        check(Phase::Returned, ours(Some(ID), 100), bad, "is returned");
        check(Phase::Beside, ours(None, 100), bad, "is beside");
        check(Phase::Open, Fence::None, bad, "no fence stands");
        check(Phase::Fenced, Fence::None, bad, "no fence stands");
        for phase in [
            Phase::Planned,
            Phase::Beside,
            Phase::Fencing,
            Phase::Returning,
            Phase::Returned,
        ] {
            check(phase, Fence::None, None, "");
        }
        let why = "the key holds 3".to_string();
        check(
            Phase::Open,
            Fence::Broken { id: None, why },
            bad,
            "the key holds 3",
        );
    }

    #[test]
    fn fences_of_others_are_shown_as_such() {
        let found = Moves::new(&[]).judge("postgres://db/shop", &counter(ours(Some(ID), 5)));
        assert!(
            found[0].text.ends_with("which this store does not know"),
            "{found:?}"
        );
        // The same key in another place is another counter.
        let moves = [record(Phase::Open)];
        assert_eq!(
            Moves::new(&moves).judge("postgres://other/shop", &counter(Fence::None)),
            []
        );
    }

    /// Each of several masters is held against its own part of the move; and where one went on alone, the others' fences
    /// stay.
    #[test]
    fn each_of_several_masters_is_looked_at() {
        let (name, one) = record(Phase::Open);
        let master = |source: &str, mark: i64| Master {
            source: source.into(),
            key: "public.s".into(),
            increment: 2,
            one: mark,
            before: BTreeMap::new(),
            mark: Some(mark),
            fenced_by: None,
        };
        let several = |phase, back_to: Option<&str>| {
            let record = Move {
                phase,
                source: "postgres://a/shop and postgres://b/shop".into(),
                masters: vec![master("postgres://a/shop", 101), master("postgres://b/shop", 100)],
                back_to: back_to.map(String::from),
                ..one.clone()
            };
            [(name.clone(), record)]
        };
        let found = |moves: &[(Name, Move)], place: &str, fence: Fence| {
            let found = Moves::new(moves).judge(place, &counter(fence));
            found.first().map(|found| found.code)
        };
        let (good, bad) = (Some(FindingCode::Fenced), Some(FindingCode::FenceBroken));
        let open = several(Phase::Open, None);
        for (place, mark, code) in [
            ("postgres://a/shop", 101, good),
            ("postgres://b/shop", 100, good),
            ("postgres://b/shop", 101, bad),
        ] {
            assert_eq!(found(&open, place, ours(None, mark)), code, "{place} {mark}");
            assert_eq!(found(&open, place, Fence::None), bad, "{place}");
        }
        let back = several(Phase::Returned, Some("postgres://a/shop"));
        assert_eq!(found(&back, "postgres://a/shop", Fence::None), None);
        assert_eq!(found(&back, "postgres://a/shop", ours(None, 101)), bad);
        assert_eq!(found(&back, "postgres://b/shop", ours(None, 100)), good);
        assert_eq!(found(&back, "postgres://b/shop", Fence::None), bad);
    }

    #[test]
    fn without_a_store_a_fence_is_known_by_its_form() {
        let code = |fence| by_form(&counter(fence)).first().map(|found| found.code);
        assert_eq!(code(Fence::None), None);
        assert_eq!(code(ours(Some(ID), 5)), Some(FindingCode::Fenced));
        assert_eq!(code(ours(None, 5)), Some(FindingCode::Fenced));
        let why = String::new();
        assert_eq!(
            code(Fence::Broken { id: None, why }),
            Some(FindingCode::FenceBroken)
        );
    }

    #[cfg(feature = "redis")]
    #[test]
    fn what_was_moved_and_is_gone_is_told() {
        let (name, mut moved) = record(Phase::Open);
        moved.kind = "redis".into();
        let moves = [(name, moved)];
        let moves = Moves::new(&moves);
        let gone = |place, kinds: &[&str], counters: &[Counter]| moves.gone(place, kinds, counters).len();
        let here = "postgres://db/shop";
        assert_eq!(gone(here, &["redis"], &[]), 1);
        assert_eq!(gone("redis://else", &["redis"], &[]), 0);
        assert_eq!(gone(here, &["postgres"], &[]), 0);
        assert_eq!(gone(here, &["redis"], &[Counter::new("redis", "public.s")]), 0);
    }
}
