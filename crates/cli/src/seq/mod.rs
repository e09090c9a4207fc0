//! `mint seq`: sequences of a running server, or of a store that no server has open.

mod sequences;

use clap::{Subcommand, ValueEnum};
use mintage::SequenceOptions;
use mintage_ledger::{Gap, Name, RestartAt, SequencePatch};
use serde_json::{Value, json};

use crate::backend::Backend;
use crate::errors::Failure;
use crate::forecast;
use crate::local::Absent;
use crate::out::Out;
use crate::tls::TlsFiles;
use sequences::Sequences;

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: SeqCommand,
    /// The server to ask [default: MINT_SERVER, else http://127.0.0.1:7600]; its token is read from MINT_TOKEN
    #[arg(long, value_name = "URL", global = true)]
    server: Option<String>,
    /// Use this store instead, which no server may have open
    #[arg(long, value_name = "URL", global = true, conflicts_with = "server")]
    store: Option<String>,
    #[command(flatten)]
    tls: TlsFiles,
}

#[derive(Subcommand, Debug)]
enum SeqCommand {
    /// Create a sequence; creating it again with the same definition changes nothing
    Create {
        /// The sequence
        name: String,
        #[command(flatten)]
        definition: Definition,
    },
    /// Change a definition
    Alter {
        /// The sequence
        name: String,
        #[command(flatten)]
        definition: Definition,
        /// Go on at the start, or at N, within the new definition
        #[arg(long, value_name = "N", num_args = 0..=1, allow_negative_numbers = true)]
        restart: Option<Option<i64>>,
        /// Go on although numbers may repeat
        #[arg(long)]
        allow_repeat: bool,
    },
    /// Remove a sequence; the same name created again continues above its numbers
    Drop {
        /// The sequence
        name: String,
    },
    /// List all sequences
    List,
    /// Show a definition and where it stands
    Show {
        /// The sequence
        name: String,
    },
    /// Take the next numbers
    Next {
        /// The sequence
        name: String,
        /// How many
        #[arg(short = 'n', long = "count", value_name = "N", default_value_t = 1, value_parser = crate::count::parse)]
        count: u64,
        /// As one contiguous run, printed as first, last, increment
        #[arg(long)]
        range: bool,
    },
    /// Move forward: VALUE was the last number, the next one follows it
    Set {
        /// The sequence
        name: String,
        /// The number
        #[arg(allow_negative_numbers = true)]
        value: i64,
        /// VALUE itself is the next number
        #[arg(long)]
        not_called: bool,
    },
    /// Begin again at the start, or at another number
    Restart {
        /// The sequence
        name: String,
        /// The next number, instead of the definition's start
        #[arg(long, value_name = "N", allow_negative_numbers = true)]
        with: Option<i64>,
        /// Go back although numbers given out before then repeat
        #[arg(long)]
        allow_repeat: bool,
    },
}

/// What a sequence is; what is left out takes its default, or stays.
#[derive(clap::Args, Debug)]
struct Definition {
    /// First number
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    start: Option<i64>,
    /// Step from one number to the next; negative counts down
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    increment: Option<i64>,
    /// Smallest number
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    min: Option<i64>,
    /// Largest number
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    max: Option<i64>,
    /// Begin again at the other end instead of ending: repeats by definition
    #[arg(long, overrides_with = "no_cycle")]
    cycle: bool,
    /// End at the last number
    #[arg(long)]
    no_cycle: bool,
    /// bounded: a crash may lose up to --max-gap numbers; none: no number is lost, each waits for the disk
    #[arg(long)]
    gap: Option<GapArg>,
    /// Numbers that one crash may lose
    #[arg(long, value_name = "N", visible_alias = "cache", value_parser = clap::value_parser!(u64).range(1..))]
    max_gap: Option<u64>,
}

/// Whether numbers may be lost, as people write it.
#[derive(ValueEnum, Clone, Copy, Debug)]
enum GapArg {
    Bounded,
    None,
}

impl Definition {
    fn patch(&self, allow_repeat: bool) -> SequencePatch {
        SequencePatch {
            options: SequenceOptions {
                start: self.start,
                increment: self.increment,
                min: self.min,
                max: self.max,
                cycle: (self.cycle || self.no_cycle).then_some(self.cycle),
            },
            gap: self.gap.map(|gap| match gap {
                GapArg::Bounded => Gap::Bounded,
                GapArg::None => Gap::None,
            }),
            max_gap: self.max_gap,
            allow_repeat,
            restart: None,
        }
    }
}

