//! Where pools are: behind a server, or in a store opened here. Both answer in the documents of the HTTP
//! interface, so everything above is written once.

use std::time::Duration;

use mintage::{Layout, Role, Timestamp};
use mintage_ledger::{LedgerError, Name, PoolInfo, PoolKind, PoolSpec, WindowInfo};
use serde_json::{Map, Value, json};

use crate::connect::{Client, server_url};
use crate::errors::Failure;
use crate::local::{Local, refused};
use crate::time::shown;

/// Where the pools are.
pub(super) enum Backend {
    Server(Client),
    Store(Local),
}

/// Pools or windows of one page.
const PAGE: u16 = 1000;

impl Backend {
    /// The store given, else the server given, else the one of the environment.
    pub(super) fn open(server: Option<&str>, store: Option<&str>) -> Result<Backend, Failure> {
        match store {
            Some(url) => Local::open(url).map(Backend::Store),
            None => Client::new(&server_url(server)).map(Backend::Server),
        }
    }

    pub(super) fn close(self) -> Result<(), Failure> {
        match self {
            Backend::Server(_) => Ok(()),
            Backend::Store(local) => local.close(),
        }
    }

    pub(super) fn create(&self, name: &Name, spec: &PoolSpec) -> Result<Value, Failure> {
        match self {
            Backend::Server(client) => client.call("PUT", &path(name), Some(&definition(spec))),
            Backend::Store(local) => {
                let pool = local.run(async |ledger| ledger.create_pool(name, spec.clone()).await)?;
                Ok(document(&pool.info()))
            }
        }
    }

    /// All of them, page by page.
    pub(super) fn list(&self) -> Result<Vec<Value>, Failure> {
        let mut all: Vec<Value> = Vec::new();
        loop {
            let after = all
                .last()
                .and_then(|pool| pool["name"].as_str())
                .map(String::from);
            let page = self.page(after.as_deref())?;
            let full = page.len() == usize::from(PAGE);
            all.extend(page);
            if !full {
                return Ok(all);
            }
        }
    }

    fn page(&self, after: Option<&str>) -> Result<Vec<Value>, Failure> {
        match self {
            Backend::Server(client) => {
                let after = after.map(|name| format!("&after={name}")).unwrap_or_default();
                let answer = client.call("GET", &format!("/v1/pools?limit={PAGE}{after}"), None)?;
                Ok(answer["pools"].as_array().cloned().unwrap_or_default())
            }
            Backend::Store(local) => {
                let after = after.map(Name::new).transpose().map_err(Failure::cannot)?;
                let page = local.run(async |ledger| ledger.pools(after.as_ref(), PAGE).await)?;
                Ok(page.iter().map(document).collect())
            }
        }
    }

    /// A pool and all its windows.
    pub(super) fn show(&self, name: &Name) -> Result<Value, Failure> {
        match self {
            Backend::Server(client) => client.call("GET", &path(name), None),
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
                let mut shown = document(&pool.info());
                shown["windows"] = windows.iter().map(window).collect();
                Ok(shown)
            }
        }
    }

    pub(super) fn release(&self, name: &Name, worker: u64) -> Result<(), Failure> {
        match self {
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

fn path(name: &Name) -> String {
    // The grammar of names holds nothing that a path must escape.
    format!("/v1/pools/{name}")
}

/// A definition as the HTTP interface takes it.
fn definition(spec: &PoolSpec) -> Value {
    let mut definition = Map::new();
    definition.insert("kind".into(), spec.kind.as_str().into());
    if let PoolKind::Snowflake(layout) = &spec.kind {
        definition.insert("layout".into(), layout_document(layout));
    }
    if let Some(window) = spec.window {
        definition.insert("window_ms".into(), millis(window).into());
    }
    definition.into()
}

/// What a pool is and what this process holds of it.
fn document(info: &PoolInfo) -> Value {
    json!({
        "name": info.name.as_str(),
        "kind": info.kind.as_str(),
        "layout": match &info.kind {
            PoolKind::Snowflake(layout) => layout_document(layout),
            PoolKind::Uuid1 { .. } => Value::Null,
        },
        "workers": info.workers,
        "window": format!("{:?}", info.window),
        "window_ms": millis(info.window),
        "ends": shown(info.ends),
        "worker": info.worker,
        "until": info.until.map(shown),
    })
}

/// Who holds, or held, a worker until when.
fn window(info: &WindowInfo) -> Value {
    let ms = |at: Timestamp| shown(Timestamp::from_unix_millis(at.unix_millis()));
    json!({
        "worker": info.worker,
        "owner": info.owner,
        "name": info.name,
        "from": ms(info.from),
        "until": ms(info.until),
        "written": ms(info.written),
        "lasts": info.lasts,
        "ours": info.ours,
    })
}

fn layout_document(layout: &Layout) -> Value {
    let fields = layout.fields().iter().map(|field| {
        let mut shown = json!({"name": field.name, "bits": field.bits, "role": role(field.role)});
        if let Role::Constant(value) = field.role {
            shown["value"] = value.to_string().into();
        }
        shown
    });
    json!({
        "name": layout.name(),
        "fields": fields.collect::<Vec<Value>>(),
        "tick_ns": u64::try_from(layout.tick().as_nanos()).unwrap_or(u64::MAX).to_string(),
        "epoch_unix_ns": layout.epoch().unix_nanos().to_string(),
    })
}

fn role(role: Role) -> &'static str {
    match role {
        Role::Time => "time",
        Role::Worker => "worker",
        Role::Sequence => "sequence",
        Role::Rollback => "rollback",
        _ => "constant",
    }
}

/// A layout as a person reads it: its preset, or its fields.
pub(super) fn layout_words(layout: &Map<String, Value>) -> String {
    let name = layout.get("name").and_then(Value::as_str).unwrap_or_default();
    if mintage::preset(name).is_some() {
        return name.to_string();
    }
    let fields = layout.get("fields").and_then(Value::as_array);
    let words = fields.into_iter().flatten().map(|field| {
        let name = field["name"].as_str().unwrap_or_default();
        format!("{name}:{}", field["bits"])
    });
    words.collect::<Vec<String>>().join(" ")
}

fn millis(length: Duration) -> u64 {
    u64::try_from(length.as_millis()).unwrap_or(u64::MAX)
}
