//! Private servers that the store suite may do anything to, one file per kind.

pub mod etcd;
pub mod mariadb;
pub mod port;
pub mod postgres;
pub mod process;
pub mod redis;
pub mod zookeeper;
