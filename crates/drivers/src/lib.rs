//! How to keep a connection to a database of others, and registers over it.
//!
//! A **driver** speaks one database's protocol. A **link** keeps connections over it: deadlines, what an error says of
//! the outcome, other copies of the data. A **store** is registers over a link; [`open_store`] opens each from its URL.

#[cfg(any(feature = "redis", feature = "etcd", feature = "zookeeper"))]
mod address;
#[cfg(any(feature = "postgres", feature = "mysql", feature = "redis"))]
mod answered;
#[cfg(any(feature = "redis", feature = "zookeeper"))]
mod browse;
#[cfg(any(feature = "etcd", feature = "zookeeper"))]
mod cas_store;
#[cfg(feature = "etcd")]
mod etcd;
#[cfg(any(feature = "redis", feature = "etcd", feature = "zookeeper"))]
mod link;
#[cfg(feature = "mysql")]
pub mod mysql;
mod pinned;
#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(any(feature = "etcd", feature = "zookeeper"))]
mod record;
#[cfg(feature = "redis")]
pub mod redis;
mod registry;
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub mod sql;
#[cfg(feature = "zookeeper")]
mod zookeeper;

use mintage_store::*;

#[cfg(feature = "redis")]
pub use self::redis::{RedisKeys, RedisStore};
#[cfg(feature = "etcd")]
use etcd::EtcdStore;
#[cfg(any(test, feature = "testing"))]
pub use pinned::remembering;
pub use pinned::{late_store, open_pinned};
pub use registry::{
    STORES, StoreKind, check_store_url, embedded_folder, make_schema, open_store, probe_store, store_folder,
};
#[cfg(feature = "zookeeper")]
use zookeeper::ZooKeeperStore;
#[cfg(feature = "zookeeper")]
pub use zookeeper::{ZooKeeperNodes, client as zookeeper_client, open_zookeeper};
