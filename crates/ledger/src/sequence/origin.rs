//! The work of a sequence whose numbers come out of a counter elsewhere, while both sides serve.
//!
//! Nothing is claimed from the record's own mark. A take of the origin is a reservation: its answer is ours alone, and
//! one that did not come is spent and never used (protocol S10). So a server that did not hear of a change repeats
//! nothing either: what it holds lies below the origin's mark, and an origin that was cut gives nothing more.
//!
//! On every store the stock stays open while the origin is asked. It holds what ten seconds use. Ordinals are counted by
//! this process and mean nothing to others; stock is never given back.

use std::sync::Arc;
use std::time::Duration;

use mintage::{Run, SequenceDef};

use super::Sequence;
use super::memory::OriginMemory;
use super::passage::Origin;
use super::range::{Ask, Range};
use super::spec::Gap;
use super::state::beyond;
use super::task::{SequenceTask, Takers};
use crate::advice::Advice;
use crate::error::{LedgerError, OriginRefusal};
use crate::moves::{is_counted_by_clients, of_class};
use crate::source::{SourceError, SourceErrorKind};
use crate::store::Outcome;
use crate::striped::AsStriped;

/// How many numbers one take asks for, and what becomes of them.
struct Portion {
    n: u64,
    low_water: u64,
    /// How many may be in stock once those who wait are served.
    most: u64,
}

/// The least that a take asks for, if `max_gap` allows.
const TAKE_MIN: u64 = 100;
/// How often the origin is asked for one run, of which others may have taken numbers out of the middle.
const RUN_TRIES: usize = 8;
/// How long a name leaves an origin in peace that does not answer, at first and at most: the pause doubles.
const PAUSE_MIN: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(5);
/// The same of one that refuses.
const PAUSE_REFUSED: Duration = Duration::from_secs(1);

