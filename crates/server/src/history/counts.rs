//! What was counted until a moment, and what came of it since another one.

use std::sync::atomic::Ordering;

use mintage_ledger::{Counters, RESERVE_BUCKETS_US};

use super::quantile::quantile;
use super::series::{Key, What};
use crate::error::CODES;
use crate::metrics::{FaceId, IdKind, Metrics, REQUEST_BUCKETS_US};

/// A face, as series name it.
pub(crate) type NamedFace = (FaceId, &'static str);

/// Counters as they stood at one moment.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Counts {
    ids: [u64; IdKind::ALL.len()],
    refused: [u64; CODES_LEN],
    reserved: [u64; RESERVE_BUCKETS_US.len() + 1],
    faces: Vec<FaceCounts>,
}

/// Those of a face.
#[derive(Clone, PartialEq, Debug)]
struct FaceCounts {
    name: &'static str,
    requests: u64,
    durations: [u64; REQUEST_BUCKETS_US.len() + 1],
}

const CODES_LEN: usize = CODES.len();

impl Counts {
    /// As they stood when the process began.
    pub(crate) fn at_the_start(faces: &[NamedFace]) -> Counts {
        let of = |(_, name): &NamedFace| FaceCounts {
            name,
            requests: 0,
            durations: [0; REQUEST_BUCKETS_US.len() + 1],
        };
        Counts {
            ids: [0; IdKind::ALL.len()],
            refused: [0; CODES_LEN],
            reserved: [0; RESERVE_BUCKETS_US.len() + 1],
            faces: faces.iter().map(of).collect(),
        }
    }

    /// As they stand now. Reads what serving threads write, and waits for none of them.
    pub(crate) fn now(metrics: &Metrics, ledger: &Counters, faces: &[NamedFace]) -> Counts {
        let of = |(id, name): &NamedFace| FaceCounts {
            name,
            requests: metrics.requests(*id),
            durations: metrics.durations(*id).0,
        };
        Counts {
            ids: IdKind::ALL.map(|kind| metrics.ids(kind)),
            refused: std::array::from_fn(|at| metrics.refused(CODES[at].code)),
            reserved: ledger
                .reserve_buckets
                .each_ref()
                .map(|bucket| bucket.load(Ordering::Relaxed)),
            faces: faces.iter().map(of).collect(),
        }
    }

    /// Rates and durations of the time from `before` until this, which was so long; what there was none of is left out.
    pub(crate) fn since(&self, before: &Counts, span_s: f64) -> Vec<(Key, f64)> {
        let mut values = Vec::new();
        let mut rate = |key: Key, now: u64, before: u64| {
            let count = now.wrapping_sub(before);
            if count > 0 && span_s > 0.0 {
                values.push((key, count as f64 / span_s));
            }
        };
        for (at, kind) in IdKind::ALL.iter().enumerate() {
            rate(Key::of(What::Ids, kind.as_str()), self.ids[at], before.ids[at]);
        }
        for (at, row) in CODES.iter().enumerate() {
            rate(
                Key::of(What::Refused, row.name),
                self.refused[at],
                before.refused[at],
            );
        }
        let faces = || self.faces.iter().zip(&before.faces);
        for (now, before) in faces() {
            rate(Key::of(What::Requests, now.name), now.requests, before.requests);
        }
        for (now, before) in faces() {
            let took = |what, share| {
                let counts = minus(&now.durations, &before.durations);
                Some((
                    Key::of(what, now.name),
                    quantile(&REQUEST_BUCKETS_US, &counts, share)?,
                ))
            };
            values.extend(
                [took(What::P50, 0.5), took(What::P99, 0.99)]
                    .into_iter()
                    .flatten(),
            );
        }
        let reserved = minus(&self.reserved, &before.reserved);
        let took = |what, share| Some((Key::one(what), quantile(&RESERVE_BUCKETS_US, &reserved, share)?));
        let took = [took(What::ReserveP50, 0.5), took(What::ReserveP99, 0.99)];
        values.extend(took.into_iter().flatten());
        values
    }

    /// How many refusals there were since `before`, by code.
    pub(crate) fn refused_since(&self, before: &Counts) -> Vec<(&'static str, u64)> {
        let all = CODES.iter().zip(self.refused.iter().zip(&before.refused));
        all.map(|(row, (now, before))| (row.name, now.wrapping_sub(*before)))
            .filter(|(_, count)| *count > 0)
            .collect()
    }
}

fn minus<const N: usize>(now: &[u64; N], before: &[u64; N]) -> [u64; N] {
    std::array::from_fn(|at| now[at].wrapping_sub(before[at]))
}

/// What is not counted, and is so at a moment.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Gauges {
    pub(crate) connections: Vec<(&'static str, u64)>,
    pub(crate) budget_left_s: Option<f64>,
    pub(crate) clock_offset_s: f64,
    pub(crate) clock_steps: u64,
    pub(crate) lost: u64,
    pub(crate) store_up: bool,
}

impl Gauges {
    /// As values of series; counts of 0 are left out.
    pub(crate) fn values(&self) -> Vec<(Key, f64)> {
        let totals = [(What::ClockSteps, self.clock_steps), (What::Lost, self.lost)];
        let counts = totals.map(|(what, count)| (Key::one(what), count));
        let open = self
            .connections
            .iter()
            .map(|(face, open)| (Key::of(What::Connections, face), *open));
        let counts = counts.into_iter().chain(open).filter(|(_, count)| *count > 0);
        let mut values: Vec<(Key, f64)> = counts.map(|(key, count)| (key, count as f64)).collect();
        values.push((Key::one(What::ClockOffset), self.clock_offset_s));
        values.push((Key::one(What::StoreUp), f64::from(u8::from(self.store_up))));
        values.extend(self.budget_left_s.map(|left| (Key::one(What::BudgetLeft), left)));
        values
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::error::Code;

    #[test]
    fn rates_are_what_came_in_a_second_and_durations_of_what_came_alone() {
        let (metrics, ledger) = (Metrics::default(), Counters::default());
        let (thread, face) = (metrics.thread(), FaceId::new(1));
        let now = || Counts::now(&metrics, &ledger, &[(face, "resp")]);
        thread.answered(face, 100, Duration::from_secs(60));
        let before = now();
        assert_eq!(before.since(&before, 1.0), []);
        thread.ids(IdKind::Sequence, 30);
        thread.requests(face, 10);
        thread.answered(face, 10, Duration::from_micros(10));
        thread.refused(Code::NotFound);
        let values = now().since(&before, 2.0);
        assert_eq!(
            values,
            [
                (Key::of(What::Ids, "sequence"), 15.0),
                (Key::of(What::Refused, "not_found"), 0.5),
                (Key::of(What::Requests, "resp"), 5.0),
                (Key::of(What::P50, "resp"), 25.0),
                (Key::of(What::P99, "resp"), 49.5),
            ]
        );
        assert_eq!(now().refused_since(&before), [("not_found", 1)]);
    }

    #[test]
    fn what_is_known_to_be_nothing_is_told_apart_from_what_is_not_known() {
        let names =
            |gauges: &Gauges| -> Vec<String> { gauges.values().iter().map(|(key, _)| key.name()).collect() };
        let mut gauges = Gauges::default();
        assert_eq!(names(&gauges), ["clock_offset_s", "store_up"]);
        (gauges.budget_left_s, gauges.lost) = (Some(0.0), 5);
        assert_eq!(
            names(&gauges),
            ["lost", "clock_offset_s", "store_up", "budget_left_s"]
        );
    }
}
