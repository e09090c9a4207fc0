//! Ids as the parts from which clients of other projects put them together.
//!
//! ```text
//! icicle             time 41 | worker 10 | sequence 12     milliseconds, any epoch: the client has its own
//! seconds_partition  time 41 | worker 12 | sequence 10     milliseconds since 1970
//! ```
//!
//! The time in the answer is that of the ids' tick, never another one: worker, tick and sequence are what was reserved.

use std::time::Duration;

use mintage::{Layout, SequenceStart, Timestamp};
use mintage_ledger::{Ledger, LedgerError, Name, Pool, PoolKind};

use crate::config::{Does, Script};
use crate::error::{Answer, Code, ServiceError};
use crate::service::TickRun;

/// How the ids of a client are cut.
#[derive(Debug)]
struct Shape {
    worker_bits: u32,
    sequence_bits: u32,
    /// Whether time counts since 1970; otherwise the client takes an epoch of its own away.
    since_1970: bool,
    /// How to ask for such a pool.
    layout: &'static str,
}

const ICICLE: Shape = Shape {
    worker_bits: 10,
    sequence_bits: 12,
    since_1970: false,
    layout: "time=41,worker=10,sequence=12",
};

const SECONDS_PARTITION: Shape = Shape {
    worker_bits: 12,
    sequence_bits: 10,
    since_1970: true,
    layout: "time=41,worker=12,sequence=10,epoch=1970-01-01",
};

impl Shape {
    /// That of what is done in parts.
    fn of(does: &Does) -> Option<&'static Shape> {
        match does {
            Does::Icicle(_) => Some(&ICICLE),
            Does::SecondsPartition(_) => Some(&SECONDS_PARTITION),
            _ => None,
        }
    }

    /// Whether ids of `layout` are cut like this, and from a sequence that begins at 0 in each tick.
    fn is_of(&self, layout: &Layout) -> bool {
        let cut = (layout.time_bits(), layout.worker_bits(), layout.sequence_bits())
            == (TIME_BITS, self.worker_bits, self.sequence_bits);
        let place = |tick, worker, sequence| layout.pack(tick, worker, sequence).ok();
        let last_worker = (1 << self.worker_bits) - 1;
        let time_shift = self.worker_bits + self.sequence_bits;
        cut && layout.tick() == Duration::from_millis(1)
            && layout.sequence_start() == SequenceStart::Zero
            && layout.rollback_bits() == 0
            && (!self.since_1970 || layout.epoch() == Timestamp::from_unix_millis(0))
            && place(0, 0, 1) == Some(1)
            && place(0, last_worker, 0) == Some(last_worker << self.sequence_bits)
            && place(1, 0, 0) == Some(1 << time_shift)
    }
}

/// How many ids of one tick a script may ask for.
pub(crate) const ICICLE_MAX: u64 = 1 << 12;

const TIME_BITS: u32 = 41;

/// Checks that a pool's ids are those that the client of a script will put together.
///
/// # Errors
/// [`Code::InvalidArgument`]: they are not.
pub(crate) fn check_pool(does: &Does, pool: &Pool) -> Answer<()> {
    match pool.kind() {
        PoolKind::Snowflake(layout) => check_layout(does, pool.name(), layout),
        PoolKind::Uuid1 { .. } => {
            let message = format!(
                "pool {} makes UUIDs of version 1, and does = \"{}\" needs snowflakes",
                pool.name(),
                does.word()
            );
            Err(ServiceError::new(Code::InvalidArgument, message))
        }
    }
}

/// Checks the pools of all declared scripts before anybody is served. A pool that is still to be made is told of, and
/// one that cannot be read now is checked when it is used.
///
/// # Errors
/// As [`check_pool`].
pub(crate) async fn check_pools(declared: &[Script], ledger: &Ledger) -> Answer<()> {
    for does in declared.iter().map(|script| &script.does) {
        let Some(name) = does.pool() else { continue };
        match ledger.pool_or_default(name).await {
            Ok(pool) => check_pool(does, &pool)?,
            Err(LedgerError::NoPool { name } | LedgerError::NoAutoCreate { name, .. }) => {
                tracing::warn!(pool = %name, does = does.word(), "faces.scripts names a pool that does not exist yet");
            }
            Err(error) => {
                tracing::warn!(pool = %name, %error, "a pool of faces.scripts cannot be checked now")
            }
        }
    }
    Ok(())
}

