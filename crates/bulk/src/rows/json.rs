//! JSON Lines: the few fields that are asked for, without building the rest.

use std::borrow::Cow;
use std::fmt;

use serde::Deserializer as _;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::{FieldPlace, Found, Problem};

/// Picks fields out of objects.
pub(super) struct Picker {
    wanted: Vec<String>,
}

impl Picker {
    pub(super) fn new(wanted: &[String]) -> Picker {
        Picker {
            wanted: wanted.to_vec(),
        }
    }

    pub(super) fn read(&mut self, line: &[u8], found: &mut Found) -> Result<(), Problem> {
        let wanted: Vec<(usize, &str)> = self.wanted.iter().map(String::as_str).enumerate().collect();
        pick(line, line, &wanted, found).map_err(|error| Problem::Json(words(&error)))
    }
}

/// Picks from an object somewhere in `line`.
fn pick(
    line: &[u8],
    object: &[u8],
    wanted: &[(usize, &str)],
    found: &mut Found,
) -> Result<(), serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_slice(object);
    reader.deserialize_map(Object { line, wanted, found })?;
    reader.end()
}

struct Object<'a, 'f> {
    line: &'a [u8],
    wanted: &'f [(usize, &'f str)],
    found: &'f mut Found,
}

impl<'de> Visitor<'de> for Object<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key_seed(Name)? {
            let named = |wanted: &str| wanted == name;
            let below = |wanted: &str| {
                wanted
                    .strip_prefix(&*name)
                    .is_some_and(|rest| rest.starts_with('.'))
            };
            if !self.wanted.iter().any(|(_, w)| named(w) || below(w)) {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            let raw = map.next_value::<&RawValue>()?.get();
            for (at, _) in self.wanted.iter().filter(|(_, w)| named(w)) {
                self.found.places[*at] =
                    place_of(self.line, raw, &mut self.found.scratch).map_err(serde::de::Error::custom)?;
            }
            let deeper: Vec<(usize, &str)> = self
                .wanted
                .iter()
                .filter(|(_, w)| below(w))
                .map(|(at, w)| (*at, &w[name.len() + 1..]))
                .collect();
            if !deeper.is_empty() && raw.starts_with('{') {
                pick(self.line, raw.as_bytes(), &deeper, self.found).map_err(serde::de::Error::custom)?;
            }
        }
        Ok(())
    }
}

/// Reads a key without copying it where it has no escape.
struct Name;

impl<'de> DeserializeSeed<'de> for Name {
    type Value = Cow<'de, str>;

    fn deserialize<D: serde::Deserializer<'de>>(self, reader: D) -> Result<Self::Value, D::Error> {
        reader.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Name {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(name))
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(name.to_string()))
    }
}

/// Where the text of a value is: in the line, unless escapes had to be resolved.
fn place_of(line: &[u8], raw: &str, scratch: &mut Vec<u8>) -> Result<FieldPlace, serde_json::Error> {
    // Both are slices of the same line.
    let at = raw.as_ptr() as usize - line.as_ptr() as usize;
    if raw == "null" {
        return Ok(FieldPlace::Absent);
    }
    if !raw.starts_with('"') {
        return Ok(FieldPlace::Raw(at, at + raw.len()));
    }
    if !raw.contains('\\') {
        return Ok(FieldPlace::Raw(at + 1, at + raw.len() - 1));
    }
    let from = scratch.len();
    // Half of a surrogate pair is not a character: such a text is refused, not read as an empty one.
    let text: String = serde_json::from_str(raw)?;
    scratch.extend_from_slice(text.as_bytes());
    Ok(FieldPlace::Scratch(from, scratch.len()))
}

/// The names of the fields of an object; none if it is no object.
pub(super) fn names(line: &[u8]) -> Vec<String> {
    serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(line)
        .map(|object| object.keys().cloned().collect())
        .unwrap_or_default()
}

/// What is wrong, without "at line 1": the line's number is ours to say.
fn words(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.find(" at line ") {
        Some(end) => format!("{} (column {})", &text[..end], error.column()),
        None => text,
    }
}
