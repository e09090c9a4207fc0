//! What an id is: the document that `mint inspect`, HTTP and the Redis protocol show alike.
//!
//! It borrows from the readings: the command inspects whole files.

use std::borrow::Cow;

use mintage::{CONFIDENCE_LEAST, FieldValue, Refusal};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::ser::{Serialize, SerializeMap, Serializer};

/// An input, its readings, and what else was tried.
///
/// ```
/// use mintage::{Timestamp, inspect};
/// use mintage_wire::Inspected;
/// let id = "017f22e2-79b0-7cc3-98c4-dc0c0c07398f";
/// let readings = inspect(id, Timestamp::from_unix_millis(1_800_000_000_000));
/// let shown = serde_json::to_value(Inspected::new(id, &readings)).expect("it is JSON");
/// assert_eq!(shown["readings"][0]["time"], "2022-02-22T19:22:22.000Z");
/// assert_eq!(shown["readings"][0]["unix_ns"], "1645557742000000000");
/// // Nothing is called unknown without saying what was tried.
/// let shown = serde_json::to_value(Inspected::new("no id", &[])).expect("it is JSON");
/// let tried = shown["tried"].as_array().expect("a list");
/// let uuid = tried.iter().find(|tried| tried["format"] == "uuid").expect("a format like any other");
/// assert!(uuid["why"].as_str().is_some_and(|why| why.contains("5 characters")));
/// // Neither is a guess a reading.
/// let guesses = inspect("hello", Timestamp::from_unix_millis(1_800_000_000_000));
/// let shown = serde_json::to_value(Inspected::new("hello", &guesses)).expect("it is JSON");
/// assert_eq!(shown["readings"], serde_json::json!([]));
/// assert_eq!(shown["at_a_stretch"][0]["format"], "flake");
/// let shown = serde_json::to_value(Inspected::new("NULL", &[])).expect("it is JSON");
/// assert_eq!(shown["no_id"], "it means that there is none");
/// let short = "017f22e2-79b0-7cc3-98c4-dc0c0c07398";
/// let shown = serde_json::to_value(Inspected::new(short, &[])).expect("it is JSON");
/// assert!(shown["nearly"].as_str().is_some_and(|near| near.starts_with("a UUID with 31")));
/// ```
#[derive(Clone, PartialEq, Debug, serde::Serialize, JsonSchema)]
pub struct Inspected<'a> {
    /// What was read.
    pub input: &'a str,
    /// What it very nearly is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nearly: Option<String>,
    /// The ways to read it, the likeliest first.
    pub readings: Vec<Reading<'a>>,
    /// Guesses, where nothing better is known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub at_a_stretch: Vec<Reading<'a>>,
    /// Why it is no id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_id: Option<&'a str>,
    /// What else was tried, where nothing is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tried: Option<Vec<Tried<'a>>>,
}

/// A way to read an id.
#[derive(Clone, PartialEq, Debug, serde::Serialize, JsonSchema)]
pub struct Reading<'a> {
    /// The format; `uuid` whatever the version.
    pub format: &'a str,
    /// The text form, where it is not the format's own: `base58`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub form: Option<&'a str>,
    /// A Snowflake's preset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<&'a str>,
    /// A UUID's version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<u8>,
    /// A UUID's variant: `rfc9562`, `ncs`, `microsoft` or `future`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variant: Option<&'a str>,
    /// How likely this reading is, 0 to 1 in two digits: all that a ranking can claim.
    pub confidence: f64,
    /// Why it ranks there.
    pub why: &'a str,
    /// When the id says it was made, in RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// The same in nanoseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unix_ns: Option<String>,
    /// What its bits hold, in the order of the bits.
    pub fields: Fields<'a>,
    /// What else there is to know.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    pub notes: &'a [String],
}

/// What the bits of an id hold: numbers, and texts where a number may pass 2^53.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Fields<'a>(&'a [(Cow<'static, str>, FieldValue)]);