fn check_layout(does: &Does, pool: &Name, layout: &Layout) -> Answer<()> {
    let Some(shape) = Shape::of(does).filter(|shape| !shape.is_of(layout)) else {
        return Ok(());
    };
    let message = format!(
        "pool {pool} has the layout {}, and does = \"{}\" needs {} with ticks of 1 ms",
        layout.spec(),
        does.word(),
        shape.layout
    );
    let hint = format!(
        "mint pool create NAME --layout {}, and name that pool",
        shape.layout
    );
    Err(ServiceError::new(Code::InvalidArgument, message).with_hint(hint))
}

/// What Icicle's client reads: first and last sequence, worker, seconds and microseconds.
pub(crate) fn icicle(run: &TickRun) -> [i64; 5] {
    let (seconds, microseconds) = seconds(run.time);
    let (first, last) = (run.first_sequence, run.last_sequence);
    [
        first.cast_signed(),
        last.cast_signed(),
        run.worker.cast_signed(),
        seconds,
        microseconds,
    ]
}

/// Seconds, microseconds, worker, sequence.
pub(crate) fn seconds_partition(run: &TickRun) -> [i64; 4] {
    let (seconds, microseconds) = seconds(run.time);
    [
        seconds,
        microseconds,
        run.worker.cast_signed(),
        run.first_sequence.cast_signed(),
    ]
}

/// Whole seconds, and the microseconds of a tick of a millisecond.
fn seconds(time: Timestamp) -> (i64, i64) {
    let milliseconds = time.unix_millis();
    (
        milliseconds.div_euclid(1000),
        milliseconds.rem_euclid(1000) * 1000,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use mintage::preset;

    fn does(word: &str) -> Does {
        let pool = Name::new("p").unwrap();
        match word {
            "icicle" => Does::Icicle(pool),
            _ => Does::SecondsPartition(pool),
        }
    }

    #[track_caller]
    fn check_fits(word: &str, layout: &Layout, fits: bool) {
        let checked = check_layout(&does(word), &Name::new("p").unwrap(), layout);
        assert_eq!(checked.is_ok(), fits, "{word} {}: {checked:?}", layout.spec());
        if let Err(error) = checked {
            assert!(
                error.message.contains(word) && error.message.contains("time=41"),
                "{error}"
            );
        }
    }

    #[test]
    fn layouts_are_those_that_clients_put_together() {
        let of = |spec: &str| spec.parse::<Layout>().unwrap();
        for (spec, icicle, seconds_partition) in [
            ("time=41,worker=10,sequence=12", true, false),
            ("time=41,worker=10,sequence=12,epoch=2020-01-01", true, false),
            ("time=41,worker=12,sequence=10,epoch=1970-01-01", false, true),
            ("time=41,worker=12,sequence=10,epoch=2020-01-01", false, false),
            ("time=42,worker=10,sequence=12", false, false),
            ("time=41,sequence=12,worker=10", false, false),
            ("time=41,worker=10,sequence=12,tick=10ms", false, false),
        ] {
            check_fits("icicle", &of(spec), icicle);
            check_fits("seconds_partition", &of(spec), seconds_partition);
        }
        check_fits("icicle", &preset("twitter").unwrap().layout(), true);
        // It begins its ticks at random: 4,096 of one tick cannot be had.
        check_fits("icicle", &preset("leaf").unwrap().layout(), false);
        assert_eq!(
            check_layout(
                &Does::Snowflake(Name::new("p").unwrap()),
                &Name::new("p").unwrap(),
                &of("time=40,worker=4,sequence=4")
            ),
            Ok(())
        );
    }

    #[test]
    fn parts_are_those_of_the_tick() {
        let run = TickRun {
            time: Timestamp::from_unix_millis(1_700_000_001_234),
            worker: 7,
            first_sequence: 5,
            last_sequence: 9,
        };
        assert_eq!(icicle(&run), [5, 9, 7, 1_700_000_001, 234_000]);
        assert_eq!(seconds_partition(&run), [1_700_000_001, 234_000, 7, 5]);
    }
}
