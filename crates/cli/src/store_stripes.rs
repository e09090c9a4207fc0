//! `mint store stripes`: sets of stores, any one of which is enough.

use std::sync::Arc;

use clap::Subcommand;
use mintage_ledger::tools::{add_to_set, make_set};
use mintage_ledger::{Store, StoreSettings, StripeNote, SystemRuntime, open_store, stripe_of};
use mintage_server::config::{Config, StoreUrl};
use serde_json::json;

use crate::errors::Failure;
use crate::local::store_refused;
use crate::out::Out;
use crate::runtime::block_on;
use crate::store_tools::for_tools;

#[derive(Subcommand, Debug)]
pub(crate) enum StripesCommand {
    /// Make a set of stores that mint init has just made
    Make {
        /// The stores
        #[arg(value_name = "URL", required = true, num_args = 2..)]
        stores: Vec<String>,
    },
    /// Add a store that mint init has just made to a set: its servers stop, and start again with one URL more
    Add {
        /// The new store
        #[arg(value_name = "URL")]
        new: String,
        /// Every store of the set
        #[arg(long, value_name = "URL", required = true, num_args = 1..)]
        to: Vec<String>,
    },
    /// Show the place of stores in their set
    Show {
        /// The stores
        #[arg(value_name = "URL", required = true)]
        stores: Vec<String>,
    },
}

pub(crate) fn run(config: &Config, command: &StripesCommand, out: &mut Out) -> Result<(), Failure> {
    match command {
        StripesCommand::Make { stores } => {
            let notes = block_on(async {
                let (opened, runtime) = open_all(config, stores).await?;
                let borrowed: Vec<&dyn Store> = opened.iter().map(|store| &**store).collect();
                make_set(&borrowed, &*runtime).await.map_err(store_refused)
            })?;
            stores
                .iter()
                .zip(&notes)
                .try_for_each(|(url, note)| tell(url, Some(note), out))
        }
        StripesCommand::Add { new, to } => {
            let note = block_on(async {
                let (opened, runtime) = open_all(config, to).await?;
                let borrowed: Vec<&dyn Store> = opened.iter().map(|store| &**store).collect();
                let (added, _) = open_all(config, std::slice::from_ref(new)).await?;
                add_to_set(&borrowed, &*added[0], &*runtime)
                    .await
                    .map_err(store_refused)
            })?;
            tell(new, Some(&note), out)
        }
        StripesCommand::Show { stores } => {
            let notes = block_on(async {
                let (opened, _) = open_all(config, stores).await?;
                let mut notes = Vec::with_capacity(opened.len());
                for store in &opened {
                    notes.push(stripe_of(&**store).await.map_err(store_refused)?);
                }
                Ok(notes)
            })?;
            stores
                .iter()
                .zip(&notes)
                .try_for_each(|(url, note)| tell(url, note.as_ref(), out))
        }
    }
}

async fn open_all(
    config: &Config,
    urls: &[String],
) -> Result<(Vec<Arc<dyn Store>>, Arc<SystemRuntime>), Failure> {
    let runtime = SystemRuntime::new(tokio::runtime::Handle::current());
    let settings = StoreSettings {
        expect_cluster: None,
        ..for_tools(config)
    };
    let mut opened = Vec::with_capacity(urls.len());
    for url in urls {
        let store = open_store(url, &settings, runtime.clone()).await;
        opened.push(store.map_err(store_refused)?);
    }
    Ok((opened, runtime))
}

fn tell(url: &str, note: Option<&StripeNote>, out: &mut Out) -> Result<(), Failure> {
    let store = StoreUrl(url.to_string()).redacted();
    if out.json {
        return out.json_line(&json!({
            "store": store,
            "set": note.map(|note| &note.set),
            "number": note.map(|note| note.number),
            "of": note.map(|note| note.of),
        }));
    }
    out.line(match note {
        Some(note) => format!(
            "{store}: store {} of {} in set {}",
            note.number, note.of, note.set
        ),
        None => format!("{store}: not in a set"),
    })
}
