//! Why a move did not come where it should.

use std::fmt;
use std::time::Duration;

use super::goal::Goal;
use super::masters::Master;
use super::ours::{Stepped, VersionedMove};
use super::record::{Definition, Move, Phase};
use crate::name::Name;
use crate::source::{SourceError, SourceErrorKind};
use crate::store::Durability;

/// What went wrong, as far as the caller's next step depends on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DriveErrorKind {
    /// Another import holds the move.
    Lost,
    /// The name is another counter's, or has a definition or mark of its own.
    InUse,
    /// What was asked is not possible from where the move stands, or for this counter.
    Refused,
    /// Servers did not follow in time: the same command goes on.
    Behind,
    /// The source failed.
    Source(SourceErrorKind),
    /// Our side failed.
    Ours,
}

/// A move that stopped: what was asked, what stands, what to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DriveError {
    /// What the caller can base its next step on.
    pub kind: DriveErrorKind,
    /// What was asked and found.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
}

impl fmt::Display for DriveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for DriveError {}

impl DriveError {
    fn new(kind: DriveErrorKind, message: String, hint: impl Into<String>) -> DriveError {
        let hint = Some(hint.into());
        DriveError { kind, message, hint }
    }

    pub(super) fn nothing(name: &Name) -> DriveError {
        let message = format!("{name} was not moved: there is nothing to take back, its source serves");
        DriveError::new(
            DriveErrorKind::Refused,
            message,
            "mint import --status shows every move",
        )
    }

    pub(super) fn beyond(name: &Name, number: i64, of: &Definition) -> DriveError {
        let message = format!(
            "{name} cannot go back: {number} was given out here, and its source holds numbers from {} to {}",
            of.min, of.max
        );
        DriveError::new(
            DriveErrorKind::Refused,
            message,
            "it goes on here; to have it there, widen its column and counter and set that by hand, while nobody \
             takes numbers",
        )
    }

    pub(super) fn lacking(name: &Name, grants: &[String]) -> DriveError {
        let message = format!("{name} stands as it did: the account lacks rights at its source");
        DriveError::new(
            DriveErrorKind::Source(SourceErrorKind::Denied),
            message,
            grants.join("; "),
        )
    }

    /// `at` is the master, where there are several.
    pub(super) fn unfenced(name: &Name, at: Option<&str>) -> DriveError {
        let at = at.unwrap_or("its source");
        let message = format!(
            "{name} was cut, and no fence stands at {at} any more: that may have given out our numbers, and goes on"
        );
        DriveError::new(
            DriveErrorKind::Refused,
            message,
            "stop its clients; mint audit tells whether a number came twice; --back --apply gives the counter back",
        )
    }

    pub(super) fn set_back(name: &Name, phase: Phase) -> DriveError {
        let message = format!(
            "{name} is {} by the record in this store, and the fence of this very move stands at its source: the store \
             was set back or restored, and numbers from the fence on may have been given out here since",
            phase.as_str()
        );
        let cut = if phase == Phase::Beside { "--cut " } else { "" };
        let hint = format!(
            "{cut}--advance N --apply ends it, N further: as many as may have been given out since the fence"
        );
        DriveError::new(DriveErrorKind::Refused, message, hint)
    }

    pub(super) fn not_from(name: &Name, phase: Phase, goal: Goal) -> DriveError {
        let message = format!("{name} cannot be {goal}: its move is at {}", phase.as_str());
        let hint = match phase {
            Phase::Returning => "finish the way back first: the same source with --back --apply",
            _ => "finish the cut with --cut --apply, or go back with --back --apply",
        };
        DriveError::new(DriveErrorKind::Refused, message, hint)
    }

    pub(super) fn lossy(name: &Name, durability: &Durability) -> DriveError {
        let message = format!(
            "{name} cannot be set beside: its source may lose acknowledged writes: {}",
            durability.why
        );
        let hint = durability.fix.clone();
        let hint = hint.unwrap_or_else(|| "cut it instead, with --advance above what it may lose".into());
        DriveError::new(DriveErrorKind::Refused, message, hint)
    }

