//! The table of stores and the one way to open one from its URL.

use std::path::{Path, PathBuf};
use std::sync::Arc;

#[cfg(any(feature = "etcd", feature = "zookeeper"))]
use super::cas_store::ByCas;
use super::probed::{Probed, Probing};
use super::settings::{Initialised, StoreSettings, lossy};
#[cfg(any(feature = "postgres", feature = "mysql"))]
use super::sql::session::Dialect;
use super::{Class, EmbeddedStore, MemoryStore, Outcome, Store, StoreError, StoreErrorKind};
use crate::advice::Advice;
use crate::runtime::{BoxFuture, Runtime};

/// One kind of store: a row of [`STORES`].
#[derive(Clone, Copy, Debug)]
pub struct StoreKind {
    /// The part of the URL before the colon.
    pub scheme: &'static str,
    /// A URL that can be typed as it stands.
    pub example: &'static str,
    /// What it is for, in a few words.
    pub summary: &'static str,
    open: fn(&str, &StoreSettings, Arc<dyn Runtime>) -> Opening,
    /// Reads the URL, as opening does, and asks nobody.
    check: Check,
    /// Asks its server what it may forget; `None` for stores without one.
    probe: Option<Probe>,
    /// Makes schema and cluster id; `None` for stores that make themselves at their first opening.
    init: Option<Init>,
}

/// The scheme of a folder on this machine.
const EMBEDDED: &str = "file";

impl StoreKind {
    /// Whether several processes may use it at a time: those that `init_store` makes.
    pub fn is_shared(&self) -> bool {
        self.init.is_some()
    }

    /// The row that a URL names, and the URL after its scheme and colon.
    ///
    /// # Errors
    /// [`StoreErrorKind::Invalid`] for a scheme that no row has, listing those that exist, or with what to build
    /// where this build was made without its store.
    pub fn of(url: &str) -> Result<(&'static StoreKind, &str), StoreError> {
        let (scheme, rest) = url.split_once(':').unwrap_or((url, ""));
        let known = NAMES.iter().find(|(names, _)| names.contains(&scheme));
        let named = known.map_or(scheme, |(names, _)| names[0]);
        match (STORES.iter().find(|kind| kind.scheme == named), known) {
            (Some(kind), _) => Ok((kind, rest)),
            (None, Some((_, feature))) => Err(invalid(format!(
                "this build was made without the store {scheme}:"
            ))
            .with_hint(Advice::BuildWith { feature })),
            (None, None) => {
                // Only the scheme is shown: the rest of a URL may hold a password, and so may what is no URL.
                let is_scheme = rest.starts_with("//") && scheme.bytes().all(|b| b.is_ascii_lowercase());
                let what = match is_scheme {
                    true => format!("no store has the scheme {scheme:?}"),
                    false => "this is not a store's URL".to_string(),
                };
                let known: Vec<_> = STORES.iter().map(|kind| kind.example).collect();
                Err(invalid(format!("{what}: known are {}", known.join(", "))))
            }
        }
    }
}

type Check = fn(&str, &StoreSettings, Arc<dyn Runtime>) -> Result<(), StoreError>;
type Probe = fn(&str, &StoreSettings, Arc<dyn Runtime>) -> Probing;
type Init = fn(&str, &StoreSettings, Arc<dyn Runtime>) -> Initialising;
type Initialising = BoxFuture<'static, Result<Initialised, StoreError>>;
type Opening = BoxFuture<'static, Result<Arc<dyn Store>, StoreError>>;

