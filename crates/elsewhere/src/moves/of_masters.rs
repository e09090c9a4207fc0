//! What the record of a move says of its masters: the counters that it moves, and which of them go on.

use std::collections::BTreeMap;

use super::masters::{KnowsSteps, MASTERS_MAX, Master, all_of, increment_of, is_counted_by_clients};
use super::record::{Move, Phase};
use crate::source::MoveId;

impl Move {
    /// The counters elsewhere that it moves: one, or several that gave out the numbers together.
    pub fn counters(&self) -> Vec<Master> {
        match self.masters.is_empty() {
            false => self.masters.clone(),
            true => vec![Master {
                source: self.source.clone(),
                key: self.key.clone(),
                increment: self.definition.increment,
                one: self.definition.start,
                before: self.before.clone(),
                mark: self.mark,
                fenced_by: None,
            }],
        }
    }

    /// The counters that go on, or have gone on, on the way back.
    pub fn going_back(&self) -> Vec<Master> {
        let mut all = self.counters();
        all.retain(|one| self.goes_on(one));
        all
    }

    /// Whether a counter goes on, or has gone on, on the way back.
    pub(super) fn goes_on(&self, counter: &Master) -> bool {
        self.back_to.as_ref().is_none_or(|to| *to == counter.source)
    }

    /// Whether ours gives out numbers that are this counter's, too.
    pub(super) fn gives_numbers_of(&self, counter: &Master) -> bool {
        let ours = Master {
            increment: self.definition.increment,
            one: self.definition.start,
            ..counter.clone()
        };
        ours.meets(counter)
    }

    /// Whether a fence at a counter that carries this id is one of this move or of an earlier one of its name.
    pub(super) fn is_id_of(&self, counter: &Master, id: MoveId) -> bool {
        id == self.id || counter.fenced_by == Some(id) || self.former.contains(&id)
    }

    /// Whether a fence at this mark keeps a counter from all that is ours: it lies where it was built, or before
    /// that, as while a ceiling is ended.
    pub(crate) fn is_kept_at(&self, counter: &Master, mark: i128) -> bool {
        if counter.mark.is_none_or(|known| mark == known.into()) {
            return true;
        }
        let Ok(mark) = i64::try_from(mark) else {
            return false;
        };
        let first = self.first.filter(|_| self.ceiling.is_some());
        first.is_some_and(|first| {
            self.furthest([first, counter.last_at(mark)]) == Some(first) && first != counter.last_at(mark)
        })
    }

    /// Whether the fence of a counter stays, since another one goes on alone.
    pub(crate) fn keeps_fenced(&self, counter: &Master) -> bool {
        self.is_on_its_way_back() && self.fence_kept(counter).is_some()
    }

    /// The move whose fence at a counter stays, since another one has gone on alone or does so now: lifted for a
    /// moment it would let out what that one gives. It stays through every later move, until that gives the counter
    /// back.
    pub(super) fn fence_kept(&self, counter: &Master) -> Option<MoveId> {
        match self.is_on_its_way_back() {
            true if self.goes_on(counter) => None,
            true => counter.fenced_by.or(counter.mark.map(|_| self.id)),
            false => counter.fenced_by,
        }
    }

    /// The counters with a fence that stays.
    pub fn kept(&self) -> Vec<Master> {
        let mut all = self.counters();
        all.retain(|one| self.fence_kept(one).is_some());
        all
    }

    fn is_on_its_way_back(&self) -> bool {
        matches!(self.phase, Phase::Returning | Phase::Returned)
    }

    /// Who knows the steps of its counters.
    pub(super) fn counts(&self) -> KnowsSteps {
        match (is_counted_by_clients(&self.kind), &self.table) {
            (false, _) => KnowsSteps::Source,
            (true, Some(own)) if own.is_next => KnowsSteps::ClientsFromNext,
            (true, _) => KnowsSteps::ClientsFromLast,
        }
    }

