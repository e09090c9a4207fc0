//! The rates of the busiest sequences over the last minutes: what a small curve beside a name shows.

use std::collections::{HashMap, VecDeque};

/// The rates of so many sequences are kept.
pub(crate) const NAMES_MAX: usize = 1000;
/// So many of each.
const POINTS: usize = 30;
/// The seconds from one to the next.
pub(crate) const STEP_S: u64 = 10;

/// Rates by name, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct Recent {
    rates: HashMap<String, VecDeque<f32>>,
}

impl Recent {
    /// Keeps the rates of the busiest, the busiest first. One that is not among them any more goes on with 0, and is
    /// forgotten when that is all that is left of it, or when there is no place for it.
    pub(crate) fn keep<'n>(&mut self, busiest: impl Iterator<Item = (&'n str, f64)>) {
        for rates in self.rates.values_mut() {
            push(rates, 0.0);
        }
        for (name, rate) in busiest.filter(|(_, rate)| *rate > 0.0).take(NAMES_MAX) {
            match self.rates.get_mut(name) {
                Some(rates) => *rates.back_mut().expect("one was pushed") = rate as f32,
                None => push(self.rates.entry(name.to_string()).or_default(), rate as f32),
            }
        }
        self.rates.retain(|_, rates| rates.iter().any(|rate| *rate > 0.0));
        self.let_surplus_go();
    }

    fn let_surplus_go(&mut self) {
        let surplus = self.rates.len().saturating_sub(NAMES_MAX);
        if surplus == 0 {
            return;
        }
        let mut idle: Vec<(f32, String)> = self
            .rates
            .iter()
            .map(|(name, rates)| (rates.back().copied().unwrap_or_default(), name.clone()))
            .collect();
        idle.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        for (_, name) in &idle[..surplus] {
            self.rates.remove(name);
        }
    }

    /// Those of a name; none where none are known.
    pub(crate) fn of(&self, name: &str) -> Vec<f32> {
        let kept = self.rates.get(name);
        kept.map(|rates| rates.iter().copied().collect())
            .unwrap_or_default()
    }

    /// How much memory they take at most.
    #[cfg(test)]
    pub(crate) const BYTES_MAX: usize =
        2 * NAMES_MAX * (size_of::<(String, VecDeque<f32>)>() + 256 + 2 * POINTS * size_of::<f32>());
}

fn push(rates: &mut VecDeque<f32>, rate: f32) {
    if rates.len() == POINTS {
        rates.pop_front();
    }
    rates.push_back(rate);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_of_the_busiest_are_kept_for_five_minutes() {
        let mut recent = Recent::default();
        for step in 1..=40 {
            recent.keep([("orders", f64::from(step))].into_iter());
        }
        let kept = recent.of("orders");
        assert_eq!((kept.len(), kept[0], kept[29]), (30, 11.0, 40.0));
        recent.keep([("bills", 2.0), ("idle", 0.0)].into_iter());
        assert_eq!(recent.of("orders").last(), Some(&0.0));
        assert_eq!((recent.of("bills"), recent.of("idle")), (vec![2.0], vec![]));
        for _ in 0..30 {
            recent.keep(std::iter::empty());
        }
        assert!(recent.rates.is_empty());
    }

    #[test]
    fn a_thousand_names_are_kept_and_of_more_the_busy_ones() {
        let mut recent = Recent::default();
        let names: Vec<String> = (0..3000).map(|n| format!("n{n}")).collect();
        for round in names.chunks(1500) {
            recent.keep(round.iter().map(|name| (name.as_str(), 1.0)));
            assert_eq!(recent.rates.len(), NAMES_MAX);
            assert_eq!(recent.of(&round[0]), [1.0]);
        }
    }
}
