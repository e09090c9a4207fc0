//! A store around another writes only what it changes.

/// The types that [`delegate_store!`](crate::delegate_store) names.
#[doc(hidden)]
pub mod types {
    pub use std::any::Any;
    pub use std::sync::Arc;

    pub use mintage::Timestamp;

    pub use crate::runtime::BoxFuture;
    pub use crate::*;
}

/// Inside `impl Store for …`: every method asks the store in a field, but those that are named.
///
/// What is named is written out below, or keeps the trait's own answer if it has one: a wrapper that changes how a
/// register is written names `claim` too, which then takes that way. A method that [`Store`](crate::Store) gains is
/// passed on by every wrapper.
///
/// ```
/// use std::sync::Arc;
///
/// use mintage_store::{Cas, Key, MemoryStore, Store, StoreResult, Version, delegate_store};
///
/// /// A store out of which nothing is removed.
/// #[derive(Debug)]
/// struct Kept(Arc<dyn Store>);
///
/// impl Store for Kept {
///     delegate_store!(0, but remove);
///
///     fn remove<'a>(&'a self, key: &'a Key, _expected: Version) -> StoreResult<'a, Cas> {
///         Box::pin(async { Ok(Cas::Lost(self.0.get(key).await?)) })
///     }
/// }
///
/// let kept = Kept(MemoryStore::with_cluster_id(7));
/// assert_eq!((kept.scheme(), kept.cluster_id()), ("memory", 7));
/// ```
#[macro_export]
macro_rules! delegate_store {
    ($inner:tt $(, but $($own:ident)+)?) => { $crate::delegate_store! { @all $inner [$($($own)+)?] } };

    (@all $inner:tt $own:tt) => {
        $crate::delegate_store! { @each $inner $own
            scheme() -> &'static str;
            class() -> $crate::store_types::Class;
            durability() -> $crate::store_types::Durability;
            wall() -> $crate::store_types::StoreResult<'a, Option<$crate::store_types::Timestamp>>;
            incarnation() -> Option<String>;
            cluster_id() -> u128;
            take_cluster_id(id: u128) -> $crate::store_types::StoreResult<'a, ()>;
            get(key: &'a $crate::store_types::Key)
                -> $crate::store_types::StoreResult<'a, Option<$crate::store_types::Versioned>>;
            compare_and_set(
                key: &'a $crate::store_types::Key,
                expected: Option<$crate::store_types::Version>,
                new: $crate::store_types::Value,
                marks: $crate::store_types::Marks
            ) -> $crate::store_types::StoreResult<'a, $crate::store_types::Cas>;
            scan(
                prefix: &'a $crate::store_types::Key,
                after: Option<&'a $crate::store_types::Key>,
                limit: u16
            ) -> $crate::store_types::StoreResult<'a, Vec<($crate::store_types::Key, $crate::store_types::Versioned)>>;
            remove(key: &'a $crate::store_types::Key, expected: $crate::store_types::Version)
                -> $crate::store_types::StoreResult<'a, $crate::store_types::Cas>;
            claim(claim: &'a $crate::store_types::Claim)
                -> $crate::store_types::StoreResult<'a, $crate::store_types::Cas>;
            exclusive() -> bool;
            as_set() -> Option<&'a (dyn $crate::store_types::Any + Send + Sync)>;
            reachable(key: &$crate::store_types::Key) -> bool;
            seen() -> Option<$crate::store_types::Arc<$crate::store_types::Seen>>;
            tend() -> $crate::store_types::BoxFuture<'a, ()>;
            stopped() -> Option<$crate::store_types::StoreError>;
            newest_wall() -> Option<$crate::store_types::Timestamp>;
            clock_confirmed() -> ();
            vouch(now: Option<$crate::store_types::Timestamp>) -> ();
            close() -> $crate::store_types::StoreResult<'a, ()>;
        }
    };
    (@each $inner:tt $own:tt $($name:ident($($args:tt)*) -> $answer:ty;)*) => {
        $($crate::delegate_store! { @one $own $inner $name($($args)*) -> $answer })*
    };

    // A method that is named is left out. No macro can compare two names of its caller's, so each stands here.
    (@one [scheme $($own:ident)*] $inner:tt scheme $($of:tt)*) => {};
    (@one [class $($own:ident)*] $inner:tt class $($of:tt)*) => {};
    (@one [durability $($own:ident)*] $inner:tt durability $($of:tt)*) => {};
    (@one [wall $($own:ident)*] $inner:tt wall $($of:tt)*) => {};
    (@one [incarnation $($own:ident)*] $inner:tt incarnation $($of:tt)*) => {};
    (@one [cluster_id $($own:ident)*] $inner:tt cluster_id $($of:tt)*) => {};
    (@one [take_cluster_id $($own:ident)*] $inner:tt take_cluster_id $($of:tt)*) => {};
    (@one [get $($own:ident)*] $inner:tt get $($of:tt)*) => {};
    (@one [compare_and_set $($own:ident)*] $inner:tt compare_and_set $($of:tt)*) => {};
    (@one [scan $($own:ident)*] $inner:tt scan $($of:tt)*) => {};
    (@one [remove $($own:ident)*] $inner:tt remove $($of:tt)*) => {};
    (@one [claim $($own:ident)*] $inner:tt claim $($of:tt)*) => {};
    (@one [exclusive $($own:ident)*] $inner:tt exclusive $($of:tt)*) => {};
    (@one [as_set $($own:ident)*] $inner:tt as_set $($of:tt)*) => {};
    (@one [reachable $($own:ident)*] $inner:tt reachable $($of:tt)*) => {};
    (@one [seen $($own:ident)*] $inner:tt seen $($of:tt)*) => {};
    (@one [tend $($own:ident)*] $inner:tt tend $($of:tt)*) => {};
    (@one [stopped $($own:ident)*] $inner:tt stopped $($of:tt)*) => {};
    (@one [newest_wall $($own:ident)*] $inner:tt newest_wall $($of:tt)*) => {};
    (@one [clock_confirmed $($own:ident)*] $inner:tt clock_confirmed $($of:tt)*) => {};
    (@one [vouch $($own:ident)*] $inner:tt vouch $($of:tt)*) => {};
    (@one [close $($own:ident)*] $inner:tt close $($of:tt)*) => {};

    (@one [$other:ident $($own:ident)*] $inner:tt $($of:tt)*) => {
        $crate::delegate_store! { @one [$($own)*] $inner $($of)* }
    };
    (@one [] $inner:tt $name:ident($($arg:ident: $type:ty),*) -> $answer:ty) => {
        #[allow(clippy::needless_lifetimes, reason = "some answers name it")]
        fn $name<'a>(&'a self, $($arg: $type),*) -> $answer {
            $crate::store_types::Store::$name(&*self.$inner, $($arg),*)
        }
    };
}

#[cfg(test)]
mod tests {
    /// The words behind `before` in lines that begin so, between two marks.
    fn names<'a>(text: &'a str, from: &str, to: &str, before: &str) -> Vec<&'a str> {
        let (_, rest) = text.split_once(from).unwrap();
        let (part, _) = rest.split_once(to).unwrap();
        let lines = part
            .lines()
            .filter_map(|line| line.trim_start().strip_prefix(before));
        lines.filter_map(|line| line.split(['(', '<']).next()).collect()
    }

    #[test]
    fn every_method_of_a_store_is_passed_on_and_can_be_kept_back() {
        let methods = names(include_str!("lib.rs"), "pub trait Store:", "\n}", "fn ");
        assert!(methods.len() > 20, "{methods:?}");
        let here = include_str!("delegate.rs");
        let mut passed_on = names(here, "@each $inner $own\n", "\n        }", "");
        passed_on.retain(|name| methods.contains(name));
        assert_eq!(passed_on, methods);
        for method in methods {
            let kept = format!("(@one [{method} $($own:ident)*] $inner:tt {method} $($of:tt)*) => {{}};");
            assert!(here.contains(&kept), "{kept}");
        }
    }
}
