//! What goes wrong with machines, stores and clocks.

use std::time::Duration;

use super::fault::{Fault, focused};
use super::machine::ClockChange;
use super::op::Op;
use super::process::{Input, Registers};
use super::subject::{self, TRUE_WALL_NS};
use super::world::{Event, Node, Pause, Running, SECOND_NS, Sender, Step, World};

impl World {
    pub(super) fn nemesis(&mut self) -> Step {
        if self.healing {
            return Ok(());
        }
        let gap = self.dice.length(Duration::from_millis(20), self.plan.nemesis_gap);
        self.at(gap.as_nanos() as u64, Event::Nemesis);
        let fault = match focused() {
            [] => self.dice.pick(Fault::ALL).0,
            kinds if self.dice.chance(500) => *self.dice.pick(kinds),
            _ => self.dice.pick(Fault::ALL).0,
        };
        // It takes two of them, and circumstances in which somebody can notice.
        let fault = match self.plan.has(Fault::SetBackLive) && self.dice.chance(60) {
            true => Fault::SetBackLive,
            false => fault,
        };
        if !self.plan.has(fault) {
            return Ok(());
        }
        let node = self.dice.index(self.nodes.len());
        if matches!(fault, Fault::SetBack | Fault::SetBackLive) {
            return self.set_back(fault == Fault::SetBackLive);
        }
        if fault == Fault::Beside {
            self.elsewhere_goes_down();
            return Ok(());
        }
        if fault == Fault::Lowered {
            self.lower_a_mark();
            return Ok(());
        }
        if fault == Fault::NotKept {
            self.standby_leaves();
            return Ok(());
        }
        let of_set = self.servers.len() > 1;
        if fault == Fault::StoreDown || fault == Fault::MemberDown && of_set {
            let length = self
                .dice
                .length(Duration::from_millis(10), Duration::from_secs(15));
            let member = self.dice.index(self.servers.len());
            // One at a time: any one alive is enough.
            if of_set && self.down_until_ns.iter().any(|until| *until > self.now_ns) {
                return Ok(());
            }
            let until = self.now_ns + length.as_nanos() as u64;
            self.down_until_ns[member] = until;
            self.tally.faults.note(fault);
            self.note(10, &[until], || format!("store {member} is down for {length:?}"));
            self.at(length.as_nanos() as u64, Event::StoreUp);
            for node in &self.nodes {
                if let Some(process) = &node.process {
                    self.check.trouble(process.number);
                }
            }
            return Ok(());
        }
        let Some(process) = &self.nodes[node].process else {
            return Ok(());
        };
        let number = process.number;
        let (paused, closing, copy) = (
            self.nodes[node].pause.is_some(),
            process.closing,
            self.nodes[node].copy,
        );
        match fault {
            Fault::Partition => {
                let length = self
                    .dice
                    .length(Duration::from_millis(10), Duration::from_secs(20));
                self.nodes[node].cut_off_until_ns = self.now_ns + length.as_nanos() as u64;
                self.happened(
                    fault,
                    Sender {
                        node,
                        process: number,
                    },
                );
                self.note(11, &[node as u64], || {
                    format!("node {node} is cut off for {length:?}")
                });
            }
            Fault::Crash if !copy => {
                self.tally.faults.note(fault);
                return self.kill(node, "");
            }
            Fault::Reboot if !copy => {
                self.tally.faults.note(fault);
                self.kill(node, "by a reboot")?;
                let clock = &mut self.nodes[node].clock;
                clock.boot += 1;
                let wall = clock.wall_offset_ns + i128::from(clock.boot_ns);
                clock.boot_ns = self.dice.below(10 * SECOND_NS);
                clock.wall_offset_ns = wall - i128::from(clock.boot_ns);
            }
            Fault::Reconfigured if !copy => {
                self.tally.faults.note(fault);
                self.kill(node, "to be reconfigured")?;
                self.nodes[node].settings = subject::settings(&mut self.dice);
            }
            Fault::JournalLost if !copy && self.nodes[node].journal.is_some() => {
                self.kill(node, "and its disk is lost")?;
                self.tally.faults.note(fault);
                self.nodes[node].journal = Some(Vec::new());
                self.nodes[node].heir_of = None;
            }
            Fault::BegunAway => return self.begins_away(),
            Fault::JournalOld if !copy && self.nodes[node].journal.is_some() => {
                return self.old_journal(node);
            }
            Fault::CleanStop | Fault::CrashClosing if !closing && !paused && process.open && !copy => {
                return self.close(node, fault == Fault::CrashClosing);
            }
            Fault::Cut => return self.cut(node),
            Fault::Paused | Fault::Stood if !paused => self.pause(node, fault == Fault::Stood),
            Fault::Cloned if !self.cloned && process.inner.copyable() && process.open && !paused => {
                self.clone_process(node);
            }
            Fault::Stepped | Fault::SteppedFar | Fault::Jumped | Fault::Frozen => {
                self.disturb_clock(node, fault)
            }
            Fault::Spiked => return self.spike(node, copy),
            Fault::Released => {
                let pool = *self.dice.pick(&self.pools_in_use.clone());
                if subject::pool_spec(pool, None).is_none() || self.pools_made[pool] {
                    let worker = self.dice.below(4);
                    self.tally.faults.note(fault);
                    self.ask(node, Op::Release { pool, worker });
                }
            }
            _ => {}
        }
        Ok(())
    }

