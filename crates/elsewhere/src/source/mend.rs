//! What would mend a counter, as far as everything above its source can say it.

/// A mending that a source may have a statement for ([`Source::mend`](super::Source::mend)).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mend {
    /// Its next number is to follow the last one of its columns.
    PastColumns,
    /// What ends first, the columns or the counter's own type, is to hold 64 bits.
    Widen,
    /// It is to go on beyond the bound that somebody gave it.
    Unbound,
    /// It is not to begin again behind its end.
    NoCycle,
    /// Sessions are to take one number at a time.
    OneAtATime,
    /// It is to be dropped and dumped with the column that it fills.
    Own,
    /// A server is to take so many numbers at a time.
    Step(u64),
    /// It is one of so many servers that generate numbers for the same column, and the one with this place among them,
    /// from 1.
    Stripe {
        /// Which it is.
        of: u64,
        /// How many there are.
        servers: u64,
    },
    /// The account is to be able to read it.
    Readable,
}