impl SequenceTask<'_> {
    /// Serves takes that found nothing in stock when they looked; leaves those that come after a change of the record by
    /// which numbers do not come out of an origin any more.
    pub(super) async fn serve_from_origin(&mut self, takes: &mut Takers) {
        let mut failed: Option<LedgerError> = None;
        while let Some(take) = takes.pop_front() {
            if take.answer.is_closed() {
                continue;
            }
            let taken = match (self.sequence.from_stock(take.ask), &failed) {
                (Some(run), _) => Ok(run),
                (None, Some(error)) => Err(error.clone()),
                (None, None) => match self.run_of_origin(take.ask, takes).await {
                    Ok(None) => {
                        takes.push_front(take);
                        break;
                    }
                    Ok(Some(run)) => Ok(run),
                    Err(error) => Err(error),
                },
            };
            // What stands against this one alone does not stand against those behind it.
            failed = failed.or(match &taken {
                Err(LedgerError::Invalid(_)) | Ok(_) => None,
                Err(error) => Some(error.clone()),
            });
            let _ = take.answer.send(taken);
        }
        self.sequence.publish(&self.known.state);
    }

    /// Takes more ahead.
    pub(super) async fn refill_from_origin(&mut self) {
        let sequence = self.sequence;
        // Closed only with the ledger.
        let _one_of_few = sequence.context.refills.acquire().await;
        sequence.refill_begins();
        let taken = match self.follow_origin().await {
            Ok(Some(origin)) => {
                let low = sequence.origin_block(&origin, 0, self.known.state.max_gap) / 2;
                match sequence.stock.unused() <= low {
                    true => self.take_from(&origin, None, 0).await,
                    false => Ok(None),
                }
            }
            Ok(None) => Ok(None),
            Err(error) => Err(error),
        };
        if let Err(error) = taken {
            // Tried again every second while the name is in use; those who find the stock empty hear why.
            tracing::debug!(sequence = %sequence.name, %error, "refill failed");
        }
        sequence.publish(&self.known.state);
    }

    /// Takes what one take and those behind it want, and a block on top. `None`: numbers do not come out of an origin any
    /// more.
    async fn run_of_origin(&mut self, ask: Ask, behind: &Takers) -> Result<Option<Run>, LedgerError> {
        let behind = behind.iter().map(|take| take.ask.n).fold(0, u64::saturating_add);
        for _ in 0..RUN_TRIES {
            let Some(origin) = self.follow_origin().await? else {
                return Ok(None);
            };
            if let Some(run) = self.take_from(&origin, Some(ask), behind).await? {
                return Ok(Some(run));
            }
        }
        let name = &self.sequence.name;
        Err(LedgerError::unavailable(match ask.contiguous {
            true => format!(
                "sequence {name}: others took numbers of the original in between {RUN_TRIES} times, so that no run of {} \
                 was had",
                ask.n
            ),
            false => format!(
                "sequence {name}: the original gave only numbers that do not lie beyond those before, {RUN_TRIES} times: \
                 was it set back?"
            ),
        }))
    }

    /// The origin as the record has it now, which is read where it may have changed.
    async fn follow_origin(&mut self) -> Result<Option<Origin>, LedgerError> {
        self.forget_if_dropped();
        if let Some(range) = self.refresh().await? {
            self.lose(vec![range]);
        }
        Ok(self.known.state.origin().cloned())
    }

    /// Asks the origin once. `None`: what came does not answer `ask` and is in stock, or another definition holds now.
    async fn take_from(
        &mut self,
        origin: &Origin,
        ask: Option<Ask>,
        behind: u64,
    ) -> Result<Option<Run>, LedgerError> {
        let context = &self.sequence.context;
        let now = context.runtime.boottime();
        if let Some((_, error)) = self
            .origin_memory()
            .refused
            .as_ref()
            .filter(|(until, _)| now < *until)
        {
            return Err(error.clone());
        }
        self.check_fits_origin(origin)?;
        let portion = self.portion(origin, ask, behind)?;
        let takes = context
            .origins
            .get(&origin.source, &origin.kind, origin.table.as_ref());
        let answer = match &takes {
            Ok(takes) => {
                let def = self.known.state.def;
                let taken = takes.take(&origin.key, portion.n.saturating_mul(steps_of(origin, &def)));
                taken.await.map(|runs| ours_of(origin, &def, runs))
            }
            Err(error) => Err(error.clone()),
        };
        match answer {
            Ok(runs) => {
                self.origin_memory().refused = None;
                self.origin_memory().pause = Duration::ZERO;
                self.sequence.origin_refusal.store(None);
                self.keep_from_origin(runs, ask, &portion)
            }
            Err(error) => {
                let wait = takes.map_or(Duration::ZERO, |takes| takes.retry_in());
                self.origin_failed(origin, error, wait, portion.n).await
            }
        }
    }

    /// What cannot go with an origin, whose numbers others take too.
    fn check_fits_origin(&mut self, origin: &Origin) -> Result<(), LedgerError> {
        let why = if self.known.state.gap == Gap::None {
            "gap = none does not go with that: what is taken and not used cannot go back"
        } else if self.sequence.context.store.striped().is_some() {
            "a set of stores does not go with that: each store has a share of the numbers, and these have none"
        } else {
            return Ok(());
        };
        Err(self.origin_refuses(origin, why.to_string(), None, false))
    }

    /// How much to ask for: what is wanted now, and what ten seconds use on top.
    fn portion(&self, origin: &Origin, ask: Option<Ask>, behind: u64) -> Result<Portion, LedgerError> {
        let max_gap = self.known.state.max_gap;
        let most = max_gap.max(origin.take.unwrap_or(0)).max(1);
        let unused = self.sequence.stock.unused();
        let asked = match ask {
            Some(ask) if ask.contiguous && ask.n > most => {
                return Err(LedgerError::Invalid(format!(
                    "a run of {} numbers: sequence {} takes its numbers from source {}, {most} at a time at most \
                     (max_gap)",
                    ask.n, self.sequence.name, origin.source
                )));
            }
            Some(ask) => ask.n.min(most),
            None => 0,
        };
        // Those behind find what is in stock first, and what was taken for them would be left over.
        let behind = if unused == 0 { behind.min(most) } else { 0 };
        let want = asked.saturating_add(behind);
        let block = self.sequence.origin_block(origin, want, max_gap);
        let n = match origin.take {
            Some(take) => take.max(want),
            None => want.saturating_add(block.min(most.saturating_sub(unused))),
        };
        Ok(Portion {
            n: n.max(1),
            low_water: block / 2,
            most: most.saturating_add(behind),
        })
    }

    /// Puts what came behind what is in stock, and serves `ask` from the front of it all.
    fn keep_from_origin(
        &mut self,
        runs: Vec<Run>,
        ask: Option<Ask>,
        portion: &Portion,
    ) -> Result<Option<Run>, LedgerError> {
        let ranges = self.rising(runs);
        let sequence = self.sequence;
        let owned = sequence.owned.lock();
        if owned.epoch != self.known.epoch {
            // Another process has changed the definition, or this one's register was lost (protocol R4, S5).
            drop(owned);
            self.lose(ranges);
            return Ok(None);
        }
        let served = sequence.stock.put(ask, ranges, portion.low_water, portion.most);
        sequence.count_lost(served.passed);
        Ok(served.run)
    }

    /// What lies beyond all that came before, with ordinals. Sessions of some originals keep numbers of their own and
    /// answer out of order, and one that was set back gives again what it gave: the numbers of one process rise, and none
    /// is given out twice.
    fn rising(&mut self, runs: Vec<Run>) -> Vec<Range> {
        let def = self.known.state.def;
        let mut ranges = Vec::new();
        for run in runs {
            let count = run.count;
            let run = rest_beyond(&def, self.known.furthest, run);
            self.sequence.count_lost(count - run.count);
            if run.count == 0 {
                continue;
            }
            let memory = self.origin_memory();
            let range = Range {
                ordinal: memory.next_ordinal,
                run,
            };
            memory.next_ordinal = range.end();
            self.note_furthest(&range);
            ranges.push(range);
        }
        ranges
    }

    /// The origin gave nothing. `None`: the record was changed meanwhile, by which that may be as it should.
    async fn origin_failed(
        &mut self,
        origin: &Origin,
        error: SourceError,
        wait: Duration,
        asked: u64,
    ) -> Result<Option<Run>, LedgerError> {
        let context = &self.sequence.context;
        context.counters.failed();
        if error.outcome == Outcome::Unknown {
            self.sequence.count_lost(asked);
        }
        if error.kind == SourceErrorKind::Unavailable {
            return Err(self.origin_is_away(origin, &error, wait));
        }
        let generation = self.known.state.generation;
        self.known.stale = true;
        let now = self.follow_origin().await?;
        if now.as_ref() != Some(origin) || self.known.state.generation != generation {
            return Ok(None);
        }
        let advice = match &error.fix {
            Some(fix) => Some(Advice::Words(fix.clone().into())),
            None if !context.origins.has(&origin.source) => Some(Advice::NameSource {
                source: origin.source.clone(),
            }),
            None => None,
        };
        let has_ended = error.kind == SourceErrorKind::Exhausted;
        Err(self.origin_refuses(origin, error.message, advice, has_ended))
    }

    fn origin_is_away(&mut self, origin: &Origin, error: &SourceError, wait: Duration) -> LedgerError {
        let now = self.sequence.context.runtime.boottime();
        let memory = self.origin_memory();
        memory.pause = (memory.pause * 2).clamp(PAUSE_MIN, PAUSE_MAX);
        let wait = memory.pause.max(wait);
        let refusal = LedgerError::Unavailable {
            message: format!(
                "sequence {} takes its numbers from {}: {error}",
                self.sequence.name,
                shown(origin)
            ),
            retry_after_s: wait.as_secs() + 1,
        };
        self.refused_until(now + wait, refusal)
    }

    fn origin_refuses(
        &mut self,
        origin: &Origin,
        why: String,
        advice: Option<Advice>,
        has_ended: bool,
    ) -> LedgerError {
        let now = self.sequence.context.runtime.boottime();
        let refusal = LedgerError::OriginRefuses(Box::new(OriginRefusal {
            name: self.sequence.name.clone(),
            from: shown(origin),
            why,
            advice,
            has_ended,
        }));
        let said = refusal.to_string();
        let before = self.sequence.origin_refusal.load();
        if before.as_deref() != Some(&said) {
            tracing::warn!(error = %said, "the counter of a sequence elsewhere refuses");
        }
        drop(before);
        self.refused_until(now + PAUSE_REFUSED, refusal)
    }

    fn refused_until(&mut self, until: Duration, refusal: LedgerError) -> LedgerError {
        let said = Arc::new(refusal.to_string());
        self.sequence.origin_refusal.store(Some(said));
        self.origin_memory().refused = Some((until, refusal.clone()));
        refusal
    }

    fn origin_memory(&mut self) -> &mut OriginMemory {
        self.known.origin.get_or_insert_default()
    }
}

