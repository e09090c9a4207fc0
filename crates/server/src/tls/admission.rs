//! How long a client's certificate lets it in: until the first certificate of its chain ends, or its authority is gone.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustls::RootCertStore;
use rustls::crypto::WebPkiSupportedAlgorithms;
use rustls::pki_types::{CertificateDer, TrustAnchor, UnixTime};
use webpki::{EndEntityCert, KeyUsage};
use x509_parser::prelude::{FromDer, X509Certificate};

/// The authorities whose certificates let clients in.
#[derive(Clone, Debug)]
pub(crate) struct Authorities {
    roots: Arc<RootCertStore>,
    algorithms: WebPkiSupportedAlgorithms,
    /// One for each root that differs.
    known: Vec<Arc<Authority>>,
}

/// One of them; connections hold it, and it is the same object for as long as it is configured.
#[derive(Debug)]
struct Authority {
    root: TrustAnchor<'static>,
    is_gone: AtomicBool,
}

/// What a client was let in by.
#[derive(Debug)]
pub(crate) struct Admission {
    /// The last second of Unix time of the first certificate of its chain to end.
    until: i64,
    authority: Arc<Authority>,
}

/// Why a client is not let in any longer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Over {
    Ended,
    AuthorityGone,
}

impl Over {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Over::Ended => "the client's certificate has ended",
            Over::AuthorityGone => "server.tls.client_ca does not list its authority any more",
        }
    }
}

impl Authorities {
    pub(super) fn new(roots: Arc<RootCertStore>, algorithms: WebPkiSupportedAlgorithms) -> Authorities {
        let mut known: Vec<Arc<Authority>> = Vec::new();
        for root in &roots.roots {
            if !known.iter().any(|known| known.root == *root) {
                let (root, is_gone) = (root.clone(), AtomicBool::new(false));
                known.push(Arc::new(Authority { root, is_gone }));
            }
        }
        Authorities {
            roots,
            algorithms,
            known,
        }
    }

    /// Takes the place of `before`: an authority of both is the same one, and one that is gone lets nobody in any longer.
    /// How many open connections end by that.
    pub(super) fn replace(authorities: &mut Option<Authorities>, before: Option<&Authorities>) -> usize {
        let mut now = authorities.as_mut();
        let mut ended = 0;
        for old in before.iter().flat_map(|before| &before.known) {
            let same = now
                .as_mut()
                .and_then(|now| now.known.iter_mut().find(|new| new.root == old.root));
            match same {
                Some(new) => *new = Arc::clone(old),
                None => {
                    old.is_gone.store(true, Ordering::Release);
                    // One holder is the list.
                    ended += Arc::strong_count(old) - 1;
                }
            }
        }
        ended
    }

    /// Lets in whoever has shown this chain, its own certificate first, at `now` in seconds since 1970.
    ///
    /// # Errors
    /// In words: it does not lead to an authority, or a certificate of it has ended.
    pub(super) fn admit(&self, chain: &[CertificateDer<'_>], now: i64) -> Result<Admission, String> {
        let (first, others) = chain.split_first().ok_or("the client has shown no certificate")?;
        let cannot = |error: webpki::Error| format!("the client's certificate does not let it in: {error}");
        let end_entity = EndEntityCert::try_from(first).map_err(cannot)?;
        let time = UnixTime::since_unix_epoch(Duration::from_secs(u64::try_from(now).unwrap_or_default()));
        let path = end_entity
            .verify_for_usage(
                self.algorithms.all,
                &self.roots.roots,
                others,
                time,
                KeyUsage::client_auth(),
                None,
                None,
            )
            .map_err(cannot)?;
        // Of the chain that was verified alone: whatever else the client has sent may have ended long ago. The authority
        // itself is trusted for as long as it is listed.
        let of_path = path
            .intermediate_certificates()
            .map(|certificate| certificate.der());
        let ends = std::iter::once(first.clone())
            .chain(of_path)
            .map(|der| last_second(&der));
        let until = ends
            .collect::<Option<Vec<i64>>>()
            .and_then(|ends| ends.into_iter().min());
        let authority = self.known.iter().find(|known| known.root == *path.anchor());
        match (until, authority) {
            (Some(until), Some(authority)) => Ok(Admission {
                until,
                authority: Arc::clone(authority),
            }),
            _ => Err("a certificate of the client's chain cannot be read".into()),
        }
    }
}

impl Admission {
    /// Why it is over at `now`, in seconds since 1970, if it is.
    #[inline]
    pub(crate) fn over(&self, now: i64) -> Option<Over> {
        if self.authority.is_gone.load(Ordering::Acquire) {
            return Some(Over::AuthorityGone);
        }
        (now > self.until).then_some(Over::Ended)
    }
}

fn last_second(certificate: &CertificateDer<'_>) -> Option<i64> {
    let (_, read) = X509Certificate::from_der(certificate).ok()?;
    Some(read.validity().not_after.timestamp())
}
