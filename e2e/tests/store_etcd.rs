//! The etcd store on a real server.

use mintage_e2e::engine::etcd::Etcd;

mintage_e2e::store_suite!(Etcd::run());
