//! A refusal of the service. The codes and what each face makes of them are the wire's.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

pub use mintage_wire::{CODES, Code, CodeRow};

/// What every operation answers.
pub type Answer<T> = Result<T, ServiceError>;

/// A refusal: what was asked, what was found, what to do. Meant for the client; holds no secret.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServiceError {
    /// What kind of refusal this is.
    pub code: Code,
    /// What was asked and found; lower case, no full stop.
    pub message: Cow<'static, str>,
    /// What to do about it, if anything.
    pub hint: Option<Cow<'static, str>>,
    /// After how many seconds it is worth asking again.
    pub retry_after_s: Option<u64>,
    /// Which rate was exceeded, of [`Code::RateLimited`].
    pub rate_limit: Option<RateLimit>,
    /// How far the clock went back, of [`Code::ClockBack`]: some protocols have words with this.
    pub clock_back: Option<Duration>,
}

/// A rate that was exceeded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RateLimit {
    /// What is counted: `requests` or `ids`.
    pub what: &'static str,
    /// How many of them a second.
    pub per_second: u64,
    /// How many of them at once.
    pub burst: u64,
}

impl ServiceError {
    /// A refusal without a hint.
    pub fn new(code: Code, message: impl Into<Cow<'static, str>>) -> Self {
        ServiceError {
            code,
            message: message.into(),
            hint: None,
            retry_after_s: None,
            rate_limit: None,
            clock_back: None,
        }
    }

    /// The same refusal with a hint.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<Cow<'static, str>>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// What a server that stops says of ids.
    pub const STOPPING: &'static str = "the server is stopping";

    /// Whether this process gives out nothing any more.
    pub fn is_for_good(&self) -> bool {
        self.code == Code::Stopped || self.message == Self::STOPPING
    }

    /// Whether nothing more can be read on the connection: what follows may be the rest of what was refused.
    pub(crate) fn ends_connection(&self) -> bool {
        matches!(
            self.code,
            Code::Protocol | Code::BodyTooLarge | Code::HeaderTooLarge | Code::RequestTimeout
        )
    }

    /// The same refusal, worth asking again after `seconds`.
    #[must_use]
    pub fn with_retry_after_s(mut self, seconds: u64) -> Self {
        self.retry_after_s = Some(seconds);
        self
    }

    /// The same refusal, of whoever exceeded this rate.
    #[must_use]
    pub(crate) fn with_rate_limit(mut self, limit: RateLimit) -> Self {
        self.rate_limit = Some(limit);
        self
    }

    /// The same refusal, of a clock that went back so far.
    #[must_use]
    pub fn with_clock_back(mut self, by: Duration) -> Self {
        self.clock_back = Some(by);
        self
    }
}

impl fmt::Display for ServiceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ServiceError {}
