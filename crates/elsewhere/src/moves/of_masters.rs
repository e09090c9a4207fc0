//! What the record of a move says of its masters: the counters that it moves, and which of them go on.

use std::collections::BTreeMap;

use super::masters::{MASTERS_MAX, Master, all_of};
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
        all.retain(|one| self.back_to.as_ref().is_none_or(|to| *to == one.source));
        all
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

    /// Whether the fence of a counter stays, since another one goes on alone.
    pub fn keeps_fenced(&self, counter: &Master) -> bool {
        let is_another = self.back_to.as_ref().is_some_and(|to| *to != counter.source);
        is_another && counter.mark.is_some() && matches!(self.phase, Phase::Returning | Phase::Returned)
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

    /// What lifting the fence of one of its counters puts back.
    pub(super) fn set_before(&mut self, at: usize, before: BTreeMap<String, String>) {
        match self.masters.get_mut(at) {
            Some(master) => master.before = before,
            None => self.before = before,
        }
    }

    /// Where one of its counters was fenced. The move's own mark is the furthest.
    pub(super) fn set_mark(&mut self, at: usize, mark: i64) {
        let is_up = self.definition.increment > 0;
        match self.masters.get_mut(at) {
            Some(master) => master.mark = Some(mark),
            None => self.mark = Some(mark),
        }
        let marks = self.masters.iter().filter_map(|master| master.mark);
        let furthest = if is_up { marks.max() } else { marks.min() };
        self.mark = furthest.or(self.mark);
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
