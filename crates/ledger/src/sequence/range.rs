//! Runs of numbers and where they lie in their sequence; lines of them, and what is taken out of a line.

use std::collections::VecDeque;

use mintage::Run;

/// Numbers with consecutive ordinals on one linear run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Range {
    pub ordinal: u64,
    pub run: Run,
}

impl Range {
    /// The ordinal after the last.
    pub(crate) fn end(&self) -> u64 {
        self.ordinal + self.run.count
    }

    /// Splits off the first `n` (at most all).
    pub(crate) fn split(self, n: u64) -> (Range, Option<Range>) {
        let (head, tail) = self.run.split(n);
        let rest = Range {
            ordinal: self.ordinal + head.count,
            run: tail,
        };
        (Range { run: head, ..self }, (tail.count > 0).then_some(rest))
    }

    /// Whether `next` goes on where this one ends, in ordinals and in values.
    pub(crate) fn touches(&self, next: &Range) -> bool {
        self.end() == next.ordinal
            && self.run.step == next.run.step
            && self.run.last().checked_add(self.run.step) == Some(next.run.first)
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
    ranges.into_iter().map(|range| range.run.count).sum()
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
