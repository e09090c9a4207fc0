//! Layouts as one line of text, for command lines and configuration.
//!
//! ```text
//! time=41,worker:datacenter=5,worker=5,sequence=12;tick=1ms;epoch=1288834974657
//! ```
//!
//! Between all of them commas may stand as well, for shells that take a semicolon for the end of the command. Fields
//! from the highest to the lowest as `ROLE[:NAME]=BITS` with the roles `time`, `worker`, `sequence`,
//! `rollback` and `constant` (`constant:NAME=BITS@VALUE`); then, in any order, `tick=` with a unit (default
//! `1ms`), `epoch=` in Unix milliseconds or as a time (default 1970-01-01), `start=` with `zero`, a number,
//! `random(BELOW)` or `carry` (default `zero`), `name=` (default `custom`).

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write as _;
use core::str::FromStr;
use core::time::Duration;

use crate::layout::{Layout, LayoutBuilder, LayoutError, Role, SequenceStart};
use crate::time_text;

impl FromStr for Layout {
    type Err = LayoutError;

    /// Reads the one-line form.
    ///
    /// ```
    /// let layout: mintage::Layout = "time=41,worker=10,sequence=12;epoch=2020-01-01;name=shop".parse()?;
    /// assert_eq!((layout.name(), layout.bits()), ("shop", 63));
    /// assert_eq!(layout.fingerprint(), "t41.w10.s12/1000000ns/1577836800000000000");
    /// # Ok::<(), mintage::LayoutError>(())
    /// ```
    fn from_str(text: &str) -> Result<Self, LayoutError> {
        let (mut fields, mut settings) = (Vec::new(), Vec::new());
        for part in text.split([',', ';']).map(str::trim) {
            match part.split_once('=') {
                Some((key, value)) if SETTINGS.contains(&key) => settings.push((key, value)),
                _ => fields.push(part),
            }
        }
        let name = settings
            .iter()
            .find(|(key, _)| *key == "name")
            .map_or("custom", |(_, name)| name);
        let mut builder = Layout::builder(name.to_owned());
        for field in fields {
            builder = add_field(builder, field).map_err(|reason| invalid(name, reason))?;
        }
        for (i, (key, value)) in settings.iter().enumerate() {
            if settings[..i].iter().any(|(other, _)| other == key) {
                return Err(invalid(name, format!("{key:?} is set twice")));
            }
            builder = set(builder, key, value).map_err(|reason| invalid(name, reason))?;
        }
        builder.build()
    }
}

impl Layout {
    /// The one-line form, which reads back as an equal layout.
    ///
    /// ```
    /// let twitter = mintage::preset("twitter").expect("a preset").layout();
    /// assert_eq!(
    ///     twitter.spec(),
    ///     "time:timestamp_ms=41,worker:datacenter=5,worker:worker=5,sequence:sequence=12;\
    ///      tick=1ms;epoch=1288834974657;start=zero;name=twitter"
    /// );
    /// ```
    ///
    /// A tick or epoch that is no whole number of nanoseconds or milliseconds cannot be written and is rounded
    /// down; the text reads such only if it was built in code.
    pub fn spec(&self) -> String {
        let mut text = String::new();
        for field in self.fields() {
            let separator = if text.is_empty() { "" } else { "," };
            let (role, value) = match field.role {
                Role::Time => ("time", String::new()),
                Role::Worker => ("worker", String::new()),
                Role::Sequence => ("sequence", String::new()),
                Role::Rollback => ("rollback", String::new()),
                Role::Constant(value) => ("constant", format!("@{value}")),
            };
            write!(text, "{separator}{role}:{}={}{value}", field.name, field.bits)
                .expect("a string takes all");
        }
        let start = match self.sequence_start() {
            SequenceStart::Zero => "zero".to_string(),
            SequenceStart::At(first) => first.to_string(),
            SequenceStart::Random { below } => format!("random({below})"),
            SequenceStart::Carry => "carry".to_string(),
        };
        let (tick, epoch) = (duration_text(self.tick()), self.epoch().unix_millis());
        write!(
            text,
            ";tick={tick};epoch={epoch};start={start};name={}",
            self.name()
        )
        .expect("a string takes all");
        text
    }
}

/// What a part of the text sets, where it adds no field.
const SETTINGS: [&str; 4] = ["tick", "epoch", "start", "name"];

