//! What `mint inspect` says of ids, as far as the packs can say it.

use mintage::Uuid;
use serde_json::Value;

use super::samples::any_uuid;
use crate::random::Random;
use crate::run;

/// So many UUIDs of versions 0 to 9 with times before the year 9999, which the databases can write, and as many numbers
/// of any length.
pub fn random_ids(random: &mut Random, count: usize) -> Vec<String> {
    let mut ids = Vec::new();
    for _ in 0..count {
        let mut bytes = *any_uuid(random).as_bytes();
        bytes[6] = (random.below(10) << 4) as u8 | bytes[6] & 15;
        if random.below(4) > 0 {
            bytes[8] = bytes[8] & 63 | 128;
        }
        bytes[0] = 0;
        ids.push(Uuid::from_bytes(bytes).to_string());
        ids.push((random.below(u64::MAX) >> random.below(64)).to_string());
    }
    ids
}

/// What the command says of every id, without the readings as formats and in text forms that a database does not
/// know, or only a lenient reader takes.
///
/// # Panics
/// When it does not answer in JSON, an id a line.
pub fn inspected(ids: &[String]) -> Vec<Value> {
    let mint = run::with_input(
        run::command(["inspect", "--json", "-v", "-"]),
        ids.join("\n").as_bytes(),
    );
    let said: Vec<Value> = mint
        .out
        .lines()
        .map(|line| of_the_pack(serde_json::from_str(line).expect("JSON")))
        .collect();
    assert_eq!(said.len(), ids.len(), "{mint:?}");
    said
}

fn of_the_pack(mut document: Value) -> Value {
    if let Some(document) = document.as_object_mut() {
        for more in ["tried", "nearly", "no_id"] {
            document.remove(more);
        }
        // The packs rank all readings in one list.
        if let Some(Value::Array(guesses)) = document.remove("at_a_stretch")
            && let Some(readings) = document["readings"].as_array_mut()
        {
            readings.extend(guesses);
        }
    }
    if let Some(readings) = document["readings"].as_array_mut() {
        // The packs know layouts of up to 64 bits.
        let is_wide = |reading: &Value| {
            mintage::WIDE_PRESETS
                .iter()
                .any(|row| reading["preset"] == row.name)
        };
        readings.retain(|reading| {
            let form = reading["form"].as_str().unwrap_or("hyphenated");
            ["hyphenated", "simple", "braced", "urn", "upper"].contains(&form)
                && ["uuid", "ulid", "snowflake"].contains(&reading["format"].as_str().unwrap_or_default())
                && !is_wide(reading)
                && !reading["why"]
                    .as_str()
                    .unwrap_or_default()
                    .contains("less exactly")
        });
    }
    document
}

/// Without what a database does not say, notes and the names of forms, and without confidences, whose decimal texts
/// differ.
///
/// # Panics
/// When a reading has no confidence.
pub fn comparable(document: &Value) -> Value {
    let mut document = document.clone();
    for reading in document["readings"].as_array_mut().into_iter().flatten() {
        let reading = reading.as_object_mut().expect("a reading is an object");
        reading.remove("notes");
        reading.remove("form");
        let confidence = reading.remove("confidence");
        assert!(confidence.is_some_and(|confidence| confidence.is_number()));
    }
    document
}
