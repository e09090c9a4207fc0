//! `mint range`: the ids of a span of time, for queries.

use mintage::{Family, Format, GenOptions, Id, Timestamp};
use serde_json::json;

use crate::errors::Failure;
use crate::format_options::{FormatOptions, format_named, format_names, refused};
use crate::out::Out;
use mintage_wire::shown;

#[derive(clap::Args, Debug)]
#[command(after_help = after_help())]
pub(crate) struct Args {
    /// The format of the ids
    #[arg(value_name = "FORMAT", value_parser = format_names(), ignore_case = true, hide_possible_values = true)]
    format: String,
    /// The first instant of the span
    #[arg(long, value_name = "TIME", value_parser = crate::time::parse)]
    from: Timestamp,
    /// The first instant after it
    #[arg(long, value_name = "TIME", value_parser = crate::time::parse)]
    to: Timestamp,
    #[command(flatten)]
    options: FormatOptions,
}

fn after_help() -> String {
    format!(
        "Prints two ids: the smallest and the largest that an id made in the span can be. --json adds the end: the \
         smallest id of the first tick past the span, for `id >= first AND id < end`. Ids hold whole ticks, so a span \
         that begins or ends within one takes in all of it.\n\nExamples:\n  mint range uuid7 --from 2022-02-22 --to \
         2022-02-23\n  mint range snowflake --preset discord --from now-1h --to now\n\n{}",
        crate::time::FORMS
    )
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<(), Failure> {
    let format = format_named(&args.format);
    let options = args.options.of(format)?;
    if args.to <= args.from {
        return Err(Failure::usage(format_args!(
            "the span ends at {}, which is not after {}, where it begins",
            shown(args.to),
            shown(args.from)
        )));
    }
    if !format.can_bound() {
        let message = match format.time {
            Some(_) => format!("the ids of a time have no bounds in format {}", format.name),
            None => format!("format {} holds no time", format.name),
        };
        let can: Vec<&str> = mintage::FORMATS
            .iter()
            .filter(|row| row.can_bound())
            .map(|row| row.name)
            .collect();
        return Err(Failure::usage(message).with_hint(format_args!("these have: {}", can.join(", "))));
    }
    let text = |id: &Id| format.text(id).map_err(|e| refused(format, &e));
    let bound = |at: Timestamp, verb: fn(&Format, Timestamp, &GenOptions) -> _| {
        let id: Result<Id, _> = verb(format, at, &options);
        id.map_err(|e| refused(format, &e))
    };
    let last_instant = Timestamp::from_unix_nanos(args.to.unix_nanos() - 1);
    let first = bound(args.from, Format::min_at)?;
    let last = bound(last_instant, Format::max_at)?;
    if !format.bytes_sort {
        out.note(format!(
            "note: {} ids do not sort by time, so other times lie between these two; {}",
            format.name,
            match format.family {
                Family::Uuid(Some(1)) => "version 6 of the same ids does: mint convert --to uuid6",
                _ => "compare what mint inspect reads from them",
            }
        ));
    }
    if !out.json {
        out.line(text(&first)?)?;
        return out.line(text(&last)?);
    }
    // The end of time has nothing after it.
    let end = end(format, &options, last_instant)
        .map(|id| text(&id))
        .transpose()?;
    out.json_line(&json!({
        "format": format.name,
        "from": shown(args.from),
        "to": shown(args.to),
        "first": text(&first)?,
        "last": text(&last)?,
        "end": end,
    }))
}

/// The smallest id of the first tick after the one that holds `last`.
fn end(format: &Format, options: &GenOptions, last: Timestamp) -> Option<Id> {
    let in_last = format.min_at(last, options).ok()?;
    let began = format.read(&in_last, options).ok()?.time?.at;
    let tick = match &options.layout {
        Some(layout) => layout.tick(),
        None => format.time?.tick,
    };
    format.min_at(began.saturating_add(tick), options).ok()
}