/// Numbers asked for at once: what a server allows unless configured otherwise.
const REQUEST_MAX: u64 = 10_000;

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<(), Failure> {
    let checked = |name: &str| Name::new(name).map_err(Failure::usage);
    // What only looks, and what changes something that is there, makes no store.
    let absent = match &args.command {
        SeqCommand::Create { .. } | SeqCommand::Next { .. } => Absent::Make,
        _ => Absent::Refuse,
    };
    let sequences = Sequences(Backend::open(
        args.server.as_deref(),
        &args.tls,
        args.store.as_deref(),
        absent,
    )?);
    let done = match &args.command {
        SeqCommand::Create { name, definition } => {
            show(&sequences.create(&checked(name)?, &definition.patch(false))?, out)
        }
        SeqCommand::Alter {
            name,
            definition,
            restart,
            allow_repeat,
        } => {
            let patch = SequencePatch {
                restart: restart.map(|at| at.map_or(RestartAt::Start, RestartAt::With)),
                ..definition.patch(*allow_repeat)
            };
            show(&sequences.alter(&checked(name)?, &patch)?, out)
        }
        SeqCommand::Drop { name } => {
            sequences.drop_sequence(&checked(name)?)?;
            if out.json {
                out.json_line(&json!({"dropped": name}))
            } else {
                Ok(())
            }
        }
        SeqCommand::List => list(&sequences.list()?, out),
        SeqCommand::Show { name } => show(&sequences.show(&checked(name)?)?, out),
        SeqCommand::Next {
            name,
            count,
            range: true,
        } => range(&sequences.range(&checked(name)?, *count)?, out),
        SeqCommand::Next {
            name,
            count,
            range: false,
        } => next(&sequences, &checked(name)?, *count, out),
        SeqCommand::Set {
            name,
            value,
            not_called,
        } => show(
            &sequences.restart(&checked(name)?, Some(*value), !not_called, false)?,
            out,
        ),
        SeqCommand::Restart {
            name,
            with,
            allow_repeat,
        } => show(
            &sequences.restart(&checked(name)?, *with, false, *allow_repeat)?,
            out,
        ),
    };
    // What was printed stands even if closing fails; the failure is still one.
    let closed = sequences.0.close();
    done.and(closed)
}

fn next(sequences: &Sequences, name: &Name, count: u64, out: &mut Out) -> Result<(), Failure> {
    let mut left = count;
    while left > 0 {
        let ids = sequences.next(name, left.min(REQUEST_MAX))?;
        left = left.saturating_sub(ids.len() as u64);
        if ids.is_empty() {
            return Err(Failure::cannot(format_args!("no numbers came back for {name}")));
        }
        for id in ids {
            if out.json {
                out.json_line(&json!({"id": id}))?
            } else {
                out.line(id)?
            }
        }
    }
    Ok(())
}

fn range(run: &Value, out: &mut Out) -> Result<(), Failure> {
    if out.json {
        return out.json_line(run);
    }
    let text = |field: &str| run[field].as_str().unwrap_or_default().to_string();
    out.line(format!(
        "{} {} {}",
        text("first"),
        text("last"),
        text("increment")
    ))
}

fn list(sequences: &[Value], out: &mut Out) -> Result<(), Failure> {
    if out.json {
        return sequences.iter().try_for_each(|sequence| out.json_line(sequence));
    }
    const COLUMNS: [&str; 4] = ["name", "last", "increment", "gap"];
    let rows: Vec<[String; 4]> = std::iter::once(COLUMNS.map(String::from))
        .chain(sequences.iter().map(|s| COLUMNS.map(|column| plain(&s[column]))))
        .collect();
    let width = |at: usize| rows.iter().map(|row| row[at].len()).max().unwrap_or(0);
    let widths = [width(0), width(1), width(2)];
    for [name, last, increment, gap] in &rows {
        let [a, b, c] = widths;
        out.line(format!("{name:a$}  {last:>b$}  {increment:>c$}  {gap}"))?;
    }
    Ok(())
}

fn show(sequence: &Value, out: &mut Out) -> Result<(), Failure> {
    if out.json {
        return out.json_line(sequence);
    }
    let Some(fields) = sequence.as_object() else {
        return Ok(());
    };
    // The definition first, in the order of SQL; then whatever else there is.
    const FIRST: [&str; 9] = [
        "name",
        "start",
        "increment",
        "min",
        "max",
        "cycle",
        "gap",
        "max_gap",
        "last",
    ];
    let known = FIRST.into_iter().filter(|field| fields.contains_key(*field));
    let others = fields
        .keys()
        .map(String::as_str)
        .filter(|field| !FIRST.contains(field) && *field != "forecast");
    let order: Vec<&str> = known.chain(others).collect();
    let width = order.iter().map(|field| field.len()).max().unwrap_or(0);
    for field in order {
        out.line(format!("{field:width$}  {}", plain(&fields[field])))?;
    }
    for line in forecast::lines(sequence) {
        out.line(format!("{:width$}  {line}", "forecast"))?;
    }
    Ok(())
}

/// A JSON value as a person writes it.
fn plain(value: &Value) -> String {
    match value {
        Value::Null => "-".into(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
