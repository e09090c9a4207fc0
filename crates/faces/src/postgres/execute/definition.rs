//! Definitions as PostgreSQL checks them, in its order and with its words.

use mintage::{SequenceDef, SequenceOptions};

use super::{Result, SqlError};
use crate::postgres::plan::{Bound, IntegerKind, Options, Restart};

impl IntegerKind {
    /// The least and the greatest number of the type.
    pub(super) fn bounds(self) -> (i64, i64) {
        match self {
            IntegerKind::Small => (i64::from(i16::MIN), i64::from(i16::MAX)),
            IntegerKind::Integer => (i64::from(i32::MIN), i64::from(i32::MAX)),
            IntegerKind::Big => (i64::MIN, i64::MAX),
        }
    }

    pub(in crate::postgres) fn title(self) -> &'static str {
        match self {
            IntegerKind::Small => "smallint",
            IntegerKind::Integer => "integer",
            IntegerKind::Big => "bigint",
        }
    }

    /// The type that bounds look like: only these are kept here.
    pub(in crate::postgres) fn of_bounds(min: i64, max: i64) -> IntegerKind {
        let looks_like = |kind: IntegerKind| {
            let (low, high) = kind.bounds();
            max == high || min == low && max <= high
        };
        match () {
            () if looks_like(IntegerKind::Small) => IntegerKind::Small,
            () if looks_like(IntegerKind::Integer) => IntegerKind::Integer,
            () => IntegerKind::Big,
        }
    }
}

/// A checked definition, and where the sequence goes on if that was said.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Checked {
    pub(super) def: SequenceDef,
    pub(super) restart: Option<i64>,
}

/// What is there: a definition, and the place of its sequence.
pub(super) type Before = Option<(SequenceDef, i64)>;

/// Puts options over what was before, or over nothing.
pub(super) fn check(options: &Options, before: Before) -> Result<Checked> {
    let old = before.map(|(def, _)| def);
    let kind_before = old.map(|def| IntegerKind::of_bounds(def.min, def.max));
    let kind = options.kind.or(kind_before).unwrap_or(IntegerKind::Big);
    let increment = options.increment.or(old.map(|def| def.increment)).unwrap_or(1);
    if increment == 0 {
        return Err(invalid("INCREMENT must not be zero"));
    }
    let (low, high) = kind.bounds();
    let changed = kind_before
        .filter(|_| options.kind.is_some())
        .map(IntegerKind::bounds);
    // A bound that was the old type's follows to the new one's, whichever way the sequence counts.
    let max = match (options.max, old) {
        (Some(Bound::At(max)), _) => max,
        (None, Some(def)) if changed.is_none_or(|(_, high)| def.max != high) => def.max,
        (None, Some(_)) => high,
        _ if increment > 0 => high,
        _ => -1,
    };
    in_range("MAXVALUE", max, kind)?;
    let min = match (options.min, old) {
        (Some(Bound::At(min)), _) => min,
        (None, Some(def)) if changed.is_none_or(|(low, _)| def.min != low) => def.min,
        (None, Some(_)) => low,
        _ if increment > 0 => 1,
        _ => low,
    };
    in_range("MINVALUE", min, kind)?;
    if min >= max {
        return Err(invalid(format!(
            "MINVALUE ({min}) must be less than MAXVALUE ({max})"
        )));
    }
    let ascends = increment > 0;
    let first = if ascends { min } else { max };
    let start = options.start.or(old.map(|def| def.start)).unwrap_or(first);
    within("START", start, min, max)?;
    let restart = options.restart.map(|restart| match restart {
        Restart::Start => start,
        Restart::With(value) => value,
    });
    if let Some(at) = restart.or(before.map(|(_, at)| at)) {
        within("RESTART", at, min, max)?;
    }
    if let Some(cache @ ..1) = options.cache {
        return Err(invalid(format!("CACHE ({cache}) must be greater than zero")));
    }
    let cycle = options.cycle.or(old.map(|def| def.cycle)).unwrap_or(false);
    let def = SequenceDef {
        start,
        increment,
        min,
        max,
        cycle,
    };
    Ok(Checked { def, restart })
}

/// The definition with every value said.
pub(super) fn options_of(def: &SequenceDef) -> SequenceOptions {
    SequenceOptions {
        start: Some(def.start),
        increment: Some(def.increment),
        min: Some(def.min),
        max: Some(def.max),
        cycle: Some(def.cycle),
    }
}

