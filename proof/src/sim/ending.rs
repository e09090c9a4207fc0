//! The end of a run: everything works again, everybody is served, nothing is missing.

use std::time::Duration;

use super::fault::Fault;
use super::machine::ClockChange;
use super::op::Op;
use super::subject::{self, SEQUENCES};
use super::world::{Event, Node, SECOND_NS, Step, World};

impl World {
    /// Everything works again.
    pub(super) fn heal(&mut self) -> Step {
        self.note(18, &[], || "everything works again".into());
        self.healing = true;
        self.plan.heal();
        if let Some(elsewhere) = &self.elsewhere {
            elsewhere.heal();
        }
        self.down_until_ns.fill(0);
        self.standby_turns()?;
        if self.servers.len() > 1 && self.dice.chance(500) {
            // All but one of a set work again: that is enough.
            let gone = self.dice.index(self.servers.len());
            self.down_until_ns[gone] = u64::MAX;
            self.note(21, &[gone as u64], || format!("store {gone} never comes back"));
        }
        self.events.retain(|_, event| {
            !matches!(
                event,
                Event::Backup | Event::Restore { .. } | Event::Unspike { .. }
            )
        });
        for node in 0..self.nodes.len() {
            self.nodes[node].cut_off_until_ns = 0;
            self.resume(node);
            self.change_clock(node, ClockChange::Drift(0));
            self.change_clock(node, ClockChange::Correct(0));
            self.change_clock(node, ClockChange::Synchronised(Some(true)));
            if self.nodes[node].process.is_none() {
                self.start_again(node, Duration::from_secs(1));
            }
        }
        Ok(())
    }

    /// Whether clocks that were wrong for a moment are followed back. A server whose others are heard of by a store of a set
    /// that is gone for good holds the time that was agreed on, until it is started again.
    pub(super) fn shows_right_time(&self) -> bool {
        self.spikes && self.down_until_ns.iter().all(|until| *until != u64::MAX)
    }

    /// Whoever asks is served within a few minutes, by every process.
    pub(super) fn serve_everybody(&mut self) -> Step {
        let deadline_ns = self.now_ns + 240 * SECOND_NS;
        let served = |node: &Node| !node.copy || node.process.is_some();
        let goals = self.nodes.iter().map(|node| {
            if served(node) {
                self.everything()
            } else {
                Vec::new()
            }
        });
        self.goals = goals.collect();
        // A clock that was wrong is followed to the right time within seconds, and ids of before do not count. It takes
        // longer where answers take seconds, or a store of a set gives none.
        let is_slow = self.servers.len() > 1 || self.plan.base_delay > Duration::from_millis(100);
        let first_ns = match self.spikes {
            true if is_slow => self.now_ns + 40 * SECOND_NS,
            true => self.now_ns + 10 * SECOND_NS,
            false => self.now_ns,
        };
        let mut next_ask = vec![first_ns; self.nodes.len()];
        while self.goals.iter().any(|goals| !goals.is_empty()) {
            for (node, next_ask) in next_ask.iter_mut().enumerate() {
                self.ask_goal(node, next_ask);
            }
            self.step()?;
            if self.now_ns > deadline_ns {
                return Err(format!(
                    "not served within four minutes of untroubled work: {:?}",
                    self.goals
                ));
            }
        }
        Ok(())
    }

    /// Asks a process for the next thing that it must serve, unless it is at it already.
    pub(super) fn ask_goal(&mut self, node: usize, next_ask: &mut u64) {
        let running = self.nodes[node].process.as_ref();
        let Some(number) = running.filter(|p| p.open && !p.closing).map(|p| p.number) else {
            return;
        };
        let under_way = self.under_way.range((number, 0)..=(number, u64::MAX));
        if under_way.into_iter().any(|(_, op)| op.goal) || self.now_ns < *next_ask {
            return;
        }
        *next_ask = self.now_ns + SECOND_NS / 2;
        if let Some(goal) = self.goals[node].last().cloned() {
            self.ask(node, goal);
        }
    }

    /// One of each kind of request that must succeed.
    pub(super) fn everything(&self) -> Vec<Op> {
        let mut goals = Vec::new();
        for (sequence, row) in SEQUENCES.iter().enumerate() {
            // Bounds may be used up; of a set, only what anybody may make anew has a record for sure.
            let of_set = self.servers.len() > 1;
            if row.name != "tight"
                && !(of_set && row.spec().is_some())
                && (row.spec().is_none() || self.made[sequence])
            {
                // Enough for what a process learns only now that it has reserved.
                let n = if row.rules == subject::Rules::GapFree {
                    100
                } else {
                    1
                };
                goals.extend([
                    Op::Take {
                        sequence,
                        n,
                        contiguous: false,
                    },
                    Op::Take {
                        sequence,
                        n,
                        contiguous: false,
                    },
                ]);
            }
        }
        // Clocks were right again for long enough where that is looked at; else one may still be years off.
        if self.spikes {
            goals.extend((0..subject::formats().len()).map(|format| Op::Format { format }));
        }
        // Windows reserved by a clock that was far ahead, or raised by a restoration, park their workers for as long.
        let happened = |faults: &[Fault]| faults.iter().any(|fault| self.tally.faults.of(*fault) > 0);
        let raised = happened(&[
            Fault::Restored,
            Fault::SetBack,
            Fault::SetBackLive,
            Fault::Lowered,
        ]);
        let far = happened(&[Fault::SteppedFar, Fault::Jumped, Fault::Spiked]);
        let served = |pool: &usize| !raised && (!far || self.spikes && subject::has_many_workers(*pool));
        for pool in self.pools_in_use.iter().copied().filter(served) {
            if subject::pool_spec(pool, None).is_none() || self.pools_made[pool] {
                goals.push(Op::Mint { pool, n: 3 });
            }
        }
        goals
    }

    /// Answers that are under way arrive, everything is looked at once more, and all processes close.
    pub(super) fn settle(&mut self) -> Step {
        let deadline_ns = self.now_ns + 120 * SECOND_NS;
        while !self.under_way.is_empty() {
            self.step()?;
            if self.now_ns > deadline_ns {
                let left: Vec<_> = self.under_way.values().map(|op| &op.op).collect();
                return Err(format!(
                    "not answered within two minutes of untroubled work: {left:?}"
                ));
            }
        }
        self.check.finish()?;
        self.ending = true;
        for node in 0..self.nodes.len() {
            if self.nodes[node].process.as_ref().is_some_and(|p| !p.closing) {
                self.close(node, false)?;
            }
        }
        while self.nodes.iter().any(|node| node.process.is_some()) {
            self.step()?;
        }
        Ok(())
    }
}
