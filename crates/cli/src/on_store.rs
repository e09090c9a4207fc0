//! The operations on sequences and pools in a store opened here, with the documents that a server answers.

use mintage::Uuid;
use mintage_ledger::{Ledger, LedgerError, Name};
use mintage_server::error::ServiceError;
use mintage_server::service::from_ledger;
use mintage_server::{render, requests};
use mintage_wire::{Ids, Op, PoolPage, PoolWithWindows, Pools, Sequences};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::ask::Ask;
use crate::errors::Failure;
use crate::local::Local;
use crate::refusal::refused;

impl Local {
    /// Does an operation; an empty answer is `null`.
    pub(crate) fn answer(&self, ask: &Ask) -> Result<Value, Failure> {
        match ask.op {
            Op::ListSequences | Op::ListPools => self.list(ask),
            Op::CreatePool
            | Op::AlterPool
            | Op::ShowPool
            | Op::DropPool
            | Op::RetireWindow
            | Op::EndWindow => self.of_pool(ask, &named(ask)?),
            _ => self.of_sequence(ask, &named(ask)?),
        }
    }

    fn list(&self, ask: &Ask) -> Result<Value, Failure> {
        let limit = number(ask, "limit")? as u16;
        let after = ask.parameter("after").map(Name::new);
        let after = after.transpose().map_err(Failure::cannot)?;
        // A page that is full may have another behind it.
        let next = |count: usize, last: Option<&Name>| {
            last.filter(|_| count == usize::from(limit)).map(Name::to_string)
        };
        match ask.op {
            Op::ListPools => {
                let page = self.run(async |ledger| ledger.pools(after.as_ref(), limit).await)?;
                json(&Pools {
                    pools: page.iter().map(render::pool).collect(),
                    next: next(page.len(), page.last().map(|info| &info.name)),
                })
            }
            _ => {
                let page = self.run(async |ledger| ledger.list(after.as_ref(), limit).await)?;
                json(&Sequences {
                    sequences: page.iter().map(render::sequence).collect(),
                    next: next(page.len(), page.last().map(|info| &info.name)),
                })
            }
        }
    }

    fn of_sequence(&self, ask: &Ask, name: &Name) -> Result<Value, Failure> {
        match ask.op {
            Op::CreateSequence => {
                let spec = requests::sequence_spec(&document(ask)?)?;
                let info = self.run(async |ledger| ledger.create(name, &spec).await)?;
                json(&render::sequence(&info))
            }
            Op::AlterSequence => {
                let patch = requests::sequence_patch(&document(ask)?)?;
                let done = self.run(async |ledger| ledger.alter(name, &patch).await)?;
                json(&render::changed(&done))
            }
            Op::RestartSequence => {
                let (base, allow_repeat) = requests::base(&document(ask)?);
                let done = self.run(async |ledger| ledger.restart(name, base, allow_repeat).await)?;
                json(&render::changed(&done))
            }
            Op::DropSequence => {
                self.run(async |ledger| ledger.drop_sequence(name).await)?;
                Ok(Value::Null)
            }
            Op::ShowSequence => {
                let info = self.run(async |ledger| ledger.show(name).await)?;
                json(&render::sequence(&info))
            }
            Op::Next if ask.parameter("as") == Some("range") => {
                let count = number(ask, "count")?;
                let take = async |ledger: &Ledger| {
                    let sequence = ledger.sequence_or_create(name).await?;
                    let run = sequence.take_contiguous(count).await?;
                    Ok((run, sequence.is_cycling()))
                };
                let (run, cycling) = self.run(take)?;
                json(&render::range(run, cycling))
            }
            Op::Next => {
                let count = number(ask, "count")?;
                let take = async |ledger: &Ledger| ledger.sequence_or_create(name).await?.take(count).await;
                let ids = self.run(take)?.iter().map(|n| n.to_string()).collect();
                json(&Ids { ids, cycle: false })
            }
            other => unreachable!("no command asks a store for {other:?}"),
        }
    }

