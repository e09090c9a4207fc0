//! idgo's server: the Redis protocol, where `GET` *takes* a number.
//!
//! It has a port of its own, since `GET` looks on ours. Where the original loses numbers or answers, this does not: a
//! pipeline is answered whole, `SET` of a key that is there moves nothing and stops nothing, a key that was dropped goes
//! on above its old numbers, and clients that begin with `HELLO 3` get an answer.

mod commands;
mod settings;

pub use settings::Settings;

use mintage_server::chassis::resp::{self, connection};
use mintage_server::chassis::transport::Endpoint;
use mintage_server::chassis::{Face, Serves, SettingsOf};

/// The row of this face.
pub(crate) const FACE: Face = Face {
    name: "idgo",
    label: "idgo",
    title: "idgo's protocol",
    section: "faces.idgo",
    port: 6389,
    listen: |config| &config.faces.get::<Settings>().access.listen,
    example: |address| match address {
        Endpoint::Tcp(address) => format!("redis-cli {} GET orders", resp::at(address)),
        Endpoint::Tls(address) => format!("redis-cli --tls --cacert ca.pem {} GET orders", resp::at(address)),
        Endpoint::Unix(path) => format!("redis-cli -s {} GET orders", path.display()),
    },
    pools: |_| Vec::new(),
    serves: Serves {
        too_many: b"-ERROR too many connections\r\n",
        begin: |connection| connection::begin(connection, &commands::DIALECT),
        ..resp::SERVES
    },
    settings: Some(SettingsOf::of::<Settings>()),
    told: None,
    foreign: None,
    calls: None,
};
