//! Whom a client's certificate is for: its subject alternative names (RFC 5280, section 4.2.1.6).

use rustls::ServerConnection;
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};

use crate::auth::CertificateName;

/// The names of the certificate that a client has shown, which an authority of ours has signed: DNS names, addresses, mail
/// addresses and URIs. Its common name is none of them.
pub(crate) fn names_of(connection: &ServerConnection) -> Vec<CertificateName> {
    let first = connection.peer_certificates().and_then(|all| all.first());
    first.map_or_else(Vec::new, |first| names_in(first))
}

/// The names in a certificate.
pub(super) fn names_in(certificate: &[u8]) -> Vec<CertificateName> {
    let Ok((_, read)) = X509Certificate::from_der(certificate) else {
        return Vec::new();
    };
    let Ok(Some(names)) = read.subject_alternative_name() else {
        return Vec::new();
    };
    let named = |name: &GeneralName<'_>| match name {
        GeneralName::DNSName(name) => CertificateName::dns(name),
        GeneralName::IPAddress(octets) => CertificateName::ip(octets),
        GeneralName::URI(uri) => CertificateName::uri(uri),
        GeneralName::RFC822Name(address) => CertificateName::email(address),
        _ => None,
    };
    names.value.general_names.iter().filter_map(named).collect()
}
