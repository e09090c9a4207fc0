//! Private servers that the store suite may do anything to, one file per kind.

pub(crate) mod as_new;
pub mod disk;
pub mod etcd;
pub mod galera;
pub mod lent;
pub mod mariadb;
pub mod pgbouncer;
pub mod place;
pub mod port;
pub mod postgres;
pub mod process;
pub mod redis;
pub mod sentinel;
pub mod surroundings;
pub mod zookeeper;

use crate::store_suite::Engine;

/// Starts a server, if its program is here.
pub type Start = fn() -> Option<Box<dyn Engine>>;

/// A private server of every kind of shared store, by name.
pub const ALL: [(&str, Start); 5] = [
    ("postgres", || Some(Box::new(postgres::Postgres::run()?))),
    ("mariadb", || Some(Box::new(mariadb::Mariadb::run()?))),
    ("redis", || Some(Box::new(redis::Redis::run()?))),
    ("etcd", || Some(Box::new(etcd::Etcd::run()?))),
    ("zookeeper", || Some(Box::new(zookeeper::ZooKeeper::run()?))),
];
