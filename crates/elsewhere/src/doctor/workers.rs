//! Numbers of workers of Snowflake systems, seen as counters that run out.

use super::pace::Went;
use super::rules::{Found, Subject, severity_of, severity_of_part};
use super::words::{lasting, pace_words, percent};
use crate::source::{Counter, FindingCode, Severity};

/// What holds how many bits numbers of workers have: the name of the detail that makes a counter one of workers.
const BITS: &str = "bits";

/// What holds how many numbers are taken.
const TAKEN: &str = "taken";

/// The system whose numbers are of workers; those of the others are of machines.
pub(super) const UID_GENERATOR: &str = "uid-generator";

/// A system of Snowflake ids: a row of [`WORKERS`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Workers {
    /// What it is called where its workers are looked at.
    pub system: &'static str,
    /// What its workers are called among kinds of counters: the system may have sequences, too.
    pub kind: &'static str,
    /// How many bits its numbers have unless it was set up otherwise.
    pub bits: u32,
    /// Whether each start takes a number that never comes back.
    pub is_spent: bool,
    /// When its time ends with the settings that it comes with, and what to look at.
    pub ended: Option<&'static str>,
}

/// The systems whose workers are known.
pub static WORKERS: &[Workers] = &[
    Workers {
        system: UID_GENERATOR,
        kind: "uid-generator-workers",
        bits: 22,
        is_spent: true,
        ended: Some("2024-11-20 with timeBits 28 and epochStr 2016-05-20"),
    },
    Workers {
        system: "cosid",
        kind: "cosid-workers",
        bits: 10,
        is_spent: false,
        ended: None,
    },
    Workers {
        system: "leaf",
        kind: "leaf-workers",
        bits: 10,
        is_spent: true,
        ended: None,
    },
    Workers {
        system: "twitter",
        kind: "twitter-workers",
        bits: 10,
        is_spent: false,
        ended: None,
    },
    Workers {
        system: "yitter",
        kind: "yitter-workers",
        bits: 6,
        is_spent: false,
        ended: None,
    },
];

impl Workers {
    /// The workers of this system as a counter: its mark is the number that the next newcomer gets. `bits`: if it was set
    /// up otherwise.
    pub fn counter(&self, key: &str, next: u64, taken: u64, bits: Option<u32>) -> Counter {
        let is_default = bits.is_none_or(|bits| bits == self.bits);
        let bits = bits.unwrap_or(self.bits).clamp(1, 63);
        let mut counter = Counter {
            mark: Some(next.into()),
            min: 0,
            max: (1i128 << bits) - 1,
            type_name: format!("{bits} bits"),
            ..Counter::new(self.kind, key)
        };
        let details = [(BITS, bits.to_string()), (TAKEN, taken.to_string())];
        counter.details = details.map(|(name, value)| (name.to_string(), value)).into();
        if let (Some(ended), true) = (self.ended, is_default) {
            counter.details.insert("ended".into(), ended.into());
        }
        counter
    }
}

/// Whether a counter is one of workers.
pub(super) fn is_of(counter: &Counter) -> bool {
    counter.details.contains_key(BITS) && counter.details.contains_key(TAKEN)
}

