//! The stores `redis://` and `rediss://`: Redis or Valkey, one server (or the master of several).
//!
//! ```text
//!   mint_meta               hash  schema_version, cluster_id    made by mint init
//!   mint_register           zset  the names of all registers, all with score 0: scans go in key order; and
//!                                 `!cluster`, which tells an emptied list from a fresh one
//!   mint_register:seq/a     hash  version, mark, token, body    one per register
//! ```
//!
//! Every call is one Lua script: it looks at `mint_meta` first, so that an emptied or exchanged server does
//! nothing, then compares the version and writes. A script is one unit in the append-only file, and with
//! `appendfsync always` its answer leaves after the sync.

mod browse;
mod connect;
mod durability;
mod plain;
mod script;

use std::fmt;
use std::sync::Arc;

use mintage::Timestamp;

pub use self::browse::RedisKeys;
use self::connect::Redis;
pub use self::plain::PlainRedis;
use self::script::{Answer, CLAIM, GET, INIT, REMOVE, RENAME, SCAN, SET, Script};
use super::link::{Connected, Failure, InitRecord, Link, SCHEMA, What, on_own_thread};
use super::probed::Probed;
use super::rules::{Current, Verdict, check_limit, check_value, judge_claim, judge_remove, judge_set};
use super::settings::{Initialised, StoreSettings};
use super::{
    Cas, Claim, Class, Durability, Key, Marks, Outcome, Store, StoreError, StoreErrorKind, StoreResult,
    Value, Version, Versioned,
};
use crate::runtime::{Runtime, fresh_token};

/// Registers in a Redis or Valkey server. Thread-safe; any number of processes may use one server. Opened with
/// [`open_store`](super::open_store).
pub struct RedisStore {
    link: Arc<Link<Redis>>,
}

impl RedisStore {
    /// Reads a URL, without connecting.
    pub(super) fn check(
        scheme: &'static str,
        rest: &str,
        runtime: Arc<dyn Runtime>,
    ) -> Result<(), StoreError> {
        Redis::new(scheme, rest, runtime).map(|_| ())
    }

    /// Opens what `mint init` made behind `SCHEME:rest`.
    pub(super) async fn open(
        scheme: &'static str,
        rest: &str,
        settings: &StoreSettings,
        runtime: Arc<dyn Runtime>,
    ) -> Result<Arc<Self>, StoreError> {
        let driver = Redis::new(scheme, rest, runtime.clone())?;
        let link = Link::open(driver, settings, runtime).await?;
        Ok(Arc::new(RedisStore { link }))
    }

    /// What `mint init` does.
    pub(super) async fn init(
        scheme: &'static str,
        rest: &str,
        settings: &StoreSettings,
        runtime: Arc<dyn Runtime>,
    ) -> Result<Initialised, StoreError> {
        let driver = Redis::new(scheme, rest, runtime.clone())?;
        let names = driver.names.clone();
        let link = Link::unopened(driver, settings, runtime.clone());
        let connection = link.connect_unprobed().await?;
        let fresh = settings.expect_cluster.unwrap_or_else(|| fresh_token(&*runtime));
        let id = format!("{fresh:032x}");
        let keys = [names.meta.as_str(), names.index.as_str()];
        let run = INIT.run(connection, &keys, vec![SCHEMA.to_string().into(), id.into()]);
        let place = link.place();
        let foreign = |why| StoreError::new(StoreErrorKind::Foreign, Outcome::NotDone, why);
        match link.unguarded(run).await? {
            Answer::Made => Ok(Initialised {
                cluster_id: fresh,
                created: true,
            }),
            Answer::There(meta) => {
                let found = link.check_meta(meta)?;
                Ok(Initialised {
                    cluster_id: found.cluster_id,
                    created: false,
                })
            }
            Answer::Remains => Err(foreign(format!(
                "{place} has registers or a record of mint, but no schema: it was emptied in part"
            ))),
            answer => Err(nonsense(&format!("initialising {place}"), &answer)),
        }
    }

    /// What `mint doctor --store` asks: its settings, without a script of ours.
    pub(super) async fn probe(
        scheme: &'static str,
        rest: &str,
        settings: &StoreSettings,
        runtime: Arc<dyn Runtime>,
    ) -> Result<Probed, StoreError> {
        let driver = Redis::new(scheme, rest, runtime.clone())?;
        let dialled = driver.dial();
        let link = Link::unopened(driver, settings, runtime.clone());
        let asked = on_own_thread(&runtime, async move {
            let mut connection = dialled.await?;
            connect::found(&mut connection).await
        });
        let found = link.unguarded(asked).await?;
        Ok(Probed::of(durability::judge(&found)))
    }

