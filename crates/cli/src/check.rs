//! `mint check`: whether ids are valid, and why and where not.

use mintage::{
    CONFIDENCE_LEAST, Clock, Family, Format, GenOptions, Reading, SystemClock, TextError, UuidText, damage,
    fault, inspect, unwrapped,
};
use serde::Serialize;

use crate::column::ColumnArgs;
use crate::errors::Failure;
use crate::format_options::{FormatOptions, format_named, format_names};
use crate::lines::{Origin, shown};
use crate::out::Out;

#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Ids; -, or none where something is piped in, reads them from standard input, one per line, and answers each
    /// with one line. With --column: files
    #[arg(value_name = "ID|-", allow_negative_numbers = true)]
    ids: Vec<String>,
    #[command(flatten)]
    column: ColumnArgs,
    /// What they must be; without it, any known format [default: the likeliest]
    #[arg(long = "as", value_name = "FORMAT", value_parser = format_names(), ignore_case = true, hide_possible_values = true)]
    as_format: Option<String>,
    /// Exactly as the format's specification writes them; UUIDs also of an assigned version (the default)
    #[arg(long, conflicts_with_all = ["lenient", "grammar"])]
    strict: bool,
    /// Exactly as the specification writes them, but UUIDs of any version and variant: the grammar of RFC 9562 alone
    #[arg(long, conflicts_with = "lenient")]
    grammar: bool,
    /// Also as people write them: other case, punctuation, look-alike letters, white space around; UUIDs of any
    /// version and variant
    #[arg(long)]
    lenient: bool,
    #[command(flatten)]
    options: FormatOptions,
}

const EXAMPLES: &str = "\
Exit code 1 if any is not valid. Positions count from 0.

Examples:
  mint check 017f22e2-79b0-7cc3-98c4-dc0c0c07398f
  mint check --as ulid 01ARZ3NDEKTSV4RRFFQ69G5FAV
  mint check --as uuid7 --json - < ids.txt
  mint check --as uuid7 --column id orders.csv.gz
  mint check --lenient '{017F22E2-79B0-7CC3-98C4-DC0C0C07398F}'";

/// What became of an id, as JSON.
#[derive(Serialize)]
struct Verdict<'a> {
    input: &'a str,
    valid: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    position: Option<usize>,
}

/// How much is forgiven.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Strict,
    Grammar,
    Lenient,
}

impl Args {
    fn mode(&self) -> Mode {
        match (self.lenient, self.grammar) {
            (true, _) => Mode::Lenient,
            (_, true) => Mode::Grammar,
            _ => Mode::Strict,
        }
    }
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<(), Failure> {
    let format = args.as_format.as_deref().map(format_named);
    let options = match format {
        Some(format) => args.options.of(format)?,
        None => args.options.all()?,
    };
    let mut all_valid = true;
    args.column.for_each(&args.ids, out, |id, place, out| {
        let verdict = match (id, format) {
            (Err(why), _) => verdict("", None, Some((why.to_string(), None))),
            (Ok(id), Some(format)) => as_format(id, format, &options, args.mode()),
            (Ok(id), None) => as_any(id, args.mode()),
        };
        all_valid &= verdict.valid;
        if out.json {
            out.json_line(&verdict)
        } else {
            say(&verdict, place, out)
        }
    })?;
    if all_valid {
        return Ok(());
    }
    out.flush()?;
    Err(Failure::Negative)
}

/// One line; an argument that is not valid also gets a mark under the character.
fn say(verdict: &Verdict<'_>, place: Origin, out: &mut Out) -> Result<(), Failure> {
    let id = shown(verdict.input);
    let format = verdict.format.unwrap_or("-");
    let Some(reason) = &verdict.reason else {
        return out.line(format!("valid    {format:<9}  {id}"));
    };
    out.line(format!("invalid  {format:<9}  {id}  {reason}"))?;
    match verdict.position {
        Some(at) if !place.is_line() && verdict.input.is_ascii() && at < verdict.input.len() => {
            out.line(format!("{:at$}^", "", at = "invalid  ".len() + 11 + at))
        }
        _ => Ok(()),
    }
}

fn as_format<'a>(id: &'a str, format: &'static Format, options: &GenOptions, mode: Mode) -> Verdict<'a> {
    let read = if mode == Mode::Lenient {
        format.parse_lenient(id.trim().as_bytes(), options)
    } else {
        format.parse(id.as_bytes(), options)
    };
    // As a tool prints it: what is inside counts, and is as exact as it is.
    if read.is_err()
        && let Some(found) = unwrapped(id)
        && format.parse(found.text.as_bytes(), options).is_ok()
    {
        let inside = as_format(&found.text, format, options, mode);
        return verdict(id, inside.format, inside.reason.map(|reason| (reason, None)));
    }
    let error = match read {
        Ok(read) if mode == Mode::Strict && format.family == Family::Uuid(None) => {
            read.uuid().and_then(|uuid| unassigned(&uuid))
        }
        Ok(_) => None,
        Err(error) => Some((why_not(id, &error), error.position())),
    };
    verdict(id, Some(format.name), error)
}

fn verdict<'a>(
    input: &'a str,
    format: Option<&'static str>,
    error: Option<(String, Option<usize>)>,
) -> Verdict<'a> {
    let (reason, position) = error.map_or((None, None), |(reason, at)| (Some(reason), at));
    Verdict {
        input,
        valid: reason.is_none(),
        format,
        reason,
        position,
    }
}

