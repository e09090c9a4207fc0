//! Leaf: `/snowflake/NAME/forever/IP:PORT-SEQUENCE`, a persistent node for every server that ever ran; its number is the
//! sequence, its data `{"ip":"…","port":"…","timestamp":…}`, written every three seconds.

use mintage::Timestamp;

use super::found::{HeldNumber, WorkersFound, check_count, last_sign, strange};
use super::kind::{Asked, Place};
use crate::source::{SourceError, SourceResult};
use crate::workers::WorkerRanges;

/// How many digits ZooKeeper's sequences have.
const DIGITS: usize = 10;

pub(super) fn read<'a>(place: &'a Place, asked: &'a Asked) -> SourceResult<'a, Vec<WorkersFound>> {
    Box::pin(async move {
        #[allow(irrefutable_let_patterns, reason = "a build may have this engine alone")]
        let Place::ZooKeeper(nodes) = place else {
            return Ok(Vec::new());
        };
        let (shown, path) = (nodes.place(), format!("{}/forever", nodes.path()));
        let look = nodes.look().await?;
        let Some((names, made)) = look.children(&path).await? else {
            return Err(asked.gone(&shown, &format!("node {path}")));
        };
        check_count(&shown, names.len())?;
        let paths: Vec<String> = names.iter().map(|name| format!("{path}/{name}")).collect();
        let mut held = Vec::with_capacity(names.len());
        for (name, data) in names.iter().zip(look.data(&paths).await?) {
            held.push(node(&shown, &path, name, data.as_deref())?);
        }
        Ok(vec![found(asked, asked.url(&shown, None), held, made)])
    })
}

fn node(place: &str, path: &str, name: &str, data: Option<&[u8]>) -> Result<HeldNumber, SourceError> {
    let number = name
        .rsplit_once('-')
        .filter(|(_, digits)| digits.len() == DIGITS && digits.bytes().all(|b| b.is_ascii_digit()))
        .and_then(|(holder, digits)| Some((holder, digits.parse().ok()?)));
    let Some((holder, number)) = number else {
        let what = format!("node {path}/{name}");
        return Err(strange(place, &what, "Leaf's are called IP:PORT- and ten digits"));
    };
    Ok(HeldNumber {
        number,
        name: holder.to_string(),
        // A node that a server has just made says nothing yet; one that says nothing may be alive.
        last: data.and_then(told),
    })
}

/// The time that a node tells.
fn told(data: &[u8]) -> Option<Timestamp> {
    let data: serde_json::Value = serde_json::from_slice(data).ok()?;
    last_sign(data.get("timestamp")?.as_i64()?)
}

fn found(asked: &Asked, place: String, mut held: Vec<HeldNumber>, made: u64) -> WorkersFound {
    held.sort_by_key(|held| held.number);
    if !held.is_empty() && held[0].number != 0 || held.len() > 1 {
        // Whoever makes the folder keeps number 0 until it is started again, whatever sequence it was given; several that
        // start at once do so together. So 0 is in use as long as any of them is.
        let newest = held
            .iter()
            .map(|held| held.last.ok_or(()))
            .collect::<Result<Vec<_>, ()>>();
        held.insert(
            0,
            HeldNumber {
                number: 0,
                name: "whoever started first".to_string(),
                last: newest.ok().and_then(|signs| signs.into_iter().max()),
            },
        );
    }
    let highest = held.last().map(|held| held.number + 1);
    WorkersFound {
        system: asked.system.name,
        place,
        bits: asked.system.bits,
        taken: WorkerRanges::of(held.iter().map(|held| held.number)),
        // ZooKeeper counts on from how often children were made or removed.
        next: Some(made.max(highest.unwrap_or(0))),
        held,
        spare: asked.system.spare,
    }
}