    pub(super) fn close(&mut self, node: usize, and_kill: bool) -> Step {
        let Some(process) = &mut self.nodes[node].process else {
            return Ok(());
        };
        process.closing = true;
        let number = process.number;
        self.ask(node, Op::Close);
        // A close that hangs is killed in the end, as a supervisor does.
        let patience = if and_kill {
            self.dice
                .length(Duration::from_micros(100), Duration::from_millis(500))
        } else {
            Duration::from_secs(60)
        };
        let process = number;
        self.at(patience.as_nanos() as u64, Event::KillClosing { node, process });
        Ok(())
    }

    pub(super) fn cut(&mut self, node: usize) -> Step {
        let Some(process) = &self.nodes[node].process else {
            return Ok(());
        };
        let number = process.number;
        let near = process.inner.machine.near_tasks();
        if near.is_empty() {
            return Ok(());
        }
        let id = *self.dice.pick(&near);
        let asked = self.asked(number);
        self.happened(
            Fault::Cut,
            Sender {
                node,
                process: number,
            },
        );
        self.check.cut(number, &asked);
        self.feed(node, Input::Cut(id));
        self.collect(node)
    }

    pub(super) fn pause(&mut self, node: usize, stands: bool) {
        let length = self
            .dice
            .length(Duration::from_millis(50), Duration::from_secs(30));
        self.tally
            .faults
            .note(if stands { Fault::Stood } else { Fault::Paused });
        self.note(12, &[node as u64], || {
            format!("node {node} stops for {length:?}, clocks too: {stands}")
        });
        self.nodes[node].pause = Some(Pause {
            since_ns: self.now_ns,
            stands,
        });
        if let Some(process) = &self.nodes[node].process {
            self.check.trouble(process.number);
        }
        self.at(length.as_nanos() as u64, Event::Resume { node });
    }

    pub(super) fn stood_still(&mut self, node: usize, pause: &Pause) {
        if pause.stands {
            let length = Duration::from_nanos(self.now_ns - pause.since_ns);
            self.change_clock(node, ClockChange::Stood(length));
        }
    }

    pub(super) fn resume(&mut self, node: usize) {
        let Some(pause) = self.nodes[node].pause.take() else {
            return;
        };
        self.note(13, &[node as u64], || format!("node {node} goes on"));
        self.stood_still(node, &pause);
        let held_back = std::mem::take(&mut self.nodes[node].held_back);
        let Some(process) = &self.nodes[node].process else {
            return;
        };
        self.check.trouble(process.number);
        let to = Sender {
            node,
            process: process.number,
        };
        // What arrived meanwhile lies in the socket; timers may be seen first.
        if self.dice.chance(500) {
            self.feed(node, Input::Fire);
        }
        for (id, ask, told) in held_back {
            self.hand_over(to, id, &ask, told);
        }
    }

