//! Runs of numbers and where they lie in their sequence.

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

/// So many numbers of the sequence that counts 1, 2, 3, …
#[cfg(test)]
pub(crate) fn range(ordinal: u64, count: u64) -> Range {
    let run = Run {
        first: ordinal as i64 + 1,
        step: 1,
        count,
    };
    Range { ordinal, run }
}
