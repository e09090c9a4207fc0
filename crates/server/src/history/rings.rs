//! What is kept: each series three times, by the second, by ten seconds and by the minute, in rings of fixed length.

use std::collections::BTreeMap;

use super::series::{Fold, Key};

/// How far back a ring reaches, and in what steps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Span {
    /// What it is called in requests.
    pub(crate) range: &'static str,
    /// The seconds from one point to the next.
    pub(crate) step_s: u32,
    points: usize,
}

/// The rings, the shortest first.
pub(crate) const SPANS: [Span; 3] = [
    Span {
        range: "10m",
        step_s: 1,
        points: 600,
    },
    Span {
        range: "2h",
        step_s: 10,
        points: 720,
    },
    Span {
        range: "24h",
        step_s: 60,
        points: 1440,
    },
];

/// All series over all spans. Four bytes for each value; not known is NaN.
#[derive(Debug)]
pub(crate) struct Rings {
    /// Where each series stands.
    places: BTreeMap<Key, usize>,
    keys: Vec<Key>,
    rings: [Ring; SPANS.len()],
    /// The second that is being kept, by series.
    now: Vec<f32>,
}

/// What a ring shows.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Shown {
    pub(crate) step_s: u32,
    pub(crate) until_ms: i64,
    pub(crate) series: BTreeMap<String, Vec<Option<f32>>>,
}

impl Default for Rings {
    fn default() -> Rings {
        Rings {
            places: BTreeMap::new(),
            keys: Vec::new(),
            rings: SPANS.map(Ring::new),
            now: Vec::new(),
        }
    }
}

impl Rings {
    /// Keeps what was measured `seconds` after what was kept last; of those in between nothing is known.
    ///
    /// A series begins with its first value.
    pub(crate) fn keep(&mut self, seconds: u64, at_ms: i64, values: &[(Key, f64)]) {
        for ring in &mut self.rings {
            ring.pass_over(seconds.saturating_sub(1), &self.keys, at_ms);
        }
        for (key, _) in values {
            if !self.places.contains_key(key) {
                self.places.insert(*key, self.keys.len());
                self.keys.push(*key);
                self.rings.iter_mut().for_each(|ring| ring.begin(*key));
            }
        }
        self.now.clear();
        let absent = |key: &Key| if key.what.is_counted() { 0.0 } else { f32::NAN };
        self.now.extend(self.keys.iter().map(absent));
        for (key, value) in values {
            self.now[self.places[key]] = *value as f32;
        }
        for ring in &mut self.rings {
            ring.second(&self.keys, Some(&self.now), at_ms);
        }
    }

    /// One of [`SPANS`] in full, the oldest value first.
    pub(crate) fn shown(&self, span: usize) -> Shown {
        let ring = &self.rings[span];
        let series = self.places.iter();
        Shown {
            step_s: ring.span.step_s,
            until_ms: ring.until_ms,
            series: series
                .map(|(key, at)| (key.name(), ring.in_order(&ring.columns[*at]).collect()))
                .collect(),
        }
    }

    /// How much memory the values take.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        let columns = self.rings.iter().flat_map(|ring| &ring.columns);
        let values: usize = columns.map(|column| size_of_val(&**column)).sum();
        let folding = self.rings.len() * self.keys.len() * size_of::<Folding>();
        let known: usize = self.rings.iter().map(|ring| ring.known.len()).sum();
        values + folding + known + self.keys.len() * 3 * size_of::<Key>()
    }
}

#[derive(Debug)]
struct Ring {
    span: Span,
    /// Where the next point goes.
    next: usize,
    /// How many points there are.
    filled: usize,
    /// When the last point ended.
    until_ms: i64,
    columns: Vec<Box<[f32]>>,
    /// At which points anything was measured.
    known: Box<[bool]>,
    /// The point that is being made.
    folding: Vec<Folding>,
    /// The seconds of it that have passed, and those of which anything is known.
    passed: u32,
    measured: u32,
}

impl Ring {
    fn new(span: Span) -> Ring {
        Ring {
            span,
            next: 0,
            filled: 0,
            until_ms: 0,
            columns: Vec::new(),
            known: vec![false; span.points].into(),
            folding: Vec::new(),
            passed: 0,
            measured: 0,
        }
    }

    /// One more series. What is counted was 0 until now, as far as anything was measured.
    fn begin(&mut self, key: Key) {
        let counted = key.what.is_counted();
        let before = self
            .known
            .iter()
            .map(|known| if counted && *known { 0.0 } else { f32::NAN });
        self.columns.push(before.collect());
        let mut folding = Folding::default();
        if counted {
            (0..self.measured).for_each(|_| folding.add(0.0));
        }
        self.folding.push(folding);
    }

    /// So many seconds of which nothing is known.
    fn pass_over(&mut self, seconds: u64, keys: &[Key], at_ms: i64) {
        if seconds >= u64::from(self.span.step_s) * self.span.points as u64 {
            (self.filled, self.passed, self.measured) = (0, 0, 0);
            self.known.fill(false);
            self.folding.fill(Folding::default());
            return;
        }
        (0..seconds).for_each(|_| self.second(keys, None, at_ms));
    }

