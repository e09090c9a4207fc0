//! The store `zookeeper://a,b,c/chroot`: a ZooKeeper ensemble, 3.6 or newer.
//!
//! ```text
//!   /mint_meta                       {"schema_version":1,"cluster_id":"2b1e…"}           made by mint init
//!   /mint_register/#2b1e…            empty; exists as long as the registers are this cluster's
//!   /mint_register/seq!orders        empty; one per register, `!` for `/`
//!   /mint_register/seq!orders/8c1f…  {"version":3,"mark":1200,"token":"…","body":{…}}    named at random
//! ```
//!
//! Every write is one multi that checks the first two nodes first and then the version of the register's inner node.
//! ZooKeeper's versions begin at 0 in every node that is made and end at 2^31 - 1: since a register's inner node has
//! another name each time it is made, no old version fits a new node, and a register moves to a fresh inner node
//! long before the end.

mod browse;
pub mod client;
mod connect;
mod names;
mod tls;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

pub use self::browse::ZooKeeperNodes;
use self::client::{Acl, Ask, Client, Code, Committed, Error, Multi, create, get_data};
pub use self::connect::open_client as open_zookeeper;
use self::connect::{Found, ZooKeeper, another_question, failure, read_all};
use self::names::key_of;
use super::cas_store::{Cached, CasStore, Copies, Put};
use super::link::{Connected, Failure, Link, What};
use super::probed::Probed;
use super::settings::{Initialised, StoreSettings};
use super::{Key, Outcome, StoreError, StoreErrorKind, StoreResult, Versioned, record};
use crate::runtime::{BoxFuture, Runtime, fresh_token};

/// Registers in a ZooKeeper ensemble. Thread-safe; any number of processes may use one ensemble. Opened with
/// [`open_store`](super::open_store).
pub(crate) struct ZooKeeperStore {
    link: Arc<Link<ZooKeeper>>,
    copies: Copies<Node>,
    /// The newest transaction seen: an older one means that the ensemble was set back (protocol E3).
    newest: AtomicI64,
    runtime: Arc<dyn Runtime>,
}

/// The inner node of a register: its name, which is never used again, and its version.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Node {
    name: String,
    version: i32,
}

/// How many registers one request reads: with the largest bodies 2 MB.
const BATCH: usize = 128;

/// How often a read is tried again when the inner node is another one by the time it is read.
const MOVES_MAX: u32 = 8;

impl ZooKeeperStore {
    /// Reads a URL, without connecting.
    pub(super) fn check(
        rest: &str,
        settings: &StoreSettings,
        runtime: Arc<dyn Runtime>,
    ) -> Result<(), StoreError> {
        ZooKeeper::new(rest, settings, runtime).map(|_| ())
    }

    /// Opens what `mint init` made behind `zookeeper:rest`.
    pub(super) async fn open(
        rest: &str,
        settings: &StoreSettings,
        runtime: Arc<dyn Runtime>,
    ) -> Result<Arc<Self>, StoreError> {
        let driver = ZooKeeper::new(rest, settings, runtime.clone())?;
        let link = Link::open(driver, settings, runtime.clone()).await?;
        Ok(Arc::new(ZooKeeperStore {
            link,
            copies: Copies::new(),
            newest: AtomicI64::new(0),
            runtime,
        }))
    }

    /// What `mint doctor --store` asks.
    pub(super) async fn probe(
        rest: &str,
        settings: &StoreSettings,
        runtime: Arc<dyn Runtime>,
    ) -> Result<Probed, StoreError> {
        let driver = ZooKeeper::new(rest, settings, runtime.clone())?;
        Link::unopened(driver, settings, runtime).probe().await
    }

    /// What `mint init` does.
    pub(super) async fn init(
        rest: &str,
        settings: &StoreSettings,
        runtime: Arc<dyn Runtime>,
    ) -> Result<Initialised, StoreError> {
        let driver = ZooKeeper::new(rest, settings, runtime.clone())?;
        let (names, acls) = (driver.names.clone(), driver.acls());
        let link = Link::unopened(driver, settings, runtime.clone());
        let connection = link.connect_unprobed().await?;
        let client = &connection.client;
        let fresh = settings.expect_cluster.unwrap_or_else(|| fresh_token(&*runtime));
        let make = async {
            make_path(client, &names.chroot, &acls).await?;
            let multi = Multi::default()
                .create(&names.meta, &record::write_meta(fresh), &acls)
                .create(&names.register, b"", &acls)
                .create(&names.sentinel(fresh), b"", &acls);
            match client.commit(&multi).await.map_err(|error| failure(&error))? {
                Committed::Done(_) => Ok(None),
                Committed::Refused {
                    index: 0,
                    code: Code::NODE_EXISTS,
                } => {
                    let meta = client.ask_one_now(get_data(&names.meta)).await;
                    Ok(Some(meta.map_err(|error| failure(&error))?.0))
                }
                Committed::Refused {
                    index: 1,
                    code: Code::NODE_EXISTS,
                } => Err(Failure::Refused(
                    StoreErrorKind::Foreign,
                    "there is mint_register, but no mint_meta: it was emptied in part".to_string(),
                )),
                Committed::Refused { code, .. } => Err(failure(&Error::Answered(code))),
            }
        };
        match link.unguarded(make).await? {
            None => Ok(Initialised {
                cluster_id: fresh,
                created: true,
            }),
            Some(found) => {
                let found = link.check_meta(record::read_meta(&found))?;
                Ok(Initialised {
                    cluster_id: found.cluster_id,
                    created: false,
                })
            }
        }
    }

