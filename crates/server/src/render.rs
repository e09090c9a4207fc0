//! The documents of the wire, made from what core and the ledger say.

use std::hash::{Hash, Hasher};
use std::time::Duration;

use mintage::{Run, SequenceDef, Timestamp};
use mintage_ledger::{
    Avoided, BudgetOf, Changed, Gap, LentWindow, Name, Passage, PassageIs, PoolInfo, PoolKind, SequenceInfo,
    StoreStatus, Survey, WindowInfo,
};
use mintage_wire::{self as wire, Quoted, shown};

use crate::metrics::Exposition;

/// A sequence's definition and where it stands.
pub fn sequence(info: &SequenceInfo) -> wire::Sequence {
    let shape = Shape::of(info);
    let passage = info.passage.as_ref();
    sequence_of(&info.name, &shape, info.last, Some(&info.forecast), passage)
}

/// What many sequences have alike.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Shape {
    pub(crate) def: SequenceDef,
    gap: Gap,
    max_gap: u64,
}

impl Hash for Shape {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let SequenceDef {
            start,
            increment,
            min,
            max,
            cycle,
        } = self.def;
        (start, increment, min, max, cycle, self.max_gap).hash(state);
    }
}

impl Shape {
    pub(crate) fn of(info: &SequenceInfo) -> Shape {
        Shape {
            def: info.def,
            gap: info.gap,
            max_gap: info.max_gap,
        }
    }
}

/// A sequence, put together from what is known of it.
pub(crate) fn sequence_of(
    name: &Name,
    shape: &Shape,
    last: Option<i64>,
    known: Option<&mintage_ledger::Forecast>,
    moved: Option<&Passage>,
) -> wire::Sequence {
    let Shape {
        def,
        gap: gaps,
        max_gap,
    } = *shape;
    // Nothing is said of a sequence whose rate nobody has seen.
    let known = known.filter(|known| known.rate.is_some() || !known.endings.is_empty());
    wire::Sequence {
        name: name.to_string(),
        start: Quoted(def.start),
        increment: Quoted(def.increment),
        min: Quoted(def.min),
        max: Quoted(def.max),
        cycle: def.cycle,
        gap: gap(gaps).into(),
        max_gap,
        order: "node".into(),
        last: last.map(Quoted),
        forecast: known.map(forecast),
        pending: Vec::new(),
        moved: moved.map(passage),
    }
}

/// A changed sequence, with the servers of the cluster that do not follow yet.
pub fn changed(changed: &Changed) -> wire::Sequence {
    wire::Sequence {
        pending: changed.pending.clone(),
        ..sequence(&changed.info)
    }
}

/// Whether numbers may be lost, in a word.
pub fn gap(gap: Gap) -> &'static str {
    match gap {
        Gap::Bounded => "bounded",
        Gap::None => "none",
    }
}

/// A run of numbers, of a sequence that begins again at its end or not.
pub fn range(run: Run, cycle: bool) -> wire::Range {
    wire::Range {
        first: Quoted(run.first),
        last: Quoted(run.last()),
        increment: Quoted(run.step),
        cycle,
    }
}

/// When something ends at today's rate.
fn forecast(forecast: &mintage_ledger::Forecast) -> wire::Forecast {
    let ending = |ending: &mintage_ledger::Ending| {
        let ahead = forecast.as_of.filter(|_| !ending.left.is_zero());
        let second = ahead.map(|now| now.saturating_add(ending.left).unix_millis() / 1000);
        wire::Ending {
            limit: ending.limit.as_str().into(),
            at: second.map(|second| shown(Timestamp::from_unix_millis(second * 1000))),
            years: (ending.left.as_secs_f64() / YEAR_S * 10.0).round() / 10.0,
            near: ending.is_near(),
        }
    };
    wire::Forecast {
        per_second: forecast.rate.map(|rate| (rate * 1000.0).round() / 1000.0),
        ends: forecast.endings.iter().map(ending).collect(),
    }
}

const YEAR_S: f64 = 365.25 * 24.0 * 3600.0;

/// What a pool is and what this process holds of it.
pub fn pool(info: &PoolInfo) -> wire::Pool {
    wire::Pool {
        name: info.name.to_string(),
        kind: info.kind.as_str().into(),
        layout: layout_of(&info.kind),
        workers: info.workers,
        usable: info.usable,
        within: info.choice.within.as_ref().map(ToString::to_string),
        avoid: Some(&info.choice.avoid)
            .filter(|avoid| !avoid.is_empty())
            .map(ToString::to_string),
        avoid_from: info.choice.avoid_from.clone(),
        window: format!("{:?}", info.window),
        window_ms: millis(info.window),
        clock_policy: info.clock_policy.to_string(),
        ends: shown(info.ends),
        worker: info.worker,
        until: info.until.map(shown),
        workers_held: info.held,
        parked: info.parked.map(|parked| wire::Parked {
            workers: parked.workers,
            first_until: shown(parked.first),
            last_until: shown(parked.last),
        }),
        forecast: forecast(&info.forecast),
    }
}

