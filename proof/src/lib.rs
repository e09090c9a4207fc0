//! Evidence for the promise that no id is ever repeated, which a sceptic can run again.
#![allow(clippy::disallowed_methods)]

pub mod sim;
