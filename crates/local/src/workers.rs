//! Sets of workers as ranges, and their text: `0-1023` or `3,17,20-31`.

use std::fmt;
use std::str::FromStr;

/// A set of workers: ranges in ascending order that neither overlap nor touch.
///
/// ```
/// use mintage_local::workers::WorkerRanges;
/// let avoided: WorkerRanges = "3,17,20-31".parse()?;
/// assert!(avoided.contains(25) && !avoided.contains(19));
/// assert_eq!((avoided.count(), avoided.to_string().as_str()), (14, "3,17,20-31"));
/// assert_eq!("4, 2-3".parse::<WorkerRanges>()?.to_string(), "2-4");
/// assert_eq!(
///     "20-31,25".parse::<WorkerRanges>().unwrap_err().to_string(),
///     "workers 25 and 20-31 overlap: name each worker once"
/// );
/// # Ok::<(), mintage_local::workers::NotWorkers>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct WorkerRanges {
    /// First and last of each.
    ranges: Vec<(u64, u64)>,
}

/// Why a text names no set of workers.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NotWorkers {
    /// A part is neither a number nor a range.
    #[error("{0:?} is no worker and no range of workers: write 3 or 20-31, with commas between them")]
    Part(String),
    /// A range ends before it begins.
    #[error("workers {0}-{1} end before they begin: write {1}-{0}")]
    Backwards(u64, u64),
    /// Two parts share a worker.
    #[error("workers {0} and {1} overlap: name each worker once")]
    Overlap(String, String),
    /// More text than a record has room for.
    #[error(
        "workers in {0} characters of ranges, largest is {TEXT_MAX_BYTES}: join ranges that lie close together"
    )]
    TooLong(usize),
}

/// How long the text of a set may be: a pool's record holds two of them and its layout.
const TEXT_MAX_BYTES: usize = 4096;

impl WorkerRanges {
    /// No worker.
    pub const NONE: WorkerRanges = WorkerRanges { ranges: Vec::new() };

    /// The workers from `first` to `last`, both included; none, if `last` is below.
    pub fn span(first: u64, last: u64) -> WorkerRanges {
        let ranges = if first <= last {
            vec![(first, last)]
        } else {
            Vec::new()
        };
        WorkerRanges { ranges }
    }

    /// The workers of any list of them.
    ///
    /// ```
    /// use mintage_local::workers::WorkerRanges;
    /// assert_eq!(WorkerRanges::of([5, 1, 2, 5]).to_string(), "1-2,5");
    /// ```
    pub fn of(workers: impl IntoIterator<Item = u64>) -> WorkerRanges {
        joined(workers.into_iter().map(|worker| (worker, worker)).collect())
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.ranges.iter().fold(0, |count, (first, last)| {
            count.saturating_add((last - first).saturating_add(1))
        })
    }

    /// The lowest.
    pub fn first(&self) -> Option<u64> {
        self.ranges.first().map(|(first, _)| *first)
    }

    /// The highest.
    pub fn last(&self) -> Option<u64> {
        self.ranges.last().map(|(_, last)| *last)
    }

    /// Whether this worker is one of them.
    pub fn contains(&self, worker: u64) -> bool {
        let at = self.ranges.partition_point(|(_, last)| *last < worker);
        self.ranges.get(at).is_some_and(|(first, _)| *first <= worker)
    }

    /// Whether all of `others` are among them.
    pub fn contains_all(&self, others: &WorkerRanges) -> bool {
        others.without(self).is_empty()
    }

    /// These and those.
    pub fn with(&self, others: &WorkerRanges) -> WorkerRanges {
        joined(self.ranges.iter().chain(&others.ranges).copied().collect())
    }

    /// These, but none of those.
    ///
    /// ```
    /// use mintage_local::workers::WorkerRanges;
    /// let all = WorkerRanges::span(0, 9);
    /// assert_eq!(all.without(&"0,3-4,8-20".parse()?).to_string(), "1-2,5-7");
    /// # Ok::<(), mintage_local::workers::NotWorkers>(())
    /// ```
    pub fn without(&self, others: &WorkerRanges) -> WorkerRanges {
        let mut left = Vec::new();
        for (first, last) in &self.ranges {
            let mut next = Some(*first);
            let at = others.ranges.partition_point(|(_, end)| end < first);
            for (begin, end) in others.ranges[at..].iter().take_while(|(begin, _)| begin <= last) {
                if let Some(from) = next.filter(|from| from < begin) {
                    left.push((from, begin - 1));
                }
                next = end.checked_add(1);
            }
            if let Some(from) = next.filter(|from| from <= last) {
                left.push((from, *last));
            }
        }
        WorkerRanges { ranges: left }
    }

    /// Those that are in both.
    pub fn within(&self, others: &WorkerRanges) -> WorkerRanges {
        self.without(&self.without(others))
    }

    /// The `n`th from the lowest on, counted from 0.
    pub fn nth(&self, mut n: u64) -> Option<u64> {
        for (first, last) in &self.ranges {
            let more = last - first;
            if n <= more {
                return Some(first + n);
            }
            n -= more + 1;
        }
        None
    }

    /// In ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        self.ranges.iter().flat_map(|(first, last)| *first..=*last)
    }
}

