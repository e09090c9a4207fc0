//! Numbers with a prefix, as invoices have: `VF/2016/10306`. Each prefix is a series of its own, with its own gaps.

use std::collections::HashMap;

use serde::Serialize;

/// A series of numbers behind one prefix.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct Series {
    /// What stands before the number.
    pub prefix: String,
    /// How many numbers it has.
    pub ids: u64,
    /// The smallest.
    pub first: u64,
    /// The largest.
    pub last: u64,
    /// How many between them are missing.
    pub lost: u64,
    /// In how many gaps.
    pub gaps: u64,
}

/// The series of a pile.
#[derive(Debug)]
pub(super) struct SeriesCount {
    by_prefix: HashMap<Vec<u8>, Vec<u64>>,
    numbers: usize,
    /// How many are kept.
    numbers_max: usize,
    /// Of those beyond that, or of more series than are told apart.
    not_kept: u64,
    /// Texts that end in no number.
    others: u64,
}

impl SeriesCount {
    /// Keeps numbers in a small part of an audit's memory.
    pub(super) fn within(memory_bytes: usize) -> SeriesCount {
        SeriesCount {
            by_prefix: HashMap::new(),
            numbers: 0,
            // 8 bytes each, three times that while a list grows.
            numbers_max: (memory_bytes / 32).clamp(NUMBERS_LEAST, NUMBERS_MAX),
            not_kept: 0,
            others: 0,
        }
    }

    /// Takes a text that no format claims; whether it ends in a number behind a prefix.
    pub(super) fn text(&mut self, text: &[u8]) -> bool {
        let digits = text.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        let (prefix, number) = text.split_at(text.len() - digits);
        let number = super::reading::number(number).filter(|_| (1..=18).contains(&digits) && sound(prefix));
        let Some(number) = number else {
            self.others += 1;
            return false;
        };
        self.numbers += 1;
        let has_room = self.numbers <= self.numbers_max;
        let is_small = self.by_prefix.len() < SERIES_MAX;
        match self.by_prefix.get_mut(prefix) {
            Some(numbers) if has_room => numbers.push(number),
            None if has_room && is_small => {
                self.by_prefix.insert(prefix.to_vec(), vec![number]);
            }
            _ => self.not_kept += 1,
        }
        true
    }

    /// Whether the texts are numbers with a prefix at all, and their series, most is missing first; none where not
    /// every number was kept, so that nobody can tell what is missing.
    pub(super) fn result(self) -> (bool, Vec<Series>) {
        let series = self.by_prefix.len() as u64 + self.not_kept.min(1);
        let numbers = self.numbers as u64;
        // Of as many prefixes as numbers none is a series.
        if numbers == 0 || self.others * 10 > numbers || series * 2 > numbers {
            return (false, Vec::new());
        }
        if self.not_kept > 0 {
            return (true, Vec::new());
        }
        let mut found: Vec<Series> = self
            .by_prefix
            .into_iter()
            .map(|(prefix, numbers)| series_of(prefix, numbers))
            .collect();
        found.sort_by(|a, b| b.lost.cmp(&a.lost).then_with(|| a.prefix.cmp(&b.prefix)));
        (true, found)
    }
}

/// A prefix has a letter, and nothing that a sentence has.
fn sound(prefix: &[u8]) -> bool {
    let one = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_/.#:".contains(byte);
    (1..=40).contains(&prefix.len()) && prefix.iter().all(one) && prefix.iter().any(u8::is_ascii_alphabetic)
}

fn series_of(prefix: Vec<u8>, mut numbers: Vec<u64>) -> Series {
    let ids = numbers.len() as u64;
    numbers.sort_unstable();
    numbers.dedup();
    let gaps = numbers.windows(2).filter(|pair| pair[1] - pair[0] > 1);
    let (gaps, lost) = gaps.fold((0, 0), |(gaps, lost), pair| {
        (gaps + 1, lost + pair[1] - pair[0] - 1)
    });
    Series {
        prefix: String::from_utf8_lossy(&prefix).into_owned(),
        ids,
        first: numbers.first().copied().unwrap_or(0),
        last: numbers.last().copied().unwrap_or(0),
        lost,
        gaps,
    }
}

/// How many series are told apart.
const SERIES_MAX: usize = 1000;
/// How many numbers are kept at most, and at least.
const NUMBERS_MAX: usize = 8 << 20;
const NUMBERS_LEAST: usize = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_told_for_each_prefix() {
        let mut count = SeriesCount::within(1 << 20);
        for text in [
            "VF/2016/10306",
            "VF/2016/10309",
            "VF/2016/10311",
            "VF/2017/1",
            "VF/2017/2",
            "VF/2017/2",
        ] {
            assert!(count.text(text.as_bytes()));
        }
        let (_, found) = count.result();
        assert_eq!(
            (found[0].prefix.as_str(), found[0].lost, found[0].gaps),
            ("VF/2016/", 3, 2)
        );
        assert_eq!(
            (found[1].first, found[1].last, found[1].lost, found[1].ids),
            (1, 2, 0, 3)
        );
    }

    #[test]
    fn more_numbers_than_are_kept_have_no_gaps_that_anybody_knows() {
        let mut count = SeriesCount::within(0);
        (0..=NUMBERS_LEAST).for_each(|at| assert!(count.text(format!("VF/{at}").as_bytes())));
        assert_eq!(count.result(), (true, Vec::new()));
    }

    #[test]
    fn words_are_no_series() {
        let mut count = SeriesCount::within(1 << 20);
        for text in ["hello", "order1", "x2", "no id: 7", "y9"] {
            count.text(text.as_bytes());
        }
        assert_eq!(count.result(), (false, Vec::new()));
    }
}
