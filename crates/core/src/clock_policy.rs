//! What a generator does when its clock goes back.

use core::fmt;
use core::str::FromStr;
use core::time::Duration;

use crate::layout::spec::{duration_of, duration_text};

/// What a generator does when its clock goes back.
///
/// Whatever the policy, no id repeats. `Hold` is the default and fits nearly everyone; the others exist
/// because known services behave so. `Wait` and `Error` refuse on *any* step back, also on one that only looks
/// like it because threads read the clock in one order and mint in another: let the generator read the clock
/// (`mint_now`), or mint under your own lock.
///
/// ```
/// use core::time::Duration;
/// use mintage::ClockPolicy;
/// assert_eq!(ClockPolicy::default(), ClockPolicy::Hold);
/// assert_eq!(ClockPolicy::Wait { max: Duration::from_millis(5) }.to_string(), "wait(5ms)");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum ClockPolicy {
    /// Goes on in the last tick minted in until the clock has caught up, at most `max_ahead` ahead of it.
    #[default]
    Hold,
    /// Says how long to wait, if the clock went back by no more than `max`; else an error.
    Wait {
        /// The longest wait.
        max: Duration,
    },
    /// An error until the clock has caught up.
    Error,
    /// Holds within `max_ahead`; further back, follows the clock under the next value of the layout's rollback
    /// field. When its values are used up, holds. Ids are then unique but not in order of minting.
    Bump,
}

/// A text that is no clock policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NotAClockPolicy;

impl fmt::Display for NotAClockPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a clock policy is hold, wait(5ms), error or bump(rollback)")
    }
}

impl core::error::Error for NotAClockPolicy {}

impl FromStr for ClockPolicy {
    type Err = NotAClockPolicy;

    /// Reads what [`ClockPolicy`] displays as.
    fn from_str(text: &str) -> Result<Self, NotAClockPolicy> {
        match text {
            "hold" => Ok(Self::Hold),
            "error" => Ok(Self::Error),
            "bump" | "bump(rollback)" => Ok(Self::Bump),
            _ => {
                let max = text.strip_prefix("wait(").and_then(|rest| rest.strip_suffix(')'));
                max.and_then(duration_of)
                    .map(|max| Self::Wait { max })
                    .ok_or(NotAClockPolicy)
            }
        }
    }
}

impl fmt::Display for ClockPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hold => f.write_str("hold"),
            Self::Wait { max } => write!(f, "wait({})", duration_text(*max)),
            Self::Error => f.write_str("error"),
            Self::Bump => f.write_str("bump(rollback)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::*;

    #[test]
    fn every_policy_reads_back_from_its_text() {
        let wait = ClockPolicy::Wait {
            max: Duration::from_micros(1500),
        };
        for policy in [ClockPolicy::Hold, wait, ClockPolicy::Error, ClockPolicy::Bump] {
            assert_eq!(policy.to_string().parse(), Ok(policy));
        }
        for text in [
            "",
            "Hold",
            "wait",
            "wait()",
            "wait(5)",
            "wait(ms)",
            "wait(99999999999999999999s)",
        ] {
            assert_eq!(text.parse::<ClockPolicy>(), Err(NotAClockPolicy), "{text}");
        }
    }
}
