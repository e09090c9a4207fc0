//! Every end-to-end test, as one program: one link, and tests of all files side by side.
//!
//! `cargo xtask e2e FILTER` runs those whose path holds the filter: `e2e kill::`, `e2e journeys`. A test that takes
//! minutes is `#[ignore]`d, and `cargo xtask test --deep` runs it.
#![allow(clippy::unwrap_used)]

mod answers;
mod audit;
mod away;
mod backfill;
mod borrowers;
mod choose;
mod clocks;
mod cluster;
mod coming_from;
mod command;
mod console;
mod console_acts;
mod console_trouble;
mod core_command;
mod demo;
mod disks;
mod docs;
mod doctor;
mod doctor_postgres;
mod doctor_store;
mod events;
mod face_cosid;
mod face_gosnowflake;
mod face_idgo;
mod face_leaf;
mod face_mysql;
mod face_postgres;
mod face_postgrest;
mod face_sonyflake;
mod face_tinyid;
mod faces;
mod failover;
mod faults;
mod fill;
mod folder;
mod formats_command;
mod galera;
mod greedy;
mod grpc;
mod histories;
mod hostile;
mod http;
mod ids;
mod import;
mod java_clients;
mod journeys;
mod kept;
mod kill;
mod kinds;
mod lossy;
mod masters;
mod mysql_parity;
mod one_way;
mod operating;
mod order;
mod origin;
mod originals_built;
mod outage;
mod passwords;
mod pooled;
mod postgres_parity;
mod proxy;
mod rates;
mod rebinding;
mod redis_node;
mod redis_parity;
mod redis_py;
mod restore;
mod rewind;
mod rights;
mod scripts;
mod scripts_clients;
mod series;
mod service_manager;
mod sessions;
mod set_back;
mod slow;
mod soak;
mod source_mariadb;
mod source_postgres;
mod source_redis;
mod source_rows;
mod sql_docs;
mod sql_faces;
mod sql_logins;
mod sql_mariadb;
mod sql_postgres;
mod sql_postgres_life;
mod sql_rust;
mod sql_vectors;
mod standby_away;
mod stops;
mod store_etcd;
mod store_mysql;
mod store_postgres;
mod store_redis;
mod store_tools;
mod store_zookeeper;
mod striped;
mod thrift;
mod tls;
mod top;
mod trail;
mod traps;
mod unix;
mod unread;
mod watching;
mod wire;
mod workers;

/// A file that no `mod` names would not be compiled, and nobody would miss it.
#[test]
fn every_file_of_this_folder_is_a_module() {
    let here = concat!(env!("CARGO_MANIFEST_DIR"), "/tests");
    let own = include_str!("main.rs");
    for entry in std::fs::read_dir(here).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let Some(module) = name.strip_suffix(".rs") else {
            continue;
        };
        let is_named = own.lines().any(|line| line == format!("mod {module};"));
        assert!(
            is_named || module == "main",
            "e2e/tests/main.rs has no `mod {module};`"
        );
    }
}
