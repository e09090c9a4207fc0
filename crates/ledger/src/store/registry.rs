//! The table of stores and the one way to open one from its URL.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::{EmbeddedStore, MemoryStore, Outcome, Store, StoreError, StoreErrorKind};
use crate::runtime::{BoxFuture, Runtime};

/// What opening a store may be told.
#[derive(Clone, Debug)]
pub struct StoreSettings {
    /// How long to wait for another process to let go of the embedded folder; zero refuses at once.
    /// One-shot commands wait, servers do not.
    pub lock_wait: Duration,
    /// Whether the embedded folder may lie on a network file system, whose locks and syncs may not hold.
    pub allow_network_fs: bool,
    /// Shared stores: the cluster id that must be found; any, if `None`.
    pub expect_cluster: Option<u128>,
    /// Shared stores: whether one that may forget acknowledged writes ([`super::Class::Lossy`]) is taken.
    pub allow_lossy: bool,
    /// Shared stores: how long one request may take before its outcome counts as unknown.
    pub request_timeout: Duration,
    /// Shared stores: how long making a connection may take, TLS and credentials included.
    pub connect_timeout: Duration,
}

impl Default for StoreSettings {
    fn default() -> Self {
        StoreSettings {
            lock_wait: Duration::ZERO,
            allow_network_fs: false,
            expect_cluster: None,
            allow_lossy: false,
            request_timeout: Duration::from_secs(2),
            connect_timeout: Duration::from_secs(2),
        }
    }
}

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
    /// Makes schema and cluster id; `None` for stores that make themselves at their first opening.
    init: Option<Init>,
}

/// What [`init_store`] came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Initialised {
    /// The store's cluster id.
    pub cluster_id: u128,
    /// Whether this call made it; otherwise it was there.
    pub created: bool,
}

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
        init: None,
    },
    StoreKind {
        scheme: "file",
        example: "file:./mint-data",
        summary: "a folder on a local disk: durable, one process at a time, no set-up",
        open: open_embedded,
        init: None,
    },
];

/// Opens the store at `url`, such as `memory:` or `file:./mint-data`.
///
/// ```
/// # let rt = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
/// # rt.block_on(async {
/// use mintage_ledger::{StoreSettings, SystemRuntime, open_store};
/// let runtime = SystemRuntime::new(tokio::runtime::Handle::current());
/// let store = open_store("memory:", &StoreSettings::default(), runtime.clone()).await.unwrap();
/// assert_eq!(store.scheme(), "memory");
/// let error = open_store("mongodb://host", &StoreSettings::default(), runtime).await.unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     r#"no store has the scheme "mongodb": known are memory:, file:./mint-data"#
/// );
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
    let (kind, rest) = kind_of(url)?;
    (kind.open)(rest, settings, runtime).await
}

/// Makes the schema and the cluster id of the shared store at `url`; does nothing to one that has them.
///
/// # Errors
/// [`StoreErrorKind::Invalid`] for a URL that names no store or one that needs no such step; otherwise what
/// the store itself refuses.
pub async fn init_store(
    url: &str,
    settings: &StoreSettings,
    runtime: Arc<dyn Runtime>,
) -> Result<Initialised, StoreError> {
    let (kind, rest) = kind_of(url)?;
    match kind.init {
        Some(init) => init(rest, settings, runtime).await,
        None => Err(invalid(format!(
            "store {}: needs no initialising, it is made at its first opening",
            kind.scheme
        ))),
    }
}

/// The row of `STORES` that a URL names, and the URL after its scheme and colon.
fn kind_of(url: &str) -> Result<(&'static StoreKind, &str), StoreError> {
    let (scheme, rest) = url.split_once(':').unwrap_or((url, ""));
    match STORES.iter().find(|kind| kind.scheme == scheme) {
        Some(kind) => Ok((kind, rest)),
        None => {
            // Only the scheme is shown: the rest of a URL may hold a password.
            let known: Vec<_> = STORES.iter().map(|kind| kind.example).collect();
            Err(invalid(format!(
                "no store has the scheme {scheme:?}: known are {}",
                known.join(", ")
            )))
        }
    }
}

fn open_memory(rest: &str, _: &StoreSettings, runtime: Arc<dyn Runtime>) -> Opening {
    let opened = match rest {
        "" => Ok(MemoryStore::new(&*runtime) as Arc<dyn Store>),
        _ => Err(invalid("store memory: takes nothing after the colon".to_string())),
    };
    Box::pin(std::future::ready(opened))
}

fn open_embedded(rest: &str, settings: &StoreSettings, runtime: Arc<dyn Runtime>) -> Opening {
    let folder = embedded_folder(rest).to_path_buf();
    let settings = settings.clone();
    Box::pin(async move { Ok(EmbeddedStore::open(folder, &settings, runtime).await? as Arc<dyn Store>) })
}

/// The folder that `file:PATH` names: `file:///PATH` is taken too, and `file:` is the default folder.
///
/// ```
/// use mintage_ledger::embedded_folder;
/// assert_eq!(embedded_folder("///var/lib/mint").to_str(), Some("/var/lib/mint"));
/// assert_eq!(embedded_folder("").to_str(), Some("./mint-data"));
/// ```
pub fn embedded_folder(path: &str) -> &Path {
    let path = path
        .strip_prefix("//")
        .filter(|rest| rest.starts_with('/'))
        .unwrap_or(path);
    Path::new(if path.is_empty() {
        super::embedded::DEFAULT_FOLDER
    } else {
        path
    })
}

fn invalid(message: String) -> StoreError {
    StoreError::new(StoreErrorKind::Invalid, Outcome::NotDone, message)
}
