//! What becomes of requests and answers between processes and the store.

use std::time::Duration;

use mintage::Timestamp;

use super::fault::Fault;
use super::process::Input;
use super::subject::TRUE_WALL_NS;
use super::trace::{show, show_told, told_number};
use super::wire::{Ask, Told, failed, member_of};
use super::world::{Event, Reply, Running, SECOND_NS, Sender, Step, World};

impl World {
    pub(super) fn delay(&mut self) -> u64 {
        if self.plan.has(Fault::Slow) && self.dice.chance(self.plan.request_rate) {
            self.tally.faults.note(Fault::Slow);
            let long = self
                .dice
                .length(Duration::from_millis(500), Duration::from_secs(5));
            return long.as_nanos() as u64;
        }
        let base = self.plan.base_delay.as_nanos() as u64;
        base / 2 + self.dice.below(base)
    }

    /// Whether this kind of fault befalls this request.
    pub(super) fn befalls(&mut self, fault: Fault) -> bool {
        self.plan.has(fault) && self.dice.chance(self.plan.request_rate)
    }

    pub(super) fn unreachable(&self, node: usize, member: usize) -> bool {
        self.now_ns < self.down_until_ns[member] || self.now_ns < self.nodes[node].cut_off_until_ns
    }

    pub(super) fn send(&mut self, from: Sender, id: u64, ask: Ask) {
        let name = ask.name();
        self.check.asks(from.process, &ask);
        self.note(4, &[from.process as u64, id, name.len() as u64], || {
            format!("process {} asks {id}: {}", from.process, show(&ask))
        });
        let there = self.delay();
        let back = self.delay();
        if there + back > self.plan.timeout.as_nanos() as u64 / 2 {
            self.check.delayed(from.process);
        }
        let write = ask.is_write();
        let fail = |outcome_unknown: bool, why: &str| Told::Failed(failed(name, outcome_unknown, why));
        let answer = |ask, told| Event::Answer {
            to: from,
            id,
            ask,
            told,
        };
        let arrival = |ask, reply, second| Event::Arrive {
            from,
            id,
            ask,
            reply,
            second,
        };
        let member = member_of(id);
        if self.unreachable(from.node, member) {
            self.check.trouble(from.process);
            // Refused at once; or held by the network until it is whole again; or lost.
            let healed = self.down_until_ns[member].max(self.nodes[from.node].cut_off_until_ns) - self.now_ns;
            match self.dice.below(4) {
                0 | 1 => self.at(back, answer(ask, fail(false, "unreachable"))),
                2 if healed < 3_600 * SECOND_NS => {
                    let reply = Reply::After(back);
                    self.at(healed + there, arrival(ask, reply, false));
                }
                _ => {}
            }
            return;
        }
        if self.befalls(Fault::Refused) {
            self.happened(Fault::Refused, from);
            return self.at(back, answer(ask, fail(false, "refused")));
        }
        if self.befalls(Fault::UnknownNotDone) {
            self.happened(Fault::UnknownNotDone, from);
            return self.at(back, answer(ask, fail(write, "connection lost")));
        }
        if self.befalls(Fault::RequestLost) {
            return self.happened(Fault::RequestLost, from);
        }
        let reply = if self.befalls(Fault::AnswerLost) {
            Reply::Lost
        } else if self.befalls(Fault::UnknownDone) {
            Reply::Unknown(back)
        } else if self.befalls(Fault::LateAnswer) {
            Reply::After(back + self.plan.timeout.as_nanos() as u64)
        } else {
            Reply::After(back)
        };
        let late = self.befalls(Fault::LateLanding);
        let there = if late {
            there + self.plan.timeout.as_nanos() as u64 / 2 + self.dice.below(6 * SECOND_NS)
        } else {
            there
        };
        if self.befalls(Fault::Duplicated) {
            self.happened(Fault::Duplicated, from);
            // The first answer may be the one that stays behind.
            let gap = self.delay();
            let overtaken = self.plan.has(Fault::Overtaken) && self.dice.chance(500);
            let (first, second) = match overtaken {
                true => (Reply::Lost, reply),
                false => (reply, Reply::Lost),
            };
            if overtaken {
                self.happened(Fault::Overtaken, from);
            }
            let again = ask.clone();
            self.at(there, arrival(ask, first, false));
            return self.at(there + gap, arrival(again, second, true));
        }
        self.at(there, arrival(ask, reply, false));
    }

    pub(super) fn happened(&mut self, fault: Fault, to: Sender) {
        self.tally.faults.note(fault);
        self.check.trouble(to.process);
        self.note(5, &[fault as u64], || format!("  {fault:?}"));
    }

    pub(super) fn arrive(&mut self, from: Sender, id: u64, ask: Ask, reply: Reply, second: bool) -> Step {
        let member = member_of(id);
        if self.unreachable(from.node, member) {
            self.check.trouble(from.process);
            return Ok(());
        }
        let wall = Timestamp::from_unix_nanos(TRUE_WALL_NS + i128::from(self.now_ns));
        let (told, change) = self.servers[member].serve(&ask, wall);
        let alive = self.process(from).is_some();
        let waits = alive && self.process(from).is_some_and(|p| p.inner.waits(id));
        self.note(6, &[from.process as u64, id, told_number(&told)], || {
            let late = if waits { "" } else { " (nobody waits)" };
            format!(
                "store: {id} of process {}{late}: {}",
                from.process,
                show_told(&told)
            )
        });
        if let Some(change) = change {
            if !waits && !second {
                self.happened(Fault::LateLanding, from);
            }
            match reply {
                Reply::Lost if !second => self.happened(Fault::AnswerLost, from),
                Reply::Unknown(_) => self.happened(Fault::UnknownDone, from),
                _ => {}
            }
            let shown = (&change.key, &change.before, &change.after);
            if self.is_unconfirmed(from.process, member, &ask, shown) {
                return Ok(());
            }
            self.check.changed(
                from.process,
                member,
                &ask,
                &change.key,
                change.before.as_ref(),
                change.after.as_ref(),
            )?;
        }
        let (back, told) = match reply {
            Reply::After(back) => (back, told),
            Reply::Unknown(back) => {
                let unknown = failed(ask.name(), ask.is_write(), "connection lost");
                (back, Told::Failed(unknown))
            }
            Reply::Lost => return Ok(()),
        };
        let answer = Event::Answer {
            to: from,
            id,
            ask,
            told,
        };
        self.at(back, answer);
        Ok(())
    }

    pub(super) fn process(&self, sender: Sender) -> Option<&Running> {
        let process = self.nodes[sender.node].process.as_ref()?;
        (process.number == sender.process).then_some(process)
    }

    pub(super) fn answer(&mut self, to: Sender, id: u64, ask: Ask, told: Told) -> Step {
        if self.process(to).is_none() {
            return Ok(());
        }
        if self.now_ns < self.nodes[to.node].cut_off_until_ns {
            self.check.trouble(to.process);
            return Ok(());
        }
        if self.nodes[to.node].pause.is_some() {
            self.nodes[to.node].held_back.push((id, ask, told));
            return Ok(());
        }
        self.hand_over(to, id, &ask, told);
        Ok(())
    }

    pub(super) fn hand_over(&mut self, to: Sender, id: u64, ask: &Ask, told: Told) {
        let told_too = told.clone();
        self.note(7, &[to.process as u64, id], || {
            format!("process {} is answered {id}", to.process)
        });
        if self.feed(to.node, Input::Answer(id, told)) {
            self.check.told(to.process, member_of(id), ask, &told_too);
        } else {
            self.happened(Fault::LateAnswer, to);
        }
    }
}
