//! The table of sources, and how they are opened from a URL.

use std::sync::Arc;

use super::Source;
use super::error::{SourceError, SourceErrorKind};
use super::kind::{Engine, Place, SourceKind, SourceSettings};
use super::workers;
use crate::runtime::Runtime;

/// Every kind of source that this build knows.
pub static SOURCES: &[SourceKind] = &[
    #[cfg(feature = "mysql")]
    super::rows::LEAF,
    #[cfg(feature = "mysql")]
    super::rows::TINYID,
    #[cfg(feature = "mysql")]
    super::rows::COSID,
    #[cfg(feature = "mysql")]
    super::rows::VITESS,
    #[cfg(feature = "mysql")]
    super::rows::IDGO,
    #[cfg(feature = "mysql")]
    super::rows::OWN_MYSQL,
    #[cfg(feature = "postgres")]
    super::postgres::POSTGRES,
    #[cfg(feature = "postgres")]
    super::rows::OWN_POSTGRES,
    #[cfg(feature = "redis")]
    super::redis::REDIS,
    #[cfg(feature = "mysql")]
    super::mysql::MARIADB,
    #[cfg(feature = "mysql")]
    super::mysql::AUTO_INCREMENT,
    #[cfg(feature = "mysql")]
    super::mysql::UID_GENERATOR,
    #[cfg(feature = "mysql")]
    super::mysql::TICKETS,
];

/// The schemes of each engine that URLs may have, and the feature that brings it.
static SCHEMES: &[(&str, Engine, &str)] = &[
    ("postgres", Engine::Postgres, "postgres"),
    ("postgresql", Engine::Postgres, "postgres"),
    ("mysql", Engine::MySql, "mysql"),
    ("mariadb", Engine::MySql, "mysql"),
    ("redis", Engine::Redis, "redis"),
    ("rediss", Engine::Redis, "redis"),
    ("redis+unix", Engine::Redis, "redis"),
    ("valkey", Engine::Redis, "redis"),
    ("valkeys", Engine::Redis, "redis"),
];

/// Opens the sources that a URL means: `KIND+SCHEME://…` one kind, `SCHEME://…` every kind of that server that is found
/// by looking. A system that keeps workers there and no counters has none: its URL is right, too, wherever a source may
/// be named. Asks nobody.
///
/// ```
/// # let rt = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
/// use mintage_store::SystemRuntime;
/// use mintage_elsewhere::source::{SourceSettings, open_sources};
/// let runtime = SystemRuntime::new(rt.handle().clone());
/// let error = open_sources("mongodb://host/db", &SourceSettings::default(), runtime).unwrap_err();
/// assert!(error.message.starts_with("no source has the scheme \"mongodb\""), "{error}");
/// ```
///
/// # Errors
/// [`SourceErrorKind::Invalid`] for a URL that names no source, or that its engine refuses.
pub fn open_sources(
    url: &str,
    settings: &SourceSettings,
    runtime: Arc<dyn Runtime>,
) -> Result<Vec<Arc<dyn Source>>, SourceError> {
    let (scheme, rest) = url.split_once(':').unwrap_or((url, ""));
    let (kind, scheme) = kind_and_scheme(scheme);
    let workers = kind.and_then(|kind| workers::system(kind, scheme));
    let Some((scheme, engine, feature)) = SCHEMES.iter().find(|(known, ..)| *known == scheme) else {
        return workers
            .map(|_| Vec::new())
            .ok_or_else(|| unknown_scheme(scheme, rest));
    };
    let kinds: Vec<&SourceKind> = SOURCES
        .iter()
        .filter(|row| row.engine == *engine && kind.map_or(row.is_found, |kind| row.name == kind))
        .collect();
    if kinds.is_empty() && workers.is_some() {
        return Ok(Vec::new());
    }
    let rest = workers.map_or(rest.to_string(), |system| workers::without_option(system, rest));
    let place = place(*engine, scheme, feature, &rest, settings, runtime)?;
    if kinds.is_empty() {
        let known: Vec<_> = SOURCES
            .iter()
            .filter(|row| row.engine == *engine)
            .map(|row| row.name)
            .collect();
        return Err(invalid(format!(
            "no source {:?} lives at {scheme}: known are {}",
            kind.unwrap_or_default(),
            known.join(", ")
        )));
    }
    kinds
        .into_iter()
        .map(|row| (row.open)(&place, settings))
        .collect()
}