    fn of_pool(&self, ask: &Ask, name: &Name) -> Result<Value, Failure> {
        if ask.op == Op::CreatePool {
            let spec = requests::pool_spec(&document(ask)?)?;
            let pool = self.run(async |ledger| ledger.create_pool(name, spec).await)?;
            return json(&render::pool(&pool.info()));
        }
        if ask.op == Op::AlterPool {
            let change = requests::avoid_change(&document(ask)?)?;
            let avoided = self.run(async |ledger| ledger.avoid_workers(name, &change).await)?;
            return json(&render::avoided(&avoided));
        }
        if ask.op == Op::DropPool {
            self.run(async |ledger| ledger.drop_pool(name).await)?;
            return Ok(Value::Null);
        }
        let pool = self.run(async |ledger| ledger.pool_or_default(name).await)?;
        let worker = || ask.arguments[1].parse().map_err(Failure::usage);
        match ask.op {
            Op::RetireWindow => {
                let worker = worker()?;
                self.run(async |_| pool.retire(worker).await)?;
                Ok(Value::Null)
            }
            Op::EndWindow => {
                let worker = worker()?;
                // A window that lasts is no wrong usage.
                let released = self.run(async |_| Ok(pool.release(worker).await))?;
                released.map_err(|error| match error {
                    LedgerError::Invalid(why) => Failure::cannot(why),
                    other => other.into(),
                })?;
                Ok(Value::Null)
            }
            _ => {
                let (from, limit) = (number(ask, "from")?, number(ask, "limit")? as u16);
                let windows = self.run(async |_| {
                    let windows = pool.windows(from, limit).await?;
                    pool.count_held().await?;
                    Ok(windows)
                })?;
                let last = windows.last().filter(|_| windows.len() == usize::from(limit));
                json(&PoolPage {
                    next_from: last.map(|window| window.worker + 1),
                    shown: PoolWithWindows {
                        pool: render::pool(&pool.info()),
                        windows: windows.iter().map(render::window).collect(),
                    },
                })
            }
        }
    }

    /// Fills `ids` with snowflakes of a pool.
    pub(crate) fn snowflakes(&self, pool: &Name, ids: &mut [u64]) -> Result<(), Failure> {
        self.run(async |ledger| ledger.pool_or_default(pool).await?.mint(ids).await)
    }

    /// Fills `ids` with UUIDs of a pool, of version 1 or 6.
    pub(crate) fn uuids(&self, pool: &Name, version: u8, ids: &mut [Uuid]) -> Result<(), Failure> {
        self.run(async |ledger| ledger.pool_or_default(pool).await?.mint_uuid1(ids).await)?;
        if version == 6 {
            for id in ids {
                *id = mintage::uuid1_to_6(id).expect("made as version 1 just now");
            }
        }
        Ok(())
    }
}

fn named(ask: &Ask) -> Result<Name, Failure> {
    Name::new(&ask.arguments[0]).map_err(Failure::usage)
}

fn number(ask: &Ask, parameter: &str) -> Result<u64, Failure> {
    let given = ask.parameter(parameter).unwrap_or("0");
    given.parse().map_err(Failure::usage)
}

fn document<T: DeserializeOwned>(ask: &Ask) -> Result<T, Failure> {
    serde_json::from_value(ask.document.clone().unwrap_or_default()).map_err(Failure::usage)
}

fn json(document: &impl Serialize) -> Result<Value, Failure> {
    Ok(serde_json::to_value(document).expect("texts and numbers are JSON"))
}

impl From<LedgerError> for Failure {
    fn from(error: LedgerError) -> Failure {
        from_ledger(error).into()
    }
}

impl From<ServiceError> for Failure {
    fn from(error: ServiceError) -> Failure {
        refused(Some(error.code), &error.message, error.hint.as_deref())
    }
}
