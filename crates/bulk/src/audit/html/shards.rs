//! The page's section on evenness.

use std::fmt::Write as _;

use super::plot::bars;
use super::{count, escape};
use crate::audit::report::{Fault, Report};

pub(super) fn section_shards(report: &Report, page: &mut String) {
    let spreads = report.spreads();
    if spreads.is_empty() {
        return;
    }
    page.push_str("<section><h2>Shards</h2>");
    for (fault, what, spread) in spreads {
        let good = spread.even || report.on_purpose(fault);
        let _ = write!(
            page,
            "<p class=\"{}\">{} is {} (chi-square {:.1} with {} degrees of freedom; chance alone gives more in {:.1} of 100 cases).</p>",
            if good { "" } else { "bad" },
            escape(&what),
            escape(&spread.words),
            spread.chi_square,
            spread.shards - 1,
            spread.p * 100.0
        );
        let noun = if fault == Fault::Ranges { "range" } else { "shard" };
        if let (Fault::Ranges, Some(ranges)) = (fault, &report.ranges) {
            let _ = write!(page, "<p>{}.</p>", escape(&ranges.moving.words));
        }
        let (values, per_bar) = bars_of(&spread.counts, noun);
        let share = spread.counts.iter().sum::<u64>() as f64 / f64::from(spread.shards);
        let title = match per_bar {
            1 => format!("ids of each {noun}; the line is an even share"),
            _ => format!("ids of {per_bar} {noun}s each; the line is an even share"),
        };
        let share = share * per_bar as f64;
        page.push_str(&bars(&values, Some(share), &title));
    }
    if let Some(sequences) = &report.sequences {
        let _ = write!(
            page,
            "<p>{} ids have sequence 0; the largest sequence is {} of {}.</p>",
            count(sequences.zero),
            count(sequences.max),
            count(sequences.limit)
        );
    }
    page.push_str("</section>");
}

/// A bar for each shard, or for so many of them that follow each other that a screen has room for all.
fn bars_of(counts: &[u64], noun: &str) -> (Vec<(String, u64)>, usize) {
    let per_bar = counts.len().div_ceil(BARS_MAX).max(1);
    let bar = |(at, counts): (usize, &[u64])| {
        let first = at * per_bar;
        let name = match counts.len() {
            1 => format!("{noun} {first}"),
            many => format!("{noun}s {first} to {}", first + many - 1),
        };
        (name, counts.iter().sum())
    };
    (counts.chunks(per_bar).enumerate().map(bar).collect(), per_bar)
}

/// So many bars have room beside each other.
const BARS_MAX: usize = 512;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_is_in_a_bar_and_there_are_never_too_many() {
        for shards in [2, 16, 512, 513, 1000, 65_536] {
            let (bars, per_bar) = bars_of(&vec![3; shards], "shard");
            assert!(bars.len() <= BARS_MAX, "{shards}");
            assert_eq!(bars.iter().map(|(_, ids)| ids).sum::<u64>(), 3 * shards as u64);
            assert_eq!(per_bar == 1, shards <= BARS_MAX);
        }
        let (bars, _) = bars_of(&[1; 1000], "range");
        assert_eq!((bars[1].0.as_str(), bars.len()), ("ranges 2 to 3", 500));
    }
}