    pub(super) fn change_clock(&mut self, node: usize, change: ClockChange) {
        let true_wall_ns = TRUE_WALL_NS + i128::from(self.now_ns);
        let now_ns = self.now_ns;
        self.note(14, &[node as u64], || format!("node {node}'s clock: {change:?}"));
        match &mut self.nodes[node].process {
            Some(process) => {
                process.inner.feed(now_ns, Input::Clock(change, true_wall_ns));
            }
            None => self.nodes[node].clock.change(&change, now_ns, true_wall_ns),
        }
    }

    pub(super) fn disturb_clock(&mut self, node: usize, fault: Fault) {
        let back = self.dice.chance(500);
        let by = match fault {
            Fault::Frozen => {
                let length = self
                    .dice
                    .length(Duration::from_millis(100), Duration::from_secs(60));
                self.tally.faults.note(fault);
                self.change_clock(node, ClockChange::Freeze);
                return self.at(length.as_nanos() as u64, Event::Thaw { node });
            }
            Fault::Stepped => self.dice.length(Duration::from_millis(1), Duration::from_secs(5)),
            Fault::SteppedFar => self
                .dice
                .length(Duration::from_secs(5), Duration::from_secs(3_600)),
            _ => self.dice.length(
                Duration::from_secs(86_400),
                Duration::from_secs(10 * 365 * 86_400),
            ),
        };
        self.tally.faults.note(fault);
        let by = by.as_nanos() as i128;
        self.change_clock(node, ClockChange::Step(if back { -by } else { by }));
        if self.dice.chance(300) {
            let said = *self.dice.pick(&[None, Some(true), Some(false)]);
            self.change_clock(node, ClockChange::Synchronised(said));
        }
    }

    /// A clock hours ahead for some seconds, under a running process or as it starts.
    pub(super) fn spike(&mut self, node: usize, copy: bool) -> Step {
        if !copy && self.dice.chance(500) {
            self.kill(node, "and its clock runs ahead as it starts")?;
        }
        self.spike_for(node, Duration::from_secs(30));
        Ok(())
    }

    /// The clock of this node is hours ahead, for at most so long.
    pub(super) fn spike_for(&mut self, node: usize, most: Duration) {
        let by = self
            .dice
            .length(Duration::from_secs(900), Duration::from_secs(5 * 3_600));
        let length = self.dice.length(Duration::from_millis(100), most);
        self.tally.faults.note(Fault::Spiked);
        let by = by.as_nanos() as i128;
        self.change_clock(node, ClockChange::Step(by));
        self.at(length.as_nanos() as u64, Event::Unspike { node, by });
    }

    /// The store goes away for some seconds, and a process is killed and started again meanwhile. It counts when one has
    /// begun so.
    fn begins_away(&mut self) -> Step {
        let owns = |node: &Node| {
            let journal = node.process.as_ref().and_then(|process| process.inner.journal());
            !node.copy && journal.is_some_and(|journal| owns_numbers(&journal))
        };
        let Some(node) = self.nodes.iter().position(owns) else {
            return Ok(());
        };
        let length = self.dice.length(Duration::from_secs(1), Duration::from_secs(15));
        let until = self.now_ns + length.as_nanos() as u64;
        self.down_until_ns[0] = self.down_until_ns[0].max(until);
        self.note(10, &[until], || format!("the store is down for {length:?}"));
        self.at(length.as_nanos() as u64, Event::StoreUp);
        for node in &self.nodes {
            if let Some(process) = &node.process {
                self.check.trouble(process.number);
            }
        }
        self.kill_for(node, "while the store is away", length / 4)?;
        if self.is_told(node) && self.dice.chance(500) {
            // Nobody may begin on this one, since the store cannot say that it is old.
            self.put_disk_back(node);
        } else if self.nodes[node].old_journal.is_none() {
            self.nodes[node].old_journal = self.nodes[node].journal.clone();
        }
        Ok(())
    }

