//! The JSON documents that every face and the command show alike.
//!
//! Integers that may pass 2^53 are strings: JavaScript would silently round them.

use std::time::Duration;

use mintage::{Format, GenOptions, IdTime, Preset, Role, SequenceStart, Timestamp};
use mintage_ledger::{
    BudgetOf, Changed, Forecast, Gap, LentWindow, PoolInfo, PoolKind, SequenceInfo, StoreStatus, Survey,
    WindowInfo,
};
use serde_json::{Value, json};

use crate::metrics::Exposition;

/// A sequence's definition and where it stands.
pub fn sequence(info: &SequenceInfo) -> Value {
    let mut shown = json!({
        "name": info.name.as_str(),
        "start": info.def.start.to_string(),
        "increment": info.def.increment.to_string(),
        "min": info.def.min.to_string(),
        "max": info.def.max.to_string(),
        "cycle": info.def.cycle,
        "gap": match info.gap {
            Gap::Bounded => "bounded",
            Gap::None => "none",
        },
        "max_gap": info.max_gap,
        "order": "node",
        "last": info.last.map(|last| last.to_string()),
    });
    // Nothing is said of a sequence whose rate nobody has seen.
    if info.forecast.rate.is_some() || !info.forecast.endings.is_empty() {
        shown["forecast"] = forecast(&info.forecast);
    }
    shown
}

/// A changed sequence; `pending` names servers of the cluster that do not follow yet, where there are any.
pub fn changed(changed: &Changed) -> Value {
    let mut shown = sequence(&changed.info);
    if !changed.pending.is_empty() {
        shown["pending"] = json!(changed.pending);
    }
    shown
}

/// When something ends at today's rate.
pub fn forecast(forecast: &Forecast) -> Value {
    let endings: Vec<Value> = forecast
        .endings
        .iter()
        .map(|ending| {
            let ahead = forecast.as_of.filter(|_| !ending.left.is_zero());
            let second = ahead.map(|now| now.saturating_add(ending.left).unix_millis() / 1000);
            json!({
                "limit": ending.limit.as_str(),
                "at": second.map(|second| shown(Timestamp::from_unix_millis(second * 1000))),
                "years": (ending.left.as_secs_f64() / YEAR_S * 10.0).round() / 10.0,
                "near": ending.is_near(),
            })
        })
        .collect();
    json!({
        "per_second": forecast.rate.map(|rate| (rate * 1000.0).round() / 1000.0),
        "ends": endings,
    })
}

const YEAR_S: f64 = 365.25 * 24.0 * 3600.0;

/// What a pool is and what this process holds of it.
pub fn pool(info: &PoolInfo) -> Value {
    json!({
        "name": info.name.as_str(),
        "kind": info.kind.as_str(),
        "layout": layout_of(&info.kind),
        "workers": info.workers,
        "window": format!("{:?}", info.window),
        "window_ms": millis(info.window),
        "clock_policy": info.clock_policy.to_string(),
        "ends": shown(info.ends),
        "worker": info.worker,
        "until": info.until.map(shown),
        "workers_held": info.held,
        "parked": info.parked.map(|parked| json!({
            "workers": parked.workers,
            "first_until": shown(parked.first),
            "last_until": shown(parked.last),
        })),
        "forecast": forecast(&info.forecast),
    })
}

/// Whether the store answers, and what in use ends first without it.
pub fn store_status(status: &StoreStatus) -> Value {
    let first = status.first_to_end.as_ref().map(|first| {
        let (kind, name) = match &first.of {
            BudgetOf::Sequence(name) => ("sequence", name),
            BudgetOf::Pool(name) => ("pool", name),
        };
        json!({ "kind": kind, "name": name.as_str() })
    });
    json!({
        "up": status.down_for.is_none(),
        "down_s": status.down_for.map(|down| down.as_secs()),
        "budget_left_s": status.first_to_end.as_ref().map(|first| first.left.as_secs()),
        "first_to_end": first,
    })
}

