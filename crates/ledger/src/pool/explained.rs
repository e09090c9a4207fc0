//! Where an id of a pool comes from, and the windows of its workers over time.

use mintage::{Clock, Timestamp, Uuid};

use super::kind::PoolKind;
use super::window::{self, WindowBody};
use super::{Pool, WindowInfo};
use crate::error::LedgerError;
use crate::remembered::{Held, Verdict};
use crate::store::Versioned;

/// What the records say of an id and a pool.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PoolIdOrigin {
    /// What they say.
    pub verdict: Verdict,
    /// What that rests on, in words.
    pub why: String,
    /// The window that it lies in, or the last one of its worker.
    pub window: Option<WindowInfo>,
    /// Whether the holder of that window is the one who made it, if it was made.
    pub by_holder: bool,
}

/// What a window on the map is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WindowIs {
    /// It lasts.
    Held,
    /// It has ended.
    Passed,
    /// Its holder is done with it, or an operator released it; the worker is free once it has passed.
    Released,
    /// A wrong clock set it far ahead.
    Parked,
    /// Somebody else took the worker over since, as far as this process has seen.
    Earlier,
}

/// A window on the map.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MappedWindow {
    /// Who holds, or held, which worker until when.
    pub window: WindowInfo,
    /// What it is.
    pub is: WindowIs,
    /// How often its record was written.
    pub version: Option<u64>,
}

/// The parts of an id that matter here.
struct Made {
    worker: u64,
    tick: u64,
}

impl Pool {
    /// What the records say of an id of at most 128 bits; a UUID is one of all 128.
    ///
    /// # Errors
    /// The store refuses.
    pub async fn explain_id(&self, id: u128) -> Result<PoolIdOrigin, LedgerError> {
        let never = |why: String| PoolIdOrigin {
            verdict: Verdict::Never,
            why,
            window: None,
            by_holder: false,
        };
        let made = match &self.spec.kind {
            PoolKind::Snowflake(layout) => match layout.unpack_wide(id) {
                Ok(parts) => Made {
                    worker: parts.worker,
                    tick: parts.tick,
                },
                Err(error) => return Ok(never(format!("the pool never makes it: {error}"))),
            },
            PoolKind::Uuid1 { node } => match of_uuid1(Uuid::from_u128(id), *node) {
                Some(made) => made,
                None => {
                    return Ok(never(
                        "the pool never makes it: its UUIDs have another node".to_string(),
                    ));
                }
            },
        };
        if made.worker >= self.spec.kind.workers() {
            let (worker, workers) = (made.worker, self.spec.kind.workers());
            return Ok(never(format!(
                "the pool has {workers} workers, and no worker {worker}"
            )));
        }
        let found = self.record(made.worker).await?;
        Ok(self.judge(&made, found))
    }

    fn judge(&self, made: &Made, found: Option<Versioned>) -> PoolIdOrigin {
        let at = super::utc(self.ticks.time_of(made.tick));
        let worker = made.worker;
        let told = |verdict, why: String, window, by_holder| PoolIdOrigin {
            verdict,
            why,
            window,
            by_holder,
        };
        let Some(found) = found else {
            let why = format!("there is no record of worker {worker}: nobody has held it");
            return told(Verdict::NotYet, why, None, false);
        };
        let until = found.value.mark;
        let Ok(body) = WindowBody::read(&found) else {
            let why = format!("there is a record of worker {worker} that says no more than where it ends");
            return match made.tick < until {
                true => told(Verdict::Possible, why, None, false),
                false => told(Verdict::NotYet, why, None, false),
            };
        };
        self.saw(worker, &body, until);
        let window = self.window_info(worker, body, until);
        if made.tick >= until {
            let why = format!(
                "worker {worker} is reserved until {} only, and the id says {at}",
                super::utc(window.until)
            );
            return told(Verdict::NotYet, why, Some(window), false);
        }
        let from = self.ticks.tick_at(window.from).unwrap_or(0);
        let holder = |name: &str, owner: &str| match name {
            "" => owner.to_string(),
            name => name.to_string(),
        };
        if made.tick < from {
            let before = self.context.earlier.of(&self.name, worker..=worker);
            let mut held = before.into_iter().rev().map(|(_, held)| held);
            let held = held.find(|held| (held.from..held.until).contains(&made.tick));
            return match held {
                Some(held) => {
                    let by = holder(&held.name, &held.owner);
                    let why =
                        format!("worker {worker} was reserved for {by} at {at}, before its holder of now");
                    let window = self.earlier_info(worker, held);
                    told(Verdict::Reserved, why, Some(window), true)
                }
                None => {
                    let by = holder(&window.name, &window.owner);
                    let why = format!(
                        "worker {worker} is reserved for {by} since {} only; who held it at {at} is not remembered",
                        super::utc(window.from)
                    );
                    told(Verdict::Possible, why, Some(window), false)
                }
            };
        }
        let by = holder(&window.name, &window.owner);
        if self.ticks.time_of(made.tick) > self.now_with_room() {
            let why = format!("worker {worker} is reserved for {by} at {at}, which has not come yet");
            return told(Verdict::NotYet, why, Some(window), true);
        }
        let why = format!(
            "worker {worker} is reserved for {by} at {at}: if it was made, then by {by}; which counters of a tick were used \
             is not recorded"
        );
        told(Verdict::Reserved, why, Some(window), true)
    }

