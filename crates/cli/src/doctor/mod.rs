//! `mint doctor`: what is wrong with counters that live in databases, and with the server of a store of ours.

mod document;
mod script;
mod since;
mod store;
mod table;
#[cfg(test)]
mod tests;
pub(crate) mod urls;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use mintage_ledger::doctor::{Earlier, FailOn, LookSettings, Report, Seen, Target, Went, examine, look};
use mintage_ledger::moves::{Move, Ours};
use mintage_ledger::source::{KEYS_MAX, SourceSettings, Wanted};
use mintage_ledger::{Name, Runtime, StoreSettings, SystemRuntime};

use crate::errors::Failure;
use crate::lines::shown;
use crate::local::{Absent, Local};
use crate::out::Out;
use crate::runtime::block_on;
use urls::Url;

#[derive(clap::Args, Debug)]
#[command(
    after_help = "Looks, and never writes. Rights: SELECT on tables and sequences; for Redis SCAN, TYPE, \
    STRLEN, GET, GETRANGE, \
                  PTTL, HMGET, CONFIG GET.\n\n\
                  Exit codes: 0 nothing wrong; 1 findings that --fail-on names; 2 wrong usage; 3 something \
                  could not be \
                  looked at, and what could is printed.\n\n\
                  Without a URL, --store or --config looks at the server of that store, before mint init, too: \
                  what it may \
                  forget, and each setting that matters with the statement that sets it. Errors make it class L."
)]
pub(crate) struct Args {
    /// Where counters live: postgres://, mysql:// or redis://, with a kind in front to mean that alone, as in
    /// leaf+mysql://; or a name of [sources.NAME] in the configuration
    #[arg(value_name = "URL", required_unless_present_any = ["url_file", "store", "config"])]
    urls: Vec<String>,
    /// A file that holds URLs with passwords, one a line
    #[arg(long, value_name = "FILE")]
    url_file: Vec<PathBuf>,
    /// Only counters whose key is like this; * is any text, ? one character; may be repeated
    #[arg(long = "match", value_name = "GLOB")]
    matching: Vec<String>,
    /// Look twice, so far apart: gives rates, and when counters end
    #[arg(long, value_name = "TIME", value_parser = crate::time::parse_duration)]
    watch: Option<Duration>,
    /// What an earlier --json printed: gives rates over days
    #[arg(long, value_name = "FILE")]
    since: Option<PathBuf>,
    /// Read the largest number of columns without an index, too: each such table is read whole
    #[arg(long)]
    full: bool,
    /// How long one query may take
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = crate::time::parse_duration)]
    timeout: Duration,
    /// How many keys of Redis, or rows of one table, are looked at
    #[arg(long, value_name = "N", default_value_t = KEYS_MAX, value_parser = clap::value_parser!(u64).range(1..))]
    keys_max: u64,
    /// Which findings make exit code 1: error, warn, info, never, or codes with commas between
    #[arg(long, value_name = "WHICH", default_value = "error", value_parser = FailOn::parse)]
    fail_on: FailOn,
    /// Print only the statements that mend what was found, as a script
    #[arg(long)]
    fix: bool,
    /// uid-generator: how many bits its numbers of workers have [default: 22]
    #[arg(long, value_name = "BITS", value_parser = clap::value_parser!(u32).range(1..=40))]
    worker_bits: Option<u32>,
    /// CosId and the others: how many bits their numbers of machines have [default: 10; yitter 6]
    #[arg(long, value_name = "BITS", value_parser = clap::value_parser!(u32).range(1..=40))]
    machine_bits: Option<u32>,
    /// The store that counters were moved to: their fences are held against its records. Without a URL of counters:
    /// whether this store's own server keeps what it acknowledges
    #[arg(long, value_name = "URL")]
    store: Option<String>,
    /// Look at the store of this configuration file, as of --store without a URL of counters
    #[arg(long, value_name = "FILE", conflicts_with_all = ["store", "urls", "url_file"])]
    config: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<(), Failure> {
    if args.fix && out.json {
        return Err(Failure::usage("--fix prints a script, --json prints documents")
            .with_hint("each document has its statements as findings[].fix"));
    }
    if args.timeout.is_zero() {
        return Err(Failure::usage("--timeout 0s leaves no time for an answer").with_hint("--timeout 5s"));
    }
    if args.urls.is_empty() && args.url_file.is_empty() {
        return store::run(args, out);
    }
    let urls = urls::all(&args.urls, &args.url_file, out)?;
    let since = args.since.as_deref().map(since::read).transpose()?;
    // The store first: it may be refused, and nothing was looked at for nothing.
    let moves = args.store.as_deref().map(moves_of).transpose()?;
    let (seen, watched) = block_on(seen(args, &urls, out))?;
    let earlier: Vec<Earlier> = since.into_iter().chain(watched).collect();
    let reports = examine(seen, &earlier, moves.as_deref());
    if let Some(file) = &args.since {
        warn_of_another_look(file, &reports, out);
    }
    show(args, &reports, !earlier.is_empty(), out)?;
    ended(args, &reports, out)
}

