//! The documents of the wire, made from what core and the ledger say.

use std::time::Duration;

use mintage::{Family, GenOption, GenOptions, OptionForm, Role, Run, SequenceStart, Timestamp};
use mintage_ledger::{
    BudgetOf, Changed, Gap, LentWindow, PoolInfo, PoolKind, SequenceInfo, StoreStatus, Survey, WindowInfo,
};
use mintage_wire::{self as wire, Quoted};
pub use mintage_wire::{length, shown};

use crate::formats::{is_made, parameter};
use crate::metrics::Exposition;

/// A sequence's definition and where it stands.
pub fn sequence(info: &SequenceInfo) -> wire::Sequence {
    // Nothing is said of a sequence whose rate nobody has seen.
    let known = info.forecast.rate.is_some() || !info.forecast.endings.is_empty();
    wire::Sequence {
        name: info.name.to_string(),
        start: Quoted(info.def.start),
        increment: Quoted(info.def.increment),
        min: Quoted(info.def.min),
        max: Quoted(info.def.max),
        cycle: info.def.cycle,
        gap: gap(info.gap).into(),
        max_gap: info.max_gap,
        order: "node".into(),
        last: info.last.map(Quoted),
        forecast: known.then(|| forecast(&info.forecast)),
        pending: Vec::new(),
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

/// A known layout.
pub fn preset(row: &mintage::Preset) -> wire::Preset {
    let layout = row.layout();
    let field = |field: &mintage::Field| wire::PresetField {
        name: field.name.to_string(),
        bits: field.bits,
        shift: field.shift,
        role: role(field.role),
    };
    wire::Preset {
        name: row.name,
        note: row.note,
        source: row.source,
        bits: layout.bits(),
        fields: layout.fields().iter().map(field).collect(),
        tick_ns: layout.tick().as_nanos().to_string(),
        epoch: shown(layout.epoch()),
        ends: shown(layout.end()),
        workers: layout.workers(),
        sequence_start: sequence_start(layout.sequence_start()),
        original_clock: row.original_clock.to_string(),
        spec: layout.spec(),
    }
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
/// assert_eq!((shown.bits, shown.random_bits), (128, 122.0));
/// assert_eq!(shown.ids_until_repeat.map(|ids| ids.half), Some(2.71e18));
/// ```
pub fn format(row: &mintage::Format) -> wire::Format {
    let random_bits = row.entropy_bits(&GenOptions::default());
    let ids = |chance| three_digits(mintage::ids_until_repeat(random_bits, chance));
    wire::Format {
        name: row.name,
        aliases: row.aliases,
        title: row.title,
        summary: row.summary,
        bits: row.bits,
        characters: wire::Characters {
            min: row.text_len.0,
            max: row.text_len.1,
        },
        time: row.time.map(|time| wire::FormatTime {
            tick: length(time.tick),
            tick_ns: time.tick.as_nanos().to_string(),
            first: shown(time.first),
            first_unix_ns: time.first.unix_nanos().to_string(),
            last: shown(time.last),
            last_unix_ns: time.last.unix_nanos().to_string(),
            digits: time.digits,
        }),
        text_sorts: row.text_sorts,
        bytes_sort: row.bytes_sort,
        unique: row.unique,
        tells: row.tells,
        random_bits: (random_bits * 100.0).round() / 100.0,
        ids_until_repeat: (random_bits > 0.0).then(|| wire::UntilRepeat {
            billionth: ids(1e-9),
            hundredth: ids(0.01),
            half: ids(0.5),
        }),
        options: row.options.iter().map(|option| parameter(*option)).collect(),
        made: is_made(row),
        verbs: verbs(row),
        diagram: row.diagram,
        source: row.source,
        command: command_of(row),
    }
}

/// The command that makes an id of a format, with the options of its example; or that shows what one says.
///
/// ```
/// use mintage_server::render::command_of;
/// let of = |name| command_of(mintage::format(name).expect("a format"));
/// assert_eq!((of("ulid"), of("uuid7")), ("mint gen ulid".into(), "mint uuid".into()));
/// assert_eq!(of("uuid5"), "mint uuid v5 --namespace dns www.example.com");
/// ```
pub fn command_of(row: &mintage::Format) -> String {
    let with_example = |command: String| {
        row.example
            .iter()
            .fold(command, |line, (option, text)| match option.form() {
                OptionForm::Flag => format!("{line} --{}", option.name()),
                _ if *option == GenOption::Name => format!("{line} {text}"),
                _ => format!("{line} --{} {text}", option.name()),
            })
    };
    let name = row.name;
    let command = match row.family {
        Family::Uuid(None | Some(7)) => "uuid".into(),
        Family::Uuid(Some(8)) => with_example("uuid v8 --sha256".into()),
        Family::Uuid(Some(version)) => with_example(format!("uuid v{version}")),
        Family::Snowflake => "snowflake".into(),
        Family::Sequence => "seq next NAME".into(),
        _ if row.can_make() => with_example(format!("gen {name}")),
        _ if mintage::preset(name).is_some() => [
            "snowflake --preset",
            name,
            "| mint convert --from dec --to",
            name,
            "-",
        ]
        .join(" "),
        _ => format!("inspect --as {name} ID"),
    };
    ["mint", &command].join(" ")
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
pub fn verbs(row: &mintage::Format) -> Vec<&'static str> {
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

/// Where the sequence of a new tick begins, in words.
pub fn sequence_start(start: SequenceStart) -> String {
    match start {
        SequenceStart::Zero => "zero".into(),
        SequenceStart::At(first) => format!("at {first}"),
        SequenceStart::Random { below } => format!("random below {below}"),
        SequenceStart::Carry => "carry".into(),
    }
}
