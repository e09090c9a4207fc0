//! Where sequences and pools are: behind a server, or in a store opened here.

use crate::connect::{Client, server_url};
use crate::errors::Failure;
use crate::local::Local;

pub(crate) enum Backend {
    Server(Client),
    Store(Local),
}

impl Backend {
    /// The store given, else the server given, else the one of the environment.
    pub(crate) fn open(server: Option<&str>, store: Option<&str>) -> Result<Backend, Failure> {
        match store {
            Some(url) => Local::open(url).map(Backend::Store),
            None => Client::new(&server_url(server)).map(Backend::Server),
        }
    }

    /// Gives back what was not used.
    pub(crate) fn close(self) -> Result<(), Failure> {
        match self {
            Backend::Server(_) => Ok(()),
            Backend::Store(local) => local.close(),
        }
    }
}
