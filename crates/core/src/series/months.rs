//! Steps of calendar months and years.
//!
//! Each value is counted from the first one, and its day is the last of its month where the month is too short: 31
//! January, 28 February, 31 March. Steps from value to value would stay at the 28th.

use crate::calendar::Date;

/// Values some months apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Months {
    /// The day that all are counted from.
    base: Date,
    /// From one to the next; negative: before `base`. Not 0.
    step: i64,
    count: u128,
    /// The last comes first.
    reversed: bool,
    /// How many a day counts.
    unit: i128,
    /// What is added to each after its days.
    rest: i128,
}

/// The numbers that a series of months lies between, and what they count.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) from: i128,
    pub(super) to: i128,
    /// How many of them a day has: 1 if they are days.
    pub(super) unit: i128,
    /// How far local days begin before those of UTC, in the same unit.
    pub(super) east: i128,
}

impl Months {
    /// The values between the bounds, as `Series` counts: up, or the rising ones reversed, or with a negative step
    /// from the first bound down; `None` where that leads away. `step` is not 0.
    pub(super) fn between(span: Span, step: i64) -> Option<Self> {
        let reversed = span.to < span.from && step > 0;
        if span.from < span.to && step < 0 {
            return None;
        }
        let (base, end) = if reversed {
            (span.to, span.from)
        } else {
            (span.from, span.to)
        };
        let local = base + span.east;
        let (day, of_day) = (local.div_euclid(span.unit), local.rem_euclid(span.unit));
        let mut months = Months {
            base: Date::from_day_number(i64::try_from(day).ok()?),
            step,
            count: 1,
            reversed: false,
            unit: span.unit,
            rest: of_day - span.east,
        };
        let end_day = i64::try_from((end + span.east).div_euclid(span.unit)).ok()?;
        let way = month_of(Date::from_day_number(end_day)) - month_of(months.base);
        let steps = way / step;
        let is_past = |value: i128| if step < 0 { value < end } else { value > end };
        months.count = steps as u128 + u128::from(!is_past(months.value(steps)));
        // A step longer than the way gives the first bound alone.
        if months.count <= 1 && reversed {
            return Self::between(
                Span {
                    to: span.from,
                    ..span
                },
                step,
            );
        }
        months.count = months.count.max(1);
        Some(Months { reversed, ..months })
    }

    pub(super) const fn count(&self) -> u128 {
        self.count
    }

    pub(super) fn at(&self, place: u128) -> i128 {
        assert!(place < self.count, "callers ask for what there is");
        self.value(self.steps_at(place) as i64)
    }

    pub(super) fn place_of(&self, value: i128) -> Option<u128> {
        let days = (value - self.rest).div_euclid(self.unit);
        let month = month_of(Date::from_day_number(i64::try_from(days).ok()?));
        let steps = u128::try_from((month - month_of(self.base)) / self.step).ok()?;
        let is_there = steps < self.count && self.value(steps as i64) == value;
        is_there.then(|| self.steps_at(steps))
    }

    /// From places to steps and back: the same where it goes up.
    const fn steps_at(&self, place: u128) -> u128 {
        match self.reversed {
            true => self.count - 1 - place,
            false => place,
        }
    }

    /// So many steps from the base.
    fn value(&self, steps: i64) -> i128 {
        let month = month_of(self.base) + steps * self.step;
        let (year, month) = (month.div_euclid(12), (month.rem_euclid(12) + 1) as u8);
        let day = (28..=self.base.day())
            .rev()
            .find_map(|day| Date::new(year, month, day))
            .or_else(|| Date::new(year, month, self.base.day()))
            .expect("a month has 28 days, and the years lie between the bounds");
        i128::from(day.day_number()) * self.unit + self.rest
    }
}

/// Months since the year 0 began.
const fn month_of(date: Date) -> i64 {
    date.year() * 12 + date.month() as i64 - 1
}
