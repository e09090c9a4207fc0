//! Durable reservation of id ranges: the store seam, its stores, sequences and worker windows.

mod name;
mod runtime;
mod store;

pub use name::{NAME_MAX_BYTES, Name, NameError};
pub use runtime::{BoxFuture, Runtime, SystemRuntime, fresh_token};
pub use store::*;
