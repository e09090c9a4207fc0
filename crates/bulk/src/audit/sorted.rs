//! What shows once all ids are in order: repeats, and the numbers that a sequence lost.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use super::reading::{Class, sequence_of};
use crate::error::Error;
use crate::input::Limits;
use crate::progress::{Phase, Watch, tell};
use crate::sort::{Record, Sorted};

/// An id and its place. The fields in this order put equal ids beside each other, in the order of the files.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct IdRecord {
    high: u64,
    low: u64,
    /// 6 bits of class, 10 of file, 48 of line.
    place: u64,
}

impl IdRecord {
    #[inline]
    pub(super) fn new(class: Class, identity: u128, file: usize, line: u64) -> IdRecord {
        IdRecord {
            high: (identity >> 64) as u64,
            low: identity as u64,
            place: u64::from(class.0) << 58 | (file as u64) << 48 | line & LINE,
        }
    }

    fn identity(self) -> u128 {
        u128::from(self.high) << 64 | u128::from(self.low)
    }

    fn class(self) -> Class {
        Class((self.place >> 58) as u8)
    }

    fn file(self) -> usize {
        (self.place >> 48 & 0x3ff) as usize
    }

    fn line(self) -> u64 {
        self.place & LINE
    }
}

const LINE: u64 = (1 << 48) - 1;
/// Records between two looks at whether anybody waits.
const LOOK_EVERY: u64 = 1 << 16;
/// So many files have room in a record.
pub(super) const FILES_MAX: usize = 1 << 10;

impl Record for IdRecord {
    const BYTES: usize = 24;

    fn put(&self, out: &mut [u8]) {
        out[..8].copy_from_slice(&self.high.to_be_bytes());
        out[8..16].copy_from_slice(&self.low.to_be_bytes());
        out[16..24].copy_from_slice(&self.place.to_be_bytes());
    }

    #[inline]
    fn get(from: &[u8]) -> IdRecord {
        let word = |at: usize| u64::from_be_bytes(*from[at..].first_chunk().expect("24 octets"));
        IdRecord {
            high: word(0),
            low: word(8),
            place: word(16),
        }
    }
}

/// Ids that stand more than once.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Debug)]
pub struct Repeats {
    /// How many different ids occur more than once.
    pub ids: u64,
    /// How many lines are too many.
    pub lines: u64,
    /// How many ids stand in more than one file.
    pub across_files: u64,
    /// The first 100, in the order of the ids.
    pub listed: Vec<Repeat>,
}

/// An id that occurs more than once.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct Repeat {
    /// Its canonical text, or where only a hash of it was kept the text at the first place; none where that flowed by.
    pub id: Option<String>,
    /// What it is.
    pub format: &'static str,
    /// How often it occurs.
    pub times: u64,
    /// Where, the first 20.
    pub places: Vec<String>,
    /// File and line of the first.
    #[serde(skip)]
    pub(super) at: (usize, u64),
}

/// The numbers of a sequence, and those that are missing.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct Numbers {
    /// The smallest.
    pub min: i128,
    /// The largest.
    pub max: i128,
    /// The step between neighbours.
    pub step: u64,
    /// How many different ones there are.
    pub distinct: u64,
    /// How many steps between smallest and largest have no number.
    pub lost: u64,
    /// In how many gaps.
    pub gaps: u64,
    /// The largest gaps, largest first.
    pub largest: Vec<NumberGap>,
}

impl Numbers {
    /// Whether they are spread so far that nothing counted them.
    pub(super) fn are_random(&self, ids: u64) -> bool {
        ids >= 16 && self.lost / ids > 1 << 40
    }
}

/// A gap of a sequence.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Debug)]
pub struct NumberGap {
    /// The number before it.
    pub after: i128,
    /// The number behind it.
    pub before: i128,
    /// How many are missing.
    pub lost: u64,
}

/// What the ordered ids showed.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Found {
    pub(super) repeats: Repeats,
    pub(super) numbers: Option<Numbers>,
    /// The most different ids of one millisecond, and that millisecond since 1970; of kinds whose values begin with it.
    pub(super) busiest_ms: Option<(u64, i64)>,
}

