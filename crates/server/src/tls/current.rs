//! The certificates that are shown now.

use std::convert::Infallible;
use std::sync::{Arc, RwLock};
use std::time::Duration;

use rustls::ServerConfig;

use super::admission::Authorities;
use super::files::{self, Checked, Files};
use crate::faces::Protocols;
use crate::metrics::Exposition;
use crate::seen::{Seen, seen};
use crate::thread::Shared;

/// How often files are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// What a handshake is done with, by the names that the face's protocols have there (ALPN).
#[derive(Debug)]
struct Shown {
    files: Files,
    seen: Vec<Seen>,
    plain: Arc<ServerConfig>,
    http: Arc<ServerConfig>,
    postgres: Arc<ServerConfig>,
    authorities: Option<Arc<Authorities>>,
    /// What the certificate is known by where a login is bound to it.
    end_point: Option<Arc<[u8]>>,
    ends: i64,
    /// When the files are looked at again, changed or not: a certificate in them begins then, in seconds since 1970.
    again_at: Option<i64>,
}

/// What one handshake is done with.
#[derive(Clone, Debug)]
pub struct Handshake {
    pub(super) config: Arc<ServerConfig>,
    /// Whose certificates let the client in, where it is asked for one.
    pub(super) authorities: Option<Arc<Authorities>>,
}

/// The certificates that are shown now; others take their place while connections go on.
#[derive(Debug, Default)]
pub struct Current(RwLock<Option<Shown>>);

/// What a look at the files came to.
#[derive(Debug)]
pub(crate) enum Looked {
    Same,
    New {
        warnings: Vec<String>,
    },
    /// The old ones are kept.
    Wrong(String),
}

/// Writes what a look came to.
pub(crate) fn tell(looked: Looked) {
    match looked {
        Looked::Same => {}
        Looked::New { warnings } => {
            for warning in warnings {
                tracing::warn!(about = warning, "the certificates");
            }
            tracing::info!("the certificates were read again: connections from here on are shown them");
        }
        Looked::Wrong(why) => {
            tracing::error!(why, "the certificates cannot be used: those from before are kept")
        }
    }
}

impl Current {
    /// Those of these files.
    ///
    /// # Errors
    /// In words.
    pub(crate) fn load(&self, files: Option<Files>) -> Result<Vec<String>, String> {
        let Some(files) = files else {
            let before = self.0.write().expect("no panic while held").take();
            replace_authorities(&mut None, before.as_ref());
            return Ok(Vec::new());
        };
        let seen = files.paths().map(seen).collect();
        let checked = files::check(&files).map_err(|error| error.to_string())?;
        let mut shown = self.0.write().expect("no panic while held");
        if let Some(shown) = &mut *shown {
            let now = jiff::Timestamp::now().as_second();
            // One that is good now is not given up for one that is not good yet.
            if now < checked.begins && now < shown.ends {
                (shown.files, shown.seen, shown.again_at) = (files, seen, Some(checked.begins));
                return Err(checked.warnings.join("; "));
            }
        }
        let Checked {
            config,
            mut authorities,
            end_point,
            begins: _,
            ends,
            warnings,
        } = checked;
        let mut http = config.clone();
        http.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let mut postgres = config.clone();
        postgres.alpn_protocols = vec![b"postgresql".to_vec()];
        replace_authorities(&mut authorities, shown.as_ref());
        *shown = Some(Shown {
            authorities: authorities.map(Arc::new),
            files,
            seen,
            plain: Arc::new(config),
            http: Arc::new(http),
            postgres: Arc::new(postgres),
            end_point,
            ends,
            again_at: None,
        });
        Ok(warnings)
    }

    /// What the next handshake is done with.
    pub fn handshake(&self, protocols: Protocols) -> Option<Handshake> {
        let shown = self.0.read().expect("no panic while held");
        let shown = shown.as_ref()?;
        let config = match protocols {
            Protocols::Http => &shown.http,
            Protocols::Postgres => &shown.postgres,
            Protocols::Unnamed | Protocols::Mysql => &shown.plain,
        };
        Some(Handshake {
            config: Arc::clone(config),
            authorities: shown.authorities.clone(),
        })
    }

    /// What the server's certificate is known by where a login is bound to it (`tls-server-end-point`, RFC 5929).
    pub fn end_point(&self) -> Option<Arc<[u8]>> {
        let shown = self.0.read().expect("no panic while held");
        shown.as_ref()?.end_point.clone()
    }

    /// When the server's certificate ends, in seconds since 1970.
    pub(crate) fn ends(&self) -> Option<i64> {
        let shown = self.0.read().expect("no panic while held");
        shown.as_ref().map(|shown| shown.ends)
    }

    /// Looks at the files for ever.
    pub(crate) async fn follow(&self) -> Infallible {
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            tell(self.look());
        }
    }

    fn look(&self) -> Looked {
        let files = {
            let mut shown = self.0.write().expect("no panic while held");
            let Some(shown) = &mut *shown else {
                return Looked::Same;
            };
            let seen: Vec<Seen> = shown.files.paths().map(seen).collect();
            let now = jiff::Timestamp::now().as_second();
            if seen == shown.seen && shown.again_at.is_none_or(|begins| now < begins) {
                return Looked::Same;
            }
            // Told of once, whatever comes of it: certificate and key are seldom written in the same moment.
            (shown.seen, shown.again_at) = (seen, None);
            shown.files.clone()
        };
        match self.load(Some(files)) {
            Ok(warnings) => Looked::New { warnings },
            Err(why) => Looked::Wrong(why),
        }
    }
}

/// Lets in by these authorities from here on: what was let in by one that is gone ends.
fn replace_authorities(authorities: &mut Option<Authorities>, before: Option<&Shown>) {
    let before = before.and_then(|shown| shown.authorities.as_deref());
    let connections = Authorities::replace(authorities, before);
    if connections > 0 {
        tracing::info!(
            connections,
            "authorities of clients are gone: what they let in ends"
        );
    }
}

/// Tells when the certificate ends.
pub(crate) fn expose(shared: &Shared, out: &mut Exposition) {
    if let Some(ends) = shared.tls.ends() {
        let words = "When the server's certificate ends, in seconds since 1970.";
        out.metric("mint_tls_certificate_end_seconds", "gauge", words);
        out.sample("mint_tls_certificate_end_seconds", &[], ends as f64);
    }
}
