//! Whether ids can be given out: all in all, sequences, pools, and one name.
//!
//! A process is ready while there is *anything* that it can give out. Servers of a cluster share a store, so that a
//! pool whose window has ended has ended on all of them; if one such name made each of them unready, a load balancer
//! would take all out at once although everything else goes on.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::ledger::Ledger;
use crate::name::Name;
use crate::outage::StoreStatus;
use crate::pool::Pool;
use crate::sequence::Sequence;
use crate::store::Standing;
use crate::survey::Survey;

/// Whether ids can be given out, and what stands against it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Readiness {
    /// Something can be given out, and the process neither ends nor has stopped for good.
    pub ready: bool,
    /// Why it is not, in words.
    pub reasons: Vec<String>,
    /// What is worth knowing although something is given out: that an outage is rehearsed, what stands against some of
    /// it, workers that a wrong clock parked, and settings of the store's server that cost its class or its failover.
    pub notes: Vec<String>,
    /// Sequences, all in all.
    pub sequences: PartReadiness,
    /// Pools, all in all.
    pub pools: PartReadiness,
}

/// Whether sequences, or pools, can be given out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PartReadiness {
    /// Nothing stands against the whole of them.
    pub ready: bool,
    /// What does, and what stands against some of them.
    pub reasons: Vec<String>,
    /// Those in use that can give nothing out, and why; as many as the survey names.
    pub not_ready: Vec<(Name, String)>,
}

/// What one name is that is held in memory, and why it can give nothing out, if it cannot.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NameReadiness {
    /// The sequence of this name.
    pub sequence: Option<Result<(), String>>,
    /// The pool of this name.
    pub pool: Option<Result<(), String>>,
}

impl Ledger {
    /// Whether ids can be given out.
    pub fn ready(&self) -> Readiness {
        self.ready_as_of(&self.survey(NAMES))
    }

    /// The same, with what everything in use had left as it was found by a survey. All else is as it is now: that the
    /// process has stopped for good, or closes, is said at once.
    pub fn ready_as_of(&self, survey: &Survey) -> Readiness {
        let store = self.status_as_of(survey);
        let ends = self.ends();
        let cannot_reserve = self.cannot_reserve(&store);
        let sequences = self.sequences_ready(survey, &store);
        let pools = self.pools_ready(survey, &store);
        // What is owned already goes on without the store.
        let gives = cannot_reserve.is_none() || survey.any_stock || survey.any_window;
        let against: Vec<String> = ends
            .iter()
            .chain(&sequences.reasons)
            .chain(
                pools
                    .reasons
                    .iter()
                    .filter(|reason| !sequences.reasons.contains(reason)),
            )
            .cloned()
            .collect();
        let ready = ends.is_empty() && (against.is_empty() || gives);
        let (reasons, told) = if ready {
            (Vec::new(), against)
        } else {
            (against, Vec::new())
        };
        Readiness {
            ready,
            reasons,
            notes: self
                .rehearses()
                .into_iter()
                .chain(told)
                .chain(self.parked_workers())
                .chain(self.wrong_settings())
                .collect(),
            sequences: sequences.unless(&ends),
            pools: pools.unless(&ends),
        }
    }

    /// What is wrong with the settings of the store's server, as of its last probe.
    fn wrong_settings(&self) -> Vec<String> {
        let durability = self.store_durability();
        let wrong = durability.wrong().into_iter();
        wrong
            .filter(|one| one.standing > Standing::Note)
            .map(|one| format!("store of class {}: {}", durability.class.letter(), one.why))
            .collect()
    }

    /// Whether a name that is held in memory can give something out.
    pub fn name_ready(&self, name: &Name) -> NameReadiness {
        let ends = self.ends();
        let store = self.status_as_of(&Survey::default());
        let judge = |own: Option<String>| match ends.first().cloned().or(own) {
            Some(why) => Err(why),
            None => Ok(()),
        };
        let sequence = self.sequence(name.as_str()).filter(|known| known.exists());
        let pool = self.pool(name.as_str());
        NameReadiness {
            sequence: sequence.map(|sequence| judge(self.sequence_refuses(&sequence, &store))),
            pool: pool.map(|pool| judge(self.pool_refuses(&pool, &store))),
        }
    }

    /// Why nothing can be reserved now, if that is known.
    pub fn reserves_nothing(&self) -> Option<String> {
        let now = self.status_as_of(&Survey::default());
        self.ends().first().cloned().or_else(|| self.cannot_reserve(&now))
    }

    /// Why this process gives nothing out any more, or soon will not.
    fn ends(&self) -> Vec<String> {
        let stopped = self.stopped().map(|error| format!("stopped for good: {error}"));
        let closing = self.context.closing.load(Ordering::Acquire);
        stopped
            .into_iter()
            .chain(closing.then(|| "closing".to_string()))
            .collect()
    }

    fn cannot_reserve(&self, store: &StoreStatus) -> Option<String> {
        let down = store
            .down_for
            .map(|down| format!("store down for {} s", down.as_secs()));
        self.context.health.no_room().or(down)
    }

    /// Sources out of which sequences take their numbers and that do not answer.
    fn origins_away(&self) -> impl Iterator<Item = String> {
        self.origins().into_iter().filter_map(|origin| {
            let (down, why) = (origin.down_for?.as_secs(), origin.why.unwrap_or_default());
            Some(format!("source {} down for {down} s: {why}", origin.source))
        })
    }

