//! What the documents of requests ask for, in the ledger's words: for every face, and for commands on a store.

use std::sync::Arc;
use std::time::Duration;

use mintage::{Base, ClockPolicy, Layout, SequenceOptions, Timestamp};
use mintage_ledger::{
    AvoidChange, Gap, OffProof, PoolKind, PoolSpec, RenewalAttempt, RestartAt, SequencePatch, SequenceSpec,
    WorkerChoice, WorkerRanges, holds_password,
};
use mintage_wire::{
    Held, PoolDefinition, PoolPatch, Quoted, Restart, RestartAt as Asked, SequenceDefinition,
};

use crate::error::{Code, ServiceError};
use crate::service::{Answer, from_ledger};

/// The refusal of a document's content.
pub(crate) fn invalid(message: impl Into<std::borrow::Cow<'static, str>>) -> ServiceError {
    ServiceError::new(Code::InvalidBody, message)
}

/// A sequence to be created.
///
/// # Errors
/// [`Code::InvalidBody`] for what makes no sense, here and in all that follows.
pub fn sequence_spec(asked: &SequenceDefinition) -> Answer<SequenceSpec> {
    if asked.allow_repeat.is_some() || asked.restart.is_some() {
        return Err(invalid(
            "allow_repeat and restart belong to changes, not to a creation",
        ));
    }
    Ok(SequenceSpec {
        options: options(asked),
        gap: gap(asked)?.unwrap_or_default(),
        max_gap: max_gap(asked)?,
    })
}

/// A sequence to be changed.
///
/// # Errors
/// As [`sequence_spec`].
pub fn sequence_patch(asked: &SequenceDefinition) -> Answer<SequencePatch> {
    Ok(SequencePatch {
        options: options(asked),
        gap: gap(asked)?,
        max_gap: max_gap(asked)?,
        allow_repeat: asked.allow_repeat.unwrap_or(false),
        restart: match asked.restart {
            None => None,
            Some(Asked::Start(true)) => Some(RestartAt::Start),
            Some(Asked::At(value)) => Some(RestartAt::With(value)),
            Some(Asked::Start(false)) => return Err(invalid("restart is false: leave it out to stay")),
        },
    })
}

/// Where a sequence is to go on, and whether numbers may repeat then.
pub fn base(asked: &Restart) -> (Base, bool) {
    let base = Base {
        value: asked.value.0,
        is_called: asked.is_called.unwrap_or(true),
    };
    (base, asked.allow_repeat.unwrap_or(false))
}

fn options(asked: &SequenceDefinition) -> SequenceOptions {
    let number = |given: Option<Quoted<i64>>| given.map(|number| number.0);
    SequenceOptions {
        start: number(asked.start),
        increment: number(asked.increment),
        min: number(asked.min),
        max: number(asked.max),
        cycle: asked.cycle,
    }
}

fn gap(asked: &SequenceDefinition) -> Answer<Option<Gap>> {
    match asked.order.as_deref() {
        None | Some("node") => {}
        Some("cluster") => {
            return Err(invalid(
                "order \"cluster\" is not built; numbers are in order per node",
            ));
        }
        Some(other) => return Err(invalid(format!("order {other:?} is not \"node\""))),
    }
    match asked.gap.as_deref() {
        None => Ok(None),
        Some("bounded") => Ok(Some(Gap::Bounded)),
        Some("none") => Ok(Some(Gap::None)),
        Some(other) => Err(invalid(format!(
            "gap {other:?} is neither \"bounded\" nor \"none\""
        ))),
    }
}

fn max_gap(asked: &SequenceDefinition) -> Answer<Option<u64>> {
    let given = match (asked.max_gap, asked.cache) {
        (Some(_), Some(_)) => return Err(invalid("max_gap and cache are two names of one thing")),
        (given, None) | (None, given) => given,
    };
    let at_least_one = |number: Quoted<i64>| {
        let given = u64::try_from(number.0).ok().filter(|n| *n > 0);
        given.ok_or_else(|| {
            invalid(format!("max_gap {number} is less than 1")).with_hint("gap \"none\" loses no number")
        })
    };
    given.map(at_least_one).transpose()
}

