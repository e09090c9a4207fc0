//! A source that may not be fenced: it is watched, and must not move.

use std::sync::Arc;
use std::time::Duration;

use mintage::Run;
use mintage_ledger::source::{
    Counter, Fence, Fenced, Listed, Note, Source, SourceError, SourceErrorKind, SourceKind, SourceResult,
    Wanted, Way,
};
use mintage_ledger::{Durability, Runtime};

/// A source whose fences are looks: a counter that does not move for a while counts as still.
#[derive(Debug)]
pub(super) struct Unfenced {
    pub(super) source: Arc<dyn Source>,
    pub(super) watch: Duration,
    pub(super) runtime: Arc<dyn Runtime>,
}

impl Unfenced {
    async fn mark(&self, key: &str) -> Result<i128, SourceError> {
        let found = self.source.look(key).await?;
        let gone = || SourceError::new(SourceErrorKind::Gone, format!("no counter {key}"));
        let unread = || {
            SourceError::new(
                SourceErrorKind::Denied,
                format!("the mark of {key} cannot be read"),
            )
        };
        found.ok_or_else(gone)?.mark.ok_or_else(unread)
    }
}

impl Source for Unfenced {
    fn kind(&self) -> &'static SourceKind {
        self.source.kind()
    }

    fn place(&self) -> String {
        self.source.place()
    }

    fn durability(&self) -> SourceResult<'_, Durability> {
        self.source.durability()
    }

    fn list<'a>(&'a self, wanted: &'a Wanted) -> SourceResult<'a, Listed> {
        self.source.list(wanted)
    }

    fn look<'a>(&'a self, key: &'a str) -> SourceResult<'a, Option<Counter>> {
        self.source.look(key)
    }

    fn take<'a>(&'a self, key: &'a str, n: u64) -> SourceResult<'a, Vec<Run>> {
        self.source.take(key, n)
    }

    fn fence<'a>(&'a self, key: &'a str, _way: Way, _note: &'a Note) -> SourceResult<'a, Fenced> {
        Box::pin(async move {
            let before = self.mark(key).await?;
            self.runtime.sleep(self.watch).await;
            let mark = self.mark(key).await?;
            match mark == before {
                true => Ok(Fenced { mark }),
                false => Err(SourceError::new(
                    SourceErrorKind::Refused,
                    format!(
                        "{key} moved from {before} to {mark} within {:?}: somebody still takes numbers there",
                        self.watch
                    ),
                )
                .with_fix(
                    "stop its clients, or give the account the rights for a fence and leave --fence none out",
                )),
            }
        })
    }

    fn lift<'a>(&'a self, key: &'a str, _note: &'a Note, issued: Option<i64>) -> SourceResult<'a, ()> {
        Box::pin(async move {
            let counter = self.source.look(key).await?;
            let is_up = counter.is_none_or(|counter| counter.increment > 0);
            let mark = self.mark(key).await?;
            let is_above =
                issued.is_none_or(|issued| (mark > issued.into()) == is_up && mark != issued.into());
            match is_above {
                true => Ok(()),
                false => Err(SourceError::new(
                    SourceErrorKind::Refused,
                    format!(
                        "{key} would go on at {mark}, and {} was given out here",
                        issued.unwrap_or_default()
                    ),
                )
                .with_fix("set it beyond that by hand, and run the same command again")),
            }
        })
    }

    fn check<'a>(&'a self, key: &'a str, note: &'a Note) -> SourceResult<'a, Fence> {
        Box::pin(async move {
            let Some(known) = note.mark else {
                return Ok(Fence::None);
            };
            let (id, mark) = (Some(note.id), self.mark(key).await?);
            Ok(match mark == known {
                true => Fence::Ours { id, mark },
                false => Fence::Broken {
                    id,
                    why: format!("it moved from {known} to {mark}"),
                },
            })
        })
    }

    fn statements(&self, _counter: &Counter, _way: Way) -> Vec<String> {
        vec![format!(
            "-- none: it is watched for {:?}; nothing but people keeps it still",
            self.watch
        )]
    }

    fn rights<'a>(&'a self, _key: &'a str, _way: Way) -> SourceResult<'a, Vec<String>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }
}
