//! Reads the URLs of stores that have hosts: `SCHEME://[USER[:PASSWORD]@]HOST[:PORT][,…][/PATH][?OPTION=VALUE&…]`.

use std::fmt;
use std::path::PathBuf;

use super::shown::{Parts, parts};
use super::{Outcome, StoreError, StoreErrorKind};

/// The parts of a store's URL, percent-decoded. Its text form has no credentials and no options.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) scheme: &'static str,
    pub(crate) user: Option<String>,
    pub(crate) password: Option<String>,
    /// At least one, unless [`Address::parse`] was told that there may be none.
    pub(crate) hosts: Vec<Host>,
    /// Without the leading slash.
    pub(crate) path: String,
    options: Vec<(String, String)>,
}

/// One server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Host {
    /// A name or an address, without brackets.
    pub(crate) name: String,
    pub(crate) port: u16,
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name.contains(':') {
            true => write!(f, "[{}]:{}", self.name, self.port),
            false => write!(f, "{}:{}", self.name, self.port),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme, self.host_list())?;
        match self.path.as_str() {
            "" => Ok(()),
            path => write!(f, "/{path}"),
        }
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl Address {
    /// Reads what follows `SCHEME:`. No error shows any part of it: a password may stand in the wrong place.
    pub(crate) fn parse(
        scheme: &'static str,
        rest: &str,
        default_port: u16,
        hosts_needed: bool,
    ) -> Result<Address, StoreError> {
        let bad = |why: &str| invalid(format!("store {scheme}: {why}"));
        let rest = rest
            .strip_prefix("//")
            .ok_or_else(|| bad("its URL needs two slashes after the colon"))?;
        let Parts {
            credentials,
            place,
            query,
        } = parts(rest).map_err(bad)?;
        let (list, path) = place.split_once('/').unwrap_or((place, ""));
        let decode = |text: &str, what: &str| {
            decode(text).ok_or_else(|| bad(&format!("its {what} is not percent-encoded UTF-8")))
        };
        let (mut user, mut password) = (None, None);
        if let Some(credentials) = credentials {
            let (name, secret) = credentials.split_once(':').unwrap_or((credentials, ""));
            user = Some(decode(name, "user name")?).filter(|name| !name.is_empty());
            password = Some(decode(secret, "password")?).filter(|secret| !secret.is_empty());
        }
        let mut hosts = Vec::new();
        if !list.is_empty() {
            for host in list.split(',') {
                hosts.push(host_of(host, default_port).ok_or_else(|| {
                    bad("each host is NAME, NAME:PORT or [IPV6]:PORT, with commas between them")
                })?);
            }
        }
        if hosts.is_empty() && hosts_needed {
            return Err(bad("its URL names no host"));
        }
        let mut options = Vec::new();
        for option in query.split('&').filter(|option| !option.is_empty()) {
            let (name, value) = option.split_once('=').unwrap_or((option, ""));
            let name = decode(name, "query")?;
            if options.iter().any(|(known, _)| *known == name) {
                return Err(bad(&format!("its option {name:?} is given twice")));
            }
            options.push((name, decode(value, "query")?));
        }
        Ok(Address {
            scheme,
            user,
            password,
            hosts,
            path: decode(path, "path")?,
            options,
        })
    }

    /// The hosts with their ports, as in the URL.
    pub(crate) fn host_list(&self) -> String {
        let hosts: Vec<_> = self.hosts.iter().map(Host::to_string).collect();
        hosts.join(",")
    }

    /// Takes an option out of the URL, so that [`Address::no_more_options`] does not see it.
    pub(crate) fn take_option(&mut self, name: &str) -> Option<String> {
        let at = self.options.iter().position(|(known, _)| known == name)?;
        Some(self.options.swap_remove(at).1)
    }

    /// Takes the three options of TLS: `tls_ca`, `tls_cert`, `tls_key`, each a file in PEM.
    pub(crate) fn take_tls(&mut self) -> Result<TlsFiles, StoreError> {
        let mut path = |name| self.take_option(name).map(PathBuf::from);
        let files = TlsFiles {
            ca: path("tls_ca"),
            cert: path("tls_cert"),
            key: path("tls_key"),
        };
        match files.cert.is_some() == files.key.is_some() {
            true => Ok(files),
            false => Err(invalid(format!(
                "store {}: tls_cert and tls_key go together",
                self.scheme
            ))),
        }
    }

    /// Takes `tls=on` or `off` and the options of [`Address::take_tls`], any of which turns TLS on, too. `None` is off.
    #[cfg(any(feature = "etcd", feature = "zookeeper"))]
    pub(crate) fn take_tls_if_on(&mut self) -> Result<Option<TlsFiles>, StoreError> {
        let files = self.take_tls()?;
        match self.take_option("tls").as_deref() {
            None => Ok(files.any().then_some(files)),
            Some("on") => Ok(Some(files)),
            Some("off") if !files.any() => Ok(None),
            Some(_) => Err(invalid(format!(
                "store {}: tls is on or off, and on with certificates",
                self.scheme
            ))),
        }
    }

    /// Refuses options that nobody took.
    pub(crate) fn no_more_options(&self, known: &str) -> Result<(), StoreError> {
        match self.options.first() {
            None => Ok(()),
            Some((name, _)) => Err(invalid(format!(
                "store {}: no option is named {name:?}: known are {known}",
                self.scheme
            ))),
        }
    }
}

