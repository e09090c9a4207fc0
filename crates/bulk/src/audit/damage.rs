//! What spreadsheets, floating-point numbers and editors have done to the ids of a column.
//!
//! One value shows some of it by itself: an exponent, an apostrophe. Most shows in many: of numbers by chance one in a
//! thousand ends in three zeros, and of doubles every one.

use std::collections::BTreeMap;

use serde::Serialize;

/// A kind of damage in a column.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct Damaged {
    /// How many ids have it.
    pub ids: u64,
    /// What was done, and what can be had back.
    pub words: String,
    /// Where the first is, where it shows in one alone.
    pub first: Option<String>,
}

/// Counts what the ids of a pile show of damage.
#[derive(Debug)]
pub(super) struct DamageCount {
    /// By cause: how many, where the first is, and what it says.
    texts: BTreeMap<&'static str, (u64, String, String)>,
    /// Of numbers above 2^53: how many, by zeros at their end in decimal (4 is 4 and more).
    decimal: [u64; 5],
    /// The same by zero bits at their end.
    binary: [u64; 65],
    large: u64,
    /// The fewest digits that any has.
    digits: u32,
}

impl Default for DamageCount {
    fn default() -> DamageCount {
        DamageCount {
            texts: BTreeMap::new(),
            decimal: [0; 5],
            binary: [0; 65],
            large: 0,
            digits: 20,
        }
    }
}

impl DamageCount {
    /// Takes a text that no format claims; whether a tool's damage shows in it.
    #[cold]
    pub(super) fn text(&mut self, text: &str, place: impl FnOnce() -> String) -> bool {
        let Some(damage) = mintage::damage(text) else {
            return false;
        };
        let cause = self
            .texts
            .entry(damage.cause)
            .or_insert_with(|| (0, place(), damage.words));
        cause.0 += 1;
        true
    }

    /// Takes a number that an id is.
    #[inline]
    pub(super) fn number(&mut self, number: u64) {
        if number >> 53 == 0 {
            return;
        }
        self.large += 1;
        let low = number.trailing_zeros();
        self.binary[low as usize] += 1;
        // Of whole seconds since a round epoch, sound ids end in zeros of both kinds; what is cut in decimal, hardly.
        if low < OWN_ZEROS && number.is_multiple_of(10) {
            self.zeros(number);
        }
        if self.digits > 16 && number < 1_000_000_000_000_000_000 {
            self.digits = self.digits.min(number.ilog10() + 1);
        }
    }

    fn zeros(&mut self, mut number: u64) {
        let mut zeros = 0;
        while zeros < 4 && number.is_multiple_of(10) {
            number /= 10;
            zeros += 1;
        }
        self.decimal[zeros] += 1;
    }

    /// What was done to them. `own_zeros`: how many low bits of an id are its sequence, which is 0 for most.
    pub(super) fn result(self, own_zeros: u32) -> Vec<Damaged> {
        let of_numbers = self.of_decimal().or_else(|| self.of_binary(own_zeros));
        let of_texts = self.texts.into_iter().map(|(_, (ids, first, words))| Damaged {
            ids,
            words,
            first: Some(first),
        });
        of_texts.chain(of_numbers).collect()
    }

    /// Zeros at the end in decimal: of one number in ten by chance, in a hundred, in a thousand.
    fn of_decimal(&self) -> Option<Damaged> {
        let least = |zeros: usize| self.decimal[zeros..].iter().sum::<u64>();
        // Of multiples of a power of two, as ids with a sequence of 0 are, one in 5, 25, 125 ends in so many zeros.
        let many =
            |zeros: usize, chance: u64| least(zeros) >= FEWEST && least(zeros) * chance > self.large * 3;
        // A spreadsheet leaves 15 digits of each; the shortest text of a double has 16 or 17.
        let two = self.decimal[2] * 5 > least(3);
        let (zeros, words) = if many(3, 125) && !two {
            (
                3,
                "end in three zeros or more, as 15 digits and zeros do, which is what a spreadsheet leaves of \
                longer numbers: the last \
                 digits are lost, and with them the sequence; a Snowflake's time is left",
            )
        } else if many(2, 25) || self.digits < 19 && many(1, 5) {
            (
                if many(2, 25) { 2 } else { 1 },
                "end in zeros, as JavaScript, PHP and pandas print the nearest double of a number above 2^53: \
                the last digits are lost; \
                 read them from the source as text",
            )
        } else {
            return None;
        };
        Some(self.said(least(zeros), words.into()))
    }