    fn second(&mut self, keys: &[Key], values: Option<&[f32]>, at_ms: i64) {
        self.passed += 1;
        if let Some(values) = values {
            self.measured += 1;
            let known = self
                .folding
                .iter_mut()
                .zip(values)
                .filter(|(_, value)| !value.is_nan());
            known.for_each(|(folding, value)| folding.add(*value));
        }
        if self.passed == self.span.step_s {
            self.end_point(keys, at_ms);
        }
    }

    fn end_point(&mut self, keys: &[Key], at_ms: i64) {
        let at = self.next;
        for (key, (column, folding)) in keys.iter().zip(self.columns.iter_mut().zip(&mut self.folding)) {
            column[at] = std::mem::take(folding).folded(key.what.fold());
        }
        self.known[at] = self.measured > 0;
        self.next = (at + 1) % self.span.points;
        self.filled = (self.filled + 1).min(self.span.points);
        self.until_ms = at_ms;
        (self.passed, self.measured) = (0, 0);
    }

    fn in_order<'c>(&self, column: &'c [f32]) -> impl Iterator<Item = Option<f32>> + use<'c> {
        let (points, filled) = (self.span.points, self.filled);
        let first = self.next + points - filled;
        (0..filled)
            .map(move |at| column[(first + at) % points])
            .map(|value| Some(value).filter(|value| !value.is_nan()))
    }
}

/// Values that become one.
#[derive(Clone, Copy, Default, Debug)]
struct Folding {
    count: u32,
    sum: f64,
    min: f32,
    max: f32,
    last: f32,
}

impl Folding {
    fn add(&mut self, value: f32) {
        let is_first = self.count == 0;
        self.min = if is_first { value } else { self.min.min(value) };
        self.max = if is_first { value } else { self.max.max(value) };
        self.count += 1;
        self.sum += f64::from(value);
        self.last = value;
    }

    fn folded(self, fold: Fold) -> f32 {
        match fold {
            _ if self.count == 0 => f32::NAN,
            Fold::Mean => (self.sum / f64::from(self.count)) as f32,
            Fold::Max => self.max,
            Fold::Min => self.min,
            Fold::Last => self.last,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::series::What;
    use super::*;

    const IDS: Key = Key::of(What::Ids, "sequence");
    const P99: Key = Key::of(What::P99, "http");
    const BUDGET: Key = Key::one(What::BudgetLeft);

    fn series(rings: &Rings, span: usize, key: Key) -> Vec<Option<f32>> {
        rings.shown(span).series[&key.name()].clone()
    }

    #[test]
    fn seconds_that_nobody_measured_are_not_known() {
        let mut rings = Rings::default();
        rings.keep(1, 1000, &[(IDS, 7.0)]);
        rings.keep(3, 4000, &[(IDS, 9.0), (P99, 5.0)]);
        rings.keep(1, 5000, &[]);
        let shown = rings.shown(0);
        assert_eq!((shown.step_s, shown.until_ms), (1, 5000));
        assert_eq!(
            shown.series["ids/sequence"],
            [Some(7.0), None, None, Some(9.0), Some(0.0)]
        );
        assert_eq!(shown.series["p99_us/http"], [None, None, None, Some(5.0), None]);
    }

    #[test]
    fn what_is_counted_was_0_before_its_first_value() {
        let mut rings = Rings::default();
        for second in 0..14 {
            rings.keep(1, second, &[(BUDGET, 60.0)]);
        }
        rings.keep(1, 14, &[(IDS, 5.0)]);
        for second in 15..20 {
            rings.keep(1, second, &[]);
        }
        assert_eq!(series(&rings, 1, IDS), [Some(0.0), Some(0.5)]);
        assert_eq!(series(&rings, 0, IDS)[..2], [Some(0.0), Some(0.0)]);
    }

    #[test]
    fn coarser_points_keep_the_mean_of_rates_and_the_worst_of_the_rest() {
        let mut rings = Rings::default();
        for second in 0..60 {
            let at = f64::from(second);
            rings.keep(1, 0, &[(IDS, at), (P99, at), (BUDGET, 100.0 - at)]);
        }
        for (key, coarse) in [(IDS, 29.5), (P99, 59.0), (BUDGET, 41.0)] {
            assert_eq!(series(&rings, 2, key), [Some(coarse)], "{}", key.name());
        }
        assert_eq!(series(&rings, 1, IDS)[..2], [Some(4.5), Some(14.5)]);
    }

    #[test]
    fn a_point_that_is_known_in_part_is_known() {
        let mut rings = Rings::default();
        rings.keep(1, 0, &[(IDS, 6.0)]);
        rings.keep(15, 0, &[(IDS, 8.0)]);
        assert_eq!(series(&rings, 1, IDS), [Some(6.0)]);
    }

    #[test]
    fn the_oldest_is_forgotten_and_a_long_gap_forgets_all() {
        let mut rings = Rings::default();
        for second in 0..700 {
            rings.keep(1, second, &[(IDS, second as f64)]);
        }
        let kept = series(&rings, 0, IDS);
        assert_eq!((kept.len(), kept[0], kept[599]), (600, Some(100.0), Some(699.0)));
        rings.keep(100_000, 0, &[(IDS, 1.0)]);
        assert_eq!(series(&rings, 0, IDS), [Some(1.0)]);
        assert_eq!(series(&rings, 2, IDS), []);
    }
}
