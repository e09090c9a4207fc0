//! The known Snowflake layouts, a row each.

use core::time::Duration;

use crate::clock_policy::ClockPolicy;
use crate::layout::{Layout, Role, SequenceStart};
use crate::time::Timestamp;

/// A known layout: one row of [`PRESETS`].
#[derive(Debug)]
pub struct Preset {
    /// Its name.
    pub name: &'static str,
    /// One sentence on who uses it.
    pub note: &'static str,
    /// Where its numbers are written down: project and file.
    pub source: &'static str,
    /// What the original does when its clock goes back, as near as our policies come.
    ///
    /// Information, not the default: layouts hold, because the originals' ways lose ids or time for nothing.
    /// [`Snowflake::clock_policy`](crate::Snowflake::clock_policy) sets it for a generator.
    pub original_clock: ClockPolicy,
    epoch_unix_ms: i64,
    tick: Duration,
    start: SequenceStart,
    /// Highest first.
    fields: &'static [(&'static str, u32, Role)],
}

impl Preset {
    /// The layout of this row.
    ///
    /// ```
    /// use mintage::preset;
    /// let layout = preset("twitter").expect("a preset").layout();
    /// assert_eq!((layout.time_bits(), layout.worker_bits(), layout.sequence_bits()), (41, 10, 12));
    /// ```
    pub fn layout(&self) -> Layout {
        let mut builder = Layout::builder(self.name)
            .epoch(Timestamp::from_unix_millis(self.epoch_unix_ms))
            .tick(self.tick)
            .sequence_start(self.start);
        for &(name, bits, role) in self.fields {
            builder = builder.field(name, bits, role);
        }
        builder.build().expect("a test builds every row of PRESETS")
    }
}

/// The preset called `name`, of [`PRESETS`] or [`WIDE_PRESETS`].
///
/// ```
/// assert!(mintage::preset("twitter").is_some());
/// assert!(mintage::preset("Twitter").is_none());
/// ```
pub fn preset(name: &str) -> Option<&'static Preset> {
    PRESETS
        .iter()
        .chain(WIDE_PRESETS)
        .find(|preset| preset.name == name)
}

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
const TWITTER_EPOCH: i64 = 1_288_834_974_657;
const COSID_EPOCH: i64 = 1_577_203_200_000;

