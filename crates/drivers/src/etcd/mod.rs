//! The store `etcd://a,b,c`: an etcd cluster, version 3.
//!
//! ```text
//!   mint_meta                {"schema_version":1,"cluster_id":"…"}                    made by mint init
//!   mint_register/!cluster   the cluster id, which tells an emptied range from a fresh one
//!   mint_register/seq/a      {"version":3,"mark":1200,"token":"…","body":{…}}         one per register
//! ```
//!
//! Every call is one transaction that compares `mint_meta` first, so that an emptied or exchanged cluster does
//! nothing, and a register's modification revision, which no two writes share. One member is connected at a time;
//! when it fails, the next one is tried.

mod connect;
mod proto;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use self::connect::Etcd;
use self::proto::{Compare, KeyValue, RequestOp, TxnRequest, TxnResponse};
use super::cas_store::{Cached, CasStore, Copies, Put};
use super::link::{Connected, Failure, Link, What};
use super::probed::Probed;
use super::settings::{Initialised, StoreSettings};
use super::{Key, Outcome, StoreError, StoreErrorKind, StoreResult, Versioned, record};
use crate::runtime::{BoxFuture, Runtime, fresh_token};

/// Registers in an etcd cluster. Thread-safe; any number of processes may use one cluster. Opened with
/// [`open_store`](super::open_store).
pub(crate) struct EtcdStore {
    link: Arc<Link<Etcd>>,
    copies: Copies<i64>,
    /// The newest revision seen: an older one means that the cluster was set back (protocol E3).
    newest: AtomicI64,
}

impl EtcdStore {
    /// Reads a URL, without connecting.
    pub(super) fn check(
        rest: &str,
        settings: &StoreSettings,
        runtime: Arc<dyn Runtime>,
    ) -> Result<(), StoreError> {
        Etcd::new(rest, settings.connect_timeout, runtime).map(|_| ())
    }

    /// Opens what `mint init` made behind `etcd:rest`.
    pub(super) async fn open(
        rest: &str,
        settings: &StoreSettings,
        runtime: Arc<dyn Runtime>,
    ) -> Result<Arc<Self>, StoreError> {
        let driver = Etcd::new(rest, settings.connect_timeout, runtime.clone())?;
        let link = Link::open(driver, settings, runtime).await?;
        Ok(Arc::new(EtcdStore {
            link,
            copies: Copies::new(),
            newest: AtomicI64::new(0),
        }))
    }

    /// What `mint doctor --store` asks.
    pub(super) async fn probe(
        rest: &str,
        settings: &StoreSettings,
        runtime: Arc<dyn Runtime>,
    ) -> Result<Probed, StoreError> {
        let driver = Etcd::new(rest, settings.connect_timeout, runtime.clone())?;
        Link::unopened(driver, settings, runtime).probe().await
    }

    /// What `mint init` does.
    pub(super) async fn init(
        rest: &str,
        settings: &StoreSettings,
        runtime: Arc<dyn Runtime>,
    ) -> Result<Initialised, StoreError> {
        let driver = Etcd::new(rest, settings.connect_timeout, runtime.clone())?;
        let names = driver.names.clone();
        let link = Link::unopened(driver, settings, runtime.clone());
        let connection = link.connect_unprobed().await?;
        let fresh = settings.expect_cluster.unwrap_or_else(|| fresh_token(&*runtime));
        let (from, to) = (names.register.as_bytes(), range_end(&names.register));
        let ask = |compare: Vec<Compare>, success: Vec<RequestOp>| {
            let failure = vec![proto::read(&names.meta), proto::range(from, &to, 1)];
            connection.txn(TxnRequest {
                compare,
                success,
                failure,
            })
        };
        // A look first: a transaction cannot compare a range with nothing in etcd before 3.3.
        let impossible = vec![proto::written_at(&names.meta, -1)];
        let found = link.unguarded(ask(impossible, Vec::new())).await?;
        let remains = !kvs(&found, 1).is_empty();
        if kvs(&found, 0).is_empty() && remains {
            return Err(StoreError::new(
                StoreErrorKind::Foreign,
                Outcome::NotDone,
                format!(
                    "{} has registers of mint, but no schema: it was emptied in part",
                    link.place()
                ),
            ));
        }
        let make = vec![
            proto::put(&names.meta, record::write_meta(fresh)),
            proto::put(&names.sentinel, format!("{fresh:032x}").into_bytes()),
        ];
        let made = link
            .unguarded(ask(vec![proto::is_absent(&names.meta)], make))
            .await?;
        if made.succeeded {
            return Ok(Initialised {
                cluster_id: fresh,
                created: true,
            });
        }
        let there = kvs(&made, 0).first().and_then(|kv| record::read_meta(&kv.value));
        let there = link.check_meta(there)?;
        Ok(Initialised {
            cluster_id: there.cluster_id,
            created: false,
        })
    }

