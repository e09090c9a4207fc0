//! Whole numbers that may pass 2^53, which JavaScript would silently round: texts in answers, either in requests.

use std::borrow::Cow;
use std::fmt::{self, Display};
use std::marker::PhantomData;
use std::str::FromStr;

use schemars::generate::Contract;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::ser::{Serialize, Serializer};

/// A whole number that is written as a text, and read as a text or as a number.
///
/// ```
/// use mintage_wire::Quoted;
/// let largest: Quoted<i64> = serde_json::from_str("9223372036854775807").expect("a whole number");
/// assert_eq!(serde_json::to_string(&largest).expect("JSON"), "\"9223372036854775807\"");
/// assert_eq!(serde_json::from_str::<Quoted<i64>>("\"-5\"").expect("a text"), Quoted(-5));
/// assert!(serde_json::from_str::<Quoted<i64>>("1.5").is_err());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Quoted<T>(pub T);

/// Where to go on: `true`, at the definition's start; a number, there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RestartAt {
    /// At the start, or not at all.
    Start(bool),
    /// The next number.
    At(i64),
}

/// A number that may stand in quotes.
pub trait Whole: Copy + Display + FromStr + TryFrom<i64> + TryFrom<u64> {
    /// Which numbers there are, in words.
    const RANGE: &'static str;
    /// How one looks as a text.
    const PATTERN: &'static str;
}

impl Whole for i64 {
    const RANGE: &'static str = "a whole number from -2^63 to 2^63-1, or one in quotes";
    const PATTERN: &'static str = "^-?[0-9]+$";
}

impl Whole for u64 {
    const RANGE: &'static str = "a whole number from 0 to 2^64-1, or one in quotes";
    const PATTERN: &'static str = "^[0-9]+$";
}

impl<T: Display> Display for Quoted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<T: Display> Serialize for Quoted<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl Serialize for RestartAt {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            RestartAt::Start(whether) => serializer.serialize_bool(*whether),
            RestartAt::At(number) => Quoted(*number).serialize(serializer),
        }
    }
}

impl<'de, T: Whole> Deserialize<'de> for Quoted<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader(PhantomData))
    }
}

impl<'de> Deserialize<'de> for RestartAt {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StartOrNumber)
    }
}

struct Reader<T>(PhantomData<T>);

impl<T: Whole> Visitor<'_> for Reader<T> {
    type Value = Quoted<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::RANGE)
    }

    fn visit_i64<E: de::Error>(self, n: i64) -> Result<Quoted<T>, E> {
        let number = T::try_from(n).map(Quoted);
        number.map_err(|_| E::invalid_value(de::Unexpected::Signed(n), &self))
    }

    fn visit_u64<E: de::Error>(self, n: u64) -> Result<Quoted<T>, E> {
        let number = T::try_from(n).map(Quoted);
        number.map_err(|_| E::invalid_value(de::Unexpected::Unsigned(n), &self))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Quoted<T>, E> {
        let number = text.parse().map(Quoted);
        number.map_err(|_| E::invalid_value(de::Unexpected::Str(text), &self))
    }
}

struct StartOrNumber;

impl Visitor<'_> for StartOrNumber {
    type Value = RestartAt;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "true, or {}", i64::RANGE)
    }

    fn visit_bool<E: de::Error>(self, whether: bool) -> Result<RestartAt, E> {
        Ok(RestartAt::Start(whether))
    }

    fn visit_i64<E: de::Error>(self, n: i64) -> Result<RestartAt, E> {
        Ok(RestartAt::At(n))
    }

    fn visit_u64<E: de::Error>(self, n: u64) -> Result<RestartAt, E> {
        let number = i64::try_from(n).map(RestartAt::At);
        number.map_err(|_| E::invalid_value(de::Unexpected::Unsigned(n), &self))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<RestartAt, E> {
        let number = text.parse().map(RestartAt::At);
        number.map_err(|_| E::invalid_value(de::Unexpected::Str(text), &self))
    }
}

impl<T: Whole> JsonSchema for Quoted<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Quoted".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        match generator.contract() {
            Contract::Deserialize => {
                json_schema!({"anyOf": [{"type": "string", "pattern": T::PATTERN}, {"type": "integer"}]})
            }
            _ => json_schema!({"type": "string", "pattern": T::PATTERN}),
        }
    }
}

impl JsonSchema for RestartAt {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "RestartAt".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"anyOf": [
            {"type": "string", "pattern": i64::PATTERN}, {"type": "integer"}, {"type": "boolean"}
        ]})
    }
}
