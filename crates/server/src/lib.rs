//! The mint server: one protocol-free service, and the faces through which clients reach it.
//!
//! ```text
//!   resp  ─┐
//!   http  ─┼─▶ service ─▶ ledger ─▶ store
//!   …     ─┘
//! ```
//!
//! **A face imports the service, never the other way round; protocol types stop at their face.** Each core runs
//! its own single-threaded runtime with its own listeners; threads share the sequences' atomics and nothing
//! else on the way of a request.

pub mod advice;
mod audit;
pub mod auth;
mod bound;
mod by_address;
pub mod chassis;
pub mod config;
mod connection;
mod core_dumps;
mod desk;
pub mod error;
pub mod faces;
mod files;
pub mod formats;
mod give_back;
pub mod glob;
mod held;
mod history;
mod host;
mod kept;
pub mod listen;
pub mod metrics;
pub mod moves;
pub mod noise;
mod notify;
mod opening;
mod passed;
pub mod places;
mod process;
mod ranking;
pub mod rates;
pub mod render;
pub mod requests;
mod run;
mod sampler;
mod seen;
pub mod service;
mod signals;
mod socket;
mod socket_file;
mod thread;
pub mod tls;
pub mod transport;
mod turn;
mod unnamed;
pub mod watch;

pub use faces::{grpc, http, install, resp, scripts};
pub use host::{Host, RunError, Serving, Stop};
pub use opening::{
    ledger_settings, open_ledger, open_stores, origins, state_folder, store_settings, stores_shown,
};
pub use run::{run, serve, threads};
pub use unnamed::unnamed;
