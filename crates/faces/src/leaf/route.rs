//! Paths.

use std::borrow::Cow;

use mintage_wire::percent;

use mintage_server::chassis::config::Config;
use mintage_server::chassis::error::{Answer, Code, ServiceError};
use mintage_server::chassis::web::head::Head;
use mintage_server::chassis::web::{servlet, spring};

/// Where a path leads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Route<'p> {
    /// The next number of a key, as it stands in the path.
    Segment(Cow<'p, str>),
    /// The next snowflake; the key stands there for nothing.
    Snowflake,
    /// The parts of a snowflake.
    Decode,
    /// What this server holds.
    Cache,
    /// What the store holds.
    Db,
    /// The style sheet of both pages.
    Style,
}

impl<'p> Route<'p> {
    /// Reads a path; one slash more at its end is as none.
    pub(super) fn of(path: &'p str) -> Option<Route<'p>> {
        match servlet::tidy(path)? {
            Cow::Borrowed(path) => Route::of_tidy(path),
            Cow::Owned(path) => Some(match Route::of_tidy(&path)? {
                Route::Segment(key) => Route::Segment(Cow::Owned(key.into_owned())),
                Route::Snowflake => Route::Snowflake,
                Route::Decode => Route::Decode,
                Route::Cache => Route::Cache,
                Route::Db => Route::Db,
                Route::Style => Route::Style,
            }),
        }
    }

    fn of_tidy(path: &'p str) -> Option<Route<'p>> {
        let path = path.strip_suffix('/').unwrap_or(path);
        let is_key = |key: &&str| !key.is_empty() && !key.contains('/');
        if let Some(key) = path.strip_prefix("/api/segment/get/").filter(is_key) {
            return Some(Route::Segment(key.into()));
        }
        if path
            .strip_prefix("/api/snowflake/get/")
            .is_some_and(|key| is_key(&key))
        {
            return Some(Route::Snowflake);
        }
        // An ending changes nothing.
        match path.split_once('.').map_or(path, |(path, _)| path) {
            "/css/bootstrap" if path == "/css/bootstrap.min.css" => Some(Route::Style),
            "/decodeSnowflakeId" => Some(Route::Decode),
            "/cache" => Some(Route::Cache),
            "/db" => Some(Route::Db),
            _ => None,
        }
    }

    /// Whether the configuration has it answer nothing.
    pub(super) fn is_off(&self, config: &Config) -> bool {
        let leaf = &config.faces.get::<crate::leaf::Settings>();
        match self {
            Route::Segment(_) | Route::Cache | Route::Db => !leaf.segment,
            Route::Snowflake => !leaf.snowflake,
            Route::Decode | Route::Style => false,
        }
    }

    /// The content type of a success.
    pub(super) fn media_type(&self, head: &Head<'_>) -> Cow<'static, str> {
        match self {
            Route::Segment(_) | Route::Snowflake => spring::media_type(head),
            Route::Decode => spring::JSON.into(),
            Route::Cache | Route::Db => spring::HTML.into(),
            Route::Style => "text/css".into(),
        }
    }
}

/// A key out of a path, decoded; cut at its last dot where that is wanted.
///
/// # Errors
/// [`Code::InvalidArgument`]: its percent-encoding is damaged, or it holds a NUL.
pub(super) fn key(key: &str, cut_at_dot: bool) -> Answer<Cow<'_, [u8]>> {
    let damaged = || ServiceError::new(Code::InvalidArgument, "the key's percent-encoding is damaged");
    let key = percent::decode(key).ok_or_else(damaged)?;
    if key.contains(&0) {
        return Err(ServiceError::new(Code::InvalidArgument, "the key holds a NUL"));
    }
    let dot = key.iter().rposition(|byte| *byte == b'.').filter(|_| cut_at_dot);
    Ok(match dot {
        Some(dot) => key[..dot].to_vec().into(),
        None => key,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_where_they_led() {
        let key = |key: &'static str| Some(Route::Segment(key.into()));
        for (path, route) in [
            ("/api/segment/get/order", key("order")),
            ("/api/segment/get/order/", key("order")),
            ("/api/segment/get/a%2Fb", key("a%2Fb")),
            ("/api/segment/get/", None),
            ("/api/segment/get", None),
            ("/api/segment/get/a/b", None),
            ("/api/segment/get//", None),
            ("//api/segment/get//order", key("order")),
            ("/api/segment/get/order;v=1", key("order")),
            ("/api/segment/get/order.json", key("order.json")),
            ("/cache.html", Some(Route::Cache)),
            ("/decodeSnowflakeId.json", Some(Route::Decode)),
            ("/css/bootstrap", None),
            ("/..", None),
            ("/api/snowflake/get/any", Some(Route::Snowflake)),
            ("/api/snowflake/get/", None),
            ("/decodeSnowflakeId/", Some(Route::Decode)),
            ("/cache", Some(Route::Cache)),
            ("/db", Some(Route::Db)),
            ("/css/bootstrap.min.css", Some(Route::Style)),
            ("/", None),
            ("", None),
        ] {
            assert_eq!(Route::of(path), route, "{path}");
        }
    }

    #[test]
    fn keys_are_whole_unless_they_are_to_be_cut() {
        let read = |text, cut| key(text, cut).map(|key| String::from_utf8(key.into_owned()).unwrap());
        assert_eq!(read("com.acme.order", false).as_deref(), Ok("com.acme.order"));
        assert_eq!(read("com.acme.order", true).as_deref(), Ok("com.acme"));
        assert_eq!(read("order", true).as_deref(), Ok("order"));
        assert_eq!(read("a%2Fb%2ec", true).as_deref(), Ok("a/b"));
        assert_eq!(read("a%2", false).unwrap_err().code, Code::InvalidArgument);
        assert_eq!(read("a%00b", false).unwrap_err().code, Code::InvalidArgument);
    }
}
