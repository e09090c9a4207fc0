//! The sequences and pools that runs are about.

use std::sync::Arc;
use std::time::Duration;

use mintage::{FORMATS, Format, Layout, SequenceOptions, Timestamp, preset};
use mintage_ledger::{DEFAULT_POOL, Gap, Key, LedgerSettings, PoolKind, PoolSpec, SequenceSpec, UUID1_POOL};

/// What is promised about a sequence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rules {
    /// No repeats; at most `max_gap` lost per crash.
    Counted,
    /// No repeats, no holes.
    GapFree,
    /// No repeats; definition and position change, so what is skipped is not counted.
    Changing,
    /// No repeats, here or among the clients of the counter elsewhere that it takes from; nothing is claimed from its record.
    Beside,
    /// Repeats by definition, or by an operator's `allow_repeat`.
    Repeating,
}

/// A sequence of the runs.
pub(crate) struct Row {
    pub name: &'static str,
    pub rules: Rules,
    /// The most numbers asked for at once.
    pub most: u64,
    /// How often it is chosen, against the others.
    pub weight: u64,
    /// start, increment, min, max, cycle; `None`: made by its first use.
    spec: Option<SequenceSpec>,
}

const PLAIN: SequenceOptions = SequenceOptions {
    start: None,
    increment: None,
    min: None,
    max: None,
    cycle: None,
};

const fn spec(options: SequenceOptions, gap: Gap, max_gap: u64) -> Option<SequenceSpec> {
    Some(SequenceSpec {
        options,
        gap,
        max_gap: Some(max_gap),
    })
}

const fn row(name: &'static str, rules: Rules, most: u64, weight: u64, spec: Option<SequenceSpec>) -> Row {
    Row {
        name,
        rules,
        most,
        weight,
        spec,
    }
}

pub(crate) const SEQUENCES: &[Row] = &[
    row("orders", Rules::Counted, 20, 6, None),
    row("bills", Rules::GapFree, 5, 4, spec(PLAIN, Gap::None, 0)),
    row("wide", Rules::Counted, 5_000, 4, spec(PLAIN, Gap::Bounded, 2_000)),
    row(
        "down",
        Rules::Counted,
        50,
        1,
        spec(
            SequenceOptions {
                increment: Some(-3),
                ..PLAIN
            },
            Gap::Bounded,
            40,
        ),
    ),
    row(
        "tight",
        Rules::Counted,
        30,
        1,
        spec(
            SequenceOptions {
                max: Some(400),
                ..PLAIN
            },
            Gap::Bounded,
            25,
        ),
    ),
    row("moved", Rules::Changing, 20, 3, None),
    row(
        "ring",
        Rules::Repeating,
        10,
        1,
        spec(
            SequenceOptions {
                max: Some(50),
                cycle: Some(true),
                ..PLAIN
            },
            Gap::Bounded,
            10,
        ),
    ),
    row("loose", Rules::Repeating, 10, 1, spec(PLAIN, Gap::Bounded, 100)),
    // Names whose first use comes late.
    row("fresh-1", Rules::Counted, 20, 1, None),
    row("fresh-2", Rules::Counted, 200, 1, None),
    row("fresh-3", Rules::Counted, 20, 1, None),
    // Asked for by runs that have a counter elsewhere.
    row("beside", Rules::Beside, 60, 0, spec(PLAIN, Gap::Bounded, 500)),
];

/// Of [`SEQUENCES`], the one that is set, altered, dropped and made anew.
pub(crate) const MOVED: usize = 5;
/// Of [`SEQUENCES`], the one that takes its numbers out of a counter elsewhere.
pub(crate) const BESIDE: usize = 11;
/// Of [`SEQUENCES`], the one that is restarted with `allow_repeat`.
pub(crate) const LOOSE: usize = 7;

impl Row {
    /// How it is made; `None`: by its first use.
    pub(crate) fn spec(&self) -> Option<SequenceSpec> {
        self.spec
    }
}

pub(crate) fn sequence_of(key: &Key) -> Option<usize> {
    let name = key.as_str().strip_prefix("seq/")?;
    SEQUENCES.iter().position(|row| row.name == name)
}

/// The pools of the runs; `few` has four workers, `coarse` ticks of 10 ms.
pub(crate) const POOLS: &[&str] = &[DEFAULT_POOL, "few", "coarse", UUID1_POOL];

/// The formats that hold a time and need no window. The time of a UUID of version 2 moves in steps of 429 s.
pub(crate) fn formats() -> Vec<&'static Format> {
    let timed = FORMATS.iter().filter(|row| row.time.is_some() && row.can_make());
    timed.filter(|row| row.name != "uuid2").collect()
}

/// 2027-01-15, a round number later than any build of this.
pub(crate) const TRUE_WALL_NS: i128 = 1_800_000_000_000_000_000;

/// The layouts of [`POOLS`].
pub(crate) fn layouts() -> Vec<Layout> {
    let epoch = Timestamp::from_unix_millis(1_700_000_000_000);
    let few = Layout::builder("few")
        .epoch(epoch)
        .time("time", 45)
        .worker("worker", 2)
        .sequence("seq", 6);
    let coarse = Layout::builder("coarse")
        .epoch(epoch)
        .tick(Duration::from_millis(10))
        .time("time", 39)
        .sequence("seq", 8)
        .worker("worker", 10);
    let uuids = Layout::builder("uuid1")
        .epoch(Timestamp::from_unix_nanos(-12_219_292_800_000_000_000))
        .tick(Duration::from_nanos(200))
        .time("time", 59)
        .sequence("half", 1);
    vec![
        preset("twitter").expect("a row of PRESETS").layout(),
        few.build().expect("53 bits"),
        coarse.build().expect("57 bits"),
        uuids.build().expect("60 bits"),
    ]
}

/// How a pool is made; `None`: by its first use.
pub(crate) fn pool_spec(pool: usize, window: Option<Duration>) -> Option<PoolSpec> {
    let own = !matches!(POOLS[pool], DEFAULT_POOL | UUID1_POOL);
    own.then(|| PoolSpec {
        window,
        ..PoolSpec::from(PoolKind::Snowflake(Arc::new(layouts().swap_remove(pool))))
    })
}

/// Whether the pool has so many workers that some are free however many a wrong clock has parked.
pub(crate) fn has_many_workers(pool: usize) -> bool {
    POOLS[pool] != "few"
}

/// What differs between runs, and between restarts of one where [`super::Fault::Reconfigured`] is on.
pub(crate) fn settings(dice: &mut crate::dice::Dice) -> LedgerSettings {
    LedgerSettings {
        max_gap: *dice.pick(&[10, 100, 1_000, 100_000]),
        window: *dice.pick(&[
            None,
            None,
            Some(Duration::from_secs(4)),
            Some(Duration::from_secs(20)),
        ]),
        clock_confirm: *dice.pick(&[Duration::from_secs(2), Duration::from_secs(60)]),
        outage_budget: *dice.pick(&[
            Duration::from_secs(1),
            Duration::from_secs(10),
            Duration::from_secs(600),
        ]),
        // Longer than any run: what an idle name held would be lost without a crash.
        idle_after: Duration::from_secs(86_400),
        instance_name: "simulated".into(),
        ..LedgerSettings::default()
    }
}
