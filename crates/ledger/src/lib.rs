//! Durable reservation of id ranges: the store seam, its stores, sequences and worker windows.

pub mod local_snowflake;
mod name;
mod runtime;
pub mod state_file;
mod store;

pub use name::{NAME_MAX_BYTES, Name, NameError};
pub use runtime::{BoxFuture, Runtime, SystemRuntime, fresh_token};
pub use store::*;
