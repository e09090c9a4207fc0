//! `mint init`: makes the schema and the cluster id of a shared store (protocol R5), which nothing else ever does; or the
//! folder of an embedded one, which a start makes too unless `store.create` is off.

use std::path::PathBuf;

use mintage_ledger::{StoreSettings, SystemRuntime, init_store};
use mintage_server::config::Override;
use mintage_server::store_settings;
use serde_json::json;

use crate::config::{load, opening};
use crate::errors::Failure;
use crate::local::store_refused;
use crate::out::Out;
use crate::runtime::block_on;

#[derive(clap::Args, Debug)]
#[command(
    after_help = "Needs the right to create tables or keys; the server itself needs only to read and write them. \
                        Doing it again changes nothing. A store that is restored from a backup takes the cluster id \
                        of the old one: --cluster-id."
)]
pub(crate) struct Args {
    /// The store [default: that of the configuration]
    #[arg(long, value_name = "URL")]
    store: Option<String>,
    /// The cluster id to give it, 32 hexadecimal digits [default: a random one]
    #[arg(long, value_name = "ID")]
    cluster_id: Option<String>,
    /// Configuration file; without it ./mint.toml, if there is one
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<(), Failure> {
    let given = |path: &str, flag: &str, value: &Option<String>| {
        value.clone().map(|value| Override {
            path: path.into(),
            value,
            flag: flag.into(),
        })
    };
    let overrides = [
        given("store.url", "--store", &args.store),
        given("store.cluster_id", "--cluster-id", &args.cluster_id),
    ];
    let config = opening(load(
        args.config.as_deref(),
        overrides.into_iter().flatten().collect(),
    )?)?;
    let settings: StoreSettings = store_settings(&config);
    let made = block_on(async {
        let runtime = SystemRuntime::new(tokio::runtime::Handle::current());
        init_store(&config.store_url.0, &settings, runtime)
            .await
            .map_err(store_refused)
    })?;
    let store = config.store_url.redacted();
    let id = format!("{:032x}", made.cluster_id);
    if out.json {
        return out.json_line(&json!({ "store": store, "cluster_id": id, "created": made.created }));
    }
    let what = if made.created { "made" } else { "exists already" };
    out.line(format!("{store}: {what}, cluster {id}"))
}