    /// Runs a script on one register.
    async fn ask(
        &self,
        connected: Arc<Connected<Redis>>,
        script: &Script,
        register: &str,
        args: Vec<Vec<u8>>,
    ) -> Result<Answer, Failure> {
        let names = &self.link.driver.names;
        let InitRecord { schema, cluster_id } = connected.met;
        let mut all = vec![
            schema.to_string().into_bytes(),
            format!("{cluster_id:032x}").into_bytes(),
        ];
        all.extend(args);
        let keys = [names.meta.as_str(), register, names.index.as_str()];
        match script.run(connected.connection.clone(), &keys, all).await? {
            Answer::Stranger => Err(Failure::Stranger),
            answer => Ok(answer),
        }
    }

    async fn read_one(&self, key: &Key) -> Result<Option<Versioned>, StoreError> {
        let register = self.register(key);
        let answer = self.link.read(What("read of", key.as_str()), |connected| {
            self.ask(connected, &GET, &register, Vec::new())
        });
        match answer.await? {
            Answer::Absent => Ok(None),
            Answer::Held(found) => Ok(Some(found)),
            answer => Err(nonsense(&format!("read of {key}"), &answer)),
        }
    }

    async fn set(
        &self,
        key: &Key,
        expected: Option<Version>,
        new: Value,
        marks: Marks,
    ) -> Result<Cas, StoreError> {
        check_value(key, &new)?;
        let judge = |found: Option<Versioned>| match judge_set(
            key,
            found.as_ref().map(Current::of),
            expected,
            &new,
            marks,
        )? {
            Verdict::Lost => Ok(Some(found)),
            Verdict::Go(_) => Ok(None),
        };
        let Some(next) = version_after(expected) else {
            return lost(key, judge(self.read_one(key).await?)?);
        };
        let register = self.register(key);
        let args = vec![
            expected
                .map_or(String::new(), |version| version.number().to_string())
                .into(),
            next.number().to_string().into(),
            new.mark.to_string().into(),
            format!("{:032x}", new.token).into(),
            new.body.clone().into(),
            match marks {
                Marks::NeverLower => "raise",
                Marks::GiveBack => "any",
            }
            .into(),
            key.as_str().into(),
        ];
        let answer = self.link.write(What("write of", key.as_str()), |connected| {
            self.ask(connected, &SET, &register, args)
        });
        match answer.await? {
            Answer::Done => Ok(Cas::Done(next)),
            Answer::Absent => lost(key, judge(None)?),
            Answer::Held(found) => lost(key, judge(Some(found))?),
            answer => Err(nonsense(&format!("write of {key}"), &answer)),
        }
    }

    async fn add(&self, claim: &Claim) -> Result<Cas, StoreError> {
        let key = &claim.key;
        let judge = |found: Option<Versioned>| match judge_claim(claim, found.as_ref().map(Current::of))? {
            None => Ok(Some(found)),
            Some(_) => Ok(None),
        };
        let next = match version_after(Some(claim.expected)) {
            Some(next) if claim.add > 0 => next,
            _ => return lost(key, judge(self.read_one(key).await?)?),
        };
        let register = self.register(key);
        let args = vec![
            claim.expected.number().to_string().into(),
            next.number().to_string().into(),
            claim.add.to_string().into(),
            format!("{:032x}", claim.token).into(),
        ];
        let answer = self.link.write(What("claim on", key.as_str()), |connected| {
            self.ask(connected, &CLAIM, &register, args)
        });
        match answer.await? {
            Answer::Done => Ok(Cas::Done(next)),
            Answer::Absent => lost(key, judge(None)?),
            Answer::Held(found) => lost(key, judge(Some(found))?),
            answer => Err(nonsense(&format!("claim on {key}"), &answer)),
        }
    }

    async fn take_away(&self, key: &Key, expected: Version) -> Result<Cas, StoreError> {
        let judge =
            |found: Option<Versioned>| match judge_remove(key, found.as_ref().map(Current::of), expected)? {
                Verdict::Lost => Ok(Some(found)),
                Verdict::Go(_) => Ok(None),
            };
        let register = self.register(key);
        let args = vec![expected.number().to_string().into(), key.as_str().into()];
        let answer = self.link.write(What("removal of", key.as_str()), |connected| {
            self.ask(connected, &REMOVE, &register, args)
        });
        match answer.await? {
            Answer::Done => Ok(Cas::Done(expected)),
            Answer::Absent => lost(key, judge(None)?),
            Answer::Held(found) => lost(key, judge(Some(found))?),
            answer => Err(nonsense(&format!("removal of {key}"), &answer)),
        }
    }

