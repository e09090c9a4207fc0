//! `--layout`: a Snowflake layout on the command line.

use mintage::{Layout, LayoutBuilder, LayoutError, Role, SequenceStart};

use crate::errors::Failure;
use crate::time::{parse, parse_duration, shown};

/// The syntax, for `--help`.
pub(crate) const SYNTAX: &str = "\
Layouts: fields from the highest bit down as [NAME=]ROLE:BITS, then settings, with commas between them:

  --layout time:41,worker:10,sequence:12,epoch=2020-01-01
  --layout time:39,sequence:8,machine=worker:16,tick=10ms,epoch=2014-09-01

Roles: time and sequence (one each), worker (any number), rollback, const:BITS:VALUE.
Settings: tick=LENGTH (1ms), epoch=TIME (1970-01-01), start=zero|carry|N|random:BELOW, where a tick's sequence begins.";

/// Reads a layout. Its name comes from what decides which ids collide, so that equal layouts share one state.
pub(crate) fn parse_layout(text: &str) -> Result<Layout, String> {
    // The name is known only once the layout is; a first pass with another gives it.
    let draft = build("custom", text)?;
    build(&state_name(&draft), text)
}

/// A name for the state of everything that makes the same ids as this layout.
pub(crate) fn state_name(layout: &Layout) -> String {
    layout.fingerprint().replace('/', "-")
}

fn build(name: &str, text: &str) -> Result<Layout, String> {
    let mut builder = Layout::builder(name.to_string());
    for part in text.split(',').map(str::trim) {
        builder = match part.split_once('=') {
            Some(("tick", length)) => builder.tick(parse_duration(length)?),
            Some(("epoch", time)) => builder.epoch(parse(time)?),
            Some(("start", start)) => builder.sequence_start(parse_start(start)?),
            Some((name, field)) => add_field(builder, Some(name), field)?,
            None => add_field(builder, None, part)?,
        };
    }
    builder.build().map_err(|error| match error {
        LayoutError::Invalid { reason, .. } => format!("it is not usable: {reason}"),
        other => other.to_string(),
    })
}

fn add_field(builder: LayoutBuilder, name: Option<&str>, text: &str) -> Result<LayoutBuilder, String> {
    let wrong = || {
        format!(
            "{text:?} is no field: write time:41, worker:10, sequence:12, NAME=worker:5, rollback:2, \
             const:BITS:VALUE; settings are tick=, epoch=, start="
        )
    };
    let mut parts = text.split(':');
    let word = parts.next().unwrap_or_default();
    let bits = parts
        .next()
        .and_then(|bits| bits.parse().ok())
        .ok_or_else(wrong)?;
    let value = parts.next();
    let role = match (word, value) {
        ("time", None) => Role::Time,
        ("worker", None) => Role::Worker,
        ("sequence", None) => Role::Sequence,
        ("rollback", None) => Role::Rollback,
        ("const", Some(value)) => Role::Constant(value.parse().map_err(|_| wrong())?),
        _ => return Err(wrong()),
    };
    match parts.next() {
        None => Ok(builder.field(name.unwrap_or(word).to_string(), bits, role)),
        Some(_) => Err(wrong()),
    }
}

fn parse_start(text: &str) -> Result<SequenceStart, String> {
    let wrong =
        || format!("{text:?} is no start of a sequence: write zero, carry, a number, or random:BELOW");
    Ok(match (text, text.strip_prefix("random:")) {
        ("zero", _) => SequenceStart::Zero,
        ("carry", _) => SequenceStart::Carry,
        (_, Some(below)) => SequenceStart::Random {
            below: below.parse().map_err(|_| wrong())?,
        },
        _ => SequenceStart::At(text.parse().map_err(|_| wrong())?),
    })
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
        .with_hint("mint presets shows until when the others last"),
        other => Failure::usage(other),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_presets_can_be_written_as_layouts() {
        for (preset, text) in [
            (
                "twitter",
                "time:41,dc=worker:5,worker:5,sequence:12,epoch=@1288834974657ms",
            ),
            (
                "sonyflake",
                "time:39,sequence:8,machine=worker:16,tick=10ms,epoch=2014-09-01",
            ),
            ("tso", "time:46,sequence:18"),
            (
                "yitter",
                "time:41,worker:6,sequence:6,epoch=@1582136402000ms,start=5",
            ),
            (
                "rollback2",
                "time:41,rollback:2,worker:8,sequence:12,epoch=2020-01-01",
            ),
        ] {
            let wanted = mintage::preset(preset).unwrap().layout();
            let layout = parse_layout(text).unwrap();
            assert_eq!(layout.fingerprint(), wanted.fingerprint(), "{preset}");
            assert_eq!(layout.name(), state_name(&wanted));
            assert_eq!(layout.sequence_start(), wanted.sequence_start());
        }
    }

    #[test]
    fn settings_are_read() {
        let layout = parse_layout("const:1:1, time:40, sequence:20, tick=1m, start=random:100").unwrap();
        assert_eq!(layout.tick(), Duration::from_secs(60));
        assert_eq!(layout.sequence_start(), SequenceStart::Random { below: 100 });
        assert_eq!(layout.pack(0, 0, 0), Ok(1 << 60));
    }

    #[test]
    fn what_is_no_layout_is_refused_in_words() {
        for (text, says) in [
            ("", "is no field"),
            ("time", "is no field"),
            ("time:41:3,sequence:2", "is no field"),
            ("const:2", "is no field"),
            ("const:2:1:1", "is no field"),
            ("clock:41", "is no field"),
            ("time:41,sequence:12,tick=fast", "no length of time"),
            ("time:41,sequence:12,epoch=once", "is not a time"),
            ("time:41,sequence:12,start=late", "is no start"),
            ("time:41", "no sequence field"),
            ("time:60,sequence:12", "72 bits"),
            ("time:99999999999999999999,sequence:1", "is no field"),
        ] {
            let said = parse_layout(text).unwrap_err();
            assert!(said.contains(says), "{text}: {said}");
        }
    }
}
