//! yitter's IdGenerator, as its Go build registers workers: a key `IdGen:WorkerId:Value:WORKER` for each that lives, which
//! ends 15 seconds after its server, and `IdGen:WorkerId:Index`, from where it looks for the next one.

use super::found::{HeldNumber, WorkersFound, check_count, strange};
use super::kind::{Asked, Place};
use crate::source::SourceResult;
use crate::workers::WorkerRanges;

const VALUE: &str = "IdGen:WorkerId:Value:";
const INDEX: &str = "IdGen:WorkerId:Index";

pub(super) fn read<'a>(place: &'a Place, asked: &'a Asked) -> SourceResult<'a, Vec<WorkersFound>> {
    Box::pin(async move {
        #[allow(irrefutable_let_patterns, reason = "a build may have this engine alone")]
        let Place::Redis(keys) = place else {
            return Ok(Vec::new());
        };
        let (shown, mut look) = (keys.place(), keys.look().await?);
        let living = look.matching(&format!("{VALUE}*")).await?;
        let index: Option<String> = look.ask(redis::cmd("GET").arg(INDEX)).await?;
        if living.is_empty() && index.is_none() {
            return Err(asked.gone(&shown, &format!("key {INDEX}")));
        }
        check_count(&shown, living.len())?;
        let mut held = Vec::with_capacity(living.len());
        for key in &living {
            let number = key.strip_prefix(VALUE).and_then(|id| id.parse().ok());
            let number =
                number.ok_or_else(|| strange(&shown, &format!("key {key}"), "it ends in a number"))?;
            held.push(HeldNumber {
                number,
                name: key.clone(),
                last: None,
            });
        }
        held.sort_by_key(|held| held.number);
        let next = match index {
            None => None,
            Some(index) => match index.parse::<i64>() {
                Ok(index) => Some(u64::try_from(index.saturating_add(1)).unwrap_or(0)),
                Err(_) => return Err(strange(&shown, &format!("key {INDEX}"), "it is a number there")),
            },
        };
        Ok(vec![WorkersFound {
            system: asked.system.name,
            place: asked.url(&shown, None),
            bits: asked.system.bits,
            taken: WorkerRanges::of(held.iter().map(|held| held.number)),
            held,
            next,
            spare: asked.system.spare,
        }])
    })
}
