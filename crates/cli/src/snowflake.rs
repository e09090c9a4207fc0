//! `mint snowflake`: ids by time, worker and sequence, of 64 bits or of a layout's.
//!
//! Without a server or a store they are reserved under a lock in the user's state folder, so any number of
//! parallel commands never repeat one.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use mintage::{
    Clock, ClockPolicy, FieldsText, HostError, Layout, MintError, PRESETS, Snowflake, SnowflakeText,
    SystemClock, Timestamp, WIDE_PRESETS, WorkerSource,
};
use mintage_local::name::Name;
use mintage_local::own_files::OwnFiles;
use mintage_local::snowflake::{LocalError, LocalSnowflake, Reservation};
use mintage_local::state_file::{StateFile, user_state_folder};

use crate::backend::Backend;
use crate::errors::Failure;
use crate::local::{Absent, allowed_file_systems};
use crate::out::Out;
use crate::sink::Sink;
use crate::snowflake_layout::{SYNTAX, layout_refused, parse_layout};
use crate::snowflake_width::{WideForm, Width};
use crate::state_hints;
use crate::tls::TlsFiles;
use mintage_wire::shown;

#[derive(clap::Args, Debug)]
#[command(after_help = after_help())]
pub(crate) struct Args {
    /// How many
    #[arg(short = 'n', long = "count", value_name = "N", default_value_t = 1, value_parser = crate::count::parse)]
    count: u64,
    /// How to write them
    #[arg(long, default_value = "dec", value_parser = formats())]
    format: String,
    /// A known layout, see mint presets
    #[arg(long, value_name = "NAME", default_value = "twitter", conflicts_with_all = ["layout", "server", "store", "pool"])]
    preset: String,
    /// A layout of your own, see below
    #[arg(long, value_name = "LAYOUT", value_parser = parse_layout, conflicts_with_all = ["server", "store", "pool"])]
    layout: Option<Layout>,
    /// The worker id: a number, ip16 (low half of the private IPv4 address) or ordinal (number at the end
    /// of the host name); without it the state folder keeps one, drawn at random
    #[arg(long, value_name = "N|ip16|ordinal", value_parser = worker, conflicts_with_all = ["server", "store", "pool"])]
    worker: Option<WorkerSource>,
    /// The datacenter, in a layout with a field of its own for it; --worker is then the worker in there
    #[arg(long, value_name = "N", requires = "worker", conflicts_with_all = ["server", "store", "pool"])]
    datacenter: Option<u64>,
    /// Made at this time; reserves nothing, so it may repeat what its worker made then (needs --worker)
    #[arg(
        long,
        value_name = "TIME",
        value_parser = crate::time::parse,
        conflicts_with_all = ["state", "unguarded", "server", "store", "pool"]
    )]
    at: Option<Timestamp>,
    /// Reserve in this file instead
    #[arg(long, value_name = "FILE", conflicts_with_all = ["server", "store", "pool", "unguarded"])]
    state: Option<PathBuf>,
    /// Reserve nothing: a second process, a restart or a clock set back can repeat ids (needs --worker)
    #[arg(long, requires = "worker", conflicts_with_all = ["server", "store", "pool"])]
    unguarded: bool,
    /// What to do if the clock went back: hold goes on above the ids made, wait(5ms) waits that long at most,
    /// error refuses, bump takes the next value of the layout's rollback field
    #[arg(long, value_name = "POLICY", default_value = "hold", conflicts_with_all = ["at", "server", "store", "pool"])]
    clock_policy: ClockPolicy,
    /// Take them from a server's pool; its token is read from MINT_TOKEN
    #[arg(long, value_name = "URL", conflicts_with = "store")]
    server: Option<String>,
    /// Take them from a pool of this store, which no server may have open
    #[arg(long, value_name = "URL")]
    store: Option<String>,
    /// The pool; alone it means the server of MINT_SERVER
    #[arg(long, value_name = "NAME")]
    pool: Option<String>,
    #[command(flatten)]
    tls: TlsFiles,
}

