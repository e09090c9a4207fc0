//! Inspect: every text has an answer.

use mintage::{FORMATS, Timestamp, inspect, refusals};

use crate::{Target, saw, seeds};

pub(super) fn target() -> Target {
    let mut seeds = seeds::column("uuid-alternate.tsv", 2);
    seeds.extend(seeds::column("snowflake.tsv", 1));
    seeds.extend(seeds::column("snowflake-text.tsv", 2));
    for row in FORMATS {
        if !row.name.starts_with("uuid") && row.name != "snowflake" {
            seeds.extend(seeds::column(&format!("{}.tsv", row.name), 2));
        }
    }
    Target::new("inspect", seeds, check).words(&["urn:uuid:", "{", "}", "user_", "-", " ", "\u{e9}"])
}

fn check(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let now = Timestamp::from_unix_millis(1_800_000_000_000);
    let readings = inspect(&text, now);
    assert!(
        readings
            .windows(2)
            .all(|pair| pair[0].confidence >= pair[1].confidence)
    );
    for reading in &readings {
        assert!((0.0..=1.0).contains(&reading.confidence) && !reading.why.is_empty());
        let width: u32 = reading.bit_fields().iter().map(|field| field.bits).sum();
        assert!(width == 0 || width as usize == reading.id.bytes().len() * 8);
        saw((reading.format, reading.form, reading.version));
    }
    // Dearer than all the rest, and only asked for where there is nothing else to say.
    if readings.is_empty() && input.len() % 8 == 0 {
        let refused = refusals(&text);
        assert!(refused.len() > FORMATS.len());
        assert!(
            refused
                .iter()
                .all(|refusal| refusal.position.is_none_or(|at| at <= text.len()))
        );
    }
}
