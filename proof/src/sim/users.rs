//! What users ask, and what they get.

use std::time::Duration;

use mintage::Timestamp;
use mintage_ledger::LedgerError;

use super::borrowed::Borrowed;
use super::check::{self, Minted, Numbers};
use super::fault::Fault;
use super::op::{Came, Op};
use super::process::Input;
use super::subject::{self, SEQUENCES, TRUE_WALL_NS};
use super::trace::{came_number, show_came};
use super::world::{Event, SECOND_NS, Sender, Step, UnderWay, World};

impl World {
    pub(super) fn ask(&mut self, node: usize, op: Op) {
        let Some(process) = &self.nodes[node].process else {
            return;
        };
        let sender = Sender {
            node,
            process: process.number,
        };
        let number = self.next_op;
        self.next_op += 1;
        self.note(8, &[number, node as u64], || {
            format!("process {}: op {number} {op:?}", sender.process)
        });
        let under_way = UnderWay {
            op: op.clone(),
            began_ns: self.now_ns,
            goal: self.healing,
        };
        self.under_way.insert((sender.process, number), under_way);
        self.feed(node, Input::Ask(number, op));
    }

    /// A few requests, and when the next come.
    pub(super) fn users(&mut self) {
        if self.healing {
            return;
        }
        let gap = self
            .dice
            .length(Duration::from_micros(50), Duration::from_secs(2));
        self.at(gap.as_nanos() as u64, Event::Users);
        for _ in 0..1 + self.dice.below(4) {
            let node = self.dice.index(self.nodes.len());
            let open = self.nodes[node]
                .process
                .as_ref()
                .is_some_and(|p| p.open && !p.closing);
            if !open || self.nodes[node].pause.is_some() {
                continue;
            }
            self.ops_left = self.ops_left.saturating_sub(1);
            let op = self.choose(node);
            self.ask(node, op);
        }
    }

    /// The same again and again, for as long as the run has other work.
    pub(super) fn take_steadily(&mut self, node: usize) {
        if self.healing {
            return;
        }
        self.at(SECOND_NS / 4, Event::Steady { node });
        let open = self.nodes[node]
            .process
            .as_ref()
            .is_some_and(|p| p.open && !p.closing);
        if open && self.nodes[node].pause.is_none() {
            let wide = 2;
            let sequence = if self.made[wide] { wide } else { 0 };
            self.ask(
                node,
                Op::Take {
                    sequence,
                    n: 5,
                    contiguous: false,
                },
            );
        }
    }

    pub(super) fn choose(&mut self, node: usize) -> Op {
        let total: u64 = SEQUENCES.iter().map(|row| row.weight).sum();
        let mut at = self.dice.below(total);
        let chosen = SEQUENCES.iter().position(|row| {
            let here = at < row.weight;
            at = at.wrapping_sub(row.weight);
            here
        });
        let sequence = chosen.unwrap_or(0);
        if self.servers.len() > 1 {
            return self.choose_of_set(sequence);
        }
        if let Some(op) = self.choose_beside() {
            return op;
        }
        let pool = *self.dice.pick(&self.pools_in_use.clone());
        if SEQUENCES[sequence].spec().is_some() && !self.made[sequence] {
            return Op::Create { sequence };
        }
        if subject::pool_spec(pool, None).is_some() && !self.pools_made[pool] {
            return Op::CreatePool { pool };
        }
        let n = self.dice.size(SEQUENCES[sequence].most);
        match self.dice.below(21) {
            0..6 => Op::Take {
                sequence,
                n,
                contiguous: false,
            },
            6..8 => Op::Take {
                sequence,
                n,
                contiguous: true,
            },
            8..10 => Op::TryTake { sequence, n },
            10..14 => Op::Mint {
                pool,
                n: self.dice.size(600) as usize,
            },
            14..17 => Op::TryMint {
                pool,
                n: self.dice.size(600) as usize,
            },
            17 => self.choose_lent(node, pool),
            18 if self.plan.has(Fault::Moved) => self.choose_move(),
            19 => self.choose_format(),
            _ => Op::Look { sequence },
        }
    }

