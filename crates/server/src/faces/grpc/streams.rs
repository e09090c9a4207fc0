//! Blocks of numbers and of ids, one behind the other, each made when its reader has room for it.

use std::borrow::Cow;
use std::collections::HashMap;

use mintage::{GenOptions, Uuid};
use mintage_ledger::{DEFAULT_POOL, UUID1_POOL};
use mintage_wire::{Op, parameter};
use prost::Message;

use super::asking::Asking;
use super::message::{self, Reply, Source};
use super::numbers::NumberBlock;
use crate::auth::{Identity, Right, What};
use crate::error::{Code, ServiceError};
use crate::formats::{FormatRow, Make, format};
use crate::service::Answer;
use crate::turn::Turn;

#[derive(Clone, PartialEq, Message)]
pub(super) struct NextStreamRequest {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(uint64, optional, tag = "2")]
    pub(super) count: Option<u64>,
    #[prost(uint32, optional, tag = "3")]
    pub(super) block: Option<u32>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct IdStreamRequest {
    #[prost(string, tag = "1")]
    pub(super) format: String,
    #[prost(string, optional, tag = "2")]
    pub(super) pool: Option<String>,
    #[prost(map = "string, string", tag = "3")]
    pub(super) options: HashMap<String, String>,
    #[prost(uint64, optional, tag = "4")]
    pub(super) count: Option<u64>,
    #[prost(uint32, optional, tag = "5")]
    pub(super) block: Option<u32>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct IdBlock {
    #[prost(bytes = "vec", tag = "1")]
    pub(super) ids: Vec<u8>,
    #[prost(uint32, tag = "2")]
    pub(super) count: u32,
}

/// How many a block has unless its reader says.
const BLOCK: u32 = 1000;

/// A stream and how much of it is left.
struct Left {
    asking: Asking,
    who: Identity,
    /// `None`: it goes on until its reader leaves.
    left: Option<u64>,
    block: u64,
    turn: Turn,
}

impl Left {
    fn new(asking: Asking, who: Identity, count: Option<u64>, block: Option<u32>) -> Answer<Left> {
        if count == Some(0) {
            let why = "count is 0: leave it out for a stream without an end";
            return Err(ServiceError::new(Code::InvalidCount, why));
        }
        let block = u64::from(block.unwrap_or(BLOCK));
        Ok(Left {
            block: asking.thread.count(Some(block))?,
            turn: Turn::begin(&asking.thread),
            asking,
            who,
            left: count,
        })
    }

    /// How many the next block has; 0 behind the last. Others of the thread come first where many were made.
    ///
    /// # Errors
    /// Why it ends before.
    async fn next(&mut self) -> Answer<u64> {
        self.turn.give_way_if_over().await;
        let count = self.left.map_or(self.block, |left| left.min(self.block));
        if count > 0 {
            self.asking.goes_on(&self.who)?;
            self.asking.spend(&self.who, count);
            self.left = self.left.map(|left| left - count);
        }
        Ok(count)
    }
}

/// `NextStream`
pub(super) async fn numbers(asking: Asking, message: &[u8]) -> Answer<Reply> {
    let asked: NextStreamRequest = message::read(message)?;
    let who = asking.admit(Op::Next, What::Named(asked.name.as_bytes())).await?;
    Ok(Reply::stream(Numbers {
        name: asked.name,
        left: Left::new(asking, who, asked.count, asked.block)?,
        failed: None,
    }))
}

struct Numbers {
    name: String,
    left: Left,
    /// What comes behind the blocks that were taken before it.
    failed: Option<ServiceError>,
}

impl Source for Numbers {
    async fn next(&mut self) -> Answer<Option<Vec<u8>>> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        let count = self.left.next().await?;
        if count == 0 {
            return Ok(None);
        }
        let (mut out, mut left) = (Vec::new(), count);
        let Left { asking, who, .. } = &self.left;
        let (thread, name) = (&asking.thread, self.name.as_bytes());
        if let Some(run) = thread.try_take(name, count) {
            left -= run.count;
            message::write(&NumberBlock::from(run), &mut out);
        }
        if left > 0 {
            let push = |run| message::write(&NumberBlock::from(run), &mut out);
            let taken = thread.take(name, left, &asking.asker(who), push).await;
            match taken {
                Err(error) if out.is_empty() => return Err(error),
                taken => self.failed = taken.err(),
            }
        }
        Ok(Some(out))
    }
}