    pub(super) fn refused(name: &Name, now: &VersionedMove, why: String) -> DriveError {
        let message = format!("{name}: {why}; the move is at {}", now.record.phase.as_str());
        DriveError::new(
            DriveErrorKind::Refused,
            message,
            "--back --apply gives the counter back",
        )
    }

    pub(super) fn in_range(name: &Name, number: i128) -> Result<i64, DriveError> {
        i64::try_from(number).map_err(|_| {
            let message = format!("{name}: {number} does not fit 63 bits and a sign");
            let hint = "numbers here end at 9223372036854775807; --back --apply gives the counter back";
            DriveError::new(DriveErrorKind::Refused, message, hint)
        })
    }

    pub(super) fn gone(key: &str, place: &str) -> DriveError {
        let message = format!("there is no counter {key} at {place} any more");
        let hint = "put it back (a renamed or dropped table?) and run the same command again";
        DriveError::new(DriveErrorKind::Source(SourceErrorKind::Gone), message, hint)
    }

    pub(super) fn look(error: SourceError) -> DriveError {
        DriveError {
            kind: DriveErrorKind::Source(error.kind),
            message: error.message,
            hint: Some(error.fix.unwrap_or_else(|| AGAIN.into())),
        }
    }

    pub(super) fn source(name: &Name, now: &VersionedMove, error: SourceError) -> DriveError {
        let phase = now.record.phase.as_str();
        DriveError {
            kind: DriveErrorKind::Source(error.kind),
            message: format!("{name}: {}; the move is at {phase}", error.message),
            hint: Some(error.fix.unwrap_or_else(|| AGAIN.into())),
        }
    }

    pub(super) fn ours(name: &Name, message: String, hint: Option<String>) -> DriveError {
        DriveError {
            kind: DriveErrorKind::Ours,
            message: format!("{name}: {message}"),
            hint: Some(hint.unwrap_or_else(|| AGAIN.into())),
        }
    }

    pub(super) fn in_use(name: &Name, why: String) -> DriveError {
        let hint = "another name with --name, or --into-used if the name is this counter's own";
        DriveError::new(DriveErrorKind::InUse, format!("{name}: {why}"), hint)
    }

    pub(super) fn other_counter(name: &Name, found: &Move) -> DriveError {
        let message = format!(
            "{name} is the move of another counter: {} {} at {}",
            found.kind, found.key, found.source
        );
        let hint = match found.masters.is_empty() {
            true => "choose another name with --name",
            false => "choose another name with --name, or name all of its sources, the others with --and",
        };
        DriveError::new(DriveErrorKind::InUse, message, hint)
    }

    /// A master that the command does not name.
    pub(super) fn not_named(key: &str, source: &str) -> DriveError {
        let message =
            format!("{key} at {source} belongs to the move, and this command does not name that source");
        DriveError::new(
            DriveErrorKind::InUse,
            message,
            "name all of its sources, the others with --and",
        )
    }

    /// Masters that would give out the same numbers on the way back.
    pub(super) fn meet(name: &Name, one: &Master, other: &Master) -> DriveError {
        let message = format!(
            "{name} cannot go back to all of its sources: above what was given out here {} and {} would give out \
             the same \
             numbers, since both count in steps of {} and {}",
            one.source, other.source, one.increment, other.increment
        );
        let hint = format!(
            "--back --to {} --apply gives it back to that one alone; the fences of the others stay",
            one.source
        );
        DriveError::new(DriveErrorKind::Refused, message, hint)
    }

    /// Masters that would give out the same numbers beside ours.
    pub(super) fn not_beside(name: &Name, one: &Master, other: &Master) -> DriveError {
        let message = format!(
            "{name} cannot be set beside its sources: {} and {} could give out the same numbers, and nothing but \
             ranges keeps \
             them apart",
            one.source, other.source
        );
        DriveError::new(
            DriveErrorKind::Refused,
            message,
            "cut them, which takes milliseconds",
        )
    }

