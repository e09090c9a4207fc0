//! Sources by the names that an operator gave them, each with its URL.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::Origins;
use crate::runtime::Runtime;
use crate::source::{OwnTable, SOURCES, Source, SourceError, SourceErrorKind, SourceSettings, open_sources};
use crate::store::StoreSettings;

/// Sources by their URLs. A URL without a kind in front stands for every kind of counters that its server has.
pub struct OriginUrls {
    urls: BTreeMap<String, String>,
    settings: StoreSettings,
    runtime: Arc<dyn Runtime>,
}

/// Without the URLs, which may hold passwords.
impl fmt::Debug for OriginUrls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.urls.keys()).finish()
    }
}

impl OriginUrls {
    /// Sources by their names. Asks nobody.
    ///
    /// ```
    /// # let rt = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    /// use mintage_ledger::{OriginUrls, StoreSettings, SystemRuntime};
    /// let runtime = SystemRuntime::new(rt.handle().clone());
    /// let urls = [("shop".to_string(), "mongodb://host/db".to_string())];
    /// let (name, error) = OriginUrls::new(urls.into(), StoreSettings::default(), runtime).unwrap_err();
    /// assert_eq!(name, "shop");
    /// assert!(error.message.starts_with("no source has the scheme \"mongodb\""), "{error}");
    /// ```
    ///
    /// # Errors
    /// The first name whose URL names no source, and why.
    pub fn new(
        urls: BTreeMap<String, String>,
        settings: StoreSettings,
        runtime: Arc<dyn Runtime>,
    ) -> Result<Arc<OriginUrls>, (String, SourceError)> {
        for (name, url) in &urls {
            // The table of an own shape stands in each record: here any does.
            let any = OwnTable {
                table: "t".into(),
                key_column: "k".into(),
                value_column: "v".into(),
                is_next: true,
                condition: None,
            };
            let settings = source_settings(&settings, Some(&any));
            if let Err(error) = open_sources(url, &settings, Arc::clone(&runtime)) {
                return Err((name.clone(), error));
            }
        }
        Ok(Arc::new(OriginUrls {
            urls,
            settings,
            runtime,
        }))
    }
}

impl Origins for OriginUrls {
    fn open(&self, name: &str, kind: &str, table: Option<&OwnTable>) -> Result<Arc<dyn Source>, SourceError> {
        let url = self.urls.get(name).ok_or_else(|| no_such_source(name))?;
        let settings = source_settings(&self.settings, table);
        let of_kind = |url: &str| -> Result<Option<Arc<dyn Source>>, SourceError> {
            let all = open_sources(url, &settings, Arc::clone(&self.runtime))?;
            Ok(all.into_iter().find(|source| source.kind().name == kind))
        };
        if let Some(source) = of_kind(url)? {
            return Ok(source);
        }
        // Kinds that are not found by looking are had by their name in front, unless another one's stands there.
        let has_kind = SOURCES
            .iter()
            .any(|row| url.starts_with(&format!("{}+", row.name)));
        let found = match has_kind {
            true => None,
            false => of_kind(&format!("{kind}+{url}"))?,
        };
        found.ok_or_else(|| no_such_kind(name, kind))
    }

    fn has(&self, name: &str) -> bool {
        self.urls.contains_key(name)
    }
}

fn source_settings(settings: &StoreSettings, table: Option<&OwnTable>) -> SourceSettings {
    SourceSettings {
        store: settings.clone(),
        table: table.cloned(),
        ..SourceSettings::default()
    }
}

/// What is said where nobody told this process of a source.
pub(super) fn no_such_source(name: &str) -> SourceError {
    SourceError::new(
        SourceErrorKind::Invalid,
        format!("this process knows no source {name:?}"),
    )
}

/// What is said where a source is another kind's.
pub(super) fn no_such_kind(name: &str, kind: &str) -> SourceError {
    SourceError::new(
        SourceErrorKind::Invalid,
        format!("the source {name:?} has no counters of the kind {kind}"),
    )
}
