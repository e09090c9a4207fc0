//! The ZooKeeper store on a real server.

use mintage_e2e::engine::zookeeper::ZooKeeper;

mintage_e2e::store_suite!(ZooKeeper::run());
