//! Certificates and keys in PEM files: read, and judged before anybody is shown them.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mintage_local::trusted;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::sign::CertifiedKey;
use rustls::{RootCertStore, ServerConfig};
use x509_parser::prelude::{FromDer, X509Certificate};

use super::admission::Authorities;
use crate::config::{ClientAuth, Config};

/// The largest file of certificates, in bytes.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// The files that a configuration names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Files {
    cert: PathBuf,
    key: PathBuf,
    client_ca: Option<PathBuf>,
    client_auth: ClientAuth,
}

/// What the files hold.
#[derive(Clone, Debug)]
pub struct Checked {
    pub(super) config: ServerConfig,
    /// Whose certificates let clients in, where clients are asked for one.
    pub(super) authorities: Option<Authorities>,
    /// The digest of the server's certificate that logins can be bound to.
    pub(super) end_point: Option<Arc<[u8]>>,
    /// When the server's certificate begins and ends, in seconds since 1970.
    pub begins: i64,
    /// See `begins`.
    pub ends: i64,
    /// What an operator should know.
    pub warnings: Vec<String>,
}

/// A file that cannot be used: which setting names it, and why.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{setting} = {}: {why}", .file.display())]
pub struct FileError {
    setting: &'static str,
    file: PathBuf,
    why: String,
}

impl Files {
    /// Those of a configuration; `None`: it names none.
    ///
    /// # Errors
    /// Only one of the two that belong together is named.
    pub fn of(config: &Config) -> Result<Option<Files>, String> {
        let path = |setting: &crate::config::Off<crate::config::LocalPath>| {
            setting.0.as_ref().map(|path| path.0.clone())
        };
        match (path(&config.tls_cert), path(&config.tls_key)) {
            (Some(cert), Some(key)) => Ok(Some(Files {
                cert,
                key,
                client_ca: path(&config.tls_client_ca),
                client_auth: config.tls_client_auth,
            })),
            (None, None) => Ok(None),
            (Some(_), None) => Err("server.tls.cert is set, and server.tls.key is not".into()),
            (None, Some(_)) => Err("server.tls.key is set, and server.tls.cert is not".into()),
        }
    }

    /// Every file, for whoever looks whether one has changed.
    pub(super) fn paths(&self) -> impl Iterator<Item = &Path> {
        [Some(&self.cert), Some(&self.key), self.client_ca.as_ref()]
            .into_iter()
            .flatten()
            .map(PathBuf::as_path)
    }
}

/// Reads the files, and sees whether a server can use them now.
///
/// # Errors
/// Which file, and what is wrong with it: it cannot be read, holds no certificate or key, the two are no pair, or the
/// certificate has ended.
pub fn check(files: &Files) -> Result<Checked, FileError> {
    let now = jiff::Timestamp::now().as_second();
    let wrong = |setting, file: &Path, why: String| FileError {
        setting,
        file: file.to_path_buf(),
        why,
    };
    let of_cert = |why: String| wrong("server.tls.cert", &files.cert, why);
    let of_key = |why: String| wrong("server.tls.key", &files.key, why);
    let chain = certificates(&files.cert).map_err(of_cert)?;
    let key = private_key(&files.key).map_err(of_key)?;
    let (begins, ends) = validity(&chain[0]).map_err(of_cert)?;
    if now >= ends {
        return Err(of_cert(format!("the certificate ended on {}", Day(ends))));
    }
    let mut warnings = Vec::new();
    if now < begins {
        warnings.push(format!(
            "server.tls.cert: the certificate begins on {}: until then clients refuse it",
            Day(begins)
        ));
    } else if ends - now < SOON_S {
        warnings.push(format!("server.tls.cert: the certificate ends on {}", Day(ends)));
    }
    if trusted::check(&files.key).map_err(of_key)? {
        let key = files.key.display();
        warnings.push(format!(
            "server.tls.key = {key} can be read by everybody on this machine: chmod 600 {key}"
        ));
    }
    let provider = Arc::new(ring::default_provider());
    let signing = provider
        .key_provider
        .load_private_key(key)
        .map_err(|error| of_key(format!("it is no RSA, P-256, P-384 or Ed25519 key: {error}")))?;
    let pair = CertifiedKey::new(chain.clone(), signing.clone());
    pair.keys_match().map_err(|_| {
        of_key(format!(
            "the key does not fit the certificate in {}",
            files.cert.display()
        ))
    })?;
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| of_cert(error.to_string()))?;
    let (builder, authorities) = match &files.client_ca {
        None => (builder.with_no_client_auth(), None),
        Some(file) => {
            let of_ca = |why| wrong("server.tls.client_ca", file, why);
            trusted::check(file).map_err(of_ca)?;
            let roots = Arc::new(roots(file).map_err(of_ca)?);
            let algorithms = provider.signature_verification_algorithms;
            let authorities = Authorities::new(Arc::clone(&roots), algorithms);
            let verifier = verifier(roots, files.client_auth, provider).map_err(of_ca)?;
            (builder.with_client_cert_verifier(verifier), Some(authorities))
        }
    };
    let mut config = builder.with_cert_resolver(Arc::new(rustls::sign::SingleCertAndKey::from(pair)));
    resume(&mut config, authorities.is_some());
    Ok(Checked {
        config,
        authorities,
        end_point: end_point(&chain[0]),
        begins,
        ends,
        warnings,
    })
}

