//! Programs that borrow windows: they renew them, hear the answers or not, and are copied with their machine.

use mintage_ledger::LentWindow;

use super::borrowed::Borrowed;
use super::fault::Fault;
use super::op::Op;
use super::subject::POOLS;
use super::world::{Node, Step, World};

impl Node {
    /// The window that a program borrowed and renews by this attempt still.
    pub(super) fn borrowed(&mut self, window: &LentWindow, attempt: u64) -> Option<&mut Borrowed> {
        self.lent.iter_mut().find(|borrowed| {
            let known = &borrowed.window;
            (&known.owner, known.version) == (&window.owner, window.version)
                && borrowed.attempt == Some(attempt)
        })
    }
}

impl World {
    pub(super) fn choose_lent(&mut self, node: usize, pool: usize) -> Op {
        let known = self.nodes[node].lent.len();
        if known == 0 || self.dice.chance(300) {
            return Op::Lend { pool };
        }
        let (at, drawn) = (self.dice.index(known), self.dice.next());
        let renews = self.dice.chance(800);
        let borrowed = &mut self.nodes[node].lent[at];
        let (pool, window) = (borrowed.pool, borrowed.window.clone());
        match renews {
            true => Op::RenewLent {
                pool,
                window,
                attempt: *borrowed.attempt.get_or_insert(drawn),
            },
            false => Op::EndLent { pool, window },
        }
    }

    /// A renewal was answered: each version is renewed by one attempt, whose answers all say the same (protocol W10).
    pub(super) fn renewed(
        &mut self,
        node: usize,
        window: &LentWindow,
        attempt: u64,
        renewed: LentWindow,
    ) -> Step {
        let granted = (attempt, renewed.version, renewed.until_tick);
        let from = (window.worker, window.owner.clone(), window.version);
        let before = *self.renewals.entry(from).or_insert(granted);
        if before != granted && !self.went_back() {
            return Err(format!(
                "worker {} was renewed from version {} as {before:?} and as {granted:?}",
                window.worker, window.version
            ));
        }
        // The answer may be lost on its way to the borrower, which asks again.
        let heard = !self.dice.chance(200);
        if let Some(borrowed) = self.nodes[node].borrowed(window, attempt).filter(|_| heard) {
            (borrowed.window, borrowed.attempt) = (renewed, None);
        }
        Ok(())
    }

    /// Whether the store may say something else of a window than it has said before.
    fn went_back(&self) -> bool {
        let back = [
            Fault::Restored,
            Fault::SetBack,
            Fault::SetBackLive,
            Fault::NotKept,
        ];
        back.iter()
            .any(|fault| self.plan.has(*fault) || self.tally.faults.of(*fault) > 0)
    }

    /// Whether a renewal is still to be answered and the store knows its borrower as the holder, which has no copy.
    pub(super) fn is_still_lent(&mut self, node: usize, op: &Op) -> bool {
        let Op::RenewLent {
            pool,
            window,
            attempt,
        } = op
        else {
            return false;
        };
        let waits = self.nodes[node].borrowed(window, *attempt).is_some();
        if !waits || self.cloned || self.went_back() {
            return false;
        }
        let key = format!("window/{}/{:010}", POOLS[*pool], window.worker);
        let record = self.servers[0]
            .dump()
            .into_iter()
            .find(|(at, _)| at.as_str() == key);
        record.is_some_and(|(_, found)| {
            let body: serde_json::Value = serde_json::from_str(&found.value.body).unwrap_or_default();
            body["owner"] == window.owner.as_str() && body["retired"] != true
        })
    }
}