/// What is wrong with it.
pub(super) fn examine(subject: &Subject<'_>) -> Vec<Found> {
    let counter = subject.counter;
    let mut found = Vec::new();
    let of = WORKERS.iter().find(|row| row.kind == counter.kind);
    let new = |severity, text| Found::new(FindingCode::Workers, severity, text);
    let numbers = counter.max + 1;
    let taken = counter.details.get(TAKEN).and_then(|taken| taken.parse().ok());
    let taken: i128 = match (of.is_some_and(|row| row.is_spent), taken) {
        // What was given out once is never given out again.
        (true, _) | (_, None) => counter.mark.unwrap_or(0),
        (false, Some(taken)) => taken,
    };
    let part = taken as f64 / numbers as f64;
    let left = subject.ends.first().and_then(|end| end.left);
    let used = format!("{taken} of {numbers} numbers of {} are taken", counter.type_name);
    match (left, subject.went) {
        _ if taken >= numbers => found.push(new(
            Severity::Error,
            format!("workers: {used}; no further one can start, or numbers are given out twice"),
        )),
        (Some(left), Went::On(pace)) if pace.distance_per_s > 0.0 && severity_of(left) > Severity::Info => {
            let a_day = pace_words(pace.per_s * 86_400.0);
            found.push(new(
                severity_of(left),
                format!(
                    "workers: they end in {}; {used}, {a_day} starts a day",
                    lasting(left)
                ),
            ));
        }
        (Some(_), Went::On(pace)) if pace.distance_per_s > 0.0 => {}
        _ => {
            if let Some(severity) = severity_of_part(part) {
                found.push(new(
                    severity,
                    format!("workers: {} are used; {used}", percent(part)),
                ));
            }
        }
    }
    if let Some(ended) = counter.details.get("ended") {
        found.push(new(
            Severity::Warn,
            format!("workers: the time ended on {ended}; see what yours are"),
        ));
    }
    found
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::doctor::ends::ends;
    use crate::doctor::pace::Pace;

    fn said(
        system: &str,
        next: u64,
        taken: u64,
        bits: Option<u32>,
        starts_a_day: Option<f64>,
    ) -> Vec<(Severity, String)> {
        let row = WORKERS.iter().find(|row| row.system == system).unwrap();
        let counter = row.counter("db", next, taken, bits);
        let pace = starts_a_day.map(|starts| Pace {
            distance_per_s: starts / 86_400.0,
            per_s: starts / 86_400.0,
            over: Duration::from_secs(86_400),
        });
        let subject = Subject {
            counter: &counter,
            went: pace.map_or(Went::Unknown, Went::On),
            ends: &ends(&counter, pace),
        };
        assert!(is_of(&counter));
        examine(&subject)
            .into_iter()
            .map(|found| (found.severity, found.text))
            .collect()
    }

    #[test]
    fn numbers_that_never_come_back_run_out() {
        let worst = |next, pace| said("uid-generator", next, next, Some(10), pace);
        assert_eq!(worst(0, None), []);
        assert_eq!(worst(768, None), []);
        assert_eq!(
            worst(769, None),
            [(
                Severity::Warn,
                "workers: 75.0 % are used; 769 of 1024 numbers of 10 bits are taken".into()
            )]
        );
        assert_eq!(worst(973, None)[0].0, Severity::Error);
        assert_eq!(worst(1024, None)[0].0, Severity::Error);
        // 10 a day: 102 days, and 29 days.
        assert_eq!(worst(0, Some(10.0))[0].0, Severity::Warn);
        let text = &worst(733, Some(10.0))[0];
        assert!(
            text.0 == Severity::Error && text.1.contains("10.0 starts a day"),
            "{text:?}"
        );
        assert_eq!(worst(0, Some(0.1)), []);
        assert_eq!(worst(1000, Some(0.0))[0].0, Severity::Error);
    }

    #[test]
    fn those_that_come_back_are_counted_by_who_has_one() {
        assert_eq!(said("cosid", 1024, 10, None, None), []);
        assert_eq!(said("cosid", 1024, 1024, None, None)[0].0, Severity::Error);
        assert_eq!(said("cosid", 16, 16, Some(4), None)[0].0, Severity::Error);
        assert_eq!(said("cosid", 16, 16, None, None), []);
    }

    #[test]
    fn the_time_of_a_layout_that_ended_is_told_where_nobody_says_otherwise() {
        assert!(
            said("uid-generator", 0, 0, None, None)[0]
                .1
                .contains("2024-11-20")
        );
        assert_eq!(said("uid-generator", 0, 0, Some(20), None), []);
    }
}
