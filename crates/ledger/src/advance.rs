//! How far a restore raises a mark: past everything that may have been given out since.

use std::collections::HashMap;
use std::time::Duration;

use mintage::Timestamp;
use serde_json::Value as Json;

use crate::name::Name;
use crate::pool::kind::{PoolKind, PoolSpec};
use crate::store::{Key, Pages, Store, StoreError, Value};

/// By how much the marks of a whole store are raised.
///
/// A sequence's mark counts numbers, whatever their direction, so that `numbers` is added. A window's mark is an
/// id-time in ticks of its pool, and whoever held the worker reserved at most up to `floor`.
#[derive(Debug)]
pub(crate) struct Raise {
    /// For everything that counts numbers.
    pub numbers: u64,
    /// No window begins before this.
    pub floor: Timestamp,
    /// The store's pools, by their names as keys have them.
    pub pools: HashMap<String, PoolSpec>,
}

/// The ticks of a window's mark: which one begins at a time, and how many there are.
struct Ticks {
    tick_ns: i128,
    epoch_ns: i128,
    /// One past the last: a window that ends there has nothing left.
    end: u64,
}

/// No mark is larger.
const MOST: u64 = i64::MAX as u64;
/// How many steps a move can have made while a backup was read. Its sequence is read later, and a step that is not beyond
/// the stamp of that one does nothing (protocol M3).
const STEPS: u64 = 1000;

impl Raise {
    /// The raised mark, and what is worth telling of it. Nothing is refused: what cannot be raised as asked is
    /// raised so far that it gives out nothing any more.
    pub(crate) fn mark(&self, key: &Key, value: &Value) -> (u64, Option<String>) {
        if let Some(rest) = key.as_str().strip_prefix("window/") {
            let Some(ticks) = self.ticks(rest, &value.body) else {
                let why = format!("{key}: its pool is not there and its layout is unknown: never used again");
                return (MOST, Some(why));
            };
            let raised = value.mark.max(ticks.after(self.floor)).min(MOST);
            let ended = (raised >= ticks.end).then(|| format!("{key}: the time of its layout has ended"));
            return (raised, ended);
        }
        if let Some(name) = key.as_str().strip_prefix("move/") {
            let why = format!(
                "sequence {name} was moved: before servers start, see that its original was not given back, or cut, since \
                 (mint import --status)"
            );
            return (value.mark.saturating_add(STEPS).min(MOST), Some(why));
        }
        // Definitions of pools, and a store's place in its set, count nothing.
        if !key.as_str().starts_with("seq/") {
            return (value.mark, None);
        }
        match value.mark.checked_add(self.numbers).filter(|mark| *mark <= MOST) {
            Some(mark) => (mark, None),
            None => (
                MOST,
                Some(format!("{key}: no numbers are left after {} more", self.numbers)),
            ),
        }
    }

    /// Whether a window's mark is at the floor already, or at most `within` before it.
    pub(crate) fn has_raised(&self, key: &Key, value: &Value, within: Duration) -> bool {
        let Some(rest) = key.as_str().strip_prefix("window/") else {
            return false;
        };
        let floor = self.floor.saturating_sub(within);
        self.ticks(rest, &value.body)
            .is_some_and(|ticks| value.mark >= ticks.after(floor))
    }

    /// By the pool's own record; by the window's, where that is gone.
    fn ticks(&self, window: &str, body: &str) -> Option<Ticks> {
        let pool = window.rsplit_once('/').map_or(window, |(pool, _)| pool);
        if let Some(spec) = self.pools.get(pool) {
            return Some(Ticks::of(&spec.kind));
        }
        let body: Json = serde_json::from_str(body).ok()?;
        Ticks::read(body["layout"].as_str()?)
    }

    /// The longest window of any pool, where those that do not say have `default`.
    pub(crate) fn longest(pools: &HashMap<String, PoolSpec>, default: Duration) -> Duration {
        pools
            .values()
            .map(|spec| spec.window.unwrap_or(default))
            .fold(default, Duration::max)
    }
}

impl Ticks {
    fn of(kind: &PoolKind) -> Ticks {
        let layout = kind.ticks();
        Ticks {
            tick_ns: i128::try_from(layout.tick().as_nanos()).unwrap_or(i128::MAX),
            epoch_ns: layout.epoch().unix_nanos(),
            end: layout.ticks_max().saturating_add(1),
        }
    }

    /// Reads a fingerprint, which says all of it (`t41.w10.s12/1000000ns/1288834974657000000`), or names a node of
    /// UUID version 1.
    fn read(fingerprint: &str) -> Option<Ticks> {
        if fingerprint.starts_with("uuid1/") {
            return Some(Ticks::of(&PoolKind::Uuid1 { node: 0 }));
        }
        let mut parts = fingerprint.split('/');
        let (fields, tick, epoch) = (parts.next()?, parts.next()?, parts.next()?);
        let time = fields.split('.').find_map(|field| field.strip_prefix('t'))?;
        let bits: u32 = time.parse().ok().filter(|bits| (1..=63).contains(bits))?;
        Some(Ticks {
            tick_ns: tick.strip_suffix("ns")?.parse().ok().filter(|tick| *tick > 0)?,
            epoch_ns: epoch.parse().ok()?,
            end: 1 << bits,
        })
    }