/// A format that a text is not of.
#[derive(Clone, PartialEq, Debug, serde::Serialize, JsonSchema)]
pub struct Tried<'a> {
    /// The format.
    pub format: &'a str,
    /// The text form, where it is not the format's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub form: Option<&'a str>,
    /// Why.
    pub why: Cow<'a, str>,
    /// Where the text goes wrong, counted from 0 in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<usize>,
}

/// The readings that say something, and those that are guesses; the likeliest comes first.
pub fn known_and_guessed(readings: &[mintage::Reading]) -> (&[mintage::Reading], &[mintage::Reading]) {
    let known = readings.partition_point(|reading| reading.confidence >= CONFIDENCE_LEAST);
    readings.split_at(known)
}

/// What `input` very nearly is, where its readings are not sure.
pub fn nearly(input: &str, readings: &[mintage::Reading]) -> Option<String> {
    let sure = readings.first().is_some_and(|reading| reading.confidence >= 0.5);
    if sure { None } else { mintage::near_miss(input) }
}

impl<'a> Inspected<'a> {
    /// The document of these readings of `input`, the likeliest first; where none says anything, it has the best
    /// guess and what else was tried.
    pub fn new(input: &'a str, readings: &'a [mintage::Reading]) -> Self {
        let (known, guesses) = known_and_guessed(readings);
        let nothing = known.is_empty();
        let guesses = if nothing { guesses } else { &[] };
        Inspected {
            input,
            nearly: nearly(input, known),
            readings: known.iter().map(Reading::from).collect(),
            at_a_stretch: guesses.iter().map(Reading::from).collect(),
            no_id: nothing.then(|| mintage::no_id(input)).flatten(),
            tried: nothing.then(|| tried(input)),
        }
    }

    /// The same with the guesses and what else was tried in any case.
    pub fn in_full(input: &'a str, readings: &'a [mintage::Reading]) -> Self {
        let (_, guesses) = known_and_guessed(readings);
        Inspected {
            at_a_stretch: guesses.iter().map(Reading::from).collect(),
            tried: Some(tried(input)),
            ..Inspected::new(input, readings)
        }
    }

    /// The document of an `input` that is not of the one `format` that it was read as, and `why`.
    pub fn not_of(input: &'a str, format: &'a str, why: &'a str) -> Self {
        let tried = Tried {
            format,
            form: None,
            why: why.into(),
            position: None,
        };
        Inspected {
            input,
            nearly: None,
            readings: Vec::new(),
            at_a_stretch: Vec::new(),
            no_id: None,
            tried: Some(vec![tried]),
        }
    }
}

fn tried<'a>(input: &str) -> Vec<Tried<'a>> {
    mintage::refusals(input).into_iter().map(Tried::from).collect()
}

impl<'a> From<&'a mintage::Reading> for Reading<'a> {
    fn from(reading: &'a mintage::Reading) -> Self {
        Reading {
            format: reading.format,
            form: reading.form,
            preset: reading.preset.as_deref(),
            version: reading.version,
            variant: reading.variant,
            confidence: (reading.confidence * 100.0).round() / 100.0,
            why: &reading.why,
            time: reading.time.map(|time| time.to_string()),
            unix_ns: reading.time.map(|time| time.at.unix_nanos().to_string()),
            fields: Fields(&reading.fields),
            notes: &reading.notes,
        }
    }
}

impl From<Refusal> for Tried<'_> {
    fn from(refusal: Refusal) -> Self {
        Tried {
            format: refusal.format,
            form: refusal.form,
            why: refusal.why.into(),
            position: refusal.position,
        }
    }
}

impl Serialize for Fields<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in self.0 {
            match value {
                FieldValue::Number(number) => map.serialize_entry(name, number)?,
                // Past 2^53, where JavaScript would silently round.
                FieldValue::Big(number) => map.serialize_entry(name, itoa::Buffer::new().format(*number))?,
                FieldValue::Text(text) => map.serialize_entry(name, text)?,
            }
        }
        map.end()
    }
}

impl JsonSchema for Fields<'_> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Fields".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let value = serde_json::json!({"anyOf": [{"type": "string"}, {"type": "integer"}]});
        json_schema!({"type": "object", "additionalProperties": value})
    }
}
