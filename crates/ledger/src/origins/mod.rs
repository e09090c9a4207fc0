//! Origins: the counters elsewhere out of which sequences take their numbers while both sides serve.
//!
//! | file | what |
//! | --- | --- |
//! | `urls` | sources by the names that an operator gave them |
//! | `place` | whether a source answers, and what is counted of it |
//! | `takes` | one kind of counters there: what it may forget, and takes |
//!
//! A take is a reservation: the origin's committed answer is ours and nobody else's, and an answer that did not come is
//! spent and never used (protocol R1, S3). So nothing here asks twice for the same numbers, and nothing guesses.

mod place;
mod takes;
mod urls;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::runtime::Runtime;
use crate::source::{OwnTable, Source, SourceError, SourceErrorKind};
use place::Place;
pub use place::{OriginStatus, TAKE_BUCKETS_US};
pub(crate) use takes::Takes;
pub use urls::OriginUrls;

/// Where a ledger finds the sources that records name. Thread-safe.
pub trait Origins: fmt::Debug + Send + Sync + 'static {
    /// The source of this name, for counters of this kind. Asks nobody.
    ///
    /// # Errors
    /// There is none of this name, or its URL is of another kind.
    fn open(&self, name: &str, kind: &str, table: Option<&OwnTable>) -> Result<Arc<dyn Source>, SourceError>;

    /// Whether there is one of this name.
    fn has(&self, name: &str) -> bool;
}

/// Sources that are open already.
///
/// ```
/// use std::{collections::BTreeMap, sync::Arc};
/// use mintage_ledger::Origins;
/// use mintage_ledger::source::{MemorySource, Source};
/// let all: BTreeMap<String, Arc<dyn Source>> = [("shop".to_string(), MemorySource::new() as _)].into();
/// assert!(all.has("shop") && all.open("shop", "memory", None).is_ok());
/// assert!(!all.has("mail") && all.open("shop", "leaf", None).is_err());
/// ```
impl Origins for BTreeMap<String, Arc<dyn Source>> {
    fn open(
        &self,
        name: &str,
        kind: &str,
        _table: Option<&OwnTable>,
    ) -> Result<Arc<dyn Source>, SourceError> {
        let source = self.get(name).ok_or_else(|| urls::no_such_source(name))?;
        match source.kind().name == kind {
            true => Ok(Arc::clone(source)),
            false => Err(urls::no_such_kind(name, kind)),
        }
    }

    fn has(&self, name: &str) -> bool {
        self.contains_key(name)
    }
}

/// The origins that a ledger uses, each opened once.
#[derive(Debug)]
pub(crate) struct UsedOrigins {
    all: Option<Arc<dyn Origins>>,
    runtime: Arc<dyn Runtime>,
    /// How long a call may take before it is given up.
    patience: Duration,
    used: Mutex<Used>,
}

#[derive(Debug, Default)]
struct Used {
    places: BTreeMap<String, Arc<Place>>,
    takes: Vec<(TakesKey, Arc<Takes>)>,
}

/// The name of a source, the name of a kind, and the table of a shape that nobody knows.
type TakesKey = (String, String, Option<OwnTable>);

/// A take may wait for a connection, for a lock that others hold, and for its commit: so many times what one call to a
/// store may take.
const PATIENCE: u32 = 3;

impl UsedOrigins {
    /// `limit` is how long one call to a store may take.
    pub(crate) fn new(
        all: Option<Arc<dyn Origins>>,
        runtime: Arc<dyn Runtime>,
        limit: Duration,
    ) -> UsedOrigins {
        UsedOrigins {
            all,
            runtime,
            patience: limit * PATIENCE,
            used: Mutex::default(),
        }
    }

    /// Whether this process knows a source of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.all.as_ref().is_some_and(|all| all.has(name))
    }

    /// The counters of one kind in the source of this name.
    ///
    /// # Errors
    /// There is no such source, or it is another kind's.
    pub(crate) fn get(
        &self,
        name: &str,
        kind: &str,
        table: Option<&OwnTable>,
    ) -> Result<Arc<Takes>, SourceError> {
        let is_it = |key: &TakesKey| key.0 == name && key.1 == kind && key.2.as_ref() == table;
        if let Some((_, takes)) = self.lock().takes.iter().find(|(key, _)| is_it(key)) {
            return Ok(Arc::clone(takes));
        }
        let all = self.all.as_ref().ok_or_else(|| urls::no_such_source(name))?;
        let source = all.open(name, kind, table)?;
        if !source.kind().has_beside {
            return Err(SourceError::new(
                SourceErrorKind::Refused,
                format!("nobody can take numbers beside others out of the kind {kind}"),
            ));
        }
        let mut used = self.lock();
        let place = used.places.entry(name.to_string());
        let place = place.or_insert_with(|| Arc::new(Place::new(name, source.place())));
        let place = Arc::clone(place);
        let runtime = Arc::clone(&self.runtime);
        let takes = Arc::new(Takes::new(source, place, runtime, self.patience));
        let key = (name.to_string(), kind.to_string(), table.cloned());
        used.takes.push((key, Arc::clone(&takes)));
        Ok(takes)
    }

    /// What is known of each that was used, in the order of their names.
    pub(crate) fn statuses(&self) -> Vec<OriginStatus> {
        let now = self.runtime.boottime();
        let used = self.lock();
        used.places.values().map(|place| place.status(now)).collect()
    }

    /// Asks those that do not answer whether they do again, each when it is due and one at a time.
    pub(crate) fn ask_those_away(&self) {
        let now = self.runtime.boottime();
        let mut asked: Vec<Arc<Takes>> = Vec::new();
        for (_, takes) in &self.lock().takes {
            let is_new = asked.iter().all(|known| known.place_name() != takes.place_name());
            if is_new && takes.is_due(now) {
                asked.push(Arc::clone(takes));
            }
        }
        for takes in asked {
            self.runtime
                .spawn(Box::pin(async move { takes.ask_whether_back().await }));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Used> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
