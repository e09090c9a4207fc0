//! `mint audit`: is a pile of ids sound?

mod report;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mintage::{Clock, Layout, SystemClock, Timestamp};
use mintage_bulk::{
    AuditOptions, Fault, Limits, Made, ReadAs, RowFormat, Source, UnreadRows, audit, document, html,
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
    /// Files with an id a line, or CSV, TSV, JSON Lines, plain logs; also .gz and .zst; - is standard input
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<String>,
    /// The column of the ids: a name, a JSON path, a group of the pattern
    #[arg(long, value_name = "COLUMN")]
    column: Option<String>,
    /// The format that every id should have; without it each is read as what it looks like
    #[arg(long = "as", value_name = "FORMAT")]
    read_as: Option<String>,
    /// The known layout of Snowflakes, see mint presets; without it, it is guessed
    #[arg(long, value_name = "NAME", conflicts_with = "layout")]
    preset: Option<String>,
    /// A layout of your own, see mint snowflake --help
    #[arg(long, value_name = "LAYOUT", value_parser = parse_layout)]
    layout: Option<Layout>,
    /// Over how many shards ids should spread, by id % N, by ranges of their leading octets and by a hash
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(2..=65_536))]
    shards: u32,
    /// The present time; ids after it are in the future
    #[arg(long, value_name = "TIME", value_parser = crate::time::parse)]
    now: Option<Timestamp>,
    /// How far after the present an id may lie
    #[arg(long, value_name = "DURATION", default_value = "1m", value_parser = parse_duration)]
    tolerance: Duration,
    /// What makes the audit fail: repeats, none, unreadable, damaged, future, mixed, order, steps, shared, gaps,
    /// shards, ranges, hot, hash; one that cannot be told of these ids is an error [default:
    /// repeats,none,unreadable,damaged,future]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse_fault)]
    fail_on: Vec<Fault>,
    /// What becomes of rows without an id that can be read: they make it fail, pass, or pass up to N in a hundred rows
    #[arg(long, value_name = "fail|keep|N%", default_value = "fail", value_parser = parse_unparsable)]
    unparsable: UnreadRows,
    /// Show how evenly stores would share out the ids: by remainder, ranges and hash
    #[arg(long)]
    spread: bool,
    /// Also write a report with plots
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// How much memory sorting may use; what does not fit goes to temporary files
    #[arg(long, value_name = "SIZE", default_value = "768MiB", value_parser = parse_size)]
    memory: usize,
    /// Where temporary files go
    #[arg(long, value_name = "FOLDER")]
    temp: Option<PathBuf>,
    #[command(flatten)]
    rows: RowArgs,
}

const HELP: &str = "\
Examples:

  mint audit ids.txt
  mint audit orders.csv --column id --html report.html
  mint audit node1.log.gz node2.log.gz --pattern '^(?<id>[0-9a-f-]{36})' --as uuid7
  mint audit invoices.tsv --column number --as sequence --fail-on repeats,gaps
  mint audit rowkeys.txt --shards 64 --fail-on ranges,hot

A cell that is empty, or says NULL, nil, None, \\N or n/a, is no id and counted apart; what else is none that \
can be read, with \
its lines. Order says how many rows would have to \
move. Shards, ranges and hash (--spread) say how stores would share out the ids that share out rows so; hot \
is when ids that follow each other go to one range. -v adds the date, the version and the hashes of the files, \
as --json and --html do.

Exit code 0: sound. 1: it found what --fail-on lists. Any number of ids; several files are checked against each other.";

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<(), Failure> {
    let options = args.options()?;
    let started = Instant::now();
    let mut bar = Bar::new(out);
    let found = audit(&options, &mut |progress| bar.show(progress));
    bar.done();
    let found = found.map_err(failed)?;
    if let Some(path) = &args.html {
        write_page(path, &html(&found))?;
    }
    if out.json {
        out.json_line(&document(&found))?;
    } else {
        report::text(&found, args.shows_spread(), out)?;
        let seconds = started.elapsed().as_secs_f64().max(0.001);
        let rate = crate::rows::thousands((found.ids as f64 / seconds) as u64);
        out.detail(|| {
            format!(
                "{seconds:.1} s, {rate} ids/s, {} MiB in temporary files",
                found.spilled_bytes >> 20
            )
        });
    }
    match found.verdict.sound {
        true => Ok(()),
        false => {
            out.flush()?;
            Err(Failure::Negative)
        }
    }
}