/// Why a UUID is of no version that RFC 9562 assigns.
fn unassigned(id: &mintage::Uuid) -> Option<(String, Option<usize>)> {
    if id.is_nil() || id.is_max() {
        return None;
    }
    let octets = id.as_bytes();
    if octets[8] >> 6 != 0b10 {
        return Some(("not the variant of RFC 9562, at 19".into(), Some(19)));
    }
    let version = octets[6] >> 4;
    (!(1..=8).contains(&version)).then(|| (format!("version {version} is not assigned, at 14"), Some(14)))
}

/// By the likeliest format.
fn as_any(id: &str, mode: Mode) -> Verdict<'_> {
    // Ids that nothing here makes have no rules that could be checked.
    let readings = inspect(id, SystemClock.now());
    // Where such an id is the likeliest, another format that fits it a little less says nothing.
    let likely = |reading: &&Reading| {
        reading.confidence >= CONFIDENCE_LEAST && mintage::format(reading.format).is_some()
    };
    let Some(reading) = readings.first().filter(likely) else {
        return verdict(id, None, Some((instead(id, &readings), None)));
    };
    // What a tool has done to it stays done, though it can be read.
    if let Some(damage) = damage(id).filter(|_| mode != Mode::Lenient) {
        return verdict(
            id,
            Some(reading.format),
            Some((format!("damaged: {}", damage.words), None)),
        );
    }
    if let Some(found) = unwrapped(id).filter(|_| reading.format != "uuid" || !is_a_uuid(id)) {
        let inside = as_any(&found.text, mode);
        let error = inside.reason.map(|reason| (reason, None));
        return verdict(id, inside.format, error);
    }
    if mode == Mode::Lenient {
        return verdict(id, Some(reading.format), None);
    }
    verdict(id, Some(reading.format), not_strict(id, reading, mode))
}

/// The reader's error, and before it what a tool has done to the text if it shows.
fn why_not(id: &str, error: &TextError) -> String {
    match damage(id) {
        Some(damage) => format!("damaged: {}; {error}", damage.words),
        None => error.to_string(),
    }
}

/// Whether it is a UUID whose own punctuation is what stands around it.
fn is_a_uuid(id: &str) -> bool {
    mintage::parse_uuid_lenient(id).is_ok()
}

/// What it is that is no id of a known format: one that nothing here makes, or nothing that is known.
fn instead(id: &str, readings: &[Reading]) -> String {
    match readings
        .first()
        .filter(|reading| reading.confidence >= CONFIDENCE_LEAST)
    {
        Some(other) => format!("not an id of a format that can be checked, but {}", other.format),
        None => fault(id),
    }
}

/// Why a text is not exactly the one that its likeliest format writes.
fn not_strict(text: &str, reading: &Reading, mode: Mode) -> Option<(String, Option<usize>)> {
    let told = |error: TextError| (error.to_string(), error.position());
    if let Some(uuid) = reading.id.uuid().filter(|_| reading.format == "uuid") {
        let form = reading
            .form
            .and_then(UuidText::from_name)
            .unwrap_or(UuidText::Hyphenated);
        return match form.read(text.as_bytes()) {
            Ok(_) if mode == Mode::Grammar => None,
            Ok(_) => unassigned(&uuid),
            Err(error) => Some(told(error)),
        };
    }
    if reading.form.is_some() || reading.preset.is_some() {
        return (text.trim() != text).then(|| ("white space around the id".into(), Some(0)));
    }
    let format = mintage::format(reading.format)?;
    format
        .parse(text.as_bytes(), &GenOptions::default())
        .err()
        .map(told)
}
