//! The store seam: durable versioned registers.
//!
//! A register has a *mark* (a number that says how much was ever reserved: a sequence's ordinal, a window's
//! `until`), the *token* of the attempt that wrote it, and a small JSON *body* that a person can read. Every
//! write, [`Store::claim`] included, raises the version by exactly one (protocol R3), and every guard compares
//! the version, never the body.
//!
//! **What is invalid to ask:** a mark above `i64::MAX` (databases hold signed numbers), a body above
//! [`BODY_MAX_BYTES`] or with a NUL character (JSON has none, and databases refuse it in text), removing a register that carries a mark (protocol R2), lowering a mark without saying
//! [`Marks::GiveBack`]. Stores answer these with [`StoreErrorKind::Invalid`].
//!
//! **Outcomes:** every error says whether the write certainly did not happen or may have
//! ([`Outcome`]). `Unknown` is decided next to the driver call, never from message text.

pub mod advice;
#[cfg(any(test, feature = "testing"))]
pub mod conformance;
mod delegate;
pub mod durability;
pub mod embedded;
#[cfg(any(test, feature = "testing"))]
mod faulty;
mod late;
mod memory;
mod pages;
mod pin;
pub mod probed;
pub mod repeats;
pub mod rules;
pub mod runtime;
pub mod seen;
pub mod settings;
pub mod shown;

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use mintage::Timestamp;
use mintage_local::file_system;

use crate::runtime::BoxFuture;

pub use advice::Advice;
#[doc(hidden)]
pub use delegate::types as store_types;
pub use durability::{Class, Durability, Setting, Standing};
pub use embedded::EmbeddedStore;
#[cfg(any(test, feature = "testing"))]
pub use faulty::{FaultCounts, FaultPlan, FaultyStore};
pub use late::{LateStore, OpenMember};
pub use memory::MemoryStore;
pub use pages::Pages;
pub use pin::Pins;
pub use probed::Probed;
pub use runtime::{Runtime, SystemRuntime, fresh_token};
pub use seen::{Known, Progress, Reserved, Seen};
pub use settings::{Initialised, StoreSettings};
pub use shown::{holds_password, shown_url};

/// The largest body a register may have.
pub const BODY_MAX_BYTES: usize = 16 * 1024;

/// The longest key of a register.
pub const KEY_MAX_BYTES: usize = 300;

/// The register that says how far the store has come (`guard/progress`): who has stopped for good says so there.
pub const PROGRESS_KEY: &str = "cluster/progress";

/// The register that counts changes of definitions (protocol S5): of a set of stores one alone has it.
pub const CHANGES_KEY: &str = "cluster/changes";

/// The body of a register of which only the mark is known: a mark is never removed (protocol R2).
pub const TOMBSTONE_BODY: &str = r#"{"tombstone":true}"#;

/// The largest page [`Store::scan`] answers.
pub const SCAN_LIMIT_MAX: u16 = 1000;

/// The name of a register: segments of printable ASCII without space and `!` joined by `/`, at most 300 bytes; the first
/// is one of `[A-Za-z0-9_.:-/]`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(String);

impl Key {
    /// Checks and takes a key.
    ///
    /// # Errors
    /// Says which byte does not belong, or that the key is empty or too long.
    pub fn new(text: impl Into<String>) -> Result<Key, StoreError> {
        let text = text.into();
        let begins = |b: u8| b.is_ascii_alphanumeric() || b"_.:-/".contains(&b);
        let bad = text
            .bytes()
            .enumerate()
            .position(|(at, b)| !(begins(b) || at > 0 && matches!(b, b'"'..=b'~')));
        let why = match bad {
            Some(0) => format!("register key {text:?} does not begin with [A-Za-z0-9_.:-/]"),
            Some(at) => format!("byte {at} of register key {text:?} is a space, `!` or not printable ASCII"),
            None if text.is_empty() => "register key is empty".to_string(),
            None if text.len() > KEY_MAX_BYTES => {
                format!("register key of {} bytes, largest is {KEY_MAX_BYTES}", text.len())
            }
            None => return Ok(Key(text)),
        };
        Err(StoreError::new(StoreErrorKind::Invalid, Outcome::NotDone, why))
    }