    /// The first tick after the one that holds this time; at most one past the last.
    fn after(&self, time: Timestamp) -> u64 {
        let since_ns = time.unix_nanos().saturating_sub(self.epoch_ns);
        if since_ns < 0 {
            // A layout whose time is still to come.
            return 0;
        }
        // The tick that has begun may have been minted in.
        u64::try_from(since_ns / self.tick_ns + 1)
            .unwrap_or(u64::MAX)
            .min(self.end)
    }
}

/// The pools that a store knows, by their names as keys have them; records that make no sense are passed over.
pub(crate) async fn pools(store: &dyn Store) -> Result<HashMap<String, PoolSpec>, StoreError> {
    let mut pools = HashMap::new();
    let mut pages = Pages::of(store, "pool/");
    loop {
        let page = pages.next().await?;
        if page.is_empty() {
            return Ok(pools);
        }
        pools.extend(
            page.iter()
                .filter_map(|(key, found)| pool_of(key, &found.value.body)),
        );
    }
}

/// A pool, by its name as keys have it.
pub(crate) fn pool_of(key: &Key, body: &str) -> Option<(String, PoolSpec)> {
    let written = key.as_str().strip_prefix("pool/")?;
    let name = Name::from_key(written).ok()?;
    Some((written.to_string(), PoolSpec::read(&name, body).ok()?))
}

/// The newest clock that a process wrote down: when something was last acknowledged, as far as is known.
pub(crate) async fn newest_wall(store: &dyn Store) -> Result<Option<Timestamp>, StoreError> {
    let mut newest = None;
    for prefix in ["instance/", "window/"] {
        let mut pages = Pages::of(store, prefix);
        loop {
            let page = pages.next().await?;
            if page.is_empty() {
                break;
            }
            for (_, found) in page {
                let body: serde_json::Value = serde_json::from_str(&found.value.body).unwrap_or_default();
                newest = newest.max(body["wall_ms"].as_i64());
            }
        }
    }
    Ok(newest.map(Timestamp::from_unix_millis))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use mintage::{Layout, PRESETS};

    use super::*;

    fn raise(floor: Timestamp, pools: &[(&str, PoolKind)]) -> Raise {
        let spec = |(name, kind): &(&str, PoolKind)| (name.to_string(), PoolSpec::from(kind.clone()));
        Raise {
            numbers: 1000,
            floor,
            pools: pools.iter().map(spec).collect(),
        }
    }

    fn raised(raise: &Raise, key: &str, mark: u64, body: String) -> (u64, bool) {
        let (mark, told) = raise.mark(&Key::new(key).unwrap(), &Value { mark, token: 1, body });
        (mark, told.is_some())
    }

    fn held_with(fingerprint: &str) -> String {
        format!(r#"{{"layout":{fingerprint:?}}}"#)
    }

    #[test]
    fn a_window_of_every_kind_is_moved_past_the_floor() {
        let floor = Timestamp::from_unix_millis(1_800_000_000_123);
        let own = Layout::builder("own")
            .tick(Duration::from_millis(10))
            .time("t", 42)
            .worker("w", 3)
            .sequence("s", 8);
        let kinds = PRESETS
            .iter()
            .map(|preset| PoolKind::Snowflake(Arc::new(preset.layout())))
            .chain([
                PoolKind::Snowflake(Arc::new(own.build().unwrap())),
                PoolKind::Uuid1 { node: 5 },
            ]);
        for kind in kinds {
            let body = held_with(&kind.fingerprint());
            let ticks = kind.ticks();
            let expected = ticks
                .tick_at(floor)
                .map_or(ticks.ticks_max() + 1, |tick| tick + 1);
            // By the pool's record, without a body that could be read, and by the window's own.
            let known = raise(floor, &[("p", kind.clone())]);
            let tombstone = r#"{"tombstone":true}"#.to_string();
            assert_eq!(raised(&known, "window/p/0000000001", 7, tombstone).0, expected);
            let unknown = raise(floor, &[]);
            assert_eq!(
                raised(&unknown, "window/p/0000000001", 7, body.clone()).0,
                expected
            );
            let higher = expected + 5;
            assert_eq!(raised(&known, "window/p/0000000001", higher, body).0, higher);
        }
    }

    #[test]
    fn what_cannot_be_raised_as_asked_gives_out_nothing_more() {
        let most = i64::MAX as u64;
        let raise = raise(Timestamp::from_unix_millis(1_800_000_000_000), &[]);
        assert_eq!(
            raised(&raise, "window/p/0000000001", 7, held_with("odd")),
            (most, true)
        );
        // A layout that ended long ago, and one that has not begun.
        let past = held_with("t10.w3.s8/1000000ns/0");
        assert_eq!(raised(&raise, "window/p/0000000001", 7, past), (1024, true));
        let future = held_with("t41.w3.s8/1000000ns/1900000000000000000");
        assert_eq!(raised(&raise, "window/p/0000000001", 7, future), (7, false));
        assert_eq!(raised(&raise, "seq/a", most - 5, "{}".into()), (most, true));
        assert_eq!(raised(&raise, "seq/a", 5, "{}".into()), (1005, false));
        for counts_nothing in ["pool/p", "cluster/stripe"] {
            assert_eq!(raised(&raise, counts_nothing, 5, "{}".into()), (5, false));
        }
    }
}
