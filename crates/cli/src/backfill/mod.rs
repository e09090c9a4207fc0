//! `mint backfill`: ids for rows that have a time but none.

mod report;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mintage::{Layout, Node, UuidText};
use mintage_bulk::{
    BackfillFormat, BackfillOptions, Fold, IdPlace, Source, Target, TimeFormat, TimeRules, Unparsable, Zone,
    backfill, dry_run,
};

use crate::errors::Failure;
use crate::out::Out;
use crate::rows::{Bar, RowArgs, failed, parse_size};
use crate::snowflake::preset_layout;
use crate::snowflake_layout::parse_layout;
use crate::time::parse_duration;

#[derive(clap::Args, Debug)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// CSV, TSV, JSON Lines or a plain log, also .gz and .zst; - is standard input
    #[arg(value_name = "INPUT")]
    input: String,
    /// Where the rows go, with their ids; .gz and .zst compress, - is standard output
    #[arg(short, long, value_name = "FILE", required_unless_present = "dry_run")]
    output: Option<String>,
    /// The column of the time: a name, a JSON path, a group of the pattern
    #[arg(long, value_name = "COLUMN")]
    time: String,
    /// What kind of id
    #[arg(long, value_name = "FORMAT", value_enum)]
    id: Kind,
    /// Ids follow from this column: the same row gets the same id in every run; may be given again
    #[arg(long, value_name = "COLUMN")]
    key: Vec<String>,
    /// Only read, and list the lines that cannot be used
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    rows: RowArgs,
    /// How times are written: auto, unix, unix-ms, unix-us, unix-ns, rfc2822, or %d/%b/%Y as strptime
    #[arg(long, value_name = "FORM", value_parser = TimeFormat::from_name, help_heading = "Times")]
    time_format: Option<TimeFormat>,
    /// Where times without a zone were written: Europe/Berlin, UTC, +02:00
    #[arg(long, value_name = "ZONE", value_parser = Zone::from_name, help_heading = "Times")]
    tz: Option<Zone>,
    /// Which is meant of a local time that came twice
    #[arg(long, value_name = "WHICH", value_enum, help_heading = "Times")]
    fold: Option<FoldArg>,
    /// What to do with lines that cannot be used: stop, or keep them without an id
    #[arg(
        long,
        value_name = "WHAT",
        value_enum,
        default_value = "stop",
        help_heading = "Times"
    )]
    unparsable: UnparsableArg,
    /// A known layout, see mint presets
    #[arg(long, value_name = "NAME", conflicts_with = "layout", help_heading = "Ids")]
    preset: Option<String>,
    /// A layout of your own, see mint snowflake --help
    #[arg(long, value_name = "LAYOUT", value_parser = parse_layout, help_heading = "Ids")]
    layout: Option<Layout>,
    /// The worker of Snowflakes, or several in turn: 3, 0-7
    #[arg(long, value_name = "N|A-B", value_parser = parse_workers, conflicts_with = "node", help_heading = "Ids")]
    worker: Option<(u64, u64)>,
    /// The column of the machine: an address or name for versions 1 and 6, a worker for Snowflakes
    #[arg(long, value_name = "COLUMN", help_heading = "Ids")]
    node: Option<String>,
    /// The node of all rows, versions 1 and 6
    #[arg(long, value_name = "MAC", conflicts_with = "node", help_heading = "Ids")]
    node_id: Option<Node>,
    /// The lowest clock sequence, versions 1 and 6
    #[arg(long, value_name = "N", help_heading = "Ids")]
    clock_seq: Option<u16>,
    /// How long times may be made to last: rows of one time spread over it [1us; a tick of Snowflakes]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, help_heading = "Ids")]
    spread: Option<Duration>,
    /// What tells these ids from those of another file with the same times [the file's first 64 KiB]
    #[arg(long, value_name = "TEXT", help_heading = "Ids")]
    seed: Option<String>,
    /// How UUIDs are written
    #[arg(long, value_name = "FORM", default_value = "hyphenated", value_parser = parse_text, help_heading = "Output")]
    format: UuidText,
    /// The name of the new column
    #[arg(long, value_name = "NAME", default_value = "id", help_heading = "Output")]
    column_name: String,
    /// Put the new column last
    #[arg(long, help_heading = "Output")]
    last: bool,
    /// Replace an output that exists, once the new one is complete
    #[arg(long, help_heading = "Output")]
    force: bool,
    /// Forget what an interrupted run has done
    #[arg(long, help_heading = "Output")]
    restart: bool,
    /// The rows are in the order of their times: one that is not is an error
    #[arg(long, help_heading = "Output")]
    sorted: bool,
    /// How much memory sorting may use
    #[arg(long, value_name = "SIZE", default_value = "512MiB", value_parser = parse_size, help_heading = "Output")]
    memory: usize,
    /// Where temporary files go [beside the output]
    #[arg(long, value_name = "FOLDER", help_heading = "Output")]
    temp: Option<PathBuf>,
    /// How often a checkpoint is saved, from which the same command goes on after an interruption
    #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = parse_duration, help_heading = "Output")]
    checkpoint: Duration,
}

