//! The faces: one folder and one row of [`FACES`] for each. Listening, accepting, limits, deadlines, counters, labels,
//! the banner and the stop loop over the rows.

pub(crate) mod cosid;
pub(crate) mod gosnowflake;
pub mod grpc;
pub mod http;
pub(crate) mod idgo;
mod json_number;
pub(crate) mod keyed;
pub(crate) mod leaf;
pub mod mysql;
pub(crate) mod pooled;
pub mod postgres;
pub(crate) mod postgrest;
pub(crate) mod prest;
mod qualified;
pub mod resp;
pub mod scripts;
pub(crate) mod sonyflake;
pub(crate) mod sql;
pub mod thrift;
pub(crate) mod tinyid;
pub(crate) mod web;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use mintage_ledger::{LedgerError, Name, PoolKind};

use crate::config::{Access, Config, Listen};
use crate::connection::Connection;
use crate::error::Answer;
use crate::metrics::{Exposition, FACES_MAX, FaceId};
use crate::service::{Service, from_ledger};
use crate::thread::Shared;
use crate::transport::Endpoint;
use crate::watch::Deadlines;

/// A way in which clients speak to the server.
#[derive(Debug)]
pub struct Face {
    /// Its name in metrics and documents; `--NAME` is its flag.
    pub name: &'static str,
    /// What the banner calls it.
    pub label: &'static str,
    /// What messages call it.
    pub title: &'static str,
    /// The section of the configuration that its settings stand in, `listen` among them.
    pub section: &'static str,
    /// Where it listens unless told otherwise.
    pub port: u16,
    /// Where a configuration has it listen.
    pub listen: fn(&Config) -> &Listen,
    /// A command that tries it at an address, for the banner.
    pub example: fn(&Endpoint) -> String,
    /// The pools that it takes ids from; those that are missing are made when the server starts.
    pub(crate) pools: fn(&Config) -> Vec<NeededPool>,
    pub(crate) serves: Serves,
    /// What it is for our own port of HTTP, where it may share that.
    pub(crate) foreign: Option<&'static web::foreign::Foreign>,
    /// What answers calls of gRPC on our own port of HTTP.
    pub(crate) calls: Option<web::rpc::Call>,
}

impl Face {
    /// Whether it is one of another system, whose settings are a section of `faces`.
    pub fn is_foreign(&self) -> bool {
        self.section.starts_with("faces.")
    }

    /// The flag of `mint serve` that says where it listens.
    pub fn flag(&self) -> String {
        match self.is_foreign() {
            true => format!("--face {}=ADDRESS", self.name),
            false => format!("--{}", self.name),
        }
    }

    /// Who reaches it, where it is one of another system.
    pub(crate) fn access<'c>(&self, config: &'c Config) -> Option<&'c Access> {
        let found = config.faces.all().find(|(name, ..)| *name == self.name);
        found.map(|(_, access, _)| access)
    }

    /// Whether our own port of its protocol answers its requests too.
    pub fn shares_our_port(&self, config: &Config) -> bool {
        (self.listen)(config).main
    }
}

/// A pool that a face takes ids from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct NeededPool {
    pub(crate) name: String,
    /// The preset whose layout it is made with.
    pub(crate) preset: &'static str,
}

/// Makes the pools that faces need and that are not there.
///
/// # Errors
/// What the store says.
pub(crate) async fn make_pools(service: &Service) -> Answer<()> {
    let config = service.config();
    let serving = FACES.iter().filter(|face| !(face.listen)(&config).is_off());
    for needed in serving.flat_map(|face| (face.pools)(&config)) {
        let name = Name::from_bytes(needed.name.as_bytes()).expect("a face's pool has a name");
        if service.has_pool(&name).await? {
            continue;
        }
        let layout = mintage::preset(needed.preset).expect("a row of PRESETS").layout();
        let kind = PoolKind::Snowflake(Arc::new(layout));
        match service.ledger().create_pool_by_use(&name, kind.into()).await {
            Ok(_) => tracing::info!(pool = %name, preset = needed.preset, "made for a face"),
            Err(error @ LedgerError::NoAutoCreate { .. }) => {
                tracing::warn!(pool = %name, preset = needed.preset, %error, "a face has no pool");
            }
            Err(error) => return Err(from_ledger(error)),
        }
    }
    Ok(())
}

/// Makes them once the store is back, where the server began without it.
pub(crate) async fn make_pools_when_back(service: &Service) -> Infallible {
    let mut made = !service.ledger().is_away();
    while !made {
        tokio::time::sleep(LOOK_EVERY).await;
        if !service.ledger().is_away() {
            match make_pools(service).await {
                Ok(()) => made = true,
                Err(error) => tracing::debug!(error = %error.message, "cannot make the pools of faces yet"),
            }
        }
    }
    std::future::pending().await
}

