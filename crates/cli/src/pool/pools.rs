//! What can be asked of pools: server and store answer both in the documents of the HTTP interface, so everything
//! above is written once.

use std::time::Duration;

use mintage_ledger::{LedgerError, Name, PoolKind, PoolSpec, WindowInfo};
use serde_json::{Map, Value, json};

use crate::backend::{Backend, PAGE};
use crate::connect::{Client, escaped};
use crate::errors::Failure;
use crate::local::refused;
use mintage_server::render;

/// The pools of a server or store.
pub(super) struct Pools(pub(super) Backend);

impl Pools {
    pub(super) fn create(&self, name: &Name, spec: &PoolSpec) -> Result<Value, Failure> {
        match &self.0 {
            Backend::Server(client) => client.call("PUT", &path(name), Some(&definition(spec))),
            Backend::Store(local) => {
                let pool = local.run(async |ledger| ledger.create_pool(name, spec.clone()).await)?;
                Ok(render::pool(&pool.info()))
            }
        }
    }

    /// All of them.
    pub(super) fn list(&self) -> Result<Vec<Value>, Failure> {
        self.0.list("pools", |local, after| {
            let page = local.run(async |ledger| ledger.pools(after, PAGE).await)?;
            Ok(page.iter().map(render::pool).collect())
        })
    }

    /// A pool and all its windows.
    pub(super) fn show(&self, name: &Name) -> Result<Value, Failure> {
        match &self.0 {
            Backend::Server(client) => show_all(client, name),
            Backend::Store(local) => {
                let pool = local.run(async |ledger| ledger.pool_or_default(name).await)?;
                let mut windows: Vec<WindowInfo> = Vec::new();
                loop {
                    let first = windows.last().map_or(0, |window| window.worker + 1);
                    let page = local.run(async |_| pool.windows(first, PAGE).await)?;
                    let full = page.len() == usize::from(PAGE);
                    windows.extend(page);
                    if !full {
                        break;
                    }
                }
                local.run(async |_| pool.count_held().await)?;
                let mut shown = render::pool(&pool.info());
                shown["windows"] = windows.iter().map(render::window).collect();
                Ok(shown)
            }
        }
    }

    pub(super) fn drop_pool(&self, name: &Name) -> Result<(), Failure> {
        match &self.0 {
            Backend::Server(client) => client.call("DELETE", &path(name), None).map(drop),
            Backend::Store(local) => local.run(async |ledger| ledger.drop_pool(name).await),
        }
    }

    pub(super) fn retire(&self, name: &Name, worker: u64) -> Result<(), Failure> {
        match &self.0 {
            Backend::Server(client) => {
                let path = format!("{}/windows/{worker}", path(name));
                client
                    .call("PUT", &path, Some(&json!({"retired": true})))
                    .map(drop)
            }
            Backend::Store(local) => {
                let pool = local.run(async |ledger| ledger.pool_or_default(name).await)?;
                local.run(async |_| pool.retire(worker).await)
            }
        }
    }

    pub(super) fn release(&self, name: &Name, worker: u64) -> Result<(), Failure> {
        match &self.0 {
            Backend::Server(client) => client
                .call("DELETE", &format!("{}/windows/{worker}", path(name)), None)
                .map(drop),
            Backend::Store(local) => {
                let pool = local.run(async |ledger| ledger.pool_or_default(name).await)?;
                // A window that lasts is no wrong usage.
                let released = local.run(async |_| Ok(pool.release(worker).await))?;
                released.map_err(|error| match error {
                    LedgerError::Invalid(why) => Failure::cannot(why),
                    other => refused(other),
                })
            }
        }
    }
}

/// A pool of a server and all its windows, page by page.
fn show_all(client: &Client, name: &Name) -> Result<Value, Failure> {
    let page = |from: &Value| client.call("GET", &format!("{}?limit={PAGE}&from={from}", path(name)), None);
    let mut shown = page(&Value::from(0))?;
    let mut next = shown["next_from"].take();
    while next.is_number() {
        let mut more = page(&next)?;
        if let (Some(all), Some(windows)) = (shown["windows"].as_array_mut(), more["windows"].as_array_mut())
        {
            all.append(windows);
        }
        next = more["next_from"].take();
    }
    if let Some(fields) = shown.as_object_mut() {
        fields.remove("next_from");
    }
    Ok(shown)
}

fn path(name: &Name) -> String {
    format!("/v1/pools/{}", escaped(name))
}

/// A definition as the HTTP interface takes it.
fn definition(spec: &PoolSpec) -> Value {
    let mut definition = Map::new();
    definition.insert("kind".into(), spec.kind.as_str().into());
    if let PoolKind::Snowflake(layout) = &spec.kind {
        definition.insert("layout".into(), layout.spec().into());
    }
    if let Some(window) = spec.window {
        definition.insert("window_ms".into(), millis(window).into());
    }
    if let Some(policy) = spec.clock_policy {
        definition.insert("clock_policy".into(), policy.to_string().into());
    }
    definition.into()
}

fn millis(length: Duration) -> u64 {
    u64::try_from(length.as_millis()).unwrap_or(u64::MAX)
}
