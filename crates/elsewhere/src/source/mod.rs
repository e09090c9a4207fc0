//! Sources: counters that live elsewhere, in the databases of the systems that people come from.
//!
//! | file | what |
//! | --- | --- |
//! | `counter` | what a source shows of one counter |
//! | `finding` | what may be wrong with one, and how bad that is |
//! | `fence` | what keeps a source from giving out more, and how it is known again |
//! | `fill` | how a table goes on filling a column by itself |
//! | `error` | why a call failed, and whether it may have done something |
//! | `mend` | what would mend a counter |
//! | `kind` | what a row of the table of sources says |
//! | `redis_keys` | keys of Redis that other systems keep, and what they count |
//! | `registry` | the table of sources, and how one is opened from its URL |
//! | `link` | connections to SQL servers, for the sources that live there |
//! | `memory`, `faulty`, `conformance` | a source for tests, one that fails, and what every source must do |
//! | `workers` | numbers of Snowflake systems' workers, which a pool beside them avoids |
//! | the others | a kind of source each |
//!
//! **Words.** A *mark* is the first number that the source has certainly not given out, whatever the source itself
//! stores. A *fence* makes the source unable to give out more. A *ceiling* is a fence that lies ahead. Everything above
//! this seam knows no SQL.
//!
//! **What is promised by whom.** A [`Source`] finds every fence again that it has built, by the id of its move or by the
//! fence's form, so that each call may be made twice: a second [`Source::fence`] of the same move changes nothing and
//! answers the same mark, a second [`Source::lift`] changes nothing. A fence of somebody else is never touched. A call
//! whose answer did not come says so (`Outcome::Unknown`); what such a take would have brought is spent, never used
//! (protocol R1, S3).

#[cfg(any(test, feature = "testing"))]
pub mod conformance;
mod counter;
mod error;
#[cfg(any(test, feature = "testing"))]
mod faulty;
mod fence;
mod fill;
mod finding;
mod kind;
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub(crate) mod link;
#[cfg(any(test, feature = "testing"))]
mod memory;
mod mend;
#[cfg(feature = "mysql")]
mod mysql;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "redis")]
mod redis;
mod redis_keys;
mod registry;
#[cfg(any(feature = "postgres", feature = "mysql"))]
mod rows;
pub mod workers;

use std::fmt;

use mintage::Run;

pub use counter::{ColumnUse, Counter, How};
pub use error::{SourceError, SourceErrorKind};
#[cfg(any(test, feature = "testing"))]
pub use faulty::{Fate, FaultySource};
pub use fence::{Fence, Fenced, MoveId, Note, Way};
pub use fill::{Fill, FillFrom};
pub use finding::{Finding, FindingCode, Severity};
pub use kind::{Engine, OwnTable, SourceKind, SourceSettings};
#[cfg(test)]
pub(crate) use memory::Keeps;
#[cfg(any(test, feature = "testing"))]
pub use memory::MemorySource;
pub use mend::Mend;
pub use redis_keys::cosid_segment;
pub use registry::{SOURCES, open_sources};

use crate::runtime::BoxFuture;
use crate::store::Durability;

/// How many counters one list looks at in one place at most, unless [`SourceSettings::keys_max`] says otherwise.
pub const KEYS_MAX: u64 = 1_000_000;

/// The answer of a call to a source.
pub type SourceResult<'a, T> = BoxFuture<'a, Result<T, SourceError>>;

/// Which counters are wanted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Wanted {
    /// Globs over [`Counter::key`]; all, if empty. `*` is any text, `?` one character.
    pub matching: Vec<String>,
    /// Whether the largest number of a column is to be read where no index begins with it.
    pub full: bool,
    /// Whether only the database that the URL names is meant, where it names one.
    pub at_home: bool,
}

/// What a look over a whole source came to.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Listed {
    /// The counters, in the order of their keys.
    pub counters: Vec<Counter>,
    /// What could not be looked at, in words; the rest was.
    pub failed: Vec<String>,
}

