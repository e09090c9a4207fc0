//! `backfill`: ids for rows that have a time but none.
//!
//! Rows in the order of their times, as logs have them, are streamed: read, given an id, written. The first row that is
//! earlier than the one before it ends that: then all times are read and sorted outside memory, ids are given in that
//! order, and a second reading writes the rows in the order of the file. Both ways give the same ids; see
//! [`scheme`] for which.

mod dry;
mod emit;
mod facts;
mod nodes;
mod options;
mod output;
mod placer;
mod scheme;
mod sorted;
mod stream;

use std::fs::File;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

pub use dry::{DryRun, Trouble, TroubleKind};
pub use emit::IdPlace;
pub use options::{BackfillOptions, Filled, Target, Unparsable};
pub use scheme::{BackfillFormat, SchemeOptions};

use crate::error::Error;
use crate::hint::Hint;
use crate::input::{Compression, Identity, Meter, Source, kept};
use crate::progress::Watch;
use crate::rows::{Position, RowFormat, Rows};
use crate::time::TimeReader;
use emit::Emitter;
use facts::{Columns, Interpreter, taken};
use nodes::Nodes;
use options::wide;
use output::{Checkpoint, Output, Paths};
use scheme::Scheme;
use stream::Streamed;

/// From where an interrupted run goes on.
#[derive(Clone, Serialize, Deserialize, Debug)]
struct Saved {
    /// What was asked for, so that another wish is not mixed in.
    wish: String,
    input: Identity,
    seed: Vec<u8>,
    position: Position,
    output_bytes: u64,
    filled: Filled,
    /// Rows seen so far that have an id, for the ids that were sorted.
    members: u64,
    how: How,
}

/// Which of the two ways.
#[derive(Clone, Serialize, Deserialize, Debug)]
enum How {
    Streaming {
        /// The last cell that was written.
        #[serde(with = "wide")]
        cell: Option<i128>,
    },
    Sorted {
        /// How many rows have their ids in one file of the work folder.
        bucket_rows: u64,
    },
}

impl Checkpoint for Saved {
    fn set_output_bytes(&mut self, bytes: u64) {
        self.output_bytes = bytes;
    }
}

/// What both ways share.
struct BackfillRun<'a> {
    options: &'a BackfillOptions,
    scheme: Scheme,
    rows: Rows,
    reader: Interpreter,
    emitter: Emitter,
    meter: Meter,
    total: Option<u64>,
    filled: Filled,
    wish: String,
    identity: Option<Identity>,
}

/// Gives every row of a file an id that carries its time.
///
/// # Errors
/// The options do not fit the input, a row cannot be used, a time has more rows than ids, or the machine cannot do it.
/// The output is then as it was before.
///
/// ```
/// use mintage_bulk::{BackfillFormat, BackfillOptions, Dialect, RowFormat, Source, Target, backfill};
/// let folder = tempfile::tempdir()?;
/// let (log, filled) = (folder.path().join("log.csv"), folder.path().join("filled.csv"));
/// std::fs::write(&log, "time,what\n2022-02-22T19:22:22Z,start\n2022-02-22T19:22:22Z,stop\n")?;
/// let rows = RowFormat::Fields(Dialect::CSV);
/// let output = Target::File(filled.clone());
/// let options = BackfillOptions::new(Source::File(log), output, rows, "time", BackfillFormat::Uuid7);
/// assert_eq!(backfill(&options, &mut |_| {})?.rows, 2);
/// let text = std::fs::read_to_string(filled)?;
/// let ids: Vec<&str> = text.lines().skip(1).map(|line| &line[..36]).collect();
/// assert!(ids[0].starts_with("017f22e2-79b0-7000-") && ids[0] < ids[1]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn backfill(options: &BackfillOptions, watch: Watch<'_>) -> Result<Filled, Error> {
    let spool = (options.input.flows() && !options.in_order)
        .then(|| kept(&options.input, &temp_of(options), Hint::TempFolderOrSorted))
        .transpose()?;
    let mut spooled = options.clone();
    if let Some(spool) = &spool {
        spooled.input = Source::Kept(spool.path().to_path_buf(), options.input.name());
    }
    BackfillRun::fill(&spooled, spool.is_none(), watch)
}

/// Reads the input as a back-fill would and lists what it would stumble over; writes nothing.
///
/// # Errors
/// The options do not fit the input, or it cannot be read.
pub fn dry_run(options: &BackfillOptions, watch: Watch<'_>) -> Result<DryRun, Error> {
    let run = BackfillRun::open(options, None)?;
    dry::run(run, watch)
}