/// Every known layout; `inspect` prefers the earlier of two that fit equally well.
pub static PRESETS: &[Preset] = &[
    Preset {
        name: "twitter",
        note: "Twitter's Snowflake of 2010, now X's",
        source: "twitter-archive/snowflake, IdWorker.scala",
        original_clock: ClockPolicy::Error,
        epoch_unix_ms: TWITTER_EPOCH,
        tick: MS,
        start: SequenceStart::Zero,
        fields: &[
            ("timestamp_ms", 41, Role::Time),
            ("datacenter", 5, Role::Worker),
            ("worker", 5, Role::Worker),
            ("sequence", 12, Role::Sequence),
        ],
    },
    Preset {
        name: "discord",
        note: "Discord's ids of users, messages and all else",
        source: "discord/discord-api-docs, Reference: Snowflakes",
        original_clock: ClockPolicy::Hold,
        epoch_unix_ms: 1_420_070_400_000,
        tick: MS,
        start: SequenceStart::Zero,
        fields: &[
            ("timestamp_ms", 42, Role::Time),
            ("worker", 5, Role::Worker),
            ("process", 5, Role::Worker),
            ("sequence", 12, Role::Sequence),
        ],
    },
    Preset {
        name: "bwmarrin",
        note: "the Go library bwmarrin/snowflake with its default bits and epoch",
        source: "bwmarrin/snowflake, snowflake.go",
        original_clock: ClockPolicy::Hold,
        epoch_unix_ms: TWITTER_EPOCH,
        tick: MS,
        start: SequenceStart::Zero,
        fields: &[
            ("timestamp_ms", 41, Role::Time),
            ("node", 10, Role::Worker),
            ("step", 12, Role::Sequence),
        ],
    },
    Preset {
        name: "leaf",
        note: "Meituan Leaf's snowflake mode; a tick begins at random 0 to 99, so that ids shard evenly",
        source: "Meituan-Dianping/Leaf, SnowflakeIDGenImpl.java",
        original_clock: ClockPolicy::Wait {
            max: Duration::from_millis(5),
        },
        epoch_unix_ms: TWITTER_EPOCH,
        tick: MS,
        start: SequenceStart::Random { below: 100 },
        fields: &[
            ("timestamp_ms", 41, Role::Time),
            ("worker", 10, Role::Worker),
            ("sequence", 12, Role::Sequence),
        ],
    },
    Preset {
        name: "instagram",
        note: "Instagram's ids per logical shard; 64 bits, so negative as signed numbers from 2046",
        source: "Instagram engineering, Sharding & IDs at Instagram (2012)",
        original_clock: ClockPolicy::Hold,
        epoch_unix_ms: 1_314_220_021_721,
        tick: MS,
        start: SequenceStart::Carry,
        fields: &[
            ("timestamp_ms", 41, Role::Time),
            ("shard", 13, Role::Worker),
            ("sequence", 10, Role::Sequence),
        ],
    },
    Preset {
        name: "mastodon",
        note: "Mastodon's ids: milliseconds and 16 bits that its database fills",
        source: "mastodon/mastodon, lib/mastodon/snowflake.rb",
        original_clock: ClockPolicy::Hold,
        epoch_unix_ms: 0,
        tick: MS,
        start: SequenceStart::Carry,
        fields: &[("timestamp_ms", 48, Role::Time), ("sequence", 16, Role::Sequence)],
    },
    Preset {
        name: "sonyflake",
        note: "sony/sonyflake version 1: 10 ms ticks, sequence above machine",
        source: "sony/sonyflake, sonyflake.go",
        original_clock: ClockPolicy::Hold,
        epoch_unix_ms: 1_409_529_600_000,
        tick: Duration::from_millis(10),
        start: SequenceStart::Zero,
        fields: &[
            ("timestamp_10ms", 39, Role::Time),
            ("sequence", 8, Role::Sequence),
            ("machine", 16, Role::Worker),
        ],
    },
    Preset {
        name: "sonyflake2",
        note: "sony/sonyflake version 2 with its default settings",
        source: "sony/sonyflake, v2/sonyflake.go",
        original_clock: ClockPolicy::Hold,
        epoch_unix_ms: 1_735_689_600_000,
        tick: Duration::from_millis(10),
        start: SequenceStart::Zero,
        fields: &[
            ("timestamp_10ms", 39, Role::Time),
            ("sequence", 8, Role::Sequence),
            ("machine", 16, Role::Worker),
        ],
    },
    Preset {
        name: "hazelcast",
        note: "Hazelcast's Flake ids; runs up to 15 s ahead of the clock",
        source: "hazelcast/hazelcast, FlakeIdGeneratorConfig.java",
        original_clock: ClockPolicy::Hold,
        epoch_unix_ms: 1_514_764_800_000,
        tick: MS,
        start: SequenceStart::Zero,
        fields: &[
            ("timestamp_ms", 41, Role::Time),
            ("sequence", 6, Role::Sequence),
            ("node", 16, Role::Worker),
        ],
    },
    Preset {
        name: "cosid",
        note: "CosId's millisecond ids; the sequence goes on from tick to tick",
        source: "Ahoo-Wang/CosId, MillisecondSnowflakeId.java",
        original_clock: ClockPolicy::Wait {
            max: Duration::from_millis(500),
        },
        epoch_unix_ms: COSID_EPOCH,
        tick: MS,
        start: SequenceStart::Carry,
        fields: &[
            ("timestamp_ms", 41, Role::Time),
            ("machine", 10, Role::Worker),
            ("sequence", 12, Role::Sequence),
        ],
    },
    Preset {
        name: "cosid-s",
        note: "CosId's second ids",
        source: "Ahoo-Wang/CosId, SecondSnowflakeId.java",
        original_clock: ClockPolicy::Wait {
            max: Duration::from_millis(500),
        },
        epoch_unix_ms: COSID_EPOCH,
        tick: SECOND,
        start: SequenceStart::Carry,
        fields: &[
            ("timestamp_s", 31, Role::Time),
            ("machine", 10, Role::Worker),
            ("sequence", 22, Role::Sequence),
        ],
    },
    Preset {
        name: "cosid-53",
        note: "CosId's millisecond ids in 53 bits, which JavaScript numbers hold",
        source: "Ahoo-Wang/CosId, SafeJavaScriptSnowflakeId.java",
        original_clock: ClockPolicy::Wait {
            max: Duration::from_millis(500),
        },
        epoch_unix_ms: COSID_EPOCH,
        tick: MS,
        start: SequenceStart::Carry,
        fields: &[
            ("timestamp_ms", 41, Role::Time),
            ("machine", 3, Role::Worker),
            ("sequence", 9, Role::Sequence),
        ],
    },
    Preset {
        name: "cosid-s-53",
        note: "CosId's second ids in 53 bits, which JavaScript numbers hold",
        source: "Ahoo-Wang/CosId, SafeJavaScriptSnowflakeId.java",
        original_clock: ClockPolicy::Wait {
            max: Duration::from_millis(500),
        },
        epoch_unix_ms: COSID_EPOCH,
        tick: SECOND,
        start: SequenceStart::Carry,
        fields: &[
            ("timestamp_s", 31, Role::Time),
            ("machine", 3, Role::Worker),
            ("sequence", 19, Role::Sequence),
        ],
    },
    Preset {
        name: "yitter",
        note: "yitter/IdGenerator with its defaults, 53 bits; sequences 0 to 4 are reserved",
        source: "yitter/IdGenerator, IdGeneratorOptions.cs",
        original_clock: ClockPolicy::Bump,
        epoch_unix_ms: 1_582_136_402_000,
        tick: MS,
        start: SequenceStart::At(5),
        fields: &[
            ("timestamp_ms", 41, Role::Time),
            ("worker", 6, Role::Worker),
            ("sequence", 6, Role::Sequence),
        ],
    },
    Preset {
        name: "baidu",
        note: "baidu/uid-generator with its default bits; they ended on 2024-11-20, so it only reads",
        source: "baidu/uid-generator, DefaultUidGenerator.java",
        original_clock: ClockPolicy::Error,
        // 2016-05-20T00:00:00+08:00: the original takes midnight in the zone of its machine.
        epoch_unix_ms: 1_463_673_600_000,
        tick: SECOND,
        start: SequenceStart::Zero,
        fields: &[
            ("delta_s", 28, Role::Time),
            ("worker", 22, Role::Worker),
            ("sequence", 13, Role::Sequence),
        ],
    },
    Preset {
        name: "gosnowflake",
        note: "the Go library zheng-ji/goSnowFlake",
        source: "zheng-ji/goSnowFlake, gosnowflake.go",
        original_clock: ClockPolicy::Error,
        epoch_unix_ms: 1_474_802_888_000,
        tick: MS,
        start: SequenceStart::Zero,
        fields: &[
            ("timestamp_ms", 41, Role::Time),
            ("worker", 10, Role::Worker),
            ("sequence", 12, Role::Sequence),
        ],
    },
    Preset {
        name: "tso",
        note: "TiKV PD's timestamps: milliseconds and a logical counter, no worker",
        source: "tikv/pd, pkg/utils/tsoutil",
        original_clock: ClockPolicy::Hold,
        epoch_unix_ms: 0,
        tick: MS,
        start: SequenceStart::Zero,
        fields: &[("physical_ms", 46, Role::Time), ("logical", 18, Role::Sequence)],
    },
    Preset {
        name: "spaceflake",
        note: "the Go library kkrypt0nn/spaceflake with its default epoch",
        source: "kkrypt0nn/spaceflake, spaceflake.go",
        original_clock: ClockPolicy::Error,
        epoch_unix_ms: 1_420_070_400_000,
        tick: MS,
        start: SequenceStart::Zero,
        fields: &[
            ("timestamp_ms", 41, Role::Time),
            ("node", 5, Role::Worker),
            ("worker", 5, Role::Worker),
            ("sequence", 12, Role::Sequence),
        ],
    },
    Preset {
        name: "frostflake",
        note: "the Swift library ordo-one/package-frostflake: seconds, and the generator last",
        source: "ordo-one/package-frostflake, README",
        original_clock: ClockPolicy::Hold,
        epoch_unix_ms: 0,
        tick: SECOND,
        start: SequenceStart::Zero,
        fields: &[
            ("timestamp_s", 32, Role::Time),
            ("sequence", 21, Role::Sequence),
            ("generator", 11, Role::Worker),
        ],
    },
    Preset {
        name: "tsid",
        note: "f4b6a3/tsid-creator with 1024 nodes; format tsid writes and makes them as it does",
        source: "f4b6a3/tsid-creator, Tsid.java and TsidFactory.java",
        original_clock: ClockPolicy::Hold,
        epoch_unix_ms: 1_577_836_800_000,
        tick: MS,
        start: SequenceStart::Random { below: 2048 },
        fields: &[
            ("time_ms", 42, Role::Time),
            ("node", 10, Role::Worker),
            ("counter", 12, Role::Sequence),
        ],
    },
    Preset {
        name: "scru64",
        note: "SCRU64 with 8 bits of node: steps of 256 ms, 63 bits",
        source: "scru64/spec 1.0 and scru64/rust, README",
        original_clock: ClockPolicy::Hold,
        epoch_unix_ms: 0,
        tick: Duration::from_millis(256),
        start: SequenceStart::Random { below: 32_768 },
        fields: &[
            ("timestamp_256ms", 38, Role::Time),
            ("node", 8, Role::Worker),
            ("counter", 16, Role::Sequence),
        ],
    },
    Preset {
        name: "flake-idgen",
        note: "the Node library flake-idgen with its default epoch of 1970",
        source: "T-PWK/flake-idgen, README",
        original_clock: ClockPolicy::Hold,
        epoch_unix_ms: 0,
        tick: MS,
        start: SequenceStart::Zero,
        fields: &[
            ("timestamp_ms", 42, Role::Time),
            ("datacenter", 5, Role::Worker),
            ("worker", 5, Role::Worker),
            ("counter", 12, Role::Sequence),
        ],
    },
    Preset {
        name: "linkedin",
        note: "LinkedIn's ids of posts and comments: milliseconds since 1970 and 22 bits that nobody documents",
        source: "by observation: Ollie Boyd, linkedin-timestamp-extraction (2021)",
        original_clock: ClockPolicy::Hold,
        epoch_unix_ms: 0,
        tick: MS,
        start: SequenceStart::Carry,
        fields: &[("timestamp_ms", 41, Role::Time), ("unknown", 22, Role::Sequence)],
    },
    Preset {
        name: "rollback2",
        note: "ours: two bits that count how often the clock went far back, so that minting can follow it",
        source: "this project",
        original_clock: ClockPolicy::Bump,
        epoch_unix_ms: 1_577_836_800_000,
        tick: MS,
        start: SequenceStart::Zero,
        fields: &[
            ("timestamp_ms", 41, Role::Time),
            ("rollback", 2, Role::Rollback),
            ("worker", 8, Role::Worker),
            ("sequence", 12, Role::Sequence),
        ],
    },
];

