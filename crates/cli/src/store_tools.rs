//! `mint store backup|restore|check|migrate|unseal` on any store.

use std::fs::{self, File};
use std::io::{BufReader, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;

use mintage_ledger::tools::{self, Advance, Backup, BackupError, RestoreReport};
use mintage_ledger::{Runtime, Store, StoreSettings, SystemRuntime, open_store};
use mintage_server::config::{Config, StoreUrl};
use mintage_server::store_settings;
use serde_json::json;

use crate::errors::Failure;
use crate::local::{LOCK_WAIT, block_on, open_configured, store_refused};
use crate::out::Out;
use crate::store::WINDOW_MAX;

/// How much a restore skips, by what was said.
pub(crate) fn advance(advance: Option<u64>, max_rate: Option<u64>) -> Result<Advance, Failure> {
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
    let mut text = Vec::new();
    let many = block_on(async {
        let runtime = SystemRuntime::new(tokio::runtime::Handle::current());
        let store = open_configured(config, runtime.clone()).await?;
        let many = tools::back_up(&*store, &mut text, &*runtime)
            .await
            .map_err(file_refused)?;
        store.close().await.map_err(store_refused)?;
        Ok(many)
    })?;
    if file == "-" {
        out.buffer().extend_from_slice(&text);
        return out.written();
    }
    write_anew(Path::new(file), &text)
        .map_err(|e| Failure::cannot(format_args!("cannot write {file}: {e}")))?;
    let store = config.store_url.redacted();
    if out.json {
        return out.json_line(&json!({ "store": store, "file": file, "registers": many }));
    }
    out.line(format!("backed up {store} to {file}: {many} registers"))
}

/// Writes a file that must not exist, durably; half of one is not left behind under its name.
fn write_anew(path: &Path, text: &[u8]) -> std::io::Result<()> {
    let draft = path.with_extension("unfinished");
    match fs::remove_file(&draft) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    // It holds every counter: for this user alone.
    let mut file = File::options()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&draft)?;
    file.write_all(text)?;
    file.sync_all()?;
    // A link refuses to replace what is there.
    let linked = fs::hard_link(&draft, path);
    fs::remove_file(&draft)?;
    linked
}

pub(crate) fn restore(
    config: &Config,
    file: &Path,
    advance: Advance,
    flags: (bool, bool),
    out: &mut Out,
) -> Result<(), Failure> {
    let opened =
        File::open(file).map_err(|e| Failure::cannot(format_args!("cannot read {}: {e}", file.display())))?;
    let backup = Backup::read(BufReader::new(opened)).map_err(|error| match error {
        BackupError::Damaged { .. } => {
            Failure::cannot(format_args!("{} is no whole backup: {error}", file.display()))
        }
        other => file_refused(other),
    })?;
    let window = config.window.0.unwrap_or(WINDOW_MAX);
    let report = with_store(config, true, async |store, runtime| {
        tools::restore_into(store, &backup, advance, window, flags, runtime).await
    })?;
    restored(config, &report, out)
}

pub(crate) fn raise(config: &Config, advance: Advance, out: &mut Out) -> Result<(), Failure> {
    let window = config.window.0.unwrap_or(WINDOW_MAX);
    let report = with_store(config, false, async |store, runtime| {
        tools::raise_in_place(store, advance, window, runtime).await
    })?;
    restored(config, &report, out)
}

fn restored(config: &Config, report: &RestoreReport, out: &mut Out) -> Result<(), Failure> {
    let store = config.store_url.redacted();
    if out.json {
        return out.json_line(&json!({
            "store": store,
            "registers": report.registers,
            "skipped": report.skipped,
            "age_s": report.age.as_secs(),
        }));
    }
    out.line(format!(
        "restored {store}: {} registers, every sequence skips {} numbers (the backup is {} s old)",
        report.registers,
        report.skipped,
        report.age.as_secs()
    ))
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
    let target = StoreUrl(to.to_string());
    let report = with_store(config, false, async |from, runtime| {
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
    let was = with_store(config, false, async |store, runtime| {
        tools::unseal(store, runtime).await
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

/// Opens the store for a tool, which may meet another copy of the data than the servers knew. With `create` an embedded
/// one may be made.
fn with_store<T>(
    config: &Config,
    create: bool,
    work: impl AsyncFnOnce(&dyn Store, &dyn Runtime) -> Result<T, mintage_ledger::StoreError>,
) -> Result<T, Failure> {
    block_on(async {
        let runtime = SystemRuntime::new(tokio::runtime::Handle::current());
        let settings = StoreSettings {
            lock_wait: LOCK_WAIT,
            accept_copy: true,
            create,
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