    /// The key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What follows a prefix that the key has.
    pub fn after(&self, prefix: &str) -> &str {
        self.0.strip_prefix(prefix).unwrap_or(&self.0)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// How often a register was written; the first write makes version 1.
///
/// ```
/// use mintage_store::Version;
/// assert_eq!(Version::of(7).number(), 7);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Version {
    number: u64,
    /// Which copy of the store has shown it, as this process counts them: two copies may give one number to two writes
    /// (protocol R6).
    copy: u32,
}

impl Version {
    /// A version, of whatever copy.
    pub const fn of(number: u64) -> Version {
        Version { number, copy: 0 }
    }

    /// How often the register was written.
    pub const fn number(self) -> u64 {
        self.number
    }

    /// The copy of the store that has shown it; 0: whichever.
    pub const fn copy(self) -> u32 {
        self.copy
    }

    /// The same version, shown by this copy.
    pub const fn of_copy(self, copy: u32) -> Version {
        Version { copy, ..self }
    }
}

/// What a register holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Value {
    /// How much was ever reserved; 0 for registers without a mark. At most `i64::MAX`.
    pub mark: u64,
    /// The attempt that wrote this (protocol R1); never 0 for a mark's register.
    pub token: u128,
    /// A JSON document, thus without NUL characters.
    pub body: String,
}

impl Value {
    /// Whether nothing but the mark is known ([`TOMBSTONE_BODY`]).
    ///
    /// ```
    /// use mintage_store::{TOMBSTONE_BODY, Value};
    /// let value = Value { mark: 7, token: 1, body: TOMBSTONE_BODY.to_string() };
    /// assert!(value.is_tombstone());
    /// ```
    pub fn is_tombstone(&self) -> bool {
        self.body == TOMBSTONE_BODY
    }
}

/// A value and its version.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Versioned {
    /// What the register holds.
    pub value: Value,
    /// How often it was written.
    pub version: Version,
}

/// What a conditional write came to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Cas {
    /// Written and durable; the register's new version.
    Done(Version),
    /// Not written: the register is at another version, or absent.
    Lost(Option<Versioned>),
}

/// Whether a write may lower a mark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Marks {
    /// The ordinary case: a lower mark is refused as invalid.
    NeverLower,
    /// The holder gives back what it did not use (protocol W7, S4), or an operator resets loudly.
    GiveBack,
}

/// A guarded fetch-and-add on a mark: the one-round-trip shortcut.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Claim {
    /// The register.
    pub key: Key,
    /// The version the mark must still have.
    pub expected: Version,
    /// How much to add to the mark; at least 1.
    pub add: u64,
    /// The token of this attempt.
    pub token: u128,
}

/// Whether a failed call changed anything.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It certainly did not.
    NotDone,
    /// It may have: what it would have reserved is spent.
    Unknown,
}

/// What went wrong, as far as the caller's next step depends on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StoreErrorKind {
    /// Not reachable, too slow, or full; may pass.
    Unavailable,
    /// No right to do this.
    Denied,
    /// A record is damaged, or a mark went back.
    Corrupt,
    /// The store belongs to another cluster, was copied, or is newer than this program.
    Foreign,
    /// Another process has it.
    InUse,
    /// The request itself is invalid.
    Invalid,
    /// A sync failed or an invariant broke: nothing is minted any more by this process (protocol E3).
    Stopped,
}

/// A failed store call: what was asked, what was found, what to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoreError {
    /// What the caller can base its next step on.
    pub kind: StoreErrorKind,
    /// Whether anything was changed.
    pub outcome: Outcome,
    /// What was asked and found, in words.
    pub message: String,
    /// What to do about it, if anything.
    pub hint: Option<Advice>,
}

impl StoreError {
    /// An error without a hint.
    pub fn new(kind: StoreErrorKind, outcome: Outcome, message: impl Into<String>) -> Self {
        StoreError {
            kind,
            outcome,
            message: message.into(),
            hint: None,
        }
    }

    /// The same error with a hint.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<Advice>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for StoreError {}

/// The answer of a store call.
pub type StoreResult<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// Durable versioned registers. A call that answers `Ok(Cas::Done(_))` has made its write durable first.
pub trait Store: fmt::Debug + Send + Sync + 'static {
    /// The store's scheme: `memory`, `file`, …
    fn scheme(&self) -> &'static str;

    /// What the store may forget, as probed at opening.
    fn class(&self) -> Class;

    /// The class with its reasons, as of the last probe: at opening, on every new connection, every minute.
    fn durability(&self) -> Durability {
        Durability::plain(self.class(), "")
    }