/// Every store that this build can open.
pub static STORES: &[StoreKind] = &[
    StoreKind {
        scheme: "memory",
        example: "memory:",
        summary: "in this process, gone with it: tests and throw-away runs",
        open: open_memory,
        check: |rest, _, _| check_memory(rest),
        probe: None,
        init: None,
    },
    StoreKind {
        scheme: EMBEDDED,
        example: "file:PATH",
        summary: "a folder on a local disk: durable, one process at a time, no set-up",
        open: open_embedded,
        check: |rest, _, _| named_folder(rest).map(drop),
        probe: None,
        init: None,
    },
    #[cfg(feature = "postgres")]
    StoreKind {
        scheme: "postgres",
        example: "postgres://mint@localhost/ids",
        summary: "PostgreSQL: several servers at a time share its registers",
        open: open_sql::<super::postgres::Postgres>,
        check: |rest, settings, _| super::postgres::Postgres::of_url(rest, settings).map(drop),
        probe: Some(probe_sql::<super::postgres::Postgres>),
        init: Some(init_sql::<super::postgres::Postgres>),
    },
    #[cfg(feature = "mysql")]
    StoreKind {
        scheme: "mysql",
        example: "mysql://mint@localhost/ids",
        summary: "MariaDB or MySQL: several servers at a time share its registers",
        open: open_sql::<super::mysql::MySql>,
        check: |rest, settings, _| super::mysql::MySql::of_url(rest, settings).map(drop),
        probe: Some(probe_sql::<super::mysql::MySql>),
        init: Some(init_sql::<super::mysql::MySql>),
    },
    #[cfg(feature = "redis")]
    StoreKind {
        scheme: "redis",
        example: "redis://host/0",
        summary: "Redis or Valkey, where it syncs every write",
        open: |rest, settings, runtime| open_redis("redis", rest, settings, runtime),
        check: |rest, _, runtime| super::RedisStore::check("redis", rest, runtime),
        probe: Some(|rest, settings, runtime| probe_redis("redis", rest, settings, runtime)),
        init: Some(|rest, settings, runtime| init_redis("redis", rest, settings, runtime)),
    },
    #[cfg(feature = "redis")]
    StoreKind {
        scheme: "rediss",
        example: "rediss://host/0",
        summary: "the same over TLS",
        open: |rest, settings, runtime| open_redis("rediss", rest, settings, runtime),
        check: |rest, _, runtime| super::RedisStore::check("rediss", rest, runtime),
        probe: Some(|rest, settings, runtime| probe_redis("rediss", rest, settings, runtime)),
        init: Some(|rest, settings, runtime| init_redis("rediss", rest, settings, runtime)),
    },
    #[cfg(feature = "redis")]
    StoreKind {
        scheme: "redis+unix",
        example: "redis+unix:///run/redis.sock?db=0",
        summary: "the same over a socket of this machine",
        open: |rest, settings, runtime| open_redis("redis+unix", rest, settings, runtime),
        check: |rest, _, runtime| super::RedisStore::check("redis+unix", rest, runtime),
        probe: Some(|rest, settings, runtime| probe_redis("redis+unix", rest, settings, runtime)),
        init: Some(|rest, settings, runtime| init_redis("redis+unix", rest, settings, runtime)),
    },
    #[cfg(feature = "etcd")]
    StoreKind {
        scheme: "etcd",
        example: "etcd://host1,host2,host3",
        summary: "an etcd cluster: a majority keeps every write",
        open: |rest, settings, runtime| {
            let (rest, settings) = (rest.to_string(), settings.clone());
            Box::pin(async move {
                Ok(
                    Arc::new(ByCas(super::EtcdStore::open(&rest, &settings, runtime).await?))
                        as Arc<dyn Store>,
                )
            })
        },
        check: super::EtcdStore::check,
        probe: Some(|rest, settings, runtime| {
            let (rest, settings) = (rest.to_string(), settings.clone());
            Box::pin(async move { super::EtcdStore::probe(&rest, &settings, runtime).await })
        }),
        init: Some(|rest, settings, runtime| {
            let (rest, settings) = (rest.to_string(), settings.clone());
            Box::pin(async move { super::EtcdStore::init(&rest, &settings, runtime).await })
        }),
    },
    #[cfg(feature = "zookeeper")]
    StoreKind {
        scheme: "zookeeper",
        example: "zookeeper://host1,host2,host3/ids",
        summary: "a ZooKeeper ensemble, 3.6 or newer: a majority keeps every write",
        open: |rest, settings, runtime| {
            let (rest, settings) = (rest.to_string(), settings.clone());
            Box::pin(async move {
                Ok(Arc::new(ByCas(
                    super::ZooKeeperStore::open(&rest, &settings, runtime).await?,
                )) as Arc<dyn Store>)
            })
        },
        check: super::ZooKeeperStore::check,
        probe: Some(|rest, settings, runtime| {
            let (rest, settings) = (rest.to_string(), settings.clone());
            Box::pin(async move { super::ZooKeeperStore::probe(&rest, &settings, runtime).await })
        }),
        init: Some(|rest, settings, runtime| {
            let (rest, settings) = (rest.to_string(), settings.clone());
            Box::pin(async move { super::ZooKeeperStore::init(&rest, &settings, runtime).await })
        }),
    },
];

