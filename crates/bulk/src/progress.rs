//! How far long work is.

/// What is being done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// Reading, and writing where nothing else has to happen first.
    Reading,
    /// Bringing what was read into order.
    Sorting,
    /// Writing what was put in order.
    Writing,
}

/// How far it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// What is being done.
    pub phase: Phase,
    /// How much of it is done: bytes of the input, or rows when sorting.
    pub done: u64,
    /// How much there is, if that is known.
    pub total: Option<u64>,
    /// Rows seen in this phase.
    pub rows: u64,
}

/// Is told now and then how far the work is.
pub type Watch<'a> = &'a mut dyn FnMut(Progress);

/// Rows between two words to the watcher.
const EVERY_ROWS: u64 = 16_384;

/// Tells the watcher, once in so many rows, how far it is.
#[inline]
pub(crate) fn tell(
    watch: Watch<'_>,
    phase: Phase,
    rows: u64,
    total: Option<u64>,
    done: impl FnOnce() -> u64,
) {
    if rows.is_multiple_of(EVERY_ROWS) {
        let done = done();
        watch(Progress {
            phase,
            done,
            total,
            rows,
        });
    }
}
