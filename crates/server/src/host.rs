//! What a server and the program that it runs in tell each other.

use mintage_ledger::Durability;

use crate::config::{Config, ConfigError, LogLevel};
use crate::transport::Endpoint;

/// What a running server is told to do.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Stop {
    /// Go on.
    Not,
    /// Accept nothing more, answer what was read, then end.
    Gently,
    /// End at once.
    Now,
}

/// A server that could not start, or that ended badly.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{message}")]
pub struct RunError {
    /// What was asked and found.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl RunError {
    pub(crate) fn new(message: impl Into<String>, hint: Option<String>) -> Self {
        RunError {
            message: message.into(),
            hint,
        }
    }
}

/// What a server says once it serves.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Serving {
    /// Where each face listens that does, by its name.
    pub addresses: Vec<(&'static str, Endpoint)>,
    /// The faces whose requests our own port of HTTP answers too.
    pub sharing: Vec<&'static str>,
    /// How many threads serve.
    pub threads: usize,
    /// The store's scheme: `file`, `memory`, …
    pub store: &'static str,
    /// What the store may forget, and why.
    pub durability: Durability,
}

impl Serving {
    /// Where a face listens, if it does.
    pub fn address(&self, face: &str) -> Option<&Endpoint> {
        let mut all = self.addresses.iter();
        all.find(|(name, _)| *name == face).map(|(_, address)| address)
    }
}

/// What a server needs of the program that it runs in.
pub trait Host {
    /// It answers requests from here on. Called once.
    fn ready(&mut self, serving: &Serving);

    /// Reads the configuration again.
    ///
    /// # Errors
    /// It cannot be used.
    fn reload(&mut self) -> Result<Config, ConfigError>;

    /// Writes log records of this level and the more severe ones from here on.
    fn set_log_level(&mut self, level: LogLevel);
}
