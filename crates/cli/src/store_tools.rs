//! `mint store backup|restore|check|migrate|unseal` on any store.

use std::fs::{self, File};
use std::io::{BufReader, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use mintage_ledger::tools::{self, Accept, Advance, Backup, BackupError, Restore};
use mintage_ledger::{Runtime, Store, StoreError, StoreSettings, SystemRuntime, open_pinned, store_folder};
use mintage_server::config::{Config, StoreUrl};
use mintage_server::store_settings;
use serde_json::json;

use crate::errors::Failure;
use crate::local::{LOCK_WAIT, open_configured, store_refused, with_runtime};
use crate::out::Out;
use crate::runtime::block_on;

#[derive(clap::Args, Debug)]
#[command(
    after_help = "A store without schema gets one, and an empty one takes the cluster id of the backup. What is cut \
                        off leaves a store that refuses to serve: give the same command again."
)]
pub(crate) struct RestoreArgs {
    /// The file of mint store backup
    file: Option<PathBuf>,
    /// Numbers to skip in each sequence: more than were given out since the backup was made, and max_gap more for each
    /// server
    #[arg(long, value_name = "N", conflicts_with = "max_rate")]
    advance: Option<u64>,
    /// Instead: numbers per second that the busiest sequence can have given out since
    #[arg(long, value_name = "N")]
    max_rate: Option<u64>,
    /// The store may belong to another cluster than the backup, and keeps its own cluster id
    #[arg(long, requires = "file")]
    foreign: bool,
    /// The store need not be empty; marks are kept where they are higher
    #[arg(long, requires = "file")]
    into_used: bool,
}

/// How far ahead a window may have been reserved where the configuration does not say.
const WINDOW_MAX: Duration = Duration::from_secs(600);

/// How much a restore skips, by what was said.
fn advance(advance: Option<u64>, max_rate: Option<u64>) -> Result<Advance, Failure> {
    match (advance, max_rate) {
        (Some(numbers), _) => Ok(Advance::By(numbers)),
        (None, Some(rate)) => Ok(Advance::AtRate(rate)),
        (None, None) => Err(Failure::usage(
            "how many numbers were given out since the backup was made is not known",
        )
        .with_hint(
            "give --advance N, more than that; or --max-rate N, more than one sequence gives out per second",
        )),
    }
}

pub(crate) fn backup(config: &Config, file: &str, out: &mut Out) -> Result<(), Failure> {
    let store = config.store_url.redacted();
    let mut is_dated = true;
    write_backup(&store, file, out, |to| {
        block_on(async {
            let runtime = SystemRuntime::new(tokio::runtime::Handle::current());
            let store = open_configured(config, runtime.clone()).await?;
            let done = tools::back_up(&*store, to, &*runtime).await;
            // Also after a refusal, so that the next opening finds no unclean stop.
            let closed = store.close().await;
            let done = done.map_err(file_refused)?;
            closed.map_err(store_refused)?;
            is_dated = done.by_heartbeat;
            Ok(done.registers)
        })
    })?;
    if !is_dated {
        out.note("note: no heartbeat in the store says how old what is in it is: the backup is dated now");
    }
    Ok(())
}

/// Writes a backup to a new file, which only its owner may read, or to standard output, and says so. Half of one is
/// not left behind under the file's name.
pub(crate) fn write_backup(
    from: &str,
    file: &str,
    out: &mut Out,
    write: impl FnOnce(&mut (dyn Write + Send)) -> Result<u64, Failure>,
) -> Result<(), Failure> {
    if file == "-" {
        let mut lines = std::io::LineWriter::new(std::io::stdout());
        return write(&mut lines).map(drop);
    }
    let failed = |e: std::io::Error| Failure::cannot(format_args!("cannot write {file}: {e}"));
    let path = Path::new(file);
    if path.symlink_metadata().is_ok() {
        return Err(Failure::cannot(format_args!(
            "{file} exists already, and a backup is never written over a file"
        ))
        .with_hint("name another file"));
    }
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}.unfinished", std::process::id()));
    let draft = path.with_file_name(name);
    let done = File::options()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&draft)
        .map_err(failed)
        .and_then(|opened| {
            let mut buffered = BufWriter::new(opened);
            let many = write(&mut buffered)?;
            let opened = buffered.into_inner().map_err(|e| failed(e.into_error()))?;
            opened.sync_all().map_err(failed)?;
            // A link refuses to replace what has come to be there meanwhile.
            fs::hard_link(&draft, path).map_err(failed)?;
            Ok(many)
        });
    // Of a draft that another one made nothing is known: its name has the process in it.
    let _ = fs::remove_file(&draft);
    let many = done?;
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let folder = File::open(folder.unwrap_or(Path::new(".")));
    folder.and_then(|folder| folder.sync_all()).map_err(failed)?;
    if out.json {
        return out.json_line(&json!({ "store": from, "file": file, "registers": many }));
    }
    out.line(format!("backed up {from} to {file}: {many} registers"))
}