fn in_range(what: &str, value: i64, kind: IntegerKind) -> Result<()> {
    let (low, high) = kind.bounds();
    match (low..=high).contains(&value) {
        true => Ok(()),
        false => {
            let title = kind.title();
            Err(invalid(format!(
                "{what} ({value}) is out of range for sequence data type {title}"
            )))
        }
    }
}

fn within(what: &str, value: i64, min: i64, max: i64) -> Result<()> {
    match () {
        () if value < min => Err(invalid(format!(
            "{what} value ({value}) cannot be less than MINVALUE ({min})"
        ))),
        () if value > max => Err(invalid(format!(
            "{what} value ({value}) cannot be greater than MAXVALUE ({max})"
        ))),
        () => Ok(()),
    }
}

fn invalid(message: impl Into<std::borrow::Cow<'static, str>>) -> SqlError {
    SqlError::new("22023", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(change: impl FnOnce(&mut Options)) -> Options {
        let mut options = Options::default();
        change(&mut options);
        options
    }

    #[test]
    fn definitions_are_postgresqls() {
        let def = |options: &Options| check(options, None).map(|checked| checked.def);
        let plain = def(&Options::default()).unwrap();
        assert_eq!(
            (plain.start, plain.increment, plain.min, plain.max),
            (1, 1, 1, i64::MAX)
        );
        let small_down = of(|options| {
            options.kind = Some(IntegerKind::Small);
            options.increment = Some(-2);
        });
        let down = def(&small_down).unwrap();
        assert_eq!((down.start, down.min, down.max), (-1, -32768, -1));
        for (options, message) in [
            (of(|o| o.increment = Some(0)), "INCREMENT must not be zero"),
            (
                of(|o| (o.min, o.max) = (Some(Bound::At(20)), Some(Bound::At(-1)))),
                "MINVALUE (20) must be less than MAXVALUE (-1)",
            ),
            (
                of(|o| (o.min, o.max) = (Some(Bound::At(5)), Some(Bound::At(5)))),
                "MINVALUE (5) must be less than MAXVALUE (5)",
            ),
            (
                of(|o| o.start = Some(-10)),
                "START value (-10) cannot be less than MINVALUE (1)",
            ),
            (
                of(|o| (o.start, o.increment) = (Some(10), Some(-1))),
                "START value (10) cannot be greater than MAXVALUE (-1)",
            ),
            (
                of(|o| (o.kind, o.max) = (Some(IntegerKind::Small), Some(Bound::At(100_000)))),
                "MAXVALUE (100000) is out of range for sequence data type smallint",
            ),
            (of(|o| o.cache = Some(0)), "CACHE (0) must be greater than zero"),
            (
                of(|o| o.restart = Some(Restart::With(0))),
                "RESTART value (0) cannot be less than MINVALUE (1)",
            ),
        ] {
            let refused = check(&options, None).unwrap_err();
            assert_eq!((refused.state, &*refused.message), ("22023", message));
        }
    }

    #[test]
    fn bounds_of_a_type_follow_it_and_others_stay() {
        let small = of(|options| options.kind = Some(IntegerKind::Small));
        let before = check(&small, None).unwrap().def;
        let to_big = of(|options| options.kind = Some(IntegerKind::Big));
        assert_eq!(check(&to_big, Some((before, 1))).unwrap().def.max, i64::MAX);
        // Also the one that no default is.
        let whole = of(|o| (o.kind, o.min) = (Some(IntegerKind::Small), Some(Bound::At(-32768))));
        let whole = check(&whole, None).unwrap().def;
        let to_int = of(|options| options.kind = Some(IntegerKind::Integer));
        let wider = check(&to_int, Some((whole, -32768))).unwrap().def;
        assert_eq!(
            (wider.min, wider.max, wider.start),
            (i32::MIN.into(), i32::MAX.into(), -32768)
        );
        let bounded = SequenceDef { max: 1000, ..before };
        assert_eq!(check(&to_big, Some((bounded, 1))).unwrap().def.max, 1000);
        let big = SequenceDef {
            max: 100_000,
            ..before
        };
        let refused = check(&small, Some((big, 1))).unwrap_err();
        assert_eq!(
            refused.message,
            "MAXVALUE (100000) is out of range for sequence data type smallint"
        );
        let lower = of(|options| options.max = Some(Bound::At(50)));
        let refused = check(&lower, Some((before, 70))).unwrap_err();
        assert_eq!(
            refused.message,
            "RESTART value (70) cannot be greater than MAXVALUE (50)"
        );
    }
}