fn after_help() -> String {
    format!(
        "Without --store, --server or --pool, ids are reserved in a file of the user's state folder: \
         unique across all commands of this user on this machine. Other machines are kept apart only by the \
         worker id.\n\n{SYNTAX}\n\n{}",
        crate::time::FORMS
    )
}

/// `--worker`
fn worker(text: &str) -> Result<WorkerSource, String> {
    text.parse()
        .map_err(|_| "a worker is a number, ip16 or ordinal".to_string())
}

/// The text forms.
fn formats() -> PossibleValuesParser {
    let names = SnowflakeText::ALL.iter().map(|(name, _)| *name);
    PossibleValuesParser::new(names.chain(FieldsText::ALL.iter().map(|(name, _)| *name)))
}

/// Written at once.
const BATCH: usize = 1024;
/// How far ids may run ahead of the clock.
const AHEAD_MAX: Duration = Duration::from_secs(5);
/// How many workers are left behind before the command gives up after all.
const WORKERS_LEFT: u32 = 16;
/// How long to wait for the clock rather than give up: a bit more than may be ahead.
const WAIT_MAX: Duration = Duration::from_secs(10);
/// Ids reserved at once: a quarter of a second of the densest layout.
const RESERVE_MAX: u64 = 1 << 20;

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<(), Failure> {
    let form = SnowflakeText::from_name(&args.format);
    let pool = Name::new(args.pool.as_deref().unwrap_or("default")).map_err(Failure::usage)?;
    if args.server.is_some() || args.store.is_some() || args.pool.is_some() {
        let (server, store) = (args.server.as_deref(), args.store.as_deref());
        let form = form.ok_or_else(|| {
            Failure::usage(format_args!(
                "--format {} writes the fields of a layout that is named",
                args.format
            ))
            .with_hint("it goes with --layout or --preset; a pool's ids have the forms of numbers")
        })?;
        let mut sink = Sink { form, out };
        let backend = Backend::open(server, &args.tls, store, Absent::Make)?;
        let done = backend.snowflakes(&pool, args.count, |ids| sink.put(ids));
        return backend.close_after(done);
    }
    let layout = match &args.layout {
        Some(layout) => layout.clone(),
        None => preset_layout(&args.preset)?,
    };
    match form {
        Some(form) if !layout.is_wide() => local(args, layout, &mut Sink { form, out }),
        _ => {
            let form = WideForm::new(&args.format, &layout);
            local(args, layout, &mut Sink { form, out })
        }
    }
}

/// Ids of a layout, without server or store.
fn local<F: Width>(args: &Args, layout: Layout, sink: &mut Sink<'_, F>) -> Result<(), Failure> {
    let worker = match args.worker {
        Some(source) => Some(resolve(source, args.datacenter, &layout, sink.out)?),
        None => None,
    };
    if let Some(at) = args.at {
        return at_time(layout, worker, at, args.count, sink);
    }
    let left = layout
        .check_at(SystemClock.now())
        .map_err(|e| layout_refused(&e))?;
    if let Some(left) = left {
        let days = left.as_secs() / 86_400;
        let end = shown(layout.end());
        sink.out.note(format!(
            "note: layout {} ends in {days} days, at {end}",
            layout.name()
        ));
    }
    match worker {
        Some(worker) if args.unguarded => unguarded(layout, worker, args.clock_policy, args.count, sink),
        worker => from_state(args, layout, worker, sink),
    }
}

/// The layout of a preset.
pub(crate) fn preset_layout(name: &str) -> Result<Layout, Failure> {
    match mintage::preset(name) {
        Some(preset) => Ok(preset.layout()),
        None => Err(no_such_preset(name)),
    }
}

pub(crate) fn no_such_preset(name: &str) -> Failure {
    let names: Vec<&str> = PRESETS.iter().chain(WIDE_PRESETS).map(|p| p.name).collect();
    Failure::usage(format_args!("there is no preset {name:?}"))
        .with_hint(format_args!("there are: {}", names.join(", ")))
}