/// Goes through all ids in order.
pub(super) fn examine(
    mut sorted: Sorted<IdRecord>,
    files: &[String],
    millis_of: &dyn Fn(Class, u128) -> Option<i64>,
    limits: &Limits,
    watch: Watch<'_>,
) -> Result<Found, Error> {
    let mut found = Found::default();
    let mut gaps = Gaps::default();
    let total = sorted.count();
    let mut group: Option<(IdRecord, Group)> = None;
    let (mut millisecond, mut in_it) = (None, 0u64);
    let mut done = 0u64;
    while let Some(record) = sorted.next()? {
        done += 1;
        tell(watch, Phase::Sorting, done, Some(total), || done);
        if done.is_multiple_of(LOOK_EVERY) {
            limits.check("the input", 0)?;
        }
        if let Some((first, group)) = &mut group
            && (first.high, first.low) == (record.high, record.low)
            && first.class() == record.class()
        {
            group.add(*first, record, files);
            continue;
        }
        if let Some((first, group)) = group.take() {
            group.close(first, &mut found.repeats);
        }
        group = Some((record, Group::default()));
        let (class, identity) = (record.class(), record.identity());
        if class == Class::SEQUENCE {
            gaps.see(sequence_of(identity));
        } else if let Some(ms) = millis_of(class, identity) {
            if millisecond == Some(ms) {
                in_it += 1;
            } else {
                (millisecond, in_it) = (Some(ms), 1);
            }
            if found.busiest_ms.is_none_or(|(most, _)| in_it > most) {
                found.busiest_ms = Some((in_it, ms));
            }
        }
    }
    if let Some((first, group)) = group {
        group.close(first, &mut found.repeats);
    }
    found.numbers = gaps.result();
    Ok(found)
}

/// The lines of one id, from its second on.
#[derive(Default)]
struct Group {
    more: u64,
    places: Vec<String>,
    across: bool,
}

impl Group {
    #[cold]
    fn add(&mut self, first: IdRecord, record: IdRecord, files: &[String]) {
        let place = |record: IdRecord| {
            let name = files.get(record.file()).map_or("", String::as_str);
            format!("{name}:{}", record.line())
        };
        if self.places.is_empty() {
            self.places.push(place(first));
        }
        if self.places.len() < PLACES_MAX {
            self.places.push(place(record));
        }
        self.across |= record.file() != first.file();
        self.more += 1;
    }

    fn close(self, first: IdRecord, repeats: &mut Repeats) {
        if self.more == 0 {
            return;
        }
        repeats.ids += 1;
        repeats.lines += self.more;
        repeats.across_files += u64::from(self.across);
        if repeats.listed.len() < LISTED_MAX {
            repeats.listed.push(Repeat {
                id: first.class().text(first.identity()),
                format: first.class().name(),
                times: self.more + 1,
                places: self.places,
                at: (first.file(), first.line()),
            });
        }
    }
}

const LISTED_MAX: usize = 100;
const PLACES_MAX: usize = 20;

/// Follows the numbers of a sequence in order.
#[derive(Default)]
struct Gaps {
    min: i128,
    last: Option<i128>,
    distinct: u64,
    /// How often each distance was seen, as far as they are few.
    distances: HashMap<u128, u64>,
    more: u64,
    /// The last distance, and how often it came again.
    run: (u128, u64),
    divisor: u128,
    /// The largest distances with the number before them.
    largest: BTreeMap<(u128, i128), ()>,
}

impl Gaps {
    #[inline]
    fn see(&mut self, number: i128) {
        self.distinct += 1;
        let Some(last) = self.last.replace(number) else {
            self.min = number;
            return;
        };
        let distance = number.abs_diff(last);
        // Nearly always the step, which is known.
        if distance == self.run.0 && self.largest.len() == GAPS_LISTED {
            self.run.1 += 1;
        } else {
            self.note(distance, last);
        }
    }

    fn keep_run(&mut self) {
        let (distance, count) = std::mem::take(&mut self.run);
        if count > 0 {
            *self.distances.entry(distance).or_insert(0) += count;
        }
    }

    fn note(&mut self, distance: u128, last: i128) {
        self.keep_run();
        self.divisor = gcd(self.divisor, distance);
        let known = distance == self.divisor || self.distances.contains_key(&distance);
        if known || self.distances.len() < DISTANCES_MAX {
            *self.distances.entry(distance).or_insert(0) += 1;
            self.run = (distance, 0);
        } else {
            self.more += 1;
        }
        if self.largest.len() < GAPS_LISTED {
            self.largest.insert((distance, last), ());
        } else if let Some(least) = self.largest.first_key_value().map(|(key, ())| *key)
            && distance > least.0
        {
            self.largest.remove(&least);
            self.largest.insert((distance, last), ());
        }
    }