    /// Reads a register, as of now: a server that lags behind first catches up.
    async fn read_held(
        &self,
        connected: &Connected<ZooKeeper>,
        key: &Key,
    ) -> Result<Option<Cached<Node>>, Failure> {
        let names = &self.link.driver.names;
        let client = &connected.connection.client;
        let base = names.base(key);
        for _ in 0..MOVES_MAX {
            let asked = [Ask::Data(&names.meta), Ask::Children(&base)];
            let inner = read_all(client, &asked, true).await?;
            let name = match self.beside_meta(connected, inner)?.pop() {
                Some(Ok(Found::Children(children))) => match <[String; 1]>::try_from(children) {
                    Ok([name]) => name,
                    Err(_) => return Err(damaged(key)),
                },
                Some(Err(Code::NO_NODE)) => return Ok(None),
                Some(Err(code)) => return Err(failure(&Error::Answered(code))),
                _ => return Err(another_question()),
            };
            let path = format!("{base}/{name}");
            let asked = [Ask::Data(&names.meta), Ask::Data(&path)];
            let data = read_all(client, &asked, false).await?;
            match self.beside_meta(connected, data)?.pop() {
                Some(Ok(Found::Data(data, version))) => {
                    let found = record::read(&data).ok_or_else(|| damaged(key))?;
                    let revision = Node { name, version };
                    return Ok(Some(Cached { found, revision }));
                }
                // Removed, or moved on, since its name was read.
                Some(Err(Code::NO_NODE)) => {}
                Some(Err(code)) => return Err(failure(&Error::Answered(code))),
                _ => return Err(another_question()),
            }
        }
        let why = format!("{key} moves from node to node faster than it can be read");
        Err(Failure::Refused(StoreErrorKind::Unavailable, why))
    }

    /// Checks the meta record that was read first, at the same moment; the rest are the answers.
    fn beside_meta(
        &self,
        connected: &Connected<ZooKeeper>,
        mut answers: Vec<Result<Found, Code>>,
    ) -> Result<Vec<Result<Found, Code>>, Failure> {
        let rest = answers.split_off(answers.len().min(1));
        match answers.pop() {
            Some(Ok(Found::Data(text, _))) if text == connected.met.text => Ok(rest),
            Some(Err(Code::NO_AUTH)) => Err(failure(&Error::Answered(Code::NO_AUTH))),
            _ => Err(Failure::Stranger),
        }
    }

    /// One multi after the checks of the meta nodes; false if the register is not as it was.
    async fn write(
        &self,
        connected: &Connected<ZooKeeper>,
        fill: impl FnOnce(Multi) -> Multi,
    ) -> Result<bool, Failure> {
        let met = &connected.met;
        let before = self.newest.load(Ordering::SeqCst);
        let multi = fill(
            Multi::default()
                .check(&self.link.driver.names.meta, met.version)
                .check(&met.cluster, 0),
        );
        let committed = connected.connection.client.commit(&multi).await;
        match committed.map_err(|error| failure(&error))? {
            Committed::Done(number) => self.check_order(before, number).map(|()| true),
            Committed::Refused { index, code } => match code {
                Code::NO_NODE | Code::BAD_VERSION if index < 2 => Err(Failure::Stranger),
                Code::NO_NODE | Code::BAD_VERSION | Code::NODE_EXISTS => Ok(false),
                code => Err(failure(&Error::Answered(code))),
            },
        }
    }

    /// Transactions are numbered: one below what was answered before this was asked comes from an ensemble that was
    /// set back to an older copy.
    fn check_order(&self, before: i64, number: i64) -> Result<(), Failure> {
        self.newest.fetch_max(number, Ordering::SeqCst);
        if number > before || self.link.stopped().is_some() {
            return Ok(());
        }
        let why = format!(
            "{} is at transaction {number:x} and was at {before:x}: it was set back to an older copy",
            self.link.place()
        );
        let error = StoreError::new(StoreErrorKind::Corrupt, Outcome::NotDone, why.clone());
        self.link.stop(error);
        Err(Failure::Lost(why))
    }

