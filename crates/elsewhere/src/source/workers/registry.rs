//! The table of systems whose workers can be looked at, and how that is done by a URL.

#[cfg(feature = "mysql")]
use std::sync::Arc;

use super::found::WorkersFound;
use super::kind::{Asked, Place, WorkerEngine, WorkerSystem};
use crate::runtime::Runtime;
use crate::source::{SourceError, SourceErrorKind};
#[cfg(feature = "redis")]
use crate::store::RedisKeys;
use crate::store::StoreSettings;
#[cfg(feature = "zookeeper")]
use crate::store::ZooKeeperNodes;

/// Every system that this build can look at.
pub static WORKER_SYSTEMS: &[WorkerSystem] = &[
    #[cfg(feature = "zookeeper")]
    WorkerSystem {
        name: "leaf",
        engine: WorkerEngine::ZooKeeper,
        example: "leaf+zookeeper://zoo:2181/snowflake/shop",
        summary: "Leaf: the nodes below forever, and their times",
        bits: 10,
        spare: 64,
        option: None,
        read: super::leaf::read,
    },
    #[cfg(feature = "zookeeper")]
    WorkerSystem {
        name: "twitter",
        engine: WorkerEngine::ZooKeeper,
        example: "twitter+zookeeper://zoo:2181/snowflake-servers?datacenter=1",
        summary: "Twitter's Snowflake of 2010: its living servers; of all data centres, unless one is named",
        bits: 10,
        spare: 0,
        option: Some("datacenter"),
        read: super::twitter::read,
    },
    #[cfg(feature = "mysql")]
    WorkerSystem {
        name: "cosid",
        engine: WorkerEngine::MySql,
        example: "cosid+mysql://user@db/app?namespace=shop",
        summary: "CosId: the table cosid_machine",
        bits: 10,
        spare: 64,
        option: Some("namespace"),
        read: super::cosid::read_mysql,
    },
    #[cfg(feature = "redis")]
    WorkerSystem {
        name: "cosid",
        engine: WorkerEngine::Redis,
        example: "cosid+redis://cache:6379?namespace=shop",
        summary: "CosId: the keys cosid:{NAMESPACE}:itc_idx, :revert and :adder",
        bits: 10,
        spare: 64,
        option: Some("namespace"),
        read: super::cosid::read_redis,
    },
    #[cfg(feature = "zookeeper")]
    WorkerSystem {
        name: "cosid",
        engine: WorkerEngine::ZooKeeper,
        example: "cosid+zookeeper://zoo:2181/cosid/shop",
        summary: "CosId: the nodes below __itc_idx and __revert, and __counter",
        bits: 10,
        spare: 64,
        option: None,
        read: super::cosid::read_zookeeper,
    },
    #[cfg(feature = "mysql")]
    WorkerSystem {
        name: "uid-generator",
        engine: WorkerEngine::MySql,
        example: "uid-generator+mysql://user@db/app",
        summary: "Baidu's uid-generator: the table WORKER_NODE, a row a start",
        bits: 22,
        spare: 10_000,
        option: None,
        read: super::uid_generator::read,
    },
    #[cfg(feature = "redis")]
    WorkerSystem {
        name: "yitter",
        engine: WorkerEngine::Redis,
        example: "yitter+redis://cache:6379",
        summary: "yitter's IdGenerator: the keys IdGen:WorkerId:Value:*",
        bits: 6,
        spare: 16,
        option: None,
        read: super::yitter::read,
    },
];

/// The schemes of each engine, and the feature that brings it.
static SCHEMES: &[(&str, WorkerEngine, &str)] = &[
    ("mysql", WorkerEngine::MySql, "mysql"),
    ("mariadb", WorkerEngine::MySql, "mysql"),
    ("redis", WorkerEngine::Redis, "redis"),
    ("rediss", WorkerEngine::Redis, "redis"),
    ("redis+unix", WorkerEngine::Redis, "redis"),
    ("valkey", WorkerEngine::Redis, "redis"),
    ("valkeys", WorkerEngine::Redis, "redis"),
    ("zookeeper", WorkerEngine::ZooKeeper, "zookeeper"),
];

/// Looks at the workers that a URL means: `SYSTEM+SCHEME://…` those of one system, each namespace by itself; `SCHEME://…`
/// of MySQL and Redis those of every system that is found there, which may be none. Reads only.
///
/// ```
/// # let rt = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
/// use mintage_elsewhere::source::workers::look_at_workers;
/// use mintage_store::{StoreSettings, SystemRuntime};
/// use std::sync::Arc;
/// let runtime: Arc<dyn mintage_store::Runtime> = SystemRuntime::new(rt.handle().clone());
/// let settings = StoreSettings::default();
/// let asked = look_at_workers("leaf+mongodb://host/db", &settings, &runtime);
/// let error = rt.block_on(asked).unwrap_err();
/// assert!(error.message.starts_with("no system keeps its workers at \"mongodb\""), "{error}");
/// ```
///
/// # Errors
/// [`SourceErrorKind::Invalid`] for a URL that names no system; [`SourceErrorKind::Gone`] where a system that was named
/// is not there; [`SourceErrorKind::Refused`] for what cannot be understood; what the server says.
pub async fn look_at_workers(
    url: &str,
    settings: &StoreSettings,
    runtime: &std::sync::Arc<dyn Runtime>,
) -> Result<Vec<WorkersFound>, SourceError> {
    let (scheme, rest) = url.split_once(':').unwrap_or((url, ""));
    let (name, scheme) = name_and_scheme(scheme);
    let Some((scheme, engine, feature)) = SCHEMES.iter().find(|(known, ..)| *known == scheme) else {
        return Err(unknown(scheme, rest));
    };
    let systems: Vec<&'static WorkerSystem> = WORKER_SYSTEMS
        .iter()
        .filter(|row| row.engine == *engine && name.is_none_or(|name| row.name == name))
        .collect();
    if systems.is_empty() && WORKER_SYSTEMS.iter().any(|row| row.engine == *engine) {
        return Err(unknown_system(name.unwrap_or_default(), scheme, *engine));
    }
    if name.is_none() && *engine == WorkerEngine::ZooKeeper {
        return Err(invalid(format!(
            "a URL of ZooKeeper says whose nodes these are: {}",
            examples(*engine)
        )));
    }
    let (rest, option) = match systems.as_slice() {
        [system] => option_of(system, rest),
        _ => (rest.to_string(), None),
    };
    // The tables of workers are looked for in one database.
    if name.is_none() && *engine == WorkerEngine::MySql && !names_database(&rest) {
        return Ok(Vec::new());
    }
    let place = place(*engine, scheme, feature, &rest, settings, runtime)?;
    let mut all = Vec::new();
    for system in systems {
        let asked = Asked {
            system,
            option: option.clone(),
        };
        match (system.read)(&place, &asked).await {
            Ok(found) => all.extend(found),
            // Without a name, what is there is meant.
            Err(error) if name.is_none() && error.kind == SourceErrorKind::Gone => {}
            Err(error) => return Err(error),
        }
    }
    Ok(all)
}

