//! The store is set back to an earlier state with its own tools: a dump, a data folder, a snapshot. Nobody raises its
//! marks, and whoever starts on it must notice, or say so where it runs.

use std::time::Duration;

use mintage_ledger::tools::{Advance, raise_in_place};
use mintage_ledger::{Key, Value, Versioned};

use super::backup::WINDOW;
use super::fault::Fault;
use super::machine::{ArcMachine, Machine, NodeClock};
use super::process::Registers;
use super::server::now;
use super::subject::{self, Rules, SEQUENCES, TRUE_WALL_NS, sequence_of};
use super::world::{Event, Node, SECOND_NS, Step, World};

/// What a restore must skip besides what was given out: the blocks of every process.
const BLOCKS: u64 = 1_000_000;

impl World {
    /// The first time, the store's state is saved; the next, it is put back, under running processes (`live`) or while
    /// none runs.
    pub(super) fn set_back(&mut self, live: bool) -> Step {
        // One that was not noticed yet is enough.
        if self.owed.is_some() {
            return Ok(());
        }
        let since = self.servers[0].dump();
        let Some(old) = self.saved.take() else {
            self.saved = since
                .iter()
                .any(|(_, found)| found.value.mark > 0)
                .then_some(since);
            return Ok(());
        };
        let mark = |key| {
            let found = old.iter().find(|(known, _)| known == key);
            found.map_or(0, |(_, found)| found.value.mark)
        };
        let sequences = since.iter().filter(|(key, _)| key.as_str().starts_with("seq/"));
        let given_out = sequences
            .map(|(key, found)| found.value.mark.saturating_sub(mark(key)))
            .max()
            .unwrap_or(0);
        // What was dropped, or is about to be made, leaves a tombstone, which defines nothing.
        let defines = |found: &Versioned| !found.value.body.contains("\"tombstone\"");
        let holds = |all: &Registers, name: &str| {
            let is_it =
                |(key, found): &(Key, Versioned)| key.as_str() == format!("seq/{name}") && defines(found);
            all.iter().any(is_it)
        };
        let defined = SEQUENCES.iter().filter(|row| row.spec().is_some());
        let loses_a_definition = defined
            .into_iter()
            .any(|row| holds(&since, row.name) && !holds(&old, row.name));
        let knows = |node: &Node| match self.remembers {
            true => node.has_seen_more_than(&old, self.nodes.len()),
            // Who starts, be it in this moment, has his journal, if anything.
            false => node.journal_owns_more_than(&old),
        };
        let unseen = !self.nodes.iter().all(knows);
        if given_out == 0 || loses_a_definition || unseen {
            // Nothing that anybody could miss; or users would have to define a name again before they ask for it; or a
            // machine has seen no more of the store than is put back: if it comes first, nobody can tell.
            self.saved = Some(since);
            return Ok(());
        }
        if !live {
            for node in 0..self.nodes.len() {
                self.kill(node, "for the store is set back")?;
            }
            self.events
                .retain(|_, event| !matches!(event, Event::Arrive { .. } | Event::Answer { .. }));
        }
        self.tally
            .faults
            .note(if live { Fault::SetBackLive } else { Fault::SetBack });
        self.note(19, &[given_out], || {
            format!("the store is set back by up to {given_out} numbers, under running processes: {live}")
        });
        let known = |key: String| old.iter().any(|(known, _)| known.as_str() == key);
        for (made, name) in self.pools_made.iter_mut().zip(subject::POOLS) {
            *made &= known(format!("pool/{name}"));
        }
        self.owed = Some(given_out.saturating_add(BLOCKS));
        self.check.set_back(live.then_some(self.now_ns));
        self.servers[0].load(old);
        Ok(())
    }

    /// Somebody lowers a mark with the store's own tools (`UPDATE … SET mark = …`) and touches nothing else: whoever
    /// reserves from that record next must stop (protocol E3).
    pub(super) fn lower_a_mark(&mut self) {
        if self.owed.is_some() {
            return;
        }
        let mut registers = self.servers[0].dump();
        let counts = |key: &Key| {
            let row = sequence_of(key).map(|at| SEQUENCES[at].rules);
            matches!(row, Some(Rules::Counted | Rules::GapFree))
        };
        let marked: Vec<&mut (Key, Versioned)> = registers
            .iter_mut()
            .filter(|(key, found)| counts(key) && found.value.mark > 0)
            .collect();
        if marked.is_empty() {
            return;
        }
        let at = self.dice.index(marked.len());
        let Some((key, found)) = marked.into_iter().nth(at) else {
            return;
        };
        let before = found.value.mark;
        let by = 1 + self.dice.below(before);
        found.value.mark -= by;
        let sequence = sequence_of(key).expect("a sequence's register");
        let key = key.to_string();
        self.tally.faults.note(Fault::Lowered);
        self.note(22, &[by], || format!("somebody lowers the mark of {key} by {by}"));
        self.owed = Some(by.saturating_add(BLOCKS));
        self.check.lowered_by_hand(sequence, before);
        self.servers[0].load(registers);
    }