    async fn put_held(
        &self,
        connected: &Connected<ZooKeeper>,
        key: &Key,
        old: Option<&Cached<Node>>,
        new: &Versioned,
    ) -> Result<Put<Node>, Failure> {
        let base = self.link.driver.names.base(key);
        let data = record::write(new);
        let full = old.is_some_and(|old| old.revision.version >= self.link.driver.writes_per_node - 1);
        let acls = match old {
            Some(_) if !full => &[],
            _ => connected.connection.acls()?,
        };
        let revision = match old {
            Some(old) if !full => Node {
                name: old.revision.name.clone(),
                version: old.revision.version + 1,
            },
            _ => Node {
                name: format!("{:016x}", fresh_token(&*self.runtime) as u64),
                version: 0,
            },
        };
        let path = format!("{base}/{}", revision.name);
        let written = self.write(connected, |multi| match old {
            None => multi.create(&base, b"", acls).create(&path, &data, acls),
            Some(old) if full => {
                let before = format!("{base}/{}", old.revision.name);
                let multi = multi.delete(&before, Some(old.revision.version));
                multi.create(&path, &data, acls)
            }
            Some(old) => multi.set_data(&path, &data, Some(old.revision.version)),
        });
        match written.await? {
            true => Ok(Put::Done(revision)),
            false => Ok(Put::Changed(self.read_after(connected, key).await?)),
        }
    }

    async fn rename_held(&self, connected: &Connected<ZooKeeper>, id: u128) -> Result<(), Failure> {
        let names = &self.link.driver.names;
        let acls = connected.connection.acls()?;
        let met = &connected.met;
        let renamed = self.write(connected, |multi| {
            multi
                .set_data(&names.meta, &record::write_meta(id), Some(met.version))
                .delete(&met.cluster, Some(0))
                .create(&names.sentinel(id), b"", acls)
        });
        match renamed.await? {
            true => Ok(()),
            false => Err(Failure::Stranger),
        }
    }

    async fn delete_held(
        &self,
        connected: &Connected<ZooKeeper>,
        key: &Key,
        old: &Cached<Node>,
    ) -> Result<Put<Node>, Failure> {
        let base = self.link.driver.names.base(key);
        let path = format!("{base}/{}", old.revision.name);
        let written = self.write(connected, |multi| {
            let multi = multi.delete(&path, Some(old.revision.version));
            // Nobody ever writes data there.
            multi.delete(&base, Some(0))
        });
        match written.await? {
            true => Ok(Put::Done(old.revision.clone())),
            false => Ok(Put::Changed(self.read_after(connected, key).await?)),
        }
    }

    /// A read after a write that certainly did nothing: if it fails, too, that is still certain.
    async fn read_after(
        &self,
        connected: &Connected<ZooKeeper>,
        key: &Key,
    ) -> Result<Option<Cached<Node>>, Failure> {
        match self.read_held(connected, key).await {
            Err(Failure::Lost(why)) => Err(Failure::Useless(StoreErrorKind::Unavailable, why)),
            outcome => outcome,
        }
    }

    async fn read_page(
        &self,
        connected: &Connected<ZooKeeper>,
        prefix: &Key,
        after: Option<&Key>,
        limit: usize,
    ) -> Result<Vec<(Key, Versioned)>, Failure> {
        let names = &self.link.driver.names;
        let client = &connected.connection.client;
        let asked = [Ask::Data(&names.meta), Ask::Children(&names.register)];
        let all = read_all(client, &asked, true).await?;
        let all = match self.beside_meta(connected, all)?.pop() {
            Some(Ok(Found::Children(all))) => all,
            Some(Err(code)) => return Err(failure(&Error::Answered(code))),
            _ => return Err(another_question()),
        };
        let mut keys = Vec::new();
        for name in all.iter().filter(|name| !name.starts_with('#')) {
            let key = key_of(name).ok_or_else(|| {
                let why = format!("mint_register/{name} was not made by mint");
                Failure::Refused(StoreErrorKind::Corrupt, why)
            })?;
            let wanted = key.as_str().starts_with(prefix.as_str()) && after.is_none_or(|after| key > *after);
            if wanted {
                keys.push(key);
            }
        }
        keys.sort_unstable();
        let mut page = Vec::new();
        for batch in keys.chunks(BATCH) {
            let wanted = &batch[..batch.len().min(limit - page.len())];
            page.extend(self.read_batch(client, wanted).await?);
            // Those that were removed meanwhile leave room.
            for key in &batch[wanted.len()..] {
                if page.len() == limit {
                    break;
                }
                let held = self.read_held(connected, key).await?;
                page.extend(held.map(|held| (key.clone(), held.found)));
            }
            if page.len() == limit {
                break;
            }
        }
        Ok(page)
    }

