//! What the end-to-end tests share: the built `mint`, private servers on free ports in temporary folders, and
//! plain clients over raw sockets.
//!
//! The tests in `tests/` know the product only from outside: its command line, its two ports and its files.

pub mod binary;
pub mod browser;
pub mod certificates;
pub mod cluster;
pub mod console;
pub mod engine;
pub mod events;
pub mod faces;
pub mod guard;
pub use mintage_testing::h2;
pub mod http;
pub mod in_run;
pub mod journey;
pub mod majority;
pub mod namespace;
pub mod need;
pub mod outage;
pub mod outside;
pub mod proxy;
pub mod random;
pub mod redis;
pub mod reserve;
pub mod resp;
pub mod run;
pub mod server;
pub mod signal;
pub mod sql;
pub mod sqlwire;
pub mod store_suite;
pub mod taker;
pub mod volume;
pub mod writers;

/// The README's Rust examples, run as doc tests.
#[doc = include_str!("../../README.md")]
#[cfg(doctest)]
pub struct Readme;
