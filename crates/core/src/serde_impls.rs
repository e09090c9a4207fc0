//! Serde forms (feature `serde`). Numbers that may pass 2^53 and times are strings, as JSON readers need it.

use alloc::string::{String, ToString};

use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::{Serialize, SerializeStruct, Serializer};

use crate::layout::Layout;
use crate::sequence::{Base, Run, SequenceDef, SequenceOptions};
use crate::time::Timestamp;
use crate::uuid::{GregorianTicks, Node, V1State};
use crate::{CLOCK_SEQ_MAX, ClockPolicy, Window};

/// As the text it displays as, and from it.
macro_rules! as_text {
    ($($type:ty => $write:expr;)*) => {$(
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let write: fn(&$type) -> String = $write;
                serializer.serialize_str(&write(self))
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
            }
        }
    )*};
}

as_text! {
    Node => Node::to_string;
    ClockPolicy => ClockPolicy::to_string;
    Layout => Layout::spec;
}

impl Serialize for Timestamp {
    /// Nanoseconds since 1970 as a string.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.unix_nanos().to_string())
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse()
            .map(Timestamp::from_unix_nanos)
            .map_err(D::Error::custom)
    }
}

impl Serialize for GregorianTicks {
    /// The number of ticks as a string.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.get().to_string())
    }
}

impl<'de> Deserialize<'de> for GregorianTicks {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let ticks = String::deserialize(deserializer)?
            .parse()
            .map_err(D::Error::custom)?;
        GregorianTicks::new(ticks).map_err(D::Error::custom)
    }
}

/// Derived forms of types whose fields need no more check than their own types make.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(remote = "Base", deny_unknown_fields)]
struct BaseForm {
    value: i64,
    is_called: bool,
}

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(remote = "Window", deny_unknown_fields)]
struct WindowForm {
    worker: u64,
    from_tick: u64,
    until_tick: u64,
}

#[derive(Default, serde::Serialize, serde::Deserialize)]
#[serde(remote = "SequenceOptions", deny_unknown_fields, default)]
struct OptionsForm {
    start: Option<i64>,
    increment: Option<i64>,
    min: Option<i64>,
    max: Option<i64>,
    cycle: Option<bool>,
}

impl From<OptionsForm> for SequenceOptions {
    fn from(form: OptionsForm) -> Self {
        let OptionsForm {
            start,
            increment,
            min,
            max,
            cycle,
        } = form;
        SequenceOptions {
            start,
            increment,
            min,
            max,
            cycle,
        }
    }
}

macro_rules! by_form {
    ($($type:ty => $form:ty;)*) => {$(
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                <$form>::serialize(self, serializer)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                <$form>::deserialize(deserializer)
            }
        }
    )*};
}

by_form! {
    Base => BaseForm;
    Window => WindowForm;
    SequenceOptions => OptionsForm;
}

impl Serialize for SequenceDef {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let SequenceDef {
            start,
            increment,
            min,
            max,
            cycle,
        } = *self;
        let options = SequenceOptions {
            start: Some(start),
            increment: Some(increment),
            min: Some(min),
            max: Some(max),
            cycle: Some(cycle),
        };
        options.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for SequenceDef {
    /// Checked as [`SequenceDef::new`] checks.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        SequenceDef::new(SequenceOptions::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl Serialize for Run {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut form = serializer.serialize_struct("Run", 3)?;
        form.serialize_field("first", &self.first)?;
        form.serialize_field("step", &self.step)?;
        form.serialize_field("count", &self.count)?;
        form.end()
    }
}

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct StateForm {
    last: GregorianTicks,
    clock_seq: u16,
    node: Node,
}

impl Serialize for V1State {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        StateForm {
            last: self.last,
            clock_seq: self.clock_seq,
            node: self.node,
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for V1State {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let StateForm {
            last,
            clock_seq,
            node,
        } = StateForm::deserialize(deserializer)?;
        if clock_seq > CLOCK_SEQ_MAX {
            return Err(D::Error::custom(alloc::format!(
                "clock_seq {clock_seq} does not fit, largest is {CLOCK_SEQ_MAX}"
            )));
        }
        Ok(V1State {
            last,
            clock_seq,
            node,
        })
    }
}

#[cfg(test)]
mod tests {
    use core::fmt::Debug;

    use super::*;

    #[track_caller]
    fn check<T: Serialize + for<'de> Deserialize<'de> + PartialEq + Debug>(value: T, json: &str) {
        assert_eq!(serde_json::to_string(&value).expect("it serializes"), json);
        assert_eq!(serde_json::from_str::<T>(json).expect("it reads back"), value);
    }

    #[test]
    fn every_form_reads_back() {
        check(Timestamp::from_unix_nanos(-5), r#""-5""#);
        check(GregorianTicks::MAX, r#""1152921504606846975""#);
        check(Node::from_octets([1, 2, 3, 4, 5, 6]), r#""01:02:03:04:05:06""#);
        check(ClockPolicy::Hold, r#""hold""#);
        check(
            Base {
                value: -1,
                is_called: true,
            },
            r#"{"value":-1,"is_called":true}"#,
        );
        check(
            Window {
                worker: 1,
                from_tick: 2,
                until_tick: 3,
            },
            r#"{"worker":1,"from_tick":2,"until_tick":3}"#,
        );
        let def = SequenceDef {
            start: 2,
            increment: 3,
            min: 1,
            max: 9,
            cycle: false,
        };
        check(def, r#"{"start":2,"increment":3,"min":1,"max":9,"cycle":false}"#);
        let layout = crate::preset("sonyflake").expect("a preset").layout();
        let json = serde_json::to_string(&layout).expect("it serializes");
        check(layout, &json);
        let state = V1State {
            last: GregorianTicks::MIN,
            clock_seq: 7,
            node: Node::from_octets([1, 0, 0, 0, 0, 0]),
        };
        check(state, r#"{"last":"0","clock_seq":7,"node":"01:00:00:00:00:00"}"#);
    }

    #[test]
    fn unsound_values_are_refused() {
        fn refused<T: for<'de> Deserialize<'de>>(json: &str, reason: &str) {
            let error = serde_json::from_str::<T>(json)
                .err()
                .expect("unsound")
                .to_string();
            assert!(error.contains(reason), "{error}");
        }
        refused::<SequenceDef>(r#"{"increment":0}"#, "increment must not be zero");
        refused::<SequenceOptions>(r#"{"cache":5}"#, "unknown field");
        refused::<GregorianTicks>(r#""1152921504606846976""#, "does not fit");
        refused::<V1State>(
            r#"{"last":"0","clock_seq":16384,"node":"010000000000"}"#,
            "largest is 16383",
        );
        refused::<Layout>(r#""time=41""#, "no sequence field");
    }
}
