//! What requests name, out of the table of operations: nothing that a request brings is left without a thought of its right.

use mintage_wire::{At, Kind, OPERATIONS, Operation, Takes};
use serde_json::Value;

/// Texts that name nothing which a right could be for. One that is not here, nor among the nouns of its operation,
/// fails: whoever adds it says which it is.
const NAMELESS: &[&str] = &[
    // Which of what one may see anyway.
    "?prefix",
    "?after",
    "?contains",
    // What an id is or is read as: formats and layouts are everybody's.
    "{format}",
    "{id}",
    "?as",
    "?preset",
    "/kind",
    "/layout",
    "/preset",
    // A part of the pool that the path names; its holder is known by a version, too.
    "{worker}",
    "/workers",
    "/owner",
    "/avoid",
    "/avoid_from",
    "/use_again",
    "/off_since",
    "/looked/at",
    "/looked/held/last",
    // How something is to be, or to be called in what others are shown.
    "/name",
    "/gap",
    "/order",
    "/clock_policy",
    // What is sent along and looked at.
    "?column",
    "?from",
    "?to",
    "?step",
    // Parts of a move, which the right for its name and that for its source cover.
    "/move/id",
    "/move/former",
    "/move/kind",
    "/move/key",
    "/move/before",
    "/move/back_to",
    // MariaDB's way to write numbers from the one to the other; no sequence.
    "/v1/series/{name}",
];

/// The places of a document where any text may stand.
fn texts(schema: &Value, all: &Value, at: &str, found: &mut Vec<String>) {
    if !schema.is_object() {
        return;
    }
    if let Some(reference) = schema["$ref"].as_str() {
        let known = all.pointer(reference.trim_start_matches('#'));
        return texts(known.expect("it is defined"), all, at, found);
    }
    let parts = ["anyOf", "allOf", "oneOf"].iter();
    let parts = parts.filter_map(|word| schema[word].as_array()).flatten();
    parts.for_each(|part| texts(part, all, at, found));
    for inner in [&schema["items"], &schema["additionalProperties"]] {
        texts(inner, all, at, found);
    }
    for (name, of) in schema["properties"].as_object().into_iter().flatten() {
        texts(of, all, &format!("{at}/{name}"), found);
    }
    let is_text = match &schema["type"] {
        Value::Array(types) => types.contains(&"string".into()),
        one => one == "string",
    };
    // Numbers are texts of a pattern.
    if is_text && schema.get("pattern").is_none() && schema.get("enum").is_none() {
        found.push(at.to_string());
    }
}

fn words(row: &Operation, document: &Value) -> Vec<String> {
    let mut words: Vec<String> = row.placeholders().map(|name| format!("{{{name}}}")).collect();
    let texts_asked = row.parameters.iter().filter(|known| known.kind == Kind::Text);
    words.extend(texts_asked.map(|known| format!("?{}", known.name)));
    let path = &document["paths"][row.path][row.method.to_lowercase()];
    let body = &path["requestBody"]["content"]["application/json"]["schema"];
    if matches!(row.takes, Takes::Document(_)) {
        texts(body, document, "", &mut words);
    }
    words
}

// claim: P70
#[test]
fn every_text_of_a_request_is_a_noun_or_names_nothing() {
    let document = mintage_wire::openapi();
    for row in OPERATIONS {
        let words = words(row, &document);
        let is_noun = |word: &String| {
            row.nouns().any(|noun| match noun.at {
                At::Path(name) => *word == format!("{{{name}}}"),
                At::Query(name) => *word == format!("?{name}"),
                At::Body(pointer) => *word == pointer || word.starts_with(&format!("{pointer}/")),
            })
        };
        for word in words.iter().filter(|word| !is_noun(word)) {
            let is_nameless = NAMELESS.contains(&&**word) || NAMELESS.contains(&row.path);
            assert!(
                is_nameless,
                "{} {}: {word} is a noun, or names nothing?",
                row.method, row.path
            );
        }
        for noun in row.nouns() {
            let is_there = words.iter().any(is_noun);
            assert!(is_there, "{} {}: {noun:?} is nowhere", row.method, row.path);
        }
    }
}
