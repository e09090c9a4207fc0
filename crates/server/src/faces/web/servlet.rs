//! Paths as servers made with Spring Boot 1.5 read them: Tomcat tidies a path up before Spring looks for its route.
//!
//! Clients rely on it without knowing: a base URL that ends in a slash gives `//api/…`.

use std::borrow::Cow;

/// A path without what leads nowhere else: doubled slashes, `.` and `..`, parameters of segments (`;v=1`), letters and
/// digits that are percent-encoded. `None`: it leads out of the root.
pub fn tidy(path: &str) -> Option<Cow<'_, str>> {
    let is_tidy = !path.contains([';', '%']) && !path.contains("//") && !path.contains("/.");
    if is_tidy {
        return Some(path.into());
    }
    let mut kept: Vec<String> = Vec::new();
    let mut ends_in_slash = false;
    for segment in path.split('/') {
        let named = segment.split(';').next().unwrap_or_default();
        let named = readable(named);
        ends_in_slash = matches!(&*named, "" | "." | "..");
        match &*named {
            "" | "." => {}
            ".." => drop(kept.pop()?),
            _ => kept.push(named),
        }
    }
    let end = if ends_in_slash && !kept.is_empty() {
        "/"
    } else {
        ""
    };
    Some(format!("/{}{end}", kept.join("/")).into())
}

/// A segment whose letters, digits and `-._~` are not encoded (RFC 3986 section 6.2.2.2); the rest stays as it is.
fn readable(segment: &str) -> String {
    let mut text = String::with_capacity(segment.len());
    let mut rest = segment;
    while let Some(at) = rest.find('%') {
        text.push_str(&rest[..at]);
        let code = rest.get(at + 1..at + 3);
        let byte = code.and_then(|code| u8::from_str_radix(code, 16).ok());
        let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~".contains(byte);
        let used = match byte.filter(is_plain) {
            Some(byte) => {
                text.push(char::from(byte));
                at + 3
            }
            None => {
                text.push('%');
                at + 1
            }
        };
        rest = &rest[used..];
    }
    text + rest
}

/// What a path ends in, where that names a type of content: `json` of `/a/b.json`.
pub fn extension(path: &str) -> Option<&str> {
    let path = path.strip_suffix('/').unwrap_or(path);
    let name = path.rsplit('/').next().unwrap_or_default();
    let name = name.split(';').next().unwrap_or_default();
    let (_, extension) = name.rsplit_once('.')?;
    type_of(extension).map(|_| extension)
}

/// The type of content that an extension stands for.
pub(crate) fn type_of(extension: &str) -> Option<&'static str> {
    let types = [
        ("json", "application/json"),
        ("xml", "application/xml"),
        ("txt", "text/plain"),
        ("html", "text/html"),
    ];
    let found = types
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(extension));
    found.map(|(_, media)| *media)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_tidied_up() {
        for (path, tidied) in [
            ("/api/segment/get/orders", Some("/api/segment/get/orders")),
            ("//api/segment/get/orders", Some("/api/segment/get/orders")),
            ("/api//segment///get/orders", Some("/api/segment/get/orders")),
            ("/api/segment/get/orders//", Some("/api/segment/get/orders/")),
            ("/api/segment/get//", Some("/api/segment/get/")),
            ("/api/./segment/get/orders", Some("/api/segment/get/orders")),
            ("/x/../api/segment/get/orders", Some("/api/segment/get/orders")),
            ("/x/%2e%2E/api", Some("/api")),
            ("/api/segment/get/..", Some("/api/segment/")),
            ("/api/segment/get/orders;v=1", Some("/api/segment/get/orders")),
            (
                "/api;a=b;c/segment/get/orders;v=1/",
                Some("/api/segment/get/orders/"),
            ),
            (
                "/api/%73egment/get/%6frder%20x",
                Some("/api/segment/get/order%20x"),
            ),
            ("/api/segment/get/a%2Fb", Some("/api/segment/get/a%2Fb")),
            ("/api/segment/get/a%3Bb", Some("/api/segment/get/a%3Bb")),
            (
                "/api/segment/get/com.acme.order",
                Some("/api/segment/get/com.acme.order"),
            ),
            ("/a%2", Some("/a%2")),
            ("/a%€", Some("/a%€")),
            ("//", Some("/")),
            ("/", Some("/")),
            ("", Some("")),
            ("/..", None),
            ("/a/../../b", None),
        ] {
            assert_eq!(tidy(path).as_deref(), tidied, "{path}");
        }
    }

    #[test]
    fn an_extension_is_one_that_names_a_type() {
        for (path, found) in [
            ("/a/orders.json", Some("json")),
            ("/a/orders.JSON/", Some("JSON")),
            ("/a/orders.json;v=1", Some("json")),
            ("/a/com.acme.order", None),
            ("/a.json/orders", None),
            ("/a/json", None),
        ] {
            assert_eq!(extension(path), found, "{path}");
        }
    }
}
