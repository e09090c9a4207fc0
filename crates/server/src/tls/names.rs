//! Whom a client's certificate is for: its subject alternative names (RFC 5280, section 4.2.1.6).

use std::net::IpAddr;

use rustls::ServerConnection;
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};

/// The names of the certificate that a client has shown, which an authority of ours has signed: DNS names, addresses, mail
/// addresses and URIs, as text. Its common name is none of them.
pub(crate) fn names_of(connection: &ServerConnection) -> Vec<String> {
    let first = connection.peer_certificates().and_then(|all| all.first());
    let Some((_, read)) = first.and_then(|first| X509Certificate::from_der(first).ok()) else {
        return Vec::new();
    };
    let Ok(Some(names)) = read.subject_alternative_name() else {
        return Vec::new();
    };
    names.value.general_names.iter().filter_map(text).collect()
}

fn text(name: &GeneralName<'_>) -> Option<String> {
    match name {
        GeneralName::DNSName(name) | GeneralName::RFC822Name(name) | GeneralName::URI(name) => {
            Some(name.to_string())
        }
        GeneralName::IPAddress(bytes) => {
            let four = <[u8; 4]>::try_from(*bytes).map(IpAddr::from);
            let address = four.or_else(|_| <[u8; 16]>::try_from(*bytes).map(IpAddr::from));
            address.ok().map(|address| address.to_string())
        }
        _ => None,
    }
}
