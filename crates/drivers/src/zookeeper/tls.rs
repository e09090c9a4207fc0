//! TLS to an ensemble.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::super::StoreError;
use super::super::address::{Host, TlsFiles, invalid};

/// Whom to trust, who we are, and what the servers are called.
pub(super) struct Tls {
    config: Arc<ClientConfig>,
    /// In the order of the hosts.
    names: Vec<ServerName<'static>>,
}

impl Tls {
    /// Reads the certificates.
    pub(super) fn new(files: &TlsFiles, hosts: &[Host]) -> Result<Tls, StoreError> {
        let named = |host: &Host| {
            ServerName::try_from(host.name.clone()).map_err(|_| {
                invalid(format!(
                    "store zookeeper: no certificate can be for {}",
                    host.name
                ))
            })
        };
        let names = hosts.iter().map(named).collect::<Result<_, _>>()?;
        let config = ClientConfig::builder().with_root_certificates(authorities(&files.ca)?);
        let config = match files.cert {
            None => config.with_no_client_auth(),
            Some(_) => {
                let own = chain(&files.cert)?;
                let key = PrivateKeyDer::from_pem_slice(&read(&files.key)?)
                    .map_err(|_| invalid(format!("{} holds no private key in PEM", shown(&files.key))))?;
                config.with_client_auth_cert(own, key).map_err(|error| {
                    invalid(format!(
                        "{} does not fit {}: {error}",
                        shown(&files.key),
                        shown(&files.cert)
                    ))
                })?
            }
        };
        Ok(Tls {
            config: Arc::new(config),
            names,
        })
    }

    /// Greets the host of this place in the list.
    pub(super) async fn connect(&self, at: usize, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        let connector = TlsConnector::from(Arc::clone(&self.config));
        let greeted = connector.connect(self.names[at].clone(), stream).await;
        greeted.map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => {
                io::Error::other(format!("no TLS on this port ({error})"))
            }
            _ => error,
        })
    }
}

/// Whom to trust: those in a file, or else those that the system trusts.
fn authorities(file: &Option<PathBuf>) -> Result<RootCertStore, StoreError> {
    let mut roots = RootCertStore::empty();
    if file.is_some() {
        // What stands around the PEM blocks may be anything.
        roots.add_parsable_certificates(CertificateDer::pem_slice_iter(&read(file)?).flatten());
    } else {
        let found = rustls_native_certs::load_native_certs();
        if let (true, Some(error)) = (found.certs.is_empty(), found.errors.first()) {
            return Err(invalid(format!("cannot read the system's authorities: {error}")));
        }
        roots.add_parsable_certificates(found.certs);
    }
    match roots.is_empty() {
        true => Err(invalid(format!("{} holds no certificate in PEM", shown(file)))),
        false => Ok(roots),
    }
}

/// Our own certificate, and those between it and its authority.
fn chain(file: &Option<PathBuf>) -> Result<Vec<CertificateDer<'static>>, StoreError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&read(file)?).collect();
    let found = found.ok().filter(|found| !found.is_empty());
    found.ok_or_else(|| invalid(format!("{} holds no certificate in PEM", shown(file))))
}

fn read(file: &Option<PathBuf>) -> Result<Vec<u8>, StoreError> {
    Ok(TlsFiles::read(file)?.unwrap_or_default())
}

fn shown(file: &Option<PathBuf>) -> String {
    match file {
        Some(path) => path.display().to_string(),
        None => "the system's list of authorities".to_string(),
    }
}