    /// A transaction that is only good while the meta record is ours. If its other condition fails, it answers
    /// `otherwise`.
    async fn txn(
        &self,
        connected: Arc<Connected<Etcd>>,
        condition: Option<Compare>,
        success: Vec<RequestOp>,
        otherwise: Vec<RequestOp>,
    ) -> Result<TxnResponse, Failure> {
        let names = &self.link.driver.names;
        let mut compare = vec![
            proto::has_value(&names.meta, &connected.met),
            proto::exists(&names.sentinel),
        ];
        compare.extend(condition);
        let mut failure = vec![proto::read(&names.meta), proto::read(&names.sentinel)];
        failure.extend(otherwise);
        let before = self.newest.load(Ordering::SeqCst);
        let mut answer = connected
            .connection
            .txn(TxnRequest {
                compare,
                success,
                failure,
            })
            .await?;
        self.check_revision(before, &answer)?;
        if !answer.succeeded {
            let found = kvs(&answer, 0).first().map(|kv| kv.value.as_slice());
            if found != Some(connected.met.as_slice()) || kvs(&answer, 1).is_empty() {
                return Err(Failure::Stranger);
            }
            answer.responses.drain(..2);
        }
        Ok(answer)
    }

    /// A revision only grows: one below what was answered before this was asked comes from a cluster that was set
    /// back to an older copy.
    fn check_revision(&self, before: i64, answer: &TxnResponse) -> Result<(), Failure> {
        let revision = answer.header.unwrap_or_default().revision;
        self.newest.fetch_max(revision, Ordering::SeqCst);
        if revision >= before || self.link.stopped().is_some() {
            return Ok(());
        }
        let why = format!(
            "{} is at revision {revision} and was at {before}: it was set back to an older copy",
            self.link.place()
        );
        let error = StoreError::new(StoreErrorKind::Corrupt, Outcome::NotDone, why.clone());
        self.link.stop(error);
        Err(Failure::Lost(why))
    }

    fn name(&self, key: &Key) -> Vec<u8> {
        format!("{}{key}", self.link.driver.names.register).into_bytes()
    }
}

/// What one operation of a transaction read.
fn kvs(answer: &TxnResponse, operation: usize) -> &[KeyValue] {
    let range = answer.responses.get(operation).and_then(|op| op.range.as_ref());
    range.map_or(&[], |range| &range.kvs)
}

/// The end of the range of all names that begin with `prefix`: names are ASCII.
fn range_end(prefix: &str) -> Vec<u8> {
    let mut end = prefix.as_bytes().to_vec();
    end.push(0xff);
    end
}

fn damaged(name: &[u8]) -> StoreError {
    StoreError::new(
        StoreErrorKind::Corrupt,
        Outcome::NotDone,
        format!("{} was not written by mint", String::from_utf8_lossy(name)),
    )
}

fn cached(kv: Option<&KeyValue>) -> Result<Option<Cached<i64>>, StoreError> {
    let Some(kv) = kv else { return Ok(None) };
    let found = record::read(&kv.value).ok_or_else(|| damaged(&kv.key))?;
    Ok(Some(Cached {
        found,
        revision: kv.mod_revision,
    }))
}