pub(crate) fn restore(config: &Config, args: &RestoreArgs, out: &mut Out) -> Result<(), Failure> {
    let advance = advance(args.advance, args.max_rate)?;
    let backup = args.file.as_deref().map(read_backup).transpose()?;
    let settings = for_tools(config);
    let state = mintage_server::state_folder(config);
    let ask = Restore {
        url: &config.store_url.0,
        settings: &settings,
        state: state.as_deref(),
        backup: backup.as_ref(),
        advance,
        window: config.window.0.unwrap_or(WINDOW_MAX),
        accept: Accept {
            foreign: args.foreign,
            used: args.into_used,
        },
    };
    let report = with_runtime(async |runtime| tools::restore(&ask, runtime).await)?;
    let store = config.store_url.redacted();
    if out.json {
        return out.json_line(&json!({
            "store": store,
            "registers": report.registers,
            "skipped": report.skipped,
            "age_s": report.age.as_secs(),
            "resumed": report.resumed,
            "notes": report.notes,
        }));
    }
    for note in &report.notes {
        out.note(format!("note: {note}"));
    }
    let what = match report.resumed {
        true => "finished restoring",
        false => "restored",
    };
    out.line(format!(
        "{what} {store}: {} registers, every sequence skips {} numbers (the backup is {} s old)",
        report.registers,
        report.skipped,
        report.age.as_secs()
    ))
}

fn read_backup(file: &Path) -> Result<Backup, Failure> {
    let opened =
        File::open(file).map_err(|e| Failure::cannot(format_args!("cannot read {}: {e}", file.display())))?;
    Backup::read(BufReader::new(opened)).map_err(|error| match error {
        BackupError::Damaged { .. } => Failure::cannot(format_args!(
            "{} is not a complete backup: {error}",
            file.display()
        )),
        other => file_refused(other),
    })
}

pub(crate) fn check(config: &Config, out: &mut Out) -> Result<(), Failure> {
    let settings = for_tools(config);
    let (url, state) = (&config.store_url.0, mintage_server::state_folder(config));
    let report = with_runtime(async |runtime| tools::check(url, &settings, state.as_deref(), runtime).await)?;
    let sound = report.findings.is_empty();
    // A folder is refused as it is started, any other store as it is used.
    let (kind, place, refused) = match store_folder(url) {
        Some(folder) => ("folder", folder.display().to_string(), "a start would be refused"),
        None => ("store", config.store_url.redacted(), "a server would refuse this"),
    };
    if out.json {
        out.json_line(&json!({
            kind: place,
            "sound": sound,
            "registers": report.registers,
            "findings": report.findings,
            "notes": report.notes,
        }))?;
    } else {
        for found in &report.findings {
            out.line(format!("refused: {found}"))?;
        }
        for note in &report.notes {
            out.line(format!("note: {note}"))?;
        }
        let verdict = if sound { "sound" } else { refused };
        out.line(format!("{place}: {} registers, {verdict}", report.registers))?;
    }
    if sound {
        return Ok(());
    }
    out.flush()?;
    Err(Failure::Negative)
}

/// How tools open a store, which must be there: they wait a little for another command to let go of it.
pub(crate) fn for_tools(config: &Config) -> StoreSettings {
    StoreSettings {
        lock_wait: LOCK_WAIT,
        create: false,
        ..store_settings(config)
    }
}

pub(crate) fn migrate_to(config: &Config, to: &str, out: &mut Out) -> Result<(), Failure> {
    if to.starts_with("memory:") {
        return Err(Failure::usage(
            "memory: ends with this command, and with it everything that was moved there",
        )
        .with_hint("name a store that lasts, such as file:PATH"));
    }
    let target = StoreUrl(to.to_string());
    let report = with_store(config, async |from, runtime| {
        let settings = StoreSettings {
            create: true,
            expect_cluster: None,
            ..for_tools(config)
        };
        let state = mintage_server::state_folder(config);
        // As a server will open it: another cluster than this machine met there is refused.
        let to = open_pinned(to, &settings, state.as_deref(), Arc::clone(runtime)).await?;
        let report = tools::migrate(from, &*to, &**runtime).await?;
        to.close().await?;
        Ok(report)
    })?;
    let (from, to) = (config.store_url.redacted(), target.redacted());
    if out.json {
        return out.json_line(&json!({ "from": from, "to": to, "registers": report.registers }));
    }
    out.line(format!(
        "moved {from} to {to}: {} registers; start the servers with --store {to}",
        report.registers
    ))
}

pub(crate) fn unseal(config: &Config, out: &mut Out) -> Result<(), Failure> {
    let was = with_store(config, async |store, runtime| {
        tools::unseal(store, &**runtime).await
    })?;
    let store = config.store_url.redacted();
    if out.json {
        return out.json_line(&json!({ "store": store, "was_sealed": was }));
    }
    out.line(match was {
        true => format!("{store}: the seal is off"),
        false => format!("{store}: was not sealed"),
    })
}

/// Opens the store for a tool, which may meet another copy of the data than the servers knew.
fn with_store<T>(
    config: &Config,
    work: impl AsyncFnOnce(&dyn Store, &Arc<dyn Runtime>) -> Result<T, StoreError>,
) -> Result<T, Failure> {
    let settings = StoreSettings {
        accept_copy: true,
        ..for_tools(config)
    };
    let (url, state) = (&config.store_url.0, mintage_server::state_folder(config));
    with_runtime(async |runtime| {
        let store = open_pinned(url, &settings, state.as_deref(), Arc::clone(&runtime)).await?;
        let done = work(&*store, &runtime).await;
        // Also after a refusal, so that the next opening finds no unclean stop.
        let closed = store.close().await;
        let done = done?;
        closed.map(|()| done)
    })
}

fn file_refused(error: BackupError) -> Failure {
    match error {
        BackupError::Store(error) => store_refused(error),
        other => Failure::cannot(other),
    }
}
