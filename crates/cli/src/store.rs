//! `mint store`: the folder of the embedded store, while no process has it open; backups, checks and moves of every
//! store.

use std::path::{Path, PathBuf};

use clap::Subcommand;
use mintage_ledger::embedded::{self, RepairReport, ToolReport};
use mintage_ledger::{Advice, store_folder};
use mintage_server::advice;
use mintage_server::config::Config;
use serde_json::json;

use crate::config::{load, opening, store_given};
use crate::errors::Failure;
use crate::local::with_runtime;
use crate::out::Out;
use crate::store_stripes::StripesCommand;
use crate::store_tools::{self as tools, RestoreArgs, for_tools};
use crate::tls::TlsFiles;

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: StoreCommand,
    /// The store [default: that of the configuration, else the default folder of mint serve]
    #[arg(long, value_name = "URL", global = true)]
    store: Option<String>,
    /// Configuration file; without it ./mint.toml, if there is one
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
}

#[derive(Subcommand, Debug)]
enum StoreCommand {
    /// Declare a copied folder to be the store from now on; the original must never run again
    Adopt,
    /// Write everything the store must not lose to a file of JSON lines with a checksum; servers may run meanwhile
    Backup {
        /// The file, which must not exist; - for standard output
        file: String,
        /// Ask a running server for it: the only way while a server has the folder open
        #[arg(long, value_name = "URL", conflicts_with = "store")]
        server: Option<String>,
        #[command(flatten)]
        tls: TlsFiles,
    },
    /// Put a backup file into a store that is empty or absent; without one, make a folder or database safe to use that
    /// was itself put back. Every mark is raised above what may have been given out since
    Restore(RestoreArgs),
    /// Seal this store and go on in another: stops its servers, copies everything
    Migrate {
        /// The store to go on in: just made by mint init, or a new folder
        #[arg(long, value_name = "URL")]
        to: String,
    },
    /// Give a store back that was sealed for a move, if the other one was never used
    Unseal,
    /// Make a set of several stores, any one of which is enough, or add one to it
    Stripes {
        #[command(subcommand)]
        command: StripesCommand,
    },
    /// Verify everything and change nothing; exit code 1 if a start would be refused
    Check,
    /// Make a damaged folder usable again without lowering any mark
    Repair,
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<(), Failure> {
    let given = args.store.as_deref().map(store_given).unwrap_or_default();
    let loaded = load(args.config.as_deref(), given)?;
    // These name their stores, or ask a server for its own.
    let named = matches!(
        args.command,
        StoreCommand::Stripes { .. } | StoreCommand::Backup { server: Some(_), .. }
    );
    let config = match named {
        true => loaded.config,
        false => opening(loaded)?,
    };
    if !config.store_urls.is_empty() && !named {
        return Err(
            Failure::usage("store.urls is a set, and this works on one store at a time")
                .with_hint("name one with --store URL"),
        );
    }
    match &args.command {
        StoreCommand::Backup { file, server, tls } => match server {
            Some(server) => crate::store_online::backup(server, tls, file, out),
            None => tools::backup(&config, file, out),
        },
        StoreCommand::Migrate { to } => tools::migrate_to(&config, to, out),
        StoreCommand::Stripes { command } => crate::store_stripes::run(&config, command, out),
        StoreCommand::Unseal => tools::unseal(&config, out),
        StoreCommand::Restore(restore) => tools::restore(&config, restore, out),
        StoreCommand::Check => tools::check(&config, out),
        StoreCommand::Adopt => {
            let (folder, settings) = (folder(&config)?, for_tools(&config));
            let done = with_runtime(async |runtime| embedded::adopt(folder, &settings, runtime).await)?;
            adopted(folder, &done, out)
        }
        StoreCommand::Repair => {
            let (folder, settings) = (folder(&config)?, for_tools(&config));
            let done = with_runtime(async |runtime| embedded::repair(folder, &settings, runtime).await)?;
            repaired(folder, &done, out)
        }
    }
}

/// The folder of a store that has one.
fn folder(config: &Config) -> Result<&Path, Failure> {
    let none = || {
        let refused = format!("store {} has no folder", config.store_url.redacted());
        Failure::usage(refused).with_hint("name one with --store file:PATH")
    };
    store_folder(&config.store_url.0).ok_or_else(none)
}

fn adopted(folder: &Path, report: &ToolReport, out: &mut Out) -> Result<(), Failure> {
    if out.json {
        return out.json_line(&json!({
            "folder": folder.display().to_string(),
            "done": "adopted",
            "registers": report.registers,
            "warnings": report.opened.warnings,
        }));
    }
    for warning in &report.opened.warnings {
        out.note(format!("warning: {warning}"));
    }
    out.line(format!(
        "adopted {}: {} registers",
        folder.display(),
        report.registers
    ))
}

fn repaired(folder: &Path, report: &RepairReport, out: &mut Out) -> Result<(), Failure> {
    let in_doubt = report.may_lack_claims.then(|| {
        let advice = advice::words(Advice::RaiseIfInDoubt);
        format!("claims that only damaged witness records held may be lost: {advice}")
    });
    let warnings: Vec<&String> = report.warnings.iter().chain(&in_doubt).collect();
    if out.json {
        return out.json_line(&json!({
            "folder": folder.display().to_string(),
            "sound": report.sound,
            "repaired": report.repaired,
            "rebuilt": report.rebuilt,
            "warnings": warnings,
        }));
    }
    for line in &report.repaired {
        out.line(format!("repaired: {line}"))?;
    }
    for warning in &warnings {
        out.line(format!("warning: {warning}"))?;
    }
    out.line(format!(
        "{}: {} registers were sound, {} repaired{}",
        folder.display(),
        report.sound,
        report.repaired.len(),
        if report.rebuilt {
            ", mint.db made again"
        } else {
            ""
        }
    ))
}