/// A pool after a change of what it avoids.
pub fn avoided(avoided: &Avoided) -> wire::PoolChanged {
    wire::PoolChanged {
        pool: pool(&avoided.info),
        held: avoided.held.iter().map(window).collect(),
        pending: avoided.pending.clone(),
    }
}

/// Whether the store answers, and what in use ends first without it.
pub fn store_status(status: &StoreStatus) -> wire::StoreStatus {
    let first = status.first_to_end.as_ref().map(|first| {
        let (kind, name) = match &first.of {
            BudgetOf::Sequence(name) => ("sequence", name),
            BudgetOf::Pool(name) => ("pool", name),
        };
        wire::FirstToEnd {
            kind: kind.into(),
            name: name.to_string(),
        }
    });
    wire::StoreStatus {
        up: status.down_for.is_none(),
        down_s: status.down_for.map(|down| down.as_secs()),
        budget_left_s: status.first_to_end.as_ref().map(|first| first.left.as_secs()),
        first_to_end: first,
    }
}

/// What is in use, one by one, in the text format that Prometheus reads.
pub(crate) fn names_in_use(survey: &Survey) -> String {
    let mut out = Exposition::default();
    out.metric(
        "mint_stock_seconds",
        "gauge",
        "How long a sequence in use continues without its store at its present rate; the busiest sequences.",
    );
    for stock in &survey.stocks {
        let labels = [("name", stock.name.as_str())];
        out.sample("mint_stock_seconds", &labels, stock.seconds);
    }
    out.metric(
        "mint_window_until_seconds",
        "gauge",
        "How long a pool can mint without its store.",
    );
    for pool in &survey.windows {
        let labels = [("pool", pool.name.as_str())];
        out.sample("mint_window_until_seconds", &labels, pool.left.as_secs_f64());
    }
    out.metric(
        "mint_ends_seconds",
        "gauge",
        "When a sequence or pool reaches a limit at today's rate; 0: it has.",
    );
    let sequences = survey.sequence_ends.iter().map(|ends| ("sequence", ends));
    let pools = survey.pool_ends.iter().map(|ends| ("pool", ends));
    for (kind, (name, forecast)) in sequences.chain(pools) {
        for ending in &forecast.endings {
            let labels = [
                ("kind", kind),
                ("name", name.as_str()),
                ("limit", ending.limit.as_str()),
            ];
            out.sample("mint_ends_seconds", &labels, ending.left.as_secs_f64());
        }
    }
    out.finish()
}

/// Who holds, or held, a worker until when.
pub fn window(info: &WindowInfo) -> wire::Window {
    let ms = |at: Timestamp| shown(Timestamp::from_unix_millis(at.unix_millis()));
    wire::Window {
        worker: info.worker,
        owner: info.owner.clone(),
        name: info.name.clone(),
        from: ms(info.from),
        until: ms(info.until),
        written: ms(info.written),
        lasts: info.lasts,
        ours: info.ours,
    }
}

/// A window for a program that mints by itself.
pub fn lent_window(lent: &LentWindow, kind: &PoolKind) -> wire::LentWindow {
    wire::LentWindow {
        worker: lent.worker,
        owner: lent.owner.clone(),
        version: Quoted(lent.version),
        from_tick: Quoted(lent.from_tick),
        until_tick: Quoted(lent.until_tick),
        from: shown(lent.from),
        until: shown(lent.until),
        kind: kind.as_str().into(),
        layout: layout_of(kind),
        now_tick: Quoted(lent.now_tick),
        now: shown(lent.now),
        tick_ns: Quoted(u64::try_from(lent.tick.as_nanos()).unwrap_or(u64::MAX)),
    }
}

fn layout_of(kind: &PoolKind) -> Option<String> {
    match kind {
        PoolKind::Snowflake(layout) => Some(layout.spec()),
        PoolKind::Uuid1 { .. } => None,
    }
}

fn millis(length: Duration) -> u64 {
    u64::try_from(length.as_millis()).unwrap_or(u64::MAX)
}

/// What a move makes of a sequence.
fn passage(passage: &Passage) -> wire::MovedSequence {
    let (is, source, key) = match &passage.is {
        PassageIs::Moving { source } => ("moving", Some(source), None),
        PassageIs::Beside(origin) => ("beside", Some(&origin.source), Some(&origin.key)),
        PassageIs::Here => ("here", None, None),
        PassageIs::MovedBack { source } => ("moved_back", Some(source), None),
    };
    wire::MovedSequence {
        is: is.into(),
        id: passage.id.to_string(),
        source: source.cloned(),
        key: key.cloned(),
    }
}