    /// Reads registers whose inner nodes are not known, in two requests.
    async fn read_batch(&self, client: &Client, keys: &[Key]) -> Result<Vec<(Key, Versioned)>, Failure> {
        let names = &self.link.driver.names;
        let bases: Vec<String> = keys.iter().map(|key| names.base(key)).collect();
        let asked: Vec<_> = bases.iter().map(|base| Ask::Children(base)).collect();
        let mut inner = Vec::new();
        for ((key, base), answer) in keys
            .iter()
            .zip(&bases)
            .zip(read_all(client, &asked, false).await?)
        {
            match answer {
                Ok(Found::Children(children)) => match children.as_slice() {
                    [name] => inner.push((key, format!("{base}/{name}"))),
                    _ => return Err(damaged(key)),
                },
                Err(Code::NO_NODE) => {}
                Err(code) => return Err(failure(&Error::Answered(code))),
                Ok(Found::Data(..)) => return Err(another_question()),
            }
        }
        let asked: Vec<_> = inner.iter().map(|(_, path)| Ask::Data(path)).collect();
        let mut found = Vec::new();
        for ((key, _), answer) in inner.iter().zip(read_all(client, &asked, false).await?) {
            match answer {
                Ok(Found::Data(data, _)) => {
                    let register = record::read(&data).ok_or_else(|| damaged(key))?;
                    found.push(((*key).clone(), register));
                }
                Err(Code::NO_NODE) => {}
                Err(code) => return Err(failure(&Error::Answered(code))),
                Ok(Found::Children(_)) => return Err(another_question()),
            }
        }
        Ok(found)
    }
}

/// Makes the nodes of a path that are not there; the empty path needs none.
async fn make_path(client: &Client, path: &str, acls: &[Acl]) -> Result<(), Failure> {
    // Who may make nothing here may still have been given what is there: if anything is missing, what follows says so.
    let ends = path
        .match_indices('/')
        .map(|(at, _)| at)
        .skip(1)
        .chain([path.len()]);
    let nodes = ends.map(|end| &path[..end]).filter(|node| !node.is_empty());
    let made = client.ask_all(nodes.map(|node| create(node, b"", acls))).await;
    for made in made.map_err(|error| failure(&error))? {
        match made {
            Ok(_) | Err(Error::Answered(Code::NODE_EXISTS | Code::NO_AUTH)) => {}
            Err(error) => return Err(failure(&error)),
        }
    }
    Ok(())
}

fn damaged(key: &Key) -> Failure {
    Failure::Refused(StoreErrorKind::Corrupt, format!("{key} was not written by mint"))
}

impl CasStore for ZooKeeperStore {
    type Driver = ZooKeeper;
    type Revision = Node;

    fn link(&self) -> &Link<ZooKeeper> {
        &self.link
    }

    fn copies(&self) -> &Copies<Node> {
        &self.copies
    }

    fn read<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<Option<Cached<Node>>, StoreError>> {
        Box::pin(
            self.link
                .read(What("read of", key.as_str()), async move |connected| {
                    self.read_held(&connected, key).await
                }),
        )
    }

    fn put<'a>(
        &'a self,
        verb: &'static str,
        key: &'a Key,
        old: Option<&'a Cached<Node>>,
        new: &'a Versioned,
    ) -> BoxFuture<'a, Result<Put<Node>, StoreError>> {
        Box::pin(self.link.write(What(verb, key.as_str()), async move |connected| {
            self.put_held(&connected, key, old, new).await
        }))
    }

    fn delete<'a>(
        &'a self,
        key: &'a Key,
        old: &'a Cached<Node>,
    ) -> BoxFuture<'a, Result<Put<Node>, StoreError>> {
        Box::pin(
            self.link
                .write(What("removal of", key.as_str()), async move |connected| {
                    self.delete_held(&connected, key, old).await
                }),
        )
    }

    fn rename(&self, id: u128) -> StoreResult<'_, ()> {
        Box::pin(async move {
            let what = What("change of", "the cluster id");
            let renamed = self
                .link
                .write(what, async |connected| self.rename_held(&connected, id).await);
            renamed.await
        })
    }

    fn page<'a>(
        &'a self,
        prefix: &'a Key,
        after: Option<&'a Key>,
        limit: usize,
    ) -> StoreResult<'a, Vec<(Key, Versioned)>> {
        Box::pin(self.link.read_long(
            What("scan of", prefix.as_str()),
            SCAN_ROUND_TRIPS,
            async move |connected| self.read_page(&connected, prefix, after, limit).await,
        ))
    }
}

/// The names, then the first batch of registers in two.
const SCAN_ROUND_TRIPS: u32 = 3;

impl fmt::Debug for ZooKeeperStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ZooKeeperStore({})", self.link.place())
    }
}
