//! How the server fares, in three sentences: what goes well, what comes to its end first, and what is wrong.

use std::time::Duration;

use mintage_ledger::{Budget, BudgetOf, Ending, Forecast, Limit};
use mintage_wire::{Code, Says};

/// What the sentences are made of.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Facts {
    /// Ids a second, of all kinds.
    pub(crate) ids: f64,
    /// What half of the last reservations took at most, in microseconds, if there were any.
    pub(crate) reserve_us: Option<f64>,
    /// For how long the store has not answered.
    pub(crate) down_for: Option<Duration>,
    /// What ends first without the store.
    pub(crate) first_to_end: Option<Budget>,
    /// Why this process reserves nothing any more.
    pub(crate) stopped: Option<String>,
    /// Why nothing can be reserved though the store answers.
    pub(crate) reserves_nothing: Option<String>,
    /// The journal cannot be written.
    pub(crate) journal_fails: bool,
    /// For how long more the store is treated as if it were away.
    pub(crate) rehearsal_left: Option<Duration>,
    /// Wall clock minus the clock that ids read, in seconds.
    pub(crate) clock_offset_s: f64,
    /// Refusals in the last minute, by code.
    pub(crate) refused: Vec<(&'static str, u64)>,
    /// What ends at today's rate, the soonest first.
    pub(crate) ends: Vec<End>,
    /// It has not been seen for long enough at what rate ids are taken.
    pub(crate) is_young: bool,
}

/// What something comes to.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct End {
    pub(crate) name: String,
    pub(crate) what: Limited,
    pub(crate) left: Duration,
}

/// What is reached one day.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Limited {
    /// Columns of 32 bits are full.
    Int,
    /// What the ledger warns of.
    Of(Limit),
}

/// The ends that are nearer than five years.
pub(crate) fn ends(name: &str, forecast: &Forecast) -> impl Iterator<Item = End> {
    forecast.warnings().map(move |Ending { limit, left }| End {
        name: name.to_string(),
        what: Limited::Of(*limit),
        left: *left,
    })
}

/// In how long a sequence with this last number reaches 2^31, where a column of 32 bits is full, if it has not and ever does.
pub(crate) fn until_int(last: i64, increment: i64, per_second: f64) -> Option<Duration> {
    let left = (1i64 << 31)
        .checked_sub(last)
        .filter(|left| *left > 0 && last >= 0)?;
    let seconds = left as f64 / (increment as f64 * per_second);
    // What is not within a hundred thousand years does not fit or is no number.
    Duration::try_from_secs_f64(seconds).ok()
}

/// The same as an end, if it is nearer than five years.
pub(crate) fn end_of_int(name: &str, last: i64, increment: i64, per_second: f64) -> Option<End> {
    let left = until_int(last, increment, per_second)?;
    (left < FIVE_YEARS).then(|| End {
        name: name.to_string(),
        what: Limited::Int,
        left,
    })
}

const FIVE_YEARS: Duration = Duration::from_secs(5 * 365 * 24 * 3600);

/// The sentences.
pub(crate) fn says(facts: &Facts) -> Says {
    Says {
        well: sentence(well(facts)),
        // It may begin with a name, which stays as it is.
        ends: first_end(facts) + ".",
        wrong: match wrongs(facts) {
            wrongs if wrongs.is_empty() => "Nothing is wrong.".into(),
            wrongs => sentence(wrongs.join("; ")),
        },
    }
}

fn well(facts: &Facts) -> String {
    if facts.stopped.is_some() {
        return "the server answers, and reserves nothing any more".into();
    }
    let ids = match facts.ids {
        ids if ids <= 0.0 => "nobody asks for ids".to_string(),
        ids if ids < 1.0 => "less than one id a second".to_string(),
        ids => format!("{} ids a second", grouped(ids)),
    };
    match (facts.down_for, facts.reserve_us) {
        (Some(_), _) if facts.ids > 0.0 => format!("{ids}, out of what is reserved"),
        (Some(_), _) => ids,
        (None, Some(us)) => format!("{ids}; the store answers in {}", short(us)),
        (None, None) => format!("{ids}; the store answers"),
    }
}