/// Whether a URL of MySQL names a database.
fn names_database(rest: &str) -> bool {
    let authority = rest.strip_prefix("//").unwrap_or(rest);
    let path = authority.split('?').next().unwrap_or_default();
    path.split_once('/')
        .is_some_and(|(_, database)| !database.is_empty())
}

/// The system of this name that keeps its workers where a scheme leads.
pub(in crate::source) fn system(name: &str, scheme: &str) -> Option<&'static WorkerSystem> {
    let (_, engine, _) = SCHEMES.iter().find(|(known, ..)| *known == scheme)?;
    WORKER_SYSTEMS
        .iter()
        .find(|row| row.name == name && row.engine == *engine)
}

/// The rest of a URL without the system's own option.
pub(in crate::source) fn without_option(system: &WorkerSystem, rest: &str) -> String {
    option_of(system, rest).0
}

/// `leaf+zookeeper` is a system and a scheme; `redis+unix` is a scheme.
fn name_and_scheme(text: &str) -> (Option<&str>, &str) {
    if SCHEMES.iter().any(|(known, ..)| *known == text) {
        return (None, text);
    }
    match text.split_once('+') {
        Some((name, scheme)) => (Some(name), scheme),
        None => (None, text),
    }
}

/// Takes a system's own option out of the URL: its server's reader would not know it.
fn option_of(system: &WorkerSystem, rest: &str) -> (String, Option<String>) {
    let (Some(option), Some((before, query))) = (system.option, rest.rsplit_once('?')) else {
        return (rest.to_string(), None);
    };
    let (mut kept, mut value) = (Vec::new(), None);
    for part in query.split('&') {
        match part.split_once('=') {
            Some((name, given)) if name == option => value = Some(given.to_string()),
            _ => kept.push(part),
        }
    }
    match kept.is_empty() {
        true => (before.to_string(), value),
        false => (format!("{before}?{}", kept.join("&")), value),
    }
}

#[allow(unused_variables, reason = "a build may have no engine at all")]
fn place(
    engine: WorkerEngine,
    scheme: &'static str,
    feature: &str,
    rest: &str,
    settings: &StoreSettings,
    runtime: &std::sync::Arc<dyn Runtime>,
) -> Result<Place, SourceError> {
    match engine {
        #[cfg(feature = "mysql")]
        WorkerEngine::MySql => Ok(Place::MySql(crate::source::link::Link::new(
            rest,
            settings,
            Arc::clone(runtime),
        )?)),
        #[cfg(feature = "redis")]
        WorkerEngine::Redis => Ok(Place::Redis(RedisKeys::new(
            scheme,
            rest,
            settings,
            std::sync::Arc::clone(runtime),
        )?)),
        #[cfg(feature = "zookeeper")]
        WorkerEngine::ZooKeeper => Ok(Place::ZooKeeper(ZooKeeperNodes::new(
            rest,
            settings,
            std::sync::Arc::clone(runtime),
        )?)),
        #[allow(unreachable_patterns)]
        _ => Err(invalid(format!(
            "this build was made without {scheme}:; build with --features {feature}"
        ))),
    }
}

fn unknown_system(name: &str, scheme: &str, engine: WorkerEngine) -> SourceError {
    invalid(format!(
        "no system {name:?} keeps its workers at {scheme}: known are {}",
        examples(engine)
    ))
}

fn unknown(scheme: &str, rest: &str) -> SourceError {
    // Only the scheme is shown: the rest of a URL may hold a password, and so may what is no URL.
    let is_scheme = rest.starts_with("//") && scheme.bytes().all(|b| b.is_ascii_lowercase());
    let what = match is_scheme {
        true => format!("no system keeps its workers at {scheme:?}"),
        false => "this is no URL of a system's workers".to_string(),
    };
    let known: Vec<_> = WORKER_SYSTEMS.iter().map(|row| row.example).collect();
    invalid(format!("{what}: known are {}", known.join(", ")))
}

fn examples(engine: WorkerEngine) -> String {
    let rows = WORKER_SYSTEMS.iter().filter(|row| row.engine == engine);
    rows.map(|row| row.example).collect::<Vec<_>>().join(", ")
}

fn invalid(message: String) -> SourceError {
    SourceError::new(SourceErrorKind::Invalid, message)
}
