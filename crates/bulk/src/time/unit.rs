//! What a number since 1970 counts.

/// What a number counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnixUnit {
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Millis,
    /// Microseconds.
    Micros,
    /// Nanoseconds.
    Nanos,
}

impl UnixUnit {
    pub(super) const fn nanos(self) -> i128 {
        match self {
            UnixUnit::Seconds => 1_000_000_000,
            UnixUnit::Millis => 1_000_000,
            UnixUnit::Micros => 1_000,
            UnixUnit::Nanos => 1,
        }
    }
}
