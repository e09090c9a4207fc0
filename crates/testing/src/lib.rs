//! Assertions of invariants, and clients that take numbers by every face, for the tests of all crates.
//!
//! `cargo xtask test` runs a failed test once more, alone, and forgives it when it passes then: the machine may have been
//! busy. It never forgives what is asserted here: an id issued twice, an order broken, something lost or leaked. One
//! sight of that is enough, however rarely it is seen.

#![forbid(unsafe_code)]

pub mod h2;
pub mod nonsense;
pub mod originals;
mod runs;
pub mod ways;
pub mod wire;

use std::collections::HashSet;
use std::fmt::{Debug, Display};
use std::hash::Hash;
use std::ops::Deref;

pub use runs::Runs;

/// What the message of a violated invariant begins with; `cargo xtask test` looks for it in what a test printed.
pub const MARK: &str = "invariant violated: ";

/// Asserts an invariant: `invariant!(condition, "what was seen: {}", value)`.
///
/// ```
/// mintage_testing::invariant!(1 < 2, "1 is not below 2");
/// ```
///
/// ```should_panic
/// mintage_testing::invariant!(2 < 1, "{} is not below {}", 2, 1);
/// ```
#[macro_export]
macro_rules! invariant {
    ($holds:expr, $($what:tt)+) => {{
        let holds: bool = $holds;
        if !holds {
            $crate::violated(::core::format_args!($($what)+))
        }
    }};
}

/// Fails the test for good, with what was seen.
///
/// # Panics
/// Always.
#[track_caller]
pub fn violated(what: impl Display) -> ! {
    panic!("{MARK}{what}")
}

/// What was issued so far, none of it twice: a set that only grows.
///
/// ```
/// let mut issued = mintage_testing::Distinct::of("orders");
/// issued.add(1);
/// issued.extend([2, 3]);
/// assert!(issued.len() == 3 && issued.contains(&2));
/// ```
///
/// ```should_panic
/// mintage_testing::Distinct::of("orders").extend([1, 2, 1]);
/// ```
#[derive(Clone, Debug)]
pub struct Distinct<T> {
    what: String,
    seen: HashSet<T>,
}

impl<T: Eq + Hash + Debug> Default for Distinct<T> {
    fn default() -> Distinct<T> {
        Distinct::of("ids")
    }
}

impl<T: Eq + Hash + Debug> Distinct<T> {
    /// Nothing yet; `what` names it where something comes twice.
    pub fn of(what: impl Display) -> Distinct<T> {
        Distinct {
            what: what.to_string(),
            seen: HashSet::new(),
        }
    }

    /// Takes in one more.
    ///
    /// # Panics
    /// When it was there already.
    #[track_caller]
    pub fn add(&mut self, id: T) {
        if let Some(before) = self.seen.replace(id) {
            violated(format_args!("{}: {before:?} was issued twice", self.what));
        }
    }

    /// Takes in all of these.
    ///
    /// # Panics
    /// When one was there already.
    #[track_caller]
    pub fn extend(&mut self, ids: impl IntoIterator<Item = T>) {
        for id in ids {
            self.add(id);
        }
    }
}

impl<T> Deref for Distinct<T> {
    type Target = HashSet<T>;

    fn deref(&self) -> &HashSet<T> {
        &self.seen
    }
}

/// Checks that no two of these are equal.
///
/// ```
/// mintage_testing::distinct("orders", [3, 1, 2]);
/// ```
///
/// # Panics
/// When two are.
#[track_caller]
pub fn distinct<T: Eq + Hash + Debug>(what: impl Display, ids: impl IntoIterator<Item = T>) {
    Distinct::of(what).extend(ids);
}

/// Checks that each of these is above the one before.
///
/// ```
/// mintage_testing::rising("orders", [1, 2, 5]);
/// ```
///
/// ```should_panic
/// mintage_testing::rising("orders", [1, 5, 2]);
/// ```
///
/// # Panics
/// When one is not.
#[track_caller]
pub fn rising<T: PartialOrd + Debug>(what: impl Display, ids: impl IntoIterator<Item = T>) {
    let mut ids = ids.into_iter();
    let Some(mut last) = ids.next() else { return };
    for id in ids {
        invariant!(id > last, "{what}: {id:?} came after {last:?}");
        last = id;
    }
}

/// Checks that a text, such as what a server logged, tells of no panic.
///
/// # Panics
/// When it does. Where the test is failing already, which a destructor may be called for, it only says so.
#[track_caller]
pub fn no_panic_in(what: impl Display, text: &str) {
    const PANICKED: &str = "panicked at ";
    if !text.contains(PANICKED) {
        return;
    }
    let line = text
        .lines()
        .find(|line| line.contains(PANICKED))
        .unwrap_or_default();
    match std::thread::panicking() {
        true => eprintln!("{MARK}{what} panicked: {line}"),
        false => violated(format_args!("{what} panicked: {line}")),
    }
}

/// Checks that a text, such as a log or what an error says, does not show a secret.
///
/// ```
/// mintage_testing::no_secret_in("the log", "connected to postgres://app:***@db", "hunter2");
/// ```
///
/// # Panics
/// When it does.
#[track_caller]
pub fn no_secret_in(what: impl Display, text: &str, secret: &str) {
    invariant!(
        !text.contains(secret),
        "{what} shows the secret {secret:?}: {text}"
    );
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    fn message(violate: fn()) -> String {
        let panic = catch_unwind(violate).expect_err("it is violated");
        *panic.downcast::<String>().expect("it is formatted")
    }

    #[test]
    fn every_violation_bears_the_mark() {
        let messages = [
            message(|| crate::distinct("orders", [7, 7])),
            message(|| crate::rising("orders", [7, 7])),
            message(|| crate::invariant!(7 == 8, "{} is {}", 7, 8)),
            message(|| crate::no_panic_in("a server", "x\nthread 'main' panicked at a.rs:1:1:\n")),
            message(|| crate::no_secret_in("a log", "of s3cret", "s3cret")),
        ];
        let bodies = messages.map(|text| text.strip_prefix(crate::MARK).map(String::from));
        assert_eq!(
            bodies.map(|body| body.expect("begins with the mark")),
            [
                "orders: 7 was issued twice",
                "orders: 7 came after 7",
                "7 is 8",
                "a server panicked: thread 'main' panicked at a.rs:1:1:",
                "a log shows the secret \"s3cret\": of s3cret",
            ]
        );
    }
}