/// A pool to be created.
///
/// # Errors
/// As [`sequence_spec`].
///
/// ```
/// use mintage_server::requests::pool_spec;
/// use mintage_wire::PoolDefinition;
/// let hour = PoolDefinition { window_ms: Some(3_600_000), ..PoolDefinition::default() };
/// assert_eq!(pool_spec(&hour).map(|spec| spec.kind.as_str()), Ok("snowflake"));
/// let blink = PoolDefinition { window_ms: Some(1), ..PoolDefinition::default() };
/// assert_eq!(pool_spec(&blink).unwrap_err().to_string(), "window_ms must be within 1s and 86400s");
/// ```
pub fn pool_spec(asked: &PoolDefinition) -> Answer<PoolSpec> {
    let window = asked.window_ms.map(Duration::from_millis);
    if window.is_some_and(|window| !(WINDOW_MIN..=WINDOW_MAX).contains(&window)) {
        return Err(invalid(format!(
            "window_ms must be within {WINDOW_MIN:?} and {WINDOW_MAX:?}"
        )));
    }
    let kind = asked.kind.as_deref().unwrap_or("snowflake");
    let kind = match (kind, &asked.layout, &asked.preset) {
        ("snowflake", Some(_), Some(_)) => return Err(invalid("layout and preset cannot be combined")),
        ("snowflake", Some(text), None) => {
            let layout: Layout = text.parse().map_err(|error| invalid(format!("{error}")))?;
            PoolKind::Snowflake(Arc::new(layout))
        }
        ("snowflake", None, preset) => {
            let name = preset.as_deref().unwrap_or("twitter");
            let row = mintage::preset(name).ok_or_else(|| invalid(format!("no preset {name:?}")))?;
            PoolKind::Snowflake(Arc::new(row.layout()))
        }
        ("uuid1", None, None) => {
            let mut random = [0; 8];
            mintage::fill_random(&mut random);
            PoolKind::uuid1(random)
        }
        ("uuid1", ..) => return Err(invalid("a pool of kind uuid1 takes no layout")),
        (other, ..) => return Err(invalid(format!("kind {other:?} is neither snowflake nor uuid1"))),
    };
    let policy = asked.clock_policy.as_deref().map(str::parse::<ClockPolicy>);
    Ok(PoolSpec {
        kind,
        window,
        clock_policy: policy
            .transpose()
            .map_err(|error| invalid(format!("clock_policy: {error}")))?,
        workers: WorkerChoice {
            within: workers("workers", asked.workers.as_deref())?,
            avoid: workers("avoid", asked.avoid.as_deref())?.unwrap_or_default(),
            avoid_from: place("avoid_from", asked.avoid_from.clone())?,
        },
    })
}

/// What a pool is to avoid, and what no more.
///
/// # Errors
/// As [`sequence_spec`].
///
/// ```
/// use mintage_server::requests::avoid_change;
/// use mintage_wire::PoolPatch;
/// let more = PoolPatch { avoid: Some("5,9-11".into()), ..PoolPatch::default() };
/// assert_eq!(avoid_change(&more).unwrap().add.count(), 4);
/// let nothing = avoid_change(&PoolPatch::default()).unwrap_err();
/// assert_eq!(nothing.to_string(), "nothing is changed: name workers to avoid or to use again");
/// ```
pub fn avoid_change(asked: &PoolPatch) -> Answer<AvoidChange> {
    let add = workers("avoid", asked.avoid.as_deref())?.unwrap_or_default();
    let remove = workers("use_again", asked.use_again.as_deref())?.unwrap_or_default();
    if add.is_empty() && remove.is_empty() {
        return Err(invalid(
            "nothing is changed: name workers to avoid or to use again",
        ));
    }
    let time = |text: &str, what: &str| {
        let read = text.parse::<Timestamp>();
        read.map_err(|error| invalid(format!("{what}: {error}")))
    };
    let proof = match (&asked.off_since, &asked.looked) {
        (None, None) => None,
        (Some(since), None) => Some(OffProof::Since(time(since, "off_since")?)),
        (None, Some(looked)) => {
            let held = looked.held.iter().map(|held| {
                let last = held.last.as_deref().map(|last| time(last, "looked.held.last"));
                Ok((held.worker, last.transpose()?))
            });
            Some(OffProof::Looked {
                at: looked.at.clone(),
                held: held.collect::<Answer<_>>()?,
            })
        }
        (Some(_), Some(_)) => return Err(invalid("off_since and looked say the same: give one of them")),
    };
    Ok(AvoidChange {
        add,
        remove,
        from: place("avoid_from", asked.avoid_from.clone())?,
        proof,
    })
}

fn workers(what: &str, text: Option<&str>) -> Answer<Option<WorkerRanges>> {
    let read = text.map(str::parse::<WorkerRanges>).transpose();
    read.map_err(|error| invalid(format!("{what}: {error}")))
}

/// A place that is kept in a record and shown to everybody.
fn place(what: &str, text: Option<String>) -> Answer<Option<String>> {
    match text {
        Some(text) if text.len() > PLACE_MAX_BYTES => Err(invalid(format!(
            "{what} has {} bytes, largest is {PLACE_MAX_BYTES}",
            text.len()
        ))),
        Some(text) if holds_password(&text) => Err(invalid(format!(
            "{what} holds a password, and a pool's definition is for everybody to read: leave it out"
        ))),
        text => Ok(text),
    }
}

/// Who holds a window, and the version of it.
///
/// # Errors
/// As [`sequence_spec`].
pub fn held(asked: Held) -> Answer<(String, u64)> {
    match (asked.owner, asked.version) {
        (Some(owner), Some(version)) => Ok((owner, version.0)),
        _ => Err(invalid("owner and version are needed, as the window was given")),
    }
}

/// What the borrower calls its renewal, if it may repeat that.
///
/// # Errors
/// As [`RenewalAttempt::new`].
pub fn attempt(asked: &Held) -> Answer<Option<RenewalAttempt>> {
    let attempt = asked.attempt.as_deref().map(RenewalAttempt::new);
    attempt.transpose().map_err(from_ledger)
}

/// How long the URL of another system may be: a pool's record holds it.
const PLACE_MAX_BYTES: usize = 1024;
const WINDOW_MIN: Duration = Duration::from_secs(1);
const WINDOW_MAX: Duration = Duration::from_secs(24 * 3600);