/// Whether clients that come again are spared a signature. Where clients show certificates they are not: a session that is
/// resumed brings the certificate of its first handshake, which may have ended since or be another than the client has now.
fn resume(config: &mut ServerConfig, shows_certificates: bool) {
    if shows_certificates {
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
    } else if let Ok(ticketer) = ring::Ticketer::new() {
        // The secret is of this process, and is changed twice a day.
        config.ticketer = ticketer;
    }
}

/// The authorities of a file.
fn roots(file: &Path) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    for root in certificates(file)? {
        roots
            .add(root)
            .map_err(|error| format!("an authority in it cannot be used: {error}"))?;
    }
    Ok(roots)
}

/// What trusts the certificates of clients.
fn verifier(
    roots: Arc<RootCertStore>,
    auth: ClientAuth,
    provider: Arc<CryptoProvider>,
) -> Result<Arc<dyn rustls::server::danger::ClientCertVerifier>, String> {
    let builder = WebPkiClientVerifier::builder_with_provider(roots, provider);
    let builder = match auth {
        ClientAuth::Require => builder,
        ClientAuth::Optional => builder.allow_unauthenticated(),
    };
    builder.build().map_err(|error| error.to_string())
}

fn text(file: &Path) -> Result<Vec<u8>, String> {
    let found = fs::metadata(file).map_err(|error| format!("cannot be read: {error}"))?;
    if !found.is_file() {
        return Err("it is no file".into());
    }
    if found.len() > FILE_BYTES_MAX {
        return Err(format!(
            "it has {} bytes, the most is {FILE_BYTES_MAX}",
            found.len()
        ));
    }
    fs::read(file).map_err(|error| format!("cannot be read: {error}"))
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text(file)?).collect();
    match found {
        Ok(found) if found.is_empty() => Err("it holds no certificate in PEM".into()),
        Ok(found) => Ok(found),
        Err(error) => Err(format!("it is no PEM file: {error}")),
    }
}

fn private_key(file: &Path) -> Result<PrivateKeyDer<'static>, String> {
    let text = text(file)?;
    PrivateKeyDer::from_pem_slice(&text).map_err(|_| match memchr::memmem::find(&text, b"ENCRYPTED") {
        Some(_) => {
            "it holds a private key that a password protects: openssl pkey writes it without one".into()
        }
        None => "it holds no private key in PEM".into(),
    })
}

/// From when to when, in seconds since 1970.
fn validity(certificate: &CertificateDer<'_>) -> Result<(i64, i64), String> {
    let (_, read) = X509Certificate::from_der(certificate)
        .map_err(|_| "its first certificate is not one of X.509".to_string())?;
    let validity = read.validity();
    Ok((validity.not_before.timestamp(), validity.not_after.timestamp()))
}

/// What a certificate is known by where a login is bound to it: its digest by the hash of its signature, SHA-256 where that is
/// weaker (RFC 5929, section 4.1). `None` where the signature has no such hash.
fn end_point(certificate: &CertificateDer<'_>) -> Option<Arc<[u8]>> {
    use sha2::{Digest, Sha256, Sha384, Sha512};
    let (_, read) = X509Certificate::from_der(certificate).ok()?;
    let signed = read.signature_algorithm.algorithm.to_id_string();
    let der: &[u8] = certificate;
    Some(match signed.as_str() {
        // RSA and ECDSA, each with MD5, SHA-1, SHA-256; SHA-384; SHA-512.
        "1.2.840.113549.1.1.4"
        | "1.2.840.113549.1.1.5"
        | "1.2.840.113549.1.1.11"
        | "1.2.840.10045.4.1"
        | "1.2.840.10045.4.3.2" => Sha256::digest(der).as_slice().into(),
        "1.2.840.113549.1.1.12" | "1.2.840.10045.4.3.3" => Sha384::digest(der).as_slice().into(),
        "1.2.840.113549.1.1.13" | "1.2.840.10045.4.3.4" => Sha512::digest(der).as_slice().into(),
        _ => return None,
    })
}

/// A day, as people write it.
struct Day(i64);

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_second(self.0) {
            Ok(time) => write!(f, "{}", time.strftime("%Y-%m-%d")),
            Err(_) => write!(f, "second {}", self.0),
        }
    }
}

/// How long before its end a certificate is warned of.
const SOON_S: i64 = 14 * 86_400;
