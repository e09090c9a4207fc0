//! A sequence beside its original in a run: what is asked of it, what its original's clients take, and when that is down.

use std::time::Duration;

use super::elsewhere::Elsewhere;
use super::fault::{Fault, Plan, focused};
use super::op::Op;
use super::subject::{BESIDE, SEQUENCES};
use super::world::{Event, Step, World};
use crate::dice::Dice;

impl World {
    /// Whether this run's circumstances have room for a counter elsewhere: copies would share it, and what a store that
    /// was set back says of it is another tale.
    pub(super) fn draw_elsewhere(plan: &mut Plan, dice: &mut Dice) -> Option<Elsewhere> {
        const WITHOUT: &[Fault] = &[
            Fault::Cloned,
            Fault::Restored,
            Fault::SetBack,
            Fault::SetBackLive,
            Fault::Lowered,
            Fault::MemberDown,
        ];
        if !plan.has(Fault::Beside) {
            return None;
        }
        if focused().contains(&Fault::Beside) || dice.chance(100) {
            plan.without(WITHOUT);
        }
        if WITHOUT.iter().any(|fault| plan.has(*fault)) {
            plan.without(&[Fault::Beside]);
            return None;
        }
        Some(Elsewhere::new(
            dice,
            plan.base_delay.max(Duration::from_millis(1)),
        ))
    }

    /// The counter elsewhere does not answer for a while.
    pub(super) fn elsewhere_goes_down(&mut self) {
        let is_new = self
            .elsewhere
            .as_ref()
            .is_some_and(|elsewhere| elsewhere.set_down(true));
        if !is_new {
            return;
        }
        let length = self
            .dice
            .length(Duration::from_millis(100), Duration::from_secs(15));
        self.tally.faults.note(Fault::Beside);
        self.note(22, &[], || {
            format!("the counter elsewhere is down for {length:?}")
        });
        self.at(length.as_nanos() as u64, Event::ElsewhereUp);
    }

    pub(super) fn elsewhere_is_up(&mut self) {
        if let Some(elsewhere) = &self.elsewhere {
            elsewhere.set_down(false);
        }
    }

    /// A few numbers for the counter's own clients, whom nobody else may share any with.
    pub(super) fn clients_elsewhere(&mut self) -> Step {
        let Some(elsewhere) = self.elsewhere.clone() else {
            return Ok(());
        };
        if !self.healing {
            for _ in 0..self.dice.below(3) {
                elsewhere.serve_client();
            }
        }
        self.look_elsewhere()
    }

    /// What became visible there since the last look.
    pub(super) fn look_elsewhere(&mut self) -> Step {
        let Some(elsewhere) = &self.elsewhere else {
            return Ok(());
        };
        let (befallen, numbers) = elsewhere.look();
        for _ in 0..befallen {
            self.tally.faults.note(Fault::Beside);
        }
        for number in numbers {
            self.note(23, &[number as u64], || {
                format!("a client elsewhere has {number}")
            });
            self.check.client_elsewhere(number)?;
        }
        Ok(())
    }

    /// What is asked of the sequence that takes its numbers from there, now and then.
    pub(super) fn choose_beside(&mut self) -> Option<Op> {
        if self.elsewhere.is_none() || !self.dice.chance(300) {
            return None;
        }
        let (sequence, n) = (BESIDE, self.dice.size(SEQUENCES[BESIDE].most));
        Some(match self.dice.below(8) {
            0 => Op::TryTake { sequence, n },
            1 => Op::Look { sequence },
            at => Op::Take {
                sequence,
                n,
                contiguous: at < 4,
            },
        })
    }
}