/// How often it is looked whether a store that was away at the start is back.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// How a face serves its connections.
#[derive(Debug)]
pub(crate) struct Serves {
    /// The largest request that is read into a buffer, in bytes.
    pub(crate) request_bytes: fn(&Config) -> usize,
    /// How long a connection may wait for what.
    pub(crate) deadlines: fn(&Config) -> Deadlines,
    /// The same for a place that is kept for questions about the server's health, where it answers such.
    pub(crate) health_deadlines: Option<fn(&Config) -> Deadlines>,
    /// What a connection beyond the limit is told.
    pub(crate) too_many: &'static [u8],
    /// What a client is told that speaks in clear where TLS is spoken.
    pub(crate) in_clear: &'static [u8],
    /// The names of its protocols, where TLS agrees on one (ALPN).
    pub(crate) protocols: Protocols,
    /// Serves a connection in a task of its own, on this thread.
    pub(crate) begin: fn(Connection),
}

/// What TLS agrees on besides the keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Protocols {
    /// `h2` and `http/1.1`.
    Http,
    /// None: the protocol has no name there.
    Unnamed,
    /// `postgresql`. Its clients and servers agree in clear that TLS begins: the face calls
    /// [`Socket::begin_tls`](crate::socket::Socket::begin_tls).
    Postgres,
    /// None; as with `postgresql`, TLS begins within the protocol.
    Mysql,
}

impl Protocols {
    /// Whether TLS begins within the protocol, when its face says so, and not with the connection.
    pub(crate) fn begin_in_clear(self) -> bool {
        matches!(self, Protocols::Postgres | Protocols::Mysql)
    }
}

/// Every face.
pub static FACES: &[Face] = &[
    // Our own, then those of other systems.
    http::FACE,
    resp::FACE,
    grpc::FACE,
    leaf::FACE,
    tinyid::FACE,
    cosid::FACE,
    idgo::FACE,
    thrift::FACE,
    sonyflake::FACE,
    gosnowflake::FACE,
    mysql::FACE,
    postgrest::FACE,
    prest::FACE,
    postgres::FACE,
];

const _: () = assert!(FACES.len() <= FACES_MAX, "counters have room for every face");

/// What is told of beside requests and connections.
pub(crate) static COUNTS: &[fn(&Shared, &mut Exposition)] = &[
    thrift::agents::expose,
    postgres::catalogue::expose,
    crate::tls::expose,
    crate::auth::expose,
];

/// Every face with what it is counted by.
pub(crate) fn numbered() -> impl Iterator<Item = (FaceId, &'static Face)> {
    FACES.iter().enumerate().map(|(at, face)| (FaceId::new(at), face))
}

/// The faces that are not off, and our own, with what each is counted by.
pub(crate) fn serving(config: &Config) -> impl Iterator<Item = (FaceId, &'static Face)> {
    numbered().filter(|(_, face)| !face.is_foreign() || !(face.listen)(config).is_off())
}

/// What a face is called.
pub(crate) fn name(id: FaceId) -> &'static str {
    FACES[id.at()].name
}

/// The faces whose requests our own port of HTTP answers too.
pub(crate) fn sharing(config: &Config) -> Vec<&'static str> {
    let sharing = FACES.iter().filter(|face| face.shares_our_port(config));
    sharing.map(|face| face.name).collect()
}

/// The face that answers calls of gRPC on our own port of HTTP.
pub(crate) fn calls(config: &Config) -> Option<web::rpc::Calls> {
    let mut sharing = numbered().filter(|(_, face)| face.shares_our_port(config));
    sharing.find_map(|(id, face)| Some((id, face.calls?)))
}

/// The largest request of any face, in bytes.
pub(crate) fn request_bytes(config: &Config) -> usize {
    let all = FACES.iter().map(|face| (face.serves.request_bytes)(config));
    all.max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_fits_the_settings() {
        let config = Config::default();
        for face in FACES {
            let path = format!("{}.listen", face.section);
            let key = crate::config::keys().iter().find(|key| key.path == path);
            let listen = (face.listen)(&config);
            assert_eq!(
                (key.expect("it is a setting").listen)(&config),
                Some(listen),
                "{path}"
            );
            // It is off, or where its row says.
            let expected = format!("127.0.0.1:{}", face.port);
            let given: Vec<String> = listen.endpoints.iter().map(ToString::to_string).collect();
            assert!(listen.is_off() || listen.main || given == [expected], "{path}");
            let shares = face.access(&config).is_some_and(|access| access.fits_main);
            assert_eq!(shares, face.foreign.is_some(), "{}", face.name);
            let others = FACES.iter().filter(|other| other.port == face.port);
            assert_eq!(others.count(), 1, "port {}", face.port);
            for pool in (face.pools)(&config) {
                assert!(mintage::preset(pool.preset).is_some(), "{}", pool.preset);
            }
        }
    }
}