    /// The first time, a node's disk is saved; the next, it is put back: its journal must be found to be old. One of
    /// which no renewal has told the store yet cannot be; the page says so.
    pub(super) fn old_journal(&mut self, node: usize) -> Step {
        if self.nodes[node].old_journal.is_none() {
            let process = self.nodes[node].process.as_ref();
            self.nodes[node].old_journal = process.and_then(|process| process.inner.journal());
            return Ok(());
        }
        if self.is_told(node) {
            self.kill(node, "and its disk is put back to an earlier state")?;
            self.put_disk_back(node);
        }
        self.nodes[node].old_journal = None;
        Ok(())
    }

    /// Whether the store was told of more than the disk of then has.
    fn is_told(&self, node: usize) -> bool {
        let old = self.nodes[node].old_journal.as_ref().and_then(journal_node);
        let told = old.and_then(|(name, copies)| Some((self.servers[0].copies_of(&name)?, copies)));
        told.is_some_and(|(told, copies)| told > copies)
    }

    fn put_disk_back(&mut self, node: usize) {
        self.tally.faults.note(Fault::JournalOld);
        let node = &mut self.nodes[node];
        node.journal = node.old_journal.take();
        // No disk is put back under a machine that runs.
        node.clock.boot += 1;
    }

    /// A resumed snapshot of a running machine beside the original.
    pub(super) fn clone_process(&mut self, node: usize) {
        let Some(process) = &self.nodes[node].process else {
            return;
        };
        let (number, closing) = (process.number, process.closing);
        let mut inner = process.inner.copy();
        let copy = self.check.copy(number, self.now_ns);
        self.cloned = true;
        self.tally.faults.note(Fault::Cloned);
        self.note(15, &[node as u64], || {
            format!("node {node}: process {copy} is a copy of process {number}")
        });
        if self.dice.chance(500) {
            inner.machine.reseed(self.dice.next());
        } else {
            self.tally.faults.note(Fault::CloneSameRandom);
        }
        let settings = self.nodes[node].settings.clone();
        let lent = self.nodes[node].lent.clone();
        // No two machines read their clocks in the same nanosecond.
        let apart = Duration::from_nanos(1 + self.dice.below(1_000_000));
        inner.feed(self.now_ns, Input::Clock(ClockChange::Stood(apart), 0));
        // Nor are two timers late by the same nanoseconds, after which both clocks would read what the other's do.
        inner.feed(self.now_ns, Input::Clock(ClockChange::Step(1), 0));
        self.nodes.push(Node {
            process: Some(Running {
                number: copy,
                inner,
                open: true,
                closing,
            }),
            clock: self.nodes[node].clock.clone(),
            settings,
            pause: None,
            held_back: Vec::new(),
            cut_off_until_ns: 0,
            starting: false,
            lent,
            copy: true,
            journal: None,
            heir_of: None,
            old_journal: None,
            state: None,
        });
        // The copy goes on with the same requests; what it answers counts as issued.
        let same: Vec<_> = self.under_way.range((number, 0)..=(number, u64::MAX)).collect();
        let same: Vec<_> = same
            .into_iter()
            .map(|((_, n), op)| ((copy, *n), op.clone()))
            .collect();
        self.under_way.extend(same);
    }
}

/// Whether a journal owns numbers of a sequence that it knows.
fn owns_numbers(journal: &Registers) -> bool {
    journal.iter().any(|(_, found)| {
        let body: serde_json::Value = serde_json::from_str(&found.value.body).unwrap_or_default();
        let ends = body["ranges"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|range| range[1].as_u64());
        body["definition"].is_object() && ends.max() > Some(found.value.mark)
    })
}

/// Which node a journal belongs to, and how often it was copied.
fn journal_node(journal: &Registers) -> Option<(String, u64)> {
    let (_, found) = journal.iter().find(|(key, _)| key.as_str() == "node")?;
    let body: serde_json::Value = serde_json::from_str(&found.value.body).ok()?;
    Some((body["node"].as_str()?.to_string(), found.value.mark))
}