    async fn page(
        &self,
        prefix: &Key,
        after: Option<&Key>,
        limit: u16,
    ) -> Result<Vec<(Key, Versioned)>, StoreError> {
        let limit = check_limit(limit)?;
        let from = match after {
            Some(after) if after >= prefix => format!("({after}"),
            _ => format!("[{prefix}"),
        };
        // Keys are ASCII: every one that begins with the prefix lies below the prefix and this byte.
        let mut to = format!("({prefix}").into_bytes();
        to.push(0xff);
        let names = &self.link.driver.names;
        let args = vec![
            from.into(),
            to,
            limit.to_string().into(),
            names.register.clone().into(),
        ];
        let answer = self.link.read(What("scan of", prefix.as_str()), |connected| {
            self.ask(connected, &SCAN, &names.index, args)
        });
        match answer.await? {
            Answer::Page(page) => Ok(page),
            answer => Err(nonsense(&format!("scan of {prefix}"), &answer)),
        }
    }

    fn register(&self, key: &Key) -> String {
        format!("{}{key}", self.link.driver.names.register)
    }
}

/// What a guarded write that was not made comes to; the script and the rules must agree on why.
fn lost(key: &Key, judged: Option<Option<Versioned>>) -> Result<Cas, StoreError> {
    judged.map(Cas::Lost).ok_or_else(|| {
        StoreError::new(
            StoreErrorKind::Corrupt,
            Outcome::NotDone,
            format!("{key} refuses a write that fits it: its fields were not written by mint"),
        )
    })
}

fn nonsense(what: &str, answer: &Answer) -> StoreError {
    StoreError::new(
        StoreErrorKind::Corrupt,
        Outcome::Unknown,
        format!("{what}: the script answers {answer:?}"),
    )
}

/// The version after a guarded write; `None` where the rules must say that there is none.
fn version_after(expected: Option<Version>) -> Option<Version> {
    let next = expected.map_or(Some(1), |version| version.number().checked_add(1))?;
    (next < 1 << 56).then_some(Version::of(next))
}

impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RedisStore({})", self.link.place())
    }
}

impl Store for RedisStore {
    fn scheme(&self) -> &'static str {
        "redis"
    }

    fn class(&self) -> Class {
        self.link.durability().class
    }

    fn durability(&self) -> Durability {
        self.link.durability()
    }

    fn wall(&self) -> StoreResult<'_, Option<Timestamp>> {
        Box::pin(async move {
            let answer = self
                .link
                .read(What("reading", "its clock"), |connected| async move {
                    connect::time(connected.connection.clone()).await
                });
            answer.await.map(Some)
        })
    }

    fn incarnation(&self) -> Option<String> {
        self.link.incarnation()
    }

    fn cluster_id(&self) -> u128 {
        self.link.cluster_id()
    }

    fn take_cluster_id(&self, id: u128) -> StoreResult<'_, ()> {
        Box::pin(async move {
            let what = What("change of", "the cluster id");
            let new = vec![format!("{id:032x}").into_bytes()];
            let renamed = self.link.write(what, |connected| {
                self.ask(connected, &RENAME, &self.link.driver.names.meta, new)
            });
            match renamed.await? {
                Answer::Done => Ok(()),
                answer => Err(nonsense("change of the cluster id", &answer)),
            }
        })
    }

    fn get<'a>(&'a self, key: &'a Key) -> StoreResult<'a, Option<Versioned>> {
        Box::pin(self.read_one(key))
    }

    fn compare_and_set<'a>(
        &'a self,
        key: &'a Key,
        expected: Option<Version>,
        new: Value,
        marks: Marks,
    ) -> StoreResult<'a, Cas> {
        Box::pin(self.set(key, expected, new, marks))
    }

    fn scan<'a>(
        &'a self,
        prefix: &'a Key,
        after: Option<&'a Key>,
        limit: u16,
    ) -> StoreResult<'a, Vec<(Key, Versioned)>> {
        Box::pin(self.page(prefix, after, limit))
    }

    fn remove<'a>(&'a self, key: &'a Key, expected: Version) -> StoreResult<'a, Cas> {
        Box::pin(self.take_away(key, expected))
    }

    fn claim<'a>(&'a self, claim: &'a Claim) -> StoreResult<'a, Cas> {
        Box::pin(self.add(claim))
    }

    fn stopped(&self) -> Option<StoreError> {
        self.link.stopped()
    }

    fn close(&self) -> StoreResult<'_, ()> {
        self.link.disconnect();
        Box::pin(std::future::ready(Ok(())))
    }
}
