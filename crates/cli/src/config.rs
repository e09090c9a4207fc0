//! `mint config`, and where every command that opens a store or a port takes its configuration from.

use std::path::{Path, PathBuf};

use clap::Subcommand;
use mintage_ledger::{SystemRuntime, check_store_url};
use mintage_server::config::{self, Config, ConfigError, Loaded, Override, Sources};
use mintage_server::store_settings;
use serde_json::{Map, json};

use crate::errors::Failure;
use crate::out::Out;
use crate::runtime::block_on;

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: ConfigCommand,
}

#[derive(Subcommand, Debug)]
enum ConfigCommand {
    /// Print a commented configuration with every setting and its default
    Init,
    /// Print every value and where it came from; secrets as ***
    Show(FileArg),
    /// Say whether the configuration can be used
    Check(FileArg),
}

/// The file to read.
#[derive(clap::Args, Debug)]
pub(crate) struct FileArg {
    /// Configuration file; without it ./mint.toml, if there is one
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<(), Failure> {
    match &args.command {
        ConfigCommand::Init => {
            let file = config::default_file();
            if out.json {
                out.json_line(&json!({ "file": file }))
            } else {
                out.line(file.trim_end())
            }
        }
        ConfigCommand::Show(file) => show(&load(file.config.as_deref(), Vec::new())?, out),
        ConfigCommand::Check(file) => {
            let loaded = load(file.config.as_deref(), Vec::new())?;
            let warnings = validated(&loaded)?;
            check_stores(&loaded)?;
            if out.json {
                return out.json_line(&json!({"valid": true, "warnings": warnings}));
            }
            for warning in warnings {
                out.note(format!("warning: {warning}"));
            }
            out.line("the configuration can be used")
        }
    }
}

fn show(loaded: &Loaded, out: &mut Out) -> Result<(), Failure> {
    if out.json {
        let rows = loaded
            .rows()
            .map(|(key, value, origin)| {
                (
                    key.path.to_string(),
                    json!({"value": value, "from": origin.to_string()}),
                )
            })
            .collect::<Map<_, _>>();
        return out.json_line(&rows);
    }
    let rows: Vec<(String, String)> = loaded
        .rows()
        .map(|(key, value, origin)| (format!("{} = {value}", key.path), origin.to_string()))
        .collect();
    let width = rows
        .iter()
        .map(|(left, _)| left.chars().count())
        .max()
        .unwrap_or(0)
        .min(60);
    for (left, origin) in rows {
        out.line(format!("{left:width$}  # {origin}"))?;
    }
    Ok(())
}

/// Reads the configuration: defaults, file, environment, then the flags given here.
pub(crate) fn load(file: Option<&Path>, overrides: Vec<Override>) -> Result<Loaded, Failure> {
    read(file, overrides).map_err(refused)
}

/// The same, for who tells of an error in another way.
pub(crate) fn read(file: Option<&Path>, overrides: Vec<Override>) -> Result<Loaded, ConfigError> {
    let sources = Sources {
        file: file.map(Path::to_path_buf),
        default_file: Some(PathBuf::from("mint.toml")),
        environment: std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect(),
        overrides,
    };
    config::load(&sources)
}

/// What `--store` says: one URL, or several with blanks between, which are a set.
pub(crate) fn store_given(text: &str) -> Vec<Override> {
    let given = |path: &str, value: &str| Override {
        path: path.into(),
        value: value.into(),
        flag: "--store".into(),
    };
    match text.split_whitespace().count() {
        0 | 1 => vec![given("store.url", text), given("store.urls", "")],
        _ => vec![given("store.urls", text)],
    }
}

/// Checks settings against each other; gives what the operator should be warned of.
pub(crate) fn validated(loaded: &Loaded) -> Result<Vec<String>, Failure> {
    loaded.check_files().map_err(refused)?;
    loaded.config.validate().map_err(refused)
}

/// The configuration of a command that opens the store it names.
pub(crate) fn opening(loaded: Loaded) -> Result<Config, Failure> {
    loaded.check_default_folder(Path::new(".")).map_err(refused)?;
    Ok(loaded.config)
}

/// Reads the URLs of the configured stores as opening them would, and connects to nothing.
pub(crate) fn check_stores(loaded: &Loaded) -> Result<(), Failure> {
    loaded.check_default_folder(Path::new(".")).map_err(refused)?;
    let config = &loaded.config;
    let settings = store_settings(config);
    block_on(async {
        let runtime = SystemRuntime::new(tokio::runtime::Handle::current());
        for url in config.stores() {
            check_store_url(&url.0, &settings, runtime.clone()).map_err(|error| {
                // Not the URL: a password may stand in the wrong place.
                Failure::usage(error.message).with_hint_if(error.hint.map(mintage_server::advice::words))
            })?;
        }
        Ok(())
    })
}

/// A configuration that cannot be used is wrong usage.
pub(crate) fn refused(error: ConfigError) -> Failure {
    Failure::usage(&error).with_hint_if(error.hint)
}

#[cfg(test)]
mod tests {
    /// The page ends with the table that the code makes; `MINT_TEST_UPDATE=1` writes it.
    #[test]
    fn the_reference_page_is_what_the_code_says() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/configuration.md");
        let text = std::fs::read_to_string(page).unwrap();
        let head = text.split("| setting |").next().unwrap();
        crate::install_faces();
        let right = format!("{head}{}", mintage_server::config::reference());
        if std::env::var_os("MINT_TEST_UPDATE").is_some() {
            std::fs::write(page, right).unwrap();
        } else {
            assert!(
                text == right,
                "docs/configuration.md is out of date: MINT_TEST_UPDATE=1 rewrites it"
            );
        }
    }
}
