//! A name in a certificate, with its kind: an authority that may sign names of one kind alone signs no others.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// A subject alternative name (RFC 5280, section 4.2.1.6). Two are equal if their kinds are and, by the rules of that kind,
/// their texts.
///
/// In a configuration the kind stands before a colon; without one, the text is a DNS name, or an address if it is one.
///
/// ```
/// use mintage_server::auth::CertificateName;
/// let name = |text: &str| text.parse::<CertificateName>();
/// assert_eq!(name("Billing.internal"), name("dns:billing.internal"));
/// assert_eq!(name("2001:DB8::0:1"), name("ip:2001:db8::1"));
/// assert_ne!(name("uri:spiffe://corp/A"), name("uri:spiffe://corp/a"));
/// assert!(name("spiffe://corp/a").unwrap_err().contains("\"uri:spiffe://corp/a\""));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CertificateName(Kind);

#[derive(Clone, PartialEq, Eq, Debug)]
enum Kind {
    /// In lower case.
    Dns(String),
    Ip(IpAddr),
    /// Scheme and host in lower case.
    Uri(String),
    /// The host in lower case.
    Email(String),
}

impl CertificateName {
    /// A DNS name, upper and lower case being the same; `None`: the text is not one.
    pub(crate) fn dns(text: &str) -> Option<CertificateName> {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.*".contains(&byte);
        let is_name = (1..=DNS_BYTES_MAX).contains(&text.len()) && text.bytes().all(fits);
        is_name.then(|| CertificateName(Kind::Dns(text.to_ascii_lowercase())))
    }

    /// An address of four or sixteen octets; `None` for any other length.
    ///
    /// Sixteen octets are never an IPv4 address, not even those of `::ffff:0:0/96`: what an authority may sign is said for
    /// each length by itself, and an IPv4 network that is closed to it leaves these open.
    pub(crate) fn ip(octets: &[u8]) -> Option<CertificateName> {
        let four = <[u8; 4]>::try_from(octets).map(|octets| Ipv4Addr::from(octets).into());
        let address =
            four.or_else(|_| <[u8; 16]>::try_from(octets).map(|octets| Ipv6Addr::from(octets).into()));
        address.ok().map(|address| CertificateName(Kind::Ip(address)))
    }

    /// A URI; scheme and host are the same in upper and lower case, all else is not (RFC 5280, section 7.4). `None`: the text
    /// has no scheme, or bytes that no URI has.
    pub(crate) fn uri(text: &str) -> Option<CertificateName> {
        let (scheme, rest) = text.split_once(':')?;
        let of_scheme = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
        let is_scheme =
            scheme.starts_with(|c: char| c.is_ascii_alphabetic()) && scheme.bytes().all(of_scheme);
        if !is_scheme || rest.is_empty() || !rest.bytes().all(|byte| byte.is_ascii_graphic()) {
            return None;
        }
        let scheme = scheme.to_ascii_lowercase();
        let Some(rest) = rest.strip_prefix("//") else {
            return Some(CertificateName(Kind::Uri(format!("{scheme}:{rest}"))));
        };
        let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        let (user, host) = authority.split_at(authority.rfind('@').map_or(0, |at| at + 1));
        let host = host.to_ascii_lowercase();
        Some(CertificateName(Kind::Uri(format!(
            "{scheme}://{user}{host}{path}"
        ))))
    }

    /// A mail address, whose host is the same in upper and lower case (RFC 5280, section 7.5); `None`: the text is not one.
    pub(crate) fn email(text: &str) -> Option<CertificateName> {
        let (user, host) = text.rsplit_once('@')?;
        let is_user = !user.is_empty() && user.bytes().all(|byte| byte.is_ascii_graphic());
        let Kind::Dns(host) = CertificateName::dns(host).filter(|_| is_user)?.0 else {
            return None;
        };
        Some(CertificateName(Kind::Email(format!("{user}@{host}"))))
    }
}

/// The longest DNS name, in bytes (RFC 1035, section 3.1, as text).
const DNS_BYTES_MAX: usize = 253;

impl FromStr for CertificateName {
    type Err = String;

