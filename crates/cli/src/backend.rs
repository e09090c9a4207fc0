//! Where sequences and pools are: behind a server, or in a store opened here.

use crate::connect::{Client, server_url};
use crate::errors::Failure;
use crate::local::{Absent, Local};
use crate::tls::TlsFiles;

/// Things of one page.
pub(crate) const PAGE: u16 = 1000;

pub(crate) enum Backend {
    Server(Client),
    Store(Local),
}

impl Backend {
    /// The store given, else the server given, else the one of the environment.
    pub(crate) fn open(
        server: Option<&str>,
        files: &TlsFiles,
        store: Option<&str>,
        absent: Absent,
    ) -> Result<Backend, Failure> {
        match store {
            Some(url) => Local::open(url, absent).map(Backend::Store),
            None => Client::new(&server_url(server), files).map(Backend::Server),
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

/// Everything that is read page by page: `page` gives what stands behind a name, and the name to go on behind.
pub(crate) fn all<T>(
    page: impl Fn(Option<&str>) -> Result<(Vec<T>, Option<String>), Failure>,
) -> Result<Vec<T>, Failure> {
    let (mut all, mut next) = page(None)?;
    while let Some(after) = next {
        let (more, behind) = page(Some(&after))?;
        all.extend(more);
        next = behind;
    }
    Ok(all)
}