    /// A master whose fence stays, where all would have to serve.
    pub(super) fn kept(name: &Name, master: &Master) -> DriveError {
        let message = format!(
            "{name} cannot be set beside its sources: {} stays fenced since the name was given back to another \
             one alone",
            master.source
        );
        let hint = "cut them, and go back to all of them with --back --apply where their numbers allow that";
        DriveError::new(DriveErrorKind::Refused, message, hint)
    }

    /// A master that may serve the numbers of the one that shall go on alone.
    pub(super) fn serves_too(name: &Name, to: &Master, other: &Master, why: &str) -> DriveError {
        let message = format!(
            "{name} cannot go back to {} alone: {} could give out the same numbers, and nothing is known to stop \
             it ({why})",
            to.source, other.source
        );
        let hint = format!(
            "finish the cut, which fences it: the same sources with --apply; where it is stopped for good, --back \
             --to {} \
             --advance N --apply goes on N further, beyond all that it may have given out",
            to.source
        );
        DriveError::new(DriveErrorKind::Refused, message, hint)
    }

    /// There is nothing to be given back to one alone.
    pub(super) fn all_serve(name: &Name, record: &Move) -> DriveError {
        let message = format!(
            "{name} cannot be taken back to one source alone: {} serve, and no fence stands there",
            record.source
        );
        DriveError::new(
            DriveErrorKind::Refused,
            message,
            "--back --apply without --to lets all of them go on",
        )
    }

    pub(super) fn no_master(name: &Name, record: &Move, to: &str) -> DriveError {
        let message = match record.masters.is_empty() {
            true => format!(
                "{name} was moved out of {} alone, which is not {to}",
                record.source
            ),
            false => format!(
                "{to} is none of the sources of {name}: these are {}",
                record.source
            ),
        };
        let hint = "mint import --status shows where each was moved from";
        DriveError::new(DriveErrorKind::Refused, message, hint)
    }

    /// A way back to one master, where another one was asked for before.
    pub(super) fn other_way(name: &Name, record: &Move) -> DriveError {
        let to = record.back_to.as_deref().unwrap_or("all of its sources");
        let message = format!("{name} is {} to {to}", record.phase.as_str());
        let hint = "--back --apply without --to ends that; then it can be brought here again, and taken back elsewhere";
        DriveError::new(DriveErrorKind::Refused, message, hint)
    }

    /// The same with the way out of a move, one of whose masters does not answer.
    pub(super) fn with_way_without(mut self, record: &Move) -> DriveError {
        let is_away = self.kind == DriveErrorKind::Source(SourceErrorKind::Unavailable);
        if is_away && !record.masters.is_empty() {
            let hint = self.hint.take().unwrap_or_else(|| AGAIN.into());
            self.hint = Some(format!(
                "{hint}; if it never comes back, --back --to SOURCE --apply gives the name back to another of its \
                 sources"
            ));
        }
        self
    }

    pub(super) fn lost(name: &Name, found: Option<&VersionedMove>) -> DriveError {
        let holds = found.map_or("it is gone".to_string(), |found| {
            let record = &found.record;
            format!(
                "it is at {} by move {} since {}",
                record.phase.as_str(),
                record.id,
                since(record.at_ms)
            )
        });
        let message = format!("another import is moving {name}: {holds}");
        let hint = "let that one end; if it was killed, run this command again";
        DriveError::new(DriveErrorKind::Lost, message, hint)
    }

    pub(super) fn behind(name: &Name, stepped: &Stepped, waited: Duration) -> DriveError {
        let message = format!(
            "{name}: after {} ms these servers still do not follow: {}; nothing was changed at the source",
            waited.as_millis(),
            stepped.pending.join(", ")
        );
        let hint = "stop or mend them, then run the same command again; until then the name is refused here";
        DriveError::new(DriveErrorKind::Behind, message, hint)
    }
}

const AGAIN: &str = "mend that and run the same command again: it goes on where the move stands";

/// A time for people.
fn since(at_ms: u64) -> mintage::Timestamp {
    mintage::Timestamp::from_unix_millis(i64::try_from(at_ms).unwrap_or(i64::MAX))
}