impl<'a> BackfillRun<'a> {
    fn fill(options: &'a BackfillOptions, resumable: bool, watch: Watch<'_>) -> Result<Filled, Error> {
        let Target::File(output) = &options.output else {
            let stdout = stdout_file().map_err(|e| Error::io("cannot write the output", &e))?;
            let mut run = BackfillRun::open(options, None)?;
            let mut out = Output::to_stdout(stdout)?;
            return match stream::run(&mut run, &mut out, None, watch)? {
                Streamed::Done => run.done(out),
                Streamed::OutOfOrder { .. } => Err(Error::usage(
                    "the rows are not in order, and standard output cannot be taken back",
                )
                .with_hint(Hint::OutputFile)),
            };
        };
        let paths = Paths::of(output);
        if output.exists() && !options.force {
            return Err(Error::usage(format_args!("{} exists", output.display())).with_hint(Hint::Replace));
        }
        let part = paths.lock()?;
        let saved: Option<Saved> = if options.restart { None } else { paths.load() };
        let mut run = BackfillRun::open(options, saved.as_ref().map(|saved| saved.seed.clone()))
            .inspect_err(|_| {
                if saved.is_none() {
                    paths.abandon()
                }
            })?;
        let saved = match saved {
            Some(saved) if saved.wish == run.wish && Some(&saved.input) == run.identity.as_ref() => {
                Some(saved)
            }
            Some(_) => {
                return Err(Error::usage(format_args!(
                    "an earlier run to {} was interrupted, and it had another input or other options",
                    output.display()
                ))
                .with_hint(Hint::Restart));
            }
            None => None,
        };
        if saved.is_none() {
            paths.clear();
        }
        let result = run.write_file(part, &paths, saved, resumable, watch);
        match &result {
            // What is wrong in the input does not go away by going on.
            Err(error) if error.kind != crate::Kind::Io => paths.abandon(),
            Err(_) if !resumable => paths.abandon(),
            _ => {}
        }
        result
    }

    /// Writes the output from where an earlier run left it, or from its beginning, in the way that it was in.
    fn write_file(
        &mut self,
        part: File,
        paths: &Paths,
        saved: Option<Saved>,
        resumable: bool,
        watch: Watch<'_>,
    ) -> Result<Filled, Error> {
        let compression = Compression::of_name(&paths.output);
        let every = match resumable {
            true => self.options.checkpoint_every,
            false => Duration::MAX,
        };
        if let Some(saved) = &saved {
            self.go_on(saved)?;
        }
        let open = |part, from| Output::to_file(part, from, paths.clone(), compression, every);
        let from = saved.as_ref().map_or(0, |saved| saved.output_bytes);
        if let Some(Saved {
            how: How::Sorted { bucket_rows },
            members,
            ..
        }) = saved
        {
            return self.write_sorted(open(part, from)?, paths, bucket_rows, members, watch);
        }
        let keep = part
            .try_clone()
            .map_err(|e| Error::file("write", &paths.part, &e))?;
        let mut out = open(part, from)?;
        let Streamed::OutOfOrder { line } = stream::run(self, &mut out, saved.as_ref(), watch)? else {
            return self.done(out);
        };
        if self.options.in_order {
            return Err(self.disorder(line));
        }
        out.stop()?;
        paths.clear();
        self.again()?;
        self.filled.out_of_order = line;
        let bucket_rows = sorted::assign(self, paths, watch)?;
        self.write_sorted(open(keep, 0)?, paths, bucket_rows, 0, watch)
    }

    /// Takes up what an interrupted run had done.
    fn go_on(&mut self, saved: &Saved) -> Result<(), Error> {
        self.filled = saved.filled.clone();
        self.filled.resumed_after = Some(saved.filled.rows + saved.filled.kept);
        self.reader.times.seen = saved.filled.zones.clone();
        self.meter = Meter::default();
        self.rows
            .go_on_at(&self.options.input, saved.position, &self.meter)
    }

    fn write_sorted(
        &mut self,
        mut out: Output<Saved>,
        paths: &Paths,
        bucket_rows: u64,
        members: u64,
        watch: Watch<'_>,
    ) -> Result<Filled, Error> {
        sorted::write(self, &mut out, paths, bucket_rows, members, watch)?;
        self.done(out)
    }

    fn done(&mut self, out: Output<Saved>) -> Result<Filled, Error> {
        self.unchanged()?;
        self.filled.output_bytes = out.finish()?;
        Ok(self.filled.clone())
    }

