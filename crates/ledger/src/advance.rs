//! By how much a mark must be raised when a backup or snapshot is restored.

use std::collections::HashMap;
use std::time::Duration;

use mintage::{PRESETS, Timestamp};
use serde_json::Value as Json;

use crate::pool::PoolSpec;
use crate::store::{Key, Value};

/// The mark of a restored register that lies above everything issued since the backup was made, when at most
/// `numbers` numbers of each sequence were, and windows reach at most `window` ahead.
///
/// A sequence's mark counts numbers, so `numbers` is added. A window's mark is an id-time, and whoever held the
/// worker reserved at most up to `window` after `now`. Other marks are raised by `numbers`.
///
/// A window whose layout is not known answers `u64::MAX`, which every store refuses: nothing is guessed.
///
/// ```
/// use std::time::Duration;
/// use mintage::Timestamp;
/// use mintage_ledger::{Key, Value, advanced_mark};
/// let key = Key::new("seq/orders")?;
/// let stored = Value { mark: 4000, token: 1, body: "{}".into() };
/// assert_eq!(advanced_mark(&key, &stored, 1000, Timestamp::UNIX_EPOCH, Duration::ZERO), 5000);
/// # Ok::<(), mintage_ledger::StoreError>(())
/// ```
pub fn advanced_mark(key: &Key, value: &Value, numbers: u64, now: Timestamp, window: Duration) -> u64 {
    if !key.as_str().starts_with("window/") {
        return value.mark.saturating_add(numbers);
    }
    let body: Json = serde_json::from_str(&value.body).unwrap_or_default();
    let layout = PRESETS
        .iter()
        .map(|preset| preset.layout())
        .find(|layout| body["layout"].as_str() == Some(layout.fingerprint().as_str()));
    match layout.map(|layout| layout.tick_at(now.saturating_add(window))) {
        // The tick that has begun may have been minted in.
        Some(Ok(tick)) => value.mark.max(tick + 1),
        Some(Err(_)) | None => u64::MAX,
    }
}

/// By how much the marks of a whole store are raised: pools of any layout, as the store knows them.
#[derive(Debug)]
pub(crate) struct Raise {
    /// For everything that counts numbers.
    pub numbers: u64,
    /// No window begins before this.
    pub floor: Timestamp,
    /// The store's pools by name.
    pub pools: HashMap<String, PoolSpec>,
}

impl Raise {
    /// The raised mark; `None` for a window whose pool and layout are both unknown, or past the largest mark.
    pub(crate) fn mark(&self, key: &Key, value: &Value) -> Option<u64> {
        let within = |mark: u64| Some(mark).filter(|mark| *mark <= i64::MAX as u64);
        let Some(rest) = key.as_str().strip_prefix("window/") else {
            // The definition of a pool carries no mark.
            return match key.as_str().starts_with("pool/") {
                true => Some(value.mark),
                false => within(value.mark.saturating_add(self.numbers)),
            };
        };
        let pool = rest.rsplit_once('/').map_or(rest, |(pool, _)| pool);
        match self
            .pools
            .get(pool)
            .map(|spec| spec.kind.ticks().tick_at(self.floor))
        {
            Some(Ok(tick)) => within(value.mark.max(tick + 1)),
            Some(Err(_)) => None,
            None => within(advanced_mark(key, value, 0, self.floor, Duration::ZERO)),
        }
    }

    /// The longest window of any pool, where those that do not say have `default`.
    pub(crate) fn longest(pools: &HashMap<String, PoolSpec>, default: Duration) -> Duration {
        pools
            .values()
            .map(|spec| spec.window.unwrap_or(default))
            .fold(default, Duration::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_moved_past_the_longest_that_anybody_can_hold() {
        let layout = PRESETS[0].layout();
        let now = layout.time_of(1_000_000);
        let window = Duration::from_secs(600);
        let advanced = |mark, fingerprint: &str| {
            let body = format!(r#"{{"layout":{fingerprint:?}}}"#);
            let key = Key::new("window/default/0000000007").unwrap();
            advanced_mark(&key, &Value { mark, token: 1, body }, 5, now, window)
        };
        let ours = layout.fingerprint();
        assert_eq!(
            layout.time_of(advanced(10, &ours)),
            layout.time_of(1_000_001).saturating_add(window)
        );
        assert_eq!(advanced(u64::MAX / 4, &ours), u64::MAX / 4);
        assert_eq!(advanced(10, "another"), u64::MAX);
    }
}
