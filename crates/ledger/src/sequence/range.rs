//! Runs of numbers and where they lie in their sequence; lines of them, and what is taken out of a line.

use std::collections::VecDeque;

use mintage::Run;

pub(crate) use crate::range::Range;

/// A block of numbers that this process holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeldBlock {
    /// What is left of it; `first` is the next number even where nothing is left.
    pub left: Run,
    /// How many numbers it had.
    pub size: u64,
}

impl From<&Range> for HeldBlock {
    fn from(range: &Range) -> HeldBlock {
        HeldBlock {
            left: range.run,
            size: range.run.count,
        }
    }
}

/// How many numbers are asked for, and whether as one run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ask {
    pub(crate) n: u64,
    pub(crate) contiguous: bool,
}

impl Ask {
    /// Whether these can answer it, in part at least where that is allowed.
    pub(super) fn fits(self, range: &Range) -> bool {
        !self.contiguous || range.run.count >= self.n
    }
}

/// How many numbers they are.
pub(super) fn total<'a>(ranges: impl IntoIterator<Item = &'a Range>) -> u64 {
    let counts = ranges.into_iter().map(|range| range.run.count);
    counts.fold(0, u64::saturating_add)
}

/// Adds a range behind the others; to the last, where they touch.
pub(super) fn push(line: &mut VecDeque<Range>, range: Range) {
    match line.back_mut().filter(|last| last.touches(&range)) {
        Some(last) => last.run.count += range.run.count,
        None => line.push_back(range),
    }
}

/// The ranges in their order, of which those that touch are one.
pub(super) fn lined_up(ranges: impl Iterator<Item = Range>) -> VecDeque<Range> {
    let mut line = VecDeque::new();
    ranges.for_each(|range| push(&mut line, range));
    line
}

/// Takes what is asked for from the first place that has it, together with what lies before: numbers rise, whoever asks
/// for singles and who for runs (protocol S2), so that nothing below a number that is answered is given out later.
pub(super) fn take_from(line: &mut VecDeque<Range>, ask: Ask) -> Option<(Vec<Range>, Run)> {
    let at = line.iter().position(|range| ask.fits(range))?;
    let passed = line.drain(..at).collect();
    let (head, tail) = line.pop_front()?.split(ask.n);
    if let Some(tail) = tail {
        line.push_front(tail);
    }
    Some((passed, head.run))
}

/// Drops the last numbers, so that at most `most` stay; answers how many.
pub(super) fn shorten(line: &mut VecDeque<Range>, most: u64) -> u64 {
    let all = total(&*line);
    let mut over = all.saturating_sub(most);
    while let Some(last) = line.back_mut().filter(|_| over > 0) {
        let cut = over.min(last.run.count);
        last.run.count -= cut;
        over -= cut;
        if last.run.count == 0 {
            line.pop_back();
        }
    }
    all.saturating_sub(most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::range::range;

    #[test]
    fn ranges_that_touch_are_one() {
        let line = lined_up([range(0, 2), range(2, 3), range(6, 1)].into_iter());
        assert_eq!(line, [range(0, 5), range(6, 1)]);
        assert_eq!(total(&line), 6);
        // In ordinals they do, in values not: another base lies between.
        let mut moved = range(7, 1);
        moved.run.first = 100;
        assert!(!range(6, 1).touches(&moved));
    }

    #[test]
    fn a_line_is_shortened_from_its_end() {
        let line = || VecDeque::from([range(0, 2), range(10, 4), range(20, 9)]);
        for (most, dropped, ranges) in [
            (20, 0, 3),
            (15, 0, 3),
            (14, 1, 3),
            (6, 9, 2),
            (1, 14, 1),
            (0, 15, 0),
        ] {
            let mut line = line();
            assert_eq!(shorten(&mut line, most), dropped, "{most}");
            assert_eq!((line.len(), total(&line)), (ranges, 15 - dropped), "{most}");
        }
    }

    #[test]
    fn what_is_asked_for_comes_from_the_first_place_that_has_it() {
        let line = || VecDeque::from([range(0, 2), range(10, 4), range(20, 9)]);
        // How many, as one run; what is passed over, the first number and how many, what is left.
        for (n, contiguous, passed, first, count, left) in [
            (5, false, 0, 1, 2, 13),
            (1, false, 0, 1, 1, 14),
            (2, true, 0, 1, 2, 13),
            (3, true, 2, 11, 3, 10),
            (9, true, 6, 21, 9, 0),
        ] {
            let mut line = line();
            let (before, run) = take_from(&mut line, Ask { n, contiguous }).unwrap();
            let taken = (total(&before), run.first, run.count, total(&line));
            assert_eq!(taken, (passed, first, count, left), "{n} {contiguous}");
        }
        let mut all = line();
        let run = Ask {
            n: 10,
            contiguous: true,
        };
        assert_eq!(take_from(&mut all, run), None);
        assert_eq!(all, line());
    }
}
