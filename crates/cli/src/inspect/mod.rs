//! `mint inspect`: what an id is.

mod paint;

use mintage::{Clock, FieldValue, Reading, Refusal, SystemClock, fault, refusals};
use mintage_wire::readings::{Found, NotReadAs, ReadAs};
use mintage_wire::{Inspected, known_and_guessed, nearly};
use serde_json::json;

use crate::color::Color;
use crate::column::ColumnArgs;
use crate::errors::Failure;
use crate::format_options::{FormatOptions, format_named, format_names, refused};
use crate::lines::shown;
use crate::out::Out;
use paint::Painter;

#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Ids; -, or none where something is piped in, reads them from standard input, one per line, and answers each
    /// with one line. With --column: files
    #[arg(value_name = "ID|-", allow_negative_numbers = true)]
    ids: Vec<String>,
    /// Read them as this format and nothing else
    #[arg(long = "as", value_name = "FORMAT", value_parser = format_names(), ignore_case = true, hide_possible_values = true)]
    as_format: Option<String>,
    #[command(flatten)]
    column: ColumnArgs,
    #[command(flatten)]
    options: FormatOptions,
}

const EXAMPLES: &str = "\
Shows the likeliest way to read an id with the reason, on a terminal also which bits are which, and a line for each \
of two more. -v shows all, and what else was tried. Exit code 1 if one of them is not known: nothing fits it with 10 % \
or more.

Examples:
  mint inspect 01890a5d-ac96-774b-bcce-b302099a8057
  mint inspect --preset discord 175928847299117063
  mint inspect --as tsid --epoch 2015-01-01 0AXS751X00W7C
  mint inspect --json - < ids.txt
  mint inspect --json --column order_id orders.csv.gz";

pub(crate) fn run(args: &Args, color: Color, out: &mut Out) -> Result<(), Failure> {
    let read_as = read_as(args)?;
    let painter = Painter::new(color);
    let mut unknown = false;
    let mut first = true;
    args.column.for_each(&args.ids, out, |id, place, out| {
        let id = match id {
            Ok(id) => id,
            Err(why) => {
                unknown = true;
                return match out.json {
                    true => out.json_line(&json!({"input": null, "readings": [], "error": why})),
                    false => out.line(format!("-  {why}")),
                };
            }
        };
        let found = read_as.inspect(id, SystemClock.now());
        unknown |= known(&found).is_empty();
        if out.json {
            return match out.verbose && found.refusal.is_none() {
                true => out.json_line(&Inspected::in_full(id, &found.readings)),
                false => out.json_line(&found.document(id)),
            };
        }
        if place.is_line() {
            return summary(id, &found, out);
        }
        if !std::mem::take(&mut first) {
            out.line("")?;
        }
        paragraph(id, &found, &painter, out)
    })?;
    if unknown {
        out.flush()?;
        return Err(Failure::Negative);
    }
    Ok(())
}

/// How ids are to be read.
fn read_as(args: &Args) -> Result<ReadAs, Failure> {
    let format = args.as_format.as_deref().map(format_named);
    ReadAs::new(format, args.options.all()?).map_err(|error| match error {
        NotReadAs::Refused(format, error) => refused(format, &error),
        NotReadAs::NoFormat => {
            Failure::usage("these options need a format to belong to").with_hint("--as FORMAT names it")
        }
    })
}

/// How many readings have a line in addition to the best.
const MORE_SHOWN: usize = 2;

/// The readings that say something.
fn known(found: &Found) -> &[Reading] {
    known_and_guessed(&found.readings).0
}

/// Why nothing is known of it, in one line.
fn nothing(found: &Found, id: &str) -> String {
    if let Some((format, why)) = &found.refusal {
        return format!("not a {format}: {why}");
    }
    fault(id)
}

fn tried(refusal: &Refusal) -> String {
    match refusal.form {
        Some(form) => format!("{} in {form}: {}", refusal.format, refusal.why),
        None => format!("{}: {}", refusal.format, refusal.why),
    }
}