/// `IdStream`
pub(super) async fn ids(asking: Asking, message: &[u8]) -> Answer<Reply> {
    let asked: IdStreamRequest = message::read(message)?;
    let who = asking.admit(Op::MakeIds, What::Nothing).await?;
    let row = format(asked.format.as_bytes())?;
    if row.format.bits == 0 {
        let why = format!("format {} is text alone and has no bytes", row.format.name);
        return Err(ServiceError::new(Code::NotAcceptable, why).with_hint("MakeIds answers texts"));
    }
    if let Some(pool) = &asked.pool {
        who.check(Right::Allocate, What::Named(pool.as_bytes()))?;
    }
    Ok(Reply::stream(Ids {
        options: options(&row, &asked.options)?,
        pool: pool(&row, asked.pool)?,
        row,
        left: Left::new(asking, who, asked.count, asked.block)?,
    }))
}

struct Ids {
    row: FormatRow,
    pool: Cow<'static, str>,
    options: GenOptions,
    left: Left,
}

/// The options of a format, all of which it must know.
fn options(row: &FormatRow, given: &HashMap<String, String>) -> Answer<GenOptions> {
    let mut options = GenOptions::default();
    let known: Vec<String> = match row.make {
        Make::Core => row
            .format
            .options
            .iter()
            .map(|option| parameter(*option))
            .collect(),
        _ => Vec::new(),
    };
    for (name, value) in given {
        if !known.contains(name) {
            let shown: String = name.chars().take(40).collect();
            let why = format!("{} has no option {shown:?}", row.format.name);
            let error = ServiceError::new(Code::InvalidArgument, why);
            return Err(match known.is_empty() {
                true => error.with_hint("it has none"),
                false => error.with_hint(format!("it has {}", known.join(", "))),
            });
        }
        row.set(&mut options, name.as_bytes(), value.as_bytes())?;
    }
    Ok(options)
}

/// The pool that ids come from, where they come from one.
fn pool(row: &FormatRow, given: Option<String>) -> Answer<Cow<'static, str>> {
    let usual = match row.make {
        Make::Snowflake => DEFAULT_POOL,
        Make::Uuid1 | Make::Uuid6 => UUID1_POOL,
        _ if given.is_some() => {
            let why = format!("{} comes from no pool", row.format.name);
            return Err(ServiceError::new(Code::InvalidArgument, why));
        }
        _ => "",
    };
    Ok(given.map_or(usual.into(), Cow::from))
}

impl Source for Ids {
    async fn next(&mut self) -> Answer<Option<Vec<u8>>> {
        let count = self.left.next().await?;
        if count == 0 {
            return Ok(None);
        }
        let block = IdBlock {
            ids: self.make(count as usize).await?,
            // A block has at most `server.max_count`.
            count: count as u32,
        };
        let mut out = Vec::new();
        message::write(&block, &mut out);
        Ok(Some(out))
    }
}

impl Ids {
    async fn make(&self, count: usize) -> Answer<Vec<u8>> {
        let (thread, pool) = (&self.left.asking.thread, self.pool.as_bytes());
        Ok(match self.row.make {
            Make::Core => {
                let ids = thread.make(&self.row, &self.options, count).await?;
                ids.iter().flat_map(|id| id.bytes()).copied().collect()
            }
            Make::Snowflake => {
                let mut ids = vec![0; count];
                let minted = thread.try_mint(pool, &mut ids);
                if minted < count {
                    thread.mint(pool, &mut ids[minted..]).await?;
                }
                ids.iter().flat_map(|id| id.to_be_bytes()).collect()
            }
            make => {
                let mut ids = vec![Uuid::nil(); count];
                thread.mint_timed(make, pool, &mut ids).await?;
                ids.iter().flat_map(|id| *id.as_bytes()).collect()
            }
        })
    }
}
