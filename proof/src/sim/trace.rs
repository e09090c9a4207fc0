//! What traces show, and what hashes are made of.

use mintage_ledger::Cas;

use super::op::Came;
use super::wire::{Ask, Told};

pub(super) fn show(ask: &Ask) -> String {
    match ask {
        Ask::Get(key) => format!("get {key}"),
        Ask::Set {
            key,
            expected,
            value,
            marks,
        } => {
            let at = expected.map_or("absent".into(), |v| format!("version {}", v.number()));
            format!(
                "set {key} at {at} to mark {} {} ({marks:?})",
                value.mark, value.body
            )
        }
        Ask::Scan { prefix, .. } => format!("scan {prefix}"),
        Ask::Remove { key, expected } => format!("remove {key} at version {}", expected.number()),
        Ask::Claim(claim) => format!(
            "claim {} of {} at version {}",
            claim.add,
            claim.key,
            claim.expected.number()
        ),
        Ask::Wall => "time".into(),
    }
}

pub(super) fn show_told(told: &Told) -> String {
    match told {
        Told::Read(None) => "absent".into(),
        Told::Read(Some(found)) => format!("version {} mark {}", found.version.number(), found.value.mark),
        Told::Wrote(Cas::Done(version)) => format!("done, version {}", version.number()),
        Told::Wrote(Cas::Lost(None)) => "lost, absent".into(),
        Told::Wrote(Cas::Lost(Some(found))) => format!("lost, version {}", found.version.number()),
        Told::Page(page) => format!("{} registers", page.len()),
        Told::Wall(_) => "the time".into(),
        Told::Failed(error) => format!("{error} ({:?})", error.outcome),
    }
}

pub(super) fn told_number(told: &Told) -> u64 {
    match told {
        Told::Read(found) | Told::Wrote(Cas::Lost(found)) => {
            found.as_ref().map_or(1, |f| f.version.number() << 8 | 2)
        }
        Told::Wrote(Cas::Done(version)) => version.number() << 8 | 3,
        Told::Page(page) => (page.len() as u64) << 8 | 4,
        Told::Wall(_) => 5,
        Told::Failed(_) => 6,
    }
}

pub(super) fn show_came(came: &Came) -> String {
    match came {
        Came::Numbers(run) => format!("{} numbers from {} by {}", run.count, run.first, run.step),
        Came::Ids(ids) => format!("{} ids from {:?}", ids.places.len(), ids.places.first()),
        Came::Times(times) => format!("{} of {} ms", times.format, times.newest.unix_millis()),
        Came::Lent(window) => format!(
            "worker {} {}..{}",
            window.worker, window.from_tick, window.until_tick
        ),
        Came::Refused(error) => format!("a refusal: {error}"),
        other => format!("{other:?}"),
    }
}

pub(super) fn came_number(came: &Came) -> u64 {
    match came {
        Came::Numbers(run) => (run.first as u64).wrapping_mul(31).wrapping_add(run.count),
        Came::Ids(ids) => ids.places.iter().fold(7, |hash, place| {
            hash.wrapping_mul(31)
                .wrapping_add(place.0)
                .wrapping_mul(31)
                .wrapping_add(place.1)
        }),
        // The ids themselves are of the kernel's randomness.
        Came::Times(times) => times.after.unix_millis() as u64,
        Came::Lent(window) => window.until_tick,
        Came::Opened { .. } => 1,
        Came::Closed => 2,
        Came::Done => 3,
        Came::Refused(_) => 4,
    }
}