fn paragraph(id: &str, found: &Found, painter: &Painter, out: &mut Out) -> Result<(), Failure> {
    out.line(shown(id).as_bytes())?;
    let (known, guesses) = known_and_guessed(&found.readings);
    if known.is_empty() {
        out.line(format!("  {}", nothing(found, id)))?;
    } else if let Some(near) = nearly(id, known) {
        out.line(format!("  nearly {near}; else:"))?;
    }
    let cards = if out.verbose { known.len() } else { 1 };
    for (rank, reading) in known.iter().take(cards).enumerate() {
        card(reading, out)?;
        if rank == 0 {
            painter.bits(reading, out)?;
        }
    }
    if out.verbose {
        for guess in guesses {
            out.line(format!("  at a stretch {}", one_line(guess)))?;
        }
        return not_because(id, found, out);
    }
    for reading in known.iter().skip(1).take(MORE_SHOWN) {
        out.line(format!("  or {}", one_line(reading)))?;
    }
    match known.len().saturating_sub(1 + MORE_SHOWN) {
        0 => Ok(()),
        more => out.line(format!("  {more} more: -v")),
    }
}

/// All that a reading says.
fn card(reading: &Reading, out: &mut Out) -> Result<(), Failure> {
    let percent = reading.confidence * 100.0;
    out.line(format!("  {}  ({percent:.0} %: {})", title(reading), reading.why))?;
    if let Some(time) = reading.time {
        out.line(format!("    {:<12} {time}", "time"))?;
    }
    for (name, value) in &reading.fields {
        out.line(format!("    {name:<12} {}", field_text(value)))?;
    }
    for note in &reading.notes {
        out.line(format!("    {note}"))?;
    }
    Ok(())
}

/// What a reading is, when, and how sure.
fn one_line(reading: &Reading) -> String {
    let time = reading.time.map_or(String::new(), |time| format!(" of {time}"));
    format!("{}{time}  ({:.0} %)", title(reading), reading.confidence * 100.0)
}

/// What else was tried, and what each reader said.
fn not_because(id: &str, found: &Found, out: &mut Out) -> Result<(), Failure> {
    if found.refusal.is_some() {
        return Ok(());
    }
    out.line("  not, because:")?;
    let ids_of = |reading: &Reading, refusal: &Refusal| {
        reading.format == refusal.format && reading.form == refusal.form
    };
    for refusal in refusals(id) {
        if !found.readings.iter().any(|reading| ids_of(reading, &refusal)) {
            out.line(format!("    {}", tried(&refusal)))?;
        }
    }
    Ok(())
}

/// One line about an id: the likeliest reading.
fn summary(id: &str, found: &Found, out: &mut Out) -> Result<(), Failure> {
    let Some(reading) = known(found).first() else {
        return out.line(format!("{}  {}", shown(id), nothing(found, id)));
    };
    let mut line = format!("{}  {}", shown(id), title(reading));
    if let Some(time) = reading.time {
        line.push_str("  ");
        line.push_str(&time.to_string());
    }
    for (name, value) in &reading.fields {
        line.push_str("  ");
        line.push_str(name);
        line.push('=');
        line.push_str(&field_text(value));
    }
    out.line(line)
}

fn title(reading: &Reading) -> String {
    let mut title = reading.format.to_string();
    if let Some(version) = reading.version {
        title.push_str(&format!(" version {version}"));
    }
    if let Some(variant) = reading.variant {
        title.push_str(&format!(", variant {variant}"));
    }
    if let Some(preset) = &reading.preset {
        title.push_str(&format!(" of preset {preset}"));
    }
    if let Some(form) = reading.form {
        title.push_str(&format!(", written in {form}"));
    }
    title
}

fn field_text(value: &FieldValue) -> String {
    match value {
        FieldValue::Number(n) | FieldValue::Big(n) => n.to_string(),
        FieldValue::Text(text) => text.clone(),
    }
}
