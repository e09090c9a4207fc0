//! Changes of a sequence's definition or position: one conditional write each (protocol S5).

use super::spec::SetOutcome;
use super::state::{Range, State};
use super::worker::{CLAIM_TRIES, Change, Claimed, Worker};
use crate::error::LedgerError;
use crate::runtime::fresh_token;
use crate::sequence::SequenceSpec;
use crate::store::{Cas, Marks, Outcome};

impl Worker<'_> {
    /// The ordinal below which everything counts as issued, given what was closed: the topmost stock was not, where
    /// nobody else can have it.
    pub(super) fn issued(&self, ranges: &[Range]) -> u64 {
        let mut issued = self.held.state.ordinal;
        if self.sequence.stays_open() {
            // Shared: a copy of this process may issue them still, so they are spent (protocol S5, as W7).
            return issued;
        }
        for range in ranges.iter().rev() {
            if range.ordinal + range.run.count != issued {
                break;
            }
            issued = range.ordinal;
        }
        issued
    }

    /// Changes the definition or position, exactly: the stock is closed first (protocol S5).
    pub(super) async fn change(&mut self, change: Change) -> Result<SetOutcome, LedgerError> {
        let existed = self.sequence.exists();
        let previous = self.sequence.stock.last_issued().filter(|_| existed);
        let mut ranges = self.take_back();
        let changed = self.apply(change, &mut ranges).await;
        if matches!(changed, Ok(true)) {
            // Numbers of the old definition that were not issued are spent.
            self.lose(ranges);
            self.sequence
                .restock(self.held.state.last_before(self.held.state.ordinal));
            self.sequence.publish(&self.held.state);
        } else {
            self.put_back(ranges, None, 0);
        }
        changed.map(|_| SetOutcome {
            previous,
            created: !existed,
        })
    }

    /// Writes the changed record; `false`: there was nothing to change.
    async fn apply(&mut self, change: Change, ranges: &mut Vec<Range>) -> Result<bool, LedgerError> {
        let context = &self.sequence.context;
        let name = &self.sequence.name;
        for _ in 0..CLAIM_TRIES {
            if self.held.stale {
                let found = context
                    .store
                    .get(&self.sequence.key)
                    .await
                    .map_err(LedgerError::from_store)?;
                let landed = self.reconcile(found)?;
                ranges.extend(landed);
            }
            let state = &self.held.state;
            let exists = self.is_stored();
            let issued = self.issued(ranges);
            let next = match &change {
                Change::Create(spec) if exists => {
                    let asked = State::fresh(spec, context.settings.max_gap)?;
                    return match state.difference(&asked) {
                        None => Ok(false),
                        Some(difference) => Err(LedgerError::Exists {
                            name: name.clone(),
                            difference,
                        }),
                    };
                }
                Change::Create(spec) => {
                    self.sequence.check_room()?;
                    self.made(spec)?
                }
                Change::Set(to) if !exists => {
                    self.sequence.check_room()?;
                    self.made(&SequenceSpec::of_first_set(*to))?
                        .moved(name, state.ordinal, *to, false)?
                }
                _ if !exists => return Err(LedgerError::NotFound { name: name.clone() }),
                Change::Set(to) => state.moved(name, issued, *to, false)?,
                Change::Restart { to, allow_repeat } => state
                    .moved(name, issued, *to, *allow_repeat)
                    .map_err(|error| match error {
                        LedgerError::OnlyForward { name, at } => LedgerError::NeedsAllowRepeat {
                            why: format!("it is at {at}, {} does not lie beyond", to.value),
                            name,
                        },
                        other => other,
                    })?,
                Change::Alter(patch) => state.altered(name, issued, patch)?,
                Change::Drop => state.tombstone(issued),
            };
            let token = fresh_token(&*context.runtime);
            let value = next.write(token);
            match context
                .store
                .compare_and_set(&self.sequence.key, state.version, value, Marks::NeverLower)
                .await
                .map(|cas| cas.of_attempt(token))
            {
                Ok(Cas::Done(version)) => {
                    self.forget_attempts();
                    self.stored(State {
                        version: Some(version),
                        ..next
                    });
                    return Ok(true);
                }
                Ok(Cas::Lost(found)) => {
                    let generation = self.held.state.generation;
                    let landed = self.reconcile(found)?;
                    if self.held.state.generation != generation {
                        self.lose(std::mem::take(ranges));
                    }
                    ranges.extend(landed);
                }
                Err(error) => {
                    context.counters.failed();
                    if error.outcome == Outcome::Unknown {
                        // It may have landed and made our unused numbers its own: they are spent.
                        self.held.stale = true;
                        self.lose(std::mem::take(ranges));
                    }
                    return Err(LedgerError::from_store(error));
                }
            }
        }
        Err(LedgerError::Unavailable {
            message: format!("too many writers on sequence {name}"),
            retry_after_s: 1,
        })
    }

    /// Changes the definition or position while takers go on: what they get lies below the mark, and forward is
    /// measured from the mark. The stock of the old definition is dropped with the store's answer.
    pub(super) async fn change_open(&mut self, change: Change) -> Result<SetOutcome, LedgerError> {
        let existed = self.sequence.exists();
        let previous = self.sequence.stock.last_issued().filter(|_| existed);
        let mut ranges = std::mem::take(&mut self.held.adopted);
        let changed = self.apply(change, &mut ranges).await;
        if matches!(changed, Ok(true)) {
            self.lose(ranges);
        } else {
            for range in ranges {
                self.keep(Claimed { range, landed: true }, None, 0, 0).await;
            }
        }
        self.sequence.publish(&self.held.state);
        changed.map(|_| SetOutcome {
            previous,
            created: !existed,
        })
    }
}