impl CasStore for EtcdStore {
    type Driver = Etcd;
    type Revision = i64;

    fn link(&self) -> &Link<Etcd> {
        &self.link
    }

    fn copies(&self) -> &Copies<i64> {
        &self.copies
    }

    fn read<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<Option<Cached<i64>>, StoreError>> {
        Box::pin(async move {
            let read = proto::read(&self.name(key));
            let answer = self.link.read(What("read of", key.as_str()), |connected| {
                self.txn(connected, None, vec![read], vec![])
            });
            cached(kvs(&answer.await?, 0).first())
        })
    }

    fn put<'a>(
        &'a self,
        verb: &'static str,
        key: &'a Key,
        old: Option<&'a Cached<i64>>,
        new: &'a Versioned,
    ) -> BoxFuture<'a, Result<Put<i64>, StoreError>> {
        let write = proto::put(&self.name(key), record::write(new));
        Box::pin(self.change(verb, key, old, write))
    }

    fn delete<'a>(
        &'a self,
        key: &'a Key,
        old: &'a Cached<i64>,
    ) -> BoxFuture<'a, Result<Put<i64>, StoreError>> {
        let remove = proto::delete(&self.name(key));
        Box::pin(self.change("removal of", key, Some(old), remove))
    }

    fn rename(&self, id: u128) -> StoreResult<'_, ()> {
        let names = &self.link.driver.names;
        let both = vec![
            proto::put(&names.meta, record::write_meta(id)),
            proto::put(&names.sentinel, format!("{id:032x}").into_bytes()),
        ];
        Box::pin(async move {
            let renamed = self.link.write(What("change of", "the cluster id"), |connected| {
                self.txn(connected, None, both, vec![])
            });
            renamed.await.map(drop)
        })
    }

    fn page<'a>(
        &'a self,
        prefix: &'a Key,
        after: Option<&'a Key>,
        limit: usize,
    ) -> StoreResult<'a, Vec<(Key, Versioned)>> {
        Box::pin(async move {
            let mut from = self.name(prefix);
            let to = range_end(&String::from_utf8_lossy(&from));
            if let Some(after) = after.filter(|after| *after >= prefix) {
                // The smallest name after it.
                from = self.name(after);
                from.push(0);
            }
            if from >= to {
                return Ok(Vec::new());
            }
            let what = What("scan of", prefix.as_str());
            let read = proto::range(&from, &to, i64::try_from(limit).expect("a page is at most 1000"));
            let answer = self
                .link
                .read(what, |connected| self.txn(connected, None, vec![read], vec![]));
            let answer = answer.await?;
            let start = self.link.driver.names.register.len();
            kvs(&answer, 0)
                .iter()
                .map(|kv| {
                    let name = std::str::from_utf8(&kv.key)
                        .ok()
                        .and_then(|name| name.get(start..));
                    let key = name.and_then(|name| Key::new(name).ok());
                    key.zip(record::read(&kv.value)).ok_or_else(|| damaged(&kv.key))
                })
                .collect()
        })
    }
}

impl EtcdStore {
    async fn change(
        &self,
        verb: &'static str,
        key: &Key,
        old: Option<&Cached<i64>>,
        operation: RequestOp,
    ) -> Result<Put<i64>, StoreError> {
        let name = self.name(key);
        let condition = match old {
            Some(old) => proto::written_at(&name, old.revision),
            None => proto::is_absent(&name),
        };
        let otherwise = vec![proto::read(&name)];
        let answer = self.link.write(What(verb, key.as_str()), |connected| {
            self.txn(connected, Some(condition), vec![operation], otherwise)
        });
        let answer = answer.await?;
        Ok(match answer.succeeded {
            true => Put::Done(answer.header.unwrap_or_default().revision),
            false => Put::Changed(cached(kvs(&answer, 0).first())?),
        })
    }
}

impl fmt::Debug for EtcdStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EtcdStore({})", self.link.place())
    }
}
