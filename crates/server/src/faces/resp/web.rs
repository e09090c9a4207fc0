//! Browsers that speak HTTP to this port.
//!
//! A page of any web site may make a browser send a POST to 127.0.0.1, without asking the server first. Its lines are
//! inline requests here, and those of its body are whatever the page likes. So the first line that HTTP alone has ends
//! the connection before anything is run.
//!
//! Source: Redis 7.0 `networking.c` and `server.c` (`securityWarningCommand`: `POST` and `Host:`).

use super::frame::Args;

/// Whether a request is a line of HTTP.
pub(super) fn is_http(args: Args<'_>, inline: bool) -> bool {
    let first = args.at(0);
    let is = |word: &str| first.eq_ignore_ascii_case(word.as_bytes());
    // In every form, as in Redis: no command is called so.
    if is("post") || is("host:") {
        return true;
    }
    // Clients of Redis send arrays, and may well ask for a key that begins with a slash.
    inline
        && (args.at(2).starts_with(b"HTTP/")
            || (args.at(1).starts_with(b"/") && METHODS.iter().any(|method| is(method))))
}

/// Methods that browsers send, `POST` apart.
const METHODS: [&str; 8] = [
    "get", "head", "put", "delete", "options", "patch", "trace", "connect",
];
