//! Why a text is not an id: what was tried, and what each reader said.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::others;
use crate::format::{GenOptions, format};
use crate::text::{SnowflakeText, TextError, UuidText};

/// A format that a text is not of.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Refusal {
    /// The format's name.
    pub format: &'static str,
    /// The text form, where it is not the format's own.
    pub form: Option<&'static str>,
    /// Why, a phrase.
    pub why: String,
    /// Where the text goes wrong, counted from 0 in bytes; `None` where the text as a whole does.
    pub position: Option<usize>,
}

/// Every format and form that `text` is not of, and why; those that it comes nearest to first.
///
/// ```
/// use mintage::refusals;
/// let refused = refusals("017f22e2-79b0-7cc3-98c4-dc0c0c07398g");
/// assert_eq!((refused[0].format, refused[0].position), ("uuid", Some(35)));
/// let ulid = refused.iter().find(|refusal| refusal.format == "ulid").expect("it was tried");
/// assert_eq!(ulid.why, "36 characters, 26 are needed");
/// assert_eq!(refusals("81ARZ3NDEKTSV4RRFFQ69G5FAV")[0].format, "ulid"); // more than 128 bits
/// ```
pub fn refusals(text: &str) -> Vec<Refusal> {
    let text = text.trim();
    let bytes = text.as_bytes();
    let mut refused = Vec::new();
    let mut note = |format: &'static str, form: Option<&'static str>, error: Result<(), TextError>| {
        if let Err(error) = error {
            refused.push(Refusal {
                format,
                form,
                why: error.to_string(),
                position: error.position(),
            });
        }
    };
    note("uuid", None, UuidText::Hyphenated.read(bytes).map(drop));
    for row in others() {
        note(row.name, None, row.parse(bytes, &GenOptions::default()).map(drop));
    }
    note("snowflake", None, SnowflakeText::Dec.read(bytes).map(drop));
    if let Some(row) = format("sequence") {
        note(row.name, None, row.parse(bytes, &GenOptions::default()).map(drop));
    }
    for (name, form) in &UuidText::ALL[1..UuidText::ALL.len() - 1] {
        note("uuid", Some(*name), form.read(bytes).map(drop));
    }
    for (name, form) in &SnowflakeText::ALL[1..] {
        note("snowflake", Some(*name), form.read(bytes).map(drop));
    }
    // Nearest first: of the text's own length, then what goes wrong latest; the order of the table otherwise.
    let fits = |name: &str| format(name).is_some_and(|row| row.text_len == (text.len(), text.len()));
    refused.sort_by_key(|refusal| {
        let distance = (
            refusal.form.is_some(),
            !fits(refusal.format),
            refusal.position.is_none(),
        );
        (distance, core::cmp::Reverse(refusal.position))
    });
    refused
}
