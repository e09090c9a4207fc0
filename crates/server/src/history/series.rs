//! The series that are kept, their keys, and what becomes of values that are kept more coarsely.

/// What a series is of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum What {
    /// Ids a second, of a kind.
    Ids,
    /// Requests a second, of a face.
    Requests,
    /// Refusals a second, with a code.
    Refused,
    /// What half of a face's requests took at most.
    P50,
    /// What 99 of 100 took at most.
    P99,
    /// Open connections of a face.
    Connections,
    /// What half of the reservations took at most.
    ReserveP50,
    /// What 99 of 100 took at most.
    ReserveP99,
    /// For how long everything in use goes on without the store.
    BudgetLeft,
    /// Wall clock minus the clock that ids read.
    ClockOffset,
    /// How often the wall clock was stepped.
    ClockSteps,
    /// Numbers known to be lost.
    Lost,
    /// Whether the store answers.
    StoreUp,
}

/// How several values become one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fold {
    Mean,
    /// The worst counts: a second of slow answers must not drown in a minute.
    Max,
    /// The same where less is worse.
    Min,
    /// Totals.
    Last,
}

impl What {
    /// The key, or its part before `/`.
    pub(crate) fn stem(self) -> &'static str {
        match self {
            What::Ids => "ids",
            What::Requests => "requests",
            What::Refused => "refused",
            What::P50 => "p50_us",
            What::P99 => "p99_us",
            What::Connections => "connections",
            What::ReserveP50 => "reserve_p50_us",
            What::ReserveP99 => "reserve_p99_us",
            What::BudgetLeft => "budget_left_s",
            What::ClockOffset => "clock_offset_s",
            What::ClockSteps => "clock_steps",
            What::Lost => "lost",
            What::StoreUp => "store_up",
        }
    }

    pub(crate) fn fold(self) -> Fold {
        match self {
            What::Ids | What::Requests | What::Refused | What::Connections => Fold::Mean,
            What::P50 | What::ReserveP50 | What::ClockOffset => Fold::Mean,
            What::P99 | What::ReserveP99 => Fold::Max,
            What::BudgetLeft | What::StoreUp => Fold::Min,
            What::ClockSteps | What::Lost => Fold::Last,
        }
    }

    /// Whether a second without a value was one of 0, and not one of which nothing is known.
    pub(crate) fn is_counted(self) -> bool {
        matches!(
            self,
            What::Ids | What::Requests | What::Refused | What::Connections | What::ClockSteps | What::Lost
        )
    }
}

/// Which series.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Key {
    pub(crate) what: What,
    /// The kind, face or code; empty where there is one series alone.
    pub(crate) of: &'static str,
}

impl Key {
    /// Of the only series of its kind.
    pub(crate) const fn one(what: What) -> Key {
        Key { what, of: "" }
    }

    pub(crate) const fn of(what: What, of: &'static str) -> Key {
        Key { what, of }
    }

    /// As the documents have it.
    pub(crate) fn name(self) -> String {
        match self.of {
            "" => self.what.stem().to_string(),
            of => format!("{}/{of}", self.what.stem()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_read_as_documented() {
        for (key, name) in [
            (Key::of(What::Ids, "sequence"), "ids/sequence"),
            (Key::of(What::P99, "http"), "p99_us/http"),
            (Key::of(What::Refused, "not_found"), "refused/not_found"),
            (Key::one(What::ReserveP99), "reserve_p99_us"),
            (Key::one(What::StoreUp), "store_up"),
        ] {
            assert_eq!(key.name(), name);
        }
    }
}