    /// The latest time that an id may say by now.
    fn now_with_room(&self) -> Timestamp {
        let ahead = u32::try_from(self.lengths.max_ahead).unwrap_or(u32::MAX);
        let room = self.ticks.tick().saturating_mul(ahead);
        self.context
            .clock
            .now()
            .saturating_add(room.max(window::AHEAD_MIN))
    }

    /// A record says this of a worker now.
    pub(super) fn saw(&self, worker: u64, body: &WindowBody, until: u64) {
        let held = Held {
            owner: body.owner.clone(),
            name: body.name.clone(),
            from: body.from,
            until,
            written: Timestamp::from_unix_millis(body.wall_ms),
        };
        self.context.earlier.note(&self.name, worker, held);
    }

    /// What a record says.
    pub(super) fn window_info(&self, worker: u64, body: WindowBody, until: u64) -> WindowInfo {
        let (now, until) = (self.context.clock.now(), self.ticks.time_of(until));
        WindowInfo {
            worker,
            ours: body.owner == format!("{:032x}", self.context.instance()),
            owner: body.owner,
            name: body.name,
            from: self.ticks.time_of(body.from),
            until,
            written: Timestamp::from_unix_millis(body.wall_ms),
            lasts: until > now && !body.retired,
        }
    }

    fn earlier_info(&self, worker: u64, held: Held) -> WindowInfo {
        WindowInfo {
            worker,
            ours: held.owner == format!("{:032x}", self.context.instance()),
            owner: held.owner,
            name: held.name,
            from: self.ticks.time_of(held.from),
            until: self.ticks.time_of(held.until),
            written: held.written,
            lasts: false,
        }
    }

    /// The windows of the workers from `first` on, of at most `limit` workers, in the order of the workers: for each the
    /// earlier ones first that this process has seen.
    ///
    /// # Errors
    /// The store refuses.
    pub async fn map(&self, first: u64, limit: u16) -> Result<Vec<MappedWindow>, LedgerError> {
        let now = self.context.clock.now();
        let mut mapped = Vec::new();
        let page = self.page(first, limit).await?;
        // A page of all that there are shows the earlier windows of workers beyond it, too: none.
        let last = page.last().map_or(first, |(worker, _)| *worker);
        let mut parsed = Vec::with_capacity(page.len());
        for (worker, found) in page {
            // A repair leaves the mark alone.
            let Ok(body) = WindowBody::read(&found) else {
                continue;
            };
            self.saw(worker, &body, found.value.mark);
            parsed.push((worker, body, found));
        }
        let earlier = self.context.earlier.of(&self.name, first..=last);
        for (worker, body, found) in parsed {
            let before = earlier.iter().filter(|(of, _)| *of == worker);
            mapped.extend(before.map(|(worker, held)| MappedWindow {
                window: self.earlier_info(*worker, held.clone()),
                is: WindowIs::Earlier,
                version: None,
            }));
            let (is_retired, is_ahead) = (body.retired, body.was_written_ahead(now));
            let window = self.window_info(worker, body, found.value.mark);
            mapped.push(MappedWindow {
                is: match window.until > now {
                    true if is_ahead => WindowIs::Parked,
                    _ if is_retired => WindowIs::Released,
                    true => WindowIs::Held,
                    false => WindowIs::Passed,
                },
                window,
                version: Some(found.version.number()),
            });
        }
        Ok(mapped)
    }
}

/// The parts of a UUID of version 1 or 6 (RFC 9562 sections 5.1 and 5.6) of this node.
fn of_uuid1(id: Uuid, node: u64) -> Option<Made> {
    let octets = id.as_bytes();
    let whole = |of: &[u8]| {
        of.iter()
            .fold(0_u64, |whole, octet| whole << 8 | u64::from(*octet))
    };
    let (high, low) = (whole(&octets[..8]), whole(&octets[8..]));
    let time = match id.get_version_num() {
        1 => (high & 0xfff) << 48 | (high >> 16 & 0xffff) << 32 | high >> 32,
        6 => high >> 16 << 12 | high & 0xfff,
        _ => return None,
    };
    let is_ours = low & 0xffff_ffff_ffff == node;
    is_ours.then_some(Made {
        worker: low >> 48 & 0x3fff,
        // Two UUIDs a tick.
        tick: time >> 1,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::pool::kind::uuid1;

    #[test]
    fn the_parts_of_a_uuid_are_those_it_was_made_of() {
        let (time, worker, node) = (0x1ec_9414_c232_ab00, 0x33c8, 0x9f6b_dece_d846);
        let v1 = uuid1(time, worker, node);
        let v6 = Uuid::parse_str("1ec9414c-232a-6b00-b3c8-9f6bdeced846").unwrap();
        for id in [v1, v6] {
            let made = of_uuid1(id, node).unwrap();
            assert_eq!((made.worker, made.tick), (worker, time >> 1), "{id}");
            assert!(of_uuid1(id, node + 1).is_none());
        }
        assert!(of_uuid1(Uuid::nil(), 0).is_none());
    }
}
