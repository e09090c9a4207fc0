//! The known Snowflake layouts, a row each.

use core::time::Duration;

use crate::layout::{Layout, Role};
use crate::time::Timestamp;

/// A known layout: one row of [`PRESETS`].
#[derive(Debug)]
pub struct Preset {
    /// Its name on the command line, in configuration and in `inspect`.
    pub name: &'static str,
    /// One sentence on who uses it.
    pub note: &'static str,
    /// Where its numbers are written down: project and file.
    pub source: &'static str,
    epoch_unix_ms: i64,
    tick: Duration,
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
            .tick(self.tick);
        for &(name, bits, role) in self.fields {
            builder = builder.field(name, bits, role);
        }
        builder.build().expect("a test builds every row of PRESETS")
    }
}

/// Every known layout.
pub static PRESETS: &[Preset] = &[Preset {
    name: "twitter",
    note: "Twitter's Snowflake of 2010: 41 bits of milliseconds, 5 of datacenter, 5 of worker, 12 of sequence",
    source: "twitter-archive/snowflake, IdWorker.scala",
    epoch_unix_ms: 1_288_834_974_657,
    tick: Duration::from_millis(1),
    fields: &[
        ("timestamp_ms", 41, Role::Time),
        ("datacenter", 5, Role::Worker),
        ("worker", 5, Role::Worker),
        ("sequence", 12, Role::Sequence),
    ],
}];

/// The preset called `name`.
///
/// ```
/// assert!(mintage::preset("twitter").is_some());
/// assert!(mintage::preset("Twitter").is_none());
/// ```
pub fn preset(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_a_sound_layout_with_its_own_name() {
        for (i, row) in PRESETS.iter().enumerate() {
            assert_eq!(row.layout().name(), row.name);
            assert!(!row.source.is_empty() && !row.note.is_empty());
            assert!(PRESETS[..i].iter().all(|other| other.name != row.name));
        }
    }
}
