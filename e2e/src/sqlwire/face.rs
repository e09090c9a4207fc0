//! A server with one or more of the SQL faces, which is killed and started again where it was.

use std::net::SocketAddr;
use std::path::Path;

use super::place::Place;
use crate::engine::port;
use crate::server::{Server, Start};

/// A running server and its faces.
#[derive(Debug)]
pub struct Faces {
    start: Start,
    server: Option<Server>,
    at: Vec<(String, SocketAddr)>,
}

impl Faces {
    /// Starts one with these faces on ports that it keeps, and with more arguments.
    ///
    /// # Panics
    /// When it does not start.
    #[track_caller]
    pub fn run(folder: &Path, faces: &[&str], more: &[&str]) -> Faces {
        Faces::by(folder, "", faces, more)
    }

    /// The same by a transport, such as `tls:`.
    ///
    /// # Panics
    /// When it does not start.
    #[track_caller]
    pub fn by(folder: &Path, transport: &str, faces: &[&str], more: &[&str]) -> Faces {
        let at: Vec<_> = faces
            .iter()
            .map(|face| (face.to_string(), port::free()))
            .collect();
        let flags = at
            .iter()
            .map(|(face, at)| format!("--face={face}={transport}{at}"));
        let own = format!("--http {} --resp {}", port::free(), port::free());
        let start = Start::bare(folder, &own).args(flags).args(more.iter().copied());
        let server = Some(start.ready());
        Faces { start, server, at }
    }

    /// The same, alone in its folder, with a sequence for each name.
    ///
    /// # Panics
    /// When it does not start.
    #[track_caller]
    pub fn with_sequences(folder: &Path, face: &str, names: &[&str]) -> Faces {
        let faces = Faces::run(folder, &[face], &[]);
        for name in names {
            let path = format!("/v1/sequences/{name}");
            let made = faces.server().http("PUT", &path, "{}");
            assert_eq!(made.status, 201, "{}", made.text());
        }
        faces
    }

    /// The server.
    ///
    /// # Panics
    /// Never between the calls of others.
    pub fn server(&self) -> &Server {
        self.server.as_ref().expect("it runs")
    }

    /// Where a face is.
    ///
    /// # Panics
    /// When there is no such face.
    #[track_caller]
    pub fn place(&self, face: &str) -> Place {
        let found = self.at.iter().find(|(name, _)| name == face);
        Place::of_app(found.expect("a face that was started").1)
    }

    /// Kills it, and starts it again where it was.
    ///
    /// # Panics
    /// When it does not start.
    #[track_caller]
    pub fn kill_and_start(&mut self) {
        if let Some(server) = self.server.take() {
            server.kill();
        }
        self.server = Some(self.start.ready());
    }
}
