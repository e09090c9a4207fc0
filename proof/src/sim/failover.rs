//! A store whose standby goes away in a run: what is written meanwhile is shown and not acknowledged. Then the standby is
//! back, or it is promoted and lacks all of that.

use std::time::Duration;

use mintage_ledger::{Key, Versioned};

use super::fault::{Fault, Plan};
use super::process::Input;
use super::standby::{Shown, Standby};
use super::wire::Ask;
use super::world::{Event, Step, World};

impl World {
    /// Whether this run's circumstances have room for a standby: a store that loses what it acknowledged is another tale.
    pub(super) fn leave_room_for_standby(plan: &mut Plan, room: bool) {
        const OTHERS: &[Fault] = &[
            Fault::Beside,
            Fault::Cloned,
            Fault::Restored,
            Fault::SetBack,
            Fault::SetBackLive,
            Fault::Lowered,
        ];
        if !room || OTHERS.iter().any(|fault| plan.has(*fault)) {
            plan.without(&[Fault::NotKept]);
        }
    }

    pub(super) fn standby_leaves(&mut self) {
        if self.standby.is_some() {
            return;
        }
        let length = self
            .dice
            .length(Duration::from_millis(100), Duration::from_secs(60));
        self.note(23, &[], || format!("the standby is away for {length:?}"));
        self.standby = Some(Standby {
            kept: self.servers[0].dump(),
            shown: Vec::new(),
        });
        self.trouble_all();
        self.at(length.as_nanos() as u64, Event::Standby);
    }

    /// A write that no standby confirms: nobody hears that it was done. Whether that is so.
    pub(super) fn is_unconfirmed(
        &mut self,
        process: usize,
        member: usize,
        ask: &Ask,
        (key, before, after): (&Key, &Option<Versioned>, &Option<Versioned>),
    ) -> bool {
        let Some(standby) = &mut self.standby else {
            return false;
        };
        standby.shown.push(Shown {
            process,
            member,
            ask: ask.clone(),
            key: key.clone(),
            before: before.clone(),
            after: after.clone(),
        });
        true
    }

    /// The standby is back and confirms all of it; or the primary is lost, and it lacks that.
    pub(super) fn standby_turns(&mut self) -> Step {
        let Some(standby) = self.standby.take() else {
            return Ok(());
        };
        self.trouble_all();
        if self.dice.chance(400) {
            self.note(24, &[], || "the standby is back".into());
            for shown in standby.shown {
                let Shown {
                    process,
                    member,
                    ask,
                    key,
                    before,
                    after,
                } = shown;
                self.check
                    .changed(process, member, &ask, &key, before.as_ref(), after.as_ref())?;
                self.check.confirmed(process, member, &key, after.as_ref());
            }
            return Ok(());
        }
        if !standby.shown.is_empty() {
            self.tally.faults.note(Fault::NotKept);
        }
        let lost = standby.shown.len();
        self.note(25, &[lost as u64], || {
            format!("the standby is promoted, and lacks {lost} writes that nobody was told of")
        });
        let has = |prefix: &str, name: &str| {
            let key = format!("{prefix}{name}");
            standby.kept.iter().any(|(known, _)| known.as_str() == key)
        };
        for (made, name) in self.pools_made.iter_mut().zip(super::subject::POOLS) {
            *made &= has("pool/", name);
        }
        for (made, row) in self.made.iter_mut().zip(super::subject::SEQUENCES) {
            *made &= has("seq/", row.name);
        }
        // What was on its way to the old primary, or from it, is lost with it.
        self.events
            .retain(|_, event| !matches!(event, Event::Arrive { .. } | Event::Answer { .. }));
        self.servers[0].load(standby.kept);
        for node in 0..self.nodes.len() {
            self.nodes[node].held_back.clear();
            self.feed(node, Input::FailedOver);
        }
        Ok(())
    }

    fn trouble_all(&mut self) {
        for node in &self.nodes {
            if let Some(process) = &node.process {
                self.check.trouble(process.number);
            }
        }
    }
}
