//! The Redis protocol: what redis-cli, redis-benchmark and every Redis client speak.
//!
//! | file | what |
//! | --- | --- |
//! | `frame` | requests, read in place |
//! | `reply`, `digits` | answers |
//! | `connection` | the loop: read, execute all, write once |
//! | `commands` | the table of commands and what they do |
//! | `transaction` | what is kept between `MULTI` and `EXEC` |
//! | `web` | browsers that speak HTTP to this port |
//! | `glob` | patterns of KEYS, SCAN and CONFIG GET |

mod commands;
pub(crate) mod connection;
mod digits;
pub mod frame;
pub mod glob;
pub(crate) mod reply;
mod transaction;
mod web;

/// The Redis whose replies and error texts these are.
pub const REDIS_VERSION: &str = "7.0.15";

/// What a connection beyond the limit is told.
pub(crate) const TOO_MANY_CONNECTIONS: &[u8] = b"-ERR max number of clients reached\r\n";
