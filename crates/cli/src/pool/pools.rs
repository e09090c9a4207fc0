//! What can be asked of pools: server and store answer both in the documents of the wire, so everything above is
//! written once.

use mintage_ledger::{LedgerError, Name, PoolKind, PoolSpec, WindowInfo};
use mintage_server::{render, requests};
use mintage_wire::{self as wire, Op, Pool, PoolDefinition, PoolPage, PoolWithWindows, Retired};

use crate::backend::{Backend, PAGE, all};
use crate::connect::{Ask, Client};
use crate::errors::Failure;

/// The pools of a server or store.
pub(super) struct Pools(pub(super) Backend);

impl Pools {
    pub(super) fn create(&self, name: &Name, spec: &PoolSpec) -> Result<Pool, Failure> {
        let wanted = definition(spec);
        match &self.0 {
            Backend::Server(client) => {
                client.call(&Ask::new(Op::CreatePool, &[name.as_str()]).saying(&wanted))
            }
            Backend::Store(local) => {
                let spec = requests::pool_spec(&wanted)?;
                let pool = local.run(async |ledger| ledger.create_pool(name, spec).await)?;
                Ok(render::pool(&pool.info()))
            }
        }
    }

    /// All of them.
    pub(super) fn list(&self) -> Result<Vec<Pool>, Failure> {
        all(|after| match &self.0 {
            Backend::Server(client) => {
                let ask = Ask::new(Op::ListPools, &[]).with("limit", PAGE);
                let page: wire::Pools = client.call(&ask.with_if("after", after))?;
                Ok((page.pools, page.next))
            }
            Backend::Store(local) => {
                let after = after.map(Name::new).transpose().map_err(Failure::cannot)?;
                let page = local.run(async |ledger| ledger.pools(after.as_ref(), PAGE).await)?;
                let full = page.last().filter(|_| page.len() == usize::from(PAGE));
                let next = full.map(|info| info.name.to_string());
                Ok((page.iter().map(render::pool).collect(), next))
            }
        })
    }

    /// A pool and all its windows.
    pub(super) fn show(&self, name: &Name) -> Result<PoolWithWindows, Failure> {
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
                Ok(PoolWithWindows {
                    pool: render::pool(&pool.info()),
                    windows: windows.iter().map(render::window).collect(),
                })
            }
        }
    }

    pub(super) fn drop_pool(&self, name: &Name) -> Result<(), Failure> {
        match &self.0 {
            Backend::Server(client) => client.call(&Ask::new(Op::DropPool, &[name.as_str()])),
            Backend::Store(local) => local.run(async |ledger| ledger.drop_pool(name).await),
        }
    }

    pub(super) fn retire(&self, name: &Name, worker: u64) -> Result<(), Failure> {
        match &self.0 {
            Backend::Server(client) => {
                let retired = Retired { retired: true };
                client
                    .call(&Ask::new(Op::RetireWindow, &[name.as_str(), &worker.to_string()]).saying(&retired))
            }
            Backend::Store(local) => {
                let pool = local.run(async |ledger| ledger.pool_or_default(name).await)?;
                local.run(async |_| pool.retire(worker).await)
            }
        }
    }

    pub(super) fn release(&self, name: &Name, worker: u64) -> Result<(), Failure> {
        match &self.0 {
            Backend::Server(client) => {
                client.call(&Ask::new(Op::EndWindow, &[name.as_str(), &worker.to_string()]))
            }
            Backend::Store(local) => {
                let pool = local.run(async |ledger| ledger.pool_or_default(name).await)?;
                // A window that lasts is no wrong usage.
                let released = local.run(async |_| Ok(pool.release(worker).await))?;
                released.map_err(|error| match error {
                    LedgerError::Invalid(why) => Failure::cannot(why),
                    other => other.into(),
                })
            }
        }
    }
}

/// A pool of a server and all its windows, page by page.
fn show_all(client: &Client, name: &Name) -> Result<PoolWithWindows, Failure> {
    let page = |from: u64| -> Result<PoolPage, Failure> {
        let ask = Ask::new(Op::ShowPool, &[name.as_str()]).with("limit", PAGE);
        client.call(&ask.with("from", from))
    };
    let PoolPage {
        mut shown,
        mut next_from,
    } = page(0)?;
    while let Some(from) = next_from {
        let more = page(from)?;
        shown.windows.extend(more.shown.windows);
        next_from = more.next_from;
    }
    Ok(shown)
}

/// A definition as a document.
fn definition(spec: &PoolSpec) -> PoolDefinition {
    PoolDefinition {
        kind: Some(spec.kind.as_str().into()),
        layout: match &spec.kind {
            PoolKind::Snowflake(layout) => Some(layout.spec()),
            PoolKind::Uuid1 { .. } => None,
        },
        preset: None,
        window_ms: spec
            .window
            .map(|window| u64::try_from(window.as_millis()).unwrap_or(u64::MAX)),
        clock_policy: spec.clock_policy.map(|policy| policy.to_string()),
    }
}