    fn open(options: &'a BackfillOptions, seed: Option<Vec<u8>>) -> Result<BackfillRun<'a>, Error> {
        if options.column_name.is_empty() {
            return Err(Error::usage("the new column needs a name"));
        }
        let json = options.rows == RowFormat::JsonLines;
        let columns = Columns::new(
            &options.time,
            options.node_column.as_deref(),
            &options.keys,
            json.then_some(&*options.column_name),
        );
        let meter = Meter::default();
        let rows = Rows::open(&options.input, &options.rows, &columns.wanted, &meter)?;
        if let Some(header) = rows.header()
            && header.names.contains(&options.column_name)
        {
            return Err(taken(rows.name(), 1, &options.column_name));
        }
        let seed = seed.unwrap_or_else(|| match (&options.seed, options.keys.is_empty()) {
            (Some(seed), _) => Sha256::digest(seed).to_vec(),
            (None, true) => rows.beginning().to_vec(),
            // The same row is to get the same id whatever file it is in.
            (None, false) => Vec::new(),
        });
        let scheme = Scheme::new(SchemeOptions {
            format: options.format.clone(),
            text: options.text,
            keyed: !options.keys.is_empty(),
            node_column: options.node_column.is_some(),
            node: options.node,
            clock_seq: options.clock_seq,
            spread_ns: options.spread_ns,
            seed,
        })?;
        let (identity, total) = match options.input.path() {
            None => (None, None),
            Some(path) => {
                let of = Identity::of(path).map_err(|e| Error::file("read", path, &e))?;
                let bytes = of.bytes();
                (Some(of), (bytes > 0).then_some(bytes))
            }
        };
        Ok(BackfillRun {
            reader: Interpreter {
                columns,
                times: TimeReader::new(options.times.clone()),
                nodes: Nodes::default(),
            },
            emitter: Emitter::new(&options.rows, options.place, &options.column_name),
            scheme,
            rows,
            meter,
            total,
            filled: Filled::default(),
            wish: wish(options),
            identity,
            options,
        })
    }

    /// Begins to read once more.
    fn again(&mut self) -> Result<(), Error> {
        let seed = self.scheme.options().seed.clone();
        *self = BackfillRun::open(self.options, Some(seed))?;
        Ok(())
    }

    /// A file that was written to meanwhile has rows of two states.
    fn unchanged(&self) -> Result<(), Error> {
        let (Some(before), Some(path)) = (&self.identity, self.options.input.path()) else {
            return Ok(());
        };
        let now = Identity::of(path).map_err(|e| Error::file("read", path, &e))?;
        if now != *before {
            return Err(
                Error::data(format_args!("{} changed while it was read", path.display()))
                    .with_hint("back-fill a copy, or a log that has been rotated"),
            );
        }
        Ok(())
    }

    fn disorder(&self, line: Option<u64>) -> Error {
        let name = self.options.input.name();
        match line {
            Some(line) => Error::at(&name, line, "this row is earlier than the one before it"),
            None => Error::data(format_args!("{name} has too many rows of one time to hold them")),
        }
        .with_hint(Hint::NotSorted)
    }

    /// What a checkpoint says in addition to its place.
    fn saved(&self, position: Position, members: u64, how: How) -> Option<Saved> {
        let mut filled = self.filled.clone();
        if let How::Streaming { .. } = how {
            filled.zones = self.reader.times.seen.clone();
        }
        Some(Saved {
            wish: self.wish.clone(),
            input: self.identity.clone()?,
            seed: self.scheme.options().seed.clone(),
            position,
            output_bytes: 0,
            filled,
            members,
            how,
        })
    }

    fn temp(&self) -> PathBuf {
        temp_of(self.options)
    }
}

/// A digest of everything that decides on the output.
fn wish(options: &BackfillOptions) -> String {
    let decides = BackfillOptions {
        // These change how, not what.
        force: false,
        restart: false,
        memory_bytes: 0,
        temp: None,
        checkpoint_every: Duration::ZERO,
        ..options.clone()
    };
    let digest = Sha256::digest(format!("{} {decides:?}", env!("CARGO_PKG_VERSION")));
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn temp_of(options: &BackfillOptions) -> PathBuf {
    match (&options.temp, &options.output) {
        (Some(temp), _) => temp.clone(),
        (None, Target::File(output)) => match output.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder.to_path_buf(),
            _ => PathBuf::from("."),
        },
        (None, Target::Stdout) => std::env::temp_dir(),
    }
}

/// Standard output without the line buffer of the standard library.
fn stdout_file() -> std::io::Result<File> {
    #[cfg(unix)]
    {
        use std::os::fd::AsFd;
        Ok(File::from(std::io::stdout().as_fd().try_clone_to_owned()?))
    }
    #[cfg(windows)]
    {
        use std::os::windows::io::AsHandle;
        Ok(File::from(std::io::stdout().as_handle().try_clone_to_owned()?))
    }
}