    fn from_str(text: &str) -> Result<CertificateName, String> {
        let address = |text: &str| {
            let address = text.parse::<IpAddr>().ok()?.to_canonical();
            Some(CertificateName(Kind::Ip(address)))
        };
        let (name, kind) = match text.split_once(':') {
            Some(("dns", rest)) => (CertificateName::dns(rest), "a DNS name in ASCII"),
            Some(("ip", rest)) => (address(rest), "an IPv4 or IPv6 address"),
            Some(("uri", rest)) => (CertificateName::uri(rest), "a URI with its scheme"),
            Some(("email", rest)) => (CertificateName::email(rest), "a mail address"),
            _ => match address(text).or_else(|| CertificateName::dns(text)) {
                Some(name) => return Ok(name),
                None => return Err(hint(text)),
            },
        };
        name.ok_or_else(|| format!("certificate = {text:?}: what follows the colon is not {kind}"))
    }
}

/// What to write instead of a name that has neither its kind nor the form of a DNS name.
fn hint(text: &str) -> String {
    let meant = if CertificateName::email(text).is_some() {
        format!("write \"email:{text}\" for the mail address")
    } else if CertificateName::uri(text).is_some() {
        format!("write \"uri:{text}\" for the URI")
    } else {
        "write dns:, ip:, uri: or email: and the name, DNS names in ASCII (xn--…)".into()
    };
    format!("certificate = {text:?} is neither a DNS name nor an address: {meant}")
}

impl fmt::Display for CertificateName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            // As it would not be read back as a DNS name without its kind.
            Kind::Dns(name) if name.parse::<IpAddr>().is_ok() => write!(f, "dns:{name}"),
            Kind::Dns(name) => f.write_str(name),
            Kind::Ip(address) => address.fmt(f),
            Kind::Uri(uri) => write!(f, "uri:{uri}"),
            Kind::Email(address) => write!(f, "email:{address}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> CertificateName {
        text.parse().unwrap_or_else(|why| panic!("{why}"))
    }

    #[test]
    fn texts_of_one_kind_are_compared_by_its_rules() {
        for (one, other, is_same) in [
            ("billing.internal", "dns:BILLING.internal", true),
            ("billing.internal", "billing.internal.", false),
            ("*.web.corp", "a.web.corp", false),
            ("10.0.0.7", "ip:10.0.0.7", true),
            ("10.0.0.7", "ip:::ffff:10.0.0.7", true),
            ("10.0.0.7", "dns:10.0.0.7", false),
            ("2001:db8:0:0::1", "2001:DB8::1", true),
            ("uri:SPIFFE://Corp/a", "uri:spiffe://corp/a", true),
            ("uri:spiffe://corp/a", "uri:spiffe://corp/A", false),
            ("uri:spiffe://corp/a", "uri:spiffe://corp/a/", false),
            ("uri:x://U@H:1?q=A", "uri:X://U@h:1?q=A", true),
            ("uri:x://U@h", "uri:x://u@h", false),
            ("uri:urn:a:B", "uri:URN:a:B", true),
            ("uri:urn:a:B", "uri:urn:a:b", false),
            ("email:Ann@Corp.example", "email:Ann@corp.EXAMPLE", true),
            ("email:Ann@corp.example", "email:ann@corp.example", false),
        ] {
            assert_eq!(read(one) == read(other), is_same, "{one} {other}");
            assert_eq!(read(&read(one).to_string()), read(one), "{one}");
        }
    }

    #[test]
    fn what_cannot_be_a_name_is_refused_with_what_to_write() {
        for (text, why) in [
            ("", "neither a DNS name"),
            ("spiffe://corp/a", "write \"uri:spiffe://corp/a\""),
            ("ann@corp.example", "write \"email:ann@corp.example\""),
            ("billing internal", "write dns:, ip:, uri: or email:"),
            ("größe.example", "xn--"),
            ("[::1]", "write dns:, ip:"),
            ("a\0b", "write dns:, ip:"),
            ("URI:x", "write \"uri:URI:x\""),
            ("dns:", "is not a DNS name"),
            ("ip:billing", "is not an IPv4 or IPv6 address"),
            ("ip:fe80::1%eth0", "is not an IPv4 or IPv6 address"),
            ("uri:billing.internal", "is not a URI with its scheme"),
            ("uri:x:a b", "is not a URI"),
            ("email:billing.internal", "is not a mail address"),
            ("email:@h", "is not a mail address"),
        ] {
            let error = text.parse::<CertificateName>().unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn sixteen_octets_are_no_address_of_ipv4() {
        let mapped = "::ffff:10.0.0.7".parse::<Ipv6Addr>().unwrap();
        assert_ne!(CertificateName::ip(&mapped.octets()), Some(read("10.0.0.7")));
        assert_eq!(CertificateName::ip(&[10, 0, 0, 7]), Some(read("10.0.0.7")));
        assert_eq!(CertificateName::ip(&[10, 0, 0]), None);
    }
}
