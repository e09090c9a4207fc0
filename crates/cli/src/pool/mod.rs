//! `mint pool`: pools of workers and the windows that are held of them, of a running server or of a store that
//! no server has open.

mod avoid;
#[cfg(feature = "server")]
mod beside;
mod pools;

use std::time::Duration;

use clap::{Subcommand, ValueEnum};
use mintage::{ClockPolicy, Layout};
use mintage_local::name::Name;
use mintage_wire::{Pool, PoolDefinition, PoolWithWindows};
use serde_json::{Value, json};

use crate::backend::Backend;
use crate::errors::Failure;
use crate::forecast;
use crate::local::Absent;
use crate::out::Out;
use crate::snowflake::preset_layout;
use crate::snowflake_layout::{SYNTAX, layout_words, parse_layout};
use crate::tls::TlsFiles;
#[cfg(not(feature = "server"))]
use crate::without_server as beside;
use avoid::{Change, Choice};
use pools::Pools;

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: PoolCommand,
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
enum PoolCommand {
    /// Create a pool; creating it again with the same definition changes nothing
    #[command(after_help = format!("{SYNTAX}\n\n{SYSTEMS}"))]
    Create {
        /// The pool
        name: String,
        /// A known layout, see mint presets [default: twitter]
        #[arg(long, value_name = "NAME", conflicts_with = "layout")]
        preset: Option<String>,
        /// A layout of your own, see below
        #[arg(long, value_name = "LAYOUT", value_parser = parse_layout)]
        layout: Option<Layout>,
        /// What it makes
        #[arg(long, default_value = "snowflake")]
        kind: Kind,
        /// How far ahead a holder may mint without asking the store again, such as 10m
        #[arg(long, value_name = "LENGTH", value_parser = crate::time::parse_duration)]
        window: Option<Duration>,
        /// What it does when the clock goes back: hold, wait(5ms), error or bump [default: as the server is set]
        #[arg(long, value_name = "POLICY")]
        clock_policy: Option<ClockPolicy>,
        #[command(flatten)]
        choice: Choice,
    },
    /// List all pools
    List,
    /// Show a pool, and who holds which of its workers until when
    Show {
        /// The pool
        name: String,
    },
    /// Change which workers a pool avoids because another system has them
    #[command(after_help = SYSTEMS)]
    Avoid(Change),
    /// Remove a pool that nobody uses; the same name created again keeps its layout and repeats nothing
    Drop {
        /// The pool
        name: String,
    },
    /// Free an expired window whose holder is gone; one that still lasts is refused
    Release {
        /// The pool
        name: String,
        /// The worker
        worker: u64,
    },
    /// Give up a worker that a wrong clock parked, so that it is no longer reported
    Retire {
        /// The pool
        name: String,
        /// The worker
        worker: u64,
    },
}

/// What `--avoid-from` takes.
const SYSTEMS: &str = "\
--avoid-from, where a system of Snowflake ids keeps its workers:

  leaf+zookeeper://HOST:2181/snowflake/NAME
  twitter+zookeeper://HOST:2181/snowflake-servers[?datacenter=0..31]
  cosid+mysql://USER@HOST/DATABASE?namespace=NAMESPACE
  cosid+redis://HOST:6379?namespace=NAMESPACE
  cosid+zookeeper://HOST:2181/cosid/NAMESPACE
  uid-generator+mysql://USER@HOST/DATABASE
  yitter+redis://HOST:6379

It is only read. The pool remembers the URL without its password, and --remove looks there again.";

/// The clock sequences of UUIDs of version 1.
const UUID1_WORKERS: u64 = 1 << 14;

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Snowflake,
    Uuid1,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Snowflake => "snowflake",
            Kind::Uuid1 => "uuid1",
        }
    }
}

impl PoolCommand {
    /// What becomes of a store that is not there: only what creates a pool makes one.
    fn absent(&self) -> Absent {
        match self {
            PoolCommand::Create { .. } => Absent::Make,
            _ => Absent::Refuse,
        }
    }
}

/// What is left to do once the pools are at hand.
type Work = Box<dyn FnOnce(&Pools, &mut Out) -> Result<(), Failure>>;

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<(), Failure> {
    let checked = |name: &str| Name::new(name).map_err(Failure::usage);
    let work: Work = match &args.command {
        PoolCommand::Create {
            name,
            preset,
            layout,
            kind,
            window,
            clock_policy,
            choice,
        } => {
            let name = checked(name)?;
            let millis = |window: Duration| u64::try_from(window.as_millis()).unwrap_or(u64::MAX);
            let layout = layout_wanted(*kind, preset.as_deref(), layout.as_ref())?;
            let workers = layout.as_ref().map_or(UUID1_WORKERS, Layout::workers);
            let avoided = choice.avoided(workers, out)?;
            let wanted = PoolDefinition {
                kind: Some(kind.name().into()),
                layout: layout.map(|layout| layout.spec()),
                preset: None,
                window_ms: window.map(millis),
                clock_policy: clock_policy.map(|policy| policy.to_string()),
                workers: choice.workers.clone(),
                avoid: avoided.avoid,
                avoid_from: avoided.from,
            };
            Box::new(move |pools, out| fields(&pools.create(&name, &wanted)?, out))
        }
        PoolCommand::Avoid(change) => {
            let (name, change) = (checked(&change.name)?, change.clone());
            Box::new(move |pools, out| change.make(&name, pools, out))
        }
        PoolCommand::List => Box::new(|pools, out| list(&pools.list()?, out)),
        PoolCommand::Show { name } => {
            let name = checked(name)?;
            Box::new(move |pools, out| show(&pools.show(&name)?, out))
        }
        PoolCommand::Drop { name } => {
            let name = checked(name)?;
            Box::new(move |pools, out| {
                pools.drop_pool(&name)?;
                done(&json!({"dropped": name.as_str()}), out)
            })
        }
        PoolCommand::Release { name, worker } => {
            let (name, worker) = (checked(name)?, *worker);
            Box::new(move |pools, out| {
                pools.release(&name, worker)?;
                done(
                    &json!({"released": worker.to_string(), "pool": name.as_str()}),
                    out,
                )
            })
        }
        PoolCommand::Retire { name, worker } => {
            let (name, worker) = (checked(name)?, *worker);
            Box::new(move |pools, out| {
                pools.retire(&name, worker)?;
                done(
                    &json!({"retired": worker.to_string(), "pool": name.as_str()}),
                    out,
                )
            })
        }
    };
    let absent = args.command.absent();
    let pools = Pools(Backend::open(
        args.server.as_deref(),
        &args.tls,
        args.store.as_deref(),
        absent,
    )?);
    let done = work(&pools, out);
    pools.0.close_after(done)
}