    fn result(mut self) -> Option<Numbers> {
        self.keep_run();
        let max = self.last?;
        let step = self.divisor.max(1);
        let steps = max.abs_diff(self.min) / step;
        let gaps = self.distances.iter().filter(|(distance, _)| **distance > step);
        let gaps: u64 = gaps.map(|(_, count)| count).sum();
        let largest = self
            .largest
            .into_keys()
            .rev()
            .filter(|(distance, _)| *distance > step);
        Some(Numbers {
            min: self.min,
            max,
            step: whole(step),
            distinct: self.distinct,
            lost: whole((steps + 1).saturating_sub(self.distinct.into())),
            gaps: gaps + self.more,
            largest: largest
                .map(|(distance, after)| NumberGap {
                    after,
                    before: after + distance as i128,
                    lost: whole(distance / step - 1),
                })
                .collect(),
        })
    }
}

/// All but the distance from a number below 0 to one above 2^63 fits.
fn whole(number: u128) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

const GAPS_LISTED: usize = 20;
const DISTANCES_MAX: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sort::Sorter;

    fn found(ids: &[(Class, u128, usize, u64)]) -> Found {
        let folder = tempfile::tempdir().unwrap();
        let mut sorter = Sorter::new(0, folder.path());
        for (class, identity, file, line) in ids {
            sorter
                .push(IdRecord::new(*class, *identity, *file, *line))
                .unwrap();
        }
        let files = ["a".to_string(), "b".to_string()];
        examine(
            sorter.finish().unwrap(),
            &files,
            &|_, _| None,
            &Limits::default(),
            &mut |_| {},
        )
        .unwrap()
    }

    #[test]
    fn repeats_are_found_with_their_lines_also_over_files() {
        let found = found(&[
            (Class::UUID, 7, 0, 3),
            (Class::UUID, 9, 0, 4),
            (Class::UUID, 7, 1, 1),
            (Class::UUID, 7, 0, 900),
            // The same number, another kind of id.
            (Class::SNOWFLAKE, 9, 0, 5),
        ]);
        let repeats = found.repeats;
        assert_eq!((repeats.ids, repeats.lines, repeats.across_files), (1, 2, 1));
        assert_eq!(repeats.listed[0].places, ["a:3", "a:900", "b:1"]);
        assert_eq!(
            repeats.listed[0].id.as_deref(),
            Some("00000000-0000-0000-0000-000000000007")
        );
    }

    fn numbers(numbers: impl Iterator<Item = i128>) -> Numbers {
        let sign = |n: i128| (n + (1 << 63)) as u128;
        let ids: Vec<_> = numbers
            .enumerate()
            .map(|(i, n)| (Class::SEQUENCE, sign(n), 0, i as u64))
            .collect();
        found(&ids).numbers.unwrap()
    }

    #[test]
    fn lost_numbers_and_gaps_are_counted_exactly() {
        let found = numbers((1..=10_000).filter(|n| ![5, 6, 7, 100, 9_000].contains(n)));
        assert_eq!(
            (found.min, found.max, found.step, found.lost, found.gaps),
            (1, 10_000, 1, 5, 3)
        );
        assert_eq!(
            found.largest[0],
            NumberGap {
                after: 4,
                before: 8,
                lost: 3
            }
        );
        assert_eq!(found.largest.len(), 3);
    }

    #[test]
    fn sequences_of_other_steps_and_signs_are_sequences() {
        let found = numbers((-50..50).map(|n| n * 10).filter(|n| *n != 0));
        assert_eq!(
            (found.min, found.max, found.step, found.lost, found.gaps),
            (-500, 490, 10, 1, 1)
        );
        let whole = numbers([i64::MIN, i64::MAX].into_iter().map(i128::from));
        assert_eq!((whole.lost, whole.gaps), (0, 0));
        assert_eq!(whole.step, u64::MAX);
    }

    #[test]
    fn many_different_gaps_are_still_counted() {
        let mut next = 0;
        let found = numbers((0..20_000).map(|i| {
            next += 1 + i;
            next
        }));
        assert_eq!((found.step, found.gaps), (1, 19_999));
    }
}
