//! The faces: one folder and one row of [`FACES`] for each. Listening, accepting, limits, deadlines, counters, labels,
//! the banner and the stop loop over the rows.

pub mod http;
pub mod resp;
pub mod scripts;

use crate::config::{Config, Listen};
use crate::connection::Connection;
use crate::metrics::{FACES_MAX, FaceId};
use crate::transport::{Endpoint, Transport};
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
    /// What it may be spoken over.
    pub speaks: &'static [Transport],
    /// Where a configuration has it listen.
    pub listen: fn(&Config) -> &Listen,
    /// A command that tries it at an address, for the banner.
    pub example: fn(&Endpoint) -> String,
    pub(crate) serves: Serves,
}

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
    /// Serves a connection in a task of its own, on this thread.
    pub(crate) begin: fn(Connection),
}

/// Every face.
pub static FACES: &[Face] = &[http::FACE, resp::FACE];

const _: () = assert!(FACES.len() <= FACES_MAX, "counters have room for every face");

/// Every face with what it is counted by.
pub(crate) fn numbered() -> impl Iterator<Item = (FaceId, &'static Face)> {
    FACES.iter().enumerate().map(|(at, face)| (FaceId::new(at), face))
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
            assert!(
                listen
                    .0
                    .as_ref()
                    .is_none_or(|address| address.to_string() == expected),
                "{path}"
            );
        }
    }
}