/// `leaf+mysql` is a kind and a scheme; `redis+unix` is a scheme.
fn kind_and_scheme(text: &str) -> (Option<&str>, &str) {
    if SCHEMES.iter().any(|(known, ..)| *known == text) {
        return (None, text);
    }
    match text.split_once('+') {
        Some((kind, scheme)) => (Some(kind), scheme),
        None => (None, text),
    }
}

#[allow(unused_variables, reason = "a build may have no engine at all")]
fn place(
    engine: Engine,
    scheme: &'static str,
    feature: &str,
    rest: &str,
    settings: &SourceSettings,
    runtime: Arc<dyn Runtime>,
) -> Result<Place, SourceError> {
    match engine {
        #[cfg(feature = "postgres")]
        Engine::Postgres => Ok(Place::Postgres(super::link::Link::new(
            rest,
            &settings.store,
            runtime,
        )?)),
        #[cfg(feature = "mysql")]
        Engine::MySql => Ok(Place::MySql(super::link::Link::new(
            &with_database(rest),
            &settings.store,
            runtime,
        )?)),
        #[cfg(feature = "redis")]
        Engine::Redis => Ok(Place::Redis(scheme, rest.to_string(), runtime)),
        #[allow(unreachable_patterns)]
        _ => Err(invalid(format!(
            "this build was made without {scheme}:; build with --features {feature}"
        ))),
    }
}

/// A URL of MySQL that names no database means all of them: its sessions begin in the one that every account has.
#[cfg(any(feature = "mysql", test))]
fn with_database(rest: &str) -> String {
    let Some(authority) = rest.strip_prefix("//") else {
        return rest.to_string();
    };
    let end = authority.find(['/', '?']).unwrap_or(authority.len());
    let (authority, behind) = authority.split_at(end);
    match behind.strip_prefix('/').unwrap_or(behind) {
        query if query.is_empty() || query.starts_with('?') => format!("//{authority}/{NO_HOME}{query}"),
        _ => rest.to_string(),
    }
}

/// Whether a database is the one that a URL has instead of none.
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub(super) fn is_no_home(database: &str) -> bool {
    database.eq_ignore_ascii_case(NO_HOME)
}

#[cfg(any(feature = "postgres", feature = "mysql", test))]
const NO_HOME: &str = "information_schema";

fn unknown_scheme(scheme: &str, rest: &str) -> SourceError {
    // Only the scheme is shown: the rest of a URL may hold a password, and so may what is no URL.
    let is_scheme = rest.starts_with("//") && scheme.bytes().all(|b| b.is_ascii_lowercase());
    let what = match is_scheme {
        true => format!("no source has the scheme {scheme:?}"),
        false => "this is not a source's URL".to_string(),
    };
    let known: Vec<_> = SOURCES.iter().map(|row| row.example).collect();
    invalid(format!("{what}: known are {}", known.join(", ")))
}

fn invalid(message: String) -> SourceError {
    SourceError::new(SourceErrorKind::Invalid, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_without_a_database_means_the_whole_server() {
        for (rest, with) in [
            ("//ann:pw@db", "//ann:pw@db/information_schema"),
            ("//ann:pw@db:3306/", "//ann:pw@db:3306/information_schema"),
            (
                "//db?ssl-mode=required",
                "//db/information_schema?ssl-mode=required",
            ),
            ("//db/?a=/b", "//db/information_schema?a=/b"),
            ("//db/shop", "//db/shop"),
            ("//db/shop?a=b", "//db/shop?a=b"),
            ("nonsense", "nonsense"),
        ] {
            assert_eq!(with_database(rest), with, "{rest}");
        }
    }
}
