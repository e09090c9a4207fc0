//! Sequences of PostgreSQL 12 and later: those of `serial` and identity columns, and free ones.
//!
//! | file | what |
//! | --- | --- |
//! | `sequence` | what one is and means: its mark, its fence, the bounds that fence it |
//! | `note` | the comment that a fence leaves |
//! | `key` | names as people type them |
//! | `read` | reading: list and look |
//! | `change` | writing: take, fence, lift |
//! | `mend` | the statements that mend one |
//! | `rights` | what the account lacks, and the statements that people read |
//!
//! **`nextval` is not durable by itself.** Of 32 numbers one writes to the log, and a transaction that wrote nothing does
//! not wait for the log at its commit, whoever wrote what its numbers stand under. So a take writes a message into the
//! log in its own transaction, which everybody may do.

mod change;
mod fill;
mod key;
mod mend;
mod note;
mod read;
mod rights;
mod sequence;

use std::sync::Arc;

use mintage::Run;

use self::sequence::Sequence;
use super::kind::Place;
use super::link::{Held, Link};
use super::{
    Counter, Engine, Fence, Fenced, Fill, FillFrom, KEYS_MAX, Listed, Mend, Note, Source, SourceError,
    SourceErrorKind, SourceKind, SourceResult, SourceSettings, Wanted, Way,
};
use crate::store::Durability;
use crate::store::postgres::Postgres;

type PgHeld<'a> = Held<'a, Postgres>;

/// Its row of the table of sources.
pub(super) const POSTGRES: SourceKind = SourceKind {
    name: sequence::KIND,
    engine: Engine::Postgres,
    example: "postgres://ann@db/shop",
    summary: "the sequences of PostgreSQL, those of serial and identity columns too",
    is_found: true,
    has_ceiling: true,
    has_beside: true,
    open,
};

fn open(place: &Place, settings: &SourceSettings) -> Result<Arc<dyn Source>, SourceError> {
    match place {
        Place::Postgres(link) => Ok(Arc::new(Sequences {
            link: Arc::clone(link),
            keys_max: settings.keys_max.unwrap_or(KEYS_MAX),
        })),
        #[allow(unreachable_patterns, reason = "a build may have one engine")]
        _ => Err(SourceError::new(
            SourceErrorKind::Invalid,
            "sequences of PostgreSQL live in PostgreSQL",
        )),
    }
}

/// The sequences of one database.
#[derive(Debug)]
struct Sequences {
    link: Arc<Link<Postgres>>,
    keys_max: u64,
}

impl Sequences {
    fn error(&self, kind: SourceErrorKind, why: &str) -> SourceError {
        SourceError::new(kind, format!("{}: {why}", self.link.place()))
    }

    fn gone(&self, key: &str) -> SourceError {
        self.error(SourceErrorKind::Gone, &format!("no sequence {key}"))
    }

    /// The sequence of a key, as it stands now.
    async fn find(&self, held: &mut PgHeld<'_>, key: &str) -> Result<Option<Sequence>, SourceError> {
        match key::parse(key) {
            Some((schema, name)) => read::one(held, schema.as_deref(), &name).await,
            None => Ok(None),
        }
    }

    async fn known(&self, held: &mut PgHeld<'_>, key: &str) -> Result<Sequence, SourceError> {
        let found = self.find(held, key).await?;
        let found = found.ok_or_else(|| self.gone(key))?;
        match found.stands {
            Some(_) => Ok(found),
            None => {
                let why = format!("the account may not read {key}");
                let account = read::account(held).await?;
                Err(self
                    .error(SourceErrorKind::Denied, &why)
                    .with_fix(found.grant("SELECT", &account)))
            }
        }
    }
}

impl Source for Sequences {
    fn kind(&self) -> &'static SourceKind {
        &POSTGRES
    }

    fn place(&self) -> String {
        self.link.place()
    }

    fn durability(&self) -> SourceResult<'_, Durability> {
        Box::pin(async move {
            let mut held = self.link.hold("reading its settings").await?;
            let durability = held.probe().await?.durability;
            held.done();
            Ok(durability)
        })
    }

    fn list<'a>(&'a self, wanted: &'a Wanted) -> SourceResult<'a, Listed> {
        Box::pin(self.list_now(wanted))
    }

    fn look<'a>(&'a self, key: &'a str) -> SourceResult<'a, Option<Counter>> {
        Box::pin(self.look_now(key))
    }

    fn take<'a>(&'a self, key: &'a str, n: u64) -> SourceResult<'a, Vec<Run>> {
        Box::pin(async move { self.advised(key, Way::Beside, self.take_now(key, n).await).await })
    }

    fn fence<'a>(&'a self, key: &'a str, way: Way, note: &'a Note) -> SourceResult<'a, Fenced> {
        Box::pin(async move { self.advised(key, way, self.fence_now(key, way, note).await).await })
    }

    fn lift<'a>(&'a self, key: &'a str, note: &'a Note, issued: Option<i64>) -> SourceResult<'a, ()> {
        Box::pin(async move {
            let lifted = self.lift_now(key, note, issued).await;
            self.advised(key, Way::Cut, lifted).await
        })
    }

    fn check<'a>(&'a self, key: &'a str, _note: &'a Note) -> SourceResult<'a, Fence> {
        Box::pin(async move {
            let mut held = self.link.hold(&format!("check of {key}")).await?;
            let fence = self.known(&mut held, key).await?.fence();
            held.done();
            Ok(fence)
        })
    }

    fn statements(&self, counter: &Counter, way: Way) -> Vec<String> {
        rights::statements(counter, way)
    }

    fn mend(&self, counter: &Counter, mend: Mend) -> Option<String> {
        mend::mend(counter, mend)
    }

    fn fill(&self, counter: &Counter, name: &str, from: &FillFrom) -> Option<Fill> {
        fill::fill(counter, name, from)
    }

    fn unfill(&self, counter: &Counter, name: &str) -> Vec<String> {
        fill::unfill(counter, name)
    }

    fn rights<'a>(&'a self, key: &'a str, way: Way) -> SourceResult<'a, Vec<String>> {
        Box::pin(self.rights_now(key, way))
    }
}