impl Sequence {
    /// How many numbers to hold, with `asked` more wanted now: what ten seconds use, within limits.
    pub(super) fn origin_block(&self, origin: &Origin, asked: u64, max_gap: u64) -> u64 {
        let now = self.context.runtime.boottime();
        let used = self.used();
        let mut owned = self.owned.lock();
        owned.demand.note_second(now, used);
        let lately = owned.demand.used_lately(now, used.saturating_add(asked));
        drop(owned);
        lately.max(TAKE_MIN).min(max_gap.max(origin.take.unwrap_or(0)))
    }

    /// Whether its numbers come out of a counter elsewhere.
    pub(crate) fn takes_from_origin(&self) -> bool {
        self.published.load().origin().is_some()
    }

    /// Why this sequence gives nothing out, if it takes its numbers from elsewhere and has none left.
    pub(crate) fn origin_refusal(&self) -> Option<String> {
        self.published.load().origin()?;
        let why = self.origin_refusal.load();
        why.as_ref().map(|why| String::clone(why))
    }
}

/// How many numbers of an origin each of ours stands for: one whose clients count in steps that it does not know is
/// moved on by whole steps, else its clients would leave their numbers for those of others.
fn steps_of(origin: &Origin, def: &SequenceDef) -> u64 {
    match is_counted_by_clients(&origin.kind) {
        true => def.increment.unsigned_abs().max(1),
        false => 1,
    }
}

