//! The JSON documents that every face and the command show alike.
//!
//! Integers that may pass 2^53 are strings: JavaScript would silently round them.

use std::time::Duration;

use mintage::{FieldValue, IdTime, Preset, Reading, Role, SequenceStart, Timestamp};
use mintage_ledger::{Changed, Gap, LentWindow, PoolInfo, PoolKind, SequenceInfo, WindowInfo};
use serde_json::{Map, Value, json};

/// A sequence's definition and where it stands.
pub fn sequence(info: &SequenceInfo) -> Value {
    json!({
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
    })
}

/// A changed sequence; `pending` names servers of the cluster that do not follow yet, where there are any.
pub fn changed(changed: &Changed) -> Value {
    let mut shown = sequence(&changed.info);
    if !changed.pending.is_empty() {
        shown["pending"] = json!(changed.pending);
    }
    shown
}

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
    })
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
    rfc3339(IdTime { at, digits })
}

/// What an id is: the input and its readings, the likeliest first.
///
/// ```
/// use mintage::{Timestamp, inspect};
/// let id = "017f22e2-79b0-7cc3-98c4-dc0c0c07398f";
/// let shown = mintage_server::render::readings(id, &inspect(id, Timestamp::from_unix_millis(1_800_000_000_000)));
/// assert_eq!(shown["readings"][0]["time"], "2022-02-22T19:22:22.000Z");
/// assert_eq!(shown["readings"][0]["unix_ns"], "1645557742000000000");
/// ```
pub fn readings(input: &str, readings: &[Reading]) -> Value {
    json!({ "input": input, "readings": readings.iter().map(reading).collect::<Vec<_>>() })
}

fn reading(reading: &Reading) -> Value {
    let mut shown = Map::new();
    let mut put = |name: &str, value: Value| {
        if !value.is_null() {
            shown.insert(name.into(), value);
        }
    };
    put("format", json!(reading.format));
    put("preset", json!(reading.preset));
    put("version", json!(reading.version));
    put("variant", json!(reading.variant));
    // Two digits say all that a ranking can claim.
    put("confidence", json!((reading.confidence * 100.0).round() / 100.0));
    put("why", json!(reading.why));
    if let Some(time) = reading.time {
        put("time", json!(rfc3339(time)));
        put("unix_ns", json!(time.at.unix_nanos().to_string()));
    }
    let fields: Map<String, Value> = reading
        .fields
        .iter()
        .map(|(name, value)| (name.to_string(), field(value)))
        .collect();
    put("fields", Value::Object(fields));
    Value::Object(shown)
}

fn field(value: &FieldValue) -> Value {
    match value {
        FieldValue::Number(number) => json!(number),
        FieldValue::Big(number) => json!(number.to_string()),
        FieldValue::Text(text) => json!(text),
    }
}

/// A time as RFC 3339 in UTC, with as many digits after the second as the id really has.
///
/// Years past 9999, which ids can hold and RFC 3339 cannot, are written with a sign as ISO 8601 does.
///
/// ```
/// use mintage::{IdTime, Timestamp};
/// let at = Timestamp::from_unix_nanos(-1);
/// assert_eq!(mintage_server::render::rfc3339(IdTime { at, digits: 7 }), "1969-12-31T23:59:59.9999999Z");
/// ```
pub fn rfc3339(time: IdTime) -> String {
    let IdTime { at, digits } = time;
    let (year, month, day) = civil(at.unix_nanos().div_euclid(NANOS_PER_DAY));
    let nanos_of_day = at.unix_nanos().rem_euclid(NANOS_PER_DAY);
    let second = nanos_of_day / 1_000_000_000;
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let mut text = match year {
        0..=9999 => format!("{year:04}"),
        _ => format!("{year:+06}"),
    };
    text.push_str(&format!("-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}"));
    let digits = usize::from(digits.min(9));
    if digits > 0 {
        text.push_str(&format!(
            ".{}",
            &format!("{:09}", nanos_of_day % 1_000_000_000)[..digits]
        ));
    }
    text.push('Z');
    text
}

/// Year, month and day of a day after 1970-01-01, in the proleptic Gregorian calendar (Howard Hinnant,
/// `civil_from_days`).
pub(crate) fn civil(day: i128) -> (i128, i128, i128) {
    // Days since 0000-03-01, so that leap days end their year.
    let days = day + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    (year_of_era + era * 400 + i128::from(month <= 2), month, day)
}

const NANOS_PER_DAY: i128 = 86_400_000_000_000;

#[cfg(test)]
mod tests {
    use mintage::Timestamp;

    use super::*;

    #[test]
    fn times_are_shown_in_utc() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (4_107_542_399, "2100-02-28T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (-12_219_292_800, "1582-10-15T00:00:00Z"),
            (253_402_300_799, "9999-12-31T23:59:59Z"),
            (253_402_300_800, "+10000-01-01T00:00:00Z"),
            (281_474_976_710, "+10889-08-02T05:31:50Z"),
        ] {
            let at = Timestamp::from_unix_nanos(seconds * 1_000_000_000);
            assert_eq!(rfc3339(IdTime { at, digits: 0 }), text);
        }
    }
}