#[cfg(any(feature = "postgres", feature = "mysql"))]
fn open_sql<D: Dialect>(rest: &str, settings: &StoreSettings, runtime: Arc<dyn Runtime>) -> Opening {
    let (server, settings) = (D::of_url(rest, settings), settings.clone());
    Box::pin(async move { super::sql::open(server?, &settings, runtime).await })
}

#[cfg(any(feature = "postgres", feature = "mysql"))]
fn init_sql<D: Dialect>(rest: &str, settings: &StoreSettings, runtime: Arc<dyn Runtime>) -> Initialising {
    let (server, settings) = (D::of_url(rest, settings), settings.clone());
    Box::pin(async move { super::sql::init(server?, &settings, runtime).await })
}

#[cfg(any(feature = "postgres", feature = "mysql"))]
fn probe_sql<D: Dialect>(rest: &str, settings: &StoreSettings, runtime: Arc<dyn Runtime>) -> Probing {
    let (server, settings) = (D::of_url(rest, settings), settings.clone());
    Box::pin(async move { super::sql::probe(server?, &settings, runtime).await })
}

/// The stores that a build may be made without: the scheme, other schemes that people write for the same, and the
/// feature that brings it.
static NAMES: &[(&[&str], &str)] = &[
    (&["postgres", "postgresql"], "postgres"),
    (&["mysql", "mariadb"], "mysql"),
    (&["redis", "valkey"], "redis"),
    (&["rediss", "valkeys"], "redis"),
    (&["redis+unix"], "redis"),
    (&["etcd"], "etcd"),
    (&["zookeeper"], "zookeeper"),
];

/// Opens the store at `url`, such as `memory:` or `file:/var/lib/mint`.
///
/// ```
/// # let rt = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
/// # rt.block_on(async {
/// use mintage_drivers::open_store;
/// use mintage_store::{StoreSettings, SystemRuntime};
/// let runtime = SystemRuntime::new(tokio::runtime::Handle::current());
/// let store = open_store("memory:", &StoreSettings::default(), runtime.clone()).await.unwrap();
/// assert_eq!(store.scheme(), "memory");
/// let error = open_store("mongodb://host", &StoreSettings::default(), runtime).await.unwrap_err();
/// let why = r#"no store has the scheme "mongodb": known are memory:, file:PATH"#;
/// assert!(error.to_string().starts_with(why), "{error}");
/// # });
/// ```
///
/// # Errors
/// [`StoreErrorKind::Invalid`] for a URL that names no store, listing those that exist; otherwise what the
/// store itself refuses.
pub async fn open_store(
    url: &str,
    settings: &StoreSettings,
    runtime: Arc<dyn Runtime>,
) -> Result<Arc<dyn Store>, StoreError> {
    let (kind, rest) = StoreKind::of(url)?;
    let store = (kind.open)(rest, settings, runtime).await?;
    if kind.is_shared() {
        admit(&*store, settings)?;
    }
    Ok(store)
}

/// Asks the server of the store at `url`, which needs no schema, for the settings that decide its class.
///
/// # Errors
/// [`StoreErrorKind::Invalid`] for a URL that names no store, or one that has no server; otherwise why it could not be
/// asked.
pub async fn probe_store(
    url: &str,
    settings: &StoreSettings,
    runtime: Arc<dyn Runtime>,
) -> Result<Probed, StoreError> {
    let (kind, rest) = StoreKind::of(url)?;
    match kind.probe {
        Some(probe) => probe(rest, settings, runtime).await,
        None => {
            let why = format!(
                "store {}: has no server whose settings could be wrong",
                kind.scheme
            );
            let error = StoreError::new(StoreErrorKind::Invalid, Outcome::NotDone, why);
            Err(error.with_hint("mint store check says whether a folder is sound"))
        }
    }
}

