//! How a store's URL is shown: the one place where passwords are hidden from every message, log, list and file.

/// A store's URL for people: hosts and path, and of the rest only that it is there.
///
/// Nothing before the last `@` and no option's value is shown. Of a URL that is not written as it should be, and so may
/// have a password anywhere, only the scheme is shown, and that only if it is a store's.
///
/// ```
/// use mintage_store::shown_url;
/// assert_eq!(shown_url("postgres://ann:secret@db/ids?sslmode=require"), "postgres://***@db/ids?sslmode=***");
/// assert_eq!(shown_url("postgres://ann:sec/ret@db/ids"), "postgres:***");
/// assert_eq!(shown_url("ann:secret@db/ids"), "***");
/// assert_eq!(shown_url("file:./mint-data"), "file:./mint-data");
/// ```
pub fn shown_url(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once(':') else {
        return HIDDEN.to_string();
    };
    if !SCHEMES.contains(&scheme) {
        // `leaf+zookeeper://…`: what is kept there, and a store's URL.
        let kind = scheme.split_once('+').filter(|(kind, inner)| {
            SCHEMES.contains(inner) && kind.bytes().all(|b| b.is_ascii_lowercase() || b == b'-')
        });
        return match kind {
            Some((kind, inner)) => format!("{kind}+{}", shown_url(&format!("{inner}:{rest}"))),
            None => HIDDEN.to_string(),
        };
    }
    if matches!(scheme, "file" | "memory") {
        // A path is no secret.
        return url.to_string();
    }
    let hidden = || format!("{scheme}:{HIDDEN}");
    let Some(Parts {
        credentials,
        place,
        query,
    }) = rest.strip_prefix("//").and_then(|rest| parts(rest).ok())
    else {
        return hidden();
    };
    let credentials = if credentials.is_some() { "***@" } else { "" };
    let options: Vec<String> = options(query)
        .map(|option| format!("{}={HIDDEN}", option.split('=').next().unwrap_or_default()))
        .collect();
    let query = match options.is_empty() {
        true => String::new(),
        false => format!("?{}", options.join("&")),
    };
    format!("{scheme}://{credentials}{place}{query}")
}

/// Whether a URL carries a password, as far as can be told.
pub fn holds_password(url: &str) -> bool {
    let Some((_, rest)) = url.split_once(':') else {
        return false;
    };
    match rest.strip_prefix("//").and_then(|rest| parts(rest).ok()) {
        Some(parts) => parts.credentials.is_some_and(|of| of.contains(':')),
        None => rest.contains('@'),
    }
}

const HIDDEN: &str = "***";

/// Every scheme that a store has or that people write for one.
const SCHEMES: [&str; 13] = [
    "memory",
    "file",
    "postgres",
    "postgresql",
    "mysql",
    "mariadb",
    "redis",
    "rediss",
    "valkey",
    "valkeys",
    "redis+unix",
    "etcd",
    "zookeeper",
];

/// What follows `SCHEME://`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parts<'a> {
    /// What stands before the last `@`.
    pub credentials: Option<&'a str>,
    /// Hosts and path.
    pub place: &'a str,
    /// What stands after the `?`.
    pub query: &'a str,
}

/// Takes apart what follows `SCHEME://`; says why it cannot be, without any part of it. What it answers besides
/// credentials and values may be shown.
pub fn parts(rest: &str) -> Result<Parts<'_>, &'static str> {
    if rest.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Err("its URL holds a blank or a line's end");
    }
    if rest.contains('#') {
        return Err("a '#' in its URL must be written %23, in the password too");
    }
    let (credentials, open) = match rest.rsplit_once('@') {
        Some((credentials, open)) => (Some(credentials), open),
        None => (None, rest),
    };
    if credentials.is_some_and(|of| of.contains(['/', '?'])) {
        return Err(
            "'/' and '?' in user and password must be written %2F and %3F, and '@' in its path and options %40",
        );
    }
    let (place, query) = open.split_once('?').unwrap_or((open, ""));
    let hosts = place.split('/').next().unwrap_or_default();
    if !hosts.split(',').all(|host| hosts.is_empty() || is_host(host)) {
        return Err("each host is NAME, NAME:PORT or [IPV6]:PORT, with commas between them");
    }
    let plain = |option: &str| {
        let name = |b: u8| b.is_ascii_alphanumeric() || b"_-.".contains(&b);
        option.split_once('=').is_some_and(|(of, _)| of.bytes().all(name))
    };
    if !options(query).all(plain) {
        return Err("each option after the '?' of its URL is NAME=VALUE");
    }
    Ok(Parts {
        credentials,
        place,
        query,
    })
}