impl Args {
    /// Whether the statistics of spread are asked for, or what depends on them.
    fn shows_spread(&self) -> bool {
        let of_spread = [Fault::Shards, Fault::Ranges, Fault::Hot, Fault::Hash];
        self.spread || self.fail_on.iter().any(|fault| of_spread.contains(fault))
    }

    fn options(&self) -> Result<AuditOptions, Failure> {
        let inputs = self.inputs.iter().map(|text| {
            let source = Source::from_arg(text);
            let format = match (self.rows.of(&source)?, &self.column) {
                (Some(format), _) => format,
                (None, None) => RowFormat::Lines,
                (None, Some(_)) => {
                    return Err(Failure::usage(format_args!(
                        "{} does not say how its rows are written",
                        source.name()
                    ))
                    .with_hint("--input-format csv, tsv or jsonl; --pattern for a plain log"));
                }
            };
            Ok((source, format))
        });
        let inputs: Vec<(Source, RowFormat)> = inputs.collect::<Result<_, Failure>>()?;
        if inputs
            .iter()
            .filter(|(source, _)| *source == Source::Stdin)
            .count()
            > 1
        {
            return Err(Failure::usage("standard input can be read only once"));
        }
        let layout = match (&self.layout, &self.preset) {
            (Some(layout), _) => Some(layout.clone()),
            (None, Some(preset)) => Some(preset_layout(preset)?),
            (None, None) => None,
        };
        if let Some(layout) = &layout {
            // Numbers in data are read as of 64 bits, or as UUIDs.
            layout.check_narrow().map_err(Failure::usage)?;
        }
        Ok(AuditOptions {
            inputs,
            column: self.column.clone(),
            read_as: ReadAs {
                format: self.read_as.clone(),
                layout: layout.map(Arc::new),
            },
            shards: self.shards,
            now: self.now.unwrap_or_else(|| SystemClock.now()),
            tolerance: self.tolerance,
            fail_on: match self.fail_on.as_slice() {
                [] => Fault::DEFAULT.to_vec(),
                named => named.to_vec(),
            },
            fail_on_named: !self.fail_on.is_empty(),
            unparsable: self.unparsable,
            limits: Limits::default(),
            memory_bytes: self.memory,
            temp: self.temp.clone().unwrap_or_else(std::env::temp_dir),
            made: Made {
                at_us: i64::try_from(SystemClock.now().unix_nanos() / 1000).unwrap_or(i64::MAX),
                version: env!("CARGO_PKG_VERSION").into(),
                command: command_line(std::env::args().skip(1)),
            },
        })
    }
}

/// The command as a shell takes it.
fn command_line(words: impl Iterator<Item = String>) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%".contains(c);
    words.fold("mint".into(), |line, word| {
        if !word.is_empty() && word.chars().all(plain) {
            return format!("{line} {word}");
        }
        format!("{line} '{}'", word.replace('\'', "'\\''"))
    })
}

/// Writes a page beside its place and renames it.
fn write_page(path: &std::path::Path, page: &str) -> Result<(), Failure> {
    let beside = path.with_added_extension("mint-part");
    let written = std::fs::write(&beside, page).and_then(|()| std::fs::rename(&beside, path));
    written.map_err(|e| {
        // What is half there helps nobody.
        let _ = std::fs::remove_file(&beside);
        Failure::cannot(format_args!("cannot write {}: {e}", path.display()))
    })
}

fn parse_unparsable(text: &str) -> Result<UnreadRows, String> {
    let percent = |text: &str| {
        text.strip_suffix('%')?
            .parse()
            .ok()
            .filter(|percent| (0.0..=100.0).contains(percent))
    };
    match text {
        "fail" => Ok(UnreadRows::Fail),
        "keep" => Ok(UnreadRows::Keep),
        _ => percent(text)
            .map(UnreadRows::Percent)
            .ok_or_else(|| "fail, keep, or a share such as 2%".into()),
    }
}

fn parse_fault(text: &str) -> Result<Fault, String> {
    let found = Fault::ALL.iter().find(|(name, _)| *name == text);
    found.map(|(_, fault)| *fault).ok_or_else(|| {
        let names: Vec<&str> = Fault::ALL.iter().map(|(name, _)| *name).collect();
        format!("there are: {}", names.join(", "))
    })
}
