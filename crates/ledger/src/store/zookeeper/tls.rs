//! TLS to an ensemble, and why there is none: the driver only says that no host is available.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use zookeeper_client::{Error, TlsOptions};

use super::super::StoreError;
use super::super::address::{Host, TlsFiles, invalid};

/// Whom to trust, who we are, and what the servers are called.
pub(super) struct Tls {
    /// For the driver.
    options: TlsOptions,
    /// The same for [`Tls::faults`].
    config: Arc<ClientConfig>,
    hosts: Vec<(Host, ServerName<'static>)>,
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls")
    }
}

impl Tls {
    /// Reads the certificates.
    pub(super) fn new(files: &TlsFiles, hosts: &[Host]) -> Result<Tls, StoreError> {
        let mut named = Vec::new();
        for host in hosts {
            // The driver would panic.
            let name = ServerName::try_from(host.name.clone()).map_err(|_| {
                invalid(format!(
                    "store zookeeper: no certificate can be for {}",
                    host.name
                ))
            })?;
            named.push((host.clone(), name));
        }
        let authorities = match &files.ca {
            Some(_) => read(&files.ca)?,
            None => system_authorities()?,
        };
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(CertificateDer::pem_slice_iter(authorities.as_bytes()).flatten());
        if roots.is_empty() {
            return Err(invalid(format!(
                "{} holds no certificate in PEM",
                shown(&files.ca)
            )));
        }
        let driver = |error: Error| invalid(format!("store zookeeper: {error}"));
        let mut options = TlsOptions::new().with_pem_ca(&authorities).map_err(driver)?;
        let config = ClientConfig::builder().with_root_certificates(roots);
        let config = match files.cert {
            None => config.with_no_client_auth(),
            Some(_) => {
                let (own, private) = (read(&files.cert)?, read(&files.key)?);
                let own_pem = CertificateDer::pem_slice_iter(own.as_bytes()).collect::<Result<Vec<_>, _>>();
                let certificates = own_pem
                    .ok()
                    .filter(|found| !found.is_empty())
                    .ok_or_else(|| invalid(format!("{} holds no certificate in PEM", shown(&files.cert))))?;
                let key = PrivateKeyDer::from_pem_slice(private.as_bytes())
                    .map_err(|_| invalid(format!("{} holds no private key in PEM", shown(&files.key))))?;
                options = options.with_pem_identity(&own, &private).map_err(driver)?;
                config.with_client_auth_cert(certificates, key).map_err(|error| {
                    invalid(format!(
                        "{} does not fit {}: {error}",
                        shown(&files.key),
                        shown(&files.cert)
                    ))
                })?
            }
        };
        Ok(Tls {
            options,
            config: Arc::new(config),
            hosts: named,
        })
    }

    /// For the driver.
    pub(super) fn options(&self) -> TlsOptions {
        self.options.clone()
    }

    /// How many servers there are.
    pub(super) fn hosts(&self) -> usize {
        self.hosts.len()
    }

    /// What is wrong with each server that cannot be spoken to.
    pub(super) async fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        for (host, name) in &self.hosts {
            if let Err(error) = self.greet(host, name).await {
                faults.push(format!("{host}: {error}"));
            }
        }
        faults
    }

    async fn greet(&self, host: &Host, name: &ServerName<'static>) -> io::Result<()> {
        let stream = TcpStream::connect((host.name.as_str(), host.port)).await?;
        let connector = TlsConnector::from(self.config.clone());
        let mut stream =
            connector
                .connect(name.clone(), stream)
                .await
                .map_err(|error| match error.kind() {
                    io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => {
                        io::Error::other(format!("no TLS on this port ({error})"))
                    }
                    _ => error,
                })?;
        // A server that misses our certificate may say so only now.
        stream.write_all(b"srvr").await.ok();
        match stream.read(&mut [0]).await? {
            0 => Err(io::ErrorKind::ConnectionReset.into()),
            _ => Ok(()),
        }
    }
}

/// One of the files that is named, as text: what stands around the PEM blocks may be anything.
fn read(file: &Option<PathBuf>) -> Result<String, StoreError> {
    let pem = TlsFiles::read(file)?.unwrap_or_default();
    Ok(String::from_utf8_lossy(&pem).into_owned())
}

fn shown(file: &Option<PathBuf>) -> String {
    match file {
        Some(path) => path.display().to_string(),
        None => "the system's list of authorities".to_string(),
    }
}

/// What the system trusts, in PEM: the driver takes nothing else.
fn system_authorities() -> Result<String, StoreError> {
    let found = rustls_native_certs::load_native_certs();
    if let (true, Some(error)) = (found.certs.is_empty(), found.errors.first()) {
        return Err(invalid(format!("cannot read the system's authorities: {error}")));
    }
    let pem = |certificate: &CertificateDer<'_>| {
        let body = BASE64_STANDARD.encode(certificate);
        format!("-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n")
    };
    Ok(found.certs.iter().map(pem).collect())
}
