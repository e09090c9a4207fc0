//! `mint presets`: the known Snowflake layouts.

use mintage::{Preset, preset};

use crate::errors::Failure;
use crate::out::Out;
use crate::snowflake::no_such_preset;
use mintage_wire::{self as wire, shown};

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
        Some(row) if out.json => out.json_line(&wire::Preset::from(row)),
        Some(row) => paragraph(row, out),
        None if out.json => rows().try_for_each(|row| out.json_line(&wire::Preset::from(row))),
        None => table(out),
    }
}

/// Those of up to 64 bits, then the wide ones.
fn rows() -> impl Iterator<Item = &'static Preset> {
    mintage::PRESETS.iter().chain(mintage::WIDE_PRESETS)
}

fn table(out: &mut Out) -> Result<(), Failure> {
    let rows: Vec<[String; 5]> = rows()
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
        ("sequence", wire::sequence_start(layout.sequence_start())),
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