fn options(query: &str) -> impl Iterator<Item = &str> {
    query.split('&').filter(|option| !option.is_empty())
}

fn is_host(text: &str) -> bool {
    let (name, port) = match text.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((name, after)) if after.is_empty() || after.starts_with(':') => {
                (name, &after[after.len().min(1)..])
            }
            _ => return false,
        },
        None => text.split_once(':').unwrap_or((text, "")),
    };
    let plain = |b: u8| b.is_ascii_alphanumeric() || b".-_:%".contains(&b);
    // A port, and not the rest of a password.
    !name.is_empty()
        && name.bytes().all(plain)
        && port.len() <= 5
        && port.bytes().all(|b| b.is_ascii_digit())
        && (!text.ends_with(':') || text.starts_with('['))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sound_url_shows_where_and_an_unsound_one_its_scheme() {
        for (url, shown) in [
            ("memory:", "memory:"),
            ("file:/var/lib/mint", "file:/var/lib/mint"),
            ("postgres://u:PW@h:5432/db", "postgres://***@h:5432/db"),
            ("postgres://u:P%2FW@h/db", "postgres://***@h/db"),
            ("postgresql://h/db?host=/run", "postgresql://h/db?host=***"),
            ("redis://PW@h", "redis://***@h"),
            ("redis://u:P@W@h/0", "redis://***@h/0"),
            ("redis://h?auth=PW", "redis://h?auth=***"),
            ("redis://h/0?pasword=PW&x=PW", "redis://h/0?pasword=***&x=***"),
            ("redis+unix:///run/s?db=2", "redis+unix:///run/s?db=***"),
            ("etcd://u:PW@a:1,b,[::1]:3", "etcd://***@a:1,b,[::1]:3"),
            ("zookeeper://a,b/chroot", "zookeeper://a,b/chroot"),
            ("postgres://u:PW/x@h/db", "postgres:***"),
            ("postgres://u:PW#x@h/db", "postgres:***"),
            ("postgres://u:PW?x@h/db", "postgres:***"),
            ("postgres://u:PW", "postgres:***"),
            ("postgres://u:1234567", "postgres:***"),
            ("postgres://h/db?PW", "postgres:***"),
            ("postgres:/u:PW@h", "postgres:***"),
            ("postgres:u:PW@h", "postgres:***"),
            ("redis://:PW\n", "redis:***"),
            ("redis://:PW@h\n", "redis:***"),
            ("u:PW@h/db", "***"),
            ("mongodb://u:PW@h", "***"),
            ("cosid+mysql://u:PW@h/db", "cosid+mysql://***@h/db"),
            ("PW+redis+unix:///run/s", "***"),
            ("u:PW+redis://h", "***"),
            (
                "leaf+zookeeper://a,b/snowflake/x",
                "leaf+zookeeper://a,b/snowflake/x",
            ),
            ("PW", "***"),
            ("", "***"),
        ] {
            assert_eq!(shown_url(url), shown, "{url:?}");
        }
    }

    #[test]
    fn a_password_is_seen_where_it_can_be() {
        for url in [
            "postgres://u:PW@h/db",
            "redis://:PW@h",
            "postgres://u:P/W@h",
            "u:PW@h/db",
        ] {
            assert!(holds_password(url), "{url}");
        }
        for url in [
            "postgres://u@h/db",
            "redis://h",
            "file:./mint-data",
            "memory:",
            "x",
        ] {
            assert!(!holds_password(url), "{url}");
        }
    }
}
