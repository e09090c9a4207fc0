//! `mint seq`: sequences of a running server, or of a store that no server has open.

mod sequences;

use clap::{Subcommand, ValueEnum};
use mintage_local::name::Name;
use mintage_wire::{Quoted, Range, RestartAt, Sequence, SequenceDefinition};
use serde_json::json;

use crate::backend::{Backend, REQUEST_MAX};
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
    /// Show a definition and its last number
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
    #[arg(long, value_name = "N", visible_alias = "cache", value_parser = clap::value_parser!(i64).range(1..))]
    max_gap: Option<i64>,
}

/// Whether numbers may be lost, as people write it.
#[derive(ValueEnum, Clone, Copy, Debug)]
enum GapArg {
    Bounded,
    None,
}

impl Definition {
    fn document(&self) -> SequenceDefinition {
        SequenceDefinition {
            start: self.start.map(Quoted),
            increment: self.increment.map(Quoted),
            min: self.min.map(Quoted),
            max: self.max.map(Quoted),
            cycle: (self.cycle || self.no_cycle).then_some(self.cycle),
            gap: self.gap.map(|gap| match gap {
                GapArg::Bounded => "bounded".into(),
                GapArg::None => "none".into(),
            }),
            max_gap: self.max_gap.map(Quoted),
            ..SequenceDefinition::default()
        }
    }
}

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
            show(&sequences.create(&checked(name)?, &definition.document())?, out)
        }
        SeqCommand::Alter {
            name,
            definition,
            restart,
            allow_repeat,
        } => {
            let patch = SequenceDefinition {
                restart: restart.map(|at| at.map_or(RestartAt::Start(true), RestartAt::At)),
                allow_repeat: allow_repeat.then_some(true),
                ..definition.document()
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
    sequences.0.close_after(done)
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

fn range(run: &Range, out: &mut Out) -> Result<(), Failure> {
    if out.json {
        return out.json_line(run);
    }
    out.line(format!("{} {} {}", run.first, run.last, run.increment))
}

fn list(sequences: &[Sequence], out: &mut Out) -> Result<(), Failure> {
    if out.json {
        return sequences.iter().try_for_each(|sequence| out.json_line(sequence));
    }
    let row = |sequence: &Sequence| {
        let last = sequence.last.map_or("-".into(), |last| last.to_string());
        let increment = sequence.increment.to_string();
        [sequence.name.clone(), last, increment, sequence.gap.clone()]
    };
    let rows: Vec<[String; 4]> = std::iter::once(["name", "last", "increment", "gap"].map(String::from))
        .chain(sequences.iter().map(row))
        .collect();
    let width = |at: usize| rows.iter().map(|row| row[at].len()).max().unwrap_or(0);
    let widths = [width(0), width(1), width(2)];
    for [name, last, increment, gap] in &rows {
        let [a, b, c] = widths;
        out.line(format!("{name:a$}  {last:>b$}  {increment:>c$}  {gap}"))?;
    }
    Ok(())
}

fn show(sequence: &Sequence, out: &mut Out) -> Result<(), Failure> {
    if out.json {
        return out.json_line(sequence);
    }
    // The definition first, in the order of SQL; then its last number, and whatever else there is.
    let mut fields = vec![
        ("name", sequence.name.clone()),
        ("start", sequence.start.to_string()),
        ("increment", sequence.increment.to_string()),
        ("min", sequence.min.to_string()),
        ("max", sequence.max.to_string()),
        ("cycle", sequence.cycle.to_string()),
        ("gap", sequence.gap.clone()),
        ("max_gap", sequence.max_gap.to_string()),
        ("last", sequence.last.map_or("-".into(), |last| last.to_string())),
        ("order", sequence.order.clone()),
    ];
    if !sequence.pending.is_empty() {
        fields.push(("pending", sequence.pending.join(", ")));
    }
    let lines = sequence.forecast.iter().flat_map(forecast::lines);
    fields.extend(lines.map(|line| ("forecast", line)));
    fields
        .iter()
        .try_for_each(|(field, value)| out.line(format!("{field:9}  {value}")))
}