/// The known layouts of more than 64 bits: what only ids of 64 bits are made for, as pools and the SQL functions, has
/// [`PRESETS`] alone.
pub static WIDE_PRESETS: &[Preset] = &[
    Preset {
        name: "cosid-string",
        note: "CosId's ids that are strings: base62-fields writes its 15 characters, base36-fields its 17",
        source: "Ahoo-Wang/CosId, RadixCosIdGenerator and RadixCosIdStateParser",
        original_clock: ClockPolicy::Error,
        epoch_unix_ms: 0,
        tick: MS,
        start: SequenceStart::Zero,
        fields: &[
            ("timestamp_ms", 44, Role::Time),
            ("machine", 20, Role::Worker),
            ("sequence", 16, Role::Sequence),
        ],
    },
    Preset {
        name: "flake",
        note: "Boundary's flake, whose worker is a hardware address; format flake writes it as its original does",
        source: "boundary/flake, readme and flake_util.erl",
        original_clock: ClockPolicy::Error,
        epoch_unix_ms: 0,
        tick: MS,
        start: SequenceStart::Zero,
        fields: &[
            ("unix_ms", 64, Role::Time),
            ("worker", 48, Role::Worker),
            ("sequence", 16, Role::Sequence),
        ],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_a_sound_layout_with_its_own_name() {
        let rows: std::vec::Vec<&Preset> = PRESETS.iter().chain(WIDE_PRESETS).collect();
        for (i, row) in rows.iter().enumerate() {
            assert_eq!(row.layout().name(), row.name);
            assert_eq!(row.layout().is_wide(), i >= PRESETS.len(), "{}", row.name);
            assert!(!row.source.is_empty() && !row.note.is_empty());
            assert!(rows[..i].iter().all(|other| other.name != row.name));
        }
    }

    #[test]
    fn baidus_default_bits_ended_in_2024() {
        let layout = preset("baidu").expect("a preset").layout();
        // 2024-11-20T21:24:16+08:00 is the first second that does not fit.
        assert_eq!(layout.end(), Timestamp::from_unix_millis(1_732_109_056_000));
        assert!(
            layout
                .check_at(Timestamp::from_unix_millis(1_780_000_000_000))
                .is_err()
        );
    }

    #[test]
    fn javascript_forms_stay_within_53_bits() {
        for name in ["cosid-53", "cosid-s-53", "yitter"] {
            assert_eq!(preset(name).expect("a preset").layout().bits(), 53, "{name}");
        }
    }
}