const HELP: &str = "\
Examples:

  mint backfill orders.csv -o orders-with-ids.csv --time created_at --id uuid7 --key order_no
  mint backfill access.log.gz -o access.log.zst --time time --id ulid --pattern clf
  mint backfill events.jsonl -o out.jsonl --time ts --time-format unix-ms --id snowflake --worker 0-3
  mint backfill old.csv --time when --tz Europe/Berlin --id uuid6 --dry-run

Ids carry the row's time, are unique, increase as the times do, and come out the same in every run. The output
appears under its name when it is complete; an interrupted run goes on with the same command.";

/// Formats that rows can get.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Uuid1,
    Uuid6,
    Uuid7,
    Ulid,
    Snowflake,
}

#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum FoldArg {
    Earlier,
    Later,
}

#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum UnparsableArg {
    Stop,
    Keep,
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<(), Failure> {
    let options = args.options()?;
    let mut bar = Bar::new(out);
    let started = Instant::now();
    if args.dry_run {
        let found = dry_run(&options, &mut |progress| bar.show(progress));
        bar.done();
        return report::dry(&found.map_err(failed)?, &options, out);
    }
    let filled = backfill(&options, &mut |progress| bar.show(progress));
    bar.done();
    report::filled(&filled.map_err(failed)?, &options, started.elapsed(), out)
}

impl Args {
    fn options(&self) -> Result<BackfillOptions, Failure> {
        let input = Source::from_arg(&self.input);
        let rows = self.rows.of(&input)?.ok_or_else(|| {
            Failure::usage(format_args!(
                "{} does not say how its rows are written",
                input.name()
            ))
            .with_hint("--input-format csv, tsv or jsonl; --pattern for a plain log")
        })?;
        let time_format = match (&self.time_format, self.rows.times_of_pattern()) {
            (Some(format), _) => format.clone(),
            (None, Some(form)) => TimeFormat::Strptime(form.into()),
            (None, None) => TimeFormat::Auto,
        };
        let output = match self.output.as_deref() {
            None | Some("-") => Target::Stdout,
            Some(path) => Target::File(path.into()),
        };
        Ok(BackfillOptions {
            rows,
            input,
            output,
            time: self.time.clone(),
            times: TimeRules {
                format: time_format,
                zone: self.tz.clone(),
                fold: self.fold.map(|fold| match fold {
                    FoldArg::Earlier => Fold::Earlier,
                    FoldArg::Later => Fold::Later,
                }),
            },
            keys: self.key.clone(),
            node_column: self.node.clone(),
            format: self.kind()?,
            text: self.format,
            node: self.node_id,
            clock_seq: self.clock_seq.unwrap_or(0),
            spread_ns: match self.spread {
                Some(spread) => Some(
                    u64::try_from(spread.as_nanos())
                        .map_err(|_| Failure::usage("--spread is longer than 584 years"))?,
                ),
                None => None,
            },
            seed: self.seed.clone(),
            column_name: self.column_name.clone(),
            place: if self.last { IdPlace::Last } else { IdPlace::First },
            unparsable: match self.unparsable {
                UnparsableArg::Stop => Unparsable::Stop,
                UnparsableArg::Keep => Unparsable::Keep,
            },
            in_order: self.sorted,
            force: self.force,
            restart: self.restart,
            memory_bytes: self.memory,
            temp: self.temp.clone(),
            checkpoint_every: self.checkpoint,
        })
    }