/// The worker id, and a word about where it comes from when that keeps nobody apart.
fn resolve(
    source: WorkerSource,
    datacenter: Option<u64>,
    layout: &Layout,
    out: &Out,
) -> Result<u64, Failure> {
    let resolved = || {
        source.resolve(layout, |_| true).map_err(|error| match error {
            HostError::Layout(error) => layout_refused(&error),
            other => Failure::cannot(other).with_hint("mint snowflake --pool NAME leases one from a server"),
        })
    };
    let worker = match (datacenter, source) {
        (None, _) => resolved()?,
        (Some(datacenter), source) => {
            let worker = match source {
                // Whether it fits beside the datacenter is what counts.
                WorkerSource::Number(worker) => worker,
                _ => resolved()?,
            };
            layout
                .worker_in(datacenter, worker)
                .map_err(|e| layout_refused(&e))?
        }
    };
    let (from, shared_with) = match source {
        WorkerSource::Ip16 => (
            "the private IPv4 address",
            "other networks, and the next holder of the address, have it too",
        ),
        WorkerSource::Ordinal => (
            "the host name",
            "another deployment with the same names has it too",
        ),
        _ => return Ok(worker),
    };
    out.note(format!(
        "note: worker {worker} comes from {from}: {shared_with}; a pool leases one that nobody else has: --pool NAME"
    ));
    Ok(worker)
}

/// Ids of a time that was asked for. What one tick cannot hold goes into the next ones.
fn at_time<F: Width>(
    layout: Layout,
    worker: Option<u64>,
    at: Timestamp,
    count: u64,
    sink: &mut Sink<'_, F>,
) -> Result<(), Failure> {
    layout.tick_at(at).map_err(|e| layout_refused(&e))?;
    Snowflake::check_layout(&layout, at).map_err(|e| layout_refused(&e))?;
    let worker = match worker {
        Some(worker) => worker,
        None if layout.workers() == 1 => 0,
        None => {
            return Err(Failure::usage("an id of a given time needs a --worker")
                .with_hint("one that mints nothing else, so that no id is repeated"));
        }
    };
    let generator =
        F::generator(Arc::new(layout), worker, ClockPolicy::Hold).map_err(|e| layout_refused(&e))?;
    let mut batch = [F::Id::default(); BATCH];
    let mut left = count;
    while left > 0 {
        let want = usize::try_from(left).unwrap_or(batch.len()).min(batch.len());
        let got = F::mint_many(&generator, at, &mut batch[..want]).map_err(|_| {
            Failure::usage(format_args!(
                "{count} ids do not fit: from {} on they would reach 5 s past it",
                shown(at)
            ))
        })?;
        sink.put(&batch[..got])?;
        left -= got as u64;
    }
    Ok(())
}

/// Reserved in a state file.
fn from_state<F: Width>(
    args: &Args,
    layout: Layout,
    worker: Option<u64>,
    sink: &mut Sink<'_, F>,
) -> Result<(), Failure> {
    let mut left = args.count;
    let asked = worker;
    let over = |(file, worker): (StateFile, Option<u64>)| {
        let local = LocalSnowflake::new(file, layout.clone(), AHEAD_MAX).clock_policy(args.clock_policy);
        Ok::<_, Failure>((local.map_err(Failure::usage)?, worker))
    };
    let (mut local, mut worker) = over(match &args.state {
        Some(file) => {
            let file = StateFile::new(file).allow_file_systems(allowed_file_systems()?);
            (file, asked)
        }
        None => user_file(&layout, asked, None)?,
    })?;
    let workers = layout.workers();
    let mut left_behind = 0;
    while left > 0 {
        let draw = || random_below(workers);
        match local
            .reserve(worker, draw, SystemClock.now(), left.min(RESERVE_MAX))
            .map_err(refused)?
        {
            Reservation::Done(reserved) => {
                sink.out.detail(|| format!("worker {}", reserved.worker));
                let mut batch = Vec::with_capacity(BATCH);
                let mut ids = local.ids(reserved).map(F::id).peekable();
                while ids.peek().is_some() {
                    batch.clear();
                    batch.extend(ids.by_ref().take(BATCH));
                    sink.put(&batch)?;
                    left -= batch.len() as u64;
                }
            }
            // A wrong clock took a worker of nobody's choosing ahead: another one, until that time has come.
            Reservation::Wait(how_long)
                if how_long > WAIT_MAX && asked.is_none() && left_behind < WORKERS_LEFT =>
            {
                left_behind += 1;
                if args.state.is_none() {
                    (local, worker) = over(user_file(&layout, None, worker)?)?;
                } else if !local.leave_worker(draw, SystemClock.now()).map_err(refused)? {
                    wait(how_long)?;
                }
            }
            Reservation::Wait(how_long) => {
                sink.out.flush()?;
                wait(how_long)?;
            }
        }
    }
    Ok(())
}

