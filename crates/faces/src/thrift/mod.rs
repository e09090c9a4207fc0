//! Twitter's Snowflake server of 2010: Thrift, binary protocol.
//!
//! | file | what |
//! | --- | --- |
//! | `form` | the four forms of a message |
//! | `fields` | the fields of a struct, walked byte by byte |
//! | `codec` | calls and their answers |
//! | `methods` | the methods and their refusals |
//! | `connection` | the loop: read, answer all, write once |
//! | `agents` | ids by agent |
//!
//! What differs from the original: a refusal is an exception, and the connection goes on; the original's methods declare
//! none, so that it closes. A window stands behind each worker, so that a clock set back across a restart repeats no id.

pub(crate) mod agents;
pub mod codec;
mod connection;
mod fields;
mod form;
mod methods;
mod settings;

pub use settings::Settings;

use mintage_server::chassis::{Face, NeededPool, Protocols, Serves, SettingsOf};

/// The row of this face.
pub(crate) const FACE: Face = Face {
    name: "thrift",
    label: "thrift",
    title: "Thrift",
    section: "faces.thrift",
    port: 7609,
    listen: |config| &config.faces.get::<Settings>().access.listen,
    // No command that everybody has speaks it.
    example: |_| "get_id(\"web-1\") over Thrift: binary protocol, framed or not".into(),
    pools: |_| {
        vec![NeededPool {
            name: methods::POOL.into(),
            preset: methods::POOL,
        }]
    },
    serves: Serves {
        request_bytes: |_| codec::CALL_BYTES_MAX,
        deadlines: connection::deadlines,
        health_deadlines: None,
        // A client that has asked nothing yet expects no message.
        too_many: b"",
        in_clear: b"",
        protocols: Protocols::Unnamed,
        begin: |connection| drop(tokio::task::spawn_local(connection::serve(connection))),
    },
    settings: Some(SettingsOf::of::<Settings>()),
    told: Some(agents::expose),
    foreign: None,
    calls: None,
};
