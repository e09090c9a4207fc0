//! The table of sources, and how they are opened from a URL.

use std::sync::Arc;

use super::Source;
use super::error::{SourceError, SourceErrorKind};
use super::kind::{Engine, Place, SourceKind, SourceSettings};
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
/// by looking. Asks nobody.
///
/// ```
/// # let rt = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
/// use mintage_ledger::SystemRuntime;
/// use mintage_ledger::source::{SourceSettings, open_sources};
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
    let Some((scheme, engine, feature)) = SCHEMES.iter().find(|(known, ..)| *known == scheme) else {
        return Err(unknown_scheme(scheme, rest));
    };
    let place = place(*engine, scheme, feature, rest, settings, runtime)?;
    let kinds: Vec<&SourceKind> = SOURCES
        .iter()
        .filter(|row| row.engine == *engine && kind.map_or(row.is_found, |kind| row.name == kind))
        .collect();
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
            rest,
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
