//! MySQL's protocol: any client of MySQL or MariaDB takes numbers, unmodified.
//!
//! | file | what |
//! | --- | --- |
//! | `packet` | packets, and the parts of their payloads |
//! | `capabilities`, `greeting`, `login` | what is said before the first command |
//! | `enter` | logins: who a client turns out to be |
//! | `connection` | the loop: read, answer all, write once |
//! | `commands` | one packet, one command |
//! | `prepared` | prepared statements and their values |
//! | `cache` | texts and what they mean, remembered |
//! | `grammar` | from a text to what it means |
//! | `plan`, `weight` | what statements mean, and how much memory that takes |
//! | `tables`, `library`, `claims` | tables that libraries count in: their statements, and what a session has reserved there |
//! | `at_once` | one ticket, one `NEXTVAL`: without waiting |
//! | `execute` | all statements |
//! | `session`, `variables` | what a connection knows and has set |
//! | `value`, `answer` | rows and other answers |
//! | `refusal` | refusals: numbers, states, texts |
//! | `kill` | connections by their numbers |
//! | `testing` | the readers without a connection |
//!
//! There are no tables: `REPLACE INTO t` takes the next number of the sequence `t`, and its values are dropped. What was
//! taken stays taken: a transaction is a word.

#![allow(clippy::little_endian_bytes, reason = "the protocol's order of bytes")]

pub mod answer;
mod at_once;
mod cache;
pub mod capabilities;
mod claims;
mod commands;
mod connection;
mod enter;
mod execute;
mod grammar;
pub mod greeting;
mod kill;
mod library;
pub mod login;
pub mod packet;
mod plan;
mod prepared;
pub mod refusal;
mod session;
mod settings;
mod tables;
#[cfg(feature = "testing")]
pub mod testing;
pub mod value;
mod variables;
mod weight;

pub use settings::Settings;

use mintage_server::chassis::transport::Endpoint;
use mintage_server::chassis::{Face, Protocols, Serves, SettingsOf};

/// What a first number is asked for with: a sequence is made by nobody but who says so.
const FIRST: &str = "-e 'CREATE SEQUENCE IF NOT EXISTS orders; SELECT NEXTVAL(orders)'";

/// The row of this face.
pub(crate) const FACE: Face = Face {
    name: "mysql",
    label: "mysql",
    title: "the MySQL protocol",
    section: "faces.mysql",
    port: 7606,
    listen: |config| &config.faces.get::<Settings>().access.listen,
    example: |address| match address {
        Endpoint::Tcp(address) => format!("mariadb -h {} -P {} {FIRST}", address.ip(), address.port()),
        Endpoint::Tls(address) => format!("mariadb --ssl -h {} -P {} {FIRST}", address.ip(), address.port()),
        Endpoint::Unix(path) => format!("mariadb -S {} {FIRST}", path.display()),
    },
    pools: |_| Vec::new(),
    serves: Serves {
        request_bytes: connection::request_bytes,
        deadlines: connection::deadlines,
        health_deadlines: None,
        too_many: refusal::TOO_MANY_CONNECTIONS,
        in_clear: b"",
        protocols: Protocols::Mysql,
        begin: |connection| drop(tokio::task::spawn_local(connection::serve(connection))),
    },
    settings: Some(SettingsOf::of::<Settings>()),
    told: None,
    foreign: None,
    calls: None,
};