/// Reads a store's URL with the store's own reader, and connects to nothing: what it refuses, [`open_store`] refuses
/// too.
///
/// ```
/// # let rt = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
/// use mintage_drivers::check_store_url;
/// use mintage_store::{StoreSettings, SystemRuntime};
/// let runtime = SystemRuntime::new(rt.handle().clone());
/// let check = |url| check_store_url(url, &StoreSettings::default(), runtime.clone());
/// assert!(check("file:./no/such/folder").is_ok());
/// assert!(check("memory:5").unwrap_err().message.contains("takes nothing after the colon"));
/// ```
///
/// # Errors
/// [`StoreErrorKind::Invalid`], and certificates that cannot be read.
pub fn check_store_url(
    url: &str,
    settings: &StoreSettings,
    runtime: Arc<dyn Runtime>,
) -> Result<(), StoreError> {
    let (kind, rest) = StoreKind::of(url)?;
    (kind.check)(rest, settings, runtime)
}

/// Makes schema and cluster id of the shared store at `url`, nothing else.
///
/// # Errors
/// [`StoreErrorKind::Invalid`] for a URL that names no store or one that needs no such step; otherwise what the store
/// itself refuses.
pub async fn make_schema(
    url: &str,
    settings: &StoreSettings,
    runtime: Arc<dyn Runtime>,
) -> Result<Initialised, StoreError> {
    let (kind, rest) = StoreKind::of(url)?;
    match kind.init {
        Some(init) => init(rest, settings, runtime).await,
        // What its first opening makes is all there is to make.
        None if kind.scheme == EMBEDDED => init_embedded(rest, settings, runtime).await,
        None => Err(invalid(format!(
            "store {}: needs no initialising, it is made at its first opening",
            kind.scheme
        ))),
    }
}

/// Refuses a shared store that may forget what it acknowledged, unless that was allowed. The one place that
/// does; what is kept when it was allowed is in `guard`.
fn admit(store: &dyn Store, settings: &StoreSettings) -> Result<(), StoreError> {
    let found = store.durability();
    if found.class != Class::Lossy || settings.allow_lossy {
        return Ok(());
    }
    Err(lossy(store.scheme(), &found))
}

/// Makes the folder's store, whether or not a server may.
fn init_embedded(rest: &str, settings: &StoreSettings, runtime: Arc<dyn Runtime>) -> Initialising {
    let folder = named_folder(rest);
    let settings = StoreSettings {
        create: true,
        ..settings.clone()
    };
    Box::pin(async move {
        let folder = folder?;
        let store = EmbeddedStore::open(folder, &settings, runtime).await?;
        let made = Initialised {
            cluster_id: store.cluster_id(),
            created: store.report().created,
        };
        store.close().await?;
        Ok(made)
    })
}

fn open_memory(rest: &str, _: &StoreSettings, runtime: Arc<dyn Runtime>) -> Opening {
    let opened = check_memory(rest).map(|()| MemoryStore::new(&*runtime) as Arc<dyn Store>);
    Box::pin(std::future::ready(opened))
}

fn check_memory(rest: &str) -> Result<(), StoreError> {
    match rest {
        "" => Ok(()),
        _ => Err(invalid("store memory: takes nothing after the colon".to_string())),
    }
}

fn open_embedded(rest: &str, settings: &StoreSettings, runtime: Arc<dyn Runtime>) -> Opening {
    let (folder, settings) = (named_folder(rest), settings.clone());
    Box::pin(async move {
        let folder = folder?;
        let store = EmbeddedStore::open(&folder, &settings, runtime).await?;
        if store.report().created {
            tracing::warn!(folder = %folder.display(), "there was no store: one was made");
        }
        Ok(store as Arc<dyn Store>)
    })
}

#[cfg(feature = "redis")]
fn open_redis(
    scheme: &'static str,
    rest: &str,
    settings: &StoreSettings,
    runtime: Arc<dyn Runtime>,
) -> Opening {
    let (rest, settings) = (rest.to_string(), settings.clone());
    Box::pin(async move {
        Ok(super::RedisStore::open(scheme, &rest, &settings, runtime).await? as Arc<dyn Store>)
    })
}

