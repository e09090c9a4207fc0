//! Workers of other systems, looked at from here: what a pool beside them avoids, and whether one of them is off.

use mintage_ledger::source::SourceErrorKind;
use mintage_ledger::source::workers::{WorkersFound, look_at_workers};
use mintage_ledger::{Runtime, StoreSettings, SystemRuntime, WorkerRanges};
use mintage_wire::{HeldThere, Looked, shown};

use crate::errors::Failure;
use crate::runtime::block_on;

/// The workers of one system.
pub(super) struct Beside(WorkersFound);

/// How many numbers of a look are told: one that is not told is not used again.
const TOLD_MAX: usize = 1000;

impl Beside {
    /// Looks at them; `url` may be `@FILE`, which holds the URL.
    pub(super) fn look(url: &str) -> Result<Beside, Failure> {
        let url = match url.strip_prefix('@') {
            None => url.to_string(),
            Some(file) => std::fs::read_to_string(file)
                .map_err(|error| Failure::usage(format_args!("cannot read {file}: {error}")))?
                .trim()
                .to_string(),
        };
        let found = block_on(async {
            let runtime: std::sync::Arc<dyn Runtime> = SystemRuntime::new(tokio::runtime::Handle::current());
            let found = look_at_workers(&url, &StoreSettings::default(), &runtime).await;
            found.map_err(|error| {
                let failure = match error.kind {
                    SourceErrorKind::Invalid => Failure::usage(&error),
                    _ => Failure::cannot(&error),
                };
                failure.with_hint_if(error.fix)
            })
        })?;
        match <[WorkersFound; 1]>::try_from(found) {
            Ok([found]) => Ok(Beside(found)),
            Err(found) if found.is_empty() => Err(Failure::cannot("no system keeps its workers there")
                .with_hint(
                    "leaf+, twitter+, cosid+, uid-generator+ and yitter+ before the URL say whose are meant",
                )),
            Err(found) => {
                let places: Vec<_> = found.iter().map(|found| found.place.as_str()).collect();
                Err(Failure::usage(format_args!(
                    "several have their workers there, say which: {}",
                    places.join(", ")
                )))
            }
        }
    }

    /// Where they were read, without a password.
    pub(super) fn place(&self) -> String {
        self.0.place.clone()
    }

    /// What a pool with so many workers avoids for them, and `typed` as well.
    pub(super) fn avoid(
        &self,
        typed: Option<&str>,
        spare: Option<u64>,
        workers: u64,
    ) -> Result<String, Failure> {
        let typed: WorkerRanges = typed.unwrap_or_default().parse().map_err(Failure::usage)?;
        Ok(self.0.avoid(spare, workers).with(&typed).to_string())
    }

    /// The number beyond all workers of a pool, if the system has given one out: its ids have another layout.
    pub(super) fn too_large(&self, workers: u64) -> Option<String> {
        let last = self.0.taken.last().filter(|last| *last >= workers)?;
        Some(format!(
            "{} has given out worker {last}, and the pool's largest is {}: ids of two layouts can be equal",
            self.0.place,
            workers - 1
        ))
    }

    /// What is shown of these workers.
    pub(super) fn looked(&self, workers: &str) -> Result<Looked, Failure> {
        let asked: WorkerRanges = workers.parse().map_err(Failure::usage)?;
        let mut held = Vec::new();
        for known in self.0.held.iter().filter(|known| asked.contains(known.number)) {
            held.push(HeldThere {
                worker: known.number,
                last: known.last.map(shown),
            });
        }
        let known = WorkerRanges::of(self.0.held.iter().map(|known| known.number));
        let untold = self.0.taken.within(&asked).without(&known);
        held.extend(
            untold
                .iter()
                .map(|worker| HeldThere { worker, last: None })
                .take(TOLD_MAX),
        );
        held.truncate(TOLD_MAX);
        Ok(Looked {
            at: self.place(),
            held,
        })
    }
}
