//! `mint store backup|restore|check|migrate|unseal` on any store.

use std::fs::{self, File};
use std::io::{BufReader, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use mintage_ledger::tools::{self, Advance, Backup, BackupError, Restore};
use mintage_ledger::{Runtime, Store, StoreSettings, SystemRuntime, open_store};
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
    /// The store may be another cluster than the one the backup is of, and stays it
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
            "it is not known how many numbers were given out since the backup was made",
        )
        .with_hint(
            "say --advance N, more than that; or --max-rate N, more than one sequence gives out per second",
        )),
    }
}

pub(crate) fn backup(config: &Config, file: &str, out: &mut Out) -> Result<(), Failure> {
    let store = config.store_url.redacted();
    write_backup(&store, file, out, |to| {
        block_on(async {
            let runtime = SystemRuntime::new(tokio::runtime::Handle::current());
            let store = open_configured(config, runtime.clone()).await?;
            let many = tools::back_up(&*store, to, &*runtime)
                .await
                .map_err(file_refused)?;
            store.close().await.map_err(store_refused)?;
            Ok(many)
        })
    })
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
            "{file} is there already, and a backup is never written over a file"
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
    let settings = StoreSettings {
        lock_wait: LOCK_WAIT,
        ..store_settings(config)
    };
    let state = mintage_server::state_folder(config);
    let ask = Restore {
        url: &config.store_url.0,
        settings: &settings,
        state: state.as_deref(),
        backup: backup.as_ref(),
        advance,
        window: config.window.0.unwrap_or(WINDOW_MAX),
        foreign: args.foreign,
        into_used: args.into_used,
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
        BackupError::Damaged { .. } => {
            Failure::cannot(format_args!("{} is no whole backup: {error}", file.display()))
        }
        other => file_refused(other),
    })
}

pub(crate) fn check(config: &Config, out: &mut Out) -> Result<(), Failure> {
    let report = block_on(async {
        let runtime = SystemRuntime::new(tokio::runtime::Handle::current());
        let store = open_configured(config, runtime.clone()).await?;
        tools::check_store(&*store, &*runtime)
            .await
            .map_err(store_refused)
    })?;
    let sound = report.findings.is_empty();
    let store = config.store_url.redacted();
    if out.json {
        out.json_line(&json!({
            "store": store,
            "sound": sound,
            "registers": report.registers,
            "findings": report.findings,
            "notes": report.notes,
        }))?;
    } else {
        for finding in &report.findings {
            out.line(format!("refused: {finding}"))?;
        }
        for note in &report.notes {
            out.line(format!("note: {note}"))?;
        }
        let verdict = if sound {
            "sound"
        } else {
            "a server would refuse this"
        };
        out.line(format!("{store}: {} registers, {verdict}", report.registers))?;
    }
    if sound {
        return Ok(());
    }
    out.flush()?;
    Err(Failure::Negative)
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
            lock_wait: LOCK_WAIT,
            expect_cluster: None,
            ..store_settings(config)
        };
        let shared: Arc<dyn Runtime> = SystemRuntime::new(tokio::runtime::Handle::current());
        let to = open_store(to, &settings, shared).await?;
        let report = tools::migrate(from, &*to, runtime).await?;
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
    let was = with_store(config, async |store, runtime| tools::unseal(store, runtime).await)?;
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
    work: impl AsyncFnOnce(&dyn Store, &dyn Runtime) -> Result<T, mintage_ledger::StoreError>,
) -> Result<T, Failure> {
    block_on(async {
        let runtime = SystemRuntime::new(tokio::runtime::Handle::current());
        let settings = StoreSettings {
            lock_wait: LOCK_WAIT,
            accept_copy: true,
            create: false,
            ..store_settings(config)
        };
        let folder = mintage_server::state_folder(config);
        let url = &config.store_url.0;
        let store = mintage_ledger::open_pinned(url, &settings, folder.as_deref(), runtime.clone())
            .await
            .map_err(store_refused)?;
        let done = work(&*store, &*runtime).await.map_err(store_refused)?;
        store.close().await.map_err(store_refused)?;
        Ok(done)
    })
}

fn file_refused(error: BackupError) -> Failure {
    match error {
        BackupError::Store(error) => store_refused(error),
        other => Failure::cannot(other),
    }
}
