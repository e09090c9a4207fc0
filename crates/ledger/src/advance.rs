//! By how much a mark must be raised when a backup or snapshot is restored.

use std::time::Duration;

use mintage::{PRESETS, Timestamp};
use serde_json::Value as Json;

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