fn first_end(facts: &Facts) -> String {
    if let (Some(_), Some(first)) = (facts.down_for, &facts.first_to_end) {
        let of = match &first.of {
            BudgetOf::Sequence(name) => shortened(name.as_str(), NAME_SHOWN),
            BudgetOf::Pool(name) => format!("Pool {}", shortened(name.as_str(), NAME_SHOWN)),
        };
        return match first.left.is_zero() {
            true => format!("{of} has run out"),
            false => format!("{of} runs out in {} without the store", long(first.left)),
        };
    }
    let Some(End { name, what, left }) = facts.ends.iter().min_by_key(|end| end.left) else {
        return match facts.is_young && facts.ids > 0.0 {
            true => "What ends first can be told after a minute".into(),
            false => "Nothing ends within five years".into(),
        };
    };
    let name = shortened(name, NAME_SHOWN);
    let when = format!("in {} at today's rate", long(*left));
    match (what, left.is_zero()) {
        (Limited::Int, _) => format!("{name} reaches 2^31 {when}"),
        (Limited::Of(Limit::Double), _) => format!("{name} reaches 2^53 {when}"),
        (Limited::Of(Limit::Signed | Limit::Bound), true) => format!("{name} has no further number"),
        (Limited::Of(Limit::Signed), false) => format!("{name} reaches 2^63 {when}"),
        (Limited::Of(Limit::Bound), false) => format!("{name} reaches its last number {when}"),
        (Limited::Of(Limit::Time), true) => format!("The time field of pool {name} is full"),
        (Limited::Of(Limit::Time), false) => {
            format!("The time field of pool {name} is full in {}", long(*left))
        }
        (Limited::Of(Limit::Workers), true) => format!("Every worker of pool {name} is held"),
        (Limited::Of(Limit::Workers), false) => format!("The workers of pool {name} are all held {when}"),
    }
}

/// All that is wrong, the worst first.
fn wrongs(facts: &Facts) -> Vec<String> {
    let stopped = facts.stopped.as_ref();
    let stopped = stopped.map(|why| format!("stopped for good: {}", shortened(why, WHY_SHOWN)));
    let rehearsed = facts.rehearsal_left;
    let rehearsed = rehearsed.map(|left| format!("an outage is rehearsed for {} more", long(left)));
    let reserves_nothing = facts
        .reserves_nothing
        .as_ref()
        .filter(|_| facts.down_for.is_none());
    let reserves_nothing = reserves_nothing.map(|why| shortened(why, WHY_SHOWN));
    let journal =
        "the journal cannot be written: an outage is bridged by max_gap numbers of a sequence alone";
    let all = [
        stopped,
        rehearsed,
        facts.down_for.map(|down| away(down, facts.first_to_end.as_ref())),
        reserves_nothing.filter(|_| facts.stopped.is_none()),
        facts.journal_fails.then(|| journal.to_string()),
        clock(facts.clock_offset_s),
        refusals(&facts.refused),
    ];
    all.into_iter().flatten().collect()
}

fn away(down: Duration, first: Option<&Budget>) -> String {
    let rest = match first {
        None => "nothing is in use".to_string(),
        Some(first) if first.left.is_zero() => format!("{} has run out", of_budget(&first.of)),
        Some(first) => format!("everything in use goes on for {}", long(first.left)),
    };
    format!("the store has not answered for {}; {rest}", long(down))
}

fn clock(offset_s: f64) -> Option<String> {
    let apart = Duration::try_from_secs_f64(offset_s.abs()).ok()?;
    let side = if offset_s > 0.0 { "ahead of" } else { "behind" };
    (offset_s.abs() > 1.0)
        .then(|| format!("the wall clock is {} {side} the clock that ids read", long(apart)))
}