    /// The store's own clock, where it has one: the second source of a validated time (protocol W6).
    fn wall(&self) -> StoreResult<'_, Option<Timestamp>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    /// Which copy of the store answers, as of the last connection: another text means that the server was
    /// started anew, promoted or replaced, so that one of class L may have lost what it acknowledged. `None`:
    /// the store does not say.
    fn incarnation(&self) -> Option<String> {
        None
    }

    /// The identity of the whole: differs between any two fresh stores.
    fn cluster_id(&self) -> u128;

    /// Gives an empty store another cluster id, that of the backup which is about to be restored into it. Whoever has
    /// it open, this object included, then finds a foreign store.
    fn take_cluster_id(&self, _id: u128) -> StoreResult<'_, ()> {
        Box::pin(std::future::ready(Err(StoreError::new(
            StoreErrorKind::Invalid,
            Outcome::NotDone,
            format!("the cluster id of a {} store cannot be changed", self.scheme()),
        ))))
    }

    /// Reads one register.
    fn get<'a>(&'a self, key: &'a Key) -> StoreResult<'a, Option<Versioned>>;

    /// Writes `new` only if the register is still at `expected` (`None`: absent).
    fn compare_and_set<'a>(
        &'a self,
        key: &'a Key,
        expected: Option<Version>,
        new: Value,
        marks: Marks,
    ) -> StoreResult<'a, Cas>;

    /// The registers whose key starts with `prefix`, in key order, after `after`, at most `limit`
    /// (at most [`SCAN_LIMIT_MAX`]).
    fn scan<'a>(
        &'a self,
        prefix: &'a Key,
        after: Option<&'a Key>,
        limit: u16,
    ) -> StoreResult<'a, Vec<(Key, Versioned)>>;

    /// Removes a register without a mark, if it is still at `expected`. `Done` carries `expected`.
    fn remove<'a>(&'a self, key: &'a Key, expected: Version) -> StoreResult<'a, Cas>;

    /// Adds to a mark in one round trip; `Done` carries the new version, and the range claimed is
    /// `(old mark, old mark + add]` of the version expected. The default reads and then writes.
    fn claim<'a>(&'a self, claim: &'a Claim) -> StoreResult<'a, Cas> {
        Box::pin(async move {
            let found = self.get(&claim.key).await?;
            match (
                rules::judge_claim(claim, found.as_ref().map(rules::Current::of))?,
                found,
            ) {
                (Some((_, mark)), Some(found)) => {
                    let new = Value {
                        mark,
                        token: claim.token,
                        body: found.value.body,
                    };
                    self.compare_and_set(&claim.key, Some(claim.expected), new, Marks::NeverLower)
                        .await
                }
                (_, found) => Ok(Cas::Lost(found)),
            }
        })
    }

    /// Whether nobody else can write while this process has the store open (an exclusive lock), which lets
    /// holders give back what they did not use (protocol W7, S4).
    fn exclusive(&self) -> bool {
        false
    }

    /// Several stores as one are more than the seam knows of (protocol S9): what they are to those who ask for them.
    fn as_set(&self) -> Option<&(dyn Any + Send + Sync)> {
        None
    }

    /// Whether the one of several stores that has this register answers; true where there is only one.
    fn reachable(&self, _key: &Key) -> bool {
        true
    }

    /// What this machine has seen of the store before, where it remembers that (`open_pinned`).
    fn seen(&self) -> Option<Arc<Seen>> {
        None
    }

    /// What is to be done about once a second.
    fn tend(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    /// Why this process must not mint any more, once a sync has failed or a mark went back (protocol E3).
    fn stopped(&self) -> Option<StoreError> {
        None
    }

    /// The newest wall-clock time the store remembers from before this opening, if it keeps one: a clock that
    /// reads less has gone back (protocol C1).
    fn newest_wall(&self) -> Option<Timestamp> {
        None
    }

    /// The wall clock was confirmed: what [`Store::newest_wall`] remembers, where it lies ahead of that, is the work of
    /// a wrong clock and is forgotten.
    fn clock_confirmed(&self) {}

    /// What this process's ids read, told twice a second while they get the time: what [`Store::newest_wall`], or the record
    /// of the store's progress, says to the next process.
    fn vouch(&self, _now: Option<Timestamp>) {}

    /// A clean stop: everything buffered is durable, and the next opening knows that it was clean.
    fn close<'a>(&'a self) -> StoreResult<'a, ()> {
        Box::pin(async { Ok(()) })
    }
}