/// A kind of counters in one place, such as the sequences of a PostgreSQL database or the rows of `leaf_alloc`.
///
/// Thread-safe. Nothing but [`Source::take`], [`Source::fence`] and [`Source::lift`] writes, and each of them in one
/// transaction where the source has such.
pub trait Source: fmt::Debug + Send + Sync + 'static {
    /// Its row of [`SOURCES`].
    fn kind(&self) -> &'static SourceKind;

    /// Where it is, without a password: for messages and records.
    fn place(&self) -> String;

    /// What it may forget, probed now: one of class L is refused where numbers are taken beside it.
    fn durability(&self) -> SourceResult<'_, Durability>;

    /// Every counter that is wanted. Reads only.
    fn list<'a>(&'a self, wanted: &'a Wanted) -> SourceResult<'a, Listed>;

    /// One counter; `None`: there is none of this key. Reads only.
    fn look<'a>(&'a self, key: &'a str) -> SourceResult<'a, Option<Counter>>;

    /// Takes about `n` numbers, at least one, durably: nobody else is given them from now on, whatever crashes. In
    /// ascending order of ordinals: each run continues in the direction of the counter's increment.
    fn take<'a>(&'a self, key: &'a str, n: u64) -> SourceResult<'a, Vec<Run>>;

    /// Makes the counter unable to give out numbers at or beyond the fence, and says where that is. `note.before` is
    /// what [`Counter::before`] said when the move began.
    fn fence<'a>(&'a self, key: &'a str, way: Way, note: &'a Note) -> SourceResult<'a, Fenced>;

    /// Gives the counter back: as it was before, and at a place where it never gives out `issued` or a number before
    /// that.
    fn lift<'a>(&'a self, key: &'a str, note: &'a Note, issued: Option<i64>) -> SourceResult<'a, ()>;

    /// What fence stands there now.
    fn check<'a>(&'a self, key: &'a str, note: &'a Note) -> SourceResult<'a, Fence>;

    /// The statements that [`Source::fence`] or [`Source::take`] would run, for the plan that people read.
    fn statements(&self, counter: &Counter, way: Way) -> Vec<String>;

    /// The statement that mends a counter, as it can be run; `None`: this source has none for that, or cannot say it
    /// safely.
    fn mend(&self, counter: &Counter, mend: Mend) -> Option<String> {
        let _ = (counter, mend);
        None
    }

    /// Whether inserts that name no id go on once the counter, which is called `name` here, is ours; `None`: no table of
    /// theirs draws from it.
    fn fill(&self, counter: &Counter, name: &str, from: &FillFrom) -> Option<Fill> {
        let _ = (counter, name, from);
        None
    }

    /// What takes the statements of [`Source::fill`] back, once the counter was: harmless where they were never run.
    fn unfill(&self, counter: &Counter, name: &str) -> Vec<String> {
        let _ = (counter, name);
        Vec::new()
    }

    /// What the account lacks for this way, as the statements that would grant it. Reads only.
    fn rights<'a>(&'a self, key: &'a str, way: Way) -> SourceResult<'a, Vec<String>>;
}

/// A key as messages show it: the beginning of a long one.
#[allow(dead_code, reason = "a build may have no engine at all")]
fn brief(key: &str) -> String {
    const SHOWN_CHARS: usize = 80;
    match key.char_indices().nth(SHOWN_CHARS) {
        Some((at, _)) => format!("{}…", &key[..at]),
        None => key.to_string(),
    }
}

/// Whether a glob with `*` and `?` is all of a text.
///
/// ```
/// use mintage_elsewhere::source::matches_glob;
/// assert!(matches_glob("public.*_seq", "public.orders_id_seq"));
/// assert!(!matches_glob("orders", "public.orders"));
/// ```
pub fn matches_glob(glob: &str, text: &str) -> bool {
    let (glob, text): (Vec<char>, Vec<char>) = (glob.chars().collect(), text.chars().collect());
    let (mut at, mut read) = (0, 0);
    // Where the last star stands, and how much of the text it has taken.
    let mut star: Option<(usize, usize)> = None;
    while read < text.len() {
        match glob.get(at) {
            Some('*') => {
                star = Some((at, read));
                at += 1;
            }
            Some(c) if *c == '?' || *c == text[read] => {
                at += 1;
                read += 1;
            }
            _ => match star {
                Some((of, taken)) => {
                    star = Some((of, taken + 1));
                    at = of + 1;
                    read = taken + 1;
                }
                None => return false,
            },
        }
    }
    glob[at..].iter().all(|c| *c == '*')
}

impl Wanted {
    /// Whether a counter of this key is wanted.
    ///
    /// ```
    /// use mintage_elsewhere::source::Wanted;
    /// let wanted = Wanted { matching: vec!["shop.*".into()], ..Wanted::default() };
    /// assert!(wanted.is_of("shop.orders.id") && !wanted.is_of("mail.users.id"));
    /// assert!(Wanted::default().is_of("anything"));
    /// ```
    pub fn is_of(&self, key: &str) -> bool {
        self.matching.is_empty() || self.matching.iter().any(|glob| matches_glob(glob, key))
    }
}