/// Who has shown no token yet is asked for one: that goes on wherever there are tokens, and is nothing wrong.
fn refusals(refused: &[(&'static str, u64)]) -> Option<String> {
    let refused = refused
        .iter()
        .filter(|(code, _)| *code != Code::Unauthenticated.as_str());
    let all: u64 = refused.clone().map(|(_, count)| count).sum();
    let (code, most) = refused.max_by_key(|(_, count)| count)?;
    let which = match *most == all {
        true => (*code).to_string(),
        false => format!("most {code}"),
    };
    let requests = if all == 1 { "request was" } else { "requests were" };
    Some(format!(
        "{} {requests} refused in the last minute ({which})",
        grouped(all as f64)
    ))
}

fn of_budget(of: &BudgetOf) -> String {
    shortened(&of.to_string(), NAME_SHOWN)
}

/// Texts of others stand in a sentence so far.
const NAME_SHOWN: usize = 80;
const WHY_SHOWN: usize = 300;

/// A text within so many bytes.
pub(crate) fn shortened(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_string();
    }
    const DOTS: &str = "…";
    let end = text.floor_char_boundary(bytes.saturating_sub(DOTS.len()));
    format!("{}{DOTS}", &text[..end])
}

fn sentence(text: String) -> String {
    let mut letters = text.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    let end = if text.ends_with('.') { "" } else { "." };
    format!("{}{}{end}", first.collect::<String>(), letters.as_str())
}

/// A whole number with commas.
fn grouped(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// How long a call took.
fn short(us: f64) -> String {
    match us {
        us if us < 1000.0 => format!("{us:.0} µs"),
        us if us < 10_000.0 => format!("{:.1} ms", us / 1000.0),
        us if us < 1_000_000.0 => format!("{:.0} ms", us / 1000.0),
        us => format!("{:.1} s", us / 1e6),
    }
}

/// A span of time, in the unit that people would use.
fn long(span: Duration) -> String {
    const DAY: u64 = 24 * 3600;
    match span.as_secs() {
        0 if !span.is_zero() => format!("{} ms", span.as_millis()),
        s if s < 120 => format!("{s} s"),
        s if s < 2 * 3600 => format!("{} minutes", s / 60),
        s if s < 2 * DAY => format!("{} hours", s / 3600),
        s if s < 2 * 365 * DAY => format!("{} days", s / DAY),
        s => format!("{:.1} years", s as f64 / (365.25 * DAY as f64)),
    }
}

#[cfg(test)]
mod tests {
    use mintage_ledger::Name;

    use super::*;

    fn seconds(s: u64) -> Option<Duration> {
        Some(Duration::from_secs(s))
    }

    fn budget(left: u64) -> Option<Budget> {
        Some(Budget {
            of: BudgetOf::Sequence(Name::new("orders").unwrap()),
            left: Duration::from_secs(left),
        })
    }

    fn end(what: Limited, days: u64) -> End {
        End {
            name: "orders".into(),
            what,
            left: Duration::from_secs(days * 86_400),
        }
    }

    #[test]
    fn what_goes_well_is_how_many_and_how_quick() {
        let busy = Facts {
            ids: 12_400.4,
            reserve_us: Some(1234.0),
            ..Facts::default()
        };
        for (facts, well) in [
            (Facts::default(), "Nobody asks for ids; the store answers."),
            (busy.clone(), "12,400 ids a second; the store answers in 1.2 ms."),
            (
                Facts {
                    ids: 0.5,
                    reserve_us: Some(80.0),
                    ..Facts::default()
                },
                "Less than one id a second; the store answers in 80 µs.",
            ),
            (
                Facts {
                    down_for: seconds(3),
                    ..busy.clone()
                },
                "12,400 ids a second, out of what is reserved.",
            ),
            (
                Facts {
                    stopped: Some("x".into()),
                    ..busy
                },
                "The server answers, and reserves nothing any more.",
            ),
        ] {
            assert_eq!(says(&facts).well, well);
        }
    }

    #[test]
    fn what_ends_first_is_said_with_its_time() {
        let with = |ends: Vec<End>| Facts {
            ends,
            ..Facts::default()
        };
        let of = |limit, days| with(vec![end(Limited::Of(limit), days)]);
        for (facts, ends) in [
            (Facts::default(), "Nothing ends within five years."),
            (
                Facts {
                    is_young: true,
                    ids: 5.0,
                    ..Facts::default()
                },
                "What ends first can be told after a minute.",
            ),
            (
                with(vec![end(Limited::Of(Limit::Double), 900), end(Limited::Int, 43)]),
                "orders reaches 2^31 in 43 days at today's rate.",
            ),
            (
                of(Limit::Double, 800),
                "orders reaches 2^53 in 2.2 years at today's rate.",
            ),
            (
                of(Limit::Bound, 1),
                "orders reaches its last number in 24 hours at today's rate.",
            ),
            (of(Limit::Bound, 0), "orders has no further number."),
            (
                of(Limit::Time, 100),
                "The time field of pool orders is full in 100 days.",
            ),
            (of(Limit::Workers, 0), "Every worker of pool orders is held."),
            (
                Facts {
                    down_for: seconds(5),
                    first_to_end: budget(41),
                    ..of(Limit::Bound, 1)
                },
                "orders runs out in 41 s without the store.",
            ),
            (
                Facts {
                    first_to_end: budget(41),
                    ..of(Limit::Bound, 0)
                },
                "orders has no further number.",
            ),
        ] {
            assert_eq!(says(&facts).ends, ends);
        }
    }

    #[test]
    fn what_is_wrong_is_said_the_worst_first() {
        let down = Facts {
            down_for: seconds(19),
            first_to_end: budget(41),
            ..Facts::default()
        };
        for (facts, wrong) in [
            (Facts::default(), "Nothing is wrong."),
            (
                down.clone(),
                "The store has not answered for 19 s; everything in use goes on for 41 s.",
            ),
            (
                Facts {
                    first_to_end: budget(0),
                    ..down.clone()
                },
                "The store has not answered for 19 s; sequence orders has run out.",
            ),
            (
                Facts {
                    first_to_end: None,
                    reserves_nothing: Some("x".into()),
                    ..down.clone()
                },
                "The store has not answered for 19 s; nothing is in use.",
            ),
            (
                Facts {
                    rehearsal_left: seconds(30),
                    ..down
                },
                "An outage is rehearsed for 30 s more; the store has not answered for 19 s; everything in use goes on for 41 s.",
            ),
            (
                Facts {
                    stopped: Some("the mark went back".into()),
                    reserves_nothing: Some("x".into()),
                    ..Facts::default()
                },
                "Stopped for good: the mark went back.",
            ),
            (
                Facts {
                    reserves_nothing: Some("nothing can be reserved for 3 s: disk full".into()),
                    ..Facts::default()
                },
                "Nothing can be reserved for 3 s: disk full.",
            ),
            (
                Facts {
                    clock_offset_s: -3.2,
                    ..Facts::default()
                },
                "The wall clock is 3 s behind the clock that ids read.",
            ),
            (
                Facts {
                    clock_offset_s: 0.9,
                    ..Facts::default()
                },
                "Nothing is wrong.",
            ),
            (
                Facts {
                    refused: vec![("not_found", 1)],
                    ..Facts::default()
                },
                "1 request was refused in the last minute (not_found).",
            ),
            (
                Facts {
                    refused: vec![("not_found", 1200), ("forbidden", 3), ("unauthenticated", 9000)],
                    ..Facts::default()
                },
                "1,203 requests were refused in the last minute (most not_found).",
            ),
        ] {
            assert_eq!(says(&facts).wrong, wrong);
        }
    }

    #[test]
    fn a_sequence_reaches_2_31_when_arithmetic_says() {
        let left = |last, rate| end_of_int("orders", last, 1, rate).map(|end| end.left.as_secs());
        assert_eq!(left((1 << 31) - 1000, 10.0), Some(100));
        for (last, rate) in [(1 << 31, 10.0), (5, 0.0), (0, 1.0), (-7, 1e9)] {
            assert_eq!(left(last, rate), None, "{last} {rate}");
        }
    }

    #[test]
    fn texts_of_others_are_cut_between_letters() {
        assert_eq!(shortened("orders", 6), "orders");
        assert_eq!(shortened("заказы", 8), "за…");
        let facts = Facts {
            stopped: Some("x".repeat(5000)),
            ..Facts::default()
        };
        assert!(says(&facts).wrong.len() < 400);
    }
}