    /// What a set of stores serves while any one of them is alive.
    fn choose_of_set(&mut self, sequence: usize) -> Op {
        let pool = *self.dice.pick(&self.pools_in_use.clone());
        // Others are made with all stores at hand, and so are changes of definitions.
        let sequence = match SEQUENCES[sequence].spec() {
            None => sequence,
            Some(_) => 0,
        };
        let n = self.dice.size(SEQUENCES[sequence].most);
        match self.dice.below(9) {
            8 => self.choose_format(),
            0..4 => Op::Take {
                sequence,
                n,
                contiguous: false,
            },
            4 => Op::TryTake { sequence, n },
            _ if subject::pool_spec(pool, None).is_some() => Op::Look { sequence },
            5 | 6 => Op::Mint {
                pool,
                n: self.dice.size(600) as usize,
            },
            _ => Op::TryMint {
                pool,
                n: self.dice.size(600) as usize,
            },
        }
    }

    fn choose_format(&mut self) -> Op {
        Op::Format {
            format: self.dice.index(subject::formats().len()),
        }
    }

    pub(super) fn choose_move(&mut self) -> Op {
        self.tally.faults.note(Fault::Moved);
        let sequence = subject::MOVED;
        if self.plan.has(Fault::Restored) {
            // What a SET skipped no restore can know.
            return Op::Drop { sequence };
        }
        let to = 1 + self.dice.size(100_000) as i64;
        match self.dice.below(6) {
            0 | 1 => Op::Set { sequence, to },
            2 => Op::Alter {
                sequence,
                max_gap: self.dice.size(200),
                increment: 1 + self.dice.below(3) as i64,
            },
            3 if self.made[subject::LOOSE] => Op::Restart {
                sequence: subject::LOOSE,
                to,
            },
            _ => Op::Drop { sequence },
        }
    }

    pub(super) fn came(&mut self, sender: Sender, number: u64, came: Came) -> Step {
        let Some(asked) = self.under_way.remove(&(sender.process, number)) else {
            return Err(format!("op {number} was answered twice"));
        };
        let (node, process) = (sender.node, sender.process);
        self.note(9, &[number, came_number(&came)], || {
            format!("process {process}: op {number} came to {}", show_came(&came))
        });
        let served = match (&came, &asked.op) {
            // Fewer are what it had: it has not looked at the store yet, and so may not know all that is its own.
            (Came::Numbers(run), Op::Take { sequence, n, .. })
                if SEQUENCES[*sequence].rules == subject::Rules::GapFree =>
            {
                run.count == *n
            }
            (Came::Numbers(_) | Came::Ids(_) | Came::Times(_), _) => true,
            _ => false,
        };
        if asked.goal && served {
            self.goals[node].pop();
        }
        match (came, asked.op.clone()) {
            (Came::Opened { away }, _) => {
                if away {
                    self.tally.faults.note(Fault::BegunAway);
                }
                if let Some(running) = &mut self.nodes[node].process {
                    running.open = true;
                }
            }
            (Came::Numbers(run), Op::Take { sequence, n, .. } | Op::TryTake { sequence, n }) => {
                let contiguous = matches!(asked.op, Op::Take { contiguous: true, .. });
                let mixed = self.check.mixed;
                self.check.numbers(Numbers {
                    process,
                    sequence,
                    run,
                    began_ns: asked.began_ns,
                    now_ns: self.now_ns,
                    asked: n,
                    contiguous,
                })?;
                if self.check.mixed > mixed {
                    self.tally.faults.note(Fault::Mixed);
                }
                if !asked.goal {
                    self.go_on_with(node, sequence, contiguous);
                }
            }
            (Came::Ids(ids), Op::Mint { pool, .. } | Op::TryMint { pool, .. }) => {
                let clock_error =
                    |at_ns: u64, clock: Timestamp| TRUE_WALL_NS + i128::from(at_ns) - clock.unix_nanos();
                let minted = Minted {
                    process,
                    pool,
                    places: ids.places,
                    began_ns: asked.began_ns,
                    now_ns: self.now_ns,
                    error_ns: (
                        clock_error(asked.began_ns, ids.before),
                        clock_error(self.now_ns, ids.after),
                    ),
                    at_once: ids.at_once,
                    clock: (ids.epoch, ids.after.unix_nanos()),
                };
                if asked.goal && self.shows_right_time() {
                    self.check.right_time(&minted, TRUE_WALL_NS)?;
                }
                return self.check.minted(&minted, TRUE_WALL_NS);
            }
            (Came::Times(times), Op::Format { .. }) => {
                let off = asked.goal && self.shows_right_time();
                let now = off.then(|| TRUE_WALL_NS + i128::from(self.now_ns));
                return check::times(&times, now);
            }
            (Came::Lent(window), Op::Lend { pool }) => self.nodes[node].lent.push(Borrowed {
                pool,
                window,
                attempt: None,
            }),
            (Came::Lent(renewed), Op::RenewLent { window, attempt, .. }) => {
                return self.renewed(node, &window, attempt, renewed);
            }
            (Came::Done, Op::Create { sequence }) => self.made[sequence] = true,
            (Came::Done, Op::CreatePool { pool }) => self.pools_made[pool] = true,
            (Came::Done, _) => {}
            (Came::Closed, _) => return self.closed(node),
            (Came::Refused(error), op) => return self.refused(sender, op, error),
            (came, op) => return Err(format!("{op:?} came to {came:?}")),
        }
        Ok(())
    }