/// The state file of a worker in the user's folder: of this one, or of the user's own, which becomes another one than
/// `not`.
fn user_file(
    layout: &Layout,
    worker: Option<u64>,
    not: Option<u64>,
) -> Result<(StateFile, Option<u64>), Failure> {
    let variable = |name| std::env::var_os(name).map(PathBuf::from);
    let folder = user_state_folder(variable("XDG_STATE_HOME").as_deref(), variable("HOME").as_deref());
    let folder = folder.ok_or_else(|| {
        Failure::cannot("there is no state folder: neither XDG_STATE_HOME nor HOME names an absolute path")
            .with_hint("name a file with --state FILE")
    })?;
    let files = OwnFiles::new(&folder, layout, allowed_file_systems()?);
    let own = || files.own_worker(not, || random_below(layout.workers()));
    let worker = worker
        .map_or_else(own, Ok)
        .map_err(|error| refused(error.into()))?;
    let file = files.of(worker).map_err(|error| refused(error.into()))?;
    Ok((file, Some(worker)))
}

/// Nothing is reserved: see the option's help.
fn unguarded<F: Width>(
    layout: Layout,
    worker: u64,
    policy: ClockPolicy,
    mut left: u64,
    sink: &mut Sink<'_, F>,
) -> Result<(), Failure> {
    Snowflake::check_layout(&layout, SystemClock.now()).map_err(|e| layout_refused(&e))?;
    let tick = layout.tick();
    let generator = F::generator(Arc::new(layout), worker, policy).map_err(Failure::usage)?;
    let mut batch = [F::Id::default(); BATCH];
    while left > 0 {
        let want = usize::try_from(left).unwrap_or(batch.len()).min(batch.len());
        match F::mint_many(&generator, SystemClock.now(), &mut batch[..want]) {
            Ok(got) => {
                sink.put(&batch[..got])?;
                left -= got as u64;
            }
            Err(MintError::TooFarAhead { ticks } | MintError::ClockBack { ticks, wait: true }) => {
                sink.out.flush()?;
                wait(tick.saturating_mul(u32::try_from(ticks).unwrap_or(u32::MAX)))?;
            }
            Err(other) => return Err(Failure::cannot(other)),
        }
    }
    Ok(())
}

/// Waits for the clock, unless that would take longer than anybody waits.
fn wait(how_long: Duration) -> Result<(), Failure> {
    if how_long > WAIT_MAX {
        return Err(Failure::cannot(format_args!(
            "the clock is {} s behind the ids already made for this worker",
            how_long.as_secs() + AHEAD_MAX.as_secs()
        ))
        .with_hint("set the clock right, or take another --worker"));
    }
    std::thread::sleep(how_long);
    Ok(())
}

fn random_below(end: u64) -> u64 {
    let mut bytes = [0; 8];
    mintage::fill_random(&mut bytes);
    // The bias is below 2^-32 for any worker field.
    u64::from_be_bytes(bytes) % end
}

fn refused(error: LocalError) -> Failure {
    let failure = match &error {
        LocalError::Layout(layout) => layout_refused(layout),
        LocalError::Other { .. } => Failure::usage(&error),
        LocalError::File(_) | LocalError::ClockBack { .. } => Failure::cannot(&error),
    };
    failure.with_hint_if(state_hints::of_snowflakes(&error))
}