/// Where the certificates of a TLS connection are; the system's own authorities where `ca` is absent.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct TlsFiles {
    pub(crate) ca: Option<PathBuf>,
    pub(crate) cert: Option<PathBuf>,
    pub(crate) key: Option<PathBuf>,
}

impl TlsFiles {
    /// Whether any is named.
    pub(crate) fn any(&self) -> bool {
        self.ca.is_some() || self.cert.is_some()
    }

    /// Reads one of the files.
    pub(crate) fn read(file: &Option<PathBuf>) -> Result<Option<Vec<u8>>, StoreError> {
        let Some(path) = file else { return Ok(None) };
        match std::fs::read(path) {
            Ok(pem) => Ok(Some(pem)),
            Err(error) => Err(invalid(format!("cannot read {}: {error}", path.display()))),
        }
    }
}

fn host_of(text: &str, default_port: u16) -> Option<Host> {
    let (name, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (name, port) = rest.split_once(']')?;
            (name, port.strip_prefix(':'))
        }
        None => match text.split_once(':') {
            Some((name, port)) => (name, Some(port)),
            None => (text, None),
        },
    };
    let plain = |b: u8| b.is_ascii_alphanumeric() || b".-_:%".contains(&b);
    if name.is_empty() || !name.bytes().all(plain) {
        return None;
    }
    let port = match port {
        None => default_port,
        Some(digits) if digits.bytes().all(|b| b.is_ascii_digit()) => digits.parse().ok()?,
        Some(_) => return None,
    };
    Some(Host {
        name: name.to_string(),
        port,
    })
}

fn decode(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let mut digit = || char::from(bytes.next()?).to_digit(16);
        out.push((digit()? * 16 + digit()?) as u8);
    }
    String::from_utf8(out).ok()
}

/// An invalid URL or file named in one.
pub(crate) fn invalid(message: String) -> StoreError {
    StoreError::new(StoreErrorKind::Invalid, Outcome::NotDone, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(rest: &str) -> Result<Address, StoreError> {
        Address::parse("etcd", rest, 2379, true)
    }

    #[test]
    fn urls_come_apart_and_show_no_secret() {
        for (rest, user, password, hosts, path, shown) in [
            ("//h", None, None, "h:2379", "", "etcd://h:2379"),
            (
                "//h:1,g,[::1]:3/a/b",
                None,
                None,
                "h:1,g:2379,[::1]:3",
                "a/b",
                "etcd://h:1,g:2379,[::1]:3/a/b",
            ),
            ("//u@h/", Some("u"), None, "h:2379", "", "etcd://h:2379"),
            (
                "//u:p%40ss%2Fw%25@h/0?x=1",
                Some("u"),
                Some("p@ss/w%"),
                "h:2379",
                "0",
                "etcd://h:2379/0",
            ),
            (
                "//:a:b@c@10.0.0.1:1",
                None,
                Some("a:b@c"),
                "10.0.0.1:1",
                "",
                "etcd://10.0.0.1:1",
            ),
        ] {
            let address = parse(rest).unwrap();
            assert_eq!(address.user.as_deref(), user, "{rest}");
            assert_eq!(address.password.as_deref(), password, "{rest}");
            assert_eq!(address.host_list(), hosts, "{rest}");
            assert_eq!(address.path, path, "{rest}");
            assert_eq!(address.to_string(), shown);
            assert_eq!(format!("{address:?}"), shown);
        }
    }

    #[test]
    fn malformed_urls_are_refused_without_being_shown() {
        for rest in [
            "",
            "/secret",
            "//",
            "//u:secret@",
            "//secret:x",
            "//h:99999",
            "//h,,g",
            "//[::1",
            "//a b",
            "//u:%zz@h",
            "//u:secret#1@h",
            "//u:%ff@h",
            "//h?a=1&a=2",
        ] {
            let error = parse(rest).unwrap_err();
            assert_eq!(error.kind, StoreErrorKind::Invalid, "{rest}");
            mintage_testing::no_secret_in(rest, &error.message, "secret");
        }
        assert_eq!(Address::parse("redis", "///1", 6379, false).unwrap().hosts, []);
    }

    #[test]
    fn options_are_taken_once_and_unknown_ones_refused() {
        let mut address = parse("//h?prefix=eu%3A&tls_ca=/x").unwrap();
        assert_eq!(address.take_option("prefix").as_deref(), Some("eu:"));
        assert_eq!(address.take_option("prefix"), None);
        let error = address.no_more_options("prefix").unwrap_err();
        assert_eq!(
            error.message,
            r#"store etcd: no option is named "tls_ca": known are prefix"#
        );
        assert_eq!(address.take_tls().unwrap().ca, Some("/x".into()));
        address.no_more_options("prefix").unwrap();
        assert!(parse("//h?tls_cert=x").unwrap().take_tls().is_err());
    }
}
