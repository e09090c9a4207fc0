//! The faces: one folder and one row for each, `OWN` and those that are installed. Listening, accepting, limits, deadlines, counters, labels,
//! the banner and the stop loop over the rows.

pub mod grpc;
pub mod http;
pub(crate) mod keyed;
pub(crate) mod machines;
pub mod resp;
pub mod scripts;
pub(crate) mod web;

use std::convert::Infallible;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use mintage_ledger::{LedgerError, Name, PoolKind};

use crate::config::{self, Access, Config, Listen, SettingsOf};
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
    pub pools: fn(&Config) -> Vec<NeededPool>,
    /// How it serves its connections.
    pub serves: Serves,
    /// Its settings, where it is one of another system.
    pub settings: Option<SettingsOf>,
    /// What it tells of beside requests and connections.
    pub told: Option<fn(&Shared, &mut Exposition)>,
    /// What it is for our own port of HTTP, where it may share that.
    pub foreign: Option<&'static web::foreign::Foreign>,
    /// What answers calls of gRPC on our own port of HTTP.
    pub calls: Option<web::rpc::Call>,
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
    pub fn access<'c>(&self, config: &'c Config) -> Option<&'c Access> {
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
pub struct NeededPool {
    /// What it is called.
    pub name: String,
    /// The preset whose layout it is made with.
    pub preset: &'static str,
}

/// Makes the pools that faces need and that are not there.
///
/// # Errors
/// What the store says.
pub(crate) async fn make_pools(service: &Service) -> Answer<()> {
    let config = service.config();
    let serving = all().filter(|face| !(face.listen)(&config).is_off());
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
pub struct Serves {
    /// The largest request that is read into a buffer, in bytes.
    pub request_bytes: fn(&Config) -> usize,
    /// How long a connection may wait for what.
    pub deadlines: fn(&Config) -> Deadlines,
    /// The same for a place that is kept for questions about the server's health, where it answers such.
    pub health_deadlines: Option<fn(&Config) -> Deadlines>,
    /// What a connection beyond the limit is told.
    pub too_many: &'static [u8],
    /// What a client is told that speaks in clear where TLS is spoken.
    pub in_clear: &'static [u8],
    /// The names of its protocols, where TLS agrees on one (ALPN).
    pub protocols: Protocols,
    /// Serves a connection in a task of its own, on this thread.
    pub begin: fn(Connection),
}

/// What TLS agrees on besides the keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Protocols {
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

/// Our own.
static OWN: &[Face] = &[http::FACE, resp::FACE, grpc::FACE];

/// Those of other systems, which the program names that is put together with them.
static FOREIGN: OnceLock<&'static [Face]> = OnceLock::new();

/// Says which faces of other systems there are. It comes before any configuration is made: what stands in the table of
/// settings, and how faces are counted, follows from it. To say the same again changes nothing.
///
/// # Panics
/// There are others already, too many, or a configuration was made without any.
pub fn install(foreign: &'static [Face]) {
    assert!(
        OWN.len() + foreign.len() <= FACES_MAX,
        "counters have room for every face"
    );
    let mut is_first = false;
    let installed = FOREIGN.get_or_init(|| {
        let settings = foreign.iter().filter_map(|face| face.settings).collect();
        is_first = config::install(settings);
        assert!(is_first, "faces are installed before a configuration is made");
        foreign
    });
    assert!(std::ptr::eq(*installed, foreign), "other faces were installed");
}

/// Every face: our own, then those of other systems.
pub fn all() -> impl Iterator<Item = &'static Face> + Clone {
    OWN.iter().chain(FOREIGN.get().copied().unwrap_or_default())
}

/// What is told of beside requests and connections.
pub(crate) fn tell(shared: &Shared, out: &mut Exposition) {
    all()
        .filter_map(|face| face.told)
        .for_each(|told| told(shared, out));
    crate::tls::expose(shared, out);
    crate::auth::expose(shared, out);
}

/// Every face with what it is counted by.
pub(crate) fn numbered() -> impl Iterator<Item = (FaceId, &'static Face)> {
    all().enumerate().map(|(at, face)| (FaceId::new(at), face))
}

/// The faces that are not off, and our own, with what each is counted by.
pub(crate) fn serving(config: &Config) -> impl Iterator<Item = (FaceId, &'static Face)> {
    numbered().filter(|(_, face)| !face.is_foreign() || !(face.listen)(config).is_off())
}

/// What a face is called.
pub fn name(id: FaceId) -> &'static str {
    all().nth(id.at()).expect("a face of this program").name
}

/// The faces whose requests our own port of HTTP answers too.
pub(crate) fn sharing(config: &Config) -> Vec<&'static str> {
    let sharing = all().filter(|face| face.shares_our_port(config));
    sharing.map(|face| face.name).collect()
}

/// The face that answers calls of gRPC on our own port of HTTP.
pub(crate) fn calls(config: &Config) -> Option<web::rpc::Calls> {
    let mut sharing = numbered().filter(|(_, face)| face.shares_our_port(config));
    sharing.find_map(|(id, face)| Some((id, face.calls?)))
}

/// The largest request of any face, in bytes.
pub(crate) fn request_bytes(config: &Config) -> usize {
    let all = all().map(|face| (face.serves.request_bytes)(config));
    all.max().unwrap_or_default()
}