/// Of what such an origin gave, the numbers that are ours: those between are of other masters of the name.
fn ours_of(origin: &Origin, def: &SequenceDef, runs: Vec<Run>) -> Vec<Run> {
    if steps_of(origin, def) == 1 {
        return runs;
    }
    let ours = runs
        .into_iter()
        .map(|run| of_class(run, def.start, def.increment));
    ours.filter(|run| run.count > 0).collect()
}

/// What of a run lies beyond `furthest` in the direction of the sequence: nothing, if it counts the other way.
fn rest_beyond(def: &SequenceDef, furthest: Option<i64>, run: Run) -> Run {
    let skip = match furthest {
        _ if run.count > 1 && !beyond(def, run.first, run.last()) => u64::MAX,
        Some(furthest) if !beyond(def, furthest, run.first) => {
            let apart = i128::from(furthest).abs_diff(i128::from(run.first));
            let steps = apart / u128::from(run.step.unsigned_abs()) + 1;
            u64::try_from(steps).unwrap_or(u64::MAX)
        }
        _ => 0,
    };
    run.split(skip).1
}

fn shown(origin: &Origin) -> String {
    format!("{} in source {}", origin.key, origin.source)
}

#[cfg(test)]
mod tests {
    use mintage::SequenceOptions;

    use super::*;

    #[test]
    fn an_origin_that_its_clients_count_is_moved_on_by_whole_steps() {
        let origin = |kind: &str| Origin {
            source: "old".into(),
            kind: kind.into(),
            key: "orders".into(),
            table: None,
            take: None,
        };
        let options = SequenceOptions {
            start: Some(1),
            increment: Some(2),
            ..SequenceOptions::default()
        };
        let def = SequenceDef::new(options).unwrap();
        let (told, knows) = (origin("redis"), origin("tinyid"));
        assert_eq!((steps_of(&told, &def), steps_of(&knows, &def)), (2, 1));
        let runs = vec![Run {
            first: 8,
            step: 1,
            count: 6,
        }];
        let ours: Vec<i64> = ours_of(&told, &def, runs).iter().flat_map(Run::iter).collect();
        assert_eq!(ours, [9, 11, 13]);
    }

    #[test]
    fn only_what_lies_beyond_all_before_is_given_out() {
        let def = |increment| {
            let options = SequenceOptions {
                increment: Some(increment),
                min: Some(i64::MIN),
                max: Some(i64::MAX),
                ..SequenceOptions::default()
            };
            SequenceDef::new(options).unwrap()
        };
        // Increment of the sequence, furthest before, the run, and the first number and count of what stays of it.
        for (increment, furthest, (first, step, count), rest) in [
            (1, None, (10, 1, 5), Some((10, 5))),
            (1, Some(9), (10, 1, 5), Some((10, 5))),
            (1, Some(10), (10, 1, 5), Some((11, 4))),
            (1, Some(14), (10, 1, 5), None),
            (1, Some(i64::MAX), (i64::MIN, 1, u64::MAX), None),
            (1, Some(i64::MIN), (i64::MIN, 1, 9), Some((i64::MIN + 1, 8))),
            (10, Some(105), (100, 10, 3), Some((110, 2))),
            (10, Some(110), (100, 10, 3), Some((120, 1))),
            (1, None, (10, -1, 5), None),
            (1, Some(3), (10, -1, 1), Some((10, 1))),
            (-1, None, (10, -1, 5), Some((10, 5))),
            (-1, Some(8), (10, -1, 5), Some((7, 2))),
            (-1, Some(6), (10, -1, 5), None),
            (-3, Some(-10), (-9, -3, 3), Some((-12, 2))),
            (-1, None, (10, 1, 2), None),
        ] {
            let left = rest_beyond(&def(increment), furthest, Run { first, step, count });
            let found = (left.count > 0).then_some((left.first, left.count));
            assert_eq!(found, rest, "{increment} {furthest:?} {first} {step} {count}");
        }
    }
}