    /// A process said that the store was set back: an operator will do what the refusal says.
    pub(super) fn call_operator(&mut self) {
        if !std::mem::replace(&mut self.operator_called, true) {
            let after = self.dice.length(Duration::from_secs(1), Duration::from_secs(20));
            self.at(after.as_nanos() as u64, Event::Mend);
        }
    }

    /// `mint store restore --advance N`, while no process runs.
    pub(super) fn mend(&mut self) -> Step {
        let Some(numbers) = self.owed.take() else {
            return Ok(());
        };
        self.operator_called = false;
        for node in 0..self.nodes.len() {
            self.kill(node, "by an operator who raises every mark")?;
        }
        self.events
            .retain(|_, event| !matches!(event, Event::Arrive { .. } | Event::Answer { .. }));
        let desk = self.desk();
        let store = self.servers[0].tended(self.exclusive);
        let raised = now(raise_in_place(&store, Advance::By(numbers), WINDOW, &desk));
        self.note(20, &[numbers], || {
            format!("every mark is raised by {numbers}: {raised:?}")
        });
        if let Err(error) = raised {
            return Err(format!("the restore that a refusal names was refused: {error}"));
        }
        self.check.restored();
        Ok(())
    }

    /// A machine whose clock is right, on which commands run.
    pub(super) fn operators_machine(&mut self) -> ArcMachine {
        let boot_ns = 1_000 * SECOND_NS;
        let clock = NodeClock {
            boot: 1,
            anchor_ns: self.now_ns,
            boot_ns,
            drift_ppm: 0,
            wall_offset_ns: TRUE_WALL_NS + i128::from(self.now_ns) - i128::from(boot_ns),
            frozen_ns: None,
            synchronised: Some(true),
        };
        ArcMachine(Machine::new(self.dice.next(), self.now_ns, clock))
    }
}

impl Node {
    /// Whether this machine's journal owns numbers that the store's earlier state does not know of.
    fn journal_owns_more_than(&self, old: &Registers) -> bool {
        let running = self.process.as_ref().and_then(|process| process.inner.journal());
        let Some(journal) = running.or_else(|| self.journal.clone()) else {
            return false;
        };
        let find = |key: &str| {
            old.iter()
                .find(|(known, _)| known.as_str() == key)
                .map(|(_, found)| &found.value)
        };
        let body = |value: Option<&Value>| -> serde_json::Value {
            value.map_or_else(Default::default, |value| {
                serde_json::from_str(&value.body).unwrap_or_default()
            })
        };
        // Names that are not there begin above what the last restore has skipped.
        let restored = find("cluster/restored");
        let absent = restored.map_or(0, |value| value.mark);
        let restored_ms = body(restored)["workers_from_ms"].as_i64().unwrap_or(0);
        journal.iter().any(|(key, found)| {
            let Some(name) = key.as_str().strip_prefix("block/") else {
                return false;
            };
            let owned = body(Some(&found.value));
            let ranges = owned["ranges"].as_array().into_iter().flatten();
            // Of what was claimed before a restore only what was handed out counts.
            let until = match owned["restored_ms"].as_i64() == Some(restored_ms) {
                true => ranges.filter_map(|range| range[1].as_u64()).max().unwrap_or(0),
                false => found.value.mark,
            };
            until > find(&format!("seq/{name}")).map_or(absent, |value| value.mark)
        })
    }

    /// Whether this machine would know that the store is at an earlier state, whatever is asked for first: it has met
    /// a later count of restores or change counter, or it is the only one and has seen what was reserved.
    fn has_seen_more_than(&self, old: &Registers, machines: usize) -> bool {
        let Some(state) = &self.state else { return false };
        let progress = old.iter().find(|(key, _)| key.as_str() == "cluster/progress");
        let progress = progress.map_or((0, 0), |(_, found)| {
            let body: serde_json::Value = serde_json::from_str(&found.value.body).unwrap_or_default();
            (body["restores"].as_u64().unwrap_or(0), found.value.mark)
        });
        let met = |line: &str| {
            let mut words = line.strip_prefix("counter ")?.split(' ');
            Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?))
        };
        let files = std::fs::read_dir(state.path().join("clusters"));
        let seen = files.into_iter().flatten().flatten();
        let seen = seen.filter_map(|file| std::fs::read_to_string(file.path()).ok());
        let knows = |text: String| text.lines().filter_map(met).any(|met| met > progress);
        machines == 1 || seen.into_iter().any(knows)
    }
}
