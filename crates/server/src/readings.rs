//! What an id is, as JSON: the document that `mint inspect`, HTTP and the Redis protocol show alike.
//!
//! Written straight to text: the command inspects whole files.

use mintage::{CONFIDENCE_LEAST, Reading, Refusal};
use serde::ser::{Serialize, SerializeMap, Serializer};

/// An input, its readings, and what else was tried.
///
/// ```
/// use mintage::{Timestamp, inspect};
/// use mintage_server::readings::Document;
/// let id = "017f22e2-79b0-7cc3-98c4-dc0c0c07398f";
/// let readings = inspect(id, Timestamp::from_unix_millis(1_800_000_000_000));
/// let shown = serde_json::to_value(Document::new(id, &readings)).expect("it is JSON");
/// assert_eq!(shown["readings"][0]["time"], "2022-02-22T19:22:22.000Z");
/// assert_eq!(shown["readings"][0]["unix_ns"], "1645557742000000000");
/// // Nothing is called unknown without saying what was tried.
/// let shown = serde_json::to_value(Document::new("no id", &[])).expect("it is JSON");
/// let tried = shown["tried"].as_array().expect("a list");
/// let uuid = tried.iter().find(|tried| tried["format"] == "uuid").expect("a format like any other");
/// assert!(uuid["why"].as_str().is_some_and(|why| why.contains("5 characters")));
/// // Neither is a guess a reading.
/// let guesses = inspect("hello", Timestamp::from_unix_millis(1_800_000_000_000));
/// let shown = serde_json::to_value(Document::new("hello", &guesses)).expect("it is JSON");
/// assert_eq!(shown["readings"], serde_json::json!([]));
/// assert_eq!(shown["at_a_stretch"][0]["format"], "flake");
/// let shown = serde_json::to_value(Document::new("NULL", &[])).expect("it is JSON");
/// assert_eq!(shown["no_id"], "it means that there is none");
/// let short = "017f22e2-79b0-7cc3-98c4-dc0c0c07398";
/// let shown = serde_json::to_value(Document::new(short, &[])).expect("it is JSON");
/// assert!(shown["nearly"].as_str().is_some_and(|near| near.starts_with("a UUID with 31")));
/// ```
pub struct Document<'a> {
    input: &'a str,
    known: &'a [Reading],
    guesses: &'a [Reading],
    /// Whether the guesses are shown.
    all: bool,
    tried: Option<Vec<Refusal>>,
}

/// The readings that say something, and those that are guesses; the likeliest comes first.
pub fn known_and_guessed(readings: &[Reading]) -> (&[Reading], &[Reading]) {
    let known = readings.partition_point(|reading| reading.confidence >= CONFIDENCE_LEAST);
    readings.split_at(known)
}

/// What `input` very nearly is, where its readings are not sure.
pub fn nearly(input: &str, readings: &[Reading]) -> Option<String> {
    let sure = readings.first().is_some_and(|reading| reading.confidence >= 0.5);
    if sure { None } else { mintage::near_miss(input) }
}

impl<'a> Document<'a> {
    /// The document of these readings of `input`, the likeliest first; where none says anything, it has the best
    /// guess and what else was tried.
    pub fn new(input: &'a str, readings: &'a [Reading]) -> Self {
        let (known, guesses) = known_and_guessed(readings);
        let tried = known.is_empty().then(|| mintage::refusals(input));
        Document {
            input,
            known,
            guesses,
            all: known.is_empty(),
            tried,
        }
    }

    /// The same, with the guesses and what else was tried in any case.
    pub fn with_tried(mut self) -> Self {
        self.all = true;
        self.tried = Some(mintage::refusals(self.input));
        self
    }
}

impl Serialize for Document<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("input", self.input)?;
        if let Some(near) = nearly(self.input, self.known) {
            map.serialize_entry("nearly", &near)?;
        }
        map.serialize_entry("readings", &List(self.known, Shown))?;
        if self.all && !self.guesses.is_empty() {
            map.serialize_entry("at_a_stretch", &List(self.guesses, Shown))?;
        }
        if self.known.is_empty()
            && let Some(instead) = mintage::no_id(self.input)
        {
            map.serialize_entry("no_id", instead)?;
        }
        if let Some(tried) = &self.tried {
            map.serialize_entry("tried", &List(tried, Tried))?;
        }
        map.end()
    }
}

/// A list whose elements are shown in one way.
struct List<'a, T, F>(&'a [T], F);

impl<'a, T, U: Serialize, F: Fn(&'a T) -> U> Serialize for List<'a, T, F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(&self.1))
    }
}

struct Shown<'a>(&'a Reading);

impl Serialize for Shown<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let reading = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("format", reading.format)?;
        if let Some(form) = reading.form {
            map.serialize_entry("form", form)?;
        }
        if let Some(preset) = &reading.preset {
            map.serialize_entry("preset", preset)?;
        }
        if let Some(version) = reading.version {
            map.serialize_entry("version", &version)?;
        }
        if let Some(variant) = reading.variant {
            map.serialize_entry("variant", variant)?;
        }
        // Two digits say all that a ranking can claim.
        map.serialize_entry("confidence", &((reading.confidence * 100.0).round() / 100.0))?;
        map.serialize_entry("why", &reading.why)?;
        if let Some(time) = reading.time {
            map.serialize_entry("time", &time.to_string())?;
            map.serialize_entry("unix_ns", &time.at.unix_nanos().to_string())?;
        }
        map.serialize_entry("fields", &Fields(reading))?;
        if !reading.notes.is_empty() {
            map.serialize_entry("notes", &reading.notes)?;
        }
        map.end()
    }
}

struct Fields<'a>(&'a Reading);

impl Serialize for Fields<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use mintage::FieldValue::{Big, Number, Text};
        let mut map = serializer.serialize_map(Some(self.0.fields.len()))?;
        for (name, value) in &self.0.fields {
            match value {
                Number(number) => map.serialize_entry(name, number)?,
                // Past 2^53, where JavaScript would silently round.
                Big(number) => map.serialize_entry(name, itoa::Buffer::new().format(*number))?,
                Text(text) => map.serialize_entry(name, text)?,
            }
        }
        map.end()
    }
}

struct Tried<'a>(&'a Refusal);

impl Serialize for Tried<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let refusal = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("format", refusal.format)?;
        if let Some(form) = refusal.form {
            map.serialize_entry("form", form)?;
        }
        map.serialize_entry("why", &refusal.why)?;
        if let Some(position) = refusal.position {
            map.serialize_entry("position", &position)?;
        }
        map.end()
    }
}
