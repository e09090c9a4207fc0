//! The Redis store on a real server.

use mintage_e2e::engine::redis::Redis;

mintage_e2e::store_suite!(Redis::run());
