//! What may be made under a name.

use std::fmt;

/// What a name may be of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Makeable {
    /// A sequence.
    Sequence,
    /// A pool.
    Pool,
}

impl Makeable {
    /// How it comes, where no first use makes it.
    pub(crate) fn how_it_comes(self) -> &'static str {
        match self {
            Makeable::Sequence => "import its counter (mint import), or make it (mint seq create)",
            Makeable::Pool => {
                "make it (mint pool create), with --avoid-from where another system has given out its workers"
            }
        }
    }
}

impl fmt::Display for Makeable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Makeable::Sequence => "sequence",
            Makeable::Pool => "pool",
        })
    }
}
