//! Changes of a sequence's definition or position: one conditional write each (protocol S5).

use super::claim::CLAIM_TRIES;
use super::range::Range;
use super::spec::{Change, SequenceSpec, SetOutcome};
use super::state::State;
use super::task::SequenceTask;
use crate::error::LedgerError;
use crate::kept::Tokens;
use crate::makeable::Makeable;
use crate::runtime::fresh_token;
use crate::store::{Cas, Marks, Outcome};

impl SequenceTask<'_> {
    /// The ordinal below which everything counts as issued, given what was closed: the topmost stock was not, where
    /// nobody else can have it.
    pub(super) fn issued(&self, ranges: &[Range]) -> u64 {
        let mut issued = self.known.state.ordinal;
        if self.known.state.origin().is_some() {
            // The ordinals of what is in stock are this process's own.
            return issued;
        }
        if self.sequence.is_shared() {
            // A copy of this process may issue them still, so they are spent (protocol S5, as W7).
            return issued;
        }
        for range in ranges.iter().rev() {
            if range.end() != issued {
                break;
            }
            issued = range.ordinal;
        }
        issued
    }

    /// Changes the definition or position (protocol S5). Where the store is ours alone, exactly: the stock is closed
    /// first. On a shared one takers go on: what they get lies below the mark, and forward is measured from the mark;
    /// the stock of the old definition is dropped with the store's answer.
    pub(super) async fn change(&mut self, change: Change) -> Result<SetOutcome, LedgerError> {
        let existed = self.sequence.exists();
        let previous = self.sequence.stock.last_issued().filter(|_| existed);
        let is_shared = self.sequence.is_shared();
        let mut ranges = match is_shared {
            true => std::mem::take(&mut self.known.adopted),
            false => self.close().ranges.into(),
        };
        let changed = self.apply(&change, &mut ranges).await;
        let is_changed = matches!(changed, Ok(true));
        match is_shared {
            true => self.end_change_shared(ranges, is_changed).await,
            false => self.end_change_alone(ranges, is_changed),
        }
        changed.map(|_| SetOutcome {
            previous,
            created: !existed,
        })
    }

    /// Writes the changed record; `false`: there was nothing to change.
    async fn apply(&mut self, change: &Change, ranges: &mut Vec<Range>) -> Result<bool, LedgerError> {
        let context = &self.sequence.context;
        for _ in 0..CLAIM_TRIES {
            ranges.extend(self.refresh().await?);
            let changed = self.changed(change, self.issued(ranges))?;
            if changed.is_none() && self.is_kept() {
                return Ok(false);
            }
            // That it is so already was shown by a read: it is answered once a write says that it is kept (protocol R6).
            let is_changed = changed.is_some();
            let next = changed.unwrap_or_else(|| self.known.state.clone());
            let expected = self.known.state.version;
            let token = fresh_token(&*context.runtime);
            let (value, mut tokens) = (next.write(token), Tokens::new(token));
            let register = context.attempts(&self.sequence.key);
            match register
                .write(expected, value, Marks::NeverLower, &mut tokens)
                .await
            {
                Ok(Cas::Done(version)) => {
                    self.forget_attempts();
                    self.stored(State {
                        version: Some(version),
                        ..next
                    });
                    return Ok(is_changed);
                }
                Ok(Cas::Lost(found)) => {
                    let generation = self.known.state.generation;
                    let landed = self.reconcile(found).await?;
                    if self.known.state.generation != generation {
                        self.lose(std::mem::take(ranges));
                    }
                    ranges.extend(landed);
                }
                Err(error) => {
                    context.counters.failed();
                    if error.outcome == Outcome::Unknown {
                        // It may have landed and made our unused numbers its own: they are spent.
                        self.known.stale = true;
                        self.lose(std::mem::take(ranges));
                    }
                    return Err(error.into());
                }
            }
        }
        Err(self.too_many_writers())
    }

    /// Whether the record as it is known is kept.
    fn is_kept(&self) -> bool {
        let guard = self.sequence.context.guard.as_ref();
        let version = self.known.state.version;
        guard.is_none_or(|guard| version.is_some_and(|version| guard.is_kept(&self.sequence.key, version)))
    }

    /// What the record becomes; `None`: it is so already.
    fn changed(&self, change: &Change, issued: u64) -> Result<Option<State>, LedgerError> {
        let (name, state) = (&self.sequence.name, &self.known.state);
        let exists = self.is_stored();
        if let Change::Pass(pass) = change {
            return state.passed(name, pass, None, self.sequence.context.settings.max_gap);
        }
        state.check_unmoved(name)?;
        let next =
            match change {
                Change::Create(spec) if exists => {
                    state.check_same(name, spec, self.sequence.context.settings.max_gap)?;
                    return Ok(None);
                }
                Change::Create(spec) => {
                    self.sequence.check_room()?;
                    self.made(spec)?
                }
                Change::Set(to) if !exists => {
                    let context = &self.sequence.context;
                    context.may_make_by_use(Makeable::Sequence, name)?;
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
                            why: format!("it is at {at}, {} is not beyond it", to.value),
                            name,
                        },
                        other => other,
                    })?,
                Change::Alter(patch) => state.altered(name, issued, patch)?,
                Change::Drop => state.tombstone(issued),
                Change::Pass(_) => unreachable!("answered above"),
            };
        Ok(Some(next))
    }
}
