//! `/`: the console, one page with its style and its script, in the binary.
//!
//! It is written here, without a build step: the script is the files below, one behind the other, in one scope.

use hyper::StatusCode;

use crate::faces::web::answer::Response;

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = concat!(
    "\"use strict\";\n",
    include_str!("base.js"),
    include_str!("plot.js"),
    include_str!("now.js"),
    include_str!("sequences.js"),
    include_str!("sequence.js"),
    include_str!("map.js"),
    include_str!("decoder.js"),
    include_str!("cluster.js"),
    include_str!("access.js"),
    include_str!("move.js"),
    include_str!("main.js")
);

/// Nothing but what this server sends, nothing inline, in no frame of another page.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data: blob:; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// `GET /`
pub(super) fn page() -> Response {
    part("text/html; charset=utf-8", PAGE)
}

/// `GET /console.css`
pub(super) fn style() -> Response {
    part("text/css; charset=utf-8", STYLE)
}

/// `GET /console.js`
pub(super) fn script() -> Response {
    part("text/javascript; charset=utf-8", SCRIPT)
}

fn part(media_type: &'static str, text: &'static str) -> Response {
    let mut response = Response::new(StatusCode::OK, media_type, text);
    response.add("content-security-policy", POLICY);
    response.add("referrer-policy", "no-referrer");
    response.add("cross-origin-opener-policy", "same-origin");
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 150 KB are allowed in all.
    #[test]
    fn the_page_is_small_and_asks_nobody_else() {
        let all = [PAGE, STYLE, SCRIPT];
        assert!(all.iter().map(|part| part.len()).sum::<usize>() <= 150_000);
        for part in all {
            let foreign = part.match_indices("://").find(|(at, _)| {
                !part[..*at].ends_with("http") || !part[*at..].starts_with("://www.w3.org/2000/svg")
            });
            assert_eq!(foreign.map(|(at, _)| &part[at.saturating_sub(20)..at + 3]), None);
        }
    }
}
