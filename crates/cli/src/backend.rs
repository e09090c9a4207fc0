//! Where sequences and pools are: behind a server, or in a store opened here.

use mintage_ledger::Name;
use serde_json::Value;

use crate::connect::{Client, escaped, server_url};
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
    /// All documents of a kind, page by page: `kind` is the server's path and field, `page` what a store here has behind
    /// a name.
    pub(crate) fn list(
        &self,
        kind: &str,
        page: impl Fn(&Local, Option<&Name>) -> Result<Vec<Value>, Failure>,
    ) -> Result<Vec<Value>, Failure> {
        let mut all: Vec<Value> = Vec::new();
        loop {
            let after = all.last().and_then(|last| last["name"].as_str());
            let page = match self {
                Backend::Server(client) => {
                    let after = after.map(Name::new).transpose().map_err(Failure::cannot)?;
                    let after = after
                        .map(|name| format!("&after={}", escaped(&name)))
                        .unwrap_or_default();
                    let answer = client.call("GET", &format!("/v1/{kind}?limit={PAGE}{after}"), None)?;
                    answer[kind].as_array().cloned().unwrap_or_default()
                }
                Backend::Store(local) => {
                    let after = after.map(Name::new).transpose().map_err(Failure::cannot)?;
                    page(local, after.as_ref())?
                }
            };
            let full = page.len() == usize::from(PAGE);
            all.extend(page);
            if !full {
                return Ok(all);
            }
        }
    }
}
