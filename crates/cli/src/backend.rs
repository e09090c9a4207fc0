//! Where sequences and pools are: behind a server, or in a store opened here. Both do the same operations and answer the
//! same documents, so everything above is written once.

use mintage::Uuid;
use mintage_local::name::Name;
use mintage_wire::{Ids, Op};
use serde::de::DeserializeOwned;

use crate::ask::Ask;
use crate::connect::{Client, server_url};
use crate::errors::Failure;
use crate::local::{Absent, Local};
use crate::tls::TlsFiles;

/// Things of one page.
pub(crate) const PAGE: u16 = 1000;
/// Ids asked of a server at once: what it allows unless configured otherwise.
pub(crate) const REQUEST_MAX: u64 = 10_000;
/// Ids of a pool that are made at once in a store opened here.
const BATCH_MAX: u64 = 1024;

pub(crate) enum Backend {
    Server(Client),
    Store(Local),
}

impl Backend {
    /// The store given, else the server given, else the one of the environment.
    pub(crate) fn open(
        server: Option<&str>,
        files: &TlsFiles,
        store: Option<&str>,
        absent: Absent,
    ) -> Result<Backend, Failure> {
        match store {
            Some(url) => Local::open(url, absent).map(Backend::Store),
            None => Client::new(&server_url(server), files).map(Backend::Server),
        }
    }

    /// Does an operation and gives the document that it answers; none reads as `null`.
    pub(crate) fn call<T: DeserializeOwned>(&self, ask: &Ask) -> Result<T, Failure> {
        match self {
            Backend::Server(client) => client.call(ask),
            Backend::Store(local) => {
                let document = local.answer(ask)?;
                Ok(serde_json::from_value(document).expect("the document of this operation"))
            }
        }
    }

    /// Everything that is read page by page: `of` takes a page apart, into what stands on it and where to go on.
    pub(crate) fn all<P: DeserializeOwned, T>(
        &self,
        ask: impl Fn() -> Ask,
        of: impl Fn(P) -> (Vec<T>, Option<String>),
    ) -> Result<Vec<T>, Failure> {
        let (mut all, mut after) = (Vec::new(), None);
        loop {
            let page = self.call(&ask().with("limit", PAGE).with_if("after", after))?;
            let (more, next) = of(page);
            all.extend(more);
            match next {
                Some(_) => after = next,
                None => return Ok(all),
            }
        }
    }

    /// Takes `count` snowflakes of a pool and hands them on in batches.
    pub(crate) fn snowflakes(
        &self,
        pool: &Name,
        count: u64,
        mut each: impl FnMut(&[u64]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        self.batches(count, 0, |ids| {
            match self {
                Backend::Store(local) => local.snowflakes(pool, ids)?,
                Backend::Server(client) => {
                    let ask = Ask::new(Op::MakeSnowflakes, &[pool.as_str()]);
                    given(client, ask, ids, "snowflake")?;
                }
            }
            each(ids)
        })
    }

    /// Takes `count` UUIDs of version 1 or 6 of a pool and hands them on in batches.
    pub(crate) fn uuids(
        &self,
        pool: &Name,
        version: u8,
        count: u64,
        mut each: impl FnMut(&[Uuid]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        self.batches(count, Uuid::nil(), |ids| {
            match self {
                Backend::Store(local) => local.uuids(pool, version, ids)?,
                Backend::Server(client) => {
                    let ask = Ask::new(Op::MakeIds, &[&format!("uuid{version}")]).with("pool", pool);
                    given(client, ask, ids, "UUID")?;
                }
            }
            each(ids)
        })
    }

    fn batches<T: Clone>(
        &self,
        count: u64,
        none: T,
        mut batch: impl FnMut(&mut [T]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let most = match self {
            Backend::Server(_) => REQUEST_MAX,
            Backend::Store(_) => BATCH_MAX,
        };
        let size = |left: u64| usize::try_from(left.min(most)).expect("no more than a batch");
        let (mut ids, mut left) = (vec![none; size(count)], count);
        while left > 0 {
            let size = size(left);
            batch(&mut ids[..size])?;
            left -= size as u64;
        }
        Ok(())
    }

    /// Gives back what was not used, once all is `done`: what was printed stands even if closing fails, and the failure
    /// is still one.
    pub(crate) fn close_after(self, done: Result<(), Failure>) -> Result<(), Failure> {
        let closed = match self {
            Backend::Server(_) => Ok(()),
            Backend::Store(local) => local.close(),
        };
        done.and(closed)
    }
}

/// Fills `ids` with what a server gives.
fn given<T: std::str::FromStr>(client: &Client, ask: Ask, ids: &mut [T], what: &str) -> Result<(), Failure> {
    let given = client.call::<Ids>(&ask.with("count", ids.len()))?.ids;
    if given.len() != ids.len() {
        return Err(Failure::cannot(format_args!(
            "the server sent {} ids instead of {}",
            given.len(),
            ids.len()
        )));
    }
    for (id, given) in ids.iter_mut().zip(given) {
        *id = given
            .parse()
            .map_err(|_| Failure::cannot(format_args!("the server answered {given:?}, no {what}")))?;
    }
    Ok(())
}