fn add_field(builder: LayoutBuilder, field: &str) -> Result<LayoutBuilder, String> {
    let expected = || {
        format!(
            "{field:?} is not ROLE[:NAME]=BITS, as worker:datacenter=5, and none of the settings {}",
            SETTINGS.join(", ")
        )
    };
    let (what, bits) = field.split_once('=').ok_or_else(expected)?;
    let (role, name) = what.split_once(':').unwrap_or((what, what));
    let (bits, value) = match bits.split_once('@') {
        Some((bits, value)) => (bits, Some(value.parse().map_err(|_| expected())?)),
        None => (bits, None),
    };
    let role = match (role, value) {
        ("time", None) => Role::Time,
        ("worker", None) => Role::Worker,
        ("sequence", None) => Role::Sequence,
        ("rollback", None) => Role::Rollback,
        ("constant", Some(value)) => Role::Constant(value),
        _ => return Err(expected()),
    };
    Ok(builder.field(name.to_owned(), bits.parse().map_err(|_| expected())?, role))
}

fn set(builder: LayoutBuilder, key: &str, value: &str) -> Result<LayoutBuilder, String> {
    match key {
        "tick" => {
            let tick =
                duration_of(value).ok_or_else(|| format!("tick {value:?} is not as 1ms, 10ms or 1s"))?;
            Ok(builder.tick(tick))
        }
        "epoch" => Ok(builder.epoch(time_text::epoch(value).map_err(|why| format!("epoch: {why}"))?)),
        "start" => {
            let random = value
                .strip_prefix("random(")
                .and_then(|rest| rest.strip_suffix(')'));
            let start = match (value, random) {
                ("zero", _) => Some(SequenceStart::Zero),
                ("carry", _) => Some(SequenceStart::Carry),
                (_, Some(below)) => below.parse().ok().map(|below| SequenceStart::Random { below }),
                (first, None) => first.parse().ok().map(SequenceStart::At),
            };
            let start = start.ok_or_else(|| {
                format!("start {value:?} is not `zero`, `carry`, `random(BELOW)` or a number")
            })?;
            Ok(builder.sequence_start(start))
        }
        // The builder was begun with the name.
        _ => Ok(builder),
    }
}

/// A whole number with a unit: `ns`, `us`, `ms` or `s`.
pub(crate) fn duration_of(text: &str) -> Option<Duration> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().ok()?;
    match unit {
        "ns" => Some(Duration::from_nanos(number)),
        "us" => Some(Duration::from_micros(number)),
        "ms" => Some(Duration::from_millis(number)),
        "s" => Some(Duration::from_secs(number)),
        _ => None,
    }
}

/// The same in the largest unit that is exact.
pub(crate) fn duration_text(span: Duration) -> String {
    let nanos = span.as_nanos();
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1000, "us")];
    match units.into_iter().find(|(size, _)| nanos.is_multiple_of(*size)) {
        Some((size, unit)) => format!("{}{unit}", nanos / size),
        None => format!("{nanos}ns"),
    }
}

fn invalid(layout: &str, reason: String) -> LayoutError {
    LayoutError::Invalid {
        layout: layout.into(),
        reason,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_reads_back_from_its_text() {
        for preset in crate::PRESETS {
            let layout = preset.layout();
            assert_eq!(layout.spec().parse(), Ok(layout));
        }
        let tagged = "constant:tag=3@5,time=40,sequence=8;tick=250us;epoch=-5;start=random(9);name=x";
        let layout: Layout = tagged.parse().expect("sound");
        assert_eq!(layout.spec().parse(), Ok(layout));
    }

    #[test]
    fn texts_that_are_not_layouts_say_what_is_expected() {
        let check = |text: &str, reason: &str| {
            let error = text.parse::<Layout>().expect_err(text).to_string();
            assert!(error.contains(reason), "{text}: {error}");
        };
        check("", "ROLE[:NAME]=BITS");
        check("time=41", "no sequence field");
        check("time=41,sequence", "ROLE[:NAME]=BITS");
        check("time=41,sequence=x", "ROLE[:NAME]=BITS");
        check("time=41,machine=10,sequence=12", "\"machine=10\"");
        check("time=41,sequence=12@5", "ROLE[:NAME]=BITS");
        check("constant=3,time=41,sequence=12", "ROLE[:NAME]=BITS");
        check("time=99999999999,sequence=12", "ROLE[:NAME]=BITS");
        check("time=41,sequence=12;tick=1h", "tick \"1h\"");
        check("time=41,sequence=12;tick=0ms", "a tick of");
        check("time=41,sequence=12;epoch=2020-02-30", "epoch");
        check("time=41,sequence=12;start=random", "start");
        check("time=41,sequence=12;start=4096", "cannot begin at 4096");
        check(
            "time=41,sequence=12;speed=9",
            "none of the settings tick, epoch, start, name",
        );
        check("time=41,sequence=12;tick", "ROLE[:NAME]=BITS");
        check("time=41,sequence=12;tick=1ms;tick=2ms", "twice");
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,60}", near in "(time=[0-9]{1,3}|,|;|sequence=[0-9]{1,2}|epoch=[0-9-]{1,12}|tick=[0-9]{1,9}s|worker:[a-z]=9|@5){0,8}") {
            let _ = text.parse::<Layout>();
            let _ = near.parse::<Layout>();
        }
    }
}
