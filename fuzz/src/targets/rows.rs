//! Rows of files: CSV, TSV, JSON Lines, bare lists.

use std::sync::Arc;

use mintage::{Layout, PRESETS};
use mintage_bulk::in_memory::{RowRead, read_id, read_rows};
use mintage_bulk::{Dialect, ReadAs, RowFormat};
use serde_json::Value;

use crate::{Target, saw};

pub(super) fn targets() -> [Target; 3] {
    let csv = [
        "id,name\n1,\"a, b\"\n2,\"he said \"\"no\"\"\"\r\n",
        "id\n\"1\n2\"\n3\n",
        "id;x\n",
        "\u{feff}id,id\n1,2\n",
        "id\tname\n1\ta\n2\t\"b\n",
    ];
    let json = [
        "{\"id\":1}\n{\"id\":\"018f3c6e-0000-7000-8000-000000000000\",\"a\":{\"b\":[1,null]}}\n",
        "{\"id\":18446744073709551615}\n\n{\"a\":2}\n",
        "{\"id\":\"\\u0041\\ud83d\\ude00\"}\n[1]\n",
    ];
    let lines = [
        "1\n2\r\n4\n2\n",
        "1541815603606036480\n\n",
        "018f3c6e-0000-7000-8000-000000000000\n",
    ];
    let layout = Arc::new(PRESETS[0].layout());
    [
        Target::new("rows-csv", csv, |input| {
            judge(input, RowFormat::Fields(Dialect::CSV));
            judge(input, RowFormat::Fields(Dialect::TSV));
        })
        .words(&[
            "\"",
            "\"\"",
            ",",
            "\n",
            "\r\n",
            "id",
            "\t",
            "18446744073709551616",
        ]),
        Target::new("rows-json", json, |input| {
            judge(input, RowFormat::JsonLines).iter().for_each(judge_object);
        })
        .words(&["{\"id\":", "}\n", "\\u00", "\\ud83d", "\"", "[", "null", "-1"]),
        Target::new("rows-list", lines, move |input| {
            for row in judge(input, RowFormat::Lines) {
                judge_id(&row, &layout);
            }
        })
        .words(&["\n", "\r", "9", "-"]),
    ]
}

/// Rows hold every byte of the input once and in order, and know where they stand.
fn judge(input: &[u8], format: RowFormat) -> Vec<RowRead> {
    let read = match read_rows(input.to_vec(), &format, &["id".to_string()]) {
        Ok(read) => read,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            saw(error.to_string().len());
            return Vec::new();
        }
    };
    let mark = if input.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    assert!(input[mark..].starts_with(&read.header));
    let mut at = mark + read.header.len();
    for row in &read.rows {
        assert_eq!(row.line, newlines(&input[..at]) + 1);
        assert!(
            !row.raw.is_empty() && input[at..].starts_with(&row.raw),
            "{row:?}"
        );
        at += row.raw.len();
        let open = u64::from(!row.raw.ends_with(b"\n"));
        assert_eq!(row.next, (at as u64, newlines(&input[..at]) + open));
        saw((
            row.blank,
            &row.problem,
            row.fields[0].as_ref().map(|field| field.len()),
        ));
    }
    assert_eq!(at, input.len(), "a row is missing");
    read.rows
}

fn newlines(text: &[u8]) -> u64 {
    text.iter().filter(|b| **b == b'\n').count() as u64
}

/// What is picked out of an object is what a reader of whole objects finds there.
fn judge_object(row: &RowRead) {
    let field = row.fields[0].as_deref();
    let Ok(Value::Object(object)) = serde_json::from_slice(&row.raw) else {
        // What is wrong elsewhere in the object is passed over, but nothing is made up.
        let empty = row.raw.windows(2).any(|pair| pair == b"\"\"");
        assert!(row.problem.is_some() || empty || field != Some(b""), "{row:?}");
        return;
    };
    assert_eq!(row.problem, None);
    match object.get("id") {
        None | Some(Value::Null) => assert_eq!(field, None),
        Some(Value::String(text)) => assert_eq!(field, Some(text.as_bytes())),
        Some(other) => {
            let read = field.and_then(|text| serde_json::from_slice(text).ok());
            assert_eq!(read.as_ref(), Some(other));
        }
    }
}

/// An id that an audit shows is the one that it read.
fn judge_id(row: &RowRead, layout: &Arc<Layout>) {
    let text = row.fields[0].as_deref().unwrap_or_default().trim_ascii();
    for layout in [None, Some(layout.clone())] {
        let any = ReadAs { format: None, layout };
        let read = read_id(text, &any).expect("no format is asked for");
        let (format, identity, shown) = read.expect("what is no id is a text");
        saw(format);
        let Some(shown) = shown else { continue };
        let only = ReadAs {
            format: Some(format.to_string()),
            ..any
        };
        let again = read_id(shown.as_bytes(), &only).expect("there is such a format");
        assert_eq!(again, Some((format, identity, Some(shown))));
    }
}