    fn sequences_ready(&self, survey: &Survey, store: &StoreStatus) -> PartReadiness {
        let no_room = self.context.health.no_room();
        let mut part = PartReadiness {
            // Not ready, whatever is in stock, until a reservation has succeeded: a new name gets nothing.
            ready: no_room.is_none(),
            reasons: no_room
                .into_iter()
                .chain(self.context.refused_for_good())
                .collect(),
            not_ready: Vec::new(),
        };
        if let Some(down) = store.down_for {
            let why = |name: &Name| {
                format!(
                    "store down for {} s, and sequence {name} has run out",
                    down.as_secs()
                )
            };
            part.reasons.extend(survey.run_out.first().map(&why));
            part.not_ready = survey
                .run_out
                .iter()
                .map(|name| (name.clone(), why(name)))
                .collect();
            part.ready &= survey.run_out.is_empty() || survey.any_stock;
        }
        // Everything else goes on, so that the whole stays ready.
        part.reasons.extend(self.origins_away());
        for name in &survey.run_out {
            let sequence = self.sequence(name.as_str());
            if let Some(why) = sequence.and_then(|sequence| sequence.origin_refusal()) {
                part.not_ready.retain(|(other, _)| other != name);
                part.not_ready.push((name.clone(), why));
            }
        }
        part
    }

    fn pools_ready(&self, survey: &Survey, store: &StoreStatus) -> PartReadiness {
        // Ids of pools carry the time.
        let mut reasons: Vec<String> = self
            .context
            .time_dispute()
            .into_iter()
            .chain(self.clock_waits())
            .collect();
        let mut ready = reasons.is_empty();
        let refused = self.loaded_pools().into_iter().filter_map(|pool| {
            let why = self.pool_refuses(&pool, store)?;
            Some((pool.name().clone(), why))
        });
        let not_ready: Vec<_> = refused.take(survey.names).collect();
        ready &= not_ready.is_empty() || survey.any_window;
        reasons.extend(not_ready.iter().map(|(_, why)| why.clone()));
        if let Some(no_room) = self.context.health.no_room().filter(|_| !survey.any_window) {
            ready = false;
            reasons.push(no_room);
        }
        PartReadiness {
            ready,
            reasons,
            not_ready,
        }
    }

    /// Why a sequence gives nothing out, if it does not.
    fn sequence_refuses(&self, sequence: &Arc<Sequence>, store: &StoreStatus) -> Option<String> {
        let name = sequence.name();
        if self
            .context
            .refused
            .lock()
            .expect("no panic while held")
            .contains(name)
        {
            return Some(format!("the stored record of sequence {name} went back"));
        }
        let stock = sequence.left_in_stock();
        if stock.unused > 0 {
            return None;
        }
        if sequence.has_ended() {
            return Some(format!("sequence {name} has no further number"));
        }
        if sequence.takes_from_origin() {
            return sequence.origin_refusal();
        }
        let why = self.cannot_reserve(store)?;
        Some(format!("{why}, and sequence {name} has run out"))
    }

    /// Why a pool gives nothing out, if it does not.
    fn pool_refuses(&self, pool: &Arc<Pool>, store: &StoreStatus) -> Option<String> {
        if let Some(clock) = pool.refused_for_clock() {
            return Some(clock);
        }
        let has_window = pool.left_in_window().is_some_and(|window| !window.left.is_zero());
        if has_window || (!pool.was_refused() && self.cannot_reserve(store).is_none()) {
            return None;
        }
        let name = pool.name();
        match self.cannot_reserve(store) {
            // Nobody misses the window of a pool that is not used.
            Some(_) if !pool.was_refused() && !pool.is_started() => None,
            Some(why) => Some(format!("{why}, and pool {name} has run out")),
            None => pool.failure().map(|failure| format!("pool {name}: {failure}")),
        }
    }

    /// A step of the clock that waits to be confirmed.
    fn clock_waits(&self) -> Option<String> {
        let clock = self.context.clock.report();
        let left = clock.unconfirmed?;
        let (seconds, left_s) = (clock.offset_ns / 1_000_000_000, left.as_secs() + 1);
        Some(match clock.unsettled {
            Some(_) if clock.steps == 0 => format!(
                "the wall clock reads {} s less than the store has seen, not followed until it has stood for {left_s} s \
                 more",
                -seconds
            ),
            _ => format!(
                "the wall clock was stepped by {seconds} s, not followed until it has stood for {left_s} s more"
            ),
        })
    }

    fn parked_workers(&self) -> Vec<String> {
        let pools = self.loaded_pools();
        let parked = pools
            .iter()
            .filter_map(|pool| Some((pool.name(), pool.parked()?)));
        parked
            .map(|(name, parked)| format!("pool {name}: {parked}"))
            .collect()
    }
}

impl PartReadiness {
    /// Nothing is ready where the whole process is not.
    fn unless(mut self, ends: &[String]) -> PartReadiness {
        self.ready &= ends.is_empty();
        self.reasons.splice(0..0, ends.iter().cloned());
        self
    }
}

/// How many names are named where nobody says how many.
const NAMES: usize = 100;
