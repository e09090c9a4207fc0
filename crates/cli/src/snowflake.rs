//! `mint snowflake`: 64-bit ids by time, worker and sequence.
//!
//! Without a server or a store they are reserved under a lock in the user's state folder, so any number of
//! parallel commands never repeat one.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use mintage::{
    Clock, ClockPolicy, HostError, Layout, MintError, PRESETS, Role, Snowflake, SnowflakeText, SystemClock,
    Timestamp, WorkerSource,
};
use mintage_ledger::Name;
use mintage_ledger::local_snowflake::{LocalError, LocalSnowflake, Reservation};
use mintage_ledger::state_file::{StateFile, user_state_folder};

use crate::connect::{Ask, Client, server_url};
use crate::errors::Failure;
use crate::local::{Absent, Local, allowed_file_systems};
use crate::out::Out;
use crate::snowflake_layout::{SYNTAX, layout_refused, parse_layout, state_name};
use crate::tls::TlsFiles;
use mintage_server::render::shown;
use mintage_wire::{Ids, Op};

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
         unique over all commands of this user on this machine. Other machines are kept apart only by the \
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
    PossibleValuesParser::new(SnowflakeText::ALL.iter().map(|(name, _)| *name))
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
/// Ids asked of a server at once: what it allows unless configured otherwise.
const REQUEST_MAX: u64 = 10_000;

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<(), Failure> {
    let form = SnowflakeText::from_name(&args.format).expect("the parser admits only known names");
    let mut sink = Sink { form, out };
    let pool = Name::new(args.pool.as_deref().unwrap_or("default")).map_err(Failure::usage)?;
    if let Some(url) = &args.store {
        return from_store(url, &pool, args.count, &mut sink);
    }
    if args.server.is_some() || args.pool.is_some() {
        let client = Client::new(&server_url(args.server.as_deref()), &args.tls)?;
        return from_server(&client, &pool, args.count, &mut sink);
    }
    let layout = match &args.layout {
        Some(layout) => layout.clone(),
        None => preset_layout(&args.preset)?,
    };
    let worker = match args.worker {
        Some(source) => Some(resolve(source, &layout, sink.out)?),
        None => None,
    };
    if let Some(at) = args.at {
        return at_time(layout, worker, at, args.count, &mut sink);
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
        Some(worker) if args.unguarded => unguarded(layout, worker, args.clock_policy, args.count, &mut sink),
        worker => from_state(args, layout, worker, &mut sink),
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
    let names: Vec<&str> = PRESETS.iter().map(|p| p.name).collect();
    Failure::usage(format_args!("there is no preset {name:?}"))
        .with_hint(format_args!("there are: {}", names.join(", ")))
}

/// The worker id, and a word about where it comes from when that keeps nobody apart.
fn resolve(source: WorkerSource, layout: &Layout, out: &Out) -> Result<u64, Failure> {
    let worker = source.resolve(layout, |_| true).map_err(|error| match error {
        HostError::Layout(error) => layout_refused(&error),
        other => Failure::cannot(other).with_hint("mint snowflake --pool NAME leases one from a server"),
    })?;
    let (from, shared_with) = match source {
        WorkerSource::Ip16 => (
            "the private IPv4 address",
            "other networks, and who gets the address next, have it too",
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
fn at_time(
    layout: Layout,
    worker: Option<u64>,
    at: Timestamp,
    count: u64,
    sink: &mut Sink<'_>,
) -> Result<(), Failure> {
    layout.tick_at(at).map_err(|e| layout_refused(&e))?;
    check_mintable(&layout, at)?;
    let worker = match worker {
        Some(worker) => worker,
        None if layout.workers() == 1 => 0,
        None => {
            return Err(Failure::usage("an id of a given time needs a --worker")
                .with_hint("one that mints nothing else, so that its ids repeat no other"));
        }
    };
    let generator = Snowflake::unguarded(Arc::new(layout), worker).map_err(|e| layout_refused(&e))?;
    let mut batch = [0; 1024];
    let mut left = count;
    while left > 0 {
        let want = usize::try_from(left).unwrap_or(batch.len()).min(batch.len());
        let got = generator.mint_many(at, &mut batch[..want]).map_err(|_| {
            Failure::usage(format_args!(
                "{count} ids do not fit: from {} on they would reach 5 s past it",
                shown(at)
            ))
        })?;
        sink.put_all(&batch[..got])?;
        left -= got as u64;
    }
    Ok(())
}

/// A layout whose time and sequence leave no room in the word that generators count in: made to read ids with.
fn check_mintable(layout: &Layout, at: Timestamp) -> Result<(), Failure> {
    let end = Snowflake::end_of(layout);
    if at < end || end == layout.end() {
        return Ok(());
    }
    let bits = |role: Role| {
        let fields = layout.fields().iter().filter(|field| field.role == role);
        fields.map(|field| field.bits).sum::<u32>()
    };
    let (time, sequence, rollback) = (bits(Role::Time), bits(Role::Sequence), bits(Role::Rollback));
    Err(Failure::usage(format_args!(
        "no id of {} can be made with this layout: time and sequence take {} bits together, a generator counts in 62, \
         so that what it makes ends at {}",
        shown(at),
        time + sequence + rollback,
        shown(end),
    ))
    .with_hint(format_args!(
        "mint inspect reads ids of it; to make some with the time in the same place, give bits of the sequence to a \
         worker, as in --layout time={time},worker=1,sequence={} --worker 0",
        sequence.saturating_sub(1)
    )))
}

/// Reserved in a state file.
fn from_state(args: &Args, layout: Layout, worker: Option<u64>, sink: &mut Sink<'_>) -> Result<(), Failure> {
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
                let mut ids = local.ids(reserved).peekable();
                while ids.peek().is_some() {
                    batch.clear();
                    batch.extend(ids.by_ref().take(BATCH));
                    sink.put_all(&batch)?;
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

/// The state file of a worker in the user's folder. Which worker is this user's own stands in a file beside
/// them, so that naming it gives the same file as leaving it out; it becomes another one than `not`.
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
    let name = format!("snowflake-{}", state_name(layout));
    let allowed = allowed_file_systems()?;
    let file = |what: &str| {
        let file = StateFile::of_this_machine(&folder, &format!("{name}-{what}"), allowed.clone());
        file.map_err(|error| refused(error.into()))
    };
    let worker = match worker {
        Some(worker) => worker,
        None => file("worker")?
            .update(|found| {
                let kept = found
                    .and_then(|f| f.payload.parse::<u64>().ok())
                    .filter(|w| *w < layout.workers() && Some(*w) != not);
                let worker = kept.unwrap_or_else(|| random_below(layout.workers()));
                Ok::<_, LocalError>((kept.is_none().then(|| worker.to_string()), worker))
            })
            .map_err(refused)?,
    };
    Ok((file(&worker.to_string())?, Some(worker)))
}

/// Nothing is reserved: see the option's help.
fn unguarded(
    layout: Layout,
    worker: u64,
    policy: ClockPolicy,
    mut left: u64,
    sink: &mut Sink<'_>,
) -> Result<(), Failure> {
    check_mintable(&layout, SystemClock.now())?;
    let tick = layout.tick();
    let generator = Snowflake::unguarded(Arc::new(layout), worker)
        .and_then(|generator| generator.clock_policy(policy))
        .map_err(Failure::usage)?;
    let mut batch = [0; 1024];
    while left > 0 {
        let want = usize::try_from(left).unwrap_or(batch.len()).min(batch.len());
        match generator.mint_many(SystemClock.now(), &mut batch[..want]) {
            Ok(got) => {
                sink.put_all(&batch[..got])?;
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

fn from_server(client: &Client, pool: &Name, mut left: u64, sink: &mut Sink<'_>) -> Result<(), Failure> {
    while left > 0 {
        let want = left.min(REQUEST_MAX);
        let ask = Ask::new(Op::MakeSnowflakes, &[pool.as_str()]).with("count", want);
        let answer: Ids = client.call(&ask)?;
        let ids: Vec<u64> = answer.ids.iter().filter_map(|id| id.parse().ok()).collect();
        if ids.is_empty() || ids.len() as u64 > want {
            return Err(Failure::cannot(format_args!(
                "the server answered {} ids for {want}",
                ids.len()
            )));
        }
        left -= ids.len() as u64;
        sink.put_all(&ids)?;
    }
    Ok(())
}

fn from_store(url: &str, pool: &Name, mut left: u64, sink: &mut Sink<'_>) -> Result<(), Failure> {
    let local = Local::open(url, Absent::Make)?;
    let pool = local.run(async |ledger| ledger.pool_or_default(pool).await)?;
    let mut batch = [0; 1024];
    while left > 0 {
        let ids = &mut batch[..usize::try_from(left.min(1024)).expect("at most 1024")];
        local.run(async |_| pool.mint(ids).await)?;
        sink.put_all(ids)?;
        left -= ids.len() as u64;
    }
    local.close()
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
    failure.with_hint_if(error.hint())
}

/// Where ids go, one a line.
struct Sink<'a> {
    form: SnowflakeText,
    out: &'a mut Out,
}

impl Sink<'_> {
    fn put_all(&mut self, ids: &[u64]) -> Result<(), Failure> {
        if !self.out.json {
            self.form.write_lines(ids, self.out.buffer());
            return self.out.written();
        }
        let (before, after) = self.out.id_frame();
        let buffer = self.out.buffer();
        for id in ids {
            buffer.extend_from_slice(before);
            self.form.write(*id, buffer);
            buffer.extend_from_slice(after);
        }
        self.out.written()
    }
}