/// Looks at everything; a second time where that was asked, and then the first look, too.
async fn seen(args: &Args, urls: &[Url], out: &Out) -> Result<(Vec<Seen>, Option<Earlier>), Failure> {
    let runtime: Arc<dyn Runtime> = SystemRuntime::new(tokio::runtime::Handle::current());
    let settings = LookSettings {
        wanted: Wanted {
            matching: args.matching.clone(),
            full: args.full,
            at_home: false,
        },
        source: SourceSettings {
            store: StoreSettings {
                request_timeout: args.timeout,
                connect_timeout: args.timeout,
                ..StoreSettings::default()
            },
            keys_max: Some(args.keys_max),
            ..SourceSettings::default()
        },
        worker_bits: args.worker_bits,
        machine_bits: args.machine_bits,
    };
    let mut targets = Vec::with_capacity(urls.len());
    for url in urls {
        targets.push(Target::open(url.text(), &settings, &runtime).map_err(|error| {
            Failure::usage(format_args!("{}: {error}", url.named())).with_hint_if(error.fix)
        })?);
    }
    let once = async || {
        let mut seen = Vec::with_capacity(targets.len());
        for target in &targets {
            seen.push(look(target, &settings, &runtime).await);
        }
        seen
    };
    let first = once().await;
    let Some(pause) = args.watch else {
        return Ok((first, None));
    };
    let mut earlier = Earlier::default();
    first.iter().for_each(|seen| seen.note(&mut earlier));
    // What was seen first is not held while waiting: marks are enough.
    drop(first);
    out.detail(|| format!("{} counters; looking again in {pause:?}", earlier.len()));
    runtime.sleep(pause).await;
    Ok((once().await, Some(earlier)))
}

/// A look at other places says nothing of these, and nobody would see why there are no rates.
fn warn_of_another_look(file: &Path, reports: &[Report], out: &Out) {
    let mut counters = reports.iter().flat_map(|report| &report.counters).peekable();
    if counters.peek().is_some() && counters.all(|one| one.went == Went::Unknown) {
        out.note(format!(
            "warning: {} tells of none of these counters: it is of other places",
            file.display()
        ));
    }
}

/// The moves that a store knows.
fn moves_of(url: &str) -> Result<Vec<(Name, Move)>, Failure> {
    let local = Local::open(url, Absent::Refuse)?;
    let listed = local.run(async |ledger| Ok(Ours::list(ledger).await))?;
    let listed = listed.map_err(Failure::cannot);
    local.close()?;
    Ok(listed?
        .into_iter()
        .map(|(name, now)| (name, now.record))
        .collect())
}

fn show(args: &Args, reports: &[Report], is_watched: bool, out: &mut Out) -> Result<(), Failure> {
    if args.fix {
        return script::print(reports, out);
    }
    if out.json {
        return document::print(reports, out);
    }
    table::print(reports, is_watched, out)
}

/// The exit code.
fn ended(args: &Args, reports: &[Report], out: &mut Out) -> Result<(), Failure> {
    out.flush()?;
    let mut failed = reports.iter().flat_map(|report| &report.failed);
    if let Some(first) = failed.next() {
        let more = failed.count();
        if !out.json {
            let others = reports.iter().flat_map(|report| &report.failed).skip(1);
            others.for_each(|text| out.note(format!("not looked at: {}", shown(text))));
        }
        let more = match more {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        return Err(Failure::cannot(format_args!(
            "not everything could be looked at: {first}{more}"
        )));
    }
    let mut findings = reports.iter().flat_map(Report::findings);
    match findings.any(|finding| args.fail_on.is_for(finding.code, finding.severity)) {
        true => Err(Failure::Negative),
        false => Ok(()),
    }
}