    /// Zero bits at the end: as many as a double of that size cannot hold, and fewer than the sequence has.
    fn of_binary(&self, own_zeros: u32) -> Option<Damaged> {
        let spacing = 7;
        let within = |range: std::ops::Range<usize>| self.binary[range].iter().sum::<u64>();
        let rounded = within(spacing..(own_zeros as usize).clamp(spacing, 64));
        let all = within(spacing..65) == self.large;
        let told = rounded >= FEWEST && (all || rounded * 50 > self.large);
        let words = format!(
            "are multiples of {}, as a double of that size is: rounded to the nearest one, so that the last \
            bits are lost; by chance one in \
             {0} is",
            1u64 << spacing
        );
        told.then(|| self.said(if all { self.large } else { rounded }, words))
    }

    fn said(&self, ids: u64, words: String) -> Damaged {
        Damaged {
            ids,
            words: format!(
                "{} {words}",
                if ids == self.large {
                    "all".to_string()
                } else {
                    format!("of {} large numbers {ids}", self.large)
                }
            ),
            first: None,
        }
    }
}

/// As many low bits as most layouts have for the sequence.
const OWN_ZEROS: u32 = 12;
/// From so many on, chance is no explanation.
const FEWEST: u64 = 10;

#[cfg(test)]
mod tests {
    use super::*;

    fn found(numbers: impl Iterator<Item = u64>) -> Vec<Damaged> {
        let mut count = DamageCount::default();
        numbers.for_each(|number| count.number(number));
        count.result(12)
    }

    /// Snowflakes of one millisecond after another, whose sequences are as busy as `busy` says.
    fn snowflakes(busy: u64) -> impl Iterator<Item = u64> {
        (0..1000u64).map(move |at| {
            (500_000_000_000 + at * 977) << 22 | 3 << 12 | (at.wrapping_mul(0x9e37_79b9) % busy)
        })
    }

    #[test]
    fn sound_numbers_show_no_damage() {
        for busy in [1, 8, 4096] {
            assert_eq!(found(snowflakes(busy)), [], "{busy}");
        }
        assert_eq!(found(1..100_000), []);
    }

    #[test]
    fn each_damage_shows_in_a_column_and_in_a_part_of_one() {
        let spreadsheet = |id: u64| id / 10_000 * 10_000;
        let javascript = |id: u64| (id as f64).to_string().parse().unwrap();
        let rounded = |id: u64| id as f64 as u64;
        let says: [(&dyn Fn(u64) -> u64, &str); 3] = [
            (&spreadsheet, "spreadsheet"),
            (&javascript, "JavaScript"),
            (&rounded, "multiples of"),
        ];
        for (damage, words) in says {
            let all = found(snowflakes(4096).map(damage));
            assert!(all.len() == 1 && all[0].words.contains(words), "{words}: {all:?}");
            let part = found(
                snowflakes(4096)
                    .enumerate()
                    .map(|(at, id)| if at % 7 == 0 { damage(id) } else { id }),
            );
            assert!(
                part.len() == 1 && part[0].words.contains(words),
                "{words}: {part:?}"
            );
            assert!((100..300).contains(&part[0].ids), "{part:?}");
        }
    }

    #[test]
    fn ids_of_whole_seconds_since_a_round_epoch_are_sound() {
        let seconds = (0..1000u64).map(|at| ((200_000_000 + at) * 1000) << 22);
        assert_eq!(found(seconds.clone()), []);
        assert_eq!(found(seconds.map(|id| id | 3 << 12)), []);
    }
}