/// Sorts ranges and joins those that overlap or touch.
fn joined(mut ranges: Vec<(u64, u64)>) -> WorkerRanges {
    ranges.sort_unstable();
    let mut joined: Vec<(u64, u64)> = Vec::new();
    for (first, last) in ranges {
        match joined.last_mut() {
            Some((_, end)) if first <= end.saturating_add(1) => *end = last.max(*end),
            _ => joined.push((first, last)),
        }
    }
    WorkerRanges { ranges: joined }
}

fn shown((first, last): (u64, u64)) -> String {
    match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    }
}

impl fmt::Display for WorkerRanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, range) in self.ranges.iter().enumerate() {
            let comma = if at > 0 { "," } else { "" };
            write!(f, "{comma}{}", shown(*range))?;
        }
        Ok(())
    }
}

impl fmt::Debug for WorkerRanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WorkerRanges({self})")
    }
}

impl FromStr for WorkerRanges {
    type Err = NotWorkers;

    fn from_str(text: &str) -> Result<WorkerRanges, NotWorkers> {
        if text.len() > TEXT_MAX_BYTES {
            return Err(NotWorkers::TooLong(text.len()));
        }
        let mut ranges = Vec::new();
        for part in text.split(',').filter(|_| !text.trim().is_empty()) {
            ranges.push(range_of(part.trim())?);
        }
        let mut sorted: Vec<_> = ranges.iter().copied().enumerate().collect();
        sorted.sort_unstable_by_key(|(_, range)| *range);
        for pair in sorted.windows(2) {
            let [(one, before), (other, after)] = pair else {
                continue;
            };
            if after.0 <= before.1 {
                // The later one first: that is the one to take out.
                let (late, early) = if one > other {
                    (before, after)
                } else {
                    (after, before)
                };
                return Err(NotWorkers::Overlap(shown(*late), shown(*early)));
            }
        }
        Ok(joined(ranges))
    }
}

fn range_of(part: &str) -> Result<(u64, u64), NotWorkers> {
    let bad = || NotWorkers::Part(part.chars().take(40).collect());
    let digits = |text: &str| -> Result<u64, NotWorkers> {
        // `+3` is a number to the parser, and none to us.
        let plain = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        text.parse().ok().filter(|_| plain).ok_or_else(bad)
    };
    let (first, last) = match part.split_once('-') {
        Some((first, last)) => (digits(first.trim())?, digits(last.trim())?),
        None => (digits(part)?, digits(part)?),
    };
    match first <= last {
        true => Ok((first, last)),
        false => Err(NotWorkers::Backwards(first, last)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> WorkerRanges {
        text.parse().unwrap()
    }

    #[test]
    fn texts_that_name_no_workers_are_refused_in_words() {
        for (text, why) in [
            ("3,,4", "\"\" is no worker"),
            ("a", "\"a\" is no worker"),
            ("-3", "\"-3\" is no worker"),
            ("+3", "\"+3\" is no worker"),
            ("1-2-3", "\"1-2-3\" is no worker"),
            ("18446744073709551616", "is no worker"),
            ("9-2", "workers 9-2 end before they begin: write 2-9"),
            ("3,3", "workers 3 and 3 overlap"),
            ("5-9,1-5", "workers 1-5 and 5-9 overlap"),
            ("0-100,7,50", "workers 7 and 0-100 overlap"),
        ] {
            let error = text.parse::<WorkerRanges>().unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
        let long = "1,".repeat(3000);
        let error = long.parse::<WorkerRanges>().unwrap_err().to_string();
        assert!(error.contains("6000 characters"), "{error}");
    }

    #[test]
    fn sets_agree_with_sets_of_single_workers() {
        use std::collections::BTreeSet;
        let texts = ["", "0", "3-9", "0-1,4,6-20", "5-6,8", "19-30", "0-30"];
        for one in texts {
            for other in texts {
                let (a, b) = (read(one), read(other));
                let set = |ranges: &WorkerRanges| ranges.iter().collect::<BTreeSet<u64>>();
                let (left, right) = (set(&a), set(&b));
                assert_eq!(set(&a.with(&b)), &left | &right, "{one} with {other}");
                assert_eq!(set(&a.without(&b)), &left - &right, "{one} without {other}");
                assert_eq!(set(&a.within(&b)), &left & &right, "{one} within {other}");
                assert_eq!(a.contains_all(&b), right.is_subset(&left), "{one}, {other}");
                assert_eq!(read(&a.with(&b).to_string()), a.with(&b));
                assert_eq!(a.count(), left.len() as u64);
                for (n, worker) in left.iter().enumerate() {
                    assert_eq!(a.nth(n as u64), Some(*worker));
                }
                assert_eq!(a.nth(a.count()), None);
                for worker in 0..=31 {
                    assert_eq!(a.contains(worker), left.contains(&worker), "{one}: {worker}");
                }
            }
        }
    }

    #[test]
    fn the_largest_numbers_overflow_nothing() {
        let all = WorkerRanges::span(0, u64::MAX);
        assert_eq!(all.count(), u64::MAX);
        assert!(all.without(&all).is_empty());
        assert_eq!(
            all.without(&WorkerRanges::of([u64::MAX])).last(),
            Some(u64::MAX - 1)
        );
        assert_eq!(all.with(&all), all);
    }
}