    /// A connection goes on: a whole run after single numbers, and single numbers after a run.
    fn go_on_with(&mut self, node: usize, sequence: usize, contiguous: bool) {
        let plain = matches!(
            SEQUENCES[sequence].rules,
            subject::Rules::Counted | subject::Rules::GapFree
        );
        if self.healing || !self.check.in_order || !plain || !self.dice.chance(400) {
            return;
        }
        let n = self.dice.size(SEQUENCES[sequence].most);
        self.ask(
            node,
            Op::Take {
                sequence,
                n,
                // No store of a set has a run.
                contiguous: !contiguous && !self.check.of_set,
            },
        );
    }

    pub(super) fn closed(&mut self, node: usize) -> Step {
        self.tally.faults.note(Fault::CleanStop);
        self.kill(node, "after it closed")
    }

    /// An error that the ledger may answer in these circumstances, or not.
    pub(super) fn refused(&mut self, sender: Sender, op: Op, error: LedgerError) -> Step {
        use LedgerError as E;
        let expected = match &error {
            E::Unavailable { .. } | E::Closing => true,
            E::OnlyForward { .. } | E::NeedsAllowRepeat { .. } | E::NotFound { .. } => {
                matches!(
                    op,
                    Op::Set { .. }
                        | Op::Alter { .. }
                        | Op::Drop { .. }
                        | Op::Restart { .. }
                        | Op::Look { .. }
                )
            }
            E::Exhausted { .. } | E::RunTooLong { .. } => {
                matches!(op, Op::Take { sequence, .. } if matches!(SEQUENCES[sequence].name, "tight" | "ring"))
            }
            // It was shown, and not kept.
            E::NoPool { .. } if self.tally.faults.of(Fault::NotKept) > 0 => true,
            // A restored store may not know the pool of a window that was lent before.
            E::WindowLost { .. } | E::NoWindow { .. } | E::NoPool { .. } => {
                matches!(op, Op::RenewLent { .. } | Op::EndLent { .. } | Op::Release { .. })
            }
            E::Stopped(_) if self.owed.is_some() => {
                if let Op::Take { sequence, .. } | Op::TryTake { sequence, .. } = op {
                    self.check.stopped(sender.process, sequence);
                }
                self.call_operator();
                true
            }
            // Asked of a record that was set back under it in that moment.
            E::Store(error) if self.owed.is_some() && error.message.contains("asked to lower it") => true,
            E::Invalid(why) => match op {
                Op::Release { .. } => true,
                // A clock that jumped by years may stand outside of what a format's time can say, until it is set.
                Op::Format { .. } => true,
                // A name that is lost may have had all the numbers that its bounds allow.
                Op::Create { sequence } => {
                    SEQUENCES[sequence].name == "tight" && why.contains("before a restore")
                        || self.tally.faults.of(Fault::SetBackLive) > 0
                }
                _ => false,
            },
            _ => false,
        };
        if !expected || matches!(error, E::WindowLost { .. }) && self.is_still_lent(sender.node, &op) {
            return Err(format!("{op:?} was refused: {error}"));
        }
        if let Op::Take {
            sequence,
            n,
            contiguous: true,
        } = op
        {
            self.check.long_run(sender.process, sequence, n);
        }
        if matches!(op, Op::Open(_)) {
            return self.kill(sender.node, "for it could not open");
        }
        if matches!(op, Op::Close) {
            return self.closed(sender.node);
        }
        if let (Op::RenewLent { .. }, E::Unavailable { .. } | E::Closing) = (&op, &error) {
            // The borrower asks again.
            return Ok(());
        }
        if let Op::RenewLent { window, .. } | Op::EndLent { window, .. } = op {
            // The borrower stops.
            self.nodes[sender.node]
                .lent
                .retain(|borrowed| borrowed.window.owner != window.owner);
        }
        Ok(())
    }
}
