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
pub mod auth;
pub mod config;
mod desk;
pub mod error;
mod files;
pub mod formats;
mod held;
pub mod http;
pub mod listen;
pub mod metrics;
pub mod noise;
pub mod places;
mod process;
pub mod readings;
pub mod render;
pub mod requests;
pub mod resp;
mod run;
pub mod service;
mod signals;
mod socket;
mod turn;
pub mod watch;

pub use run::{
    Host, RunError, Serving, Stop, ledger_settings, open_ledger, open_stores, run, serve, state_folder,
    store_settings, stores_shown, threads,
};
