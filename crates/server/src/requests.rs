//! What the documents of requests ask for, in the ledger's words: for every face, and for commands on a store.

use std::sync::Arc;
use std::time::Duration;

use mintage::{Base, ClockPolicy, Layout, SequenceOptions};
use mintage_ledger::{Gap, PoolKind, PoolSpec, RestartAt, SequencePatch, SequenceSpec};
use mintage_wire::{Held, PoolDefinition, Quoted, Restart, RestartAt as Asked, SequenceDefinition};

use crate::error::{Code, ServiceError};
use crate::service::Answer;

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
    })
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

const WINDOW_MIN: Duration = Duration::from_secs(1);
const WINDOW_MAX: Duration = Duration::from_secs(24 * 3600);
