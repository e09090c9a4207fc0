//! `mint presets`: the known Snowflake layouts.

use mintage::{Preset, Role, SequenceStart, preset};
use serde_json::{Value, json};

use crate::errors::Failure;
use crate::out::Out;
use crate::snowflake::no_such_preset;
use crate::time::shown;

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// One preset in full
    name: Option<String>,
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<(), Failure> {
    let one = match &args.name {
        Some(name) => Some(preset(name).ok_or_else(|| no_such_preset(name))?),
        None => None,
    };
    match one {
        Some(row) if out.json => out.json_line(&document(row)),
        Some(row) => paragraph(row, out),
        None if out.json => mintage::PRESETS
            .iter()
            .try_for_each(|row| out.json_line(&document(row))),
        None => table(out),
    }
}

fn table(out: &mut Out) -> Result<(), Failure> {
    let rows: Vec<[String; 5]> = mintage::PRESETS
        .iter()
        .map(|row| {
            let layout = row.layout();
            [
                row.name.to_string(),
                fields(row),
                length(layout.tick()),
                day(layout.epoch()),
                day(layout.end()),
            ]
        })
        .collect();
    let header = ["preset", "layout, highest bit first", "tick", "epoch", "ends"].map(String::from);
    let width = |at: usize| {
        rows.iter()
            .chain([&header])
            .map(|row| row[at].len())
            .max()
            .unwrap_or(0)
    };
    let widths = [width(0), width(1), width(2), width(3)];
    for [name, fields, tick, epoch, ends] in [&header].into_iter().chain(&rows) {
        let [a, b, c, d] = widths;
        out.line(format!("{name:a$}  {fields:b$}  {tick:>c$}  {epoch:>d$}  {ends}"))?;
    }
    Ok(())
}

fn paragraph(row: &Preset, out: &mut Out) -> Result<(), Failure> {
    let layout = row.layout();
    for (name, value) in [
        ("name", row.name.to_string()),
        ("is", row.note.to_string()),
        ("layout", fields(row)),
        ("tick", length(layout.tick())),
        ("epoch", shown(layout.epoch())),
        ("ends", shown(layout.end())),
        ("workers", layout.workers().to_string()),
        ("sequence", start(layout.sequence_start())),
        (
            "clock",
            format!("{} in the original; hold here", row.original_clock),
        ),
        ("source", row.source.to_string()),
    ] {
        out.line(format!("{name:<8}  {value}"))?;
    }
    Ok(())
}

/// `timestamp_ms:41 worker:10 sequence:12`
fn fields(row: &Preset) -> String {
    let layout = row.layout();
    let fields: Vec<String> = layout
        .fields()
        .iter()
        .map(|f| format!("{}:{}", f.name, f.bits))
        .collect();
    fields.join(" ")
}

fn length(tick: std::time::Duration) -> String {
    format!("{tick:?}")
}

fn day(at: mintage::Timestamp) -> String {
    shown(at).split('T').next().unwrap_or_default().to_string()
}

fn start(start: SequenceStart) -> String {
    match start {
        SequenceStart::Zero => "zero".into(),
        SequenceStart::At(first) => format!("at {first}"),
        SequenceStart::Random { below } => format!("random below {below}"),
        SequenceStart::Carry => "carry".into(),
    }
}

/// A preset as JSON.
fn document(row: &Preset) -> Value {
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
        "sequence_start": start(layout.sequence_start()),
        "original_clock": row.original_clock.to_string(),
        "fingerprint": layout.fingerprint(),
    })
}

fn role(role: Role) -> &'static str {
    match role {
        Role::Time => "time",
        Role::Worker => "worker",
        Role::Sequence => "sequence",
        Role::Rollback => "rollback",
        _ => "constant",
    }
}
