//! `--layout`: a Snowflake layout on the command line.

use mintage::{Layout, LayoutError};

use crate::errors::Failure;
use mintage_wire::shown;

/// The syntax, for `--help`.
pub(crate) const SYNTAX: &str = "\
Layouts: fields from the highest bit down as ROLE[:NAME]=BITS, then settings; commas between all:

  --layout time=41,worker=10,sequence=12,epoch=2020-01-01
  --layout time=39,sequence=8,worker:machine=16,tick=10ms,epoch=2014-09-01

Roles: time and sequence (one each), worker (any number), rollback, constant:NAME=BITS@VALUE.
A layout has at most 128 bits, that of a pool 64. Few programs read a number of more than 64: keep such ids as text.
Settings: tick=1ms, epoch=TIME or Unix milliseconds (1970-01-01), start=zero|carry|N|random(BELOW), where a tick's \
sequence begins, name=NAME.";

/// Reads a layout in the one-line form of the library.
pub(crate) fn parse_layout(text: &str) -> Result<Layout, String> {
    text.parse().map_err(|error| match error {
        LayoutError::Invalid { reason, .. } => reason,
        other => other.to_string(),
    })
}

/// A layout as a person reads it: its preset, or its fields from the highest bit down.
pub(crate) fn layout_words(layout: &Layout) -> String {
    if mintage::preset(layout.name()).is_some_and(|preset| preset.layout() == *layout) {
        return layout.name().to_string();
    }
    let fields: Vec<String> = layout
        .fields()
        .iter()
        .map(|field| format!("{}:{}", field.name, field.bits))
        .collect();
    fields.join(" ")
}

/// A layout's refusal in words, with times as people write them.
pub(crate) fn layout_refused(error: &LayoutError) -> Failure {
    match error {
        LayoutError::BeforeEpoch { layout, time, epoch } => Failure::usage(format_args!(
            "{} lies before {}, the epoch of layout {layout}",
            shown(*time),
            shown(*epoch)
        )),
        LayoutError::PastEnd { layout, time, end } => Failure::usage(format_args!(
            "{} does not fit layout {layout}, whose time field ends at {}",
            shown(*time),
            shown(*end)
        ))
        .with_hint("mint presets shows how long the others last"),
        LayoutError::ReadOnly {
            time_bits,
            sequence_bits,
            ..
        } if time_bits + sequence_bits > u64::BITS => Failure::usage(error)
            .with_hint("mint inspect reads ids of it; a later epoch= or a longer tick= leaves room as well"),
        LayoutError::ReadOnly {
            time_bits,
            sequence_bits,
            ..
        } => Failure::usage(error).with_hint(format_args!(
            "mint inspect reads ids of it; to make some with the time in the same place, give bits of the sequence to a \
             worker, as in --layout time={time_bits},worker=1,sequence={} --worker 0",
            sequence_bits.saturating_sub(1)
        )),
        LayoutError::NoDatacenter { .. } => {
            Failure::usage(error).with_hint("give the worker alone, or a --layout with a field worker:datacenter=BITS")
        }
        other => Failure::usage(other),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use mintage::SequenceStart;

    use super::*;

    #[test]
    fn the_presets_can_be_written_as_layouts() {
        for (preset, text) in [
            (
                "twitter",
                "time=41,worker:dc=5,worker=5,sequence=12,epoch=1288834974657",
            ),
            (
                "twitter",
                "time=41,worker=10,sequence=12;epoch=2010-11-04T01:42:54.657Z",
            ),
            (
                "sonyflake",
                "time=39,sequence=8,worker:machine=16,tick=10ms,epoch=2014-09-01",
            ),
            ("tso", "time=46,sequence=18"),
            (
                "yitter",
                "time=41, worker=6, sequence=6, epoch=@1582136402, start=5",
            ),
            (
                "rollback2",
                "epoch=2020-01-01,time=41,rollback=2,worker=8,sequence=12",
            ),
        ] {
            let wanted = mintage::preset(preset).unwrap().layout();
            let layout = parse_layout(text).unwrap();
            assert_eq!(layout.fingerprint(), wanted.fingerprint(), "{preset}");
            assert_eq!(layout.sequence_start(), wanted.sequence_start());
            assert_eq!(parse_layout(&wanted.spec()), Ok(wanted));
        }
    }

    #[test]
    fn settings_are_read() {
        let layout =
            parse_layout("constant:one=1@1,time=40,sequence=20,tick=60s,start=random(100),name=x").unwrap();
        assert_eq!(layout.tick(), Duration::from_secs(60));
        assert_eq!(layout.sequence_start(), SequenceStart::Random { below: 100 });
        assert_eq!(layout.pack(0, 0, 0), Ok(1 << 60));
        assert_eq!(
            (layout.name(), layout_words(&layout).as_str()),
            ("x", "one:1 time:40 sequence:20")
        );
    }

    #[test]
    fn what_is_no_layout_is_refused_in_words() {
        for (text, says) in [
            ("", "is not ROLE"),
            ("time", "is not ROLE"),
            ("clock=41", "is not ROLE"),
            ("time=41,sequence=12,tick=fast", "tick \"fast\""),
            ("time=41,sequence=12,epoch=once", "is not a time"),
            ("time=41,sequence=12,epoch=@1us", "not a whole number"),
            ("time=41,sequence=12,start=late", "start \"late\""),
            ("time=41", "no sequence field"),
            ("time=60,worker=64,sequence=12", "136 bits, an id has at most 128"),
            ("worker=64,sequence=12", "no time field"),
            ("time=41,worker=65,sequence=12", "allowed are 1 to 64"),
            ("time=41,worker:a=40,worker:b=40", "no sequence field"),
            (
                "time=41,worker:a=33,worker:b=33,sequence=12",
                "66 worker bits, at most 64",
            ),
            ("time=60,sequence=33", "33 sequence bits, at most 32"),
            ("time=20,worker=33,sequence=8", "33 worker bits, at most 32"),
        ] {
            let said = parse_layout(text).unwrap_err();
            assert!(said.contains(says), "{text}: {said}");
        }
    }
}
