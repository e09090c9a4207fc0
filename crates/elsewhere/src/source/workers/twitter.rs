//! Twitter's Snowflake of 2010: `/snowflake-servers/WORKER`, a node that goes with its server; data `host:port`.
//!
//! The worker is the lower half of the number that ids carry; the upper half, the data centre, is in no node. Unless the
//! URL names it, the worker is taken in every data centre.

use super::found::{HeldNumber, WorkersFound, check_count, strange};
use super::kind::{Asked, Place};
use crate::source::{SourceError, SourceErrorKind, SourceResult};
use crate::workers::WorkerRanges;

/// Workers of a data centre, and data centres.
const HALF: u64 = 32;

pub(super) fn read<'a>(place: &'a Place, asked: &'a Asked) -> SourceResult<'a, Vec<WorkersFound>> {
    Box::pin(async move {
        #[allow(irrefutable_let_patterns, reason = "a build may have this engine alone")]
        let Place::ZooKeeper(nodes) = place else {
            return Ok(Vec::new());
        };
        let (shown, path) = (nodes.place(), nodes.path());
        let centres = centres(asked.option.as_deref())?;
        let look = nodes.look().await?;
        let Some((names, _)) = look.children(path).await? else {
            return Err(asked.gone(&shown, &format!("node {path}")));
        };
        check_count(&shown, names.len())?;
        let paths: Vec<String> = names.iter().map(|name| format!("{path}/{name}")).collect();
        let mut held = Vec::new();
        for (name, data) in names.iter().zip(look.data(&paths).await?) {
            // Gone since it was listed: it was alive a moment ago.
            let holder = String::from_utf8_lossy(data.as_deref().unwrap_or_default()).into_owned();
            let worker: u64 = match name.parse() {
                Ok(worker) if worker < HALF => worker,
                _ => {
                    let what = format!("node {path}/{name}");
                    return Err(strange(&shown, &what, "workers there are called 0 to 31"));
                }
            };
            held.extend(centres.iter().map(|centre| HeldNumber {
                number: centre * HALF + worker,
                name: holder.clone(),
                last: None,
            }));
        }
        held.sort_by_key(|held| held.number);
        Ok(vec![WorkersFound {
            system: asked.system.name,
            place: asked.url(&shown, asked.option.as_deref()),
            bits: asked.system.bits,
            taken: WorkerRanges::of(held.iter().map(|held| held.number)),
            held,
            // Workers are named by hand: nobody counts them up.
            next: None,
            spare: asked.system.spare,
        }])
    })
}

fn centres(option: Option<&str>) -> Result<Vec<u64>, SourceError> {
    match option.map(str::parse::<u64>) {
        None => Ok((0..HALF).collect()),
        Some(Ok(centre)) if centre < HALF => Ok(vec![centre]),
        Some(_) => Err(SourceError::new(
            SourceErrorKind::Invalid,
            "datacenter is a number from 0 to 31",
        )),
    }
}
