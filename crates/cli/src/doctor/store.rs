//! `mint doctor --store`: what the server of a store of ours may forget, and which of its settings decide that.

use mintage_ledger::doctor::FailOn;
use mintage_ledger::source::{FindingCode, Severity};
use mintage_ledger::{Probed, Setting, Standing, StoreSettings, probe_store};
use mintage_server::store_settings;
use serde_json::json;

use super::Args;
use crate::config::{load, opening, store_given};
use crate::errors::Failure;
use crate::local::with_runtime;
use crate::out::Out;

const HEAD: [&str; 4] = ["setting", "found", "wanted", "verdict"];

/// Looks at each store that is named: several are a set.
pub(super) fn run(args: &Args, out: &mut Out) -> Result<(), Failure> {
    if args.fix {
        return Err(Failure::usage(
            "--fix is for counters: the table of a store shows the statement of each setting",
        ));
    }
    let given = args.store.as_deref().map(store_given).unwrap_or_default();
    let config = opening(load(args.config.as_deref(), given)?)?;
    let settings = StoreSettings {
        request_timeout: args.timeout,
        connect_timeout: args.timeout,
        ..store_settings(&config)
    };
    let mut worst = None;
    for url in config.stores() {
        let probed = with_runtime(async |runtime| probe_store(&url.0, &settings, runtime).await)?;
        worst = worst.max(severity_of(&probed));
        match out.json {
            true => document(&url.redacted(), &probed, out)?,
            false => table(&url.redacted(), &probed, out)?,
        }
    }
    out.flush()?;
    let fails = |severity| args.fail_on.is_for(FindingCode::Lossy, severity);
    // A code that is named is that of class L.
    let fails = |severity| match &args.fail_on {
        FailOn::Codes(_) => severity == Severity::Error && fails(severity),
        _ => fails(severity),
    };
    match worst.is_some_and(fails) {
        true => Err(Failure::Negative),
        false => Ok(()),
    }
}

/// How bad it is that a setting stands like that.
fn severity(standing: Standing) -> Option<Severity> {
    match standing {
        Standing::Good => None,
        Standing::Note => Some(Severity::Info),
        Standing::Weak => Some(Severity::Warn),
        Standing::Lossy => Some(Severity::Error),
    }
}

/// The worst of all settings; a server that takes no writes serves nobody.
fn severity_of(probed: &Probed) -> Option<Severity> {
    let settings = probed.durability.settings.iter();
    let worst = settings.filter_map(|one| severity(one.standing)).max();
    worst.max(probed.unwritable.as_ref().map(|_| Severity::Error))
}

fn document(store: &str, probed: &Probed, out: &mut Out) -> Result<(), Failure> {
    let durability = &probed.durability;
    let setting = |one: &Setting| {
        json!({
            "name": one.name,
            "found": one.found,
            "wanted": one.wanted,
            "severity": severity(one.standing).map(Severity::as_str),
            "text": one.why,
            "fix": one.fix,
        })
    };
    out.json_line(&json!({
        "store": store,
        "class": durability.class.letter(),
        "meaning": durability.class.meaning(),
        "why": durability.why,
        "unwritable": probed.unwritable,
        "settings": durability.settings.iter().map(setting).collect::<Vec<_>>(),
    }))
}

fn table(store: &str, probed: &Probed, out: &mut Out) -> Result<(), Failure> {
    let durability = &probed.durability;
    let (letter, meaning) = (durability.class.letter(), durability.class.meaning());
    out.line(format!("{store}: class {letter}, {meaning}"))?;
    out.line(format!("  {}", durability.why))?;
    if let Some(why) = &probed.unwritable {
        out.line(format!("  ERROR it takes no writes now: {why}"))?;
    }
    let rows: Vec<[String; 4]> = durability.settings.iter().map(row).collect();
    let head = HEAD.map(String::from);
    let all = || [&head].into_iter().chain(&rows);
    let width = |at: usize| all().map(|row| row[at].chars().count()).max().unwrap_or_default();
    let widths = [0, 1, 2].map(width);
    for row in all() {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(widths) {
            line += &format!("{cell:width$}  ");
        }
        out.line(format!("{line}{}", row[3]))?;
    }
    for one in durability.wrong() {
        if let Some(fix) = &one.fix {
            out.line(format!("  fix {}  {fix}", one.name))?;
        }
    }
    Ok(())
}

fn row(one: &Setting) -> [String; 4] {
    let verdict = match severity(one.standing) {
        None => "ok".to_string(),
        Some(Severity::Info) => format!("info {}", one.why),
        Some(Severity::Warn) => format!("WARN {}", one.why),
        Some(Severity::Error) => format!("ERROR {}", one.why),
    };
    [
        one.name.to_string(),
        one.found.clone(),
        one.wanted.clone(),
        verdict,
    ]
}