#[cfg(feature = "redis")]
fn init_redis(
    scheme: &'static str,
    rest: &str,
    settings: &StoreSettings,
    runtime: Arc<dyn Runtime>,
) -> Initialising {
    let (rest, settings) = (rest.to_string(), settings.clone());
    Box::pin(async move { super::RedisStore::init(scheme, &rest, &settings, runtime).await })
}

#[cfg(feature = "redis")]
fn probe_redis(
    scheme: &'static str,
    rest: &str,
    settings: &StoreSettings,
    runtime: Arc<dyn Runtime>,
) -> Probing {
    let (rest, settings) = (rest.to_string(), settings.clone());
    Box::pin(async move { super::RedisStore::probe(scheme, &rest, &settings, runtime).await })
}

/// The folder that `file:PATH` names: `file:///PATH` is taken too.
///
/// ```
/// use mintage_drivers::embedded_folder;
/// assert_eq!(embedded_folder("///var/lib/mint").to_str(), Some("/var/lib/mint"));
/// assert_eq!(embedded_folder("./ids").to_str(), Some("./ids"));
/// ```
pub fn embedded_folder(path: &str) -> &Path {
    let path = path
        .strip_prefix("//")
        .filter(|rest| rest.starts_with('/'))
        .unwrap_or(path);
    Path::new(path)
}

/// The folder of a URL that must name one: where the default one lies is for whoever read the configuration to say.
fn named_folder(rest: &str) -> Result<PathBuf, StoreError> {
    match rest {
        "" | "//" => Err(invalid(
            "store file: names no folder; write file:PATH".to_string(),
        )),
        path => Ok(embedded_folder(path).to_path_buf()),
    }
}

/// The folder that a store's URL names, where it is one on this machine.
///
/// ```
/// use std::path::Path;
/// use mintage_drivers::store_folder;
/// assert_eq!(store_folder("file:./ids"), Some(Path::new("./ids")));
/// assert_eq!(store_folder("memory:"), None);
/// ```
pub fn store_folder(url: &str) -> Option<&Path> {
    url.strip_prefix("file:").map(embedded_folder)
}

fn invalid(message: String) -> StoreError {
    StoreError::new(StoreErrorKind::Invalid, Outcome::NotDone, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scheme_is_known_by_its_other_names_or_said_to_be_left_out() {
        let rows: [(&str, &str, bool); 3] = [
            ("postgresql://h/ids", "postgres", cfg!(feature = "postgres")),
            ("mariadb://h/ids", "mysql", cfg!(feature = "mysql")),
            ("valkey://h/0", "redis", cfg!(feature = "redis")),
        ];
        for (url, scheme, built) in rows {
            match StoreKind::of(url) {
                Ok((kind, _)) => assert_eq!((kind.scheme, built), (scheme, true)),
                Err(error) => {
                    assert!(
                        !built && error.message.starts_with("this build was made without"),
                        "{error}"
                    );
                    assert_eq!(error.hint, Some(Advice::BuildWith { feature: scheme }));
                }
            }
        }
    }

    #[test]
    fn a_store_that_may_forget_is_refused_with_the_setting_to_change() {
        let store = MemoryStore::with_cluster_id(1);
        let refused = admit(&*store, &StoreSettings::default()).unwrap_err();
        assert_eq!(refused.kind, StoreErrorKind::Denied);
        assert!(
            matches!(refused.hint, Some(Advice::AllowLossy { .. })),
            "{refused:?}"
        );
        let found = super::super::Durability {
            fix: Some("CONFIG SET appendfsync always".into()),
            ..super::super::Durability::plain(Class::Lossy, "appendfsync is everysec")
        };
        let refused = lossy("redis", &found);
        assert_eq!(
            refused.message,
            "the redis store may lose what it has acknowledged, class L (appendfsync is everysec)"
        );
        let fix = "CONFIG SET appendfsync always".to_string();
        assert_eq!(refused.hint, Some(Advice::AllowLossy { fix }));
        let allowed = StoreSettings {
            allow_lossy: true,
            ..StoreSettings::default()
        };
        assert!(admit(&*store, &allowed).is_ok());
    }
}
