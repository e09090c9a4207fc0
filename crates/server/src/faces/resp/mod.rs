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

pub(crate) mod commands;
pub(crate) mod connection;
mod cursors;
mod digits;
pub mod frame;
pub(crate) mod reply;
mod web;

use std::net::SocketAddr;

use super::{Face, Protocols, Serves};
use crate::transport::Endpoint;

/// The Redis whose replies and error texts these are.
pub const REDIS_VERSION: &str = "7.0.15";

/// The row of this face.
pub(super) const FACE: Face = Face {
    name: "resp",
    label: "redis",
    title: "the Redis protocol",
    section: "server.resp",
    port: 7601,
    listen: |config| &config.resp_listen,
    example: |address| match address {
        Endpoint::Tcp(address) => format!("redis-cli {} INCR orders", at(address)),
        Endpoint::Tls(address) => format!("redis-cli --tls --cacert ca.pem {} INCR orders", at(address)),
        Endpoint::Unix(path) => format!("redis-cli -s {} INCR orders", path.display()),
    },
    pools: |_| Vec::new(),
    serves: SERVES,
    settings: None,
    told: None,
    foreign: None,
    calls: None,
};

/// How a face of the Redis protocol serves its connections.
pub const SERVES: Serves = Serves {
    request_bytes: |config| config.resp_max_request.0,
    deadlines: connection::deadlines,
    health_deadlines: None,
    too_many: b"-ERR max number of clients reached\r\n",
    in_clear: b"-ERR mint: this port speaks TLS, and clear text came (redis-cli --tls --cacert FILE)\r\n",
    protocols: Protocols::Unnamed,
    begin: |connection| connection::begin(connection, &commands::OURS),
};

/// How redis-cli is told where to connect.
pub fn at(address: &SocketAddr) -> String {
    match address.ip() {
        ip if ip.is_loopback() && ip.is_ipv4() => format!("-p {}", address.port()),
        ip => format!("-h {ip} -p {}", address.port()),
    }
}