/// What is in use, one by one, in the text format that Prometheus reads.
pub(crate) fn names_in_use(survey: &Survey) -> String {
    let mut out = Exposition::default();
    out.metric(
        "mint_stock_seconds",
        "gauge",
        "How long a sequence in use goes on without its store at its present rate; the busiest sequences.",
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
pub fn window(info: &WindowInfo) -> Value {
    let ms = |at: Timestamp| shown(Timestamp::from_unix_millis(at.unix_millis()));
    json!({
        "worker": info.worker,
        "owner": info.owner,
        "name": info.name,
        "from": ms(info.from),
        "until": ms(info.until),
        "written": ms(info.written),
        "lasts": info.lasts,
        "ours": info.ours,
    })
}

/// A window for a program that mints by itself: it may use the ticks from `from_tick` to before `until_tick`.
pub fn lent_window(lent: &LentWindow, kind: &PoolKind) -> Value {
    json!({
        "worker": lent.worker,
        "owner": lent.owner,
        "version": lent.version.to_string(),
        "from_tick": lent.from_tick.to_string(),
        "until_tick": lent.until_tick.to_string(),
        "from": shown(lent.from),
        "until": shown(lent.until),
        "kind": kind.as_str(),
        "layout": layout_of(kind),
    })
}

fn layout_of(kind: &PoolKind) -> Value {
    match kind {
        PoolKind::Snowflake(layout) => Value::String(layout.spec()),
        PoolKind::Uuid1 { .. } => Value::Null,
    }
}

fn millis(length: Duration) -> u64 {
    u64::try_from(length.as_millis()).unwrap_or(u64::MAX)
}

/// A known layout.
pub fn preset(row: &Preset) -> Value {
    let layout = row.layout();
    let fields: Vec<Value> = layout
        .fields()
        .iter()
        .map(|field| json!({"name": field.name, "bits": field.bits, "shift": field.shift, "role": role(field.role)}))
        .collect();
    json!({
        "name": row.name,
        "note": row.note,
        "source": row.source,
        "bits": layout.bits(),
        "fields": fields,
        "tick_ns": u64::try_from(layout.tick().as_nanos()).unwrap_or(u64::MAX).to_string(),
        "epoch": shown(layout.epoch()),
        "ends": shown(layout.end()),
        "workers": layout.workers(),
        "sequence_start": sequence_start(layout.sequence_start()),
        "original_clock": row.original_clock.to_string(),
        "spec": layout.spec(),
    })
}

fn role(role: Role) -> &'static str {
    match role {
        Role::Time => "time",
        Role::Worker => "worker",
        Role::Sequence => "sequence",
        Role::Rollback => "rollback",
        Role::Constant(_) => "constant",
    }
}

/// A format of ids, with what its randomness is worth: how many ids it takes for a chance of one repeat.
///
/// ```
/// let shown = mintage_server::render::format(mintage::format("uuid4").expect("a format"));
/// assert_eq!((&shown["bits"], &shown["random_bits"]), (&128.into(), &122.0.into()));
/// assert_eq!(shown["ids_until_repeat"]["50%"], 2.71e18);
/// ```
pub fn format(row: &Format) -> Value {
    let random_bits = row.entropy_bits(&GenOptions::default());
    let (least, most) = row.text_len;
    let options: Vec<&str> = row.options.iter().map(|option| option.name()).collect();
    json!({
        "name": row.name,
        "aliases": row.aliases,
        "title": row.title,
        "is": row.is,
        "bits": row.bits,
        "characters": if least == most { json!(least) } else { json!([least, most]) },
        "time": row.time.map(|shape| length(shape.tick)),
        "first": row.time.map(|shape| shown(shape.first)),
        "last": row.time.map(|shape| shown(shape.last)),
        "sorts": row.text_sorts,
        "bytes_sort": row.bytes_sort,
        "unique": row.unique,
        "tells": row.tells,
        "random_bits": (random_bits * 100.0).round() / 100.0,
        "ids_until_repeat": (random_bits > 0.0).then(|| until_repeat(random_bits)),
        "options": options,
        "verbs": verbs(row),
        "diagram": row.diagram,
        "source": row.source,
        "command": row.command,
    })
}

/// How many ids it takes for a chance of 10^-9, 1 % and 50 % that two are equal, to three digits.
fn until_repeat(random_bits: f64) -> Value {
    let ids = |chance| three_digits(mintage::ids_until_repeat(random_bits, chance));
    json!({"1e-9": ids(1e-9), "1%": ids(0.01), "50%": ids(0.5)})
}

/// Rounded down to three decimal digits.
pub fn three_digits(number: f64) -> f64 {
    if number < 1000.0 {
        return number.floor();
    }
    let text = format!("{number:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let kept = &digits[..digits.len().min(4)];
    format!("{kept}e{exponent}").parse().unwrap_or(number)
}

/// What can be asked of a format.
pub fn verbs(row: &Format) -> Vec<&'static str> {
    let all = [
        ("make", row.can_make()),
        ("make-at", row.can_make_at()),
        ("range", row.can_bound()),
        ("inspect", true),
        ("check", true),
        ("lenient", row.has_lenient()),
    ];
    all.into_iter()
        .filter(|(_, can)| *can)
        .map(|(verb, _)| verb)
        .collect()
}

/// `1 ms`, `100 ns`, `4 s`: a length of time in its largest whole unit.
pub fn length(span: Duration) -> String {
    let nanos = span.as_nanos();
    let (unit, name) = [(1_000_000_000, "s"), (1_000_000, "ms"), (1000, "us"), (1, "ns")]
        .into_iter()
        .find(|(unit, _)| nanos.is_multiple_of(*unit))
        .unwrap_or((1, "ns"));
    match nanos / unit {
        count if count >= 100_000 => format!("{} s", span.as_secs_f64()),
        count => format!("{count} {name}"),
    }
}

/// Where the sequence of a new tick begins, in words.
pub fn sequence_start(start: SequenceStart) -> String {
    match start {
        SequenceStart::Zero => "zero".into(),
        SequenceStart::At(first) => format!("at {first}"),
        SequenceStart::Random { below } => format!("random below {below}"),
        SequenceStart::Carry => "carry".into(),
    }
}

/// A time in UTC with every digit that matters.
pub fn shown(at: Timestamp) -> String {
    let nanos = at.unix_nanos().rem_euclid(1_000_000_000);
    let digits = [(1_000_000_000, 0), (1_000_000, 3), (1000, 6), (100, 7)]
        .into_iter()
        .find(|(unit, _)| nanos % unit == 0)
        .map_or(9, |(_, digits)| digits);
    IdTime { at, digits }.to_string()
}
