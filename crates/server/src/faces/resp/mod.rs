//! The Redis protocol: what redis-cli, redis-benchmark and every Redis client speak.
//!
//! | file | what |
//! | --- | --- |
//! | `frame` | requests, read in place |
//! | `reply`, `digits` | answers |
//! | `connection` | the loop: read, execute all, write once |
//! | `commands` | the table of commands and what they do |
//! | `web` | browsers that speak HTTP to this port |
//! | `cursors` | where readers of pages go on |
//! | `glob` | patterns of KEYS, SCAN and CONFIG GET |

mod commands;
mod connection;
mod cursors;
mod digits;
pub mod frame;
pub mod glob;
pub(crate) mod reply;
mod web;

use super::{Face, Serves};
use crate::transport::{Endpoint, Transport};

/// The Redis whose replies and error texts these are.
pub const REDIS_VERSION: &str = "7.0.15";

/// The row of this face.
pub(super) const FACE: Face = Face {
    name: "resp",
    label: "redis",
    title: "the Redis protocol",
    section: "server.resp",
    port: 7601,
    speaks: &[Transport::Tcp, Transport::Unix],
    listen: |config| &config.resp_listen,
    example: |address| match address {
        Endpoint::Tcp(address) => {
            let host = match address.ip() {
                ip if ip.is_loopback() && ip.is_ipv4() => String::new(),
                ip => format!("-h {ip} "),
            };
            format!("redis-cli {host}-p {} INCR orders", address.port())
        }
        Endpoint::Unix(path) => format!("redis-cli -s {} INCR orders", path.display()),
    },
    pools: |_| Vec::new(),
    serves: Serves {
        request_bytes: |config| config.resp_max_request.0,
        deadlines: connection::deadlines,
        health_deadlines: None,
        too_many: b"-ERR max number of clients reached\r\n",
        begin: |connection| drop(tokio::task::spawn_local(connection::serve(connection))),
    },
    foreign: None,
};
