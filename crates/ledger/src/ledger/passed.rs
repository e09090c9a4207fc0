//! What a move does with a sequence of this ledger.

use super::Ledger;
use super::sequences::sequence_key;
use crate::error::LedgerError;
use crate::name::Name;
use crate::sequence::{Change, Pass, State};
use crate::striped::AsStriped;

impl Ledger {
    /// Makes a deed of a move, in every store of a set.
    pub(crate) async fn pass(&self, name: &Name, pass: Pass) -> Result<(), LedgerError> {
        let sequence = self.load(name).await?;
        self.change_of(&sequence, Change::Pass(Box::new(pass))).await?;
        Ok(())
    }

    /// The furthest number that was ever reserved of a name, in any store; read from the stores, since others reserve too.
    pub(crate) async fn furthest_reserved(&self, name: &Name) -> Result<Option<i64>, LedgerError> {
        let key = sequence_key(name);
        let mut states = Vec::new();
        match self.context.store.striped() {
            Some(striped) => {
                self.context.health.admit_rehearsed()?;
                for (number, store) in striped.members_all()? {
                    let found = striped.read_of(number, &*store, &key).await?;
                    states.push(State::read(name, &found)?);
                }
            }
            None => {
                let found = self.context.store.get(&key).await?;
                states.extend(found.map(|found| State::read(name, &found)).transpose()?);
            }
        }
        let Some(known) = State::newest(&states) else {
            return Ok(None);
        };
        let up = known.def.increment > 0;
        let furthest = states.iter().filter_map(State::furthest);
        Ok(furthest.reduce(|a, b| if up { a.max(b) } else { a.min(b) }))
    }
}
