//! What can be asked of pools.

use mintage_local::name::Name;
use mintage_wire::{
    self as wire, Op, Pool, PoolChanged, PoolDefinition, PoolPage, PoolPatch, PoolWithWindows, Retired,
};

use crate::ask::Ask;
use crate::backend::{Backend, PAGE};
use crate::errors::Failure;

/// The pools of a server or store.
pub(super) struct Pools(pub(super) Backend);

impl Pools {
    pub(super) fn create(&self, name: &Name, wanted: &PoolDefinition) -> Result<Pool, Failure> {
        self.0.call(&ask(Op::CreatePool, name).saying(wanted))
    }

    /// All of them.
    pub(super) fn list(&self) -> Result<Vec<Pool>, Failure> {
        self.0.all(
            || Ask::new(Op::ListPools, &[]),
            |page: wire::Pools| (page.pools, page.next),
        )
    }

    /// A pool and all its windows.
    pub(super) fn show(&self, name: &Name) -> Result<PoolWithWindows, Failure> {
        let page = |from: u64| -> Result<PoolPage, Failure> {
            self.0
                .call(&ask(Op::ShowPool, name).with("limit", PAGE).with("from", from))
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

    pub(super) fn alter(&self, name: &Name, change: &PoolPatch) -> Result<PoolChanged, Failure> {
        self.0.call(&ask(Op::AlterPool, name).saying(change))
    }

    pub(super) fn drop_pool(&self, name: &Name) -> Result<(), Failure> {
        self.0.call(&ask(Op::DropPool, name))
    }

    pub(super) fn retire(&self, name: &Name, worker: u64) -> Result<(), Failure> {
        let ask = Ask::new(Op::RetireWindow, &[name.as_str(), &worker.to_string()]);
        self.0.call(&ask.saying(&Retired { retired: true }))
    }

    pub(super) fn release(&self, name: &Name, worker: u64) -> Result<(), Failure> {
        self.0
            .call(&Ask::new(Op::EndWindow, &[name.as_str(), &worker.to_string()]))
    }
}

fn ask(op: Op, name: &Name) -> Ask {
    Ask::new(op, &[name.as_str()])
}