    /// The format, after a check that every option has a meaning for it.
    fn kind(&self) -> Result<BackfillFormat, Failure> {
        use Kind::{Snowflake, Ulid, Uuid1, Uuid6, Uuid7};
        for (option, given, formats) in [
            ("--preset", self.preset.is_some(), &[Snowflake][..]),
            ("--layout", self.layout.is_some(), &[Snowflake]),
            ("--worker", self.worker.is_some(), &[Snowflake]),
            ("--node-id", self.node_id.is_some(), &[Uuid1, Uuid6]),
            ("--clock-seq", self.clock_seq.is_some(), &[Uuid1, Uuid6]),
            (
                "--format",
                self.format != UuidText::Hyphenated,
                &[Uuid1, Uuid6, Uuid7],
            ),
            // Without a key the other formats have no place for a node.
            (
                "--node",
                self.node.is_some() && self.key.is_empty(),
                &[Uuid1, Uuid6, Snowflake],
            ),
        ] {
            if given && !formats.contains(&self.id) {
                let names: Vec<String> = formats
                    .iter()
                    .map(|kind| format!("{kind:?}").to_lowercase())
                    .collect();
                return Err(Failure::usage(format_args!(
                    "{option} does not apply to {}",
                    format!("{:?}", self.id).to_lowercase()
                ))
                .with_hint(format_args!("it is for {}", names.join(", "))));
            }
        }
        Ok(match self.id {
            Uuid1 => BackfillFormat::Uuid1,
            Uuid6 => BackfillFormat::Uuid6,
            Uuid7 => BackfillFormat::Uuid7,
            Ulid => BackfillFormat::Ulid,
            Snowflake => BackfillFormat::Snowflake {
                layout: Arc::new(match (&self.layout, &self.preset) {
                    (Some(layout), _) => layout.clone(),
                    (None, preset) => preset_layout(preset.as_deref().unwrap_or("twitter"))?,
                }),
                workers: self.worker.unwrap_or((0, 0)),
            },
        })
    }
}

/// The text forms of a UUID that a row can hold.
fn parse_text(text: &str) -> Result<UuidText, String> {
    match UuidText::from_name(text) {
        Some(UuidText::Raw) | None => {
            let names = UuidText::ALL.iter().filter(|(_, form)| *form != UuidText::Raw);
            let names: Vec<&str> = names.map(|(name, _)| *name).collect();
            Err(format!("there are: {}", names.join(", ")))
        }
        Some(form) => Ok(form),
    }
}

fn parse_workers(text: &str) -> Result<(u64, u64), String> {
    let number = |text: &str| {
        text.parse::<u64>()
            .map_err(|_| "write a worker, 3, or the first and the last of several, 0-7".to_string())
    };
    match text.split_once('-') {
        Some((first, last)) => Ok((number(first)?, number(last)?)),
        None => number(text).map(|worker| (worker, worker)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_are_one_or_a_range() {
        assert_eq!(parse_workers("3"), Ok((3, 3)));
        assert_eq!(parse_workers("0-7"), Ok((0, 7)));
        assert!(parse_workers("a").is_err() && parse_workers("1-").is_err() && parse_workers("").is_err());
    }
}