/// Says to a program, and only to one, what was done.
fn done(what: &Value, out: &mut Out) -> Result<(), Failure> {
    match out.json {
        true => out.json_line(what),
        false => Ok(()),
    }
}

/// The layout in full, since the preset may be another one elsewhere.
fn layout_wanted(
    kind: Kind,
    preset: Option<&str>,
    layout: Option<&Layout>,
) -> Result<Option<Layout>, Failure> {
    match (kind, preset, layout) {
        (Kind::Uuid1, None, None) => Ok(None),
        (Kind::Uuid1, _, _) => Err(Failure::usage("a pool of kind uuid1 has no layout of its own")),
        (Kind::Snowflake, _, Some(layout)) => Ok(Some(layout.clone())),
        (Kind::Snowflake, preset, None) => preset_layout(preset.unwrap_or("twitter")).map(Some),
    }
}

fn list(pools: &[Pool], out: &mut Out) -> Result<(), Failure> {
    if out.json {
        return pools.iter().try_for_each(|pool| out.json_line(pool));
    }
    let header = ["name", "kind", "layout", "workers", "window", "ends"];
    let row = |pool: &Pool| {
        [
            pool.name.clone(),
            pool.kind.clone(),
            layout(pool),
            pool.workers.to_string(),
            pool.window.clone(),
            pool.ends.clone(),
        ]
    };
    table(header, pools.iter().map(row), out)?;
    pools.iter().try_for_each(|pool| match parked(pool) {
        Some(parked) => out.line(format!("pool {}: {parked}", pool.name)),
        None => Ok(()),
    })
}

/// What a wrong clock parked of a pool, in words.
fn parked(pool: &Pool) -> Option<String> {
    let parked = pool.parked.as_ref()?;
    Some(format!(
        "{} parked by a wrong clock, free again from {} to {}",
        parked.workers, parked.first_until, parked.last_until
    ))
}

/// The layout of a pool, in words.
fn layout(pool: &Pool) -> String {
    let Some(text) = &pool.layout else {
        return "-".into();
    };
    text.parse()
        .map_or_else(|_| text.clone(), |layout| layout_words(&layout))
}

fn show(shown: &PoolWithWindows, out: &mut Out) -> Result<(), Failure> {
    if out.json {
        return out.json_line(shown);
    }
    let pool = &shown.pool;
    fields(pool, out)?;
    let held = pool.workers_held.map_or("-".into(), |held| held.to_string());
    out.line(format!("{:<12}  {held}", "workers held"))?;
    if let Some(parked) = parked(pool) {
        out.line(format!("{:<12}  {parked}", "of these"))?;
    }
    for line in forecast::lines(&pool.forecast) {
        out.line(format!("{:<12}  {line}", "forecast"))?;
    }
    if shown.windows.is_empty() {
        return Ok(());
    }
    out.line("")?;
    let header = ["worker", "name", "from", "until", "lasts", "owner"];
    let rows = shown.windows.iter().map(|window| {
        [
            window.worker.to_string(),
            // Who lent it called itself so.
            crate::lines::shown(&window.name).into_owned(),
            window.from.clone(),
            window.until.clone(),
            if window.lasts { "yes" } else { "no" }.into(),
            window.owner.clone(),
        ]
    });
    table(header, rows, out)
}

/// One pool, a field a line.
fn fields(pool: &Pool, out: &mut Out) -> Result<(), Failure> {
    if out.json {
        return out.json_line(pool);
    }
    let some = |text: &Option<String>| text.clone();
    for (title, value) in [
        ("name", Some(pool.name.clone())),
        ("kind", Some(pool.kind.clone())),
        ("layout", Some(layout(pool))),
        ("workers", Some(pool.workers.to_string())),
        ("only", some(&pool.within)),
        ("avoids", some(&pool.avoid)),
        ("read from", some(&pool.avoid_from)),
        ("window", Some(pool.window.clone())),
        ("clock policy", Some(pool.clock_policy.clone())),
        ("ends", Some(pool.ends.clone())),
    ] {
        if let Some(value) = value {
            out.line(format!("{title:<12}  {value}"))?;
        }
    }
    Ok(())
}

fn table<const N: usize>(
    header: [&str; N],
    rows: impl Iterator<Item = [String; N]>,
    out: &mut Out,
) -> Result<(), Failure> {
    let rows: Vec<[String; N]> = std::iter::once(header.map(String::from)).chain(rows).collect();
    let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    for row in &rows {
        let line: Vec<String> = row
            .iter()
            .enumerate()
            .map(|(at, cell)| format!("{cell:<0$}", width(at)))
            .collect();
        out.line(line.join("  ").trim_end())?;
    }
    Ok(())
}
