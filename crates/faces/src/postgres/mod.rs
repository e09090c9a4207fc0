//! PostgreSQL's wire protocol: sequences for every client of PostgreSQL.
//!
//! | file | what |
//! | --- | --- |
//! | `settings` | what the face is set by |
//! | `frontend`, `backend` | messages of clients, read in place; messages to them |
//! | `types` | types and values, as text and in binary |
//! | `connection` | the loop: read all there is, execute all that is complete, one write |
//! | `startup`, `login` | what comes before the first statement |
//! | `talk` | messages of a client that is known: simple and extended protocol |
//! | `at_once` | the numbers of `nextval` that are in stock, without a wait and without a portal |
//! | `grammar`, `plan`, `cache` | from texts to plans, and one thread's memory of them |
//! | `execute` | plans, done |
//! | `session`, `portal`, `variables` | what a connection has set, prepared and begun |
//! | `known`, `leave` | what can be set; what administrators alone can |
//! | `cancel` | cancelling from another connection, and time-outs |
//! | `catalogue` | what is told of sequences where clients ask PostgreSQL's catalogues |
//! | `errors` | refusals as SQLSTATE and text |
//!
//! Transactions are words: numbers, moves and definitions take effect at once. Source of the protocol: PostgreSQL's
//! documentation, chapter "Frontend/Backend Protocol".

mod at_once;
mod backend;
mod cache;
mod cancel;
pub(crate) mod catalogue;
mod connection;
mod errors;
mod execute;
pub mod frontend;
mod grammar;
mod known;
mod leave;
mod login;
mod plan;
mod portal;
mod session;
mod settings;
mod startup;
mod talk;
#[cfg(feature = "testing")]
pub mod testing;
mod types;
mod variables;

pub use settings::Settings;

use mintage_server::chassis::transport::Endpoint;
use mintage_server::chassis::{Face, Protocols, Serves, SettingsOf};

/// The row of this face.
pub(crate) const FACE: Face = Face {
    name: "postgres",
    label: "postgres",
    title: "PostgreSQL's protocol",
    section: "faces.postgres",
    port: 7632,
    listen: |config| &config.faces.get::<Settings>().access.listen,
    example: |address| match address {
        Endpoint::Tcp(address) | Endpoint::Tls(address) => {
            let (host, port) = (address.ip(), address.port());
            format!("psql -h {host} -p {port} -c \"CREATE SEQUENCE orders\" -c \"SELECT nextval('orders')\"")
        }
        Endpoint::Unix(path) => format!("a client of PostgreSQL at {}", path.display()),
    },
    pools: |_| Vec::new(),
    serves: Serves {
        request_bytes: |config| connection::input_bytes(config),
        deadlines: connection::deadlines,
        health_deadlines: None,
        too_many: b"E\0\0\0\x3bSFATAL\0VFATAL\0C53300\0Msorry, too many clients already\0\0",
        in_clear: b"E\0\0\0\x4bSFATAL\0VFATAL\0C08P01\0Mmint: this port speaks TLS, and clear text came\0\0",
        protocols: Protocols::Postgres,
        begin: |connection| drop(tokio::task::spawn_local(connection::serve(connection))),
    },
    settings: Some(SettingsOf::of::<Settings>()),
    told: Some(catalogue::expose),
    foreign: None,
    calls: None,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_that_stand_ready_have_their_lengths() {
        for message in [FACE.serves.too_many, FACE.serves.in_clear] {
            let length = u32::from_be_bytes([message[1], message[2], message[3], message[4]]);
            assert_eq!(length as usize, message.len() - 1);
        }
        for (message, length) in [
            (backend::SELECT_1, 14),
            (backend::AUTHENTICATION_OK, 9),
            (backend::ASK_PASSWORD, 9),
            (backend::PARSE_COMPLETE, 5),
        ] {
            assert_eq!(message.len(), length);
        }
    }
}