    /// The furthest number that anybody may have given out of those that whoever goes back could come to: `reserved`
    /// is what ours has ever reserved. Everything that decides where one side goes on asks this.
    ///
    /// Ours, also before this move; what an advance is for, and what stood in columns; where this move is fenced
    /// anew, and where one of several goes on alone, what the others gave.
    pub(super) fn given_out(&self, reserved: Option<i64>) -> Option<i64> {
        // Below a ceiling nobody but the sources themselves has given out anything before the first number of ours.
        let is_skipped = self.advance > 0 || self.ceiling.is_none();
        let skipped = self.first.filter(|_| is_skipped).map(|first| self.before(first));
        let others = self.masters.iter().filter(|other| !self.goes_on(other));
        let others = others
            .filter_map(|other| other.mark)
            .map(|mark| self.before(mark));
        let known = [reserved, skipped, self.highest, self.issued];
        self.furthest(known.into_iter().flatten().chain(others))
    }

    /// The furthest of numbers in the direction of the sequence.
    pub(super) fn furthest(&self, numbers: impl IntoIterator<Item = i64>) -> Option<i64> {
        let numbers = numbers.into_iter();
        match self.definition.increment > 0 {
            true => numbers.max(),
            false => numbers.min(),
        }
    }

    /// The number before one, whatever the steps.
    pub(super) fn before(&self, number: i64) -> i64 {
        number.saturating_sub(self.definition.increment.signum())
    }

    /// The same with several masters: what they are called together stands where there is room for one.
    pub(super) fn with_masters(mut self, masters: Vec<Master>) -> Move {
        if masters.len() > 1 {
            self.source = all_of(masters.iter().map(|master| master.source.as_str()));
            self.key = all_of(masters.iter().map(|master| master.key.as_str()));
            self.before = BTreeMap::new();
            self.masters = masters;
        }
        self
    }

    /// A fence that an earlier move has left at one of its counters, and that stays.
    pub(super) fn set_fenced_by(&mut self, at: usize, id: MoveId) {
        if let Some(master) = self.masters.get_mut(at) {
            master.fenced_by = Some(id);
        }
    }

    /// What an earlier record says of a counter that is fenced by now: the source shows the fence, not the counter.
    pub(super) fn set_as_known(&mut self, at: usize, known: &Master) {
        self.set_before(at, known.before.clone());
        if let Some(master) = self.masters.get_mut(at) {
            (master.increment, master.one) = (known.increment, known.one);
        }
    }

    /// Ours counts so that it has the numbers of all of its masters; `beside` those of the first alone.
    pub(super) fn count_as_masters(&mut self, is_beside: bool) {
        let Some(first) = self.masters.first() else {
            return;
        };
        let increment = if is_beside {
            first.increment
        } else {
            increment_of(&self.masters)
        };
        self.definition.increment = increment;
        let apart = i128::from(self.definition.start) - i128::from(first.one);
        if increment != 0 && apart % i128::from(increment) != 0 {
            self.definition.start = first.one;
        }
    }

    /// What lifting the fence of one of its counters puts back.
    pub(super) fn set_before(&mut self, at: usize, before: BTreeMap<String, String>) {
        match self.masters.get_mut(at) {
            Some(master) => master.before = before,
            None => self.before = before,
        }
    }

    /// Where one of its counters was fenced. The move's own mark is the furthest.
    pub(super) fn set_mark(&mut self, at: usize, mark: i64) {
        match self.masters.get_mut(at) {
            Some(master) => master.mark = Some(mark),
            None => self.mark = Some(mark),
        }
        let marks = self.masters.iter().filter_map(|master| master.mark);
        self.mark = self.furthest(marks).or(self.mark);
    }

    /// Whether what it says of its masters makes sense.
    pub(super) fn check_masters(&self, is_cut: bool) -> Result<(), String> {
        let count = self.masters.len();
        if count == 1 || count > MASTERS_MAX {
            return Err(format!(
                "it names {count} masters: there are 2 to {MASTERS_MAX}, or one counter alone"
            ));
        }
        if self.masters.iter().any(|master| master.increment == 0) {
            return Err("it names a master whose increment is 0".into());
        }
        let is_one = |to: &String| self.masters.iter().any(|master| master.source == *to);
        if let Some(to) = self.back_to.as_ref().filter(|to| !is_one(to)) {
            return Err(format!("it is to go back to {to}, which is none of its masters"));
        }
        match self.masters.iter().find(|master| is_cut && master.mark.is_none()) {
            Some(master) => Err(format!(
                "a move that is cut says where {} was fenced",
                master.source
            )),
            None => Ok(()),
        }
    }
}
