//! The files with which a command speaks `https://` to a server, or to the proxy before it.

use std::path::PathBuf;

#[cfg(not(feature = "tls"))]
use crate::errors::Failure;

/// How connections are made.
type AgentConfig = ureq::config::ConfigBuilder<ureq::typestate::AgentScope>;

/// Whom to trust, and who we are, where the server's URL is `https://`.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct TlsFiles {
    /// https: trust the authorities in this PEM file alone [default: MINT_CACERT, else the system's]
    #[arg(long, value_name = "FILE", global = true)]
    cacert: Option<PathBuf>,
    /// https: show this certificate, a PEM file [default: MINT_CERT]
    #[arg(long, value_name = "FILE", global = true)]
    cert: Option<PathBuf>,
    /// https: its private key, a PEM file [default: MINT_KEY, else in the file of the certificate]
    #[arg(long, value_name = "FILE", global = true)]
    key: Option<PathBuf>,
}

#[cfg(not(feature = "tls"))]
impl TlsFiles {
    /// Nothing: this build has no TLS.
    pub(crate) fn secure(&self, _: AgentConfig) -> Result<AgentConfig, Failure> {
        let _: [&Option<PathBuf>; 3] = [&self.cacert, &self.cert, &self.key];
        Err(Failure::usage("this build of mint does not speak https://")
            .with_hint("build it with the feature tls, or use http:// over loopback or a tunnel"))
    }
}

#[cfg(feature = "tls")]
mod read {
    use std::fs;
    use std::path::{Path, PathBuf};
    use std::sync::Arc;

    use rustls::crypto::CryptoProvider;
    use rustls::pki_types::PrivateKeyDer;
    use rustls::pki_types::pem::PemObject;
    use rustls::{ClientConfig, RootCertStore};
    use ureq::tls::{
        Certificate, ClientCert, PemItem, PrivateKey, RootCerts, TlsConfig, TlsProvider, parse_pem,
    };

    use super::{AgentConfig, TlsFiles};
    use crate::errors::Failure;

    impl TlsFiles {
        /// The same connections with TLS.
        pub(crate) fn secure(&self, config: AgentConfig) -> Result<AgentConfig, Failure> {
            let cert = or_environment(&self.cert, "MINT_CERT");
            let key = or_environment(&self.key, "MINT_KEY").or(cert.clone());
            let own = match (cert, key) {
                (Some(cert), Some(key)) => Some(shown(&cert, &key)?),
                (None, Some(_)) => {
                    return Err(Failure::usage("a private key without its certificate")
                        .with_hint("name the certificate with --cert FILE or MINT_CERT"));
                }
                (_, None) => None,
            };
            let roots = match or_environment(&self.cacert, "MINT_CACERT") {
                Some(file) => certificates(&file)?,
                None => of_the_system()?,
            };
            let tls = TlsConfig::builder()
                .provider(TlsProvider::Rustls)
                .unversioned_rustls_crypto_provider(provider())
                .root_certs(RootCerts::new_with_certs(&roots))
                .client_cert(own)
                .build();
            Ok(config.tls_config(tls))
        }
    }

    /// A certificate and its key; what does not fit one another, or no server takes, is said here.
    fn shown(cert: &Path, key: &Path) -> Result<ClientCert, Failure> {
        let (chain, private) = (certificates(cert)?, private_key(key)?);
        let ders = chain.iter().map(|one| one.der().to_vec().into()).collect();
        let der = fs::read(key)
            .ok()
            .and_then(|text| PrivateKeyDer::from_pem_slice(&text).ok());
        let tried = ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map(|builder| builder.with_root_certificates(RootCertStore::empty()));
        let tried = tried.and_then(|builder| match der {
            Some(der) => builder.with_client_auth_cert(ders, der).map(drop),
            None => Err(rustls::Error::General("the key cannot be read".into())),
        });
        match tried {
            Ok(()) => Ok(ClientCert::new_with_certs(&chain, private)),
            Err(error) => Err(Failure::usage(format_args!(
                "the certificate {} and the key {} cannot be used: {error}",
                cert.display(),
                key.display()
            ))),
        }
    }

    fn provider() -> Arc<CryptoProvider> {
        Arc::new(rustls::crypto::ring::default_provider())
    }

    fn or_environment(given: &Option<PathBuf>, variable: &str) -> Option<PathBuf> {
        let named = || std::env::var_os(variable).filter(|file| !file.is_empty());
        given.clone().or_else(|| named().map(PathBuf::from))
    }

    fn items(file: &Path) -> Result<Vec<PemItem<'static>>, Failure> {
        let wrong = |why: String| Failure::usage(format_args!("cannot read {}: {why}", file.display()));
        let text = fs::read(file).map_err(|error| wrong(error.to_string()))?;
        let read: Result<Vec<_>, _> = parse_pem(&text).collect();
        read.map_err(|_| wrong("it is not a PEM file".into()))
    }

    fn certificates(file: &Path) -> Result<Vec<Certificate<'static>>, Failure> {
        let found: Vec<_> = items(file)?
            .into_iter()
            .filter_map(|item| match item {
                PemItem::Certificate(certificate) => Some(certificate),
                _ => None,
            })
            .collect();
        match found.is_empty() {
            true => Err(Failure::usage(format_args!(
                "{} holds no certificate in PEM",
                file.display()
            ))),
            false => Ok(found),
        }
    }

    fn private_key(file: &Path) -> Result<PrivateKey<'static>, Failure> {
        let found = items(file)?.into_iter().find_map(|item| match item {
            PemItem::PrivateKey(key) => Some(key),
            _ => None,
        });
        found.ok_or_else(|| {
            Failure::usage(format_args!("{} holds no private key in PEM", file.display()))
                .with_hint("name the file of the key with --key FILE or MINT_KEY")
        })
    }

    fn of_the_system() -> Result<Vec<Certificate<'static>>, Failure> {
        let found = rustls_native_certs::load_native_certs().certs;
        if found.is_empty() {
            return Err(Failure::cannot("this system has no list of authorities to trust")
                .with_hint("name the authority of the server with --cacert FILE or MINT_CACERT"));
        }
        Ok(found
            .iter()
            .map(|der| Certificate::from_der(der).to_owned())
            .collect())
    }
}
